// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe.h"

#include <endian.h>
#include <string.h>

// INLINE marks the hot functions of a lookup, which are compiled into their callers.
#define INLINE static inline __attribute__((always_inline))

enum {
    MAGIC = 0xdee2,
    HEADER_SIZE = 28,
    FUNCTION_SIZE_1 = 17,
    FUNCTION_SIZE_2 = 20,
    FUNCTION_SIZE_3 = 16,
    ATTRIBUTES_SIZE = 5, // version 3 has them before the rows
    KNOWN_FLAGS_1 = SFRAME_SORTED | SFRAME_FRAME_POINTER,
    KNOWN_FLAGS = KNOWN_FLAGS_1 | SFRAME_START_PCREL,
    EMPTY_RUN_MAX = 64, // functions without code that a search steps over
    PLT_ENTRY_AMD64 = 16,
};

// A function's info byte, and the second one of version 3.
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

// check_preamble finds out whether the section's version, flags and architecture are
// known.
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

// check_layout finds the two tables and checks that they are inside size bytes.
static enum ch_status check_layout(struct sframe_section *section, size_t size,
                                   uint32_t functions_at, uint32_t rows_at)
{
    // All terms are under 2^37, so nothing here can wrap.
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

// entry_offset is the offset in the section of function index, which must exist.
static inline size_t entry_offset(const struct sframe_section *section, uint32_t index)
{
    return section->functions_offset +
           (size_t)index * function_entry_size(section->version);
}

// sframe_start_at is the start of function index relative to the section's first byte.
static inline int64_t sframe_start_at(const struct sframe_section *section,
                                      uint32_t index)
{
    size_t offset = entry_offset(section, index);
    int64_t field = section->field_starts ? (int64_t)offset : 0;
    if (section->version < 3)
        return (int32_t)cursor_u32_at(&section->bytes, offset) + field;
    return (int64_t)(cursor_u64_at(&section->bytes, offset) + (uint64_t)field);
}

static uint32_t sframe_size_at(const struct sframe_section *section, uint32_t index)
{
    size_t behind_start = section->version < 3 ? 4 : 8;
    return cursor_u32_at(&section->bytes, entry_offset(section, index) + behind_start);
}

// attributes are the rest of what a section says of a function; version 3 has them
// before the rows.
struct attributes {
    uint32_t row_count;
    uint8_t info;
    uint8_t info2;
    uint8_t rep_size;
};

// check_attributes refuses undefined bits and kinds, as they might change the meaning
// of everything else.
static enum ch_status check_attributes(const struct sframe_section *section,
                                       const struct attributes *attributes)
{
    uint8_t info = attributes->info;
    uint8_t unused = section->version < 3 ? INFO_UNUSED | INFO_SIGNAL : INFO_UNUSED;
    unsigned kind = attributes->info2 & INFO2_KIND;
    if ((info & unused) != 0 || (attributes->info2 & ~INFO2_KIND) != 0 ||
        kind > KIND_FLEX || (info & INFO_ROW_TYPE) >= ROW_TYPES)
        return CH_ERR_UNSUPPORTED;
    // Version 1 has no block size; mask functions were only ever written for PLTs of
    // amd64.
    if (section->version == 1 && info & INFO_MASK && section->arch != SFRAME_AMD64)
        return CH_ERR_UNSUPPORTED;
    return CH_OK;
}

// block_size is the size of each block of a mask function.
static uint8_t block_size(const struct sframe_section *section,
                          const struct attributes *attributes)
{
    if (!(attributes->info & INFO_MASK))
        return 0;
    return section->version > 1 ? attributes->rep_size : PLT_ENTRY_AMD64;
}

enum ch_status sframe_read_function(const struct sframe_section *section,
                                    uint32_t index, struct sframe_function *out)
{
    if (index >= section->function_count)
        return CH_ERR_NOT_FOUND;

    size_t field_offset = entry_offset(section, index);
    struct cursor c = section->bytes;
    cursor_seek(&c, field_offset + (section->version < 3 ? 4 : 8));
    uint32_t size = cursor_u32(&c);
    size_t rows_at = cursor_u32(&c);
    struct attributes read = { 0 };
    if (rows_at > section->rows_size)
        return CH_ERR_MALFORMED;
    if (section->version < 3) {
        read.row_count = cursor_u32(&c);
        read.info = cursor_u8(&c);
        read.rep_size = section->version == 2 ? cursor_u8(&c) : 0;
    } else {
        cursor_seek(&c, section->rows_offset + rows_at);
        read.row_count = cursor_u16(&c);
        read.info = cursor_u8(&c);
        read.info2 = cursor_u8(&c);
        read.rep_size = cursor_u8(&c);
        rows_at += ATTRIBUTES_SIZE;
    }
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    enum ch_status status = check_attributes(section, &read);
    if (status != CH_OK)
        return status;
    uint8_t block = block_size(section, &read);
    bool mask = read.info & INFO_MASK;
    if (mask && (block == 0 || block > size))
        return CH_ERR_MALFORMED;

    // Member by member: copying a struct that was just written would wait for the
    // stores.
    out->start = section->vaddr + (uint64_t)sframe_start_at(section, index);
    out->size = size;
    out->row_count = read.row_count;
    out->field_offset = field_offset;
    out->rows_offset = section->rows_offset + rows_at;
    out->row_type = read.info & INFO_ROW_TYPE;
    out->mask = mask;
    out->rep_size = read.rep_size;
    out->block_size = block;
    out->signal = read.info & INFO_SIGNAL;
    out->flex = (read.info2 & INFO2_KIND) == KIND_FLEX;
    out->key_b = read.info & INFO_KEY_B;
    return CH_OK;
}

// covers returns true if function index covers the code at distance. Functions may be
// 2^63 apart in a malicious section, so the difference is unsigned.
static bool covers(const struct sframe_section *section, uint32_t index,
                   int64_t distance)
{
    uint64_t offset = (uint64_t)distance - (uint64_t)sframe_start_at(section, index);
    return offset < sframe_size_at(section, index);
}

// search holds what a search for a distance needs. The layout was checked when the
// section was opened, so nothing is checked here.
struct search {
    const uint8_t *bytes;
    int64_t distance;
    size_t field_mask; // all ones where starts are relative to their own fields
    bool wide;
    bool big_endian;
};

// starts_by returns whether the function with the entry at offset starts at or before
// the distance.
INLINE bool starts_by(const struct search *search, size_t offset)
{
    const uint8_t *bytes = &search->bytes[offset];
    int64_t limit =
        (int64_t)((uint64_t)search->distance - (offset & search->field_mask));
    uint64_t wide;
    uint32_t narrow;
    if (search->wide) {
        memcpy(&wide, bytes, sizeof(wide));
        return (int64_t)(search->big_endian ? be64toh(wide) : le64toh(wide)) <= limit;
    }
    memcpy(&narrow, bytes, sizeof(narrow));
    return (int32_t)(search->big_endian ? be32toh(narrow) : le32toh(narrow)) <= limit;
}

// pass_starts gives the last of count entries after low, stride apart, that starts by
// the distance, or low. No branch depends on what it reads: it would be unpredictable.
INLINE size_t pass_starts(const struct search *search, size_t low, size_t stride,
                          size_t count)
{
    for (size_t at = low + stride; count > 0; count--, at += stride)
        low = starts_by(search, at) ? at : low;
    return low;
}

// last_start gives the last function that starts by distance, or the first one. A
// lookup spends most of its time here: comparing three starts at once divides the range
// by four, and their cache misses overlap. It is compiled for each width and byte order
// of starts.
INLINE uint32_t last_start(const struct sframe_section *section, int64_t distance,
                           bool wide, bool big_endian)
{
    const struct search search = { .bytes = section->bytes.begin,
                                   .distance = distance,
                                   .field_mask = section->field_starts ? SIZE_MAX : 0,
                                   .wide = wide,
                                   .big_endian = big_endian };
    const size_t entry = function_entry_size(section->version);
    size_t low = section->functions_offset;
    size_t count = section->function_count;
    for (; count > 4; count -= count / 4 * 3)
        low = pass_starts(&search, low, count / 4 * entry, 3);
    low = pass_starts(&search, low, entry, count - 1);
    return (uint32_t)((low - section->functions_offset) / entry);
}

static uint32_t sframe_find_last_start(const struct sframe_section *section,
                                       int64_t distance)
{
    bool big_endian = section->bytes.big_endian;
    if (section->version < 3)
        return big_endian ? last_start(section, distance, false, true)
                          : last_start(section, distance, false, false);
    return big_endian ? last_start(section, distance, true, true)
                      : last_start(section, distance, true, false);
}

static enum ch_status find_by_search(const struct sframe_section *section,
                                     int64_t distance, uint32_t *out)
{
    if (section->function_count == 0)
        return CH_ERR_NOT_FOUND;
    uint32_t low = sframe_find_last_start(section, distance);
    if (sframe_start_at(section, low) > distance)
        return CH_ERR_NOT_FOUND;
    low++;
    for (unsigned step = 0; low > 0 && step < EMPTY_RUN_MAX; step++) {
        low--;
        if (sframe_size_at(section, low) == 0)
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
                                ? find_by_search(section, distance, &index)
                                : find_by_looking(section, distance, &index);
    return status == CH_OK ? sframe_read_function(section, index, out) : status;
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
