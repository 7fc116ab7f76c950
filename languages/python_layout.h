// SPDX-License-Identifier: Apache-2.0
//
// Where CPython keeps what a stack of Python is made of, by version: 3.8 to 3.14.
//
// From 3.13 on the runtime says so itself (_Py_DebugOffsets at the start of
// _PyRuntime); for older versions there is a table, made from their headers. The
// interpreter's own version decides which row is used, and what it claims is bounded:
// an offset past PYTHON_OFFSET_MAX is not believed.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/runtime/python_lines.h"

enum {
    PYTHON_OFFSET_MAX = 4096,           // in an object
    PYTHON_STATE_OFFSET_MAX = 64 << 20, // in an interpreter's state
};

// python_chain is how the frames of a thread are linked to the C stack.
enum python_chain {
    PYTHON_CHAIN_CALLS,   // 3.8, 3.9: one C call a frame, in order
    PYTHON_CHAIN_RECORDS, // 3.10: and one record on the C stack
    PYTHON_CHAIN_ENTRIES, // 3.11: one such record for several frames
    PYTHON_CHAIN_SHIMS,   // 3.12 and later: frames on the C stack between the others
};

// A python_layout is offsets in bytes; 0 for a member means that there is none, unless
// the first word of the object is meant.
struct python_layout {
    uint32_t version; // 0x030b: 3.11
    enum python_chain chain;
    enum python_lines lines;
    bool free_threaded;
    bool raised_has_type; // the word before a raised exception is its type
    uint64_t runtime_interpreters;
    uint64_t interpreter_next;
    uint64_t interpreter_threads;
    uint64_t thread_next;
    uint64_t thread_frame;  // of the innermost frame; with records, of 3.10's own
    uint64_t thread_record; // of the innermost record on the C stack
    uint64_t thread_id;     // its pthread_t
    uint64_t thread_raised; // of the exception being raised; 0: not known
    uint64_t thread_handled;
    uint64_t handled_value;
    uint64_t record_frame;
    uint64_t record_previous;
    uint64_t frame_code;
    uint64_t frame_previous;
    uint64_t frame_instruction; // an address; until 3.10 a number of 32 bits
    uint64_t frame_owner;       // a byte
    uint64_t frame_entry;       // 3.11: a byte, the frame is its record's last
    uint64_t code_first_line;
    uint64_t code_file;
    uint64_t code_name;
    uint64_t code_lines;
    uint64_t code_bytes;
    uint64_t object_type;
    uint64_t bytes_size;
    uint64_t bytes_data;
    uint64_t tuple_items;
    uint64_t text_length;
    uint64_t text_state;
    uint64_t text_ascii;   // size of the header of a text of ASCII alone
    uint64_t text_compact; // and of any other
};

// PYTHON_OWNER_STACK is the least owner of a frame that is none of Python's, but stands
// on the C stack for a call of the interpreter.
enum { PYTHON_OWNER_STACK = 3 };

// python_layout_of_version is the row of a version before 3.13; NULL: there is none.
const struct python_layout *python_layout_of_version(uint32_t version);

// python_layout_read reads what the runtime at address says of itself.
// CH_ERR_UNSUPPORTED: it does not, or is of an unknown version. CH_ERR_MALFORMED: what
// it says cannot be.
CH_CHECKED enum ch_status python_layout_read(const struct memory_reader *reader,
                                             uint64_t address,
                                             struct python_layout *out);
