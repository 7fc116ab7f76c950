# SPDX-License-Identifier: Apache-2.0
#
# crashhook symbols upload against servers that fail, and against the collector.

import contextlib
import gzip
import os
import pty
import re
import resource
import shutil
import socket
import socketserver
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest
import zipfile

import fault_server
from fault_server import FaultServer, answer
from listener import Listener
from spool_folder import BUILD, CRASHHOOK, closed_port

COLLECTOR = os.path.join(BUILD, "bin", "crashhook-collector")
STORED = b'{"build_id":"x"}'
LAST = 5000  # bytes of a file that are still to be sent


def clean_environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
    kept.update({"no_proxy": "127.0.0.1", "CRASHHOOK_TIMEOUT": "20s", **variables})
    return kept


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="crashhook-test.")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, name, build_id, padding=0):
        """A program with that build ID, so many bytes of data larger than needed."""
        source = self.path(name + ".c")
        with open(source, "w", encoding="ascii") as file:
            file.write(f"char data[{padding + 1}] = {{1}}; int main(void) {{return 0;}}\n")
        subprocess.run(["gcc", "-g", f"-Wl,--build-id=0x{build_id}", "-o",
                        self.path(name), source], check=True)
        return self.path(name)

    def upload(self, url, *files, options=(), **variables):
        return subprocess.run(
            [CRASHHOOK, "symbols", "upload", "--url", url, *options, *files], text=True,
            env=clean_environment(**variables), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=60, check=False)


