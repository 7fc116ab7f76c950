// SPDX-License-Identifier: Apache-2.0
#include "report/crash_summary.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "report/crash_kind.h"
#include "report/signal_name.h"
#include "report/system_call_name.h"

// A sentence quotes no more of a text than fits on a line or two.
enum { QUOTED_BYTES = 240 };

static void append_quoted(struct text *out, const char *words, size_t size)
{
    bool cut = size > QUOTED_BYTES;
    if (cut) {
        size = QUOTED_BYTES;
        // Not within a character of several bytes.
        while (size != 0 && ((unsigned char)words[size] & 0xc0) == 0x80)
            size--;
    }
    text_append(out, words, size);
    if (cut)
        text_append_string(out, "...");
}

static void append_size(struct text *out, uint64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    for (; bytes >= 10240 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        bytes /= 1024;
    text_appendf(out, "%" PRIu64 " %s", bytes, units[unit]);
}

static void append_memory(const struct crash_facts *f, struct text *out)
{
    append_size(out, f->memory.used_bytes);
    text_append_string(out, " of the ");
    append_size(out, f->memory.limit_bytes);
    text_appendf(out, " that %s allows are in use", f->memory.limit);
}

// summarize_sent says who sent a signal that no fault caused.
static void summarize_sent(const struct crash_facts *f, const char *kind,
                           struct text *out)
{
    (void)kind;
    const char *name = signal_name(f->signal);
    text_append_string(out, name != NULL ? name : "A signal");
    if (f->sender == f->pid) {
        text_append_string(out, " raised by the program itself");
        return;
    }
    // What cannot be named from in here has the number 0 (pid_namespaces(7)).
    if (f->sender == 0) {
        text_append_string(out, " sent from outside of the process's namespace");
        return;
    }
    text_appendf(out, " sent by process %" PRId32, f->sender);
    if (f->sender_name != NULL)
        text_appendf(out, " ('%s', user %" PRIu32 ")", f->sender_name, f->sender_user);
}

static void append_path(const struct crash_place *place, struct text *out)
{
    if (place->path_size == 0)
        return;
    text_append_string(out, " '");
    append_quoted(out, place->path, place->path_size);
    text_append_string(out, "'");
}

static const char *bus_words(int code)
{
    switch (code) {
    case BUS_ADRALN:
        return ", which is not aligned as it has to be";
    case BUS_MCEERR_AR:
    case BUS_MCEERR_AO:
        return ", where the machine's memory is defective";
    default:
        return ", where the kernel could not provide memory";
    }
}

// append_fault_place says of a fault of no special kind what is at its address.
static void append_fault_place(const struct crash_facts *f, struct text *out)
{
    if (f->signal == SIGBUS)
        text_append_string(out, bus_words(f->code));
    else if (!f->address_place.mapped)
        text_append_string(out, ", where nothing is mapped");
    else if (!f->address_place.readable)
        text_append_string(out, ", which may not be accessed");
}

static void append_unmapped(const struct crash_facts *f, struct text *out)
{
    text_append_string(out, f->access == CRASH_ACCESS_EXECUTE
                                ? ", where nothing is mapped; probably code of a "
                                  "library that was closed"
                                : ", where nothing is mapped; probably memory that "
                                  "was unmapped");
}

static void summarize_fault(const struct crash_facts *f, const char *kind,
                            struct text *out)
{
    static const char *const access[] = { "Access to", "Read from", "Write to",
                                          "Jump to" };
    static const struct {
        const char *kind;
        const char *words;
        bool path; // of the file there follows
    } tails[] = {
        { "null-dereference", ", through a null pointer", false },
        { "write-to-read-only", ", which is read-only memory", true },
        { "execute-of-data", ", which is data and not code", false },
        { "wild-jump", ", where nothing is mapped", false },
        { "file-truncated", ", past the end of the file mapped there", true },
    };
    text_appendf(out, "%s 0x%" PRIx64, access[f->access], f->address);
    if (strcmp(kind, "use-after-unmap") == 0) {
        append_unmapped(f, out);
        return;
    }
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        if (strcmp(kind, tails[i].kind) != 0)
            continue;
        text_append_string(out, tails[i].words);
        if (tails[i].path)
            append_path(&f->address_place, out);
        return;
    }
    append_fault_place(f, out);
}

