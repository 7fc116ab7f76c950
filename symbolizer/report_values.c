// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/symbolizer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/file/held_file.h"
#include "report/file/report_tree.h"
#include "report/summary/crash_kind.h"
#include "report/summary/crash_words.h"
#include "symbolizer/argument_report.h"
#include "symbolizer/fault/code_listing.h"
#include "symbolizer/flight_names.h"
#include "symbolizer/report_frames.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/search/report_images.h"
#include "symbolizer/types/type_image.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/values/type_value.h"

// watching is the state of all lookups. The last image stays open, as most watches are
// of the same one.
struct watching {
    const struct symbolizer_options *options;
    const struct report_images *images;
    const struct held_file *held;
    struct memory_reader memory;
    uint32_t opened; // an index of images, or REPORT_NO_IMAGE
    struct type_image image;
};

// watch_open_image opens the types of image index, if it has any.
static void watch_open_image(struct watching *w, uint32_t index)
{
    char buffers[2][PATH_MAX];
    struct debug_search search = symbolizer_options_search(w->options);
    if (w->opened == index)
        return;
    type_image_close(&w->image);
    w->opened = index;
    if (index == REPORT_NO_IMAGE)
        return;
    const struct report_image *from = &w->images->items[index];
    (void)!type_image_open(&w->image,
                           symbolizer_options_path(w->options, from->path, buffers),
                           &from->id, &search);
}

static json_t *watch_name_of(const struct type_table *table, uint32_t index)
{
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    if (type_name(table, index, &name) != CH_OK)
        return json_null();
    json_t *value = json_stringn(name.bytes, name.size);
    return value != NULL ? value : json_null();
}

// candidates_of lists the types of the wanted name: their sizes show which is outdated,
// their units which is ambiguous.
static json_t *candidates_of(const struct type_table *table,
                             const struct type_search *search)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < search->candidate_count; i++) {
        const struct type *type = &table->types[search->candidates[i]];
        uint64_t size = 0;
        (void)!type_size(table, search->candidates[i], &size);
        json_t *one = json_pack("{s:I}", "size", (json_int_t)size);
        if (type->unit != NULL)
            (void)json_object_set_new(one, "unit", json_string(type->unit));
        (void)json_array_append_new(all, one);
    }
    return all;
}

// watch_add_value looks up the type of a watch and adds its value, or why there is
// none.
static void watch_add_value(struct watching *w, const struct held_watch *watch,
                            json_t *out)
{
    uint32_t index = report_images_at(w->images, watch->caller);
    struct type_search search = { .name = watch->type, .size = watch->size };
    enum type_match match = TYPE_NO_TYPES;
    uint8_t first;
    watch_open_image(w, index);
    if (index != REPORT_NO_IMAGE) {
        search.vaddr =
            watch->caller - 1 - w->images->items[index].base + w->image.linked_base;
        match = type_image_find(&w->image, &search);
    }
    if (memory_read(&w->memory, watch->address, &first, sizeof(first)) != CH_OK) {
        (void)json_object_set_new(out, "reason", json_string("unreadable"));
        return;
    }
    if (match != TYPE_MATCHED) {
        (void)json_object_set_new(out, "reason", json_string(type_match_reason(match)));
        if (match == TYPE_OTHER_SIZE || match == TYPE_AMBIGUOUS)
            (void)json_object_set_new(out, "candidates",
                                      candidates_of(&w->image.table, &search));
        return;
    }
    const struct type_value how = {
        .table = &w->image.table,
        .memory = &w->memory,
        .dwarf = w->image.dwarf != NULL ? &w->image.dwarf_types : NULL,
        .held = w->held,
        .home = w->options->home,
        .sanitize = w->options->sanitize,
        .pointers = TYPE_VALUE_POINTERS,
        .cut = watch->cut != HELD_WHOLE,
        .known_from = watch->address,
        .known_to = watch->cut == HELD_CUT_BEYOND ? watch->address + watch->size
                                                  : watch->address
    };
    (void)json_object_set_new(out, "source",
                              json_string(type_source_name(w->image.source)));
    (void)json_object_set_new(out, "type",
                              watch_name_of(&w->image.table, search.found));
    json_t *value = type_value_make(&how, search.found, watch->address, watch->name);
    if (value != NULL)
        (void)json_object_set_new(out, "value", value);
}

// watch_string_of gives what the program passed, if it is text.
static json_t *watch_string_of(const char *bytes)
{
    json_t *value = json_string(bytes);
    return value != NULL ? value : json_string("?");
}

