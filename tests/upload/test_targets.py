# SPDX-License-Identifier: Apache-2.0
#
# Every kind of target over real sockets: what arrives there, what its trouble means for
# the report, and whose wishes are kept for how long.

import email
import email.policy
import json
import os
import subprocess
import tempfile
import time
import unittest

import bodies
import fault_server
import otlp_schema
from certificates import make_certificate
from fault_server import FaultServer, answer
from proxies import HttpProxy, Socks5Proxy
from spool_folder import CASES, CRASHHOOK, Spool, closed_port


class Faults:
    """What goes wrong with a server of any kind; the kinds are below."""

    def target(self, server_url):
        raise NotImplementedError

    def pending_after(self, behaviour, slow=False):
        """The one line that is said; the report waits."""
        with Spool() as spool, FaultServer(behaviour) as server:
            return self.pending_at(spool, server.url, slow)

    def pending_at(self, spool, url, slow=False, **variables):
        """The same of a server that is there; only slow ones may run into the timeout."""
        line = self.line_about(spool, url, "900ms", variables)
        if "timed out" in line and not slow:  # it is this machine that was
            line = self.line_about(spool, url, "20s", variables)
        return line

    def line_about(self, spool, url, timeout, variables):
        done = spool.upload("--url", self.target(url), CRASHHOOK_TIMEOUT=timeout,
                            **variables)
        self.assertEqual(done.returncode, 1, done.stderr_text)
        target = spool.state(spool.ids[0])[0]
        self.assertEqual(target["state"], "pending")
        self.assertGreater(target["next_time"], time.time() - 30)
        lines = [line for line in done.stderr_text.splitlines()
                 if "cannot upload report" in line]
        self.assertEqual(len(lines), 1, done.stderr_text)
        self.assertIn(target["error"], lines[0])
        return lines[0]

    def failed_after(self, *behaviours):
        with Spool() as spool, FaultServer(*behaviours) as server:
            done = spool.upload("--url", self.target(server.url))
            self.assertEqual(done.returncode, 1, done.stderr_text)
            target = spool.state(spool.ids[0])[0]
            self.assertEqual(target["state"], "failed")
            requests = len(server.requests)
            spool.upload("--url", self.target(server.url))
            self.assertEqual(len(server.requests), requests, "it was sent again")
            return target["error"]

    def test_it_arrives(self):
        with Spool(2) as spool, FaultServer(self.take) as server:
            done = spool.upload("--url", self.target(server.url))
            again = spool.upload("--url", self.target(server.url))
            self.assertEqual((done.returncode, again.returncode), (0, 0),
                             done.stderr_text + again.stderr_text)
            self.assertEqual(len(server.requests), 2)
            self.assertEqual(spool.state(spool.ids[0])[0]["state"], "sent")

    def test_nobody_there(self):
        with Spool() as spool:
            self.assertIn("connect",
                          self.pending_at(spool, f"http://127.0.0.1:{closed_port()}"))

    def test_a_connection_reset_in_mid_body(self):
        # Large enough that it does not fit the socket's buffers.
        with Spool(0) as spool, FaultServer(fault_server.reset_in_mid_body) as server:
            spool.add(0, change=lambda report: report.update(watches=[
                {"name": os.urandom(1 << 20).hex(), "address": "0x1", "size": 1}] * 4))
            done = spool.upload("--url", self.target(server.url),
                                CRASHHOOK_TIMEOUT="900ms")
            self.assertRegex(done.stderr_text, "(?i)reset|broken pipe|send failure|timed out")
            self.assertEqual(spool.state(spool.ids[0])[0]["state"], "pending")
            self.assertLess(len(server.requests[0].body), 1 << 20)

    def test_a_server_that_hangs_up(self):
        self.pending_after(fault_server.hang_up)

    def test_a_server_that_trickles(self):
        self.assertIn("timed out", self.pending_after(fault_server.trickle, slow=True))

    def test_a_server_that_says_nothing(self):
        self.assertIn("timed out", self.pending_after(fault_server.say_nothing, slow=True))

    def test_a_server_in_trouble(self):
        for status in (500, 502, 503, 504):
            with self.subTest(status):
                self.assertIn(str(status), self.pending_after(answer(status)))

    def test_too_many_requests(self):
        with Spool(2) as spool, FaultServer(
                answer(429, b"", ["Retry-After: 600"])) as server:
            done = spool.upload("--url", self.target(server.url))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(server.requests), 1, "the second report was sent too")
            wait = spool.state(spool.ids[0])[0]["next_time"] - time.time()
            self.assertTrue(500 < wait < 910, wait)

    def test_a_report_that_is_too_large(self):
        self.assertIn("413", self.failed_after(answer(413)))

    def test_a_report_that_is_refused(self):
        self.assertIn("400", self.failed_after(answer(400, b'{"error":"no"}')))

    def test_an_answer_that_is_no_json(self):
        self.assertIn("is the address right",
                      self.pending_after(answer(200, b"<html>log in here</html>")))

    def test_a_redirect(self):
        with FaultServer(self.take) as other:
            for status in (301, 302, 307, 308):
                with self.subTest(status):
                    line = self.pending_after(
                        answer(status, b"", [f"Location: {other.url}/"]))
                    self.assertIn("redirects are not followed", line)
            self.assertEqual(other.requests, [])

    def test_an_expired_certificate(self):
        with Spool() as spool:
            tls, path = make_certificate(spool.folder, days=-1)
            with FaultServer(self.take, tls=tls) as server:
                line = self.pending_at(spool, server.url, CURL_CA_BUNDLE=path)
                self.assertIn("expired", line)
                self.assertEqual(server.requests, [])

    def test_a_certificate_of_ones_own(self):
        with Spool() as spool:
            tls, path = make_certificate(spool.folder)
            with FaultServer(self.take, tls=tls) as server:
                self.assertIn("certificate", self.pending_at(spool, server.url))
                done = spool.upload("--url", self.target(server.url), CURL_CA_BUNDLE=path)
                self.assertEqual(done.returncode, 0, done.stderr_text)

    def test_one_report_that_a_server_chokes_on_does_not_hold_up_the_others(self):
        with Spool(3) as spool, FaultServer(answer(500), self.take) as server:
            first = spool.upload("--url", self.target(server.url),
                                 CRASHHOOK_TIMEOUT="900ms")
            self.assertEqual(first.returncode, 1)
            server.behaviours[:] = [self.take, self.take, answer(500)]
            spool.upload("--url", self.target(server.url), CRASHHOOK_TIMEOUT="4s")
            self.assertEqual([spool.state(i)[0]["state"] for i in spool.ids],
                             ["pending", "sent", "sent"])

    def test_waits_of_a_clock_that_was_ahead_are_over(self):
        ahead = int(time.time()) + 3 * 365 * 86400
        with Spool() as spool, FaultServer(self.take) as server:
            shown = self.shown(server.url)
            with open(spool.file(spool.ids[0], ".state"), "w", encoding="utf-8") as file:
                json.dump({"targets": [{"url": shown, "state": "pending", "attempts": 9,
                                        "last_time": ahead, "next_time": ahead + 600}]},
                          file)
            spool.write("waits.json", {"targets": {shown: {
                "reports": [ahead, ahead + 600], "attachments": [0, 0]}}})
            done = spool.upload("--url", self.target(server.url), "--watch",
                                until=lambda: len(server.requests) == 1)
            self.assertEqual(len(server.requests), 1, done.stderr_text)

    def test_a_clock_that_went_on_ends_a_wait(self):
        before = int(time.time()) - 3 * 365 * 86400
        with Spool() as spool, FaultServer(self.take) as server:
            shown = self.shown(server.url)
            spool.write("waits.json", {"targets": {shown: {
                "reports": [before, before + 600], "attachments": [0, 0]}}})
            done = spool.upload("--url", self.target(server.url))
            self.assertEqual(done.returncode, 0, done.stderr_text)

    def test_through_a_proxy(self):
        with Spool() as spool, FaultServer(self.take) as server, HttpProxy() as proxy:
            done = spool.upload("--url", self.target(server.url), no_proxy="",
                                http_proxy=f"http://{proxy.address}")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(proxy.passed, [server.url.split("//")[1]])

    def test_tls_through_a_proxy(self):
        with Spool() as spool, HttpProxy() as proxy:
            tls, path = make_certificate(spool.folder)
            with FaultServer(self.take, tls=tls) as server:
                done = spool.upload("--url", self.target(server.url), no_proxy="",
                                    https_proxy=f"http://{proxy.address}",
                                    CURL_CA_BUNDLE=path)
                self.assertEqual(done.returncode, 0, done.stderr_text)
                self.assertEqual(len(proxy.passed), 1)

    def test_a_proxy_that_is_not_there(self):
        with Spool() as spool, FaultServer(self.take) as server:
            self.pending_at(spool, server.url, no_proxy="",
                            http_proxy=f"http://127.0.0.1:{closed_port()}")
            self.assertEqual(server.requests, [])

    def test_a_proxy_that_wants_a_password(self):
        with Spool() as spool, FaultServer(self.take) as server, \
                HttpProxy("ann:hunter2") as proxy:
            line = self.pending_at(spool, server.url, no_proxy="",
                                   http_proxy=f"http://{proxy.address}")
            self.assertIn("407", line)
            wrong = self.pending_at(spool, server.url, no_proxy="",
                                    http_proxy=f"http://ann:hunter3@{proxy.address}")
            self.assertNotIn("hunter3", wrong)
            done = spool.upload("--url", self.target(server.url), no_proxy="",
                                http_proxy=f"http://ann:hunter2@{proxy.address}")
            self.assertEqual(done.returncode, 0, done.stderr_text)

    def test_through_a_socks_proxy(self):
        with Spool() as spool, FaultServer(self.take) as server, \
                Socks5Proxy("ann:hunter2") as proxy:
            self.pending_at(spool, server.url, no_proxy="",
                            ALL_PROXY=f"socks5://ann:hunter3@{proxy.address}")
            done = spool.upload("--url", self.target(server.url), no_proxy="",
                                ALL_PROXY=f"socks5h://ann:hunter2@{proxy.address}")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(len(proxy.passed), 1)

    def test_a_token_is_for_collectors_alone(self):
        with Spool() as spool, FaultServer(self.take) as server:
            spool.upload("--url", self.target(server.url), CRASHHOOK_TOKEN="secret-42")
            self.assertEqual("secret-42" in str(server.requests[0].headers),
                             self.gets_token)


