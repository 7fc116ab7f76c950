// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/minidump_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/core/minidump_core.h"
#include "agent/raw/raw_report.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "collector/requests/collector.h"
#include "collector/symbols/symbol_folder.h"
#include "formats/interchange/minidump.h"
#include "report/file/digest.h"
#include "report/value/report.h"
#include "symbolizer/search/guarded_child.h"

enum { TIMEOUT_MS = 20000 };

// A conversion is what the child works with; nothing of it is freed.
struct conversion {
    const struct minidump_upload *upload;
    struct cursor dump;
    struct minidump parsed;
    json_t *facts;
    json_t *problems;
    json_t *names;                     // of modules, by their paths in the core
    char own[SYMBOL_FOLDER_PATH_SIZE]; // the project's folder of debug files
    const char *made[3];
    struct text raw;
};

static void note_annotation(void *context, const char *name, const char *value)
{
    // What another collector of ours found out is found out again.
    if (strncmp(name, "crashhook_", 10) != 0)
        minidump_body_note(context, name, value);
}

// say_problem is a core_say_fn.
static void say_problem(void *context, const char *format, ...) CH_PRINTF(2, 3);
static void say_problem(void *context, const char *format, ...)
{
    struct conversion *conversion = context;
    va_list arguments;
    va_start(arguments, format);
    json_t *message = json_vsprintf(format, arguments);
    va_end(arguments);
    (void)json_array_append_new(
        conversion->problems,
        json_pack("{s:s, s:o}", "stage", "core", "status", message));
}

// note_module is a minidump_named_fn.
static void note_module(void *context, const char *path, const char *name)
{
    struct conversion *conversion = context;
    (void)json_object_set_new(conversion->names, path, json_string(name));
}

