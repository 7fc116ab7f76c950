// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_stack.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "report/system_image.h"
#include "symbolizer/argument_expression.h"
#include "symbolizer/type_name.h"

static bool read_hex(const json_t *value, uint64_t *out)
{
    const char *text = json_string_value(value);
    char *end;
    if (text == NULL || strncmp(text, "0x", 2) != 0)
        return false;
    *out = strtoull(text, &end, 16);
    return end != text && *end == 0;
}

// read_registers takes the registers of a stopped thread; false: it is of another
// machine than x86-64.
static bool read_registers(const json_t *thread, struct argument_frame *out)
{
    static const char *const names[ARGUMENT_REGISTERS] = {
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
        "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"
    };
    const json_t *registers = json_object_get(thread, "registers");
    *out = (struct argument_frame){ .activation = true };
    for (int i = 0; i < ARGUMENT_REGISTERS; i++)
        if (read_hex(json_object_get(registers, names[i]), &out->value[i]))
            out->known |= 1u << i;
    return argument_frame_knows(out, ARGUMENT_PC);
}

// find_code finds the image of a call whose frame is known.
static void find_code(struct argument_call *call, const struct report_images *from,
                      struct argument_image *images,
                      const struct symbolizer_options *options)
{
    json_int_t index = json_integer_value(json_object_get(call->from, "image"));
    if (!json_is_integer(json_object_get(call->from, "image")) || index < 0 ||
        (size_t)index >= from->count)
        return;
    call->image = &images[index];
    argument_image_open(call->image, &from->items[index], options);
    call->vaddr = call->frame.value[ARGUMENT_PC] - call->image->bias -
                  (call->frame.activation ? 0 : 1);
}

bool argument_stack_resolve(const struct argument_stack *stack, size_t index)
{
    struct argument_call *call = &stack->calls[index];
    if (!call->resolved && call->image != NULL)
        call->has_function =
            argument_image_function(call->image, call->vaddr, &call->function) == CH_OK;
    call->resolved = true;
    return call->has_function;
}

// step goes on to the caller of call.
static enum ch_status step(struct argument_call *call,
                           const struct memory_reader *memory,
                           struct argument_frame *out)
{
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (call->image == NULL)
        return status;
    if (call->image->eh_frame != NULL)
        status = argument_frame_step(&call->frame, call->image->eh_frame, call->vaddr,
                                     memory, out);
    if (status != CH_ERR_NOT_FOUND)
        return status;
    Dwarf_CFI *debug_frame = argument_image_debug_frame(call->image);
    if (debug_frame != NULL)
        status =
            argument_frame_step(&call->frame, debug_frame, call->vaddr, memory, out);
    return status;
}

// is_call is whether a frame of the report is one that registers are restored for:
// inlined calls have those of the function they are in.
static bool is_call(const json_t *frame)
{
    return json_is_string(json_object_get(frame, "address")) &&
           !json_is_true(json_object_get(frame, "inline"));
}

// is_system is whether the call is in code of the system.
static bool is_system(const struct argument_call *call, const struct report_images *of)
{
    const json_t *said = json_object_get(call->from, "system");
    json_int_t index = json_integer_value(json_object_get(call->from, "image"));
    return json_is_boolean(said)
               ? json_is_true(said)
               : call->image != NULL && system_image(of->items[index].path);
}

// find_start tells the calls of the program from those that started it: what a libc
// calls main or a thread's function with is looked up only where that is asked for.
static void find_start(struct argument_stack *stack, const struct report_images *images)
{
    size_t start = stack->count;
    while (start > 0 && is_system(&stack->calls[start - 1], images))
        start--;
    stack->start = start > 0 ? start : stack->count;
}

static void read_calls(struct argument_stack *stack, const json_t *thread,
                       const struct report_images *from, struct argument_image *images)
{
    const json_t *frames =
        json_object_get(json_object_get(thread, "backtrace"), "frames");
    struct argument_frame next;
    stack->count = 0;
    if (!read_registers(thread, &next))
        return;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        uint64_t address;
        if (!json_is_string(json_object_get(frame, "address")))
            return; // frames are missing here
        if (!is_call(frame))
            continue;
        if (stack->count == ARGUMENT_CALLS_MAX ||
            !read_hex(json_object_get(frame, "address"), &address) ||
            address != next.value[ARGUMENT_PC])
            return;
        struct argument_call *call = &stack->calls[stack->count++];
        *call = (struct argument_call){ .frame = next, .from = frame, .index = i };
        find_code(call, from, images, stack->options);
        if (step(call, stack->memory, &next) != CH_OK)
            return;
    }
}

void argument_stack_read(struct argument_stack *stack, const json_t *thread,
                         const struct report_images *from,
                         struct argument_image *images)
{
    read_calls(stack, thread, from, images);
    find_start(stack, from);
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

void argument_stack_destroy(struct argument_stack *stack)
{
    if (stack != NULL)
        free(stack->calls);
    free(stack);
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
                                              .cfa = call->frame.cfa,
                                              .bias = call->image->bias };
    if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, call->vaddr, &ops, &count, 1) != 1 ||
        argument_expression_evaluate(&context, ops, count, &location) != CH_OK)
        return false;
    *out = location.kind == ARGUMENT_IN_REGISTER ? call->frame.value[location.value]
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

static void set_string(json_t *object, const char *key, const char *value)
{
    if (value != NULL)
        (void)json_object_set_new(object, key, json_string(value));
}

void argument_list_add(struct argument_list *list, struct argument *argument)
{
    CH_CLEANUP(text_deinit) struct text type = { 0 };
    if (list->all == NULL)
        list->all = json_array();
    json_t *one = json_pack("{s:I}", "index", (json_int_t)json_array_size(list->all));
    set_string(one, "name", argument->name);
    if (argument->type != TYPE_UNKNOWN_INDEX &&
        type_name(list->table, argument->type, &type) == CH_OK)
        set_string(one, "type", type.bytes);
    if (argument->value != NULL)
        (void)json_object_set_new(one, "value", argument->value);
    if (argument->entry_value != NULL)
        (void)json_object_set_new(one, "entry_value", argument->entry_value);
    set_string(one, "source", argument->source);
    set_string(one, "confidence", argument->confidence);
    set_string(one, "reason", argument->reason);
    (void)json_array_append_new(list->all, one);
}