class Collector(Faults, unittest.TestCase):
    take = staticmethod(fault_server.take)
    gets_token = True

    def target(self, server_url):
        return server_url

    shown = target


class Sentry(Faults, unittest.TestCase):
    take = staticmethod(fault_server.take_event)
    gets_token = False

    def target(self, server_url):
        scheme, host = server_url.split("://")
        return f"sentry+{scheme}://5d0c0de@{host}/base/42"

    def shown(self, server_url):
        return self.target(server_url).replace("5d0c0de", "***")

    def test_what_arrives_is_an_envelope_with_the_report(self):
        with Spool() as spool, FaultServer(self.take) as server:
            spool.upload("--url", self.target(server.url))
            request = server.requests[0]
            self.assertEqual(request.line, "POST /base/api/42/envelope/ HTTP/1.1")
            self.assertEqual(request.headers["content-type"],
                             "application/x-sentry-envelope")
            self.assertRegex(request.headers["x-sentry-auth"],
                             r"^Sentry sentry_key=5d0c0de, sentry_version=7, "
                             r"sentry_client=crashhook/[0-9.]+$")
            self.assertNotIn("authorization", request.headers)
            event, files = bodies.read_event(request.plain())
            self.assertEqual(event["event_id"], spool.ids[0].replace("-", ""))
            self.assertEqual(spool.expanded(json.loads(files["report.json"])),
                             spool.report(spool.ids[0]))

    def test_the_key_is_written_nowhere(self):
        with Spool() as spool:
            done = spool.upload("--url",
                                self.target(f"http://127.0.0.1:{closed_port()}"),
                                CRASHHOOK_TIMEOUT="900ms")
            with open(spool.file(spool.ids[0], ".state"), encoding="utf-8") as file:
                self.assertNotIn("5d0c0de", file.read() + done.stderr_text)

    def test_a_dsn_that_is_none_is_refused(self):
        for word in ("sentry+http://127.0.0.1/1", "sentry+http://key@127.0.0.1",
                     "sentry+http://key@127.0.0.1/", "sentry+http://@127.0.0.1/1",
                     "sentry+http://k,y@127.0.0.1/1"):
            with self.subTest(word), Spool() as spool:
                done = spool.upload("--url", word)
                self.assertEqual(done.returncode, 1)
                self.assertIn("cannot upload to 'sentry+http://", done.stderr_text)

    def test_an_event_too_large_with_its_attachment_goes_without(self):
        with Spool() as spool, FaultServer(answer(413), self.take) as server:
            done = spool.upload("--url", self.target(server.url))
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(len(server.requests), 2)
            self.assertEqual(bodies.read_event(server.requests[1].plain())[1], {})

    def test_an_answer_about_another_event_leaves_it_pending(self):
        self.pending_after(answer(200, b'{"id":"%s"}' % (b"0" * 32)))

    def limited(self, spool, server, behaviours, uploads=1, **variables):
        server.behaviours[:] = behaviours
        return [spool.upload("--url", self.target(server.url), **variables)
                for _ in range(uploads)]

    def test_a_limit_on_events_is_kept_by_every_process(self):
        limit = answer(429, b"", ["Retry-After: 1", "X-Sentry-Rate-Limits: 700:error;"
                                  "default:organization, 9:session"])
        with Spool(3) as spool, FaultServer() as server:
            for done in self.limited(spool, server, [limit, self.take], 3):
                self.assertEqual(done.returncode, 1)
            self.assertEqual(len(server.requests), 1)
            wait = spool.state(spool.ids[0])[0]["next_time"] - time.time()
            self.assertTrue(600 < wait < 1060, wait)

    def test_a_limit_that_comes_with_a_good_answer_is_kept_too(self):
        with Spool(3) as spool, FaultServer() as server:
            self.limited(spool, server, [fault_server.take_event_but("60::key")], 2)
            self.assertEqual(len(server.requests), 1)
            self.assertEqual(spool.state(spool.ids[0])[0]["state"], "sent")

    def test_a_limit_on_attachments_leaves_them_out(self):
        with Spool(2) as spool, FaultServer() as server:
            self.limited(spool, server, [fault_server.take_event_but("60:attachment"),
                                         self.take])
            spool.add(7)
            self.limited(spool, server, [self.take])
            kept = [sorted(bodies.read_event(r.plain())[1]) for r in server.requests]
            self.assertEqual(kept, [["report.json"], [], []])

    def test_limits_on_what_we_do_not_send_change_nothing(self):
        with Spool(3) as spool, FaultServer() as server:
            self.limited(spool, server,
                         [fault_server.take_event_but("60:transaction;session:key, x, ,:")])
            self.assertEqual(len(server.requests), 3)

    def test_too_many_without_a_time_means_a_minute(self):
        with Spool(2) as spool, FaultServer() as server:
            self.limited(spool, server, [answer(429), self.take], 2)
            self.assertEqual(len(server.requests), 1)


