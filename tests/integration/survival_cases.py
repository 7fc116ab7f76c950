# SPDX-License-Identifier: Apache-2.0
#
# The survival suite's cases as data: a program, what its report must say and how it must
# end. test_survival.py asserts them, write_survival writes docs/reference/survival.md of
# them, and faults.txt says which row of the fault list each shows.

import dataclasses
import os
import signal

import harness
from harness import crashed_thread, names_of

SEGV, ABRT, BUS, FPE, ILL = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE,
                             signal.SIGILL)


MACHINE = os.uname().machine


def victim(way):
    return [os.path.join(harness.BUILD, "tests", "handler", "victim"), way]


def worst(way, *more):
    return [harness.program("worst"), way, *more]


def faults(way):
    return [harness.program("faults"), way]


@dataclasses.dataclass
class Case:
    name: str
    command: list
    signal: int
    kind: str = ""  # a word of crash.kind; "" where the case is about something else
    reports: int = 1
    seen: str = ""  # a function of the crashed thread
    threads: int = 1  # at least so many are in the report
    tier: str = "ptrace"
    check: object = None  # more to ask of the report
    variables: dict = dataclasses.field(default_factory=dict)
    preload: bool = True
    stdout: str = None
    seconds: float = 20
    core: bool = True  # it leaves a core file, where it dies of a signal
    root: bool = False  # it becomes another user
    machine: str = ""  # the processor it is for; "": any


def image_is_mentioned(word):
    return lambda report: any(word in image["path"] for image in report["images"])


def other_thread_is_seen(name):
    return lambda report: any(name in names_of(thread) for thread in report["threads"])


def is_interrupted(report):
    """A frame that a signal interrupted is a program counter, not a return address."""
    kinds = [f["kind"] for f in crashed_thread(report)["backtrace"]["frames"]]
    return kinds.count("pc") == 2


def knows_its_program(report):
    return report["process"]["executable"].endswith("/worst") and len(report["images"]) > 2


def has_many_threads(report):
    return sum(1 for t in report["threads"] if t.get("crashed")) == 1


