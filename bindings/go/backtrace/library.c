// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// The types are those of crashhook/backtrace.h, which need not be installed.
enum { RETURN_ADDRESS = 1, SYMBOLICATION_DEFAULT = 7, FRAMES_MAX = 64 };

struct frame {
    int kind;
    uint64_t address;
    uint32_t width;
    uint64_t omitted;
};

struct symbol {
    const void *image;
    size_t image_index;
    const char *raw_name;
    const char *name;
    int64_t offset;
    const char *path;
    uint32_t line;
    uint32_t column;
};

struct named_frame {
    struct frame captured;
    const struct symbol *symbol;
    _Bool is_inline;
};

struct raw_options {
    size_t size;
    int algorithm;
    _Bool cbf;
    size_t offset;
    const void *context;
    int *end;
};

static struct {
    int (*from_addresses)(const uint64_t *, size_t, int, void **);
    int (*symbolicate)(const void *, void *, unsigned, void **);
    void (*destroy)(void *);
    void (*destroy_named)(void *);
    size_t (*count)(const void *);
    const struct named_frame *(*at)(const void *, size_t);
    char *(*format)(const void *, int);
    char *(*to_json)(const void *);
    const char *(*image_name)(const void *);
    size_t (*capture_raw)(uint64_t *, size_t, const struct raw_options *);
} functions;

int library_load(void)
{
    static const struct {
        void *place;
        const char *name;
    } wanted[] = {
        { &functions.from_addresses, "crashhook_backtrace_from_addresses" },
        { &functions.symbolicate, "crashhook_backtrace_symbolicate" },
        { &functions.destroy, "crashhook_backtrace_destroy" },
        { &functions.destroy_named, "crashhook_symbolicated_backtrace_destroy" },
        { &functions.count, "crashhook_symbolicated_backtrace_count" },
        { &functions.at, "crashhook_symbolicated_backtrace_at" },
        { &functions.format, "crashhook_symbolicated_backtrace_format" },
        { &functions.to_json, "crashhook_symbolicated_backtrace_to_json" },
        { &functions.image_name, "crashhook_image_name" },
        { &functions.capture_raw, "crashhook_backtrace_capture_raw" },
    };
    const char *path = getenv("LIBCRASHHOOK_BACKTRACE");
    void *library =
        dlopen(path != NULL ? path : "libcrashhook-backtrace.so.1", RTLD_NOW);
    if (library == NULL)
        return 0;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *found = dlsym(library, wanted[i].name);
        if (found == NULL)
            return 0;
        memcpy(wanted[i].place, &found, sizeof(found));
    }
    return 1;
}

int library_from_addresses(const uint64_t *addresses, size_t count, void **out)
{
    return functions.from_addresses(addresses, count, RETURN_ADDRESS, out);
}

int library_symbolicate(const void *backtrace, void **out)
{
    return functions.symbolicate(backtrace, NULL, SYMBOLICATION_DEFAULT, out);
}

void library_destroy(void *backtrace)
{
    functions.destroy(backtrace);
}

void library_destroy_named(void *named)
{
    functions.destroy_named(named);
}

size_t library_count(const void *named)
{
    return functions.count(named);
}

void library_frame_at(const void *named, size_t index, struct library_frame *out)
{
    const struct named_frame *frame = functions.at(named, index);
    const struct symbol *symbol = frame->symbol;
    *out = (struct library_frame){ .address = frame->captured.address,
                                   .is_inline = frame->is_inline };
    if (symbol == NULL)
        return;
    out->function = symbol->name;
    out->file = symbol->path;
    out->line = symbol->line;
    if (symbol->image != NULL)
        out->image = functions.image_name(symbol->image);
}

char *library_format(const void *named)
{
    return functions.format(named, 0);
}

char *library_to_json(const void *named)
{
    return functions.to_json(named);
}

// capture stores where each call is, from its caller's caller or a handler's
// ucontext_t.
__attribute__((noinline)) static size_t capture(uint64_t *out, size_t capacity,
                                                const void *context)
{
    const struct raw_options options = { .size = sizeof(options),
                                         .offset = context == NULL ? 2 : 0,
                                         .context = context };
    size_t count = functions.capture_raw(out, capacity, &options);
    // They are addresses of returns, but for the first one with a context.
    for (size_t i = context != NULL; i < count; i++)
        out[i]--;
    return count;
}

// A stack is that of the functions of C which call Go, as of the call. The frame of
// what the runtime calls then is reused before Go asks for the stack.
struct stack {
    size_t count;
    uint64_t addresses[FRAMES_MAX];
};

void library_context(void *argument)
{
    struct stack **stack = argument;
    if (*stack != NULL) {
        free(*stack);
        return;
    }
    *stack = malloc(sizeof(**stack));
    if (*stack != NULL)
        (*stack)->count = capture((*stack)->addresses, FRAMES_MAX, NULL);
}

void library_trace(void *argument)
{
    const struct {
        const struct stack *stack; // NULL: from here
        const void *interrupted;   // a handler's ucontext_t, or NULL
        uint64_t *addresses;
        uintptr_t capacity;
    } *wanted = argument;
    size_t count = 0;
    if (wanted->stack == NULL) {
        count = capture(wanted->addresses, wanted->capacity, wanted->interrupted);
    } else {
        count = wanted->stack->count < wanted->capacity ? wanted->stack->count
                                                        : wanted->capacity;
        memcpy(wanted->addresses, wanted->stack->addresses,
               count * sizeof(*wanted->addresses));
    }
    if (count < wanted->capacity)
        wanted->addresses[count] = 0;
}
