// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/minidump_writer.h"

#include "formats/debug/elf.h"
#include "formats/interchange/minidump.h"
#include "support/test.h"

// What is written is read by minidump.h's functions, which know nothing of the writer.

static const uint8_t build_id[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                    11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
static const uint8_t stack_bytes[] = "bytes of a stack";

static const struct minidump_write_range ranges[] = {
    { .start = 0x1000, .bytes = build_id, .size = 20 },
    { .start = 0x7000, .bytes = stack_bytes, .size = sizeof(stack_bytes) },
};
static const struct minidump_write_module modules[] = {
    { .base = 0x400000,
      .size = 0x2000,
      .path = "/b/\xc3\xa9\xf0\x9d\x84\x9e",
      .build_id = build_id,
      .build_id_size = sizeof(build_id) },
    { .base = 0x500000, .size = UINT64_MAX / 2, .path = "\xff/no build ID" },
};

static struct minidump_contents
contents_of(uint16_t machine, struct minidump_write_thread *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        threads[i] = (struct minidump_write_thread){ .state = { .tid = 77 + (uint32_t)i,
                                                                .flags = 0x246 } };
        for (size_t r = 0; r < CORE_REGISTERS; r++)
            threads[i].state.registers[r] = 0x100 * (i + 1) + r;
    }
    return (
        struct minidump_contents){ .machine = machine,
                                   .time = 1764000000,
                                   .pid = 4242,
                                   .system = "Linux 6.1",
                                   .release = "",
                                   .threads = threads,
                                   .thread_count = count,
                                   .signal = { .signal = 11, .code = 1, .address = 8 },
                                   .modules = modules,
                                   .module_count = 2,
                                   .ranges = ranges,
                                   .range_count = 2 };
}

static struct minidump reopen(const struct text *out)
{
    struct minidump dump;
    const char *why;
    assert_int_equal(minidump_open(&dump, out->bytes, out->size, &why), CH_OK);
    return dump;
}

static void registers_and_stacks_of_both_machines_can_be_read_back(void **state)
{
    (void)state;
    static const uint16_t machines[] = { ELF_X86_64, ELF_AARCH64 };
    for (size_t m = 0; m < 2; m++) {
        struct minidump_write_thread threads[2];
        struct text out = { 0 };
        struct core_thread thread;
        struct core_signal signal;
        struct minidump_range stack;
        size_t sp = m == 0 ? 7 : 31;
        size_t count = m == 0 ? 17 : CORE_REGISTERS;
        struct minidump_contents contents = contents_of(machines[m], threads, 2);
        threads[1].state.registers[sp] = 0x7004; // into the second range
        contents.crashed = 1;
        assert_int_equal(minidump_write(&contents, &out), CH_OK);
        struct minidump dump = reopen(&out);
        assert_int_equal(dump.machine, machines[m]);
        assert_int_equal(dump.time, 1764000000);
        assert_int_equal(dump.pid, 4242);
        struct minidump_list list = minidump_list(&dump, MINIDUMP_THREADS);
        for (size_t i = 0; i < 2; i++) {
            assert_true(minidump_next_thread(&list, &thread, &stack));
            assert_int_equal(thread.tid, 77 + i);
            assert_int_equal(thread.flags, 0x246);
            assert_memory_equal(thread.registers, threads[i].state.registers,
                                8 * count);
            assert_int_equal(stack.size, i == 0 ? 0 : sizeof(stack_bytes));
        }
        assert_memory_equal(out.bytes + stack.offset, stack_bytes, sizeof(stack_bytes));
        assert_false(minidump_next_thread(&list, &thread, &stack));
        assert_true(minidump_exception(&dump, &thread, &signal));
        assert_int_equal(thread.tid, 78);
        assert_int_equal(signal.signal, 11);
        assert_int_equal(signal.address, 8);
        text_deinit(&out);
    }
}

static void modules_and_memory_can_be_read_back(void **state)
{
    (void)state;
    struct minidump_write_thread threads[1];
    struct text out = { 0 };
    struct minidump_module module;
    struct minidump_range range;
    struct core_thread thread;
    struct core_signal signal;
    struct minidump_contents contents = contents_of(ELF_X86_64, threads, 1);
    contents.crashed = 1; // none
    assert_int_equal(minidump_write(&contents, &out), CH_OK);
    struct minidump dump = reopen(&out);
    struct minidump_list list = minidump_list(&dump, MINIDUMP_MODULES);
    assert_true(minidump_next_module(&list, &module));
    assert_int_equal(module.base, 0x400000);
    assert_int_equal(module.size, 0x2000);
    assert_string_equal(module.name, modules[0].path);
    assert_int_equal(module.build_id_size, sizeof(build_id));
    assert_memory_equal(module.build_id, build_id, sizeof(build_id));
    assert_true(minidump_next_module(&list, &module));
    assert_string_equal(module.name, "?/no build ID");
    assert_int_equal(module.size, UINT32_MAX);
    assert_int_equal(module.build_id_size, 0);
    list = minidump_list(&dump, MINIDUMP_MEMORY);
    for (size_t i = 0; i < 2; i++) {
        assert_true(minidump_next_range(&list, &range));
        assert_int_equal(range.start, ranges[i].start);
        assert_int_equal(range.size, ranges[i].size);
        assert_memory_equal(out.bytes + range.offset, ranges[i].bytes, ranges[i].size);
    }
    assert_false(minidump_exception(&dump, &thread, &signal));
    text_deinit(&out);
}

static void file_larger_than_its_text_may_be_is_refused(void **state)
{
    (void)state;
    struct minidump_write_thread threads[1];
    struct text out = { .limit_bytes = 4096 };
    struct minidump_contents contents = contents_of(ELF_X86_64, threads, 1);
    static uint8_t many[8192];
    const struct minidump_write_range large = { .start = 1,
                                                .bytes = many,
                                                .size = sizeof(many) };
    contents.ranges = &large;
    contents.range_count = 1;
    assert_int_equal(minidump_write(&contents, &out), CH_ERR_NO_MEMORY);
    text_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_and_stacks_of_both_machines_can_be_read_back),
        cmocka_unit_test(modules_and_memory_can_be_read_back),
        cmocka_unit_test(file_larger_than_its_text_may_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
