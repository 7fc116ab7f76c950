// SPDX-License-Identifier: Apache-2.0
//
// How it works: in a guarded child, list_within_budget lists the variables of the
// crashed thread and then of the others: list_thread -> list_call, list_inlined ->
// argument_dwarf_list or, without debug information of the function, argument_ctf. The
// parent checks what the child sent (is_arguments) and writes it into the frames.
// Invariants: what is past the budget is left out, not cut; frames and backtraces that
// threads share are copied before they get variables, and again shared where these are
// equal (struct writing); a text that one name makes secret is masked under all names.
#include "symbolizer/argument_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/register_name.h"
#include "report/file/report_shape.h"
#include "report/file/report_tree.h"
#include "report/value/report.h"
#include "symbolizer/arguments/argument_ctf.h"
#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_globals.h"
#include "symbolizer/arguments/argument_inline.h"
#include "symbolizer/arguments/argument_list.h"
#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/arguments/argument_site.h"
#include "symbolizer/arguments/argument_value.h"
#include "symbolizer/arguments/tail_calls.h"
#include "symbolizer/fault/code_listing.h"
#include "symbolizer/fault/fault.h"
#include "symbolizer/names/frame_names.h"

// Local variables by debug information: those of the lexical blocks around the pc, the
// innermost block's first. They have the sources of arguments (argument_lookup.h), but
// were not passed, so they have no values at the function's entry.

// argument_locals_list lists the variables of call index, or if inlined is not NULL, of
// the call with that entry that was inlined into it. Nothing is listed for a function
// that debug information does not have.
static void argument_locals_list(const struct argument_stack *stack, size_t index,
                                 const Dwarf_Die *inlined, struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    const struct argument_plan *plan =
        call->has_function ? argument_plan_find(call, inlined, ARGUMENT_PLAN_LOCALS)
                           : NULL;
    struct argument_lookup l;
    if (plan == NULL || plan->count == 0)
        return;
    argument_lookup_begin(&l, stack, index, out);
    l.inlined = inlined != NULL;
    for (size_t i = 0; i < plan->count; i++) {
        struct argument argument = argument_lookup_argument(&plan->variables[i]);
        enum ch_status status = argument_lookup_now(&l, &argument);
        argument_lookup_add(out, &argument, status);
    }
}

// Arguments by debug information: their values at the pc, from location lists, and
// their values when the function was called, from what the caller's debug information
// says it passed.
//
// The caller's information is used only if its call is one of this very function: the
// call's origin is the function's entry, or its target evaluates to the function's
// address. After a tail call it is not, and there are no entry values.

// prove_entry looks for the value of a register at the function's entry, where the code
// of the function or of its caller proves it.
static enum ch_status prove_entry(const struct argument_lookup *l, uint8_t reg,
                                  struct argument *argument)
{
    struct argument_entry entry;
    uint64_t size;
    enum ch_status status = argument_entry_find(l->stack, l->site.index, reg, &entry);
    if (status != CH_OK)
        return status;
    if (type_size(&l->call->image->types.table, argument->type, &size) != CH_OK ||
        size > entry.bytes)
        return CH_ERR_NOT_FOUND;
    status = argument_value_make(l->stack, l->call, &entry.location, argument,
                                 ARGUMENT_AT_ENTRY);
    if (status == CH_OK) {
        argument->source = entry.source;
        argument->confidence = "proved";
    }
    return status;
}

// find_entry_value looks for the value with which the argument was passed.
static enum ch_status find_entry_value(struct argument_lookup *l,
                                       struct argument *argument)
{
    struct argument_location location = { .kind = ARGUMENT_IS_VALUE };
    uint8_t reg = argument->planned->passed_in;
    if (!argument->planned->passed)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = argument_site_entry(&l->context, reg, &location.value);
    if (status != CH_OK && argument->source == NULL)
        return prove_entry(l, reg, argument);
    if (status != CH_OK)
        return status;
    status =
        argument_value_make(l->stack, l->call, &location, argument, ARGUMENT_AT_ENTRY);
    if (status == CH_OK && argument->source == NULL) {
        argument->source = "callsite";
        argument->confidence = "exact";
    }
    return status;
}

