// SPDX-License-Identifier: Apache-2.0
//
// A backtrace with names: functions, inlined calls, source lines. crashhook/backtrace.h
// includes this.
//
// Names come from the files of the images and their debug files, read once for a whole
// backtrace; a file of another build than the image is refused. What is returned by
// pointer here belongs to the symbolicated backtrace it was asked of.
#pragma once
#include "crashhook/backtrace.h"

#ifdef __cplusplus
extern "C" {
#endif

// What symbolication does beside naming functions; to be or-ed.
enum crashhook_symbolication_options {
    CRASHHOOK_SHOW_INLINE_FRAMES = 1 << 0,    // a frame for each inlined call
    CRASHHOOK_SHOW_SOURCE_LOCATIONS = 1 << 1, // costs the reading of line tables
    CRASHHOOK_USE_SYMBOL_CACHE = 1 << 2,      // a cache, if one is available
    CRASHHOOK_SYMBOLICATION_DEFAULT = 7,      // all of them
};

// A crashhook_source_location is as the compiler wrote it down: maybe on another
// machine, of a file that is no more.
struct crashhook_source_location {
    const char *path; // NULL: the location is not known
    uint32_t line;    // 0: not known
    uint32_t column;  // 0: not known
};

// crashhook_source_location_description is "path:line:column", or less.
CRASHHOOK_API char *
crashhook_source_location_description(const struct crashhook_source_location *location);

// A crashhook_symbol is what was found at a frame's address. Later versions may append
// members.
struct crashhook_symbol {
    const struct crashhook_image *image; // NULL: not known
    size_t image_index;                  // in the images; SIZE_MAX: not known
    const char *raw_name;                // as the linker knows it
    const char *name;                    // as people wrote it
    int64_t offset; // of the address from where the function begins
    struct crashhook_source_location location;
    bool is_runtime_failure; // a check that the compiler or libc made failed here
    bool is_thunk;  // code a compiler or linker made to get to another function
    bool is_system; // nothing of the program's
};

// crashhook_symbol_create makes a symbol of its own; name and flags follow from
// raw_name. image and location may be NULL; image must outlive it. ENOMEM.
CRASHHOOK_API int crashhook_symbol_create(
    const struct crashhook_image *image, const char *raw_name, int64_t offset,
    const struct crashhook_source_location *location, struct crashhook_symbol **out);

// crashhook_symbol_destroy frees what crashhook_symbol_create made; NULL is fine.
CRASHHOOK_API void crashhook_symbol_destroy(struct crashhook_symbol *symbol);

// crashhook_symbol_description is the symbol as one line:
// "[0] program main + 24 at /src/main.c:7:3".
CRASHHOOK_API char *crashhook_symbol_description(const struct crashhook_symbol *symbol);

// A crashhook_symbolicated_frame is a frame, or a call that was inlined into the next
// one. Later versions may append members.
struct crashhook_symbolicated_frame {
    struct crashhook_frame captured;
    const struct crashhook_symbol *symbol; // NULL: nothing is known of the address
    bool is_inline;
};

// crashhook_symbolicated_frame_description is the frame as one line.
CRASHHOOK_API char *crashhook_symbolicated_frame_description(
    const struct crashhook_symbolicated_frame *frame);

// crashhook_symbolicated_frame_is_runtime_failure, _is_thunk and _is_system are those
// of the frame's symbol; false where it has none.
CRASHHOOK_API bool crashhook_symbolicated_frame_is_runtime_failure(
    const struct crashhook_symbolicated_frame *frame);
CRASHHOOK_API bool
crashhook_symbolicated_frame_is_thunk(const struct crashhook_symbolicated_frame *frame);
CRASHHOOK_API bool crashhook_symbolicated_frame_is_system(
    const struct crashhook_symbolicated_frame *frame);

// A crashhook_symbolicated_backtrace never changes and owns all it names.
struct crashhook_symbolicated_backtrace;

// crashhook_backtrace_symbolicate names the frames of backtrace, of which it keeps a
// copy. images: those to use; NULL: the backtrace's own, or, where it has none, those
// of the calling process now. options: enum crashhook_symbolication_options. EIO: no
// images could be captured. ENOMEM.
CRASHHOOK_API int
crashhook_backtrace_symbolicate(const struct crashhook_backtrace *backtrace,
                                struct crashhook_images *images, unsigned options,
                                struct crashhook_symbolicated_backtrace **out);

// crashhook_symbolicated_backtrace_destroy frees symbolicated; NULL is fine.
CRASHHOOK_API void crashhook_symbolicated_backtrace_destroy(
    struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_backtrace is the backtrace it was made of.
CRASHHOOK_API const struct crashhook_backtrace *
crashhook_symbolicated_backtrace_backtrace(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_images is the images that were used.
CRASHHOOK_API struct crashhook_images *crashhook_symbolicated_backtrace_images(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_count is how many frames there are, inlined ones
// among them.
CRASHHOOK_API size_t crashhook_symbolicated_backtrace_count(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_at is frame index, innermost first; NULL: there are
// not so many.
CRASHHOOK_API const struct crashhook_symbolicated_frame *
crashhook_symbolicated_backtrace_at(
    const struct crashhook_symbolicated_backtrace *symbolicated, size_t index);

// crashhook_symbolicated_backtrace_runtime_failure is the failed check's name, when the
// innermost frame is one; NULL: it is none.
CRASHHOOK_API const char *crashhook_symbolicated_backtrace_runtime_failure(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_description is the backtrace as lines.
CRASHHOOK_API char *crashhook_symbolicated_backtrace_description(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// How much of a symbolicated backtrace is shown.
enum crashhook_format_preset {
    CRASHHOOK_FORMAT_FRIENDLY, // the program's own functions and their lines
    CRASHHOOK_FORMAT_MEDIUM,   // all frames with addresses, the images they are in
    CRASHHOOK_FORMAT_FULL,     // raw names too, and all images
};

// crashhook_symbolicated_backtrace_format is the backtrace as lines for people.
CRASHHOOK_API char *crashhook_symbolicated_backtrace_format(
    const struct crashhook_symbolicated_backtrace *symbolicated,
    enum crashhook_format_preset preset);

// crashhook_symbolicated_backtrace_to_json is everything as JSON: what
// crashhook_backtrace_to_json gives, and "frames", spelled as in Swift's crash log.
CRASHHOOK_API char *crashhook_symbolicated_backtrace_to_json(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_from_json reads that back. EINVAL: it is something
// else. ENOMEM.
CRASHHOOK_API int crashhook_symbolicated_backtrace_from_json(
    const char *json, size_t length, struct crashhook_symbolicated_backtrace **out);

#ifdef __cplusplus
}
#endif
