// SPDX-License-Identifier: Apache-2.0
//
// The variables of one call for the report: a list of objects, each with what was
// found of one variable. Equal ones are made once.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "symbolizer/arguments/argument_value.h"

// Values of the answer that are made once, however many frames have them.
//
// Threads that wait in one place have the same variables there, often with the same
// values. A value is known by the bytes that it is made from: the same bytes give the
// same value again, which nobody may change then. Such values take no more time or
// memory in the process that reads the answer, which has each of them once
// (report/json/tree_bytes.h).

struct argument_shared {
    uint64_t hash;
    size_t key; // its offset in the keys
    size_t size;
    json_t *value; // NULL: unused
};

// An argument_share holds a reference to each of its values; a zeroed one is empty.
struct argument_share {
    struct argument_shared *slots;
    size_t count;
    size_t room; // a power of two
    struct text keys;
    bool masked; // a text was masked in some value (argument_report.c)
};

void argument_share_deinit(struct argument_share *share);

// argument_share_find gives the value that was made from these bytes, as a new
// reference; NULL: there is none.
json_t *argument_share_find(const struct argument_share *share, const void *key,
                            size_t size);

// argument_share_add keeps a value that argument_share_find did not find. False: memory
// does not suffice.
bool argument_share_add(struct argument_share *share, const void *key, size_t size,
                        json_t *value);

// An argument_list is the variables of one call.
struct argument_list {
    const struct argument_stack *stack;
    const struct type_table *table;
    json_t *all; // an array; NULL: nothing is known of the function
    bool own;    // it holds what no other list has
};

// argument_list_begin begins the list of a call of stack in image.
void argument_list_begin(struct argument_list *list, const struct argument_stack *stack,
                         const struct argument_image *image);

// argument_list_add appends an argument, and takes its values.
void argument_list_add(struct argument_list *list, struct argument *argument);

// argument_list_end replaces the whole list by an equal one, if there was any.
void argument_list_end(struct argument_list *list);

// An argument_lists is the variables of a call by what they are to it.
struct argument_lists {
    struct argument_list arguments;
    struct argument_list locals;
    struct argument_list globals;
};

// argument_list_call gives the object of a call, number frame of its backtrace, and
// takes its lists: {"frame", "arguments", "locals", "globals", "tail_call"}. out_own:
// no other call has it.
json_t *argument_list_call(const struct argument_stack *stack,
                           const struct argument_lists *lists, size_t frame, bool tail,
                           bool *out_own);

// argument_list_thread gives the calls of a thread, an array that it takes, or an equal
// one, if there was any.
json_t *argument_list_thread(struct argument_share *share, json_t *calls);
