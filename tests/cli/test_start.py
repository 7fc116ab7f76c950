# SPDX-License-Identifier: Apache-2.0
#
# How the installed programs start: what the loader is told to load, and where it looks.

import os
import re
import subprocess
import unittest

from cli_scene import BUILD

STARTED = ["bin/crashhook", "bin/crashhook-collector", "lib/libcrashhook.so",
           "lib/libcrashhook-backtrace.so"]


def dynamic(path, kind):
    printed = subprocess.run(["readelf", "-dW", os.path.join(BUILD, path)], check=True,
                             capture_output=True, text=True).stdout
    return re.findall(rf"\({kind}\).*\[(.*)\]", printed)


class Start(unittest.TestCase):
    def test_no_library_is_looked_for_in_the_current_folder(self):
        for path in STARTED:
            for search in dynamic(path, "RUNPATH") + dynamic(path, "RPATH"):
                for folder in search.split(":"):
                    self.assertRegex(folder, r"^(\$ORIGIN|/)", path)

    def test_the_command_starts_without_what_only_uploads_need(self):
        needed = dynamic("bin/crashhook", "NEEDED")
        self.assertIn("libc.so.6", needed)
        self.assertEqual([n for n in needed if "curl" in n or "ssl" in n], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
