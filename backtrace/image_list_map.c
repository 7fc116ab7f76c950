// SPDX-License-Identifier: Apache-2.0
//
// Converts image lists to Compact Image Maps and back.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/live/facts.h"
#include "backtrace/image_list.h"
#include "formats/interchange/image_map.h"

enum { PLATFORM_MAX = 255 };

// name_platform names the system as Swift does: "Linux (Debian GNU/Linux 12)".
static void name_platform(struct text *out)
{
    struct host_facts host = { 0 };
    facts_read_host(&host, getpid(), NULL);
    text_append_string(out, "Linux");
    if (host.os.size != 0 && host.os.size < PLATFORM_MAX - sizeof("Linux ()"))
        text_appendf(out, " (%s)", host.os.bytes);
    facts_deinit_host(&host);
}

static enum ch_status write_listed_images(const struct crashhook_images *images,
                                          const char *platform, struct text *out)
{
    struct image_map_writer writer;
    unsigned width = images->count != 0 ? images->items[0].width : 64;
    enum ch_status status =
        image_map_writer_init(&writer, out, width, platform, images->count);
    if (status != CH_OK)
        return status;
    for (size_t i = 0; status == CH_OK && i < images->count; i++) {
        const struct crashhook_image *image = &images->items[i];
        const struct image_map_image written = {
            .path = image->path,
            .path_size = image->path != NULL ? strlen(image->path) : 0,
            .build_id = image->id,
            .build_id_size = image->id_size,
            .base = image->base,
            .end_of_text = image->end_of_text,
        };
        status = image_map_write(&writer, &written);
    }
    image_map_writer_deinit(&writer);
    if (status == CH_OK && !text_ok(out))
        status = CH_ERR_NO_MEMORY;
    return status;
}

enum ch_status image_list_encode(const struct crashhook_images *images,
                                 struct text *out)
{
    struct text platform = { 0 };
    if (images->platform != NULL)
        text_append_string(&platform, images->platform);
    else
        name_platform(&platform);
    enum ch_status status = text_ok(&platform) ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = write_listed_images(images,
                                     platform.bytes != NULL ? platform.bytes : "", out);
    text_deinit(&platform);
    return status;
}

static enum ch_status read_listed_image(struct image_map_reader *reader,
                                        struct crashhook_images *images)
{
    struct image_map_image image;
    enum ch_status status = image_map_next(reader, &image);
    if (status != CH_OK)
        return status;
    if (image.end_of_text < image.base)
        return CH_ERR_MALFORMED;
    const struct crashhook_image copied = {
        .path = (char *)image.path,
        .id = (uint8_t *)image.build_id,
        .id_size = image.build_id_size,
        .base = image.base,
        .end_of_text = image.end_of_text,
        .width = reader->word_bits,
    };
    return image_list_add(images, &copied, image.path_size);
}

// read_listed_images reads as many images as were announced. Fewer are an error, so the
// allocation is bounded by the input and the limit.
static enum ch_status read_listed_images(struct image_map_reader *reader,
                                         struct crashhook_images **out)
{
    struct crashhook_images *images;
    if (reader->image_count > cursor_left(&reader->input))
        return CH_ERR_TRUNCATED;
    if (reader->image_count > IMAGE_LIST_MAX)
        return CH_ERR_LIMIT;
    enum ch_status status = image_list_create((size_t)reader->image_count, &images);
    if (status != CH_OK)
        return status;
    for (uint64_t i = reader->image_count; status == CH_OK && i > 0; i--)
        status = read_listed_image(reader, images);
    if (status == CH_END)
        status = CH_ERR_TRUNCATED;
    if (status == CH_OK && reader->path_cut)
        status = CH_ERR_TRUNCATED;
    images->platform = strndup(reader->platform, reader->platform_size);
    if (status == CH_OK && images->platform == NULL)
        status = CH_ERR_NO_MEMORY;
    if (status != CH_OK) {
        crashhook_images_release(images);
        return status;
    }
    image_list_sort(images);
    *out = images;
    return CH_OK;
}

enum ch_status image_list_decode(const void *bytes, size_t size,
                                 struct crashhook_images **out)
{
    struct image_map_reader reader = { 0 };
    enum ch_status status = image_map_reader_init(&reader, bytes, size);
    if (status == CH_OK)
        status = read_listed_images(&reader, out);
    image_map_reader_deinit(&reader);
    return status;
}
