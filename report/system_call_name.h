// SPDX-License-Identifier: Apache-2.0
//
// The names of system calls by their numbers, which differ from machine to machine: a
// seccomp filter's refusal is reported by name, also where it happened on another
// machine than this one. What is newer than the table has no name.
#pragma once
#include <stdint.h>

// Machines as the kernel's audit names them (linux/audit.h).
#define SYSTEM_CALL_X86_64 UINT32_C(0xc000003e)
#define SYSTEM_CALL_AARCH64 UINT32_C(0xc00000b7)

// system_call_name is the name of system call number of a machine, or NULL.
const char *system_call_name(uint32_t machine, int32_t number);
