// SPDX-License-Identifier: Apache-2.0
//
// Symbolicated backtraces as JSON: a backtrace's members, and its frames with the keys
// of Swift's crash log.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace/named.h"
#include "backtrace/stored.h"
#include "backtrace/symbol.h"
#include "base/hex.h"
#include "base/text.h"
#include "formats/interchange/cbf.h"

// JSON_TEXT_LIMIT is the largest size of JSON text that is read.
enum { JSON_TEXT_LIMIT = 64 << 20 };

// set_base64 sets member key to size bytes in base64.
static enum ch_status set_base64(json_t *object, const char *key, const void *bytes,
                                 size_t size)
{
    char *encoded = malloc(BASE64_SIZE(size));
    if (encoded == NULL)
        return CH_ERR_NO_MEMORY;
    base64_encode(bytes, size, encoded);
    int failed = json_object_set_new(object, key, json_string(encoded));
    free(encoded);
    return failed == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status set_images(json_t *object, const struct crashhook_images *images)
{
    struct text CH_CLEANUP(text_deinit) map = { 0 };
    enum ch_status status = image_list_encode(images, &map);
    if (status == CH_OK)
        status = set_base64(object, "imageMap", map.bytes, map.size);
    return status;
}

// json_text_from_backtrace gives backtrace as an object, with images unless that is
// NULL.
static enum ch_status
json_text_from_backtrace(const struct crashhook_backtrace *backtrace,
                         const struct crashhook_images *images, json_t **out)
{
    json_t *object = json_pack("{s:s}", "architecture", backtrace->architecture);
    if (object == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status =
        set_base64(object, "backtrace", backtrace->cbf, backtrace->cbf_size);
    if (status == CH_OK && images != NULL)
        status = set_images(object, images);
    if (status != CH_OK) {
        json_decref(object);
        return status;
    }
    *out = object;
    return CH_OK;
}

// get_base64 decodes a string into a new allocation.
static enum ch_status get_base64(const json_t *string, uint8_t **out, size_t *out_size)
{
    size_t length = json_string_length(string);
    if (!json_is_string(string))
        return CH_ERR_MALFORMED;
    uint8_t *bytes = malloc(length + 1);
    if (bytes == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status =
        base64_decode(json_string_value(string), length, bytes, length, out_size);
    if (status != CH_OK) {
        free(bytes);
        return status;
    }
    *out = bytes;
    return CH_OK;
}

// check_cbf reads all of it, so that a backtrace that was accepted has no damage.
static enum ch_status check_cbf(const uint8_t *cbf, size_t size)
{
    struct cbf_reader reader;
    struct cbf_frame frame;
    enum ch_status status = cbf_reader_init(&reader, cbf, size);
    while (status == CH_OK)
        status = cbf_next_frame(&reader, &frame);
    return status == CH_END ? CH_OK : status;
}

static enum ch_status get_images(const json_t *map, struct crashhook_images **out)
{
    uint8_t *bytes;
    size_t size;
    *out = NULL;
    if (map == NULL || json_is_null(map))
        return CH_OK;
    enum ch_status status = get_base64(map, &bytes, &size);
    if (status != CH_OK)
        return status;
    status = image_list_decode(bytes, size, out);
    free(bytes);
    return status;
}

// json_text_to_backtrace reads the members of object.
static enum ch_status json_text_to_backtrace(const json_t *object,
                                             struct crashhook_backtrace **out)
{
    const char *architecture =
        json_string_value(json_object_get(object, "architecture"));
    struct crashhook_images *images = NULL;
    uint8_t *cbf;
    size_t size;
    if (architecture == NULL)
        return CH_ERR_MALFORMED;
    enum ch_status status =
        get_base64(json_object_get(object, "backtrace"), &cbf, &size);
    if (status != CH_OK)
        return status;
    status = check_cbf(cbf, size);
    if (status == CH_OK)
        status = get_images(json_object_get(object, "imageMap"), &images);
    if (status == CH_OK)
        status = stored_create(architecture, cbf, size, images, out);
    crashhook_images_release(images);
    free(cbf);
    return status;
}

// json_text_load parses length bytes that contain an object.
static enum ch_status json_text_load(const char *json, size_t length, json_t **out)
{
    if (length > JSON_TEXT_LIMIT)
        return CH_ERR_LIMIT;
    json_t *value = json_loadb(json, length, 0, NULL);
    if (!json_is_object(value)) {
        json_decref(value);
        return CH_ERR_MALFORMED;
    }
    *out = value;
    return CH_OK;
}

char *crashhook_backtrace_to_json(const struct crashhook_backtrace *backtrace)
{
    json_t *object;
    if (json_text_from_backtrace(backtrace, backtrace->images, &object) != CH_OK)
        return NULL;
    char *json = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return json;
}

int crashhook_backtrace_from_json(const char *json, size_t length,
                                  struct crashhook_backtrace **out)
{
    json_t *object;
    enum ch_status status = json_text_load(json, length, &object);
    if (status != CH_OK)
        return stored_errno(status);
    status = json_text_to_backtrace(object, out);
    json_decref(object);
    return stored_errno(status);
}

static const char *const kinds[] = { "programCounter", "returnAddress",
                                     "asyncResumePoint", "omittedFrames", "truncated" };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int set_named_string(json_t *object, const char *key, const char *string)
{
    json_t *value = json_string(string);
    // Names come from debug files, which may contain any bytes; jansson accepts only
    // UTF-8.
    return json_object_set_new(object, key, value != NULL ? value : json_string("?"));
}

static int set_location(json_t *object,
                        const struct crashhook_source_location *location)
{
    json_t *value = json_object();
    int failed = set_named_string(value, "file", location->path);
    failed |= json_object_set_new(value, "line", json_integer(location->line));
    failed |= json_object_set_new(value, "column", json_integer(location->column));
    return failed | json_object_set_new(object, "sourceLocation", value);
}

static int set_flag(json_t *object, const char *key, bool flag)
{
    return flag ? json_object_set_new(object, key, json_true()) : 0;
}

static int set_symbol(json_t *object, const struct crashhook_symbol *symbol)
{
    int failed = set_flag(object, "runtimeFailure", symbol->is_runtime_failure);
    failed |= set_flag(object, "thunk", symbol->is_thunk);
    failed |= set_flag(object, "system", symbol->is_system);
    failed |= set_named_string(object, "symbol", symbol->raw_name);
    failed |= set_named_string(object, "name", symbol->name);
    failed |= json_object_set_new(object, "offset", json_integer(symbol->offset));
    if (symbol->image_index != SIZE_MAX)
        failed |= json_object_set_new(object, "imageIndex",
                                      json_integer((json_int_t)symbol->image_index));
    if (symbol->image != NULL && crashhook_image_name(symbol->image) != NULL)
        failed |=
            set_named_string(object, "image", crashhook_image_name(symbol->image));
    if (symbol->location.path != NULL)
        failed |= set_location(object, &symbol->location);
    return failed;
}

static json_t *frame_to_json(const struct crashhook_symbolicated_frame *frame)
{
    char address[CRASHHOOK_ADDRESS_TEXT];
    const struct crashhook_frame *captured = &frame->captured;
    json_t *object = json_object();
    int failed = set_named_string(object, "kind", kinds[captured->kind]);
    if (captured->kind == CRASHHOOK_FRAME_OMITTED)
        failed |= json_object_set_new(object, "count",
                                      json_integer((json_int_t)captured->omitted));
    else if (captured->kind != CRASHHOOK_FRAME_TRUNCATED)
        failed |= set_named_string(
            object, "address", crashhook_address_format(captured->address, address));
    failed |= set_flag(object, "inlined", frame->is_inline);
    if (frame->symbol != NULL)
        failed |= set_symbol(object, frame->symbol);
    if (failed == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *frames_to_json(const struct crashhook_symbolicated_backtrace *named)
{
    json_t *frames = json_array();
    for (size_t i = 0; frames != NULL && i < named->count; i++) {
        if (json_array_append_new(frames, frame_to_json(&named->frames[i])) != 0) {
            json_decref(frames);
            return NULL;
        }
    }
    return frames;
}

char *crashhook_symbolicated_backtrace_to_json(
    const struct crashhook_symbolicated_backtrace *named)
{
    json_t *object;
    if (json_text_from_backtrace(named->backtrace, named->images, &object) != CH_OK)
        return NULL;
    char *json = NULL;
    if (json_object_set_new(object, "frames", frames_to_json(named)) == 0)
        json = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return json;
}

static enum ch_status read_named_frame(const json_t *object,
                                       struct crashhook_frame *out)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *address = json_string_value(json_object_get(object, "address"));
    unsigned i = 0;
    while (kind != NULL && i < KINDS && strcmp(kinds[i], kind) != 0)
        i++;
    if (kind == NULL || i == KINDS)
        return CH_ERR_MALFORMED;
    *out = (struct crashhook_frame){ .kind = (enum crashhook_frame_kind)i };
    if (i < CRASHHOOK_FRAME_OMITTED &&
        (address == NULL || crashhook_address_parse(address, &out->address) != 0))
        return CH_ERR_MALFORMED;
    json_int_t count = json_integer_value(json_object_get(object, "count"));
    if (i == CRASHHOOK_FRAME_OMITTED && count <= 0)
        return CH_ERR_MALFORMED;
    out->omitted = i == CRASHHOOK_FRAME_OMITTED ? (uint64_t)count : 0;
    return CH_OK;
}

static uint32_t read_named_u32(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

// read_named_symbol adds the symbol of a frame, if it has one.
static enum ch_status read_named_symbol(struct crashhook_symbolicated_backtrace *named,
                                        const json_t *object,
                                        struct crashhook_symbolicated_frame *frame)
{
    const json_t *location = json_object_get(object, "sourceLocation");
    const json_t *index = json_object_get(object, "imageIndex");
    struct crashhook_symbol from = {
        .image_index = SIZE_MAX,
        .raw_name = json_string_value(json_object_get(object, "symbol")),
        .name = json_string_value(json_object_get(object, "name")),
        .offset = json_integer_value(json_object_get(object, "offset")),
        .location = { .path = json_string_value(json_object_get(location, "file")),
                      .line = read_named_u32(location, "line"),
                      .column = read_named_u32(location, "column") },
    };
    struct crashhook_symbol *symbol;
    if (from.raw_name == NULL)
        return CH_OK;
    if (index != NULL) {
        json_int_t number = json_integer_value(index);
        if (!json_is_integer(index) || number < 0 ||
            (uint64_t)number >= crashhook_images_count(named->images))
            return CH_ERR_MALFORMED;
        from.image_index = (size_t)number;
        from.image = crashhook_images_at(named->images, from.image_index);
    }
    enum ch_status status = symbol_create(&from, &symbol);
    if (status != CH_OK)
        return status;
    frame->symbol = symbol;
    return named_add_symbol(named, symbol);
}

static enum ch_status read_named_frames(struct crashhook_symbolicated_backtrace *named,
                                        const json_t *frames)
{
    enum ch_status status = json_is_array(frames) ? CH_OK : CH_ERR_MALFORMED;
    for (size_t i = 0; status == CH_OK && i < json_array_size(frames); i++) {
        const json_t *object = json_array_get(frames, i);
        struct crashhook_symbolicated_frame frame = {
            .is_inline = json_is_true(json_object_get(object, "inlined")),
        };
        status = read_named_frame(object, &frame.captured);
        if (status == CH_OK)
            status = read_named_symbol(named, object, &frame);
        if (status == CH_OK)
            status = named_add_frame(named, &frame);
    }
    return status;
}

// begin_named makes a symbolicated backtrace of the members that both kinds have; its
// images are those of the backtrace, or none.
static enum ch_status begin_named(const json_t *object,
                                  struct crashhook_symbolicated_backtrace **out)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_images *none = NULL;
    enum ch_status status = json_text_to_backtrace(object, &backtrace);
    if (status != CH_OK)
        return status;
    if (backtrace->images == NULL)
        status = image_list_create(0, &none);
    if (status == CH_OK)
        status = named_create(backtrace, none != NULL ? none : backtrace->images, out);
    crashhook_images_release(none);
    crashhook_backtrace_destroy(backtrace);
    return status;
}

int crashhook_symbolicated_backtrace_from_json(
    const char *json, size_t length, struct crashhook_symbolicated_backtrace **out)
{
    json_t *object;
    enum ch_status status = json_text_load(json, length, &object);
    if (status != CH_OK)
        return stored_errno(status);
    struct crashhook_symbolicated_backtrace *named = NULL;
    status = begin_named(object, &named);
    if (status == CH_OK)
        status = read_named_frames(named, json_object_get(object, "frames"));
    json_decref(object);
    if (status != CH_OK) {
        crashhook_symbolicated_backtrace_destroy(named);
        return stored_errno(status);
    }
    *out = named;
    return 0;
}
