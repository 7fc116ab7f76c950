// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_kind.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report/summary/crash_summary.h"
#include "report/summary/system_call_name.h"
#include "support/test.h"

static const struct crash_place code = {
    .mapped = true, .readable = true, .executable = true, .file = true
};
static const struct crash_place constant = { .mapped = true,
                                             .readable = true,
                                             .file = true };
static const struct crash_place heap = { .mapped = true,
                                         .readable = true,
                                         .writable = true };
static const struct crash_place guard = { .mapped = true };

// A write in ordinary code to an address where nothing is mapped.
static struct crash_facts fault(uint64_t address)
{
    return (struct crash_facts){
        .signal = SIGSEGV,
        .code = SEGV_MAPERR,
        .address = address,
        .pc = 0x401000,
        .sp = 0x7ffc00001000,
        .stack = { .start = 0x7ffc00001000, .end = 0x7ffc00801000 },
        .access = CRASH_ACCESS_WRITE,
        .pid = 42,
        .pc_place = code,
        .sp_place = heap,
        .thread_name = "worker",
    };
}

static void expect(const struct crash_facts *facts, const char *kind,
                   const char *summary)
{
    struct text out = { 0 };
    char seen[256];
    crash_summary(facts, &out);
    snprintf(seen, sizeof(seen), "%s", out.bytes);
    text_deinit(&out);
    assert_string_equal(crash_kind_word(crash_kind(facts)), kind);
    assert_string_equal(seen, summary);
}

static void misuse_of_a_guarded_block_says_where_and_by_whom(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7f0000001020);
    f.operand = (struct crash_operand){ .expression = "rax", .size = 8 };
    f.heap = (struct crash_heap){
        .kind = CRASH_KIND_USE_AFTER_FREE,
        .address = 0x7f0000001020,
        .block = 0x7f0000001000,
        .size = 48,
        .allocated = { .thread = 5, .by = "operator new", .age_ms = 9000 },
        .freed = { .thread = 7, .name = "io", .by = "free", .age_ms = 2130 },
    };
    expect(
        &f, "use-after-free",
        "Write of 8 bytes, 32 bytes into a block of 48 bytes, freed by thread 7 'io' "
        "2.1 s earlier (write 8 bytes at rax)");
    f.operand = (struct crash_operand){ 0 };
    f.heap.freed = (struct crash_heap_event){ .age_ms = CRASH_HEAP_NO_AGE };
    f.heap.kind = CRASH_KIND_HEAP_OVERFLOW;
    f.heap.address = f.heap.block + 64;
    expect(&f, "heap-overflow", "Write, 16 bytes after a block of 48 bytes");
    f.heap.address = f.heap.block + 48;
    f.heap.found_by = "operator delete";
    expect(&f, "heap-overflow",
           "Overwritten memory right after a block of 48 bytes, found when operator "
           "delete was called for it");
    f.heap.kind = CRASH_KIND_MISMATCHED_FREE;
    f.heap.found_by = "free";
    expect(&f, "mismatched-free",
           "Call of free for a block of 48 bytes from operator new");
    f.heap.kind = CRASH_KIND_INVALID_FREE;
    f.heap.address = f.heap.block - 1;
    expect(&f, "invalid-free",
           "Call of free with an address 1 byte before a block of 48 bytes");
}

static void what_the_hardware_checks_has_kinds_of_its_own(void **state)
{
    (void)state;
    enum { TAG_LATE = 8, TAG = 9, CONTROL = 10 };
    struct crash_facts f = fault(0x7f0000001020);
    f.code = TAG;
    expect(&f, "memory-tag",
           "Write to 0x7f0000001020, through a pointer whose tag is not that of the "
           "memory");
    f.code = TAG_LATE;
    expect(&f, "memory-tag",
           "An earlier access through a pointer whose tag is not that of the memory");
    f.code = CONTROL;
    f.pc = 0x401136;
    expect(&f, "control-protection",
           "Control protection fault at 0x401136, as of a return to an address that is "
           "not the shadow stack's");
    f.overwritten = (struct crash_return){ "parse", 0x401150, 0x4141414141414141 };
    expect(&f, "control-protection",
           "Control protection fault at 0x401136, as of a return to an address that is "
           "not the shadow stack's; the return address of parse was 0x401150, found "
           "0x4141414141414141");
    f.overwritten.function = NULL;
    expect(&f, "control-protection",
           "Control protection fault at 0x401136, as of a return to an address that is "
           "not the shadow stack's; a return address was 0x401150, found "
           "0x4141414141414141");
    f.signal_only = true; // the code says nothing then
    assert_int_equal(crash_kind(&f), CRASH_KIND_UNKNOWN);
}

