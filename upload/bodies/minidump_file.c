// SPDX-License-Identifier: Apache-2.0
//
// What a stream refers to (strings, contexts, memory) is written before the stream, so
// that its offset is known. The streams' directory comes last.
#include "upload/bodies/minidump_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/register_name.h"
#include "base/system/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/debug/core_notes.h"
#include "formats/debug/elf.h"
#include "formats/interchange/minidump.h"
#include "report/value/report.h"

enum {
    HEADER_BYTES = 32,
    CONTEXT_AMD64_BYTES = 1232,
    CONTEXT_ARM64_BYTES = 912,
    PATH_BYTES_MAX = 4096,
    BUILD_ID_MAX = 64,
    RANGE_MAX = 1 << 20,
};

struct written_thread {
    const json_t *json;
    struct core_thread state;
    uint32_t context; // the offset of its registers
};

struct writer {
    const json_t *report;
    struct text *out;
    struct text stream;    // the one that is being made
    struct text directory; // of those that were written
    uint16_t machine;
    struct written_thread *threads; // the crashed one first
    size_t thread_count;
    struct minidump_memory *ranges; // their offsets are in the file
    size_t range_count;
};

// end_stream writes the stream that was made.
static void end_stream(struct writer *w, uint32_t type)
{
    PACK(&w->directory, "444", type, w->stream.size, pack_align(w->out, 8));
    text_append(w->out, w->stream.bytes, w->stream.size);
    w->out->failed |= w->stream.failed || w->directory.failed;
    text_clear(&w->stream);
}

// put_utf16 writes a MINIDUMP_STRING: UTF-16 with its size in bytes before it.
static uint32_t put_utf16(struct writer *w, const char *string)
{
    struct text CH_CLEANUP(text_deinit) units = { 0 };
    size_t left = strlen(string);
    while (left != 0) {
        uint32_t character = '?';
        size_t size = utf8_decode(string, left, &character);
        size = size != 0 ? size : 1;
        if (character >= 0x10000)
            PACK(&units, "22", 0xd800 + ((character - 0x10000) >> 10),
                 0xdc00 + (character & 0x3ff));
        else
            PACK(&units, "2", character);
        string += size;
        left -= size;
    }
    uint32_t offset = pack_align(w->out, 4);
    PACK(w->out, "4", units.size);
    text_append(w->out, units.bytes, units.size);
    PACK(w->out, "2", 0);
    return offset;
}

// put_utf8 writes a MinidumpUTF8String, as Crashpad's annotations have them.
static uint32_t put_utf8(struct writer *w, const char *string)
{
    uint32_t offset = pack_align(w->out, 4);
    PACK(w->out, "4", strlen(string));
    text_append(w->out, string, strlen(string) + 1);
    return offset;
}

static const char *machine_register(uint16_t machine, size_t number)
{
    return machine == ELF_X86_64 ? register_name_amd64(number, 8)
                                 : register_name_aarch64(number);
}

uint16_t minidump_read_thread(const json_t *thread, struct core_thread *out)
{
    const json_t *registers = json_object_get(thread, "registers");
    const char *name;
    uint64_t unused;
    uint16_t machine = report_address(registers, "rip", &unused)  ? ELF_X86_64
                       : report_address(registers, "pc", &unused) ? ELF_AARCH64
                                                                  : 0;
    *out = (struct core_thread){ .tid = (uint32_t)report_integer(thread, "tid", 1),
                                 .call = -1 };
    for (size_t i = 0;
         i < CORE_REGISTERS && (name = machine_register(machine, i)) != NULL; i++)
        (void)report_address(registers, name, &out->registers[i]);
    (void)report_address(registers, machine == ELF_X86_64 ? "eflags" : "pstate",
                         &out->flags);
    (void)report_address(registers, "fs_base", &out->thread_pointer);
    (void)report_address(registers, "gs_base", &out->gs_base);
    return machine;
}

// read_threads reads the threads whose registers are known, the crashed one first.
static void read_threads(struct writer *w)
{
    const json_t *threads = json_object_get(w->report, "threads");
    const json_t *crashed = report_crashed_thread(w->report);
    for (size_t i = 0; i <= json_array_size(threads); i++) {
        struct written_thread *out = &w->threads[w->thread_count];
        out->json = i == 0 ? crashed : json_array_get(threads, i - 1);
        uint16_t machine = minidump_read_thread(out->json, &out->state);
        if (machine == 0 || (i != 0 && out->json == crashed))
            continue;
        w->machine = machine;
        w->thread_count++;
    }
}

