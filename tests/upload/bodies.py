# SPDX-License-Identifier: Apache-2.0
#
# Strict readers of the bodies that other systems take: Sentry's envelope and event, and
# OpenTelemetry's JSON for log records. They know every member we may write, its type
# and what it has to agree with; anything else is an error. Sentry's own reader of
# envelopes and protobuf's reader of JSON have to read the same.

import base64
import json
import re

import otlp_schema
from google.protobuf import json_format
from sentry_sdk.envelope import Envelope

ADDRESS = re.compile(r"0x[0-9a-f]{1,16}\Z")
EVENT_ID = re.compile(r"[0-9a-f]{32}\Z")
DEBUG_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
TRUST = {"none", "scan", "cfi_scan", "fp", "cfi", "prewalked", "context"}


class Wrong(AssertionError):
    pass


def need(condition, what):
    if not condition:
        raise Wrong(what)


def members(value, where, required, optional=()):
    """value is an object with the required members and none but the optional ones."""
    need(isinstance(value, dict), f"{where} is no object")
    for name in required:
        need(name in value, f"{where} has no {name}")
    for name in value:
        need(name in required or name in optional, f"{where} has a member {name}")
        need(value[name] is not None, f"{where}.{name} is null")


def text(value, where):
    need(isinstance(value, str), f"{where} is no string")


def whole(value, where):
    need(isinstance(value, int) and not isinstance(value, bool), f"{where} is no number")


def flag(value, where):
    need(isinstance(value, bool), f"{where} is neither true nor false")


def matches(value, pattern, where):
    text(value, where)
    need(pattern.match(value), f"{where} is {value!r}")


# Sentry

def read_envelope(data):
    """The envelope's header and its items as (header, payload)."""
    line, _, rest = data.partition(b"\n")
    header = json.loads(line)
    members(header, "envelope", {"sent_at", "sdk"}, {"dsn", "event_id"})
    matches(header.get("event_id", "0" * 32), EVENT_ID, "envelope.event_id")
    matches(header["sent_at"], TIME, "envelope.sent_at")
    items = []
    while rest:
        line, _, rest = rest.partition(b"\n")
        item = json.loads(line)
        members(item, "item", {"type", "length"},
                {"content_type", "filename", "attachment_type"})
        whole(item["length"], "item.length")
        payload, rest = rest[:item["length"]], rest[item["length"]:]
        need(len(payload) == item["length"], "an item is shorter than it says")
        need(rest[:1] == b"\n", "an item is longer than it says")
        rest = rest[1:]
        items.append((item, payload))
    taken = Envelope.deserialize(data)
    need(taken.headers == header, "Sentry's reader finds another header")
    need([item.headers for item in taken.items] == [item for item, _ in items],
         "Sentry's reader finds other items")
    for item, (_, payload) in zip(taken.items, items):
        same = (item.payload.json == json.loads(payload) if item.payload.json
                else item.get_bytes() == payload)
        need(same, f"Sentry's reader finds another {item.type}")
    return header, items


def check_frame(frame, where):
    members(frame, where, {"in_app"},
            {"instruction_addr", "symbol_addr", "image_addr", "package", "function",
             "symbol", "filename", "abs_path", "lineno", "colno", "trust", "vars",
             "context_line", "pre_context", "post_context"})
    sources = {"context_line", "pre_context", "post_context"} & frame.keys()
    need(len(sources) in (0, 3), f"{where} has {sources} alone")
    for line in [*frame.get("pre_context", []), *frame.get("post_context", [])]:
        text(line, f"{where} context")
    text(frame.get("context_line", ""), f"{where}.context_line")
    need({"instruction_addr", "function", "filename"} & frame.keys(), f"{where} is empty")
    for name in ("instruction_addr", "symbol_addr", "image_addr"):
        if name in frame:
            matches(frame[name], ADDRESS, f"{where}.{name}")
    for name in ("package", "function", "symbol", "filename", "abs_path"):
        if name in frame:
            text(frame[name], f"{where}.{name}")
    for name in ("lineno", "colno"):
        if name in frame:
            whole(frame[name], f"{where}.{name}")
    need(frame.get("trust", "none") in TRUST, f"{where}.trust")
    flag(frame["in_app"], f"{where}.in_app")


def check_stack(stack, where):
    members(stack, where, {"frames", "instruction_addr_adjustment"},
            {"registers", "snapshot"})
    need(stack["frames"], f"{where} has no frames")
    for index, frame in enumerate(stack["frames"]):
        check_frame(frame, f"{where}.frames[{index}]")
    need(stack["instruction_addr_adjustment"] in {"all_but_first", "none"}, where)
    for name, value in stack.get("registers", {}).items():
        matches(value, ADDRESS, f"{where}.registers.{name}")