EVERY_CASE = [
    Case("null-write", victim("null-write"), SEGV, "null-dereference", seen="victim_null_write"),
    Case("wild-write", victim("wild-write"), SEGV, seen="victim_wild_write"),
    Case("before-first-mapping", worst("before-first-mapping"), SEGV,
         seen="before_first_mapping",
         check=lambda r: r["crash"]["address"] == "0x8000"),
    Case("after-last-mapping", worst("after-last-mapping"), SEGV, seen="after_last_mapping",
         check=lambda r: r["crash"]["address"] == "0x7ffffffff000"),
    Case("non-canonical", faults("non_canonical"), SEGV, "non-canonical-address"),
    Case("bus", victim("bus"), BUS, seen="bus"),
    Case("misaligned", worst("misaligned"), BUS, seen="misaligned", machine="x86_64"),
    Case("null-write-checking-alignment", worst("null-write-checking-alignment"), SEGV,
         "null-dereference", seen="null_write_checking_alignment", machine="x86_64"),
    # AArch64 divides by zero and gives zero.
    Case("divide", victim("divide"), FPE, "divide-by-zero", machine="x86_64"),
    Case("illegal", victim("illegal"), ILL, "illegal-instruction"),
    Case("abort", victim("abort"), ABRT, "abort", seen="abort"),
    Case("forbidden-call", victim("forbidden-call"), signal.SIGSYS, "seccomp"),
    Case("breakpoint", victim("breakpoint"), signal.SIGTRAP, "trap"),
    Case("kill-self", victim("kill-self"), SEGV, "sent-by-process"),
    Case("raise-worker", victim("raise-worker"), None, threads=2,
         check=lambda r: r["crash"]["thread"] != r["process"]["pid"]),
    Case("at-start-of-mapping", worst("at-start-of-mapping"), ILL, "illegal-instruction",
         seen="at_start_of_mapping"),
    Case("at-end-of-mapping", worst("at-end-of-mapping"), ILL, "illegal-instruction",
         seen="at_end_of_mapping"),
    Case("overflow", victim("overflow"), SEGV, "stack-overflow"),
    Case("overflow-worker", victim("overflow-worker"), SEGV, "stack-overflow"),
    Case("overflow-tiny", victim("overflow-tiny"), SEGV, "stack-overflow"),
    Case("own-small-stack", victim("own-small-stack"), SEGV),
    Case("without-stack", worst("without-stack"), SEGV, seen="without_stack"),
    Case("in-coroutine", worst("in-coroutine"), SEGV, "null-dereference", seen="crash"),
    Case("looping-frames", worst("looping-frames"), SEGV, seen="looping_frames"),
    Case("smashed-return", faults("smashed_return"), SEGV, machine="x86_64"),
    Case("in-vdso", worst("in-vdso"), SEGV, seen="in_vdso",
         check=image_is_mentioned("vdso")),
    Case("in-signal-handler", worst("in-signal-handler"), SEGV, seen="in_signal_handler",
         check=is_interrupted),
    Case("crowd", victim("crowd"), None, threads=512, check=has_many_threads,
         seconds=60),
    Case("same-instant", victim("same-instant"), None, threads=2),
    Case("threads-come-and-go", victim("threads-come-and-go"), None, seconds=60),
    Case("beside-spinner", worst("beside-spinner"), SEGV, threads=2, seen="beside",
         check=other_thread_is_seen("spin")),
    Case("beside-blocker", worst("beside-blocker"), SEGV, threads=2, seen="beside",
         check=other_thread_is_seen("block_all")),
    Case("in-malloc", victim("in-malloc"), None),
    Case("in-loader-lock", victim("in-loader-lock"), None),
    Case("crash-in-handler", victim("crash-in-handler"), SEGV, reports=None),
    Case("keeps-errno", worst("keeps-errno", harness.HANDLER), SEGV, "null-dereference",
         preload=False, stdout="errno 4242\n"),
    Case("gone-handler", worst("gone-handler", harness.HANDLER), SEGV, "null-dereference",
         preload=False, seen="gone_handler"),
    Case("gone-handler-again", worst("gone-handler-again"), SEGV, "null-dereference",
         seen="gone_handler_again", machine="x86_64"),
    Case("gone-handler-deferred", worst("gone-handler-deferred"), SEGV, "null-dereference",
         seen="gone_handler_deferred", machine="x86_64"),
    Case("closed-handler", worst("closed-handler", harness.program("libclosable.so")), SEGV,
         "null-dereference", seen="closed_handler"),
    Case("in-raw-child", worst("in-raw-child"), SEGV, "null-dereference", reports=2),
    Case("in-child", victim("in-child"), None, reports=None),
    Case("in-many-children", victim("in-many-children"), None, reports=None),
    Case("in-vfork-child", victim("in-vfork-child"), None, reports=None),
    Case("out-of-memory", victim("out-of-memory"), None),
    Case("fill-descriptors", victim("fill-descriptors"), SEGV),
    # It is another user by then, to whom the spool does not belong.
    Case("fill-descriptors-for-good", victim("fill-descriptors-for-good"), SEGV, reports=0,
         core=False, root=True),
    Case("not-dumpable", victim("not-dumpable"), SEGV,
         core=False),
    Case("no-more-processes", victim("no-more-processes"), SEGV, reports=None,
         core=False, root=True),
    Case("without-folder", worst("without-folder"), SEGV, "null-dereference", seen="crash",
         core=False),
    Case("without-main-thread", worst("without-main-thread"), SEGV, "null-dereference",
         seen="crash_without", check=knows_its_program),
    Case("without-main-thread-and-agent", worst("without-main-thread"), SEGV,
         "null-dereference", seen="crash_without", check=knows_its_program, tier="record",
         variables={"CRASHHOOK_AGENT": "/nonexistent/crashhook-agent"}),
    Case("preloads-nothing", worst("plain"), SEGV, "null-dereference",
         variables={"LD_PRELOAD": f"{harness.HANDLER}:/nonexistent/library.so"}),
    Case("agent-missing", worst("plain"), SEGV, "null-dereference", seen="crash",
         tier="record", variables={"CRASHHOOK_AGENT": "/nonexistent/crashhook-agent"}),
    Case("empty-url", worst("plain"), SEGV, "null-dereference",
         variables={"CRASHHOOK_URL": ""}),
    Case("callback-aborts", [harness.program("tells"), "before", "segv", "abort"], SEGV,
         "null-dereference", seen="end_by", preload=False),
    Case("callback-hangs", [harness.program("tells"), "before", "segv", "hang"], SEGV,
         "null-dereference", preload=False, variables={"CRASHHOOK_TIMEOUT": "8s"}),
]
CASES = [case for case in EVERY_CASE if case.machine in ("", MACHINE)]


def run_case(scene, case):
    """Runs a case; how it ended, and its reports."""
    if not case.preload:
        scene.preload = None
    ended = scene.run(case.command, core=True, **case.variables)
    scene.command("list")  # makes reports of records
    return ended, scene.reports()
