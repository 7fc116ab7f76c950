#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What the shells offer after a few letters, with the completion that crashhook writes.

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

import cli_scene
from cli_scene import commands

PATIENCE_S = 60

# Sources the completion at $1 and prints what it offers for the words after it.
BASH = r"""
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_crashhook
printf '%s\n' "${COMPREPLY[@]}"
"""


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-completion.")
        for shell, name in (("bash", "crashhook"), ("zsh", "_crashhook")):
            with open(os.path.join(cls.folder, name), "wb") as file:
                subprocess.run([cli_scene.CRASHHOOK, "describe", shell], check=True,
                               stdout=file)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def bash(self, *words):
        done = subprocess.run(
            ["bash", "-c", BASH, "bash", os.path.join(self.folder, "crashhook"),
             "crashhook", *words], check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout.split()

    def test_bash_offers_every_command(self):
        words = {name.split()[0] for name in commands()}
        self.assertGreater(len(words), 10)
        self.assertEqual(set(self.bash("")) - {"--help", "--version"}, words)
        self.assertIn("symbolize", self.bash("symb"))
        self.assertNotIn("show", self.bash("symb"))

    def test_bash_offers_the_second_word_of_a_command_of_two(self):
        self.assertEqual(self.bash("cbf", ""), ["decode", "encode"])
        self.assertEqual(self.bash("sframe", "l"), ["lookup"])

    def test_bash_offers_every_option_of_a_command(self):
        for name in commands():
            shown = subprocess.run([cli_scene.CRASHHOOK, *name.split(), "--help"], check=True,
                                   text=True, stdout=subprocess.PIPE).stdout
            options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown, re.MULTILINE))
            self.assertEqual(set(self.bash(*name.split(), "--")), options, name)

    def test_bash_offers_the_words_that_an_option_takes(self):
        self.assertEqual(self.bash("run", "--unwind", "s"), ["sframe"])
        self.assertEqual(self.bash("show", "--threads", ""), ["all", "crashed"])

    def test_bash_leaves_paths_to_itself(self):
        self.assertEqual(self.bash("show", "/et"), [])

    def test_zsh_completes_commands_options_and_words(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        self.assertIn("crashhook doctor", self.zsh("crashhook doc\t"))
        self.assertIn("cbf encode", self.zsh("crashhook cbf e\t"))
        self.assertIn("--spool-max", self.zsh("crashhook run --spool-\t"))
        self.assertIn("libunwind", self.zsh("crashhook run --unwind lib\t"))

    def zsh(self, keys):
        """What zsh's line holds after these keys."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", PS1="ready> ", HOME=self.folder)
            os.execvp("zsh", ["zsh", "-f", "-i"])
        try:
            self.until(terminal, "ready> ")
            setup = f"fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -D -u"
            os.write(terminal, f"{setup}; PS1='set''up> '\n".encode())
            self.until(terminal, "setup> ")
            # The line is not run: it is written to the terminal and left.
            os.write(terminal, (keys + "\x01echo 'line:'\"'\x05'\" ':end'\n").encode())
            return self.until(terminal, ":end\r\n")
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)

    def until(self, terminal, word):
        said, limit = "", time.monotonic() + PATIENCE_S
        while word not in said:
            ready, _, _ = select.select([terminal], [], [], max(0, limit - time.monotonic()))
            self.assertTrue(ready, f"zsh did not say {word!r} but {said!r}")
            said += os.read(terminal, 4096).decode(errors="replace")
        return said


if __name__ == "__main__":
    unittest.main(verbosity=2)
