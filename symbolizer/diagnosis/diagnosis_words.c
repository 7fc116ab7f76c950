// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/grouping/report_in_app.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/names/demangle.h"

static bool words_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// type_name gives the C++ type of a mangled type name, to be freed, or NULL. The symbol
// of the type's type_info is a name that demanglers accept.
static char *type_name(const char *type)
{
    static const char before[] = "typeinfo for ";
    struct text CH_CLEANUP(text_deinit) symbol = { 0 };
    text_appendf(&symbol, "_ZTI%s", type);
    char *name = text_ok(&symbol) ? demangle_name(symbol.bytes) : NULL;
    if (name == NULL || !words_begins(name, before)) {
        free(name);
        return NULL;
    }
    memmove(name, name + strlen(before), strlen(name + strlen(before)) + 1);
    return name;
}

// name_type demangles the name of an exception's type.
static bool name_type(json_t *exception)
{
    const char *type = report_string(exception, "type");
    char *name = type != NULL ? type_name(type) : NULL;
    if (name == NULL)
        return false;
    (void)json_object_set_new(exception, "raw_type", json_string(type));
    (void)json_object_set_new(exception, "type", json_string(name));
    free(name);
    return true;
}

// runtime_call is a function that exceptions are thrown by, or in which a runtime gives
// up.
enum runtime_call {
    CALL_NONE,
    CALL_THROWS,
    CALL_RETHROWS, // what was thrown elsewhere
    CALL_PANICS,
    CALL_SANITIZES,
};

static enum runtime_call call_of(const char *function)
{
    static const struct {
        const char *begins;
        enum runtime_call call;
    } calls[] = {
        { "__cxa_throw", CALL_THROWS },
        { "__cxa_rethrow", CALL_RETHROWS },
        { "std::rethrow_exception", CALL_RETHROWS },
        { "rust_panic", CALL_PANICS },
        { "__rustc::rust_panic", CALL_PANICS },
        { "rust_begin_unwind", CALL_PANICS },
        // Not all of std::panicking: its catch_unwind is under every main.
        { "std::panicking::begin_panic", CALL_PANICS },
        { "std::panicking::default_hook", CALL_PANICS },
        { "std::panicking::panic_handler", CALL_PANICS },
        { "std::panicking::panic_with_hook", CALL_PANICS },
        { "std::panicking::rust_panic", CALL_PANICS },
        { "core::panicking::", CALL_PANICS },
        { "runtime.gopanic", CALL_PANICS }, // Go's
        { "runtime.goPanic", CALL_PANICS },
        { "runtime.panic", CALL_PANICS },
        { "runtime.sigpanic", CALL_PANICS },
        { "core::option::expect_failed", CALL_PANICS },
        { "core::option::unwrap_failed", CALL_PANICS },
        { "core::result::unwrap_failed", CALL_PANICS },
        { "__asan", CALL_SANITIZES },
        { "__hwasan", CALL_SANITIZES },
        { "__lsan", CALL_SANITIZES },
        { "__msan", CALL_SANITIZES },
        { "__tsan", CALL_SANITIZES },
        { "__ubsan", CALL_SANITIZES },
        { "__sanitizer::", CALL_SANITIZES },
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (words_begins(function, calls[i].begins))
            return calls[i].call;
    }
    return CALL_NONE;
}

// find_caller finds the program's frame that called into a runtime, through functions
// of the kind call. NULL: no such function is on the stack, or it has no caller in the
// program.
static const json_t *find_caller(const json_t *report, enum runtime_call call)
{
    const json_t *frames = report_frames(report_crashed_thread(report));
    bool inside = false;
    for (size_t i = 0; i < json_array_size(frames) && i < DIAGNOSIS_FRAMES; i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        bool runtime = function != NULL && call_of(function) == call;
        inside = inside || runtime;
        if (inside && !runtime && function != NULL &&
            !report_frame_is_system(report, frame))
            return frame;
    }
    return NULL;
}

