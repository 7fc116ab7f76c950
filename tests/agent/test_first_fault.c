// SPDX-License-Identifier: Apache-2.0
//
// The target is a thread that stands at the return from a signal, with what the kernel
// saved on its stack. Every target is amd64's, whatever machine the test runs on.
#include "agent/facts/first_fault.h"

#include "support/fake_memory.h"
#include "support/test.h"

enum {
    CODE = 0x401000,
    FAULT = CODE + 0x80,
    RAISE = CODE + 0x102, // after a system call
    STACK = 0x10000000,
    // The kernel's frame, from its ucontext on.
    AT_SP = 160,
    AT_PC = 168,
    AT_FLAGS = 176,
    AT_ERROR = 192,
    AT_TRAP = 200,
    AT_ADDRESS = 216,
    AT_SIGINFO = 304,
    FRAME_BYTES = 448,
    PAGE_FAULT = 14,
    FRAMES_MAX = 5000,
    // What finding the fault may cost, however the stack looks.
    READS_MAX = 30000,
};

static uint8_t code[4096];
static uint8_t stack[FRAMES_MAX * FRAME_BYTES];
static size_t stack_bytes;
static struct capture capture;
static struct target_crash crash;
static size_t reads;

static void put(size_t at, uint64_t value)
{
    memcpy(stack + at, &value, sizeof(value));
}

// put_frame puts what the kernel saves for a write to 0x10 of code at pc.
static void put_frame(size_t at, uint64_t pc, uint64_t sp)
{
    const siginfo_t info = { .si_signo = SIGSEGV,
                             .si_code = SEGV_MAPERR,
                             .si_addr = (void *)(uintptr_t)0x10 };
    put(at + AT_PC, pc);
    put(at + AT_SP, sp);
    put(at + AT_FLAGS, 0x10246);
    put(at + AT_ERROR, 6);
    put(at + AT_TRAP, PAGE_FAULT);
    put(at + AT_ADDRESS, 0x10);
    memcpy(stack + at + AT_SIGINFO, &info, sizeof(info));
}

