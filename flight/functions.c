// SPDX-License-Identifier: Apache-2.0
#include "flight/functions.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "flight/ring.h"
#include "flight/ring_file.h"
#include "shared/dl_find_object.h"

// The greatest distance of a function from its first slot.
enum { STEPS_MAX = 256 };

uint64_t functions_table[FLIGHT_FUNCTIONS];
struct flight_image functions_images[FLIGHT_IMAGES];

// read_gnu_id reads the build ID in the notes from at to end.
static void read_gnu_id(const char *at, const char *end, struct flight_image *out)
{
    static const char gnu[] = "GNU";
    while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const char *name = at + sizeof(*note);
        size_t names = (note->n_namesz + (size_t)3) & ~(size_t)3;
        size_t described = (note->n_descsz + (size_t)3) & ~(size_t)3;
        if ((size_t)(end - name) < names || (size_t)(end - name) - names < described)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(gnu) &&
            memcmp(name, gnu, sizeof(gnu)) == 0 &&
            note->n_descsz <= sizeof(out->build_id)) {
            memcpy(out->build_id, name + names, note->n_descsz);
            out->build_id_size = note->n_descsz;
            return;
        }
        at = name + names + described;
    }
}

// copy_path copies a path that may be relative; "" if it is too long.
static void copy_path(const char *path, char out[FLIGHT_PATH_BYTES])
{
    const int error = errno;
    size_t length = strlen(path);
    size_t before = 0;
    if (path[0] != '/') { // the system call gives the size with the NUL
        long got = syscall(SYS_getcwd, out, FLIGHT_PATH_BYTES);
        errno = error; // we are in the middle of the program
        before = got > 0 ? (size_t)got : 1;
        out[before - 1] = '/';
    }
    if (length >= FLIGHT_PATH_BYTES - before)
        out[0] = 0;
    else
        memcpy(out + before, path, length + 1);
}

// describe_image describes the image that was found.
static void describe_image(const struct dl_find_object *found, struct flight_image *out)
{
    const char *start = found->dlfo_map_start;
    const char *end = found->dlfo_map_end;
    const char *bias = (const char *)found->dlfo_link_map->l_addr;
    const ElfW(Ehdr) *header = (const void *)start;
    *out = (struct flight_image){ .start = (uintptr_t)start, .end = (uintptr_t)end };
    copy_path(found->dlfo_link_map->l_name, out->path);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phoff > (size_t)(end - start) ||
        header->e_phnum >
            ((size_t)(end - start) - header->e_phoff) / sizeof(ElfW(Phdr)))
        return;
    const ElfW(Phdr) *segments = (const void *)(start + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum && out->build_id_size == 0; i++) {
        const char *notes = bias + segments[i].p_vaddr;
        if (segments[i].p_type == PT_NOTE && notes >= start && notes < end &&
            segments[i].p_memsz <= (size_t)(end - notes))
            read_gnu_id(notes, notes + segments[i].p_memsz, out);
    }
}

// leave_addresses marks the functions of image number, whose addresses other code may
// have now: calls of that code get numbers of their own. The image then has no
// addresses any more.
static void leave_addresses(uint64_t number)
{
    struct flight_image *image = &functions_images[number];
    for (uint32_t i = 0; i < FLIGHT_FUNCTIONS; i++) {
        uint64_t address = __atomic_load_n(&functions_table[i], __ATOMIC_RELAXED);
        uint64_t marked = address | (number + 1) << FLIGHT_ADDRESS_BITS;
        if (address >= image->start && address < image->end &&
            __atomic_compare_exchange_n(&functions_table[i], &address, marked, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ring_file_note_function(i, marked);
    }
    image->end = image->start;
    ring_file_note_image(number, image);
}

static bool same_image(const struct flight_image *a, const struct flight_image *b)
{
    return a->start == b->start && a->end == b->end &&
           a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
           (a->build_id_size != 0 || strcmp(a->path, b->path) == 0);
}

// add_image adds an image, unless it is there or there is no room for it. Those that
// were at its addresses before leave them.
static void add_image(const struct flight_image *image)
{
    uint64_t count = flight_state.image_count;
    for (uint64_t i = count; i > 0; i--) {
        const struct flight_image *other = &functions_images[i - 1];
        if (image->start >= other->end || other->start >= image->end)
            continue;
        if (same_image(image, other))
            return;
        leave_addresses(i - 1);
    }
    if (count == FLIGHT_IMAGES)
        return;
    functions_images[count] = *image;
    __atomic_store_n(&flight_state.image_count, count + 1, __ATOMIC_RELEASE);
    ring_file_note_image(count, image);
}

// changing_images is true while a thread changes the list of images.
static bool changing_images;

void functions_leave_unloaded(void)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL ||
        __atomic_test_and_set(&changing_images, __ATOMIC_ACQUIRE))
        return;
    for (uint64_t i = 0; i < flight_state.image_count; i++) {
        const struct flight_image *image = &functions_images[i];
        if (image->end != image->start &&
            _dl_find_object((void *)(uintptr_t)image->start, &found) != 0)
            leave_addresses(i);
    }
    __atomic_clear(&changing_images, __ATOMIC_RELEASE);
}

// note_library notes the library of a new function. The program itself is not unloaded.
// If another thread, or what this signal handler interrupted, changes the list, the
// library is noted at its next new function.
static void note_library(uint64_t address)
{
    struct dl_find_object found;
    struct flight_image image;
    if (_dl_find_object == NULL ||
        _dl_find_object((void *)(uintptr_t)address, &found) != 0 ||
        found.dlfo_link_map->l_name[0] == 0 ||
        __atomic_test_and_set(&changing_images, __ATOMIC_ACQUIRE))
        return;
    describe_image(&found, &image);
    add_image(&image);
    __atomic_clear(&changing_images, __ATOMIC_RELEASE);
}

uint32_t functions_add(uint64_t address)
{
    uint32_t place = functions_place(address);
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        uint64_t found = __atomic_load_n(&functions_table[place], __ATOMIC_RELAXED);
        if (found == 0) {
            note_library(address);
            if (__atomic_compare_exchange_n(&functions_table[place], &found, address,
                                            false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
                ring_file_note_function(place, address);
                return FLIGHT_FIRST_ID + place;
            }
        }
        if (found == address)
            return FLIGHT_FIRST_ID + place;
        place = (place + 1) % FLIGHT_FUNCTIONS;
    }
    return FLIGHT_NO_ID;
}
