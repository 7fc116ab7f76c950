// SPDX-License-Identifier: Apache-2.0
//
// The Java frames of a held process, of the HotSpot virtual machine: what its compiled
// code and its interpreter ran, read from outside by the virtual machine's own
// description of itself (hotspot_layout.h), and how to leave such a frame.
//
// Unlike other interpreters' frames these are native frames too: each frame of a walk
// that is in the virtual machine's code is looked up here. Everything is hostile: an
// object counts as a method only if its class refers back to it, lists have limits, and
// all look-ups together have one (HOTSPOT_WORK). x86-64 alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "images/images.h"
#include "languages/hotspot_layout.h"
#include "languages/interpreted.h"
#include "unwind/unwind.h"

// Limits: of the parts of the code, of the steps of all look-ups, of the methods that
// were inlined into each other, of the bytes of a name, and of a table of lines.
enum {
    HOTSPOT_HEAPS_MAX = 8,
    HOTSPOT_WORK = 2000000,
    HOTSPOT_INLINED_MAX = 32,
    HOTSPOT_NAME_MAX = 1024,
    HOTSPOT_LINES_MAX = 64 << 10,
    HOTSPOT_KNOWN_METHODS = 64,
};

// A hotspot_heap is a part of the code: blocks of segments, and a map with a byte for
// each segment, its distance from a segment that is nearer to its block's beginning.
struct hotspot_heap {
    uint64_t low;
    uint64_t high;
    uint64_t map;
    uint64_t map_high;
    uint32_t shift; // 1 << shift is the size of a segment
};

enum hotspot_code_kind { HOTSPOT_STUB, HOTSPOT_INTERPRETER, HOTSPOT_COMPILED };

// A hotspot_code is a blob of code.
struct hotspot_code {
    enum hotspot_code_kind kind;
    uint64_t blob; // its description
    uint64_t name; // the address of its name
    uint64_t begin;
    uint64_t end;
    uint64_t frame_bytes; // size of its frames; 0: they have no common size
    int32_t complete;     // from here on a frame is complete; negative: not known
};

struct hotspot {
    const struct memory_reader *reader;
    const struct unwind_arch *arch;
    struct hotspot_layout layout;
    struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
    size_t heap_count;                     // 0: there is no virtual machine
    uint64_t known[HOTSPOT_KNOWN_METHODS]; // methods that were checked
    uint64_t found_pc;                     // the last look-up
    struct hotspot_code found;
    size_t work;
    const char *problem; // why not all was read; NULL: nothing was left out
};

// A hotspot_place is a method as it is shown: its name with its class, the file's name
// without a folder, and the line; 0: not known.
struct hotspot_place {
    struct text function;
    struct text file;
    uint32_t line;
};

// hotspot_open finds a virtual machine among the images. Hotspot is all zero.
// CH_ERR_NOT_FOUND: there is none. CH_ERR_UNSUPPORTED: it is of a version that is not
// known. CH_ERR_MALFORMED, CH_ERR_FAULT: its description is damaged.
CH_CHECKED enum ch_status hotspot_open(struct hotspot *hotspot,
                                       const struct memory_reader *reader,
                                       const struct unwind_arch *arch,
                                       const struct target_images *images);

// hotspot_open_heaps finds the code of a virtual machine whose layout is set.
CH_CHECKED enum ch_status hotspot_open_heaps(struct hotspot *hotspot);

// hotspot_find finds the blob of an address in the virtual machine's code.
bool hotspot_find(struct hotspot *hotspot, uint64_t pc, struct hotspot_code *out);

// hotspot_step is an unwind_leave_fn over a struct hotspot.
enum ch_status hotspot_step(void *context, const struct unwind_frame *frame,
                            struct unwind_state *state);

// hotspot_collect adds what a frame of a walk ran to table, innermost first: methods,
// each with the offset of its bytecode, or for other code of the virtual machine the
// address of its name. It gives the number of the group; INTERPRETED_NONE: the frame is
// in no such code.
uint32_t hotspot_collect(struct hotspot *hotspot, const struct unwind_frame *frame,
                         const struct unwind_state *state, struct interpreted *table);

// hotspot_describe names a method. Without a function nothing of it is known.
void hotspot_describe(const struct hotspot *hotspot,
                      const struct interpreted_frame *frame, struct hotspot_place *out);
void hotspot_place_deinit(struct hotspot_place *place);

// hotspot_collect_compiled adds the methods of a frame of compiled code. False: they
// are not known, and nothing was added.
bool hotspot_collect_compiled(struct hotspot *hotspot, const struct hotspot_code *code,
                              const struct unwind_frame *frame,
                              const struct unwind_state *state,
                              struct interpreted *table);

// hotspot_is_method returns true if object is a method.
bool hotspot_is_method(struct hotspot *hotspot, uint64_t object);

// hotspot_bytecode gives the offset of a bytecode in a method; INTERPRETED_NO_OFFSET:
// it is not in it.
int32_t hotspot_bytecode(const struct hotspot *hotspot, uint64_t method,
                         uint64_t address);

// hotspot_place_in_blob reads where something in a blob begins: until version 21 its
// address, since 25 its offset. False: it cannot be read.
bool hotspot_place_in_blob(const struct hotspot *hotspot, uint64_t blob,
                           enum hotspot_word until_21, enum hotspot_word since_25,
                           uint64_t *out);

// hotspot_member reads a member's word, and hotspot_number one of size bytes; false: it
// cannot be read.
bool hotspot_member(const struct hotspot *hotspot, uint64_t object,
                    enum hotspot_word member, uint64_t *out);
bool hotspot_number(const struct hotspot *hotspot, uint64_t object,
                    enum hotspot_word member, size_t size, uint64_t *out);