static const char *no_setting(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

// write_dump_id makes the report's id of the dump's time and bytes, so that a dump that
// arrives again is the same report.
static void write_dump_id(const struct conversion *conversion, char out[REPORT_ID_SIZE])
{
    char sum[SHA256_HEX_SIZE];
    const uint64_t ms = (uint64_t)conversion->parsed.time * 1000;
    sha256_hex(conversion->dump.at, cursor_left(&conversion->dump), sum);
    (void)snprintf(out, REPORT_ID_SIZE, "%08x-%04x-7%.3s-8%.3s-%.12s",
                   (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), sum, sum + 3,
                   sum + 6);
}

// write_raw makes the raw report of the core on fd.
static enum ch_status write_raw(struct conversion *conversion, int fd)
{
    char id[REPORT_ID_SIZE];
    struct settings settings;
    struct core_capture *core = calloc(1, sizeof(*core));
    const struct core_options options = {
        .settings = &settings,
        .places = { .sysroot = conversion->upload->symbols, .made = conversion->made },
    };
    if (core == NULL)
        return CH_ERR_NO_MEMORY;
    settings_read(&settings, no_setting, NULL, NULL);
    write_dump_id(conversion, id);
    enum ch_status status = core_capture_open(core, fd, &options);
    return status == CH_OK ? raw_report_write(&core->capture, id, -1, &conversion->raw)
                           : status;
}

// convert_dump makes the raw report of the dump.
static enum ch_status convert_dump(struct conversion *conversion, const char **out_why)
{
    const struct minidump_upload *upload = conversion->upload;
    char own[2 * ENTRY_PROJECT_SIZE];
    const char *const builds[] = { own, "/.build-id", NULL };
    conversion->made[0] =
        symbol_folder_of(upload->symbols, upload->project, conversion->own);
    conversion->made[1] = upload->symbols;
    const struct minidump_places places = { .sysroot = upload->symbols,
                                            .made = conversion->made,
                                            .builds = upload->project[0] != 0
                                                          ? builds
                                                          : builds + 1,
                                            .named = note_module,
                                            .say = say_problem,
                                            .context = conversion };
    const void *bytes = conversion->dump.at;
    size_t size = cursor_left(&conversion->dump);
    int core;
    int fd = memfd_create("minidump", MFD_CLOEXEC);
    (void)snprintf(own, sizeof(own), "/projects/%s/.build-id", upload->project);
    enum ch_status status = minidump_open(&conversion->parsed, bytes, size, out_why);
    if (status != CH_OK)
        return status;
    minidump_annotations(&conversion->parsed, note_annotation, conversion->facts);
    if (fd < 0 || !file_write_all(fd, bytes, size))
        return CH_ERR_NO_MEMORY;
    status = minidump_to_core(fd, &places, &core, out_why);
    return status == CH_OK ? write_raw(conversion, core) : status;
}

// restore_paths replaces paths of the core, in what is not a thread, by those that the
// modules have in the dump.
// NOLINTNEXTLINE(misc-no-recursion): our own report is not deep
static void restore_paths(const struct conversion *conversion, json_t *in)
{
    const char *key;
    json_t *value;
    void *next;
    size_t i;
    json_object_foreach_safe(in, next, key, value)
    {
        const json_t *name =
            json_object_get(conversion->names, json_string_value(value));
        if (name != NULL)
            (void)json_object_set(in, key, (json_t *)(uintptr_t)name);
        else if (strcmp(key, "threads") != 0)
            restore_paths(conversion, value);
    }
    json_array_foreach(in, i, value)
    {
        restore_paths(conversion, value);
    }
}

static void restore_names(json_t *report)
{
    size_t i;
    json_t *image;
    json_array_foreach(json_object_get(report, "images"), i, image)
    {
        const char *path = report_string(image, "path");
        if (path != NULL)
            (void)json_object_set_new(image, "name", json_string(file_name(path)));
    }
}

// send_answer writes the report, or why there is none.
static enum ch_status send_answer(int to_parent, enum ch_status status,
                                  const struct text *text)
{
    return file_write_all(to_parent, text->bytes, text->size) ? status : CH_ERR_IO;
}

// make_report is a guarded_child_fn.
static enum ch_status make_report(void *context, int to_parent)
{
    const struct minidump_upload *upload = context;
    struct conversion conversion = { .upload = upload,
                                     .facts = json_object(),
                                     .problems = json_array(),
                                     .names = json_object() };
    struct report_error error;
    struct text text = { 0 };
    const char *why = "the report could not be made";
    json_t *report;
    // The store's files and other clients' connections stay out of reach.
    if (to_parent > STDERR_FILENO + 1)
        (void)syscall(SYS_close_range, STDERR_FILENO + 1, to_parent - 1, 0);
    (void)syscall(SYS_close_range, to_parent + 1, ~0U, 0);
    confine_reader();
    enum ch_status status =
        minidump_body_read(upload->form, upload->body->bytes, upload->body->size,
                           conversion.facts, &conversion.dump, &why);
    if (status == CH_OK)
        status = convert_dump(&conversion, &why);
    if (status == CH_OK)
        status =
            report_parse(conversion.raw.bytes, conversion.raw.size, &report, &error);
    if (status == CH_OK) {
        restore_paths(&conversion, report);
        restore_names(report);
        (void)json_object_update(report, conversion.facts);
        (void)json_array_extend(json_object_get(report, "problems"),
                                conversion.problems);
        status = report_update_fingerprint(report);
    }
    if (status == CH_OK)
        status = report_print_kept(report, &text);
    if (status != CH_OK) {
        text_clear(&text);
        text_append_string(&text, why);
    }
    return send_answer(to_parent, status, &text);
}

enum ch_status minidump_report_make(const struct minidump_upload *upload,
                                    struct text *out)
{
    struct minidump_upload copy = *upload;
    out->limit_bytes = COLLECTOR_DECODED_MAX;
    return guarded_child_run(make_report, &copy, guarded_child_now_ms() + TIMEOUT_MS,
                             out);
}
