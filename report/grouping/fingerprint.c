// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/fingerprint.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/system/file.h"

// reporters are functions that report a failure and are not its place. A '*' at the end
// matches anything; names are compared without parameters.
static const char *const reporters[] = {
    // raising the signal
    "abort",
    "raise",
    "gsignal",
    "__GI_raise",
    "__GI_abort",
    "pthread_kill*",
    "__pthread_kill*",
    "__GI___pthread_kill",
    "tgkill",
    "kill",
    "__abort*",
    // assertions and checks of the C library
    "__assert*",
    "__GI___assert*",
    "__libc_message*",
    "__libc_fatal*",
    "__fortify_fail*",
    "__GI___fortify_fail*",
    "__chk_fail",
    "__GI___chk_fail",
    "__stack_chk_fail*",
    "___stack_chk_fail*",
    "__fdelt_chk",
    "__longjmp_chk",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
    "__strcpy_chk",
    "__strncpy_chk",
    "__strcat_chk",
    "__strncat_chk",
    "__sprintf_chk",
    "__snprintf_chk",
    "__vsprintf_chk",
    "__vsnprintf_chk",
    "___sprintf_chk",
    "___snprintf_chk",
    "___vsprintf_chk",
    "___vsnprintf_chk",
    "__vsprintf_internal",
    "__vsnprintf_internal",
    "_IO_str_chk_overflow",
    // the heap's own checks
    "malloc_printerr",
    "munmap_chunk",
    "unlink_chunk*",
    "malloc_consolidate",
    "_int_free*",
    "_int_malloc",
    "_int_realloc",
    "_int_memalign",
    "sysmalloc*",
    "tcache_*",
    "__libc_free",
    "__libc_malloc",
    "__libc_realloc",
    "__libc_calloc",
    "__GI___libc_free",
    "__GI___libc_malloc",
    "__GI___libc_realloc",
    "free",
    "cfree",
    "malloc",
    "realloc",
    "calloc",
    "operator new*",
    "operator delete*",
    // termination in C++ and Rust
    "std::terminate",
    "std::unexpected",
    "__cxxabiv1::*",
    "__gnu_cxx::__verbose_terminate*",
    "__cxa_*",
    "_Unwind_*",
    "std::__throw_*",
    "std::__glibcxx_assert_fail",
    "std::__replacement_assert",
    "rust_panic*",
    "core::panicking::*",
    "std::panicking::*",
    "std::sys::*",
    "core::option::*_failed",
    "core::result::unwrap_failed",
    "__rust_start_panic",
    "panic_abort::*",
    // sanitizers
    "__sanitizer*",
    "__asan*",
    "__ubsan*",
    "__tsan*",
    "__msan*",
    "__interceptor_*",
};

struct hash {
    uint64_t high;
    uint64_t low;
};

// hash_start is the 128-bit offset basis of FNV-1a.
static struct hash hash_start(void)
{
    return (struct hash){ UINT64_C(0x6c62272e07bb0142), UINT64_C(0x62b821756295c58d) };
}

static void hash_bytes(struct hash *hash, const void *bytes, size_t size)
{
    // The 128-bit FNV prime, 2^88 + 2^8 + 0x3b.
    const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
    unsigned __int128 value = (unsigned __int128)hash->high << 64 | hash->low;
    for (size_t i = 0; i < size; i++)
        value = (value ^ ((const uint8_t *)bytes)[i]) * prime;
    hash->high = (uint64_t)(value >> 64);
    hash->low = (uint64_t)value;
}

// hash_number hashes a number as eight little-endian bytes, whatever this machine's
// order.
static void hash_number(struct hash *hash, uint64_t number)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    hash_bytes(hash, bytes, sizeof(bytes));
}

// hash_field hashes the bytes and a NUL, so that two fields never run into each other.
static void hash_field(struct hash *hash, const char *text, size_t length)
{
    hash_bytes(hash, text, length);
    hash_bytes(hash, "", 1);
}

