// SPDX-License-Identifier: Apache-2.0
//
// What arguments are found by in one image: its call frame information, its types, and
// from its debug information the functions by address.
#pragma once
#include <stdint.h>

#include "symbolizer/report_frames.h"
#include "symbolizer/symbolizer.h"
#include "symbolizer/type_image.h"
#include "symbolizer/unit_index.h"

// An argument_unit is one whose functions were read, because the file's table of
// addresses has it.
struct argument_unit {
    void *die; // which unit: where its entry is
    struct unit_scopes scopes;
};

struct argument_image {
    bool opened;
    uint64_t bias; // address - vaddr
    struct type_image types;
    Dwarf_CFI *eh_frame;
    Dwarf_CFI *debug_frame; // of the debug file; owned by its Dwarf
    uint64_t text[2];       // first and one past the last address of code
    struct argument_unit *listed;
    size_t listed_count;
    size_t listed_capacity;
    bool indexed; // units is there: addresses were asked for that the table has not
    bool unindexable;
    struct unit_index units;
};

// argument_image_open opens the files of an image of a report; what is not there is
// left out.
void argument_image_open(struct argument_image *image, const struct report_image *from,
                         const struct symbolizer_options *options);

// argument_image_close frees what image holds; a zeroed one is closed.
void argument_image_close(struct argument_image *image);

// argument_image_function finds the entry of the function that vaddr is in, inlined
// calls left out. CH_ERR_NOT_FOUND: debug information has none.
CH_CHECKED enum ch_status argument_image_function(struct argument_image *image,
                                                  uint64_t vaddr, Dwarf_Die *out);
