// SPDX-License-Identifier: Apache-2.0
//
// The frames of interpreted languages in the raw report: for each native frame of a
// walk, the frames that an interpreter ran in it.
//
// In the report they are calls inlined at the native frame's place, so a reader that
// knows nothing of languages shows them in their order. In addition each has `language`
// and `source`.
#pragma once
#include "agent/live/capture.h"
#include "languages/hotspot.h"
#include "languages/interpreted.h"
#include "languages/python.h"
#include "languages/v8.h"
#include "report/json/json_writer.h"
#include "unwind/backtrace_limit.h"
#include "unwind/unwind_state.h"

// A raw_languages_hit is a frame of the walk with a group of interpreted frames.
struct raw_languages_hit {
    uint64_t frame; // its number in the walk
    uint32_t group;
};

struct raw_languages {
    struct capture *capture;
    struct python python;
    struct v8 v8;
    bool sought_v8;             // v8 was opened, or is not there
    struct unwind_frame before; // the walk's last frame
    struct interpreted table;
    bool any;            // there are frames of Python
    uint64_t thread;     // the language's state of the walked thread; 0: none so far
    uint64_t next_frame; // number of the walk's next frame
    uint64_t low;        // where the stack of the last frame begins
    uint64_t high;       // and where it can end at most
    uint64_t thread_pointer; // of the walked thread; 0: not known
    size_t calls;            // of the interpreter's function so far
    struct raw_languages_hit *hits;
    size_t hit_count;
    size_t hit_capacity;
    uint32_t *groups; // of the entries of a backtrace
    size_t group_capacity;
    struct hotspot hotspot; // last, as most processes have none
};

// raw_languages_init reads the interpreted frames of all threads of capture, which must
// outlive it, into languages, which is all zero. What cannot be read becomes a problem
// of the capture.
void raw_languages_init(struct raw_languages *languages, struct capture *capture);
void raw_languages_deinit(struct raw_languages *languages);

// raw_languages_serve lets the walks of a space leave frames of the virtual machine of
// Java.
void raw_languages_serve(struct raw_languages *languages, struct unwind_space *space);

// raw_languages_end_all reports what had to be left out, after the last walk.
void raw_languages_end_all(struct raw_languages *languages);

// raw_languages_begin begins the walk of a thread; its thread pointer may be 0.
void raw_languages_begin(struct raw_languages *languages, uint64_t thread_pointer);

// raw_languages_frame is called for each frame of the walk.
void raw_languages_frame(struct raw_languages *languages,
                         const struct unwind_frame *frame,
                         const struct unwind_state *state);

// raw_languages_needs_registers returns true if the walk has to come with the registers
// of each frame; otherwise raw_languages_frames is called for many frames at once.
bool raw_languages_needs_registers(const struct raw_languages *languages);
void raw_languages_frames(struct raw_languages *languages,
                          const struct unwind_frame *frames, size_t count,
                          const struct unwind_state *state);

// raw_languages_creator reports that the next frame is no caller, but created what was
// walked: its place has the member `creator`.
void raw_languages_creator(struct raw_languages *languages);

// raw_languages_end ends the walk: frames further out than it came belong to its last
// frame.
void raw_languages_end(struct raw_languages *languages);

// raw_languages_groups gives the group of each entry of the walk's backtrace; NULL:
// none has one. It stays valid until the next call.
const uint32_t *raw_languages_groups(struct raw_languages *languages,
                                     const struct backtrace_limit *backtrace);

// raw_languages_write writes the frames of a group, as the member `inlined`.
void raw_languages_write(const struct raw_languages *languages, struct json_writer *w,
                         uint32_t group);

// raw_languages_names returns true if the frames of a group are the native frame of
// their place itself, as opposed to run by it; the outermost is then named by
// raw_languages_write_name and not part of `inlined`.
bool raw_languages_names(const struct raw_languages *languages, uint32_t group);
void raw_languages_write_name(const struct raw_languages *languages,
                              struct json_writer *w, uint32_t group);

// raw_languages_write_exception writes the member `exception` of the walked thread,
// unless it had none.
void raw_languages_write_exception(const struct raw_languages *languages,
                                   struct json_writer *w);
