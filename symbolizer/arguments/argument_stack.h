// SPDX-License-Identifier: Apache-2.0
//
// The calls of one thread, innermost first, with what is known of each: its registers,
// the image of its code, the function's entry in the debug information.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "report/file/held_file.h"
#include "symbolizer/arguments/argument_frame.h"
#include "symbolizer/arguments/argument_image.h"
#include "unwind/unwind.h"

// The images of a report with what finding arguments needs of them, and the unwinder
// over them: held stacks are walked again, by the code that walked them while the
// process was held, to recover each frame's registers.
//
// The first walk took the fastest method, which need not recover registers; this one
// uses DWARF only. It reads the held memory and, for rules and code, the images' files.

struct argument_space {
    const struct report_images *from;
    const struct symbolizer_options *options;
    const struct memory_reader *held;
    struct argument_image *images; // parallel to from, opened when needed
    struct memory_reader memory;
    struct unwind_image *unwind; // by address
    size_t *image_of;            // index in images of each unwind image
    size_t *unwind_of;           // and the reverse
    const struct unwind_arch *arch;
    struct unwind_space *space; // NULL: nothing was walked yet
};

// argument_space_init makes a space over the images from, the held memory and options,
// all of which must outlive it.
CH_CHECKED enum ch_status argument_space_init(struct argument_space *space,
                                              const struct report_images *from,
                                              const struct memory_reader *held,
                                              const struct symbolizer_options *options);
void argument_space_deinit(struct argument_space *space);

// argument_space_open gives image index with its files open.
struct argument_image *argument_space_open(struct argument_space *space, size_t index);

// ARGUMENT_CALLS_MAX is the number of calls of a thread that are examined.
enum { ARGUMENT_CALLS_MAX = 256 };

struct argument_share;

struct argument_call {
    struct argument_frame frame;
    uint64_t address;             // its pc or return address
    struct argument_image *image; // NULL: none
    uint64_t vaddr;               // of the instruction: for a call, one within it
    bool resolved;                // the members below were looked up
    bool has_function;
    Dwarf_Die function;
    bool based; // frame_base was looked up
    bool has_frame_base;
    uint64_t frame_base;
    // What was passed in each register, as far as it was looked up: one more than the
    // status of looking it up, and the value.
    uint8_t passed_status[UNWIND_REGISTERS];
    uint64_t passed[UNWIND_REGISTERS];
    bool scanned; // the members below were looked up
    struct argument_symbol symbol;
    const struct argument_scan *scan; // of the function's code; NULL: none
    const json_t *from;               // the report's frame
    size_t index;                     // its index in the backtrace
};

// An argument_fact is what a frame of the report says, cached by remainder: threads
// that wait in one place have the same frames.
struct argument_fact {
    const json_t *of; // NULL: unused
    bool inlined;
    bool has_address;
    bool system; // it says so, or else its image does
    uint64_t address;
    json_int_t image; // negative: none
};

enum { ARGUMENT_FACTS = 512 };

struct argument_stack {
    struct argument_fact facts[ARGUMENT_FACTS];
    struct argument_call *calls; // room for ARGUMENT_CALLS_MAX
    size_t count;
    size_t start; // index of the first call of startup code; count: none
    const struct unwind_arch *arch;
    uint64_t thread_pointer; // 0: not known
    const struct memory_reader *memory;
    const struct held_file *held; // where memory is from
    const struct symbolizer_options *options;
    struct argument_share *share; // of values for the report
};

// argument_stack_create allocates an empty stack, which the process keeps to its end;
// NULL: out of memory.
struct argument_stack *argument_stack_create(void);

// argument_stack_read fills stack with the calls of a held thread of a report, as far
// as registers can be recovered and the walk agrees with the report's frames.
void argument_stack_read(struct argument_stack *stack, const json_t *thread,
                         const struct held_thread *held, struct argument_space *space);

// argument_stack_resolve looks up the function of call index in the debug information
// of its image, which it reads for that. True: it has_function.
bool argument_stack_resolve(const struct argument_stack *stack, size_t index);
