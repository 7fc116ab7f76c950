// SPDX-License-Identifier: Apache-2.0
//
// Backtraces of running code: captured here, in another thread or in another process,
// kept in a few bytes a frame, given names later or elsewhere.
//
// This is the Swift Backtrace API (SE-0419) in C; docs/backtrace-api.md has the table
// from one to the other. It is for tests, logs and diagnostics of programs that work;
// it is not async-signal-safe and no crash reporter: that is crashhook.h.
//
// All functions may be called from any thread at any time. A backtrace may be read by
// several threads; one that is changed (crashhook_backtrace_append_async) or destroyed
// by nobody else meanwhile. Errors, strings: see crashhook/backtrace_values.h.
#pragma once
#include <sys/types.h>

#include "crashhook/backtrace_values.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a stack is walked.
enum crashhook_unwind_algorithm {
    CRASHHOOK_UNWIND_AUTO,    // SFrame where an image has it, DWARF, frame pointers
    CRASHHOOK_UNWIND_FAST,    // SFrame where an image has it, frame pointers
    CRASHHOOK_UNWIND_PRECISE, // DWARF call frame information, SFrame, frame pointers
};

// CRASHHOOK_NO_LIMIT as a limit: all frames (at most CRASHHOOK_FRAMES_MAX).
#define CRASHHOOK_NO_LIMIT SIZE_MAX

// CRASHHOOK_FRAMES_MAX is how many frames of one backtrace are ever walked or handed
// out; where there are more, the last one is CRASHHOOK_FRAME_TRUNCATED.
#define CRASHHOOK_FRAMES_MAX (1u << 20)

// crashhook_capture_options says what of a stack is kept: at most `limit` frames, among
// them `top` of the outer end; the frame that stands for those between counts.
struct crashhook_capture_options {
    size_t size; // sizeof(struct crashhook_capture_options)
    enum crashhook_unwind_algorithm algorithm;
    size_t limit;  // at least 1
    size_t offset; // innermost frames to leave out
    size_t top;    // 0: stop walking at the limit, and end with `truncated`
};

// CRASHHOOK_CAPTURE_DEFAULTS initializes a struct crashhook_capture_options.
// clang-format off
#define CRASHHOOK_CAPTURE_DEFAULTS \
    { sizeof(struct crashhook_capture_options), CRASHHOOK_UNWIND_AUTO, 64, 0, 16 }
// clang-format on

// A crashhook_backtrace is frames in Compact Backtrace Format, the machine's name, and
// the images of the process where they are known.
struct crashhook_backtrace;

// crashhook_backtrace_capture captures the calling thread. The first frame is the
// function that called this one, as a return address. options may be NULL: the
// defaults. EINVAL: options->size is unknown, or limit is 0. EIO: /proc/self cannot be
// read. ENOMEM. The first call, and the first after a dlopen, reads the image list;
// all others cost about as much as backtrace(3).
CRASHHOOK_API int
crashhook_backtrace_capture(const struct crashhook_capture_options *options,
                            struct crashhook_backtrace **out);

// crashhook_backtrace_capture_thread captures thread tid of this process, from where it
// stands. A child process is forked that holds all threads for some milliseconds by
// ptrace; none of them notices, no system call fails. ESRCH: no such thread. EPERM:
// ptrace is not allowed. EINVAL: tid is the calling thread, or as above.
CRASHHOOK_API int
crashhook_backtrace_capture_thread(pid_t tid,
                                   const struct crashhook_capture_options *options,
                                   struct crashhook_backtrace **out);

// crashhook_backtrace_capture_process captures thread tid (0: the main thread) of
// process pid, in the same way, and fails in the same way.
CRASHHOOK_API int
crashhook_backtrace_capture_process(pid_t pid, pid_t tid,
                                    const struct crashhook_capture_options *options,
                                    struct crashhook_backtrace **out);

