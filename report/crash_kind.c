// SPDX-License-Identifier: Apache-2.0
#include "report/crash_kind.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "report/signal_name.h"

enum {
    // Linux maps nothing below vm.mmap_min_addr, 65536 on every distribution.
    NULL_AREA_BYTES = 65536,
    // How far from the stack pointer an access may fall and still be the stack's: large
    // frames are probed page by page, alloca and arrays reach further.
    STACK_REACH_BYTES = 1 << 20,
};

static bool is_fault(const struct crash_facts *f)
{
    return !f->sent && !f->signal_only && (f->signal == SIGSEGV || f->signal == SIGBUS);
}

static bool near_stack(const struct crash_facts *f)
{
    uint64_t distance = f->address < f->sp ? f->sp - f->address : f->address - f->sp;
    return f->sp != 0 && distance < STACK_REACH_BYTES;
}

// A stack overflows into what is mapped without rights (the guard), or not at all.
static bool is_stack_overflow(const struct crash_facts *f)
{
    const struct crash_place *place = &f->address_place;
    return near_stack(f) && !f->general_protection &&
           (!place->mapped || (!place->readable && !place->writable)) &&
           f->access != CRASH_ACCESS_EXECUTE && f->pc_place.executable;
}

static const char *segv_kind(const struct crash_facts *f)
{
    bool at_pc = f->address == f->pc || f->access == CRASH_ACCESS_EXECUTE;
    if (f->signal_only)
        return "unknown";
    if (f->general_protection)
        return "non-canonical-address";
    if (is_stack_overflow(f))
        return "stack-overflow";
    if (f->address < NULL_AREA_BYTES)
        return "null-dereference";
    if (at_pc && f->address_place.mapped && !f->address_place.executable)
        return "execute-of-data";
    if (at_pc && !f->address_place.mapped)
        return "wild-jump";
    if (f->access == CRASH_ACCESS_WRITE && f->address_place.readable &&
        !f->address_place.writable)
        return "write-to-read-only";
    return "unknown";
}

static const char *bus_kind(const struct crash_facts *f)
{
    return f->code == BUS_ADRERR && f->address_place.file ? "file-truncated"
                                                          : "unknown";
}

// How glibc's malloc begins what it says of a heap that is not as it left it.
static const char *const heap_words[] = {
    "malloc",
    "free()",
    "realloc()",
    "corrupted ",
    "double free",
    "munmap_chunk()",
    "mremap_",
    "tcache_",
    "unaligned ",
    "invalid fastbin",
    "break adjusted to free",
};

static bool begins(const char *text, const char *words)
{
    return strncmp(text, words, strlen(words)) == 0;
}

static bool is_heap_message(const char *message)
{
    for (size_t i = 0; i < sizeof(heap_words) / sizeof(heap_words[0]); i++) {
        if (begins(message, heap_words[i]))
            return true;
    }
    return false;
}

static bool is_assertion(const char *message)
{
    return strstr(message, "Assertion `") != NULL ||
           strstr(message, ": assertion failed: ") != NULL ||
           strstr(message, ": Unexpected error: ") != NULL;
}

static const char *abort_kind(const struct crash_facts *f)
{
    const char *message = f->message;
    if (message == NULL)
        return f->exception_type != NULL ? "uncaught-exception" : "abort";
    if (begins(message, "*** stack smashing detected"))
        return "stack-smashing";
    if (begins(message, "*** "))
        return "fortify";
    // malloc's own assertions are about the heap as well.
    if (is_assertion(message) && strstr(message, "malloc.c:") == NULL)
        return "assertion";
    return is_heap_message(message) || is_assertion(message) ? "heap-corruption"
                                                             : "abort";
}

const char *crash_kind(const struct crash_facts *f)
{
    // No fault happened where a signal was sent. A process that aborts is the
    // exception: it sends the signal to itself.
    if (f->sent && (f->sender != f->pid || f->signal != SIGABRT))
        return "sent-by-process";
    switch (f->signal) {
    case SIGABRT:
        return abort_kind(f);
    case SIGSEGV:
        return segv_kind(f);
    case SIGBUS:
        return bus_kind(f);
    case SIGFPE:
        return f->code == FPE_INTDIV ? "divide-by-zero" : "unknown";
    case SIGILL:
        return "illegal-instruction";
    case SIGTRAP:
        return "trap";
    case SIGSYS:
        return f->code == 1 ? "seccomp" : "unknown";
    default:
        return "unknown";
    }
}

