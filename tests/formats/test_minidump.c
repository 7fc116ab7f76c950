// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/minidump.h"

#include "base/text.h"
#include "formats/debug/elf.h"
#include "support/bytes.h"
#include "support/test.h"

// A minidump of two streams' worth of everything: a thread with a stack, a module, two
// ranges of memory and an exception.
enum {
    HEADER = 32,
    DIRECTORY = HEADER,
    STREAMS = 9,
    SYSTEM = DIRECTORY + STREAMS * 12,
    THREADS = SYSTEM + 56,
    MODULES = THREADS + 4 + 48,
    MEMORY = MODULES + 4 + 108,
    MEMORY64 = MEMORY + 4 + 16,
    EXCEPTION = MEMORY64 + 16 + 16,
    MISC = EXCEPTION + 168,
    CONTEXT = MISC + 24,
    NAME = CONTEXT + 300,
    CODEVIEW = NAME + 4 + 16,
    STACK = CODEVIEW + 24,
    MORE = STACK + 64,
    CRASHPAD = MORE + 32, // with its lists and their strings
    SIMPLE = CRASHPAD + 52,
    MODULE_LIST = SIMPLE + 12,
    MODULE_INFO = MODULE_LIST + 16,
    OBJECTS = MODULE_INFO + 28,
    STRINGS = OBJECTS + 28,
    SIZE = STRINGS + 3 * 8,
};
#define BASE UINT64_C(0x555555554000)
#define STACK_START UINT64_C(0x7ffd00001000)

static uint8_t dump_bytes[SIZE];

static void put(size_t offset, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        dump_bytes[offset + i] = (uint8_t)(value >> (8 * i));
}

static void put_stream(size_t number, uint32_t type, uint32_t size, uint32_t offset)
{
    put(DIRECTORY + 12 * number, type, 4);
    put(DIRECTORY + 12 * number + 4, size, 4);
    put(DIRECTORY + 12 * number + 8, offset, 4);
}

// put_context writes registers whose values are 0x1000 and their machine number.
static void put_context(bool arm)
{
    put(CONTEXT + (arm ? 4 : 68), 0x246, 4); // flags
    for (size_t i = 0; i < (arm ? 33 : 17); i++)
        put(CONTEXT + (arm ? 8 : 120) + 8 * i, 0x1000 + i, 8);
}

// put_annotations writes "ver" = "1\xff" of the process, and of a module an object that
// is no string and one that says "gpu" = "ver".
static void put_annotations(void)
{
    static const char *const strings[] = { "ver", "1\xff", "gpu" };
    put(CRASHPAD + 36, 12, 4);
    put(CRASHPAD + 40, SIMPLE, 4);
    put(CRASHPAD + 44, 16, 4);
    put(CRASHPAD + 48, MODULE_LIST, 4);
    put(SIMPLE, 1, 4);
    put(SIMPLE + 4, STRINGS, 4);
    put(SIMPLE + 8, STRINGS + 8, 4);
    put(MODULE_LIST, 1, 4);
    put(MODULE_LIST + 8, 28, 4);
    put(MODULE_LIST + 12, MODULE_INFO, 4);
    put(MODULE_INFO + 20, 28, 4);
    put(MODULE_INFO + 24, OBJECTS, 4);
    put(OBJECTS, 2, 4);
    put(OBJECTS + 4, STRINGS, 4);
    put(OBJECTS + 8, 0x8000, 2);
    put(OBJECTS + 12, STRINGS, 4);
    put(OBJECTS + 16, STRINGS + 16, 4);
    put(OBJECTS + 20, 1, 2);
    put(OBJECTS + 24, STRINGS, 4);
    for (size_t i = 0; i < 3; i++) {
        put(STRINGS + 8 * i, strlen(strings[i]), 4);
        memcpy(dump_bytes + STRINGS + 8 * i + 4, strings[i], strlen(strings[i]));
    }
}

