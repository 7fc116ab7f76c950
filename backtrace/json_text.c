// SPDX-License-Identifier: Apache-2.0
#include "backtrace/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/text.h"
#include "formats/interchange/cbf.h"

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

enum ch_status json_text_from_backtrace(const struct crashhook_backtrace *backtrace,
                                        const struct crashhook_images *images,
                                        json_t **out)
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

enum ch_status json_text_to_backtrace(const json_t *object,
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

enum ch_status json_text_load(const char *json, size_t length, json_t **out)
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
