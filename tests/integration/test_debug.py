#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What gdb shows of a report that `crashhook debug` opens: registers, stacks and symbols of a
# program that really crashed, on its own machine and, by a collector's address, on one that
# has neither the program nor its sources.

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import dap_client
import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "collector"))
import running  # noqa: E402

SOURCE = """#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
struct basket { int count; struct basket *next; };
static int started[2];
__attribute__((noinline)) int count_all(struct basket *basket, int more)
{
    return basket->count + more; /* crashes here */
}
__attribute__((noinline)) int descend(int depth, struct basket *basket)
{
    int local = depth * 3;
    return (depth == 0 ? count_all(basket, 7) : descend(depth - 1, basket)) + local;
}
static void *idle(void *unused)
{
    (void)write(started[1], "x", 1);
    for (;;)
        pause();
    return unused;
}
int main(void)
{
    pthread_t thread;
    char byte;
    struct basket *volatile none = 0;
#ifdef __x86_64__
    syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, 0x5000);
#endif
    if (pipe(started) != 0 || pthread_create(&thread, 0, idle, 0) != 0 ||
        read(started[0], &byte, 1) != 1)
        return 1;
    return descend(3, none);
}
"""
LINE = SOURCE.splitlines().index("    return basket->count + more; /* crashes here */") + 1


