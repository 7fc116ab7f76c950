// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr.h"

#include <stdlib.h>

#include "support/byte_builder.h"
#include "support/bytes.h"
#include "support/test.h"

// The traces that the tests read are the worked examples of docs/formats/fdr.md, and
// variations of them.
static void add_header(struct byte_builder *b, uint16_t version, uint64_t buffer_size)
{
    byte_builder_uint(b, version, 2);
    byte_builder_uint(b, 1, 2);
    byte_builder_uint(b, b->big_endian ? UINT64_C(0xc0000000) : 3, 4);
    byte_builder_uint(b, 1000000000, 8);
    byte_builder_uint(b, buffer_size, 8);
    byte_builder_uint(b, 0, 8);
}

// add_metadata appends a record whose reserved bytes hold noise: readers ignore them.
static void add_metadata(struct byte_builder *b, enum fdr_kind kind,
                         const uint64_t fields[3], const size_t sizes[3])
{
    size_t start = b->size;
    byte_builder_uint(b, b->big_endian ? 0x80 | kind : kind << 1 | 1, 1);
    for (size_t i = 0; i < 3 && sizes[i] != 0; i++)
        byte_builder_uint(b, fields[i], sizes[i]);
    while (b->size < start + FDR_METADATA_SIZE)
        byte_builder_uint(b, 0xa5, 1);
}

#define METADATA(b, kind, a, asize, c, csize, d, dsize)                                \
    add_metadata(b, kind, (const uint64_t[3]){ a, c, d },                              \
                 (const size_t[3]){ asize, csize, dsize })

static void add_function(struct byte_builder *b, enum fdr_action action, uint32_t id,
                         uint32_t delta)
{
    uint32_t word =
        b->big_endian ? (uint32_t)action << 28 | id : id << 4 | (uint32_t)action << 1;
    byte_builder_uint(b, word, 4);
    byte_builder_uint(b, delta, 4);
}

static void add_preamble(struct byte_builder *b, uint16_t version, int32_t tid)
{
    METADATA(b, FDR_NEW_BUFFER, (uint32_t)tid, 4, 0, 0, 0, 0);
    METADATA(b, FDR_WALL_CLOCK, 5, 8, 500000, 4, 0, 0);
    if (version >= 3)
        METADATA(b, FDR_PID, 77, 4, 0, 0, 0, 0);
    METADATA(b, FDR_NEW_CPU, 2, 2, 1000, 8, 0, 0);
}

// build_first is the first worked example: version 1, one buffer of 96 bytes.
static void build_first(struct byte_builder *b, bool big_endian)
{
    *b = (struct byte_builder){ .big_endian = big_endian };
    add_header(b, 1, 96);
    add_preamble(b, 1, 4242);
    add_function(b, FDR_ENTER, 1, 0);
    add_function(b, FDR_EXIT, 1, 20);
    METADATA(b, FDR_END_OF_BUFFER, 0, 0, 0, 0, 0, 0);
    while (b->size < FDR_HEADER_SIZE + 96)
        byte_builder_uint(b, 0xff, 1);
}

// build_second is the second: version 5, a call with its argument, both kinds of event.
static void build_second(struct byte_builder *b)
{
    *b = (struct byte_builder){ 0 };
    add_header(b, 5, 4096);
    METADATA(b, FDR_BUFFER_EXTENTS, 64 + 8 + 16 + 16 + 3 + 16 + 1 + 8, 8, 0, 0, 0, 0);
    add_preamble(b, 5, 70001);
    add_function(b, FDR_ENTER_ARGS, 3, 7);
    METADATA(b, FDR_CALL_ARGUMENT, 0x1122334455667788, 8, 0, 0, 0, 0);
    METADATA(b, FDR_CUSTOM_EVENT, 3, 4, 10, 4, 0, 0);
    byte_builder_bytes(b, "abc", 3);
    METADATA(b, FDR_TYPED_EVENT, 1, 4, (uint32_t)-4, 4, 77, 2);
    byte_builder_bytes(b, "x", 1);
    add_function(b, FDR_TAIL_EXIT, 3, 1);
}

