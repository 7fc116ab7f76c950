// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/cfi.h"

#include "base/checked.h"

// A pointer's encoding is a form, what it is relative to, and whether it is indirect,
// that is, the address of the value (Linux Standard Base, "DWARF Exception Header
// Encoding").
enum {
    FORM_ABSOLUTE = 0x00,
    FORM_ULEB128 = 0x01,
    FORM_UDATA2 = 0x02,
    FORM_UDATA4 = 0x03,
    FORM_UDATA8 = 0x04,
    FORM_SLEB128 = 0x09,
    FORM_SDATA2 = 0x0a,
    FORM_SDATA4 = 0x0b,
    FORM_SDATA8 = 0x0c,
    FORM_MASK = 0x0f,
    FROM_FIELD = 0x10,
    FROM_TEXT = 0x20,
    FROM_DATA = 0x30,
    FROM_FUNCTION = 0x40,
    FROM_ALIGNED = 0x50,
    FROM_MASK = 0x70,
    INDIRECT = 0x80,
    OMITTED = 0xff,
    ADDRESS_SIZE = 8,
    NARROW_ADDRESS_SIZE = 4,
};

enum {
    LENGTH_IS_64_BITS = 0xffffffffu,
    CIE_VERSION_1 = 1,
    CIE_VERSION_3 = 3,
    CIE_VERSION_4 = 4,
    HEADER_VERSION = 1,
};

// form_size gives the size of a form's value, 0 where it is variable.
static size_t form_size(uint8_t encoding)
{
    static const uint8_t sizes[FORM_MASK + 1] = {
        [FORM_ABSOLUTE] = 8, [FORM_UDATA2] = 2, [FORM_UDATA4] = 4, [FORM_UDATA8] = 8,
        [FORM_SDATA2] = 2,   [FORM_SDATA4] = 4, [FORM_SDATA8] = 8,
    };
    return sizes[encoding & FORM_MASK];
}

// read_form reads a value without adding its base. An unknown form poisons the cursor.
static uint64_t read_form(struct cursor *c, uint8_t encoding)
{
    switch (encoding & FORM_MASK) {
    case FORM_ULEB128:
        return cursor_uleb128(c);
    case FORM_SLEB128:
        return (uint64_t)cursor_sleb128(c);
    case FORM_SDATA2:
    case FORM_SDATA4:
    case FORM_SDATA8:
        return (uint64_t)cursor_sint(c, form_size(encoding));
    case FORM_ABSOLUTE:
    case FORM_UDATA2:
    case FORM_UDATA4:
    case FORM_UDATA8:
        return cursor_uint(c, form_size(encoding));
    default:
        cursor_poison(c);
        return 0;
    }
}

enum ch_status cfi_read_pointer(struct cursor *c, uint64_t begin_address,
                                uint8_t encoding, const struct cfi_bases *bases,
                                uint64_t *out)
{
    uint64_t base = 0;
    uint64_t field = begin_address + cursor_offset(c);
    if (encoding == OMITTED || encoding & INDIRECT)
        return CH_ERR_UNSUPPORTED;

    switch (encoding & FROM_MASK) {
    case 0:
        break;
    case FROM_FIELD:
        base = field;
        break;
    case FROM_TEXT:
        base = bases->text;
        break;
    case FROM_DATA:
        base = bases->data;
        break;
    case FROM_FUNCTION:
        base = bases->function;
        break;
    case FROM_ALIGNED:
        cursor_skip(c, (size_t)(-field % ADDRESS_SIZE));
        encoding = FORM_ABSOLUTE;
        break;
    default:
        return CH_ERR_UNSUPPORTED;
    }
    uint64_t value = read_form(c, encoding);
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    *out = base + value;
    return CH_OK;
}

// encoding_in gives the encoding with an address's form as that of its size.
static uint8_t encoding_in(const struct cfi_section *section, uint8_t encoding)
{
    bool address = encoding != OMITTED && (encoding & FORM_MASK) == FORM_ABSOLUTE;
    return section->narrow && address ? (uint8_t)(encoding | FORM_UDATA4) : encoding;
}

// skip_pointer passes over a pointer that is not needed.
static void skip_pointer(struct cursor *c, uint64_t begin_address, uint8_t encoding)
{
    if (encoding == OMITTED)
        return;
    if ((encoding & FROM_MASK) == FROM_ALIGNED) {
        uint64_t field = begin_address + cursor_offset(c);
        cursor_skip(c, (size_t)(-field % ADDRESS_SIZE));
        encoding = FORM_ABSOLUTE;
    }
    (void)read_form(c, encoding);
}

