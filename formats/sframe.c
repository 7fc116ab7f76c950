// SPDX-License-Identifier: Apache-2.0
#include "formats/sframe.h"

#include "base/checked.h"

enum {
    MAGIC = 0xdee2,
    HEADER_SIZE = 28,
    FUNCTION_SIZE_1 = 17,
    FUNCTION_SIZE_2 = 20,
    FUNCTION_SIZE_3 = 16,
    ATTRIBUTES_SIZE = 5, // version 3 keeps them in front of the rows
    KNOWN_FLAGS_1 = SFRAME_SORTED | SFRAME_FRAME_POINTER,
    KNOWN_FLAGS = KNOWN_FLAGS_1 | SFRAME_START_PCREL,
    EMPTY_RUN_MAX = 64, // functions without code that a search steps over
    PLT_ENTRY_AMD64 = 16,
};

// A function's info byte, and version 3's second one.
enum {
    INFO_ROW_TYPE = 0x0f,
    INFO_MASK = 0x10,
    INFO_KEY_B = 0x20,
    INFO_UNUSED = 0x40,
    INFO_SIGNAL = 0x80, // version 3; unused before
    INFO2_KIND = 0x1f,
    KIND_DEFAULT = 0,
    KIND_FLEX = 1,
    ROW_TYPES = 3,
};

static size_t function_entry_size(unsigned version)
{
    static const uint8_t sizes[] = { 0, FUNCTION_SIZE_1, FUNCTION_SIZE_2,
                                     FUNCTION_SIZE_3 };
    return sizes[version];
}

// check_preamble says whether the section is of a kind we know, all of it.
static enum ch_status check_preamble(const struct sframe_section *section)
{
    unsigned known = section->version == 1 ? KNOWN_FLAGS_1 : KNOWN_FLAGS;
    if (section->version < 1 || section->version > 3 || (section->flags & ~known) != 0)
        return CH_ERR_UNSUPPORTED;
    if (section->arch < SFRAME_AARCH64_BIG || section->arch > SFRAME_S390X ||
        (section->arch == SFRAME_S390X && section->version == 1))
        return CH_ERR_UNSUPPORTED;

    bool big = section->arch == SFRAME_AARCH64_BIG || section->arch == SFRAME_S390X;
    return big == section->bytes.big_endian ? CH_OK : CH_ERR_MALFORMED;
}

// check_layout finds where both parts lie and that they lie inside size bytes.
static enum ch_status check_layout(struct sframe_section *section, size_t size,
                                   uint32_t functions_at, uint32_t rows_at)
{
    // All terms are under 2^37: nothing here can wrap.
    uint64_t header_size = HEADER_SIZE + (uint64_t)section->aux_size;
    uint64_t functions_end = functions_at + (uint64_t)section->function_count *
                                                function_entry_size(section->version);
    if (functions_end > rows_at)
        return CH_ERR_MALFORMED;
    uint64_t total = header_size + rows_at + section->rows_size;
    if (total > size)
        return CH_ERR_TRUNCATED;

    section->functions_offset = (size_t)header_size + functions_at;
    section->rows_offset = (size_t)header_size + rows_at;
    section->bytes.end = section->bytes.begin + (size_t)total;
    return CH_OK;
}

enum ch_status sframe_section_init(struct sframe_section *section, const void *bytes,
                                   size_t size, uint64_t vaddr)
{
    struct cursor c = cursor_over(bytes, size);
    uint16_t magic = cursor_u16(&c);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    if (magic != MAGIC && magic != __builtin_bswap16(MAGIC))
        return CH_ERR_MALFORMED;
    c.big_endian = magic != MAGIC;

    struct sframe_section read = { .vaddr = vaddr };
    read.version = cursor_u8(&c);
    read.flags = cursor_u8(&c);
    read.arch = cursor_u8(&c);
    read.fixed_fp = (int8_t)cursor_u8(&c);
    read.fixed_ra = (int8_t)cursor_u8(&c);
    read.aux_size = cursor_u8(&c);
    read.function_count = cursor_u32(&c);
    read.row_count = cursor_u32(&c);
    read.rows_size = cursor_u32(&c);
    uint32_t functions_at = cursor_u32(&c);
    uint32_t rows_at = cursor_u32(&c);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;

    read.bytes = c;
    read.field_starts = read.flags & SFRAME_START_PCREL;
    enum ch_status status = check_preamble(&read);
    if (status == CH_OK)
        status = check_layout(&read, size, functions_at, rows_at);
    if (status != CH_OK)
        return status;
    *section = read;
    return CH_OK;
}