// build makes a thread that has raised SIGABRT in its handler of a fault.
static int build(void **state)
{
    static const uint8_t restore[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    static const uint8_t system_call[] = { 0x0f, 0x05 };
    (void)state;
    memset(code, 0x90, sizeof(code));
    memcpy(code, restore, sizeof(restore));
    memcpy(code + (RAISE - CODE) - sizeof(system_call), system_call,
           sizeof(system_call));
    memset(stack, 0, sizeof(stack));
    stack_bytes = FRAME_BYTES * 2;
    put_frame(0, FAULT, STACK + FRAME_BYTES);
    crash = (struct target_crash){
        .info = { .si_signo = SIGABRT, .si_code = SI_TKILL },
        .registers = { .value = { [7] = STACK, [16] = CODE } },
    };
    return 0;
}

static bool find_first(void)
{
    static const struct settings settings = { .unwind = SETTING_UNWIND_AUTO };
    const struct fake_region regions[] = { { CODE, code, sizeof(code) },
                                           { STACK, stack, stack_bytes } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    const struct unwind_image image = { .start = CODE, .end = CODE + sizeof(code) };
    struct unwind_space *space = NULL;

    memset(&capture, 0, sizeof(capture));
    capture.settings = &settings;
    capture.crash = &crash;
    capture.arch = &unwind_arch_amd64;
    capture.reader = fake_memory_reader(&memory);
    assert_int_equal(
        unwind_space_create(&unwind_arch_amd64, &capture.reader, &image, 1, &space),
        CH_OK);
    bool found = first_fault_find(&capture, space);
    unwind_space_destroy(space);
    reads = memory.read_count;
    assert_true(reads <= READS_MAX);
    assert_ptr_equal(capture.crash, found ? &capture.first : &crash);
    return found;
}

static void first_fault_is_what_the_handler_was_called_for(void **state)
{
    (void)state;
    assert_true(find_first());
    assert_int_equal(capture.crash->info.si_signo, SIGSEGV);
    assert_ptr_equal(capture.crash->info.si_addr, (void *)(uintptr_t)0x10);
    assert_int_equal(capture.crash->registers.value[16], FAULT);
    assert_int_equal(capture.crash->flags, 0x10246);
    assert_int_equal(capture.crash->fault_error, 6);
    assert_int_equal(capture.crash->fault_trap, PAGE_FAULT);
    assert_int_equal(capture.crash->then.si_signo, SIGABRT);
}

static void first_fault_is_the_outermost_of_several(void **state)
{
    (void)state;
    put_frame(0, CODE, STACK + FRAME_BYTES);
    put_frame(FRAME_BYTES, FAULT, STACK + 2 * FRAME_BYTES);
    stack_bytes = 3 * FRAME_BYTES;
    assert_true(find_first());
    assert_int_equal(capture.crash->registers.value[16], FAULT);
}

static void first_fault_of_a_crash_that_is_one_is_not_looked_for(void **state)
{
    (void)state;
    crash.info.si_code = SEGV_MAPERR;
    assert_false(find_first());
    assert_int_equal(reads, 0);
}

static void first_fault_is_told_by_the_processor_where_there_is_no_siginfo(void **state)
{
    (void)state;
    memset(stack + AT_SIGINFO, 0, sizeof(siginfo_t));
    assert_true(find_first());
    assert_int_equal(capture.crash->info.si_signo, SIGSEGV);
    assert_int_equal(capture.crash->info.si_code, SEGV_MAPERR);
    put(AT_ERROR, 7);
    assert_true(find_first());
    assert_int_equal(capture.crash->info.si_code, SEGV_ACCERR);
}

static void first_fault_is_none_where_a_signal_was_sent(void **state)
{
    (void)state;
    // The processor's words are still those of a fault before.
    memset(stack + AT_SIGINFO, 0, sizeof(siginfo_t));
    put_frame(0, RAISE, STACK + FRAME_BYTES);
    memset(stack + AT_SIGINFO, 0, sizeof(siginfo_t));
    assert_false(find_first());
}

static void first_fault_with_a_wrong_siginfo_is_none(void **state)
{
    static const siginfo_t wrong[] = {
        { .si_signo = SIGSEGV, .si_code = SI_USER },
        { .si_signo = SIGSEGV, .si_code = SI_TKILL },
        { .si_signo = SIGSEGV, .si_code = SI_KERNEL + 1 },
        { .si_signo = SIGSEGV, .si_errno = 1, .si_code = SEGV_MAPERR },
        { .si_signo = SIGCHLD, .si_code = CLD_EXITED },
        { .si_signo = 0, .si_code = 1 },
        { .si_signo = -1, .si_code = 1 },
        { .si_signo = INT32_MAX, .si_code = INT32_MAX },
    };
    (void)state;
    put(AT_TRAP, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(stack + AT_SIGINFO, &wrong[i], sizeof(wrong[i]));
        assert_false(find_first());
    }
}

static void first_fault_at_the_edge_of_memory_is_found_or_not(void **state)
{
    (void)state;
    for (stack_bytes = 0; stack_bytes <= FRAME_BYTES; stack_bytes++) {
        bool has_registers = stack_bytes >= AT_PC + 8;
        bool found = find_first();
        assert_false(found && !has_registers);
        assert_true(found || stack_bytes < AT_SIGINFO + sizeof(siginfo_t));
    }
    crash.registers.value[7] = UINT64_MAX - 7;
    assert_false(find_first());
}

static void first_fault_of_a_context_that_leads_to_itself_ends(void **state)
{
    static const uint64_t where[] = { STACK, STACK + 8, STACK - 8, STACK + 160, 0 };
    (void)state;
    for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
        put_frame(0, CODE, where[i]);
        (void)find_first();
    }
    // Two that lead to each other.
    put_frame(0, CODE, STACK + FRAME_BYTES);
    put_frame(FRAME_BYTES, CODE, STACK);
    (void)find_first();
}

static void first_fault_of_thousands_of_signals_is_bounded(void **state)
{
    (void)state;
    stack_bytes = sizeof(stack);
    for (size_t i = 0; i + 1 < FRAMES_MAX; i++)
        put_frame(i * FRAME_BYTES, CODE, STACK + (i + 1) * FRAME_BYTES);
    (void)find_first();
    assert_true(reads > 64);
}

static void first_fault_on_a_damaged_stack_is_bounded(void **state)
{
    static const uint64_t damage[] = { 0,
                                       1,
                                       UINT64_MAX,
                                       CODE,
                                       CODE + 1,
                                       STACK,
                                       STACK + FRAME_BYTES - 1,
                                       16,
                                       UINT64_C(0x8000000000000000) };
    for (size_t at = 0; at < FRAME_BYTES - 4; at += 4) {
        for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
            build(state);
            put_frame(0, CODE, STACK + FRAME_BYTES);
            put_frame(FRAME_BYTES, FAULT, STACK + 2 * FRAME_BYTES);
            stack_bytes = 3 * FRAME_BYTES;
            put(at, damage[i]);
            (void)find_first();
        }
    }
}

static void first_fault_whose_handler_has_returned_is_left_below_the_stack(void **state)
{
    (void)state;
    // The thread is where it was, and the signal that its handler raised came after.
    uint64_t sp = STACK + FRAME_BYTES + 256;
    put_frame(0, FAULT, sp);
    crash.info.si_signo = SIGSEGV;
    crash.registers.value[16] = FAULT;
    crash.registers.value[7] = sp;
    assert_true(find_first());
    assert_int_equal(capture.crash->info.si_code, SEGV_MAPERR);
    assert_int_equal(capture.crash->then.si_code, SI_TKILL);
    put(AT_SP, sp - 8); // of another place
    assert_false(find_first());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_fault_is_what_the_handler_was_called_for, build),
        cmocka_unit_test_setup(first_fault_is_the_outermost_of_several, build),
        cmocka_unit_test_setup(first_fault_of_a_crash_that_is_one_is_not_looked_for,
                               build),
        cmocka_unit_test_setup(
            first_fault_is_told_by_the_processor_where_there_is_no_siginfo, build),
        cmocka_unit_test_setup(
            first_fault_whose_handler_has_returned_is_left_below_the_stack, build),
        cmocka_unit_test_setup(first_fault_is_none_where_a_signal_was_sent, build),
        cmocka_unit_test_setup(first_fault_with_a_wrong_siginfo_is_none, build),
        cmocka_unit_test_setup(first_fault_at_the_edge_of_memory_is_found_or_not,
                               build),
        cmocka_unit_test_setup(first_fault_of_a_context_that_leads_to_itself_ends,
                               build),
        cmocka_unit_test_setup(first_fault_of_thousands_of_signals_is_bounded, build),
        cmocka_unit_test_setup(first_fault_on_a_damaged_stack_is_bounded, build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
