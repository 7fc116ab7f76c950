// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/diagnosis.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/register_name.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "support/test.h"
#include "symbolizer/code/instruction.h"

// A report of a crash by one instruction, as a raw report has it.
static json_t *report_of(const char *name, const char *kind, const char *bytes,
                         const char *address)
{
    int number = strcmp(name, "SIGSEGV") == 0  ? SIGSEGV
                 : strcmp(name, "SIGFPE") == 0 ? SIGFPE
                                               : SIGILL;
    return json_pack("{s:{s:s, s:i, s:s, s:s, s:{s:s, s:s, s:s, s:s}},"
                     " s:[{s:b, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:{s:[]}}]}",
                     "crash", "name", name, "signal", number, "kind", kind, "address",
                     address, "instruction", "address", "0x401000", "arch", "amd64",
                     "bytes", bytes, "stack_top", "0x4141414141414141", "threads",
                     "crashed", 1, "registers", "rax", "0x0", "rcx",
                     "0x4141414141414141", "rdx", "0x7f0000000101", "rsi", "0x10000",
                     "rdi", "0x20000", "rsp", "0x7ffc00001000", "rip", "0x401000",
                     "backtrace", "frames");
}

// What an instruction is known to have done.
static const struct {
    const char *name;
    const char *kind;
    const char *bytes;
    const char *address;
    const char *kind_after;
    const char *summary;
} accesses[] = {
    // mov rcx, [rax + 0x18]
    { "SIGSEGV", "null-dereference", "488b4818", "0x18", "null-dereference",
      "Read from 0x18, through a null pointer (read 8 bytes at rax+0x18, rax = 0x0)" },
    // The address is not that of the operand, so the operand is not to blame.
    { "SIGSEGV", "null-dereference", "488b4818", "0x20", "null-dereference",
      "Access to 0x20, through a null pointer" },
    // mov byte ptr [rax + 0x400000], 1
    { "SIGSEGV", "unknown", "c6800000400001", "0x400000", "null-dereference",
      "Write to 0x400000, through a null pointer (write 1 byte at rax+0x400000, "
      "rax = 0x0)" },
    // rep movsq: the destination is to blame here, and there the source
    { "SIGSEGV", "unknown", "f348a5", "0x20000", "unknown",
      "Write to 0x20000, where nothing is mapped (write 8 bytes at rdi, rdi = "
      "0x20000)" },
    { "SIGSEGV", "unknown", "f348a5", "0x10007", "unknown",
      "Read from 0x10007, where nothing is mapped (read 8 bytes at rsi, rsi = "
      "0x10000)" },
    // mov eax, [rsi + rdi*4 - 8]
    { "SIGSEGV", "unknown", "8b44bef8", "0x8fff8", "unknown",
      "Read from 0x8fff8, where nothing is mapped (read 4 bytes at rsi+rdi*4-0x8, "
      "rsi = 0x10000, rdi = 0x20000)" },
    // mov rax, fs:[0x28]: where a segment begins is not in a report
    { "SIGSEGV", "unknown", "64488b042528000000", "0x28", "unknown",
      "Access to 0x28, a small number and not an address" },
    // mov rax, [rcx]; call rcx; ret
    { "SIGSEGV", "non-canonical-address", "488b01", "0x0", "non-canonical-address",
      "Read from 0x4141414141414141, an address that no memory can have (read 8 "
      "bytes at rcx, rcx = 0x4141414141414141)" },
    { "SIGSEGV", "non-canonical-address", "ffd1", "0x0", "non-canonical-address",
      "Jump to 0x4141414141414141, an address that no memory can have (call rcx, "
      "rcx = 0x4141414141414141)" },
    { "SIGSEGV", "non-canonical-address", "c3", "0x0", "overwritten-return",
      "Return to 0x4141414141414141, an address that no memory can have: the "
      "return address was overwritten" },
    // movups [rcx], xmm0; fst qword ptr [rcx]; movnti [rcx], eax; cmpxchg [rcx], edx
    { "SIGSEGV", "non-canonical-address", "0f1101", "0x0", "non-canonical-address",
      "Write to 0x4141414141414141, an address that no memory can have (write 16 "
      "bytes at rcx, rcx = 0x4141414141414141)" },
    { "SIGSEGV", "non-canonical-address", "dd11", "0x0", "non-canonical-address",
      "Write to 0x4141414141414141, an address that no memory can have (write 8 "
      "bytes at rcx, rcx = 0x4141414141414141)" },
    { "SIGSEGV", "non-canonical-address", "0fc301", "0x0", "non-canonical-address",
      "Write to 0x4141414141414141, an address that no memory can have (write 4 "
      "bytes at rcx, rcx = 0x4141414141414141)" },
    { "SIGSEGV", "non-canonical-address", "0fb111", "0x0", "non-canonical-address",
      "Write to 0x4141414141414141, an address that no memory can have (write 4 "
      "bytes at rcx, rcx = 0x4141414141414141)" },
    // mov [8], rax; ud2: what gcc makes of a pointer that it knows to be null; without
    // the ud2, anything
    { "SIGSEGV", "null-dereference", "48890425080000000f0b", "0x8", "null-dereference",
      "Write to 0x8, through a null pointer (write 8 bytes at 0x8)" },
    { "SIGSEGV", "null-dereference", "48890425080000009090", "0x8", "small-pointer",
      "Write to 0x8, a small number and not an address (write 8 bytes at 0x8)" },
    // mov rcx, [rsi - 0xfff0]: small, but not by a null pointer
    { "SIGSEGV", "null-dereference", "488b8e1000ffff", "0x10", "small-pointer",
      "Read from 0x10, a small number and not an address (read 8 bytes at "
      "rsi-0xfff0, rsi = 0x10000)" },
    // mov ecx, [rax - 0x7f000000]: by a register of 0, but far from it
    { "SIGSEGV", "unknown", "8b8800000081", "0xffffffff81000000", "unknown",
      "Read from 0xffffffff81000000, an address of the kernel's (read 4 bytes at "
      "rax-0x7f000000, rax = 0x0)" },
    // movaps xmm0, [rdx]; hlt
    { "SIGSEGV", "non-canonical-address", "0f2802", "0x0", "misaligned",
      "Read from 0x7f0000000101, which is not aligned as the instruction needs it "
      "(read 16 bytes at rdx, rdx = 0x7f0000000101)" },
    // vmovdqa ymm1, [rdx + 15]: aligned for half a vector
    { "SIGSEGV", "non-canonical-address", "c5fd6f4a0f", "0x0", "misaligned",
      "Read from 0x7f0000000110, which is not aligned as the instruction needs it "
      "(read 32 bytes at rdx+0xf, rdx = 0x7f0000000101)" },
    { "SIGSEGV", "non-canonical-address", "f4", "0x0", "illegal-instruction",
      "Instruction 'hlt', which programs may not execute, at 0x401000" },
    // idiv esi; idiv eax
    { "SIGFPE", "divide-by-zero", "f7fe", "0x401000", "division-overflow",
      "Integer division whose result is too large (idiv esi, esi = 0x10000)" },
    { "SIGFPE", "divide-by-zero", "f7f8", "0x401000", "divide-by-zero",
      "Integer division by zero (idiv eax, eax = 0x0)" },
    // ud2
    { "SIGILL", "illegal-instruction", "0f0b", "0x401000", "illegal-instruction",
      "Illegal instruction at 0x401000 (ud2, which compilers put where a program must "
      "not come: __builtin_trap, "
      "code that is not reached)" },
    // No instruction begins like this, nor is this hexadecimal.
    { "SIGILL", "illegal-instruction", "06", "0x401000", "illegal-instruction",
      "Illegal instruction at 0x401000" },
    { "SIGSEGV", "unknown", "zz", "0x0", "unknown",
      "Access to 0x0, where nothing is mapped" },
    { "SIGSEGV", "unknown", "", "0x0", "unknown",
      "Access to 0x0, where nothing is mapped" },
};