static void crash_near_zero_is_a_null_dereference(void **state)
{
    (void)state;
    struct crash_facts write = fault(0x18);
    expect(&write, "null-dereference", "Write to 0x18, through a null pointer");
    struct crash_facts call = fault(0);
    call.pc = 0;
    call.pc_place = (struct crash_place){ 0 };
    call.access = CRASH_ACCESS_EXECUTE;
    expect(&call, "null-dereference", "Jump to 0x0, through a null pointer");
}

static void crash_in_the_guard_below_the_stack_is_an_overflow(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7ffc00000ff8);
    f.code = SEGV_ACCERR;
    f.address_place = guard;
    expect(&f, "stack-overflow",
           "Stack overflow in thread 'worker' at 0x7ffc00000ff8: its stack has 8192 "
           "KiB");
}

static void a_stack_overflows_into_read_only_memory_below_it(void **state)
{
    (void)state;
    const struct crash_place sealed = { .mapped = true, .readable = true };
    struct crash_facts f = fault(0x7ffc00000ff8);
    f.code = SEGV_ACCERR;
    f.address_place = sealed;
    // The stack pointer is still in the stack: the write went past it.
    assert_int_equal(crash_kind(&f), CRASH_KIND_WRITE_TO_READ_ONLY);
    f.sp = f.address;
    f.sp_place = sealed;
    assert_int_equal(crash_kind(&f), CRASH_KIND_STACK_OVERFLOW);
    f.stack = (struct crash_stack){ 0 };
    assert_int_equal(crash_kind(&f), CRASH_KIND_WRITE_TO_READ_ONLY);
}

static void
an_array_that_leaves_the_stack_overflows_it_wherever_it_is_filled(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7ffbf0000000);
    f.sp = 0x7ffb00000000;
    f.sp_place = (struct crash_place){ 0 };
    assert_int_equal(crash_kind(&f), CRASH_KIND_STACK_OVERFLOW);
    f.address = f.sp - (16 << 20);
    assert_int_equal(crash_kind(&f), CRASH_KIND_UNKNOWN);
}

static void crash_of_a_stack_pointer_that_leads_nowhere_is_no_overflow(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7ffc00000ff8);
    f.stack = (struct crash_stack){ 0 };
    assert_int_equal(crash_kind(&f), CRASH_KIND_UNKNOWN);
}

static void crash_past_the_outer_end_of_a_stack_is_no_overflow(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7ffc00002000);
    f.stack = (struct crash_stack){ .start = 0x7ffc00000000, .end = 0x7ffc00002000 };
    assert_int_equal(crash_kind(&f), CRASH_KIND_UNKNOWN);
}

static void crash_where_something_was_unmapped_says_probably(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7f0000005000);
    f.access = CRASH_ACCESS_READ;
    f.address_place.unmapped = true;
    expect(&f, "use-after-unmap",
           "Read from 0x7f0000005000, where nothing is mapped; probably memory that "
           "was unmapped or moved");
    f.access = CRASH_ACCESS_EXECUTE;
    f.pc = f.address;
    f.pc_place = f.address_place;
    expect(&f, "use-after-unmap",
           "Jump to 0x7f0000005000, where nothing is mapped; probably code that was "
           "unmapped");
}

static void crash_close_to_a_limit_on_memory_says_so(void **state)
{
    (void)state;
    struct crash_facts f = { .signal = SIGABRT, .sent = true };
    f.memory = (struct crash_memory){ "RLIMIT_AS", 64 << 20, 63 << 20 };
    expect(&f, "memory-limit",
           "The program aborted; 63 MiB of the 64 MiB that RLIMIT_AS allows are in "
           "use");
    f.exception_type = "std::bad_alloc";
    expect(&f, "memory-limit",
           "Uncaught exception std::bad_alloc; 63 MiB of the 64 MiB that RLIMIT_AS "
           "allows are in use");
    f.exception_type = "std::runtime_error";
    assert_int_equal(crash_kind(&f), CRASH_KIND_UNCAUGHT_EXCEPTION);
    f.message = "double free or corruption (out)";
    assert_int_equal(crash_kind(&f), CRASH_KIND_HEAP_CORRUPTION);
}

