// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "report/grouping/report_in_app.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/diagnosis/diagnosis.h"

// ALLOCATOR_FRAMES_MAX is how many of its own functions an allocator may have called.
enum { ALLOCATOR_FRAMES_MAX = 6 };

static const json_t *runtime_frames(const json_t *report)
{
    return report_frames(report_crashed_thread(report));
}

static const char *frame_function(const json_t *frames, size_t index)
{
    const char *function = report_string(json_array_get(frames, index), "function");
    return function != NULL ? function : "";
}

// is_function_named returns true if function is name, whatever its parameters.
static bool is_function_named(const char *function, const char *name)
{
    size_t size = strlen(name);
    return strncmp(function, name, size) == 0 &&
           (function[size] == 0 || function[size] == '(' || function[size] == '.');
}

// find_named finds the outermost frame of the function name. SIZE_MAX: there is none.
static size_t find_named(const json_t *frames, const char *name)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < json_array_size(frames) && i < DIAGNOSIS_FRAMES; i++)
        if (is_function_named(frame_function(frames, i), name))
            found = i;
    return found;
}

// note_raiser adds the first frame of the program's from index on as raised_in.
static void note_raiser(const json_t *report, json_t *crash, size_t index)
{
    (void)diagnosis_note_culprit(report, runtime_frames(report), index, crash,
                                 "raised_in");
}

static void set_word(json_t *crash, const char *key, const char *word)
{
    (void)json_object_set_new(crash, key, json_string(word));
}

static void note_check(json_t *crash, const char *by, const char *name, size_t size)
{
    (void)json_object_set_new(
        crash, "check",
        json_pack("{s:s, s:o}", "by", by, "name", json_stringn(name, size)));
}

// name_virtual_call recognizes the functions that fill a vtable where a class has none
// of its own.
static bool name_virtual_call(const json_t *report, json_t *crash)
{
    const json_t *frames = runtime_frames(report);
    size_t pure = find_named(frames, "__cxa_pure_virtual");
    size_t deleted = find_named(frames, "__cxa_deleted_virtual");
    if (pure == SIZE_MAX && deleted == SIZE_MAX)
        return false;
    crash_words_set_kind(crash, CRASH_KIND_PURE_VIRTUAL);
    if (pure == SIZE_MAX)
        set_word(crash, "reason", "deleted-virtual");
    note_raiser(report, crash, pure != SIZE_MAX ? pure : deleted);
    return true;
}

// is_thrower returns true if std::terminate was called by a function that found no
// handler for an exception of C++: __gxx_personality_v0 itself calls it for what other
// languages throw, and for the end of a thread, as by pthread_exit.
static bool is_thrower(const char *function)
{
    static const char *const throwers[] = { "__cxa_throw",
                                            "__cxa_rethrow",
                                            "std::rethrow_exception",
                                            "__cxa_call_unexpected",
                                            "__cxa_call_terminate",
                                            "__clang_call_terminate",
                                            "__cxxabiv1::__unexpected",
                                            "std::unexpected" };
    for (size_t i = 0; i < sizeof(throwers) / sizeof(throwers[0]); i++)
        if (is_function_named(function, throwers[i]))
            return true;
    return strncmp(function, "_Unwind_", strlen("_Unwind_")) == 0;
}

// name_escape reports that an exception was about to leave a noexcept function: it is
// the function that unwinding asks, or calls, that has called std::terminate. An
// exception that nobody catches ends in __cxa_throw itself.
static bool name_escape(const json_t *report, json_t *crash)
{
    const json_t *frames = runtime_frames(report);
    size_t at = find_named(frames, "std::terminate");
    if (report_string(crash, "reason") != NULL ||
        (at != SIZE_MAX &&
         is_function_named(frame_function(frames, at + 1), "__gxx_personality_v0")) ||
        (find_named(frames, "__gxx_personality_v0") == SIZE_MAX &&
         find_named(frames, "__cxa_call_terminate") == SIZE_MAX &&
         find_named(frames, "__clang_call_terminate") == SIZE_MAX))
        return false;
    set_word(crash, "reason", "noexcept");
    return true;
}