// What a trace was read as.
struct listing {
    struct fdr_record records[32];
    size_t count;
    struct fdr_problem problems[32];
    size_t problem_count;
};

static void drain(struct fdr_reader *reader, struct listing *out)
{
    struct fdr_record record;
    enum ch_status status;
    while ((status = fdr_next_record(reader, &record)) != CH_END) {
        if (status == CH_OK && out->count < 32)
            out->records[out->count++] = record;
        if (status != CH_OK && out->problem_count < 32)
            out->problems[out->problem_count++] = reader->problem;
    }
}

static struct listing read_trace(const struct byte_builder *b)
{
    struct listing listing = { 0 };
    struct fdr_reader reader;
    assert_int_equal(fdr_reader_init(&reader, b->bytes, b->size), CH_OK);
    drain(&reader, &listing);
    return listing;
}

static void fdr_reads_the_first_worked_example_in_both_orders(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct byte_builder b;
        build_first(&b, big != 0);
        struct listing got = read_trace(&b);
        assert_int_equal(got.problem_count, 0);
        assert_int_equal(got.count, 6);
        assert_int_equal(got.records[0].tid, 4242);
        assert_int_equal(got.records[1].seconds, 5);
        assert_int_equal(got.records[1].microseconds, 500000);
        assert_int_equal(got.records[2].cpu, 2);
        assert_int_equal(got.records[4].action, FDR_EXIT);
        assert_int_equal(got.records[4].function, 1);
        assert_int_equal(got.records[4].tsc, 1020);
        assert_int_equal(got.records[5].kind, FDR_END_OF_BUFFER);
    }
}

static void fdr_reads_the_second_worked_example(void **state)
{
    (void)state;
    struct byte_builder b;
    build_second(&b);
    struct listing got = read_trace(&b);
    assert_int_equal(got.problem_count, 0);
    assert_int_equal(got.count, 10);
    assert_int_equal(got.records[1].tid, 70001);
    assert_int_equal(got.records[3].pid, 77);
    assert_int_equal(got.records[5].action, FDR_ENTER_ARGS);
    assert_true(got.records[6].argument == 0x1122334455667788);
    assert_int_equal(got.records[7].tsc, 1017);
    assert_memory_equal(got.records[7].data, "abc", 3);
    assert_int_equal(got.records[8].type, 77);
    assert_int_equal(got.records[8].tsc, 1013); // the delta of an event has a sign
    assert_int_equal(got.records[9].tsc, 1014);
}

static void fdr_tells_the_flags_of_the_header(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct byte_builder b;
        struct fdr_reader reader;
        build_first(&b, big != 0);
        assert_int_equal(fdr_reader_init(&reader, b.bytes, b.size), CH_OK);
        assert_true(reader.header.constant_tsc && reader.header.nonstop_tsc);
        assert_int_equal(reader.header.big_endian, big);
        assert_int_equal(reader.header.cycles_per_second, 1000000000);
    }
}

static void fdr_refuses_versions_and_types_there_are_not(void **state)
{
    (void)state;
    for (uint16_t version = 0; version < 8; version++) {
        struct byte_builder b = { 0 };
        struct fdr_reader reader;
        add_header(&b, version, 4096);
        bool known = version >= 1 && version <= 5;
        assert_int_equal(fdr_reader_init(&reader, b.bytes, b.size),
                         known ? CH_OK : CH_ERR_UNSUPPORTED);
        b.bytes[2] = 0;
        assert_int_equal(fdr_reader_init(&reader, b.bytes, b.size), CH_ERR_UNSUPPORTED);
    }
}

