#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# check_units UNITS CRASHHOOK PACKAGING: systemd understands every line of the units below
# UNITS and of the user and folder in PACKAGING, and what they start is a command that there
# is.

import os
import re
import shutil
import subprocess
import sys
import tempfile

units, crashhook, packaging = sys.argv[1:]
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
            text, count = re.subn(r'^(ExecStart=")\S*/crashhook" ', rf'\1{crashhook}" ',
                                  text, flags=re.MULTILINE)
            assert count == name.endswith(".service"), text
            assert re.search("@[A-Z_]+@", text) is None, text
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", f"--{whose}",
             *(os.path.join(folder, name) for name in names)],
            env={**os.environ, "XDG_RUNTIME_DIR": folder}, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, check=False)
        wrong = [line for line in done.stdout.splitlines() if "crashhook" in line]
        assert not wrong, "\n".join(wrong)
        assert done.returncode == 0, done.stdout

for tool, name in (("systemd-sysusers", "crashhook-collector.sysusers"),
                   ("systemd-tmpfiles", "crashhook.tmpfiles")):
    if tool == "systemd-tmpfiles" and os.geteuid() != 0:
        print("skipped: crashhook.tmpfiles: needs root, which its folders belong to")
        continue
    with tempfile.TemporaryDirectory() as root:
        # The files with secrets can be read by root alone, and can as well be made.
        os.mkdir(root + "/etc")
        for file in ("passwd", "group", "shadow", "gshadow"):
            if os.access("/etc/" + file, os.R_OK):
                shutil.copy("/etc/" + file, root + "/etc")
        create = ["--create"] if tool.endswith("tmpfiles") else []
        done = subprocess.run([tool, *create, "--root", root, os.path.join(packaging, name)],
                              stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout
        if create:
            mode = os.stat(root + "/var/lib/crashhook").st_mode & 0o777
            assert mode == 0o700, oct(mode)
        else:
            with open(root + "/etc/passwd", encoding="utf-8") as file:
                assert "crashhook-collector:" in file.read()
with open(os.path.join(units, "system", "crashhook-collector.service"),
          encoding="utf-8") as file:
    assert "User=crashhook-collector\n" in file.read()

# What the services are allowed, as systemd rates it: 10 is everything. The first three read what
# programs of every user leave, which takes root; their units say what for.
EXAMPLES = os.path.join(packaging, os.pardir, os.pardir, "examples", "adopting")
for path, most in (("crashhook-node.service", 3.2), ("crashhook-node-watch.service", 2.2),
                   ("crashhook-upload.service", 2.4), ("crashhook-collector.service", 1.5),
                   (os.path.join(EXAMPLES, "service.service"), 1.3)):
    rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                            os.path.join(units, "system", path)], text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", rated)
    assert exposure is not None, rated
    assert float(exposure.group(1)) <= most, rated

# The same services for OpenRC and runit.
for script in ("openrc/crashhook-upload", "openrc/crashhook-collector",
               "runit/crashhook-upload/run", "runit/crashhook-collector/run",
               "alpine/APKBUILD"):
    path = os.path.join(packaging, os.pardir, script)
    subprocess.run(["sh", "-n", path], check=True)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for option in re.findall(r"(?<!\S)--(watch|spool|store|log)\b", text):
        program = "crashhook" if option in ("watch", "spool") else "crashhook-collector"
        command = [os.path.join(os.path.dirname(crashhook), program)]
        shown = subprocess.run(command + (["upload"] if program == "crashhook" else []) +
                               ["--help"], text=True, check=True, stdout=subprocess.PIPE).stdout
        assert "--" + option in shown, (script, option)

help_text = subprocess.run([crashhook, "upload", "--help"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
assert "--watch" in help_text and "--spool" in help_text
