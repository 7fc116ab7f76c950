// SPDX-License-Identifier: Apache-2.0
#include "agent/languages/goroutines.h"

#include <stdlib.h>
#include <string.h>

#include "agent/images/image_symbol.h"

// Offsets in runtime.g of Go 1.17 to 1.22.
enum {
    STACK_LOW = 0,
    STACK_HIGH = 8,
    SAVED_SP = 56,
    SAVED_PC = 64,
    SAVED_FP = 104,
    STATUS = 144,
    NUMBER = 152,
    REASON = 176,
};

// States of a goroutine (runtime2.go), and the bit that a garbage collector adds.
enum { RUNNABLE = 1, RUNNING = 2, SYSCALL = 3, WAITING = 4, SCAN = 0x1000 };

enum {
    VERSION_BYTES = 16,
    MINOR_LEAST = 17,
    MINOR_MOST = 22,
    REASONS = 64,
    PASSED_OVER_MAX = 100000, // goroutines that have ended
};

// is_known_version is true for "go1.19.8" and the like.
static bool is_known_version(const struct memory_reader *reader, uint64_t version)
{
    char text[VERSION_BYTES] = "";
    uint64_t at;
    uint64_t size;
    if (memory_read_word(reader, version, &at) != CH_OK ||
        memory_read_word(reader, version + 8, &size) != CH_OK)
        return false;
    size_t kept = size < sizeof(text) - 1 ? (size_t)size : sizeof(text) - 1;
    if (memory_read(reader, at, text, kept) != CH_OK || strncmp(text, "go1.", 4) != 0)
        return false;
    long minor = strtol(text + 4, NULL, 10);
    return minor >= MINOR_LEAST && minor <= MINOR_MOST;
}

enum ch_status goroutines_open(struct goroutines *goroutines,
                               const struct memory_reader *reader,
                               const struct elf_view *view, uint64_t bias)
{
    uint64_t list = image_symbol_in_file(view, "runtime.allgs");
    uint64_t version = image_symbol_in_file(view, "runtime.buildVersion");
    uint64_t reasons = image_symbol_in_file(view, "runtime.waitReasonStrings");
    struct goroutines found = { .reader = reader };
    if (list == 0 || version == 0)
        return CH_ERR_NOT_FOUND;
    if (!is_known_version(reader, bias + version))
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = memory_read_word(reader, bias + list, &found.list);
    if (status == CH_OK)
        status = memory_read_word(reader, bias + list + 8, &found.count);
    if (status != CH_OK)
        return status;
    found.reasons = reasons != 0 ? bias + reasons : 0;
    *goroutines = found;
    return CH_OK;
}

static const char *state_name(uint32_t status)
{
    switch (status) {
    case RUNNABLE:
        return "runnable";
    case RUNNING:
        return "running";
    case SYSCALL:
        return "syscall";
    case WAITING:
        return "waiting";
    default:
        return NULL; // it has ended, or has not begun
    }
}

// read_reason reads the runtime's words for why it waits.
static void read_reason(const struct goroutines *goroutines, uint64_t g,
                        char out[static GOROUTINE_REASON_SIZE])
{
    const struct memory_reader *reader = goroutines->reader;
    uint8_t number;
    uint64_t at;
    uint64_t size;
    out[0] = 0;
    if (goroutines->reasons == 0 ||
        memory_read(reader, g + REASON, &number, 1) != CH_OK || number >= REASONS ||
        memory_read_word(reader, goroutines->reasons + 16 * (uint64_t)number, &at) !=
            CH_OK ||
        memory_read_word(reader, goroutines->reasons + 16 * (uint64_t)number + 8,
                         &size) != CH_OK ||
        size >= GOROUTINE_REASON_SIZE ||
        memory_read(reader, at, out, (size_t)size) != CH_OK)
        return;
    out[size] = 0;
    for (char *c = out; *c != 0; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

// read_goroutine reads one. False: it has ended, or its members contradict each other.
static bool read_goroutine(const struct goroutines *goroutines, uint64_t g,
                           struct goroutine *out)
{
    const struct memory_reader *reader = goroutines->reader;
    struct goroutine found = { 0 };
    uint64_t low;
    uint64_t high;
    uint64_t words;
    if (memory_read_word(reader, g + STATUS, &words) != CH_OK ||
        memory_read_word(reader, g + NUMBER, &found.id) != CH_OK ||
        memory_read_word(reader, g + STACK_LOW, &low) != CH_OK ||
        memory_read_word(reader, g + STACK_HIGH, &high) != CH_OK ||
        memory_read_word(reader, g + SAVED_SP, &found.sp) != CH_OK ||
        memory_read_word(reader, g + SAVED_PC, &found.pc) != CH_OK ||
        memory_read_word(reader, g + SAVED_FP, &found.fp) != CH_OK)
        return false;
    uint32_t status = (uint32_t)words & ~(uint32_t)SCAN;
    found.state = state_name(status);
    found.runs = status == RUNNING;
    found.called = status == WAITING || status == SYSCALL;
    if (found.state == NULL || found.id == 0 ||
        (!found.runs && (found.sp < low || found.sp >= high)))
        return false;
    if (status == WAITING)
        read_reason(goroutines, g, found.reason);
    *out = found;
    return true;
}

bool goroutines_next(struct goroutines *goroutines, struct goroutine *out)
{
    for (unsigned i = 0; i < PASSED_OVER_MAX && goroutines->next < goroutines->count;
         i++) {
        uint64_t g;
        if (memory_read_word(goroutines->reader,
                             goroutines->list + 8 * goroutines->next++, &g) != CH_OK)
            return false;
        if (g != 0 && read_goroutine(goroutines, g, out))
            return true;
    }
    return false;
}
