// SPDX-License-Identifier: Apache-2.0
//
// What an agent that waits for a crash prepares, so that the crash need not pay for it:
// memory that has been touched, code that is mapped, the entries of /proc that the
// kernel makes when they are first read, and which memory of the process will be read.
// None of it is remembered as a fact: a report reads everything anew, but for the
// system's name, where the file that has it is unchanged.
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/settings/settings.h"

// warm_begin prepares for a crash of process pid; 0: of one that is not known.
void warm_begin(pid_t pid, const struct settings *settings);

// warm_bytes touches each page of what is there, and changes nothing.
void warm_bytes(void *bytes, size_t size);
