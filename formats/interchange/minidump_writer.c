// SPDX-License-Identifier: Apache-2.0
//
// The directory comes first and is filled in as the streams are written. What a stream
// refers to (strings, contexts, memory) is written before it, so that its offset is
// known: memory, contexts, then the streams.
#include "formats/interchange/minidump_writer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "formats/debug/elf.h"

enum {
    SIGNATURE = 0x504d444d, // "MDMP"
    VERSION = 0xa793,
    SYSTEM_LINUX = 0x8201,
    CODEVIEW_ELF = 0x4270454c, // "LEpB": a build ID follows
    CPU_AMD64 = 9,
    CPU_ARM64 = 12,
    STREAMS_MAX = 10,
    HEADER_BYTES = 32,
    ENTRY_BYTES = 12,
    RVA_MAX = INT32_MAX, // readers use signed offsets
};

struct minidump_writer {
    const struct minidump_contents *contents;
    struct text *out;
    uint32_t *range_offsets;
    uint32_t *contexts; // their offsets
    size_t streams;     // written so far
    size_t stream_start;
};

static void put(struct minidump_writer *w, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    text_append(w->out, bytes, size);
}

static void put_zeros(struct minidump_writer *w, size_t size)
{
    static const uint8_t zeros[64];
    for (; size != 0; size -= size < sizeof(zeros) ? size : sizeof(zeros))
        text_append(w->out, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
}

// align pads the file to a multiple of size, and returns the offset.
static uint32_t align(struct minidump_writer *w, size_t size)
{
    put_zeros(w, (size - w->out->size % size) % size);
    return (uint32_t)w->out->size;
}

// patch overwrites four bytes that are there.
static void patch(struct minidump_writer *w, size_t offset, uint64_t value)
{
    for (size_t i = 0; text_ok(w->out) && i < 4; i++)
        w->out->bytes[offset + i] = (char)(value >> (8 * i));
}

static void begin_stream(struct minidump_writer *w)
{
    w->stream_start = align(w, 8);
}

static void end_stream(struct minidump_writer *w, uint32_t type)
{
    size_t entry = HEADER_BYTES + w->streams++ * ENTRY_BYTES;
    patch(w, entry, type);
    patch(w, entry + 4, w->out->size - w->stream_start);
    patch(w, entry + 8, w->stream_start);
}

// minidump_put_string writes a MINIDUMP_STRING: UTF-16 with its size in bytes before
// it.
static uint32_t minidump_put_string(struct minidump_writer *w, const char *string)
{
    uint32_t offset = align(w, 4);
    size_t left = strlen(string);
    put(w, 0, 4);
    while (left != 0) {
        uint32_t character = '?';
        size_t size = utf8_decode(string, left, &character);
        size = size != 0 ? size : 1;
        if (character >= 0x10000) {
            put(w, 0xd800 + ((character - 0x10000) >> 10), 2);
            character = 0xdc00 + (character & 0x3ff);
        }
        put(w, character, 2);
        string += size;
        left -= size;
    }
    patch(w, offset, w->out->size - offset - 4);
    put(w, 0, 2);
    return offset;
}

// put_utf8 writes a MinidumpUTF8String, as Crashpad's annotations have them.
static uint32_t put_utf8(struct minidump_writer *w, const char *string)
{
    uint32_t offset = align(w, 4);
    put(w, strlen(string), 4);
    text_append(w->out, string, strlen(string) + 1);
    return offset;
}

// put_context_amd64 writes a CONTEXT_AMD64 with control, integer and segment registers.
// Those of segments are what every 64-bit program has.
static void put_context_amd64(struct minidump_writer *w, const struct core_thread *t)
{
    enum { HOMES = 48, DEBUG = 48, FLAGS = 0x100007, SIZE = 1232, USER_CS = 0x33 };
    enum { USER_SS = 0x2b, REST = SIZE - (HOMES + 4 + 4 + 12 + 4 + DEBUG + 17 * 8) };
    // rax rcx rdx rbx rsp rbp rsi rdi, and so on: machine numbers to DWARF's.
    static const uint8_t order[] = { 0, 2,  1,  3,  7,  6,  4,  5, 8,
                                     9, 10, 11, 12, 13, 14, 15, 16 };
    put_zeros(w, HOMES);
    put(w, FLAGS, 4);
    put(w, 0, 4); // mxcsr
    put(w, USER_CS, 2);
    put_zeros(w, 8); // ds es fs gs
    put(w, USER_SS, 2);
    put(w, t->flags, 4);
    put_zeros(w, DEBUG);
    for (size_t i = 0; i < sizeof(order); i++)
        put(w, t->registers[order[i]], 8);
    put_zeros(w, REST);
}

static void put_context_arm64(struct minidump_writer *w, const struct core_thread *t)
{
    enum { FLAGS = 0x400003, SIZE = 912 };
    put(w, FLAGS, 4);
    put(w, t->flags, 4);
    for (size_t i = 0; i < CORE_REGISTERS; i++)
        put(w, t->registers[i], 8);
    put_zeros(w, SIZE - 8 - 8 * CORE_REGISTERS);
}

static size_t context_size(const struct minidump_writer *w)
{
    return w->contents->machine == ELF_X86_64 ? 1232 : 912;
}

static void put_memory_and_contexts(struct minidump_writer *w)
{
    const struct minidump_contents *from = w->contents;
    for (size_t i = 0; i < from->range_count; i++) {
        w->range_offsets[i] = align(w, 16);
        text_append(w->out, from->ranges[i].bytes, from->ranges[i].size);
    }
    for (size_t i = 0; i < from->thread_count; i++) {
        w->contexts[i] = align(w, 16);
        if (from->machine == ELF_X86_64)
            put_context_amd64(w, &from->threads[i].state);
        else
            put_context_arm64(w, &from->threads[i].state);
    }
}

// put_range writes a MINIDUMP_MEMORY_DESCRIPTOR.
static void put_range(struct minidump_writer *w, size_t number)
{
    const struct minidump_write_range *range = &w->contents->ranges[number];
    put(w, range->start, 8);
    put(w, range->size, 4);
    put(w, w->range_offsets[number], 4);
}

static void minidump_put_threads(struct minidump_writer *w)
{
    const struct minidump_contents *from = w->contents;
    size_t sp = from->machine == ELF_X86_64 ? 7 : 31;
    begin_stream(w);
    put(w, from->thread_count, 4);
    for (size_t i = 0; i < from->thread_count; i++) {
        const struct core_thread *thread = &from->threads[i].state;
        size_t stack = 0;
        while (stack < from->range_count &&
               thread->registers[sp] - from->ranges[stack].start >=
                   from->ranges[stack].size)
            stack++;
        put(w, thread->tid, 4);
        put_zeros(w, 20); // counts, priorities and the block of Windows' threads
        if (stack < from->range_count) {
            put_range(w, stack);
        } else {
            put(w, thread->registers[sp], 8);
            put_zeros(w, 8);
        }
        put(w, context_size(w), 4);
        put(w, w->contexts[i], 4);
    }
    end_stream(w, 3);
}

static void put_thread_names(struct minidump_writer *w, uint32_t *names)
{
    const struct minidump_contents *from = w->contents;
    size_t count = 0;
    for (size_t i = 0; i < from->thread_count; i++) {
        const char *name = from->threads[i].name;
        names[i] = name != NULL ? minidump_put_string(w, name) : 0;
        count += name != NULL;
    }
    begin_stream(w);
    put(w, count, 4);
    for (size_t i = 0; i < from->thread_count; i++) {
        if (names[i] == 0)
            continue;
        put(w, from->threads[i].state.tid, 4);
        put(w, names[i], 8);
    }
    end_stream(w, 24);
}

// put_modules takes an array with room for two offsets of each module.
static void put_modules(struct minidump_writer *w, uint32_t *offsets)
{
    const struct minidump_contents *from = w->contents;
    for (size_t i = 0; i < from->module_count; i++) {
        const struct minidump_write_module *module = &from->modules[i];
        offsets[2 * i] = minidump_put_string(w, module->path);
        offsets[2 * i + 1] = align(w, 4);
        if (module->build_id_size == 0)
            continue;
        put(w, CODEVIEW_ELF, 4);
        text_append(w->out, module->build_id, module->build_id_size);
    }
    begin_stream(w);
    put(w, from->module_count, 4);
    for (size_t i = 0; i < from->module_count; i++) {
        const struct minidump_write_module *module = &from->modules[i];
        bool named = module->build_id_size != 0;
        put(w, module->base, 8);
        put(w, module->size < UINT32_MAX ? module->size : UINT32_MAX, 4);
        put_zeros(w, 8); // checksum and time
        put(w, offsets[2 * i], 4);
        put_zeros(w, 52); // the version, of Windows alone
        put(w, named ? module->build_id_size + 4 : 0, 4);
        put(w, named ? offsets[2 * i + 1] : 0, 4);
        put_zeros(w, 24);
    }
    end_stream(w, 4);
}

static void put_memory_list(struct minidump_writer *w)
{
    begin_stream(w);
    put(w, w->contents->range_count, 4);
    for (size_t i = 0; i < w->contents->range_count; i++)
        put_range(w, i);
    end_stream(w, 5);
}

static void put_exception(struct minidump_writer *w)
{
    const struct minidump_contents *from = w->contents;
    if (from->crashed >= from->thread_count)
        return;
    begin_stream(w);
    put(w, from->threads[from->crashed].state.tid, 4);
    put(w, 0, 4);
    put(w, (uint32_t)from->signal.signal, 4);
    put(w, (uint32_t)from->signal.code, 4);
    put(w, 0, 8);
    put(w, from->signal.address, 8);
    put_zeros(w, 8 + 15 * 8); // no parameters
    put(w, context_size(w), 4);
    put(w, w->contexts[from->crashed], 4);
    end_stream(w, 6);
}

static void put_system(struct minidump_writer *w)
{
    const struct minidump_contents *from = w->contents;
    uint32_t words = minidump_put_string(w, from->system);
    begin_stream(w);
    put(w, from->machine == ELF_X86_64 ? CPU_AMD64 : CPU_ARM64, 2);
    put_zeros(w, 4);
    put(w, from->processors, 1);
    put_zeros(w, 1 + 12); // the version is in the words
    put(w, SYSTEM_LINUX, 4);
    put(w, words, 4);
    put_zeros(w, 4 + 24);
    end_stream(w, 7);
    begin_stream(w);
    put(w, 24, 4);
    put(w, (from->pid != 0 ? 1 : 0) | (from->started != 0 ? 2 : 0), 4);
    put(w, from->pid, 4);
    put(w, from->started, 4);
    put_zeros(w, 8);
    end_stream(w, 15);
}

// put_linux writes the streams that are the text of a file.
static void put_linux(struct minidump_writer *w)
{
    const struct minidump_contents *from = w->contents;
    begin_stream(w);
    text_append_string(w->out, from->release);
    end_stream(w, 0x47670005);
    if (from->arguments_size == 0)
        return;
    begin_stream(w);
    text_append(w->out, from->arguments, from->arguments_size);
    end_stream(w, 0x47670006);
}

// put_annotations writes Crashpad's stream. offsets has room for two of each.
static void put_annotations(struct minidump_writer *w, uint32_t *offsets)
{
    const struct minidump_contents *from = w->contents;
    for (size_t i = 0; i < from->annotation_count; i++) {
        offsets[2 * i] = put_utf8(w, from->annotations[i].name);
        offsets[2 * i + 1] = put_utf8(w, from->annotations[i].value);
    }
    uint32_t list = align(w, 4);
    put(w, from->annotation_count, 4);
    for (size_t i = 0; i < 2 * from->annotation_count; i++)
        put(w, offsets[i], 4);
    begin_stream(w);
    put(w, 1, 4); // version
    // A GUID begins with numbers in little endian.
    static const uint8_t order[] = { 3, 2, 1,  0,  5,  4,  7,  6,
                                     8, 9, 10, 11, 12, 13, 14, 15 };
    for (size_t i = 0; i < sizeof(order); i++)
        put(w, from->report[order[i]], 1);
    put_zeros(w, 16); // of the client: none
    put(w, 4 + 8 * from->annotation_count, 4);
    put(w, list, 4);
    put_zeros(w, 8 + 4 + 8); // modules' annotations, reserved, address mask
    end_stream(w, 0x43500001);
}

enum ch_status minidump_write(const struct minidump_contents *contents,
                              struct text *out)
{
    struct minidump_writer w = { .contents = contents, .out = out };
    size_t most = contents->range_count + contents->thread_count +
                  contents->module_count + contents->annotation_count;
    // Offsets of ranges, of contexts, and of what the stream being written refers to.
    uint32_t *offsets = calloc(4 * most + 1, sizeof(*offsets));
    if (offsets == NULL)
        return CH_ERR_NO_MEMORY;
    w.range_offsets = offsets;
    w.contexts = offsets + contents->range_count;
    uint32_t *more = w.contexts + contents->thread_count;
    put(&w, SIGNATURE, 4);
    put(&w, VERSION, 4);
    put(&w, 0, 4); // streams: not known yet
    put(&w, HEADER_BYTES, 4);
    put(&w, 0, 4); // no checksum
    put(&w, contents->time, 4);
    put_zeros(&w, 8 + STREAMS_MAX * ENTRY_BYTES);
    put_memory_and_contexts(&w);
    minidump_put_threads(&w);
    put_thread_names(&w, more);
    put_modules(&w, more);
    put_memory_list(&w);
    put_exception(&w);
    put_system(&w);
    put_linux(&w);
    put_annotations(&w, more);
    patch(&w, 8, w.streams);
    free(offsets);
    if (out->size > RVA_MAX)
        return CH_ERR_LIMIT;
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
