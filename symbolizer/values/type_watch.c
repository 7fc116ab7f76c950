// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/values/type_watch.h"

#include <inttypes.h>
#include <string.h>

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

json_t *type_watch_all(struct held_file *held, const struct report_images *images,
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
