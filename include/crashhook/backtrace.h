// SPDX-License-Identifier: Apache-2.0
//
// Backtraces of running code: captured in the calling thread, in another thread or in
// another process, stored in a few bytes per frame, symbolicated later or elsewhere.
//
// This is the Swift Backtrace API (SE-0419) in C; docs/backtrace-api.md maps one to the
// other. It is for tests, logs and diagnostics of running programs; the crash reporter
// is crashhook.h. In a signal handler only the functions that say so may be called.
//
// All functions may be called from any thread at any time. Several threads may read a
// backtrace at the same time; while one changes it (crashhook_backtrace_append_async)
// or destroys it, no other may use it. Errors, strings: see
// crashhook/backtrace_values.h.
#pragma once
#include <sys/types.h>

#include "crashhook/backtrace_values.h"

#ifdef __cplusplus
extern "C" {
#endif

// crashhook_unwind_algorithm selects how a stack is walked.
enum crashhook_unwind_algorithm {
    CRASHHOOK_UNWIND_AUTO,    // SFrame where an image has it, DWARF, frame pointers
    CRASHHOOK_UNWIND_FAST,    // SFrame where an image has it, frame pointers, DWARF
                              // where these lead to no code (x86-64); ends where the
                              // chain of frame pointers does
    CRASHHOOK_UNWIND_PRECISE, // DWARF call frame information, SFrame, frame pointers
};

// CRASHHOOK_NO_LIMIT as a limit means all frames (at most CRASHHOOK_FRAMES_MAX).
#define CRASHHOOK_NO_LIMIT SIZE_MAX

// CRASHHOOK_FRAMES_MAX is the greatest number of frames of one backtrace that are
// walked or returned; if there are more, the last one is CRASHHOOK_FRAME_TRUNCATED.
#define CRASHHOOK_FRAMES_MAX (1u << 20)

// crashhook_capture_options is which frames of a stack are kept: at most `limit`, of
// which `top` are the outermost ones. The frame that stands for the omitted ones
// counts.
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

// A crashhook_backtrace holds frames in Compact Backtrace Format, the architecture's
// name and, if they are known, the images of the process.
struct crashhook_backtrace;

// crashhook_backtrace_capture captures the calling thread. The first frame is the
// function that called this one, as a return address. options may be NULL for the
// defaults. EINVAL: options->size is unknown, or limit is 0. ENOMEM. The first call,
// and the first one after a dlopen, copies the dynamic linker's list of images.
CRASHHOOK_API int
crashhook_backtrace_capture(const struct crashhook_capture_options *options,
                            struct crashhook_backtrace **out);

// crashhook_backtrace_capture_thread captures thread tid of this process, from its
// current position. It forks a child process that stops all threads by ptrace for some
// milliseconds; the threads do not notice, and no system call fails. ESRCH: no such
// thread. EPERM: ptrace is not allowed. EINVAL: tid is the calling thread, or as for
// crashhook_backtrace_capture.
CRASHHOOK_API int
crashhook_backtrace_capture_thread(pid_t tid,
                                   const struct crashhook_capture_options *options,
                                   struct crashhook_backtrace **out);

// crashhook_backtrace_capture_process captures thread tid (0: the main thread) of
// process pid, in the same way and with the same errors.
CRASHHOOK_API int
crashhook_backtrace_capture_process(pid_t pid, pid_t tid,
                                    const struct crashhook_capture_options *options,
                                    struct crashhook_backtrace **out);

// crashhook_backtrace_from_addresses makes a backtrace of count addresses of this
// process, innermost first. first is the kind of the first one (a program counter, or a
// return address as backtrace(3) gives); all others are return addresses. The backtrace
// has no images. EINVAL: first is another kind, or count exceeds CRASHHOOK_FRAMES_MAX.
// ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_addresses(const uint64_t *addresses,
                                                     size_t count,
                                                     enum crashhook_frame_kind first,
                                                     struct crashhook_backtrace **out);

// crashhook_backtrace_from_frames makes a backtrace of count arbitrary frames of a
// process on an architecture of that name. images may be NULL; a reference to them is
// taken. EINVAL: the frames differ in width, a frame follows a truncated one, 0 frames
// are omitted, or count exceeds CRASHHOOK_FRAMES_MAX. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_frames(const char *architecture,
                                                  const struct crashhook_frame *frames,
                                                  size_t count,
                                                  struct crashhook_images *images,
                                                  struct crashhook_backtrace **out);