class Sending(Folder):
    def test_each_file_is_put_under_its_build_id(self):
        one, two = self.build("one", "aa01"), self.build("two", "bb02")
        with FaultServer(answer(404), answer(201, STORED), answer(404),
                         answer(200, STORED)) as server:
            done = self.upload(server.url + "/base/", one, two)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, f"{one}: sent, build ID aa01\n"
                                          f"{two}: sent, build ID bb02\n")
            puts = [r for r in server.requests if r.line.startswith("PUT")]
            self.assertEqual([r.line for r in puts],
                             ["PUT /base/api/v1/symbols/aa01 HTTP/1.1",
                              "PUT /base/api/v1/symbols/bb02 HTTP/1.1"])
            with open(one, "rb") as file:
                self.assertEqual(puts[0].body, file.read())

    def test_of_a_folder_all_files_with_a_build_id_are_sent_and_others_skipped(self):
        os.makedirs(self.path("tree/below"))
        for name, build_id in (("one", "aa01"), ("two", "bb02")):
            os.rename(self.build(name, build_id), self.path("tree/below/" + name))
        os.symlink("one", self.path("tree/below/link"))
        os.mkfifo(self.path("tree/pipe"))
        for name, text in (("README", "words"), ("empty", ""), ("cut", "\x7fELF")):
            with open(self.path("tree/" + name), "w", encoding="ascii") as file:
                file.write(text)
        with FaultServer(answer(404), answer(201, STORED), answer(404),
                         answer(200, STORED)) as server:
            done = self.upload(server.url, self.path("tree"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(sorted(done.stdout.splitlines()),
                             [self.path("tree/below/one: sent, build ID aa01"),
                              self.path("tree/below/two: sent, build ID bb02")])

    def test_what_the_collector_has_is_not_sent_again(self):
        file = self.build("one", "aa01")
        size = os.stat(file).st_size

        def has(length):
            return lambda connection, _: connection.sendall(
                f"HTTP/1.1 200 x\r\nContent-Length: {length}\r\n"
                "Connection: close\r\n\r\n".encode())
        with FaultServer(has(size)) as server:
            done = self.upload(server.url, file)
            self.assertEqual((done.returncode, done.stdout),
                             (0, f"{file}: the collector has build ID aa01 already\n"))
            self.assertEqual(len(server.requests), 1)
        with FaultServer(has(size - 1), answer(200, STORED)) as server:
            done = self.upload(server.url, file)
            self.assertEqual(done.stdout, f"{file}: sent, build ID aa01\n")

    def test_the_release_is_sent_as_it_stands_in_a_url(self):
        file = self.build("one", "aa01")
        for options, variables in ((("--release", "1.4 & x=ü"), {}),
                                   ((), {"CRASHHOOK_RELEASE": "1.4 & x=ü"})):
            with FaultServer(answer(404), answer(201, STORED)) as server:
                done = self.upload(server.url, file, options=options, **variables)
                self.assertEqual(done.returncode, 0, done.stderr)
                release = "?release=1.4%20%26%20x%3D%C3%BC HTTP/1.1"
                self.assertEqual([r.line for r in server.requests],
                                 ["HEAD /buildid/aa01/executable" + release,
                                  "PUT /api/v1/symbols/aa01" + release])

    def test_a_target_that_is_no_url_is_one_line_and_the_others_are_sent_to(self):
        file = self.build("one", "aa01")
        with FaultServer(answer(404), answer(201, STORED)) as server:
            done = self.upload("gopher://old " + server.url, file)
            self.assertEqual(done.stdout, f"{file}: sent, build ID aa01\n")
            self.assertEqual(done.stderr, "crashhook: cannot upload to 'gopher://old': it is "
                                          "no http, sentry+http, otlp+http or minidump+http URL\n")
            self.assertEqual(done.returncode, 0)

    def test_a_token_is_sent(self):
        with FaultServer(answer(404), answer(201, STORED)) as server:
            self.upload(server.url, self.build("one", "aa01"), CRASHHOOK_TOKEN="secret")
            for request in server.requests:
                self.assertEqual(request.headers["authorization"], "Bearer secret")

    def test_large_files_show_how_far_they_are_on_a_terminal(self):
        file = self.build("large", "cc03", padding=24 << 20)

        def dawdle(connection, request):
            left = os.stat(file).st_size - len(request.body)
            while left > 0:
                left -= len(connection.recv(1 << 20))
                time.sleep(0.06)
            connection.sendall(fault_server.response(201, STORED))
        with FaultServer(answer(404), answer(404), fault_server.early(dawdle)) as server:
            child, fd = pty.fork()
            if child == 0:
                os.execve(CRASHHOOK, [CRASHHOOK, "symbols", "upload", "--url", server.url,
                                      file], clean_environment(CRASHHOOK_TIMEOUT="20s"))
            seen = b""
            try:
                while more := os.read(fd, 4096):
                    seen += more
            except OSError:
                pass
            os.close(fd)
            self.assertEqual(os.waitpid(child, 0)[1], 0, seen)
            self.assertRegex(seen, rb"large, \d+\.\d of 24\.\d MiB")
            self.assertRegex(seen, rb"\r\x1b\[K[^\r]*: sent, build ID cc03")


class Refusals(Folder):
    def test_what_is_no_debug_file_is_one_line_and_the_others_go(self):
        good = self.build("good", "aa01")
        with open(self.path("text"), "w", encoding="ascii") as file:
            file.write("hello")
        open(self.path("empty"), "wb").close()
        os.mkfifo(self.path("fifo"))
        subprocess.run(["gcc", "-Wl,--build-id=none", "-o", self.path("nameless"),
                        good + ".c"], check=True)
        bad = [self.path(n) for n in ("text", "empty", "fifo", "nameless", "missing")]
        with FaultServer(answer(404), answer(201, STORED)) as server:
            done = self.upload(server.url, *bad, "/dev/null", good)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, f"{good}: sent, build ID aa01\n")
            lines = done.stderr.splitlines()
            self.assertEqual(len(lines), 6, done.stderr)
            for path, line in zip([*bad, "/dev/null"], lines):
                self.assertIn(f"cannot send '{path}': ", line)
            self.assertIn("No such file", lines[4])
            self.assertIn("it is no plain file", lines[5])

    def test_a_file_that_is_refused_does_not_hold_up_the_others(self):
        one, two = self.build("one", "aa01"), self.build("two", "bb02")
        with FaultServer(answer(404), answer(413, b'{"error":"too large"}'), answer(404),
                         answer(201, STORED)) as server:
            done = self.upload(server.url, one, two)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, f"crashhook: cannot send '{one}': it refused the "
                                          "file with 413: too large\n")
            self.assertEqual(done.stdout, f"{two}: sent, build ID bb02\n")

    def test_a_collector_that_is_down_is_asked_once(self):
        files = [self.build("one", "aa01"), self.build("two", "bb02")]
        done = self.upload(f"http://127.0.0.1:{closed_port()}", *files)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
        self.assertIn("left out the other files: 1", done.stderr)

    def test_trouble_is_said_by_its_name(self):
        file = self.build("one", "aa01")
        for behaviour, words in ((answer(401, b'{"error":"no such token"}'), "401: no such"),
                                 (answer(302, b"", ["Location: /"]), "redirects"),
                                 (answer(200, b"<html>"), "is the address right"),
                                 (fault_server.say_nothing, "too slow"),
                                 (fault_server.early(fault_server.hang_up), "cannot send")):
            with self.subTest(words), FaultServer(answer(404), behaviour) as server:
                slow = behaviour is fault_server.say_nothing
                done = self.upload(server.url, file,
                                   CRASHHOOK_TIMEOUT="1s" if slow else "20s")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, words if words != "too slow"
                                 else "[Tt]imed? ?out|too slow")

    def test_a_target_that_takes_no_debug_files_is_refused(self):
        done = self.upload("otlp+http://127.0.0.1:1", self.build("one", "aa01"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("names no collector", done.stderr)

    def test_without_a_url_it_is_misused(self):
        done = subprocess.run([CRASHHOOK, "symbols", "upload", "x"],
                              env=clean_environment(), stderr=subprocess.PIPE, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--url", done.stderr)


class Sources(Folder):
    def build_from(self, text, build_id="aa01"):
        source = self.path("one.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["gcc", "-g", f"-Wl,--build-id=0x{build_id}", "-o",
                        self.path("one"), source], check=True)
        return self.path("one")

    def send(self, file, *behaviours):
        """Uploads file with its sources: what was said, and the files in the bundle."""
        with FaultServer(answer(404), answer(201, STORED), *behaviours) as server:
            done = self.upload(server.url, "--sources", file)
            bundles = [r for r in server.requests if r.line.startswith("PUT") and
                       "/api/v1/sources/aa01" in r.line]
            return done, bundles[0].body if bundles else None

    def files_of(self, bundle):
        index, contents = bundle.split(b"\n\n", 1)
        first, *lines = index.decode().split("\n")
        self.assertEqual(first, "crashhook sources 1")
        files = {}
        for line in lines:
            size, path = line.split(" ", 1)
            files[path], contents = contents[:int(size)], contents[int(size):]
        self.assertEqual(contents, b"")
        return files

    def test_the_files_that_line_tables_name_are_sent_in_one_bundle(self):
        with open(self.path("add.h"), "w", encoding="latin-1") as file:
            file.write("// \u00e9\nstatic int add(int a) { return a + 1; }\n")
        text = '#include "add.h"\nint main(int argc, char **argv) { (void)argv; ' \
               'return add(argc); }\n'
        file = self.build_from(text)
        done, bundle = self.send(file, answer(404), answer(201, STORED))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, f"{file}: sent, build ID aa01\n"
                         f"{file}: sources sent, 2 files of 0.1 KiB\n$")
        files = self.files_of(bundle)
        self.assertEqual(files[self.path("one.c")], text.encode())
        self.assertEqual(files[self.path("add.h")][3:4], b"\xe9")

    def test_sources_that_the_collector_has_are_not_sent_again(self):
        file = self.build_from("int main(void) { return 0; }\n")
        _, bundle = self.send(file, answer(404), answer(201, STORED))

        def has(connection, _):
            connection.sendall(f"HTTP/1.1 200 x\r\nContent-Length: {len(bundle)}\r\n"
                               "Connection: close\r\n\r\n".encode())
        done, again = self.send(file, has)
        self.assertEqual((done.returncode, again), (0, None))
        self.assertIn(f"{file}: the collector has its sources already\n", done.stdout)

    def test_what_is_no_source_of_this_machine_is_left_out_and_counted(self):
        os.mkfifo(self.path("pipe.c"))
        os.mkdir(self.path("folder.c"))
        with open(self.path("binary.h"), "wb") as file:
            file.write(b"a\0b")
        with open(self.path("large.h"), "wb") as file:
            file.truncate((16 << 20) + 1)
        with open(self.path("secret"), "wb") as file:
            file.write(b"password")
        named = ["pipe.c", "folder.c", "missing.c", "binary.h", "large.h", "secret"]
        text = "".join(f'#line 1 "{self.path(name)}"\nint f{i}(void) {{ return {i}; }}\n'
                       for i, name in enumerate([*named, "one.c"]))
        file = self.build_from(text + '#line 9 "relative.c"\n'
                                      "int main(void) { return 0; }\n")
        done, bundle = self.send(file, answer(404), answer(201, STORED))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.files_of(bundle)), [self.path("one.c")])
        self.assertIn("1 file of ", done.stdout)
        self.assertIn("left out: 4 not on this machine, 1 no source by name, 1 no text, "
                      "1 over 16 MiB\n", done.stdout)

    def test_a_source_changed_after_the_build_is_said(self):
        file = self.build_from("int main(void) { return 0; }\n")
        os.utime(file, (1000, 1000))
        done, _ = self.send(file, answer(404), answer(201, STORED))
        self.assertIn("1 file of 0.0 KiB; 1 changed after the debug file\n", done.stdout)

    def test_without_any_sources_it_fails_in_one_line(self):
        file = self.build_from("int main(void) { return 0; }\n")
        os.unlink(self.path("one.c"))
        done, bundle = self.send(file)
        self.assertEqual((done.returncode, bundle), (1, None))
        self.assertEqual(done.stderr, f"crashhook: cannot send the sources of '{file}': "
                                      "there are none: 1 not on this machine\n")
        subprocess.run(["strip", file], check=True)
        done, _ = self.send(file)
        self.assertEqual(done.stderr, f"crashhook: cannot send the sources of '{file}': "
                                      "it has no line tables\n")

    def test_damaged_line_tables_are_survived(self):
        file = self.build_from("int main(void) { return 0; }\n")
        headers = subprocess.run(["readelf", "-SW", file], text=True, check=True,
                                 stdout=subprocess.PIPE).stdout
        at = re.search(r"\.debug_line +PROGBITS +\w+ +(\w+) +(\w+)", headers)
        start, size = int(at.group(1), 16), int(at.group(2), 16)
        with open(file, "rb") as whole:
            good = whole.read()
        for i in range(0, size, 3):
            damaged = bytearray(good)
            damaged[start + i] ^= 0xFF
            with open(file, "wb") as out:
                out.write(damaged)
            done, _ = self.send(file, answer(404), answer(201, STORED))
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_refusal_is_said_by_its_name(self):
        file = self.build_from("int main(void) { return 0; }\n")
        done, _ = self.send(file, answer(404), answer(404, b'{"error":"nothing here"}'))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"cannot send the sources of '{file}': .*404")


