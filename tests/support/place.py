# SPDX-License-Identifier: Apache-2.0
#
# What the place where tests run does not allow: a chroot, a container, an ordinary user's
# home. A test that needs it is skipped with the reason; tests/check counts such tests and
# lists them.

import ctypes
import functools
import os
import resource
import shutil
import signal
import subprocess


# How much slower this place is than those for which tests have their limits.
SLOWER = int(os.environ.get("CRASHHOOK_SLOWER", "1"))


@functools.cache
def refusal(*command):
    """Why a command that does nothing cannot be run here; empty where it can."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or f"{command[0]} ended with {done.returncode}"


def _needs(why):
    """A decorator: the test is skipped where why() is not empty."""
    def decorate(test):
        @functools.wraps(test)
        def asked(self, *arguments):
            if why():
                self.skipTest(why())
            return test(self, *arguments)
        return asked
    return decorate


def no_namespaces():
    return refusal("unshare", "--mount", "--pid", "--fork", "--mount-proc", "true")


def no_mounts():
    return refusal("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/tmp")


def no_tracing():
    """Why a process may not trace its own child here, as with a seccomp filter or Yama's scope 3."""
    seize = 0x4206
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        if libc.ptrace(seize, child, None, None) == 0:
            return ""
        return f"no process can be traced here: {os.strerror(ctypes.get_errno())}"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def no_root():
    return "" if os.geteuid() == 0 else "not root"


def no_freedom_of_calls():
    """Whether a seccomp filter is on, as in a container. The filter might end a program or its
    agent for a call, so in a crash no lost agent is replaced, no snapshot taken, no memory given
    back ahead and no processor chosen."""
    with open("/proc/self/status", encoding="ascii") as file:
        return "" if "\nSeccomp:\t0\n" in file.read() else "a seccomp filter is on here"


def has_capability(number):
    with open("/proc/self/status", encoding="ascii") as file:
        effective = next(line for line in file if line.startswith("CapEff:")).split()[1]
    return int(effective, 16) >> number & 1 != 0


def no_sys_ptrace():
    return "" if has_capability(19) else "no CAP_SYS_PTRACE"


def core_limit():
    """The most that a program of a test may have as its limit of core files."""
    cap_sys_resource = 24
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return resource.RLIM_INFINITY if has_capability(cap_sys_resource) else hard


def not_for_others(folder):
    """Nobody but the owner may use what is in the folder, as below a home of mode 0700."""
    return refusal("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                   "ls", folder)


@functools.cache
def rust_compilers():
    """rustc, and the distribution's own where that is another. The first may be that of a
    version manager, which has no compiler where HOME is another."""
    found = (shutil.which("rustc"), "/usr/bin/rustc")
    return [path for path in dict.fromkeys(found)
            if path and os.path.exists(path) and not refusal(path, "--version")]


def no_rust():
    return "" if rust_compilers() else "no rustc works here"


def rust_compiler():
    """The first that works, else a name that nothing has."""
    return (*rust_compilers(), "rustc-that-works")[0]


def rust_minor(compiler):
    said = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return int(said.split()[1].split(".")[1])


needs_namespaces = _needs(no_namespaces)
needs_mounts = _needs(no_mounts)
needs_root = _needs(no_root)
needs_freedom_of_calls = _needs(no_freedom_of_calls)
needs_tracing = _needs(no_tracing)
needs_rust = _needs(no_rust)
