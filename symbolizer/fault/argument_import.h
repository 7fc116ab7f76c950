// SPDX-License-Identifier: Apache-2.0
//
// The functions of other images that an image's code calls, by their names.
//
// Such a call goes through a slot that the dynamic linker filled, either directly or by
// a short stub (the procedure linkage table). The slot's relocation has the name.
#pragma once
#include "symbolizer/arguments/argument_image.h"

// argument_import_of_slot gives the name of the function whose address the slot at
// vaddr has; NULL: it is no such slot.
const char *argument_import_of_slot(const struct argument_image *image, uint64_t vaddr);

// argument_import_of_stub gives the name of the function that the stub at vaddr jumps
// to; NULL: there is no stub of x86-64.
const char *argument_import_of_stub(const struct argument_image *image, uint64_t vaddr);
