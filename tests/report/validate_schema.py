#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# validate_schema SCHEMA REPORT...: each report is valid by the schema; `-` is stdin.
# validate_schema --expanded CRASHHOOK SCHEMA REPORT...: each is with its frames in place.
# validate_schema --selftest SCHEMA REPORT: damaged copies of the report are not.

import copy
import json
import subprocess
import sys

import jsonschema


def load(path):
    if path == "-":
        return json.load(sys.stdin)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def validator(path):
    schema = load(path)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def place(error):
    return "/".join(str(part) for part in error.absolute_path) or "the report"


def load_expanded(crashhook):
    """A loader of reports as crashhook shows them with every frame in its place."""
    def run(path):
        done = subprocess.run([crashhook, "show", "--json", path], check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)
    return run


def check(schema, paths, loader=load):
    failed = 0
    for path in paths:
        for error in validator(schema).iter_errors(loader(path)):
            print(f"{path}: {place(error)}: {error.message[:200]}", file=sys.stderr)
            failed = 1
    return failed


def damage(report):
    """Yields copies of report, each with one mistake, and what the mistake is."""

    def changed(what, *path, value=None):
        other = copy.deepcopy(report)
        inner = other
        for part in path[:-1]:
            inner = inner[part]
        if value is None:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return what, other

    packed = "places" in report
    frame = ("places", 0) if packed else ("threads", 0, "backtrace", "frames", 0)
    stack = ("stacks", 0) if packed else ("threads", 0, "backtrace")
    keys = ("schema", "id", "revision", "time", "threads", "images", "agent")
    for key in keys + (("places", "stacks") if packed else ()):
        yield changed(f"no {key}", key)
    yield changed("another schema", "schema", value="crashhook.report/0")
    yield changed("an id that is no UUID", "id", value="1")
    yield changed("a time without milliseconds", "time", value="2024-10-12T22:13:50Z")
    yield changed("an unknown kind", "crash", "kind", value="boom")
    yield changed("a crash without a fingerprint", "fingerprint")
    yield changed("a count that is text", "process", "pid", value="12")
    yield changed("a padded address", *frame, "address", value="0x00ff")
    yield changed("an address in upper case", *frame, "address", value="0xFF")
    yield changed("an unknown frame kind", *frame, "kind", value="up")
    yield changed("an unknown trust", *frame, "trust", value="magic")
    yield changed("an image without an offset", *frame, "image_offset")
    yield changed("an unknown end", *stack, "ended", value="done")
    yield changed("an odd build id", "images", 0, "build_id", value="abc")
    yield changed("a line without a file", *frame, "file")
    if report["problems"]:
        yield changed("a problem without a stage", "problems", 0, "stage")
    if packed:
        yield changed("a stack that is no number", "threads", 0, "stack", value="0")
        yield changed("a place that is no number", *stack, "frames", 0, value="0")
        yield changed("a value without a variable", "threads", 0, "values", value=[[0, []]])
        yield changed("an unknown list", *frame, "variables",
                      value=[{"index": 0, "confidence": "exact", "list": "statics"}])
    yield changed("an unknown tier", "agent", "tier", value="gdb")


def selftest(schema, path):
    failed = 0
    rules = validator(schema)
    for what, report in damage(load(path)):
        if rules.is_valid(report):
            print(f"the schema accepts {what}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    if sys.argv[1] == "--selftest":
        sys.exit(selftest(sys.argv[2], sys.argv[3]))
    if sys.argv[1] == "--expanded":
        sys.exit(check(sys.argv[3], sys.argv[4:], load_expanded(sys.argv[2])))
    sys.exit(check(sys.argv[1], sys.argv[2:]))
