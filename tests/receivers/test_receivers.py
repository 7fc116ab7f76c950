# SPDX-License-Identifier: Apache-2.0
#
# Reports of real crashes, sent by the built command to receivers that others wrote
# (receive.mjs): what they understood is what the report says.

import base64
import copy
import json
import os
import queue
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "integration"), os.path.join(HERE, "..", "upload")]

import bodies  # noqa: E402
import harness  # noqa: E402
import otlp_schema  # noqa: E402
from google.protobuf import descriptor_pb2, descriptor_pool  # noqa: E402
from harness import Scene, crashed_thread, example  # noqa: E402

FOLDER = os.path.realpath(os.environ["RECEIVERS"])
PUBLISHED = os.path.join(FOLDER, "node_modules", "@elastic", "mockotlpserver")
INCLUDE = os.path.join(harness.SOURCE, "include")
LIBRARY = os.path.join(harness.BUILD, "lib")


def compile_program(folder, name, sources, *options):
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-I", harness.SOURCE, "-I", INCLUDE, *options,
                    *(os.path.join(harness.SOURCE, source) for source in sources),
                    "-o", path, "-L", LIBRARY, f"-Wl,-rpath,{LIBRARY}", "-Wl,--no-as-needed",
                    "-lcrashhook", "-lcrashhook-flight", "-ldl", "-pthread"], check=True)
    return path