class Archives(Folder):
    """Packages and archives of a program and a text, each with the program's build ID."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("tree/usr/bin"))
        os.rename(self.build("one", "aa01"), self.path("tree/usr/bin/one"))
        with open(self.path("tree/usr/README"), "w", encoding="ascii") as file:
            file.write("words\n" * 1000)

    def run_in_tree(self, *command):
        subprocess.run(command, check=True, cwd=self.path("tree"), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def make_deb(self, path):
        os.makedirs(self.path("tree/DEBIAN"))
        with open(self.path("tree/DEBIAN/control"), "w", encoding="ascii") as file:
            file.write("Package: one\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@b>\n"
                       "Description: one\n")
        self.run_in_tree("dpkg-deb", "--root-owner-group", "-b", ".", path)

    def make_rpm(self, path):
        with open(self.path("one.spec"), "w", encoding="ascii") as file:
            file.write("Name: one\nVersion: 1\nRelease: 1\nSummary: one\nLicense: x\n"
                       "%global debug_package %{nil}\n%global __os_install_post %{nil}\n"
                       "%description\none\n%install\n"
                       f"cp -r {self.path('tree')}/. %{{buildroot}}\n"
                       "%files\n/usr/bin/one\n/usr/README\n")
        self.run_in_tree("rpmbuild", "-bb", "--define", f"_topdir {self.path('rpm')}",
                         "--define", f"_rpmdir {self.path('rpm')}", "--define",
                         f"_rpmfilename {os.path.basename(path)}", self.path("one.spec"))
        os.rename(os.path.join(self.path("rpm"), os.path.basename(path)), path)

    def make_zip(self, path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name in ("usr/README", "usr/bin/one"):
                file.write(self.path("tree/" + name), name)

    def make_tar(self, path):
        self.run_in_tree("tar", "--auto-compress", "-cf", path, "usr")

    def test_the_files_of_packages_and_archives_are_sent(self):
        with open(self.path("tree/usr/bin/one"), "rb") as file:
            program = file.read()
        for ending, make in (("tar.zst", self.make_tar), ("tar.xz", self.make_tar),
                             ("tar", self.make_tar), ("zip", self.make_zip),
                             ("rpm", self.make_rpm), ("deb", self.make_deb)):
            if make == self.make_rpm and shutil.which("rpmbuild") is None:
                continue  # packaging/more-packages.txt has it
            os.makedirs(self.path("packed"), exist_ok=True)
            path = self.path("packed/it." + ending)
            make(path)
            for argument in (path, self.path("packed")):
                with self.subTest(argument), FaultServer(answer(404),
                                                         answer(201, STORED)) as server:
                    done = self.upload(server.url, argument)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(done.stdout, re.escape(path) +
                                     r": (\./)?/?usr/bin/one: sent, build ID aa01\n$")
                    self.assertEqual(server.requests[-1].body, program)
            os.remove(path)

    def test_archives_without_debug_files_and_damaged_ones_are_said(self):
        with zipfile.ZipFile(self.path("words.zip"), "w") as file:
            file.write(self.path("tree/usr/README"))
        self.make_tar(self.path("whole.tar.xz"))
        with open(self.path("whole.tar.xz"), "rb") as file, \
                open(self.path("cut.tar.xz"), "wb") as out:
            whole = file.read()
            out.write(whole[:len(whole) // 2])
        self.make_tar(self.path("whole.tar"))
        with open(self.path("whole.tar"), "rb") as file, \
                open(self.path("cut.tar"), "wb") as out:
            out.write(file.read(8192))
        with open(self.path("README.gz"), "wb") as out:
            out.write(gzip.compress(b"words\n" * 1000))
        with tarfile.open(self.path("empty.tar.gz"), "w:gz"):
            pass
        for name, words in (("words.zip", "there are no debug files in it"),
                            ("empty.tar.gz", "there are no debug files in it"),
                            ("README.gz", "it is no archive, or a damaged one"),
                            ("cut.tar.xz", "it is no archive, or a damaged one"),
                            ("cut.tar", "it is a damaged archive")):
            with self.subTest(name), FaultServer(answer(404), answer(201, STORED)) as server:
                done = self.upload(server.url, self.path(name))
                self.assertEqual((done.returncode, done.stderr),
                                 (1, f"crashhook: cannot send '{self.path(name)}': {words}\n"))


    def test_files_with_names_beyond_ascii_are_sent_in_any_locale(self):
        with zipfile.ZipFile(self.path("it.zip"), "w") as file:
            file.write(self.path("tree/usr/bin/one"), "\u00fc/one")
        with tarfile.open(self.path("it.tar"), "w", format=tarfile.GNU_FORMAT,
                          encoding="latin-1") as file:
            file.add(self.path("tree/usr/bin/one"), "\u00fc/one")
        for name, shown in (("it.zip", "\u00fc/one"), ("it.tar", r"\xfc/one")):
            with self.subTest(name), FaultServer(answer(404), answer(201, STORED)) as server:
                done = self.upload(server.url, self.path(name), LC_ALL="C")
                self.assertEqual(
                    (done.returncode, done.stdout, done.stderr),
                    (0, f"{self.path(name)}: {shown}: sent, build ID aa01\n", ""))

    def test_an_archive_in_a_folder_that_cannot_be_unpacked_is_said(self):
        """Its process ends by SIGXFSZ."""
        os.makedirs(self.path("packed"))
        self.make_tar(self.path("packed/it.tar"))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            done = self.upload("http://127.0.0.1:1", self.path("packed"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual((done.returncode, done.stderr), (1,
                         f"crashhook: cannot send '{self.path('packed/it.tar')}': it cannot be"
                         " unpacked\n"))


class Cutting(socketserver.ThreadingTCPServer):
    """Forwards to a collector, but cuts the first upload after so many bytes, and then
    goes away or not."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, to, limit, away=False):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                left = 0 if self.server.is_away else 1 << 40
                with socket.create_connection(self.server.to) as up:
                    back = threading.Thread(target=self.forward, args=(up, self.request))
                    back.start()
                    while left > 0 and (part := self.request.recv(1 << 16)):
                        if part.startswith(b"PUT"):
                            self.server.puts.append(part.split(b" ")[1].decode())
                            left = limit if len(self.server.puts) == 1 else left
                        up.sendall(part[:left])
                        left -= len(part)
                    self.server.is_away |= away and left <= 0
                    for end in (up, self.request):
                        with contextlib.suppress(OSError):
                            end.shutdown(socket.SHUT_RDWR)
                    back.join()

            def forward(self, up, down):
                with contextlib.suppress(OSError):
                    while part := up.recv(1 << 16):
                        down.sendall(part)

        super().__init__(("127.0.0.1", 0), Handler)
        self.to, self.is_away, self.puts = to, False, []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class Reusing(Listener):
    """Has all of a file but its last bytes; what was sent of them over the connection of
    the questions is not taken, and that connection breaks."""

    def __init__(self, size):
        self.size, self.parts = size, []
        self.url = f"http://127.0.0.1:{self.listen()}"

    def _serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            asked = 0
            while (line := lines.readline()):
                headers = dict(iter(lambda: lines.readline().lower().strip().partition(b": ")
                                    [::2], (b"", b"")))
                if not line.startswith(b"PUT"):
                    asked += 1
                    body = b'{"offset":%d}' % (self.size - LAST)
                    connection.sendall(b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n" %
                                       len(body) + body * line.startswith(b"GET"))
                    continue
                self.parts.append(lines.read(int(headers[b"content-length"])))
                if asked != 0:
                    return
                connection.sendall(fault_server.response(201, STORED))


