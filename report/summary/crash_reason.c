// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_reason.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

struct reason_words {
    const char *name;
    const char *words;
};

#define REASON_COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *find_reason_words(const struct reason_words *list, size_t count,
                                     const char *name)
{
    for (size_t i = 0; name != NULL && i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].words;
    return NULL;
}

// reason_by_check is what clang's checks for undefined behaviour find.
static const char *reason_by_check(const char *name)
{
    static const struct reason_words checks[] = {
        { "add-overflow", "a sum that overflows its type" },
        { "builtin-unreachable",
          "code was reached that was promised to be unreachable" },
        { "cfi-check-fail", "a call or cast to what has another type" },
        { "divrem-overflow", "a division by zero, or one that overflows" },
        { "dynamic-type-cache-miss",
          "an object that is not of the type it is used as" },
        { "float-cast-overflow", "a floating-point number too large for the integer" },
        { "function-type-mismatch",
          "a call through a pointer of another function type" },
        { "implicit-conversion", "a conversion that changes the value" },
        { "invalid-builtin", "zero, whose bits cannot be counted" },
        { "invalid-objc-cast", "an object of another class" },
        { "load-invalid-value", "a bool or enum with a value that it cannot have" },
        { "missing-return", "a function ended without returning its value" },
        { "mul-overflow", "a product that overflows its type" },
        { "negate-overflow", "a negation that overflows its type" },
        { "nullability-arg", "null passed as an argument that may not be null" },
        { "nullability-return", "null returned where it may not be null" },
        { "nonnull-arg", "null passed as an argument that may not be null" },
        { "nonnull-return", "null returned where it may not be null" },
        { "out-of-bounds", "an index outside of its array" },
        { "pointer-overflow", "a pointer moved outside of the address space" },
        { "shift-out-of-bounds", "a shift by too many bits, or of a negative number" },
        { "sub-overflow", "a difference that overflows its type" },
        { "type-mismatch",
          "a pointer that is null, misaligned or to too little memory" },
        { "alignment-assumption", "a pointer less aligned than was promised" },
        { "vla-bound-not-positive", "an array whose length is not positive" },
    };
    return find_reason_words(checks, REASON_COUNT(checks), name);
}

static bool is_check_by(const struct crash_facts *f, const char *by)
{
    return f->check.by != NULL && strcmp(f->check.by, by) == 0;
}

// float_words is what a trapped floating-point operation did. NULL: the code tells of
// none.
static const char *float_words(const struct crash_facts *f)
{
    if (f->signal != SIGFPE || f->sent || f->signal_only)
        return NULL;
    switch (f->code) {
    case FPE_FLTOVF:
        return "Floating-point overflow";
    case FPE_FLTUND:
        return "Floating-point underflow";
    case FPE_FLTRES:
        return "Floating-point result that is not exact";
    case FPE_FLTINV:
        return "Invalid floating-point operation";
    default:
        return NULL;
    }
}

bool crash_reason_words(const struct crash_facts *f, enum crash_kind kind,
                        struct text *out)
{
    static const struct reason_words reasons[] = {
        { "deleted-virtual", "A deleted virtual function was called" },
        { "go-runtime", "Go's runtime gave up, without a panic's text" },
        { "joinable-thread", "A std::thread was destroyed, or assigned to, before its "
                             "thread was joined or detached" },
        { "nothing-to-rethrow",
          "`throw;` was executed while no exception was handled" },
    };
    static const char *const kinds[] = {
        [CRASH_KIND_PURE_VIRTUAL] = "A pure virtual function was called",
        [CRASH_KIND_TERMINATE] = "std::terminate was called, without an exception",
        [CRASH_KIND_OTHER] = NULL,
    };
    const char *words = find_reason_words(reasons, REASON_COUNT(reasons), f->reason);
    if (words == NULL)
        words = float_words(f);
    if (words == NULL && is_check_by(f, "ubsan")) {
        words = reason_by_check(f->check.name);
        text_append_string(out, "Undefined behaviour, stopped by a check of clang's: ");
        text_append_string(out, words != NULL ? words : f->check.name);
        return true;
    }
    if (f->reason != NULL && strcmp(f->reason, "bad-free") == 0 &&
        f->check.name != NULL) {
        // The size stands in the word before the memory.
        text_appendf(out, "%s() of 0x%" PRIx64 ", where malloc has no memory",
                     f->check.name, f->operand.address + sizeof(uint64_t));
        return true;
    }
    if (words == NULL)
        words = kinds[kind];
    if (words != NULL)
        text_append_string(out, words);
    return words != NULL;
}

void crash_reason_append(const struct crash_facts *f, struct text *out)
{
    if (is_check_by(f, "fortify") && f->check.name != NULL)
        text_appendf(out, " in %s", f->check.name);
    if (f->reason != NULL && strcmp(f->reason, "noexcept") == 0)
        text_append_string(out, "; it was leaving a noexcept function");
}
