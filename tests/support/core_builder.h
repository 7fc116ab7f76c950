// SPDX-License-Identifier: Apache-2.0
//
// Core files built by tests: notes one by one, memory segments, then the whole file.
// Little-endian and of 64 bits, for x86-64 or aarch64.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/debug/elf.h"

// CORE_BUILDER_NOTE_HEAD is where a note's description starts: header and padded name.
enum { CORE_BUILDER_NOTE_HEAD = 20, CORE_BUILDER_SEGMENTS_MAX = 8 };

struct core_builder_segment {
    uint64_t address;
    const void *bytes; // NULL: not dumped
    uint64_t size;
    uint32_t flags;
};

struct core_builder_file {
    uint64_t start;
    uint64_t end;
    uint64_t page;
    const char *path;
};

struct core_builder {
    uint16_t machine;
    struct text notes;
    struct core_builder_segment segments[CORE_BUILDER_SEGMENTS_MAX];
    size_t segment_count;
    struct text file; // core_builder_finish
};

static inline void core_builder_put(struct text *to, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    text_append(to, bytes, size);
}

static inline void core_builder_zeroes(struct text *to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        core_builder_put(to, 0, 1);
}

static inline void core_builder_named_note(struct core_builder *b, const char *name,
                                           uint32_t type, const void *description,
                                           size_t size)
{
    char padded[8] = "";
    memcpy(padded, name, strlen(name));
    core_builder_put(&b->notes, strlen(name) + 1, 4);
    core_builder_put(&b->notes, size, 4);
    core_builder_put(&b->notes, type, 4);
    text_append(&b->notes, padded, sizeof(padded));
    text_append(&b->notes, description, size);
    core_builder_zeroes(&b->notes, (4 - size % 4) % 4);
}

static inline void core_builder_note(struct core_builder *b, uint32_t type,
                                     const void *description, size_t size)
{
    core_builder_named_note(b, "CORE", type, description, size);
}

static inline void core_builder_text_note(struct core_builder *b, uint32_t type,
                                          struct text *description)
{
    core_builder_note(b, type, description->bytes, description->size);
    text_deinit(description);
}

// core_builder_thread adds NT_PRSTATUS with registers in the kernel's order: 27 of
// them on x86-64, 34 on aarch64.
static inline void core_builder_thread(struct core_builder *b, uint32_t tid, int signal,
                                       const uint64_t *registers)
{
    struct text t = { 0 };
    size_t count = b->machine == ELF_X86_64 ? 27 : 34;
    core_builder_zeroes(&t, 12);
    core_builder_put(&t, (uint64_t)signal, 4);
    core_builder_zeroes(&t, 16);
    core_builder_put(&t, tid, 4);
    core_builder_zeroes(&t, 12 + 64);
    for (size_t i = 0; i < count; i++)
        core_builder_put(&t, registers[i], 8);
    core_builder_zeroes(&t, 8);
    core_builder_text_note(b, 1, &t);
}

static inline void core_builder_process(struct core_builder *b, uint32_t pid,
                                        const char *name)
{
    struct text t = { 0 };
    char field[97] = "";
    core_builder_put(&t, 'R' << 8, 8);
    core_builder_zeroes(&t, 16);
    core_builder_put(&t, pid, 4);
    core_builder_zeroes(&t, 12);
    snprintf(field, 17, "%s", name);
    snprintf(field + 16, 81, "%s --now", name);
    text_append(&t, field, 96);
    core_builder_text_note(b, 3, &t);
}

static inline void core_builder_siginfo(struct core_builder *b, int signal, int code,
                                        uint64_t fields)
{
    struct text t = { 0 };
    core_builder_put(&t, (uint32_t)signal, 8);
    core_builder_put(&t, (uint32_t)code, 8);
    core_builder_put(&t, fields, 8);
    core_builder_zeroes(&t, 104);
    core_builder_text_note(b, 0x53494749, &t);
}

