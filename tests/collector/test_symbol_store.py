#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_symbol_store COLLECTOR CRASHHOOK: where debug files are kept, how they are fetched
# and removed, and debuginfod: servers that are asked, and the one that the collector is.

import contextlib
import glob
import http.server
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import debug_program
import running
import s3
import test_symbols
from running import wait_for

BINARY = CRASHHOOK = None
DOWNLOADS = 8  # at once, of a file that is slow to come
NAMED = ["deepest", "between", "outer", "kept_by_the_sender"]


def Collector(binary, **how):
    return running.Collector(binary, store=running.fresh_store(), **how)


def crc32c(content):
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


class Upstream(http.server.ThreadingHTTPServer):
    """A debuginfod server with some files, which notes what it is asked."""

    daemon_threads = True

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.server.asked.append(self.path)
                if self.server.endless:
                    return self.send_forever()
                status, body = self.server.files.get(self.path, (404, b"no"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def send_forever(self):
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    while self.server.endless:
                        self.server.sent += self.wfile.write(bytes(1 << 20))

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = {}, []
        self.endless, self.sent = False, 0
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class SymbolStore(test_symbols.Symbols):
    # The tests of the class that this one begins with are run by its own file.
    for name in [name for name in dir(test_symbols.Symbols) if name.startswith("test_")]:
        locals()[name] = None
    del name

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.debug, self.build_id, self.found = test_symbols.build(self.folder)
        self.address = "/api/v1/symbols/" + self.build_id

    def local(self, collector):
        """The debug files in the collector's folder."""
        return glob.glob(collector.path("symbols") + "/.build-id/*/*.debug")

    def empty(self, collector):
        shutil.rmtree(collector.path("symbols"))

    def content(self):
        with open(self.debug, "rb") as file:
            return file.read()

    def check_side(self, place):
        """A file is kept there, fetched when it is wanted, and names reports."""
        with Collector(BINARY, extra=["--symbol-store", place]) as collector:
            report = self.make_report(self.build_id, self.found)
            self.assertEqual(self.put(collector, self.build_id, self.debug), 201)
            self.assertEqual(self.put(collector, self.build_id, self.debug), 200)
            self.assertEqual(collector.request("GET", self.address)[2], self.content())
            collector.stop()
            self.empty(collector)
            collector.start()
            self.assertEqual(collector.request("HEAD", self.address)[0], 200)
            self.assertEqual(len(self.local(collector)), 1)
            self.assertEqual(collector.request("GET", self.address)[2], self.content())
            self.empty(collector)
            self.assertEqual(collector.post(report)[0], 201)
            self.assertEqual(self.functions(collector, report), NAMED)
            self.assertEqual(len(self.local(collector)), 1)

    def test_debug_files_are_kept_in_the_database(self):
        self.check_side("store")

    def test_debug_files_are_kept_compressed_in_a_folder(self):
        place = os.path.join(self.folder, "objects")
        self.check_side(place)
        kept = glob.glob(place + "/symbols/*/*.zst")
        self.assertEqual(len(kept), 1, "one content, one object")
        self.assertLess(os.path.getsize(kept[0]), os.path.getsize(self.debug))
        plain = subprocess.run(["zstd", "-dc", kept[0]], check=True, stdout=subprocess.PIPE)
        self.assertEqual(plain.stdout, self.content())

    def test_debug_files_are_kept_in_a_store_of_the_s3_protocol(self):
        os.environ.update(AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET)
        if not s3.installed():
            self.skipTest("no Swift is installed (package python3-swift)")
        with s3.Swift() as server:
            self.check_side(f"s3://{s3.BUCKET}/symbols?{server.settings()}")
            place = f"s3://{s3.BUCKET}/down?{server.settings()}"
            with Collector(BINARY, extra=["--symbol-store", place]) as collector:
                server.proxy.fault = lambda handler, body: handler.answer(
                    503, b"<Code>SlowDown</Code>") or True
                status, answer = collector.json("PUT", self.address, self.content())
                self.assertEqual(status, 503)
                self.assertIn("503 SlowDown, send it again", answer["error"])
                server.proxy.fault = None
                self.assertIn(self.put(collector, self.build_id, self.debug), (200, 201))

    def test_a_store_that_is_slow_holds_up_no_pages(self):
        os.environ.update(AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET)
        if not s3.installed():
            self.skipTest("no Swift is installed (package python3-swift)")
        asked, released = threading.Event(), threading.Event()

        def drag_on(handler, _):
            if handler.command == "GET":
                asked.set()
                released.wait(running.PATIENCE_S)
            return False

        with s3.Swift() as server, Collector(BINARY, extra=[
                "--symbol-store", f"s3://{s3.BUCKET}/slow?{server.settings()}"]) as collector:
            report = self.make_report(self.build_id, self.found)
            self.assertEqual(self.put(collector, self.build_id, self.debug), 201)
            self.empty(collector)
            server.proxy.fault = drag_on
            answers = []
            asking = [threading.Thread(target=lambda: answers.append(
                collector.request("GET", self.address)[0])) for _ in range(DOWNLOADS)]
            try:
                self.assertEqual(collector.post(report)[0], 201)  # its names need the file
                self.assertTrue(asked.wait(running.PATIENCE_S))
                for thread in asking:
                    thread.start()
                wait_for(lambda: len(answers) >= DOWNLOADS - 2, "downloads that are refused")
                page = collector.request("GET", "/groups")[0]
                seen = self.view(collector, report)
            finally:
                released.set()
                for thread in asking:
                    if thread.ident is not None:
                        thread.join()
            self.assertEqual(page, 200)
            self.assertEqual(seen.get("names"), "pending")
            self.assertIn(503, answers)
            self.assertEqual(self.functions(collector, report), NAMED)
            self.assertEqual(collector.request("GET", self.address)[2], self.content())

    def check_fault(self, fault):
        """A file that cannot be had is no file that is not there, and is had later."""
        os.environ.update(AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET)
        if not s3.installed():
            self.skipTest("no Swift is installed (package python3-swift)")
        with s3.Swift() as server, Collector(BINARY, extra=[
                "--symbol-store", f"s3://{s3.BUCKET}/fault?{server.settings()}"]) as collector:
            self.assertEqual(self.put(collector, self.build_id, self.debug), 201)
            self.empty(collector)
            server.proxy.fault = fault
            for address in (self.address, f"/buildid/{self.build_id}/debuginfo"):
                status, headers, _ = collector.request("GET", address)
                self.assertEqual(status, 503)
                self.assertGreater(int(headers["Retry-After"]), 0)
            server.proxy.fault = None
            wait_for(lambda: collector.request("GET", self.address)[2] == self.content(),
                     "the file")
            self.assertEqual(collector.request("GET", "/api/v1/symbols/abcd")[0], 404)

    def test_a_file_that_cannot_be_fetched_now_is_asked_for_again(self):
        self.check_fault(lambda handler, _: handler.answer(500, b"") or True)

    def test_a_fetch_that_trickles_is_given_up(self):
        def trickle(handler, _):
            handler.send_response(200)
            handler.send_header("Content-Length", str(1 << 30))
            handler.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    handler.wfile.write(bytes(1000))
                    time.sleep(0.1)
            handler.close_connection = True
            return True

        self.check_fault(trickle)

    def test_a_damaged_object_is_not_taken_for_the_file(self):
        place = os.path.join(self.folder, "objects")
        with Collector(BINARY, extra=["--symbol-store", place]) as collector:
            self.put(collector, self.build_id, self.debug)
            kept = glob.glob(place + "/symbols/*/*.zst")[0]
            other = subprocess.run(["zstd", "-c"], input=self.content() + b"x", check=True,
                                   stdout=subprocess.PIPE).stdout
            with open(kept, "wb") as file:
                file.write(other)
            self.empty(collector)
            self.assertEqual(collector.request("GET", self.address)[0], 404)
            self.assertEqual(self.put(collector, self.build_id, self.debug), 201)
            self.empty(collector)
            self.assertEqual(collector.request("GET", self.address)[2], self.content())

    def test_what_can_be_fetched_again_leaves_the_folder_when_it_is_full(self):
        place = os.path.join(self.folder, "objects")
        with Collector(BINARY, extra=["--symbol-store", place, "--symbol-cache",
                                      "1K"]) as collector:
            self.put(collector, self.build_id, self.debug)
            collector.stop()
            by_hand = collector.path("symbols") + "/.build-id/ab/cdef.debug"
            os.makedirs(os.path.dirname(by_hand), exist_ok=True)
            shutil.copy(self.debug, by_hand)
            collector.start()
            wait_for(lambda: self.local(collector) == [by_hand], "the file leaves")
            self.assertEqual(collector.request("GET", self.address)[2], self.content())

    def test_files_that_nobody_used_are_removed(self):
        place = os.path.join(self.folder, "objects")
        with Collector(BINARY, extra=["--symbol-store", place,
                                      "--symbol-keep", "1d"]) as collector:
            self.put(collector, self.build_id, self.debug)
            collector.stop()
            collector.start()
            wait_for(lambda: collector.request("GET", self.address)[0] == 200, "the file")
            collector.stop()
            change = "UPDATE symbol_files SET used = used - 86400001"
            if collector.store is not None:
                subprocess.run(["psql", "-q", collector.store, "-c", change], check=True)
            else:
                with sqlite3.connect(collector.path("store.db")) as database:
                    database.execute(change)
                database.close()
            collector.start()
            wait_for(lambda: collector.request("GET", self.address)[0] == 404,
                     "the file is removed")
            self.assertEqual(self.local(collector), [])

    def test_the_files_of_a_release_are_removed(self):
        tokens = ["root", "shop name=shop scopes=symbols,admin project=shop"]
        with Collector(BINARY, tokens=tokens) as collector:
            address = self.address + "?release=1.4"
            self.assertEqual(collector.json("PUT", address, self.content())[0], 201)
            remove = "/api/v1/symbols?release="
            shop = {"Authorization": "Bearer shop"}
            for where, who, count in (("1.5", None, 0), ("1.4", shop, 0), ("1.4", None, 1)):
                status, answer = collector.json("DELETE", remove + where, headers=who)
                self.assertEqual((status, answer["removed"]), (200, count))
            self.assertEqual(collector.request("GET", self.address)[0], 404)
            self.assertEqual(collector.json("DELETE", "/api/v1/symbols")[0], 400)

    def test_files_are_of_the_release_that_was_uploaded_last(self):
        with Collector(BINARY) as collector:
            def upload(release):
                return subprocess.run(
                    [CRASHHOOK, "symbols", "upload", "--url", collector.url, "--release",
                     release, self.debug], check=True, text=True, stdout=subprocess.PIPE).stdout

            def remove(release):
                return collector.json("DELETE", "/api/v1/symbols?release=" + release)[1]["removed"]

            self.assertIn(": sent, ", upload("1.4"))
            self.assertIn(" has build ID ", upload("1.4"))
            self.assertIn(": sent, ", upload("1.5"))
            self.assertEqual(remove("1.4"), 0)
            self.assertEqual(remove("1.5"), 1)

    def test_a_project_keeps_no_more_than_its_quota(self):
        size = os.path.getsize(self.debug)
        tokens = ["root", "shop scopes=symbols project=shop", "bank scopes=symbols project=bank",
                  f"project name=shop symbols={size // 1024}K",
                  f"project name=bank symbols={size // 1024 + 1}K"]
        with Collector(BINARY, tokens=tokens) as collector:
            shop = {"Authorization": "Bearer shop"}
            status, answer = collector.json("PUT", self.address, self.content(), shop)
            self.assertEqual(status, 413)
            self.assertIn("project shop may keep", answer["error"])
            self.assertEqual(collector.request("GET", self.address)[0], 404)
            bank = {"Authorization": "Bearer bank"}
            for expected in (201, 200):  # what it replaces does not count
                self.assertEqual(collector.json("PUT", self.address, self.content(),
                                                bank)[0], expected)

    def test_a_server_upstream_is_asked_once(self):
        upstream = Upstream()
        here = f"/buildid/{self.build_id}/debuginfo"
        other = "ab" * 20
        upstream.files[here] = (500, b"later")
        with Collector(BINARY, extra=["--debuginfod-urls",
                                      f"{upstream.url}/ {upstream.url}"]) as collector:
            report = self.make_report(self.build_id, self.found)
            nowhere = self.make_report(other, self.found)
            nowhere["id"] = nowhere["id"][:-1] + "e"
            self.assertEqual(collector.post(report)[0], 201)
            self.assertEqual(collector.post(nowhere)[0], 201)
            wait_for(lambda: here in upstream.asked, "a request that fails")
            upstream.files[here] = (200, self.content())
            wait_for(lambda: self.view(collector, report)["threads"][0]["backtrace"]
                     ["frames"][0].get("function"), "names")
            self.assertEqual(self.functions(collector, report), NAMED)
            wait_for(lambda: self.asked_of(upstream, other) == 2, "both to be asked")
            before = self.asked_of(upstream, self.build_id)
            collector.stop()
            collector.start()
            third = self.make_report("cd" * 20, self.found)
            third["id"] = third["id"][:-1] + "d"
            collector.post(third)
            wait_for(lambda: self.asked_of(upstream, "cd" * 20) == 2, "the third build")
            collector.stop()
            self.assertEqual(self.asked_of(upstream, other), 2, "once, of both servers")
            self.assertEqual(self.asked_of(upstream, self.build_id), before)
        upstream.shutdown()
        upstream.server_close()

    def test_a_server_upstream_that_never_stops_is_left_with_nothing_kept(self):
        upstream = Upstream()
        upstream.endless = True
        own = Collector(BINARY, extra=["--debuginfod-urls", upstream.url])
        # Of a download that a kill ended two days ago.
        left_over = own.path("symbols") + "/.build-id/.upload-AbCdEf"
        os.makedirs(os.path.dirname(left_over))
        with open(left_over, "wb"):
            os.utime(left_over, (time.time() - 2 * 86400,) * 2)
        with own as collector:
            self.assertEqual(collector.post(self.make_report(self.build_id, self.found))[0],
                             201)
            line = collector.process.stderr.readline()
            self.assertIn("its answer is too long", line)
            wait_for(lambda: [name for _, _, names in os.walk(collector.path("symbols"))
                              for name in names] == [".apart"], "nothing is kept")
            self.assertIn(upstream.sent, range(1 << 30, (1 << 30) + (64 << 20)))
            upstream.endless = False
        upstream.shutdown()
        upstream.server_close()

    def asked_of(self, upstream, build):
        return sum(build in path for path in upstream.asked)

    def test_a_section_that_the_debug_file_lacks_is_that_of_the_program(self):
        program = debug_program.compile_program(self.folder, "program", test_symbols.SOURCE)
        base = f"/buildid/{debug_program.build_id_of(program)}/section/"
        sections = {}
        for name in (".text", ".debug_line"):
            copied = os.path.join(self.folder, "section")
            subprocess.run(["objcopy", f"--dump-section={name}={copied}", program,
                            copied + ".whole"], check=True)
            with open(copied, "rb") as file:
                sections[name] = file.read()
        debug = program + ".debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", program], check=True)
        with Collector(BINARY) as collector:
            for path, there in ((debug, {".debug_line"}), (program, set(sections))):
                subprocess.run([CRASHHOOK, "symbols", "upload", "--url", collector.url, path],
                               check=True, stdout=subprocess.DEVNULL)
                for name, wanted in sections.items():
                    with self.subTest(path=path, name=name):
                        status, _, body = collector.request("GET", base + name)
                        self.assertEqual(status, 200 if name in there else 404)
                        if name in there:
                            self.assertEqual(body, wanted)

    def test_programs_and_debug_files_are_served_by_the_keys_of_ssqp(self):
        """<NAME>/elf-buildid-<ID>/<NAME>, and <ID> with zeros after it up to 20 bytes."""
        for number in ("8f" * 20, "7e" * 16, "6d" * 7 + "00"):
            program = debug_program.compile_program(self.folder, "program",
                                                    test_symbols.SOURCE)
            subprocess.run(["gcc", "-g", f"-Wl,--build-id=0x{number}", "-o", program,
                            program + ".c"], check=True)
            subprocess.run(["objcopy", "--only-keep-debug", program, program + ".debug"],
                           check=True)
            subprocess.run(["strip", program], check=True)
            padded = number.ljust(40, "0")
            keys = {f"/symbols/program/elf-buildid-{padded}/program": program,
                    f"/symbols/_.debug/elf-buildid-sym-{padded}/_.debug": program + ".debug"}
            with self.subTest(number), Collector(BINARY) as collector:
                for key in (*keys, "/symbols/x", "/symbols/a/elf-buildid-/a",
                            "/symbols/a/elf-buildid-" + "0" * 300 + "/a"):
                    status, answer = collector.json("GET", key)
                    self.assertEqual((status, list(answer)), (404, ["error"]))
                for path in keys.values():
                    self.assertEqual(self.put(collector, number, path), 201)
                for key, path in keys.items():
                    with open(path, "rb") as file:
                        self.assertEqual(collector.request("GET", key)[2], file.read())

    def test_parts_of_uploads_that_do_not_fit_are_refused(self):
        part = f"{len(self.content()):x}-00000000"
        with Collector(BINARY) as collector:
            for query, status in (("part=..%2fx", 409), (f"part={part}&offset=1", 409),
                                  (f"part={part}", 400), ("part=10-00000000", 400),
                                  ("part=40000001-00000000", 409), ("offset=1", 409),
                                  ("part=&offset=1", 409), ("part=-1-00000000", 409)):
                with self.subTest(query):
                    got, answer = collector.json("PUT", self.address + "?" + query,
                                                 self.content())
                    self.assertEqual(got, status)
                    self.assertEqual("not what part names" in answer["error"], got == 400)
            self.assertEqual(collector.json("GET", f"{self.address}?part={part}"),
                             (200, {"offset": 0}))
            self.assertEqual(collector.request("GET", self.address)[0], 404)
            self.assertEqual(os.listdir(collector.path("symbols") + "/.build-id"),
                             [self.build_id[:2]])

    def test_two_can_send_a_part_at_once_and_neither_changes_what_is_kept(self):
        content = self.content() + bytes(256 << 10)
        half = len(content) // 2
        address = f"{self.address}?part={len(content):x}-{crc32c(content):08x}"
        for rest, status in ((content[half:], b"200"), (b"x" * (len(content) - half), b"400")):
            with self.subTest(status), Collector(BINARY) as collector, \
                    collector.socket() as slow:
                slow.sendall(f"PUT {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                             f"Content-Length: {len(content)}\r\n\r\n".encode())
                slow.sendall(content[:half])
                wait_for(lambda: collector.json("GET", address)[1]["offset"] > 0,
                         "the first bytes")
                offset = collector.json("GET", address)[1]["offset"]
                self.assertEqual(collector.json("PUT", f"{address}&offset={offset}",
                                                content[offset:])[0], 201)
                slow.sendall(rest)
                with slow.makefile("rb") as answer:
                    self.assertEqual(answer.read().split(b" ")[1], status)
                self.assertEqual(collector.request("GET", self.address)[2], content)
                self.assertEqual(os.listdir(collector.path("symbols") + "/.build-id"),
                                 [self.build_id[:2]])

    def test_gdb_gets_debug_files_and_sources_from_the_collector(self):
        written = test_symbols.SOURCE + "int more;\n"  # another build
        source = os.path.join(self.folder, "program.c")
        program = debug_program.compile_program(self.folder, "program", written)
        with Collector(BINARY, tokens=["secret"]) as collector:
            subprocess.run([CRASHHOOK, "symbols", "upload", "--url", collector.url,
                            "--sources", program], check=True, stdout=subprocess.DEVNULL,
                           env=dict(os.environ, CRASHHOOK_TOKEN="secret"))
            base = f"/buildid/{debug_program.build_id_of(program)}/"
            with open(program, "rb") as file:
                whole = file.read()
            copied = os.path.join(self.folder, "section")
            subprocess.run(["objcopy", "--dump-section", ".debug_line=" + copied, program,
                            copied + ".whole"],
                           check=True)
            with open(copied, "rb") as file:
                section = file.read()
            for path, status, body in (("debuginfo", 200, whole), ("executable", 200, whole),
                                       ("source" + source, 200, written.encode()),
                                       ("source/etc/passwd", 404, None), ("section", 404, None),
                                       ("section/.debug_line", 200, section),
                                       ("section/.bss", 404, None), ("section/", 404, None),
                                       ("section/.none", 404, None)):
                with self.subTest(path=path):
                    answer = collector.request("GET", base + path)
                    self.assertEqual(answer[0], status)
                    if body is not None:
                        self.assertEqual(answer[2], body)
            self.assertEqual(self.put(collector, self.build_id, self.debug), 201)
            only = f"/buildid/{self.build_id}/executable"
            self.assertEqual(collector.request("GET", only)[0], 404, "debug data alone")
            subprocess.run(["strip", program], check=True)
            os.unlink(source)
            with_token = collector.url.replace("http://", "http://x:secret@")
            said = subprocess.run(
                ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on", "-ex",
                 "list deepest", program], check=False, text=True, stderr=subprocess.STDOUT,
                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=self.folder,
                env=dict(os.environ, DEBUGINFOD_URLS=with_token,
                         DEBUGINFOD_CACHE_PATH=os.path.join(self.folder, "cache"))).stdout
            if "set debuginfod" in said and "Undefined" in said:
                self.skipTest("this gdb knows no debuginfod")
            self.assertIn("return *p; // line 3", said)

    def test_wrong_options_are_refused(self):
        for extra, why in ((["--symbol-store", "s3://"], "it names no bucket"),
                           (["--symbol-cache", "10"], "--symbol-cache is not a size"),
                           (["--symbol-keep", "soon"], "or --symbol-keep not a time")):
            with self.subTest(extra=extra):
                done = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--store",
                                       f"sqlite:{self.folder}/store.db", *extra],
                                      check=False, text=True, stderr=subprocess.PIPE)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    BINARY, CRASHHOOK = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main(defaultTest="SymbolStore", verbosity=2)
