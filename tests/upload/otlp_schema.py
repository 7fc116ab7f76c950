# SPDX-License-Identifier: Apache-2.0
#
# What OpenTelemetry's definitions say of a request with log records, as a table, and
# protobuf's own reader of JSON over it: a member that is not in the table, a type that
# is another, two values where one belongs are its errors, not ours.
# tests/receivers compares the table with the published definitions.

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

PACKAGE = "otlp"
SEVERITIES = ["UNSPECIFIED"] + [f"{word}{number or ''}" for word in
                                ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
                                for number in (0, 2, 3, 4)]

# message: {field: (number, type)}; a type with * is a list, capitals are messages
MESSAGES = {
    "ExportLogsServiceRequest": {"resource_logs": (1, "ResourceLogs*")},
    "ExportLogsServiceResponse": {"partial_success": (1, "ExportLogsPartialSuccess")},
    "ExportLogsPartialSuccess": {"rejected_log_records": (1, "int64"),
                                 "error_message": (2, "string")},
    "ResourceLogs": {"resource": (1, "Resource"), "scope_logs": (2, "ScopeLogs*"),
                     "schema_url": (3, "string")},
    "ScopeLogs": {"scope": (1, "InstrumentationScope"), "log_records": (2, "LogRecord*"),
                  "schema_url": (3, "string")},
    "LogRecord": {"time_unix_nano": (1, "fixed64"), "severity_number": (2, "SeverityNumber"),
                  "severity_text": (3, "string"), "body": (5, "AnyValue"),
                  "attributes": (6, "KeyValue*"), "dropped_attributes_count": (7, "uint32"),
                  "flags": (8, "fixed32"), "trace_id": (9, "bytes"), "span_id": (10, "bytes"),
                  "observed_time_unix_nano": (11, "fixed64"), "event_name": (12, "string")},
    "Resource": {"attributes": (1, "KeyValue*"), "dropped_attributes_count": (2, "uint32")},
    "InstrumentationScope": {"name": (1, "string"), "version": (2, "string"),
                             "attributes": (3, "KeyValue*"),
                             "dropped_attributes_count": (4, "uint32")},
    "KeyValue": {"key": (1, "string"), "value": (2, "AnyValue")},
    "AnyValue": {"string_value": (1, "string"), "bool_value": (2, "bool"),
                 "int_value": (3, "int64"), "double_value": (4, "double"),
                 "array_value": (5, "ArrayValue"), "kvlist_value": (6, "KeyValueList"),
                 "bytes_value": (7, "bytes")},
    "ArrayValue": {"values": (1, "AnyValue*")},
    "KeyValueList": {"values": (1, "KeyValue*")},
}


def add_field(message, name, number, kind, is_choice):
    field = message.field.add(name=name, number=number)
    one = kind.rstrip("*")
    field.label = field.LABEL_REPEATED if kind != one else field.LABEL_OPTIONAL
    if one == "SeverityNumber":
        field.type, field.type_name = field.TYPE_ENUM, f".{PACKAGE}.{one}"
    elif one in MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{PACKAGE}.{one}"
    else:
        field.type = getattr(field, f"TYPE_{one.upper()}")
    if is_choice:
        field.oneof_index = 0


def make_pool():
    file = descriptor_pb2.FileDescriptorProto(name="otlp.proto", package=PACKAGE,
                                              syntax="proto3")
    severity = file.enum_type.add(name="SeverityNumber")
    for number, name in enumerate(SEVERITIES):
        severity.value.add(name=f"SEVERITY_NUMBER_{name}", number=number)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for field, (number, kind) in fields.items():
            add_field(message, field, number, kind, name == "AnyValue")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


POOL = make_pool()


def make(pool=POOL, name=f"{PACKAGE}.ExportLogsServiceRequest"):
    """An empty message."""
    kind = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(kind)()
    return message_factory.MessageFactory(pool).GetPrototype(kind)()


def read(data, *kind):
    """The message that JSON stands for; json_format.ParseError where it does not."""
    return json_format.Parse(data, make(*kind))


def as_json(message):
    return json_format.MessageToDict(message, use_integers_for_enums=True)
