// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_kind.h"

#include <signal.h>
#include <string.h>

enum {
    // Linux maps nothing below vm.mmap_min_addr, which is 65536 on every distribution.
    NULL_AREA_BYTES = 65536,
    // How far from the stack pointer an access may be and still be one to the stack:
    // large frames are probed page by page, alloca and arrays reach further.
    STACK_REACH_BYTES = 1 << 20,
    SECCOMP = 1,        // si_code of SIGSYS: SYS_SECCOMP
    PROTECTION_KEY = 4, // si_code of SIGSEGV: SEGV_PKUERR
    TAG_LATE = 8,       // SEGV_MTEAERR
    TAG = 9,            // SEGV_MTESERR
    CONTROL = 10,       // SEGV_CPERR
};

bool crash_has_address(const struct crash_facts *f)
{
    return !f->sent && !f->signal_only &&
           (f->signal == SIGSEGV || f->signal == SIGBUS || f->signal == SIGILL ||
            f->signal == SIGFPE);
}

bool crash_is_own_abort(const struct crash_facts *f)
{
    return f->signal == SIGABRT && (!f->sent || f->sender == f->pid);
}

bool crash_address_is_small(uint64_t address)
{
    return address < NULL_AREA_BYTES;
}

bool crash_address_is_canonical(uint64_t address)
{
    return (uint64_t)((int64_t)(address << 16) >> 16) == address;
}

static bool near_stack(const struct crash_facts *f)
{
    // A large array has moved the stack pointer past the end, and is filled from its
    // outer end on.
    if (f->address >= f->sp && f->address < f->stack.start)
        return true;
    uint64_t distance = f->address < f->sp ? f->sp - f->address : f->address - f->sp;
    // A stack does not grow past its outer end, and a stack pointer that points nowhere
    // has no stack around it.
    return distance < STACK_REACH_BYTES && f->address < f->stack.end;
}

// ends_stack returns true if a stack can only overflow into the place: a guard page,
// unmapped memory, or read-only memory that the stack pointer has reached as well.
static bool ends_stack(const struct crash_facts *f)
{
    const struct crash_place *place = &f->address_place;
    if (!place->mapped || (!place->readable && !place->writable))
        return true;
    return f->access == CRASH_ACCESS_WRITE && !place->writable && f->sp_place.mapped &&
           !f->sp_place.writable && f->sp < f->stack.start;
}

static bool is_stack_overflow(const struct crash_facts *f)
{
    return near_stack(f) && !f->general_protection && ends_stack(f) &&
           f->access != CRASH_ACCESS_EXECUTE && f->pc_place.executable;
}

static enum crash_kind segv_kind(const struct crash_facts *f)
{
    const struct crash_place *place = &f->address_place;
    if (!f->signal_only && f->code == PROTECTION_KEY)
        return CRASH_KIND_PROTECTION_KEY;
    if (!f->signal_only && (f->code == TAG || f->code == TAG_LATE))
        return CRASH_KIND_MEMORY_TAG;
    if (!f->signal_only && f->code == CONTROL)
        return CRASH_KIND_CONTROL_PROTECTION;
    bool at_pc = f->address == f->pc || f->access == CRASH_ACCESS_EXECUTE;
    if (f->signal_only)
        return CRASH_KIND_UNKNOWN;
    if (f->general_protection)
        return CRASH_KIND_NON_CANONICAL;
    if (is_stack_overflow(f))
        return CRASH_KIND_STACK_OVERFLOW;
    // Whoever jumps to a small number other than 0 did so through a pointer that was
    // not null.
    bool returned = f->way == CRASH_WAY_RETURN;
    if (crash_address_is_small(f->address) &&
        (!at_pc || (f->address == 0 && !returned)))
        return CRASH_KIND_NULL_DEREFERENCE;
    if (!place->mapped && place->unmapped)
        return CRASH_KIND_USE_AFTER_UNMAP;
    if (at_pc && returned && !place->executable)
        return CRASH_KIND_OVERWRITTEN_RETURN;
    if (at_pc && place->mapped && !place->executable)
        return CRASH_KIND_EXECUTE_OF_DATA;
    if (at_pc && !place->mapped)
        return CRASH_KIND_WILD_JUMP;
    if (f->access == CRASH_ACCESS_WRITE && place->readable && !place->writable)
        return CRASH_KIND_WRITE_TO_READ_ONLY;
    return CRASH_KIND_UNKNOWN;
}

