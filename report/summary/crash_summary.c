// SPDX-License-Identifier: Apache-2.0
//
// How it works: crash_summary writes what happened: as it was worded before, or by the
// function of the crash's kind (summarize_*, a column of shared/crash_kinds.h). Then
// come, as far as they are known: the operand or register, the variable, the object
// nearby, the overwritten return address, the origin, the functions.
// Invariants: the summary is one line, in which texts of the program are quoted, and
// cut at QUOTED_BYTES; a fact that is missing leaves out its own part alone.
#include "report/summary/crash_summary.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "report/summary/crash_facts.h"
#include "report/summary/crash_kind.h"
#include "report/summary/panic_text.h"
#include "report/summary/readable_name.h"
#include "report/summary/signal_name.h"
#include "report/summary/system_call_name.h"

// The words for what a runtime or a compiler's check had to say: why std::terminate was
// called, which check for undefined behaviour failed, which C function was misused.

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

// crash_reason_words begins the sentence for a crash whose facts have a reason or a
// check that tells all of it. False: they have none.
static bool crash_reason_words(const struct crash_facts *f, enum crash_kind kind,
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
    if (words == NULL && kind == CRASH_KIND_TERMINATE && f->reason != NULL)
        words = "std::terminate was called: an exception, or the end of the thread, "
                "was leaving a noexcept function";
    if (words == NULL)
        words = kinds[kind];
    if (words != NULL)
        text_append_string(out, words);
    return words != NULL;
}

// crash_reason_append adds, after the message of a library, what its check was made
// for.
static void crash_reason_append(const struct crash_facts *f, struct text *out)
{
    if (is_check_by(f, "fortify") && f->check.name != NULL)
        text_appendf(out, " in %s", f->check.name);
    if (f->reason != NULL && strcmp(f->reason, "noexcept") == 0)
        text_append_string(out, "; it was leaving a noexcept function");
}

// QUOTED_BYTES: a sentence quotes no more of a text than fits on a line or two.
enum { QUOTED_BYTES = 240 };

// KERNEL_ADDRESSES is where the upper half of the address space begins, which is the
// kernel's on every machine (x86-64 with four levels of tables).
#define KERNEL_ADDRESSES UINT64_C(0xffff800000000000)