bool crash_has_address(const struct crash_facts *f)
{
    return !f->sent && !f->signal_only &&
           (f->signal == SIGSEGV || f->signal == SIGBUS || f->signal == SIGILL ||
            f->signal == SIGFPE);
}

static const char *access_words(const struct crash_facts *f)
{
    static const char *const words[] = { "Access to", "Read from", "Write to",
                                         "Jump to" };
    return words[f->access];
}

// summarize_sent says who sent a signal that no fault caused.
static void summarize_sent(const struct crash_facts *f, struct text *out)
{
    const char *name = signal_name(f->signal);
    text_append_string(out, name != NULL ? name : "A signal");
    if (f->sender == f->pid)
        text_append_string(out, " raised by the program itself");
    else
        text_appendf(out, " sent by process %" PRId32, f->sender);
}

static void summarize_fault(const struct crash_facts *f, const char *kind,
                            struct text *out)
{
    static const struct {
        const char *kind;
        const char *words;
    } tails[] = {
        { "null-dereference", ", through a null pointer" },
        { "write-to-read-only", ", which is read-only memory" },
        { "execute-of-data", ", which is data and not code" },
        { "wild-jump", ", where nothing is mapped" },
        { "file-truncated", ", past the end of the file mapped there" },
    };
    text_appendf(out, "%s 0x%" PRIx64, access_words(f), f->address);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        if (strcmp(kind, tails[i].kind) == 0) {
            text_append_string(out, tails[i].words);
            return;
        }
    }
    if (!f->address_place.mapped)
        text_append_string(out, ", where nothing is mapped");
    else if (!f->address_place.readable)
        text_append_string(out, ", which may not be accessed");
}

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

// append_expression quotes what was asserted, without the place, which the frames show.
static void append_expression(struct text *out, const char *message)
{
    static const char before[] = "Assertion `";
    const char *begin = strstr(message, before);
    if (begin == NULL) {
        append_quoted(out, message, strlen(message));
        return;
    }
    begin += strlen(before);
    size_t size = strlen(begin);
    static const char after[] = "' failed.";
    if (size >= strlen(after) && strcmp(begin + size - strlen(after), after) == 0)
        size -= strlen(after);
    append_quoted(out, begin, size);
}

static void summarize_exception(const struct crash_facts *f, struct text *out)
{
    text_append_string(out, "Uncaught exception ");
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
    else
        append_quoted(out, message, strlen(message));
}

// summarize_abort says what led to abort, where that is known.
static void summarize_abort(const struct crash_facts *f, const char *kind,
                            struct text *out)
{
    if (f->message != NULL)
        summarize_message(kind, f->message, out);
    else if (f->exception_type != NULL)
        summarize_exception(f, out);
    else
        text_append_string(out, "The program aborted");
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

void crash_summary(const struct crash_facts *f, struct text *out)
{
    const char *kind = crash_kind(f);
    if (f->signal == SIGABRT && strcmp(kind, "sent-by-process") != 0) {
        summarize_abort(f, kind, out);
        return;
    }
    if (f->sent) {
        summarize_sent(f, out);
        return;
    }
    if (strcmp(kind, "stack-overflow") == 0) {
        text_appendf(out, "Stack overflow in thread '%s' at 0x%" PRIx64, f->thread_name,
                     f->address);
        return;
    }
    if (strcmp(kind, "non-canonical-address") == 0) {
        text_append_string(out, "Access to an address that no memory can have");
        return;
    }
    if (is_fault(f)) {
        summarize_fault(f, kind, out);
        return;
    }
    if (strcmp(kind, "seccomp") == 0) {
        text_appendf(out, "System call %" PRId32 " refused by a seccomp filter",
                     f->system_call);
        return;
    }
    if (strcmp(kind, "divide-by-zero") == 0) {
        text_append_string(out, "Integer division by zero, or one that overflows");
        return;
    }
    text_appendf(out, "%s at 0x%" PRIx64, signal_description(f->signal), f->pc);
    if (out->size != 0 && out->bytes[0] >= 'a' && out->bytes[0] <= 'z')
        out->bytes[0] = (char)(out->bytes[0] - 'a' + 'A');
}
