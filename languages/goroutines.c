// SPDX-License-Identifier: Apache-2.0
#include "languages/goroutines.h"

#include <stdlib.h>
#include <string.h>

#include "formats/debug/dwarf_members.h"
#include "images/image_frames.h"
#include "images/image_symbol.h"

enum { WORD = 8, MINOR_LEAST = 17, MINOR_MOST = 22, MINOR_TRIED = 19 };

// LAYOUT_MAX_BYTES is how much debug information is decompressed for it while the
// process is held.
enum { LAYOUT_MAX_BYTES = 64 << 20 };

static const struct go_layout tried = {
    .stack_high = WORD,
    .sp = 56,
    .pc = 64,
    .fp = 104,
    .status = 144,
    .number = 152,
    .reason = 176,
    .creator = 296,
};

bool go_layout_of_version(const char *version, struct go_layout *out, bool *whole)
{
    if (strncmp(version, "go1.", 4) != 0)
        return false;
    long minor = strtol(version + 4, NULL, 10);
    if (minor < MINOR_LEAST || minor > MINOR_MOST)
        return false;
    *out = tried;
    *whole = minor == MINOR_TRIED;
    if (!*whole)
        out->creator = 0;
    return true;
}

// copy_section gives the bytes of a section under its name or the older one, to be
// freed.
static enum ch_status copy_section(const struct elf_view *file, const char *name,
                                   const char *old_name, uint8_t **out, size_t *size)
{
    struct elf_section section;
    enum ch_status status = elf_view_find_section(file, name, &section, NULL);
    if (status != CH_OK)
        status = elf_view_find_section(file, old_name, &section, NULL);
    if (status != CH_OK)
        return CH_ERR_NOT_FOUND;
    return debug_frame_copy(file, &section, LAYOUT_MAX_BYTES, out, size);
}

// The members that are wanted of runtime.g, and of the registers in it.
enum { G_STACK, G_SCHED, G_STATUS, G_NUMBER, G_REASON, G_CREATOR, G_PARENT, G_MEMBERS };
enum { SAVED_SP, SAVED_PC, SAVED_FP, SAVED_MEMBERS };

static enum ch_status take_members(const struct dwarf_member *g,
                                   const struct dwarf_member *saved,
                                   struct go_layout *out)
{
    for (unsigned i = 0; i < G_MEMBERS; i++)
        if (g[i].offset > GO_OFFSET_MAX || (!g[i].found && i != G_PARENT))
            return CH_ERR_MALFORMED;
    for (unsigned i = 0; i < SAVED_MEMBERS; i++)
        if (saved[i].offset > GO_OFFSET_MAX || !saved[i].found)
            return CH_ERR_MALFORMED;
    *out = (struct go_layout){
        .stack_low = g[G_STACK].offset,
        .stack_high = g[G_STACK].offset + WORD,
        .sp = g[G_SCHED].offset + saved[SAVED_SP].offset,
        .pc = g[G_SCHED].offset + saved[SAVED_PC].offset,
        .fp = g[G_SCHED].offset + saved[SAVED_FP].offset,
        .status = g[G_STATUS].offset,
        .number = g[G_NUMBER].offset,
        .reason = g[G_REASON].offset,
        .creator = g[G_CREATOR].offset,
        .parent = g[G_PARENT].offset,
    };
    return CH_OK;
}

// go_layout_read takes it from the debug information of file. CH_ERR_NOT_FOUND: it has
// none, or not of the runtime. CH_ERR_MALFORMED: what it says cannot be.
CH_CHECKED static enum ch_status go_layout_read(const struct elf_view *file,
                                                struct go_layout *out)
{
    struct dwarf_member g[G_MEMBERS] = {
        [G_STACK] = { .name = "stack" },         [G_SCHED] = { .name = "sched" },
        [G_STATUS] = { .name = "atomicstatus" }, [G_NUMBER] = { .name = "goid" },
        [G_REASON] = { .name = "waitreason" },   [G_CREATOR] = { .name = "gopc" },
        [G_PARENT] = { .name = "parentGoid" },
    };
    struct dwarf_member saved[SAVED_MEMBERS] = { [SAVED_SP] = { .name = "sp" },
                                                 [SAVED_PC] = { .name = "pc" },
                                                 [SAVED_FP] = { .name = "bp" } };
    uint8_t *info = NULL;
    uint8_t *abbrev = NULL;
    size_t info_size = 0;
    size_t abbrev_size = 0;
    enum ch_status status =
        copy_section(file, ".debug_info", ".zdebug_info", &info, &info_size);
    if (status == CH_OK)
        status = copy_section(file, ".debug_abbrev", ".zdebug_abbrev", &abbrev,
                              &abbrev_size);
    if (status == CH_OK)
        status = dwarf_members_find(cursor_over(info, info_size),
                                    cursor_over(abbrev, abbrev_size), "runtime",
                                    "runtime.g", g, G_MEMBERS);
    if (status == CH_OK)
        status = dwarf_members_find(cursor_over(info, info_size),
                                    cursor_over(abbrev, abbrev_size), "runtime",
                                    "runtime.gobuf", saved, SAVED_MEMBERS);
    if (status == CH_OK)
        status = take_members(g, saved, out);
    free(info);
    free(abbrev);
    return status;
}

