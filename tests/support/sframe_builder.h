// SPDX-License-Identifier: Apache-2.0
//
// An SFrame section of any version, from what a test says: functions, then rows as
// bytes. Row offsets of version 3 have the attributes in front of them put in.
#pragma once
#include "support/byte_builder.h"

struct sframe_builder_function {
    int64_t start;
    uint32_t size;
    uint8_t info;
    uint8_t info2;
    uint8_t rep_size;
    uint32_t row_count;
    const char *rows; // their bytes
    size_t rows_size;
};

struct sframe_builder {
    uint8_t version;
    uint8_t flags;
    uint8_t arch;
    int8_t fixed_ra;
    uint8_t aux_size;
    struct sframe_builder_function functions[80];
    size_t function_count;
    struct byte_builder out;
};

static inline void sframe_builder_header(struct sframe_builder *s, size_t entry,
                                         size_t rows_size)
{
    struct byte_builder *out = &s->out;
    byte_builder_uint(out, 0xdee2, 2);
    byte_builder_uint(out, s->version, 1);
    byte_builder_uint(out, s->flags, 1);
    byte_builder_uint(out, s->arch, 1);
    byte_builder_uint(out, 0, 1);
    byte_builder_uint(out, (uint8_t)s->fixed_ra, 1);
    byte_builder_uint(out, s->aux_size, 1);
    byte_builder_uint(out, s->function_count, 4);
    byte_builder_uint(out, 0, 4);
    byte_builder_uint(out, rows_size, 4);
    byte_builder_uint(out, 0, 4);
    byte_builder_uint(out, s->function_count * entry, 4);
    for (unsigned i = 0; i < s->aux_size; i++)
        byte_builder_uint(out, 0xaa, 1);
}

// sframe_builder_build makes the section in s->out.
static inline void sframe_builder_build(struct sframe_builder *s)
{
    static const size_t entries[] = { 0, 17, 20, 16 };
    size_t extra = s->version == 3 ? 5 : 0;
    size_t rows_size = 0;
    for (size_t i = 0; i < s->function_count; i++)
        rows_size += s->functions[i].rows_size + extra;

    s->out.size = 0;
    s->out.big_endian = s->arch == 1 || s->arch == 4;
    sframe_builder_header(s, entries[s->version], rows_size);
    size_t row_at = 0;
    for (size_t i = 0; i < s->function_count; i++) {
        const struct sframe_builder_function *f = &s->functions[i];
        byte_builder_uint(&s->out, (uint64_t)f->start, s->version == 3 ? 8 : 4);
        byte_builder_uint(&s->out, f->size, 4);
        byte_builder_uint(&s->out, row_at, 4);
        row_at += f->rows_size + extra;
        if (s->version == 3)
            continue;
        byte_builder_uint(&s->out, f->row_count, 4);
        byte_builder_uint(&s->out, f->info, 1);
        if (s->version == 2)
            byte_builder_uint(&s->out, f->rep_size, 3);
    }
    for (size_t i = 0; i < s->function_count; i++) {
        const struct sframe_builder_function *f = &s->functions[i];
        if (s->version == 3) {
            byte_builder_uint(&s->out, f->row_count, 2);
            byte_builder_uint(&s->out, f->info, 1);
            byte_builder_uint(&s->out, f->info2, 1);
            byte_builder_uint(&s->out, f->rep_size, 1);
        }
        byte_builder_bytes(&s->out, f->rows, f->rows_size);
    }
}
