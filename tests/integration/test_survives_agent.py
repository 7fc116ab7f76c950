# SPDX-License-Identifier: Apache-2.0
#
# The agent is missing, killed or stopped, before it attaches, after, and while it
# writes: the program still dies by its signal; at once when there is no agent to wait
# for, on its deadline when there is one that does nothing.
#
# The real agent runs under strace, which delivers the signal on entry to a chosen system
# call; strace itself is a grandchild (-D), so the agent has the pid the handler knows.

import functools
import os
import shlex
import signal
import unittest

import harness
import place
from harness import Scene, example, wait_for

TARGET = os.path.join(harness.BUILD, "bench", "crash_target")
# Twenty threads that wait, so that there is much to attach to.
COMMAND = [TARGET, "20", "10", "0"]
DEADLINE = 2.5  # seconds, in CRASHHOOK_TIMEOUT, at least
SLACK = 20  # seconds that an agent may take longer than another did
LATE = 20 * place.SLOWER  # seconds after it at most, for a busy machine
# A process that waits for nobody is gone within 50 ms, one that waits in so many seconds.
WAITED = 60 * place.SLOWER
AT_ONCE = 30 * place.SLOWER

BEFORE_ATTACH = "process_vm_readv:when=1"  # it reads the request page first of all
WHILE_ATTACHING = "ptrace:when=5"
AFTER_ATTACH = "process_vm_readv:when=3"
WHILE_WRITING = "write:when=1"
BEFORE_PUBLISHING = "renameat,renameat2,?rename,linkat:when=1"  # AArch64 has no rename
STAGES = (BEFORE_ATTACH, WHILE_ATTACHING, AFTER_ATTACH, WHILE_WRITING, BEFORE_PUBLISHING)


class NotInjected(AssertionError):
    """The agent did not come to the system call."""


def straced(scene, options):
    """An agent under strace."""
    return harness.agent_script(
        scene, f"exec strace -D -f -o {scene.folder}/strace.log {options} "
               f"{shlex.quote(harness.AGENT)} \"$@\"")


@functools.lru_cache
def deadline():
    """A time in which an agent under strace comes to each of its stages, however slow the
    machine is."""
    with Scene() as scene:
        ended = scene.run(COMMAND, CRASHHOOK_AGENT=straced(scene, "-e trace=ptrace"),
                          CRASHHOOK_TIMEOUT=f"{WAITED}s")
    # In an emulated machine, each of the six that wait for it would wait for minutes.
    return max(DEADLINE, min(4 * ended.seconds, ended.seconds + SLACK))


class SurvivesTheAgent(unittest.TestCase):
    def injected(self, scene, place, name):
        """An agent that gets the signal on entry to a system call."""
        call, when = place.split(":")
        return straced(scene, f"-e trace={call} -e inject={call}:signal={name}:{when}")

    def wait_injected(self, scene, name):
        """Until strace says so, which may end after the program whose agent it killed."""
        path = os.path.join(scene.folder, "strace.log")

        def said():
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read().replace("---", "").replace("+++ killed by", "")

        try:
            wait_for(lambda: f"{name} " in said())
        except AssertionError as error:
            raise NotInjected(name) from error

    def dies(self, agent, patience, at_least, at_most, injected=None):
        """The program dies of its signal in the time, and leaves its core file."""
        with Scene() as scene:
            path = agent(scene) if callable(agent) else agent
            ended = scene.run(COMMAND, core=True, CRASHHOOK_AGENT=path,
                              CRASHHOOK_TIMEOUT=f"{int(patience * 1000)}ms")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertGreaterEqual(ended.seconds, at_least)
            self.assertLess(ended.seconds, at_most)
            if harness.cores_land_in_folder():
                self.assertIsNotNone(scene.core(ended.pid))
            if injected:
                self.wait_injected(scene, injected)

    def dies_at_once(self, agent, injected=None):
        self.dies(agent, WAITED, 0, AT_ONCE, injected)

    def dies_on_its_deadline(self, agent, injected=None):
        """Where the agent did not come to its stage, the machine has become slower."""
        for patience in (deadline(), 4 * deadline()):
            try:
                self.dies(agent, patience, patience * 0.9, patience + LATE, injected)
                return
            except NotInjected as error:
                late = error
        raise late

    def test_a_missing_agent_is_not_waited_for(self):
        self.dies_at_once("/nonexistent/crashhook-agent")

    def test_an_agent_that_cannot_be_executed_is_not_waited_for(self):
        self.dies_at_once("/etc/passwd")

    def test_an_agent_that_exits_is_not_waited_for(self):
        self.dies_at_once(lambda scene: harness.agent_script(scene, "exit 1"))

    def test_an_agent_that_exits_before_a_child_of_its_own_is_not_waited_for(self):
        # The child has the channel, and keeps it for longer than the test allows.
        self.dies_at_once(
            lambda scene: harness.agent_script(scene, f"sleep {AT_ONCE + 15} & exit 1"))

    def test_an_agent_killed_at_its_start_is_not_waited_for(self):
        self.dies_at_once(lambda scene: harness.agent_script(scene, "kill -KILL $$"))

    def test_an_agent_stopped_at_its_start_is_ended_on_the_deadline(self):
        self.dies_on_its_deadline(lambda scene: harness.agent_script(scene, "kill -STOP $$"))

    def test_an_agent_killed_at_each_stage_is_not_waited_for(self):
        for place in STAGES:
            with self.subTest(place):
                self.dies_at_once(lambda scene, p=place: self.injected(scene, p, "SIGKILL"),
                                  "SIGKILL")

    def test_an_agent_stopped_at_each_stage_is_ended_on_the_deadline(self):
        for place in STAGES:
            with self.subTest(place):
                self.dies_on_its_deadline(
                    lambda scene, p=place: self.injected(scene, p, "SIGSTOP"), "SIGSTOP")

    def test_what_a_killed_agent_leaves_is_never_half_a_report(self):
        for place in (WHILE_WRITING, BEFORE_PUBLISHING):
            with self.subTest(place), Scene() as scene:
                scene.run([example("null_write")],
                          CRASHHOOK_AGENT=self.injected(scene, place, "SIGKILL"))
                for report in scene.reports():
                    self.assertIn("threads", report)


if __name__ == "__main__":
    harness.main()
