#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_sources COLLECTOR CRASHHOOK FOLDER: lines of source on the page of a report, of a
# program that really crashed and from bundles of strangers; screenshots are left in
# FOLDER.

import html
import os
import re
import subprocess
import sys
import time
import unittest

import sample_reports
from browser import Browser
from running import Collector

BINARY, CRASHHOOK, FOLDER = None, None, None
SOURCE = """struct basket {
\tint count;
\tstruct basket *next;
};

static __attribute__((noinline)) int count_all(const struct basket *basket)
{
\tint sum = 0;
\twhile (basket != (struct basket *)1)
\t\tsum += basket->count; /* <b>here</b> & "there": it crashes */
\treturn sum;
}

int main(int argc, char **argv)
{
\tstruct basket *none = argc > 9 ? (struct basket *)argv : 0;
\treturn count_all(none);
}
"""
CRASHING = "sum += basket->count; /* <b>here</b> & \"there\": it crashes */"
BUILD_ID = sample_reports.IMAGES[0][2]


def bundle(files):
    """A source bundle of {path: bytes}."""
    index = b"".join(b"%d %s\n" % (len(text), path.encode())
                     for path, text in files.items())
    return b"crashhook sources 1\n" + index + b"\n" + b"".join(files.values())


def lines_of(page):
    """The lines a page shows, as text, and those of them that are marked."""
    shown = re.findall(r"<li><code>(.*?)</code></li>|<li class=\"here\"><mark>(.*?)</mark>",
                       page, re.S)
    return ([html.unescape(a or b) for a, b in shown],
            [html.unescape(b) for _, b in shown if b])


class Elsewhere(unittest.TestCase):
    def test_frames_lead_to_the_host_of_sources_and_reports_to_a_tracker(self):
        extra = ["--source-url", "https://git.example.org/{release}/{file}#L{line}",
                 "--issue-url", "https://git.example.org/new?t={title}&b={text}&g={group}"]
        with Collector(BINARY, extra=extra) as own:
            report = sample_reports.null_write(1, release="2.14.1 & \"more\"")
            frames = report["threads"][0]["backtrace"]["frames"]
            frames[1]["file"] = "../../etc/passwd"
            frames[2]["file"] = "javascript:alert(1)//a b.cpp"
            group = own.post(report)[1]["group"]
            page = own.request("GET", "/reports/" + report["id"])[2].decode()
            links = [html.unescape(link) for link in
                     re.findall(r'class="host" rel="noreferrer" href="([^"]+)"', page)]
            self.assertIn("https://git.example.org/2.14.1+%26+%22more%22/src/entry.h#L57",
                          links)
            self.assertIn("https://git.example.org/2.14.1+%26+%22more%22/"
                          "javascript:alert%281%29//a+b.cpp#L301", links)
            self.assertTrue(all("passwd" not in link for link in links), links)
            self.assertTrue(all("thread.h" not in link for link in links), links)
            issue = html.unescape(re.search(r'href="([^"]+)">New issue<', page).group(1))
            self.assertTrue(issue.startswith("https://git.example.org/new?t="), issue)
            self.assertTrue(issue.endswith("&g=" + group), issue)
            self.assertIn(f"crashhook debug {own.url}/reports/{report['id']}", page)
            self.assertIn(f'download="{report["id"]}.json"', page)
        own = Collector(BINARY, extra=["--source-url", "javascript:x{file}"])
        with self.assertRaisesRegex(RuntimeError, "--source-url or --issue-url"):
            with own:
                pass
        with Collector(BINARY) as own:
            own.post(report)
            page = own.request("GET", "/reports/" + report["id"])[2].decode()
            self.assertNotIn('class="host"', page)
            self.assertNotIn("New issue", page)

    def test_the_text_of_a_report_is_whole(self):
        with Collector(BINARY) as own:
            report = sample_reports.null_write(1)
            own.post(report)
            text = own.request("GET", f"/api/v1/reports/{report['id']}?form=text"
                               )[2].decode()
            for words in ("this = 0x55d2c5e120a0", "rax=0x0", "\nthread 41208 ingest-0\n",
                          "queue_take(ledger::queue&)"):
                self.assertIn(words, text)
            self.assertIn("amount = ? (its register was overwritten)", text)