def check_thrown(exception, crash):
    """The C++ exception that a crash was caused by."""
    members(exception, "thrown", {"type", "value", "thread_id", "mechanism", "stacktrace"})
    text(exception["type"], "thrown.type")
    text(exception["value"], "thrown.value")
    whole(exception["thread_id"], "thrown.thread_id")
    check_stack(exception["stacktrace"], "thrown.stacktrace")
    mechanism = exception["mechanism"]
    members(mechanism, "thrown.mechanism",
            {"type", "source", "handled", "exception_id", "parent_id"})
    need(mechanism["type"] == "chained", "thrown.mechanism.type")
    need(mechanism["parent_id"] == crash["mechanism"].get("exception_id"), "no parent")
    need(mechanism["parent_id"] != mechanism["exception_id"], "its own parent")


def check_exception(exception):
    members(exception, "exception", {"type", "value", "thread_id", "mechanism"},
            {"stacktrace"})
    text(exception["type"], "exception.type")
    text(exception["value"], "exception.value")
    mechanism = exception["mechanism"]
    members(mechanism, "mechanism", {"type", "synthetic", "handled", "meta"},
            {"data", "exception_id"})
    need(mechanism["handled"] is False and mechanism["synthetic"] is True, "mechanism")
    signal = mechanism["meta"]["signal"]
    members(signal, "signal", {"number", "code", "name"}, {"code_name"})
    whole(signal["number"], "signal.number")
    whole(signal["code"], "signal.code")
    if "stacktrace" in exception:
        check_stack(exception["stacktrace"], "exception.stacktrace")


def check_thread(thread, where):
    members(thread, where, {"id", "crashed", "current"},
            {"name", "main", "state", "stacktrace"})
    whole(thread["id"], f"{where}.id")
    flag(thread["crashed"], f"{where}.crashed")
    if "stacktrace" in thread:
        check_stack(thread["stacktrace"], f"{where}.stacktrace")
        need(thread["stacktrace"].get("snapshot") is True, f"{where} is no snapshot")


