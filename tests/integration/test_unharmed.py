# SPDX-License-Identifier: Apache-2.0
#
# What a program and those around it must not notice: whoever reads its output is done
# when it dies, its port is free at once, and no child of ours is ever its child. The
# server the reports go to accepts connections and never answers, so that the agent is
# still at work when the program is gone.

import signal
import socket
import time
import unittest

import harness
from harness import Scene, example, program


class Unharmed(unittest.TestCase):
    def setUp(self):
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.silent.getsockname()[1]}"

    def tearDown(self):
        self.silent.close()

    def test_whoever_reads_its_output_is_done_when_it_dies(self):
        with Scene() as scene:
            began = time.monotonic()
            process = scene.start(["sh", "-c", 'x=$("$0" 2>&1); echo $?',
                                   example("null_write")],
                                  CRASHHOOK_URL=self.url, CRASHHOOK_TIMEOUT="60s")
            out, _ = process.communicate(timeout=60)
            seconds = time.monotonic() - began
            self.assertIn("139", out.decode())
            self.assertLess(seconds, 30)
            # The agent was still to send the report.
            self.silent.settimeout(60)
            self.silent.accept()[0].close()
            scene.reports()

    def test_its_port_can_be_bound_again_at_once(self):
        # One port may have been given to somebody else meanwhile.
        self.assertTrue(any(self.is_bound_again() for _ in range(3)))

    def is_bound_again(self):
        with Scene() as scene:
            process = scene.start([program("listens")], CRASHHOOK_URL=self.url,
                                  CRASHHOOK_TIMEOUT="5s")
            port = int(process.stdout.readline())
            process.wait(timeout=30)
            self.assertEqual(process.returncode, -signal.SIGABRT)
            process.stdout.close()
            process.stderr.close()
            with socket.socket() as listener:
                try:
                    listener.bind(("127.0.0.1", port))
                    listener.listen()
                except OSError:
                    return False
            return True

    def test_waiting_for_any_child_never_finds_one_of_ours(self):
        with Scene() as scene:
            for _ in range(20):
                ended = scene.run([program("waits_for_children")])
                self.assertEqual(ended.signal, signal.SIGSEGV)
                self.assertEqual(ended.stdout, "waiting\n")
            self.assertEqual(len(scene.reports()), 20)


class Signals(unittest.TestCase):
    """What a program does with the signals that we handle, too."""

    CASES = ("sends", "clears", "vforks", "directly", "spawns", "disarms", "keys",
             "joins")

    def test_a_program_sees_its_signals_as_it_does_alone(self):
        run = [harness.CRASHHOOK, "run", "--via", "preload", "--"]
        trace = [harness.CRASHHOOK, "run", "--via", "trace", "--"]
        for case in self.CASES:
            with Scene() as scene:
                alone = scene.run([program("unnoticed_alone"), case], LD_PRELOAD="")
                self.assertEqual(alone.status, 0, alone.stderr)
                self.assertNotEqual(alone.stdout, "")
                for way, command, variables in (
                        ("preloaded", [program("unnoticed_alone"), case], {}),
                        ("linked", [program("unnoticed_shared"), case], {"LD_PRELOAD": ""}),
                        ("run", [*run, program("unnoticed_alone"), case], {"LD_PRELOAD": ""}),
                        ("trace", [*trace, program("unnoticed_alone"), case],
                         {"LD_PRELOAD": ""}),
                        ("daemon", [program("unnoticed_alone"), case],
                         {"CRASHHOOK_MODE": "daemon"})):
                    with self.subTest(case=case, way=way):
                        ended = scene.run(command, **variables)
                        self.assertEqual((ended.signal, ended.status, ended.stdout, ended.stderr),
                                         (0, 0, alone.stdout, alone.stderr))
                        self.assertEqual(scene.reports(), [])


if __name__ == "__main__":
    harness.main()
