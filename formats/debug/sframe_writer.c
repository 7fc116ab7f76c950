// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe_writer.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
    MAGIC = 0xdee2,
    ENTRY_SIZE_2 = 20,
    ENTRY_SIZE_3 = 16,
    ATTRIBUTES_SIZE = 5,
    ROWS_MAX_3 = 0xffff,
    INFO_KEY_B = 0x20,
    INFO_SIGNAL = 0x80,
    FLEXIBLE = 1,
    ROW_FROM_SP = 1,
    ROW_MANGLED = 0x80,
    CONTROL_REGISTER = 1,
    CONTROL_LOAD = 2,
    WORDS_MAX = 6,
    FIXED_RA_AMD64 = -8,
};

// words is a row before its words' common size is known.
struct words {
    uint8_t info;
    size_t count;
    int64_t values[WORDS_MAX];
};

static void words_add(struct words *words, int64_t value)
{
    words->values[words->count++] = value;
}

static void append_number(struct text *out, uint64_t value, size_t size)
{
    uint64_t little = htole64(value);
    text_append(out, &little, size);
}

enum ch_status sframe_writer_init(struct sframe_writer *writer, uint8_t version,
                                  enum sframe_arch arch)
{
    *writer = (struct sframe_writer){ .version = version, .arch = arch };
    bool known = (version == 2 || version == 3) &&
                 (arch == SFRAME_AMD64 || arch == SFRAME_AARCH64_LITTLE);
    return known ? CH_OK : CH_ERR_UNSUPPORTED;
}

void sframe_writer_deinit(struct sframe_writer *writer)
{
    free(writer->functions);
    text_deinit(&writer->rows);
}

static bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
    bool has_offset = a->kind != UNWIND_UNDEFINED && a->kind != UNWIND_SAME;
    bool has_register =
        a->kind == UNWIND_REGISTER_PLUS || a->kind == UNWIND_AT_REGISTER;
    return a->kind == b->kind && (!has_offset || a->offset == b->offset) &&
           (!has_register || a->reg == b->reg);
}

static bool sframe_same_row(const struct unwind_row *a, const struct unwind_row *b)
{
    return a->flags == b->flags && same_rule(&a->cfa, &b->cfa) &&
           same_rule(&a->ra, &b->ra) && same_rule(&a->fp, &b->fp);
}

// row_plain_words gives the words of a row that is a register's offset for the CFA, and
// two offsets from it. False: it is not.
static bool row_plain_words(const struct sframe_writer *writer,
                            const struct unwind_row *row, struct words *out)
{
    uint16_t sp;
    uint16_t fp;
    sframe_base_registers(writer->arch, &sp, &fp);
    *out = (struct words){ .info = row->cfa.reg == sp ? ROW_FROM_SP : 0 };
    if (row->cfa.kind != UNWIND_REGISTER_PLUS ||
        (row->cfa.reg != sp && row->cfa.reg != fp))
        return false;
    words_add(out, row->cfa.offset);
    bool has_fp = row->fp.kind == UNWIND_AT_CFA;
    if (!has_fp && row->fp.kind != UNWIND_SAME && row->fp.kind != UNWIND_UNDEFINED)
        return false;
    bool fixed = writer->arch == SFRAME_AMD64;
    if (fixed && (row->ra.kind != UNWIND_AT_CFA || row->ra.offset != FIXED_RA_AMD64))
        return false;
    if (!fixed && row->ra.kind == UNWIND_AT_CFA)
        words_add(out, row->ra.offset);
    else if (!fixed && (row->ra.kind != UNWIND_SAME || has_fp))
        return false; // the first word after the CFA's is the return address's
    if (has_fp)
        words_add(out, row->fp.offset);
    return true;
}

// flexible_rule adds the control word and the offset of a rule.
static bool flexible_rule(const struct unwind_rule *rule, struct words *out)
{
    int64_t control = 0;
    switch (rule->kind) {
    case UNWIND_AT_CFA:
        control = CONTROL_LOAD;
        break;
    case UNWIND_REGISTER_PLUS:
        control = (int64_t)rule->reg << 3 | CONTROL_REGISTER;
        break;
    case UNWIND_AT_REGISTER:
        control = (int64_t)rule->reg << 3 | CONTROL_LOAD | CONTROL_REGISTER;
        break;
    case UNWIND_SAME:
    case UNWIND_UNDEFINED:
        words_add(out, 0);
        return true;
    default:
        return false;
    }
    words_add(out, control);
    words_add(out, rule->offset);
    return true;
}

