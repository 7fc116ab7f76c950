# SPDX-License-Identifier: Apache-2.0
#
# A collector that is killed and started again while many upload: nothing is lost, nothing
# is there twice, and the spools empty. And what crashes send: to three targets at once, with
# a log intake's headers, and cut where it would be too large.

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import unittest

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "upload"))
import bodies  # noqa: E402
import fault_server  # noqa: E402
from spool_folder import Spool  # noqa: E402

SPOOLS, REPORTS = (50, 20) if harness.FULL else (20, 10)
KILLS = 3


class Collector:
    """The collector over one store, always on the same port once it has one."""

    def __init__(self, folder):
        self.folder = folder
        self.port = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [harness.COLLECTOR, "--listen", f"127.0.0.1:{self.port}", "--store",
             f"sqlite:{self.folder}/store.db"], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line).group(1))
        # Whatever else it says must not fill the pipe.
        self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.reader.start()
        self.url = f"http://127.0.0.1:{self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def stored(self):
        found, cursor = [], ""
        while cursor is not None:
            page = self.get("/api/v1/reports?limit=200" +
                            (f"&cursor={cursor}" if cursor else ""))
            found += [report["id"] for report in page["reports"]]
            cursor = page["next"]
        return found

    def count(self):
        return sum(group["count"] for group in self.get("/api/v1/groups?limit=200")["groups"])


class Killed(unittest.TestCase):
    def fill(self):
        spools = []
        for number in range(SPOOLS):
            spool = Spool(0)
            self.addCleanup(spool.__exit__)
            for report in range(REPORTS):
                spool.add(number * REPORTS + report)
            spools.append(spool)
        return spools

    def test_a_collector_killed_among_many_uploads_has_each_report_once(self):
        with harness.Scene() as scene:
            collector = Collector(scene.folder)
            spools = self.fill()
            uploads = [spool.start("--url", collector.url, CRASHHOOK_TIMEOUT="60s")
                       for spool in spools]
            for kill in range(KILLS):
                enough = SPOOLS * REPORTS * (kill + 1) // (KILLS + 2)
                while collector.count() < enough:
                    self.assertTrue(any(upload.poll() is None for upload in uploads))
                collector.kill()
                collector.start()
            for upload in uploads:
                upload.communicate(timeout=120)
            for spool in spools:  # whoever gave up on it meanwhile
                done = spool.upload("--url", collector.url, CRASHHOOK_TIMEOUT="60s")
                self.assertEqual(done.returncode, 0, done.stderr_text)

            sent = [identity for spool in spools for identity in spool.ids]
            for spool in spools:
                for identity in spool.ids:
                    self.assertEqual([t["state"] for t in spool.state(identity)], ["sent"])
            stored = collector.stored()
            self.assertEqual(len(stored), len(set(stored)), "some are there twice")
            self.assertEqual(sorted(stored), sorted(sent))
            self.assertEqual(collector.count(), len(sent))
            collector.kill()


class Everywhere(unittest.TestCase):
    def test_a_crash_reaches_every_kind_of_target(self):
        with harness.Scene() as scene, fault_server.FaultServer() as collector, \
                fault_server.FaultServer(fault_server.take_event) as sentry, \
                fault_server.FaultServer(fault_server.take_logs) as logs:
            ended = scene.run(
                [harness.example("null_write")], no_proxy="127.0.0.1",
                CRASHHOOK_URL=f"{collector.url} sentry+{sentry.url.replace('//', '//k@')}/7 "
                              f"otlp+{logs.url}")
            self.assertEqual(ended.signal, 11, ended.stderr)
            for server in (collector, sentry, logs):
                server.await_requests(1)
            report, = scene.reports()
            event, files = bodies.read_event(sentry.requests[0].plain())
            _, record, _ = bodies.read_logs(logs.requests[0].plain())
            self.assertEqual(harness.expanded(files["report.json"]), report)
            self.assertEqual(
                harness.expanded(json.dumps(collector.requests[0].report()).encode()), report)
            frames = event["exception"]["values"][0]["stacktrace"]["frames"]
            innermost = harness.frames_of(harness.crashed_thread(report))[0]
            self.assertEqual(frames[-1]["instruction_addr"], innermost["address"])
            self.assertEqual(frames[-1]["function"], innermost["function"])
            self.assertIn(innermost["function"], record["exception.stacktrace"])
            states = json.loads(scene.command("list", "--json").stdout)[0]["targets"]
            self.assertEqual([target["state"] for target in states], ["sent"] * 3)