class OpenTelemetry(Faults, unittest.TestCase):
    take = staticmethod(fault_server.take_logs)
    gets_token = False

    def target(self, server_url):
        return f"otlp+{server_url}"

    shown = target

    def test_what_arrives_is_a_log_record(self):
        with Spool() as spool, FaultServer(self.take) as server:
            spool.upload("--url", self.target(server.url))
            request = server.requests[0]
            self.assertEqual(request.line, "POST /v1/logs HTTP/1.1")
            self.assertEqual(request.headers["content-type"], "application/json")
            _, record, _ = bodies.read_logs(request.plain())
            self.assertEqual(record["crashhook.report.id"], spool.ids[0])

    def test_an_address_that_is_whole_is_taken_as_it_is(self):
        with Spool() as spool, FaultServer(self.take) as server:
            spool.upload("--url", self.target(server.url) + "/in/v1/logs")
            self.assertEqual(server.requests[0].line, "POST /in/v1/logs HTTP/1.1")

    def test_user_and_password_go_to_the_server_alone(self):
        with Spool() as spool, FaultServer(self.take) as server:
            url = self.target(server.url).replace("//", "//ann:hunter2@")
            done = spool.upload("--url", url)
            self.assertTrue(server.requests[0].headers["authorization"]
                            .startswith("Basic "))
            with open(spool.file(spool.ids[0], ".state"), encoding="utf-8") as file:
                self.assertNotIn("hunter2", file.read() + done.stderr_text)

    def test_an_empty_answer_will_do(self):
        with Spool() as spool, FaultServer(answer(200)) as server:
            done = spool.upload("--url", self.target(server.url))
            self.assertEqual(done.returncode, 0, done.stderr_text)

    def test_a_record_that_was_rejected_has_failed(self):
        for count in (b'"1"', b"1"):
            with self.subTest(count):
                error = self.failed_after(answer(
                    200, b'{"partialSuccess":{"rejectedLogRecords":%s,'
                         b'"errorMessage":"no room\\u001b"}}' % count))
                self.assertIn("rejected the report: no room?", error)