// settle_reference drops the entry value of a reference: it refers to the same object
// from its call on, and what is known of that object is what it is now.
static void settle_reference(struct argument *argument)
{
    json_t **values = argument->values;
    if (!argument->planned->reference)
        return;
    if (values[ARGUMENT_NOW] == NULL)
        values[ARGUMENT_NOW] = values[ARGUMENT_AT_ENTRY];
    else
        json_decref(values[ARGUMENT_AT_ENTRY]);
    values[ARGUMENT_AT_ENTRY] = NULL;
}

// list_parameters lists what plan has; none of an inlined call were passed.
static void list_parameters(struct argument_lookup *l, const struct argument_plan *plan,
                            struct argument_list *out)
{
    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        struct argument argument = argument_lookup_argument(&plan->variables[i]);
        enum ch_status status = argument_lookup_now(l, &argument);
        if (!l->inlined)
            (void)!find_entry_value(l, &argument);
        settle_reference(&argument);
        argument_lookup_add(out, &argument, status);
    }
}

// argument_dwarf_list lists the arguments of call index. False: debug information does
// not have its function.
static bool argument_dwarf_list(const struct argument_stack *stack, size_t index,
                                struct argument_list *out)
{
    struct argument_lookup l;
    if (!stack->calls[index].has_function)
        return false;
    argument_lookup_begin(&l, stack, index, out);
    list_parameters(&l, argument_plan_find(l.call, NULL, ARGUMENT_PLAN_PARAMETERS),
                    out);
    return true;
}

// argument_dwarf_list_inlined lists the arguments of a call that was inlined into call
// index; inlined is its entry. They were not passed: their values come from location
// lists, with the registers of the enclosing function.
static void argument_dwarf_list_inlined(const struct argument_stack *stack,
                                        size_t index, const Dwarf_Die *inlined,
                                        struct argument_list *out)
{
    struct argument_lookup l;
    argument_lookup_begin(&l, stack, index, out);
    l.inlined = true;
    list_parameters(&l, argument_plan_find(l.call, inlined, ARGUMENT_PLAN_PARAMETERS),
                    out);
}

// Secrets that go by several names: `password` of one function is `text` of the one
// that it is passed to. Where one name is that of a secret, the text is masked under
// all of them.

static const char masked_text[] = "***";

// A secrets_fn looks at one value of a variable: its member of that name.
typedef void secrets_fn(json_t *variable, const char *member, json_t *addresses);

static void secrets_note(json_t *variable, const char *member, json_t *addresses)
{
    const json_t *value = json_object_get(variable, member);
    const char *address = report_string(value, "address");
    const char *text = report_string(value, "value");
    if (address != NULL && text != NULL && strcmp(text, masked_text) == 0)
        (void)json_object_set_new(addresses, address, json_true());
}

static void secrets_cover(json_t *variable, const char *member, json_t *addresses)
{
    const json_t *value = json_object_get(variable, member);
    const char *address = report_string(value, "address");
    if (address == NULL || report_string(value, "value") == NULL ||
        json_object_get(addresses, address) == NULL)
        return;
    (void)json_object_set_new(
        variable, member,
        json_pack("{s:s, s:s}", "address", address, "value", masked_text));
    if (json_object_get(variable, "text") != NULL)
        (void)json_object_set_new(variable, "text", json_string(masked_text));
}

static void secrets_visit_frame(const json_t *frame, secrets_fn *visit,
                                json_t *addresses)
{
    for (size_t i = 0; i < REPORT_TABLE_LISTS; i++) {
        const json_t *list = json_object_get(frame, report_table_lists[i]);
        for (size_t j = 0; j < json_array_size(list); j++) {
            visit(json_array_get(list, j), "value", addresses);
            visit(json_array_get(list, j), "entry_value", addresses);
        }
    }
}

static void secrets_visit_all(const json_t *all, secrets_fn *visit, json_t *addresses)
{
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *thread = json_array_get(all, i);
        for (size_t j = 0; j < json_array_size(thread); j++)
            secrets_visit_frame(json_array_get(thread, j), visit, addresses);
    }
}

// argument_secrets_mask masks in all, a result of argument_report_all, every text whose
// address a pointer with the name of a secret has too.
static void argument_secrets_mask(json_t *all)
{
    json_t *addresses = json_object();
    secrets_visit_all(all, secrets_note, addresses);
    if (json_object_size(addresses) != 0)
        secrets_visit_all(all, secrets_cover, addresses);
    json_decref(addresses);
}

