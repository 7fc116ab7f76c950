// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/plain_debug.h"

#include <errno.h>
#include <gelf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own_thread.h"
#include "base/text.h"
#include "formats/inflate.h"

enum {
    SECTIONS_MAX = 32,
    ALIGNMENT = 16,
    PIECE_BYTES = 64 << 10, // copied at a time
};

// plain_section is a section that is taken.
struct plain_section {
    uint64_t from; // offset of its bytes in the original
    uint64_t stored;
    bool compressed;
    Elf64_Shdr header; // in the plain file
};

// plain is the file being written.
struct plain {
    const struct debug_elf *file;
    int fd;         // -1: it is written to bytes
    uint8_t *bytes; // of which there are as many as plain_whole_size says
    struct plain_section sections[SECTIONS_MAX];
    size_t count;
    uint64_t size;     // of the file without its headers of sections
    struct text names; // of sections
    bool compressed;   // one of them is
    atomic_uint next;  // section to be written
    atomic_int status; // the first failure
};

// plain_is_taken says whether finding names, or values too, needs a section of that
// name.
static bool plain_is_taken(const char *name, bool names_only)
{
    static const char *const taken[] = {
        ".note.gnu.build-id", ".debug_info",     ".debug_types", ".debug_abbrev",
        ".debug_str",         ".debug_line_str", ".debug_addr",  ".debug_aranges",
        ".debug_ranges",      ".debug_rnglists", ".debug_line",  ".debug_str_offsets",
        ".debug_loc",         ".debug_loclists", ".debug_frame",
    };
    enum { TAKEN = sizeof(taken) / sizeof(taken[0]), FOR_VALUES = 3 };
    for (size_t i = 0; i < TAKEN - (names_only ? FOR_VALUES : 0); i++)
        if (strcmp(name, taken[i]) == 0)
            return true;
    return false;
}

