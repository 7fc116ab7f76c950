// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/minidump_file.h"

#include "formats/debug/elf.h"
#include "formats/interchange/minidump.h"
#include "support/test.h"

// What is written is read by minidump.h's functions, which know nothing of the writer.

static const char stack_digits[] = "6279746573206f66206120737461636b";
static const char build_id[] = "0102030405060708090a0b0c0d0e0f1011121314";

// report_of is a report with two threads, of which the second crashed and has its stack
// pointer in the second range of memory.
static json_t *report_of(bool arm)
{
    const char *sp = arm ? "sp" : "rsp";
    const char *pc = arm ? "pc" : "rip";
    const char *flags = arm ? "pstate" : "eflags";
    const char *last = arm ? "x30" : "r15";
    json_t *report = json_pack("{s:s, s:s, s:{s:i}, s:{s:i, s:i, s:i, s:s}}", "id",
                               "01930000-0001-7788-99aa-000000000001", "time",
                               "2025-11-24T16:00:00Z", "process", "pid", 4242, "crash",
                               "thread", 78, "signal", 11, "code", 1, "address", "0x8");
    json_t *threads = json_pack(
        "[{s:i, s:{s:s, s:s, s:s, s:s}}, {s:i, s:b, s:s, s:{s:s, s:s, s:s, s:s}}]",
        "tid", 77, "registers", pc, "0x110", sp, "0x107", flags, "0x246", last, "0x10f",
        "tid", 78, "crashed", 1, "name", "worker", "registers", pc, "0x210", sp,
        "0x7004", flags, "0x246", last, "0x20f");
    json_object_set_new(report, "threads", threads);
    json_object_set_new(report, "images",
                        json_pack("[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s}]", "path",
                                  "/b/\xc3\xa9\xf0\x9d\x84\x9e", "base", "0x400000",
                                  "end_of_text", "0x402000", "build_id", build_id,
                                  "path", "/no build ID", "base", "0x500000",
                                  "end_of_text", "0x7000000000000000"));
    json_object_set_new(report, "memory",
                        json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "address",
                                  "0x7000", "bytes", stack_digits, "address", "0x1000",
                                  "bytes", build_id, "address", "0x100a", "bytes",
                                  build_id));
    return report;
}

static struct minidump reopen(const struct text *out)
{
    struct minidump dump;
    const char *why;
    assert_int_equal(minidump_open(&dump, out->bytes, out->size, &why), CH_OK);
    return dump;
}

static void a_stack_that_has_overflown_is_what_is_kept_above_it(void **state)
{
    (void)state;
    struct text out = { 0 };
    struct core_thread thread;
    struct minidump_range stack;
    json_t *report = report_of(false);
    json_t *crashed = json_array_get(json_object_get(report, "threads"), 1);
    json_t *memory = json_object_get(report, "memory");
    json_object_set_new(json_object_get(crashed, "registers"), "rsp",
                        json_string("0x6ff0"));
    json_object_set_new(json_array_get(memory, 0), "thread", json_integer(78));
    assert_int_equal(minidump_file_write(report, &out), CH_OK);
    struct minidump dump = reopen(&out);
    struct minidump_list list = minidump_list(&dump, MINIDUMP_THREADS);
    assert_true(minidump_next_thread(&list, &thread, &stack));
    assert_int_equal(thread.registers[7], 0x6ff0);
    assert_int_equal(stack.start, 0x7000);
    assert_int_equal(stack.size, 16);
    text_deinit(&out);
    json_decref(report);
}