// has_named_frame returns true if the program's own functions have names; a runtime's
// would then have names too.
static bool has_named_frame(const json_t *report)
{
    const json_t *frames = report_frames(report_crashed_thread(report));
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (report_string(frame, "function") != NULL &&
            !report_frame_is_system(report, frame))
            return true;
    }
    return false;
}

// innermost_call gives the innermost function on the stack that is called for one of
// the reasons from first to last; NULL: there is none.
static const char *innermost_call(const json_t *report, enum runtime_call first,
                                  enum runtime_call last)
{
    const json_t *frames = report_frames(report_crashed_thread(report));
    for (size_t i = 0; i < json_array_size(frames) && i < DIAGNOSIS_FRAMES; i++) {
        const char *function = report_string(json_array_get(frames, i), "function");
        enum runtime_call call = function != NULL ? call_of(function) : CALL_NONE;
        if (call >= first && call <= last)
            return function;
    }
    return NULL;
}

// name_throw_site adds where the exception was thrown. Where it was rethrown, the stack
// of the first throw is gone, and the place of the second is what is known.
static bool name_throw_site(const json_t *report, json_t *exception)
{
    // Destructors throw while older exceptions are under way.
    const char *throws = innermost_call(report, CALL_THROWS, CALL_RETHROWS);
    enum runtime_call call = throws != NULL ? call_of(throws) : CALL_NONE;
    const char *key = call == CALL_RETHROWS ? "rethrown_in" : "thrown_in";
    const json_t *frame = call != CALL_NONE ? find_caller(report, call) : NULL;
    if (frame == NULL || json_object_get(exception, key) != NULL)
        return false;
    diagnosis_note_place(exception, key, frame);
    return true;
}

// is_of_go returns true if Go's runtime is what gave up.
static bool is_of_go(const json_t *report)
{
    const char *function = innermost_call(report, CALL_PANICS, CALL_PANICS);
    return function != NULL && words_begins(function, "runtime.");
}

// name_runtime distinguishes an abort by a language's or a sanitizer's runtime from
// others.
static bool name_runtime(const json_t *report, json_t *crash)
{
    static const struct {
        enum runtime_call call;
        enum crash_kind kind;
    } runtimes[] = { { CALL_PANICS, CRASH_KIND_PANIC },
                     { CALL_SANITIZES, CRASH_KIND_SANITIZER } };
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        const json_t *frame = find_caller(report, runtimes[i].call);
        if (frame == NULL)
            continue;
        crash_words_set_kind(crash, runtimes[i].kind);
        if (runtimes[i].call == CALL_PANICS && is_of_go(report))
            (void)json_object_set_new(crash, "reason", json_string("go-runtime"));
        diagnosis_note_place(crash, "raised_in", frame);
        return true;
    }
    return false;
}

// check_panic finds where a panic began. A message without a panic on the stack is left
// over from an earlier panic.
static bool check_panic(const json_t *report, json_t *crash)
{
    const json_t *frame = find_caller(report, CALL_PANICS);
    if (json_object_get(crash, "raised_in") != NULL || !has_named_frame(report))
        return false;
    if (frame != NULL) {
        diagnosis_note_place(crash, "raised_in", frame);
        return true;
    }
    if (innermost_call(report, CALL_PANICS, CALL_PANICS) != NULL)
        return false;
    crash_words_set_kind(crash, CRASH_KIND_ABORT);
    (void)json_object_del(crash, "message");
    return true;
}

bool diagnosis_words(json_t *report, json_t *crash)
{
    enum crash_kind kind = crash_words_kind(crash);
    json_t *exception = json_object_get(crash, "exception");
    bool changed = false;
    if (json_is_object(exception)) {
        const json_t *nested = json_object_get(exception, "nested");
        changed = name_type(exception);
        for (size_t i = 0; i < json_array_size(nested); i++)
            changed = name_type(json_array_get(nested, i)) || changed;
        changed = name_throw_site(report, exception) || changed;
    }
    if (kind == CRASH_KIND_ABORT && report_string(crash, "message") == NULL)
        changed = name_runtime(report, crash) || changed;
    else if (kind == CRASH_KIND_PANIC)
        changed = check_panic(report, crash) || changed;
    return changed;
}
