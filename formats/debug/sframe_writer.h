// SPDX-License-Identifier: Apache-2.0
//
// Writes SFrame sections of versions 2 and 3 for amd64 and little-endian aarch64
// (docs/formats/sframe.md) from unwind rows.
//
// Functions are added in any order and sorted at the end. One whose rows the format
// cannot express is refused as a whole, so that an unwinder uses other rules for it.
#pragma once
#include "base/text.h"
#include "formats/debug/sframe.h"

struct sframe_written_function {
    uint64_t start;
    uint32_t size;
    uint32_t row_count;
    size_t rows; // offset of its rows in sframe_writer.rows
    size_t rows_size;
    uint8_t info;
    uint8_t info2;
};

struct sframe_writer {
    uint8_t version;
    enum sframe_arch arch;
    struct sframe_written_function *functions;
    size_t count;
    size_t capacity;
    uint64_t row_count;
    struct text rows;
};

// sframe_writer_init begins an empty section; sframe_writer_deinit frees it.
// CH_ERR_UNSUPPORTED: the version or architecture.
CH_CHECKED enum ch_status sframe_writer_init(struct sframe_writer *writer,
                                             uint8_t version, enum sframe_arch arch);
void sframe_writer_deinit(struct sframe_writer *writer);

// sframe_writer_add adds the function from start to end, whose count rows follow each
// other without gaps. Equal neighbours become one row. CH_ERR_UNSUPPORTED: the version
// cannot express it; nothing was added. CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status sframe_writer_add(struct sframe_writer *writer,
                                            uint64_t start, uint64_t end,
                                            const struct unwind_row *rows,
                                            size_t count);

// sframe_writer_finish appends the section, which will be at vaddr. CH_ERR_LIMIT: a
// function is too far away, or there is too much for the format.
CH_CHECKED enum ch_status sframe_writer_finish(struct sframe_writer *writer,
                                               uint64_t vaddr, struct text *out);
