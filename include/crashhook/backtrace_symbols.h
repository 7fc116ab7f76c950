// SPDX-License-Identifier: Apache-2.0
//
// A backtrace with names: functions, inlined calls, source lines. crashhook/backtrace.h
// includes this.
//
// Names come from the images' files and their debug files; a file of another build than
// the image is refused. What was found is remembered for the whole process, by build
// ID, so that an address costs little when it is symbolicated again. What is returned
// by pointer here belongs to the symbolicated backtrace that returned it.
#pragma once
#include "crashhook/backtrace.h"

#ifdef __cplusplus
extern "C" {
#endif

// crashhook_symbolication_options are options of symbolication, to be or-ed.
enum crashhook_symbolication_options {
    CRASHHOOK_SHOW_INLINE_FRAMES = 1 << 0,    // a frame for each inlined call
    CRASHHOOK_SHOW_SOURCE_LOCATIONS = 1 << 1, // takes reading of line tables
    CRASHHOOK_USE_SYMBOL_CACHE = 1 << 2,      // a cache, if one is available
    CRASHHOOK_SYMBOLICATION_DEFAULT = 7,      // all of them
};

// A crashhook_source_location is what the compiler recorded: possibly on another
// machine, of a file that no longer exists.
struct crashhook_source_location {
    const char *path; // NULL: the location is not known
    uint32_t line;    // 0: not known
    uint32_t column;  // 0: not known
};

// crashhook_source_location_description gives "path:line:column", or as much of it as
// is known.
CRASHHOOK_API char *
crashhook_source_location_description(const struct crashhook_source_location *location);

// A crashhook_symbol is what was found at a frame's address. Later versions may append
// members.
struct crashhook_symbol {
    const struct crashhook_image *image; // NULL: not known
    size_t image_index;                  // in the images; SIZE_MAX: not known
    const char *raw_name;                // the linker's name, mangled
    const char *name;                    // the demangled name
    int64_t offset;                      // of the address from the function's start
    struct crashhook_source_location location;
    bool is_runtime_failure; // a failed check of the compiler or libc
    bool is_thunk;           // code of a compiler or linker that jumps to a function
    bool is_system;          // not part of the program itself
};

// crashhook_symbol_create makes a separate symbol; its name and flags are derived from
// raw_name. image and location may be NULL; image must outlive the symbol. ENOMEM.
CRASHHOOK_API int crashhook_symbol_create(
    const struct crashhook_image *image, const char *raw_name, int64_t offset,
    const struct crashhook_source_location *location, struct crashhook_symbol **out);

// crashhook_symbol_destroy frees what crashhook_symbol_create made; NULL is allowed.
CRASHHOOK_API void crashhook_symbol_destroy(struct crashhook_symbol *symbol);

// crashhook_symbol_description gives the symbol as one line: "[0] program main + 24 at
// /src/main.c:7:3".
CRASHHOOK_API char *crashhook_symbol_description(const struct crashhook_symbol *symbol);

// crashhook_symbol_snippet gives the source lines around the symbol's, as many as
// `around` before and after it, each with its number and the symbol's marked by ">".
// ENOENT: the location or its file is not known here. EIO: it cannot be read. ENOMEM.
CRASHHOOK_API int crashhook_symbol_snippet(const struct crashhook_symbol *symbol,
                                           unsigned around, char **out);

// A crashhook_symbolicated_frame is a frame, or a call that was inlined into the next
// one. Later versions may append members.
struct crashhook_symbolicated_frame {
    struct crashhook_frame captured;
    const struct crashhook_symbol *symbol; // NULL: nothing is known of the address
    bool is_inline;
};

// crashhook_symbolicated_frame_description gives the frame as one line.
CRASHHOOK_API char *crashhook_symbolicated_frame_description(
    const struct crashhook_symbolicated_frame *frame);

// crashhook_symbolicated_frame_is_runtime_failure, _is_thunk and _is_system are the
// flags of the frame's symbol; false if it has none.
CRASHHOOK_API bool crashhook_symbolicated_frame_is_runtime_failure(
    const struct crashhook_symbolicated_frame *frame);
CRASHHOOK_API bool
crashhook_symbolicated_frame_is_thunk(const struct crashhook_symbolicated_frame *frame);
CRASHHOOK_API bool crashhook_symbolicated_frame_is_system(
    const struct crashhook_symbolicated_frame *frame);

// A crashhook_symbolicated_backtrace never changes, and owns everything that it refers
// to.
struct crashhook_symbolicated_backtrace;

// crashhook_backtrace_symbolicate symbolicates the frames of a copy of backtrace.
// images: those to use; NULL: the backtrace's own or, if it has none, the current ones
// of the calling process. options: enum crashhook_symbolication_options. EIO: no images
// could be captured. ENOMEM.
CRASHHOOK_API int
crashhook_backtrace_symbolicate(const struct crashhook_backtrace *backtrace,
                                struct crashhook_images *images, unsigned options,
                                struct crashhook_symbolicated_backtrace **out);

// crashhook_backtrace_cache_set_limit sets how many bytes of names are remembered (16
// MiB); 0: none. Names that a symbolicated backtrace refers to stay until it is
// destroyed. Up to 32 images keep their files mapped as well, and what was read of
// them.
CRASHHOOK_API void crashhook_backtrace_cache_set_limit(size_t bytes);

// crashhook_backtrace_cache_size gives how many bytes of names are remembered.
CRASHHOOK_API size_t crashhook_backtrace_cache_size(void);

// crashhook_backtrace_cache_release forgets all names, and closes all files. One that
// another thread is reading is closed when that thread has finished.
CRASHHOOK_API void crashhook_backtrace_cache_release(void);

// crashhook_symbolicated_backtrace_destroy frees symbolicated, which may be NULL.
CRASHHOOK_API void crashhook_symbolicated_backtrace_destroy(
    struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_backtrace gives the backtrace that it was made from.
CRASHHOOK_API const struct crashhook_backtrace *
crashhook_symbolicated_backtrace_backtrace(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_images gives the images that were used.
CRASHHOOK_API struct crashhook_images *crashhook_symbolicated_backtrace_images(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_count is the number of frames, including inlined
// ones.
CRASHHOOK_API size_t crashhook_symbolicated_backtrace_count(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_at gives frame index, innermost first; NULL: there
// are fewer.
CRASHHOOK_API const struct crashhook_symbolicated_frame *
crashhook_symbolicated_backtrace_at(
    const struct crashhook_symbolicated_backtrace *symbolicated, size_t index);

// crashhook_symbolicated_backtrace_runtime_failure gives the failed check's name if the
// innermost frame is one; NULL: it is not.
CRASHHOOK_API const char *crashhook_symbolicated_backtrace_runtime_failure(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_description gives the backtrace as lines.
CRASHHOOK_API char *crashhook_symbolicated_backtrace_description(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_format_preset selects how much of a symbolicated backtrace is shown.
enum crashhook_format_preset {
    CRASHHOOK_FORMAT_FRIENDLY, // the program's own functions and their lines; all
                               // functions where none is its own
    CRASHHOOK_FORMAT_MEDIUM,   // all frames with addresses, the images they are in
    CRASHHOOK_FORMAT_FULL,     // raw names too, and all images
};

// crashhook_symbolicated_backtrace_format gives the backtrace as lines for people.
CRASHHOOK_API char *crashhook_symbolicated_backtrace_format(
    const struct crashhook_symbolicated_backtrace *symbolicated,
    enum crashhook_format_preset preset);

// crashhook_symbolicated_backtrace_to_json gives everything as JSON: what
// crashhook_backtrace_to_json gives, and "frames" with the keys of Swift's crash log.
CRASHHOOK_API char *crashhook_symbolicated_backtrace_to_json(
    const struct crashhook_symbolicated_backtrace *symbolicated);

// crashhook_symbolicated_backtrace_from_json reads that JSON. EINVAL: it is something
// else. ENOMEM.
CRASHHOOK_API int crashhook_symbolicated_backtrace_from_json(
    const char *json, size_t length, struct crashhook_symbolicated_backtrace **out);

#ifdef __cplusplus
}
#endif
