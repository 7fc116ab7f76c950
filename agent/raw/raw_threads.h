// SPDX-License-Identifier: Apache-2.0
//
// The threads of the raw report: each is unwound and written before the next, the
// crashed one first. The stacks follow once all are known.
#pragma once
#include "agent/facts/held_pointers.h"
#include "agent/facts/otel_context.h"
#include "agent/live/capture.h"
#include "agent/raw/raw_languages.h"
#include "agent/raw/raw_stacks.h"
#include "languages/go_runtime.h"
#include "languages/goroutines.h"
#include "languages/jit_descriptor.h"
#include "languages/jitted.h"
#include "report/grouping/fingerprint.h"
#include "report/json/json_writer.h"
#include "unwind/backtrace_limit.h"

// The raw report's places that are in no image: code that the process compiled while it
// ran. Its names are from GDB's JIT interface, its jitdump and its perf map, its unwind
// rules from the first. Nothing is read unless there is such a place. A core has the
// first alone.

struct raw_jitted {
    struct capture *capture;
    struct jit_descriptor debuggers; // GDB's JIT interface
    struct jitted jitted;
    bool hotspot; // the process is a Java virtual machine of that kind
};

// The kernel's thread names have at most 15 characters, a core's may have more.
enum { RAW_THREAD_NAME_SIZE = 64 };

// Limits of a report's threads. They keep a report readable with names added and every
// frame in its place, as collectors before version 2 take it: past the frame limit,
// stacks are cut to one frame; past the byte limit, threads are left out.
enum { RAW_FRAMES_MAX = 160000, RAW_THREADS_BYTES = 24 << 20 };

struct raw_threads {
    struct capture *capture;
    struct unwind_space *space;
    struct backtrace_limit backtrace;
    struct raw_stacks stacks;
    uint64_t frame_count; // of all threads so far
    uint64_t capture_us;  // time spent on reading the process for the threads
    size_t timed;         // threads whose processor time was asked for
    size_t *images;       // listed images, as indexes into capture->images
    size_t image_count;
    size_t *image_number; // each captured image's index in images, or SIZE_MAX
    struct fingerprint fingerprint; // the crashed thread's, once it is written
    struct raw_jitted jitted;
    struct go_switch change; // of the walked thread; its goroutine is 0: there is none
    bool changed;            // the walk has come to it
    unsigned not_go;         // threads so far that run no goroutine
    uint64_t go_pc;          // an address in the program in Go; 0: there is none
    uint64_t goroutine;      // that the walked thread runs; 0: none
    struct shadow_stack shadow; // of the walked thread
    bool created;               // the last frame of the backtrace created it
    bool opened;                // goroutines was opened, with this status
    enum ch_status opened_status;
    struct goroutines goroutines;
    struct raw_languages languages;
    struct otel_context otel;
    struct held_pointers pointers; // last, as most of it is never touched
};

// raw_threads_init prepares to unwind the threads of capture, which must outlive it.
// Threads is all zero, as large parts of it are never touched.
CH_CHECKED enum ch_status raw_threads_init(struct raw_threads *threads,
                                           struct capture *capture);
void raw_threads_deinit(struct raw_threads *threads);

// raw_threads_write writes the members `threads`, `stacks` and `places`. After it,
// images has the images that the report's frames refer to.
void raw_threads_write(struct raw_threads *threads, struct json_writer *w);

// raw_threads_list_image lists the image that contains address, as if a frame referred
// to it.
void raw_threads_list_image(struct raw_threads *threads, uint64_t address);

// raw_thread_name writes the name of one of the process's threads, empty when unknown.
void raw_thread_name(struct capture *capture, pid_t tid,
                     char out[static RAW_THREAD_NAME_SIZE]);

// raw_register_name is the register's name in reports; number is DWARF's and below
// arch->register_count.
const char *raw_register_name(const struct capture *capture, size_t number);
