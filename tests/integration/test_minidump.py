# SPDX-License-Identifier: Apache-2.0
#
# Reports of minidumps. What a report of the core says of a crash, that of the minidump of
# the same crash has to say as well, as far as stacks and registers go.

import json
import os
import random
import re
import shutil
import struct
import subprocess
import time
import unittest
import uuid

import breakpad_symbols
import harness
from core_surgery import Core
from harness import (addresses_of, crashed_thread, dumped_registers_of, example, names_of,
                     program)
from minidump_writer import Writer
from test_core import CoreScene, by_tid

PROGRAMS = [[example("null_write")], [example("uncaught")], [example("divide")],
            [program("core_threads_pie"), "20"], [program("core_threads_no_pie"), "3"],
            [program("core_threads_static"), "3"]]
DAMAGED = 200 if harness.FULL else 24
SECONDS_MAX = 20


class Case(unittest.TestCase):
    def setUp(self):
        self.scene = CoreScene()
        self.addCleanup(self.scene.__exit__)

    def dump_of(self, command, **form):
        self.core = self.scene.crash(command)
        path = os.path.join(self.scene.folder, "crash.dmp")
        return Writer(Core(self.core)).write(path, **form)

    def report(self, path, *options):
        done = self.scene.command("minidump", path, "--json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr


class Minidump(Case):
    def test_stacks_and_signal_are_those_of_the_core(self):
        forms = ({}, {"guid": True}, {"aligned": True})
        for number, command in enumerate(PROGRAMS):
            with self.subTest(command):
                path = self.dump_of(command, **forms[number % len(forms)])
                found, _ = self.report(path)
                wanted = self.scene.report(self.core)
                self.assertEqual(by_tid(found), by_tid(wanted))
                self.assertEqual(names_of(crashed_thread(found)), names_of(crashed_thread(wanted)))
                self.assertEqual(crashed_thread(found)["registers"],
                                 dumped_registers_of(crashed_thread(wanted)))
                for key in ("signal", "code", "thread"):
                    self.assertEqual(found["crash"].get(key), wanted["crash"].get(key), key)
                images = {image["path"]: (image["base"], image.get("build_id"))
                          for image in wanted["images"] if image["path"].startswith("/")}
                for image in found["images"]:
                    self.assertEqual((image["base"], image.get("build_id")), images[image["path"]])

    def test_a_module_without_its_file_is_listed_and_said(self):
        copy = self.scene.copy(example("divide"))
        path = self.dump_of([copy])
        kept = os.path.join(self.scene.folder, "symbols")
        os.mkdir(kept)
        os.rename(copy, os.path.join(kept, os.path.basename(copy)))
        found, said = self.report(path)
        self.assertIn(f"no file of the minidump's build of '{copy}'", said)
        self.assertIn(copy, [image["path"] for image in found["images"]])
        found, said = self.report(path, "--symbols", kept)
        self.assertEqual(said, "")
        self.assertIn("main", names_of(crashed_thread(found)))

    def test_a_file_of_another_build_is_not_used(self):
        copy = self.scene.copy(example("divide"))
        path = self.dump_of([copy])
        shutil.copy(example("illegal"), copy)
        _, said = self.report(path)
        self.assertIn("no file of the minidump's build", said)

    def test_damaged_minidumps_end_in_a_report_or_one_line(self):
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        path = self.dump_of([program("core_threads_pie"), "3"])
        with open(path, "rb") as file:
            whole = file.read()
        for number in range(DAMAGED):
            data = bytearray(whole[:rng.randrange(len(whole))] if number % 4 == 0 else whole)
            for _ in range(rng.randrange(1, 20)):
                if data:
                    data[rng.randrange(min(len(data), 4096))] = rng.randrange(256)
            with open(path, "wb") as file:
                file.write(data)
            began = time.monotonic()
            done = self.scene.command("minidump", path, "--json", timeout=SECONDS_MAX)
            self.assertLess(time.monotonic() - began, SECONDS_MAX, seed)
            self.assertIn(done.returncode, (0, 1), (seed, number, done.stderr))
            if done.returncode == 1:
                self.assertIn("crashhook: cannot read", done.stderr, (seed, number))
        print(f"seed {seed}, {DAMAGED} damaged minidumps")

    def test_what_is_no_minidump_of_linux_is_refused_with_a_reason(self):
        path = self.dump_of([example("divide")])
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            at = data.index((0x8201).to_bytes(4, "little"))
            data[at:at + 4] = (2).to_bytes(4, "little")
            file.seek(0)
            file.write(data)
        done = self.scene.command("minidump", path)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"crashhook: cannot read minidump '{path}': it is of Windows\n")


