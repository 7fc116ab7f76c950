// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/entry_marks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/grouping/report_in_app.h"
#include "report/summary/readable_name.h"
#include "report/value/report.h"

enum {
    MARK_VALUE_SIZE = 160,
    FRAMES_MARKED = 48,
    FILES_MARKED = 24,
    LINES_MARKED = 2, // of in-app frames
    BUILDS_MARKED = 16,
    ARGUMENTS_FROM = 4, // of the innermost in-app frames
    FREED_IN = 8,       // the same, of the stack that freed a block
    NULL_PAGE = 0x10000,
    FUNCTION_SHORTENED = 1000, // longest name that is shortened
};

static uint32_t left_out; // a bit for each kind

void entry_marks_leave_out(enum store_facet kind)
{
    left_out |= UINT32_C(1) << kind;
}

bool entry_marks_lack(enum store_facet kind)
{
    return (left_out >> kind & 1) != 0;
}

const char *entry_next_mark(const struct entry *entry, const char *mark)
{
    const char *next = mark == NULL ? entry->marks : mark + strlen(mark) + 1;
    return next < entry->marks + entry->marks_size ? next : NULL;
}

int entry_mark_kind(const char *mark)
{
    return (mark[0] - '0') * 10 + (mark[1] - '0');
}

// marks_put adds a value once, and returns whether the entry has it now.
static bool marks_put(struct entry *entry, enum store_facet kind, const char *value)
{
    char mark[ENTRY_MARK_VALUE + MARK_VALUE_SIZE] = { (char)('0' + kind / 10),
                                                      (char)('0' + kind % 10),
                                                      ENTRY_MARK_BLANK };
    if (value == NULL || value[0] == 0)
        return false;
    entry_copy(mark + ENTRY_MARK_VALUE, MARK_VALUE_SIZE, value);
    for (const char *had = entry_next_mark(entry, NULL); had != NULL;
         had = entry_next_mark(entry, had)) {
        if (had[0] == mark[0] && had[1] == mark[1] && strcmp(had, mark) == 0)
            return true;
    }
    size_t size = strlen(mark) + 1;
    if (size > sizeof(entry->marks) - entry->marks_size)
        return false;
    memcpy(entry->marks + entry->marks_size, mark, size);
    entry->marks_size += size;
    return true;
}

static bool marks_add(struct entry *entry, enum store_facet kind, const char *value)
{
    return !entry_marks_lack(kind) && marks_put(entry, kind, value);
}

// short_function appends a function's name without its parameters, or as it is where
// it is so long that shortening would take its time.
static void short_function(const char *function, struct text *out)
{
    if (strlen(function) <= FUNCTION_SHORTENED)
        readable_name_short(function, out);
    if (out->size == 0)
        text_append(out, function, strnlen(function, MARK_VALUE_SIZE));
}

static void mark_function(struct entry *entry, enum store_facet kind,
                          const char *function)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    short_function(function, &name);
    if (text_ok(&name) && name.size != 0)
        marks_add(entry, kind, name.bytes);
}

// plain_path writes a path without "." and without folders that ".." leaves, so that
// one file has one name. It ends before a folder or name that does not fit.
static void plain_path(const char *path, char out[MARK_VALUE_SIZE])
{
    size_t size = path[0] == '/' ? 1 : 0;
    size_t kept = size; // what no ".." leaves
    out[0] = '/';
    for (size_t length; path[0] != 0; path += path[length] != 0 ? length + 1 : length) {
        length = strcspn(path, "/");
        bool up = length == 2 && memcmp(path, "..", 2) == 0;
        if (length == 0 || (length == 1 && path[0] == '.'))
            continue;
        if (up && size > kept) {
            while (size > kept && out[size - 1] != '/')
                size--;
            size -= size > kept ? 1 : 0;
            continue;
        }
        if (size + length + 2 > MARK_VALUE_SIZE)
            break;
        if (size != 0 && out[size - 1] != '/')
            out[size++] = '/';
        memcpy(out + size, path, length);
        size += length;
        kept = up ? size : kept;
    }
    out[size] = 0;
}

// mark_line marks a file with the line, as it stands in compilers' messages.
static void mark_line(const json_t *frame, const char *file, struct entry *entry)
{
    char place[MARK_VALUE_SIZE];
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    int length = snprintf(place, sizeof(place), "%s:%lld", file, (long long)line);
    if (line > 0 && (size_t)length < sizeof(place) && !entry_marks_lack(FACET_LINE))
        marks_put(entry, FACET_FILE, place);
}

