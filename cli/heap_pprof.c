// SPDX-License-Identifier: Apache-2.0
//
// Strings, functions and locations are lists, which others refer to by number: strings
// from 0 on, where "" is the first, the others from 1 on.
#include "cli/heap_pprof.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"
#include "upload/bodies/protobuf_json.h"

static const struct protobuf_member value_type_members[] = {
    { "type", 1, PROTOBUF_AS_INT64, NULL },
    { "unit", 2, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member sample_members[] = {
    { "location_id", 1, PROTOBUF_AS_INT64, NULL },
    { "value", 2, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member mapping_members[] = {
    { "id", 1, PROTOBUF_AS_INT64, NULL },
    { "memory_start", 2, PROTOBUF_AS_INT64, NULL },
    { "memory_limit", 3, PROTOBUF_AS_INT64, NULL },
    { "filename", 5, PROTOBUF_AS_INT64, NULL },
    { "build_id", 6, PROTOBUF_AS_INT64, NULL },
    { "has_functions", 7, PROTOBUF_AS_BOOL, NULL },
    { 0 },
};
static const struct protobuf_member line_members[] = {
    { "function_id", 1, PROTOBUF_AS_INT64, NULL },
    { "line", 2, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member location_members[] = {
    { "id", 1, PROTOBUF_AS_INT64, NULL },
    { "mapping_id", 2, PROTOBUF_AS_INT64, NULL },
    { "address", 3, PROTOBUF_AS_INT64, NULL },
    { "line", 4, PROTOBUF_AS_MESSAGE, line_members },
    { 0 },
};
static const struct protobuf_member function_members[] = {
    { "id", 1, PROTOBUF_AS_INT64, NULL },
    { "name", 2, PROTOBUF_AS_INT64, NULL },
    { "filename", 4, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member profile_members[] = {
    { "sample_type", 1, PROTOBUF_AS_MESSAGE, value_type_members },
    { "sample", 2, PROTOBUF_AS_MESSAGE, sample_members },
    { "mapping", 3, PROTOBUF_AS_MESSAGE, mapping_members },
    { "location", 4, PROTOBUF_AS_MESSAGE, location_members },
    { "function", 5, PROTOBUF_AS_MESSAGE, function_members },
    { "string_table", 6, PROTOBUF_AS_STRING, NULL },
    { "period_type", 11, PROTOBUF_AS_MESSAGE, value_type_members },
    { "period", 12, PROTOBUF_AS_INT64, NULL },
    { "default_sample_type", 14, PROTOBUF_AS_INT64, NULL },
    { 0 },
};

struct pprof {
    const json_t *report;
    json_t *root;
    json_t *strings; // number of each, by its text
    json_t *functions;
    json_t *locations; // number of each, by its text
};

void heap_frame_name(const json_t *report, const json_t *frame, struct text *out)
{
    const char *function = report_string(frame, "function");
    const char *offset = report_string(frame, "image_offset");
    const char *image = report_string(report_image(report, frame), "name");
    const char *address = report_string(frame, "address");
    if (function != NULL)
        text_append_string(out, function);
    else if (image != NULL && offset != NULL)
        text_appendf(out, "%s+%s", image, offset);
    else
        text_append_string(out, address != NULL ? address : "?");
}

static json_int_t number_of_string(struct pprof *p, const char *text)
{
    const json_t *known = json_object_get(p->strings, text);
    json_int_t number = (json_int_t)json_object_size(p->strings);
    if (known != NULL)
        return json_integer_value(known);
    (void)json_object_set_new(p->strings, text, json_integer(number));
    (void)json_array_append_new(json_object_get(p->root, "string_table"),
                                json_string(text));
    return number;
}

// pprof_number gives the number of the item with that key. True: it is new.
static bool pprof_number(json_t *numbers, const char *key, json_int_t *out)
{
    const json_t *known = json_object_get(numbers, key);
    *out = known != NULL ? json_integer_value(known)
                         : (json_int_t)json_object_size(numbers) + 1;
    return known == NULL && json_object_set_new(numbers, key, json_integer(*out)) == 0;
}

static void append_to(struct pprof *p, const char *list, json_t *item)
{
    (void)json_array_append_new(json_object_get(p->root, list), item);
}

static json_int_t number_of_function(struct pprof *p, const json_t *frame)
{
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    const char *file = report_string(frame, "file");
    json_int_t number = 0;
    heap_frame_name(p->report, frame, &key);
    if (!text_ok(&key))
        return 0;
    json_int_t name = number_of_string(p, key.bytes);
    text_appendf(&key, "\n%s", file != NULL ? file : "");
    if (text_ok(&key) && pprof_number(p->functions, key.bytes, &number))
        append_to(p, "function",
                  json_pack("{s:I, s:I, s:I}", "id", number, "name", name, "filename",
                            number_of_string(p, file != NULL ? file : "")));
    return number;
}

static json_int_t number_of_location(struct pprof *p, const json_t *frame)
{
    uint64_t address = 0;
    json_int_t number = 0;
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    json_int_t called = number_of_function(p, frame);
    json_int_t at = report_integer(frame, "line", 0);
    (void)report_address(frame, "address", &address);
    text_appendf(&key, "%llx %lld %lld", (unsigned long long)address, (long long)called,
                 (long long)at);
    if (text_ok(&key) && pprof_number(p->locations, key.bytes, &number))
        append_to(p, "location",
                  json_pack("{s:I, s:I, s:I, s:[{s:I, s:I}]}", "id", number,
                            "mapping_id", report_integer(frame, "image", -1) + 1,
                            "address", (json_int_t)address, "line", "function_id",
                            called, "line", at));
    return number;
}

static void add_mappings(struct pprof *p)
{
    const json_t *images = json_object_get(p->report, "images");
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *image = json_array_get(images, i);
        const char *path = report_string(image, "path");
        const char *build_id = report_string(image, "build_id");
        uint64_t start = 0;
        uint64_t end = 0;
        (void)report_address(image, "base", &start);
        (void)report_address(image, "end_of_text", &end);
        append_to(p, "mapping",
                  json_pack("{s:I, s:I, s:I, s:I, s:I, s:b}", "id", (json_int_t)i + 1,
                            "memory_start", (json_int_t)start, "memory_limit",
                            (json_int_t)end, "filename",
                            number_of_string(p, path != NULL ? path : ""), "build_id",
                            number_of_string(p, build_id != NULL ? build_id : ""),
                            "has_functions", 1));
    }
}

static void pprof_add_stack(struct pprof *p, const json_t *stack, double rate)
{
    const json_t *frames = report_frames(stack);
    json_t *locations = json_array();
    double count = rate * (double)report_integer(stack, "count", 0);
    double bytes = rate * (double)report_integer(stack, "bytes", 0);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (report_frame_is_code(frame))
            (void)json_array_append_new(locations,
                                        json_integer(number_of_location(p, frame)));
    }
    append_to(p, "sample",
              json_pack("{s:o, s:[I, I]}", "location_id", locations, "value",
                        (json_int_t)count, (json_int_t)bytes));
}

static json_t *type_of(struct pprof *p, const char *type, const char *unit)
{
    return json_pack("{s:I, s:I}", "type", number_of_string(p, type), "unit",
                     number_of_string(p, unit));
}

static void build(struct pprof *p, double rate)
{
    const json_t *stacks =
        json_object_get(json_object_get(p->report, "heap"), "stacks");
    (void)number_of_string(p, "");
    append_to(p, "sample_type", type_of(p, "inuse_objects", "count"));
    append_to(p, "sample_type", type_of(p, "inuse_space", "bytes"));
    (void)json_object_set_new(p->root, "period_type",
                              type_of(p, "allocations", "count"));
    (void)json_object_set_new(p->root, "period", json_integer((json_int_t)rate));
    (void)json_object_set_new(p->root, "default_sample_type",
                              json_integer(number_of_string(p, "inuse_space")));
    add_mappings(p);
    for (size_t i = 0; i < json_array_size(stacks); i++)
        pprof_add_stack(p, json_array_get(stacks, i), rate);
}

enum ch_status heap_pprof_write(const json_t *report, double rate, struct text *out)
{
    struct pprof p = {
        .report = report,
        .root = json_pack("{s:[], s:[], s:[], s:[], s:[], s:[]}", "sample_type",
                          "sample", "mapping", "location", "function", "string_table"),
        .strings = json_object(),
        .functions = json_object(),
        .locations = json_object(),
    };
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (p.root != NULL && p.strings != NULL && p.functions != NULL &&
        p.locations != NULL) {
        build(&p, rate);
        status = protobuf_write_json(profile_members, p.root, out);
    }
    json_decref(p.root);
    json_decref(p.strings);
    json_decref(p.functions);
    json_decref(p.locations);
    return status;
}
