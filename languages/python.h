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
#include "base/text.h"
#include "images/images.h"
#include "languages/interpreted.h"
#include "languages/python_layout.h"

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
