// SPDX-License-Identifier: Apache-2.0
//
// A fingerprint of version 1 is the key that crashes were grouped by before
// group_key.h. It is still computed, so that groups, decisions and links that use it
// keep their meaning; its rules do not change any more.
//
// It hashes the signal, the kind and the innermost frames of the crashed thread, by
// this version of the rules:
// 1. A frame is its function and the file name of its image; a frame without a name is
//    its image's build id and offset. Addresses never count, nor do frames with
//    neither name nor image.
// 2. Frames at the inner end that only report a failure are left out: abort, raise,
//    assertions, fortify and stack checks, the heap's own checks, terminate, panics.
// 3. Direct recursion counts once. Inlined calls count like any other frame.
// 4. System frames count only if the thread has no others: which memcpy a machine
//    selects, or which libc starts the thread, is no part of the defect.
// 5. Of the frames left the innermost FINGERPRINT_FRAMES count.
// 6. Suffixes of compiler clones (.constprop.0, [clone .cold]) do not count.
// FINGERPRINT_VERSION is hashed first.
//
// It is fed frame by frame, so that the raw report's writer and code that has a report
// in memory (report_fingerprint) share it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FINGERPRINT_VERSION = 1, FINGERPRINT_FRAMES = 8, FINGERPRINT_SIZE = 33 };

struct fingerprint_frame {
    const char *function; // demangled; NULL: not known
    const char *image;    // path or name of its image; NULL: it is in none
    const char *build_id; // hex; NULL: not known
    uint64_t image_offset;
    bool system;
};

// fingerprint_run is the frames hashed so far: a 128-bit FNV-1a hash in two halves.
struct fingerprint_run {
    uint64_t high;
    uint64_t low;
    uint64_t last[2]; // hash of the last frame alone, to detect recursion
    uint32_t frames;
};

struct fingerprint {
    struct fingerprint_run own;
    struct fingerprint_run all;
    bool inside; // past the frames that only report the failure
};

// fingerprint_init begins a fingerprint; kind is crash.kind, NULL: unknown.
void fingerprint_init(struct fingerprint *fingerprint, int signal, const char *kind);

// fingerprint_add adds the next frame of the crashed thread, innermost first.
void fingerprint_add(struct fingerprint *fingerprint,
                     const struct fingerprint_frame *frame);

// fingerprint_finish writes the key in lower-case hex.
void fingerprint_finish(const struct fingerprint *fingerprint,
                        char out[static FINGERPRINT_SIZE]);

// fingerprint_only_reports is true for a function that rule 2 leaves out.
bool fingerprint_only_reports(const char *function);

// fingerprint_of_bytes writes the hash of size bytes in the form of a key.
void fingerprint_of_bytes(const void *bytes, size_t size,
                          char out[static FINGERPRINT_SIZE]);
