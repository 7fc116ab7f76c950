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
    static struct image_list list; // too large for the stack of a small thread
    static unsigned calls;         // the first one lists for those that come meanwhile
    unsigned seen = __atomic_add_fetch(&calls, 1, __ATOMIC_ACQ_REL);
    if (seen != 1)
        return;
    for (unsigned left = 1; left != 0; seen = left) {
        list.count = 0;
        (void)dl_iterate_phdr(image_add, &list);
        local_code_publish(list.images, list.count);
        left = __atomic_sub_fetch(&calls, seen, __ATOMIC_ACQ_REL);
    }
}