class Receivers:
    """The receivers, and what they say that they received."""

    def __init__(self):
        self.process = subprocess.Popen(["node", os.path.join(FOLDER, "receive.mjs")],
                                        stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        ports = self.next()
        self.urls = (f"sentry+http://5d0c0de@127.0.0.1:{ports['sentry']}/42 "
                     f"otlp+http://127.0.0.1:{ports['otlp']}")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def next(self):
        line = self.lines.get(timeout=60)
        if "error" in line:
            raise AssertionError(line["error"])
        return line

    def close(self):
        self.process.kill()
        self.process.communicate()


def published_pool():
    """OpenTelemetry's definitions, as they come with its receiver."""
    path = os.path.join(FOLDER, "published.bin")
    subprocess.run(["protoc", "-I", PUBLISHED, "--include_imports",
                    f"--descriptor_set_out={path}",
                    "opentelemetry/proto/collector/logs/v1/logs_service.proto"], check=True)
    with open(path, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    messages = {message.name: f"{file.package}.{message.name}"
                for file in files for message in file.message_type}
    return pool, messages


def shape_of(message):
    return {field.name: (field.number, field.type, field.label, field.json_name,
                         field.message_type and field.message_type.name,
                         field.containing_oneof and field.containing_oneof.name)
            for field in message.fields}


def record_of(request):
    return request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]


class Definitions(unittest.TestCase):
    def test_the_table_of_the_tests_is_what_is_published(self):
        pool, names = published_pool()
        for name in otlp_schema.MESSAGES:
            ours = otlp_schema.POOL.FindMessageTypeByName(f"{otlp_schema.PACKAGE}.{name}")
            with self.subTest(name):
                shape = shape_of(ours)
                if name == "LogRecord":  # younger than these; see check_request
                    shape.pop("event_name")
                self.assertEqual(shape, shape_of(pool.FindMessageTypeByName(names[name])))
        published = pool.FindEnumTypeByName("opentelemetry.proto.logs.v1.SeverityNumber")
        self.assertEqual({v.name: v.number for v in published.values},
                         {f"SEVERITY_NUMBER_{name}": number
                          for number, name in enumerate(otlp_schema.SEVERITIES)})


class Crashes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.receivers = Receivers()
        cls.pool, cls.names = published_pool()

    @classmethod
    def tearDownClass(cls):
        cls.receivers.close()

    def send(self, *command, linked=False, **variables):
        """Crashes it: the report, and the envelope and the request that were received."""
        with Scene() as scene:
            scene.preload = None if linked else scene.preload
            ended = scene.run(command, **variables)
            path, = scene.report_paths()
            harness.read_when_done(path)
            self.assertNotEqual(ended.signal, 0, ended.stderr)
            done = scene.command("upload", "--spool", scene.spool, "--url",
                                 self.receivers.urls, CRASHHOOK_TIMEOUT="60s")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, "rb") as file:
                data = file.read()
            got = {line["from"]: line for line in (self.receivers.next() for _ in range(2))}
            exported = {form: scene.command("export", "--format", form, path).stdout
                        for form in got}
        report = harness.expanded(data)
        self.check_envelope(got["sentry"], report, data, exported["sentry"])
        self.check_request(got["otlp"], report, exported["otlp"])
        return report, got

    def check_envelope(self, got, report, data, exported):
        items = {item["header"]["type"]: (item["header"], base64.b64decode(item["bytes"]))
                 for item in got["items"]}
        self.assertEqual(sorted(items), ["attachment", "event"])
        header, attachment = items["attachment"]
        self.assertEqual(header["filename"], "report.json")
        self.assertEqual(attachment, data)
        event = json.loads(items["event"][1])
        bodies.check_event(event)
        self.assertEqual(bodies.read_event(exported.encode())[0], event)
        self.assertEqual(got["header"]["event_id"], report["id"].replace("-", ""))
        self.check_crash(event, report)
        self.assertEqual(
            [(image["code_id"], image["image_addr"]) for image in event["debug_meta"]["images"]],
            [(image["build_id"], image["base"]) for image in report["images"]
             if "build_id" in image])

    def check_crash(self, event, report):
        exception, = event["exception"]["values"]
        crashed, = [t for t in event["threads"]["values"] if t["crashed"]]
        self.assertEqual([crashed["id"], exception["thread_id"]],
                         [report["crash"]["thread"]] * 2)
        self.assertEqual(len(event["threads"]["values"]), len(report["threads"]))
        self.assertEqual(exception["type"], report["crash"]["kind"])
        stack = exception["stacktrace"]
        frames = crashed_thread(report)["backtrace"]["frames"]
        # The innermost frame is the last one; what is left out has no address.
        expected = [f.get("function") for f in reversed(frames) if "address" in f]
        self.assertEqual([f.get("function") for f in stack["frames"]
                          if "instruction_addr" in f], expected)
        if stack["instruction_addr_adjustment"] == "all_but_first":
            self.assertEqual([f.get("instruction_addr") for f in stack["frames"]],
                             [f.get("address") for f in reversed(frames)])
        self.assertEqual(stack["frames"][-1]["instruction_addr"], frames[0]["address"])

    def check_understood(self, got):
        """OpenTelemetry's code and published definitions see all of it."""
        request = got["request"]
        encoded = otlp_schema.make()
        encoded.ParseFromString(base64.b64decode(got["bytes"]))
        self.assertEqual(otlp_schema.as_json(encoded), request)
        older = copy.deepcopy(request)
        self.assertEqual(record_of(older).pop("eventName"), "app.crash")
        message = otlp_schema.read(json.dumps(older), self.pool,
                                   self.names["ExportLogsServiceRequest"])
        self.assertEqual(otlp_schema.as_json(message), older)

    def check_request(self, got, report, exported):
        self.check_understood(got)
        request = got["request"]
        resource, found, record = bodies.read_logs(json.dumps(request).encode())
        other = copy.deepcopy(json.loads(exported))
        sent = copy.deepcopy(request)
        for one in (other, sent):
            del record_of(one)["observedTimeUnixNano"]
        self.assertEqual(sent, other)
        self.assertEqual(record["severityText"], "FATAL")
        self.assertEqual(found["crashhook.report.id"], report["id"])
        self.assertEqual(found["exception.type"], report["crash"]["name"])
        self.assertEqual(found["thread.id"], report["crash"]["thread"])
        self.assertEqual(resource["process.pid"], report["process"]["pid"])
        stack = found["exception.stacktrace"].splitlines()
        names = [f["function"] for f in crashed_thread(report)["backtrace"]["frames"]
                 if "function" in f]
        self.assertIn(names[0], stack[0])
        cbf = crashed_thread(report)["backtrace"]["cbf"]
        self.assertEqual(found["crashhook.cbf"], base64.b64decode(cbf))

    def test_a_null_write(self):
        report, _ = self.send(example("null_write"))
        self.assertEqual(report["crash"]["kind"], "null-dereference")

    def test_an_abort_of_one_thread_in_twenty(self):
        report, _ = self.send(example("heap_abort"))
        self.assertEqual(report["crash"]["kind"], "heap-corruption")
        self.assertGreaterEqual(len(report["threads"]), 20)

    def test_a_recursion_too_deep(self):
        report, got = self.send(example("overflow"))
        self.assertEqual(report["crash"]["kind"], "stack-overflow")
        event = json.loads(base64.b64decode(got["sentry"]["items"][0]["bytes"]))
        self.assertTrue([f for f in event["exception"]["values"][0]["stacktrace"]["frames"]
                         if "left out" in f.get("function", "")])

    def test_a_signal_in_a_worker(self):
        self.send(example("worker_raise"))

    def test_an_exception_that_nobody_catches(self):
        _, got = self.send(example("uncaught"))
        event = json.loads(base64.b64decode(got["sentry"]["items"][0]["bytes"]))
        self.assertIn("settings::missing_setting: no value for setting 'workers'",
                      event["exception"]["values"][0]["value"])

    def test_other_signals(self):
        for name in ("divide", "illegal"):
            with self.subTest(name):
                self.send(example(name))

    def test_watched_objects(self):
        with Scene() as scene:
            path = compile_program(scene.folder, "watched", ["tests/cases/types/watched.c"],
                                   "-O1", "-gctf")
            report, got = self.send(path, linked=True)
        self.assertIn(("session", "ctf"),
                      [(watch["name"], watch.get("source")) for watch in report["watches"]])
        event = json.loads(base64.b64decode(got["sentry"]["items"][0]["bytes"]))
        self.assertEqual(event["extra"]["watches"], report["watches"])

    def test_a_flight_record(self):
        sources = ["tests/integration/programs/flight/flight_calls.c", "formats/debug/elf.c",
                   "base/cursor.c"]
        with Scene() as scene:
            path = compile_program(scene.folder, "flight", sources, "-O2", "-g",
                                   "-finstrument-functions")
            report, _ = self.send(path, "worker", linked=True, CRASHHOOK_FLIGHT="64K")
        self.assertTrue(report["flight"]["threads"][0]["events"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