static void diagnosis_says_what_the_instruction_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
        json_t *report = report_of(accesses[i].name, accesses[i].kind,
                                   accesses[i].bytes, accesses[i].address);
        char kind[32];
        char summary[256];
        crash_words_complete(report); // as when it was read
        diagnosis_refine(report);
        diagnosis_refine(report); // which changes nothing more
        const json_t *crash = json_object_get(report, "crash");
        (void)snprintf(kind, sizeof(kind), "%s", report_string(crash, "kind"));
        (void)snprintf(summary, sizeof(summary), "%s", report_string(crash, "summary"));
        json_decref(report);
        assert_string_equal(kind, accesses[i].kind_after);
        assert_string_equal(summary, accesses[i].summary);
    }
}

static void diagnosis_takes_no_minus_one_of_an_index_or_divisor_for_mmaps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *kind;
        const char *bytes;
    } cases[] = {
        // mov eax, [rsi + rcx]; mov eax, [rcx*8 + 0x404060]; idiv rcx
        { "SIGSEGV", "unknown", "8b040e" },
        { "SIGSEGV", "unknown", "8b04cd60404000" },
        { "SIGFPE", "divide-by-zero", "48f7f9" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *report =
            report_of(cases[i].name, cases[i].kind, cases[i].bytes, "0x404058");
        json_t *crash = json_object_get(report, "crash");
        json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
        (void)json_object_set_new(json_object_get(thread, "registers"), "rcx",
                                  json_string("0xffffffffffffffff"));
        (void)json_object_set_new(crash, "suspects",
                                  json_pack("[{s:s, s:s, s:s}]", "register", "rcx",
                                            "kind", "map-failed", "value",
                                            "0xffffffffffffffff"));
        diagnosis_refine(report);
        bool claimed = json_object_get(crash, "provenance") != NULL;
        json_decref(report);
        assert_false(claimed);
    }
}

