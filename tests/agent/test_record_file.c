// SPDX-License-Identifier: Apache-2.0
#include "agent/core/record_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/byte_builder.h"
#include "support/bytes.h"
#include "support/test.h"

static void add_header(struct byte_builder *b)
{
    struct record_header header = {
        .magic = RECORD_MAGIC,
        .version = RECORD_VERSION,
        .size = sizeof(header),
        .pid = 42,
        .page = { .magic = REQUEST_MAGIC,
                  .version = REQUEST_VERSION,
                  .size = sizeof(header.page) },
    };
    byte_builder_bytes(b, &header, sizeof(header));
}

static void add_chunk(struct byte_builder *b, enum record_kind kind, uint64_t address,
                      const void *bytes, uint32_t size)
{
    struct record_chunk chunk = { kind, size, address };
    byte_builder_bytes(b, &chunk, sizeof(chunk));
    byte_builder_bytes(b, bytes, size);
}

// build makes a record with one chunk of each kind that matters here.
static struct byte_builder build(void)
{
    struct byte_builder b = { 0 };
    add_header(&b);
    add_chunk(&b, RECORD_VARIABLE, 0, "HOME=/h", 8);
    add_chunk(&b, RECORD_VARIABLE, 0, "CRASHHOOK_TAGS=a=b", 19);
    add_chunk(&b, RECORD_EXECUTABLE, 0, "/bin/x", 6);
    add_chunk(&b, RECORD_MEMORY, 0x2000, "01234567", 8);
    add_chunk(&b, RECORD_MEMORY, 0x1000, "89abcdef", 8);
    return b;
}

static enum ch_status open_bytes(struct record_file *record, const uint8_t *bytes,
                                 size_t size)
{
    int fd = memfd_create("record", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    enum ch_status status = record_file_open(record, fd);
    close(fd);
    return status;
}

static void a_record_gives_back_what_was_put_in(void **state)
{
    (void)state;
    struct record_file record;
    struct byte_builder b = build();
    assert_int_equal(open_bytes(&record, b.bytes, b.size), CH_OK);
    bool home = strcmp(record_file_variable(&record, "HOME"), "/h") == 0;
    bool tags = strcmp(record_file_variable(&record, "CRASHHOOK_TAGS"), "a=b") == 0;
    bool none = record_file_variable(&record, "CRASHHOOK") == NULL;
    size_t segments = record.segment_count;
    uint64_t first = record.segments[0].start;
    int32_t pid = record.header.pid;
    record_file_close(&record);
    assert_true(home && tags && none);
    assert_int_equal(segments, 2);
    assert_int_equal(first, 0x1000);
    assert_int_equal(pid, 42);
}

static void of_two_pieces_of_the_same_memory_one_is_kept(void **state)
{
    (void)state;
    struct record_file record;
    struct byte_builder b = build();
    add_chunk(&b, RECORD_MEMORY, 0x1004, "overlaps", 8);
    assert_int_equal(open_bytes(&record, b.bytes, b.size), CH_OK);
    size_t segments = record.segment_count;
    record_file_close(&record);
    assert_int_equal(segments, 2);
}

static void memory_that_wraps_is_left_out(void **state)
{
    (void)state;
    struct record_file record;
    struct byte_builder b = build();
    add_chunk(&b, RECORD_MEMORY, UINT64_MAX - 3, "12345678", 8);
    assert_int_equal(open_bytes(&record, b.bytes, b.size), CH_OK);
    size_t segments = record.segment_count;
    record_file_close(&record);
    assert_int_equal(segments, 2);
}

static void a_record_of_another_version_is_refused(void **state)
{
    (void)state;
    struct record_file record;
    struct byte_builder b = build();
    b.bytes[8]++; // version
    assert_int_equal(open_bytes(&record, b.bytes, b.size), CH_ERR_UNSUPPORTED);
    b.bytes[0]++; // magic
    assert_int_equal(open_bytes(&record, b.bytes, b.size), CH_ERR_MALFORMED);
}

static int survives(const uint8_t *bytes, size_t size, void *context)
{
    struct record_file record;
    (void)context;
    enum ch_status status = open_bytes(&record, bytes, size);
    if (status != CH_OK)
        return status == CH_ERR_NO_MEMORY || status == CH_ERR_IO;
    int bad = record.segment_count > 2;
    record_file_close(&record);
    return bad;
}

static void a_record_cut_anywhere_is_used_as_far_as_it_goes(void **state)
{
    (void)state;
    struct byte_builder b = build();
    assert_int_equal(bytes_cut_everywhere(b.bytes, b.size, survives, NULL), 0);
}

static void no_flipped_bit_is_believed_too_much(void **state)
{
    (void)state;
    struct byte_builder b = build();
    assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, survives, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_gives_back_what_was_put_in),
        cmocka_unit_test(of_two_pieces_of_the_same_memory_one_is_kept),
        cmocka_unit_test(memory_that_wraps_is_left_out),
        cmocka_unit_test(a_record_of_another_version_is_refused),
        cmocka_unit_test(a_record_cut_anywhere_is_used_as_far_as_it_goes),
        cmocka_unit_test(no_flipped_bit_is_believed_too_much),
    };
    return cmocka_run_group_tests_name("agent/record_file", tests, NULL, NULL);
}
