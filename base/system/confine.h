// SPDX-License-Identifier: Apache-2.0
//
// A process that reads files of strangers gives up the rights that it does not need.
// The free phase also talks to servers, but needs neither other processes nor other
// programs.
//
// These restrictions cannot be undone, and child processes inherit them. Users: cli,
// collector.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/system/rights.h"

// confine_free_phase limits the time and memory of this process, keeps it from gaining
// privileges, and makes the kernel refuse (EPERM) system calls that read or change
// other processes, start programs, or affect the system: ptrace, process_vm_readv,
// execve, mount, bpf and the like. Restrictions that a kernel does not know are left
// out.
void confine_free_phase(void);

// confine_reader does the same for a process that only reads what strangers made and
// answers through an open descriptor: it also loses the network, the creation, removal
// and writing of files (Landlock), and more than a gigabyte of memory.
void confine_reader(void);

// confine_observer does it for a process that reads another one, which takes ptrace and
// process_vm_readv: these stay allowed, the network does not.
void confine_observer(void);

// confine_become gives a process of root these rights alone, for good. Users other than
// root are left no capabilities. False: it could not.
bool confine_become(const struct rights *rights);

// confine_become_nobody does so with a user that owns nothing: the system's user
// `crashhook` if there is one (the package creates it), else nobody, which several
// services may share.
bool confine_become_nobody(void);

// confine_find_nobody looks that user up, for children that become it later.
void confine_find_nobody(void);
