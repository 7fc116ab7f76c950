#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# check_units UNITS CRASHHOOK: systemd understands every line of the units below UNITS,
# and what they start is a command that there is.

import os
import re
import shutil
import subprocess
import sys
import tempfile

units, crashhook = sys.argv[1:]
if not shutil.which("systemd-analyze"):
    print("no systemd-analyze here")
    sys.exit(77)

for whose in ("system", "user"):
    with tempfile.TemporaryDirectory() as folder:
        names = ["crashhook-upload.path", "crashhook-upload.service"]
        for name in names:
            with open(os.path.join(units, whose, name), encoding="utf-8") as file:
                text = file.read()
            # It is verified before it is installed.
            text, count = re.subn(r"^(ExecStart=)\S*/crashhook ", rf"\1{crashhook} ",
                                  text, flags=re.MULTILINE)
            assert count == name.endswith(".service"), text
            assert "@" not in text, text
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", f"--{whose}",
             *(os.path.join(folder, name) for name in names)],
            env={**os.environ, "XDG_RUNTIME_DIR": folder}, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, check=False)
        wrong = [line for line in done.stdout.splitlines() if "crashhook" in line]
        assert not wrong, "\n".join(wrong)
        assert done.returncode == 0, done.stdout
help_text = subprocess.run([crashhook, "upload", "--help"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
assert "--watch" in help_text and "--spool" in help_text