// name_terminate reports why std::terminate was called where no exception was found.
// One that unwinding found no handler for was there, also if it could not be read.
// A noexcept function of clang's calls it for the end of a thread, too, and libstdc++
// calls it itself then: it is not known which of both there was.
// Since gcc 14, __cxa_call_terminate, which is called for a noexcept function, does not
// call std::terminate.
static bool name_terminate(const json_t *report, json_t *crash)
{
    static const char *const threads[] = {
        "std::thread::~thread", "std::thread::operator=", "std::__1::thread::~thread",
        "std::__1::thread::operator="
    };
    const json_t *frames = runtime_frames(report);
    size_t at = find_named(frames, "std::terminate");
    size_t escape = find_named(frames, "__cxa_call_terminate");
    if (at == SIZE_MAX && escape == SIZE_MAX)
        return false;
    // libstdc++'s own
    if (at == SIZE_MAX)
        at = escape - 1;
    else if (is_function_named(frame_function(frames, at + 1), "std::__terminate"))
        at++;
    bool rethrown = find_named(frames, "__cxa_rethrow") == at + 1;
    const char *caller = frame_function(frames, at + 1);
    bool unwinds = is_function_named(caller, "__gxx_personality_v0") ||
                   is_function_named(caller, "__clang_call_terminate");
    bool thrown = !rethrown && !unwinds && is_thrower(caller);
    crash_words_set_kind(crash,
                         thrown ? CRASH_KIND_UNCAUGHT_EXCEPTION : CRASH_KIND_TERMINATE);
    if (thrown)
        (void)name_escape(report, crash);
    if (unwinds)
        set_word(crash, "reason", "noexcept");
    if (rethrown)
        set_word(crash, "reason", "nothing-to-rethrow");
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        if (is_function_named(caller, threads[i]))
            set_word(crash, "reason", "joinable-thread");
    note_raiser(report, crash, at + 1);
    return true;
}

// name_handled reports that the exception was caught: other code than what unwinds
// called std::terminate while it was handled, as coroutines do with what escapes them.
static bool name_handled(const json_t *report, json_t *crash)
{
    const json_t *frames = runtime_frames(report);
    size_t at = find_named(frames, "std::terminate");
    const char *caller = at != SIZE_MAX ? frame_function(frames, at + 1) : "";
    if (caller[0] == 0 || is_thrower(caller))
        return false;
    set_word(crash, "reason", "handled");
    note_raiser(report, crash, at + 1);
    return true;
}

// name_fortified adds which function's check has failed: __memcpy_chk is memcpy's, and
// ___snprintf_chk, by its name in glibc, snprintf's.
static bool name_fortified(const json_t *report, json_t *crash)
{
    static const char after[] = "_chk";
    const json_t *frames = runtime_frames(report);
    for (size_t i = 0; i < json_array_size(frames) && i < DIAGNOSIS_FRAMES; i++) {
        const char *function = frame_function(frames, i);
        size_t before = strspn(function, "_");
        size_t size = strlen(function);
        if (before < 2 || size <= before + strlen(after) ||
            strcmp(function + size - strlen(after), after) != 0)
            continue;
        note_check(crash, "fortify", function + before, size - before - strlen(after));
        note_raiser(report, crash, i + 1);
        return true;
    }
    // Those in assembler jump to where the program is ended and leave no frame.
    size_t at = find_named(frames, "__chk_fail");
    if (at == SIZE_MAX)
        return false;
    const char *file = report_string(json_array_get(frames, ++at), "file");
    if (file != NULL && strstr(file, "_fortified.h") != NULL) {
        const char *function = frame_function(frames, at++);
        note_check(crash, "fortify", function, strlen(function));
    }
    note_raiser(report, crash, at);
    return true;
}

// An allocator_call is a function of the C library's allocator, or one that is called
// by it alone.
static const struct allocator_call {
    const char *function;
    const char *call; // what the program called; NULL: its caller tells
} allocator_calls[] = {
    { "free", "free" },
    { "cfree", "free" },
    { "__libc_free", "free" },
    { "_int_free", "free" },
    { "_int_free_chunk", NULL }, // from glibc 2.41 on, as are those of its parts
    { "_int_free_create_chunk", NULL },
    { "_int_free_maybe_consolidate", NULL },
    { "_int_free_merge_chunk", NULL },
    { "malloc", "malloc" },
    { "__libc_malloc", "malloc" },
    { "calloc", "calloc" },
    { "__libc_calloc", "calloc" },
    { "realloc", "realloc" },
    { "__libc_realloc", "realloc" },
    { "_int_realloc", "realloc" },
    { "memalign", "memalign" },
    { "__libc_memalign", "memalign" },
    { "_int_memalign", "memalign" },
    { "posix_memalign", "posix_memalign" },
    { "aligned_alloc", "aligned_alloc" },
    { "_int_malloc", NULL },
    { "malloc_consolidate", NULL },
    { "unlink_chunk", NULL },
    { "sysmalloc", NULL },
    { "systrim", NULL },
    { "tcache_double_free_verify", NULL },
    { "tcache_get", NULL },
    { "tcache_get_n", NULL },
    { "tcache_try_malloc", NULL },
    { "tcache_put", NULL },
};