class Sources(unittest.TestCase):
    def setUp(self):
        self.collector = self.enterContext(Collector(BINARY))

    def put(self, body, build_id=BUILD_ID, **headers):
        return self.collector.json("PUT", "/api/v1/sources/" + build_id, body, headers)

    def page(self, report_id):
        status, _, page = self.collector.request("GET", "/reports/" + report_id)
        self.assertEqual(status, 200)
        return page.decode()

    def post(self, *places):
        """A report with a frame of the program at each `file:line:column`."""
        report = sample_reports.null_write(1)
        report["threads"][0]["backtrace"]["frames"] = [
            sample_reports.frame(f"function_{i}", place, 0, 0x100 + i)
            for i, place in enumerate(places)]
        self.assertEqual(self.collector.post(report)[0], 201)
        return report["id"]


class RealCrash(Sources):
    def crash(self, *options):
        """Builds the program and crashes it; its path."""
        folder = self.collector.folder
        source, program = os.path.join(folder, "basket.c"), os.path.join(folder, "basket")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", program, source],
                       check=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
        subprocess.run([CRASHHOOK, "run", "--url", self.collector.url, "--spool",
                        os.path.join(folder, "spool"), *options, "--", program],
                       env=kept | {"no_proxy": "127.0.0.1"}, check=False, timeout=60)
        return program

    def upload(self, *arguments):
        done = subprocess.run([CRASHHOOK, "symbols", "upload", "--url", self.collector.url,
                               *arguments], check=False, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def the_report(self):
        _, answer = self.collector.json("GET", "/api/v1/reports")
        self.assertEqual(len(answer["reports"]), 1)
        return answer["reports"][0]["id"]

    def check(self, report_id):
        shown, marked = lines_of(self.page(report_id))
        self.assertEqual(marked[0].strip(), CRASHING)
        self.assertEqual(marked[1].strip(), "return count_all(none);")
        at = SOURCE.splitlines().index("\t\t" + CRASHING)
        self.assertEqual(shown[:11], SOURCE.splitlines()[at - 5:at + 6])

    def test_the_line_that_crashed_is_on_the_page(self):
        program = self.crash()
        report_id = self.the_report()
        page = self.page(report_id)
        self.assertEqual(lines_of(page), ([], []))
        command = f"crashhook symbols upload --sources --url {self.collector.url} FILE"
        self.assertEqual(page.count(command), 1, "said once, not at every frame")
        self.assertIn("were sent of <b>basket</b>", page)
        self.assertIn("sources sent, 1 file", self.upload("--sources", program))
        self.check(report_id)
        self.assertNotIn(command, self.page(report_id))
        self.assertRegex(self.page(report_id),
                         "<b>basket</b><span[^>]*>debug file</span><span[^>]*>sources</span>")
        _, _, text = self.collector.request("GET",
                                            f"/api/v1/reports/{report_id}?form=text")
        self.assertIn(f"\n       > {CRASHING}\n", text.decode())
        self.assertEqual(text.count(b"       > "), 1)
        self.look(report_id)
        self.assertEqual(self.collector.stop(), (0, ""))

    def look(self, report_id):
        with Browser() as browser:
            for name, size, dark in (("light", (1280, 1000), False),
                                     ("dark", (1280, 1000), True),
                                     ("phone", (360, 740), False)):
                browser.look(*size, dark)
                browser.scripts(False)
                asked, complaints = browser.go(f"{self.collector.url}/reports/{report_id}")
                self.assertEqual(complaints, [])
                self.assertEqual(len(asked), 2, asked)
                browser.scripts(True)
                browser.screenshot(os.path.join(FOLDER, f"sources-{name}.png"), whole=True)
                self.assertLessEqual(
                    browser.evaluate("document.documentElement.scrollWidth"), size[0])
                self.assertEqual(browser.evaluate(
                    "[...document.querySelectorAll('details.source')].map(d => d.open)"),
                    [True, False])
                self.assertEqual(browser.evaluate(
                    "getComputedStyle(document.querySelector('.here'), '::before')"
                    ".content"), "counter(list-item)")
                self.assertTrue(browser.evaluate(
                    "document.querySelector('.here').getBoundingClientRect().height > 8"))
            for key, opened in (("Enter", True), ("Enter", False)):
                browser.evaluate("document.querySelectorAll('.source summary')[1].focus()")
                for kind in ("keyDown", "keyUp"):
                    browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                                 windowsVirtualKeyCode=13, text="\r")
                self.assertEqual(browser.evaluate(
                    "document.querySelectorAll('.source')[1].open"), opened)

    def test_lines_come_with_names_that_are_made_here(self):
        program = self.crash("--symbolize", "off")
        debug = program + ".debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        report_id = self.the_report()
        self.assertNotIn("count_all", self.page(report_id))
        said = self.upload("--sources", debug)
        self.assertIn("sources sent, 1 file", said)
        give_up = time.monotonic() + 60
        while "Names are pending" in self.page(report_id) and time.monotonic() < give_up:
            time.sleep(0.02)
        self.check(report_id)
        # What a job writes in the background, before the folder goes.
        cache = self.collector.path("symbols/cache")
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up and not (
                os.path.isdir(cache) and
                [n for n in os.listdir(cache) if n in said and "." not in n]):
            time.sleep(0.02)


