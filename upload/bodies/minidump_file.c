// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/minidump_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/register_name.h"
#include "base/system/file.h"
#include "formats/debug/elf.h"
#include "formats/interchange/minidump_writer.h"
#include "report/value/report.h"

enum { PATH_BYTES_MAX = 4096, BUILD_ID_MAX = 64, RANGE_MAX = 1 << 20, TEXT_MAX = 512 };

// A minidump_source has what the contents point to.
struct minidump_source {
    struct minidump_contents contents;
    struct minidump_write_thread *threads;
    struct minidump_write_module *modules;
    struct minidump_write_range *ranges;
    struct minidump_annotation *annotations;
    uint8_t *bytes; // of build IDs and memory
    size_t used;
    struct text arguments;
    char system[TEXT_MAX];
    char release[TEXT_MAX];
};

static void minidump_source_deinit(struct minidump_source *source)
{
    free(source->threads);
    free(source->modules);
    free(source->ranges);
    free(source->annotations);
    free(source->bytes);
    text_deinit(&source->arguments);
}

static const char *machine_register(uint16_t machine, size_t number)
{
    return machine == ELF_X86_64 ? register_name_amd64(number, 8)
                                 : register_name_aarch64(number);
}

static void read_registers(const json_t *registers, uint16_t machine,
                           struct core_thread *out)
{
    const char *name;
    for (size_t i = 0;
         i < CORE_REGISTERS && (name = machine_register(machine, i)) != NULL; i++)
        (void)report_address(registers, name, &out->registers[i]);
    (void)report_address(registers, machine == ELF_X86_64 ? "eflags" : "pstate",
                         &out->flags);
}

// read_threads reads the threads whose registers are known, the crashed one first.
static enum ch_status read_threads(const json_t *report, struct minidump_source *to)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *crashed = report_crashed_thread(report);
    uint64_t unused;
    to->threads = calloc(json_array_size(threads) + 1, sizeof(*to->threads));
    if (to->threads == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i <= json_array_size(threads); i++) {
        const json_t *thread = i == 0 ? crashed : json_array_get(threads, i - 1);
        const json_t *registers = json_object_get(thread, "registers");
        uint16_t machine = report_address(registers, "rip", &unused)  ? ELF_X86_64
                           : report_address(registers, "pc", &unused) ? ELF_AARCH64
                                                                      : 0;
        if (machine == 0 || (i != 0 && thread == crashed))
            continue;
        struct minidump_write_thread *out = &to->threads[to->contents.thread_count++];
        to->contents.machine = machine;
        out->state.tid = (uint32_t)report_integer(thread, "tid", 0);
        out->name = report_string(thread, "name");
        read_registers(registers, machine, &out->state);
    }
    return to->contents.thread_count != 0 ? CH_OK : CH_ERR_UNSUPPORTED;
}

// keep_hex decodes digits behind what is kept already; NULL: they are none. There is
// room, because bytes is half of all that a report may have.
static const uint8_t *keep_hex(struct minidump_source *to, const char *digits,
                               size_t most, size_t *out_size)
{
    uint8_t *at = to->bytes + to->used;
    if (digits == NULL || strlen(digits) / 2 > most ||
        hex_decode(digits, strlen(digits), at, most, out_size) != CH_OK)
        return NULL;
    to->used += *out_size;
    return at;
}

static size_t hex_bytes(const json_t *list, const char *key)
{
    size_t size = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *digits = report_string(json_array_get(list, i), key);
        size += digits != NULL ? strlen(digits) / 2 : 0;
    }
    return size;
}

static void read_modules(const json_t *images, struct minidump_source *to)
{
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *image = json_array_get(images, i);
        const char *path = report_string(image, "path");
        struct minidump_write_module module = {
            .path = path != NULL ? path : report_string(image, "name")
        };
        uint64_t end = 0;
        if (module.path == NULL || strlen(module.path) > PATH_BYTES_MAX ||
            !report_address(image, "base", &module.base) ||
            !report_address(image, "end_of_text", &end) || end <= module.base)
            continue;
        module.size = end - module.base;
        module.build_id = keep_hex(to, report_string(image, "build_id"), BUILD_ID_MAX,
                                   &module.build_id_size);
        to->modules[to->contents.module_count++] = module;
    }
}

static int compare_ranges(const void *a, const void *b)
{
    const struct minidump_write_range *first = a;
    const struct minidump_write_range *second = b;
    return (first->start > second->start) - (first->start < second->start);
}

