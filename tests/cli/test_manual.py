#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The manual pages that the build has left in its folder share/man.

import os
import re
import shutil
import subprocess
import unittest

import cli_scene
from cli_scene import commands

FOLDER = os.path.join(cli_scene.BUILD, "share", "man")


def pages():
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(FOLDER)
                  for name in names)


def shown(page):
    """The page as a reader sees it, on one line a paragraph."""
    text = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=1000", page], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    return re.sub(r".\x08", "", text)


@unittest.skipIf(shutil.which("mandoc") is None, "mandoc is not installed")
class Manual(unittest.TestCase):
    def test_every_page_is_well_formed(self):
        self.assertGreater(len(pages()), 15)
        for page in pages():
            said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page],
                                  text=True, stdout=subprocess.PIPE, check=False).stdout
            wrong = [line for line in said.splitlines() if "missing date" not in line]
            self.assertEqual(wrong, [])

    def test_every_command_has_a_page_with_each_of_its_options(self):
        names = {os.path.basename(page): page for page in pages()}
        for command in commands():
            page = names[f"crashhook-{command.split()[0]}.1"]
            text = shown(page)
            self.assertIn(f"crashhook {command}", text)
            helped = subprocess.run(
                [cli_scene.CRASHHOOK, *command.split(), "--help"], check=True, text=True,
                stdout=subprocess.PIPE).stdout
            for option in re.findall(r"--[a-z-]+", helped):
                self.assertIn(option, text, command)

    def test_the_page_of_the_variables_has_each_of_them_with_its_default(self):
        text = shown(os.path.join(FOLDER, "man7", "crashhook.7"))
        for variable, default in (("CRASHHOOK_LIMIT", "64"), ("CRASHHOOK_RATE", "10/1m"),
                                  ("CRASHHOOK_TIMEOUT", "30s"), ("CRASHHOOK_URL", "")):
            self.assertRegex(text, rf"{variable}\s[^\n]*\.\s[^\n]*{default}")

    def test_the_pages_of_the_headers_have_each_function(self):
        include = os.path.join(cli_scene.SOURCE, "include", "crashhook")
        known = {"crashhook.h": "crashhook.3", "flight.h": "crashhook-flight.3"}
        for header in [name for name in os.listdir(include) if name.endswith(".h")]:
            text = shown(os.path.join(FOLDER, "man3",
                                      known.get(header, "crashhook-backtrace.3")))
            with open(os.path.join(include, header), encoding="utf-8") as file:
                functions = re.findall(r"^(?!//|#).*?\b(crashhook_\w+)\(", file.read(),
                                       re.MULTILINE)
            self.assertTrue(functions, header)
            for function in functions:
                self.assertIn(function + "(", text, header)


if __name__ == "__main__":
    unittest.main(verbosity=2)