static void registers_and_stacks_of_both_machines_can_be_read_back(void **state)
{
    (void)state;
    for (int arm = 0; arm < 2; arm++) {
        struct text out = { 0 };
        struct core_thread thread;
        struct core_signal signal;
        struct minidump_range stack;
        const size_t sp = arm ? 31 : 7;
        json_t *report = report_of(arm);
        assert_int_equal(minidump_file_write(report, &out), CH_OK);
        struct minidump dump = reopen(&out);
        assert_int_equal(dump.machine, arm ? ELF_AARCH64 : ELF_X86_64);
        assert_int_equal(dump.time, 1764000000);
        assert_int_equal(dump.pid, 4242);
        struct minidump_list list = minidump_list(&dump, MINIDUMP_THREADS);
        for (uint64_t i = 2; i >= 1; i--) { // the crashed one is the first
            assert_true(minidump_next_thread(&list, &thread, &stack));
            assert_int_equal(thread.tid, 76 + i);
            assert_int_equal(thread.flags, 0x246);
            assert_int_equal(thread.registers[sp], i == 2 ? 0x7004 : 0x107);
            assert_int_equal(thread.registers[arm ? 32 : 16], 0x100 * i + 0x10);
            assert_int_equal(thread.registers[arm ? 30 : 15], 0x100 * i + 0xf);
            assert_int_equal(stack.size, i == 2 ? 16 : 0);
            if (i == 2)
                assert_memory_equal(out.bytes + stack.offset, "bytes of a stack", 16);
        }
        assert_false(minidump_next_thread(&list, &thread, &stack));
        assert_true(minidump_exception(&dump, &thread, &signal));
        assert_int_equal(thread.tid, 78);
        assert_int_equal(signal.signal, 11);
        assert_int_equal(signal.address, 8);
        text_deinit(&out);
        json_decref(report);
    }
}

static void modules_and_memory_can_be_read_back(void **state)
{
    (void)state;
    struct text out = { 0 };
    struct minidump_module module;
    struct minidump_range range;
    struct core_thread thread;
    struct core_signal signal;
    json_t *report = report_of(false);
    json_object_del(report, "crash");
    assert_int_equal(minidump_file_write(report, &out), CH_OK);
    struct minidump dump = reopen(&out);
    struct minidump_list list = minidump_list(&dump, MINIDUMP_MODULES);
    assert_true(minidump_next_module(&list, &module));
    assert_int_equal(module.base, 0x400000);
    assert_int_equal(module.size, 0x2000);
    assert_string_equal(module.name, "/b/\xc3\xa9\xf0\x9d\x84\x9e");
    assert_int_equal(module.build_id_size, 20);
    for (uint8_t i = 0; i < 20; i++)
        assert_int_equal(module.build_id[i], i + 1);
    assert_true(minidump_next_module(&list, &module));
    assert_string_equal(module.name, "/no build ID");
    assert_int_equal(module.size, UINT32_MAX);
    assert_int_equal(module.build_id_size, 0);
    assert_false(minidump_next_module(&list, &module));
    // What is in two parts is cut from the second.
    static const struct {
        uint64_t start;
        size_t size;
        uint8_t first;
    } ranges[] = { { 0x1000, 20, 1 }, { 0x1014, 10, 11 }, { 0x7000, 16, 'b' } };
    list = minidump_list(&dump, MINIDUMP_MEMORY);
    for (size_t i = 0; i < 3; i++) {
        assert_true(minidump_next_range(&list, &range));
        assert_int_equal(range.start, ranges[i].start);
        assert_int_equal(range.size, ranges[i].size);
        assert_int_equal(out.bytes[range.offset], ranges[i].first);
    }
    assert_false(minidump_next_range(&list, &range));
    assert_false(minidump_exception(&dump, &thread, &signal));
    text_deinit(&out);
    json_decref(report);
}

static void file_larger_than_its_text_may_be_is_refused(void **state)
{
    (void)state;
    json_t *report = report_of(false);
    struct text out = { .limit_bytes = 1024 };
    assert_int_equal(minidump_file_write(report, &out), CH_ERR_NO_MEMORY);
    text_deinit(&out);
    json_decref(report);
}

static void report_without_registers_has_no_minidump(void **state)
{
    (void)state;
    json_t *report = json_pack("{s:[{s:i}]}", "threads", "tid", 1);
    struct text out = { 0 };
    assert_int_equal(minidump_file_write(report, &out), CH_ERR_UNSUPPORTED);
    text_deinit(&out);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_and_stacks_of_both_machines_can_be_read_back),
        cmocka_unit_test(a_stack_that_has_overflown_is_what_is_kept_above_it),
        cmocka_unit_test(modules_and_memory_can_be_read_back),
        cmocka_unit_test(file_larger_than_its_text_may_be_is_refused),
        cmocka_unit_test(report_without_registers_has_no_minidump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
