// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/dwarf_sections.h"

#include <gelf.h>
#include <string.h>

// sections_is_called returns true if section is `.name`, its form with GNU's old
// compression, or that of a split file.
static bool sections_is_called(const char *section, const char *name)
{
    size_t length = strlen(name);
    section += section[0] == '.';
    section += section[0] == 'z';
    return strncmp(section, name, length) == 0 &&
           (section[length] == 0 || strcmp(section + length, ".dwo") == 0);
}

// next_called gives the next section called name after scn, NULL if there is none.
static Elf_Scn *next_called(Elf *elf, Elf_Scn *scn, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        GElf_Shdr header;
        const char *its_name = gelf_getshdr(scn, &header) != NULL
                                   ? elf_strptr(elf, names, header.sh_name)
                                   : NULL;
        if (its_name != NULL && header.sh_type != SHT_NOBITS &&
            sections_is_called(its_name, name))
            return scn;
    }
    return NULL;
}

struct cursor dwarf_section(Dwarf *dwarf, const char *name)
{
    Elf_Scn *scn = next_called(dwarf_getelf(dwarf), NULL, name);
    Elf_Data *data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL)
        return cursor_over(NULL, 0);
    return cursor_over(data->d_buf, data->d_size);
}

const uint8_t *dwarf_section_end(Dwarf *dwarf, const uint8_t *at)
{
    Elf *elf = dwarf_getelf(dwarf);
    for (Elf_Scn *scn = next_called(elf, NULL, "debug_info"); scn != NULL;
         scn = next_called(elf, scn, "debug_info")) {
        Elf_Data *data = elf_getdata(scn, NULL);
        const uint8_t *begin = data != NULL ? data->d_buf : NULL;
        if (begin != NULL && at >= begin && at < begin + data->d_size)
            return begin + data->d_size;
    }
    return NULL;
}