static void crash_by_a_known_process_names_it(void **state)
{
    (void)state;
    struct crash_facts f = { .signal = SIGSEGV,
                             .sent = true,
                             .sender = 7,
                             .pid = 42,
                             .sender_name = "bash",
                             .sender_user = 1000 };
    expect(&f, "sent-by-process", "SIGSEGV sent by process 7 ('bash', user 1000)");
    f.sender = 0;
    expect(&f, "sent-by-process",
           "SIGSEGV sent from outside of the process's namespace");
}

static void crash_by_a_bus_error_says_of_what_sort(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7f0000002001);
    f.signal = SIGBUS;
    f.code = BUS_ADRALN;
    f.address_place = heap;
    expect(&f, "misaligned",
           "Write to 0x7f0000002001, which is not aligned as it has to be");
    f.code = BUS_ADRERR;
    f.address_place = constant;
    f.address_place.path = "/srv/table.dat (and more)";
    f.address_place.path_size = strlen("/srv/table.dat");
    expect(&f, "file-truncated",
           "Write to 0x7f0000002001, past the end of the file mapped there "
           "'/srv/table.dat'");
}

static void
crash_near_the_stack_in_memory_that_may_be_written_is_no_overflow(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7ffc00000ff8);
    f.code = SEGV_ACCERR;
    f.address_place = heap;
    assert_int_not_equal(crash_kind(&f), CRASH_KIND_STACK_OVERFLOW);
}

static void crash_by_writing_constants_says_read_only(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x402000);
    f.code = SEGV_ACCERR;
    f.address_place = constant;
    expect(&f, "write-to-read-only", "Write to 0x402000, which is read-only memory");
}

static void crash_by_running_data_is_told_from_a_wild_jump(void **state)
{
    (void)state;
    struct crash_facts data = fault(0x7f0000001000);
    data.pc = data.address;
    data.pc_place = heap;
    data.address_place = heap;
    data.access = CRASH_ACCESS_EXECUTE;
    expect(&data, "execute-of-data",
           "Jump to 0x7f0000001000, which is data and not code");
    struct crash_facts wild = data;
    wild.address_place = wild.pc_place = (struct crash_place){ 0 };
    expect(&wild, "wild-jump", "Jump to 0x7f0000001000, where nothing is mapped");
    wild.way = data.way = CRASH_WAY_RETURN;
    wild.way_address = data.way_address = data.address;
    expect(&wild, "overwritten-return",
           "Jump to 0x7f0000001000, where nothing is mapped; a return led there: its "
           "address was overwritten");
    expect(
        &data, "overwritten-return",
        "Jump to 0x7f0000001000, which is data and not code; a return led there: its "
        "address was overwritten");
}

static void crash_of_a_general_protection_fault_has_no_address(void **state)
{
    (void)state;
    struct crash_facts f = fault(0);
    f.code = SI_KERNEL;
    f.access = CRASH_ACCESS_UNKNOWN;
    f.general_protection = true;
    expect(&f, "non-canonical-address", "Access to an address that no memory can have");
}

static void crash_elsewhere_is_unknown_and_says_what_was_tried(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x123456789);
    f.access = CRASH_ACCESS_READ;
    expect(&f, "unknown", "Read from 0x123456789, where nothing is mapped");
}

static void crash_past_the_end_of_a_mapped_file_is_told(void **state)
{
    (void)state;
    struct crash_facts f = fault(0x7f0000002000);
    f.signal = SIGBUS;
    f.code = BUS_ADRERR;
    f.access = CRASH_ACCESS_READ;
    f.address_place = constant;
    expect(&f, "file-truncated",
           "Read from 0x7f0000002000, past the end of the file mapped there");
}