static inline void core_builder_fault(struct core_builder *b, int signal, int code,
                                      uint64_t address)
{
    core_builder_siginfo(b, signal, code, address);
}

static inline void core_builder_sent(struct core_builder *b, int signal, int code,
                                     uint32_t pid, uint32_t uid)
{
    core_builder_siginfo(b, signal, code, (uint64_t)uid << 32 | pid);
}

// core_builder_auxv adds an auxiliary vector of one entry.
static inline void core_builder_auxv(struct core_builder *b, uint64_t type,
                                     uint64_t value)
{
    struct text t = { 0 };
    core_builder_put(&t, type, 8);
    core_builder_put(&t, value, 8);
    core_builder_zeroes(&t, 16);
    core_builder_text_note(b, 6, &t);
}

static inline void core_builder_files(struct core_builder *b, size_t count,
                                      const struct core_builder_file *files)
{
    struct text t = { 0 };
    core_builder_put(&t, count, 8);
    core_builder_put(&t, 4096, 8);
    for (size_t i = 0; i < count; i++) {
        core_builder_put(&t, files[i].start, 8);
        core_builder_put(&t, files[i].end, 8);
        core_builder_put(&t, files[i].page, 8);
    }
    for (size_t i = 0; i < count; i++)
        text_append(&t, files[i].path, strlen(files[i].path) + 1);
    core_builder_text_note(b, 0x46494c45, &t);
}

static inline void core_builder_segment(struct core_builder *b, uint64_t address,
                                        const void *bytes, uint64_t size,
                                        uint32_t flags)
{
    b->segments[b->segment_count++] =
        (struct core_builder_segment){ address, bytes, size, flags };
}

static inline void core_builder_header(struct text *to, uint32_t type, uint32_t flags,
                                       uint64_t offset, uint64_t address,
                                       uint64_t size[2])
{
    core_builder_put(to, type, 4);
    core_builder_put(to, flags, 4);
    core_builder_put(to, offset, 8);
    core_builder_put(to, address, 8);
    core_builder_put(to, 0, 8);
    core_builder_put(to, size[0], 8);
    core_builder_put(to, size[1], 8);
    core_builder_put(to, 1, 8);
}

// core_builder_finish writes the whole file to b->file.
static inline void core_builder_finish(struct core_builder *b)
{
    static const uint8_t ident[16] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
    struct text *f = &b->file;
    text_append(f, ident, sizeof(ident));
    core_builder_put(f, ELF_CORE, 2);
    core_builder_put(f, b->machine, 2);
    core_builder_put(f, 1, 4);
    core_builder_put(f, 0, 8);
    core_builder_put(f, 64, 8);
    core_builder_zeroes(f, 8 + 4);
    core_builder_put(f, 64, 2);
    core_builder_put(f, ELF_SEGMENT_SIZE, 2);
    core_builder_put(f, b->segment_count + 1, 2);
    core_builder_zeroes(f, 6);

    uint64_t at = 64 + (b->segment_count + 1) * ELF_SEGMENT_SIZE;
    core_builder_header(f, ELF_PT_NOTE, 0, at, 0, (uint64_t[2]){ b->notes.size, 0 });
    at += b->notes.size;
    for (size_t i = 0; i < b->segment_count; i++) {
        const struct core_builder_segment *s = &b->segments[i];
        uint64_t dumped = s->bytes != NULL ? s->size : 0;
        core_builder_header(f, ELF_PT_LOAD, s->flags, at, s->address,
                            (uint64_t[2]){ dumped, s->size });
        at += dumped;
    }
    text_append(f, b->notes.bytes, b->notes.size);
    for (size_t i = 0; i < b->segment_count; i++) {
        if (b->segments[i].bytes != NULL)
            text_append(f, b->segments[i].bytes, (size_t)b->segments[i].size);
    }
}

static inline void core_builder_deinit(struct core_builder *b)
{
    text_deinit(&b->notes);
    text_deinit(&b->file);
}
