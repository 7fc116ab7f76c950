# SPDX-License-Identifier: Apache-2.0
#
# A healthy program never depends on the disk of its spool: whatever space is left there,
# whether the disk answers or not, and however small the files may be, it starts, says what
# it says, and ends as without us, in every way in which it can be watched. It has no file
# mapped that could fail. All of it is in a mount namespace; the file systems are in files.

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import harness
import private_folders
from both_ways import known_differences
from fuse_folder import silent_folder
from harness import FULL, SEED, Scene, program, wait_for
from test_daemon import daemons
from test_harmless import outcome as harmless_outcome
from test_harmless import programs_here
from test_kills import lives

LIVES = program("lives")
HEALTHY = (3, b"ready\n", b"")
KIB = 1 << 10
# What else a start and an end may take where a machine is busy. A disk that hangs would
# take for ever.
BOUND = 15.0
TABLE_STEPS = range(0, 257, 4)  # KiB that are left
# Of each way and file system, at least. xfs and btrfs cannot be small, and take longer.
TABLE_CASES = dict.fromkeys(("ext4", "tmpfs"), 12) | dict.fromkeys(("xfs", "btrfs"), 6)
if FULL:
    TABLE_CASES = dict.fromkeys(TABLE_CASES, 3 * len(TABLE_STEPS))

PROGRAMS = 120 if FULL else 12
BEFORE_PROGRAMS = ([harness.CRASHHOOK, "run", "--"],
                   ["/usr/bin/env", f"LD_PRELOAD={harness.HANDLER}"])