// summarize_target speaks of a jump to where no code is.
static void summarize_target(const struct crash_facts *f, const char *kind,
                             struct text *out)
{
    summarize_fault(f, kind, out);
    if (f->returned)
        text_append_string(out, "; a return led there: its address was overwritten");
}

static void summarize_null(const struct crash_facts *f, const char *kind,
                           struct text *out)
{
    summarize_fault(f, kind, out);
    if (f->memory.limit == NULL)
        return;
    text_append_string(out, "; ");
    append_memory(f, out);
}

static void summarize_overflow(const struct crash_facts *f, const char *kind,
                               struct text *out)
{
    (void)kind;
    text_appendf(out, "Stack overflow in thread '%s' at 0x%" PRIx64, f->thread_name,
                 f->address);
    if (f->stack.end <= f->stack.start)
        return;
    text_append_string(out, ": its stack has ");
    append_size(out, f->stack.end - f->stack.start);
}

static void summarize_non_canonical(const struct crash_facts *f, const char *kind,
                                    struct text *out)
{
    (void)f;
    (void)kind;
    text_append_string(out, "Access to an address that no memory can have");
}

// append_expression quotes what was asserted, without the place, which the frames show.
static void append_expression(struct text *out, const char *message)
{
    static const char before[] = "Assertion `";
    static const char musl_before[] = "Assertion failed: ";
    const char *begin = strstr(message, before);
    if (begin == NULL) {
        bool musl = strncmp(message, musl_before, strlen(musl_before)) == 0;
        message += musl ? strlen(musl_before) : 0;
        const char *place = musl ? strrchr(message, '(') : NULL;
        size_t size = place != NULL && place > message ? (size_t)(place - message) - 1
                                                       : strlen(message);
        append_quoted(out, message, size);
        return;
    }
    begin += strlen(before);
    size_t size = strlen(begin);
    static const char after[] = "' failed.";
    if (size >= strlen(after) && strcmp(begin + size - strlen(after), after) == 0)
        size -= strlen(after);
    append_quoted(out, begin, size);
}

static void append_exception(const struct crash_facts *f, struct text *out)
{
    append_quoted(out, f->exception_type, strlen(f->exception_type));
    if (f->exception_what == NULL)
        return;
    text_append_string(out, ": ");
    append_quoted(out, f->exception_what, strlen(f->exception_what));
}

// append_complaint quotes "*** buffer overflow detected ***: terminated" without its
// frame.
static void append_complaint(struct text *out, const char *message)
{
    const char *begin = message + strlen("*** ");
    const char *end = strstr(begin, " ***");
    append_quoted(out, begin, end != NULL ? (size_t)(end - begin) : strlen(begin));
}

// append_sanitizer quotes "==7==ERROR: AddressSanitizer: double-free on ..." from the
// tool's name on.
static void append_sanitizer(struct text *out, const char *message)
{
    static const char before[] = "ERROR: ";
    const char *begin = strstr(message, before);
    begin = begin != NULL ? begin + strlen(before) : message;
    append_quoted(out, begin, strlen(begin));
}

// append_panic quotes "thread 'main' panicked at src/main.rs:4:9: no such page" from
// its place on.
static void append_panic(struct text *out, const char *message)
{
    static const char before[] = " panicked at ";
    const char *begin = strstr(message, before);
    begin = begin != NULL ? begin + strlen(before) : message;
    append_quoted(out, begin, strlen(begin));
}

