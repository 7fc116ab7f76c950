// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "formats/interchange/fdr.h"
#include "support/test.h"

static const struct fdr_buffer_start start = {
    .tid = 70001, .pid = 4242, .seconds = 5, .microseconds = 6, .cpu = 2, .tsc = 1000
};

static struct fdr_header header_of(uint16_t version)
{
    return (struct fdr_header){ .version = version,
                                .type = 1,
                                .constant_tsc = true,
                                .cycles_per_second = 1000000000,
                                .buffer_size = 256 };
}

// write_body writes one of each record that a version has.
static void write_body(struct fdr_writer *w)
{
    const struct fdr_record argument = { .kind = FDR_CALL_ARGUMENT, .argument = 99 };
    const struct fdr_record event = { .kind = FDR_CUSTOM_EVENT,
                                      .tsc = 5000,
                                      .delta = 10,
                                      .size = 3,
                                      .data = (const uint8_t *)"abc" };
    const struct fdr_record cpu = { .kind = FDR_NEW_CPU, .cpu = 3, .tsc = 3000 };
    assert_int_equal(fdr_write_function(w, FDR_ENTER_ARGS, 7, 1005), CH_OK);
    assert_int_equal(fdr_write_record(w, &argument), CH_OK);
    assert_int_equal(fdr_write_record(w, &event), CH_OK);
    assert_int_equal(fdr_write_record(w, &cpu), CH_OK);
    assert_int_equal(fdr_write_function(w, FDR_EXIT, 7, UINT64_C(1) << 40), CH_OK);
}

static void fdr_reads_back_what_it_writes_in_each_version(void **state)
{
    (void)state;
    static const uint16_t versions[] = { 1, 3, 5 };
    for (size_t i = 0; i < 3; i++) {
        struct text out = { 0 };
        struct fdr_writer w;
        struct fdr_reader reader;
        struct fdr_record record;
        struct fdr_header header = header_of(versions[i]);
        uint64_t last_tsc = 0;
        size_t count = 0;
        int32_t pid = 0;
        assert_int_equal(fdr_writer_init(&w, &header, &out), CH_OK);
        for (int buffer = 0; buffer < 2; buffer++) {
            fdr_writer_begin(&w, &start);
            write_body(&w);
            fdr_writer_end(&w);
        }
        enum ch_status status = fdr_reader_init(&reader, out.bytes, out.size);
        while (status == CH_OK &&
               (status = fdr_next_record(&reader, &record)) == CH_OK) {
            count++;
            last_tsc = record.kind == FDR_FUNCTION ? record.tsc : last_tsc;
            pid = record.kind == FDR_PID ? record.pid : pid;
        }
        size_t size = out.size;
        text_deinit(&out);
        assert_int_equal(status, CH_END);
        // the tsc-wrap before the exit was the writer's own
        assert_int_equal(count, 2 * (versions[i] == 1 ? 10 : 11));
        assert_true(last_tsc == UINT64_C(1) << 40);
        assert_int_equal(pid, versions[i] == 1 ? 0 : 4242);
        if (versions[i] == 1)
            assert_int_equal(size, FDR_HEADER_SIZE + 2 * 256);
    }
}

static void fdr_writes_zeros_where_the_format_reserves(void **state)
{
    (void)state;
    struct text out = { 0 };
    struct fdr_writer w;
    struct fdr_header header = header_of(3);
    assert_int_equal(fdr_writer_init(&w, &header, &out), CH_OK);
    fdr_writer_begin(&w, &start);
    fdr_writer_end(&w);
    size_t noise = 0;
    for (size_t i = 9; i < 16; i++) // after the extents, and after the process id
        noise += out.bytes[32 + i] != 0;
    for (size_t i = 5; i < 16; i++)
        noise += out.bytes[32 + 48 + i] != 0;
    for (size_t i = 13; i < 16; i++) // after the wall clock
        noise += out.bytes[32 + 32 + i] != 0;
    uint8_t extents = (uint8_t)out.bytes[33];
    text_deinit(&out);
    assert_int_equal(noise, 0);
    assert_int_equal(extents, 64);
}

static void fdr_says_when_a_buffer_is_full_and_stays_inside(void **state)
{
    (void)state;
    struct text out = { 0 };
    struct fdr_writer w;
    struct fdr_header header = header_of(1);
    assert_int_equal(fdr_writer_init(&w, &header, &out), CH_OK);
    fdr_writer_begin(&w, &start);
    enum ch_status status = CH_OK;
    size_t written = 0;
    while ((status = fdr_write_function(&w, FDR_ENTER, 1, 1000 + written)) == CH_OK)
        written++;
    fdr_writer_end(&w);
    size_t size = out.size;
    text_deinit(&out);
    assert_int_equal(status, CH_ERR_LIMIT);
    assert_int_equal(written, (256 - 64) / 8);
    assert_int_equal(size, FDR_HEADER_SIZE + 256);
}

static void fdr_writes_only_versions_that_are_in_use(void **state)
{
    (void)state;
    for (uint16_t version = 0; version < 7; version++) {
        struct text out = { 0 };
        struct fdr_writer w;
        struct fdr_header header = header_of(version);
        enum ch_status status = fdr_writer_init(&w, &header, &out);
        text_deinit(&out);
        bool known = version == 1 || version == 3 || version == 5;
        assert_int_equal(status, known ? CH_OK : CH_ERR_UNSUPPORTED);
    }
    struct text out = { 0 };
    struct fdr_writer w;
    struct fdr_header header = header_of(1);
    header.buffer_size = 71;
    assert_int_equal(fdr_writer_init(&w, &header, &out), CH_ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fdr_reads_back_what_it_writes_in_each_version),
        cmocka_unit_test(fdr_writes_zeros_where_the_format_reserves),
        cmocka_unit_test(fdr_says_when_a_buffer_is_full_and_stays_inside),
        cmocka_unit_test(fdr_writes_only_versions_that_are_in_use),
    };
    return cmocka_run_group_tests_name("formats/fdr_writer", tests, NULL, NULL);
}