static void diagnosis_names_the_register_that_was_jumped_through(void **state)
{
    (void)state;
    char summary[128];
    json_t *report = json_pack(
        "{s:{s:s, s:i, s:s, s:s, s:{s:s, s:s}}, s:[{s:b, s:{s:s, s:s}}]}", "crash",
        "name", "SIGSEGV", "signal", SIGSEGV, "kind", "wild-jump", "address", "0x1234",
        "instruction", "address", "0x1234", "arch", "amd64", "threads", "crashed", 1,
        "registers", "rip", "0x1234", "rbx", "0x1234");
    diagnosis_refine(report);
    diagnosis_refine(report);
    (void)snprintf(summary, sizeof(summary), "%s",
                   report_string(json_object_get(report, "crash"), "summary"));
    json_decref(report);
    assert_string_equal(
        summary, "Access to 0x1234, a small number and not an address (rbx = 0x1234)");
}

static void diagnosis_adds_to_a_sentence_of_version_1_whose_facts_are_gone(void **state)
{
    (void)state;
    char summary[128];
    json_t *report =
        report_of("SIGSEGV", "write-to-read-only", "c6800000400001", "0x400000");
    json_t *crash = json_object_get(report, "crash");
    (void)json_object_set_new(crash, "summary", json_string("Write to 0x400000, of x"));
    diagnosis_refine(report);
    diagnosis_refine(report);
    (void)snprintf(summary, sizeof(summary), "%s", report_string(crash, "summary"));
    json_decref(report);
    assert_string_equal(summary, "Write to 0x400000, of x (write 1 byte at "
                                 "rax+0x400000, rax = 0x0)");
}