// read_ranges reads the memory, and cuts what is in two of its parts from the second:
// readers leave out ranges that overlap.
static void read_ranges(const json_t *memory, struct minidump_source *to)
{
    size_t count = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < json_array_size(memory); i++) {
        const json_t *part = json_array_get(memory, i);
        struct minidump_write_range *range = &to->ranges[count];
        range->bytes =
            keep_hex(to, report_string(part, "bytes"), RANGE_MAX, &range->size);
        if (range->bytes != NULL && range->size != 0 &&
            report_address(part, "address", &range->start) &&
            range->start + range->size > range->start)
            count++;
    }
    qsort(to->ranges, count, sizeof(*to->ranges), compare_ranges);
    for (size_t i = 0; i < count; i++) {
        struct minidump_write_range range = to->ranges[i];
        size_t known = range.start < end ? (size_t)(end - range.start) : 0;
        if (known >= range.size)
            continue;
        end = range.start + range.size;
        range.start += known;
        range.bytes += known;
        range.size -= known;
        to->ranges[to->contents.range_count++] = range;
    }
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

// read_facts points the annotations to the strings of facts.
static void read_facts(json_t *facts, struct minidump_source *to)
{
    const char *key;
    json_t *value;
    json_object_foreach(facts, key, value)
    {
        to->annotations[to->contents.annotation_count++] =
            (struct minidump_annotation){ .name = key,
                                          .value = json_string_value(value) };
    }
}

static void minidump_read_process(const json_t *report, struct minidump_source *to)
{
    struct minidump_contents *contents = &to->contents;
    const json_t *process = json_object_get(report, "process");
    const json_t *host = json_object_get(report, "host");
    const json_t *arguments = json_object_get(process, "arguments");
    const char *kernel = report_string(host, "kernel");
    const char *system = report_string(host, "os");
    const char *id = report_string(report, "id");
    int64_t time_ms = report_time_ms(report);
    char digits[33] = "";
    size_t size = 0;
    contents->time = (uint32_t)(time_ms / 1000);
    contents->pid = (uint32_t)report_integer(process, "pid", 0);
    contents->started =
        (uint32_t)((time_ms - report_integer(process, "uptime_ms", time_ms)) / 1000);
    contents->processors = (uint8_t)report_integer(host, "cpus", 0);
    (void)snprintf(to->system, sizeof(to->system), "Linux %s",
                   kernel != NULL ? kernel : "0.0.0");
    (void)snprintf(to->release, sizeof(to->release), "DISTRIB_DESCRIPTION=\"%s\"\n",
                   system != NULL ? system : "Linux");
    contents->system = to->system;
    contents->release = to->release;
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const char *argument = json_string_value(json_array_get(arguments, i));
        if (argument != NULL)
            text_append(&to->arguments, argument, strlen(argument) + 1);
    }
    contents->arguments = to->arguments.bytes;
    contents->arguments_size = to->arguments.size;
    for (size_t i = 0; id != NULL && *id != 0 && i + 1 < sizeof(digits); id++) {
        if (*id != '-')
            digits[i++] = *id;
    }
    (void)!hex_decode(digits, strlen(digits), contents->report,
                      sizeof(contents->report), &size);
}

static void minidump_read_signal(const json_t *report, struct minidump_contents *out)
{
    const json_t *crash = json_object_get(report, "crash");
    // The crashed thread is the first, unless its registers are not known.
    bool known =
        json_is_object(crash) &&
        out->threads[0].state.tid == (uint32_t)report_integer(crash, "thread", -1);
    out->crashed = known ? 0 : out->thread_count;
    out->signal.signal = (int32_t)report_integer(crash, "signal", 0);
    out->signal.code = (int32_t)report_integer(crash, "code", 0);
    (void)report_address(crash, "address", &out->signal.address);
}

enum ch_status minidump_file_write(const json_t *report, struct text *out)
{
    struct minidump_source CH_CLEANUP(minidump_source_deinit) source = { 0 };
    const json_t *images = json_object_get(report, "images");
    const json_t *memory = json_object_get(report, "memory");
    json_auto_t *facts = minidump_facts(report);
    enum ch_status status = read_threads(report, &source);
    if (status != CH_OK)
        return status;
    // hex_decode checks against its limit before it writes, so each part needs room
    // for its own digits alone.
    source.bytes =
        malloc(hex_bytes(images, "build_id") + hex_bytes(memory, "bytes") + 1);
    source.modules = calloc(json_array_size(images) + 1, sizeof(*source.modules));
    source.ranges = calloc(json_array_size(memory) + 1, sizeof(*source.ranges));
    source.annotations =
        calloc(json_object_size(facts) + 1, sizeof(*source.annotations));
    if (source.bytes == NULL || source.modules == NULL || source.ranges == NULL ||
        source.annotations == NULL || facts == NULL)
        return CH_ERR_NO_MEMORY;
    read_modules(images, &source);
    read_ranges(memory, &source);
    read_facts(facts, &source);
    minidump_read_process(report, &source);
    source.contents.threads = source.threads;
    source.contents.modules = source.modules;
    source.contents.ranges = source.ranges;
    source.contents.annotations = source.annotations;
    minidump_read_signal(report, &source.contents);
    return text_ok(&source.arguments) ? minidump_write(&source.contents, out)
                                      : CH_ERR_NO_MEMORY;
}