// crashhook_backtrace_from_addresses makes a backtrace of count addresses of this
// process, innermost first. The first is of the kind first (a program counter, or a
// return address as backtrace(3) gives), all others are return addresses. It has no
// images. EINVAL: first is another kind, or count is past CRASHHOOK_FRAMES_MAX. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_addresses(const uint64_t *addresses,
                                                     size_t count,
                                                     enum crashhook_frame_kind first,
                                                     struct crashhook_backtrace **out);

// crashhook_backtrace_from_frames makes a backtrace of any count frames of a process on
// a machine of the name architecture. images may be NULL; a reference to them is taken.
// EINVAL: frames of different widths, a frame behind a truncated one, 0 omitted frames,
// or count is past CRASHHOOK_FRAMES_MAX. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_frames(const char *architecture,
                                                  const struct crashhook_frame *frames,
                                                  size_t count,
                                                  struct crashhook_images *images,
                                                  struct crashhook_backtrace **out);

// crashhook_backtrace_destroy frees backtrace; NULL is fine.
CRASHHOOK_API void crashhook_backtrace_destroy(struct crashhook_backtrace *backtrace);

// CRASHHOOK_NO_CONTINUATION as an offset: the coroutine awaits nobody that is known.
#define CRASHHOOK_NO_CONTINUATION SIZE_MAX

// crashhook_backtrace_append_async appends suspended C++20 coroutines of this process:
// the one whose frame is at coroutine (std::coroutine_handle::address()), and as long
// as continuation says at which byte offset of every frame the awaiting coroutine's
// handle lies, those. The address of each is that of its resume function: which of its
// co_await it stands at cannot be told. A finished coroutine, or a null handle, ends
// the chain, as do max frames. No coroutine may run or be destroyed meanwhile. EFAULT:
// what was found there is no coroutine; those before it were appended. EINVAL: the
// backtrace is truncated, or of another width. ENOMEM.
CRASHHOOK_API int
crashhook_backtrace_append_async(struct crashhook_backtrace *backtrace,
                                 const void *coroutine, size_t continuation,
                                 size_t max);

// crashhook_backtrace_architecture is the machine's name: "x86_64", "arm64".
CRASHHOOK_API const char *
crashhook_backtrace_architecture(const struct crashhook_backtrace *backtrace);

// crashhook_backtrace_images is the process's images, borrowed; NULL: not captured.
CRASHHOOK_API struct crashhook_images *
crashhook_backtrace_images(const struct crashhook_backtrace *backtrace);

// A crashhook_frames is a place in a backtrace's frames; the backtrace must outlive it.
struct crashhook_frames {
    uint64_t opaque[32];
};

// crashhook_backtrace_frames begins with the innermost frame.
CRASHHOOK_API struct crashhook_frames
crashhook_backtrace_frames(const struct crashhook_backtrace *backtrace);

// crashhook_frames_next stores the next frame; false: there is none.
CRASHHOOK_API bool crashhook_frames_next(struct crashhook_frames *frames,
                                         struct crashhook_frame *out);

// crashhook_backtrace_cbf is the frames as Compact Backtrace Format, *out_size bytes.
CRASHHOOK_API const uint8_t *
crashhook_backtrace_cbf(const struct crashhook_backtrace *backtrace, size_t *out_size);

// crashhook_backtrace_description is the backtrace as lines: the machine, the frames by
// number, the images.
CRASHHOOK_API char *
crashhook_backtrace_description(const struct crashhook_backtrace *backtrace);

// crashhook_backtrace_to_json is the backtrace as JSON, as Swift's Codable has it:
// "architecture", "backtrace" (CBF in base64) and, with images, "imageMap" (Compact
// Image Map in base64).
CRASHHOOK_API char *
crashhook_backtrace_to_json(const struct crashhook_backtrace *backtrace);

// crashhook_backtrace_from_json reads that from length bytes, whoever wrote them, and
// what Swift 6.2 writes. EINVAL: it is something else. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_json(const char *json, size_t length,
                                                struct crashhook_backtrace **out);

#ifdef __cplusplus
}
#endif

#include "crashhook/backtrace_symbols.h"
