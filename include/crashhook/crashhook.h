// SPDX-License-Identifier: Apache-2.0
//
// crashhook: a program that crashes leaves a report, and dies as it would have died.
//
// Linking libcrashhook (or starting the program under `crashhook run`) is enough: a
// constructor installs the handler with what the CRASHHOOK_* variables say. The calls
// below are for programs that want more. Nothing here uses the heap; the handler costs
// two mappings and no thread, and nothing is started before a crash.
//
// C11, usable from C++.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRASHHOOK_API __attribute__((visibility("default")))

// crashhook_options is what a program says about itself, in the words that the
// variables of the same names take: .timeout is "30s" as CRASHHOOK_TIMEOUT is. NULL:
// not said. A variable that is set wins, so that whoever runs the program has the last
// word. The strings are copied.
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
};

// CRASHHOOK_DEFAULTS initializes a struct crashhook_options that says nothing.
// clang-format off
#define CRASHHOOK_DEFAULTS \
    { sizeof(struct crashhook_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
// clang-format on

// crashhook_install installs the handler, or, when it is installed already, applies
// options to it; options may be NULL. 0: crashes are reported from now on. Otherwise an
// errno value, and nothing has changed: EPERM in a setuid program, ECANCELED when
// CRASHHOOK_ENABLE says no, EINVAL when options->size is unknown, ENOMEM.
CRASHHOOK_API int crashhook_install(const struct crashhook_options *options);

// crashhook_thread_init gives the calling thread an alternate signal stack, without
// which a stack overflow of it cannot be reported; it goes when the thread ends.
// Threads made by pthread_create or thrd_create have one already, except in a program
// that links libcrashhook.a. A large enough stack that the thread has set itself is
// kept. 0, or an errno value.
CRASHHOOK_API int crashhook_thread_init(void);

// crashhook_version is the version of the library, such as "0.1.0".
CRASHHOOK_API const char *crashhook_version(void);

#ifdef __cplusplus
}
#endif
