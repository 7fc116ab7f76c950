// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/frame_names.h"

#include <string.h>

#include "base/hex.h"
#include "base/text.h"
#include "report/file/digest.h"
#include "report/file/system_image.h"
#include "report/secrets/sanitize.h"

// The members of a frame that the frames inlined into it repeat.
static const char *const repeated_keys[] = { "kind", "address", "trust", "image",
                                             "image_offset" };

// names_set_string sets a string from a debug file, which may contain any bytes: what
// is not UTF-8 becomes question marks.
static int names_set_string(json_t *object, const char *key, const char *string)
{
    if (json_object_set_new(object, key, json_string(string)) == 0)
        return 0;
    struct text CH_CLEANUP(text_deinit) clean = { 0 };
    for (const char *at = string; *at != 0; at++)
        text_append(&clean, (unsigned char)*at < 0x80 ? at : "?", 1);
    return text_ok(&clean) ? json_object_set_new(object, key, json_string(clean.bytes))
                           : -1;
}

static int set_file(json_t *object, const char *file, const char *home)
{
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    if (home == NULL)
        return names_set_string(object, "file", file);
    sanitize_path(file, home, &masked);
    return text_ok(&masked) && masked.size != 0
               ? names_set_string(object, "file", masked.bytes)
               : -1;
}

static int set_position(json_t *object, const struct symbol_frame *frame,
                        const char *home)
{
    int failed = 0;
    if (frame->file != NULL)
        failed |= set_file(object, frame->file, home);
    if (frame->file != NULL && frame->file_md5 != NULL) {
        char hex[2 * MD5_SIZE + 1];
        hex_encode(frame->file_md5, MD5_SIZE, hex);
        failed |= json_object_set_new(object, "file_md5", json_string(hex));
    }
    if (frame->file != NULL && frame->line != 0)
        failed |= json_object_set_new(object, "line", json_integer(frame->line));
    if (frame->file != NULL && frame->line != 0 && frame->column != 0)
        failed |= json_object_set_new(object, "column", json_integer(frame->column));
    return failed;
}

static json_t *names_make_one(const struct symbol_frame *frame, uint64_t vaddr,
                              const struct frame_image *image)
{
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    int failed = 0;
    if (frame->function != NULL) {
        failed |= names_set_string(object, "function",
                                   symbol_frame_public_name(frame->function));
        failed |= names_set_string(object, "raw_name", frame->raw_name);
    } else {
        failed |=
            names_set_string(object, "symbol_status", debug_status_name(image->status));
    }
    if (frame->function != NULL && !frame->inlined)
        failed |= json_object_set_new(object, "function_offset",
                                      json_integer((json_int_t)(vaddr - frame->start)));
    failed |= set_position(object, frame, image->home);
    failed |= json_object_set_new(object, "inline", json_boolean(frame->inlined));
    bool system = system_frame(image->path, frame->raw_name);
    failed |= json_object_set_new(object, "system", json_boolean(system));
    if (failed == 0)
        return object;
    json_decref(object);
    return NULL;
}

enum ch_status frame_names_make(const struct symbol_frame *frames, size_t count,
                                uint64_t vaddr, const struct frame_image *image,
                                json_t **out)
{
    static const struct symbol_frame nameless = { 0 };
    json_t *names = json_array();
    if (names == NULL)
        return CH_ERR_NO_MEMORY;
    const struct symbol_frame *at = count != 0 ? frames : &nameless;
    for (size_t i = 0; i < (count != 0 ? count : 1); i++) {
        json_t *one = names_make_one(&at[i], vaddr, image);
        if (one == NULL || json_array_append_new(names, one) != 0) {
            json_decref(names);
            return CH_ERR_NO_MEMORY;
        }
    }
    *out = names;
    return CH_OK;
}

// inlined_frame makes a separate frame for a call inlined into frame.
static json_t *inlined_frame(const json_t *frame, json_t *name)
{
    json_t *inlined = json_object();
    if (inlined == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(repeated_keys) / sizeof(repeated_keys[0]); i++) {
        json_t *value = json_object_get(frame, repeated_keys[i]);
        if (value != NULL && json_object_set(inlined, repeated_keys[i], value) != 0) {
            json_decref(inlined);
            return NULL;
        }
    }
    if (json_object_update(inlined, name) == 0)
        return inlined;
    json_decref(inlined);
    return NULL;
}

enum ch_status frame_names_apply(const json_t *names, json_t *frame, json_t *frames)
{
    size_t count = json_array_size(names);
    for (size_t i = 0; i + 1 < count; i++) {
        json_t *inlined = inlined_frame(frame, json_array_get(names, i));
        if (inlined == NULL || json_array_append_new(frames, inlined) != 0)
            return CH_ERR_NO_MEMORY;
    }
    if (count != 0 && json_object_update(frame, json_array_get(names, count - 1)) != 0)
        return CH_ERR_NO_MEMORY;
    return json_array_append(frames, frame) == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}
