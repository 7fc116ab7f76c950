// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/unwritten.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// read_own reads this process's memory, whose streams are glibc's.
static size_t read_own(void *source, uint64_t address, void *to, size_t length)
{
    (void)source;
    memcpy(to, (const void *)(uintptr_t)address, length);
    return length;
}

static size_t read_streams(struct unwritten out[static UNWRITTEN_STREAMS])
{
    const struct memory_reader reader = { .read = read_own };
    return unwritten_read(&reader, (uintptr_t)dlsym(RTLD_DEFAULT, "_IO_list_all"), out);
}

// log_to opens a stream with text in its buffer.
static FILE *log_to(const char *mode, const char *text)
{
    FILE *stream = fopen("/dev/null", mode);
    assert_non_null(stream);
    (void)fputs(text, stream);
    return stream;
}

static void the_buffer_of_a_log_is_read_and_that_of_a_data_file_is_not(void **state)
{
    (void)state;
    struct unwritten found[UNWRITTEN_STREAMS];
    FILE *data = log_to("w", "a customer\n");
    FILE *log = log_to("a", "starting\nno such table\n");
    int descriptor = fileno(log);
    size_t count = read_streams(found);
    (void)fclose(log);
    (void)fclose(data);
    assert_int_equal(count, 1);
    assert_int_equal(found[0].descriptor, descriptor);
    assert_string_equal(found[0].text, "starting\nno such table\n");
}

static void what_was_flushed_and_what_is_no_text_are_left_out(void **state)
{
    (void)state;
    struct unwritten found[UNWRITTEN_STREAMS];
    FILE *flushed = log_to("a", "written\n");
    FILE *binary = log_to("a", "\001\002\003");
    (void)fflush(flushed);
    size_t count = read_streams(found);
    (void)fclose(binary);
    (void)fclose(flushed);
    assert_int_equal(count, 0);
}

static void a_long_text_begins_with_a_line(void **state)
{
    (void)state;
    struct unwritten found[UNWRITTEN_STREAMS];
    FILE *log = log_to("a", "");
    for (int i = 1000; i < 1200; i++)
        (void)fprintf(log, "line %d\n", i);
    size_t count = read_streams(found);
    (void)fclose(log);
    assert_int_equal(count, 1);
    assert_int_equal(strncmp(found[0].text, "line ", 5), 0);
    assert_true(strlen(found[0].text) > UNWRITTEN_BYTES - 10);
    assert_non_null(strstr(found[0].text, "line 1199\n"));
}

static void no_more_streams_are_read_than_there_is_space_for(void **state)
{
    (void)state;
    struct unwritten found[UNWRITTEN_STREAMS];
    FILE *logs[UNWRITTEN_STREAMS + 2];
    for (size_t i = 0; i < UNWRITTEN_STREAMS + 2; i++)
        logs[i] = log_to("a", "a line\n");
    size_t count = read_streams(found);
    for (size_t i = 0; i < UNWRITTEN_STREAMS + 2; i++)
        (void)fclose(logs[i]);
    assert_int_equal(count, UNWRITTEN_STREAMS);
}

static void a_ring_of_streams_ends(void **state)
{
    (void)state;
    struct unwritten found[UNWRITTEN_STREAMS];
    // A list with one stream, which leads to itself and has nothing in its buffer.
    uint64_t words[16] = { 0 };
    words[0] = (uintptr_t)&words[1];
    words[1] = 0xfbad1000;
    words[1 + 13] = (uintptr_t)&words[1];
    const struct memory_reader reader = { .read = read_own };
    assert_int_equal(unwritten_read(&reader, (uintptr_t)words, found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_buffer_of_a_log_is_read_and_that_of_a_data_file_is_not),
        cmocka_unit_test(what_was_flushed_and_what_is_no_text_are_left_out),
        cmocka_unit_test(a_long_text_begins_with_a_line),
        cmocka_unit_test(no_more_streams_are_read_than_there_is_space_for),
        cmocka_unit_test(a_ring_of_streams_ends),
    };
    return cmocka_run_group_tests_name("agent/unwritten", tests, NULL, NULL);
}