// A report of SIGABRT with one frame for each function, innermost first.
static json_t *report_with_frames(const char *const *functions, size_t count)
{
    json_t *frames = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(frames, json_pack("{s:s, s:s, s:s}", "kind", "ra",
                                                      "address", "0x401000", "function",
                                                      functions[i]));
    return json_pack("{s:{s:s, s:i, s:s, s:s}, s:[{s:b, s:{s:o}}]}", "crash", "name",
                     "SIGABRT", "signal", SIGABRT, "kind", "abort", "summary",
                     "The program aborted", "threads", "crashed", 1, "backtrace",
                     "frames", frames);
}

static void diagnosis_tells_a_panic_and_a_sanitizer_by_their_frames(void **state)
{
    (void)state;
    static const struct {
        const char *functions[4];
        const char *kind;
        const char *summary;
    } cases[] = {
        { { "rust_panic", "core::result::unwrap", "ledger::close",
            "std::panicking::catch_unwind" },
          "panic",
          "Rust panic, in ledger::close" },
        { { "abort", "__sanitizer::Abort", "__asan_report_load4", "read_entry" },
          "sanitizer",
          "Stopped by a sanitizer, in read_entry" },
        { { "raise", "abort", "give_up", "main" }, "abort", "The program aborted" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char kind[32];
        char summary[64];
        json_t *report = report_with_frames(cases[i].functions, 4);
        diagnosis_refine(report);
        diagnosis_refine(report);
        const json_t *crash = json_object_get(report, "crash");
        (void)snprintf(kind, sizeof(kind), "%s", report_string(crash, "kind"));
        (void)snprintf(summary, sizeof(summary), "%s", report_string(crash, "summary"));
        json_decref(report);
        assert_string_equal(kind, cases[i].kind);
        assert_string_equal(summary, cases[i].summary);
    }
}

static void assert_panic_is_believed(const char *const functions[4], bool believed)
{
    json_t *report = report_with_frames(functions, 4);
    json_t *crash = json_object_get(report, "crash");
    char kind[32];
    (void)json_object_set_new(crash, "kind", json_string("panic"));
    (void)json_object_set_new(crash, "message",
                              json_string("thread 'main' panicked at a.rs:1:1: x"));
    diagnosis_refine(report);
    (void)snprintf(kind, sizeof(kind), "%s", report_string(crash, "kind"));
    bool said = json_object_get(crash, "message") != NULL;
    json_decref(report);
    assert_string_equal(kind, believed ? "panic" : "abort");
    assert_int_equal(said, believed);
}

static void diagnosis_does_not_believe_the_words_of_an_earlier_panic(void **state)
{
    (void)state;
    static const char *const functions[] = { "raise", "abort", "give_up", "main" };
    assert_panic_is_believed(functions, false);
}

// A hook of the program ends it, and the compiler inlined what panicked into a function
// of the library.
static void
diagnosis_believes_a_panic_whose_caller_in_the_program_is_not_known(void **state)
{
    (void)state;
    static const char *const functions[] = { "abort", "ledger::hook",
                                             "std::panicking::rust_panic_with_hook",
                                             "std::sys::thread::start" };
    assert_panic_is_believed(functions, true);
}

static void diagnosis_gives_a_mangled_type_its_name_and_finds_who_threw(void **state)
{
    (void)state;
    static const char *const functions[] = { "abort", "__cxa_throw", "open_ledger",
                                             "main" };
    json_t *report = report_with_frames(functions, 4);
    json_t *crash = json_object_get(report, "crash");
    char type[64];
    char summary[128];
    (void)json_object_set_new(crash, "summary",
                              json_string("Uncaught exception ***: x"));
    (void)json_object_set_new(crash, "kind", json_string("uncaught-exception"));
    (void)json_object_set_new(
        crash, "exception",
        json_pack("{s:s, s:s}", "type", "N3abc4pageIiEE", "what", "x"));
    diagnosis_refine(report);
    diagnosis_refine(report);
    (void)snprintf(type, sizeof(type), "%s",
                   report_string(json_object_get(crash, "exception"), "type"));
    (void)snprintf(summary, sizeof(summary), "%s", report_string(crash, "summary"));
    json_decref(report);
    assert_string_equal(type, "abc::page<int>");
    assert_string_equal(summary,
                        "Uncaught exception abc::page<int>: x, thrown in open_ledger");
}

static void
diagnosis_says_that_terminate_was_called_for_a_handled_exception(void **state)
{
    (void)state;
    static const char *const handled[] = { "abort", "std::terminate()", "give_up",
                                           "main" };
    static const char *const thrown[] = { "abort", "std::terminate()", "__cxa_throw",
                                          "give_up" };
    static const char *const forced[] = { "abort", "std::terminate()",
                                          "__gxx_personality_v0", "give_up" };
    static const char *const *const stacks[] = { handled, thrown, forced };
    char summaries[3][128];
    for (size_t i = 0; i < 3; i++) {
        json_t *report = report_with_frames(stacks[i], 4);
        json_t *crash = json_object_get(report, "crash");
        (void)json_object_set_new(crash, "kind", json_string("uncaught-exception"));
        (void)json_object_set_new(crash, "exception",
                                  json_pack("{s:s}", "type", "int"));
        diagnosis_refine(report);
        (void)snprintf(summaries[i], sizeof(summaries[i]), "%s",
                       report_string(crash, "summary"));
        json_decref(report);
    }
    assert_string_equal(summaries[0], "std::terminate was called while an exception was"
                                      " handled, int, in give_up");
    assert_string_equal(summaries[1], "Uncaught exception int, thrown in give_up");
    assert_string_equal(summaries[2], summaries[0]);
}

static void diagnosis_claims_no_lack_of_an_exception_where_one_was_thrown(void **state)
{
    (void)state;
    static const char *const thrown[] = { "abort", "std::terminate()", "__cxa_throw",
                                          "give_up" };
    static const char *const escaping[] = { "abort", "__cxa_call_terminate", "give_up",
                                            "main" };
    static const char *const called[] = { "abort", "std::terminate()", "give_up",
                                          "main" };
    static const char *const forced[] = { "abort", "std::terminate()",
                                          "__gxx_personality_v0", "give_up" };
    static const char *const landed[] = { "abort", "std::terminate()",
                                          "__clang_call_terminate", "give_up" };
    static const char unwound[] = "std::terminate was called: an exception, or the end "
                                  "of the thread, was leaving a noexcept function, in "
                                  "give_up";
    static const struct {
        const char *const *frames;
        const char *summary;
    } cases[] = {
        { thrown, "Uncaught exception of a type that is not known, in give_up" },
        { escaping, "Uncaught exception of a type that is not known; it was leaving a "
                    "noexcept function, in give_up" },
        { called, "std::terminate was called, without an exception, in give_up" },
        { forced, unwound },
        { landed, unwound },
    };
    char summaries[5][128];
    for (size_t i = 0; i < 5; i++) {
        json_t *report = report_with_frames(cases[i].frames, 4);
        diagnosis_refine(report);
        (void)snprintf(summaries[i], sizeof(summaries[i]), "%s",
                       report_string(json_object_get(report, "crash"), "summary"));
        json_decref(report);
    }
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(summaries[i], cases[i].summary);
}

// A report of a crash on AArch64, as a raw report has it. bytes NULL: the processor
// went to address.
static json_t *report_of_aarch64(const char *bytes, const char *address)
{
    json_t *report =
        json_pack("{s:{s:s, s:i, s:s, s:s, s:{s:s, s:s}},"
                  " s:[{s:b, s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:{s:[]}}]}",
                  "crash", "name", "SIGSEGV", "signal", SIGSEGV, "kind",
                  bytes != NULL ? "unknown" : "wild-jump", "address", address,
                  "instruction", "address", "0x401000", "arch", "aarch64", "threads",
                  "crashed", 1, "registers", "x1", "0x100000", "x2", "0x33fffffffe",
                  "x3", "0x2a00000000200000", "x8", "0x4141414141", "x9", "0x0", "pc",
                  bytes != NULL ? "0x401000" : "0x4141414141", "backtrace", "frames");
    if (bytes != NULL)
        (void)json_object_set_new(
            json_object_get(json_object_get(report, "crash"), "instruction"), "bytes",
            json_string(bytes));
    return report;
}

static void diagnosis_says_what_an_instruction_of_aarch64_did(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *address;
        const char *summary;
    } cases[] = {
        // ldr x0, [x9, #0x18], through null
        { "200d40f9", "0x18",
          "Read from 0x18, through a null pointer (read 8 bytes at x9+0x18, x9 = "
          "0x0)" },
        // ldr w0, [x1, w2, sxtw #2]: the lower half of x2 is -2
        { "20d862b8", "0xffff8",
          "Read from 0xffff8, where nothing is mapped (read 4 bytes at x1+w2*4, x1 = "
          "0x100000, w2 = 0xfffffffe)" },
        // strb w0, [x3, #1]: the kernel reports no tag
        { "60040039", "0x200001",
          "Write to 0x200001, where nothing is mapped (write 1 byte at x3+0x1, x3 = "
          "0x2a00000000200000)" },
        // ldr x0, [x1], and an address that is not the operand's
        { "200040f9", "0x500000", "Access to 0x500000, where nothing is mapped" },
        { NULL, "0x4141414141",
          "Access to 0x4141414141, where nothing is mapped (x8 = 0x4141414141)" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *report = report_of_aarch64(cases[i].bytes, cases[i].address);
        char summary[256];
        diagnosis_refine(report);
        diagnosis_refine(report); // which changes nothing more
        (void)snprintf(summary, sizeof(summary), "%s",
                       report_string(json_object_get(report, "crash"), "summary"));
        json_decref(report);
        assert_string_equal(summary, cases[i].summary);
    }
}

static void diagnosis_names_the_checks_of_branches_of_aarch64(void **state)
{
    (void)state;
    enum { OPCODE = 1, OPERAND = 2 };
    static const char bti[] = "Branch to 0x401000, which is no landing pad (BTI)";
    static const char pac[] =
        "Signed pointer that the processor does not accept (PAC), at 0x401000";
    static const struct {
        const char *bytes;
        int code;
        const char *pstate;
        const char *begins; // NULL: it is worded as other illegal instructions are
    } cases[] = {
        { "fd7bbfa9", OPCODE, "0x60001800", bti },  // stp x29, x30, [sp, #-16]!
        { "fd7bbfa9", OPCODE, "0x60001000", NULL }, // after no branch
        { "00000000", OPCODE, "0x60001800", NULL }, // udf
        { "bf2303d5", OPERAND, "0x0", pac },        // autiasp
        { "ff0b5fd6", OPERAND, "0x0", pac },        // retaa
        { "09093fd7", OPERAND, "0x0", pac },        // blraa x8, x9
        { "200420f8", OPERAND, "0x0", pac },        // ldraa x0, [x1]
        { "2010c1da", OPERAND, "0x0", pac },        // autia x0, x1
        { "bf2303d5", OPCODE, "0x0", NULL },
        { "3f2303d5", OPERAND, "0x0", NULL }, // paciasp
        { "c0035fd6", OPERAND, "0x0", NULL }, // ret
        { "2000c1da", OPERAND, "0x0", NULL }, // pacia x0, x1
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *report = report_of_aarch64(cases[i].bytes, "0x401000");
        json_t *crash = json_object_get(report, "crash");
        json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
        (void)json_object_update_new(
            crash, json_pack("{s:s, s:i, s:i, s:s}", "name", "SIGILL", "signal", SIGILL,
                             "code", cases[i].code, "kind", "illegal-instruction"));
        (void)json_object_set_new(json_object_get(thread, "registers"), "pstate",
                                  json_string(cases[i].pstate));
        diagnosis_refine(report);
        char kind[32];
        char summary[256];
        const char *text = report_string(crash, "summary");
        (void)snprintf(kind, sizeof(kind), "%s", report_string(crash, "kind"));
        (void)snprintf(summary, sizeof(summary), "%s", text != NULL ? text : "");
        json_decref(report);
        bool checked = cases[i].begins != NULL;
        assert_string_equal(kind,
                            checked ? "control-protection" : "illegal-instruction");
        if (checked)
            assert_string_equal(summary, cases[i].begins);
    }
}

// A measured access is a line of aarch64_accesses.txt.
struct measured {
    uint32_t code;
    int64_t from_base[2]; // where it faults
    unsigned size;
    char operation[8];
};

// measured_report makes a report of a fault of the instruction whose base register is
// base, and whose other registers are rest.
static json_t *measured_report(const struct measured *m, uint64_t base, uint64_t rest,
                               int64_t from_base)
{
    enum { SP = 31, GENERAL = 31, LITERAL = 0x18000000, CACHE = 0xd5 };
    bool is_literal = (m->code & 0x3b000000) == LITERAL;
    bool is_authenticated = (m->code & 0xff200400) == 0xf8200400;
    unsigned number = m->code >> 24 == CACHE ? m->code & 31 : m->code >> 5 & 31;
    int64_t distance = (int64_t)((int32_t)(m->code << 8) >> 13) * 4;
    uint64_t pc = is_literal ? base - (uint64_t)distance : 0x401000;
    const uint8_t *code = (const uint8_t *)&m->code;
    char value[32];
    char bytes[16];
    json_t *registers = json_object();
    for (unsigned i = 0; i <= GENERAL; i++) {
        uint64_t signature = is_authenticated ? UINT64_C(0x2a) << 48 : 0;
        (void)snprintf(value, sizeof(value), "0x%" PRIx64,
                       i == number && !is_literal ? base | signature : rest);
        (void)json_object_set_new(registers, i == SP ? "sp" : register_name_aarch64(i),
                                  json_string(value));
    }
    (void)snprintf(value, sizeof(value), "0x%" PRIx64, pc);
    (void)json_object_set_new(registers, "pc", json_string(value));
    (void)snprintf(bytes, sizeof(bytes), "%02x%02x%02x%02x", code[0], code[1], code[2],
                   code[3]);
    json_t *instruction = json_pack("{s:s, s:s, s:s}", "address", value, "arch",
                                    "aarch64", "bytes", bytes);
    (void)snprintf(value, sizeof(value), "0x%" PRIx64, base + (uint64_t)from_base);
    return json_pack("{s:{s:s, s:i, s:s, s:s, s:o}, s:[{s:b, s:o, s:{s:[]}}]}", "crash",
                     "name", "SIGSEGV", "signal", SIGSEGV, "kind", "unknown", "address",
                     value, "instruction", instruction, "threads", "crashed", 1,
                     "registers", registers, "backtrace", "frames");
}

// check_access looks for an access at address, and releases the report.
static void check_access(json_t *report, const struct measured *m, uint64_t expected)
{
    uint64_t address = 0;
    diagnosis_refine(report);
    const json_t *access = json_object_get(json_object_get(report, "crash"), "access");
    if (!report_address(access, "address", &address) || address != expected ||
        report_integer(access, "size", -1) != m->size ||
        strcmp(report_string(access, "operation"), m->operation) != 0)
        fail_msg("%08x: %s", m->code, json_dumps(access, 0));
    json_decref(report);
}

static void check_measured(const struct measured *m)
{
    static const uint64_t rest[] = { 0x20, 0x1fffffff0 };
    const uint64_t base = UINT64_C(1) << 40;
    for (int i = 0; i < 2; i++) {
        check_access(measured_report(m, base, rest[i], m->from_base[i]), m,
                     base + (uint64_t)m->from_base[i]);
    }
}

static void accesses_of_aarch64_are_those_that_were_measured(void **state)
{
    (void)state;
    enum { LEAST = 310 };
    FILE *file = fopen(AARCH64_ACCESSES, "r");
    char line[160];
    int count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        struct measured m;
        if (sscanf(line, "%" SCNx32 " %" SCNd64 " %" SCNd64 " %u %7s", &m.code,
                   &m.from_base[0], &m.from_base[1], &m.size, m.operation) != 5)
            continue;
        check_measured(&m);
        count++;
    }
    (void)fclose(file);
    assert_in_range(count, LEAST, INT_MAX);
}

