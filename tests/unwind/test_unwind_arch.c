// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_arch.h"

#include "support/fake_memory.h"
#include "support/test.h"
#include "unwind/unwind.h"

enum { CODE = 0x401000, STACK = 0x10000 };

// after_call puts size bytes of code before an address.
static bool after_call(const struct unwind_arch *arch, const void *code, size_t size)
{
    uint8_t bytes[16] = { 0 };
    const struct fake_region region = { CODE, bytes, sizeof(bytes) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    memcpy(bytes + 8 - size, code, size);
    return arch->after_call(&reader, CODE + 8);
}

#define AMD64(...)                                                                     \
    after_call(&unwind_arch_amd64, (const uint8_t[]){ __VA_ARGS__ },                   \
               sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void arch_knows_every_form_of_an_amd64_call(void **state)
{
    (void)state;
    assert_true(AMD64(0xe8, 1, 2, 3, 4));
    assert_true(AMD64(0xff, 0xd0));                          // *%rax
    assert_true(AMD64(0x41, 0xff, 0xd4));                    // *%r12
    assert_true(AMD64(0xff, 0x10));                          // *(%rax)
    assert_true(AMD64(0xff, 0x50, 8));                       // *8(%rax)
    assert_true(AMD64(0xff, 0x90, 0, 1, 0, 0));              // *0x100(%rax)
    assert_true(AMD64(0xff, 0x15, 0, 1, 0, 0));              // *0x100(%rip)
    assert_true(AMD64(0xff, 0x14, 0x24));                    // *(%rsp)
    assert_true(AMD64(0xff, 0x54, 0x24, 8));                 // *8(%rsp)
    assert_true(AMD64(0xff, 0x94, 0x24, 0, 1, 0, 0));        // *0x100(%rsp)
    assert_false(AMD64(0xff, 0xe0));                         // jmp *%rax
    assert_false(AMD64(0xe9, 1, 2, 3, 4));                   // jmp
    assert_false(AMD64(0x90, 0x90, 0x90, 0x90, 0x90, 0x90)); // nothing
}

static void arch_knows_calls_of_other_machines(void **state)
{
    (void)state;
    static const uint8_t bl[] = { 0x01, 0, 0, 0x94 };
    static const uint8_t blr[] = { 0x00, 0x02, 0x3f, 0xd6 };
    static const uint8_t b[] = { 0x01, 0, 0, 0x14 };
    static const uint8_t brasl[] = { 0xc0, 0xe5, 0, 0, 0, 1 };
    static const uint8_t basr[] = { 0x0d, 0xe1 };
    assert_true(after_call(&unwind_arch_aarch64, bl, sizeof(bl)));
    assert_true(after_call(&unwind_arch_aarch64, blr, sizeof(blr)));
    assert_false(after_call(&unwind_arch_aarch64, b, sizeof(b)));
    assert_true(after_call(&unwind_arch_s390x, brasl, sizeof(brasl)));
    assert_true(after_call(&unwind_arch_s390x, basr, sizeof(basr)));
    assert_false(after_call(&unwind_arch_s390x, bl, sizeof(bl)));
}

static void arch_strips_signatures_of_aarch64_alone(void **state)
{
    (void)state;
    assert_int_equal(unwind_arch_address(&unwind_arch_aarch64, 0x0035aaaabbbbcccc),
                     0x0000aaaabbbbcccc);
    assert_int_equal(unwind_arch_address(&unwind_arch_aarch64, 0xffb5aaaabbbbcccc),
                     0xffffaaaabbbbcccc);
    assert_int_equal(unwind_arch_address(&unwind_arch_amd64, 0x0035aaaabbbbcccc),
                     0x0035aaaabbbbcccc);
}

// read_signal runs code at CODE with a stack of numbered words.
static bool read_signal(const struct unwind_arch *arch, const void *code, size_t size,
                        uint64_t pc, struct unwind_registers *out)
{
    static uint64_t words[128];
    const struct fake_region regions[] = { { CODE, code, size },
                                           { STACK, words, sizeof(words) } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    struct memory_reader reader = fake_memory_reader(&memory);
    for (size_t i = 0; i < 128; i++)
        words[i] = i;
    return arch->read_signal(&reader, pc, STACK, out);
}

static void arch_reads_what_an_amd64_signal_interrupted(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    struct unwind_registers r;
    assert_true(read_signal(&unwind_arch_amd64, code, sizeof(code), CODE, &r));
    assert_int_equal(r.value[8], 5);       // r8 comes first, 40 bytes in
    assert_int_equal(r.value[5], 5 + 8);   // rdi
    assert_int_equal(r.value[7], 5 + 15);  // rsp
    assert_int_equal(r.value[16], 5 + 16); // rip
    // Between its two instructions.
    assert_true(read_signal(&unwind_arch_amd64, code, sizeof(code), CODE + 7, &r));
    assert_false(read_signal(&unwind_arch_amd64, code, sizeof(code), CODE + 1, &r));
}

static void arch_reads_what_an_aarch64_signal_interrupted(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
    struct unwind_registers r;
    assert_true(read_signal(&unwind_arch_aarch64, code, sizeof(code), CODE, &r));
    assert_int_equal(r.value[0], 39); // 128 of siginfo, 184 of ucontext
    assert_int_equal(r.value[31], 39 + 31);
    assert_int_equal(r.value[32], 39 + 32);
}

static void arch_reads_what_an_s390x_signal_interrupted(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x0a, 0xad, 0, 0 };
    struct unwind_registers r;
    assert_true(read_signal(&unwind_arch_s390x, code, sizeof(code), CODE, &r));
    assert_int_equal(r.value[0], r.value[32] + 1); // after the status word's address
    assert_int_equal(r.value[15], r.value[0] + 15);
}

// read_narrow_signal is read_signal for a 32-bit program: the words have 4 bytes.
static bool read_narrow_signal(const void *code, size_t size, uint32_t third,
                               struct unwind_registers *out)
{
    uint32_t words[64];
    const struct fake_region regions[] = { { CODE, code, size },
                                           { STACK, words, sizeof(words) } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    struct memory_reader reader = fake_memory_reader(&memory);
    reader.narrow = true;
    for (uint32_t i = 0; i < 64; i++)
        words[i] = 0x80000000 + i;
    words[2] = third;
    return unwind_arch_i386.read_signal(&reader, CODE, STACK, out);
}

static void arch_reads_what_an_i386_signal_interrupted(void **state)
{
    (void)state;
    static const uint8_t with_info[] = { 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80 };
    static const uint8_t plain[] = { 0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80 };
    struct unwind_registers r;
    // The third argument is the ucontext, in which 5 words and 4 segments come first.
    assert_true(read_narrow_signal(with_info, sizeof(with_info), STACK + 40, &r));
    assert_int_equal(r.value[7], 0x80000000 + 10 + 9);  // edi
    assert_int_equal(r.value[4], 0x80000000 + 10 + 12); // esp
    assert_int_equal(r.value[0], 0x80000000 + 10 + 16); // eax
    assert_int_equal(r.value[8], 0x80000000 + 10 + 19); // eip
    // Without a siginfo the registers follow the number of the signal.
    assert_true(read_narrow_signal(plain, sizeof(plain), 0, &r));
    assert_int_equal(r.value[7], 0x80000000 + 1 + 4);
    assert_int_equal(r.value[8], 0x80000000 + 1 + 14);
    assert_false(read_narrow_signal(with_info + 1, sizeof(with_info) - 1, STACK, &r));
    assert_false(read_narrow_signal(with_info, sizeof(with_info), 16, &r));
}

static void arch_is_found_by_elf_machine(void **state)
{
    (void)state;
    assert_ptr_equal(unwind_arch_find(62), &unwind_arch_amd64);
    assert_ptr_equal(unwind_arch_find(183), &unwind_arch_aarch64);
    assert_ptr_equal(unwind_arch_find(22), &unwind_arch_s390x);
    assert_null(unwind_arch_find(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arch_knows_every_form_of_an_amd64_call),
        cmocka_unit_test(arch_knows_calls_of_other_machines),
        cmocka_unit_test(arch_strips_signatures_of_aarch64_alone),
        cmocka_unit_test(arch_reads_what_an_amd64_signal_interrupted),
        cmocka_unit_test(arch_reads_what_an_aarch64_signal_interrupted),
        cmocka_unit_test(arch_reads_what_an_s390x_signal_interrupted),
        cmocka_unit_test(arch_reads_what_an_i386_signal_interrupted),
        cmocka_unit_test(arch_is_found_by_elf_machine),
    };
    return cmocka_run_group_tests_name("unwind/unwind_arch", tests, NULL, NULL);
}