static void append_quoted_message(struct text *out, const char *words, size_t size)
{
    size_t kept = utf8_cut(words, size, QUOTED_BYTES);
    text_append(out, words, kept);
    if (kept < size)
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

static void append_summary_memory(const struct crash_facts *f, struct text *out)
{
    append_size(out, f->memory.used_bytes);
    text_append_string(out, " of the ");
    append_size(out, f->memory.limit_bytes);
    text_appendf(out, " that %s allows are in use", f->memory.limit);
}

// summarize_sent reports who sent a signal that no fault caused.
static void summarize_sent(const struct crash_facts *f, enum crash_kind kind,
                           struct text *out)
{
    (void)kind;
    const char *name = signal_name(f->signal);
    text_append_string(out, name != NULL ? name : "A signal");
    if (f->sender == f->pid) {
        text_append_string(out, " raised by the program itself");
        if (f->had_children)
            text_append_string(out, ", or passed on: a child of it had ended");
        return;
    }
    // A process that is not visible in our pid namespace has pid 0 (pid_namespaces(7)).
    if (f->sender == 0) {
        text_append_string(out, " sent from outside of the process's namespace");
        return;
    }
    text_appendf(out, " sent by process %" PRId32, f->sender);
    if (f->sender_name != NULL)
        text_appendf(out, " ('%s', user %" PRIu32 ")", f->sender_name, f->sender_user);
}

// summarize_deadlock reports who waits for whom, and how the program was ended for
// that.
static void summarize_deadlock(const struct crash_facts *f, enum crash_kind kind,
                               struct text *out)
{
    text_append_string(out, f->deadlock_words != NULL ? f->deadlock_words : "Deadlock");
    if (!f->sent || f->sender == f->pid)
        return;
    text_append_string(out, "; ");
    summarize_sent(f, kind, out);
}

static void append_summary_path(const struct crash_place *place, struct text *out)
{
    if (place->path_size == 0)
        return;
    text_append_string(out, " '");
    append_quoted_message(out, place->path, place->path_size);
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

// nothing_words reports that nothing is mapped at the address; at a small one, why.
static const char *nothing_words(const struct crash_facts *f)
{
    if (crash_address_is_small(-f->address) && f->address != 0)
        return ", a small negative number and not an address";
    return f->address != 0 && crash_address_is_small(f->address) &&
                   f->origin.kind == NULL
               ? ", a small number and not an address"
               : ", where nothing is mapped";
}

// append_fault_place reports what is at the address of a fault of no special kind.
static void append_fault_place(const struct crash_facts *f, struct text *out)
{
    if (f->signal == SIGBUS && crash_place_is_huge(&f->address_place))
        text_append_string(out, ", for which no huge page is free");
    else if (f->signal == SIGBUS)
        text_append_string(out, bus_words(f->code));
    else if (f->address >= KERNEL_ADDRESSES && !crash_address_is_small(-f->address))
        text_append_string(out, ", an address of the kernel's");
    else if (!f->address_place.mapped)
        text_append_string(out, nothing_words(f));
    else if (!f->address_place.readable)
        text_append_string(out, ", which may not be accessed");
}

static void append_unmapped(const struct crash_facts *f, struct text *out)
{
    text_append_string(out, f->access == CRASH_ACCESS_EXECUTE
                                ? ", where nothing is mapped; probably code that was "
                                  "unmapped"
                                : ", where nothing is mapped; probably memory that "
                                  "was unmapped or moved");
}

static const char *const access_verbs[] = {
    [CRASH_ACCESS_UNKNOWN] = "Access to",
    [CRASH_ACCESS_READ] = "Read from",
    [CRASH_ACCESS_WRITE] = "Write to",
    [CRASH_ACCESS_EXECUTE] = "Jump to",
};

static void summarize_fault(const struct crash_facts *f, enum crash_kind kind,
                            struct text *out)
{
    static const struct {
        const char *words;
        bool path; // the path of the file follows
    } tails[] = {
        [CRASH_KIND_NULL_DEREFERENCE] = { ", through a null pointer", false },
        [CRASH_KIND_WRITE_TO_READ_ONLY] = { ", which is read-only memory", true },
        [CRASH_KIND_EXECUTE_OF_DATA] = { ", which is data and not code", false },
        [CRASH_KIND_FILE_TRUNCATED] = { ", past the end of the file mapped there",
                                        true },
        [CRASH_KIND_OTHER] = { NULL, false },
    };
    if (f->operand.misaligned) {
        // The kernel did not report the address.
        text_appendf(
            out, "%s 0x%" PRIx64 ", which is not aligned as the instruction needs it",
            access_verbs[f->access], f->operand.address);
        return;
    }
    text_appendf(out, "%s 0x%" PRIx64, access_verbs[f->access], f->address);
    if (kind == CRASH_KIND_USE_AFTER_UNMAP)
        append_unmapped(f, out);
    else if (tails[kind].words == NULL)
        append_fault_place(f, out);
    else
        text_append_string(out, tails[kind].words);
    if (tails[kind].path)
        append_summary_path(&f->address_place, out);
}

// summarize_target describes a jump to an address without code.
static void summarize_target(const struct crash_facts *f, enum crash_kind kind,
                             struct text *out)
{
    summarize_fault(f, kind, out);
    if (f->way == CRASH_WAY_RETURN)
        text_append_string(out, "; a return led there: its address was overwritten");
}

static void summarize_null(const struct crash_facts *f, enum crash_kind kind,
                           struct text *out)
{
    summarize_fault(f, kind, out);
    if (f->memory.limit == NULL)
        return;
    text_append_string(out, "; ");
    append_summary_memory(f, out);
}

static void summarize_overflow(const struct crash_facts *f, enum crash_kind kind,
                               struct text *out)
{
    (void)kind;
    text_append_string(out, "Stack overflow");
    if (f->thread_name[0] != 0) // a core has no names of threads but the first's
        text_appendf(out, " in thread '%s'", f->thread_name);
    text_appendf(out, " at 0x%" PRIx64, f->address);
    if (f->stack.end <= f->stack.start)
        return;
    bool known = !f->stack.grows || f->stack.limit_bytes != 0;
    text_append_string(out, known ? ": its stack has " : ": its stack had grown to ");
    append_size(out, f->stack.limit_bytes != 0 ? f->stack.limit_bytes
                                               : f->stack.end - f->stack.start);
}

static void summarize_non_canonical(const struct crash_facts *f, enum crash_kind kind,
                                    struct text *out)
{
    static const char words[] = "an address that no memory can have";
    (void)kind;
    if (f->way == CRASH_WAY_RETURN)
        text_appendf(out,
                     "Return to 0x%" PRIx64 ", %s: the return address was overwritten",
                     f->way_address, words);
    else if (f->way == CRASH_WAY_BRANCH)
        text_appendf(out, "Jump to 0x%" PRIx64 ", %s", f->way_address, words);
    else if (f->operand.expression != NULL)
        text_appendf(out, "%s 0x%" PRIx64 ", %s", access_verbs[f->access],
                     f->operand.address, words);
    else
        text_appendf(out, "Access to %s", words);
}

// summarize_returned describes a return to where no code is. The kernel gives no
// address if no memory can have it.
static void summarize_returned(const struct crash_facts *f, enum crash_kind kind,
                               struct text *out)
{
    (void)kind;
    if (f->address != f->way_address)
        summarize_non_canonical(f, CRASH_KIND_NON_CANONICAL, out);
    else if (f->address_place.mapped)
        summarize_target(f, CRASH_KIND_EXECUTE_OF_DATA, out);
    else
        summarize_target(f, CRASH_KIND_WILD_JUMP, out);
}

// append_summary_expression quotes the expression that was asserted, without its place,
// which the frames show.
static void append_summary_expression(struct text *out, const char *message)
{
    size_t size;
    const char *expression = assertion_text(message, &size);
    if (expression != NULL)
        append_quoted_message(out, expression, size);
    else
        append_quoted_message(out, message, strlen(message));
}

// append_summary_name appends the name of a type or a function as people say it. Texts
// of the program are quoted as they are: what looks like a template in them is none.
static void append_summary_name(const char *name, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) said = { 0 };
    readable_name(name, &said);
    if (text_ok(&said) && said.size != 0)
        append_quoted_message(out, said.bytes, said.size);
}

static void append_thrown(const char *type, const char *what, struct text *out)
{
    append_summary_name(type, out);
    if (what == NULL)
        return;
    text_append_string(out, ": ");
    append_quoted_message(out, what, strlen(what));
}

static void summary_append_exception(const struct crash_facts *f, struct text *out)
{
    append_thrown(f->exception_type, f->exception_what, out);
    for (size_t i = 0; i < CRASH_NESTED_MAX && f->nested[i].type != NULL; i++) {
        text_append_string(out, i == 0 ? "; nested in it: " : "; in that: ");
        append_thrown(f->nested[i].type, f->nested[i].what, out);
    }
}

// append_complaint quotes "*** buffer overflow detected ***: terminated" without the
// asterisks and what follows them.
static void append_complaint(struct text *out, const char *message)
{
    const char *begin = message + strlen("*** ");
    const char *end = strstr(begin, " ***");
    append_quoted_message(out, begin,
                          end != NULL ? (size_t)(end - begin) : strlen(begin));
}

// append_sanitizer quotes "==7==ERROR: AddressSanitizer: double-free on ..." from the
// tool's name on.
static void append_sanitizer(struct text *out, const char *message)
{
    static const char before[] = "ERROR: ";
    const char *begin = strstr(message, before);
    begin = begin != NULL ? begin + strlen(before) : message;
    append_quoted_message(out, begin, strlen(begin));
}

static const char go_panic[] = "panic: ";

static bool is_go_message(const char *message)
{
    return strncmp(message, go_panic, strlen(go_panic)) == 0;
}

// append_panic quotes "thread 'main' panicked at src/main.rs:4:9: no such page" from
// its place on, and "panic: no such page" without its first word.
static void append_panic(struct text *out, const char *message)
{
    static const char before[] = " panicked at ";
    const char *begin =
        is_go_message(message) ? message + strlen(go_panic) : strstr(message, before);
    if (begin != NULL && !is_go_message(message))
        begin += strlen(before);
    begin = begin != NULL ? begin : message;
    append_quoted_message(out, begin, strlen(begin));
}

static void summarize_message(enum crash_kind kind, const char *message,
                              struct text *out)
{
    switch (kind) {
    case CRASH_KIND_STACK_SMASHING:
        text_append_string(out, "A function wrote past its variables on the stack");
        return;
    case CRASH_KIND_ASSERTION:
        text_append_string(out, "Assertion failed: ");
        append_summary_expression(out, message);
        return;
    case CRASH_KIND_FORTIFY:
        text_append_string(out, "Stopped by a check of the C library: ");
        append_complaint(out, message);
        return;
    case CRASH_KIND_PANIC:
        text_append_string(out,
                           is_go_message(message) ? "Go panic: " : "Rust panic at ");
        append_panic(out, message);
        return;
    case CRASH_KIND_SANITIZER:
        append_sanitizer(out, message);
        return;
    case CRASH_KIND_ABORT:
        text_append_string(out, "The program aborted: ");
        break;
    case CRASH_KIND_HEAP_CORRUPTION:
        text_append_string(out, "Heap corruption: ");
        break;
    default:
        break;
    }
    append_quoted_message(out, message, strlen(message));
}

// silent_words is the sentence for an abort without a message.
static const char *silent_words(const struct crash_facts *f, enum crash_kind kind)
{
    bool handled = f->reason != NULL && strcmp(f->reason, "handled") == 0;
    if (f->exception_type != NULL)
        return handled ? "std::terminate was called while an exception was handled, "
                       : "Uncaught exception ";
    if (kind == CRASH_KIND_UNCAUGHT_EXCEPTION)
        return "Uncaught exception of a type that is not known";
    if (kind == CRASH_KIND_PANIC)
        return "Rust panic";
    return kind == CRASH_KIND_SANITIZER ? "Stopped by a sanitizer"
                                        : "The program aborted";
}

// append_as_one_line appends words of a runtime that may have several lines, as a panic
// of Rust has since 1.73.
static void append_as_one_line(struct text *out, const char *message)
{
    for (const char *at = message; *at != 0;) {
        size_t size = strcspn(at, "\t\r\n");
        size_t space = strspn(at + size, "\t\r\n");
        text_append(out, at, size);
        text_append_string(out, space != 0 ? " " : "");
        at += size + space;
    }
}

// summarize_abort reports what led to the abort, if that is known.
static void summarize_abort(const struct crash_facts *f, enum crash_kind kind,
                            struct text *out)
{
    if (f->message != NULL) {
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        append_as_one_line(&line, f->message);
        bool made = text_ok(&line) && line.size != 0;
        summarize_message(kind, made ? line.bytes : f->message, out);
        crash_chunk_append(&f->chunk, out);
        crash_reason_append(f, out);
        return;
    }
    text_append_string(out, silent_words(f, kind));
    if (f->exception_type != NULL)
        summary_append_exception(f, out);
    crash_reason_append(f, out);
    if (f->memory.limit == NULL)
        return;
    text_append_string(out, "; ");
    append_summary_memory(f, out);
}

static void summarize_seccomp(const struct crash_facts *f, enum crash_kind kind,
                              struct text *out)
{
    (void)kind;
    const char *name = system_call_name(f->system_call_machine, f->system_call);
    text_appendf(out, "System call %" PRId32, f->system_call);
    if (name != NULL)
        text_appendf(out, " (%s)", name);
    text_append_string(out, " refused by a seccomp filter");
}

static void summarize_division(const struct crash_facts *f, enum crash_kind kind,
                               struct text *out)
{
    const char *words = "Integer division by zero, or one that overflows";
    bool zero = (f->blamed.name != NULL && f->blamed.value == 0) ||
                (f->variable.is_number && f->variable.number == 0);
    if (kind == CRASH_KIND_DIVISION_OVERFLOW || (f->blamed.name != NULL && !zero))
        words = "Integer division whose result is too large";
    else if (zero)
        words = "Integer division by zero";
    if (f->code == FPE_FLTDIV)
        words = "Floating-point division by zero";
    text_append_string(out, words);
}

static void summarize_protection_key(const struct crash_facts *f, enum crash_kind kind,
                                     struct text *out)
{
    (void)kind;
    text_appendf(out,
                 "%s 0x%" PRIx64 ", which protection key %" PRIu32
                 " does not allow this thread",
                 access_verbs[f->access], f->address, f->protection_key);
}

// summarize_memory_tag reports that a pointer has not the tag of the memory. Checks
// that are not synchronous only find that out later.
static void summarize_memory_tag(const struct crash_facts *f, enum crash_kind kind,
                                 struct text *out)
{
    enum { LATE = 8 }; // SEGV_MTEAERR
    (void)kind;
    if (f->code == LATE)
        text_append_string(out, "An earlier access through a pointer whose tag is not "
                                "that of the memory");
    else if (f->memory_tag >= 0 && f->operand.registers[0].name != NULL)
        text_appendf(out,
                     "%s 0x%" PRIx64 ", through a pointer with the tag %u to memory "
                     "with the tag %d",
                     access_verbs[f->access], f->address,
                     (unsigned)(f->operand.registers[0].value >> 56 & 15),
                     f->memory_tag);
    else
        text_appendf(out,
                     "%s 0x%" PRIx64 ", through a pointer whose tag is not that of the "
                     "memory",
                     access_verbs[f->access], f->address);
}

static void summarize_control_protection(const struct crash_facts *f,
                                         enum crash_kind kind, struct text *out)
{
    (void)kind;
    if (is_check_by(f, "bti")) {
        text_appendf(out, "Branch to 0x%" PRIx64 ", which is no landing pad (BTI)",
                     f->pc);
        return;
    }
    if (is_check_by(f, "pac")) {
        text_appendf(
            out,
            "Signed pointer that the processor does not accept (PAC), at 0x%" PRIx64,
            f->pc);
        return;
    }
    text_appendf(out,
                 "Control protection fault at 0x%" PRIx64
                 ", as of a return to an address that is not the shadow stack's",
                 f->pc);
}

static void append_signal(const struct crash_facts *f, struct text *out)
{
    size_t begin = out->size;
    text_appendf(out, "%s at 0x%" PRIx64, signal_description(f->signal), f->pc);
    if (text_ok(out) && out->bytes[begin] >= 'a' && out->bytes[begin] <= 'z')
        out->bytes[begin] = (char)(out->bytes[begin] - 'a' + 'A');
}

static bool is_fault_signal(const struct crash_facts *f)
{
    return !f->signal_only && (f->signal == SIGSEGV || f->signal == SIGBUS);
}

// summarize_watchdog says whose watchdog ended the program.
static void summarize_watchdog(const struct crash_facts *f, enum crash_kind kind,
                               struct text *out)
{
    (void)kind;
    text_append_string(out,
                       f->sender == f->pid
                           ? "The program did not feed its watchdog in time"
                           : "The service did not feed systemd's watchdog in time");
}

// summarize_heap reports which block was misused, and how.
static void summarize_heap(const struct crash_facts *f, enum crash_kind kind,
                           struct text *out)
{
    static const char *const verbs[] = { [CRASH_ACCESS_UNKNOWN] = "Access",
                                         [CRASH_ACCESS_READ] = "Read",
                                         [CRASH_ACCESS_WRITE] = "Write",
                                         [CRASH_ACCESS_EXECUTE] = "Jump" };
    struct text CH_CLEANUP(text_deinit) access = { 0 };
    text_append_string(&access, verbs[f->access]);
    if (f->operand.expression != NULL && f->operand.size != 0)
        text_appendf(&access, " of %u byte%s", f->operand.size,
                     f->operand.size == 1 ? "" : "s");
    crash_heap_append(&f->heap, kind, text_ok(&access) ? access.bytes : "Access", out);
}

// summarize_signal is for kinds that say little beside the signal.
static void summarize_signal(const struct crash_facts *f, enum crash_kind kind,
                             struct text *out)
{
    if (f->signal == SIGABRT)
        summarize_abort(f, kind, out);
    else if (is_fault_signal(f) && kind == CRASH_KIND_ILLEGAL_INSTRUCTION &&
             f->instruction != NULL)
        text_appendf(out,
                     "Instruction '%s', which programs may not execute, at 0x%" PRIx64,
                     f->instruction, f->pc);
    else if (is_fault_signal(f))
        summarize_fault(f, kind, out);
    else
        append_signal(f, out);
}

// summarize_crash appends the sentence without what is known about the instruction.
static void summarize_crash(const struct crash_facts *f, enum crash_kind kind,
                            struct text *out)
{
#define SENTENCE(name, word, title, sentence, said)                                    \
    [CRASH_KIND_##name] = summarize_##sentence,
    static void (*const sentences[])(const struct crash_facts *, enum crash_kind,
                                     struct text *) = {
        [CRASH_KIND_NONE] = summarize_signal,
        CRASH_KINDS(SENTENCE)[CRASH_KIND_OTHER] = summarize_signal,
    };
    if (crash_reason_words(f, kind, out))
        return;
    if (is_fault_signal(f) && kind == CRASH_KIND_HEAP_CORRUPTION) {
        text_appendf(out, "Heap corruption that %s() came upon: ",
                     f->check.name != NULL ? f->check.name : "malloc");
        kind = crash_address_is_canonical(f->operand.address)
                   ? CRASH_KIND_UNKNOWN
                   : CRASH_KIND_NON_CANONICAL;
    }
    sentences[kind](f, kind, out);
}

static void append_register(const struct crash_register *from, struct text *out)
{
    if (from->name != NULL)
        text_appendf(out, ", %s = 0x%" PRIx64, from->name, from->value);
}

// append_operand reports what was done where: " (read 8 bytes at rax+0x18, rax = 0x0)".
static void append_operand(const struct crash_facts *f, struct text *out)
{
    static const char *const operations[] = {
        [CRASH_ACCESS_UNKNOWN] = "access",
        [CRASH_ACCESS_READ] = "read",
        [CRASH_ACCESS_WRITE] = "write",
        [CRASH_ACCESS_EXECUTE] = "execute",
    };
    const struct crash_operand *operand = &f->operand;
    text_appendf(out, " (%s ", operations[f->access]);
    if (operand->size != 0)
        text_appendf(out, "%u byte%s ", operand->size, operand->size == 1 ? "" : "s");
    text_append_string(out, "at ");
    append_quoted_message(out, operand->expression, strlen(operand->expression));
    append_register(&operand->registers[0], out);
    append_register(&operand->registers[1], out);
    text_append_string(out, ")");
}

// append_blamed names the register with the bad value, after the instruction.
static void append_blamed(const struct crash_facts *f, struct text *out)
{
    text_append_string(out, " (");
    if (f->instruction != NULL)
        text_appendf(out, "%s, ", f->instruction);
    text_appendf(out, "%s = 0x%" PRIx64 ")", f->blamed.name, f->blamed.value);
}

static void summary_append_function(struct text *out, const char *words,
                                    const char *function)
{
    if (function == NULL)
        return;
    text_appendf(out, ", %s ", words);
    append_summary_name(function, out);
}

// append_origin reports where the bad value came from.
static void append_origin(const struct crash_facts *f, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    if (crash_origin_is_said(&f->origin) || !crash_origin_append(&f->origin, &words))
        return;
    text_append_string(out, "; ");
    append_quoted_message(out, words.bytes, words.size);
}

void crash_summary(const struct crash_facts *f, struct text *out)
{
    enum crash_kind kind = f->kind != CRASH_KIND_NONE ? f->kind : crash_kind(f);
    if (f->worded != NULL)
        text_append_string(out, f->worded);
    else
        summarize_crash(f, kind, out);
    // A call of free that found an error ends the program by an access of its own.
    if (is_fault_signal(f) && f->operand.expression != NULL && f->heap.found_by == NULL)
        append_operand(f, out);
    else if (f->blamed.name != NULL)
        append_blamed(f, out);
    else if (f->signal == SIGILL && f->instruction != NULL && f->check.by == NULL)
        text_appendf(out, " (%s, %s)", f->instruction,
                     f->trap
                         ? "which compilers put where a program must not come: "
                           "__builtin_trap, code that is not reached"
                         : "which this processor does not have, or not for programs");
    if (f->variable.expression != NULL) {
        text_append_string(out, "; ");
        crash_variable_append(&f->variable, out);
    }
    if (f->variable.expression != NULL && f->origin.member != NULL &&
        f->origin.offset != 0 && crash_origin_is_said(&f->origin))
        text_appendf(out, "; `%s` is %" PRId64 " bytes from it", f->origin.member,
                     f->origin.offset);
    if (f->nearest.object != NULL) {
        text_append_string(out, "; this is ");
        crash_nearest_append(&f->nearest, out);
    }
    if (f->overwritten.expected != 0) {
        text_append_string(out, "; ");
        crash_return_append(&f->overwritten, out);
    }
    append_origin(f, out);
    summary_append_function(out, f->rethrown ? "rethrown in" : "thrown in",
                            f->thrown_in);
    summary_append_function(out, "in", f->raised_in);
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
