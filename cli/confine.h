// SPDX-License-Identifier: Apache-2.0
//
// The free phase gives up what it does not need: it reads files that strangers made and
// talks to servers, and needs neither other processes nor other programs for that.
//
// There is no way back, for this process and those it forks.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// confine_free_phase limits the time and memory of this process, keeps it from gaining
// privileges, and has the kernel refuse (EPERM) what reads or changes other processes,
// starts programs, or touches the system: ptrace, process_vm_readv, execve, mount, bpf
// and their like. What a kernel cannot do is left out.
void confine_free_phase(void);

// confine_reader does the same to a process that only reads what strangers made and
// answers through a descriptor that it has: it is also refused the network, making,
// removing and writing files (Landlock), and more than a gigabyte of memory.
void confine_reader(void);

// confine_become has a process of root's go on as that user with these groups alone,
// without capabilities. False: it could not, or the user is root.
bool confine_become(uid_t user, gid_t group, const gid_t *groups, size_t count);

// confine_become_nobody does so with a user that owns nothing: the system's user
// `crashhook` where there is one (the package makes it), else nobody, whose files and
// processes are several services'.
bool confine_become_nobody(void);