static void build(uint16_t processor, uint32_t system)
{
    static const char name[] = "/\0b\0/\0x\0\xe9\0"; // UTF-16
    memset(dump_bytes, 0, sizeof(dump_bytes));
    put(0, 0x504d444d, 4);
    put(4, 0xa793, 4);
    put(8, STREAMS, 4);
    put(12, DIRECTORY, 4);
    put(20, 1764000000, 4);
    put_stream(0, 7, 56, SYSTEM);
    put_stream(1, 3, 4 + 48, THREADS);
    put_stream(2, 4, 4 + 108, MODULES);
    put_stream(3, 5, 4 + 16, MEMORY);
    put_stream(4, 9, 16 + 16, MEMORY64);
    put_stream(5, 6, 168, EXCEPTION);
    put_stream(6, 15, 24, MISC);
    put_stream(7, 0x4767ffff, 9, HEADER); // of a kind that nobody knows
    put_stream(8, 0x43500001, 52, CRASHPAD);
    put_annotations();
    put(SYSTEM, processor, 2);
    put(SYSTEM + 20, system, 4);
    put(THREADS, 1, 4);
    put(THREADS + 4, 77, 4);
    put(THREADS + 4 + 24, STACK_START, 8);
    put(THREADS + 4 + 32, 64, 4);
    put(THREADS + 4 + 36, STACK, 4);
    put(THREADS + 4 + 40, 300, 4);
    put(THREADS + 4 + 44, CONTEXT, 4);
    put(MODULES, 1, 4);
    put(MODULES + 4, BASE, 8);
    put(MODULES + 12, 0x5000, 4);
    put(MODULES + 24, NAME, 4);
    put(MODULES + 80, 24, 4);
    put(MODULES + 84, CODEVIEW, 4);
    put(MEMORY, 1, 4);
    put(MEMORY + 4, STACK_START, 8);
    put(MEMORY + 12, 64, 4);
    put(MEMORY + 16, STACK, 4);
    put(MEMORY64, 1, 8);
    put(MEMORY64 + 8, MORE, 8);
    put(MEMORY64 + 16, 0x10000, 8);
    put(MEMORY64 + 24, 32, 8);
    put(EXCEPTION, 77, 4);
    put(EXCEPTION + 8, 11, 4); // SIGSEGV
    put(EXCEPTION + 12, 1, 4); // SEGV_MAPERR
    put(EXCEPTION + 24, 0x8, 8);
    put(EXCEPTION + 160, 300, 4);
    put(EXCEPTION + 164, CONTEXT, 4);
    put(MISC + 4, 1, 4);
    put(MISC + 8, 4242, 4);
    put_context(processor != 9);
    put(NAME, 10, 4);
    memcpy(dump_bytes + NAME + 4, name, 10);
    put(CODEVIEW, 0x4270454c, 4);
    for (size_t i = 0; i < 20; i++)
        dump_bytes[CODEVIEW + 4 + i] = (uint8_t)(i + 1);
}

static struct minidump open_dump(void)
{
    struct minidump dump;
    const char *why;
    assert_int_equal(minidump_open(&dump, dump_bytes, sizeof(dump_bytes), &why), CH_OK);
    return dump;
}

static void registers_are_in_the_order_of_dwarf(void **state)
{
    (void)state;
    struct core_thread thread;
    struct minidump_range stack;
    build(9, 0x8201);
    struct minidump dump = open_dump();
    struct minidump_list list = minidump_list(&dump, MINIDUMP_THREADS);
    assert_true(minidump_next_thread(&list, &thread, &stack));
    assert_int_equal(thread.tid, 77);
    assert_int_equal(thread.flags, 0x246);
    assert_int_equal(thread.registers[0], 0x1000); // rax
    assert_int_equal(thread.registers[1], 0x1002); // rdx
    assert_int_equal(thread.registers[7], 0x1004); // rsp
    assert_int_equal(thread.registers[6], 0x1005); // rbp
    assert_int_equal(thread.registers[15], 0x100f);
    assert_int_equal(thread.registers[16], 0x1010); // rip
    assert_int_equal(stack.start, STACK_START);
    assert_int_equal(stack.offset, STACK);
    assert_false(minidump_next_thread(&list, &thread, &stack));

    build(0x8003, 0x8203); // aarch64 as Breakpad numbered it, Android
    dump = open_dump();
    assert_int_equal(dump.machine, ELF_AARCH64);
    list = minidump_list(&dump, MINIDUMP_THREADS);
    assert_true(minidump_next_thread(&list, &thread, &stack));
    assert_int_equal(thread.registers[31], 0x101f); // sp
    assert_int_equal(thread.registers[32], 0x1020); // pc
}

static void module_has_its_name_and_build_id(void **state)
{
    (void)state;
    struct minidump_module module;
    build(9, 0x8201);
    struct minidump dump = open_dump();
    struct minidump_list list = minidump_list(&dump, MINIDUMP_MODULES);
    assert_true(minidump_next_module(&list, &module));
    assert_int_equal(module.base, BASE);
    assert_string_equal(module.name, "/b/x\xc3\xa9");
    assert_int_equal(module.build_id_size, 20);
    assert_int_equal(module.build_id[19], 20);
    assert_false(module.build_id_cut);
    assert_false(minidump_next_module(&list, &module));
    put(CODEVIEW, 0x53445352, 4); // RSDS: a GUID and an age
    list = minidump_list(&dump, MINIDUMP_MODULES);
    assert_true(minidump_next_module(&list, &module));
    assert_int_equal(module.build_id_size, 16);
    assert_true(module.build_id_cut);
    memset(dump_bytes + CODEVIEW + 4, 0, 20); // an identity of zeros is none
    list = minidump_list(&dump, MINIDUMP_MODULES);
    assert_true(minidump_next_module(&list, &module));
    assert_int_equal(module.build_id_size, 0);
}

