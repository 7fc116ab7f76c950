// SPDX-License-Identifier: Apache-2.0
//
// Where the HotSpot virtual machine of Java keeps its code and its methods. libjvm.so
// exports a description of its own structures for debuggers (gHotSpotVMStructs,
// gHotSpotVMTypes: share/runtime/vmStructs.hpp); what is wanted of it is read by name.
//
// The description is as hostile as the rest of a crashed process: an offset past
// HOTSPOT_OFFSET_MAX is not believed. How the members are used depends on the version,
// so only the versions that were tried are read: 17, 21 and 25. Until 21 a blob of code
// holds addresses, and all tables of a compiled method; in 25 it holds offsets, and the
// tables are in two pieces of memory of their own.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "images/images.h"

enum { HOTSPOT_OFFSET_MAX = 4096, HOTSPOT_ENTRIES_MAX = 8192 };

// hotspot_word is a word that is wanted: of a static member its address, of a type its
// size, otherwise the member's offset.
enum hotspot_word {
    HOTSPOT_VERSION,
    HOTSPOT_HEAPS,
    HOTSPOT_ARRAY_LENGTH,
    HOTSPOT_ARRAY_DATA,
    HOTSPOT_HEAP_MEMORY,
    HOTSPOT_HEAP_MAP,
    HOTSPOT_HEAP_SHIFT,
    HOTSPOT_SPACE_LOW,
    HOTSPOT_SPACE_HIGH,
    HOTSPOT_BLOCK_USED,
    HOTSPOT_BLOCK_SIZE,
    HOTSPOT_BLOB_NAME,
    HOTSPOT_BLOB_COMPLETE,
    HOTSPOT_BLOB_FRAME,
    HOTSPOT_COMPILED_METHOD,
    HOTSPOT_COMPILED_ORIGINAL_PC,
    HOTSPOT_COMPILED_PCS,
    HOTSPOT_PC_OFFSET,
    HOTSPOT_PC_SCOPE,
    HOTSPOT_PC_SIZE,
    HOTSPOT_METHOD_CONST,
    HOTSPOT_CONST_POOL,
    HOTSPOT_CONST_FLAGS,
    HOTSPOT_CONST_WORDS,
    HOTSPOT_CONST_CODE_SIZE,
    HOTSPOT_CONST_NAME,
    HOTSPOT_CONST_SIZE,
    HOTSPOT_POOL_CLASS,
    HOTSPOT_POOL_LENGTH,
    HOTSPOT_POOL_SOURCE,
    HOTSPOT_POOL_SIZE,
    HOTSPOT_CLASS_NAME,
    HOTSPOT_CLASS_POOL,
    HOTSPOT_SYMBOL_LENGTH,
    HOTSPOT_SYMBOL_TEXT,
    HOTSPOT_WORDS_UNTIL_21, // from here on, those that 17 and 21 alone have
    HOTSPOT_BLOB_CODE = HOTSPOT_WORDS_UNTIL_21,
    HOTSPOT_BLOB_CODE_END,
    HOTSPOT_COMPILED_SCOPES,
    HOTSPOT_COMPILED_DEOPT,
    HOTSPOT_COMPILED_METADATA,
    HOTSPOT_COMPILED_PCS_END,
    HOTSPOT_WORDS_SINCE_25, // from here on, those that 25 alone has
    HOTSPOT_BLOB_CODE_OFFSET = HOTSPOT_WORDS_SINCE_25,
    HOTSPOT_BLOB_DATA_OFFSET,
    HOTSPOT_BLOB_MUTABLE,
    HOTSPOT_BLOB_MUTABLE_SIZE,
    HOTSPOT_BLOB_RELOCATION_SIZE,
    HOTSPOT_COMPILED_IMMUTABLE,
    HOTSPOT_COMPILED_IMMUTABLE_SIZE,
    HOTSPOT_COMPILED_SCOPES_OFFSET,
    HOTSPOT_COMPILED_DEOPT_OFFSET,
    HOTSPOT_WORDS
};

struct hotspot_layout {
    uint64_t word[HOTSPOT_WORDS];
    uint32_t version; // of the virtual machine
};

// hotspot_has_offsets returns true if blobs of code are those of version 25.
static inline bool hotspot_has_offsets(const struct hotspot_layout *layout)
{
    return layout->version >= 25;
}

// hotspot_layout_read reads the layout of the virtual machine in image.
// CH_ERR_NOT_FOUND: it exports no description. CH_ERR_UNSUPPORTED: it is of another
// version, or its description lacks something. CH_ERR_MALFORMED: what it says cannot
// be. CH_ERR_FAULT: it cannot be read.
CH_CHECKED enum ch_status hotspot_layout_read(const struct memory_reader *reader,
                                              const struct target_image *image,
                                              struct hotspot_layout *out);

// A hotspot_table is one of the virtual machine's lists, of types or of members: where
// it begins, the size of an entry, and where in an entry its members are.
struct hotspot_table {
    uint64_t begin;
    uint64_t stride;
    uint64_t type;    // the address of a type's name
    uint64_t field;   // of a member's name; of a list of types: not used
    uint64_t value;   // the offset, or the type's size
    uint64_t address; // of a static member; of a list of types: not used
    bool types;       // it is a list of types
};

// hotspot_layout_take takes the words that a table has.
CH_CHECKED enum ch_status hotspot_layout_take(const struct memory_reader *reader,
                                              const struct hotspot_table *table,
                                              struct hotspot_layout *layout);

// hotspot_layout_check reads the version and returns whether nothing is missing.
CH_CHECKED enum ch_status hotspot_layout_check(const struct memory_reader *reader,
                                               struct hotspot_layout *layout);
