// SPDX-License-Identifier: Apache-2.0
//
// Minidumps of Linux programs, as Breakpad, Crashpad, sentry-native, rust-minidump and
// LLDB write them, for x86-64 and aarch64.
//
// A minidump is a directory of streams; what they refer to is anywhere in the file, at
// an offset (RVA). The layouts are Microsoft's (minidumpapiset.h), with the streams and
// contexts that Breakpad added (minidump_format.h, minidump_cpu_amd64.h,
// minidump_cpu_arm64.h). A file is untrusted: what does not fit is left out, and
// nothing is allocated. Users: minidump_core, collector.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/debug/core_notes.h"

enum { MINIDUMP_BUILD_ID_MAX = 64, MINIDUMP_NAME_MAX = 1024 };

enum minidump_stream {
    MINIDUMP_THREADS,
    MINIDUMP_MODULES,
    MINIDUMP_MEMORY,
    MINIDUMP_MEMORY64,
    MINIDUMP_EXCEPTION,
    MINIDUMP_SYSTEM,
    MINIDUMP_MISC,
    MINIDUMP_CRASHPAD,  // what Crashpad adds
    MINIDUMP_ARGUMENTS, // of the program, each with a NUL
    MINIDUMP_AUXV,
    MINIDUMP_MAPS, // as /proc/PID/maps
    MINIDUMP_STREAMS
};

struct minidump {
    struct cursor file;
    uint16_t machine;                        // enum elf_machine
    uint32_t time;                           // when it was written, seconds since 1970
    uint32_t pid;                            // 0: not known
    struct cursor streams[MINIDUMP_STREAMS]; // empty where the file has none
};

// minidump_amd64 has DWARF's numbers of the registers of a CONTEXT_AMD64, from rax on;
// minidump_guid where each byte of a GUID is in a build ID that was read as one.
extern const uint8_t minidump_amd64[17];
extern const uint8_t minidump_guid[16];

// minidump_is returns true if bytes begin as a minidump does.
bool minidump_is(const void *bytes, size_t size);

// minidump_open reads the directory of the size bytes at bytes, which must outlive it.
// CH_ERR_MALFORMED: they are no minidump. CH_ERR_UNSUPPORTED: one of another system or
// processor; out_why says which.
CH_CHECKED enum ch_status minidump_open(struct minidump *dump, const void *bytes,
                                        size_t size, const char **out_why);

// A minidump_range is memory of the process, at offset of the file.
struct minidump_range {
    uint64_t start;
    uint64_t size;
    uint64_t offset;
};

// A minidump_list goes through the entries of a stream. One whose stream is empty ends
// at once.
struct minidump_list {
    const struct minidump *dump;
    struct cursor entries;
    uint64_t left;
    uint64_t offset; // of the next range's bytes; of MINIDUMP_MEMORY64 alone
};
struct minidump_list minidump_list(const struct minidump *dump,
                                   enum minidump_stream stream);

// minidump_next_range gives the next range of MINIDUMP_MEMORY or MINIDUMP_MEMORY64
// whose bytes are in the file. False: there are no more.
bool minidump_next_range(struct minidump_list *list, struct minidump_range *out);

// minidump_next_thread gives the next thread of MINIDUMP_THREADS with its registers, as
// core_notes.h has them, and its stack (size 0: none). False: there are no more.
bool minidump_next_thread(struct minidump_list *list, struct core_thread *out,
                          struct minidump_range *out_stack);

struct minidump_module {
    uint64_t base;
    uint64_t size;
    char name[MINIDUMP_NAME_MAX]; // in UTF-8
    uint8_t build_id[MINIDUMP_BUILD_ID_MAX];
    size_t build_id_size; // 0: not known
    bool build_id_cut;    // only its first 16 bytes are known
};
bool minidump_next_module(struct minidump_list *list, struct minidump_module *out);

// minidump_exception reads which thread crashed, with its registers at the crash, and
// the signal. False: the dump is of a process that did not crash.
bool minidump_exception(const struct minidump *dump, struct core_thread *out,
                        struct core_signal *out_signal);

// minidump_annotation_fn gets a fact that the program gave Crashpad about itself, in
// UTF-8.
typedef void minidump_annotation_fn(void *context, const char *name, const char *value);

// minidump_annotations passes on the annotations of the process and of its modules, at
// most 1,000.
void minidump_annotations(const struct minidump *dump, minidump_annotation_fn *take,
                          void *context);