static void memory_of_both_lists_is_found(void **state)
{
    (void)state;
    struct minidump_range range;
    build(9, 0x8201);
    struct minidump dump = open_dump();
    assert_int_equal(dump.pid, 4242);
    struct minidump_list list = minidump_list(&dump, MINIDUMP_MEMORY);
    assert_true(minidump_next_range(&list, &range));
    assert_int_equal(range.offset, STACK);
    assert_false(minidump_next_range(&list, &range));
    list = minidump_list(&dump, MINIDUMP_MEMORY64);
    assert_true(minidump_next_range(&list, &range));
    assert_int_equal(range.start, 0x10000);
    assert_int_equal(range.offset, MORE);
    assert_int_equal(range.size, 32);
    assert_false(minidump_next_range(&list, &range));
    put(MEMORY64 + 24, UINT64_MAX, 8); // memory that the file does not have
    list = minidump_list(&dump, MINIDUMP_MEMORY64);
    assert_false(minidump_next_range(&list, &range));
}

static void crash_has_a_signal_and_a_dump_on_request_has_none(void **state)
{
    (void)state;
    struct core_thread thread;
    struct core_signal signal;
    build(9, 0x8201);
    struct minidump dump = open_dump();
    assert_true(minidump_exception(&dump, &thread, &signal));
    assert_int_equal(signal.signal, 11);
    assert_int_equal(signal.code, 1);
    assert_int_equal(signal.address, 8);
    assert_int_equal(thread.tid, 77);
    assert_int_equal(thread.registers[16], 0x1010);
    put(EXCEPTION + 8, 0xffffffff, 4);
    assert_false(minidump_exception(&dump, &thread, &signal));
}

static void append_annotation(void *context, const char *name, const char *value)
{
    text_appendf(context, "%s=%s;", name, value);
}

static void annotations_of_the_process_and_of_modules_are_found(void **state)
{
    (void)state;
    struct text found = { 0 };
    build(9, 0x8201);
    struct minidump dump = open_dump();
    minidump_annotations(&dump, append_annotation, &found);
    bool equal = found.size != 0 && strcmp(found.bytes, "ver=1?;gpu=ver;") == 0;
    text_deinit(&found);
    assert_true(equal);
}

static void dump_of_another_system_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        uint16_t processor;
        uint32_t system;
        const char *why;
    } refused[] = { { 9, 2, "Windows" },
                    { 12, 0x8101, "macOS" },
                    { 9, 0x9999, "another system" },
                    { 0, 0x8201, "another processor" } };
    struct minidump dump;
    const char *why;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        build(refused[i].processor, refused[i].system);
        assert_int_equal(minidump_open(&dump, dump_bytes, sizeof(dump_bytes), &why),
                         CH_ERR_UNSUPPORTED);
        assert_non_null(strstr(why, refused[i].why));
    }
    dump_bytes[0] = 'X';
    assert_int_equal(minidump_open(&dump, dump_bytes, sizeof(dump_bytes), &why),
                     CH_ERR_MALFORMED);
}

static void count_annotation(void *context, const char *name, const char *value)
{
    *(size_t *)context += strlen(name) + strlen(value) > 0;
}

// read_all reads everything of a damaged dump.
static int read_all(const uint8_t *bytes, size_t size, void *context)
{
    struct minidump dump;
    struct minidump_module module;
    struct minidump_range range;
    struct core_thread thread;
    struct core_signal signal;
    const char *why;
    size_t count = 0;
    (void)context;
    if (minidump_open(&dump, bytes, size, &why) != CH_OK)
        return 0;
    struct minidump_list list = minidump_list(&dump, MINIDUMP_THREADS);
    while (minidump_next_thread(&list, &thread, &range))
        count++;
    list = minidump_list(&dump, MINIDUMP_MODULES);
    while (minidump_next_module(&list, &module))
        count++;
    list = minidump_list(&dump, MINIDUMP_MEMORY);
    while (minidump_next_range(&list, &range))
        count += range.offset + range.size <= size ? 1 : size;
    list = minidump_list(&dump, MINIDUMP_MEMORY64);
    while (minidump_next_range(&list, &range))
        count += range.offset + range.size <= size ? 1 : size;
    count += minidump_exception(&dump, &thread, &signal);
    minidump_annotations(&dump, count_annotation, &count);
    return count >= size;
}

static void damage_is_survived_everywhere(void **state)
{
    (void)state;
    build(9, 0x8201);
    assert_int_equal(
        bytes_cut_everywhere(dump_bytes, sizeof(dump_bytes), read_all, NULL), 0);
    assert_int_equal(
        bytes_flip_every_bit(dump_bytes, sizeof(dump_bytes), read_all, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_are_in_the_order_of_dwarf),
        cmocka_unit_test(module_has_its_name_and_build_id),
        cmocka_unit_test(memory_of_both_lists_is_found),
        cmocka_unit_test(crash_has_a_signal_and_a_dump_on_request_has_none),
        cmocka_unit_test(annotations_of_the_process_and_of_modules_are_found),
        cmocka_unit_test(dump_of_another_system_is_refused_by_name),
        cmocka_unit_test(damage_is_survived_everywhere),
    };
    return cmocka_run_group_tests_name("formats/minidump", tests, NULL, NULL);
}