def streams_of(dump):
    """The streams of a minidump by their type, with the bytes of each."""
    count, directory = struct.unpack_from("<II", dump, 8)
    entries = [struct.unpack_from("<III", dump, directory + 12 * i) for i in range(count)]
    return {kind: dump[offset:offset + size] for kind, size, offset in entries}


class Written(unittest.TestCase):
    """Minidumps that are made of reports."""

    def setUp(self):
        self.scene = self.enterContext(harness.Scene())

    def export(self, command, **variables):
        """The newest report of a crash of command, and the minidump made of it."""
        self.scene.run(command, CRASHHOOK_LIMIT="none", **variables)
        report = self.scene.reports()[-1]
        path = os.path.join(self.scene.folder, "report.dmp")
        with open(path, "wb") as file:
            done = subprocess.run([harness.CRASHHOOK, "export", "--format", "minidump",
                                   self.scene.report_paths()[-1]], stdout=file,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return report, path

    def test_a_minidump_of_a_report_has_its_stacks_registers_and_images(self):
        # No library is preloaded into the last one, which is static.
        for command in PROGRAMS[:-1]:
            with self.subTest(command):
                report, path = self.export(command, CRASHHOOK_STACKS="yes",
                                           CRASHHOOK_MEMORY="yes")
                done = self.scene.command("minidump", path, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                found = json.loads(done.stdout)
                self.assertEqual(found["crash"]["signal"], report["crash"]["signal"])
                self.assertEqual(found["crash"]["code"], report["crash"]["code"])
                wanted = {thread["tid"]: thread for thread in report["threads"]}
                self.assertEqual({thread["tid"] for thread in found["threads"]}, set(wanted))
                for thread in found["threads"]:
                    self.assertEqual(thread["registers"],
                                     dumped_registers_of(wanted[thread["tid"]]))
                    self.assertEqual(addresses_of(thread), addresses_of(wanted[thread["tid"]]))
                images = {(image["base"], image.get("build_id")) for image in report["images"]}
                for image in found["images"]:
                    self.assertIn((image["base"], image.get("build_id")), images)

    def test_symbols_of_breakpad_give_names_and_unwinding(self):
        report, path = self.export([program("core_threads_pie"), "3"], CRASHHOOK_STACKS="yes")
        symbols, nothing = (os.path.join(self.scene.folder, name) for name in ("sym", "root"))
        os.mkdir(nothing)
        files = [image["path"] for image in report["images"] if image["path"].startswith("/")]
        written = {file: breakpad_symbols.write(symbols, file) for file in files}
        done = self.scene.command("minidump", path, "--json", "--sysroot", nothing, "--symbols",
                                  symbols, TMPDIR=nothing)
        self.assertEqual((done.returncode, done.stderr, os.listdir(nothing)), (0, "", []))
        found, wanted = crashed_thread(json.loads(done.stdout)), crashed_thread(report)
        self.assertEqual(addresses_of(found)[:9], addresses_of(wanted)[:9])
        # Inlined calls are left out of what was made of the symbols.
        names = [[frame.get("function") for frame in harness.physical_frames(thread)][:8]
                 for thread in (found, wanted)]
        self.assertEqual(names[0], names[1])
        self.assertIn("main", names[0])
        with open(written[files[0]], "r+", encoding="utf-8") as file:
            head = file.read(len("MODULE Linux x86_64 0"))
            file.seek(0)
            file.write(head[:-1] + ("1" if head[-1] == "0" else "0"))
        done = self.scene.command("minidump", path, "--json", "--sysroot", nothing, "--symbols",
                                  symbols)
        self.assertIn(f"is not of the minidump's '{files[0]}': it is not used", done.stderr)
        self.assertIn(f"no file of the minidump's build of '{files[0]}'", done.stderr)

    def test_a_minidump_has_the_facts_of_the_report_as_annotations(self):
        report, path = self.export([example("divide")], CRASHHOOK_RELEASE="1.4 \U0001d11e",
                                   CRASHHOOK_TAGS="shop=north")
        with open(path, "rb") as file:
            dump = file.read()
        streams = streams_of(dump)
        info = streams[0x43500001]
        self.assertEqual(uuid.UUID(bytes_le=info[4:20]), uuid.UUID(report["id"]))
        _, at = struct.unpack_from("<II", info, 36)
        count, = struct.unpack_from("<I", dump, at)
        texts = []
        for place in struct.unpack_from(f"<{2 * count}I", dump, at + 4):
            size, = struct.unpack_from("<I", dump, place)
            texts.append(dump[place + 4:place + 4 + size].decode())
        facts = dict(zip(texts[::2], texts[1::2]))
        self.assertEqual(facts["prod"], "divide")
        self.assertEqual(facts["ver"], "1.4 \U0001d11e")
        self.assertEqual(facts["shop"], "north")
        self.assertEqual(facts["crashhook_summary"], report["crash"]["summary"])
        names, = struct.unpack_from("<I", streams[24])
        tid, place = struct.unpack_from("<IQ", streams[24], 4)
        size, = struct.unpack_from("<I", dump, place)
        self.assertEqual((names, tid, dump[place + 4:place + 4 + size].decode("utf-16-le")),
                         (1, report["process"]["pid"], "divide"))
        self.assertNotIn("memory", report)

    @unittest.skipUnless(shutil.which("lldb-19"), "lldb-19 is not installed")
    def test_lldb_shows_the_stack_and_the_registers_of_the_report(self):
        report, path = self.export([program("core_threads_pie"), "3"], CRASHHOOK_STACKS="yes")
        said = subprocess.run(
            ["lldb-19", "-b", "-o", f"target create --core {path}", "-o", "bt all", "-o",
             "register read rip rsp rbx", "-o", "image list"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=120, check=False).stdout
        crashed = crashed_thread(report)
        self.assertIn(f"stop reason = signal {report['crash']['name']}", said)
        for name in ("rip", "rsp", "rbx"):
            self.assertRegex(said, rf"{name} = 0x0*{crashed['registers'][name][2:]}\b")
        shown = re.split(r"(?m)^\*? *thread #", said)[1:]
        self.assertEqual(len(shown), len(report["threads"]))
        wanted = sorted(addresses_of(thread) for thread in report["threads"])
        # A return address is shown as it is, and in the report as the call before it.
        found = sorted([hex(int(a, 16)) for n, a in
                        re.findall(r"frame #(\d+): 0x([0-9a-f]+)", one)
                        if "[inlined]" not in n] for one in shown)
        for ours, theirs in zip(wanted, found):
            self.assertEqual(ours[0], theirs[0])
            self.assertGreaterEqual(len(theirs), len(ours))
        for image in report["images"]:
            if image.get("build_id") and image["path"].startswith("/"):
                self.assertIn(image["path"], said)


@unittest.skipUnless(shutil.which("lldb-19"), "lldb-19 is not installed")
class Lldb(Case):
    def test_lldbs_minidump_has_the_stack_that_lldb_shows(self):
        dump = os.path.join(self.scene.folder, "lldb.dmp")
        said = subprocess.run(
            ["lldb-19", "-b", "-o", "process launch", "-k",
             f"process save-core --plugin-name=minidump --style=stack {dump}", "-k", "bt",
             "-k", "quit", example("null_write")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
            check=False).stdout
        self.assertTrue(os.path.exists(dump), said)
        found, _ = self.report(dump)
        self.assertEqual(found["crash"]["name"], "SIGSEGV")
        for name in ("write_line", "pricing_add_line", "cart_add_item"):
            self.assertIn(f"`{name}(", said.replace("[inlined] ", "`"))
            self.assertIn(name, names_of(crashed_thread(found)))
        # LLDB goes no further where the compiler left no frame pointer.
        self.assertIn("main", names_of(crashed_thread(found)))


if __name__ == "__main__":
    harness.main()
