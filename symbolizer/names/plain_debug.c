// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/plain_debug.h"

#include <gelf.h>
#include <string.h>

enum { SECTIONS_MAX = 32, ALIGNMENT = 16 };

// plain has the sections of the file being written, of which the first is the null
// section.
struct plain {
    struct text *out;
    struct text names;
    Elf64_Shdr headers[SECTIONS_MAX];
    size_t count;
};

// plain_is_taken says whether finding values needs a section of that name.
static bool plain_is_taken(const char *name)
{
    static const char *const taken[] = {
        ".note.gnu.build-id", ".debug_info",       ".debug_types",  ".debug_abbrev",
        ".debug_str",         ".debug_line_str",   ".debug_addr",   ".debug_aranges",
        ".debug_loc",         ".debug_loclists",   ".debug_ranges", ".debug_rnglists",
        ".debug_frame",       ".debug_str_offsets"
    };
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (strcmp(name, taken[i]) == 0)
            return true;
    return false;
}

// next_section moves to the next section that has bytes in the file, and gives its
// header and name; NULL: there is none.
static Elf_Scn *next_section(Elf *elf, Elf_Scn *scn, GElf_Shdr *header,
                             const char **out_name)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        if (gelf_getshdr(scn, header) == NULL || header->sh_type == SHT_NOBITS)
            continue;
        *out_name = elf_strptr(elf, names, header->sh_name);
        if (*out_name != NULL)
            return scn;
    }
    return NULL;
}

bool plain_debug_wanted(const struct debug_elf *file)
{
    GElf_Shdr header;
    const char *name;
    bool compressed = false;
    if (gelf_getclass(file->elf) != ELFCLASS64)
        return false; // what is written has 64 bits, and no values of others are found
    for (Elf_Scn *scn = next_section(file->elf, NULL, &header, &name); scn != NULL;
         scn = next_section(file->elf, scn, &header, &name)) {
        if (strcmp(name, ".gnu_debugaltlink") == 0)
            return false;
        compressed |= plain_is_taken(name) && (header.sh_flags & SHF_COMPRESSED) != 0;
    }
    return compressed;
}

static void align(struct text *out)
{
    static const char zeros[ALIGNMENT] = { 0 };
    text_append(out, zeros, (ALIGNMENT - out->size % ALIGNMENT) % ALIGNMENT);
}

// add_bytes appends a section.
static enum ch_status add_bytes(struct plain *plain, const char *name,
                                const GElf_Shdr *from, const void *bytes, size_t size)
{
    if (plain->count == SECTIONS_MAX)
        return CH_ERR_LIMIT;
    align(plain->out);
    plain->headers[plain->count++] =
        (Elf64_Shdr){ .sh_name = (Elf64_Word)plain->names.size,
                      .sh_type = from->sh_type,
                      .sh_flags = from->sh_flags & (SHF_MERGE | SHF_STRINGS),
                      .sh_entsize = from->sh_entsize,
                      .sh_offset = plain->out->size,
                      .sh_size = size,
                      .sh_addralign = 1 };
    text_append(&plain->names, name, strlen(name) + 1);
    text_append(plain->out, bytes, size);
    return text_ok(plain->out) ? CH_OK : CH_ERR_LIMIT;
}

// plain_add_section appends a section of the file, decompressed in our memory; the file
// itself stays unchanged.
static enum ch_status plain_add_section(struct plain *plain, Elf_Scn *scn,
                                        const char *name, const GElf_Shdr *header)
{
    GElf_Chdr compressed;
    if ((header->sh_flags & SHF_COMPRESSED) != 0) {
        if (gelf_getchdr(scn, &compressed) == NULL)
            return CH_ERR_MALFORMED;
        if (compressed.ch_size > plain->out->limit_bytes)
            return CH_ERR_LIMIT;
        if (elf_compress(scn, 0, 0) < 0)
            return CH_ERR_MALFORMED;
    }
    const Elf_Data *data = elf_rawdata(scn, NULL);
    if (data == NULL || (data->d_buf == NULL && data->d_size != 0))
        return CH_ERR_MALFORMED;
    return add_bytes(plain, name, header, data->d_buf, data->d_size);
}

static enum ch_status add_sections(struct plain *plain, Elf *elf)
{
    GElf_Shdr header;
    const char *name;
    enum ch_status status = CH_OK;
    Elf_Scn *scn = NULL;
    while (status == CH_OK && (scn = next_section(elf, scn, &header, &name)) != NULL)
        if (plain_is_taken(name))
            status = plain_add_section(plain, scn, name, &header);
    return status;
}

// plain_finish appends the names and the headers of the sections, and completes the
// file's header.
static enum ch_status plain_finish(struct plain *plain, const GElf_Ehdr *from)
{
    const GElf_Shdr strings = { .sh_type = SHT_STRTAB };
    size_t index = plain->count;
    text_append(&plain->names, ".shstrtab", sizeof(".shstrtab"));
    if (!text_ok(&plain->names))
        return CH_ERR_NO_MEMORY;
    size_t size = plain->names.size;
    enum ch_status status = add_bytes(plain, "", &strings, plain->names.bytes, size);
    if (status != CH_OK)
        return status;
    plain->headers[index].sh_name = (Elf64_Word)(size - sizeof(".shstrtab"));
    align(plain->out);
    Elf64_Ehdr header = *from;
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = plain->out->size;
    header.e_shentsize = sizeof(plain->headers[0]);
    header.e_shnum = (Elf64_Half)plain->count;
    header.e_shstrndx = (Elf64_Half)index;
    text_append(plain->out, plain->headers, plain->count * sizeof(plain->headers[0]));
    if (!text_ok(plain->out))
        return CH_ERR_LIMIT;
    memcpy(plain->out->bytes, &header, sizeof(header));
    return CH_OK;
}

enum ch_status plain_debug_write(const struct debug_elf *file, struct text *out)
{
    GElf_Ehdr header;
    struct plain plain = { .out = out, .count = 1 };
    if (gelf_getehdr(file->elf, &header) == NULL)
        return CH_ERR_MALFORMED;
    text_append(&plain.names, "", 1);
    text_append(out, &header, sizeof(header)); // filled in at the end
    enum ch_status status = add_sections(&plain, file->elf);
    if (status == CH_OK)
        status = plain_finish(&plain, &header);
    text_deinit(&plain.names);
    return status;
}
