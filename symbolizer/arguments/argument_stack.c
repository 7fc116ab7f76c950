// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_stack.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "report/system_image.h"
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/types/type_value.h"
#include "unwind/unwind_state.h"

bool argument_stack_resolve(const struct argument_stack *stack, size_t index)
{
    struct argument_call *call = &stack->calls[index];
    if (!call->resolved && call->image != NULL)
        call->has_function =
            argument_image_function(call->image, call->vaddr, &call->function) == CH_OK;
    call->resolved = true;
    return call->has_function;
}

// stack_is_system says whether the call is in code of the system.
static bool stack_is_system(const struct argument_call *call,
                            const struct report_images *of)
{
    const json_t *said = json_object_get(call->from, "system");
    json_int_t index = json_integer_value(json_object_get(call->from, "image"));
    return json_is_boolean(said)
               ? json_is_true(said)
               : call->image != NULL && system_image(of->items[index].path);
}

// find_program_start separates the program's calls from startup code: the arguments
// with which a libc calls main or a thread's function are looked up only if they are
// asked for.
static void find_program_start(struct argument_stack *stack,
                               const struct report_images *images)
{
    size_t start = stack->count;
    while (start > 0 && stack_is_system(&stack->calls[start - 1], images))
        start--;
    stack->start = start > 0 ? start : stack->count;
}

// reading follows the frames of a report and those of the walk in parallel.
struct reading {
    struct argument_stack *stack;
    struct argument_space *space;
    const json_t *frames;
    size_t next; // next frame of the report
    const uint8_t *vectors;
};

// stack_find_code finds the image of a call whose frame is known.
static void stack_find_code(struct argument_call *call, struct argument_space *space)
{
    const json_t *image = json_object_get(call->from, "image");
    json_int_t index = json_integer_value(image);
    if (!json_is_integer(image) || index < 0 || (size_t)index >= space->from->count)
        return;
    call->image = argument_space_open(space, (size_t)index);
    call->vaddr = call->address - call->image->bias - (call->frame.activation ? 0 : 1);
}

// stack_read_next gives the report's next physical frame, and passes over it; NULL:
// there is none, or frames are omitted here.
static const json_t *stack_read_next(struct reading *reading)
{
    const json_t *frame;
    do
        frame = json_array_get(reading->frames, reading->next++);
    while (json_is_true(json_object_get(frame, "inline")));
    return json_is_string(json_object_get(frame, "address")) ? frame : NULL;
}

// read_call is an unwind_frame_fn: the walk continues as long as it agrees with the
// report.
static bool read_call(void *context, const struct unwind_frame *frame,
                      const struct unwind_state *state)
{
    struct reading *reading = context;
    struct argument_stack *stack = reading->stack;
    const json_t *from = stack_read_next(reading);
    uint64_t address;
    if (from == NULL || stack->count == ARGUMENT_CALLS_MAX ||
        !report_address_read(json_object_get(from, "address"), &address) ||
        address != frame->address)
        return false;
    struct argument_call *call = &stack->calls[stack->count++];
    *call = (struct argument_call){
        .frame = { .registers = state->registers,
                   .known = unwind_state_sure(state),
                   .activation = frame->kind == UNWIND_KIND_PC,
                   .vectors = stack->count == 1 ? reading->vectors : NULL },
        .address = address,
        .from = from,
        .index = reading->next - 1,
    };
    stack_find_code(call, reading->space);
    if (unwind_find_cfa(reading->space->space, frame, state, &call->frame.cfa) != CH_OK)
        call->frame.cfa = 0;
    return true;
}

void argument_stack_read(struct argument_stack *stack, const json_t *thread,
                         const struct held_thread *held, struct argument_space *space)
{
    struct reading reading = {
        .stack = stack,
        .space = space,
        .frames = json_object_get(json_object_get(thread, "backtrace"), "frames"),
        .vectors = held->vectors,
    };
    stack->count = 0;
    stack->arch = held->arch;
    if (argument_space_walk(space, held->arch, &held->registers, read_call, &reading) !=
        CH_OK)
        stack->count = 0;
    find_program_start(stack, space->from);
}

struct argument_stack *argument_stack_create(void)
{
    struct argument_stack *stack = calloc(1, sizeof(*stack));
    struct argument_call *calls = calloc(ARGUMENT_CALLS_MAX, sizeof(*calls));
    if (stack == NULL || calls == NULL) {
        free(calls);
        free(stack);
        return NULL;
    }
    stack->calls = calls;
    return stack;
}

static bool find_frame_base(const struct argument_stack *stack,
                            const struct argument_call *call, uint64_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    struct argument_location location;
    Dwarf_Die function = call->function;
    const struct argument_context context = { .frame = &call->frame,
                                              .memory = stack->memory,
                                              .bias = call->image->bias };
    if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, call->vaddr, &ops, &count, 1) != 1 ||
        argument_expression_evaluate(&context, ops, count, &location) != CH_OK)
        return false;
    *out = location.kind == ARGUMENT_IN_REGISTER
               ? call->frame.registers.value[location.value]
               : location.value;
    return true;
}

bool argument_stack_frame_base(const struct argument_stack *stack,
                               const struct argument_call *call, uint64_t *out)
{
    struct argument_call *found = &stack->calls[call - stack->calls];
    if (!found->based)
        found->has_frame_base = find_frame_base(stack, call, &found->frame_base);
    found->based = true;
    if (found->has_frame_base)
        *out = found->frame_base;
    return found->has_frame_base;
}

static void stack_set_string(json_t *object, const char *key, const char *value)
{
    if (value != NULL)
        (void)json_object_set_new(object, key, json_string(value));
}

// stack_text_of gives the text of a value that is a string of the program: an array of
// characters, an object that holds text, or what a pointer to characters points to.
// NULL: it is none.
static const json_t *stack_text_of(const struct argument_list *list,
                                   const struct argument *argument)
{
    const json_t *pointed = json_object_get(argument->value, "value");
    if (json_is_object(argument->value))
        return json_is_string(pointed) ? pointed : NULL;
    return json_is_string(argument->value) &&
                   type_value_holds_text(list->table, argument->type)
               ? argument->value
               : NULL;
}

void argument_list_add(struct argument_list *list, struct argument *argument)
{
    const json_t *text = stack_text_of(list, argument);
    CH_CLEANUP(text_deinit) struct text type = { 0 };
    if (list->all == NULL)
        list->all = json_array();
    json_t *one = json_pack("{s:I}", "index", (json_int_t)json_array_size(list->all));
    stack_set_string(one, "name", argument->name);
    if (argument->type != TYPE_UNKNOWN_INDEX &&
        type_name(list->table, argument->type, &type) == CH_OK)
        stack_set_string(one, "type", type.bytes);
    if (argument->value != NULL)
        (void)json_object_set_new(one, "value", argument->value);
    if (text != NULL)
        (void)json_object_set(one, "text", (json_t *)(uintptr_t)text);
    if (argument->entry_value != NULL)
        (void)json_object_set_new(one, "entry_value", argument->entry_value);
    stack_set_string(one, "source", argument->source);
    stack_set_string(one, "confidence", argument->confidence);
    stack_set_string(one, "reason", argument->reason);
    (void)json_array_append_new(list->all, one);
}