// read_length reads an entry's length field; *out_wide says that offsets have 64 bits.
static uint64_t read_length(struct cursor *c, bool *out_wide)
{
    uint64_t length = cursor_u32(c);
    *out_wide = length == LENGTH_IS_64_BITS;
    return *out_wide ? cursor_u64(c) : length;
}

enum ch_status cfi_entry_size(struct cursor head, uint64_t *out)
{
    bool wide;
    uint64_t size;
    if (cursor_left(&head) == 0)
        return CH_END;
    uint64_t length = read_length(&head, &wide);
    if (!cursor_ok(&head))
        return CH_ERR_TRUNCATED;
    if (length == 0)
        return CH_END;
    if (!checked_add_u64(length, wide ? 12 : 4, &size))
        return CH_ERR_MALFORMED;
    *out = size;
    return CH_OK;
}

enum ch_status cfi_next_entry(const struct cfi_section *section,
                              struct cursor *section_bytes, uint64_t address,
                              struct cfi_entry *out)
{
    struct cursor *c = section_bytes;
    bool wide;
    if (cursor_left(c) == 0)
        return CH_END;
    size_t begin = cursor_offset(c);
    uint64_t length = read_length(c, &wide);
    if (cursor_ok(c) && length == 0)
        return CH_END;
    if (length > cursor_left(c))
        return CH_ERR_TRUNCATED;

    uint64_t id_address = address + (cursor_offset(c) - begin);
    struct cursor body = cursor_child(c, (size_t)length);
    size_t id_size = wide ? 8 : 4;
    uint64_t id = cursor_uint(&body, id_size);
    if (!cursor_ok(&body))
        return CH_ERR_TRUNCATED;

    uint64_t cie_id = 0;
    if (section->kind == CFI_DEBUG_FRAME)
        cie_id = wide ? UINT64_MAX : UINT32_MAX;
    *out = (struct cfi_entry){ .is_cie = id == cie_id,
                               .address = address,
                               .body_address = id_address + id_size };
    out->cie =
        section->kind == CFI_DEBUG_FRAME ? section->address + id : id_address - id;
    out->body = cursor_child(&body, cursor_left(&body));
    return CH_OK;
}

// read_augmentation reads a CIE's augmentation data, letter by letter. An unknown
// letter ends it: the rest is skipped by the data's size.
static enum ch_status read_augmentation(const struct cfi_section *section,
                                        const char *letters, struct cursor *c,
                                        uint64_t address, struct cfi_cie *out)
{
    for (; *letters != 0; letters++) {
        switch (*letters) {
        case 'R':
            out->pointer_encoding = encoding_in(section, cursor_u8(c));
            break;
        case 'P':
            skip_pointer(c, address, encoding_in(section, cursor_u8(c)));
            break;
        case 'L':
            cursor_skip(c, 1);
            break;
        case 'S':
            out->signal = true;
            break;
        case 'B':
            out->key_b = true;
            break;
        case 'G':
            break;
        default:
            return CH_OK;
        }
    }
    return cursor_ok(c) ? CH_OK : CH_ERR_TRUNCATED;
}