static void copies_of_aarch64_have_left_what_was_measured(void **state)
{
    (void)state;
    enum { LEAST = 40 };
    const uint64_t base = UINT64_C(1) << 40;
    FILE *file = fopen(AARCH64_BULK, "r");
    char line[160];
    int count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        struct measured m;
        int64_t at[5];
        uint64_t flags;
        char value[32];
        if (sscanf(line,
                   "%" SCNx32 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64
                   " %" SCNd64 " %" SCNd64 " %u %7s",
                   &m.code, &at[0], &at[1], &at[2], &flags, &at[3], &at[4], &m.size,
                   m.operation) != 9)
            continue;
        json_t *report = measured_report(&m, base, 0, at[3]);
        json_t *registers = json_object_get(
            json_array_get(json_object_get(report, "threads"), 0), "registers");
        for (unsigned i = 0; i < 3; i++) {
            (void)snprintf(value, sizeof(value), "0x%" PRIx64,
                           (uint64_t)at[i] + (i < 2 ? base : 0));
            (void)json_object_set_new(registers, register_name_aarch64(i),
                                      json_string(value));
        }
        (void)snprintf(value, sizeof(value), "0x%" PRIx64, flags << 28);
        (void)json_object_set_new(registers, "pstate", json_string(value));
        check_access(report, &m, base + (uint64_t)at[4]);
        count++;
    }
    (void)fclose(file);
    assert_in_range(count, LEAST, INT_MAX);
}

