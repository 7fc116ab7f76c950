// SPDX-License-Identifier: Apache-2.0
//
// crashhook: a program that crashes leaves a report, and dies as it would have without
// crashhook.
//
// Linking libcrashhook (or starting the program under `crashhook run`) is enough: a
// constructor installs the handler with the settings of the CRASHHOOK_* variables. The
// calls below are for programs that want more. Nothing here uses the heap. The handler
// takes three mappings and no thread, and nothing is started before a crash unless it
// was asked for (crashhook_watchdog_start, CRASHHOOK_MODE=daemon).
//
// C11, usable from C++.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRASHHOOK_API __attribute__((visibility("default")))

// crashhook_options are the program's own settings. A member takes the same values as
// the variable of the same name: .timeout is "30s" like CRASHHOOK_TIMEOUT. NULL: not
// set. A variable that is set takes precedence, so that whoever runs the program has
// the last word. The strings are copied.
//
// Six variables have no member. CRASHHOOK_ENABLE: the library is installed before
// main, and a program that wants no reports does not link it. CRASHHOOK_FLIGHT is read
// by the flight recorder, which crashhook_flight_start (crashhook/flight.h) starts.
// CRASHHOOK_THROWS, CRASHHOOK_HEAP, CRASHHOOK_HEAP_RATE and CRASHHOOK_HEAP_SLOTS are
// read by libraries that are loaded before the program is.
//
// Later versions add members at the end, so that a program that was built with an
// earlier header goes on working: its size tells which members there are.
struct crashhook_options {
    size_t size; // sizeof(struct crashhook_options), which CRASHHOOK_DEFAULTS sets
    const char *url;
    const char *token_file;
    const char *spool;
    const char *agent;
    const char *timeout;
    const char *print;
    const char *release;
    const char *environment;
    const char *tags;
    // The first version ended here.
    const char *token;
    const char *spool_max;
    const char *signals;
    const char *unwind;
    const char *limit;
    const char *top;
    const char *threads;
    const char *images;
    const char *symbolize;
    const char *hold;
    const char *mode;
    const char *handlers;
    const char *preset;
    const char *arguments;
    const char *sanitize;
    const char *memory;
    const char *own;
    const char *rate;
    const char *log;
    const char *kills;
    const char *starts;
    const char *stacks;
    const char *output;
    const char *format;
    const char *registers;
    const char *demangle;
    const char *color;
    const char *interactive;
    const char *warnings;
    const char *cache;
    const char *descriptors;
    const char *pii;
    const char *user;
};