bool crash_place_is_huge(const struct crash_place *place)
{
    static const char *const names[] = { "/anon_hugepage", "/dev/hugepages/" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (place->path_size >= strlen(names[i]) &&
            memcmp(place->path, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static enum crash_kind bus_kind(const struct crash_facts *f)
{
    if (f->general_protection)
        return CRASH_KIND_NON_CANONICAL;
    if (!f->signal_only && f->code == BUS_ADRALN)
        return CRASH_KIND_MISALIGNED;
    if (!f->signal_only && f->code == BUS_ADRERR &&
        crash_place_is_huge(&f->address_place))
        return CRASH_KIND_MEMORY_LIMIT;
    bool truncated = !f->signal_only && f->code == BUS_ADRERR && f->address_place.file;
    return truncated ? CRASH_KIND_FILE_TRUNCATED : CRASH_KIND_UNKNOWN;
}

// heap_words is how glibc's malloc begins its messages about a corrupted heap.
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

static bool message_begins(const char *text, const char *words)
{
    return strncmp(text, words, strlen(words)) == 0;
}

static bool is_heap_message(const char *message)
{
    for (size_t i = 0; i < sizeof(heap_words) / sizeof(heap_words[0]); i++) {
        if (message_begins(message, heap_words[i]))
            return true;
    }
    return false;
}

bool crash_message_is_assertion(const char *message)
{
    // libc++: "FILE:LINE: assertion EXPRESSION failed: "
    const char *at = strstr(message, ": assertion ");
    return strstr(message, "Assertion `") != NULL ||
           strstr(message, ": assertion failed: ") != NULL ||
           strstr(message, ": Unexpected error: ") != NULL ||
           message_begins(message, "Assertion failed: ") ||
           (at != NULL && at != message && at[-1] >= '0' && at[-1] <= '9' &&
            strstr(at, " failed: ") != NULL);
}

static enum crash_kind message_kind(const char *message)
{
    if (strstr(message, "ERROR: AddressSanitizer: ") != NULL)
        return CRASH_KIND_SANITIZER;
    if (message_begins(message, "thread '") && strstr(message, " panicked at ") != NULL)
        return CRASH_KIND_PANIC;
    if (message_begins(message, "panic: ")) // Go's
        return CRASH_KIND_PANIC;
    if (message_begins(message, "*** stack smashing detected"))
        return CRASH_KIND_STACK_SMASHING;
    if (message_begins(message, "*** "))
        return CRASH_KIND_FORTIFY;
    // malloc's own assertions are about the heap too.
    if (crash_message_is_assertion(message) && strstr(message, "malloc.c:") == NULL)
        return CRASH_KIND_ASSERTION;
    return is_heap_message(message) || crash_message_is_assertion(message)
               ? CRASH_KIND_HEAP_CORRUPTION
               : CRASH_KIND_ABORT;
}

static enum crash_kind abort_kind(const struct crash_facts *f)
{
    bool memory_ends = f->memory.limit != NULL;
    if (f->message != NULL)
        return message_kind(f->message);
    // A watchdog of the program's own may have seen it.
    if (f->exception_type == NULL && !memory_ends && f->deadlock)
        return CRASH_KIND_DEADLOCK;
    if (f->exception_type == NULL)
        return memory_ends ? CRASH_KIND_MEMORY_LIMIT : CRASH_KIND_ABORT;
    if (memory_ends && strcmp(f->exception_type, "std::bad_alloc") == 0)
        return CRASH_KIND_MEMORY_LIMIT;
    return CRASH_KIND_UNCAUGHT_EXCEPTION;
}

// is_watchdog: systemd sends SIGABRT to a service whose watchdog was not fed.
static bool is_watchdog(const struct crash_facts *f)
{
    bool systemd = f->sent && f->sender == 1 && f->sender_name != NULL &&
                   strcmp(f->sender_name, "systemd") == 0;
    return f->signal == SIGABRT && (f->watchdog || systemd);
}

enum crash_kind crash_kind(const struct crash_facts *f)
{
    if (f->termination != CRASH_KIND_NONE)
        return f->termination;
    if (f->heap.kind != CRASH_KIND_NONE)
        return f->heap.kind;
    if (is_watchdog(f))
        return CRASH_KIND_WATCHDOG;
    // If a signal was sent, there was no fault. A process that aborts is the exception:
    // it sends the signal to itself.
    if (f->sent && !crash_is_own_abort(f))
        return f->deadlock ? CRASH_KIND_DEADLOCK : CRASH_KIND_SENT_BY_PROCESS;
    switch (f->signal) {
    case SIGABRT:
        return abort_kind(f);
    case SIGSEGV:
        return segv_kind(f);
    case SIGBUS:
        return bus_kind(f);
    case SIGFPE:
        return f->code == FPE_INTDIV || f->code == FPE_FLTDIV
                   ? CRASH_KIND_DIVIDE_BY_ZERO
                   : CRASH_KIND_UNKNOWN;
    case SIGILL:
        return CRASH_KIND_ILLEGAL_INSTRUCTION;
    case SIGTRAP:
        return CRASH_KIND_TRAP;
    case SIGSYS:
        return f->code == SECCOMP ? CRASH_KIND_SECCOMP : CRASH_KIND_UNKNOWN;
    default:
        return CRASH_KIND_UNKNOWN;
    }
}

#define CRASH_KIND_WORD(name, word, title, sentence, said) [CRASH_KIND_##name] = (word),

static const char *const kind_words[CRASH_KIND_OTHER] = { CRASH_KINDS(
    CRASH_KIND_WORD) };

enum crash_said crash_kind_said(enum crash_kind kind)
{
#define CRASH_KIND_SAID(name, word, title, sentence, said)                             \
    [CRASH_KIND_##name] = CRASH_SAID_##said,
    static const enum crash_said what[] = {
        CRASH_KINDS(CRASH_KIND_SAID)[CRASH_KIND_OTHER] = CRASH_SAID_MESSAGE
    };
    return what[kind];
}

const char *crash_kind_word(enum crash_kind kind)
{
    return kind < CRASH_KIND_OTHER ? kind_words[kind] : NULL;
}

enum crash_kind crash_kind_of(const char *word)
{
    if (word == NULL)
        return CRASH_KIND_NONE;
    for (int kind = CRASH_KIND_NONE + 1; kind < CRASH_KIND_OTHER; kind++) {
        if (strcmp(kind_words[kind], word) == 0)
            return (enum crash_kind)kind;
    }
    return CRASH_KIND_OTHER;
}