class Requests(Sources):
    def test_a_bundle_is_stored_measured_and_given_back(self):
        body = bundle({"/src/a.c": b"int a;\n", "/src/b.c": b""})
        address = "/api/v1/sources/" + BUILD_ID
        self.assertEqual(self.collector.json("GET", address)[0], 404)
        self.assertEqual(self.put(body), (201, {"build_id": BUILD_ID}))
        self.assertEqual(self.put(body), (200, {"build_id": BUILD_ID}))
        self.assertEqual(self.collector.request("GET", address)[2], body)
        status, headers, nothing = self.collector.request("HEAD", address)
        self.assertEqual((status, int(headers["Content-Length"]), nothing),
                         (200, len(body), b""))
        _, _, metrics = self.collector.request("GET", "/metrics")
        self.assertIn(b"crashhook_source_bundles_total 2\n", metrics)
        self.assertEqual(self.collector.json("GET", "/api/v1/symbols/" + BUILD_ID)[0], 404)

    def test_what_is_no_whole_bundle_is_refused_and_leaves_nothing(self):
        whole = bundle({"/src/a.c": b"int a;\n"})
        many = b"crashhook sources 1\n" + b"0 a\n" * 16385 + b"\n"
        for body in (b"", b"{}", b"PK\x03\x04", b"\x28\xb5\x2f\xfd" + bytes(64), whole[:-1],
                     whole + b"x", whole.replace(b"7 ", b"-7 "), many,
                     whole.replace(b"7 ", b"99999999999999999999 "),
                     whole.replace(b"a.c", b"a\0c"), b"crashhook sources 1\n" * 99999,
                     b"crashhook sources 1\n0 " + b"a" * 5000 + b"\n\n"):
            with self.subTest(body[:40]):
                status, answer = self.put(body)
                self.assertEqual((status, list(answer)), (400, ["error"]), answer)
        for build_id in ("..%2f..%2fetc", "ab", "ABCD", "xyz1"):
            self.assertIn(self.put(whole, build_id)[0], (400, 404))
        status, answer = self.put(whole, **{"Content-Encoding": "gzip"})
        self.assertEqual((status, answer["error"]),
                         (415, "source bundles are taken as they are, not encoded"))
        self.assertEqual(self.collector.stop(), (0, ""))
        kept = [name for _, _, names in os.walk(self.collector.path("symbols"))
                for name in names]
        self.assertEqual(kept, [".apart"])

    def test_more_than_a_bundle_may_hold_is_refused_before_it_is_read(self):
        with self.collector.socket() as client:
            client.sendall(
                f"PUT /api/v1/sources/{BUILD_ID} HTTP/1.1\r\nHost: localhost\r\n"
                f"Content-Length: {(256 << 20) + 1}\r\nExpect: 100-continue\r\n\r\n".encode())
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 413"))

    def test_a_token_is_asked_for(self):
        with Collector(BINARY, tokens=["right"]) as collector:
            address, body = "/api/v1/sources/" + BUILD_ID, bundle({})
            for method in ("GET", "HEAD", "PUT"):
                status = collector.request(method, address, body,
                                           {"Authorization": "Bearer wrong"})[0]
                self.assertEqual(status, 401)
            self.assertEqual(collector.json("PUT", address, body)[0], 201)


