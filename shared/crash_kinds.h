// SPDX-License-Identifier: Apache-2.0
//
// The kinds of crashes, a row each, with all that the project does differently for
// them. A row that names a part that does not exist fails the build. The columns:
//
// - The name, after CRASH_KIND_.
// - The word that reports and their schema have (crash.kind). Sentry and OTLP get the
//   same word, but the signal's name for UNKNOWN (upload/bodies/crash_type.h).
// - How a title begins (report/grouping/title.c); NULL: with the signal's name.
// - The function that makes crash.summary, without its summarize_
//   (report/summary/crash_summary.c).
// - What of the program's message counts: MESSAGE is quoted in titles and is not in
//   group keys, a CHECK's is in both; of an ASSERTION both take the expression, of a
//   PANIC its words, of an EXCEPTION the type.
//
// Which facts make which kind: report/summary/crash_kind.c. Words are never changed:
// stored reports have them.
#pragma once
#include <stdint.h>

// clang-format off
#define CRASH_KINDS(ROW)                                                                            \
    ROW(UNKNOWN,            "unknown",               NULL,                        signal,         MESSAGE) \
    ROW(NULL_DEREFERENCE,   "null-dereference",      "null pointer",              null,           MESSAGE) \
    ROW(STACK_OVERFLOW,     "stack-overflow",        "stack overflow",            overflow,       MESSAGE) \
    ROW(WRITE_TO_READ_ONLY, "write-to-read-only",    "write to read-only memory", signal,         MESSAGE) \
    ROW(EXECUTE_OF_DATA,    "execute-of-data",       "jump into data",            target,         MESSAGE) \
    ROW(WILD_JUMP,          "wild-jump",             "wild jump",                 target,         MESSAGE) \
    ROW(NON_CANONICAL,      "non-canonical-address", "wild pointer",              non_canonical,  MESSAGE) \
    ROW(USE_AFTER_UNMAP,    "use-after-unmap",       "use of unmapped memory",    signal,         MESSAGE) \
    ROW(FILE_TRUNCATED,     "file-truncated",        "truncated file",            signal,         MESSAGE) \
    ROW(DIVIDE_BY_ZERO,     "divide-by-zero",        "division by zero",          division,       MESSAGE) \
    ROW(ILLEGAL_INSTRUCTION, "illegal-instruction",  "illegal instruction",       signal,         MESSAGE) \
    ROW(TRAP,               "trap",                  "trap",                      signal,         MESSAGE) \
    ROW(ABORT,              "abort",                 "abort",                     signal,         MESSAGE) \
    ROW(ASSERTION,          "assertion",             "assertion",                 signal,         ASSERTION) \
    ROW(HEAP_CORRUPTION,    "heap-corruption",       "heap corruption",           signal,         CHECK) \
    ROW(STACK_SMASHING,     "stack-smashing",        "stack smashing",            signal,         MESSAGE) \
    ROW(FORTIFY,            "fortify",               "buffer overflow",           signal,         CHECK) \
    ROW(UNCAUGHT_EXCEPTION, "uncaught-exception",    "uncaught exception",        signal,         EXCEPTION) \
    ROW(PANIC,              "panic",                 "panic",                     signal,         PANIC) \
    ROW(SANITIZER,          "sanitizer",             "sanitizer",                 signal,         MESSAGE) \
    ROW(SECCOMP,            "seccomp",               "forbidden system call",     seccomp,        MESSAGE) \
    ROW(MEMORY_LIMIT,       "memory-limit",          "memory limit",              signal,         MESSAGE) \
    ROW(SENT_BY_PROCESS,    "sent-by-process",       "signal sent by a process",  sent,           MESSAGE) \
    ROW(PURE_VIRTUAL,       "pure-virtual",          "pure virtual call",         signal,         MESSAGE) \
    ROW(TERMINATE,          "terminate",             "std::terminate",            signal,         MESSAGE) \
    ROW(PROTECTION_KEY,     "protection-key",        "protection key",            protection_key, MESSAGE) \
    ROW(MISALIGNED,         "misaligned",            "misaligned access",         signal,         MESSAGE) \
    ROW(DEADLOCK,           "deadlock",              "deadlock",                  deadlock,       MESSAGE) \
    ROW(KILLED,             "killed",                "killed",                    signal,         MESSAGE) \
    ROW(OUT_OF_MEMORY,      "out-of-memory",         "out of memory",             signal,         MESSAGE) \
    ROW(WATCHDOG,           "watchdog",              "watchdog",                  watchdog,       MESSAGE) \
    ROW(FATAL_EXIT,         "fatal-exit",            "fatal exit",                signal,         MESSAGE) \
    ROW(SMALL_POINTER,      "small-pointer",         "small integer used as a pointer", signal,   MESSAGE) \
    ROW(DIVISION_OVERFLOW,  "division-overflow",     "division overflow",         division,       MESSAGE) \
    ROW(OVERWRITTEN_RETURN, "overwritten-return",    "overwritten return address", returned,      MESSAGE) \
    ROW(USE_AFTER_FREE,     "use-after-free",        "use after free",            heap,           MESSAGE) \
    ROW(HEAP_OVERFLOW,      "heap-overflow",         "heap overflow",             heap,           MESSAGE) \
    ROW(HEAP_UNDERFLOW,     "heap-underflow",        "heap underflow",            heap,           MESSAGE) \
    ROW(DOUBLE_FREE,        "double-free",           "double free",               heap,           MESSAGE) \
    ROW(INVALID_FREE,       "invalid-free",          "invalid free",              heap,           MESSAGE) \
    ROW(MISMATCHED_FREE,    "mismatched-free",       "mismatched free",           heap,           MESSAGE) \
    ROW(MEMORY_TAG,         "memory-tag",            "memory tag mismatch",       memory_tag,     MESSAGE) \
    ROW(CONTROL_PROTECTION, "control-protection",    "control protection",        control_protection, MESSAGE)
// clang-format on

#define CRASH_KIND_MEMBER(name, word, title, sentence, said) CRASH_KIND_##name,

// crash_kind has two members in addition to the rows. CRASH_KIND_NONE: it is not known
// yet, or the report has none. CRASH_KIND_OTHER: a word that this version does not
// know.
enum crash_kind { CRASH_KIND_NONE, CRASH_KINDS(CRASH_KIND_MEMBER) CRASH_KIND_OTHER };

// CRASH_KIND_BIT is the bit of a kind in a set of kinds.
#define CRASH_KIND_BIT(name) (UINT64_C(1) << CRASH_KIND_##name)
_Static_assert(CRASH_KIND_OTHER < 64, "a set of kinds has a bit for each");

enum crash_said {
    CRASH_SAID_MESSAGE,
    CRASH_SAID_CHECK,
    CRASH_SAID_ASSERTION,
    CRASH_SAID_PANIC,
    CRASH_SAID_EXCEPTION,
};
