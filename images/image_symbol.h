// SPDX-License-Identifier: Apache-2.0
//
// The address of a symbol that an image exports, looked up in the memory of the process
// or core by the image's own hash table (formats/debug/elf_hash.h). No file is opened.
#pragma once
#include "formats/debug/elf.h"
#include "images/images.h"

// image_symbol_find finds the address of the symbol name. CH_ERR_NOT_FOUND: the image
// does not define it, or has no such table. CH_ERR_FAULT: the table cannot be read.
// CH_ERR_LIMIT: its chain does not end.
CH_CHECKED enum ch_status image_symbol_find(const struct memory_reader *reader,
                                            const struct target_image *image,
                                            const char *name, uint64_t *out);

// image_symbol_find_range also gives the symbol's size.
CH_CHECKED enum ch_status image_symbol_find_range(const struct memory_reader *reader,
                                                  const struct target_image *image,
                                                  const char *name, uint64_t *out,
                                                  uint64_t *out_size);

// image_symbol_find_in looks name up in the images whose path contains library
// ("/libc.so"); 0: none has such a symbol.
uint64_t image_symbol_find_in(const struct memory_reader *reader,
                              const struct target_images *images, const char *library,
                              const char *name);

// image_symbol_in_file is the vaddr of a symbol of the file's .symtab, which programs
// have that are not stripped, also static ones; 0: it has no such symbol.
uint64_t image_symbol_in_file(const struct elf_view *view, const char *name);
