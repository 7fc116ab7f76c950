#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_symbols COLLECTOR: a report that came without names gets them when the debug file
# of a build comes later; names the sender gave stay.

import os
import shutil
import sys
import tempfile
import time
import unittest

import debug_program
import sample_reports
from running import Collector

BINARY = None
SOURCE = """int deepest(volatile int *p)
{
    return *p; // line 3
}
static inline __attribute__((always_inline)) int between(volatile int *p)
{
    return deepest(p) + 1; // line 7
}
int outer(volatile int *p)
{
    return between(p) + 2;
}
int main(int argc, char **argv) { (void)argv; volatile int x = argc; return outer(&x); }
"""


def build(folder):
    """The program's debug file, its build ID, and where its functions begin."""
    return debug_program.build(folder, "program", SOURCE)


class Symbols(unittest.TestCase):
    def make_report(self, build_id, found):
        offsets = [found["deepest"] + 8, found["outer"] + 24]
        report = debug_program.nameless(1, "program", build_id, offsets)
        named = sample_reports.libc("kept_by_the_sender", 0x26472)
        report["threads"][0]["backtrace"]["frames"].append(named)
        return report

    def view(self, collector, report):
        return collector.json("GET", "/api/v1/reports/" + report["id"])[1]

    def functions(self, collector, report):
        """The functions of the first thread, once no names are pending."""
        give_up = time.monotonic() + 60
        seen = self.view(collector, report)
        while seen.get("names") == "pending" and time.monotonic() < give_up:
            time.sleep(0.02)
            seen = self.view(collector, report)
        self.assertNotIn("names", seen)
        return [frame.get("function") for frame in
                seen["threads"][0]["backtrace"]["frames"]]

    def test_names_come_with_the_debug_file(self):
        with tempfile.TemporaryDirectory() as folder, Collector(BINARY) as collector:
            debug, build_id, found = build(folder)
            report = self.make_report(build_id, found)
            self.assertEqual(collector.post(report)[0], 201)
            self.assertEqual(self.functions(collector, report),
                             [None, None, "kept_by_the_sender"])
            with open(debug, "rb") as file:
                sent = collector.json("PUT", "/api/v1/symbols/" + build_id, file.read())
            self.assertEqual(sent, (201, {"build_id": build_id}))
            self.assertEqual(self.functions(collector, report),
                             ["deepest", "between", "outer", "kept_by_the_sender"])
            _, _, page = collector.request("GET", "/reports/" + report["id"])
            self.assertIn(b"program.c<b>:3</b>", page)
            self.assertIn(b"debug files that were sent to this collector", page)
            _, _, kept = collector.request(
                "GET", f"/api/v1/reports/{report['id']}?form=sent")
            self.assertNotIn(b"deepest", kept)
            self.wait_for_cache(collector, build_id)
            self.assertEqual(collector.stop(), (0, ""))

    def wait_for_cache(self, collector, build_id):
        """Its path, once somebody in the background has written it."""
        cache = os.path.join(collector.path("symbols"), "cache", build_id)
        give_up = time.monotonic() + 60
        while not os.path.exists(cache) and time.monotonic() < give_up:
            time.sleep(0.02)
        self.assertTrue(os.path.exists(cache))
        return cache

    def put(self, collector, build_id, debug):
        with open(debug, "rb") as file:
            return collector.json("PUT", "/api/v1/symbols/" + build_id, file.read())[0]

    def test_a_debug_file_can_be_asked_for_and_measured(self):
        with tempfile.TemporaryDirectory() as folder, Collector(BINARY) as collector:
            debug, build_id, _ = build(folder)
            address = "/api/v1/symbols/" + build_id
            self.assertEqual(collector.json("GET", address)[0], 404)
            self.put(collector, build_id, debug)
            with open(debug, "rb") as file:
                self.assertEqual(collector.request("GET", address)[2], file.read())
            status, headers, body = collector.request("HEAD", address)
            self.assertEqual((status, body), (200, b""))
            self.assertEqual(int(headers["Content-Length"]), os.path.getsize(debug))
            self.assertEqual(collector.json("GET", "/api/v1/symbols/..%2fx")[0], 404)
            self.assertEqual(collector.stop(), (0, ""))

    def test_a_first_view_shows_what_is_stored_and_that_names_are_pending(self):
        with tempfile.TemporaryDirectory() as folder:
            debug, build_id, found = build(folder)
            report = self.make_report(build_id, found)
            other = {"tid": 7, "backtrace": {"ended": "end-of-stack", "frames":
                     report["threads"][0]["backtrace"]["frames"][1:2]}}
            report["threads"].append(other)
            with Collector(BINARY, extra=["--workers", "0"]) as collector:
                self.put(collector, build_id, debug)
                collector.post(report)
                for _ in range(2):
                    seen = self.view(collector, report)
                    self.assertEqual(seen["names"], "pending")
                    self.assertNotIn("function", seen["threads"][0]["backtrace"]["frames"][0])
                page = collector.request("GET", "/reports/" + report["id"])[2]
                self.assertIn(b"Names are pending", page)
                text = collector.request(
                    "GET", f"/api/v1/reports/{report['id']}?form=text")[2]
                self.assertIn(b"pending", text)
                collector.stop()
                collector.extra.remove("--workers")
                collector.extra.remove("0")
                collector.start()
                self.assertEqual(self.functions(collector, report),
                                 ["deepest", "between", "outer", "kept_by_the_sender"])
                seen = self.view(collector, report)
                last = seen["threads"][-1]["backtrace"]["frames"]
                self.assertEqual([frame["function"] for frame in last], ["between", "outer"])

    def test_views_tell_what_is_own_by_the_rule_and_not_by_the_senders_flag(self):
        with Collector(BINARY) as collector:
            report = sample_reports.null_write(3)
            thread = [t for t in report["threads"] if t.get("crashed")][0]
            frames = thread["backtrace"]["frames"]
            own = next(frame for frame in frames if not frame["system"])
            frames.insert(0, dict(own, function="std::vector<int>::at(unsigned long)"))
            report["images"][0]["package"] = {"name": "led<ger>", "version": "2.14-1"}
            collector.post(report)
            thread = [t for t in self.view(collector, report)["threads"]
                      if t.get("crashed")][0]
            first = thread["backtrace"]["frames"][0]
            self.assertEqual((first["system"], first["rule"]), (True, "namespace std::"))
            page = collector.request("GET", "/reports/" + report["id"])[2].decode()
            fold = page.split('<li class="fold">')[1].split("</li>")[0]
            self.assertIn("std::vector&lt;int&gt;::at", fold)
            self.assertIn("led&lt;ger&gt; 2.14-1</span>", page)

    def test_a_view_queues_what_a_debug_file_put_by_hand_names(self):
        with tempfile.TemporaryDirectory() as folder, Collector(BINARY) as collector:
            debug, build_id, found = build(folder)
            report = self.make_report(build_id, found)
            collector.post(report)
            place = os.path.join(collector.path("symbols"), ".build-id", build_id[:2])
            os.makedirs(place)
            shutil.copy(debug, os.path.join(place, build_id[2:] + ".debug"))
            self.assertEqual(self.view(collector, report)["names"], "pending")
            self.assertEqual(self.functions(collector, report),
                             ["deepest", "between", "outer", "kept_by_the_sender"])

    def test_what_no_debug_file_names_is_looked_up_once(self):
        with tempfile.TemporaryDirectory() as folder, Collector(BINARY) as collector:
            debug, build_id, found = build(folder)
            report = self.make_report(build_id, found)
            frame = report["threads"][0]["backtrace"]["frames"][0]
            frame.update(image_offset="0xfff0", address=hex(0x555500000000 + 0xfff0))
            collector.post(report)
            self.put(collector, build_id, debug)
            self.assertEqual(self.functions(collector, report),
                             [None, "between", "outer", "kept_by_the_sender"])
            self.assertEqual(self.functions(collector, report)[0], None)

    def test_later_views_are_answered_by_a_symbol_cache(self):
        with tempfile.TemporaryDirectory() as folder, Collector(BINARY) as collector:
            debug, build_id, found = build(folder)
            report = self.make_report(build_id, found)
            named = ["deepest", "between", "outer", "kept_by_the_sender"]
            collector.post(report)
            self.assertEqual(self.put(collector, build_id, debug), 201)
            self.assertEqual(self.functions(collector, report), named)
            cache = self.wait_for_cache(collector, build_id)
            stored = os.path.join(collector.path("symbols"), ".build-id", build_id[:2],
                                  build_id[2:] + ".debug")
            os.truncate(stored, 0)  # whoever opens it now finds nothing
            self.assertEqual(self.functions(collector, report), named)
            collector.post(dict(report, id=report["id"][:-1] + "f"))
            self.assertEqual(self.functions(collector, report), named)
            self.assertEqual(self.put(collector, build_id, debug), 200)
            self.assertFalse(os.path.exists(cache), "of the file that was replaced")
            self.assertEqual(self.functions(collector, report), named)
            self.wait_for_cache(collector, build_id)
            self.assertEqual(collector.stop(), (0, ""))


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
