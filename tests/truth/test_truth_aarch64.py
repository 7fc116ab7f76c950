# SPDX-License-Identifier: Apache-2.0
#
# The cases of tests/truth and tests/sentences in C and C++ have the same reports on AArch64. The
# programs are cross-built and crash under qemu-user, whose cores have neither the signal's
# information nor vector registers: a library that is preloaded saves both, and they are added
# as kernels write them.
#
# A reduced number of cases is chosen at random; CRASHHOOK_FULL=1 runs them all. CRASHHOOK_SEED
# repeats a choice, and words as arguments choose runs.

import collections
import fnmatch
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "sentences"), os.path.join(HERE, "..", "integration")]

import families
import harness
import place
import sentence_cases
import test_core_aarch64
import test_sentences
from core_surgery import NT_PRFPREG, NT_SIGINFO, Core
from test_core_aarch64 import CXX, QEMU, SYSROOT

REDUCED_RUNS = 20
LEVELS = ("O0", "O2")
# Where a function of the C library keeps its pointers depends on its version.
UNHELPFUL_MAX_PERCENT = 5 if harness.FULL else 25

# Runs whose report differs from that on x86-64, and why.
DIFFERENCES = {
    "*built_in_trap*": "gcc's trap is a breakpoint there",
    "undefined.c gcc_says_nothing *": "gcc's trap is a breakpoint there",
    "endings.c frees_stack *": "what free makes of memory on the stack depends on what is there",
    "endings.c traps *": "gcc's trap is a breakpoint there",
    "tables.cc text_slot *": "the processor drops the highest byte of the pc",
    "tables.cc text_hook *": "the processor drops the highest byte of the pc",
    "endings.c calls_text *": "the processor drops the highest byte of the pc",
    "endings.c calls_by_sealed_table *": "what saves the signal needs that table itself",
    "handlers.c *": "its own handlers replace what saves the signal, and qemu's cores have no calls "
                    "that threads wait in",
    "memory.c text_call *": "the processor drops the highest byte of the pc",
    "memory.c far_alloca *": "qemu's stack does not grow",
    "pointers.c huge_page *": "qemu has no huge pages",
    "pointers.c larg*_array *": "what saves the signal has no stack in another thread",
    "objects_of_callers.cc member_passed *": "strlen reads from the last multiple of 16 before the text",
    "objects_of_callers.cc called_on_null gcc O2 *": "the variable's register was overwritten",
    "pointers.c *null_directory *": "the C library locks by a function that has no symbol",
    "pointers.c name_of_null *": "strlen reads from the last multiple of 16 before the name",
    "pointers.c named_member *": "strlen reads from the last multiple of 16 before the name",
    "pointers.c unmapped_code *": "qemu runs code that it translated before it was unmapped",
}

MARK = b"the saved signal is:"
SAVER = r"""
#include <signal.h>
#include <string.h>
#include <ucontext.h>
struct { char mark[24]; siginfo_t info; unsigned char vectors[528]; unsigned long pc; int used; } saved = { "MARK" };
static void save(int number, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    saved.info = *info;
    saved.pc = c->uc_mcontext.pc;
    memcpy(saved.vectors, c->uc_mcontext.__reserved + 16, 512);
    saved.used = 1;
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number);
}
__attribute__((constructor)) static void begin(void)
{
    static char space[1 << 16];
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    stack_t stack = { .ss_sp = space, .ss_size = sizeof(space) };
    struct sigaction action = { .sa_sigaction = save, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaltstack(&stack, 0);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, 0);
}
""".replace("MARK", MARK.decode())


def every_run(words):
    with tempfile.TemporaryDirectory(prefix="crashhook-truth.") as folder:
        families.write_sources(folder)
        cases = [case for of in (HERE, folder, sentence_cases.FOLDER)
                 for case in sentence_cases.all_cases(of, (".c", ".cc"))]
        sources = {case.source: open(case.source, encoding="utf-8").read() for case in cases}
    runs = [test_sentences.Run(case, f"gcc {level}", level, "core") for case in cases
            for level in LEVELS if case.is_for(f"gcc {level}", "core")]
    return [run for run in runs if all(word in str(run) for word in words)], sources