static json_t *watch_value(struct watching *w, const struct held_watch *watch)
{
    json_t *out = json_pack(
        "{s:o, s:o, s:o, s:I}", "name", watch_string_of(watch->name), "type",
        watch_string_of(watch->type), "address",
        json_sprintf("0x%" PRIx64, watch->address), "size", (json_int_t)watch->size);
    if (out == NULL)
        return NULL;
    if (watch->cut != HELD_WHOLE)
        (void)json_object_set_new(out, "cut", json_true());
    watch_add_value(w, watch, out);
    return out;
}

// type_watch_all gives the report's member `watches` as a new array. NULL: out of
// memory.
static json_t *type_watch_all(struct held_file *held,
                              const struct report_images *images,
                              const struct symbolizer_options *options)
{
    struct watching w = { .options = options,
                          .images = images,
                          .held = held,
                          .memory = held_file_reader(held),
                          .opened = REPORT_NO_IMAGE };
    json_t *all = json_array();
    for (size_t i = 0; all != NULL && i < held->watch_count; i++)
        (void)json_array_append_new(all, watch_value(&w, &held->watches[i]));
    type_image_close(&w.image);
    return all;
}

// RESULT_MAX limits the size of a child's answer.
#define RESULT_MAX ((size_t)64 << 20)

struct values {
    const struct symbolizer_options *options;
    const json_t *report;
    struct held_file held;
    struct report_images images;
};

// write_made_values is a guarded_child_fn.
static enum ch_status write_made_values(void *context, int to_parent)
{
    struct values *values = context;
    json_t *watches = type_watch_all(&values->held, &values->images, values->options);
    struct argument_report_result found = { 0 };
    if (values->options->arguments)
        argument_report_all(values->report, &values->held, &values->images,
                            values->options, &found);
    else
        found.all = json_array();
    json_t *all =
        json_pack("{s:o, s:o, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:s*}", "watches",
                  watches, "arguments", found.all, "registers", found.registers,
                  "fault", found.fault, "message", found.message, "code", found.code,
                  "symbols", found.symbols, "missing", found.missing, "cut", found.cut);
    // The child ends here without freeing anything, as its parent is waiting for the
    // end.
    return all != NULL ? guarded_child_answer(all, to_parent) : CH_ERR_NO_MEMORY;
}

// is_watches checks the child's answer: a child that read a malicious file is not
// trusted.
static bool is_watches(const json_t *watches)
{
    bool right = json_is_array(watches);
    for (size_t i = 0; i < json_array_size(watches); i++) {
        const json_t *watch = json_array_get(watches, i);
        right = right && json_is_string(json_object_get(watch, "name")) &&
                json_is_string(json_object_get(watch, "address")) &&
                json_is_integer(json_object_get(watch, "size"));
    }
    return right;
}

// settle_kind makes an access through an index, or far from null, the null dereference
// that it is: without the pointer's name, its address is just a number.
static void settle_kind(json_t *crash, const json_t *fault)
{
    enum {
        FAR_MEMBER_BYTES = 16 << 20,
        NEAR_ELEMENT_BYTES = 65536
    }; // as in diagnosis_access.c
    enum crash_kind kind = crash_words_kind(crash);
    const json_t *value = json_object_get(fault, "value");
    uint64_t address;
    if ((kind == CRASH_KIND_UNKNOWN || kind == CRASH_KIND_SMALL_POINTER) &&
        json_is_null(value) && report_address(crash, "address", &address) &&
        (address < FAR_MEMBER_BYTES || address >= (uint64_t)-NEAR_ELEMENT_BYTES))
        crash_words_set_kind(crash, CRASH_KIND_NULL_DEREFERENCE);
    if (kind == CRASH_KIND_DIVIDE_BY_ZERO && json_is_integer(value) &&
        json_integer_value(value) != 0)
        crash_words_set_kind(crash, CRASH_KIND_DIVISION_OVERFLOW);
}

// is_fault_origin checks what the child says of where the bad value came from.
static bool is_fault_origin(const json_t *origin)
{
    static const char *const texts[] = { "register", "address", "member", "variable",
                                         "file" };
    const char *kind = report_string(origin, "kind");
    const json_t *offset = json_object_get(origin, "offset");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const json_t *text = json_object_get(origin, texts[i]);
        if (text != NULL && (!json_is_string(text) || json_string_length(text) == 0))
            return false;
    }
    return kind != NULL &&
           (offset == NULL ||
            (json_is_integer(offset) && json_integer_value(offset) >= 0)) &&
           report_integer(origin, "line", 1) > 0 &&
           (strcmp(kind, "null-offset") == 0 || strcmp(kind, "freed-stack") == 0 ||
            strcmp(kind, "freed-chunk") == 0 || strcmp(kind, "truncated") == 0);
}