class Protobuf(unittest.TestCase):
    """An OpenTelemetry intake that is sent protobuf."""

    def upload(self, *behaviours, **variables):
        """What was sent of the report, its state, and the request."""
        variables = variables or {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        with Spool() as spool, FaultServer(*behaviours) as server:
            spool.upload("--url", f"otlp+{server.url}", **variables)
            return spool.report(spool.ids[0]), spool.state(spool.ids[0])[0], server.requests[0]

    def test_the_record_is_the_one_of_json(self):
        report, state, request = self.upload(answer(200))
        self.assertEqual(state["state"], "sent")
        self.assertEqual(request.headers["content-type"], "application/x-protobuf")
        sent = otlp_schema.make()
        sent.ParseFromString(request.plain())
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(report, file)
            file.flush()
            wanted, said = (subprocess.run([CRASHHOOK, "export", "--format", form, file.name],
                                           stdout=subprocess.PIPE, check=True).stdout
                            for form in ("otlp", "otlp-protobuf"))
        wanted = otlp_schema.read(wanted)
        exported = otlp_schema.make()
        exported.ParseFromString(said)
        for message in (sent, wanted, exported):
            record = message.resource_logs[0].scope_logs[0].log_records[0]
            record.observed_time_unix_nano = 0
        self.assertEqual(exported, wanted)
        self.assertEqual(sent, wanted)

    def test_the_variable_of_logs_takes_precedence(self):
        for logs, kind in (("http/protobuf", "application/x-protobuf"),
                           ("http/json", "application/json")):
            _, _, request = self.upload(answer(200), OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=logs,
                                        OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf")
            self.assertEqual(request.headers["content-type"], kind)

    def test_answers_in_either_form_are_understood(self):
        rejected = b"\x0a\x0b\x08\x01\x12\x07no room"
        for status, body, state, why in (
                (200, b"", "sent", None), (200, b'{"partialSuccess":{}}', "sent", None),
                (200, b"\x0a\x00", "sent", None),
                (200, rejected, "failed", "rejected the report: no room"),
                (200, rejected[:-1], "pending", "is the address right"),
                (200, b"<html>", "pending", "is the address right"),
                (400, b"\x08\x03\x12\x03why", "failed", "400: why"),
                (400, b'{"message":"why"}', "failed", "400: why"),
                (503, b"\xff", "pending", "503")):
            with self.subTest(status=status, body=body):
                _, found, _ = self.upload(answer(status, body))
                self.assertEqual(found["state"], state)
                self.assertIn(why or "", found.get("error") or "")


class Minidumps(Faults, unittest.TestCase):
    take = staticmethod(answer(200, b"CrashID=bp-1"))
    gets_token = False

    def target(self, server_url):
        return f"minidump+{server_url}/submit"

    shown = target

    def test_what_arrives_is_a_form_with_a_minidump(self):
        with Spool() as spool, FaultServer(self.take) as server:
            spool.upload("--url", self.target(server.url) + "/?key=1")
            request = server.requests[0]
            self.assertEqual(request.line, "POST /submit/?key=1 HTTP/1.1")
            form = email.message_from_bytes(
                b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
                + request.plain(), policy=email.policy.HTTP)
            parts = {part.get_param("name", header="content-disposition"): part
                     for part in form.iter_parts()}
            self.assertEqual(parts["crashhook_id"].get_payload(), spool.ids[0])
            dump = parts["upload_file_minidump"]
            self.assertEqual(dump.get_content_type(), "application/octet-stream")
            self.assertEqual(dump.get_payload(decode=True)[:4], b"MDMP")

    def test_names_of_tags_cannot_leave_their_field(self):
        with Spool(0) as spool, FaultServer(self.take) as server:
            spool.add(0, change=lambda report: report.update(
                tags={'a"\r\nX: y\r\n\r\n': "v"}))
            spool.upload("--url", self.target(server.url))
            self.assertIn(b'name="a%22%0D%0AX: y%0D%0A%0D%0A"\r\n',
                          server.requests[0].plain())

    def test_a_report_without_registers_has_failed_and_the_others_are_sent(self):
        def without(report):
            for thread in report["threads"]:
                thread.pop("registers", None)
        with Spool(1) as spool, FaultServer(self.take) as server:
            spool.add(3, change=without)
            done = spool.upload("--url", self.target(server.url))
            self.assertEqual(len(server.requests), 1)
            self.assertIn("it takes minidumps, and this report has no registers",
                          done.stderr_text)
            self.assertEqual(sorted(spool.state(i)[0]["state"] for i in spool.ids),
                             ["failed", "sent"])

    def test_a_minidump_that_was_discarded_has_failed(self):
        self.assertIn("rejected the report: rule_has_guid_match",
                      self.failed_after(answer(200, b"Discarded=rule_has_guid_match")))


class Together(unittest.TestCase):
    def test_each_target_has_its_own_state(self):
        with Spool(2) as spool, FaultServer() as collector, \
                FaultServer(fault_server.take_event) as sentry, \
                FaultServer(answer(503)) as logs:
            urls = [collector.url, sentry.url.replace("http://", "sentry+http://k@") + "/1",
                    "otlp+" + logs.url]
            done = spool.upload("--url", " ".join(urls), CRASHHOOK_TIMEOUT="4s")
            self.assertEqual(done.returncode, 1)
            states = [[t["state"] for t in spool.state(i)] for i in spool.ids]
            self.assertEqual(states, [["sent", "sent", "pending"]] * 2)
            logs.behaviours[:] = [fault_server.take_logs]
            again = spool.upload("--url", " ".join(urls))
            self.assertEqual(again.returncode, 0, again.stderr_text)
            self.assertEqual([len(s.requests) for s in (collector, sentry)], [2, 2])
            listed = subprocess.run([CRASHHOOK, "list", "--json", "--spool", spool.path],
                                    check=True, stdout=subprocess.PIPE)
            for report in json.loads(listed.stdout):
                self.assertEqual([t["state"] for t in report["targets"]], ["sent"] * 3)
                self.assertEqual(report["targets"][1]["url"],
                                 urls[1].replace("//k@", "//***@"))


class Bodies(unittest.TestCase):
    def export(self, form, path):
        done = subprocess.run([CRASHHOOK, "export", "--format", form, path],
                              stdout=subprocess.PIPE, check=True)
        return done.stdout

    def case(self, name):
        return os.path.join(CASES, name)

    def grown(self, change):
        with open(self.case("named.json"), encoding="utf-8") as file:
            report = json.load(file)
        change(report)
        file = tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8")
        self.addCleanup(file.close)
        json.dump(report, file)
        file.flush()
        return file.name, report

    def test_export_writes_what_is_sent(self):
        with Spool() as spool, FaultServer(fault_server.take_event) as sentry, \
                FaultServer(fault_server.take_logs) as logs:
            spool.upload("--url", f"{sentry.url.replace('//', '//k@')}/1"
                         .replace("http:", "sentry+http:") + f" otlp+{logs.url}")
            path = spool.file(spool.ids[0])
            sent = bodies.read_event(sentry.requests[0].plain())
            self.assertEqual(bodies.read_event(self.export("sentry", path)), sent)
            sent = bodies.read_logs(logs.requests[0].plain())
            exported = bodies.read_logs(self.export("otlp", path))
            for record in (sent[2], exported[2]):
                del record["observedTimeUnixNano"]
            self.assertEqual(exported, sent)

    def test_every_case_is_valid_in_every_form(self):
        for name in ("named.json", "raw.json", "hostile.json"):
            with self.subTest(name):
                event, files = bodies.read_event(self.export("sentry", self.case(name)))
                bodies.read_logs(self.export("otlp", self.case(name)))
                with open(self.case(name), encoding="utf-8") as file, Spool(0) as spool:
                    self.assertEqual(spool.expanded(json.loads(files["report.json"])),
                                     json.load(file))
                self.assertEqual(len(event["threads"]["values"]), 5)

    def test_the_crashing_frame_is_last_and_inlined_calls_after_their_caller(self):
        event, _ = bodies.read_event(self.export("sentry", self.case("named.json")))
        frames = event["exception"]["values"][0]["stacktrace"]["frames"]
        self.assertEqual([f["function"] for f in frames][-3:],
                         ["store::Session::put(std::string_view, int)", "table_insert",
                          "slot_touch"])
        self.assertEqual(frames[-1]["instruction_addr"], "0x7ffff7fb2136")
        self.assertEqual(frames[-3]["symbol"][:6], "_ZN5st")
        self.assertEqual(frames[0]["function"], "_start")

    def test_frames_a_signal_interrupted_are_told_from_return_addresses(self):
        def interrupt(report):
            report["threads"][0]["backtrace"]["frames"][3]["kind"] = "pc"
        path, report = self.grown(interrupt)
        stack = bodies.read_event(self.export("sentry", path))[0]["exception"]["values"][0][
            "stacktrace"]
        frames = report["threads"][0]["backtrace"]["frames"]
        self.assertEqual(stack["instruction_addr_adjustment"], "none")
        self.assertEqual(stack["frames"][-4]["instruction_addr"], frames[3]["address"])
        self.assertEqual(int(stack["frames"][-3]["instruction_addr"], 16),
                         int(frames[2]["address"], 16) - 1)

    def test_one_thread_has_crashed_whatever_a_report_says(self):
        def mark_all(report):
            for thread in report["threads"]:
                thread["crashed"] = True

        def mark_none(report):
            del report["threads"][0]["crashed"]

        def forget_thread(report):
            del report["threads"][0]
        for change in (mark_all, mark_none, forget_thread):
            with self.subTest(change.__name__):
                event, _ = bodies.read_event(self.export("sentry", self.grown(change)[0]))
                self.assertEqual([t["id"] for t in event["threads"]["values"]
                                  if t["crashed"]], [4242])

    def test_a_live_process_has_crashed_nowhere(self):
        def live(report):
            del report["crash"], report["fingerprint"], report["threads"][0]["crashed"]
        path, _ = self.grown(live)
        event, _ = bodies.read_event(self.export("sentry", path))
        self.assertEqual((event["level"], "exception" in event), ("info", False))
        self.assertEqual(bodies.read_logs(self.export("otlp", path))[2]["severityNumber"], 9)

    def test_images_without_a_build_id_are_left_out(self):
        path, report = self.grown(lambda report: report["images"][0].pop("build_id"))
        event, _ = bodies.read_event(self.export("sentry", path))
        self.assertEqual(len(event["debug_meta"]["images"]), len(report["images"]) - 1)

    def test_a_report_of_5000_threads_fits_a_megabyte(self):
        def multiply(report):
            report["threads"] += [dict(report["threads"][1], tid=10000 + i)
                                  for i in range(5000)]
        path, report = self.grown(multiply)
        event, files = bodies.read_event(self.export("sentry", path))
        self.assertEqual(len(json.loads(files["report.json"])["threads"]),
                         len(report["threads"]))
        self.assertIn("stacktrace", event["exception"]["values"][0])
        self.assertLess(len(self.export("otlp", path)), 4_000_001)

    def test_large_bodies_are_compressed_on_their_way(self):
        with Spool(0) as spool, FaultServer(fault_server.take_event) as sentry:
            spool.add(0, change=lambda report: report["breadcrumbs"].extend(
                report["breadcrumbs"] * 4000))
            done = spool.upload("--url", "sentry+" + sentry.url.replace("//", "//k@") + "/1")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(sentry.requests[0].headers["content-encoding"], "gzip")
            bodies.read_event(sentry.requests[0].plain())

    def test_the_readers_refuse_mistakes(self):
        good, _ = bodies.read_event(self.export("sentry", self.case("named.json")))
        mistakes = [
            lambda e: e.update(surprise=1),
            lambda e: e["threads"]["values"][1].update(crashed=True),
            lambda e: e["threads"]["values"][0].update(crashed=False),
            lambda e: e["debug_meta"]["images"][0].update(debug_id="0" * 36),
            lambda e: e["exception"]["values"][0]["stacktrace"]["frames"][0].update(lineno="3"),
            lambda e: e["exception"]["values"][0].update(thread_id=1),
        ]
        for number, mistake in enumerate(mistakes):
            event = json.loads(json.dumps(good))
            mistake(event)
            with self.subTest(number), self.assertRaises(bodies.Wrong):
                bodies.check_event(event)

    def test_the_readers_refuse_what_is_no_request_with_log_records(self):
        good = json.loads(self.export("otlp", self.case("named.json")))

        def record(request):
            return request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]

        mistakes = [
            lambda r: r.update(surprise=1),
            lambda r: record(r).update(severityNumber="21"),
            lambda r: record(r).update(severityNumber=2.5),
            lambda r: record(r).update(timeUnixNano="12 s"),
            lambda r: record(r).update(timeUnixNano="-1"),
            lambda r: record(r).update(body="text"),
            lambda r: record(r)["body"].update(intValue="1"),
            lambda r: record(r)["attributes"][0].update(value={"intValue": "1e99"}),
            lambda r: record(r)["attributes"][0].update(value={"bytesValue": "*"}),
            lambda r: record(r)["attributes"][0].update(value={"mapValue": {}}),
            lambda r: record(r).update(attributes={"a": "b"}),
            lambda r: r["resourceLogs"][0].update(resource=[]),
        ]
        for number, mistake in enumerate(mistakes):
            request = json.loads(json.dumps(good))
            mistake(request)
            with self.subTest(number), self.assertRaises(bodies.Wrong):
                bodies.read_logs(json.dumps(request).encode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