static void fdr_keeps_the_counter_of_an_old_custom_event_apart(void **state)
{
    (void)state;
    for (uint16_t version = 3; version <= 4; version++) {
        struct byte_builder b = { 0 };
        add_header(&b, version, 4096);
        METADATA(&b, FDR_BUFFER_EXTENTS, 64 + 16 + 2 + 8, 8, 0, 0, 0, 0);
        add_preamble(&b, version, 1);
        METADATA(&b, FDR_CUSTOM_EVENT, 2, 4, 5000, 8, 9, 2);
        byte_builder_bytes(&b, "hi", 2);
        add_function(&b, FDR_ENTER, 1, 5);
        struct listing got = read_trace(&b);
        assert_int_equal(got.problem_count, 0);
        assert_int_equal(got.records[5].tsc, 5000);
        assert_int_equal(got.records[5].cpu, version == 4 ? 9 : 0);
        assert_int_equal(got.records[6].tsc, 1005);
    }
}

static void fdr_goes_on_with_the_next_buffer_behind_damage(void **state)
{
    (void)state;
    struct byte_builder b;
    build_first(&b, false);
    b.bytes[FDR_HEADER_SIZE + 48] = 0xfd; // a metadata kind there is not
    for (size_t i = 0; i < 96; i++)
        byte_builder_uint(&b, b.bytes[FDR_HEADER_SIZE + i], 1);
    b.bytes[FDR_HEADER_SIZE + 96 + 48] = 0x10;
    struct listing got = read_trace(&b);
    assert_int_equal(got.problem_count, 1);
    assert_int_equal(got.problems[0].offset, FDR_HEADER_SIZE + 48);
    assert_int_equal(got.problems[0].status, CH_ERR_UNSUPPORTED);
    assert_int_equal(got.count, 3 + 6);
}

static void fdr_reports_a_record_out_of_order_and_reads_it(void **state)
{
    (void)state;
    struct byte_builder b = { 0 };
    add_header(&b, 2, 4096);
    METADATA(&b, FDR_BUFFER_EXTENTS, 48 + 16 + 8, 8, 0, 0, 0, 0);
    add_preamble(&b, 2, 1);
    METADATA(&b, FDR_CALL_ARGUMENT, 1, 8, 0, 0, 0, 0); // of no call
    add_function(&b, FDR_ENTER, 1, 5);
    struct listing got = read_trace(&b);
    assert_int_equal(got.problem_count, 1);
    assert_int_equal(got.problems[0].offset, got.records[4].offset);
    assert_int_equal(got.count, 6);
}

static void fdr_takes_no_end_of_buffer_after_version_1(void **state)
{
    (void)state;
    struct byte_builder b = { 0 };
    add_header(&b, 2, 4096);
    METADATA(&b, FDR_BUFFER_EXTENTS, 48 + 16, 8, 0, 0, 0, 0);
    add_preamble(&b, 2, 1);
    METADATA(&b, FDR_END_OF_BUFFER, 0, 0, 0, 0, 0, 0);
    METADATA(&b, FDR_BUFFER_EXTENTS, 0, 8, 0, 0, 0, 0);
    struct listing got = read_trace(&b);
    assert_int_equal(got.problem_count, 1);
    assert_int_equal(got.problems[0].status, CH_ERR_MALFORMED);
    assert_int_equal(got.count, 5);
    assert_int_equal(got.records[4].kind, FDR_BUFFER_EXTENTS);
}

static void fdr_refuses_an_event_of_negative_size(void **state)
{
    (void)state;
    struct byte_builder b;
    build_second(&b);
    memset(b.bytes + FDR_HEADER_SIZE + 16 + 64 + 8 + 16 + 1, 0xff, 4);
    struct listing got = read_trace(&b);
    assert_int_equal(got.problem_count, 1);
    assert_int_equal(got.count, 7);
}

static void fdr_reads_an_unusable_buffer_size_as_one_buffer(void **state)
{
    (void)state;
    struct byte_builder b;
    build_first(&b, false);
    memset(b.bytes + 16, 0, 8);
    struct listing got = read_trace(&b);
    assert_int_equal(got.problem_count, 1);
    assert_int_equal(got.problems[0].offset, 16);
    assert_int_equal(got.count, 6);
}

