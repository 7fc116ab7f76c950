// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/swift_names.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/file/swift_symbol.h"
#include "symbolizer/search/guarded_child.h"

enum {
    SWIFT_NAMES_MAX = 4096, // of one report
    SWIFT_NAME_MAX = 16384, // demangled
    SWIFT_TIMEOUT_MS = 5000,
    NOBODY = 65534,
};

// swift_demangle_name_fn is what libswiftDemangle exports, swift_demangle_fn what
// libswiftCore does.
typedef size_t swift_demangle_name_fn(const char *name, char *out, size_t size);
typedef char *swift_demangle_fn(const char *name, size_t length, char *out,
                                size_t *out_size, uint32_t flags);

// swift_libraries are the places in which distributions and Swift's own packages have
// them.
static const char *const swift_libraries[] = {
    "/usr/libexec/swift/lib/libswiftDemangle.so",
    "/usr/lib/swift/lib/libswiftDemangle.so",
    "/usr/lib/libswiftDemangle.so",
    "/opt/swift/usr/lib/libswiftDemangle.so",
    "/usr/libexec/swift/lib/swift/linux/libswiftCore.so",
    "/usr/lib/swift/linux/libswiftCore.so",
    "/opt/swift/usr/lib/swift/linux/libswiftCore.so",
};

// swift_is_rooted returns true if only root can change the file at path: it and all its
// folders are root's. It stores the path without links, which may be anybody's.
static bool swift_is_rooted(const char *path, char real[PATH_MAX])
{
    char folder[PATH_MAX];
    struct stat is;
    if (realpath(path, real) == NULL)
        return false;
    memcpy(folder, real, strlen(real) + 1);
    for (;;) {
        if (stat(folder, &is) != 0 || is.st_uid != 0 ||
            is.st_mode & (S_IWGRP | S_IWOTH))
            return false;
        char *slash = strrchr(folder, '/');
        if (slash == NULL || strcmp(folder, "/") == 0)
            return true;
        slash[slash == folder] = 0;
    }
}

// swift_find_library stores the path of the library to use. False: there is none.
static bool swift_find_library(const struct symbolizer_options *options,
                               char real[PATH_MAX])
{
    size_t count = sizeof(swift_libraries) / sizeof(swift_libraries[0]);
    if (options->swift_library != NULL)
        return swift_is_rooted(options->swift_library, real);
    for (size_t i = 0; i < count; i++)
        if (swift_is_rooted(swift_libraries[i], real))
            return true;
    return false;
}

// A swift_work is what the child does.
struct swift_work {
    const char *library;
    json_t *names; // an object: each mangled name with null
};

static void swift_drop_privileges(void)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (geteuid() != 0)
        return;
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0)
        _exit(CH_ERR_UNSUPPORTED);
}

static json_t *swift_demangle_one(const char *name, swift_demangle_name_fn *by_name,
                                  swift_demangle_fn *by_runtime)
{
    static char out[SWIFT_NAME_MAX];
    if (by_name != NULL) {
        size_t size = by_name(name, out, sizeof(out));
        return size != 0 && size < sizeof(out) ? json_string(out) : NULL;
    }
    char *made = by_runtime(name, strlen(name), NULL, NULL, 0);
    json_t *value =
        made != NULL && strlen(made) < SWIFT_NAME_MAX ? json_string(made) : NULL;
    free(made);
    return value;
}

static enum ch_status swift_demangle_all(void *context, int to_parent)
{
    const struct swift_work *work = context;
    swift_demangle_name_fn *by_name = NULL;
    swift_demangle_fn *by_runtime = NULL;
    const char *name;
    json_t *value;
    swift_drop_privileges();
    void *library = dlopen(work->library, RTLD_NOW | RTLD_LOCAL);
    void *found =
        library != NULL ? dlsym(library, "swift_demangle_getDemangledName") : NULL;
    memcpy(&by_name, &found, sizeof(by_name));
    found = library != NULL ? dlsym(library, "swift_demangle") : NULL;
    memcpy(&by_runtime, &found, sizeof(by_runtime));
    if (by_name == NULL && by_runtime == NULL)
        return CH_ERR_NOT_FOUND;
    json_t *answers = json_object();
    json_object_foreach(work->names, name, value)
    {
        json_t *answer = swift_demangle_one(name, by_name, by_runtime);
        if (answer != NULL)
            (void)json_object_set_new(answers, name, answer);
    }
    return guarded_child_answer(answers, to_parent);
}

// swift_each_frame calls use for all frames of report that have a Swift name.
static void swift_each_frame(json_t *report,
                             void (*use)(json_t *frame, const char *name,
                                         json_t *names),
                             json_t *names)
{
    size_t i;
    size_t k;
    json_t *thread;
    json_t *frame;
    json_array_foreach(json_object_get(report, "threads"), i, thread)
    {
        json_t *backtrace = json_object_get(thread, "backtrace");
        json_array_foreach(json_object_get(backtrace, "frames"), k, frame)
        {
            const char *name = json_string_value(json_object_get(frame, "raw_name"));
            if (name != NULL && swift_symbol_is_mangled(name))
                use(frame, name, names);
        }
    }
}

static void swift_note_name(json_t *frame, const char *name, json_t *names)
{
    (void)frame;
    if (json_object_size(names) < SWIFT_NAMES_MAX)
        (void)json_object_set_new(names, name, json_null());
}

static void swift_set_name(json_t *frame, const char *name, json_t *names)
{
    json_t *answer = json_object_get(names, name);
    if (json_is_string(answer) && json_string_length(answer) != 0)
        (void)json_object_set(frame, "function", answer);
}

void swift_names_apply(json_t *report, const struct symbolizer_options *options)
{
    json_auto_t *names = json_object();
    struct text CH_CLEANUP(text_deinit) result = { 0 };
    swift_each_frame(report, swift_note_name, names);
    char library[PATH_MAX];
    if (json_object_size(names) == 0 || !swift_find_library(options, library))
        return;
    struct swift_work work = { .library = library, .names = names };
    result.limit_bytes = (size_t)SWIFT_NAMES_MAX * SWIFT_NAME_MAX;
    if (guarded_child_run(swift_demangle_all, &work,
                          guarded_child_now_ms() + SWIFT_TIMEOUT_MS, &result) != CH_OK)
        return;
    json_auto_t *answers = guarded_child_read(&result);
    if (json_is_object(answers))
        swift_each_frame(report, swift_set_name, answers);
}