static void mark_frames(const json_t *report, const json_t *frames, struct entry *entry)
{
    size_t i;
    json_t *frame;
    size_t named = 0;
    size_t files = 0;
    size_t builds = 0;
    size_t lines = 0;
    json_array_foreach(frames, i, frame)
    {
        if (i > 0 && report_same_place(json_array_get(frames, i - 1), frame))
            continue;
        const char *function = report_string(frame, "function");
        const char *path = report_string(frame, "file");
        const json_t *image = report_image(report, frame);
        char file[MARK_VALUE_SIZE];
        if (path != NULL)
            plain_path(path, file);
        if (function != NULL && named++ < FRAMES_MARKED)
            mark_function(entry, FACET_FRAME, function);
        if (path != NULL && files++ < FILES_MARKED)
            marks_add(entry, FACET_FILE, file);
        if (path != NULL && lines < LINES_MARKED &&
            !report_frame_is_system(report, frame)) {
            mark_line(frame, file, entry);
            lines++;
        }
        if (image != NULL && builds++ < BUILDS_MARKED)
            marks_add(entry, FACET_BUILD, report_string(image, "build_id"));
    }
}

// is_nothing is true for a value that is null or zero, however it is spelled.
static bool is_nothing(const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_integer(value))
        return json_integer_value(value) == 0;
    return text != NULL && (strcasecmp(text, "null") == 0 || strcmp(text, "0") == 0 ||
                            strcmp(text, "0x0") == 0 || strcmp(text, "nullptr") == 0);
}

// is_nothing_passed is true for an argument with a name that is null or zero.
static bool is_nothing_passed(const json_t *argument)
{
    return is_nothing(json_object_get(argument, "value")) &&
           report_string(argument, "name") != NULL;
}

static void mark_nothings(const char *function, const json_t *arguments,
                          struct entry *entry)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const json_t *argument = json_array_get(arguments, i);
        char value[MARK_VALUE_SIZE];
        if (!is_nothing_passed(argument))
            continue;
        if (name.size == 0)
            short_function(function, &name);
        if (!text_ok(&name) || name.size == 0)
            return;
        snprintf(value, sizeof(value), "%.40s = 0 in %.100s",
                 report_string(argument, "name"), name.bytes);
        marks_add(entry, FACET_ARGUMENT, value);
    }
}

static bool has_nothings(const json_t *frame)
{
    const json_t *arguments = json_object_get(frame, "arguments");
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        if (is_nothing_passed(json_array_get(arguments, i)))
            return true;
    }
    return false;
}

// count_to_nothings is the number of frames up to the last one that was passed nothing.
static size_t count_to_nothings(const json_t *frames)
{
    size_t count = json_array_size(frames);
    while (count > 0 && !has_nothings(json_array_get(frames, count - 1)))
        count--;
    return count;
}

// mark_arguments marks the arguments of in-app frames that are null or zero: other
// values differ from crash to crash.
static void mark_arguments(const json_t *report, const json_t *frames,
                           struct entry *entry)
{
    size_t count = count_to_nothings(frames);
    size_t own = 0;
    for (size_t i = 0; i < count && own < ARGUMENTS_FROM; i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        if (function == NULL || report_frame_is_system(report, frame))
            continue;
        mark_nothings(function, json_object_get(frame, "arguments"), entry);
        own++;
    }
}

// mark_freed marks the in-app functions in which the misused block was freed.
static void mark_freed(const json_t *report, const json_t *crash, struct entry *entry)
{
    const json_t *heap = json_object_get(crash, "heap");
    const json_t *frames = report_frames(json_object_get(heap, "freed"));
    size_t marked = 0;
    for (size_t i = 0; i < json_array_size(frames) && marked < FREED_IN; i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        if (function == NULL || report_frame_is_system(report, frame))
            continue;
        mark_function(entry, FACET_FREED_IN, function);
        marked++;
    }
}

static void mark_registers(const json_t *thread, struct entry *entry)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(thread, "registers"), name, value)
    {
        char text[32];
        if (strcmp(name, "eflags") == 0 || !is_nothing(value))
            continue;
        snprintf(text, sizeof(text), "%.16s = 0", name);
        marks_add(entry, FACET_REGISTER, text);
    }
}