// put_context writes a CONTEXT_AMD64 with control, integer and segment registers, of
// which the last are what every 64-bit program has, or a CONTEXT_ARM64.
static void put_context(struct text *out, uint16_t machine, const struct core_thread *t)
{
    enum { FLAGS_AMD64 = 0x100007, FLAGS_ARM64 = 0x400003 };
    enum { HOMES = 48, DEBUG = 48, USER_CS = 0x33, USER_SS = 0x2b };
    if (machine == ELF_AARCH64)
        PACK(out, "44", FLAGS_ARM64, t->flags);
    else
        PACK(out, "z82z24z", HOMES, FLAGS_AMD64, USER_CS, 8, USER_SS, t->flags, DEBUG);
    for (size_t i = 0; i < (machine == ELF_AARCH64 ? CORE_REGISTERS : 17); i++)
        PACK(out, "8", t->registers[machine == ELF_AARCH64 ? i : minidump_amd64[i]]);
}

static size_t context_size(const struct writer *w)
{
    return w->machine == ELF_X86_64 ? CONTEXT_AMD64_BYTES : CONTEXT_ARM64_BYTES;
}

static void put_contexts(struct writer *w)
{
    for (size_t i = 0; i < w->thread_count; i++) {
        struct written_thread *thread = &w->threads[i];
        thread->context = pack_align(w->out, 16);
        put_context(w->out, w->machine, &thread->state);
        PACK(w->out, "z", context_size(w) - (w->out->size - thread->context));
    }
}

// put_hex appends the bytes that digits are; 0: they are none, or more than most.
static size_t put_hex(struct text *out, const char *digits, size_t most)
{
    size_t length = digits != NULL ? strlen(digits) : 0;
    size_t start = out->size;
    size_t size = 0;
    if (length == 0 || length / 2 > most)
        return 0;
    text_append(out, digits, length / 2); // makes room
    if (text_ok(out) &&
        hex_decode(digits, length, out->bytes + start, length / 2, &size) != CH_OK)
        out->size = start;
    return size;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct minidump_memory *first = a;
    const struct minidump_memory *second = b;
    return (first->start > second->start) - (first->start < second->start);
}

size_t minidump_read_memory(const json_t *report, struct text *bytes,
                            struct minidump_memory *out, size_t most)
{
    const json_t *memory = json_object_get(report, "memory");
    size_t count = 0;
    size_t kept = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < json_array_size(memory) && count < most; i++) {
        const json_t *part = json_array_get(memory, i);
        struct minidump_memory *range = &out[count];
        range->offset = pack_align(bytes, 16);
        range->size = put_hex(bytes, report_string(part, "bytes"), RANGE_MAX);
        count += range->size != 0 && report_address(part, "address", &range->start) &&
                 range->start + range->size > range->start;
    }
    qsort(out, count, sizeof(*out), compare_ranges);
    for (size_t i = 0; i < count; i++) {
        struct minidump_memory range = out[i];
        uint64_t known = range.start < end ? end - range.start : 0;
        if (known >= range.size)
            continue;
        end = range.start + range.size;
        out[kept++] = (struct minidump_memory){ range.start + known, range.size - known,
                                                range.offset + known };
    }
    return kept;
}

// put_range writes a MINIDUMP_MEMORY_DESCRIPTOR.
static void put_range(struct text *out, const struct minidump_memory *range)
{
    PACK(out, "844", range->start, range->size, range->offset);
}

// kept_from gives the first address from sp on whose memory the report can have as that
// of the thread's stack: sp, unless that is past the end of a stack that has overflown.
static uint64_t kept_from(const json_t *report, const struct core_thread *thread,
                          uint64_t sp)
{
    const json_t *memory = json_object_get(report, "memory");
    for (size_t i = 0; i < json_array_size(memory); i++) {
        const json_t *part = json_array_get(memory, i);
        uint64_t start;
        if (json_integer_value(json_object_get(part, "thread")) == thread->tid &&
            report_address(part, "address", &start) && start > sp)
            return start;
    }
    return sp;
}

static void put_threads(struct writer *w)
{
    const size_t sp = w->machine == ELF_X86_64 ? 7 : 31;
    PACK(&w->stream, "4", w->thread_count);
    for (size_t i = 0; i < w->thread_count; i++) {
        const struct written_thread *thread = &w->threads[i];
        struct minidump_memory stack = { .start = thread->state.registers[sp] };
        uint64_t kept = kept_from(w->report, &thread->state, stack.start);
        for (size_t k = 0; k < w->range_count; k++)
            if (kept - w->ranges[k].start < w->ranges[k].size)
                stack = w->ranges[k];
        PACK(&w->stream, "4z", thread->state.tid, 20); // zeros: of Windows' threads
        put_range(&w->stream, &stack);
        PACK(&w->stream, "44", context_size(w), thread->context);
    }
    end_stream(w, 3);
}

