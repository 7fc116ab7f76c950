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
    uint32_t word = code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
                    (uint32_t)code[3] << 24;
    uint32_t number = word >> 5 & 0xffffu;
    bool is_check =
        size >= sizeof(word) && word >> 21 == BRK && number >> 8 == BRK_CLANG;
    return is_check && (number & 0xffu) < CHECKS ? number & 0xffu : CHECKS;
}

bool diagnosis_trap(json_t *report, json_t *crash)
{
    uint8_t code[CODE_BYTES] = { 0 };
    size_t size = 0;
    const json_t *instruction = json_object_get(crash, "instruction");
    const char *arch = report_string(instruction, "arch");
    const char *hex = report_string(instruction, "bytes");
    int64_t signal = report_integer(crash, "signal", 0);
    (void)report;
    enum { ILLEGAL = 4, TRAP = 5 };
    if ((signal != ILLEGAL && signal != TRAP) || arch == NULL || hex == NULL ||
        json_object_get(crash, "check") != NULL)
        return false;
    size_t digits = strlen(hex) & ~(size_t)1;
    if (digits > 2 * sizeof(code))
        digits = 2 * sizeof(code);
    if (hex_decode(hex, digits, code, sizeof(code), &size) != CH_OK)
        return false;
    size_t check = trap_check(code, size, strcmp(arch, "amd64") == 0);
    if (check == CHECKS)
        return false;
    crash_words_set_kind(crash, CRASH_KIND_SANITIZER);
    (void)json_object_set_new(
        crash, "check", json_pack("{s:s, s:s}", "by", "ubsan", "name", checks[check]));
    return true;
}