static const struct allocator_call *allocator_call(const char *function)
{
    for (size_t i = 0; i < sizeof(allocator_calls) / sizeof(allocator_calls[0]); i++)
        if (is_function_named(function, allocator_calls[i].function))
            return &allocator_calls[i];
    return NULL;
}

// find_allocator finds the call of the allocator that the crash is in. NULL: it is in
// none: a frame of another image is on top, or one of another function.
static const struct allocator_call *find_allocator(const json_t *report,
                                                   size_t *out_frame)
{
    const json_t *frames = runtime_frames(report);
    const struct allocator_call *found = NULL;
    int64_t image = report_integer(json_array_get(frames, 0), "image", -2);
    if (!report_frame_is_system(report, json_array_get(frames, 0)))
        return NULL;
    for (size_t i = 0; i < ALLOCATOR_FRAMES_MAX &&
                       report_integer(json_array_get(frames, i), "image", -1) == image;
         i++) {
        const struct allocator_call *call = allocator_call(frame_function(frames, i));
        if (call == NULL && found != NULL)
            break;
        found = call != NULL ? call : found;
        *out_frame = i;
        if (call != NULL && call->call != NULL)
            break;
    }
    return found != NULL && found->call != NULL ? found : NULL;
}

// is_bad_free returns true if the call read the size that stands before a piece of
// memory, to which a register leads, and there was none: it was given what is no such
// memory.
static bool is_bad_free(const json_t *report, const json_t *crash, const char *call)
{
    json_t *registers = json_object_get(report_crashed_thread(report), "registers");
    const char *name;
    json_t *unused;
    uint64_t argument;
    uint64_t address;
    if ((strcmp(call, "free") != 0 && strcmp(call, "realloc") != 0) ||
        !report_address(json_object_get(crash, "access"), "address", &address))
        return false;
    json_object_foreach(registers, name, unused)
    {
        if (report_address(registers, name, &argument) &&
            argument - address == sizeof(uint64_t))
            return true;
    }
    return false;
}

// is_top_function returns true if a frame's function is the one that crashed: those
// above it were inlined into it.
static bool is_top_function(const json_t *frames, size_t frame)
{
    for (size_t i = 0; i < frame; i++)
        if (!json_is_true(json_object_get(json_array_get(frames, i), "inline")))
            return false;
    return true;
}

// is_protected returns true if the heap itself is there and does not allow the access:
// what failed is not the allocator's data.
static bool is_protected(const json_t *region)
{
    const char *state = report_string(region, "state");
    const char *path = report_string(region, "path");
    return state != NULL && strcmp(state, "mapped") == 0 &&
           (path == NULL || strcmp(path, "[heap]") == 0);
}

// name_allocator reports that the C library's allocator came upon a heap that is not as
// it left it.
static bool name_allocator(const json_t *report, json_t *crash)
{
    size_t frame = 0;
    const struct allocator_call *found = find_allocator(report, &frame);
    if (found == NULL || json_object_get(crash, "check") != NULL ||
        is_protected(json_object_get(crash, "region")))
        return false;
    note_check(crash, "malloc", found->call, strlen(found->call));
    if (is_top_function(runtime_frames(report), frame) &&
        is_bad_free(report, crash, found->call))
        set_word(crash, "reason", "bad-free");
    else
        crash_words_set_kind(crash, CRASH_KIND_HEAP_CORRUPTION);
    note_raiser(report, crash, frame + 1);
    return true;
}

bool diagnosis_runtime(json_t *report, json_t *crash)
{
    const char *signal = report_string(crash, "name");
    enum crash_kind kind = crash_words_kind(crash);
    bool fault = signal != NULL &&
                 (strcmp(signal, "SIGSEGV") == 0 || strcmp(signal, "SIGBUS") == 0);
    if (json_object_get(crash, "raised_in") != NULL)
        return false;
    if (json_is_object(json_object_get(crash, "exception")))
        return name_escape(report, crash) || name_handled(report, crash);
    if (kind == CRASH_KIND_FORTIFY)
        return name_fortified(report, crash);
    if (kind == CRASH_KIND_ABORT)
        return name_virtual_call(report, crash) || name_terminate(report, crash);
    bool faulted = fault && kind != CRASH_KIND_SENT_BY_PROCESS &&
                   kind != CRASH_KIND_STACK_OVERFLOW;
    return faulted && name_allocator(report, crash);
}