class Scene(test_core_aarch64.ForeignScene):
    """A scene that compiles cases, and completes qemu's cores of them."""

    def __init__(self, sources):
        super().__init__()
        self.sources, self.built = sources, {}
        self.saver = os.path.join(self.folder, "saver.so")
        subprocess.run([test_core_aarch64.COMPILER, "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o",
                        self.saver], input=SAVER, text=True, check=True)

    def program(self, run):
        """The path of a case's program; None: it is not for this machine."""
        key = (run.case.source, run.build)
        if key not in self.built:
            source = os.path.join(self.folder, os.path.basename(run.case.source))
            with open(source, "w", encoding="utf-8") as file:
                file.write(self.sources[run.case.source])
            compiler = CXX if source.endswith(".cc") else test_core_aarch64.COMPILER
            command, program = sentence_cases.compile_case(
                source, run.build, [compiler, f"-{run.command}", "-g", "-pthread", "-w"], self.folder)
            done = subprocess.run(command, capture_output=True, check=False)
            self.built[key] = program if done.returncode == 0 else None
        return self.built[key]

    def crash_case(self, program, case):
        """What ended the program, and its core."""
        most = place.core_limit()
        variables = {"LD_PRELOAD": self.saver, **test_sentences.variables_of(case)}
        given = [word for key, value in variables.items() for word in ("-E", f"{key}={value}")]
        done = subprocess.run(
            [QEMU, "-L", SYSROOT, *given, program, case.name], cwd=self.folder, capture_output=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)),
            stdin=subprocess.DEVNULL, timeout=120, check=False)
        left = [os.path.join(self.folder, name) for name in os.listdir(self.folder)
                if name.startswith(("qemu_", "core"))]
        cores = [path for path in left if os.path.basename(path).startswith("qemu_")]
        for path in left:
            if path not in cores or done.returncode >= 0:
                os.remove(path)
        if done.returncode >= 0:
            raise test_sentences.Impossible(f"it ended with {done.returncode}")
        if not cores:
            raise test_sentences.Impossible("qemu left no core")
        return types.SimpleNamespace(signal=-done.returncode), cores[0]

    def complete(self, path, *options):
        """Adds what kernels write to a core. Of an address that no memory can have qemu says that
        it is 0: then it is what the instruction computed, without the byte that is ignored.
        False: the instruction cannot be decoded, so that is not known."""
        core = Core(path)
        at = bytes(core.bytes).find(MARK) + 24
        info = bytearray(core.bytes[at:at + 128])
        pc, used = struct.unpack_from("<Qi", core.bytes, at + 128 + 528)
        if at < 24 or not used:
            return True
        if pc != 0 and struct.unpack_from("<Q", info, 16)[0] == 0:
            address = self.report(path, *options)["crash"].get("access", {}).get("address")
            if address is None:
                return False
            struct.pack_into("<Q", info, 16, int(address, 16) & (1 << 56) - 1)
        core.add_note(NT_SIGINFO, bytes(info), b"CORE")
        core.add_note(NT_PRFPREG, bytes(core.bytes[at + 128:at + 128 + 528]), b"CORE").write(path)
        return True

    def judge(self, run):
        """right, unhelpful, wrong or skipped, and what is to be said of it."""
        program = self.program(run)
        if program is None:
            return "skipped", "it has code of x86-64"
        try:
            ended, core = self.crash_case(program, run.case)
        except test_sentences.Impossible as why:
            return "skipped", str(why)
        options = ("--exe", program, "--sysroot", SYSROOT)
        if not self.complete(core, *options):
            os.remove(core)
            return "skipped", "qemu says 0 of its address, and its instruction is not decoded"
        report = self.report(core, *options)
        if "crash" not in report:
            return "wrong", "the report has no crash"
        text = test_sentences.shown(run.case, self, "core", core, *options)
        os.remove(core)
        wrong, helps = test_sentences.check(run, ended, report, text, True)
        if wrong:
            return "wrong", "; ".join(wrong)
        return ("right", "") if helps else ("unhelpful", report["crash"]["summary"])


def main():
    seed = int(os.environ.get("CRASHHOOK_SEED", "1"))
    runs, sources = every_run(sys.argv[1:])
    chosen = runs
    if not harness.FULL and not sys.argv[1:]:
        chosen = random.Random(seed).sample(runs, min(REDUCED_RUNS, len(runs)))
    scene = Scene(sources)
    counts = collections.Counter()
    try:
        for run in chosen:
            result, told = scene.judge(run)
            if any(fnmatch.fnmatchcase(str(run), pattern) for pattern in DIFFERENCES):
                result = "listed"
            counts[result] += 1
            if told:
                print(f"{result.upper()} {run}: {told}", flush=True)
    finally:
        shutil.rmtree(scene.folder, ignore_errors=True)
    done = sum(counts.values()) - counts["skipped"] - counts["listed"]
    share = 100 * counts["unhelpful"] / max(done, 1)
    print(f"{done} of {len(runs)} runs, seed {seed}: {counts['right']} right, "
          f"{counts['unhelpful']} unhelpful ({share:.1f} %), {counts['wrong']} wrong, "
          f"{counts['listed']} listed differences, {counts['skipped']} skipped")
    enough = done > len(chosen) // 2
    return 1 if counts["wrong"] or not enough or share > UNHELPFUL_MAX_PERCENT else 0


if __name__ == "__main__":
    if QEMU is None or shutil.which(test_core_aarch64.COMPILER) is None:
        print("test_truth_aarch64: no qemu-user or no cross compiler here")
        sys.exit(77)
    try:
        sys.exit(main())
    except unittest.SkipTest as why:
        print(f"test_truth_aarch64: {why}")
        sys.exit(77)