// list_locals lists the local variables of call index, or of a call inlined into it
// that is frame. Those of the system's own functions tell nobody anything.
static struct argument_list list_locals(const struct argument_stack *stack,
                                        size_t index, const Dwarf_Die *inlined,
                                        const json_t *frame)
{
    struct argument_list list = { 0 };
    if (!json_is_true(json_object_get(frame, "system")))
        argument_locals_list(stack, index, inlined, &list);
    argument_list_end(&list);
    return list;
}

// budget is what may still be used.
struct budget {
    size_t calls;
    int64_t until_us;  // of this process's processor time
    int64_t memory_kb; // of its peak
    const char *cut;   // which of them was used up; NULL: none
};

static void budget_read(int64_t *out_us, int64_t *out_kb)
{
    struct rusage used = { 0 };
    (void)getrusage(RUSAGE_SELF, &used);
    *out_us = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
              used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    *out_kb = used.ru_maxrss;
}

// budget_take subtracts one call. False: the budget is used up.
static bool budget_take(struct budget *budget)
{
    enum { LOOK_EVERY = 8 };
    int64_t us = 0;
    int64_t kb = 0;
    if (budget->calls % LOOK_EVERY == 0)
        budget_read(&us, &kb);
    if (budget->calls == 0)
        budget->cut = "calls";
    else if (us > budget->until_us)
        budget->cut = "time";
    else if (kb > budget->memory_kb)
        budget->cut = "memory";
    if (budget->cut != NULL)
        return false;
    budget->calls--;
    return true;
}

// shown_calls is the calls of a thread that have variables.
struct shown_calls {
    json_t *all;
    bool own; // one of them is like no other
};

// report_add_call adds the variables of a call, of which it takes the lists.
static void report_add_call(struct shown_calls *calls,
                            const struct argument_stack *stack,
                            const struct argument_lists *lists, size_t frame, bool tail)
{
    bool own;
    if (!tail && lists->arguments.all == NULL && lists->locals.all == NULL &&
        lists->globals.all == NULL)
        return;
    (void)json_array_append_new(calls->all,
                                argument_list_call(stack, lists, frame, tail, &own));
    calls->own = calls->own || own;
}

// name_tail_calls gives the functions of jumps that led to call index, with those that
// were inlined there. NULL: one has no name.
static json_t *name_tail_calls(const struct argument_stack *stack, size_t index,
                               const struct report_images *images,
                               const uint64_t *jumps, size_t count)
{
    const struct symbolizer_options *options = stack->options;
    struct symbol_image *lines = code_listing_open_lines(stack, index, images);
    const json_int_t image = report_integer(stack->calls[index].from, "image", -1);
    json_t *all = lines != NULL ? json_array() : NULL;
    for (size_t i = 0; all != NULL && i < count; i++) {
        const struct frame_image of = { .path = images->items[image].path,
                                        .status = DEBUG_FOUND,
                                        .home =
                                            options->sanitize ? options->home : NULL };
        struct symbol_frame frames[SYMBOL_FRAMES_MAX];
        size_t found = symbol_image_find(lines, jumps[i], frames);
        json_t *names = NULL;
        if (found == 0 || frames[found - 1].function == NULL ||
            frame_names_make(frames, found, jumps[i], &of, &names) != CH_OK) {
            json_decref(all);
            all = NULL;
        }
        (void)json_array_extend(all, names);
        json_decref(names);
    }
    symbol_image_close(lines);
    return all;
}

// report_add_tail_calls adds to the last call, which is call index of stack, the
// functions that ran between its caller and it.
static void report_add_tail_calls(struct shown_calls *calls,
                                  const struct argument_stack *stack, size_t index,
                                  const struct report_images *images)
{
    uint64_t jumps[TAIL_CALLS_MAX];
    size_t last = json_array_size(calls->all) - 1;
    size_t count = tail_calls_find(stack, index, jumps);
    json_t *names =
        count != 0 ? name_tail_calls(stack, index, images, jumps, count) : NULL;
    if (names == NULL)
        return;
    // Other threads may share the call, but not its caller.
    json_t *call = json_copy(json_array_get(calls->all, last));
    (void)json_object_set_new(call, "tail_callers", names);
    (void)json_array_set_new(calls->all, last, call);
    calls->own = true;
}

