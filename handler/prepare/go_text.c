// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/go_text.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "handler/crash/crash.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/syscalls.h"

// The function table that each Go binary has, as of Go 1.18 (runtime/symtab.go,
// pcHeader).
enum { TABLE_1_18 = 0xfffffff0u, TABLE_1_20 = 0xfffffff1u, SECTIONS_MAX = 128 };

struct go_table {
    uint32_t magic;
    uint8_t unused[3];
    uint8_t pointer_bytes;
    uint64_t functions;
    uint64_t files;
    uint64_t text;
    uint64_t name_offset;
    uint64_t unit_offset;
    uint64_t file_offset;
    uint64_t pc_offset;
    uint64_t functions_offset; // entries of two 32-bit numbers, with one number more at
                               // the end
};

struct image_search {
    uintptr_t address;
    uintptr_t base;
    uintptr_t end; // of the image
    bool is_go;
    const char *path;
};

// has_go_note returns true if the notes have one by Go's linker.
static bool has_go_note(const char *notes, size_t bytes)
{
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)notes;
    while (bytes >= sizeof(*note) + 4) {
        size_t size = sizeof(*note) + ((note->n_namesz + 3u) & ~3u) +
                      ((note->n_descsz + 3u) & ~3u);
        if (note->n_namesz == 4 && memcmp(note + 1, "Go\0", 4) == 0)
            return true;
        if (size > bytes)
            return false;
        note = (const ElfW(Nhdr) *)(const void *)((const char *)note + size);
        bytes -= size;
    }
    return false;
}

static int look_at_image(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct image_search *search = argument;
    bool holds = false;
    (void)size;

    search->end = 0;
    search->is_go = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_NOTE)
            search->is_go |= has_go_note((const char *)start, header->p_memsz);
        if (header->p_type != PT_LOAD)
            continue;
        holds |= search->address - start < header->p_memsz;
        if (start + header->p_memsz > search->end)
            search->end = start + header->p_memsz;
    }
    search->base = info->dlpi_addr;
    search->path = info->dlpi_name;
    return holds;
}

static bool go_read_at(int fd, void *to, size_t length, uint64_t offset)
{
    return sys_read_at(fd, to, length, offset) == (long)length;
}

// table_place is the table's vaddr according to the file's sections. 0: it has none.
static uint64_t table_place(int fd)
{
    ElfW(Ehdr) file;
    ElfW(Shdr) names;
    ElfW(Shdr) section;
    char name[sizeof(".gopclntab")];

    if (!go_read_at(fd, &file, sizeof(file), 0) ||
        file.e_shentsize != sizeof(section) ||
        !go_read_at(fd, &names, sizeof(names),
                    file.e_shoff + (uint64_t)file.e_shstrndx * sizeof(names)))
        return 0;
    for (unsigned i = 0; i < file.e_shnum && i < SECTIONS_MAX; i++) {
        if (go_read_at(fd, &section, sizeof(section),
                       file.e_shoff + i * sizeof(section)) &&
            go_read_at(fd, name, sizeof(name), names.sh_offset + section.sh_name) &&
            memcmp(name, ".gopclntab", sizeof(name)) == 0)
            return section.sh_addr;
    }
    return 0;
}

static void note_table(const struct image_search *image, uint64_t place)
{
    const struct go_table *table = (const struct go_table *)(image->base + place);
    if ((uintptr_t)table > image->end - sizeof(*table) ||
        (table->magic != TABLE_1_18 && table->magic != TABLE_1_20) ||
        table->pointer_bytes != sizeof(void *))
        return;
    const uint32_t *functions =
        (const uint32_t *)(const void *)((const char *)table + table->functions_offset);
    const uint32_t *end = functions + 2 * table->functions;
    if ((uintptr_t)end > image->end - sizeof(*end) || end < functions)
        return;
    uint64_t text_end = table->text + *end;
    if (image->address < table->text || image->address >= text_end)
        return;
    crash_state.runtime_text_end = text_end;
    crash_state.runtime_text = table->text;
}

void go_text_note(uintptr_t handler)
{
    struct image_search image = { .address = handler };
    if (crash_is_in_runtime(handler) || dl_iterate_phdr(look_at_image, &image) == 0 ||
        !image.is_go)
        return;
    int fd =
        sys_open(image.path != NULL && *image.path != 0 ? image.path : "/proc/self/exe",
                 O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    uint64_t place = table_place(fd);
    sys_close(fd);
    if (place != 0)
        note_table(&image, place);
}
