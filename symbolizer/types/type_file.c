// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_file.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/types/type_ctf.h"
#include "symbolizer/types/type_dwarf.h"

struct type_file {
    struct type_table table;
    enum type_source source;
    struct type_ctf ctf;
    Elf *elf;
    struct debug_elf plain; // if libelf may be unable to decompress elf
    Dwarf *dwarf;
};

static enum ch_status read_dwarf(struct type_file *file, const void *bytes, size_t size,
                                 const char *name)
{
    (void)elf_version(EV_CURRENT);
    file->source = TYPE_FROM_DWARF;
    file->elf = elf_memory((char *)(uintptr_t)bytes, size); // it is only read
    if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF)
        return CH_ERR_MALFORMED;
    const Elf64_Ehdr *header = elf64_getehdr(file->elf);
    if (header == NULL || header->e_type == ET_REL)
        return CH_ERR_UNSUPPORTED; // an object's DWARF is not relocated yet
    const struct debug_elf whole = { .fd = -1, .elf = file->elf };
    bool replaced = decompressed_debug_load_foreign(&file->plain, &whole) == CH_OK;
    Elf *elf = replaced ? file->plain.elf : file->elf;
    file->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (file->dwarf == NULL)
        return CH_ERR_NOT_FOUND;
    struct type_dwarf types;
    type_dwarf_init(&types, file->dwarf, &file->table);
    enum ch_status status = type_dwarf_add_all(&types, name);
    type_dwarf_deinit(&types);
    return status;
}

static enum ch_status read_types(struct type_file *file, const struct type_bytes *bytes,
                                 const struct type_bytes *base, enum type_source wanted,
                                 const char *name)
{
    enum ch_status status = type_table_init(&file->table);
    if (status != CH_OK)
        return status;
    if (wanted == TYPE_FROM_EITHER || wanted == TYPE_FROM_BTF) {
        // Bytes that are no ELF file may be a section of CTF.
        file->source = TYPE_FROM_BTF;
        status = type_btf_load(&file->table, bytes, base);
        if (status != CH_ERR_NOT_FOUND || wanted == TYPE_FROM_BTF)
            return status;
    }
    if (wanted == TYPE_FROM_DWARF)
        return read_dwarf(file, bytes->bytes, bytes->size, name);
    file->source = TYPE_FROM_CTF;
    status = type_ctf_load(&file->ctf, &file->table, bytes->bytes, bytes->size);
    if (status != CH_ERR_NOT_FOUND || wanted == TYPE_FROM_CTF)
        return status;
    return read_dwarf(file, bytes->bytes, bytes->size, name);
}

enum ch_status type_file_open(struct type_file **out, const struct type_bytes *bytes,
                              const struct type_bytes *base, enum type_source wanted,
                              const char *name)
{
    struct type_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = read_types(file, bytes, base, wanted, name);
    if (status == CH_OK)
        *out = file;
    else
        type_file_close(file);
    return status;
}

const char *type_source_name(enum type_source source)
{
    static const char *const names[] = {
        [TYPE_FROM_CTF] = "ctf", [TYPE_FROM_BTF] = "btf", [TYPE_FROM_DWARF] = "dwarf"
    };
    return source != TYPE_FROM_EITHER ? names[source] : "";
}

void type_file_close(struct type_file *file)
{
    if (file == NULL)
        return;
    type_table_deinit(&file->table);
    type_ctf_unload(&file->ctf);
    if (file->dwarf != NULL)
        dwarf_end(file->dwarf);
    debug_elf_close(&file->plain);
    if (file->elf != NULL)
        elf_end(file->elf);
    free(file);
}

const struct type_table *type_file_table(const struct type_file *file)
{
    return &file->table;
}

enum type_source type_file_source(const struct type_file *file)
{
    return file->source;
}