// crashhook_backtrace_from_cbf makes a backtrace of this machine's architecture of size
// bytes in Compact Backtrace Format, such as crashhook_backtrace_capture_raw writes.
// images may be NULL; a reference to them is taken. EINVAL: it is something else.
// ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_cbf(const uint8_t *cbf, size_t size,
                                               struct crashhook_images *images,
                                               struct crashhook_backtrace **out);

// crashhook_backtrace_from_exception makes a backtrace of the stack at which the C++
// exception with that object was thrown, where libcrashhook-throws is loaded and
// CRASHHOOK_THROWS is yes. The object is what std::exception_ptr points to, or what was
// passed to __cxa_throw. ENOENT: its stack is not known, because the library is not
// loaded or the thread has thrown 8 exceptions since. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_exception(const void *object,
                                                     struct crashhook_backtrace **out);

// crashhook_backtrace_destroy frees backtrace, which may be NULL.
CRASHHOOK_API void crashhook_backtrace_destroy(struct crashhook_backtrace *backtrace);

// CRASHHOOK_NO_CONTINUATION as an offset: no awaiting coroutine is known.
#define CRASHHOOK_NO_CONTINUATION SIZE_MAX

// crashhook_backtrace_append_async appends suspended C++20 coroutines of this process:
// the one whose frame is at coroutine (std::coroutine_handle::address()), and the chain
// of coroutines that await it, if continuation is the byte offset in every frame of the
// awaiting coroutine's handle. The address of each frame is that of the resume
// function: at which co_await it is suspended cannot be determined. A finished
// coroutine or a null handle ends the chain, as do max frames. No coroutine may run or
// be destroyed meanwhile. EFAULT: there is no coroutine at an address; those before it
// were appended. EINVAL: the backtrace is truncated, or of another width. ENOMEM.
CRASHHOOK_API int
crashhook_backtrace_append_async(struct crashhook_backtrace *backtrace,
                                 const void *coroutine, size_t continuation,
                                 size_t max);

// crashhook_backtrace_architecture gives the architecture's name: "x86_64", "arm64".
CRASHHOOK_API const char *
crashhook_backtrace_architecture(const struct crashhook_backtrace *backtrace);

// crashhook_backtrace_images gives the process's images, borrowed; NULL: not captured.
CRASHHOOK_API struct crashhook_images *
crashhook_backtrace_images(const struct crashhook_backtrace *backtrace);

// A crashhook_frames is a position in a backtrace's frames; the backtrace must outlive
// it.
struct crashhook_frames {
    uint64_t opaque[32];
};

// crashhook_backtrace_frames begins with the innermost frame.
CRASHHOOK_API struct crashhook_frames
crashhook_backtrace_frames(const struct crashhook_backtrace *backtrace);

// crashhook_frames_next stores the next frame; false: there is none.
CRASHHOOK_API bool crashhook_frames_next(struct crashhook_frames *frames,
                                         struct crashhook_frame *out);

// crashhook_backtrace_cbf gives the frames in Compact Backtrace Format, *out_size
// bytes.
CRASHHOOK_API const uint8_t *
crashhook_backtrace_cbf(const struct crashhook_backtrace *backtrace, size_t *out_size);

// crashhook_backtrace_description gives the backtrace as lines: the architecture, the
// numbered frames, the images.
CRASHHOOK_API char *
crashhook_backtrace_description(const struct crashhook_backtrace *backtrace);

// crashhook_backtrace_to_json gives the backtrace as JSON with the keys of Swift's
// Codable: "architecture", "backtrace" (CBF in base64) and, if there are images,
// "imageMap" (Compact Image Map in base64).
CRASHHOOK_API char *
crashhook_backtrace_to_json(const struct crashhook_backtrace *backtrace);

// crashhook_backtrace_from_json reads length bytes of such JSON, which may be
// untrusted, including what Swift 6.2 writes. EINVAL: it is something else. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_from_json(const char *json, size_t length,
                                                struct crashhook_backtrace **out);

#ifdef __cplusplus
}
#endif

#include "crashhook/backtrace_raw.h"
#include "crashhook/backtrace_symbols.h"
