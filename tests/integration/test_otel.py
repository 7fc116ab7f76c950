# SPDX-License-Identifier: Apache-2.0
#
# What a program publishes of itself for OpenTelemetry's readers: its resource in a mapping
# (OTEP 4719), and in each thread the trace that it works for (OTEP 4947). The programs
# write both as the documents say; damaged ones must change nothing else of a report.

import json
import os
import subprocess
import unittest

import harness

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"

SOURCE = """#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct header { char signature[8]; uint32_t version, size; uint64_t published; const void *payload; };
struct record { uint8_t trace[16], span[8], valid, flags; uint16_t size; uint8_t attributes[64]; };

#ifdef IN_LIBRARY
struct record **otel_slot(void);
#else
__thread struct record *otel_thread_ctx_v1;
static struct record **otel_slot(void) { return &otel_thread_ctx_v1; }
#endif

static const uint8_t payload[] = { PAYLOAD };

static void publish_process(void)
{
    int fd = memfd_create("OTEL_CTX", 0);
    if (ftruncate(fd, 4096) != 0)
        exit(2);
    struct header *header = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    madvise(header, 4096, MADV_DONTFORK);
    header->version = VERSION;
    header->size = SIZE;
    header->published = PUBLISHED;
    header->payload = POINTER;
    memcpy(header->signature, "OTEL_CTX", 8);
}

static void publish_thread(struct record *record, int number)
{
    static const uint8_t trace[] = { 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                     0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c };
    static const uint8_t span[] = { 0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31 };
    memcpy(record->trace, trace, 16);
    memcpy(record->span, span, 8);
    record->span[0] += number;
    record->flags = 1;
    // The key 1 twice, a key that nobody knows, and the beginning of one more.
    static const uint8_t attributes[] = { 1, 3, 'o', 'l', 'd', 0, 5, '/', 'c', 'a', 'r', 't',
                                          1, 4, 'P', 'O', 'S', 'T', 9, 1, 'x', 0, 9, 'y' };
    memcpy(record->attributes, attributes, sizeof(attributes));
    record->size = RECORD_SIZE;
    record->valid = VALID;
    *otel_slot() = record;
}

static int started[2];
static void *work(void *unused)
{
    static struct record record;
    publish_thread(&record, 1);
    (void)!write(started[1], "x", 1);
    for (;;)
        pause();
    return unused;
}

int main(void)
{
    static struct record record;
    pthread_t thread;
    char byte;
    publish_process();
    publish_thread(&record, 0);
    if (pipe(started) != 0 || pthread_create(&thread, 0, work, 0) != 0 ||
        read(started[0], &byte, 1) != 1)
        return 1;
    *(volatile int *)8 = 1; /* crashes here */
    return 0;
}
"""
LIBRARY = """struct record;
__thread struct record *otel_thread_ctx_v1;
struct record **otel_slot(void) { return &otel_thread_ctx_v1; }
"""


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def text(value):
    return field(1, value.encode())


def attribute(key, value, number=1):
    return field(number, field(1, key.encode()) + field(2, value))


def process_context(schema="tls_v1", extra=2):
    """The published message; extra is the field of what is not of the Resource."""
    keys = field(5, field(1, text("http.route")) + field(1, text("http.method")))
    resource = (attribute("service.name", text("shop")) + attribute("shop.cells", b"\x18\x07")
                + attribute("shop.open", b"\x10\x01") + attribute("shop.password", text("hunter2"))
                + attribute("shop.ratio", b"\x21" + bytes(8)))
    coordination = (attribute("threadlocal.schema_version", text(schema), extra)
                    + attribute("threadlocal.attribute_key_map", keys, extra))
    return field(1, resource) + coordination if extra == 2 else resource + coordination


