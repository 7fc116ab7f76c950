// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory_reader.h"
#include "report/file/system_image.h"
#include "symbolizer/arguments/argument_image.h"
#include "unwind/unwind.h"
#include "unwind/unwind_state.h"

// space_read_memory is a memory_read_fn. It reads held memory, and otherwise the file
// of an opened image, except for what the program may have overwritten.
static size_t space_read_memory(void *source, uint64_t address, void *to, size_t length)
{
    const struct argument_space *space = source;
    size_t size = space->held->read(space->held->source, address, to, length);
    const struct unwind_image *unwind =
        size == 0 ? image_search(space->unwind, space->from->count, address) : NULL;
    if (unwind == NULL)
        return size;
    const struct argument_image *image =
        &space->images[space->image_of[unwind - space->unwind]];
    const uint8_t *bytes =
        argument_image_bytes(image, address - image->bias, false, &size);
    if (bytes == NULL)
        return 0;
    size = size < length ? size : length;
    memcpy(to, bytes, size);
    return size;
}

// placed is an image in the order of addresses.
struct placed {
    uint64_t start;
    size_t image;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *one = a;
    const struct placed *other = b;
    return (one->start > other->start) - (one->start < other->start);
}

// place_images lists the images for the unwinder.
static enum ch_status place_images(struct argument_space *space)
{
    size_t count = space->from->count;
    struct placed *placed = calloc(count + 1, sizeof(*placed));
    if (placed == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){ space->from->items[i].base, i };
    qsort(placed, count, sizeof(*placed), compare_placed);
    for (size_t i = 0; i < count; i++) {
        const struct report_image *image = &space->from->items[placed[i].image];
        space->unwind[i] =
            (struct unwind_image){ .start = image->base, .end = image->end_of_text };
        space->image_of[i] = placed[i].image;
        space->unwind_of[placed[i].image] = i;
    }
    free(placed);
    return CH_OK;
}

enum ch_status argument_space_init(struct argument_space *space,
                                   const struct report_images *from,
                                   const struct memory_reader *held,
                                   const struct symbolizer_options *options)
{
    size_t count = from->count + 1;
    *space = (struct argument_space){
        .from = from,
        .options = options,
        .held = held,
        .images = calloc(count, sizeof(*space->images)),
        .memory = { .read = space_read_memory, .source = space },
        .unwind = calloc(count, sizeof(*space->unwind)),
        .image_of = calloc(count, sizeof(*space->image_of)),
        .unwind_of = calloc(count, sizeof(*space->unwind_of)),
    };
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (space->images != NULL && space->unwind != NULL && space->image_of != NULL &&
        space->unwind_of != NULL)
        status = place_images(space);
    if (status != CH_OK)
        argument_space_deinit(space);
    return status;
}

void argument_space_deinit(struct argument_space *space)
{
    unwind_space_destroy(space->space);
    for (size_t i = 0; space->images != NULL && i < space->from->count; i++)
        argument_image_close(&space->images[i]);
    free(space->images);
    free(space->unwind);
    free(space->image_of);
    free(space->unwind_of);
    *space = (struct argument_space){ 0 };
}

struct argument_image *argument_space_open(struct argument_space *space, size_t index)
{
    struct argument_image *image = &space->images[index];
    if (image->opened)
        return image;
    argument_image_open(image, &space->from->items[index], space->options);
    argument_image_rules(image, &space->unwind[space->unwind_of[index]]);
    return image;
}

// find_debug_frame is an unwind_debug_frame_fn.
static void find_debug_frame(void *context, size_t index)
{
    struct argument_space *space = context;
    argument_image_debug_frame(&space->images[space->image_of[index]],
                               &space->unwind[index]);
}