static void put_thread_names(struct writer *w)
{
    struct text CH_CLEANUP(text_deinit) names = { 0 };
    for (size_t i = 0; i < w->thread_count; i++) {
        const char *name = report_string(w->threads[i].json, "name");
        if (name != NULL)
            PACK(&names, "48", w->threads[i].state.tid, put_utf16(w, name));
    }
    PACK(&w->stream, "4", names.size / 12);
    text_append(&w->stream, names.bytes, names.size);
    end_stream(w, 24);
}

static void put_module(struct writer *w, const json_t *image, struct text *modules)
{
    enum { CODEVIEW_ELF = 0x4270454c }; // "LEpB": a build ID follows
    const char *path = report_string(image, "path");
    const char *name = path != NULL ? path : report_string(image, "name");
    uint64_t base;
    uint64_t end = 0;
    if (name == NULL || strlen(name) > PATH_BYTES_MAX ||
        !report_address(image, "base", &base) ||
        !report_address(image, "end_of_text", &end) || end <= base)
        return;
    const uint32_t name_at = put_utf16(w, name);
    const uint32_t id_at = pack_align(w->out, 4);
    PACK(w->out, "4", CODEVIEW_ELF);
    const size_t id_size =
        put_hex(w->out, report_string(image, "build_id"), BUILD_ID_MAX);
    // Zeros: checksum and time, then the version, of Windows alone.
    PACK(modules, "84z4z44z", base, end - base < UINT32_MAX ? end - base : UINT32_MAX,
         8, name_at, 52, id_size != 0 ? id_size + 4 : 0, id_size != 0 ? id_at : 0, 24);
}

static void put_modules(struct writer *w)
{
    enum { MODULE_BYTES = 108 };
    struct text CH_CLEANUP(text_deinit) modules = { 0 };
    const json_t *images = json_object_get(w->report, "images");
    for (size_t i = 0; i < json_array_size(images); i++)
        put_module(w, json_array_get(images, i), &modules);
    PACK(&w->stream, "4", modules.size / MODULE_BYTES);
    text_append(&w->stream, modules.bytes, modules.size);
    end_stream(w, 4);
}

static void put_memory_list(struct writer *w)
{
    PACK(&w->stream, "4", w->range_count);
    for (size_t i = 0; i < w->range_count; i++)
        put_range(&w->stream, &w->ranges[i]);
    end_stream(w, 5);
}

static void put_exception(struct writer *w)
{
    const json_t *crash = json_object_get(w->report, "crash");
    const struct written_thread *first = &w->threads[0];
    uint64_t address = 0;
    // The crashed thread is the first, unless its registers are not known.
    if (!json_is_object(crash) ||
        first->state.tid != (uint32_t)report_integer(crash, "thread", -1))
        return;
    (void)report_address(crash, "address", &address);
    PACK(&w->stream, "84488z44", first->state.tid,
         (uint32_t)report_integer(crash, "signal", 0),
         (uint32_t)report_integer(crash, "code", 0), 0, address, 8 + 15 * 8,
         context_size(w), first->context);
    end_stream(w, 6);
}

static void put_system(struct writer *w)
{
    enum { CPU_AMD64 = 9, CPU_ARM64 = 12, SYSTEM_LINUX = 0x8201 };
    const json_t *process = json_object_get(w->report, "process");
    const json_t *host = json_object_get(w->report, "host");
    const char *kernel = report_string(host, "kernel");
    const int64_t pid = report_integer(process, "pid", 0);
    const int64_t time_ms = report_time_ms(w->report);
    const int64_t started =
        (time_ms - report_integer(process, "uptime_ms", time_ms)) / 1000;
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    text_appendf(&words, "Linux %s", kernel != NULL ? kernel : "0.0.0");
    uint32_t words_at = put_utf16(w, text_ok(&words) ? words.bytes : "");
    // Zeros: the version, which is in the words.
    PACK(&w->stream, "61z44z", w->machine == ELF_X86_64 ? CPU_AMD64 : CPU_ARM64,
         (uint64_t)report_integer(host, "cpus", 0), 1 + 12, SYSTEM_LINUX, words_at,
         4 + 24);
    end_stream(w, 7);
    PACK(&w->stream, "4444z", 24, (pid != 0 ? 1U : 0) | (started != 0 ? 2U : 0),
         (uint64_t)pid, (uint64_t)started, 8);
    end_stream(w, 15);
}

// put_linux writes the streams that are the text of a file.
static void put_linux(struct writer *w)
{
    const json_t *arguments =
        json_object_get(json_object_get(w->report, "process"), "arguments");
    const char *system = report_string(json_object_get(w->report, "host"), "os");
    text_appendf(&w->stream, "DISTRIB_DESCRIPTION=\"%s\"\n",
                 system != NULL ? system : "Linux");
    end_stream(w, 0x47670005);
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const char *argument = json_string_value(json_array_get(arguments, i));
        if (argument != NULL)
            text_append(&w->stream, argument, strlen(argument) + 1);
    }
    if (w->stream.size != 0)
        end_stream(w, 0x47670006);
}

