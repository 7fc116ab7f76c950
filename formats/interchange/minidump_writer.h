// SPDX-License-Identifier: Apache-2.0
//
// Writes minidumps of Linux programs, as minidump.h reads them, with Crashpad's
// annotations. Users: upload (minidump_file.h).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "formats/debug/core_notes.h"

struct minidump_write_thread {
    struct core_thread state; // its tid, registers and flags
    const char *name;         // in UTF-8; NULL: none
};

struct minidump_write_module {
    uint64_t base;
    uint64_t size;
    const char *path; // in UTF-8
    const uint8_t *build_id;
    size_t build_id_size; // 0: not known
};

// A minidump_write_range is memory of the process. The stack of a thread is the range
// that its stack pointer is in.
struct minidump_write_range {
    uint64_t start;
    const uint8_t *bytes;
    size_t size;
};

struct minidump_annotation {
    const char *name;
    const char *value;
};

struct minidump_contents {
    uint16_t machine;    // enum elf_machine
    uint32_t time;       // of the crash, seconds since 1970
    uint32_t pid;        // 0: not known
    uint32_t started;    // seconds since 1970; 0: not known
    uint8_t processors;  // 0: not known
    const char *system;  // such as "Linux 6.1.0"
    uint8_t report[16];  // the report's id, a UUID
    const char *release; // the contents of /etc/lsb-release
    const struct minidump_write_thread *threads;
    size_t thread_count;
    size_t crashed; // which of them; thread_count: nothing crashed
    struct core_signal signal;
    const struct minidump_write_module *modules;
    size_t module_count;
    const struct minidump_write_range *ranges; // none overlaps another
    size_t range_count;
    const struct minidump_annotation *annotations;
    size_t annotation_count;
    const char *arguments; // each with a NUL
    size_t arguments_size;
};

// minidump_write appends the file to out, which is empty. CH_ERR_LIMIT: it would be
// larger than offsets in it can say.
CH_CHECKED enum ch_status minidump_write(const struct minidump_contents *contents,
                                         struct text *out);
