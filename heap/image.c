// SPDX-License-Identifier: Apache-2.0
#include "heap/image.h"

#include <stddef.h>

#include "backtrace/local_code.h"
#include "shared/dl_find_object.h"

struct image_list {
    size_t count;
    struct local_image images[256];
};

bool image_has_finder(void)
{
    return _dl_find_object != NULL;
}

static int image_add(struct dl_phdr_info *info, size_t size, void *context)
{
    struct image_list *list = context;
    (void)size;
    local_code_describe(info, &list->images[list->count++]);
    return list->count == sizeof(list->images) / sizeof(list->images[0]);
}

void image_list(void)
{
    struct image_list list = { .count = 0 };
    (void)dl_iterate_phdr(image_add, &list);
    local_code_publish(list.images, list.count);
}
