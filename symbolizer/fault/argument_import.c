// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_import.h"

#include <gelf.h>
#include <string.h>

// import_name gives the name of a relocation's symbol.
static const char *import_name(Elf *elf, const GElf_Shdr *relocations, uint64_t info)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Scn *symbols = elf_getscn(elf, relocations->sh_link);
    Elf_Data *data = symbols != NULL ? elf_getdata(symbols, NULL) : NULL;
    size_t index = (size_t)GELF_R_SYM(info);
    if (data == NULL || gelf_getshdr(symbols, &header) == NULL || index > INT32_MAX ||
        gelf_getsym(data, (int)index, &symbol) == NULL)
        return NULL;
    return elf_strptr(elf, header.sh_link, symbol.st_name);
}

// import_in_section searches a section of relocations.
static const char *import_in_section(Elf *elf, Elf_Scn *section, uint64_t vaddr)
{
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_RELA ||
        header.sh_entsize == 0)
        return NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    uint64_t count = header.sh_size / header.sh_entsize;
    for (uint64_t i = 0; data != NULL && i < count && i < INT32_MAX; i++) {
        GElf_Rela relocation;
        if (gelf_getrela(data, (int)i, &relocation) == NULL)
            return NULL;
        if (relocation.r_offset == vaddr)
            return import_name(elf, &header, relocation.r_info);
    }
    return NULL;
}

const char *argument_import_of_slot(const struct argument_image *image, uint64_t vaddr)
{
    Elf *elf = image->types.files.image.elf;
    const char *name = NULL;
    Elf_Scn *section = NULL;
    while (elf != NULL && name == NULL && (section = elf_nextscn(elf, section)) != NULL)
        name = import_in_section(elf, section, vaddr);
    return name != NULL && name[0] != 0 ? name : NULL;
}

const char *argument_import_of_stub(const struct argument_image *image, uint64_t vaddr)
{
    static const uint8_t marker[] = { 0xf3, 0x0f, 0x1e, 0xfa }; // endbr64
    static const uint8_t jump[] = { 0xff, 0x25 };               // jmp *offset(%rip)
    int32_t offset;
    size_t left;
    size_t at = 0;
    const uint8_t *code = argument_image_bytes(image, vaddr, true, &left);
    if (code == NULL)
        return NULL;
    if (left >= sizeof(marker) && memcmp(code, marker, sizeof(marker)) == 0)
        at += sizeof(marker);
    if (left > at && code[at] == 0xf2) // bnd
        at++;
    if (left < at + sizeof(jump) + sizeof(offset) ||
        memcmp(code + at, jump, sizeof(jump)) != 0)
        return NULL;
    memcpy(&offset, code + at + sizeof(jump), sizeof(offset));
    uint64_t next = vaddr + at + sizeof(jump) + sizeof(offset);
    return argument_import_of_slot(image, next + (uint64_t)(int64_t)offset);
}
