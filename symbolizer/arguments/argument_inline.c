// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_inline.h"

#include <dwarf.h>
#include <string.h>

#include "report/file/report_tree.h"
#include "symbolizer/files/die_walk.h"

// SCOPES_MAX is the greatest depth of nested blocks and inlined calls.
enum { SCOPES_MAX = 256 };

size_t argument_inline_end(const struct argument_call *call, const json_t *frames)
{
    size_t end = call->index;
    while (end > 0 && report_frame_is_interpreted(json_array_get(frames, end - 1)))
        end--;
    return end;
}

// count_inlined_frames is the number of frames before call's own that are calls inlined
// into it.
static size_t count_inlined_frames(const struct argument_call *call,
                                   const json_t *frames)
{
    size_t end = argument_inline_end(call, frames);
    size_t count = 0;
    while (count < end && json_is_true(json_object_get(
                              json_array_get(frames, end - count - 1), "inline")))
        count++;
    return count;
}

bool argument_inline_enter(Dwarf_Die *scope, uint64_t vaddr, Dwarf_Die *out)
{
    Dwarf_Die child;
    int more = dwarf_child(scope, &child);
    while (more == 0) {
        int tag = dwarf_tag(&child);
        if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
            dwarf_haspc(&child, vaddr) == 1) {
            *out = child;
            return true;
        }
        more = die_walk_next(&child);
    }
    return false;
}

// inline_is_frame_of returns true if the report's frame is of die's function.
static bool inline_is_frame_of(const json_t *frame, Dwarf_Die *die)
{
    const char *told = json_string_value(json_object_get(frame, "raw_name"));
    const char *own = argument_origin_name(die);
    return told != NULL && own != NULL && strcmp(told, own) == 0;
}

size_t argument_inline_find(const struct argument_call *call, const json_t *frames,
                            Dwarf_Die out[ARGUMENT_INLINE_MAX])
{
    size_t wanted = call->has_function ? count_inlined_frames(call, frames) : 0;
    size_t count = 0;
    Dwarf_Die scope = call->function;
    if (wanted == 0 || wanted > ARGUMENT_INLINE_MAX)
        return 0;
    for (int i = 0;
         i < SCOPES_MAX && argument_inline_enter(&scope, call->vaddr, &scope); i++) {
        if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
            continue;
        if (count == wanted)
            return 0;
        count++;
        out[wanted - count] = scope; // found outermost first, stored innermost first
    }
    if (count != wanted)
        return 0;
    size_t end = argument_inline_end(call, frames);
    for (size_t i = 0; i < count; i++)
        if (!inline_is_frame_of(json_array_get(frames, end - count + i), &out[i]))
            return 0;
    return count;
}