// take_origin adds where the bad value came from, unless its form has told: then only
// the member that was accessed is added.
static void take_origin(json_t *crash, json_t *origin)
{
    json_t *known = json_object_get(crash, "provenance");
    enum crash_kind kind = crash_words_kind(crash);
    bool null = strcmp(report_string(origin, "kind"), "null-offset") == 0;
    if (null && kind != CRASH_KIND_NULL_DEREFERENCE)
        return;
    const char *known_kind = report_string(known, "kind");
    bool same =
        known_kind != NULL && strcmp(known_kind, report_string(origin, "kind")) == 0;
    bool cut = strcmp(report_string(origin, "kind"), "truncated") == 0;
    if (!same && cut && (known != NULL || kind != CRASH_KIND_UNKNOWN))
        return; // of a small number nothing was cut
    if (known == NULL && null && report_integer(origin, "offset", 0) == 0)
        return;
    if (known == NULL) {
        (void)json_object_set_new(origin, "confidence", json_string("proved"));
        (void)json_object_set(crash, "provenance", origin);
    } else if (same) {
        // The register is what the link leads to, and what is named the link itself.
        if (json_object_get(origin, "offset") == NULL &&
            json_object_del(known, "offset") == 0)
            (void)json_object_del(known, "register");
        (void)json_object_update_missing(known, origin);
    }
}

// take_fault adds the variable at fault to the crash, and words that anew.
static enum ch_status take_fault(json_t *report, json_t *fault)
{
    json_t *crash = json_object_get(report, "crash");
    json_t *origin = json_object_get(fault, "origin");
    bool named = json_object_get(fault, "expression") != NULL;
    uint64_t target;
    // A call of free that found an error ends the program by an access of its own,
    // whose address is no value of the program's.
    if (fault == NULL ||
        json_object_get(json_object_get(crash, "heap"), "found_by") != NULL)
        return CH_OK;
    json_t *nearest = json_object_get(fault, "nearest");
    if ((named && !crash_words_is_variable(fault)) || !json_is_object(crash) ||
        (nearest != NULL && !crash_words_is_nearest(nearest)) ||
        (origin != NULL && !is_fault_origin(origin)))
        return CH_ERR_MALFORMED;
    char *begun = crash_words_begun(report);
    settle_kind(crash, fault);
    if (origin != NULL)
        take_origin(crash, origin);
    if (report_address(fault, "target", &target) &&
        json_object_get(crash, "target") == NULL)
        (void)json_object_set_new(crash, "target",
                                  json_pack("{s:s, s:O}", "by", "branch", "address",
                                            json_object_get(fault, "target")));
    if (nearest != NULL)
        (void)json_object_set(crash, "nearest", nearest);
    (void)json_object_del(fault, "nearest");
    (void)json_object_del(fault, "origin");
    (void)json_object_del(fault, "target");
    if (named)
        (void)json_object_set(crash, "variable", fault);
    crash_words_renew(report, begun);
    free(begun);
    return CH_OK;
}

// take_code adds the disassembly around the crash, and the names of what registers
// point to.
static enum ch_status take_code(json_t *report, json_t *code, const json_t *symbols)
{
    json_t *crash = json_object_get(report, "crash");
    const json_t *pointers = json_object_get(crash, "pointers");
    if ((code != NULL && !code_listing_is_code(code)) || !json_is_object(crash))
        return code == NULL && symbols == NULL ? CH_OK : CH_ERR_MALFORMED;
    if (code != NULL)
        (void)json_object_set(crash, "disassembly", code);
    for (size_t i = 0; i < json_array_size(pointers); i++) {
        const json_t *symbol = json_array_get(symbols, i);
        json_t *pointer = json_array_get(pointers, i);
        json_t *name = json_object_get(symbol, "symbol");
        int64_t offset = report_integer(symbol, "offset", -1);
        if (!json_is_string(name) || json_string_length(name) == 0 || offset < 0)
            continue;
        (void)json_object_set(pointer, "symbol", name);
        (void)json_object_set_new(pointer, "symbol_offset", json_integer(offset));
    }
    return CH_OK;
}

