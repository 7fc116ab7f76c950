# SPDX-License-Identifier: Apache-2.0
#
# The spool is on a disk that does not answer: an ext4 that is frozen, where whoever
# writes sleeps until it is thawed and no signal reaches it, and a FUSE whose server says
# nothing. The program dies by its signal in time, with an agent and without one; what was
# to be written to the frozen disk is there when it is thawed.

import os
import shutil
import signal
import subprocess
import unittest

import harness
from fuse_folder import silent_folder
from harness import Scene, example, wait_for

TIMEOUT = 1.0
BOUND = TIMEOUT + 15.0  # it takes half a second; the rest is for a busy machine
MISSING = "/nonexistent/crashhook-agent"
AGENTS = (harness.AGENT, MISSING)
SIZE = 16 << 20


def run(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False)


@unittest.skipUnless(os.geteuid() == 0, "needs root, to mount")
class HungDisk(unittest.TestCase):
    def dies_in_time(self, scene, agent):
        ended = scene.run([example("null_write")], CRASHHOOK_AGENT=agent,
                          CRASHHOOK_TIMEOUT=f"{TIMEOUT:.0f}s")
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertLess(ended.seconds, BOUND)
        # Whatever is there once the disk answers, by now there is nothing.
        line, = (said for said in ended.complaints() if "not reported" in said)
        self.assertTrue(line.startswith("crashhook: null_write: SIGSEGV is not reported: "),
                        line)
        self.assertIn("crashhook doctor", line)

    def mount_ext4(self, scene):
        missing = [tool for tool in ("mkfs.ext4", "fsfreeze") if not shutil.which(tool)]
        if missing:
            self.skipTest(f"no {missing[0]} here")
        image = os.path.join(scene.folder, "image")
        place = os.path.join(scene.folder, "disk")
        os.mkdir(place)
        with open(image, "wb") as file:
            file.truncate(SIZE)
        for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
            done = run(*command)
            if done.returncode != 0:
                self.skipTest(f"{command[0]}: {done.stderr.strip()}")
        return place

    def await_records(self, scene, count):
        # Nothing tells of a rename by a process that is nobody's.
        wait_for(lambda: len([n for n in os.listdir(scene.spool)
                              if n.endswith(".record")]) == count)

    def test_a_frozen_disk_keeps_the_program_no_longer_than_a_crash_may_take(self):
        with Scene() as scene:
            place = self.mount_ext4(scene)
            scene.spool = os.path.join(place, "spool")
            os.mkdir(scene.spool, 0o700)
            self.assertEqual(run("fsfreeze", "-f", place).returncode, 0)
            try:
                for agent in AGENTS:
                    with self.subTest(agent):
                        self.dies_in_time(scene, agent)
            finally:
                run("fsfreeze", "-u", place)
            self.await_records(scene, len(AGENTS))
            run("umount", "-l", place)

    def test_a_file_system_that_never_answers_keeps_nobody(self):
        with Scene() as scene:
            place = os.path.join(scene.folder, "fuse")
            scene.spool = os.path.join(place, "spool")
            with silent_folder(place):
                for agent in AGENTS:
                    with self.subTest(agent):
                        self.dies_in_time(scene, agent)


if __name__ == "__main__":
    harness.main()
