// SPDX-License-Identifier: Apache-2.0
//
// A symbol_frame is one frame at an address: the function, or a call inlined into the
// frame after it. Debug files and caches both give these.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// SYMBOL_FRAMES_MAX limits the inlined calls of one address.
enum { SYMBOL_FRAMES_MAX = 128 };

// A symbol_frame's strings live as long as its image is open; those from a cache only
// until the next lookup.
struct symbol_frame {
    const char *function;    // demangled; NULL: not known
    const char *raw_name;    // the linker's name; NULL: not known
    const char *file;        // NULL: not known
    const uint8_t *file_md5; // of file, MD5_SIZE bytes; NULL: not known
    uint32_t line;           // 0: not known
    uint32_t column;         // 0: not known
    uint64_t entry;          // of the function, not of an inlined call: its entry,
    uint64_t start;          // and the start of the part that contains the address
    bool inlined;
    bool of_source; // raw_name is the source's, as no linker's name is known
};

// symbol_frame_public_name gives a function of glibc without the prefix of its hidden
// aliases; otherwise the same frame would have a different name when glibc's debug file
// is installed.
static inline const char *symbol_frame_public_name(const char *function)
{
    static const char hidden[] = "__GI_";
    size_t length = sizeof(hidden) - 1;
    return strncmp(function, hidden, length) == 0 && function[length] != 0
               ? function + length
               : function;
}