static void summarize_message(const char *kind, const char *message, struct text *out)
{
    static const struct {
        const char *kind;
        const char *words;
    } heads[] = {
        { "abort", "The program aborted: " },
        { "heap-corruption", "Heap corruption: " },
        { "fortify", "Stopped by a check of the C library: " },
        { "assertion", "Assertion failed: " },
        { "panic", "Rust panic at " },
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (strcmp(kind, heads[i].kind) == 0)
            text_append_string(out, heads[i].words);
    }
    if (strcmp(kind, "stack-smashing") == 0)
        text_append_string(out, "A function wrote past its variables on the stack");
    else if (strcmp(kind, "assertion") == 0)
        append_expression(out, message);
    else if (strcmp(kind, "fortify") == 0)
        append_complaint(out, message);
    else if (strcmp(kind, "panic") == 0)
        append_panic(out, message);
    else if (strcmp(kind, "sanitizer") == 0)
        append_sanitizer(out, message);
    else
        append_quoted(out, message, strlen(message));
}

// summarize_abort says what led to abort, where that is known.
static void summarize_abort(const struct crash_facts *f, const char *kind,
                            struct text *out)
{
    if (f->message != NULL) {
        summarize_message(kind, f->message, out);
        return;
    }
    text_append_string(out, f->exception_type != NULL ? "Uncaught exception "
                                                      : "The program aborted");
    if (f->exception_type != NULL)
        append_exception(f, out);
    if (f->memory.limit == NULL)
        return;
    text_append_string(out, "; ");
    append_memory(f, out);
}

static void summarize_seccomp(const struct crash_facts *f, const char *kind,
                              struct text *out)
{
    (void)kind;
    const char *name = system_call_name(f->system_call_machine, f->system_call);
    text_appendf(out, "System call %" PRId32, f->system_call);
    if (name != NULL)
        text_appendf(out, " (%s)", name);
    text_append_string(out, " refused by a seccomp filter");
}

static void summarize_division(const struct crash_facts *f, const char *kind,
                               struct text *out)
{
    (void)kind;
    text_append_string(out, f->code == FPE_FLTDIV
                                ? "Floating-point division by zero"
                                : "Integer division by zero, or one that overflows");
}

static void summarize_signal(const struct crash_facts *f, struct text *out)
{
    text_appendf(out, "%s at 0x%" PRIx64, signal_description(f->signal), f->pc);
    if (out->size != 0 && out->bytes[0] >= 'a' && out->bytes[0] <= 'z')
        out->bytes[0] = (char)(out->bytes[0] - 'a' + 'A');
}

void crash_summary(const struct crash_facts *f, struct text *out)
{
    static const struct {
        const char *kind;
        void (*summarize)(const struct crash_facts *, const char *, struct text *);
    } by_kind[] = {
        { "sent-by-process", summarize_sent },
        { "stack-overflow", summarize_overflow },
        { "null-dereference", summarize_null },
        { "wild-jump", summarize_target },
        { "execute-of-data", summarize_target },
        { "non-canonical-address", summarize_non_canonical },
        { "seccomp", summarize_seccomp },
        { "divide-by-zero", summarize_division },
    };
    const char *kind = crash_kind(f);
    for (size_t i = 0; i < sizeof(by_kind) / sizeof(by_kind[0]); i++) {
        if (strcmp(kind, by_kind[i].kind) == 0) {
            by_kind[i].summarize(f, kind, out);
            return;
        }
    }
    if (f->signal == SIGABRT)
        summarize_abort(f, kind, out);
    else if (!f->signal_only && (f->signal == SIGSEGV || f->signal == SIGBUS))
        summarize_fault(f, kind, out);
    else
        summarize_signal(f, out);
}

void crash_message(const struct crash_facts *f, struct text *out)
{
    if (f->message != NULL) {
        text_append_string(out, f->message);
        return;
    }
    if (f->exception_type == NULL)
        return;
    text_appendf(out, "uncaught exception %s", f->exception_type);
    if (f->exception_what != NULL)
        text_appendf(out, ": %s", f->exception_what);
}
