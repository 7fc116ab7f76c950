# SPDX-License-Identifier: Apache-2.0
#
# Minidumps that clients of Sentry, Crashpad and Breakpad send to a collector.

import glob
import gzip
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import unittest

import breakpad_symbols
import harness
from harness import addresses_of, crashed_thread, names_of, program

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "collector"))
import running  # noqa: E402

DAMAGED = 200 if harness.FULL else 40
SYSTEM = struct.pack("<HI", 1, 0x8201)


def form(dump, **fields):
    """A body of multipart/form-data."""
    parts = [f'form-data; name="{name}"\r\n\r\n{value}'.encode()
             for name, value in fields.items()]
    if dump is not None:
        parts.append(b'form-data; name="upload_file_minidump"; filename="a.dmp"\r\n'
                     b"Content-Type: application/octet-stream\r\n\r\n" + dump)
    return b"".join(b"--x-7\r\nContent-Disposition: " + part + b"\r\n" for part in parts) + \
        b"--x-7--\r\n"


def envelope(dump, event, length=True):
    """An envelope as sentry-native sends it."""
    lines = [json.dumps({"dsn": "http://key@host/1", "event_id": "9" * 32}).encode()]
    for head, payload in (({"type": "event"}, json.dumps(event).encode()),
                          ({"type": "session"}, b"{}"),
                          ({"type": "attachment", "attachment_type": "event.minidump",
                            "filename": "minidump.dmp"}, dump)):
        if length or head["type"] == "attachment":
            head["length"] = len(payload)
        lines += [json.dumps(head).encode(), payload]
    return b"\n".join(lines) + b"\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.scene = self.enterContext(harness.Scene())

    def collect(self, tokens=None):
        self.collector = self.enterContext(running.Collector(harness.COLLECTOR, tokens))

    def crash(self, **variables):
        """A report of a crash, and the minidump made of it."""
        self.scene.run([program("core_threads_pie"), "3"], CRASHHOOK_STACKS="yes",
                       CRASHHOOK_MEMORY="yes", CRASHHOOK_LIMIT="none", **variables)
        done = subprocess.run([harness.CRASHHOOK, "export", "--format", "minidump",
                               self.scene.report_paths()[-1]], stdout=subprocess.PIPE, check=True)
        return self.scene.reports()[-1], done.stdout

    def post(self, body, path="/api/1/minidump/", **headers):
        status, _, answer = self.collector.request("POST", path, body, headers)
        return status, answer.decode()

    def taken(self, body, path="/api/1/minidump/", **headers):
        """The report that a body became."""
        status, answer = self.post(body, path, **headers)
        self.assertEqual(status, 200, answer)
        return self.get(answer)

    def get(self, report):
        return self.collector.json("GET", f"/api/v1/reports/{report}")[1]


