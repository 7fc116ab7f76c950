#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_http COLLECTOR ZSTD: the collector as its clients see it, over real sockets.

import base64
import glob
import gzip
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

import jsonschema

import sample_reports
from running import Collector

BINARY = None
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def elf_with_build_id(build_id):
    """The smallest ELF file that says of which build it is."""
    note = struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0") + build_id
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0,
                                 0, 0)
    segment = struct.pack("<IIQQQQQQ", 4, 4, 120, 120, 120, len(note), len(note), 4)
    return header + segment + note


def without_verdicts(report):
    """A copy without what is said of each frame by the reader's own rules."""
    copy = json.loads(json.dumps(report))
    for thread in copy["threads"]:
        for frame in thread["backtrace"]["frames"]:
            frame.pop("rule", None)
            frame.pop("system", None)
    return copy


def frame_counts(report):
    """How many frames each thread has, in a report of either version."""
    if "stacks" not in report:
        return [len(thread["backtrace"].get("frames", ())) for thread in report["threads"]]
    frames = [sum(1 if isinstance(place, dict)
                  else 1 + len(report["places"][place].get("inlined", ()))
                  for place in stack.get("frames", ())) for stack in report["stacks"]]
    return [frames[thread["stack"]] for thread in report["threads"]]


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = cls.enterClassContext(Collector(BINARY))
        cls.number = 1000

    @classmethod
    def tearDownClass(cls):
        """It ends as it should: a sanitizer that found anything says so now."""
        status, said = cls.collector.stop()
        if status != 0 or said:
            raise AssertionError(f"the collector ended with {status}: {said}")

    def report(self, make=sample_reports.null_write, **more):
        type(self).number += 1
        return make(self.number, **more)

    def refused(self, status, answer, wanted):
        self.assertEqual(status, wanted, answer)
        self.assertEqual(list(answer), ["error"])
        self.assertTrue(answer["error"])

    def test_a_report_is_created_once_and_then_known(self):
        report = self.report()
        status, answer = self.collector.post(report)
        self.assertEqual(status, 201)
        self.assertEqual(answer, {"id": report["id"], "group": report["fingerprint"]})
        self.assertEqual(self.collector.post(report), (200, answer))
        _, listed = self.collector.json("GET", "/api/v1/reports?group=" +
                                        report["fingerprint"])
        self.assertEqual(len(listed["reports"]), 1)

    def test_a_higher_revision_replaces_and_a_lower_one_does_not(self):
        report = self.report(revision=1)
        address = "/api/v1/reports/" + report["id"]
        self.assertEqual(self.collector.post(report)[0], 201)
        self.assertEqual(self.collector.post({**report, "revision": 0})[0], 200)
        self.assertEqual(self.collector.json("GET", address)[1]["revision"], 1)
        self.assertEqual(self.collector.post({**report, "revision": 2})[0], 200)
        self.assertEqual(self.collector.json("GET", address)[1]["revision"], 2)

    def test_compressed_reports_are_taken_and_given_back_as_sent(self):
        for encoding, encode in (("gzip", gzip.compress), ("zstd", zstd)):
            report = self.report()
            sent = json.dumps(report, indent=3).encode()
            status, _ = self.collector.post(encode(sent), {"Content-Encoding": encoding})
            self.assertEqual(status, 201)
            _, _, back = self.collector.request(
                "GET", f"/api/v1/reports/{report['id']}?form=sent")
            self.assertEqual(back, sent)
            _, parsed = self.collector.json("GET", "/api/v1/reports/" + report["id"])
            self.assertEqual(without_verdicts(parsed), without_verdicts(report))

    def test_a_report_of_either_version_is_given_expanded(self):
        with open(os.path.join(SOURCE, "docs", "report-1.schema.json"),
                  encoding="utf-8") as file:
            schema = jsonschema.Draft202012Validator(json.load(file))
        cases = sorted(glob.glob(os.path.join(SOURCE, "tests/cases/report/version[12]/*")))
        self.assertGreater(len(cases), 30)
        for path in cases:
            with self.subTest(path), open(path, encoding="utf-8") as file:
                report = {**json.load(file), "id": self.report()["id"]}
                self.assertEqual(self.collector.post(report)[0], 201)
                status, given = self.collector.json(
                    "GET", f"/api/v1/reports/{report['id']}?form=expanded")
                self.assertEqual((status, given["schema"]), (200, "crashhook.report/1"))
                self.assertEqual(list(map(str, schema.iter_errors(given))), [])
                self.assertEqual(frame_counts(given), frame_counts(report))

    def test_what_is_no_report_is_refused(self):
        valid = json.dumps(self.report()).encode()
        for body in (b"", b"{", b"[]", b"null", b"\x00", b'{"schema":"other/1"}',
                     valid[:-20], valid + b"x", b"[" * 100000,
                     valid.replace(b"ams-worker-07", b"\xff\xfe"),
                     valid.replace(b'"threads": [', b'"threads": 7, "x": [', 1)):
            self.refused(*self.collector.post(body), 400)

    def test_a_report_whose_id_is_no_uuid_is_refused(self):
        for wrong in ("x", "../../etc/passwd", "", "A" * 36):
            report = self.report()
            report["id"] = wrong
            self.refused(*self.collector.post(report), 400)

    def test_damaged_compression_is_refused(self):
        packed = gzip.compress(json.dumps(self.report()).encode())
        damaged = packed[:40] + b"\xff\xff\xff\xff" + packed[44:]
        headers = {"Content-Encoding": "gzip"}
        self.refused(*self.collector.post(packed[:-9], headers), 400)
        self.refused(*self.collector.post(damaged, headers), 400)
        self.refused(*self.collector.post(b"", headers), 400)
        self.refused(*self.collector.post(packed, {"Content-Encoding": "zstd"}), 400)

    def test_an_encoding_nobody_knows_is_refused(self):
        self.refused(*self.collector.post(self.report(), {"Content-Encoding": "br"}), 415)

    def test_bombs_are_refused(self):
        zeros = bytes(80 << 20)
        self.refused(*self.collector.post(gzip.compress(zeros, 6),
                                          {"Content-Encoding": "gzip"}), 413)
        self.refused(*self.collector.post(zstd(zeros), {"Content-Encoding": "zstd"}), 413)
        objects = b"[" + b"{}," * 5_000_000 + b"{}]"
        self.refused(*self.collector.post(gzip.compress(objects, 6),
                                          {"Content-Encoding": "gzip"}), 413)

    def test_a_body_past_the_limit_is_refused(self):
        self.refused(*self.collector.post(b" " * ((16 << 20) + 1)), 413)

    def test_a_body_past_the_limit_is_refused_before_it_is_sent_when_asked(self):
        with self.collector.socket() as client:
            client.sendall(b"POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                           b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 413"))

    def test_a_chunked_body_past_the_limit_is_refused(self):
        connection = self.collector.connection()
        chunks = (b" " * (1 << 20) for _ in range(17))
        connection.request("POST", "/api/v1/reports", chunks, encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()

    def test_unknown_addresses_and_methods_are_refused(self):
        for method, path, wanted in (
                ("GET", "/api/v1/nothing", 404), ("GET", "/api/v1/reports/x/y", 404),
                ("GET", "/api/v1/reports/", 404), ("PATCH", "/api/v1/reports", 405),
                ("POST", "/api/v1/groups", 405), ("BREW", "/api/v1/groups", 405),
                ("GET", "/api/v1/groups/0123456789", 404),
                ("GET", "/api/v1/reports/" + "0" * 36, 404),
                ("GET", "/api/v1/reports/" + "x" * 5000, 404)):
            status, answer = self.collector.json(method, path)
            self.refused(status, answer, wanted)
        for path in ("/nothing", "/groups/0123456789", "/reports/x", "/..%2f.."):
            status, headers, body = self.collector.request("GET", path)
            self.assertEqual(status, 404)
            self.assertIn("text/html", headers["Content-Type"])
            self.assertIn(b"there is no", body)

    def test_filters_that_cannot_be_understood_are_refused(self):
        for query in ("since=yesterday", "until=x", "limit=0", "limit=9999", "limit=x",
                      "tag=x", "cursor=x"):
            for path in ("/api/v1/reports?", "/api/v1/groups?"):
                self.refused(*self.collector.json("GET", path + query), 400)
        report = self.report()
        self.collector.post(report)
        self.refused(*self.collector.json(
            "GET", f"/api/v1/reports/{report['id']}?form=x"), 400)

    def test_parameters_that_nobody_knows_are_refused_with_a_suggestion(self):
        report = self.report()
        self.collector.post(report)
        for path, said in (
                (f"/api/v1/reports/{report['id']}?frm=sent", "did you mean `form`?"),
                (f"/api/v1/groups/{report['fingerprint']}?form=text", "`form`"),
                ("/api/v1/starts?relase=1", "did you mean `release`?"),
                ("/api/v1/starts?x=1", "`x`")):
            status, answer = self.collector.json("GET", path)
            self.refused(status, answer, 400)
            self.assertIn(said, answer["error"])

    def page(self, path):
        status, _, body = self.collector.request("GET", path)
        self.assertEqual(status, 200, path)
        return body.decode()

    def test_a_term_that_must_not_hold_is_shown_as_one(self):
        self.collector.post(self.report())
        page = self.page("/groups?q=-host:h1+-is:unassigned+is:unassigned+-word")
        shown = re.findall('title="Remove">(.*?) \u00d7</a>', page)
        self.assertEqual(shown, ["-host:h1", "-is:unassigned", "is:unassigned", "-word"])

    def test_the_overview_keeps_a_release_that_nobody_has_sent(self):
        self.collector.post(self.report())
        self.assertIn("<option selected>0.0-none</option>",
                      self.page("/?for_release=0.0-none"))

    def test_a_long_tag_leads_to_the_groups_that_have_it(self):
        report = self.report(tags={"\u00fc" * 40: "\u00e4" * 150})
        self.collector.post(report)
        link = re.search('href="(/groups[?]q=tag:[^"]*)"',
                         self.page("/reports/" + report["id"])).group(1)
        self.assertIn("/groups/" + report["fingerprint"], self.page(link))

    def test_sessions_without_a_release_are_counted_without_a_link(self):
        day = int(time.time()) // 86400
        self.collector.post(self.report())
        status, _, body = self.collector.request(
            "POST", "/api/v1/starts", json.dumps(
                {"id": sample_reports.report_id(77), "release": "", "host": "",
                 "day": day, "starts": 1, "ends": 1}).encode())
        self.assertEqual(status, 201, body)
        page = self.page("/")
        self.assertIn('<span class="name">without a name</span>', page)
        self.assertIn("of 1 session<", page)

    def test_filters_narrow_reports_and_groups(self):
        report = self.report(release="9.9-only", environment="lab",
                             tags={"color": "blue:green"})
        self.collector.post(report)
        for query in ("release=9.9-only", "environment=lab", "tag=color:blue:green",
                      "release=9.9-only&signal=SIGSEGV", "release=9.9-only&signal=segv",
                      "release=9.9-only&signal=11&since=1h", "environment=lab&q=JOURNAL",
                      "group=" + report["fingerprint"]):
            _, reports = self.collector.json("GET", "/api/v1/reports?" + query)
            _, groups = self.collector.json("GET", "/api/v1/groups?" + query)
            self.assertEqual([r["id"] for r in reports["reports"]], [report["id"]], query)
            self.assertEqual([g["id"] for g in groups["groups"]],
                             [report["fingerprint"]], query)
        for query in ("release=9.9-only&signal=6", "release=9.9-only&until=1h",
                      "tag=color:red"):
            _, reports = self.collector.json("GET", "/api/v1/reports?" + query)
            self.assertEqual(reports["reports"], [], query)

    def test_letters_of_every_language_are_found_in_either_case(self):
        report = self.report(release="\u00e4-only", tags={})
        report["crash"]["summary"] = "\u00c4rger mit GR\u00d6SSE \u0416\u0423\u041a"
        self.collector.post(report)
        for word, found in (("\u00e4rger", 1), ("\u00c4RGER", 1), ("gr\u00f6sse", 1),
                            ("\u0436\u0443\u043a", 1), ("\u00e4rgen", 0),
                            ("-\u00e4rger", 0), ("\u0436\u0443", 1)):
            query = urllib.parse.urlencode({"q": f"release:\u00e4-only {word}"})
            _, groups = self.collector.json("GET", "/api/v1/groups?" + query)
            self.assertEqual([g["filtered_count"] for g in groups["groups"]], [1] * found,
                             word)

    def test_lists_are_given_page_by_page(self):
        sent = [self.report(release="paged") for _ in range(5)]
        for report in sent:
            self.collector.post(report)
        for kind, key in (("reports", "id"), ("groups", "fingerprint")):
            seen, cursor = [], ""
            while cursor is not None:
                _, page = self.collector.json(
                    "GET", f"/api/v1/{kind}?release=paged&limit=2" +
                    (f"&cursor={cursor}" if cursor else ""))
                self.assertLessEqual(len(page[kind]), 2)
                seen += [row["id"] for row in page[kind]]
                cursor = page["next"]
            self.assertEqual(sorted(seen), sorted(report[key] for report in sent))

    def test_a_group_says_what_the_contract_lists(self):
        report = self.report(release="3.1")
        self.collector.post(report)
        _, group = self.collector.json("GET", "/api/v1/groups/" + report["fingerprint"])
        self.assertLessEqual({"id", "title", "count", "first_seen", "last_seen",
                              "releases", "status"}, set(group))
        self.assertEqual(group["title"],
                         "null pointer in ledger::entry::set_amount \u00b7 ledgerd")
        self.assertEqual((group["count"], group["releases"]), (1, ["3.1"]))
        self.assertEqual(group["last_seen"], report["time"])

    def test_a_report_without_fingerprint_gets_one(self):
        first, second = self.report(), self.report()
        del first["fingerprint"], second["fingerprint"]
        group = self.collector.post(first)[1]["group"]
        self.assertRegex(group, "^[0-9a-f]{32}$")
        self.assertEqual(self.collector.post(second)[1]["group"], group)

    def test_a_report_of_next_to_nothing_is_stored(self):
        report = {"schema": "crashhook.report/1", "id": self.report()["id"], "revision": 0,
                  "time": "2026-11-20T10:00:00Z", "threads": [], "images": [],
                  "crash": {"signal": 11, "name": "SIGSEGV", "code": 1, "code_name": "SEGV_MAPERR",
                            "thread": 1}}
        self.assertEqual(self.collector.post(report)[0], 201)
        self.assertEqual(self.collector.request("GET", "/reports/" + report["id"])[0], 200)

    def test_a_clock_that_is_ahead_does_not_stay_on_top(self):
        report = self.report(time="2999-01-01T00:00:00.000Z")
        group = self.collector.post(report)[1]["group"]
        _, found = self.collector.json("GET", "/api/v1/groups/" + group)
        self.assertLess(found["last_seen"], "2999")

    def test_debug_files_are_kept_by_build_id(self):
        file = elf_with_build_id(bytes.fromhex("ab12cd34ef"))
        address = "/api/v1/symbols/ab12cd34ef"
        self.assertEqual(self.collector.json("PUT", address, file)[0], 201)
        self.assertEqual(self.collector.json("PUT", address, file)[0], 200)
        path = self.collector.path("symbols/.build-id/ab/12cd34ef.sym")
        with open(path, "rb") as kept:
            self.assertEqual(kept.read(), file)
        self.assertEqual(os.listdir(os.path.dirname(path)), ["12cd34ef.sym"])

    def test_files_that_are_not_of_their_build_are_refused_and_leave_nothing(self):
        file = elf_with_build_id(bytes.fromhex("ab12cd34ef"))
        for name, body in (("ab12cd34ff", file), ("0011", b"text"), ("0011", b""),
                           ("..%2f..%2fx", file), ("xyz1", file), ("AB12", file),
                           ("abc", file), ("a" * 200, file)):
            status, answer = self.collector.json("PUT", "/api/v1/symbols/" + name, body)
            self.assertIn(status, (400, 404), name)
            self.assertTrue(answer["error"])
        kept = [name for _, _, names in os.walk(self.collector.path("symbols"))
                for name in names]
        self.assertLessEqual(set(kept), {"12cd34ef.sym", ".apart"})

    def test_a_client_that_goes_away_in_mid_body_leaves_nothing(self):
        file = elf_with_build_id(bytes.fromhex("77aa"))
        with self.collector.socket() as client:
            client.sendall(b"PUT /api/v1/symbols/77aa HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                           b"Content-Length: 100000\r\n\r\n" + file)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
        self.assertEqual(self.collector.request("GET", "/healthz")[0], 200)
        names = [name for _, _, names in os.walk(self.collector.path("symbols"))
                 for name in names]
        self.assertNotIn("aa.debug", names)

    def test_pages_of_other_sites_may_not_send(self):
        self.refused(*self.collector.post(self.report(), {"Sec-Fetch-Site": "cross-site"}),
                     403)

    def test_without_tokens_a_foreign_name_is_not_answered(self):
        status, _ = self.collector.json("GET", "/api/v1/reports",
                                        headers={"Host": "rebound.example"})
        self.assertEqual(status, 403)

    def test_every_answer_forbids_scripts_and_sniffing(self):
        for path in ("/", "/nothing", "/api/v1/reports", "/style.css", "/metrics"):
            _, headers, _ = self.collector.request("GET", path)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("script-src", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

    def test_health_and_metrics_tell_how_it_is(self):
        self.collector.post(self.report())
        self.assertEqual(self.collector.json("GET", "/healthz"), (200, {"status": "ok"}))
        self.assertEqual(self.collector.json("GET", "/readyz"), (200, {"status": "ok"}))
        _, headers, body = self.collector.request("GET", "/metrics")
        self.assertTrue(headers["Content-Type"].startswith("text/plain"))
        values = dict(line.rsplit(" ", 1) for line in body.decode().splitlines()
                      if not line.startswith("#"))
        self.assertGreater(int(values['crashhook_http_answers_total{code="201"}']), 0)
        self.assertGreater(
            int(values['crashhook_reports_received_total{outcome="added"}']), 0)
        self.assertGreater(int(values["crashhook_reports"]), 0)

    def test_many_at_once_are_each_kept_once(self):
        reports = [self.report(release="many") for _ in range(120)]
        answers = []

        def send(mine):
            answers.extend(self.collector.post(report)[0] for report in mine)

        threads = [threading.Thread(target=send, args=(reports[i % 40::40] * 2,))
                   for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [200] * 120 + [201] * 120)
        _, listed = self.collector.json("GET", "/api/v1/reports?release=many&limit=200")
        self.assertEqual({row["id"] for row in listed["reports"]},
                         {report["id"] for report in reports})


class Starting(unittest.TestCase):
    def run_wrong(self, *arguments):
        done = subprocess.run([BINARY, *arguments], stderr=subprocess.PIPE, text=True,
                              timeout=20, check=False)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.returncode, done.stderr

    def test_it_does_not_listen_beyond_loopback_without_tokens(self):
        code, said = self.run_wrong("--listen", "0.0.0.0:0", "--store", "sqlite:/dev/null")
        self.assertEqual(code, 2)
        self.assertIn("--token-file", said)

    def test_wrong_use_is_said_in_one_line(self):
        for arguments in (["--nonsense"], ["--listen"], ["--listen", "nowhere"],
                          ["--listen", "127.0.0.1:65536"], ["--listen", "127.0.0.1:http"],
                          ["--listen", "127.0.0.1:0", "--store", "mysql://x"],
                          ["--listen", "127.0.0.1:0", "--keep", "soon"],
                          ["--listen", "127.0.0.1:0", "--keep", "2020-01-01"],
                          ["--listen", "127.0.0.1:0", "--keep-per-group", "0"],
                          ["--listen", "127.0.0.1:0", "--log", "all"],
                          ["--listen", "127.0.0.1:0", "--search-without", "kernel,host"],
                          ["--listen", "127.0.0.1:0", "--rate", "5"]):
            self.assertEqual(self.run_wrong(*arguments)[0], 2)
        for arguments in (["--listen", "127.0.0.1:0", "--store", "sqlite:/no/x.db"],
                          ["--listen", "192.0.2.1:80"],
                          ["--token-file", "/nowhere"]):
            self.assertEqual(self.run_wrong(*arguments)[0], 1)

    def test_reports_are_not_found_by_fields_that_are_left_out(self):
        with Collector(BINARY, extra=["--search-without", "register,frame"]) as collector:
            report = sample_reports.null_write(1)
            collector.post(report)
            for field, count in (("register", 0), ("kernel", 1)):
                found = collector.json("GET", "/api/v1/facets?by=" + field)[1]
                self.assertEqual(len(found["facets"]), count, found)
            status, said = collector.json("GET", "/api/v1/groups?q=frame:worker_loop")
            self.assertEqual((status, said["error"]),
                             (400, "this collector does not search by `frame:`"))

    def test_lines_and_names_of_files_are_left_out_apart(self):
        report = sample_reports.null_write(1)
        frame = report["threads"][0]["backtrace"]["frames"][0]
        for left_out, refused in (("line", "`file:` with a line"), ("file", "`file:`")):
            with Collector(BINARY, extra=["--search-without", left_out]) as collector:
                collector.post(report)
                for field, value in (("line", f"{frame['file']}:{frame['line']}"),
                                     ("file", frame["file"])):
                    status, said = collector.json(
                        "GET", "/api/v1/groups?q=" + urllib.parse.quote(f"file:{value}"))
                    if field == left_out:
                        self.assertEqual((status, said["error"]), (
                            400, f"this collector does not search by {refused}"))
                    else:
                        self.assertEqual(len(said["groups"]), 1, value)

    def test_no_thread_but_the_first_takes_the_signals_that_end_it(self):
        ends = sum(1 << signal.Signals[name] - 1 for name in ("SIGTERM", "SIGINT", "SIGHUP"))
        with Collector(BINARY) as collector:
            pid = collector.process.pid
            threads = set(os.listdir(f"/proc/{pid}/task")) - {str(pid)}
            self.assertTrue(threads)
            for thread in threads:
                with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
                    blocked = int(re.search(r"SigBlk:\s(\w+)", file.read()).group(1), 16)
                self.assertEqual(blocked & ends, ends, thread)

    def test_help_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([BINARY, "--help"], stdout=full, stderr=subprocess.PIPE,
                                  timeout=20, check=False)
        self.assertEqual(done.returncode, 1)

    def test_a_token_is_asked_for_when_there_are_some(self):
        with Collector(BINARY, tokens=["s3cret", "second"]) as collector:
            report = sample_reports.raw(1)
            for wrong in ("Bearer wrong", "Bearer s3cre", "Basic czo=", ""):
                headers = {"Authorization": wrong}
                self.assertEqual(collector.post(report, headers)[0], 401)
                self.assertEqual(collector.request("GET", "/", None, headers)[0], 401)
            self.assertEqual(collector.post(report)[0], 201)
            second = {"Authorization": "Bearer second"}
            self.assertEqual(collector.post(report, second)[0], 200)
            basic = {"Authorization":
                     "Basic " + base64.b64encode(b"me:s3cret").decode()}
            self.assertEqual(collector.request("GET", "/", None, basic)[0], 200)
            self.assertEqual(collector.post(report, basic)[0], 403)
            open_to_all = {"Authorization": ""}
            self.assertEqual(collector.request("GET", "/healthz", None, open_to_all)[0],
                             200)

    def test_a_stop_answers_what_is_under_way_and_ends_with_0(self):
        with Collector(BINARY) as collector:
            body = json.dumps(sample_reports.raw(1)).encode()
            with collector.socket() as client:
                client.sendall(b"POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                               b"Expect: 100-continue\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(body))
                self.assertTrue(client.recv(200).startswith(b"HTTP/1.1 100"))
                client.sendall(body[:100])
                collector.process.terminate()
                try:  # until the port is closed the stop has not begun
                    while True:
                        collector.socket().close()
                        time.sleep(0.01)  # the collector needs a processor too
                except OSError:
                    pass
                client.sendall(body[100:])
                self.assertTrue(client.recv(200).startswith(b"HTTP/1.1 201"))
            self.assertEqual(collector.process.wait(timeout=30), 0)

    def test_a_full_disk_is_answered_and_said_and_survived(self):
        with Collector(BINARY) as collector:
            self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)
            limit = str(os.path.getsize(collector.path("store.db-wal")))
            subprocess.run(["prlimit", "--pid", str(collector.process.pid),
                            "--fsize=" + limit + ":"], check=True)
            status, answer = collector.post(sample_reports.many_threads(2, 200))
            self.assertEqual(status, 503)
            self.assertTrue(answer["error"])
            subprocess.run(["prlimit", "--pid", str(collector.process.pid),
                            "--fsize=unlimited:"], check=True)
            self.assertEqual(collector.post(sample_reports.raw(3))[0], 201)


class OneFile(unittest.TestCase):
    def refused(self, collector):
        """What a second collector over the same file says."""
        done = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--store",
                               "sqlite:" + collector.path("store.db")],
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_a_file_has_one_collector_and_any_number_of_readers(self):
        with Collector(BINARY) as collector:
            report = sample_reports.null_write(1)
            self.assertEqual(collector.post(report)[0], 201)
            self.assertIn("another collector uses it", self.refused(collector))
            with Collector(BINARY, store="sqlite:" + collector.path("store.db"),
                           extra=["--read-only", "yes"]) as reader:
                self.assertEqual(reader.request("GET", "/reports/" + report["id"])[0], 200)
                self.assertEqual(reader.request("GET", "/readyz")[0], 200)
                self.assertEqual(reader.post(sample_reports.null_write(2))[0], 503)
                form = {"Content-Type": "application/x-www-form-urlencoded",
                        "Origin": reader.url}
                self.assertEqual(reader.request("POST", "/zone", "zone=UTC", form)[0], 303)
                collector.kill()
                collector.start()  # what was killed keeps nobody off
                self.assertEqual(collector.post(sample_reports.null_write(3))[0], 201)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
