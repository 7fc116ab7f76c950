# SPDX-License-Identifier: Apache-2.0
#
# What the agent does while it holds the process, as strace sees it: between its exec and
# the release it opens the target's /proc, the spool, and the file that names the system,
# alone, and neither connects anywhere nor waits for a disk.

import os
import re
import shlex
import unittest

import harness
from harness import Scene, example

OPEN = re.compile(r"^\d+ +(?:openat|open|openat2)\((?:([^,]+), )?\"([^\"]*)\".*= (-?\d+)")
CALL = re.compile(r"^\d+ +(\w+)\(")
FORBIDDEN = {"socket", "connect", "fsync", "fdatasync", "sync", "syncfs", "bind"}


class AgentSyscalls(unittest.TestCase):
    def held_lines(self, scene, name):
        """The agent's system calls while it holds the process, and its threads' ids."""
        log = os.path.join(scene.folder, "strace.log")
        path = os.path.join(scene.folder, "agent")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexec strace -D -f -y -s 256 -o {log} "
                       f"{shlex.quote(harness.AGENT)} \"$@\"\n")
        os.chmod(path, 0o755)
        ended = scene.run([example(name)], CRASHHOOK_AGENT=path)
        reports = scene.reports()
        self.assertEqual(len(reports), 1, ended.stderr)
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        begin = next(i for i, line in enumerate(lines)
                     if "execve(" in line and "crashhook-agent" in line)
        end = next(i for i, line in enumerate(lines) if i > begin and "execve(" in line)
        threads = [thread["tid"] for thread in reports[0]["threads"]]
        self.assertIn(ended.pid, threads)
        parents = [f"/proc/{pid}/stat" for pid in reports[0]["process"]["ancestors"]]
        return lines[begin + 1 : end], threads, parents

    def check(self, name):
        with Scene() as scene:
            held, threads, parents = self.held_lines(scene, name)
            # By the thread that crashed: the first may have exited.
            folders = [f"/proc/{tid}" for tid in threads]
            calls = {match.group(1) for match in map(CALL.match, held) if match}
            self.assertIn("process_vm_readv", calls)
            self.assertTrue(any(call.startswith("rename") for call in calls), calls)
            self.assertFalse(calls & FORBIDDEN)
            for line in held:
                match = OPEN.match(line)
                if not match:
                    continue
                folder, opened, result = match.groups()
                if folder and "<" in folder and not opened.startswith("/"):
                    opened = folder[folder.index("<") + 1 : folder.rindex(">")] + "/" + opened
                allowed = opened.startswith((*(f"{folder}/" for folder in folders), scene.spool))
                # The root folder is the target's own: the handler started this agent.
                allowed = (allowed or opened in folders or opened == "/etc/os-release" or
                           opened in parents)
                self.assertTrue(allowed or int(result) < 0, line)

    def test_a_held_agent_opens_the_target_the_spool_and_the_systems_name_alone(self):
        self.check("null_write")

    def test_neither_does_it_with_twenty_threads(self):
        self.check("heap_abort")


class AgentProgram(unittest.TestCase):
    def test_the_agent_links_no_library_at_run_time(self):
        with open(harness.AGENT, "rb") as file:
            image = file.read()
        for name in (b"libcurl", b"libdw.so", b"libsqlite3", b"libjansson.so"):
            self.assertNotIn(name, image)


if __name__ == "__main__":
    harness.main()
