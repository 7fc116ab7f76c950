// SPDX-License-Identifier: Apache-2.0
//
// The names of system calls by their numbers, which differ between architectures: a
// seccomp filter's refusal is reported by name, even if it happened on another
// architecture than ours. A system call that is newer than the table has no name.
#pragma once
#include <stdint.h>

// SYSTEM_CALL_X86_64 and SYSTEM_CALL_AARCH64 are the kernel's audit architectures
// (linux/audit.h).
#define SYSTEM_CALL_X86_64 UINT32_C(0xc000003e)
#define SYSTEM_CALL_AARCH64 UINT32_C(0xc00000b7)

// system_call_name is the name of system call number of a machine, or NULL.
const char *system_call_name(uint32_t machine, int32_t number);