// row_flexible_words gives the words of a row that names registers.
static bool row_flexible_words(const struct sframe_writer *writer,
                               const struct unwind_row *row, struct words *out)
{
    static const struct unwind_rule none = { .kind = UNWIND_SAME };
    uint16_t sp;
    uint16_t fp;
    sframe_base_registers(writer->arch, &sp, &fp);
    *out = (struct words){ .info = row->cfa.reg == sp ? ROW_FROM_SP : 0 };
    bool fixed = writer->arch == SFRAME_AMD64 && row->ra.kind == UNWIND_AT_CFA &&
                 row->ra.offset == FIXED_RA_AMD64;
    bool has_cfa =
        row->cfa.kind == UNWIND_REGISTER_PLUS || row->cfa.kind == UNWIND_AT_REGISTER;
    bool has_fp = row->fp.kind != UNWIND_SAME && row->fp.kind != UNWIND_UNDEFINED;
    bool has_ra = !fixed && row->ra.kind != UNWIND_SAME;
    // Rules that are missing at the end have no words.
    return has_cfa && flexible_rule(&row->cfa, out) &&
           ((!has_ra && !has_fp) || flexible_rule(has_ra ? &row->ra : &none, out)) &&
           (!has_fp || flexible_rule(&row->fp, out));
}

// row_words_size gives the size that all words of a row have; 0: one does not fit.
static size_t row_words_size(const struct words *words)
{
    size_t size = 1;
    for (size_t i = 0; i < words->count; i++) {
        int64_t value = words->values[i];
        size_t needed = value == (int8_t)value    ? 1
                        : value == (int16_t)value ? 2
                        : value == (int32_t)value ? 4
                                                  : 0;
        if (needed == 0)
            return 0;
        size = needed > size ? needed : size;
    }
    return size;
}

// writer_append_row appends one row. False: the version cannot express it.
static bool writer_append_row(struct sframe_writer *writer,
                              const struct unwind_row *row, uint64_t start,
                              bool flexible, unsigned row_type)
{
    static const uint8_t codes[] = { [1] = 0, [2] = 1, [4] = 2 };
    struct words words = { .count = 0 };
    bool outermost = row->flags & UNWIND_OUTERMOST || row->ra.kind == UNWIND_UNDEFINED;
    if (outermost && writer->version < 3)
        return false;
    if (!outermost && (flexible ? !row_flexible_words(writer, row, &words)
                                : !row_plain_words(writer, row, &words)))
        return false;
    size_t size = row_words_size(&words);
    if (size == 0)
        return false;
    append_number(&writer->rows, start, (size_t)1 << row_type);
    append_number(&writer->rows,
                  words.info | words.count << 1 | (unsigned)codes[size] << 5 |
                      (row->flags & UNWIND_RA_MANGLED ? ROW_MANGLED : 0),
                  1);
    for (size_t i = 0; i < words.count; i++)
        append_number(&writer->rows, (uint64_t)words.values[i], size);
    return true;
}

// writer_append_rows appends the rows of a function, which has room for them already.
static bool writer_append_rows(struct sframe_writer *writer,
                               const struct unwind_row *rows, size_t count,
                               bool flexible)
{
    struct sframe_written_function *function = &writer->functions[writer->count];
    const struct unwind_row *before = NULL;
    writer->rows.size = function->rows;
    function->row_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct unwind_row *row = &rows[i];
        if (before != NULL && sframe_same_row(before, row))
            continue;
        before = row;
        if (!writer_append_row(writer, row, row->start - function->start, flexible,
                               function->info & 3))
            return false;
        function->row_count++;
    }
    function->rows_size = writer->rows.size - function->rows;
    return true;
}