// go_layout_find finds the layout for a program of that version whose file is file.
// CH_ERR_UNSUPPORTED: it is known from neither.
CH_CHECKED static enum ch_status
go_layout_find(const struct elf_view *file, const char *version, struct go_layout *out)
{
    bool whole = false;
    bool known = go_layout_of_version(version, out, &whole);
    if (known && whole)
        return CH_OK;
    if (go_layout_read(file, out) == CH_OK || known)
        return CH_OK;
    return CH_ERR_UNSUPPORTED;
}

// States of a goroutine (runtime2.go), and the bit that a garbage collector adds.
enum { RUNNABLE = 1, RUNNING = 2, SYSCALL = 3, WAITING = 4, SCAN = 0x1000 };

enum {
    VERSION_BYTES = 16,
    REASONS = 64,
    PASSED_OVER_MAX = 100000, // goroutines that have ended
};

// read_version reads a string of Go's: "go1.19.8" and the like.
static bool read_version(const struct memory_reader *reader, uint64_t version,
                         char out[static VERSION_BYTES])
{
    uint64_t at;
    uint64_t size;
    if (memory_read_word(reader, version, &at) != CH_OK ||
        memory_read_word(reader, version + 8, &size) != CH_OK)
        return false;
    size_t kept = size < VERSION_BYTES - 1 ? (size_t)size : VERSION_BYTES - 1;
    out[kept] = 0;
    return memory_read(reader, at, out, kept) == CH_OK;
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
    char text[VERSION_BYTES];
    if (!read_version(reader, bias + version, text))
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = go_layout_find(view, text, &found.layout);
    if (status == CH_OK)
        status = memory_read_word(reader, bias + list, &found.list);
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
        memory_read(reader, g + goroutines->layout.reason, &number, 1) != CH_OK ||
        number >= REASONS ||
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

bool goroutines_read_origin(const struct goroutines *goroutines, uint64_t g,
                            struct goroutine *out)
{
    const struct memory_reader *reader = goroutines->reader;
    const struct go_layout *layout = &goroutines->layout;
    struct goroutine found = { 0 };
    if (memory_read_word(reader, g + layout->number, &found.id) != CH_OK ||
        found.id == 0 ||
        memory_read_word(reader, g + layout->stack_high, &found.stack_end) != CH_OK ||
        (layout->creator != 0 &&
         memory_read_word(reader, g + layout->creator, &found.creator) != CH_OK) ||
        (layout->parent != 0 &&
         memory_read_word(reader, g + layout->parent, &found.parent) != CH_OK))
        return false;
    // The runtime's own first steps created the first one.
    if (found.id == 1)
        found.creator = 0;
    *out = found;
    return true;
}

// read_goroutine reads one. False: it has ended, or its members contradict each other.
static bool read_goroutine(const struct goroutines *goroutines, uint64_t g,
                           struct goroutine *out)
{
    const struct memory_reader *reader = goroutines->reader;
    const struct go_layout *layout = &goroutines->layout;
    struct goroutine found;
    uint64_t low;
    uint64_t words;
    if (!goroutines_read_origin(goroutines, g, &found) ||
        memory_read_word(reader, g + layout->status, &words) != CH_OK ||
        memory_read_word(reader, g + layout->stack_low, &low) != CH_OK ||
        memory_read_word(reader, g + layout->sp, &found.sp) != CH_OK ||
        memory_read_word(reader, g + layout->pc, &found.pc) != CH_OK ||
        memory_read_word(reader, g + layout->fp, &found.fp) != CH_OK)
        return false;
    uint32_t status = (uint32_t)words & ~(uint32_t)SCAN;
    found.state = state_name(status);
    found.runs = status == RUNNING;
    found.called = status == WAITING || status == SYSCALL;
    if (found.state == NULL ||
        (!found.runs && (found.sp < low || found.sp >= found.stack_end)))
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
