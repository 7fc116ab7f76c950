// SPDX-License-Identifier: Apache-2.0
//
// A place note tells, in the file that one of our libraries was linked into, where the
// library keeps what reports show. Live attach and core readers have no request page;
// this note tells them.
//
// It is a loaded ELF note, so the program headers lead to it: it survives stripping,
// and is in the first page, which kernels put into cores. It has an offset, which needs
// no relocation. It is read from a process that may be corrupt or hostile: the agent
// checks version, size, and that the place is in the same image.
#pragma once
#include <stdint.h>

// PLACE_NOTE_VERSION changes with the note, and with the layout of the places.
#define PLACE_NOTE_VERSION 1
#define PLACE_NOTE_NAME "crashhook"

// The types of notes: the table of watched objects (watch_page.h), the recorder's state
// (shared/flight_state.h), the stacks of throws (throw_ring.h), the pointer to the
// context page (context_page.h), of 8 bytes, the state of the guarded allocations
// (heap_pool.h).
#define PLACE_WATCHES 1
#define PLACE_FLIGHT 2
#define PLACE_THROWS 3
#define PLACE_CONTEXT 4
#define PLACE_HEAP 5

struct place_note {
    uint32_t version;
    uint32_t size;    // of the data at the place
    int64_t distance; // offset of the place from this member
};

#define PLACE_NOTE_WORD(word) #word
#define PLACE_NOTE_TEXT(value) PLACE_NOTE_WORD(value)

// PLACE_NOTE makes a note of type, for symbol of size bytes; type and size are numeric
// literals.
#define PLACE_NOTE(type, size, symbol)                                                 \
    __asm__(                                                                           \
        ".pushsection .note.crashhook, \"a\", %note\n"                                 \
        ".balign 4\n"                                                                  \
        ".long 10, 16, " PLACE_NOTE_TEXT(                                              \
            type) "\n"                                                                 \
                  ".asciz \"" PLACE_NOTE_NAME "\"\n"                                   \
                  ".balign 4\n"                                                        \
                  ".long " PLACE_NOTE_TEXT(PLACE_NOTE_VERSION) ", " PLACE_NOTE_TEXT(   \
                      size) "\n.quad " #symbol " - .\n"                                \
                            ".popsection\n")