size_t sframe_section_size(const struct sframe_section *section)
{
    return (size_t)(section->bytes.end - section->bytes.begin);
}

bool sframe_section_usable(const struct sframe_section *section)
{
    return section->version >= 3 || section->flags & SFRAME_SORTED ||
           section->field_starts;
}

// entry_cursor stands at function index, of which there is one: the layout was checked.
static struct cursor entry_cursor(const struct sframe_section *section, uint32_t index)
{
    struct cursor c = section->bytes;
    c.at = c.begin + section->functions_offset +
           (size_t)index * function_entry_size(section->version);
    return c;
}

// read_start reads a function's start as its distance from the section's first byte.
static int64_t read_start(const struct sframe_section *section, struct cursor *c)
{
    int64_t field = section->field_starts ? (int64_t)cursor_offset(c) : 0;
    if (section->version < 3)
        return (int32_t)cursor_u32(c) + field;
    return (int64_t)(cursor_u64(c) + (uint64_t)field);
}

// read_kind takes a function's info bytes apart. Bits and kinds nobody has defined yet
// might change the meaning of everything else, so they are refused.
static enum ch_status read_kind(const struct sframe_section *section, uint8_t info,
                                uint8_t info2, struct sframe_function *out)
{
    uint8_t unused = section->version < 3 ? INFO_UNUSED | INFO_SIGNAL : INFO_UNUSED;
    unsigned kind = info2 & INFO2_KIND;
    if ((info & unused) != 0 || (info2 & ~INFO2_KIND) != 0 || kind > KIND_FLEX ||
        (info & INFO_ROW_TYPE) >= ROW_TYPES)
        return CH_ERR_UNSUPPORTED;
    out->row_type = info & INFO_ROW_TYPE;
    out->mask = info & INFO_MASK;
    out->key_b = info & INFO_KEY_B;
    out->signal = info & INFO_SIGNAL;
    out->flex = kind == KIND_FLEX;
    if (!out->mask)
        return CH_OK;

    // Version 1 has no block size; all it was ever written for are PLTs of amd64.
    out->block_size = section->version > 1 ? out->rep_size : PLT_ENTRY_AMD64;
    if (section->version == 1 && section->arch != SFRAME_AMD64)
        return CH_ERR_UNSUPPORTED;
    return out->block_size == 0 || out->block_size > out->size ? CH_ERR_MALFORMED
                                                               : CH_OK;
}

enum ch_status sframe_read_function(const struct sframe_section *section,
                                    uint32_t index, struct sframe_function *out)
{
    if (index >= section->function_count)
        return CH_ERR_NOT_FOUND;

    struct cursor c = entry_cursor(section, index);
    struct sframe_function function = { .field_offset = cursor_offset(&c) };
    function.start = section->vaddr + (uint64_t)read_start(section, &c);
    function.size = cursor_u32(&c);
    size_t rows_at = cursor_u32(&c);
    uint8_t info;
    uint8_t info2 = 0;
    if (rows_at > section->rows_size)
        return CH_ERR_MALFORMED;
    if (section->version < 3) {
        function.row_count = cursor_u32(&c);
        info = cursor_u8(&c);
        function.rep_size = section->version == 2 ? cursor_u8(&c) : 0;
    } else {
        cursor_seek(&c, section->rows_offset + rows_at);
        function.row_count = cursor_u16(&c);
        info = cursor_u8(&c);
        info2 = cursor_u8(&c);
        function.rep_size = cursor_u8(&c);
        rows_at += ATTRIBUTES_SIZE;
    }
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;

    function.rows_offset = section->rows_offset + rows_at;
    enum ch_status status = read_kind(section, info, info2, &function);
    if (status != CH_OK)
        return status;
    *out = function;
    return CH_OK;
}

// start_at is the start of function index as a distance from the section.
static int64_t start_at(const struct sframe_section *section, uint32_t index)
{
    struct cursor c = entry_cursor(section, index);
    return read_start(section, &c);
}

static uint32_t size_at(const struct sframe_section *section, uint32_t index)
{
    struct cursor c = entry_cursor(section, index);
    cursor_skip(&c, section->version < 3 ? 4 : 8);
    return cursor_u32(&c);
}