class Otel(unittest.TestCase):
    def setUp(self):
        self.scene = self.enterContext(harness.Scene())

    def build(self, payload=None, flags=(), library=None, **defines):
        payload = process_context() if payload is None else payload
        values = {"PAYLOAD": ", ".join(str(byte) for byte in payload) or "0",
                  "VERSION": "2", "SIZE": "sizeof(payload)", "PUBLISHED": "1",
                  "POINTER": "payload", "RECORD_SIZE": "sizeof(attributes)", "VALID": "1",
                  **defines}
        source = os.path.join(self.scene.folder, "shop.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("".join(f"#define {name} {value}\n" for name, value in values.items()))
            file.write(SOURCE)
        program = os.path.join(self.scene.folder, "shop")
        if library is not None:
            path = os.path.join(self.scene.folder, "libslot.so")
            with open(source + ".lib.c", "w", encoding="utf-8") as file:
                file.write(LIBRARY)
            subprocess.run(["cc", "-g", "-fPIC", "-shared", *library, "-o", path,
                            source + ".lib.c"], check=True)
            flags = [*flags, "-DIN_LIBRARY", path]
        subprocess.run(["cc", "-g", "-rdynamic", "-pthread", source, *flags, "-o", program],
                       check=True)
        return program

    def crash(self, program, **variables):
        ended = self.scene.run([program], **variables)
        self.assertEqual(ended.signal, 11)
        report = self.scene.reports()[-1]
        self.assertEqual(harness.names_of(harness.crashed_thread(report))[0], "main")
        return report

    def assert_traced(self, report):
        crashed = harness.crashed_thread(report)
        self.assertEqual(crashed["trace"], {
            "trace_id": TRACE, "span_id": SPAN, "flags": 1,
            "attributes": [{"key": "http.route", "value": "/cart"},
                           {"key": "http.method", "value": "POST"}]})
        other, = [thread for thread in report["threads"] if not thread["crashed"]]
        self.assertEqual(other["trace"]["span_id"], "b8" + SPAN[2:])

    def test_a_report_has_the_resource_and_the_trace_of_each_thread(self):
        # The last is a Resource without the message around it, as in earlier drafts.
        for context in (("tls_v1",), ("tlsdesc_v1_dev",), ("tlsdesc_v1_dev", 1)):
            with self.subTest(context):
                report = self.crash(self.build(process_context(*context)))
                self.assertEqual({one["key"]: one["value"]
                                  for one in report["telemetry"]["resource"]},
                                 {"service.name": "shop", "shop.cells": "7", "shop.open": "true",
                                  "shop.password": "***"})
                self.assert_traced(report)

    def test_a_variable_of_a_library_is_found_in_every_model(self):
        for library in ([], ["-mtls-dialect=gnu2"], ["-ftls-model=initial-exec"]):
            if library == ["-mtls-dialect=gnu2"] and os.uname().machine != "x86_64":
                continue
            with self.subTest(library):
                self.assert_traced(self.crash(self.build(library=library)))

    def test_records_and_events_have_the_published_trace_and_resource(self):
        self.crash(self.build(), TRACEPARENT=f"00-{'1' * 32}-{'2' * 16}-01",
                   OTEL_SERVICE_NAME="other")
        path = self.scene.report_paths()[-1]
        sent = json.loads(self.scene.command("export", "--format", "otlp", path).stdout)
        logs = sent["resourceLogs"][0]
        record = logs["scopeLogs"][0]["logRecords"][0]
        self.assertEqual((record["traceId"], record["spanId"]), (TRACE, SPAN))
        self.assertIn({"key": "service.name", "value": {"stringValue": "shop"}},
                      logs["resource"]["attributes"])
        self.assertNotIn("threadlocal", json.dumps(sent))
        event = self.scene.command("export", "--format", "sentry", path).stdout
        self.assertIn(TRACE, event.splitlines()[2])

    def test_damaged_contexts_change_nothing_of_the_report(self):
        whole = process_context()
        damaged = [dict(PUBLISHED="0"), dict(VERSION="7"), dict(SIZE="0"),
                   dict(SIZE="0xffffffffu"), dict(POINTER="(void *)16"),
                   dict(payload=whole[:-9]), dict(payload=b"\xff" * 40),
                   dict(payload=process_context("go_labels_v1"))]
        for change in damaged:
            with self.subTest(change):
                report = self.crash(self.build(**change))
                self.assertNotIn("hunter2", json.dumps(report))
                if "payload" not in change:
                    self.assertNotIn("telemetry", report)
                    self.assertNotIn("trace", harness.crashed_thread(report))
        report = self.crash(self.build(payload=process_context("go_labels_v1")))
        self.assertNotIn("trace", harness.crashed_thread(report))

    def test_a_record_that_is_being_written_is_left_out(self):
        report = self.crash(self.build(VALID="0"))
        self.assertIn("resource", report["telemetry"])
        self.assertNotIn("trace", harness.crashed_thread(report))
        report = self.crash(self.build(RECORD_SIZE="65535"))
        self.assertEqual(harness.crashed_thread(report)["trace"],
                         {"trace_id": TRACE, "span_id": SPAN, "flags": 1})


if __name__ == "__main__":
    harness.main()
