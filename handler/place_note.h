// SPDX-License-Identifier: Apache-2.0
//
// A place note says, in the file that a library of ours was linked into, where the
// library keeps what reports show: for who looks at a live process or a core, where no
// handler tells.
//
// It is an ELF note that is loaded, so the program headers lead to it: it stays when a
// program is stripped, and in the first page, which kernels put into cores. What it has
// is a distance, which no loader needs to touch. All of it is read from a process that
// may lie: the agent checks version, size, and that the place is in the same image.
#pragma once
#include <stdint.h>

// PLACE_NOTE_VERSION changes with the note, and with what the places hold.
#define PLACE_NOTE_VERSION 1
#define PLACE_NOTE_NAME "crashhook"

// The types of notes: the table of watched objects (watch_page.h), the recorder's state
// (flight/flight_state.h).
#define PLACE_WATCHES 1
#define PLACE_FLIGHT 2

struct place_note {
    uint32_t version;
    uint32_t size;    // of what is at the place
    int64_t distance; // from this member to the place
};

#define PLACE_NOTE_WORD(word) #word
#define PLACE_NOTE_TEXT(value) PLACE_NOTE_WORD(value)

// PLACE_NOTE makes the note of one type, a number as size is, for symbol.
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
