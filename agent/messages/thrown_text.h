// SPDX-License-Identifier: Apache-2.0
//
// The text of a thrown C++ object: what() of a class derived from std::exception, or
// the value of a thrown number, std::string or C string.
//
// what() is found by the class's type_info and vtable and followed by code_walk.h;
// nothing of the program's is run. Where that does not succeed, the text that a
// std::logic_error or std::runtime_error was made with is taken. libstdc++ and libc++
// lay these out alike, but for std::string.
//
// All of it is the target's memory: every walk and every text has a limit.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"

enum { EXCEPTION_TYPE_MAX = 512, EXCEPTION_WHAT_MAX = 4096 };

// A thrown_object is an object with the address of its type_info.
struct thrown_object {
    uint64_t type;
    uint64_t object;
};

// thrown_code tells code from data in the target; without is_code, none is followed.
struct thrown_code {
    enum unwind_arch_id arch;
    bool (*is_code)(void *context, uint64_t address);
    void *context;
};

// thrown_type_name reads the mangled name of a type.
CH_CHECKED enum ch_status thrown_type_name(const struct memory_reader *reader,
                                           uint64_t type, char *out, size_t size);

// thrown_declared makes the class that std::throw_with_nested derives from what was
// passed to it the class that was passed.
void thrown_declared(const struct memory_reader *reader, struct thrown_object *thrown);

// thrown_nested gives the object that std::throw_with_nested has kept a pointer to in
// thrown; 0: it has kept none.
uint64_t thrown_nested(const struct memory_reader *reader,
                       const struct thrown_object *thrown);

// thrown_text_read reads the text on one line; empty: it is not known.
void thrown_text_read(const struct memory_reader *reader,
                      const struct thrown_code *code,
                      const struct thrown_object *thrown,
                      char out[static EXCEPTION_WHAT_MAX]);
