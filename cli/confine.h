// SPDX-License-Identifier: Apache-2.0
//
// The free phase gives up what it does not need: it reads files that strangers made and
// talks to servers, and needs neither other processes nor other programs for that.
//
// There is no way back, for this process and those it forks.
#pragma once

// confine_free_phase limits the time and memory of this process, keeps it from gaining
// privileges, and has the kernel refuse (EPERM) what reads or changes other processes,
// starts programs, or touches the system: ptrace, process_vm_readv, execve, mount, bpf
// and their like. What a kernel cannot do is left out.
void confine_free_phase(void);