// read_cie_head reads a CIE from its version to the return register. out_letters: the
// augmentation string, whose data follow.
static enum ch_status read_cie_head(const struct cfi_section *section, struct cursor *c,
                                    struct cfi_cie *cie, const char **out_letters)
{
    size_t address_size = section->narrow ? NARROW_ADDRESS_SIZE : ADDRESS_SIZE;
    uint8_t version = cursor_u8(c);
    const char *letters = cursor_string(c);
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    if (version != CIE_VERSION_1 && version != CIE_VERSION_3 &&
        version != CIE_VERSION_4)
        return CH_ERR_UNSUPPORTED;
    if (version == CIE_VERSION_4 && cursor_u8(c) != address_size)
        return CH_ERR_UNSUPPORTED;
    if (version == CIE_VERSION_4)
        cie->segment_size = cursor_u8(c);
    // gcc before version 3 wrote the address of exception tables here.
    if (letters[0] == 'e' && letters[1] == 'h') {
        cursor_skip(c, address_size);
        letters += 2;
    }
    cie->code_align = cursor_uleb128(c);
    cie->data_align = cursor_sleb128(c);
    cie->return_register = version == CIE_VERSION_1 ? cursor_u8(c) : cursor_uleb128(c);
    *out_letters = letters;
    return cursor_ok(c) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status cfi_read_cie(const struct cfi_section *section,
                            const struct cfi_entry *entry, struct cfi_cie *out)
{
    struct cursor c = entry->body;
    struct cfi_cie cie = { .pointer_encoding = encoding_in(section, FORM_ABSOLUTE) };
    const char *letters;
    if (!entry->is_cie)
        return CH_ERR_MALFORMED;
    enum ch_status status = read_cie_head(section, &c, &cie, &letters);
    if (status != CH_OK)
        return status;

    cie.has_sizes = letters[0] == 'z';
    if (cie.has_sizes) {
        uint64_t size = cursor_uleb128(&c);
        if (size > cursor_left(&c))
            return CH_ERR_TRUNCATED;
        uint64_t address = entry->body_address + cursor_offset(&c);
        struct cursor data = cursor_child(&c, (size_t)size);
        status = read_augmentation(section, letters + 1, &data, address, &cie);
        if (status != CH_OK)
            return status;
    } else if (letters[0] != 0) {
        return CH_ERR_UNSUPPORTED;
    }
    cie.instructions_address = entry->body_address + cursor_offset(&c);
    cie.instructions = cursor_child(&c, cursor_left(&c));
    *out = cie;
    return CH_OK;
}

enum ch_status cfi_read_fde(const struct cfi_section *section,
                            const struct cfi_entry *entry, const struct cfi_cie *cie,
                            struct cfi_fde *out)
{
    const struct cfi_bases bases = { .text = section->text, .data = section->data };
    struct cursor c = entry->body;
    struct cfi_fde fde;
    uint64_t size;
    if (entry->is_cie)
        return CH_ERR_MALFORMED;

    cursor_skip(&c, cie->segment_size);
    enum ch_status status = cfi_read_pointer(&c, entry->body_address,
                                             cie->pointer_encoding, &bases, &fde.start);
    // The size has the start's form, but is an absolute number.
    if (status == CH_OK)
        status = cfi_read_pointer(&c, entry->body_address,
                                  cie->pointer_encoding & FORM_MASK, &bases, &size);
    if (status != CH_OK)
        return status;
    if (section->kind == CFI_DEBUG_FRAME)
        fde.start += section->bias;
    if (!checked_add_u64(fde.start, size, &fde.end))
        return CH_ERR_MALFORMED;

    if (cie->has_sizes) {
        uint64_t skipped = cursor_uleb128(&c);
        if (skipped > cursor_left(&c))
            return CH_ERR_TRUNCATED;
        cursor_skip(&c, (size_t)skipped);
    }
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    fde.instructions_address = entry->body_address + cursor_offset(&c);
    fde.instructions = cursor_child(&c, cursor_left(&c));
    *out = fde;
    return CH_OK;
}

enum ch_status cfi_read_header(struct cursor head, uint64_t address, uint64_t size,
                               struct cfi_header *out)
{
    const struct cfi_bases bases = { .data = address };
    struct cfi_header header = { .address = address };
    uint8_t version = cursor_u8(&head);
    uint8_t eh_frame_encoding = cursor_u8(&head);
    uint8_t count_encoding = cursor_u8(&head);
    header.encoding = cursor_u8(&head);
    if (!cursor_ok(&head))
        return CH_ERR_TRUNCATED;
    if (version != HEADER_VERSION)
        return CH_ERR_UNSUPPORTED;

    enum ch_status status =
        cfi_read_pointer(&head, address, eh_frame_encoding, &bases, &header.eh_frame);
    if (status != CH_OK)
        return status;
    header.entry_size = (uint8_t)(2 * form_size(header.encoding));
    if (count_encoding == OMITTED || header.encoding == OMITTED ||
        header.entry_size == 0 || header.encoding & INDIRECT) {
        *out = header;
        return CH_OK;
    }
    status = cfi_read_pointer(&head, address, count_encoding, &bases, &header.count);
    if (status != CH_OK)
        return status;
    header.table = address + cursor_offset(&head);
    if (cursor_offset(&head) > size ||
        header.count > (size - cursor_offset(&head)) / header.entry_size)
        return CH_ERR_MALFORMED;
    *out = header;
    return CH_OK;
}

enum ch_status cfi_read_header_entry(const struct cfi_header *header,
                                     struct cursor entry, uint64_t address,
                                     struct cfi_header_entry *out)
{
    const struct cfi_bases bases = { .data = header->address };
    struct cfi_header_entry read;
    enum ch_status status =
        cfi_read_pointer(&entry, address, header->encoding, &bases, &read.start);
    if (status == CH_OK)
        status = cfi_read_pointer(&entry, address, header->encoding, &bases, &read.fde);
    if (status == CH_OK)
        *out = read;
    return status;
}
