// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/hex.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/diagnosis/diagnosis.h"

// checks are clang's checks for undefined behaviour, in the order in which its
// instructions number them (LIST_SANITIZER_CHECKS of clang/lib/CodeGen).
static const char *const checks[] = {
    "add-overflow",
    "builtin-unreachable",
    "cfi-check-fail",
    "divrem-overflow",
    "dynamic-type-cache-miss",
    "float-cast-overflow",
    "function-type-mismatch",
    "implicit-conversion",
    "invalid-builtin",
    "invalid-objc-cast",
    "load-invalid-value",
    "missing-return",
    "mul-overflow",
    "negate-overflow",
    "nullability-arg",
    "nullability-return",
    "nonnull-arg",
    "nonnull-return",
    "out-of-bounds",
    "pointer-overflow",
    "shift-out-of-bounds",
    "sub-overflow",
    "type-mismatch",
    "alignment-assumption",
    "vla-bound-not-positive",
};

enum { CODE_BYTES = 16, CHECKS = sizeof(checks) / sizeof(checks[0]) };

// word_of is an instruction of aarch64.
static uint32_t word_of(const uint8_t code[static 4])
{
    return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
           (uint32_t)code[3] << 24;
}

// trap_check is the number of the check that the instruction belongs to, CHECKS: to
// none that is known. On x86-64 it is the distance in `ud1 N(%eax), %eax`, which
// nothing else uses; gcc's `ud2` has no room for a number. The assembler leaves out a
// distance of 0. On aarch64 it is the low byte of a `brk` of 0x5500.
static size_t trap_check(const uint8_t code[static CODE_BYTES], size_t size,
                         bool is_amd64)
{
    static const uint8_t ud1[] = { 0x67, 0x0f, 0xb9, 0x40 };
    static const uint8_t first[] = { 0x67, 0x0f, 0xb9, 0x00 };
    enum { BRK = 0xd4200000u >> 21, BRK_CLANG = 0x55 };
    if (is_amd64 && size >= sizeof(first) && memcmp(code, first, sizeof(first)) == 0)
        return 0;
    if (is_amd64)
        return size > sizeof(ud1) && memcmp(code, ud1, sizeof(ud1)) == 0 &&
                       code[sizeof(ud1)] < CHECKS
                   ? code[sizeof(ud1)]
                   : CHECKS;
    uint32_t word = word_of(code);
    uint32_t number = word >> 5 & 0xffffu;
    bool is_check =
        size >= sizeof(word) && word >> 21 == BRK && number >> 8 == BRK_CLANG;
    return is_check && (number & 0xffu) < CHECKS ? number & 0xffu : CHECKS;
}

// is_authentication returns true if the instruction of aarch64 authenticates a signed
// pointer: AUTIA and its kin, RETAA, BRAA, BLRAA, LDRAA.
static bool is_authentication(uint32_t word)
{
    static const struct {
        uint32_t mask;
        uint32_t value;
    } forms[] = {
        { 0xffffd000, 0xdac11000 }, // AUTIA, AUTIB, AUTDA, AUTDB; with 0
        { 0xffffffbf, 0xd503219f }, // AUTIA1716, AUTIB1716
        { 0xffffff9f, 0xd503239f }, // AUTIAZ, AUTIASP, AUTIBZ, AUTIBSP
        { 0xfe9ff800, 0xd61f0800 }, // BRAA, BLRAA, RETAA and so on
        { 0xff200400, 0xf8200400 }, // LDRAA, LDRAB
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if ((word & forms[i].mask) == forms[i].value)
            return true;
    return false;
}

// control_check is which of AArch64's checks of branches sent the SIGILL; NULL: none.
// After an indirect branch the processor's state says so (BTYPE) until the next
// instruction is executed, so a valid one that is refused then is no landing pad.
static const char *control_check(const json_t *report, const json_t *crash,
                                 uint32_t word)
{
    enum { OPCODE = 1, OPERAND = 2, BTYPE_SHIFT = 10, BTYPE_MASK = 3, PERMANENT = 16 };
    const json_t *thread = report_crashed_thread(report);
    int64_t code = report_integer(crash, "code", 0);
    bool unknown = report_flag(crash, "signal_only");
    uint64_t state = 0;
    (void)report_address(json_object_get(thread, "registers"), "pstate", &state);
    if ((code == OPERAND || unknown) && is_authentication(word))
        return "pac";
    bool branched = (state >> BTYPE_SHIFT & BTYPE_MASK) != 0;
    bool undefined = word >> PERMANENT == 0; // UDF
    return (code == OPCODE || unknown) && branched && !undefined ? "bti" : NULL;
}

static void set_check(json_t *crash, enum crash_kind kind, const char *by,
                      const char *name)
{
    crash_words_set_kind(crash, kind);
    (void)json_object_set_new(crash, "check",
                              json_pack("{s:s, s:s}", "by", by, "name", name));
}

bool diagnosis_trap(json_t *report, json_t *crash)
{
    uint8_t code[CODE_BYTES] = { 0 };
    size_t size = 0;
    const json_t *instruction = json_object_get(crash, "instruction");
    const char *arch = report_string(instruction, "arch");
    const char *hex = report_string(instruction, "bytes");
    int64_t signal = report_integer(crash, "signal", 0);
    enum { ILLEGAL = 4, TRAP = 5 };
    if ((signal != ILLEGAL && signal != TRAP) || arch == NULL || hex == NULL ||
        json_object_get(crash, "check") != NULL)
        return false;
    size_t digits = strlen(hex) & ~(size_t)1;
    if (digits > 2 * sizeof(code))
        digits = 2 * sizeof(code);
    if (hex_decode(hex, digits, code, sizeof(code), &size) != CH_OK)
        return false;
    bool is_amd64 = strcmp(arch, "amd64") == 0;
    size_t check = trap_check(code, size, is_amd64);
    const char *control = signal == ILLEGAL && !is_amd64 && size >= sizeof(uint32_t)
                              ? control_check(report, crash, word_of(code))
                              : NULL;
    if (check != CHECKS)
        set_check(crash, CRASH_KIND_SANITIZER, "ubsan", checks[check]);
    else if (control != NULL)
        set_check(crash, CRASH_KIND_CONTROL_PROTECTION, control,
                  strcmp(control, "pac") == 0 ? "signature" : "landing pad");
    return check != CHECKS || control != NULL;
}