static void fdr_reads_a_buffer_in_memory_up_to_its_zeros(void **state)
{
    (void)state;
    struct byte_builder b = { 0 };
    struct listing got = { 0 };
    struct fdr_reader reader;
    const struct fdr_header header = { .version = 1, .type = 1 };
    add_preamble(&b, 1, 9);
    add_function(&b, FDR_ENTER, 4, 0);
    byte_builder_bytes(&b, (uint8_t[64]){ 0 }, 64);
    add_function(&b, FDR_ENTER, 5, 0); // what was there before
    fdr_reader_init_buffer(&reader, &header, b.bytes, b.size);
    drain(&reader, &got);
    assert_int_equal(got.problem_count, 0);
    assert_int_equal(got.count, 4);
    assert_int_equal(got.records[3].function, 4);
}

// Every cut is noticed but those between buffers, and nothing is read past it.
struct cut {
    size_t boundary;
};

static int visit_cut(const uint8_t *bytes, size_t size, void *context)
{
    const struct cut *cut = context;
    struct listing got = { 0 };
    struct fdr_reader reader;
    enum ch_status status = fdr_reader_init(&reader, bytes, size);
    if (size < FDR_HEADER_SIZE)
        return status != CH_ERR_TRUNCATED;
    if (status != CH_OK)
        return 1;
    drain(&reader, &got);
    bool whole = size == FDR_HEADER_SIZE || size == cut->boundary;
    if (whole)
        return got.problem_count != 0;
    return got.problem_count != 1 || got.problems[0].status != CH_ERR_TRUNCATED;
}

static void fdr_notices_every_truncation(void **state)
{
    (void)state;
    struct byte_builder first;
    struct byte_builder big;
    struct byte_builder second;
    struct cut none = { 0 };
    build_first(&first, false);
    build_first(&big, true);
    build_second(&second);
    assert_int_equal(bytes_cut_everywhere(first.bytes, first.size, visit_cut, &none),
                     0);
    assert_int_equal(bytes_cut_everywhere(big.bytes, big.size, visit_cut, &none), 0);
    assert_int_equal(bytes_cut_everywhere(second.bytes, second.size, visit_cut, &none),
                     0);
}

// A reader that makes no more items than its input has bytes has come to an end.
static int visit_flip(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct fdr_record record;
    struct fdr_reader reader;
    size_t items = 0;
    enum ch_status status = fdr_reader_init(&reader, bytes, size);
    if (status != CH_OK)
        return status != CH_ERR_UNSUPPORTED;
    while ((status = fdr_next_record(&reader, &record)) != CH_END && items <= size) {
        items++;
        if (status == CH_OK && (record.offset >= size || record.kind >= FDR_KIND_COUNT))
            return 1;
    }
    return items > size;
}

static void fdr_survives_every_flipped_bit(void **state)
{
    (void)state;
    struct byte_builder b;
    build_first(&b, false);
    assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, visit_flip, NULL), 0);
    build_second(&b);
    assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, visit_flip, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fdr_reads_the_first_worked_example_in_both_orders),
        cmocka_unit_test(fdr_reads_the_second_worked_example),
        cmocka_unit_test(fdr_tells_the_flags_of_the_header),
        cmocka_unit_test(fdr_refuses_versions_and_types_there_are_not),
        cmocka_unit_test(fdr_keeps_the_counter_of_an_old_custom_event_apart),
        cmocka_unit_test(fdr_goes_on_with_the_next_buffer_behind_damage),
        cmocka_unit_test(fdr_reports_a_record_out_of_order_and_reads_it),
        cmocka_unit_test(fdr_takes_no_end_of_buffer_after_version_1),
        cmocka_unit_test(fdr_refuses_an_event_of_negative_size),
        cmocka_unit_test(fdr_reads_an_unusable_buffer_size_as_one_buffer),
        cmocka_unit_test(fdr_reads_a_buffer_in_memory_up_to_its_zeros),
        cmocka_unit_test(fdr_notices_every_truncation),
        cmocka_unit_test(fdr_survives_every_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/fdr", tests, NULL, NULL);
}