class Taken(Case):
    def send_symbols(self, report):
        for image in report["images"]:
            if not image.get("build_id") or not image["path"].startswith("/"):
                continue
            build = image["build_id"]
            # The report has names of what this machine has debug files of.
            for path in (image["path"], f"/usr/lib/debug/.build-id/{build[:2]}/{build[2:]}.debug"):
                if not os.path.exists(path):
                    continue
                with open(path, "rb") as file:
                    status, _, said = self.collector.request(
                        "PUT", f"/api/v1/symbols/{build}", file.read())
                self.assertIn(status, (200, 201), said)

    def test_a_minidump_becomes_a_report_with_the_stacks_of_the_crash(self):
        self.collect()
        wanted, dump = self.crash(CRASHHOOK_RELEASE="1.4", CRASHHOOK_TAGS="shop=north")
        self.send_symbols(wanted)
        found = self.taken(form(dump, ptype="browser"))
        for thread in wanted["threads"]:
            other, = [one for one in found["threads"] if one["tid"] == thread["tid"]]
            self.assertEqual(addresses_of(other), addresses_of(thread))
            self.assertEqual(other["registers"], harness.dumped_registers_of(thread))
        names = names_of(crashed_thread(wanted))
        harness.wait_for(lambda: names_of(crashed_thread(self.get(found["id"]))) == names)
        images = {image["base"]: image["path"] for image in wanted["images"]}
        for image in found["images"]:
            self.assertEqual(image["path"], images[image["base"]])
            self.assertEqual(image["name"], os.path.basename(image["path"]))
        self.assertEqual(found["process"]["executable"], wanted["process"]["executable"])
        self.assertEqual(found["crash"]["signal"], wanted["crash"]["signal"])
        self.assertEqual(found["release"], "1.4")
        self.assertEqual((found["tags"]["shop"], found["tags"]["ptype"]), ("north", "browser"))
        self.assertNotIn("/.build-id/", json.dumps(found))

    def upload(self, *files):
        done = self.scene.command("symbols", "upload", "--url", self.collector.url, *files)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check_stack(self, found, wanted):
        wanted, found = crashed_thread(wanted), self.get(found["id"])
        self.assertEqual(addresses_of(crashed_thread(found))[:9], addresses_of(wanted)[:9])
        self.assertNotIn("scan", [frame["trust"] for frame in harness.physical_frames(
            crashed_thread(found))])
        names = [frame.get("function") for frame in harness.physical_frames(wanted)][:7]
        self.assertEqual(names[-1], "main")
        harness.wait_for(lambda: [frame.get("function") for frame in harness.physical_frames(
            crashed_thread(self.get(found["id"])))][:7] == names)

    def test_a_program_and_its_debug_file_are_kept_and_used_in_either_order(self):
        wanted, dump = self.crash()
        parts = [os.path.join(self.scene.folder, name) for name in ("stripped", "debug")]
        whole, *others = [image["path"] for image in wanted["images"]
                          if image["path"].startswith("/")]
        subprocess.run(["strip", "-o", parts[0], whole], check=True)
        subprocess.run(["objcopy", "--only-keep-debug", whole, parts[1]], check=True)
        build = wanted["images"][0]["build_id"]
        for order in ([0, 1], [1, 0]):
            self.collect()
            self.upload(*[parts[i] for i in order], *others)
            for part, path in zip(parts, (f"/buildid/{build}/executable",
                                          f"/api/v1/symbols/{build}")):
                with open(part, "rb") as file:
                    self.assertEqual(self.collector.request("GET", path)[2], file.read())
            self.check_stack(self.taken(form(dump)), wanted)
            self.assertEqual(self.upload(*parts).count("already"), 2)
            # A file with both is better than its debug information alone.
            self.upload(whole, parts[1])
            self.assertEqual(len(self.collector.request("GET", f"/api/v1/symbols/{build}")[2]),
                             os.path.getsize(whole))

    def test_symbols_of_breakpad_that_were_uploaded_unwind_and_name(self):
        self.collect()
        wanted, dump = self.crash()
        files = [breakpad_symbols.write(self.scene.folder, image["path"])
                 for image in wanted["images"] if image["path"].startswith("/")]
        self.assertIn(f"sent, build ID {wanted['images'][0]['build_id']}", self.upload(*files))
        found = self.taken(form(dump))
        self.assertNotIn("guessed", json.dumps(found["problems"]))
        self.check_stack(found, wanted)
        with open(files[0], "r", encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("INFO")]
        with open(files[0], "w", encoding="utf-8") as file:
            file.writelines(lines)
        done = self.scene.command("symbols", "upload", "--url", self.collector.url, files[0])
        self.assertEqual(done.returncode, 1)
        self.assertIn("it has no INFO CODE_ID", done.stderr)

    def test_without_its_programs_a_minidump_says_whose_frames_are_guessed(self):
        self.collect()
        wanted, dump = self.crash()
        found = self.taken(form(dump))
        self.assertEqual(addresses_of(crashed_thread(found))[0],
                         addresses_of(crashed_thread(wanted))[0])
        self.assertIn({"stage": "core", "status": "no file of the minidump's build of "
                       f"'{wanted['process']['executable']}': its frames are guessed"},
                      found["problems"])

    def test_a_minidump_that_arrives_twice_is_one_report(self):
        self.collect()
        _, dump = self.crash()
        first = self.taken(form(dump))
        again = self.taken(gzip.compress(form(dump, a="b")), "/submit",
                           **{"Content-Encoding": "gzip"})
        self.assertEqual(again["id"], first["id"])
        self.assertEqual(len(self.collector.json("GET", "/api/v1/reports")[1]["reports"]), 1)

    def test_an_envelope_has_the_minidump_and_what_the_client_knows(self):
        self.collect()
        _, dump = self.crash()
        event = {"release": "shop@2.0", "environment": "test",
                 "tags": {"till": "7", "password": "hidden"}}
        found = self.taken(envelope(dump, event), "/api/1/envelope/")
        self.assertEqual((found["release"], found["environment"]), ("shop@2.0", "test"))
        self.assertEqual((found["tags"]["till"], found["tags"]["password"]), ("7", "***"))
        event = {"tags": [["till", "8"], ["odd"], 7]}
        _, dump = self.crash()
        found = self.taken(envelope(dump, event, length=False), "/api/1/envelope/")
        self.assertEqual(found["tags"]["till"], "8")

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
    def test_a_minidump_of_crashpad_becomes_a_report_with_its_annotations(self):
        self.collect()
        folder = os.path.join(self.scene.folder, "dumps")
        browser = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-crash-reporter",
             "--user-data-dir=" + os.path.join(self.scene.folder, "user"), "about:blank"],
            env=dict(os.environ, HOME=self.scene.folder, BREAKPAD_DUMP_LOCATION=folder),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(browser.wait)
        self.addCleanup(browser.kill)
        crashed = set()

        def crash_one():
            for pid in renderers_of(browser.pid) - crashed:
                crashed.add(pid)
                os.kill(pid, signal.SIGSEGV)
                break
            return glob.glob(folder + "/pending/*.dmp")[:1]
        path, = harness.wait_for(crash_one)
        with open(path, "rb") as file:
            found = self.taken(form(file.read()))
        self.assertEqual(found["crash"]["code_name"], "SI_USER")
        self.assertEqual(os.path.basename(found["process"]["executable"]), "chromium")
        self.assertEqual(found["tags"]["prod"], "Chrome_Linux")
        self.assertEqual(found["tags"]["ptype"], "renderer")
        self.assertRegex(found["release"], r"^\d+\.")
        self.assertGreater(len(found["threads"]), 3)