// list_inlined lists the calls that were inlined into call index.
static void list_inlined(const struct argument_stack *stack, size_t index,
                         const json_t *frames, struct budget *budget,
                         struct shown_calls *calls)
{
    Dwarf_Die inlined[ARGUMENT_INLINE_MAX];
    const struct argument_call *call = &stack->calls[index];
    size_t count = argument_inline_find(call, frames, inlined);
    for (size_t i = 0; i < count && budget_take(budget); i++) {
        struct argument_lists lists = { 0 };
        size_t frame = argument_inline_end(call, frames) - count + i;
        argument_dwarf_list_inlined(stack, index, &inlined[i], &lists.arguments);
        argument_list_end(&lists.arguments);
        lists.locals =
            list_locals(stack, index, &inlined[i], json_array_get(frames, frame));
        report_add_call(calls, stack, &lists, frame, false);
    }
}

// list_call lists the arguments of a call.
static struct argument_list list_call(const struct argument_stack *stack, size_t index)
{
    struct argument_list list = { 0 };
    if (stack->calls[index].image != NULL && !argument_dwarf_list(stack, index, &list))
        (void)argument_ctf_list(stack, index, &list);
    argument_list_end(&list);
    return list;
}

// list_globals lists the global variables that call index uses, if globals is not NULL
// and the call is in-app.
static struct argument_list list_globals(const struct argument_stack *stack,
                                         size_t index, struct argument_globals *globals)
{
    struct argument_list list = { 0 };
    if (globals != NULL &&
        !json_is_true(json_object_get(stack->calls[index].from, "system")))
        argument_globals_list(globals, stack, index, &list);
    return list;
}

// list_thread lists the calls of one thread, except for its startup code. globals is
// NULL for threads that did not crash; their tail calls are only marked.
static json_t *list_thread(const struct argument_stack *stack, const json_t *frames,
                           const struct report_images *images, struct budget *budget,
                           struct argument_globals *globals)
{
    struct shown_calls calls = { .all = json_array() };
    for (size_t i = 0; i < stack->start; i++) {
        (void)argument_stack_resolve(stack, i);
        list_inlined(stack, i, frames, budget, &calls);
        if (!budget_take(budget))
            break;
        const struct argument_call *call = &stack->calls[i];
        const struct argument_lists lists = {
            .arguments = list_call(stack, i),
            .locals = list_locals(stack, i, NULL, call->from),
            .globals = list_globals(stack, i, globals),
        };
        bool tail = argument_site_is_tail(stack, i);
        report_add_call(&calls, stack, &lists, call->index, tail);
        if (tail && globals != NULL)
            report_add_tail_calls(&calls, stack, i, images);
    }
    return calls.own ? calls.all : argument_list_thread(stack->share, calls.all);
}

// list_registers lists the registers that functions preserve, of the innermost calls.
static json_t *list_registers(const struct argument_stack *stack)
{
    static const uint32_t preserved[] = {
        [UNWIND_ARCH_AMD64] = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12,
        [UNWIND_ARCH_AARCH64] = 0x7ffu << 19 | 1u << 31,
    };
    enum unwind_arch_id arch = stack->arch->id;
    json_t *all = json_array();
    if (arch != UNWIND_ARCH_AMD64 && arch != UNWIND_ARCH_AARCH64)
        return all;
    for (size_t i = 0; i < stack->count && i < ARGUMENT_REPORT_REGISTERS; i++) {
        const struct argument_call *call = &stack->calls[i];
        json_t *registers = json_object();
        for (size_t k = 0; k < 32; k++) {
            const char *name = arch == UNWIND_ARCH_AMD64
                                   ? register_name_amd64(k, sizeof(uint64_t))
                                   : register_name_aarch64(k);
            if (preserved[arch] >> k & 1 && argument_frame_knows(&call->frame, k))
                (void)json_object_set_new(
                    registers, name,
                    json_sprintf("0x%" PRIx64, call->frame.registers.value[k]));
        }
        (void)json_array_append_new(all, json_pack("{s:I, s:o}", "frame",
                                                   (json_int_t)call->index, "registers",
                                                   registers));
    }
    return all;
}

