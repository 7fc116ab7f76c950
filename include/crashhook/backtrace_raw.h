// SPDX-License-Identifier: Apache-2.0
//
// Captures in any context, also in signal handlers, and a store that gives each stack a
// number. crashhook/backtrace.h includes this.
//
// A function that is async-signal-safe says so. All others must not be called in a
// signal handler.
#pragma once
#include "crashhook/backtrace.h"

#ifdef __cplusplus
extern "C" {
#endif

// crashhook_backtrace_thread_prepare prepares the calling thread for captures: it finds
// the bounds of its stack and allocates a table of 32 KB, which is freed when the
// thread ends. The main thread is prepared when the library is loaded, any other one at
// the latest by its first crashhook_backtrace_capture. Without it
// crashhook_backtrace_capture_raw works too, more slowly. In a sandbox, call it before
// the sandbox begins. It must not be called in a signal handler. ENOMEM.
CRASHHOOK_API int crashhook_backtrace_thread_prepare(void);

// crashhook_raw_end is why a raw capture ended.
enum crashhook_raw_end {
    CRASHHOOK_RAW_COMPLETE,    // the last address is the outermost frame
    CRASHHOOK_RAW_FULL,        // the buffer is full; there may be more frames
    CRASHHOOK_RAW_NO_RULE,     // how to leave the last frame is not known
    CRASHHOOK_RAW_UNREADABLE,  // the stack ends, or cannot be read, before its caller
    CRASHHOOK_RAW_NO_PROGRESS, // what should be its caller is not further out
    CRASHHOOK_RAW_INVALID,     // the options are invalid
};

// crashhook_raw_options is what a raw capture writes.
struct crashhook_raw_options {
    size_t size; // sizeof(struct crashhook_raw_options)
    enum crashhook_unwind_algorithm algorithm;
    bool cbf;            // Compact Backtrace Format instead of addresses
    size_t offset;       // innermost frames to leave out
    const void *context; // a handler's ucontext_t: from where the signal interrupted
                         // the thread; NULL: from here
    enum crashhook_raw_end *end; // where to store why it ended; NULL: nowhere
};

// CRASHHOOK_RAW_DEFAULTS initializes a struct crashhook_raw_options.
// clang-format off
#define CRASHHOOK_RAW_DEFAULTS \
    { sizeof(struct crashhook_raw_options), CRASHHOOK_UNWIND_AUTO, false, 0, NULL, NULL }
// clang-format on

// crashhook_backtrace_capture_raw captures the calling thread into the caller's memory,
// which has room for capacity 8-byte words. It returns the number of addresses, or the
// number of bytes with cbf. Addresses are return addresses, innermost first, the first
// one that of the caller of this function; with a context the first one is where the
// signal interrupted the thread. Only cbf says which of the others a signal
// interrupted. options may be NULL for the defaults.
//
// It is async-signal-safe: it takes no lock, allocates nothing, keeps errno, and takes
// a time that capacity bounds. It may be called in a signal handler, on an alternate
// stack, during dlopen, with a broken heap. It takes 8 KB of stack. On the stack of a
// prepared thread it makes no system call, as long as all frames are in images. On
// another one (an alternate stack, a fiber, a thread that was not prepared) it calls
// rt_sigprocmask with an invalid operation for each page, to learn whether that can be
// read, and reads nothing beyond the first page that cannot. A filter for system calls
// that ends programs for this call ends them there.
CRASHHOOK_API size_t crashhook_backtrace_capture_raw(
    uint64_t *buffer, size_t capacity, const struct crashhook_raw_options *options);

// crashhook_backtrace_write writes the calling thread's stack to the file descriptor
// fd, at most 256 frames: a line for each, "#0 0x00007f0012345678
// /usr/lib/libx.so+0x678", with the offset from the image's lowest address. The path
// is "?" where it is not known: with a C library without _dl_find_object. It makes the
// same promises, apart from calling write. The errno value of a failed write.
CRASHHOOK_API int crashhook_backtrace_write(int fd);

// crashhook_backtrace_write_addresses does that with count return addresses.
CRASHHOOK_API int crashhook_backtrace_write_addresses(int fd, const uint64_t *addresses,
                                                      size_t count);

// A crashhook_backtrace_store keeps each stack once and gives it a number, for
// allocators, lock profilers and loggers that note a stack with each of many things.
// Its size is fixed when it is created. Stacks are kept as Compact Backtrace Format,
// about 3 bytes a frame, and never removed. The memory is reserved and takes place only
// as it is filled.
struct crashhook_backtrace_store;

// CRASHHOOK_STORE_FRAMES is the greatest number of frames of a stored stack: the
// innermost ones are kept.
enum { CRASHHOOK_STORE_FRAMES = 256 };

// crashhook_backtrace_store_create makes an empty store of size bytes, 64 KB to 32 GB.
// The caller destroys it. EINVAL: another size. ENOMEM.
CRASHHOOK_API int
crashhook_backtrace_store_create(size_t size, struct crashhook_backtrace_store **out);

// crashhook_backtrace_store_destroy frees store, which may be NULL and which no thread
// may use any more.
CRASHHOOK_API void
crashhook_backtrace_store_destroy(struct crashhook_backtrace_store *store);

// crashhook_backtrace_store_add gives the number of the stack of count return
// addresses, innermost first; 0: the store is full. The same stack always has the same
// number. It is async-signal-safe, takes no lock, and may be called by any number of
// threads.
CRASHHOOK_API uint32_t crashhook_backtrace_store_add(
    struct crashhook_backtrace_store *store, const uint64_t *addresses, size_t count);

// crashhook_backtrace_store_cbf gives the stack of a number in Compact Backtrace
// Format, *out_size bytes that belong to the store; NULL: there is no such number. It
// is async-signal-safe.
CRASHHOOK_API const uint8_t *
crashhook_backtrace_store_cbf(const struct crashhook_backtrace_store *store,
                              uint32_t number, size_t *out_size);

// crashhook_backtrace_store_get makes a backtrace of the stack of a number. ENOENT:
// there is no such number. ENOMEM.
CRASHHOOK_API int
crashhook_backtrace_store_get(const struct crashhook_backtrace_store *store,
                              uint32_t number, struct crashhook_backtrace **out);

// crashhook_backtrace_store_count is the number of different stacks, and
// crashhook_backtrace_store_used the number of bytes that they take. Both are
// async-signal-safe.
CRASHHOOK_API size_t
crashhook_backtrace_store_count(const struct crashhook_backtrace_store *store);
CRASHHOOK_API size_t
crashhook_backtrace_store_used(const struct crashhook_backtrace_store *store);

// crashhook_backtrace_symbols gives a line for each of count addresses, as
// backtrace_symbols(3) does: "/usr/lib/libx.so(function+0x12) [0x7f0012345678]". The
// caller frees the array alone. NULL: no memory.
CRASHHOOK_API char **crashhook_backtrace_symbols(void *const *addresses, int count);

#ifdef __cplusplus
}
#endif
