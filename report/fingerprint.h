// SPDX-License-Identifier: Apache-2.0
//
// A fingerprint is the key that crashes are grouped by: equal for the same defect hit
// again, on another machine, in another build, at another address.
//
// It hashes the signal, the kind and the innermost frames of the crashed thread, in the
// form of this version of the rules:
//   1. A frame is its function and the file name of its image; one without a name is
//      its image's build id and offset. Addresses never count, nor do frames with
//      neither name nor image.
//   2. Frames at the inner end that only report a failure are left out: abort, raise,
//      assertions, fortify and stack checks, the heap's own checks, terminate, panics.
//   3. Direct recursion counts once. Inline frames count like any other.
//   4. System frames count only where the thread has no other: which memcpy a machine
//      picks, or which libc starts the thread, is no part of the defect.
//   5. Of what is left the innermost FINGERPRINT_FRAMES count.
//   6. Suffixes of compiler clones (.constprop.0, [clone .cold]) do not count.
// A change of any rule raises FINGERPRINT_VERSION, which is hashed first.
//
// It is fed frame by frame, so that the raw report's writer and whoever holds a report
// in memory (report_fingerprint) share it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { FINGERPRINT_VERSION = 1, FINGERPRINT_FRAMES = 8, FINGERPRINT_SIZE = 33 };

struct fingerprint_frame {
    const char *function; // demangled; NULL: not known
    const char *image;    // path or name of its image; NULL: in none
    const char *build_id; // hex; NULL: not known
    uint64_t image_offset;
    bool system;
};

// A run of frames hashed so far. The hash is FNV-1a of 128 bits, in two halves.
struct fingerprint_run {
    uint64_t high;
    uint64_t low;
    uint64_t last[2]; // hash of the last frame alone, to see recursion
    uint32_t frames;
};

struct fingerprint {
    struct fingerprint_run own;
    struct fingerprint_run all;
    bool inside; // past the frames that only report the failure
};

// fingerprint_init starts one; kind is crash.kind, NULL: unknown.
void fingerprint_init(struct fingerprint *fingerprint, int signal, const char *kind);

// fingerprint_add takes the next frame of the crashed thread, innermost first.
void fingerprint_add(struct fingerprint *fingerprint,
                     const struct fingerprint_frame *frame);

// fingerprint_finish writes the key in lower-case hex.
void fingerprint_finish(const struct fingerprint *fingerprint,
                        char out[static FINGERPRINT_SIZE]);

// fingerprint_only_reports: function is one of those of rule 2.
bool fingerprint_only_reports(const char *function);