// listing is the input and the state of making the list.
struct listing {
    const json_t *report;
    const json_t *threads;
    const struct held_file *held;
    struct argument_space space;
    struct argument_stack *stack;
    struct argument_share share;
    struct budget budget;
    struct argument_report_result result;
};

// place_cut adds where a pointer was taken from a variable of 4 bytes.
static void place_cut(const struct listing *listing)
{
    json_t *origin = json_object_get(listing->result.fault, "origin");
    const json_t *vaddr = json_object_get(origin, "vaddr");
    if (vaddr == NULL)
        return;
    code_listing_add_place(listing->stack, 0, listing->space.from,
                           (uint64_t)json_integer_value(vaddr), origin);
    (void)json_object_del(origin, "vaddr");
}

// report_list_threads lists the threads that crashed, or the others.
static void report_list_threads(struct listing *listing, bool crashed)
{
    size_t count = json_array_size(listing->threads);
    for (size_t i = 0; i < count && listing->budget.cut == NULL; i++) {
        const json_t *thread = json_array_get(listing->threads, i);
        const struct held_thread *held = held_file_thread(
            listing->held,
            (uint64_t)json_integer_value(json_object_get(thread, "tid")));
        if (held == NULL || json_is_true(json_object_get(thread, "crashed")) != crashed)
            continue;
        const json_t *frames =
            json_object_get(json_object_get(thread, "backtrace"), "frames");
        argument_stack_read(listing->stack, thread, held, &listing->space);
        struct argument_globals globals = { 0 };
        json_t *shown = list_thread(listing->stack, frames, listing->space.from,
                                    &listing->budget, crashed ? &globals : NULL);
        if (crashed) {
            listing->result.registers = list_registers(listing->stack);
            listing->result.fault =
                argument_fault_find(listing->report, listing->stack, frames);
            place_cut(listing);
            listing->result.message = fatal_calls_find(listing->stack, frames);
            listing->result.code =
                code_listing_make(listing->report, listing->stack, listing->space.from);
            listing->result.symbols =
                code_listing_symbols(listing->report, &listing->space);
        }
        (void)json_array_set_new(listing->result.all, i, shown);
    }
}

// list_missing notes of which images some debug information was not found.
static void list_missing(struct listing *listing)
{
    const struct argument_space *space = &listing->space;
    for (size_t i = 0; i < space->from->count; i++) {
        const char *missing = space->images[i].opened
                                  ? type_image_missing(&space->images[i].types)
                                  : NULL;
        if (missing != NULL)
            (void)json_array_append_new(
                listing->result.missing,
                json_pack("{s:I, s:s}", "image", (json_int_t)i, "status", missing));
    }
}

// list_within_budget lists the crashed thread and then the others.
static void list_within_budget(struct listing *listing)
{
    struct budget *budget = &listing->budget;
    int64_t now_us;
    budget_read(&now_us, &budget->memory_kb);
    budget->calls = ARGUMENT_REPORT_CALLS_MAX;
    budget->memory_kb += ARGUMENT_REPORT_MEMORY_MB * 1024;
    budget->until_us = INT64_MAX;
    report_list_threads(listing, true);
    int64_t peak_kb;
    budget_read(&now_us, &peak_kb);
    budget->until_us = now_us + ARGUMENT_REPORT_CPU_MS * 1000;
    report_list_threads(listing, false);
    listing->result.cut = budget->cut;
    list_missing(listing);
}

void argument_report_all(const json_t *report, struct held_file *held,
                         const struct report_images *images,
                         const struct symbolizer_options *options,
                         struct argument_report_result *out)
{
    const struct memory_reader memory = held_file_reader(held);
    struct listing listing = {
        .report = report,
        .threads = json_object_get(report, "threads"),
        .held = held,
        .stack = argument_stack_create(),
        .result = { .all = json_array(), .missing = json_array() },
    };
    for (size_t i = 0; i < json_array_size(listing.threads); i++)
        (void)json_array_append_new(listing.result.all, json_array());
    if (listing.stack != NULL &&
        argument_space_init(&listing.space, images, &memory, options) == CH_OK) {
        // What the program cannot have changed, such as string literals, is also read
        // from the images' files.
        listing.stack->memory = &listing.space.memory;
        listing.stack->held = held;
        listing.stack->options = options;
        listing.stack->share = &listing.share;
        list_within_budget(&listing);
    }
    if (options->sanitize && listing.share.masked)
        argument_secrets_mask(listing.result.all);
    argument_share_deinit(&listing.share);
    *out = listing.result;
}

