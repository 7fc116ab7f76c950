// SPDX-License-Identifier: Apache-2.0
#include "backtrace/image_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/sorted.h"
#include "base/system/file.h"
#include "base/text.h"

enum ch_status image_list_create(size_t count, struct crashhook_images **out)
{
    if (count > IMAGE_LIST_MAX)
        return CH_ERR_LIMIT;
    struct crashhook_images *made =
        calloc(1, sizeof(*made) + count * sizeof(made->items[0]));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    atomic_init(&made->references, 1);
    *out = made;
    return CH_OK;
}

enum ch_status image_list_add(struct crashhook_images *images,
                              const struct crashhook_image *image, size_t path_size)
{
    // It is counted even if it fails, so that releasing images frees what was copied.
    struct crashhook_image *copy = &images->items[images->count++];
    *copy = *image;
    copy->path = image->path != NULL ? strndup(image->path, path_size) : NULL;
    copy->id = image->id_size != 0 ? malloc(image->id_size) : NULL;
    bool failed = (image->path != NULL && copy->path == NULL) ||
                  (image->id_size != 0 && copy->id == NULL);
    if (copy->id != NULL)
        memcpy(copy->id, image->id, image->id_size);
    copy->name = file_name(copy->path);
    return failed ? CH_ERR_NO_MEMORY : CH_OK;
}

static int by_base(const void *left, const void *right)
{
    const struct crashhook_image *a = left;
    const struct crashhook_image *b = right;
    return a->base < b->base ? -1 : a->base > b->base;
}

void image_list_sort(struct crashhook_images *images)
{
    qsort(images->items, images->count, sizeof(images->items[0]), by_base);
}

enum ch_status image_list_from_target(const struct target_images *from,
                                      struct crashhook_images **out)
{
    struct crashhook_images *images;
    enum ch_status status = image_list_create(from->count, &images);
    if (status != CH_OK)
        return status;
    for (size_t i = 0; status == CH_OK && i < from->count; i++) {
        const struct target_image *image = &from->images[i];
        const struct crashhook_image copied = {
            .path = image->path_size != 0 ? (char *)image->path : NULL,
            .id = (uint8_t *)image->build_id,
            .id_size = image->build_id_size,
            .base = image->base,
            .end_of_text = image->end_of_text,
            .width = 64,
        };
        status = image_list_add(images, &copied, image->path_size);
    }
    if (status != CH_OK) {
        crashhook_images_release(images);
        return status;
    }
    *out = images;
    return CH_OK;
}

struct crashhook_images *crashhook_images_retain(struct crashhook_images *images)
{
    atomic_fetch_add_explicit(&images->references, 1, memory_order_relaxed);
    return images;
}

void crashhook_images_release(struct crashhook_images *images)
{
    // Acquire and release: the last owner frees only after all others have finished.
    if (images == NULL ||
        atomic_fetch_sub_explicit(&images->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < images->count; i++) {
        struct image_memo *memo = images->items[i].named;
        if (memo != NULL)
            memo->release(memo);
        free(images->items[i].path);
        free(images->items[i].id);
    }
    free(images->platform);
    free(images);
}

size_t crashhook_images_count(const struct crashhook_images *images)
{
    return images->count;
}

const struct crashhook_image *crashhook_images_at(const struct crashhook_images *images,
                                                  size_t index)
{
    return index < images->count ? &images->items[index] : NULL;
}

int crashhook_images_find(const struct crashhook_images *images,
                          struct crashhook_address address, size_t *out_index)
{
    size_t after = SORTED_UP_TO(images->items, images->count, base, address.bits);
    if (after == 0 || address.bits >= images->items[after - 1].end_of_text)
        return ENOENT;
    *out_index = after - 1;
    return 0;
}

const char *crashhook_image_name(const struct crashhook_image *image)
{
    return image->name;
}

const char *crashhook_image_path(const struct crashhook_image *image)
{
    return image->path;
}

const uint8_t *crashhook_image_unique_id(const struct crashhook_image *image,
                                         size_t *out_size)
{
    *out_size = image->id_size;
    return image->id;
}

struct crashhook_address
crashhook_image_base_address(const struct crashhook_image *image)
{
    return crashhook_address_make(image->base, image->width);
}

struct crashhook_address
crashhook_image_end_of_text(const struct crashhook_image *image)
{
    return crashhook_address_make(image->end_of_text, image->width);
}

char *crashhook_image_description(const struct crashhook_image *image)
{
    char base[CRASHHOOK_ADDRESS_TEXT];
    char end[CRASHHOOK_ADDRESS_TEXT];
    struct text line = { 0 };
    text_appendf(&line, "%s-%s ",
                 crashhook_address_format(crashhook_image_base_address(image), base),
                 crashhook_address_format(crashhook_image_end_of_text(image), end));
    for (size_t i = 0; i < image->id_size; i++)
        text_appendf(&line, "%02x", image->id[i]);
    if (image->id_size == 0)
        text_append_string(&line, "<no build ID>");
    text_appendf(&line, " %s %s", image->name != NULL ? image->name : "<unknown>",
                 image->path != NULL ? image->path : "<unknown>");
    if (text_ok(&line))
        return line.bytes;
    text_deinit(&line);
    return NULL;
}