enum ch_status sframe_writer_add(struct sframe_writer *writer, uint64_t start,
                                 uint64_t end, const struct unwind_row *rows,
                                 size_t count)
{
    if (count == 0 || rows[0].start > start || end <= start || end - start > UINT32_MAX)
        return CH_ERR_UNSUPPORTED;
    if (!array_reserve(&writer->functions, &writer->capacity, writer->count,
                       sizeof(*writer->functions)))
        return CH_ERR_NO_MEMORY;
    struct sframe_written_function *function = &writer->functions[writer->count];
    const uint32_t flags = rows[0].flags;
    uint32_t size = (uint32_t)(end - start);
    *function = (struct sframe_written_function){ .start = start,
                                                  .size = size,
                                                  .rows = writer->rows.size };
    function->info = size < 1u << 8 ? 0 : size < 1u << 16 ? 1 : 2;
    function->info |= flags & UNWIND_KEY_B ? INFO_KEY_B : 0;
    function->info |= flags & UNWIND_SIGNAL_FRAME ? INFO_SIGNAL : 0;
    bool written = writer_append_rows(writer, rows, count, false);
    if (!written && writer->version == 3) {
        function->info2 = FLEXIBLE;
        written = writer_append_rows(writer, rows, count, true);
    }
    if (written && writer->version == 3)
        written = function->row_count <= ROWS_MAX_3;
    if (written && writer->version == 2)
        written = !(flags & UNWIND_SIGNAL_FRAME);
    if (!text_ok(&writer->rows))
        return CH_ERR_NO_MEMORY;
    if (!written) {
        writer->rows.size = function->rows;
        return CH_ERR_UNSUPPORTED;
    }
    writer->row_count += function->row_count;
    writer->count++;
    return CH_OK;
}

static int compare_starts(const void *left, const void *right)
{
    const struct sframe_written_function *a = left;
    const struct sframe_written_function *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static void writer_append_header(const struct sframe_writer *writer, uint64_t rows_size,
                                 size_t entry_size, struct text *out)
{
    append_number(out, MAGIC, 2);
    append_number(out, writer->version, 1);
    append_number(out, SFRAME_SORTED | SFRAME_START_PCREL, 1);
    append_number(out, writer->arch, 1);
    append_number(out, 0, 1);
    append_number(out, writer->arch == SFRAME_AMD64 ? (uint8_t)FIXED_RA_AMD64 : 0, 1);
    append_number(out, 0, 1);
    append_number(out, writer->count, 4);
    append_number(out, writer->row_count, 4);
    append_number(out, rows_size, 4);
    append_number(out, 0, 4);
    append_number(out, writer->count * entry_size, 4);
}

enum ch_status sframe_writer_finish(struct sframe_writer *writer, uint64_t vaddr,
                                    struct text *out)
{
    const bool is_new = writer->version == 3;
    const size_t entry_size = is_new ? ENTRY_SIZE_3 : ENTRY_SIZE_2;
    uint64_t rows_size =
        writer->rows.size + (is_new ? (uint64_t)ATTRIBUTES_SIZE * writer->count : 0);
    size_t begin = out->size;
    uint64_t row = 0;
    if (writer->count > UINT32_MAX / entry_size || rows_size > UINT32_MAX)
        return CH_ERR_LIMIT;
    if (writer->count != 0)
        qsort(writer->functions, writer->count, sizeof(*writer->functions),
              compare_starts);
    writer_append_header(writer, rows_size, entry_size, out);
    for (size_t i = 0; i < writer->count; i++) {
        const struct sframe_written_function *function = &writer->functions[i];
        int64_t start = (int64_t)(function->start - vaddr - (out->size - begin));
        if (!is_new && start != (int32_t)start)
            return CH_ERR_LIMIT;
        append_number(out, (uint64_t)start, is_new ? 8 : 4);
        append_number(out, function->size, 4);
        append_number(out, row, 4);
        row += function->rows_size + (is_new ? ATTRIBUTES_SIZE : 0);
        if (is_new)
            continue;
        append_number(out, function->row_count, 4);
        append_number(out, function->info, 4); // and a block size and padding of 0
    }
    for (size_t i = 0; i < writer->count; i++) {
        const struct sframe_written_function *function = &writer->functions[i];
        if (is_new) {
            append_number(out, function->row_count, 2);
            append_number(out, function->info, 1);
            append_number(out, function->info2, 2); // and a block size of 0
        }
        text_append(out, writer->rows.bytes + function->rows, function->rows_size);
    }
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