class WithTheCollector(Folder):
    @contextlib.contextmanager
    def collector(self):
        collector = subprocess.Popen(
            [COLLECTOR, "--listen", "127.0.0.1:0", "--store",
             f"sqlite:{self.path('store')}", "--symbols", self.path("symbols")],
            stderr=subprocess.PIPE, text=True, env=clean_environment())
        try:
            for line in collector.stderr:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            yield found.group(0)
        finally:
            collector.terminate()
            collector.communicate()

    def test_the_collector_stores_what_is_sent(self):
        file = self.build("one", "abcdef0123")
        with self.collector() as url:
            done = self.upload(url, file)
            self.assertEqual((done.returncode, done.stdout),
                             (0, f"{file}: sent, build ID abcdef0123\n"), done.stderr)
            self.check_stored(file)
            again = self.upload(url, file)
            self.assertEqual((again.returncode, again.stdout),
                             (0, f"{file}: the collector has build ID abcdef0123 already\n"),
                             again.stderr)

    def check_stored(self, file):
        stored = self.path("symbols/.build-id/ab/cdef0123.debug")
        with open(stored, "rb") as one, open(file, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_an_upload_goes_on_where_it_broke_off(self):
        file = self.build("one", "abcdef0123", padding=24 << 20)
        size = os.stat(file).st_size
        with self.collector() as url:
            address = ("127.0.0.1", int(url.rpartition(":")[2]))
            with Cutting(address, 12 << 20) as server:
                done = self.upload(server.url, file, options=["--release", "1"])
                server.shutdown()
            self.assertEqual((done.returncode, done.stdout),
                             (0, f"{file}: sent, build ID abcdef0123\n"), done.stderr)
            first, second = server.puts
            self.assertRegex(first, f"release=1&part={size:x}-[0-9a-f]{{8}}$")
            offset = int(second.removeprefix(first + "&offset="))
            self.assertTrue(1 << 20 < offset < 12 << 20, second)
            self.check_stored(file)

    def test_a_part_that_is_sent_again_by_itself_is_that_part(self):
        file = self.build("one", "aa01", padding=5 << 20)
        with open(file, "rb") as whole:
            content = whole.read()
        with Reusing(len(content)) as server:
            done = self.upload(server.url, file)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(server.parts, [content[-LAST:]] * 2)

    def test_an_upload_goes_on_in_a_later_run(self):
        file = self.build("one", "abcdef0123", padding=24 << 20)
        with self.collector() as url:
            address = ("127.0.0.1", int(url.rpartition(":")[2]))
            with Cutting(address, 12 << 20, away=True) as server:
                done = self.upload(server.url, file)
                server.shutdown()
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            with Cutting(address, 1 << 40) as server:
                done = self.upload(server.url, file)
                server.shutdown()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(server.puts[-1], "&offset=[1-9]")
            self.check_stored(file)
            self.assertEqual(os.listdir(self.path("symbols/.build-id")), ["ab"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