// take_message adds what a library said when it ended the program, unless that is known
// from the library itself.
static enum ch_status take_message(json_t *report, json_t *message)
{
    json_t *crash = json_object_get(report, "crash");
    enum crash_kind kind = crash_words_kind(crash);
    if (message != NULL &&
        (!json_is_string(message) || json_string_length(message) == 0))
        return CH_ERR_MALFORMED;
    if (message != NULL && (kind == CRASH_KIND_ABORT || kind == CRASH_KIND_TRAP) &&
        json_object_get(crash, "message") == NULL) {
        char *begun = crash_words_begun(report);
        bool failed = kind == CRASH_KIND_ABORT &&
                      crash_message_is_assertion(json_string_value(message));
        (void)json_object_set(crash, "message", message);
        if (failed)
            crash_words_set_kind(crash, CRASH_KIND_ASSERTION);
        crash_words_renew(report, failed ? NULL : begun);
        free(begun);
    }
    return CH_OK;
}

static void add_value_problem(json_t *report, const char *status)
{
    json_t *problems = json_object_get(report, "problems");
    json_t *problem = json_pack("{s:s, s:s}", "stage", "values", "status", status);
    (void)json_array_append_new(problems, problem);
}

// take_cut reports in the report's problems which budget was used up.
static void take_cut(json_t *report, const json_t *cut)
{
    static const char *const budgets[][2] = {
        { "calls", "variables are left out of the frames past the first 4,096" },
        { "time", "variables are left out of some frames: they took too long" },
        { "memory",
          "variables are left out of some frames: they took too much memory" },
    };
    for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++)
        if (json_is_string(cut) && strcmp(json_string_value(cut), budgets[i][0]) == 0)
            add_value_problem(report, budgets[i][1]);
}

// take_missing notes which debug information was not found.
static void take_missing(json_t *report, const json_t *missing)
{
    const json_t *images = json_object_get(report, "images");
    json_t *problems = json_object_get(report, "problems");
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const json_t *one = json_array_get(missing, i);
        int64_t image = report_integer(one, "image", -1);
        const char *status = report_string(one, "status");
        if (image >= 0 && status != NULL)
            (void)json_array_append_new(
                problems,
                json_pack(
                    "{s:s, s:s, s:s*}", "stage", "values", "status", status, "image",
                    report_string(json_array_get(images, (size_t)image), "path")));
    }
}

static enum ch_status take_made_values(json_t *report, const struct text *result)
{
    json_t *all = guarded_child_read(result);
    json_t *watches = json_object_get(all, "watches");
    bool right = is_watches(watches);
    if (right && json_array_size(watches) != 0)
        (void)json_object_set(report, "watches", watches);
    enum ch_status status = right ? CH_OK : CH_ERR_MALFORMED;
    if (right)
        status = argument_report_write(report, json_object_get(all, "arguments"));
    if (status == CH_OK)
        status =
            argument_report_write_registers(report, json_object_get(all, "registers"));
    if (status == CH_OK)
        status = take_fault(report, json_object_get(all, "fault"));
    if (status == CH_OK)
        status = take_message(report, json_object_get(all, "message"));
    if (status == CH_OK)
        status = take_code(report, json_object_get(all, "code"),
                           json_object_get(all, "symbols"));
    if (status == CH_OK)
        take_cut(report, json_object_get(all, "cut"));
    if (status == CH_OK)
        take_missing(report, json_object_get(all, "missing"));
    json_decref(all);
    return status;
}

void report_values_add(json_t *report, const struct symbolizer_options *options,
                       const void *held, size_t size)
{
    uint32_t timeout_ms =
        options->timeout_ms != 0 ? options->timeout_ms : SYMBOLIZER_TIMEOUT_MS;
    struct values values = { .options = options, .report = report };
    struct text CH_CLEANUP(text_deinit) result = { .limit_bytes = RESULT_MAX };
    enum ch_status status = held_file_init(&values.held, held, size);
    if (status == CH_OK)
        status = report_images_read(&values.images, report);
    if (status == CH_OK && (values.held.watch_count != 0 || options->arguments)) {
        int64_t deadline_ms = guarded_child_now_ms() + timeout_ms / 2;
        status = guarded_child_run(write_made_values, &values, deadline_ms, &result);
        if (status == CH_OK)
            status = take_made_values(report, &result);
    }
    if (status != CH_OK)
        add_value_problem(report, ch_status_name(status));
    if (options->arguments)
        flight_arguments_add(report);
    report_images_deinit(&values.images);
    held_file_deinit(&values.held);
}
