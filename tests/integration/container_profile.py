# SPDX-License-Identifier: Apache-2.0
#
# The seccomp filters that container engines put around a program without capabilities: what
# their documentation says is refused, as the kernel's byte code. An engine lists what it
# allows; so a call that is newer than its list is refused like those.

import os
import struct
import sys

EPERM, ENOSYS = 1, 38
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
LOAD, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
NUMBER, ARCH, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NEWEST = 450  # set_mempolicy_home_node, of Linux 5.17
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*
AF_VSOCK = 40
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)

# What each needs a capability for, or is for nobody in a container.
REFUSED = """
    acct add_key bpf chroot clock_settime create_module delete_module fanotify_init finit_module
    fsconfig fsmount fsopen fspick get_kernel_syms get_mempolicy init_module ioperm iopl kcmp
    kexec_file_load kexec_load keyctl lookup_dcookie mbind migrate_pages mount mount_setattr
    move_mount move_pages nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd
    pivot_root process_madvise query_module quotactl quotactl_fd reboot request_key
    set_mempolicy set_mempolicy_home_node setdomainname sethostname setns settimeofday swapoff
    swapon sysfs syslog umount2 unshare uselib userfaultfd ustat vhangup _sysctl
""".split()
READS_OTHERS = ["ptrace", "process_vm_readv", "process_vm_writev"]
IO_URING = ["io_uring_setup", "io_uring_enter", "io_uring_register"]

# Docker allows ptrace since 19.03, containerd since 1.3, both on Linux from 4.8 on; io_uring is
# refused by Docker since 25 and containerd since 2.0.
PROFILES = {
    "Docker": [*REFUSED, *IO_URING],
    "Docker before 25": REFUSED,
    "Docker before 19.03": [*REFUSED, *READS_OTHERS],
    "containerd": [*REFUSED, *IO_URING],
}


def code(operation, value, then=0, otherwise=0):
    return struct.pack("=HBBI", operation, then, otherwise, value)


def refuse(error):
    return code(RETURN, ERRNO | error)


def filter_of(profile, numbers):
    """The byte code of a profile; numbers has those of the calls of this machine."""
    parts = [code(LOAD, ARCH), code(EQUAL, AUDIT_ARCH[os.uname().machine], 1, 0), code(RETURN, KILL),
             code(LOAD, NUMBER)]
    for name in PROFILES[profile]:
        if name in numbers:
            parts += [code(EQUAL, numbers[name], 0, 1), refuse(EPERM)]
    # The C library falls back to clone, whose flags can be looked at.
    parts += [code(EQUAL, numbers["clone3"], 0, 1), refuse(ENOSYS)]
    parts += [code(GREATER, NEWEST, 0, 1), refuse(EPERM)]
    parts += [code(EQUAL, numbers["clone"], 0, 4), code(LOAD, FIRST_ARGUMENT),
              code(ANY_BIT, NEW_NAMESPACES, 0, 1), refuse(EPERM), code(RETURN, ALLOW)]
    parts += [code(EQUAL, numbers["socket"], 0, 4), code(LOAD, FIRST_ARGUMENT),
              code(EQUAL, AF_VSOCK, 0, 1), refuse(EPERM), code(RETURN, ALLOW)]
    parts += [code(EQUAL, numbers["personality"], 0, 2 * len(PERSONALITIES) + 2),
              code(LOAD, FIRST_ARGUMENT)]
    for value in PERSONALITIES:
        parts += [code(EQUAL, value, 0, 1), code(RETURN, ALLOW)]
    return b"".join(parts + [refuse(EPERM), code(RETURN, ALLOW)])


def become(path, command):
    """Puts the filter in that file around this process, and executes the command."""
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    with open(path, "rb") as file:
        data = file.read()
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(data) // 8, data)
    # PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program)) != 0:
        sys.exit(f"cannot set the filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    become(sys.argv[1], sys.argv[2:])
