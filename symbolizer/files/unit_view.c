// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/unit_view.h"

#include <gelf.h>
#include <string.h>

// Lengths from here on say that a header is of 64-bit DWARF, or nothing.
#define LENGTHS_END 0xfffffff0u

// view_read opens the unit, once nothing but it is left to be read.
static Dwarf *view_read(const struct debug_elf *file, uint64_t unit, Dwarf_Die *out)
{
    Dwarf_Off next;
    size_t header;
    Dwarf *view = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (view == NULL)
        return NULL;
    if (dwarf_next_unit(view, unit, &next, &header, NULL, NULL, NULL, NULL, NULL,
                        NULL) == 0 &&
        dwarf_offdie(view, unit + header, out) != NULL)
        return view;
    dwarf_end(view);
    return NULL;
}

Dwarf *unit_view_open(const struct debug_elf *file, uint64_t unit, Dwarf_Die *out)
{
    GElf_Shdr header;
    uint32_t length;
    Elf_Scn *scn = debug_elf_find_section(file, ".debug_info", &header);
    Elf_Data *data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL || header.sh_flags & SHF_COMPRESSED ||
        unit > data->d_size || unit < sizeof(length) ||
        unit - sizeof(length) >= LENGTHS_END)
        return NULL;
    memcpy(&length, data->d_buf, sizeof(length));
    if (length >= LENGTHS_END)
        return NULL;
    // libdw reads the length of the file's first unit, in our private mapping, as if
    // that unit went on to the one that is wanted. It keeps what it has read.
    const uint32_t up_to_unit = (uint32_t)(unit - sizeof(length));
    memcpy(data->d_buf, &up_to_unit, sizeof(up_to_unit));
    Dwarf *view = view_read(file, unit, out);
    memcpy(data->d_buf, &length, sizeof(length));
    return view;
}
