// SPDX-License-Identifier: Apache-2.0
//
// The code of our own process, for unwinding in a signal handler: which image an
// address is in, and the rules to leave the frame there.
//
// Images are found by the C library's _dl_find_object, which takes no lock. Where there
// is none (musl, glibc before 2.35), a table is used that the last ordinary capture or
// the loading of this library filled. Tables of rules are read where they are loaded;
// nothing is copied or allocated.
#pragma once
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "crashhook/backtrace.h"
#include "formats/debug/unwind_row.h"

struct local_image {
    uint64_t start;             // lowest mapped address
    uint64_t end;               // one past the last
    uint64_t eh_frame_hdr;      // 0: none
    const struct link_map *map; // NULL: not known
};

// local_code_image finds the image that contains address. False: none does.
bool local_code_image(uint64_t address, struct local_image *out);

// local_code_segments gives the program headers of image, and their number: 0 if they
// are not where its ELF header says.
const Elf64_Phdr *local_code_segments(const struct local_image *image, size_t *count);

// local_code_segment stores the bounds of the segment of image that contains address,
// and returns whether it is loaded, and executable if that is asked for.
bool local_code_segment(const struct local_image *image, uint64_t address,
                        bool executable, uint64_t *low, uint64_t *high);

// local_code_is_lasting returns true if image stays until the process ends.
bool local_code_is_lasting(const struct local_image *image);

// local_code_stamp is a number that changes when another file is loaded in the place of
// image.
uint64_t local_code_stamp(const struct local_image *image);

// local_code_rules gives the rules at pc, which is in image. CH_ERR_NOT_FOUND: there
// are none.
CH_CHECKED enum ch_status local_code_rules(const struct local_image *image, uint64_t pc,
                                           enum crashhook_unwind_algorithm algorithm,
                                           struct unwind_row *out);

// local_code_function is the start of the function in image that contains pc. 0: call
// frame information does not say it.
uint64_t local_code_function(const struct local_image *image, uint64_t pc);

// local_code_describe describes an image by its program headers.
void local_code_describe(const struct dl_phdr_info *info, struct local_image *out);

// local_code_publish makes these images, in any order, the ones that are found where
// the C library cannot find them itself.
void local_code_publish(const struct local_image *images, size_t count);

// local_code_any_sframe returns true if an image that was described has SFrame.
bool local_code_any_sframe(void);

// local_code_is_readable returns true if the bytes of a page at address can be read. It
// asks the kernel by a call that does nothing.
bool local_code_is_readable(uint64_t address);
