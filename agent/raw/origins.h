// SPDX-License-Identifier: Apache-2.0
//
// Where bad values come from: what the registers of the crashed thread hold that is no
// address of anything, examined for the forms in which allocators, fills, texts and
// damaged pointers leave their mark.
//
// Each is a claim about one value, made only with a proof of its form: a link of a free
// list decodes to a piece of the same size, a pointer that was cut leads to the start
// of a piece in use, and so on. Which register was to blame is not known yet (there is
// no disassembler here); the free phase keeps that one's (diagnosis_origin.c). All
// memory is the target's, and what is read of it is bounded.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/capture.h"
#include "report/json/json_writer.h"

// A library that was unloaded, by what the dynamic linker has left of it: glibc's
// description of it (struct link_map) stays in freed memory until that is used again.
//
// It is known by its form: it points to itself and, for its name, into itself, and has
// the bounds of an image of which nothing is mapped any more. Only what the library was
// called is taken from it.

enum { ORIGIN_IMAGE_NAME_BYTES = 64 };

enum { ORIGINS_MAX = 24, ORIGIN_TEXT_BYTES = 16 };

struct origin {
    const char *register_name; // NULL: of the fault's address
    uint64_t value;
    const char *kind;   // as crash.provenance has it
    const char *filler; // of a fill: what fills memory with it; NULL: unknown
    uint64_t address;   // freed-chunk: the piece; truncated, bit-flip: the
                        // whole pointer; 0: none
    uint64_t next;      // freed-chunk: the piece that follows; 0: none
    uint64_t offset;    // freed-chunk: how far after the link the value is
    const char *holder; // the register that has the whole pointer, "stack", or
                        // "malloc": it is the start of a piece in use
    unsigned bit;       // bit-flip
    pid_t thread;       // guard-page
    char text[ORIGIN_TEXT_BYTES];        // text
    char image[ORIGIN_IMAGE_NAME_BYTES]; // unloaded-image
};

struct origins {
    struct origin list[ORIGINS_MAX];
    size_t count;
};

// origins_find examines the registers of the crash, and the address of the fault.
void origins_find(const struct capture *capture, uint64_t fault_address,
                  struct origins *out);

// origins_find_unloaded adds the library that had the address of the fault, if one was
// unloaded there.
void origins_find_unloaded(const struct capture *capture, uint64_t fault_address,
                           struct origins *out);

// origins_write writes them as the member suspects, unless there are none.
void origins_write(struct json_writer *w, const struct capture *capture,
                   const struct origins *origins);
