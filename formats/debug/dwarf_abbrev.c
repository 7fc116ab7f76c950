// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/dwarf_abbrev.h"

enum ch_status dwarf_abbrev_next(struct cursor *table, struct dwarf_abbrev *out)
{
    *out = (struct dwarf_abbrev){ .code = cursor_uleb128(table) };
    if (!cursor_ok(table))
        return CH_ERR_TRUNCATED;
    if (out->code == 0)
        return CH_END;
    out->tag = cursor_uleb128(table);
    out->children = cursor_u8(table) != 0;
    return cursor_ok(table) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status dwarf_abbrev_attribute(struct cursor *table, struct dwarf_attribute *out)
{
    *out = (struct dwarf_attribute){ .name = cursor_uleb128(table) };
    out->form = cursor_uleb128(table);
    if (out->form == DWARF_FORM_IMPLICIT)
        out->implicit = cursor_sleb128(table);
    if (!cursor_ok(table))
        return CH_ERR_TRUNCATED;
    return out->name == 0 && out->form == 0 ? CH_END : CH_OK;
}

static struct dwarf_field fixed(uint32_t size)
{
    return (struct dwarf_field){ DWARF_FIELD_FIXED, size };
}

// Rows of forms, by number: 1 + n stands for n bytes, and the others for what follows.
enum { ADDRESS = 0x40, OFFSET, REFERENCE, LEB, STRING, BLOCK, BLOCK1, BLOCK2, BLOCK4 };
static const uint8_t forms[] = {
    [0x01] = ADDRESS,
    [0x03] = BLOCK2,
    [0x04] = BLOCK4,
    [0x05] = 1 + 2, // DW_FORM_data2
    [0x06] = 1 + 4, // DW_FORM_data4
    [0x07] = 1 + 8, // DW_FORM_data8
    [0x08] = STRING,
    [0x09] = BLOCK,
    [0x0a] = BLOCK1,
    [0x0b] = 1 + 1,  // DW_FORM_data1
    [0x0c] = 1 + 1,  // DW_FORM_flag
    [0x0d] = LEB,    // DW_FORM_sdata
    [0x0e] = OFFSET, // DW_FORM_strp
    [0x0f] = LEB,    // DW_FORM_udata
    [0x10] = REFERENCE,
    [0x11] = 1 + 1,  // DW_FORM_ref1
    [0x12] = 1 + 2,  // DW_FORM_ref2
    [0x13] = 1 + 4,  // DW_FORM_ref4
    [0x14] = 1 + 8,  // DW_FORM_ref8
    [0x15] = LEB,    // DW_FORM_ref_udata
    [0x17] = OFFSET, // DW_FORM_sec_offset
    [0x18] = BLOCK,  // DW_FORM_exprloc
    [0x19] = 1 + 0,  // DW_FORM_flag_present
    [0x1a] = LEB,    // DW_FORM_strx
    [0x1b] = LEB,    // DW_FORM_addrx
    [0x1c] = 1 + 4,  // DW_FORM_ref_sup4
    [0x1d] = OFFSET, // DW_FORM_strp_sup
    [0x1e] = 1 + 16, // DW_FORM_data16
    [0x1f] = OFFSET, // DW_FORM_line_strp
    [0x20] = 1 + 8,  // DW_FORM_ref_sig8
    [DWARF_FORM_IMPLICIT] = 1 + 0,
    [0x22] = LEB,   // DW_FORM_loclistx
    [0x23] = LEB,   // DW_FORM_rnglistx
    [0x24] = 1 + 8, // DW_FORM_ref_sup8
    [0x25] = 1 + 1, // DW_FORM_strx1
    [0x26] = 1 + 2, // DW_FORM_strx2
    [0x27] = 1 + 3, // DW_FORM_strx3
    [0x28] = 1 + 4, // DW_FORM_strx4
    [0x29] = 1 + 1, // DW_FORM_addrx1
    [0x2a] = 1 + 2, // DW_FORM_addrx2
    [0x2b] = 1 + 3, // DW_FORM_addrx3
    [0x2c] = 1 + 4, // DW_FORM_addrx4
};

// extended_field is that of a form of GNU, or of one whose form is in the entry.
static struct dwarf_field extended_field(uint64_t form, struct dwarf_sizes sizes)
{
    switch (form) {
    case 0x16: // DW_FORM_indirect
        return (struct dwarf_field){ DWARF_FIELD_INDIRECT, 0 };
    case 0x1f01: // DW_FORM_GNU_addr_index
    case 0x1f02: // DW_FORM_GNU_str_index
        return (struct dwarf_field){ DWARF_FIELD_LEB, 0 };
    case 0x1f20: // DW_FORM_GNU_ref_alt
    case 0x1f21: // DW_FORM_GNU_strp_alt
        return fixed(sizes.offset);
    default:
        return (struct dwarf_field){ DWARF_FIELD_UNKNOWN, 0 };
    }
}

struct dwarf_field dwarf_field_of(uint64_t form, struct dwarf_sizes sizes)
{
    uint8_t row = form < sizeof(forms) ? forms[form] : 0;
    switch (row) {
    case 0:
        return extended_field(form, sizes);
    case ADDRESS:
        return fixed(sizes.address);
    case OFFSET:
        return fixed(sizes.offset);
    case REFERENCE:
        return fixed(sizes.version == 2 ? sizes.address : sizes.offset);
    case LEB:
        return (struct dwarf_field){ DWARF_FIELD_LEB, 0 };
    case STRING:
        return (struct dwarf_field){ DWARF_FIELD_STRING, 0 };
    case BLOCK:
        return (struct dwarf_field){ DWARF_FIELD_BLOCK_LEB, 0 };
    case BLOCK1:
    case BLOCK2:
    case BLOCK4:
        return (struct dwarf_field){ DWARF_FIELD_BLOCK, 1U << (row - BLOCK1) };
    default:
        return fixed(row - 1U);
    }
}

struct cursor dwarf_field_block(struct cursor *c, const struct dwarf_field *field)
{
    uint64_t size = field->kind == DWARF_FIELD_BLOCK ? cursor_uint(c, field->size)
                                                     : cursor_uleb128(c);
    return cursor_child(c, size <= SIZE_MAX ? (size_t)size : SIZE_MAX);
}