static bool is_all_text(uint64_t address)
{
    for (int i = 0; i < 8; i++, address >>= 8) {
        if (!isprint((int)(address & 0xff)))
            return false;
    }
    return true;
}

// mark_address marks what sort of address it was.
static void mark_address(const json_t *crash, struct entry *entry)
{
    const char *text = report_string(crash, "address");
    if (text == NULL)
        return;
    uint64_t address = strtoull(text, NULL, 16);
    uint64_t top = address >> 47;
    marks_add(entry, FACET_ADDRESS,
              address < NULL_PAGE    ? "near null"
              : is_all_text(address) ? "text"
              : top == 0x1ffff       ? "the kernel's half"
              : top != 0             ? "non-canonical"
              : address >> 32 == 0   ? "below 4 GiB"
                                     : "a user address");
}

// bucket is a range of values that counts as one.
struct bucket {
    int64_t below;
    const char *name;
};

static void mark_bucket(struct entry *entry, enum store_facet kind,
                        const struct bucket *buckets, int64_t value)
{
    while (buckets->below != 0 && value >= buckets->below)
        buckets++;
    marks_add(entry, kind, buckets->name);
}

static void mark_uptime(const json_t *process, struct entry *entry)
{
    static const struct bucket uptimes[] = {
        { 1000, "under 1 s" },       { 60000, "1 s to 1 min" },
        { 3600000, "1 min to 1 h" }, { 86400000, "1 h to 1 day" },
        { 0, "over 1 day" },
    };
    int64_t ms = report_integer(process, "uptime_ms", -1);
    if (ms >= 0)
        mark_bucket(entry, FACET_UPTIME, uptimes, ms);
}

static void mark_depth(const json_t *frames, struct entry *entry)
{
    static const struct bucket depths[] = {
        { 100, "under 100 frames" },
        { 1000, "100 to 1,000 frames" },
        { 9000, "1,000 to 9,000 frames" },
        { 0, "over 9,000 frames" },
    };
    int64_t depth = 0;
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame)
    {
        int64_t count = report_integer(frame, "count", 1);
        depth += count > 0 && count < INT32_MAX ? count : 1;
    }
    if (depth != 0)
        mark_bucket(entry, FACET_DEPTH, depths, depth);
}

// mark_thread marks the thread's name with `#` for each run of digits: the threads of a
// pool count as one.
static void mark_thread(const json_t *thread, struct entry *entry)
{
    const char *name = report_string(thread, "name");
    char out[64];
    size_t size = 0;
    while (name != NULL && *name != 0 && size < sizeof(out) - 1) {
        size_t digits = strspn(name, "0123456789");
        out[size++] = digits != 0 ? '#' : *name;
        name += digits != 0 ? digits : 1;
    }
    out[size] = 0;
    char cut[sizeof(out)];
    entry_copy(cut, sizeof(cut), out);
    marks_add(entry, FACET_THREAD, cut);
}

static void mark_host(const json_t *host, struct entry *entry)
{
    char processor[80];
    const char *arch = report_string(host, "arch");
    int64_t cpus = report_integer(host, "cpus", 0);
    marks_add(entry, FACET_KERNEL, report_string(host, "kernel"));
    if (arch == NULL || cpus <= 0)
        return;
    snprintf(processor, sizeof(processor), "%.40s, %" PRId64 " cpus", arch, cpus);
    marks_add(entry, FACET_PROCESSOR, processor);
}

void entry_marks_from_report(const json_t *report, struct entry *entry)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *thread = report_crashed_thread(report);
    const json_t *frames = report_frames(thread);
    entry->marks_size = 0;
    marks_add(entry, FACET_KIND, report_string(crash, "kind"));
    marks_add(entry, FACET_MESSAGE, report_string(crash, "message"));
    // The facts come first: they are few, and frames fill what room there is.
    mark_host(json_object_get(report, "host"), entry);
    mark_uptime(json_object_get(report, "process"), entry);
    mark_thread(thread, entry);
    mark_address(crash, entry);
    mark_depth(frames, entry);
    mark_registers(thread, entry);
    mark_arguments(report, frames, entry);
    mark_freed(report, crash, entry);
    mark_frames(report, frames, entry);
}
