// SPDX-License-Identifier: Apache-2.0
#include "languages/go_layout.h"

#include <stdlib.h>
#include <string.h>

#include "formats/debug/dwarf_members.h"
#include "images/debug_frame.h"

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

enum ch_status go_layout_read(const struct elf_view *file, struct go_layout *out)
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

enum ch_status go_layout_find(const struct elf_view *file, const char *version,
                              struct go_layout *out)
{
    bool whole = false;
    bool known = go_layout_of_version(version, out, &whole);
    if (known && whole)
        return CH_OK;
    if (go_layout_read(file, out) == CH_OK || known)
        return CH_OK;
    return CH_ERR_UNSUPPORTED;
}
