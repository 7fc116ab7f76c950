// SPDX-License-Identifier: Apache-2.0
#include "languages/jit_descriptor.h"

#include <stdlib.h>

#include "base/array.h"
#include "images/image_symbol.h"

// Offsets in the descriptor and in an entry of its list, and what the first has.
enum {
    DESCRIPTOR_VERSION = 1,
    DESCRIPTOR_FIRST = 16,
    ENTRY_NEXT = 0,
    ENTRY_FILE = 16,
    ENTRY_SIZE = 24,
};

void jit_descriptor_deinit(struct jit_descriptor *jit)
{
    for (size_t i = 0; i < jit->count; i++)
        free(jit->files[i].bytes);
    free(jit->files);
    free(jit->sections);
    *jit = (struct jit_descriptor){ 0 };
}

static void read_jit_file(struct jit_descriptor *jit,
                          const struct memory_reader *reader, uint64_t address,
                          size_t size)
{
    uint8_t *bytes = malloc(size);
    if (bytes != NULL && memory_read(reader, address, bytes, size) == CH_OK &&
        array_reserve(&jit->files, &jit->capacity, jit->count, sizeof(*jit->files)))
        jit->files[jit->count++] = (struct jit_descriptor_file){ bytes, size };
    else
        free(bytes);
}

static void read_jit_list(struct jit_descriptor *jit,
                          const struct memory_reader *reader, uint64_t entry,
                          size_t *left)
{
    for (size_t i = 0; entry != 0 && i < JIT_FILES_MAX; i++) {
        uint64_t file;
        uint64_t size;
        if (memory_read_word(reader, entry + ENTRY_FILE, &file) != CH_OK ||
            memory_read_word(reader, entry + ENTRY_SIZE, &size) != CH_OK ||
            memory_read_word(reader, entry + ENTRY_NEXT, &entry) != CH_OK)
            return;
        if (size == 0 || size > JIT_FILE_BYTES || size > *left)
            continue;
        *left -= (size_t)size;
        read_jit_file(jit, reader, file, (size_t)size);
    }
}

void jit_descriptor_read(struct jit_descriptor *jit, const struct memory_reader *reader,
                         const struct target_images *images)
{
    size_t left = JIT_ALL_BYTES;
    for (size_t i = 0; !jit->read && i < images->count; i++) {
        uint64_t descriptor;
        uint64_t first;
        uint8_t version = 0;
        if (image_symbol_find(reader, &images->images[i], "__jit_debug_descriptor",
                              &descriptor) == CH_OK &&
            memory_read(reader, descriptor, &version, 1) == CH_OK &&
            version == DESCRIPTOR_VERSION &&
            memory_read_word(reader, descriptor + DESCRIPTOR_FIRST, &first) == CH_OK)
            read_jit_list(jit, reader, first, &left);
    }
    jit->read = true;
}

void jit_descriptor_name(const struct jit_descriptor *jit, struct jitted *jitted)
{
    for (size_t i = 0; i < jit->count; i++)
        jit_file_name(jit->files[i].bytes, jit->files[i].size, jitted);
}

size_t jit_descriptor_sections(struct jit_descriptor *jit,
                               const struct unwind_section **out)
{
    size_t count = 0;
    free(jit->sections);
    jit->sections = calloc(jit->count * JIT_FILE_SECTIONS + 1, sizeof(*jit->sections));
    for (size_t i = 0; jit->sections != NULL && i < jit->count; i++)
        count += jit_file_sections(jit->files[i].bytes, jit->files[i].size,
                                   jit->sections + count);
    *out = jit->sections;
    return count;
}
