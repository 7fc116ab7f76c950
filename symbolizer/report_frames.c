// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/report_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "formats/interchange/cbf.h"

// The keys that symbolization adds to a frame, and removes again when it starts over.
static const char *const named_keys[] = { "function", "raw_name",     "function_offset",
                                          "file",     "file_md5",     "line",
                                          "column",   "inline",       "system",
                                          "rule",     "symbol_status" };

// set_hex sets a member to a number in the form of addresses.
static enum ch_status set_hex(json_t *object, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    return json_object_set_new(object, key, json_string(text)) == 0 ? CH_OK
                                                                    : CH_ERR_NO_MEMORY;
}

// place_frame sets a frame's image if the report's writer did not.
static enum ch_status place_frame(json_t *frame, const struct report_images *images)
{
    uint64_t address;
    if (json_is_integer(json_object_get(frame, "image")) ||
        !report_address_read(json_object_get(frame, "address"), &address))
        return CH_OK;
    // A call that does not return may be the last instruction of an image.
    const char *kind = json_string_value(json_object_get(frame, "kind"));
    bool after_call = kind != NULL && strcmp(kind, "ra") == 0 && address != 0;
    uint32_t image = report_images_at(images, after_call ? address - 1 : address);
    if (image == REPORT_NO_IMAGE)
        return CH_OK;
    if (json_object_set_new(frame, "image", json_integer(image)) != 0)
        return CH_ERR_NO_MEMORY;
    return set_hex(frame, "image_offset", address - images->items[image].base);
}

static enum ch_status add_cbf_frame(json_t *frames, const struct cbf_frame *from)
{
    json_t *frame = json_pack("{s:s}", "kind", cbf_op_name(from->kind));
    enum ch_status status = frame != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK && from->kind == CBF_OMIT)
        status =
            json_object_set_new(frame, "count", json_integer((json_int_t)from->value))
                ? CH_ERR_NO_MEMORY
                : CH_OK;
    else if (status == CH_OK && from->kind != CBF_TRUNC)
        status = set_hex(frame, "address", from->value);
    for (uint64_t i = 0; status == CH_OK && i < from->times; i++) {
        // Each repetition is a value of its own, because frames are changed later.
        json_t *copy = json_copy(frame);
        if (json_array_size(frames) >= REPORT_CBF_FRAMES_MAX)
            status = CH_ERR_LIMIT;
        if (copy == NULL || json_array_append_new(frames, copy) != 0)
            status = CH_ERR_NO_MEMORY;
    }
    json_decref(frame);
    return status;
}

static enum ch_status read_cbf(const uint8_t *bytes, size_t size, json_t *frames)
{
    struct cbf_reader reader;
    struct cbf_frame frame;
    enum ch_status status = cbf_reader_init(&reader, bytes, size);
    if (status != CH_OK)
        return status;
    while (cbf_next_frame(&reader, &frame) == CH_OK) {
        status = add_cbf_frame(frames, &frame);
        if (status != CH_OK)
            return status;
    }
    // Damaged data still has the frames before the damage.
    return json_array_size(frames) != 0 ? CH_OK : CH_ERR_NOT_FOUND;
}

static enum ch_status frames_from_cbf(const json_t *backtrace, json_t **out)
{
    const char *text = json_string_value(json_object_get(backtrace, "cbf"));
    if (text == NULL)
        return CH_ERR_NOT_FOUND;
    size_t length = strlen(text);
    size_t size;
    uint8_t *bytes = malloc(length + 1);
    json_t *frames = json_array();
    enum ch_status status = bytes != NULL && frames != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = base64_decode(text, length, bytes, length, &size);
    if (status == CH_OK)
        status = read_cbf(bytes, size, frames);
    free(bytes);
    if (status != CH_OK && status != CH_ERR_LIMIT) {
        json_decref(frames);
        return status == CH_ERR_NO_MEMORY ? status : CH_ERR_NOT_FOUND;
    }
    *out = frames;
    return CH_OK;
}

// frame_is_ready returns true if a frame needs no preparation: it has no names, and its
// image is set.
static bool frame_is_ready(const json_t *frame)
{
    for (size_t k = 0; k < sizeof(named_keys) / sizeof(named_keys[0]); k++)
        if (json_object_get(frame, named_keys[k]) != NULL)
            return false;
    return json_is_integer(json_object_get(frame, "image"));
}

// bare_frame gives frame without what an earlier run added: itself, or a copy.
static json_t *bare_frame(json_t *frame)
{
    if (frame_is_ready(frame))
        return json_incref(frame);
    json_t *bare = json_copy(frame);
    for (size_t k = 0; k < sizeof(named_keys) / sizeof(named_keys[0]); k++)
        (void)json_object_del(bare, named_keys[k]);
    return bare;
}

enum ch_status report_frames_of(const json_t *backtrace, json_t **out_frames)
{
    json_t *frames = json_object_get(backtrace, "frames");
    if (!json_is_array(frames))
        return frames_from_cbf(backtrace, out_frames);
    *out_frames = json_incref(frames);
    return CH_OK;
}

enum ch_status report_frame_prepare(json_t *frame, const struct report_images *images,
                                    json_t **out_bare)
{
    if (!json_is_object(frame) || json_is_true(json_object_get(frame, "inline")) ||
        json_object_get(frame, "source") != NULL)
        return CH_ERR_NOT_FOUND;
    json_t *bare = bare_frame(frame);
    enum ch_status status = bare != NULL ? place_frame(bare, images) : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        *out_bare = bare;
    else
        json_decref(bare);
    return status;
}

enum ch_status report_frame_place(const json_t *frame, struct report_place *out)
{
    const char *kind = json_string_value(json_object_get(frame, "kind"));
    uint64_t address;
    uint64_t offset;
    if (kind == NULL ||
        !report_address_read(json_object_get(frame, "address"), &address))
        return CH_ERR_NOT_FOUND;
    const json_t *image = json_object_get(frame, "image");
    json_int_t index = json_is_integer(image) ? json_integer_value(image) : -1;
    if (index < 0 || index >= REPORT_IMAGES_MAX ||
        !report_address_read(json_object_get(frame, "image_offset"), &offset)) {
        *out = (struct report_place){ .image = REPORT_NO_IMAGE, .offset = 0 };
        return CH_OK;
    }
    if (strcmp(kind, "ra") == 0 && offset != 0)
        offset--;
    *out = (struct report_place){ .image = (uint32_t)index, .offset = offset };
    return CH_OK;
}
