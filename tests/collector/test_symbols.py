#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_symbols COLLECTOR: a report that came without names gets them when the debug file
# of a build comes later; names the sender gave stay.

import os
import subprocess
import sys
import tempfile
import time
import unittest

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
    """A stripped program's debug file, its build ID, and where its functions begin."""
    source, program, debug = (os.path.join(folder, name)
                              for name in ("program.c", "program", "program.debug"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", program, source],
                   check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    notes = subprocess.run(["readelf", "-n", program], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    build_id = notes.split("Build ID:")[1].split()[0]
    symbols = subprocess.run(["nm", program], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines()
             if len(line.split()) == 3}
    os.unlink(program)
    os.unlink(source)
    return debug, build_id, found


class Symbols(unittest.TestCase):
    def make_report(self, build_id, found):
        report = sample_reports.raw(1)
        base = 0x555500000000
        report["images"][0] = {"name": "program", "path": "/nowhere/program",
                               "build_id": build_id, "base": hex(base),
                               "end_of_text": hex(base + 0x10000), "has_sframe": False}
        frames = [{"kind": "pc" if i == 0 else "ra", "address": hex(base + at),
                   "image": 0, "image_offset": hex(at), "trust": "cfi"}
                  for i, at in enumerate((found["deepest"] + 8, found["outer"] + 24))]
        named = sample_reports.libc("kept_by_the_sender", 0x26472)
        report["threads"][0]["backtrace"]["frames"] = frames + [named]
        return report

    def functions(self, collector, report):
        _, seen = collector.json("GET", "/api/v1/reports/" + report["id"])
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
            self.assertEqual(self.put(collector, build_id, debug), 200)
            self.assertFalse(os.path.exists(cache), "of the file that was replaced")
            self.assertEqual(self.functions(collector, report), named)
            self.wait_for_cache(collector, build_id)
            self.assertEqual(collector.stop(), (0, ""))


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