// is_arguments checks the child's answer: a child that read a malicious file is not
// trusted.
static bool is_arguments(const json_t *arguments)
{
    bool right = arguments == NULL || json_is_array(arguments);
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const json_t *one = json_array_get(arguments, i);
        right = right && json_is_integer(json_object_get(one, "index")) &&
                json_is_string(json_object_get(one, "confidence"));
    }
    return right;
}

// is_tail_callers checks the functions that a call has as such.
static bool is_tail_callers(const json_t *callers)
{
    bool right = callers == NULL || json_is_array(callers);
    for (size_t i = 0; i < json_array_size(callers); i++) {
        const json_t *one = json_array_get(callers, i);
        const char *file = report_string(one, "file");
        right = right && report_string(one, "function") != NULL &&
                (file == NULL || file[0] != 0) &&
                json_is_boolean(json_object_get(one, "inline"));
    }
    return right;
}

// written is a frame, or a backtrace, with variables: what it was made of, and what
// came of it.
struct written {
    json_t *before; // NULL: unused
    const json_t *shown;
    json_t *after;
};

// writing keeps what was made: where threads wait in one place with the same values,
// they share a frame or a whole backtrace.
struct writing {
    struct written *made; // a hash table
    size_t count;
    size_t room; // a power of two
};

static struct written *writing_slot(const struct writing *writing, const json_t *before,
                                    const json_t *shown)
{
    uint64_t hash = ((uint64_t)(uintptr_t)before ^ (uint64_t)(uintptr_t)shown << 20) *
                    UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (writing->room - 1);
    while (writing->made[at].before != NULL &&
           (writing->made[at].before != before || writing->made[at].shown != shown))
        at = (at + 1) & (writing->room - 1);
    return &writing->made[at];
}

// writing_reserve keeps the table at most half full.
static bool writing_reserve(struct writing *writing)
{
    enum { FIRST = 256 };
    size_t room = writing->room != 0 ? 2 * writing->room : FIRST;
    if (2 * (writing->count + 1) <= writing->room)
        return true;
    struct writing more = { .made = calloc(room, sizeof(more.made[0])),
                            .count = writing->count,
                            .room = room };
    if (more.made == NULL)
        return false;
    for (size_t i = 0; i < writing->room; i++)
        if (writing->made[i].before != NULL)
            *writing_slot(&more, writing->made[i].before, writing->made[i].shown) =
                writing->made[i];
    free(writing->made);
    *writing = more;
    return true;
}

static void writing_deinit(struct writing *writing)
{
    for (size_t i = 0; i < writing->room; i++) {
        json_decref(writing->made[i].before);
        json_decref(writing->made[i].after);
    }
    free(writing->made);
}

// writing_note notes what shown made of before.
static void writing_note(struct writing *writing, json_t *before, const json_t *shown,
                         json_t *after)
{
    if (!writing_reserve(writing))
        return; // it is made again
    *writing_slot(writing, before, shown) =
        (struct written){ json_incref(before), shown, json_incref(after) };
    writing->count++;
}

static json_t *writing_find(const struct writing *writing, const json_t *before,
                            const json_t *shown)
{
    return writing->room != 0 ? writing_slot(writing, before, shown)->after : NULL;
}

// report_write_variables adds the variables of a call to its frame.
static enum ch_status report_write_variables(json_t *frame, const json_t *call)
{
    int failed = 0;
    json_t *callers = json_object_get(call, "tail_callers");
    if (!is_tail_callers(callers))
        return CH_ERR_MALFORMED;
    if (json_is_true(json_object_get(call, "tail_call")))
        failed |= json_object_set_new(frame, "tail_call", json_true());
    if (callers != NULL)
        failed |= json_object_set(frame, "tail_callers", callers);
    for (size_t i = 0; i < REPORT_TABLE_LISTS; i++) {
        json_t *list = json_object_get(call, report_table_lists[i]);
        if (!is_arguments(list))
            return CH_ERR_MALFORMED;
        failed |=
            list != NULL ? json_object_set(frame, report_table_lists[i], list) : 0;
    }
    return failed == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}