def build(folder, *more):
    path = os.path.join(folder, "basket.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    out = os.path.join(folder, "baskets")
    subprocess.run(["cc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", *more,
                    "-o", out, path], check=True)
    return out


def frames(said):
    return re.findall(r"^#(\d+) .*?(\w+) \(", said, re.M)


class Debug(unittest.TestCase):
    def setUp(self):
        self.scene = self.enterContext(harness.Scene())
        self.program = build(self.scene.folder)

    def crash(self, **variables):
        ended = self.scene.run([self.program], **variables)
        self.assertEqual(ended.signal, 11)
        return self.scene.reports()[-1]

    def debug(self, *arguments, **variables):
        """What gdb said; nothing may be left of it."""
        folder = tempfile.mkdtemp(dir=self.scene.folder)
        done = self.scene.command("debug", *arguments, TMPDIR=folder, **variables)
        self.assertEqual(os.listdir(folder), [])
        return done

    def test_the_newest_report_has_its_registers_stacks_and_lines(self):
        report = self.crash()
        thread = harness.crashed_thread(report)
        done = self.debug("--", "-batch", "-ex", "bt", "-ex", "info registers rip rsp",
                          "-ex", "x/i $pc", "-ex", "p $_siginfo.si_signo", "-ex",
                          "thread 2", "-ex", "bt", "-ex", "info threads")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(report["crash"]["summary"][:40], done.stdout)
        self.assertIn("the report has no memory", done.stdout)
        self.assertRegex(done.stdout,
                         rf"#0 .*count_all \(basket=0x0, more=7\) at .*basket.c:{LINE}")
        crashed, other = done.stdout.split("[Switching to thread 2")
        names = [name for _, name in frames(crashed)]
        told = harness.names_of(thread)
        self.assertEqual(names[-len(told):-1], told[:-1])
        self.assertEqual(names.count("descend"), 4)
        for name in ("rip", "rsp"):
            self.assertRegex(crashed, rf"(?m)^{name} +{thread['registers'][name]} ")
        self.assertRegex(crashed, r"=> 0x\w+ <count_all[^>]*>:\t\w+")
        self.assertIn("idle (", other)
        self.assertIn("$1 = 11", crashed)

    def test_with_stacks_variables_of_callers_are_shown(self):
        self.crash(CRASHHOOK_STACKS="yes")
        done = self.debug("--", "-batch", "-ex", "bt", "-ex", "frame function main", "-ex",
                          "p none", "-ex", "p sizeof(byte)")
        self.assertEqual([name for _, name in frames(done.stdout)].count("descend"), 4)
        self.assertRegex(done.stdout, r"(?m)^\$1 = \(struct basket \* volatile\) 0x0$")

    def lasting(self, **variables):
        report = self.crash(CRASHHOOK_STACKS="yes", **variables)
        done = self.debug("--core", "basket.core")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return report, os.path.join(self.scene.folder, "basket.core")

    def spoken(self, *command):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120, check=False).stdout

    def test_a_core_opens_in_gdb_with_stacks_registers_libraries_and_the_report(self):
        report, core = self.lasting()
        said = self.spoken("gdb", "-q", "-nx", "-batch", "-x", core + ".gdb", "-ex",
                           "thread apply all bt", "-ex",
                           "info registers rip rsp fs_base gs_base", "-ex",
                           "info sharedlibrary", "-ex", "p $_siginfo.si_signo",
                           self.program, core)
        thread = harness.crashed_thread(report)
        self.assertIn(report["crash"]["summary"][:40], said)
        other, crashed = said.split("\nThread 2 ")[1].split("\nThread 1 ")
        told = [f["function"] for f in harness.frames_of(thread)]
        names = [name for _, name in frames(crashed)]
        self.assertEqual(names, told[:len(names)])
        self.assertEqual(names[-1], "main")
        self.assertIn("idle (", other)
        self.assertEqual(thread["registers"]["gs_base"], "0x5000")
        for name in ("rip", "rsp", "fs_base", "gs_base"):
            self.assertRegex(said, rf"(?m)^{name} +{thread['registers'][name]} ")
        libraries = [image["path"] for image in report["images"]
                     if "/libc.so" in image["path"] or "/ld-" in image["path"]]
        for path in libraries:
            self.assertRegex(said, rf"Yes +(\(\*\) +)?{re.escape(path)}")
        self.assertEqual(len(libraries), 2)
        self.assertIn("$1 = 11", said)

    def test_a_core_goes_to_standard_output_where_that_is_asked_for(self):
        _, core = self.lasting()
        with open(core, "rb") as file:
            whole = file.read()
        piped = subprocess.run([harness.CRASHHOOK, "debug", "--spool", self.scene.spool, "--core",
                                "-"], stdout=subprocess.PIPE, cwd=self.scene.folder, check=True)
        self.assertEqual(piped.stdout, whole)
        self.assertEqual(self.debug("--vscode", "--core", "-").returncode, 2)

    def core_of_example(self, name):
        """The report of an example, and what gdb says of its core, without the summary."""
        self.scene.run([os.path.join(harness.BUILD, "examples", name)], CRASHHOOK_STACKS="yes")
        core = os.path.join(self.scene.folder, name + ".core")
        self.assertEqual(self.debug("--core", core).returncode, 0)
        report = self.scene.reports()[-1]
        return report, self.spoken("gdb", "-q", "-nx", "-batch", "-ex", "bt 4", "-ex",
                                   "info registers cs ss", "-ex",
                                   "p $_siginfo._sifields._kill", report["process"]["executable"],
                                   core)

    def test_a_core_of_an_overflow_has_the_stack_above_the_guard(self):
        report, said = self.core_of_example("overflow")
        self.assertEqual(report["crash"]["kind"], "stack-overflow")
        addresses = harness.addresses_of(harness.crashed_thread(report))
        self.assertIn("\n#3 ", said)
        self.assertTrue(any(f"0x{int(one, 16):016x} in" in said for one in addresses[1:4]), said)

    def test_a_core_of_a_raised_signal_has_its_sender_and_the_selectors(self):
        report, said = self.core_of_example("worker_raise")
        self.assertIn(f"si_pid = {report['process']['pid']}, si_uid = {os.getuid()}", said)
        self.assertRegex(said, r"(?m)^cs +0x33 ")
        self.assertRegex(said, r"(?m)^ss +0x2b ")

    @unittest.skipUnless(shutil.which("lldb-19"), "lldb-19 is not installed")
    def test_a_core_opens_in_lldb_without_naming_the_program(self):
        report, core = self.lasting()
        said = self.spoken("lldb-19", "-b", "-c", core, "-s", core + ".lldb", "-o", "bt all",
                           "-o", "register read rip rsp", "-o", "image list")
        self.assertIn(report["crash"]["summary"][:40], said)
        self.assertRegex(said, "stop reason = (signal )?SIGSEGV")  # the first until LLDB 19
        self.assertEqual(said.count("`descend("), 4)
        self.assertIn("`idle(", said)
        for name in ("rip", "rsp"):
            self.assertRegex(said, rf"{name} = 0x0*"
                             rf"{harness.crashed_thread(report)['registers'][name][2:]}\b")
        for image in report["images"]:
            if image["path"].startswith("/") and "crashhook" not in image["path"]:
                self.assertIn(image["path"], said)

    def adapters(self):
        """Debug adapters that are installed, each with what an editor would send it."""
        with open(os.path.join(self.scene.folder, ".vscode", "launch.json"),
                  encoding="utf-8") as file:
            _, lldb = json.load(file)["configurations"]
        for name, lldb_of_it in (("lldb-dap-19", "lldb-19"), ("lldb-vscode-14", "lldb-14")):
            # Debian 12's lldb 14 does not find its own Python.
            if shutil.which(name) and "42" in self.spoken(lldb_of_it, "-b", "-o",
                                                          "script print(40+2)"):
                yield name, {key: lldb[key] for key in ("program", "coreFile", "postRunCommands")}
        version = self.spoken("gdb", "--version") if shutil.which("gdb") else ""
        # gdb opens cores by this protocol from version 17 on.
        if (found := re.search(r"gdb .* (\d+)\.", version)) and int(found[1]) >= 17:
            yield "gdb", {key: lldb[key] for key in ("program", "coreFile")}

    def test_editors_open_a_core_by_the_debug_adapter_protocol(self):
        report, core = self.lasting()
        self.assertEqual(self.debug("--vscode", "--core", core).returncode, 0)
        tried = 0
        for name, attach in self.adapters():
            with self.subTest(name), dap_client.Adapter(name, *["-i=dap"] * (name == "gdb")) as it:
                said = it.open_core(**attach)
                if "postRunCommands" in attach:
                    self.assertIn(report["crash"]["summary"][:40], said)
                threads = it.ask("threads")["threads"]
                stacks = [it.ask("stackTrace", threadId=thread["id"], levels=50)["stackFrames"]
                          for thread in threads]
                self.assertEqual(len(threads), len(report["threads"]))
                crashed, = [stack for stack in stacks
                            if stack[0]["name"].startswith("count_all")]
                self.assertEqual((crashed[0]["line"], crashed[0]["source"]["path"]),
                                 (LINE, os.path.join(self.scene.folder, "basket.c")))
                names = [frame["name"].split("(")[0] for frame in crashed]
                self.assertEqual(names[:6], ["count_all"] + ["descend"] * 4 + ["main"])
                tried += 1
        if tried == 0:
            self.skipTest("no debug adapter is installed")

    def test_without_stacks_a_core_is_written_and_a_line_says_what_it_lacks(self):
        self.crash()
        done = self.debug("--core", "basket.core")
        self.assertEqual(done.returncode, 0)
        self.assertIn("the report has no stacks", done.stderr)

    def test_an_editor_gets_a_configuration_and_one_that_exists_is_not_changed(self):
        report = self.crash(CRASHHOOK_STACKS="yes")
        core = os.path.join(self.scene.folder, f"crashhook-{report['id']}.core")
        done = self.debug("--vscode")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path = os.path.join(self.scene.folder, ".vscode", "launch.json")
        with open(path, encoding="utf-8") as file:
            written = file.read()
        first, second = json.loads(written)["configurations"]
        self.assertEqual((first["type"], first["coreDumpPath"], first["program"]),
                         ("cppdbg", core, self.program))
        self.assertEqual((second["type"], second["coreFile"], second["program"]),
                         ("lldb-dap", core, self.program))
        self.assertIn(f'attach: {{"program": "{self.program}", "coreFile": "{core}"}}',
                      done.stdout)
        done = self.debug("--vscode")
        self.assertIn("launch.json' exists", done.stderr)
        self.assertIn('"coreDumpPath"', done.stdout)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), written)

    def test_a_path_that_an_editor_would_run_is_refused(self):
        self.crash(CRASHHOOK_STACKS="yes")
        done = self.debug("--vscode", "--core", "${command:x}.core")
        self.assertEqual(done.returncode, 1)
        self.assertIn("editors replace the $", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.scene.folder, ".vscode")))

    def test_no_variable_of_a_caller_is_shown_from_memory_of_another_place(self):
        self.crash(CRASHHOOK_MEMORY="yes")
        done = self.debug("--", "-batch", "-ex", "x/gx $rsp", "-ex", "up", "-ex",
                          "p local", "-ex", "p $rsp")
        self.assertRegex(done.stdout, r"(?m)^0x\w+:\t0x\w+$")
        self.assertNotRegex(done.stdout, r"(?m)^\$1 = \d+$")
        self.assertNotIn("the report has no memory", done.stdout)

    def test_a_program_that_was_built_anew_is_not_taken_for_the_one_that_crashed(self):
        self.crash()
        build(self.scene.folder, "-DANEW", "-O2", "-Wl,--build-id=sha1")
        with open(self.program, "ab"):
            pass
        build_id = json.dumps(self.scene.reports()[-1]["images"][0]["build_id"])
        done = self.debug("--", "-batch", "-ex", "bt")
        self.assertIn("no file of", done.stdout)
        self.assertIn(build_id.strip('"'), done.stdout)
        self.assertNotIn("basket.c", done.stdout.split("#0")[1].splitlines()[0])

    def test_an_address_of_a_collector_is_enough_on_a_machine_that_has_nothing(self):
        report = self.crash()
        with running.Collector(harness.COLLECTOR) as own:
            self.assertEqual(own.post(json.dumps(report).encode())[0], 201)
            sent = self.scene.command("symbols", "upload", "--sources", self.program,
                                      CRASHHOOK_URL=own.url)
            self.assertEqual(sent.returncode, 0, sent.stderr)
            shutil.move(self.program, self.program + ".away")
            os.remove(os.path.join(self.scene.folder, "basket.c"))
            done = self.debug(f"{own.url}/reports/{report['id']}", "--", "-batch", "-ex",
                              f"list {LINE},{LINE}", "-ex", "bt")
        self.assertIn("basket->count + more; /* crashes here */", done.stdout, done.stderr)
        self.assertIn(f"basket.c:{LINE}", done.stdout)
        self.assertEqual([name for _, name in frames(done.stdout)].count("descend"), 4)

    def test_names_in_a_report_reach_the_debugger_as_names(self):
        report = self.crash()
        mark = os.path.join(self.scene.folder, "mark")
        evil = f'/x"\n shell touch {mark}\n python open("{mark}", "w")\n!touch {mark}'
        report["images"][0]["path"] = evil
        report["crash"]["summary"] = evil + "\x1b[31m"
        path = os.path.join(self.scene.folder, "evil.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        done = self.debug(path, "--", "-batch", "-ex", "bt")
        self.assertIn("no file of", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        self.assertFalse(os.path.exists(mark))

    def test_what_cannot_be_debugged_is_said_in_one_line(self):
        report = self.crash()
        for thread in report["threads"]:
            thread.pop("registers", None)
        path = os.path.join(self.scene.folder, "without.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        for arguments, words in (((path,), "no registers"),
                                 (("no-such-report",), "no-such-report")):
            done = self.debug(*arguments, "--", "-batch")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)
        done = self.debug("--", "-batch", PATH="/nonexistent")
        self.assertIn("cannot start gdb", done.stderr)


if __name__ == "__main__":
    harness.main()
