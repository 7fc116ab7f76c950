// SPDX-License-Identifier: Apache-2.0
#include "formats/sframe.h"

#include <endian.h>
#include <string.h>

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

// entry_offset is where function index, of which there is one, stands in the section.
static inline size_t entry_offset(const struct sframe_section *section, uint32_t index)
{
    return section->functions_offset +
           (size_t)index * function_entry_size(section->version);
}

// start_at is the start of function index as a distance from the section's first byte.
static inline int64_t start_at(const struct sframe_section *section, uint32_t index)
{
    size_t offset = entry_offset(section, index);
    int64_t field = section->field_starts ? (int64_t)offset : 0;
    if (section->version < 3)
        return (int32_t)cursor_u32_at(&section->bytes, offset) + field;
    return (int64_t)(cursor_u64_at(&section->bytes, offset) + (uint64_t)field);
}

static uint32_t size_at(const struct sframe_section *section, uint32_t index)
{
    size_t behind_start = section->version < 3 ? 4 : 8;
    return cursor_u32_at(&section->bytes, entry_offset(section, index) + behind_start);
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

    struct sframe_function function = { .field_offset = entry_offset(section, index) };
    function.start = section->vaddr + (uint64_t)start_at(section, index);
    struct cursor c = section->bytes;
    cursor_seek(&c, function.field_offset + (section->version < 3 ? 4 : 8));
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

// covers is whether function index covers the code at distance. Functions may lie 2^63
// away in a made-up section, so the difference is taken unsigned.
static bool covers(const struct sframe_section *section, uint32_t index,
                   int64_t distance)
{
    uint64_t offset = (uint64_t)distance - (uint64_t)start_at(section, index);
    return offset < size_at(section, index);
}

// load_start reads a start as it stands at bytes.
static inline int64_t load_start(const uint8_t *bytes, bool wide, bool big_endian)
{
    uint64_t value = 0;
    uint32_t narrow;
    if (wide) {
        memcpy(&value, bytes, sizeof(value));
        return (int64_t)(big_endian ? be64toh(value) : le64toh(value));
    }
    memcpy(&narrow, bytes, sizeof(narrow));
    return (int32_t)(big_endian ? be32toh(narrow) : le32toh(narrow));
}

// last_start is the last function that starts at or before distance, or the first one.
// This is where a lookup spends its time. The layout was checked when the section was
// opened, so nothing is checked here; a step has no branch on what it read, which
// nothing could predict, and has both places it may go to next fetched while it waits.
// It is compiled for each width and order of starts.
static inline __attribute__((always_inline)) uint32_t
last_start(const struct sframe_section *section, int64_t distance, bool wide,
           bool big_endian)
{
    const uint8_t *bytes = section->bytes.begin;
    const size_t entry = function_entry_size(section->version);
    const size_t field_mask = section->field_starts ? SIZE_MAX : 0;
    size_t low = section->functions_offset;
    for (size_t count = section->function_count; count > 1;) {
        size_t half = count / 2;
        size_t middle = low + half * entry;
        count -= half;
        size_t next = count / 2 * entry;
        __builtin_prefetch(&bytes[low + next]);
        __builtin_prefetch(&bytes[middle + next]);
        uint64_t start = (uint64_t)load_start(&bytes[middle], wide, big_endian);
        start += middle & field_mask;
        low = (int64_t)start <= distance ? middle : low;
    }
    return (uint32_t)((low - section->functions_offset) / entry);
}

static uint32_t find_last_start(const struct sframe_section *section, int64_t distance)
{
    bool big_endian = section->bytes.big_endian;
    if (section->version < 3)
        return big_endian ? last_start(section, distance, false, true)
                          : last_start(section, distance, false, false);
    return big_endian ? last_start(section, distance, true, true)
                      : last_start(section, distance, true, false);
}

static enum ch_status find_by_halving(const struct sframe_section *section,
                                      int64_t distance, uint32_t *out)
{
    uint32_t low = find_last_start(section, distance);
    if (section->function_count == 0 || start_at(section, low) > distance)
        return CH_ERR_NOT_FOUND;
    low++;
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
    enum ch_status status = sframe_seek_row(&rows, offset, &row);
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