ASKED = {"CRASHHOOK_KILLS": "yes", "CRASHHOOK_STARTS": "yes"}
# The command before the program, and the variables. LIVES links the library.
WAYS = {
    "linked": ([], {"LD_PRELOAD": "", **ASKED}),
    "preloaded": ([], {"LD_PRELOAD": harness.HANDLER, **ASKED}),
    "run": ([harness.CRASHHOOK, "run", "--starts", "yes", "--"], {"LD_PRELOAD": ""}),
    "traced": ([harness.CRASHHOOK, "run", "--via", "trace", "--"], {"LD_PRELOAD": ""}),
    "daemon": ([], {"LD_PRELOAD": "", "CRASHHOOK_MODE": "daemon", **ASKED}),
    "seized": ([], {"LD_PRELOAD": "", "CRASHHOOK_KILLS": "seize"}),
}
FILE_SYSTEMS = {
    "ext4": ["mkfs.ext4", "-q", "-m", "0", "-F"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "tmpfs": None,
}
SIZES = {"ext4": 20 << 20, "xfs": 320 << 20, "btrfs": 128 << 20, "tmpfs": 2 << 20}


def do(*command):
    """What a command complains of; None where it worked."""
    if not shutil.which(command[0]):
        return f"no {command[0]} here"
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.strip() or "failed" if done.returncode else None


@contextlib.contextmanager
def disk(kind, *options):
    """A scene whose spool is on a file system of its own, of this kind."""
    with Scene() as scene:
        place = os.path.join(scene.folder, "disk")
        os.mkdir(place)
        if kind == "tmpfs":
            why = do("mount", "-t", "tmpfs", "-o", f"size={SIZES[kind]}", "none", place)
        else:
            image = os.path.join(scene.folder, "image")
            with open(image, "wb") as file:
                file.truncate(SIZES[kind])
            why = do(*FILE_SYSTEMS[kind], *options, image) or \
                do("mount", "-o", "loop", image, place)
        if why is not None:
            raise unittest.SkipTest(f"{kind}: {why}")
        scene.place = place
        scene.spool = os.path.join(place, "spool")
        os.mkdir(scene.spool, 0o700)
        try:
            yield scene
        finally:
            do("umount", "-l", place)


@contextlib.contextmanager
def frozen(place, seconds=60):
    """The file system at place does not answer, for that long at most."""
    watchdog = subprocess.Popen(["/bin/sh", "-c", f'sleep {seconds}; exec fsfreeze -u "$1"', "sh",
                                 place], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)
    try:
        assert do("fsfreeze", "-f", place) is None
        yield
    finally:
        do("fsfreeze", "-u", place)
        os.killpg(watchdog.pid, signal.SIGKILL)
        watchdog.wait()


def fill(place, left):
    """Fills the file system up to so many bytes."""
    path = os.path.join(place, "fill")
    piece = 64 << 20
    size = 0
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "wb") as file:
        while piece >= KIB:
            try:
                os.posix_fallocate(file.fileno(), size, piece)
                size += piece
            except OSError:
                piece //= 2
    os.truncate(path, max(0, size - left))
    fd = os.open(place, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def outcome(scene, way, how, limit=None):
    """What the program's caller sees, and how long it took."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    before, variables = WAYS[way]
    began = time.monotonic()
    done = subprocess.run([*before, LIVES, how], cwd="/", stdin=subprocess.DEVNULL,
                          env=scene.environment(variables | {"CRASHHOOK_TIMEOUT": "1s"}),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=50,
                          preexec_fn=bound, check=False)
    return (done.returncode, done.stdout, done.stderr), time.monotonic() - began


class Disks(unittest.TestCase):
    def setUp(self):
        self.problems = []

    def check(self, scene, way, how="works", limit=None, case=""):
        ended, seconds = outcome(scene, way, how, limit)
        if ended != HEALTHY or seconds > BOUND:
            self.problems.append(f"{way} {how} {case}: {ended}, {seconds:.1f} s")

    def no_problems(self):
        self.assertEqual(self.problems, [])

    def nothing_is_left(self, scene):
        """Once no supervisor is left, neither is a copy of a record."""
        wait_for(lambda: not daemons(scene) and not lives(scene))

    def table(self, kind):
        chance = random.Random(SEED)
        count = 0
        with disk(kind) as scene:
            for way in WAYS:
                steps = list(TABLE_STEPS)
                if not FULL:
                    fixed = [0, 4, 8, 60, 64, 68][:TABLE_CASES[kind] // 2]
                    steps = fixed + chance.sample(steps, TABLE_CASES[kind] - len(fixed))
                for left in steps * (3 if FULL else 1):
                    fill(scene.place, left * KIB)
                    self.check(scene, way, chance.choice(["exits", "works"]),
                               case=f"{kind}, {left} KiB left")
                    count += 1
            os.unlink(os.path.join(scene.place, "fill"))
            self.nothing_is_left(scene)
        print(f"seed {SEED}: {kind}, {count} starts", file=sys.stderr)
        self.assertGreaterEqual(count, TABLE_CASES[kind] * len(WAYS))

    def test_a_disk_with_any_space_left_changes_nothing(self):
        for kind in FILE_SYSTEMS:
            with self.subTest(kind):
                self.table(kind)
        self.no_problems()

    def test_a_quota_changes_nothing_and_the_doctor_says_so(self):
        chance = random.Random(SEED)
        steps = TABLE_STEPS if FULL else [64, 4] + chance.sample(TABLE_STEPS, 3) + [0]
        count = 0
        with disk("btrfs") as scene:
            # It counts for root as well.
            why = do("btrfs", "quota", "enable", scene.place)
            if why is not None:
                self.skipTest(f"btrfs quota: {why}")

            def fill_quota(left):
                # A removal may exceed a quota, too.
                self.assertIsNone(do("btrfs", "qgroup", "limit", "none", scene.place))
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(scene.place, "fill"))
                self.assertIsNone(do("btrfs", "qgroup", "limit", "8M", scene.place))
                fill(scene.place, left * KIB)

            for left in steps:
                fill_quota(left)
                for way in WAYS:
                    self.check(scene, way, chance.choice(["exits", "works"]),
                               case=f"{left} KiB of a quota left")
                    count += 1
            fill_quota(200)
            verdict, line = self.doctor(scene)
            self.assertEqual(verdict, "trouble")
            self.assertIn("a quota refuses the 256 KiB of a report", line)
            self.assertIsNone(do("btrfs", "qgroup", "limit", "none", scene.place))
            os.unlink(os.path.join(scene.place, "fill"))
            self.nothing_is_left(scene)
        print(f"seed {SEED}: quota, {count} starts", file=sys.stderr)
        self.assertGreaterEqual(count, len(steps) * len(WAYS))
        self.no_problems()

    def test_a_disk_without_inodes_or_read_only_changes_nothing(self):
        with disk("ext4", "-N", "64") as scene:
            with contextlib.suppress(OSError):
                for i in range(1000):
                    os.close(os.open(os.path.join(scene.place, str(i)), os.O_CREAT, 0o600))
            for way in WAYS:
                self.check(scene, way, case="no inodes")
        with disk("ext4") as scene:
            # While one runs, and for those that start after it.
            process = scene.start([*WAYS["run"][0], LIVES, "works"], LD_PRELOAD="")
            self.assertEqual(process.stdout.readline(), b"ready\n")
            self.assertIsNone(do("mount", "-o", "remount,ro", scene.place))
            _, said = process.communicate(timeout=50)
            self.assertEqual((process.returncode, said), (3, b""))
            for way in ("linked", "preloaded", "daemon", "seized"):
                self.check(scene, way, case="read-only")
        self.no_problems()

    def test_a_frozen_disk_delays_no_start_and_no_end(self):
        with disk("ext4") as scene:
            with frozen(scene.place):
                for way in WAYS:
                    for how in ("exits", "works"):
                        self.check(scene, way, how, case="frozen")
            self.nothing_is_left(scene)
            # It stops to answer while they run.
            started = {}
            for way, (before, variables) in WAYS.items():
                started[way] = scene.start([*before, LIVES, "works"], **variables)
                self.assertEqual(started[way].stdout.readline(), b"ready\n")
            with frozen(scene.place):
                for way, process in started.items():
                    _, said = process.communicate(timeout=50)
                    if (process.returncode, said) != (3, b""):
                        self.problems.append(f"{way}: {process.returncode}, {said}")
            self.nothing_is_left(scene)
        self.no_problems()

    def test_a_death_on_a_frozen_disk_comes_back_in_time_with_one_line(self):
        for how, number in (("crashes", signal.SIGSEGV), ("spins", signal.SIGKILL)):
            with self.subTest(how), disk("ext4") as scene:
                with frozen(scene.place):
                    (status, said, errors), seconds = outcome(scene, "run", how)
                self.assertEqual((status, said), (-number, b"ready\n"))
                self.assertLess(seconds, 2 * BOUND)
                line, = (line for line in errors.decode().splitlines()
                         if "crashhook list" in line)
                self.assertIn(f"died by {number.name}; it is not reported yet, since spool "
                              f"'{scene.spool}' does not answer", line)
                wait_for(lambda: json.loads(scene.command("list", "--json").stdout or "[]"))
                self.nothing_is_left(scene)

    def test_programs_of_debian_say_the_same_on_a_full_and_on_a_frozen_disk(self):
        known = {name for way, name in known_differences() if way == "preload"}
        chosen = [each for each in programs_here() if os.path.basename(each[0]) not in known]
        chosen = random.Random(SEED).sample(chosen, PROGRAMS)
        print(f"seed {SEED}: {len(chosen)} programs", file=sys.stderr)
        with disk("ext4") as scene:
            fill(scene.place, 8 * KIB)
            self.compare(scene, chosen, "8 KiB left")
            with frozen(scene.place, 600):
                self.compare(scene, chosen[:PROGRAMS // 4], "frozen")
        self.no_problems()

    def compare(self, scene, chosen, case):
        for path, option in chosen:
            alone = harmless_outcome(scene, [path, option])
            for before in BEFORE_PROGRAMS:
                ours = harmless_outcome(scene, [*before, path, option])
                if ours != alone:
                    self.problems.append(f"{before} {path} {option}, {case}: {alone} and {ours}")

    def doctor(self, scene):
        """What it says of the spool."""
        done = scene.command("doctor", "--json")
        finding, = (found for found in json.loads(done.stdout)["checks"]
                    if found["name"] == "spool")
        return finding["verdict"], finding["text"]

    def test_the_doctor_says_what_is_wrong_with_the_disk(self):
        with disk("ext4") as scene:
            fill(scene.place, 64 * KIB)
            verdict, line = self.doctor(scene)
            self.assertEqual(verdict, "trouble")
            self.assertIn("a report may not fit", line)
            os.unlink(os.path.join(scene.place, "fill"))
            with frozen(scene.place):
                verdict, line = self.doctor(scene)
            self.assertEqual(verdict, "trouble")
            self.assertIn(f"{scene.spool} does not answer: its disk hangs", line)

    def test_a_server_that_is_stopped_delays_no_start_and_no_end(self):
        with Scene() as scene:
            place = os.path.join(scene.folder, "fuse")
            scene.spool = os.path.join(place, "spool")
            with silent_folder(place):
                for way in WAYS:
                    self.check(scene, way, case="silent")
        self.no_problems()

    def test_no_limit_on_the_size_of_files_ends_it(self):
        count = 0
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            for limit in range(0, 129, 4 if FULL else 32):
                for way in WAYS:
                    self.check(scene, way, "exits", limit * KIB, f"RLIMIT_FSIZE {limit} KiB")
                    count += 1
            self.no_problems()
            # One that sets the limit itself, as sandboxes do, and makes no system call
            # that would exceed it.
            lowers = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
            for way in ("preloaded", "run"):
                before, variables = WAYS[way]
                ended = scene.run([*before, "/usr/bin/python3", "-c", lowers], **variables)
                self.assertEqual((ended.status, ended.stdout, ended.stderr), (0, "", ""))
        print(f"{count} starts", file=sys.stderr)
        self.assertGreaterEqual(count, 30)

    def test_a_file_that_is_cut_changes_nothing(self):
        for way in ("linked", "preloaded", "run", "daemon", "seized"):
            with self.subTest(way), Scene() as scene:
                before, variables = WAYS[way]
                process = scene.start([*before, LIVES, "works"], **variables)
                while process.poll() is None:
                    for name in lives(scene):
                        with contextlib.suppress(OSError):
                            os.truncate(os.path.join(scene.spool, name), 0)
                    time.sleep(0.002)
                said, errors = process.communicate()
                self.assertEqual((process.returncode, said, errors), HEALTHY)

    def test_what_it_has_mapped_is_no_file_and_cannot_be_cut(self):
        for way in ("linked", "preloaded", "run", "daemon"):
            with self.subTest(way), Scene() as scene:
                before, variables = WAYS[way]
                process = scene.start([*before, LIVES, "waits"], **variables)
                self.assertEqual(process.stdout.readline(), b"ready\n")
                pid = process.pid
                if way == "run":
                    pid = next(int(child) for child in subprocess.check_output(
                        ["pgrep", "-P", str(pid)], text=True).split()
                        if os.readlink(f"/proc/{child}/exe") == LIVES)
                with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
                    shared = [line.split(maxsplit=5) for line in maps if " rw-s " in line]
                self.assertEqual([line[5] for line in shared],
                                 ["/memfd:crashhook-life (deleted)\n"])
                with self.assertRaises(PermissionError):
                    os.truncate(f"/proc/{pid}/map_files/{shared[0][0]}", 0)
                # No descriptor of it either, only of the agent that waits.
                kept = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
                self.assertFalse([name for name in kept if "crashhook" in name])
                os.kill(pid, signal.SIGKILL)
                process.communicate()
                wait_for(scene.report_paths)
                report, = scene.reports()
                self.assertEqual(report["breadcrumbs"][-1]["message"], "step 199")


if __name__ == "__main__":
    if not shutil.which("fsfreeze"):
        print("test_spool_disks.py: skipped: no fsfreeze here")
        sys.exit(77)
    private_folders.enter([harness.SOURCE, harness.BUILD])
    harness.main()
