// SPDX-License-Identifier: Apache-2.0
#include "report/file/held_file.h"

#include "support/bytes.h"
#include "support/test.h"

static void held_file_gives_back_what_was_put_in(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    struct held_file file;
    char word[4] = "";
    const struct held_watch watch = {
        .name = "x", .type = "int", .address = 0x1002, .size = 4, .caller = 7, .cut = 1
    };
    held_file_add_memory(&bytes, 0x1000, "abcdef", 6);
    held_file_add_watch(&bytes, &watch);
    enum ch_status status = held_file_init(&file, bytes.bytes, bytes.size);
    struct memory_reader reader = held_file_reader(&file);
    enum ch_status inside = memory_read(&reader, 0x1002, word, 4);
    enum ch_status outside = memory_read(&reader, 0x1003, word, 4);
    struct held_watch got = file.watches[0];
    bool named = strcmp(got.name, "x") == 0 && strcmp(got.type, "int") == 0;
    held_file_deinit(&file);
    text_deinit(&bytes);

    assert_int_equal(status, CH_OK);
    assert_int_equal(inside, CH_OK);
    assert_memory_equal(word, "def", 3);
    assert_int_equal(outside, CH_ERR_FAULT);
    assert_true(named);
    assert_int_equal(got.address, 0x1002);
    assert_int_equal(got.cut, HELD_CUT_BEYOND);
}

static void held_file_reads_across_pieces_that_lie_on_each_other(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    struct held_file file;
    char all[11] = "";
    held_file_add_memory(&bytes, 0x1004, "efgh", 4);
    held_file_add_memory(&bytes, 0x1000, "abcdef", 6);
    held_file_add_memory(&bytes, 0x1002, "cd", 2);
    held_file_add_memory(&bytes, 0x1008, "ij", 2);
    enum ch_status status = held_file_init(&file, bytes.bytes, bytes.size);
    struct memory_reader reader = held_file_reader(&file);
    enum ch_status read = memory_read(&reader, 0x1000, all, 10);
    held_file_deinit(&file);
    text_deinit(&bytes);
    assert_int_equal(status, CH_OK);
    assert_int_equal(read, CH_OK);
    assert_string_equal(all, "abcdefghij");
}

static void held_file_gives_back_the_registers_of_each_thread(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    struct held_file file;
    struct held_thread late = { .tid = 9, .arch = &unwind_arch_aarch64 };
    struct held_thread early = { .tid = 4, .arch = &unwind_arch_aarch64 };
    late.registers.value[32] = 0x400100;
    late.thread_pointer = 0x6000;
    early.registers.value[31] = 0x7000;
    held_file_add_thread(&bytes, &late);
    held_file_add_thread(&bytes, &early);
    enum ch_status status = held_file_init(&file, bytes.bytes, bytes.size);
    const struct held_thread *found = held_file_thread(&file, 9);
    struct held_thread got = found != NULL ? *found : early;
    found = held_file_thread(&file, 4);
    uint64_t sp = found != NULL ? found->registers.value[31] : 0;
    uint64_t pointer = found != NULL ? found->thread_pointer : 1;
    bool other = held_file_thread(&file, 5) != NULL;
    held_file_deinit(&file);
    text_deinit(&bytes);
    assert_int_equal(status, CH_OK);
    assert_ptr_equal(got.arch, &unwind_arch_aarch64);
    assert_int_equal(got.registers.value[32], 0x400100);
    assert_int_equal(got.thread_pointer, 0x6000);
    assert_int_equal(pointer, 0);
    assert_int_equal(sp, 0x7000);
    assert_false(other);
}

static void held_file_gives_back_the_vector_registers_of_their_thread(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    struct held_file file;
    uint8_t vectors[HELD_VECTORS_BYTES] = { [0] = 7, [HELD_VECTORS_BYTES - 1] = 9 };
    const struct held_thread thread = { .tid = 1, .arch = &unwind_arch_amd64 };
    const struct held_thread other = { .tid = 2, .arch = &unwind_arch_amd64 };
    held_file_add_thread(&bytes, &thread);
    held_file_add_vectors(&bytes, vectors, 32);
    held_file_add_thread(&bytes, &other);
    held_file_add_vectors(&bytes, vectors, 16);
    enum ch_status status = held_file_init(&file, bytes.bytes, bytes.size);
    const struct held_thread *found = held_file_thread(&file, 1);
    bool same = found != NULL && found->vector_count == 32 &&
                memcmp(found->vectors, vectors, sizeof(vectors)) == 0;
    found = held_file_thread(&file, 2);
    bool fewer = found != NULL && found->vector_count == 16;
    held_file_deinit(&file);
    struct text alone = { 0 };
    held_file_add_vectors(&alone, vectors, 32);
    enum ch_status refused = held_file_init(&file, alone.bytes, alone.size);
    text_deinit(&alone);
    text_deinit(&bytes);
    assert_int_equal(status, CH_OK);
    assert_true(same);
    assert_true(fewer);
    assert_int_equal(refused, CH_ERR_MALFORMED); // of no thread
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct held_file file;
    char byte;
    if (held_file_init(&file, bytes, size) != CH_OK)
        return 0;
    struct memory_reader reader = held_file_reader(&file);
    (void)!memory_read(&reader, 0x1001, &byte, 1);
    (void)held_file_thread(&file, 1);
    held_file_deinit(&file);
    return 0;
}

static void held_file_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    const struct held_watch watch = { .name = "x", .type = "int" };
    const struct held_thread thread = { .tid = 1,
                                        .arch = &unwind_arch_amd64,
                                        .thread_pointer = 0x7000 };
    held_file_add_memory(&bytes, 0x1000, "abcdef", 6);
    held_file_add_memory(&bytes, 0x1003, "defg", 4);
    held_file_add_watch(&bytes, &watch);
    held_file_add_thread(&bytes, &thread);
    held_file_add_vectors(&bytes, (uint8_t[HELD_VECTORS_BYTES]){ 1 }, 32);
    const uint8_t *from = (const uint8_t *)bytes.bytes;
    int failures = bytes_cut_everywhere(from, bytes.size, visit, NULL);
    failures += bytes_flip_every_bit(from, bytes.size, visit, NULL);
    text_deinit(&bytes);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_file_gives_back_what_was_put_in),
        cmocka_unit_test(held_file_reads_across_pieces_that_lie_on_each_other),
        cmocka_unit_test(held_file_gives_back_the_registers_of_each_thread),
        cmocka_unit_test(held_file_gives_back_the_vector_registers_of_their_thread),
        cmocka_unit_test(held_file_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("report/held_file", tests, NULL, NULL);
}