class Hostile(Sources):
    def test_contents_are_text_and_nothing_else(self):
        text = (b"<script>alert(1)</script>\r\n</code></li></ol><img src=x onerror=a()>\r\n"
                b"nul\0nul\n\x1b[31mred\x08\n\xe2\x80\xae\xffoverride\n"
                b"&lt;b&gt; &#60;\n" + b"x" * 100000 + b"\n")
        self.put(bundle({"/a.c": text}))
        page = self.page(self.post("/a.c:4:1"))
        self.assertNotRegex(page, "<script|<img|onerror=a\\(\\)>")
        shown, marked = lines_of(page)
        self.assertEqual(shown[0], "<script>alert(1)</script>")
        self.assertEqual(shown[1], "</code></li></ol><img src=x onerror=a()>")
        self.assertEqual(shown[2], "nul\uFFFDnul")
        self.assertEqual(marked, ["\\u{1B}[31mred\\u{8}"])
        self.assertEqual(shown[4], "\\u{202E}\uFFFDoverride")
        self.assertEqual(shown[5], "&lt;b&gt; &#60;")
        self.assertLess(len(shown[6]), 400)
        self.assertTrue(shown[6].endswith("\u2026"))
        for control in map(chr, (0, 8, 13, 27)):
            self.assertNotIn(control, page)
        self.assertEqual(self.collector.stop(), (0, ""))

    def test_text_to_paste_holds_no_control_characters(self):
        self.put(bundle({"/a.c": b"\x1b]0;x\x07 \xc2\x9b\r\n"}))
        report_id = self.post("/a.c:1:1")
        _, _, text = self.collector.request("GET",
                                            f"/api/v1/reports/{report_id}?form=text")
        self.assertIn(b"       > .]0;x. .", text)
        self.assertNotRegex(text, b"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")

    def test_paths_are_names_and_open_nothing(self):
        self.put(bundle({"../../../etc/passwd": b"mine\n", "/a.c": b"a\n"}))
        page = self.page(self.post("/etc/passwd:1:1", "/etc/hostname:1:1",
                                   "../../../etc/passwd:1:1", "/dev/zero:1:1"))
        self.assertEqual(lines_of(page), (["mine"], ["mine"]))
        self.assertIn("not among the sources sent", page)

    def test_lines_that_are_not_there_are_not_shown(self):
        self.put(bundle({"/a.c": b"a\nb\n", "/empty.c": b""}))
        page = self.page(self.post("/a.c:3:1", "/a.c:0:1", "/empty.c:1:1",
                                   "/a.c:9223372036854775807:1"))
        self.assertEqual(lines_of(page), ([], []))

    def test_many_frames_of_large_files_are_bounded(self):
        large = b"\n" * ((16 << 20) - 1) + b"x"
        self.put(bundle({"/large.c": large}))
        page = self.page(self.post(*(f"/large.c:{(16 << 20) - i % 3}:1"
                                     for i in range(60))))
        self.assertEqual(page.count('<details class="source"'), 24)
        self.assertEqual(lines_of(page)[0].count("x"), 24)

    def test_a_bundle_damaged_on_disk_is_as_none(self):
        self.put(bundle({"/a.c": b"a\n"}))
        stored = os.path.join(self.collector.path("symbols"), ".build-id", BUILD_ID[:2],
                              BUILD_ID[2:] + ".sources")
        report_id = self.post("/a.c:1:1")
        self.assertEqual(lines_of(self.page(report_id))[1], ["a"])
        for size in range(os.path.getsize(stored) - 1, -1, -1):
            os.truncate(stored, size)
            self.assertNotIn("a\n", lines_of(self.page(report_id))[0])
        self.assertIn("No sources were sent", self.page(report_id))
        self.assertEqual(self.collector.stop(), (0, ""))


if __name__ == "__main__":
    BINARY, CRASHHOOK, FOLDER = sys.argv[1:4]
    del sys.argv[1:4]
    os.makedirs(FOLDER, exist_ok=True)
    unittest.main(verbosity=2)
