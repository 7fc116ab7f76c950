# SPDX-License-Identifier: Apache-2.0
#
# Crash reporters that Debian has, for bench/crash.py: what can be preloaded is built from
# bench/peer_handlers.cpp, where its headers are installed; and the kernel's core file.

import os
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))

# Name, the macro that selects it, and its name in pkg-config.
IN_PROCESS = (("abseil", "PEER_ABSEIL", ("absl_failure_signal_handler", "absl_symbolize")),
              ("glog", "PEER_GLOG", ("libglog",)),
              ("backward-cpp", "PEER_BACKWARD", ("libdw",)))
CORE_FILE = "kernel core file"


def compile_one(folder, macro, packages):
    """The library to preload; None where what it needs is not installed."""
    path = os.path.join(folder, f"lib{macro.lower()}.so")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], text=True,
                           check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if flags.returncode != 0:
        return None
    done = subprocess.run(
        ["g++", "-O2", "-w", "-shared", "-fPIC", f"-D{macro}",
         os.path.join(HERE, "peer_handlers.cpp"), "-o", path, *flags.stdout.split()],
        check=False, stderr=subprocess.DEVNULL)
    return path if done.returncode == 0 else None


def in_process(folder):
    """Name to library."""
    os.makedirs(folder, exist_ok=True)
    built = {name: compile_one(folder, macro, packages)
             for name, macro, packages in IN_PROCESS}
    for name, path in built.items():
        if path is None:
            print(f"{name}: not built: its headers are not installed")
    return {name: path for name, path in built.items() if path is not None}


def writes_core_files():
    """Whether the kernel puts a core file into the folder that a program runs in."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        return not file.read().startswith(("|", "/"))