static uint64_t plain_align(uint64_t size)
{
    return (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

// plain_add adds a section to those taken. CH_ERR_UNSUPPORTED: it is compressed in
// another way.
static enum ch_status plain_add(struct plain *plain, Elf_Scn *scn, const char *name,
                                const GElf_Shdr *header)
{
    GElf_Chdr compressed;
    struct plain_section section = { .from = header->sh_offset,
                                     .stored = header->sh_size };
    uint64_t size = header->sh_size;
    if (plain->count == SECTIONS_MAX)
        return CH_ERR_LIMIT;
    section.compressed = (header->sh_flags & SHF_COMPRESSED) != 0;
    if (section.compressed) {
        if (gelf_getchdr(scn, &compressed) == NULL ||
            header->sh_size < sizeof(Elf64_Chdr))
            return CH_ERR_MALFORMED;
        if (compressed.ch_type != ELFCOMPRESS_ZLIB)
            return CH_ERR_UNSUPPORTED;
        section.from += sizeof(Elf64_Chdr);
        section.stored -= sizeof(Elf64_Chdr);
        size = compressed.ch_size;
        plain->compressed = true;
    }
    if (size > INT64_MAX / 2 - plain->size)
        return CH_ERR_LIMIT;
    plain->size = plain_align(plain->size);
    section.header =
        (Elf64_Shdr){ .sh_name = (Elf64_Word)plain->names.size,
                      .sh_type = header->sh_type,
                      .sh_flags = header->sh_flags & (SHF_MERGE | SHF_STRINGS),
                      .sh_entsize = header->sh_entsize,
                      .sh_offset = plain->size,
                      .sh_size = size,
                      .sh_addralign = 1 };
    text_append(&plain->names, name, strlen(name) + 1);
    plain->size += size;
    plain->sections[plain->count++] = section;
    return text_ok(&plain->names) ? CH_OK : CH_ERR_NO_MEMORY;
}

// plain_list lists the sections that are taken. CH_ERR_UNSUPPORTED: there is no plain
// form.
static enum ch_status plain_list(struct plain *plain, const struct debug_elf *file,
                                 bool names_only)
{
    size_t names;
    GElf_Shdr header;
    enum ch_status status = CH_OK;
    *plain = (struct plain){ .file = file, .fd = -1, .size = sizeof(Elf64_Ehdr) };
    text_append(&plain->names, "", 1);
    // What is written has 64 bits, and no values of others are found.
    if (file->fd < 0 || gelf_getclass(file->elf) != ELFCLASS64 ||
        elf_getshdrstrndx(file->elf, &names) != 0)
        return CH_ERR_UNSUPPORTED;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL && status == CH_OK;
         scn = elf_nextscn(file->elf, scn)) {
        if (gelf_getshdr(scn, &header) == NULL || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(file->elf, names, header.sh_name);
        if (name != NULL && strcmp(name, ".gnu_debugaltlink") == 0)
            status = CH_ERR_UNSUPPORTED;
        else if (name != NULL && plain_is_taken(name, names_only))
            status = plain_add(plain, scn, name, &header);
    }
    return status;
}

uint64_t plain_debug_size(const struct debug_elf *file)
{
    struct plain plain;
    enum ch_status status = plain_list(&plain, file, false);
    text_deinit(&plain.names);
    return status == CH_OK && plain.compressed ? plain.size : 0;
}

// plain_write_at writes bytes of the file, which has room for them.
static bool plain_write_at(const struct plain *plain, const void *bytes, size_t size,
                           uint64_t at)
{
    if (plain->fd < 0)
        memcpy(plain->bytes + at, bytes, size);
    while (plain->fd >= 0 && size > 0) {
        ssize_t written = pwrite(plain->fd, bytes, size, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes = (const char *)bytes + written;
        size -= (size_t)written;
        at += (uint64_t)written;
    }
    return true;
}

// plain_copying is a section on its way into the plain file.
struct plain_copying {
    const struct plain *plain;
    const struct plain_section *section;
    uint64_t taken;   // bytes of what is stored
    uint64_t written; // bytes of the section
};

// plain_read_some reads at most size bytes of what is stored: 0 at the end, or if it
// cannot be read.
static size_t plain_read_some(void *context, void *to, size_t size)
{
    struct plain_copying *c = context;
    uint64_t left = c->section->stored - c->taken;
    size_t part = left < size ? (size_t)left : size;
    ssize_t got;
    do
        got = pread(c->plain->file->fd, to, part, (off_t)(c->section->from + c->taken));
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return 0;
    c->taken += (uint64_t)got;
    return (size_t)got;
}

// plain_write_some writes the next bytes of the section.
static bool plain_write_some(void *context, const void *from, size_t size)
{
    struct plain_copying *c = context;
    uint64_t at = c->section->header.sh_offset + c->written;
    c->written += size;
    return plain_write_at(c->plain, from, size, at);
}

// plain_copy writes a section that is not compressed.
static enum ch_status plain_copy(struct plain_copying *c)
{
    uint8_t piece[PIECE_BYTES];
    while (c->taken < c->section->stored) {
        size_t size = plain_read_some(c, piece, sizeof(piece));
        if (size == 0)
            return CH_ERR_MALFORMED;
        if (!plain_write_some(c, piece, size))
            return CH_ERR_IO;
    }
    return CH_OK;
}

// plain_write_section writes a section. One that is compressed has to have the size
// that its header says.
static enum ch_status plain_write_section(const struct plain *plain,
                                          const struct plain_section *section)
{
    struct plain_copying c = { .plain = plain, .section = section };
    const struct inflate_pipe pipe = { .read = plain_read_some,
                                       .write = plain_write_some,
                                       .context = &c };
    return section->compressed ? inflate_zlib_pipe(&pipe, section->header.sh_size)
                               : plain_copy(&c);
}

// write_plain_sections writes sections until none is left; several threads may do so.
static void *write_plain_sections(void *context)
{
    struct plain *plain = context;
    enum ch_status status = CH_OK;
    while (status == CH_OK && atomic_load(&plain->status) == CH_OK) {
        unsigned index = atomic_fetch_add(&plain->next, 1);
        if (index >= plain->count)
            break;
        status = plain_write_section(plain, &plain->sections[index]);
    }
    int none = CH_OK;
    if (status != CH_OK)
        (void)atomic_compare_exchange_strong(&plain->status, &none, (int)status);
    return NULL;
}

// plain_write_sections writes all sections: for a large file in two threads, as one
// section has more than half of it and is written first.
static enum ch_status plain_write_sections(struct plain *plain)
{
    pthread_t other;
    bool started = plain->size >= PLAIN_DEBUG_LARGE &&
                   own_thread_start(&other, write_plain_sections, plain);
    (void)write_plain_sections(plain);
    if (started)
        (void)pthread_join(other, NULL);
    return (enum ch_status)atomic_load(&plain->status);
}

// plain_name_names adds the section with the names of sections; they are complete.
static enum ch_status plain_name_names(struct plain *plain, Elf64_Shdr *out)
{
    size_t name = plain->names.size;
    text_append(&plain->names, ".shstrtab", sizeof(".shstrtab"));
    *out = (Elf64_Shdr){ .sh_name = (Elf64_Word)name,
                         .sh_type = SHT_STRTAB,
                         .sh_offset = plain->size,
                         .sh_size = plain->names.size,
                         .sh_addralign = 1 };
    return text_ok(&plain->names) ? CH_OK : CH_ERR_NO_MEMORY;
}

// plain_finish writes the names and the headers of the sections, and the file's header,
// which makes it one.
static enum ch_status plain_finish(struct plain *plain, const Elf64_Shdr *names)
{
    GElf_Ehdr header;
    Elf64_Shdr headers[SECTIONS_MAX + 2] = { { 0 } }; // the first is the null section
    if (gelf_getehdr(plain->file->elf, &header) == NULL)
        return CH_ERR_MALFORMED;
    size_t count = 1;
    for (size_t i = 0; i < plain->count; i++)
        headers[count++] = plain->sections[i].header;
    headers[count] = *names;
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = plain_align(plain->size + plain->names.size);
    header.e_shentsize = sizeof(headers[0]);
    header.e_shstrndx = (Elf64_Half)count++;
    header.e_shnum = (Elf64_Half)count;
    bool written =
        plain_write_at(plain, plain->names.bytes, plain->names.size, plain->size) &&
        plain_write_at(plain, headers, count * sizeof(headers[0]), header.e_shoff) &&
        plain_write_at(plain, &header, sizeof(header), 0);
    return written ? CH_OK : CH_ERR_IO;
}

// plain_whole_size is the size of the file with everything.
static uint64_t plain_whole_size(const struct plain *plain)
{
    return plain_align(plain->size + plain->names.size) +
           (plain->count + 2) * sizeof(Elf64_Shdr);
}

static int largest_first(const void *left, const void *right)
{
    const struct plain_section *a = left;
    const struct plain_section *b = right;
    return a->header.sh_size > b->header.sh_size
               ? -1
               : a->header.sh_size < b->header.sh_size;
}

// plain_write_all writes everything to where plain says.
static enum ch_status plain_write_all(struct plain *plain, const Elf64_Shdr *names)
{
    qsort(plain->sections, plain->count, sizeof(plain->sections[0]), largest_first);
    enum ch_status status = plain_write_sections(plain);
    return status == CH_OK ? plain_finish(plain, names) : status;
}

enum ch_status plain_debug_write(const struct debug_elf *file, int fd,
                                 uint64_t limit_bytes)
{
    struct plain plain;
    Elf64_Shdr names;
    enum ch_status status = plain_list(&plain, file, false);
    plain.fd = fd;
    if (status == CH_OK && plain.size > limit_bytes)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = plain_name_names(&plain, &names);
    if (status == CH_OK)
        status = plain_write_all(&plain, &names);
    text_deinit(&plain.names);
    return status;
}

// plain_load_all writes the file to memory.
static enum ch_status plain_load_all(struct plain *plain, const Elf64_Shdr *names,
                                     struct debug_elf *out)
{
    size_t size = (size_t)plain_whole_size(plain);
    plain->bytes = malloc(size);
    if (plain->bytes == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = plain_write_all(plain, names);
    if (status == CH_OK)
        return debug_elf_over(out, plain->bytes, size);
    free(plain->bytes);
    return status;
}

enum ch_status plain_debug_load(struct debug_elf *out, const struct debug_elf *file)
{
    struct plain plain;
    Elf64_Shdr names;
    enum ch_status status = plain_list(&plain, file, true);
    // Split files are looked for from where the file itself is.
    if (status == CH_OK &&
        (!plain.compressed || debug_elf_section(file, ".debug_addr") != NULL))
        status = CH_ERR_UNSUPPORTED;
    if (status == CH_OK && plain.size > PLAIN_DEBUG_LOADED_MAX)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = plain_name_names(&plain, &names);
    if (status == CH_OK)
        status = plain_load_all(&plain, &names, out);
    text_deinit(&plain.names);
    return status;
}
