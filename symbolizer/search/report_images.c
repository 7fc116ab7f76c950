// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/search/report_images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "formats/interchange/image_map.h"

bool report_address_read(const json_t *value, uint64_t *out)
{
    const char *text = json_string_value(value);
    char *end;
    if (text == NULL || strncmp(text, "0x", 2) != 0 || text[2] == 0)
        return false;
    unsigned long long number = strtoull(text, &end, 16);
    if (*end != 0)
        return false;
    *out = number;
    return true;
}

static struct build_id images_read_build_id(const json_t *value)
{
    struct build_id id = { .size = 0 };
    const char *text = json_string_value(value);
    if (text != NULL &&
        hex_decode(text, strlen(text), id.bytes, sizeof(id.bytes), &id.size) != CH_OK)
        id.size = 0;
    return id;
}

static struct report_image images_read_image(const json_t *from)
{
    const char *path = json_string_value(json_object_get(from, "path"));
    if (path == NULL)
        path = json_string_value(json_object_get(from, "name"));
    struct report_image image = { .path = path != NULL ? path : "",
                                  .id = images_read_build_id(
                                      json_object_get(from, "build_id")) };
    (void)(report_address_read(json_object_get(from, "base"), &image.base) &&
           report_address_read(json_object_get(from, "end_of_text"),
                               &image.end_of_text));
    return image;
}

static enum ch_status images_read_list(struct report_images *out, const json_t *images)
{
    size_t count = json_array_size(images);
    if (count > REPORT_IMAGES_MAX)
        return CH_ERR_LIMIT;
    struct report_image *items = calloc(count + 1, sizeof(*items));
    if (items == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        items[i] = images_read_image(json_array_get(images, i));
    out->items = items;
    out->count = count;
    return CH_OK;
}

static json_t *hex_number(uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    return json_string(text);
}

// add_image_path sets image's path and name. A path that JSON cannot represent is left
// out: the build ID still finds the image's debug file.
static void add_image_path(json_t *image, const struct image_map_image *from)
{
    bool holds = from->path != NULL && memchr(from->path, 0, from->path_size) == NULL;
    json_t *path = holds ? json_stringn(from->path, from->path_size) : NULL;
    const char *name = path != NULL ? file_name(json_string_value(path)) : "";
    (void)json_object_set_new(image, "name", json_string(name));
    if (path != NULL)
        (void)json_object_set_new(image, "path", path);
}

static void add_build_id(json_t *image, const struct image_map_image *from)
{
    char hex[2 * BUILD_ID_MAX + 1];
    if (from->build_id == NULL || from->build_id_size == 0 ||
        from->build_id_size > BUILD_ID_MAX)
        return;
    hex_encode(from->build_id, from->build_id_size, hex);
    (void)json_object_set_new(image, "build_id", json_string(hex));
}

// list_image adds an image to list in the form of reports.
static enum ch_status list_image(json_t *list, const struct image_map_image *from)
{
    json_t *image = json_object();
    if (json_array_size(list) >= REPORT_IMAGES_MAX) {
        json_decref(image);
        return CH_ERR_LIMIT;
    }
    add_image_path(image, from);
    add_build_id(image, from);
    (void)json_object_set_new(image, "base", hex_number(from->base));
    (void)json_object_set_new(image, "end_of_text", hex_number(from->end_of_text));
    return json_array_append_new(list, image) == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status list_map(json_t *list, const void *bytes, size_t size)
{
    CH_CLEANUP(image_map_reader_deinit) struct image_map_reader reader;
    struct image_map_image image;
    enum ch_status status = image_map_reader_init(&reader, bytes, size);
    while (status == CH_OK) {
        status = image_map_next(&reader, &image);
        if (status == CH_OK)
            status = list_image(list, &image);
    }
    // Of a damaged map, the images before the damage are kept.
    return status == CH_ERR_LIMIT || status == CH_ERR_NO_MEMORY ? status : CH_OK;
}

static void release_bytes(uint8_t **bytes)
{
    free(*bytes);
}

// read_map lists the images of a Compact Image Map in base64.
static enum ch_status read_map(struct report_images *out, const char *text)
{
    size_t length = strlen(text);
    size_t size;
    uint8_t *CH_CLEANUP(release_bytes) bytes = malloc(length + 1);
    out->listed = json_array();
    if (bytes == NULL || out->listed == NULL)
        return CH_ERR_NO_MEMORY;
    if (base64_decode(text, length, bytes, length, &size) != CH_OK)
        return CH_OK;
    return list_map(out->listed, bytes, size);
}

enum ch_status report_images_read(struct report_images *out, const json_t *report)
{
    const json_t *images = json_object_get(report, "images");
    const char *map = json_string_value(json_object_get(report, "image_map"));
    enum ch_status status = CH_OK;
    *out = (struct report_images){ 0 };
    if (json_array_size(images) == 0 && map != NULL) {
        status = read_map(out, map);
        images = out->listed;
    }
    if (status == CH_OK)
        status = images_read_list(out, images);
    if (status != CH_OK)
        report_images_deinit(out);
    return status;
}

void report_images_deinit(struct report_images *images)
{
    free(images->items);
    json_decref(images->listed);
    *images = (struct report_images){ 0 };
}

uint32_t report_images_at(const struct report_images *images, uint64_t address)
{
    for (size_t i = 0; i < images->count; i++)
        if (address >= images->items[i].base && address < images->items[i].end_of_text)
            return (uint32_t)i;
    return REPORT_NO_IMAGE;
}
