# SPDX-License-Identifier: Apache-2.0
#
# A mount namespace in which /tmp and /var/lib are empty and nobody else's, for tests of
# places whose paths are fixed: the system's spool, its drop folder, the folders below
# /tmp. The tree and the build stay where they are.

import os
import subprocess
import sys

MARK = "CRASHHOOK_TEST_PRIVATE"
FOLDERS = ("/tmp", "/var/lib")


def keep(path):
    """Has the folder at path, which may be covered, be there again."""
    fd = os.open(path, os.O_PATH | os.O_DIRECTORY)

    def restore():
        if os.path.isdir(path):
            return
        os.makedirs(path)
        subprocess.run(["mount", "--bind", f"/proc/self/fd/{fd}", path], check=True,
                       pass_fds=[fd])
    return restore


def cover(kept):
    restore = [keep(path) for path in kept]
    for folder in FOLDERS:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "private", folder],
                       check=True)
    os.chmod("/var/lib", 0o755)
    for again in restore:
        again()


def enter(kept):
    """Starts this script again in a namespace of its own; says why where it cannot."""
    if os.environ.get(MARK) == "1":
        cover(kept)
        return
    refused = None
    if os.geteuid() != 0:
        refused = "needs root"
    elif subprocess.run(["unshare", "--mount", "--propagation", "private", "mount", "-t",
                         "tmpfs", "tried", "/mnt"], stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL, check=False).returncode != 0:
        refused = "this place allows no mount namespace"
    if refused:
        print(f"{os.path.basename(sys.argv[0])}: skipped: {refused}")
        sys.exit(77)
    os.environ[MARK] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                          *sys.argv])
