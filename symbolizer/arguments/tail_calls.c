// SPDX-License-Identifier: Apache-2.0
//
// The chains are all paths without a repeated jump, searched depth first. A jump whose
// target is not known may lead anywhere, so one of them ends the search without an
// answer; so does a second chain.
#include "symbolizer/arguments/tail_calls.h"

#include <dwarf.h>
#include <string.h>

#include "symbolizer/files/die_walk.h"

enum {
    JUMPS_MAX = 32,       // that one function ends with
    STEPS_MAX = 512,      // jumps that are followed
    TAIL_SCOPES_MAX = 32, // blocks in each other
};

// A tail_jump is a call site that is a jump.
struct tail_jump {
    uint64_t vaddr;  // within the instruction
    uint64_t target; // 0: in another image, and no way back
};

// A tail_level is a function on the path that is being searched.
struct tail_level {
    struct tail_jump jumps[JUMPS_MAX];
    size_t count;
    size_t next; // the jump after the one that is followed
};

struct tail_search {
    struct argument_image *image;
    uint64_t callee; // vaddr of the function that was entered
    struct tail_level levels[TAIL_CALLS_MAX];
    size_t depth;
    size_t steps;
    size_t chains;
    uint64_t found[TAIL_CALLS_MAX]; // the jumps of a chain, outermost first
    size_t found_count;
};

static bool is_tail_call(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    Dwarf_Attribute attribute;
    bool flag = false;
    unsigned name =
        tag == DW_TAG_call_site ? DW_AT_call_tail_call : DW_AT_GNU_tail_call;
    return (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) &&
           dwarf_attr(die, name, &attribute) != NULL &&
           dwarf_formflag(&attribute, &flag) == 0 && flag;
}

// read_jump finds where a jump is and where it leads. False: that is not known.
static bool read_jump(struct argument_image *image, Dwarf_Die *site,
                      struct tail_jump *out)
{
    bool modern = dwarf_tag(site) == DW_TAG_call_site;
    const unsigned after = modern ? DW_AT_call_return_pc : DW_AT_low_pc;
    Dwarf_Attribute attribute;
    Dwarf_Addr address;
    Dwarf_Die function;
    if (dwarf_attr(site, after, &attribute) != NULL &&
        dwarf_formaddr(&attribute, &address) == 0)
        out->vaddr = address - 1;
    else if (dwarf_attr(site, DW_AT_call_pc, &attribute) != NULL &&
             dwarf_formaddr(&attribute, &address) == 0)
        out->vaddr = address;
    else
        return false;
    if (!argument_origin_refer(site, modern ? DW_AT_call_origin : DW_AT_abstract_origin,
                               &function))
        return false;
    Dwarf_Attribute declared;
    bool elsewhere = dwarf_attr(&function, DW_AT_declaration, &declared) != NULL;
    out->target = 0;
    return argument_site_vaddr(image, &function, &out->target) || elsewhere;
}

static bool is_tail_scope(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
}

// read_jumps lists the jumps that a function ends with. False: one has no known target,
// or there are too many.
static bool read_jumps(struct argument_image *image, Dwarf_Die *function,
                       struct tail_level *out)
{
    Dwarf_Die at[TAIL_SCOPES_MAX];
    int depth = 0;
    *out = (struct tail_level){ 0 };
    if (dwarf_child(function, &at[0]) != 0)
        return true;
    for (;;) {
        if (is_tail_call(&at[depth])) {
            if (out->count == JUMPS_MAX ||
                !read_jump(image, &at[depth], &out->jumps[out->count++]))
                return false;
        } else if (is_tail_scope(&at[depth])) {
            if (depth + 1 == TAIL_SCOPES_MAX)
                return false;
            if (dwarf_child(&at[depth], &at[depth + 1]) == 0) {
                depth++;
                continue;
            }
        }
        if (!die_walk_on(at, &depth))
            return true;
    }
}

// is_on_path returns true if the path already has the jump.
static bool is_on_path(const struct tail_search *search, const struct tail_jump *jump)
{
    for (size_t i = 0; i + 1 < search->depth; i++) {
        const struct tail_level *level = &search->levels[i];
        if (level->jumps[level->next - 1].vaddr == jump->vaddr)
            return true;
    }
    return false;
}

// note_chain keeps the path as a chain to the function that was entered.
static void note_chain(struct tail_search *search)
{
    search->chains++;
    search->found_count = search->depth;
    for (size_t i = 0; i < search->depth; i++)
        search->found[i] = search->levels[i].jumps[search->levels[i].next - 1].vaddr;
}

// enter_function adds the function at vaddr to the path. False: the search has no
// answer.
static bool enter_function(struct tail_search *search, uint64_t vaddr)
{
    Dwarf_Die function;
    if (search->depth == TAIL_CALLS_MAX || search->steps++ == STEPS_MAX)
        return false;
    struct tail_level *level = &search->levels[search->depth++];
    *level = (struct tail_level){ 0 };
    return argument_image_function(search->image, vaddr, &function) != CH_OK ||
           read_jumps(search->image, &function, level);
}

// search_chains follows all jumps from the function at vaddr. False: there is no
// answer.
static bool search_chains(struct tail_search *search, uint64_t vaddr)
{
    if (!enter_function(search, vaddr))
        return false;
    while (search->depth > 0) {
        struct tail_level *level = &search->levels[search->depth - 1];
        if (level->next == level->count) {
            search->depth--;
            continue;
        }
        const struct tail_jump *jump = &level->jumps[level->next++];
        if (jump->target == search->callee)
            note_chain(search);
        else if (jump->target != 0 && !is_on_path(search, jump) &&
                 !enter_function(search, jump->target))
            return false;
        if (search->chains > 1)
            return false;
    }
    return search->chains == 1;
}

size_t tail_calls_find(const struct argument_stack *stack, size_t index,
                       uint64_t out[static TAIL_CALLS_MAX])
{
    const struct argument_site site = { .stack = stack, .index = index };
    struct tail_search search = { .image = stack->calls[index].image };
    uint64_t called;
    if (!argument_site_is_tail(stack, index) ||
        !argument_site_other(&site, &called, &search.callee) ||
        !search_chains(&search, called))
        return 0;
    for (size_t i = 0; i < search.found_count; i++)
        out[i] = search.found[search.found_count - 1 - i];
    return search.found_count;
}