// argument_space_walk passes each frame of a stack of architecture arch to visit. An
// image's rules are available once visit has opened it.
static enum ch_status argument_space_walk(struct argument_space *space,
                                          const struct unwind_arch *arch,
                                          const struct unwind_registers *registers,
                                          unwind_frame_fn *visit, void *context)
{
    enum ch_status status = CH_OK;
    if (space->space == NULL) {
        status = unwind_space_create(arch, &space->memory, space->unwind,
                                     space->from->count, &space->space);
        space->arch = arch;
    }
    if (status != CH_OK)
        return status;
    if (space->arch != arch) // all threads of a report have one architecture
        return CH_ERR_MALFORMED;
    unwind_space_set_debug_frames(space->space, find_debug_frame, space);
    (void)unwind_walk(space->space, registers, SETTING_UNWIND_DWARF, visit, context);
    return CH_OK;
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

// stack_is_system returns true if a frame is in code of the system.
static bool stack_is_system(const struct argument_fact *fact,
                            const struct report_images *images)
{
    const json_t *said = json_object_get(fact->of, "system");
    return json_is_boolean(said)
               ? json_is_true(said)
               : fact->image >= 0 && system_image(images->items[fact->image].path);
}

// stack_fact gives what a frame of the report says.
static const struct argument_fact *stack_fact(struct argument_stack *stack,
                                              const json_t *frame,
                                              const struct report_images *images)
{
    uint64_t hash = (uint64_t)(uintptr_t)frame * UINT64_C(0x9e3779b97f4a7c15);
    struct argument_fact *fact = &stack->facts[(hash >> 32) % ARGUMENT_FACTS];
    if (fact->of == frame)
        return fact;
    const json_t *image = json_object_get(frame, "image");
    *fact = (struct argument_fact){
        .of = frame,
        .inlined = json_is_true(json_object_get(frame, "inline")),
        .image = json_is_integer(image) ? json_integer_value(image) : -1,
    };
    if (fact->image < 0 || (uint64_t)fact->image >= images->count)
        fact->image = -1;
    fact->has_address =
        report_address_read(json_object_get(frame, "address"), &fact->address);
    fact->system = stack_is_system(fact, images);
    return fact;
}

// find_program_start separates the program's calls from startup code: the arguments
// with which a libc calls main or a thread's function are looked up only if they are
// asked for.
static void find_program_start(struct argument_stack *stack,
                               const struct report_images *images)
{
    size_t start = stack->count;
    while (start > 0 && stack_fact(stack, stack->calls[start - 1].from, images)->system)
        start--;
    stack->start = start > 0 ? start : stack->count;
}

// reading follows the frames of a report and those of the walk in parallel.
struct reading {
    struct argument_stack *stack;
    struct argument_space *space;
    const json_t *frames;
    size_t next; // next frame of the report
    const struct held_thread *held;
};

// stack_find_code finds the image of a call whose frame is known.
static void stack_find_code(struct argument_call *call, struct argument_space *space,
                            json_int_t image)
{
    if (image < 0)
        return;
    call->image = argument_space_open(space, (size_t)image);
    call->vaddr = call->address - call->image->bias - (call->frame.activation ? 0 : 1);
}

// stack_read_next gives the report's next physical frame, and passes over it; NULL:
// there is none, or frames are omitted here.
static const struct argument_fact *stack_read_next(struct reading *reading)
{
    const struct argument_fact *fact;
    do {
        const json_t *frame = json_array_get(reading->frames, reading->next++);
        if (frame == NULL)
            return NULL;
        fact = stack_fact(reading->stack, frame, reading->space->from);
    } while (fact->inlined);
    return fact->has_address ? fact : NULL;
}

// read_call is an unwind_frame_fn: the walk continues as long as it agrees with the
// report.
static bool read_call(void *context, const struct unwind_frame *frame,
                      const struct unwind_state *state)
{
    struct reading *reading = context;
    struct argument_stack *stack = reading->stack;
    const struct argument_fact *from = stack_read_next(reading);
    if (from == NULL || stack->count == ARGUMENT_CALLS_MAX ||
        from->address != frame->address)
        return false;
    struct argument_call *call = &stack->calls[stack->count++];
    *call = (struct argument_call){
        .frame = { .registers = state->registers,
                   .known = unwind_state_sure(state),
                   .activation = frame->kind == UNWIND_KIND_PC,
                   .vectors = reading->held->vectors,
                   .vector_count = stack->count == 1 ? reading->held->vector_count : 0,
                   .arch = stack->arch->id },
        .address = from->address,
        .from = from->of,
        .index = reading->next - 1,
    };
    stack_find_code(call, reading->space, from->image);
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
        .held = held,
    };
    stack->count = 0;
    stack->arch = held->arch;
    stack->thread_pointer = held->thread_pointer;
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
