// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_stack.h"

#include <stdlib.h>
#include <string.h>

#include "report/system_image.h"
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