// covers is whether function index covers the code at distance. Functions may lie 2^63
// away in a made-up section, so the difference is taken unsigned.
static bool covers(const struct sframe_section *section, uint32_t index,
                   int64_t distance)
{
    uint64_t offset = (uint64_t)distance - (uint64_t)start_at(section, index);
    return offset < size_at(section, index);
}

static enum ch_status find_by_halving(const struct sframe_section *section,
                                      int64_t distance, uint32_t *out)
{
    // Functions below low start at or before distance, those from high on behind it.
    uint32_t low = 0;
    uint32_t high = section->function_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (start_at(section, middle) <= distance)
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned step = 0; low > 0 && step < EMPTY_RUN_MAX; step++) {
        low--;
        if (size_at(section, low) == 0)
            continue;
        *out = low;
        return covers(section, low, distance) ? CH_OK : CH_ERR_NOT_FOUND;
    }
    return CH_ERR_NOT_FOUND;
}

static enum ch_status find_by_looking(const struct sframe_section *section,
                                      int64_t distance, uint32_t *out)
{
    for (uint32_t i = 0; i < section->function_count; i++) {
        if (!covers(section, i, distance))
            continue;
        *out = i;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

enum ch_status sframe_find_function(const struct sframe_section *section, uint64_t pc,
                                    struct sframe_function *out)
{
    int64_t distance = (int64_t)(pc - section->vaddr);
    uint32_t index;
    enum ch_status status = section->flags & SFRAME_SORTED
                                ? find_by_halving(section, distance, &index)
                                : find_by_looking(section, distance, &index);
    return status == CH_OK ? sframe_read_function(section, index, out) : status;
}

enum ch_status sframe_find_row(const struct sframe_section *section,
                               const struct sframe_function *function, uint64_t pc,
                               struct sframe_row *out)
{
    uint64_t offset = pc - function->start;
    if (function->mask)
        offset %= function->block_size;

    struct sframe_rows rows;
    struct sframe_row row;
    sframe_rows_init(&rows, section, function);
    enum ch_status status = sframe_next_row(&rows, &row);
    while (status == CH_OK && offset >= row.end)
        status = sframe_next_row(&rows, &row);
    if (status != CH_OK)
        return status == CH_END ? CH_ERR_NOT_FOUND : status;
    if (offset < row.start)
        return CH_ERR_NOT_FOUND;
    *out = row;
    return CH_OK;
}

enum ch_status sframe_lookup(const struct sframe_section *section, uint64_t pc,
                             struct unwind_row *out)
{
    struct sframe_function function;
    enum ch_status status = sframe_find_function(section, pc, &function);
    if (status != CH_OK)
        return status;

    struct sframe_row row;
    status = sframe_find_row(section, &function, pc, &row);
    if (status != CH_OK)
        return status;
    if (sframe_doubts_row(section, &function, &row))
        return CH_ERR_NOT_FOUND;

    uint64_t block = 0;
    if (function.mask)
        block = (pc - function.start) / function.block_size * function.block_size;
    out->cfa = row.cfa;
    out->ra = row.ra;
    out->fp = row.fp;
    out->flags = row.flags;
    out->other_count = 0;
    out->start = function.start + block + row.start;
    out->end = function.start + block + row.end;
    return CH_OK;
}

bool sframe_doubts_row(const struct sframe_section *section,
                       const struct sframe_function *function,
                       const struct sframe_row *row)
{
    return section->arch == SFRAME_AMD64 && function->mask &&
           function->row_count == 1 && row->cfa.kind == UNWIND_REGISTER_PLUS &&
           row->cfa.reg == UNWIND_AMD64_SP && row->cfa.offset == 16;
}

void sframe_base_registers(enum sframe_arch arch, uint16_t *out_sp, uint16_t *out_fp)
{
    static const uint16_t registers[][2] = {
        [SFRAME_AARCH64_BIG] = { UNWIND_AARCH64_SP, UNWIND_AARCH64_FP },
        [SFRAME_AARCH64_LITTLE] = { UNWIND_AARCH64_SP, UNWIND_AARCH64_FP },
        [SFRAME_AMD64] = { UNWIND_AMD64_SP, UNWIND_AMD64_FP },
        [SFRAME_S390X] = { UNWIND_S390X_SP, UNWIND_S390X_FP },
    };
    *out_sp = registers[arch][0];
    *out_fp = registers[arch][1];
}