static void crash_by_abort_is_told_from_a_signal_of_another_process(void **state)
{
    (void)state;
    struct crash_facts own = {
        .signal = SIGABRT, .sent = true, .sender = 42, .pid = 42
    };
    expect(&own, "abort", "The program aborted");
    struct crash_facts other = {
        .signal = SIGSEGV, .sent = true, .sender = 7, .pid = 42
    };
    expect(&other, "sent-by-process", "SIGSEGV sent by process 7");
    assert_false(crash_has_address(&other));
    struct crash_facts self = {
        .signal = SIGFPE, .sent = true, .sender = 42, .pid = 42
    };
    expect(&self, "sent-by-process", "SIGFPE raised by the program itself");
}

static void crash_by_abort_says_what_the_c_library_said(void **state)
{
    static const struct {
        const char *message;
        const char *kind;
        const char *summary;
    } cases[] = {
        { "prog: a.c:7: main: Assertion `x > 0' failed.", "assertion",
          "Assertion failed: x > 0" },
        { "Fatal glibc error: malloc.c:2599 (sysmalloc): assertion failed: old_top",
          "heap-corruption",
          "Heap corruption: Fatal glibc error: malloc.c:2599 (sysmalloc): assertion "
          "failed: old_top" },
        { "Fatal glibc error: a.c:1 (f): assertion failed: y", "assertion",
          "Assertion failed: Fatal glibc error: a.c:1 (f): assertion failed: y" },
        { "double free or corruption (out)", "heap-corruption",
          "Heap corruption: double free or corruption (out)" },
        { "malloc(): corrupted top size", "heap-corruption",
          "Heap corruption: malloc(): corrupted top size" },
        { "corrupted size vs. prev_size", "heap-corruption",
          "Heap corruption: corrupted size vs. prev_size" },
        { "*** stack smashing detected ***: terminated", "stack-smashing",
          "A function wrote past its variables on the stack" },
        { "*** buffer overflow detected ***: terminated", "fortify",
          "Stopped by a check of the C library: buffer overflow detected" },
        { "Assertion failed: n > 0 (a.c: f: 7)", "assertion",
          "Assertion failed: n > 0" },
        { "vector:7: assertion n < size() failed: out of bounds", "assertion",
          "Assertion failed: vector:7: assertion n < size() failed: out of bounds" },
        { "login: assertion of the identity failed: no key", "abort",
          "The program aborted: login: assertion of the identity failed: no key" },
        { "==7==ERROR: AddressSanitizer: attempting double-free on 0x1", "sanitizer",
          "AddressSanitizer: attempting double-free on 0x1" },
        { "thread 'main' (7) panicked at a.rs:1:67: no such page", "panic",
          "Rust panic at a.rs:1:67: no such page" },
        { "thread 'main' (7) panicked at a.rs:1:67:\nno such page", "panic",
          "Rust panic at a.rs:1:67: no such page" },
        { "panic: one [recovered]\n\tpanic: two", "panic",
          "Go panic: one [recovered] panic: two" },
        { "*** ", "fortify", "Stopped by a check of the C library: " },
        { "The futex facility returned an unexpected error code.", "abort",
          "The program aborted: The futex facility returned an unexpected error "
          "code." },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crash_facts f = { .signal = SIGABRT,
                                 .sent = true,
                                 .sender = 42,
                                 .pid = 42,
                                 .message = cases[i].message };
        expect(&f, cases[i].kind, cases[i].summary);
    }
}

static void crash_summary_quotes_no_more_than_a_line_or_two(void **state)
{
    (void)state;
    char message[4096];
    struct text out = { 0 };
    memset(message, 'x', sizeof(message) - 1);
    message[sizeof(message) - 1] = 0;
    struct crash_facts f = { .signal = SIGABRT, .sent = true, .message = message };
    crash_summary(&f, &out);
    size_t size = out.size;
    text_deinit(&out);
    assert_true(size < 300);
}

static void crash_by_an_exception_names_its_type_and_text(void **state)
{
    (void)state;
    struct text out = { 0 };
    char seen[256];
    struct crash_facts f = { .signal = SIGABRT,
                             .sent = true,
                             .exception_type = "ledger::closed" };
    expect(&f, "uncaught-exception", "Uncaught exception ledger::closed");
    f.exception_what = "no such page";
    expect(&f, "uncaught-exception", "Uncaught exception ledger::closed: no such page");
    crash_message(&f, &out);
    snprintf(seen, sizeof(seen), "%s", out.bytes);
    text_deinit(&out);
    assert_string_equal(seen, "uncaught exception ledger::closed: no such page");
}