// fingerprint_name_length is the length of function without the suffix of a compiler's
// clone.
static size_t fingerprint_name_length(const char *function)
{
    static const char *const marks[] = { " [clone ", ".constprop.", ".isra.", ".part.",
                                         ".cold",    ".lto_priv.",  ".llvm." };
    size_t length = strlen(function);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = strstr(function, marks[i]);
        if (mark != NULL && mark != function && (size_t)(mark - function) < length)
            length = (size_t)(mark - function);
    }
    return length;
}

static bool frame_matches(const char *pattern, const char *name, size_t length)
{
    size_t pattern_length = strlen(pattern);
    if (pattern[pattern_length - 1] == '*')
        return length >= pattern_length - 1 &&
               strncmp(pattern, name, pattern_length - 1) == 0;
    return length == pattern_length && memcmp(pattern, name, length) == 0;
}

bool fingerprint_only_reports(const char *function)
{
    size_t length = fingerprint_name_length(function);
    const char *parameters = memchr(function, '(', length);
    if (parameters != NULL)
        length = (size_t)(parameters - function);
    for (size_t i = 0; i < sizeof(reporters) / sizeof(reporters[0]); i++) {
        if (frame_matches(reporters[i], function, length))
            return true;
    }
    return false;
}

static struct hash hash_frame(const struct fingerprint_frame *frame)
{
    struct hash hash = hash_start();
    const char *name = frame->image != NULL ? file_name(frame->image) : "";

    if (frame->function != NULL) {
        hash_field(&hash, frame->function, fingerprint_name_length(frame->function));
        hash_field(&hash, name, strlen(name));
    } else {
        const char *id = frame->build_id != NULL ? frame->build_id : name;
        hash_field(&hash, id, strlen(id));
        hash_number(&hash, frame->image_offset);
    }
    return hash;
}

static void fingerprint_run_add(struct fingerprint_run *run, const struct hash *frame)
{
    bool recursion =
        run->frames != 0 && run->last[0] == frame->high && run->last[1] == frame->low;
    if (recursion || run->frames == FINGERPRINT_FRAMES)
        return;
    struct hash hash = { run->high, run->low };
    hash_number(&hash, frame->high);
    hash_number(&hash, frame->low);
    *run = (struct fingerprint_run){ .high = hash.high,
                                     .low = hash.low,
                                     .last = { frame->high, frame->low },
                                     .frames = run->frames + 1 };
}

void fingerprint_init(struct fingerprint *fingerprint, int signal, const char *kind)
{
    struct hash hash = hash_start();
    if (kind == NULL)
        kind = "unknown";
    hash_number(&hash, FINGERPRINT_VERSION);
    hash_number(&hash, (uint64_t)signal);
    hash_field(&hash, kind, strlen(kind));
    *fingerprint = (struct fingerprint){
        .own = { .high = hash.high, .low = hash.low },
        .all = { .high = hash.high, .low = hash.low },
    };
}

void fingerprint_add(struct fingerprint *fingerprint,
                     const struct fingerprint_frame *frame)
{
    if (frame->function == NULL && frame->image == NULL)
        return; // nothing about it is the same in the next crash
    if (!fingerprint->inside && frame->function != NULL &&
        fingerprint_only_reports(frame->function))
        return;
    fingerprint->inside = true;
    struct hash hash = hash_frame(frame);
    fingerprint_run_add(&fingerprint->all, &hash);
    if (!frame->system)
        fingerprint_run_add(&fingerprint->own, &hash);
}

void fingerprint_finish(const struct fingerprint *fingerprint,
                        char out[static FINGERPRINT_SIZE])
{
    const struct fingerprint_run *run =
        fingerprint->own.frames != 0 ? &fingerprint->own : &fingerprint->all;
    (void)snprintf(out, FINGERPRINT_SIZE, "%016" PRIx64 "%016" PRIx64, run->high,
                   run->low);
}

void fingerprint_of_bytes(const void *bytes, size_t size,
                          char out[static FINGERPRINT_SIZE])
{
    struct hash hash = hash_start();
    hash_bytes(&hash, bytes, size);
    (void)snprintf(out, FINGERPRINT_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high,
                   hash.low);
}
