// SPDX-License-Identifier: Apache-2.0
//
// The Python frames of a held process: of every thread of every interpreter of CPython
// 3.8 to 3.14, read from outside, from the process's memory alone.
//
// python_open finds the interpreter, python_collect notes the frames of all threads
// (interpreted.h), python_describe names one frame when it is written. Everything is
// hostile: each list has a limit, reads and time have one for all, no function recurs,
// and an object counts as code only if its type is the interpreter's own.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/text.h"
#include "formats/runtime/python_lines.h"
#include "images/images.h"
#include "languages/interpreted.h"

// Where CPython keeps what a stack of Python is made of, by version: 3.8 to 3.14.
//
// From 3.13 on the runtime says so itself (_Py_DebugOffsets at the start of
// _PyRuntime); for older versions there is a table, made from their headers. The
// interpreter's own version decides which row is used, and what it claims is bounded:
// an offset past PYTHON_OFFSET_MAX is not believed.

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

// PYTHON_OWNER_STACK is the least owner of a frame that is none of Python's, but is on
// the C stack for a call of the interpreter.
enum { PYTHON_OWNER_STACK = 3 };

// python_layout_of_version is the row of a version before 3.13; NULL: there is none.
const struct python_layout *python_layout_of_version(uint32_t version);

// python_layout_read reads what the runtime at address says of itself.
// CH_ERR_UNSUPPORTED: it does not, or is of an unknown version. CH_ERR_MALFORMED: what
// it says cannot be.
CH_CHECKED enum ch_status python_layout_read(const struct memory_reader *reader,
                                             uint64_t address,
                                             struct python_layout *out);

// Limits: of all frames together, of threads, of the characters of a name, of a table
// of lines, and of the time for all threads.
enum {
    PYTHON_FRAMES = 100000,
    PYTHON_THREADS = 10000,
    PYTHON_INTERPRETERS = 256,
    PYTHON_NAME_MAX = 1024,
    PYTHON_LINES_MAX = 256 << 10,
    PYTHON_TIME_US = 100000,
    PYTHON_KNOWN_CODE = 64,
};

struct python {
    const struct memory_reader *reader;
    struct python_layout layout;
    uint64_t runtime;   // address of _PyRuntime; 0: there is no interpreter
    uint64_t code_type; // address of PyCode_Type
    uint64_t eval;      // address of the interpreter's function, where it is needed
    uint64_t eval_size;
    uint64_t known[PYTHON_KNOWN_CODE]; // code objects that were checked
    size_t frames;                     // seen so far
    uint64_t deadline_us;
    const char *problem; // why not all was read; NULL: nothing was left out
};

// A python_place is a frame as it is shown. function and file are not masked.
struct python_place {
    struct text function;
    struct text file;
    uint32_t line; // 0: not known
};

// A python_exception is what a thread was dealing with.
struct python_exception {
    struct text type;
    struct text what;
    bool handled; // it had been caught; otherwise it was on its way
};

// python_open finds an interpreter among the images. CH_ERR_NOT_FOUND: there is none.
// CH_ERR_UNSUPPORTED: of an unknown version.
CH_CHECKED enum ch_status python_open(struct python *python,
                                      const struct memory_reader *reader,
                                      const struct target_images *images);

// python_collect adds the frames of all threads to table. What it had to leave out is
// in python->problem.
CH_CHECKED enum ch_status python_collect(struct python *python,
                                         struct interpreted *table);

// python_lacks is what is not known of this build's frames, in words; NULL: all is.
const char *python_lacks(const struct python *python);

// python_counts_calls returns true if frames have no place on the stack: the thread's
// pthread_t stands for it, and each call of the interpreter's function runs the next
// one.
bool python_counts_calls(const struct python *python);

// python_is_call returns true if address is in the interpreter's function.
bool python_is_call(const struct python *python, uint64_t address);

// python_describe names a frame. Without a function nothing of it is known.
void python_describe(const struct python *python, const struct interpreted_frame *frame,
                     struct python_place *out);
void python_place_deinit(struct python_place *place);

// python_read_exception reads the exception of the thread whose state is at thread.
// False: there is none.
bool python_read_exception(const struct python *python, uint64_t thread,
                           struct python_exception *out);
void python_exception_deinit(struct python_exception *exception);