// CRASHHOOK_DEFAULTS initializes a struct crashhook_options with nothing set.
// clang-format off
#define CRASHHOOK_DEFAULTS \
    { sizeof(struct crashhook_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
// clang-format on

// crashhook_install installs the handler. If it is already installed, options replace
// those of the call before: what they leave out is as the variables say again. With
// options NULL nothing changes then. 0: crashes are reported from now on. Otherwise it
// returns an errno value, and nothing has changed: EPERM in a setuid program, ECANCELED
// when CRASHHOOK_ENABLE says no, EINVAL when options->size is unknown, ENOMEM.
CRASHHOOK_API int crashhook_install(const struct crashhook_options *options);

// crashhook_thread_init gives the calling thread an alternate signal stack, without
// which its stack overflows cannot be reported; it is freed when the thread ends.
// Threads made by pthread_create or thrd_create already have one. In a program that
// links libcrashhook.a, those get one that set a smaller one themselves. Handlers of
// the program run on the stack that they have without it, and sigaltstack shows the
// program's stack. 0, or an errno value.
CRASHHOOK_API int crashhook_thread_init(void);

// The context of a program while it runs, for the report of a later crash. These calls
// take no lock, allocate nothing and preserve errno: they may be made from any thread
// and from a signal handler. Texts are copied and truncated to the given sizes. 0, or
// an errno value: ECANCELED when the handler is not installed, EINVAL for a name or
// path that is empty or too long, ENOSPC when all slots are used, EBUSY when another
// thread is writing the same name at this moment.

// crashhook_set_tag sets a tag, by which reports can be searched: a name of at most 35
// bytes, a value of at most 127. At most 32 tags. NULL removes the tag.
CRASHHOOK_API int crashhook_set_tag(const char *name, const char *value);

// crashhook_set_user says whom the program works for: the tag `user`, an id of at most
// 127 bytes. A collector counts the users that a bug affects, and stores a pseudonym in
// place of the id unless configured otherwise. It replaces the value of CRASHHOOK_USER.
// NULL: nobody.
CRASHHOOK_API int crashhook_set_user(const char *id);

// crashhook_set_data sets a longer text, of at most 1023 bytes, that is shown with the
// report. At most 16 of them. NULL removes it.
CRASHHOOK_API int crashhook_set_data(const char *name, const char *value);

// crashhook_breadcrumb records an event: the last 128 messages, of at most 239 bytes
// each, are part of the report, with their times.
CRASHHOOK_API void crashhook_breadcrumb(const char *message);

// crashhook_attach_file adds the end of a file, such as a log, to the report: its last
// tail_bytes, at most 1 MiB; 0: 64 KiB. The file is read after the program has died;
// path must be absolute. At most 8 files.
CRASHHOOK_API int crashhook_attach_file(const char *path, size_t tail_bytes);

// crashhook_crash is passed to a callback.
struct crashhook_crash {
    size_t size; // of this struct
    int signal;
    int reported;     // a report or a record is in the spool; 0 in a before function
    const void *info; // a siginfo_t *
    void *context;    // a ucontext_t *
};

// crashhook_answer is what a before function returns.
enum crashhook_answer {
    CRASHHOOK_REPORT = 0,   // report it
    CRASHHOOK_SKIP = 1,     // die without a report
    CRASHHOOK_CONTINUE = 2, // this is no crash: the program goes on
};

// A crashhook_before_fn is called in the crashed thread before anything is reported, a
// crashhook_after_fn when the report is written and the program is about to die. Locks
// may be held and the heap may be broken, so they may only call async-signal-safe
// functions (signal-safety(7)). Each has 64 KiB of stack and a quarter of
// CRASHHOOK_TIMEOUT. One that crashes, aborts or takes longer is abandoned, and
// everything goes on without it: the report is of the first crash, and the program dies
// of that.
typedef enum crashhook_answer crashhook_before_fn(const struct crashhook_crash *crash,
                                                  void *argument);
typedef void crashhook_after_fn(const struct crashhook_crash *crash, void *argument);

// crashhook_set_callbacks sets both functions; NULL: none. The first call maps their
// stack; without memory for it neither is set. It must not be called during a crash.
CRASHHOOK_API void crashhook_set_callbacks(crashhook_before_fn *before,
                                           crashhook_after_fn *after, void *argument);

// crashhook_session_begin counts this process as started, as CRASHHOOK_STARTS=yes does
// for a program that does not call it; crashhook_session_end counts it as ended as it
// wanted to, which exit does too. Each is a record of 16 bytes in a file in the spool,
// from which the collector's share of crash-free sessions comes. Further calls do
// nothing, and neither do a forked child's. 0, or ECANCELED as above.
CRASHHOOK_API int crashhook_session_begin(void);
CRASHHOOK_API void crashhook_session_end(void);

// crashhook_report_now writes a report of the running program, which continues unharmed
// once it is written. why becomes its last breadcrumb; NULL: none. 0, or an errno
// value: ECANCELED when the handler is not installed, EBUSY when a crash is being
// reported or this is called from a callback, EIO when no report was written.
CRASHHOOK_API int crashhook_report_now(const char *why);

// crashhook_watchdog_start starts a thread that reports the program whenever the
// watchdog was not fed for timeout_ms, which is at least 100, and again after two,
// four, eight times that, and so on, while it is not. 0, or an errno value: ECANCELED
// as above, EINVAL, EALREADY when it is running, or the reason why no thread could be
// made. A forked child has no watchdog.
CRASHHOOK_API int crashhook_watchdog_start(unsigned timeout_ms);

// crashhook_watchdog_end_after has the watchdog end the program, by SIGABRT and with a
// report, when it was not fed for so many times timeout_ms. 0, as at first: never.
CRASHHOOK_API void crashhook_watchdog_end_after(unsigned timeouts);

// crashhook_watchdog_feed reports that the program is alive. It may be called from
// anywhere, as often as needed.
CRASHHOOK_API void crashhook_watchdog_feed(void);

// crashhook_watchdog_stop ends the thread, and returns after it has ended.
CRASHHOOK_API void crashhook_watchdog_stop(void);

// crashhook_test selects how crashhook_test_crash crashes.
enum crashhook_test {
    CRASHHOOK_TEST_NULL_WRITE,
    CRASHHOOK_TEST_ABORT,
    CRASHHOOK_TEST_STACK_OVERFLOW,
    CRASHHOOK_TEST_ILLEGAL_INSTRUCTION,
};

// crashhook_test_crash really crashes the program, to test the reporting.
CRASHHOOK_API void crashhook_test_crash(enum crashhook_test how)
    __attribute__((noreturn));

// crashhook_watch shows the object at pointer in the reports of later crashes: its
// bytes, and what its pointers point to, by its C type. type is the type of *pointer in
// words, "struct session"; the program needs debug information or CTF (docs/types.md).
// name is how the report calls the object. Both strings are copied; the object must
// exist until crashhook_unwatch. It takes no lock and may be called anywhere, including
// in a signal handler. 0, or an errno value: ENOSPC when there are 64 already, EINVAL
// for a NULL, a name of more than 47 characters or a type of more than 119.
#define crashhook_watch(name, pointer, type)                                           \
    crashhook_watch_object((name), (pointer), (type), sizeof(*(pointer)))

// crashhook_watch_object is crashhook_watch for an object of size bytes.
CRASHHOOK_API int crashhook_watch_object(const char *name, const volatile void *object,
                                         const char *type, size_t size);

// crashhook_unwatch ends the watches of the object at that address. 0, or ENOENT. In C
// it also accepts a string, the name that the watches were given.
CRASHHOOK_API int crashhook_unwatch(const volatile void *object);

// crashhook_unwatch_name ends the watches with that name, or of the character array at
// that address.
CRASHHOOK_API int crashhook_unwatch_name(const char *name);

#ifndef __cplusplus
#define crashhook_unwatch(object)                                                      \
    _Generic((object), char *: crashhook_unwatch_name, const char *: crashhook_unwatch_name, default: crashhook_unwatch)(object)
#endif

// crashhook_version is the version of the library, such as "0.1.0".
CRASHHOOK_API const char *crashhook_version(void);

#ifdef __cplusplus
}
#endif