static void
nothing_is_claimed_of_a_copy_whose_ranges_both_contain_the_fault(void **state)
{
    (void)state;
    const struct measured m = { .code = 0x1d410440 }; // cpym [x0]!, [x1]!, x2!
    json_t *report = measured_report(&m, 0x20000, 0x20000, 8);
    diagnosis_refine(report);
    bool claims = json_object_get(json_object_get(report, "crash"), "access") != NULL;
    json_decref(report);
    assert_false(claims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_of_aarch64_are_those_that_were_measured),
        cmocka_unit_test(copies_of_aarch64_have_left_what_was_measured),
        cmocka_unit_test(
            nothing_is_claimed_of_a_copy_whose_ranges_both_contain_the_fault),
        cmocka_unit_test(diagnosis_says_what_the_instruction_did),
        cmocka_unit_test(diagnosis_names_the_checks_of_branches_of_aarch64),
        cmocka_unit_test(diagnosis_says_what_an_instruction_of_aarch64_did),
        cmocka_unit_test(diagnosis_takes_no_minus_one_of_an_index_or_divisor_for_mmaps),
        cmocka_unit_test(diagnosis_names_the_register_that_was_jumped_through),
        cmocka_unit_test(
            diagnosis_adds_to_a_sentence_of_version_1_whose_facts_are_gone),
        cmocka_unit_test(diagnosis_tells_a_panic_and_a_sanitizer_by_their_frames),
        cmocka_unit_test(diagnosis_does_not_believe_the_words_of_an_earlier_panic),
        cmocka_unit_test(
            diagnosis_believes_a_panic_whose_caller_in_the_program_is_not_known),
        cmocka_unit_test(diagnosis_gives_a_mangled_type_its_name_and_finds_who_threw),
        cmocka_unit_test(
            diagnosis_says_that_terminate_was_called_for_a_handled_exception),
        cmocka_unit_test(diagnosis_claims_no_lack_of_an_exception_where_one_was_thrown),
    };
    return cmocka_run_group_tests_name("symbolizer/diagnosis", tests, NULL, NULL);
}