// report_write_call puts the frame of a call with its variables into frames, which no
// other thread has.
static enum ch_status report_write_call(struct writing *writing, json_t *frames,
                                        const json_t *call)
{
    const json_t *index = json_object_get(call, "frame");
    json_int_t number = json_integer_value(index);
    json_t *before = json_is_integer(index) && number >= 0
                         ? json_array_get(frames, (size_t)number)
                         : NULL;
    if (!json_is_object(before))
        return CH_ERR_MALFORMED;
    if (before->refcount == 1)
        return report_write_variables(before, call);
    json_t *after = json_incref(writing_find(writing, before, call));
    enum ch_status status = CH_OK;
    if (after == NULL) {
        after = json_copy(before);
        status = after != NULL ? report_write_variables(after, call) : CH_ERR_NO_MEMORY;
        if (status == CH_OK)
            writing_note(writing, before, call, after);
    }
    if (status == CH_OK && json_array_set(frames, (size_t)number, after) != 0)
        status = CH_ERR_NO_MEMORY;
    json_decref(after);
    return status;
}

// report_write_calls adds the variables of a thread's calls to copies of its frames.
static enum ch_status report_write_calls(struct writing *writing, json_t *thread,
                                         const json_t *calls)
{
    json_t *frames = report_own_frames(thread);
    enum ch_status status = frames != NULL ? CH_OK : CH_ERR_MALFORMED;
    for (size_t i = 0; status == CH_OK && i < json_array_size(calls); i++)
        status = report_write_call(writing, frames, json_array_get(calls, i));
    return status;
}

// report_write_thread does so, or takes the backtrace of a thread whose calls are the
// same.
static enum ch_status report_write_thread(struct writing *writing, json_t *thread,
                                          const json_t *calls)
{
    json_t *before = json_object_get(thread, "backtrace");
    bool shared = before != NULL && before->refcount > 1;
    json_t *known = shared ? writing_find(writing, before, calls) : NULL;
    if (json_array_size(calls) == 0)
        return CH_OK;
    if (known != NULL)
        return json_object_set(thread, "backtrace", known) == 0 ? CH_OK
                                                                : CH_ERR_NO_MEMORY;
    if (!shared)
        return report_write_calls(writing, thread, calls);
    (void)json_incref(before);
    enum ch_status status = report_write_calls(writing, thread, calls);
    if (status == CH_OK)
        writing_note(writing, before, calls, json_object_get(thread, "backtrace"));
    json_decref(before);
    return status;
}

// is_registers checks the child's answer.
static bool is_registers(const json_t *registers)
{
    bool right = json_is_array(registers) &&
                 json_array_size(registers) <= ARGUMENT_REPORT_REGISTERS;
    for (size_t i = 0; i < json_array_size(registers); i++) {
        const json_t *one = json_array_get(registers, i);
        const json_t *frame = json_object_get(one, "frame");
        json_t *values = json_object_get(one, "registers");
        uint64_t number;
        const char *name;
        json_t *value;
        right = right && json_is_integer(frame) && json_integer_value(frame) >= 0 &&
                json_is_object(values);
        json_object_foreach(values, name, value)
        {
            right = right && report_address_read(value, &number);
        }
    }
    return right;
}

enum ch_status argument_report_write_registers(json_t *report, json_t *registers)
{
    json_t *threads = json_object_get(report, "threads");
    if (registers == NULL)
        return CH_OK;
    if (!is_registers(registers))
        return CH_ERR_MALFORMED;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        json_t *thread = json_array_get(threads, i);
        if (json_is_true(json_object_get(thread, "crashed")))
            (void)json_object_set(thread, "frame_registers", registers);
    }
    return CH_OK;
}

enum ch_status argument_report_write(json_t *report, const json_t *all)
{
    const json_t *threads = json_object_get(report, "threads");
    struct writing CH_CLEANUP(writing_deinit) writing = { 0 };
    enum ch_status status = json_is_array(all) ? CH_OK : CH_ERR_MALFORMED;
    for (size_t i = 0; status == CH_OK && i < json_array_size(all); i++)
        status = report_write_thread(&writing, json_array_get(threads, i),
                                     json_array_get(all, i));
    return status;
}
