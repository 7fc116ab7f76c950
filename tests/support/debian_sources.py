# SPDX-License-Identifier: Apache-2.0
#
# Debian's own sources of libraries that tests build with SFrame, fetched through apt
# with lists of our own, so that the machine's lists stay as they are.

import atexit
import glob
import os
import re
import shutil
import subprocess
import tempfile


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options).stdout


def place(folder):
    """The folder, or one for this process alone where its path has a blank: no configure and
    no Makefile copes with that."""
    if not re.search(r"[\s:]", folder):
        return folder
    other = tempfile.mkdtemp(prefix="crashhook-sources.")
    atexit.register(shutil.rmtree, other, ignore_errors=True)
    return other


def fetch(folder, packages):
    """Unpacks the sources of packages as folder/PACKAGE-VERSION, unless they are there."""
    if all(glob.glob(f"{folder}/{package}-*/") for package in packages):
        return
    os.makedirs(f"{folder}/lists/partial", exist_ok=True)
    os.makedirs(f"{folder}/cache/archives/partial", exist_ok=True)
    with open("/etc/os-release", encoding="utf-8") as file:
        release = re.search(r"VERSION_CODENAME=(\w+)", file.read()).group(1)
    with open(f"{folder}/sources.list", "w", encoding="utf-8") as file:
        file.write(f"deb-src http://deb.debian.org/debian {release} main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder}/sources.list",
           "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
    run(apt + ["update"])
    run(apt + ["source", "--only-source"] + packages, cwd=folder)
