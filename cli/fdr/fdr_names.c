// SPDX-License-Identifier: Apache-2.0
#include "cli/fdr/fdr_names.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/fdr/fdr_export.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr_functions.h"
#include "report/value/report.h"
#include "symbolizer/names/symbol_image.h"

enum { NOTED_MAX = 1 << 18, NOTED_NAME_MAX = 4096 };

// A names_object is the functions of one file, by their ids.
struct names_object {
    struct symbol_image *image;
    uint64_t *vaddrs;   // of function 1, 2, ...
    const char **names; // looked up when first needed; "" where there is none
    size_t count;
};

struct fdr_names {
    struct names_object *objects[FDR_OBJECTS_MAX]; // NULL: none was given
    json_t *noted;                                 // names by id, in decimal
};

static void names_object_destroy(struct names_object *object)
{
    if (object == NULL)
        return;
    symbol_image_close(object->image);
    free(object->vaddrs);
    free(object->names);
    free(object);
}

void fdr_names_close(struct fdr_names *names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < FDR_OBJECTS_MAX; i++)
        names_object_destroy(names->objects[i]);
    json_decref(names->noted);
    free(names);
}

static enum ch_status names_read_map(struct names_object *object,
                                     const struct text *data)
{
    struct elf_view elf;
    struct fdr_functions functions;
    size_t capacity = 0;
    uint64_t vaddr = 0;
    enum ch_status status = elf_view_init(&elf, data->bytes, data->size);
    if (status == CH_OK)
        status = fdr_functions_init(&functions, &elf);
    while (status == CH_OK &&
           (status = fdr_functions_next(&functions, &vaddr)) == CH_OK) {
        if (!array_reserve(&object->vaddrs, &capacity, object->count,
                           sizeof(*object->vaddrs)))
            return CH_ERR_NO_MEMORY;
        object->vaddrs[object->count++] = vaddr;
    }
    if (status != CH_END)
        return status;
    object->names = calloc(object->count + 1, sizeof(*object->names));
    return object->names != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

// names_add_object reads the functions of an ELF file; what is "PATH" or "N=PATH".
static enum ch_status names_add_object(struct fdr_names *names, const char *what)
{
    static const struct build_id any_build = { .size = 0 };
    static const struct debug_search search = { 0 };
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    char *after = NULL;
    unsigned long number = strtoul(what, &after, 10);
    bool numbered = after != what && *after == '=' && number < FDR_OBJECTS_MAX;
    const char *path = numbered ? after + 1 : what;
    struct names_object **place = &names->objects[numbered ? number : 0];
    enum ch_status status = command_read_file(path, &data);
    if (status != CH_OK)
        return status;
    names_object_destroy(*place);
    *place = calloc(1, sizeof(**place));
    status = *place != NULL ? names_read_map(*place, &data) : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = symbol_image_open(&(*place)->image, path, &any_build, &search, true);
    if (status == CH_ERR_NOT_FOUND)
        command_fail("'%s' has no XRay instrumentation map", path);
    else if (status != CH_OK)
        command_fail("cannot read the functions of '%s': %s", path,
                     ch_status_name(status));
    return status;
}

// names_set keeps a function's name; of one that has none, the place in its image.
static void names_set(struct fdr_names *names, uint32_t id, const json_t *function)
{
    char key[16];
    const char *name = report_string(function, "function");
    const char *image = report_string(function, "image");
    const char *offset = report_string(function, "image_offset");
    const char *address = report_string(function, "address");
    json_t *value = NULL;
    snprintf(key, sizeof(key), "%" PRIu32, id);
    if (json_object_size(names->noted) >= NOTED_MAX)
        return;
    if (name != NULL)
        value = json_string(name);
    else if (image != NULL && offset != NULL)
        value = json_sprintf("%s+%s", image, offset);
    else if (address != NULL)
        value = json_string(address);
    if (value != NULL)
        (void)json_object_set_new(names->noted, key, value);
}

static void names_set_from_report(void *context, uint32_t id, const json_t *function)
{
    names_set(context, id, function);
}

void fdr_names_note(struct fdr_names *names, const struct fdr_record *record)
{
    static const size_t prefix = sizeof(FDR_EXPORT_NAME " ") - 1;
    if (record->kind != FDR_CUSTOM_EVENT || record->size <= prefix ||
        record->size > NOTED_NAME_MAX ||
        memcmp(record->data, FDR_EXPORT_NAME " ", prefix) != 0)
        return;
    json_auto_t *function =
        json_loadb((const char *)record->data + prefix, (size_t)record->size - prefix,
                   JSON_DISABLE_EOF_CHECK, NULL); // version 1 fills events up to eights
    int64_t id = report_integer(function, "id", -1);
    if (id >= 0 && id <= UINT32_MAX)
        names_set(names, (uint32_t)id, function);
}

enum ch_status fdr_names_open(struct fdr_names **out, const struct options *options)
{
    const char *report_path = options_value(options, "report");
    const char *what;
    struct fdr_names *names = *out = calloc(1, sizeof(*names));
    if (names == NULL || (names->noted = json_object()) == NULL) {
        command_fail("cannot read names: %s", ch_status_name(CH_ERR_NO_MEMORY));
        return CH_ERR_NO_MEMORY;
    }
    for (size_t i = 0; (what = options_value_at(options, "functions", i)) != NULL;
         i++) {
        enum ch_status status = names_add_object(names, what);
        if (status != CH_OK)
            return status;
    }
    if (report_path == NULL)
        return CH_OK;
    json_t *report = NULL;
    enum ch_status status = command_read_json(report_path, &report);
    if (status == CH_OK)
        fdr_export_functions(report, names_set_from_report, names);
    json_decref(report);
    return status;
}

static const char *names_find_in_object(struct names_object *object, uint32_t number)
{
    if (object == NULL || number == 0 || number > object->count)
        return NULL;
    const char **name = &object->names[number - 1];
    if (*name == NULL) {
        struct symbol_frame frames[SYMBOL_FRAMES_MAX];
        size_t count =
            symbol_image_find(object->image, object->vaddrs[number - 1], frames);
        *name = count != 0 ? frames[count - 1].function : NULL;
        *name = *name != NULL ? *name : "";
    }
    return **name != 0 ? *name : NULL;
}

const char *fdr_names_find(struct fdr_names *names, uint32_t id)
{
    char key[16];
    snprintf(key, sizeof(key), "%" PRIu32, id);
    const char *noted = json_string_value(json_object_get(names->noted, key));
    return noted != NULL ? noted
                         : names_find_in_object(names->objects[id >> FDR_OBJECT_SHIFT],
                                                id & ((1u << FDR_OBJECT_SHIFT) - 1));
}

void fdr_names_show(struct fdr_names *names, uint32_t id, struct text *to)
{
    const char *name = fdr_names_find(names, id);
    text_clear(to);
    if (name == NULL)
        text_appendf(to, "#%" PRIu32, id);
    else
        text_append_string(to, name);
    for (size_t i = 0; i < to->size; i++) {
        if ((uint8_t)to->bytes[i] < ' ' || to->bytes[i] == 0x7f)
            to->bytes[i] = '?';
    }
}