static void crash_by_a_signal_of_another_process_has_no_message_kind(void **state)
{
    (void)state;
    struct crash_facts f = {
        .signal = SIGABRT, .sent = true, .sender = 7, .pid = 42, .message = "malloc()"
    };
    expect(&f, "sent-by-process", "SIGABRT sent by process 7");
}

static void crash_of_other_signals_has_its_kind(void **state)
{
    (void)state;
    struct crash_facts f = fault(0);
    f.signal = SIGFPE;
    f.code = FPE_INTDIV;
    expect(&f, "divide-by-zero", "Integer division by zero, or one that overflows");
    f.code = FPE_FLTDIV;
    expect(&f, "divide-by-zero", "Floating-point division by zero");
    f.code = FPE_FLTINV;
    expect(&f, "unknown", "Invalid floating-point operation");
    f.code = FPE_FLTRES;
    expect(&f, "unknown", "Floating-point result that is not exact");
    f.signal = SIGILL;
    f.code = ILL_ILLOPN;
    expect(&f, "illegal-instruction", "Illegal instruction at 0x401000");
    f.signal = SIGTRAP;
    f.code = SI_KERNEL;
    expect(&f, "trap", "Trap at 0x401000");
    f.signal = SIGSYS;
    f.code = 1;
    f.system_call = 59;
    f.system_call_machine = SYSTEM_CALL_X86_64;
    expect(&f, "seccomp", "System call 59 (execve) refused by a seccomp filter");
    f.system_call_machine = SYSTEM_CALL_AARCH64;
    f.system_call = 221;
    expect(&f, "seccomp", "System call 221 (execve) refused by a seccomp filter");
    f.system_call = 9999;
    expect(&f, "seccomp", "System call 9999 refused by a seccomp filter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misuse_of_a_guarded_block_says_where_and_by_whom),
        cmocka_unit_test(crash_near_zero_is_a_null_dereference),
        cmocka_unit_test(crash_in_the_guard_below_the_stack_is_an_overflow),
        cmocka_unit_test(a_stack_overflows_into_read_only_memory_below_it),
        cmocka_unit_test(
            an_array_that_leaves_the_stack_overflows_it_wherever_it_is_filled),
        cmocka_unit_test(crash_of_a_stack_pointer_that_leads_nowhere_is_no_overflow),
        cmocka_unit_test(crash_past_the_outer_end_of_a_stack_is_no_overflow),
        cmocka_unit_test(crash_where_something_was_unmapped_says_probably),
        cmocka_unit_test(crash_close_to_a_limit_on_memory_says_so),
        cmocka_unit_test(crash_by_a_known_process_names_it),
        cmocka_unit_test(crash_by_a_bus_error_says_of_what_sort),
        cmocka_unit_test(
            crash_near_the_stack_in_memory_that_may_be_written_is_no_overflow),
        cmocka_unit_test(crash_by_writing_constants_says_read_only),
        cmocka_unit_test(crash_by_running_data_is_told_from_a_wild_jump),
        cmocka_unit_test(what_the_hardware_checks_has_kinds_of_its_own),
        cmocka_unit_test(crash_of_a_general_protection_fault_has_no_address),
        cmocka_unit_test(crash_elsewhere_is_unknown_and_says_what_was_tried),
        cmocka_unit_test(crash_past_the_end_of_a_mapped_file_is_told),
        cmocka_unit_test(crash_by_abort_is_told_from_a_signal_of_another_process),
        cmocka_unit_test(crash_by_abort_says_what_the_c_library_said),
        cmocka_unit_test(crash_summary_quotes_no_more_than_a_line_or_two),
        cmocka_unit_test(crash_by_an_exception_names_its_type_and_text),
        cmocka_unit_test(crash_by_a_signal_of_another_process_has_no_message_kind),
        cmocka_unit_test(crash_of_other_signals_has_its_kind),
    };
    return cmocka_run_group_tests_name("report/crash_kind", tests, NULL, NULL);
}