def renderers_of(browser):
    """The processes below the browser that draw pages and are past their start."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as file:
                draws = b"--type=renderer" in file.read()
            if draws and is_below(pid, browser) and len(os.listdir(f"/proc/{pid}/task")) > 5:
                found.add(pid)
        except OSError:
            continue
    return found


def is_below(pid, ancestor):
    while pid > 1 and pid != ancestor:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    return pid == ancestor


class Refused(Case):
    def test_a_key_is_a_token_that_may_send(self):
        self.collect(["boss-token", "sender-token scopes=send project=shop name=till",
                      "reader-token scopes=read"])
        _, dump = self.crash()
        body = form(dump)
        for key, status in (("sender-token", 200), ("reader-token", 403), ("nobody", 401)):
            for path, headers in (
                    (f"/api/1/minidump/?sentry_key={key}", {}),
                    ("/api/1/minidump/", {"X-Sentry-Auth": f"Sentry sentry_key={key}, "
                                                           "sentry_version=7"}),
                    ("/submit", {"Authorization": f"Bearer {key}"})):
                headers.setdefault("Authorization", "none")
                self.assertEqual(self.post(body, path, **headers)[0], status, (key, path))
        self.assertEqual(self.post(body, "/api/1/minidump/", Authorization="none")[0], 401)
        # A key of this kind is for these requests alone.
        self.assertEqual(self.post(b"{}", "/api/v1/reports?sentry_key=sender-token",
                                   Authorization="none")[0], 401)
        listed = self.collector.json("GET", "/api/v1/groups")[1]["groups"]
        self.assertEqual([group["project"] for group in listed], ["shop"])

    def test_what_is_no_minidump_of_linux_is_refused_by_name(self):
        self.collect()
        _, dump = self.crash()
        at = dump.index(SYSTEM[2:])
        for system, why in ((2, "it is of Windows"), (0x8101, "it is of macOS or iOS")):
            other = dump[:at] + struct.pack("<I", system) + dump[at + 4:]
            self.assertEqual(self.post(form(other)),
                             (400, f'{{"error":"cannot read the minidump: {why}"}}'))
        count, directory = struct.unpack_from("<II", dump, 8)
        streams = {dump[at:at + 4]: at for at in range(directory, directory + 12 * count, 12)}
        at = streams[struct.pack("<I", 4)]  # ModuleListStream; 0 is UnusedStream
        self.assertEqual(self.post(form(dump[:at] + bytes(4) + dump[at + 4:])),
                         (400, '{"error":"cannot read the minidump: it lists no modules"}'))
        for body, path, why in (
                (form(b"MZ"), "/submit", "it is no minidump"),
                (form(b""), "/submit", "it is no minidump"),
                (form(None, a="b"), "/submit", "the form has no field upload_file_minidump"),
                (b"", "/submit", "the form has no field upload_file_minidump"),
                (b"--x", "/submit", "the form has no field upload_file_minidump"),
                (b"{}\n", "/api/1/envelope/",
                 "the envelope has no attachment of type event.minidump"),
                (envelope(dump, {})[:-9], "/api/1/envelope/",
                 "the envelope has no attachment of type event.minidump")):
            self.assertEqual(self.post(body, path),
                             (400, f'{{"error":"cannot read the minidump: {why}"}}'))
        self.assertEqual(self.post(b"no gzip", **{"Content-Encoding": "gzip"})[0], 400)
        self.assertEqual(self.collector.json("GET", "/api/v1/reports")[1]["reports"], [])

    def test_damaged_minidumps_are_taken_or_refused_and_harm_nothing(self):
        self.collect()
        _, dump = self.crash()
        rng = random.Random(harness.SEED)
        for number in range(DAMAGED):
            data = bytearray(dump[:rng.randrange(len(dump))] if number % 4 == 0 else dump)
            for _ in range(rng.randrange(1, 20)):
                if data:
                    data[rng.randrange(min(len(data), 4096))] = rng.randrange(256)
            status, answer = self.post(form(bytes(data)))
            self.assertIn(status, (200, 400), (harness.SEED, number, answer))
        self.assertEqual(self.collector.json("GET", "/healthz")[0], 200)
        print(f"seed {harness.SEED}, {DAMAGED} damaged minidumps")


if __name__ == "__main__":
    harness.main()
