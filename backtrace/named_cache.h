// SPDX-License-Identifier: Apache-2.0
//
// The names that were found in this process, and the files that they were found in:
// symbolizing an address again costs a look-up in a table.
//
// An image is known by its path and build ID, not by where it is loaded, so entries
// stay right over dlopen and dlclose. An image without a build ID is known for as long
// as its list of images exists. The names of an address are shared by reference count;
// the table drops those that were not used for the longest time when it is full.
//
// Finding a known address takes the lock of one of many parts of the table. A new
// address takes the lock of its image, which one thread at a time reads. The table's
// locks are held across fork; an image that another thread was reading then is opened
// again in the child.
#pragma once
#include "backtrace/image_list.h"
#include "base/status.h"
#include "crashhook/backtrace_symbols.h"

// A named_image is an image whose names are looked up.
struct named_image;

// A named_entry holds the symbols at one address, innermost first, without their
// images.
struct named_entry {
    atomic_size_t references;
    struct named_entry *next;  // in the same place of the table
    struct named_entry *older; // in the order in which they are dropped
    struct named_image *image;
    uint64_t offset; // of the address in the image
    unsigned flags;  // enum crashhook_symbolication_options, and if it follows a call
    bool is_used;    // since it was last considered for dropping
    size_t bytes;
    size_t count;
    struct crashhook_symbol symbols[];
};

// named_cache_find gives a reference to the symbols at an adjusted address of image.
// after_call: the address that was captured is the one after it.
CH_CHECKED enum ch_status named_cache_find(struct crashhook_image *image,
                                           uint64_t address, bool after_call,
                                           unsigned options, struct named_entry **out);

// named_entry_release drops a reference.
void named_entry_release(struct named_entry *entry);
