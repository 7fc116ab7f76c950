# SPDX-License-Identifier: Apache-2.0
#
# What SARIF 2.1.0 (OASIS), GitLab's code quality reports and JUnit's XML as Jenkins reads it
# say of the members that crashhook writes. A member that is not named here is an error.

import re

try:
    import jsonschema
except ImportError:
    jsonschema = None


def closed(properties, required=()):
    return {"type": "object", "properties": properties, "required": list(required),
            "additionalProperties": False}


def listed(items):
    return {"type": "array", "items": items}


TEXT = {"type": "string", "minLength": 1}
FROM_ONE = {"type": "integer", "minimum": 1}
# RFC 3986, as the schema's format uri-reference.
URI = {"type": "string", "pattern": r"^(file:///)?([A-Za-z0-9/._~+-]|%[0-9A-F]{2})+$"}

MESSAGE = closed({"text": TEXT}, ["text"])

# GitHub's code scanning requires the descriptions.
SARIF_RULE = closed({"id": TEXT, "shortDescription": MESSAGE, "fullDescription": MESSAGE,
                     "help": MESSAGE}, ["id", "shortDescription", "fullDescription", "help"])

SARIF = closed({
    "$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"},
    "version": {"const": "2.1.0"},
    "runs": {"type": "array", "minItems": 1, "items": closed({
        "tool": closed({"driver": closed({
            "name": TEXT, "version": TEXT,
            "rules": {"type": "array", "uniqueItems": True, "items": SARIF_RULE}}, ["name"])},
                       ["driver"]),
        "results": listed(closed({
            "ruleId": TEXT,
            "level": {"enum": ["none", "note", "warning", "error"]},
            "message": MESSAGE,
            "locations": listed(closed({"physicalLocation": closed({
                "artifactLocation": closed({"uri": URI}, ["uri"]),
                "region": closed({"startLine": FROM_ONE, "startColumn": FROM_ONE},
                                 ["startLine"])}, ["artifactLocation"])})),
            "partialFingerprints": {"type": "object", "additionalProperties": TEXT},
            "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
            "occurrenceCount": FROM_ONE}, ["message"]))}, ["tool"])},
}, ["version", "runs"])

GITLAB = listed(closed({
    "description": TEXT, "check_name": TEXT,
    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]+$"},
    "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
    "location": closed({"path": TEXT, "lines": closed({"begin": FROM_ONE}, ["begin"])},
                       ["path", "lines"]),
}, ["description", "check_name", "fingerprint", "severity", "location"]))

# element: the attributes that it must have, those that it may, the elements in it
JUNIT = {
    "testsuites": (set(), set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "time"}, {"timestamp"}, {"testcase"}),
    "testcase": ({"classname", "name"}, {"time"}, {"error"}),
    "error": ({"type", "message"}, set(), set()),
}


def check_json(value, schema):
    """Raises jsonschema.ValidationError; does nothing where jsonschema is not installed."""
    if jsonschema is not None:
        jsonschema.Draft7Validator(schema).validate(value)


def check_junit(element):
    required, optional, inner = JUNIT[element.tag]
    assert required <= set(element.keys()) <= required | optional, element.attrib
    if element.tag == "testsuite":
        cases = element.findall("testcase")
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("errors")) == len(element.findall("testcase/error"))
        assert re.fullmatch(r"\d+(\.\d+)?", element.get("time"))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.get("timestamp"))
    for one in element:
        assert one.tag in inner, one.tag
        check_junit(one)