json_t *minidump_facts(const json_t *report)
{
    static const struct {
        const char *name;
        const char *object; // of the report; NULL: the report itself
        const char *key;
    } facts[] = { { "prod", "process", "executable" },
                  { "ver", NULL, "release" },
                  { "environment", NULL, "environment" },
                  { "crashhook_id", NULL, "id" },
                  { "crashhook_title", NULL, "title" },
                  { "crashhook_summary", "crash", "summary" },
                  { "crashhook_message", "crash", "message" },
                  { "crashhook_kind", "crash", "kind" },
                  { "crashhook_fingerprint", NULL, "fingerprint2" } };
    json_t *out = json_object();
    const char *key;
    json_t *tag;
    json_object_foreach(json_object_get(report, "tags"), key, tag)
    {
        if (json_is_string(tag))
            (void)json_object_set(out, key, tag);
    }
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        const json_t *from =
            facts[i].object != NULL ? json_object_get(report, facts[i].object) : report;
        const char *value = report_string(from, facts[i].key);
        if (value != NULL)
            (void)json_object_set_new(out, facts[i].name,
                                      json_string(i == 0 ? file_name(value) : value));
    }
    return out;
}

// put_report_id writes the report's id as a GUID, which begins with numbers in little
// endian.
static void put_report_id(struct text *out, const char *id)
{
    uint8_t bytes[16] = { 0 };
    char digits[33] = "";
    size_t size;
    for (size_t i = 0; id != NULL && *id != 0 && i + 1 < sizeof(digits); id++)
        if (*id != '-')
            digits[i++] = *id;
    (void)!hex_decode(digits, strlen(digits), bytes, sizeof(bytes), &size);
    for (size_t i = 0; i < sizeof(bytes); i++)
        text_append(out, &bytes[minidump_guid[i]], 1);
}

// put_annotations writes Crashpad's stream.
static void put_annotations(struct writer *w)
{
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    json_auto_t *facts = minidump_facts(w->report);
    const char *name;
    json_t *value;
    PACK(&list, "4", json_object_size(facts));
    json_object_foreach(facts, name, value)
    {
        const uint32_t name_at = put_utf8(w, name);
        PACK(&list, "44", name_at, put_utf8(w, json_string_value(value)));
    }
    PACK(&w->stream, "4", 1); // version
    put_report_id(&w->stream, report_string(w->report, "id"));
    // Zeros: the client's id, modules' annotations, a reserved word, a mask.
    PACK(&w->stream, "z44z", 16, list.size, pack_align(w->out, 4), 8 + 4 + 8);
    text_append(w->out, list.bytes, list.size);
    w->out->failed |= list.failed;
    end_stream(w, 0x43500001);
}

// put_dump_header writes the header into its place, and the directory.
static void put_dump_header(struct writer *w)
{
    enum { SIGNATURE = 0x504d444d, VERSION = 0xa793, ENTRY_BYTES = 12 };
    struct text CH_CLEANUP(text_deinit) head = { 0 };
    PACK(&head, "44484", SIGNATURE, VERSION, w->directory.size / ENTRY_BYTES,
         pack_align(w->out, 4), (uint64_t)(report_time_ms(w->report) / 1000));
    text_append(w->out, w->directory.bytes, w->directory.size);
    if (text_ok(w->out) && text_ok(&head))
        memcpy(w->out->bytes, head.bytes, head.size);
    w->out->failed |= head.failed;
}

static void writer_deinit(struct writer *w)
{
    text_deinit(&w->stream);
    text_deinit(&w->directory);
    free(w->threads);
    free(w->ranges);
}

enum ch_status minidump_file_write(const json_t *report, struct text *out)
{
    const size_t threads = json_array_size(json_object_get(report, "threads"));
    const size_t ranges = json_array_size(json_object_get(report, "memory"));
    struct writer CH_CLEANUP(writer_deinit) w = {
        .report = report,
        .out = out,
        .threads = calloc(threads + 2, sizeof(*w.threads)),
        .ranges = calloc(ranges + 1, sizeof(*w.ranges)),
    };
    if (w.threads == NULL || w.ranges == NULL)
        return CH_ERR_NO_MEMORY;
    read_threads(&w);
    if (w.thread_count == 0)
        return CH_ERR_UNSUPPORTED;
    PACK(out, "z", HEADER_BYTES);
    w.range_count = minidump_read_memory(report, out, w.ranges, ranges);
    put_contexts(&w);
    put_threads(&w);
    put_thread_names(&w);
    put_modules(&w);
    put_memory_list(&w);
    put_exception(&w);
    put_system(&w);
    put_linux(&w);
    put_annotations(&w);
    put_dump_header(&w);
    if (out->size > INT32_MAX) // readers use signed offsets
        return CH_ERR_LIMIT;
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