class Telemetry(unittest.TestCase):
    """What a program is to OpenTelemetry is in its report, whoever sends that."""

    TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

    def bodies_of(self, **variables):
        with harness.Scene() as scene:
            ended = scene.run([harness.example("null_write")], **variables)
            self.assertEqual(ended.signal, 11, ended.stderr)
            report, = scene.reports()
            sent = [scene.command("export", "--format", kind, report["id"],
                                  OTEL_SERVICE_NAME="of-who-sends") for kind in
                    ("otlp", "sentry")]
            for done in sent:
                self.assertEqual(done.returncode, 0, done.stderr)
        event, _ = bodies.read_event(sent[1].stdout.encode())
        return bodies.read_logs(sent[0].stdout), event

    def test_the_resource_and_the_trace_are_those_of_the_program_that_crashed(self):
        (resource, found, record), event = self.bodies_of(
            OTEL_SERVICE_NAME="checkout", OTEL_RESOURCE_ATTRIBUTES=(
                "service.name=other,service.namespace=shop,team=a%2Cb%20c,host.name=h7,"
                "process.pid=1"),
            TRACEPARENT=f"00-{self.TRACE}-{self.SPAN}-01")
        self.assertEqual([resource[key] for key in (
            "service.name", "service.namespace", "team", "host.name")],
            ["checkout", "shop", "a,b c", "h7"])
        self.assertNotEqual(resource["process.pid"], "1")
        self.assertEqual((record["traceId"], record["spanId"]), (self.TRACE, self.SPAN))
        self.assertEqual(record["eventName"], "app.crash")
        self.assertEqual(found["app.crash.id"], found["crashhook.report.id"])
        self.assertEqual(found["exception.type"], "null-dereference")
        self.assertEqual(event["contexts"]["trace"],
                         {"trace_id": self.TRACE, "span_id": self.SPAN})
        thrown = event["exception"]["values"][-1]
        self.assertEqual(thrown["type"], "null-dereference")
        self.assertIn("null pointer", thrown["value"])
        self.assertNotIn("SIGSEGV", thrown["value"])
        self.assertEqual(found["exception.message"], thrown["value"])
        own = {frame.get("package", "").rsplit("/", 1)[-1] for frame in
               thrown["stacktrace"]["frames"] if frame["in_app"]}
        self.assertEqual(own, {"null_write", "libshop_cart.so", "libshop_pricing.so"})
        self.assertRegex(event["user"]["id"], r"^\d+@\S+$")

    def test_what_is_wrong_there_is_left_out_and_tags_say_the_trace_of_the_moment(self):
        for parent, tags, expected in (
                ("00-" + "0" * 32 + "-00f067aa0ba902b7-01", "", None),
                ("not a trace", "", None),
                (f"00-{self.TRACE}-{self.SPAN}-01", "trace_id=" + "ab" * 16, "ab" * 16)):
            (resource, _, record), _ = self.bodies_of(
                TRACEPARENT=parent, CRASHHOOK_TAGS=tags,
                OTEL_RESOURCE_ATTRIBUTES="a=1,b=%zz")
            self.assertEqual(record.get("traceId"), expected)
            self.assertNotIn("a", resource)
            self.assertEqual(resource["service.name"], "null_write")


HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
SECRET = "s3cr3t-42"


class Headers(unittest.TestCase):
    def test_a_crash_takes_them_to_a_log_intake_and_leaves_them_nowhere(self):
        with harness.Scene() as scene, \
                fault_server.FaultServer(fault_server.take_logs) as server:
            ended = scene.run(
                # It has the secret among its arguments, too.
                [harness.example("null_write"),
                 f"{HEADERS}=Authorization=Basic {SECRET},api-key={SECRET}"],
                CRASHHOOK_URL=f"otlp+{server.url}", no_proxy="127.0.0.1",
                CRASHHOOK_LOG=os.path.join(scene.folder, "log"), CRASHHOOK_TIMEOUT="60s",
                CRASHHOOK_PRINT="yes", **{HEADERS: f"api-key={SECRET}"})
            server.await_requests(1, 60)
            scene.reports()  # once nobody works on it any more
            written = server.requests[0].plain() + ended.stdout.encode() + ended.stderr.encode()
            for folder, _, names in os.walk(scene.folder):
                for name in names:
                    with open(os.path.join(folder, name), "rb") as file:
                        written += file.read()
        self.assertEqual(server.requests[0].headers["api-key"], SECRET)
        self.assertIn(f"{HEADERS}=***".encode(), written)
        self.assertNotIn(SECRET.encode(), written)


DEEP = """
#include <pthread.h>
__attribute__((noinline)) int deep(int n) { volatile int x = n; return deep(n + 1) + x; }
void *run(void *unused) { return (void *)(long)deep(unused != 0); }
int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    pthread_create(&thread, &attributes, run, 0);
    return pthread_join(thread, 0);
}
"""


class Large(unittest.TestCase):
    def test_frames_are_left_out_of_what_would_be_too_large_to_read(self):
        with harness.Scene() as scene:
            path = os.path.join(scene.folder, "deep")
            subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o",
                            path, "-pthread"], input=DEEP, text=True, check=True)
            scene.run([path], CRASHHOOK_LIMIT="none", CRASHHOOK_SYMBOLIZE="off")
            report, = scene.reports()
            self.assertLess(os.path.getsize(scene.report_paths()[0]), 16 << 20)
            self.assertEqual(len(json.loads(scene.command("list", "--json").stdout)), 1)
        frames = harness.crashed_thread(report)["backtrace"]["frames"]
        self.assertGreater(sum(f.get("count", 0) for f in frames), 100000)
        self.assertGreater(len(frames), 100000)
        self.assertEqual((frames[0]["kind"], frames[-1]["kind"]), ("pc", "ra"))


if __name__ == "__main__":
    harness.main()
