// SPDX-License-Identifier: Apache-2.0
#include "heap/image.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

enum { IMAGES_MAX = 256 };

static struct image images[IMAGES_MAX]; // start is NULL: the place is being written
static uint32_t image_count;

// _dl_find_object is glibc's. The reference is weak, because programs of musl load the
// library, too.
extern int _dl_find_object(void *address, struct dl_find_object *out)
    __attribute__((weak));

bool image_has_finder(void)
{
    return _dl_find_object != NULL;
}

bool image_find(uint64_t pc, struct image *out)
{
    struct dl_find_object found;
    if (image_has_finder()) {
        if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0)
            return false;
        *out = (struct image){ found.dlfo_map_start, found.dlfo_map_end,
                               found.dlfo_eh_frame };
        return true;
    }
    uint32_t count = __atomic_load_n(&image_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < IMAGES_MAX; i++) {
        const uint8_t *start = __atomic_load_n(&images[i].start, __ATOMIC_ACQUIRE);
        if (start == NULL || pc < (uintptr_t)start || pc >= (uintptr_t)images[i].end)
            continue;
        *out = images[i];
        return true;
    }
    return false;
}

static int image_add(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct image image = { 0 };
    struct image known;
    (void)size;
    (void)unused;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_GNU_EH_FRAME)
            image.eh_frame = at;
        if (header->p_type != PT_LOAD)
            continue;
        if (image.start == NULL || at < image.start)
            image.start = at;
        if (at + header->p_memsz > image.end)
            image.end = at + header->p_memsz;
    }
    if (image.start == NULL || image_find((uintptr_t)image.start, &known))
        return 0;
    uint32_t place = __atomic_fetch_add(&image_count, 1, __ATOMIC_ACQ_REL);
    if (place >= IMAGES_MAX)
        return 1;
    images[place].end = image.end;
    images[place].eh_frame = image.eh_frame;
    __atomic_store_n(&images[place].start, image.start, __ATOMIC_RELEASE);
    return 0;
}

void image_list(void)
{
    if (!image_has_finder())
        (void)dl_iterate_phdr(image_add, NULL);
}