def check_image(image, where):
    members(image, where, {"type", "code_file", "code_id", "debug_id", "image_addr",
                           "image_size"}, {"arch"})
    need(image["type"] == "elf", where)
    matches(image["image_addr"], ADDRESS, f"{where}.image_addr")
    whole(image["image_size"], f"{where}.image_size")
    matches(image["debug_id"], DEBUG_ID, f"{where}.debug_id")
    raw = bytes.fromhex(image["code_id"])[:16].ljust(16, b"\0")
    guid = (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex()
    need(image["debug_id"].replace("-", "") == guid, f"{where}.debug_id is of another")


def check_crash(event, crashed):
    values = event["exception"]["values"]
    need(len(values) in (1, 2), f"{len(values)} exceptions")
    check_exception(values[-1])
    if len(values) == 2:
        check_thrown(values[0], values[1])
    need(len(crashed) == 1, f"{len(crashed)} crashed threads")
    need(values[-1]["thread_id"] == crashed[0]["id"], "the exception is of another thread")
    need("stacktrace" not in crashed[0], "the crashed stack is there twice")
    need(event["level"] == "fatal", "a crash is fatal")


def check_event(event):
    members(event, "event",
            {"event_id", "timestamp", "platform", "level", "threads", "debug_meta",
             "contexts", "tags", "extra", "sdk", "logger"},
            {"exception", "logentry", "release", "environment", "server_name",
             "fingerprint", "breadcrumbs", "user"})
    if "user" in event:
        members(event["user"], "user", {"id"})
        text(event["user"]["id"], "user.id")
    matches(event["event_id"], EVENT_ID, "event.event_id")
    matches(event["timestamp"], TIME, "event.timestamp")
    need(event["platform"] == "native", "event.platform")
    members(event["sdk"], "sdk", {"name", "version"})
    for name, value in event["tags"].items():
        text(value, f"tags.{name}")
    threads = event["threads"]["values"]
    for index, thread in enumerate(threads):
        check_thread(thread, f"threads[{index}]")
    for index, image in enumerate(event["debug_meta"]["images"]):
        check_image(image, f"images[{index}]")
    for crumb in event.get("breadcrumbs", {}).get("values", []):
        members(crumb, "breadcrumb", {"type"}, {"timestamp", "message"})
    for value in event.get("fingerprint", []):
        text(value, "fingerprint")
    crashed = [thread for thread in threads if thread["crashed"]]
    if "exception" in event:
        check_crash(event, crashed)
    else:
        need(not crashed and "logentry" in event, "nothing crashed, nothing is said")


def read_event(data):
    """The event of an envelope that holds one, checked, and its attachments."""
    header, items = read_envelope(data)
    need("event_id" in header, "an envelope without an event")
    events = [payload for item, payload in items if item["type"] == "event"]
    need(len(events) == 1, f"{len(events)} events")
    need(len(events[0]) <= 1_000_000, "the event is too large for Sentry")
    event = json.loads(events[0])
    check_event(event)
    need(event["event_id"] == header["event_id"], "the event has another id")
    files = {item["filename"]: payload for item, payload in items
             if item["type"] == "attachment"}
    return event, files


def read_crashed_session(data):
    """The session that an event's envelope ends, checked; None: it ends none."""
    header, items = read_envelope(data)
    ended = [json.loads(payload) for item, payload in items if item["type"] == "session"]
    need(len(ended) <= 1, "several sessions crashed")
    if not ended:
        return None
    session, = ended
    members(session, "session", {"sid", "init", "started", "timestamp", "status", "errors",
                                 "attrs"})
    matches(session["sid"], re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"), "sid")
    need(session["init"] is False and session["status"] == "crashed", "session")
    members(session["attrs"], "attrs", {"release"})
    for name in ("started", "timestamp"):
        matches(session[name], TIME, name)
    return session


def read_sessions(data):
    """The sessions of an envelope of sums: its release, and (start, count) pairs."""
    header, items = read_envelope(data)
    need("event_id" not in header, "an event")
    need([item["type"] for item, _ in items] == ["sessions"], "one item of sessions")
    sums = json.loads(items[0][1])
    members(sums, "sessions", {"aggregates", "attrs"})
    members(sums["attrs"], "attrs", {"release"})
    for one in sums["aggregates"]:
        members(one, "aggregate", {"started", "exited"})
        matches(one["started"], TIME, "started")
        whole(one["exited"], "exited")
    return sums["attrs"]["release"], [(one["started"], one["exited"])
                                      for one in sums["aggregates"]]


# OpenTelemetry: proto3 JSON

def any_value(value, where):
    """An AnyValue as Python has it."""
    need(isinstance(value, dict) and len(value) == 1, f"{where} is no single value")
    (kind, inner), = value.items()
    if kind == "stringValue":
        text(inner, where)
        return inner
    if kind == "intValue":
        matches(inner, re.compile(r"-?\d{1,19}\Z"), where)
        return int(inner)
    if kind == "boolValue":
        flag(inner, where)
        return inner
    if kind == "bytesValue":
        return base64.b64decode(inner, validate=True)
    if kind == "arrayValue":
        members(inner, where, {"values"})
        return [any_value(v, f"{where}[]") for v in inner["values"]]
    need(kind == "kvlistValue", f"{where} is a {kind}")
    members(inner, where, {"values"})
    return attributes(inner["values"], where)


def attributes(values, where):
    result = {}
    for pair in values:
        members(pair, where, {"key", "value"})
        text(pair["key"], where)
        need(pair["key"] and pair["key"] not in result, f"{where} has {pair['key']} twice")
        result[pair["key"]] = any_value(pair["value"], f"{where}.{pair['key']}")
    return result


def read_logs(data):
    """The resource's and the one record's attributes, and the record; all checked."""
    request = json.loads(data)
    try:
        message = otlp_schema.read(data)
    except json_format.ParseError as error:
        raise Wrong(f"protobuf refuses it: {error}") from error
    need(otlp_schema.as_json(message) == request, "protobuf understands something else")
    members(request, "request", {"resourceLogs"})
    need(len(request["resourceLogs"]) == 1, "one resource")
    logs = request["resourceLogs"][0]
    members(logs, "resourceLogs", {"resource", "scopeLogs"})
    members(logs["resource"], "resource", {"attributes"})
    resource = attributes(logs["resource"]["attributes"], "resource")
    need(len(logs["scopeLogs"]) == 1, "one scope")
    scope = logs["scopeLogs"][0]
    members(scope, "scopeLogs", {"scope", "logRecords"})
    members(scope["scope"], "scope", {"name", "version"})
    need(len(scope["logRecords"]) == 1, "one record")
    record = scope["logRecords"][0]
    members(record, "record", {"timeUnixNano", "observedTimeUnixNano", "severityNumber",
                               "severityText", "eventName", "body", "attributes"},
            {"traceId", "spanId"})
    for name in ("timeUnixNano", "observedTimeUnixNano"):
        matches(record[name], re.compile(r"\d{1,20}\Z"), name)
    whole(record["severityNumber"], "severityNumber")
    need(1 <= record["severityNumber"] <= 24, "severityNumber")
    text(any_value(record["body"], "body"), "body")
    found = attributes(record["attributes"], "record")
    if record["severityNumber"] >= 21:
        need("exception.type" in found or "exception.message" in found,
             "neither the exception's type nor its message")
    for required in ("service.name", "telemetry.sdk.name", "telemetry.sdk.language",
                     "telemetry.sdk.version"):
        text(resource.get(required), required)
    return resource, found, record
