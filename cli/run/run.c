// SPDX-License-Identifier: Apache-2.0
//
// Runs a program so that its crashes are reported: decides from its file how it is
// watched (program_kind.h), and prepares its environment accordingly.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/run/run_program.h"
#include "cli/session/command.h"
#include "cli/session/program_kind.h"
#include "cli/session/session.h"
#include "handler/crash/crash_trust.h"

// LD_PRELOAD separates its paths by spaces and colons and has no way to quote either.
// An installation below a path with such a character is preloaded through a symbolic
// link, in a folder of the user's own in /tmp or /var/tmp that everybody can search and
// only this user can change.

// OTHERS_WRITE: whoever can change the folder, or replace it, decides what is loaded.
enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

// preload_parent_is_safe returns true if others cannot move or remove what we create in
// parent.
static bool preload_parent_is_safe(const char *parent)
{
    struct stat status;
    return lstat(parent, &status) == 0 && S_ISDIR(status.st_mode) &&
           (status.st_uid == 0 || status.st_uid == geteuid()) &&
           ((status.st_mode & OTHERS_WRITE) == 0 || (status.st_mode & S_ISVTX) != 0);
}

// preload_folder_make creates folder, or accepts the one that an earlier run created.
static bool preload_folder_make(const char *folder)
{
    struct stat status;
    // A child that became another user loads the library too, so our umask must not
    // matter.
    if (mkdir(folder, 0755) == 0)
        (void)chmod(folder, 0755);
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & OTHERS_WRITE) == 0;
}

static bool preload_link_leads_to(const char *link, const char *target)
{
    char found[PATH_MAX];
    ssize_t length = readlink(link, found, sizeof(found));
    return length > 0 && (size_t)length == strlen(target) &&
           memcmp(found, target, (size_t)length) == 0;
}

// preload_link_make makes link point to target. A link to something else is replaced
// atomically, because other processes of this user may be starting programs through it.
static bool preload_link_make(const char *link, const char *target)
{
    struct text CH_CLEANUP(text_deinit) other = { 0 };
    if (symlink(target, link) == 0 || preload_link_leads_to(link, target))
        return true;
    text_appendf(&other, "%s.%ld", link, (long)getpid());
    return text_ok(&other) && symlink(target, other.bytes) == 0 &&
           rename(other.bytes, link) == 0;
}

// preload_link_below makes a link to the library's folder in this user's folder below
// parent. It links the folder because the handler finds the agent relative to the
// library. The link's name is the inode of its target.
static bool preload_link_below(const char *parent, const char *library,
                               char out_path[static PATH_MAX])
{
    char target[PATH_MAX];
    struct stat status;
    struct text CH_CLEANUP(text_deinit) folder = { 0 };
    struct text CH_CLEANUP(text_deinit) link = { 0 };
    const char *name = strrchr(library, '/');
    (void)snprintf(target, sizeof(target), "%.*s", (int)(name - library), library);
    text_appendf(&folder, "%s/crashhook-preload-%u", parent, (unsigned)geteuid());
    if (stat(target, &status) != 0 || !text_ok(&folder) ||
        !preload_parent_is_safe(parent) || !preload_folder_make(folder.bytes))
        return false;
    text_appendf(&link, "%s/%" PRIx64 "-%" PRIx64, folder.bytes,
                 (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    if (!text_ok(&link) || !preload_link_make(link.bytes, target))
        return false;
    int size = snprintf(out_path, PATH_MAX, "%s%s", link.bytes, name);
    return size > 0 && size < PATH_MAX;
}

// preload_path_make writes a path to library, which is absolute, that LD_PRELOAD
// accepts: the path itself, or one through a link. CH_ERR_IO: neither folder is usable.
// The link stays, one per installation and user, because the program may outlive the
// process that started it.
CH_CHECKED static enum ch_status preload_path_make(const char *library,
                                                   char out_path[static PATH_MAX])
{
    static const char *const parents[] = { "/tmp", "/var/tmp" };
    if (strpbrk(library, ": ") == NULL) {
        (void)snprintf(out_path, PATH_MAX, "%s", library);
        return CH_OK;
    }
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (preload_link_below(parents[i], library, out_path))
            return CH_OK;
    }
    return CH_ERR_IO;
}

enum {
    OPTIONS_MAX = 56,
    HELP_SIZE = 256,
    VALUE_SIZE = 64,
};

// describe_value writes what a variable's option takes: "no|yes|tty", or VALUE, and
// then adds to its help what the value may be, and the default.
static void describe_value(const struct settings_variable *variable, char *value,
                           char *help)
{
    const bool words = variable->kind == SETTING_WORD;
    const char *at = words ? variable->accepted : "VALUE";
    size_t used = 0;
    while (*at != 0 && used + 1 < VALUE_SIZE) {
        const bool between = *at == ',' || *at == ' ';
        value[used++] = between ? '|' : *at;
        at += !between ? 1 : *at == ',' ? strlen(", ") : strlen(" or ");
    }
    value[used] = 0;
    (void)snprintf(help, HELP_SIZE, "%.*s%s%s%s%s", (int)strcspn(variable->help, "."),
                   variable->help, words ? "" : ": ", words ? "" : variable->accepted,
                   variable->fallback[0] != 0 ? "; default: " : "", variable->fallback);
}

static const struct option *run_options(void)
{
    static struct option rows[OPTIONS_MAX];
    static char values[OPTIONS_MAX][VALUE_SIZE];
    static char help[OPTIONS_MAX][HELP_SIZE];
    size_t count;
    size_t used = 0;
    const struct settings_variable *variables = settings_variables(&count);
    rows[used++] = (struct option){
        .name = "via",
        .value = "auto|preload|trace",
        .help = "Whether the program is watched from inside, from outside, or as suits "
                "its file",
    };
    rows[used++] = (struct option){
        .name = "stderr-tail",
        .help =
            "Keep the end of standard error, and report panics and failed checks that "
            "exit",
    };
    for (size_t i = 0; i < count && used + 1 < OPTIONS_MAX; i++) {
        if (variables[i].option == NULL)
            continue;
        describe_value(&variables[i], values[used], help[used]);
        rows[used] = (struct option){ .name = variables[i].option,
                                      .value = values[used],
                                      .help = help[used] };
        used++;
    }
    return rows;
}

// append_absolute makes a path independent of the working directory, which the program
// may have changed when it crashes; other values are copied.
static bool append_absolute(const struct settings_variable *variable, const char *value,
                            struct text *out)
{
    char folder[PATH_MAX];
    if (settings_is_path(variable, value) && value[0] != '/' &&
        getcwd(folder, sizeof(folder)) != NULL)
        text_appendf(out, "%s/", folder);
    text_append_string(out, value);
    return text_ok(out) && out->size != 0;
}

static int export_option(const struct settings_variable *variable, const char *value)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    const char *set = append_absolute(variable, value, &text) ? text.bytes : value;
    if (setenv(variable->name, set, 1) != 0)
        return command_fail("cannot set %s: %s", variable->name, strerror(errno));
    return COMMAND_DONE;
}

// export_options sets the variables of the given options, and makes paths in variables
// that are already set absolute: the tracer runs in another folder than the program.
static int export_options(const struct options *options)
{
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = variables[i].option != NULL
                                ? options_value(options, variables[i].option)
                                : NULL;
        if (value == NULL && variables[i].option != NULL)
            value = getenv(variables[i].name);
        if (value != NULL && export_option(&variables[i], value) != COMMAND_DONE)
            return COMMAND_FAILED;
    }
    return COMMAND_DONE;
}

// is_run_enabled reads the settings; false: nothing is to be reported. The handler
// reports values that cannot be parsed.
static bool is_run_enabled(struct session *session)
{
    const struct settings *settings = &session->settings;
    settings_read(&session->settings, session_getenv, NULL, NULL);
    // Another run traces this process, and so what it starts: one tracer is enough.
    bool runs_traced =
        getenv(SETTINGS_TRACED) != NULL && refusal_other_tracer(getpid()) != 0;
    return !runs_traced && (settings->enable == SETTING_YES ||
                            (settings->enable == SETTING_TTY && isatty(STDERR_FILENO)));
}

// append_library adds a library that is installed in the folder of the one at path. One
// that is not there is left out, and a line says what that means: the program runs
// without it, as it would with the loader's warning.
static void append_library(const char *path, const char *soname, const char *variable,
                           struct text *value)
{
    char library[PATH_MAX];
    const char *name = strrchr(path, '/');
    (void)snprintf(library, sizeof(library), "%.*s/%s", (int)(name - path), path,
                   soname);
    if (access(library, R_OK) == 0)
        text_appendf(value, ":%s", library);
    else
        (void)command_fail("%s has no effect: cannot read '%s': %s", variable, library,
                           strerror(errno));
}

// reports_kills returns true if a program that is killed is reported, which its user
// may have decided.
static bool reports_kills(const struct session *session)
{
    const char *chosen = getenv("CRASHHOOK_KILLS");
    return chosen == NULL || chosen[0] == 0 || session->settings.kills != KILLS_NO;
}

// append_heap adds the library that guards allocations. A sanitizer has an allocator of
// its own, with checks of its own, and neither a static program nor one that gains
// privileges loads the library.
static void append_heap(const char *path, const struct settings *settings,
                        const struct program *program, struct text *value)
{
    if (settings->heap == HEAP_NO)
        return;
    if (program->runtime[0] == 0 && program->kind != PROGRAM_SANITIZED &&
        program->kind != PROGRAM_PRIVILEGED && program->kind != PROGRAM_FOREIGN &&
        !program->is_static)
        append_library(path, CRASHHOOK_HEAP_SONAME, "CRASHHOOK_HEAP", value);
    else
        (void)command_fail(
            "CRASHHOOK_HEAP has no effect in '%s': %s", program->path,
            program_kind_words(program->is_static ? PROGRAM_STATIC : program->kind));
}

// preload_library puts the library before what is already preloaded, and after the
// runtime of a sanitizer, which must come first. A traced program needs the library
// that guards allocations alone. False: that failed, and a line says so.
static bool preload_library(const struct program *program,
                            const struct settings *settings, bool is_traced)
{
    char library[PATH_MAX];
    char path[PATH_MAX];
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    const char *others = getenv("LD_PRELOAD");
    if (!installed_library(library)) {
        (void)command_fail("cannot find " CRASHHOOK_SONAME " beside this program");
        return false;
    }
    if (preload_path_make(library, path) != CH_OK) {
        (void)command_fail(
            "cannot preload '%s': LD_PRELOAD takes no path with a space or "
            "a colon, and neither /tmp nor /var/tmp takes a link to it",
            library);
        return false;
    }
    if (!is_traced)
        text_appendf(&value, "%s%s%s", program->runtime,
                     program->runtime[0] != 0 ? ":" : "", path);
    if (!is_traced && settings->throws == SETTING_YES)
        append_library(path, CRASHHOOK_THROWS_SONAME, "CRASHHOOK_THROWS", &value);
    append_heap(path, settings, program, &value);
    if (others != NULL && others[0] != 0)
        text_appendf(&value, ":%s", others);
    if (text_ok(&value) &&
        (value.size == 0 || setenv("LD_PRELOAD", value.bytes, 1) == 0))
        return true;
    (void)command_fail("cannot set LD_PRELOAD: %s", strerror(errno));
    return false;
}

// is_library returns true if a word of LD_PRELOAD, length bytes long, is our handler.
static bool is_library(const char *word, size_t length)
{
    static const char name[] = "/" CRASHHOOK_SONAME;
    size_t size = sizeof(name) - 1;
    return length >= size && memcmp(word + length - size, name, size) == 0;
}

// forget_preload removes our library from LD_PRELOAD: a program that is traced needs no
// handler, and its crashes must be reported only once. A handler that it links reads
// the variable name.
static void forget_preload(const char *name, const char *word)
{
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    const char *words = getenv("LD_PRELOAD");
    for (const char *at = words; at != NULL && *at != 0;) {
        size_t length = strcspn(at, ": ");
        if (length != 0 && !is_library(at, length))
            text_appendf(&value, "%s%.*s", value.size != 0 ? ":" : "", (int)length, at);
        at += length + (at[length] != 0);
    }
    if (words != NULL && value.size == 0)
        (void)unsetenv("LD_PRELOAD");
    else if (words != NULL && text_ok(&value))
        (void)setenv("LD_PRELOAD", value.bytes, 1);
    (void)setenv(name, word, 1);
}

// tracer_environment is our environment without the variables for the loader. NULL: out
// of memory. It is never freed, because this process becomes the program.
static char **tracer_environment(void)
{
    static char disabled[] = "CRASHHOOK_ENABLE=no"; // for the tracer itself
    size_t count = 0;
    size_t kept = 0;
    while (environ[count] != NULL)
        count++;
    char **out = calloc(count + 2, sizeof(*out));
    for (size_t i = 0; out != NULL && i < count; i++) {
        if (strncmp(environ[i], "LD_", 3) != 0 &&
            strncmp(environ[i], disabled, strcspn(disabled, "=") + 1) != 0)
            out[kept++] = environ[i];
    }
    if (out != NULL)
        out[kept] = disabled;
    return out;
}

// run_without runs the program although it cannot be watched, after a line that has
// said why.
static int run_without(const char **arguments)
{
    (void)command_fail("'%s' runs without being watched", arguments[0]);
    return run_unwatched(arguments);
}

// find_tracer writes the path of an agent that other users cannot change. False: there
// is none, and a line says so.
static bool find_tracer(char agent[static PATH_MAX])
{
    static const char others[] = "users other than root and this one can change";
    const char *chosen = getenv("CRASHHOOK_AGENT");
    if (chosen != NULL && crash_trusts(chosen)) {
        (void)snprintf(agent, PATH_MAX, "%s", chosen);
        return true;
    }
    if (chosen != NULL)
        (void)command_fail("CRASHHOOK_AGENT is ignored: %s '%s' or a folder above it",
                           others, chosen);
    if (!installed_agent(agent))
        (void)command_fail("cannot find crashhook-agent beside this program");
    else if (!crash_trusts(agent))
        (void)command_fail("cannot trace: %s the agent '%s' or a folder above it",
                           others, agent);
    else
        return true;
    return false;
}

static int run_by_trace(const struct options *options, struct session *session,
                        const struct program *program)
{
    char agent[PATH_MAX];
    if (options_given(options, "stderr-tail"))
        (void)command_fail("standard error of a traced program is not kept");
    // The tracer would be a process of the children's namespace.
    const bool apart = run_has_apart_children();
    if (apart)
        (void)command_fail("cannot trace a program whose children get a PID namespace "
                           "of their own");
    char **kept = tracer_environment();
    if (kept == NULL || apart || !find_tracer(agent))
        return run_without(options->arguments);
    forget_preload(SETTINGS_TRACED, "yes");
    if (session->settings.heap != HEAP_NO)
        (void)preload_library(program, &session->settings, true);
    // The program takes the place of this process, so this is the last moment.
    run_check_spool(session, true);
    return run_traced(agent, options->arguments, kept);
}

// warn_of_sanitizer reports what is different for a program with a sanitizer while it
// is traced: LeakSanitizer traces the program's threads itself, and fails. Others end
// it by an exit.
static void warn_of_sanitizer(const struct program *program, const char *command)
{
    static const char *const names[] = { "__asan_init", "__hwasan_init", "__lsan_init",
                                         NULL };
    bool address =
        program->hidden != NULL && strcmp(program->hidden, "AddressSanitizer") == 0;
    if (program_has_name(program, names) || address ||
        strncmp(program->runtime, "liblsan", strlen("liblsan")) == 0)
        (void)command_fail(
            "'%s' has LeakSanitizer, which fails in a traced program and "
            "ends it with an error; --via preload does not trace",
            command);
    else if (program->hidden != NULL)
        (void)command_fail(
            "'%s' has %s linked in: an exit because of what that finds is "
            "not reported; link its runtime as a shared library",
            command, program->hidden);
    else if (program->kind == PROGRAM_SANITIZED)
        (void)command_fail(
            "'%s' has a sanitizer: an exit because of what that finds is "
            "not reported while it is traced; --via preload reports it",
            command);
}

// run_with_library runs the program with the handler preloaded, or unwatched where that
// cannot be.
static int run_with_library(const struct options *options, struct session *session,
                            const struct program *program)
{
    bool kills = reports_kills(session);
    bool keep_stderr = options_given(options, "stderr-tail");
    if (!preload_library(program, &session->settings, false))
        return run_without(options->arguments);
    if (!keep_stderr && run_is_bound())
        return run_in_place(options->arguments, session, kills);
    return run_preloaded(options->arguments, session, kills, keep_stderr);
}

static int run_by_auto(const struct options *options, struct session *session)
{
    struct program program;
    program_look(options->arguments[0], &program);
    enum run_way way = run_way_of(&program);
    // A Go program's runtime says of any fault what a tracer would find, except what
    // libcrashhook-heap knows of it.
    if (program.kind == PROGRAM_GO && options_given(options, "stderr-tail") &&
        session->settings.heap == HEAP_NO) {
        forget_preload("CRASHHOOK_ENABLE", "no");
        return run_preloaded(options->arguments, session, reports_kills(session), true);
    }
    if (way == RUN_WAY_TRACE) {
        warn_of_sanitizer(&program, options->arguments[0]);
        return run_by_trace(options, session, &program);
    }
    if (way == RUN_WAY_UNWATCHED) {
        (void)command_fail(
            "'%s' gains privileges, which tracing would take from it; it "
            "runs without being watched",
            options->arguments[0]);
        return run_unwatched(options->arguments);
    }
    return run_with_library(options, session, &program);
}

static int run_by_preload(const struct options *options, struct session *session)
{
    struct program program;
    program_look(options->arguments[0], &program);
    if (program.kind == PROGRAM_HIDDEN_TSAN) {
        (void)command_fail("'%s' has ThreadSanitizer linked in, which crashes if a "
                           "library is preloaded; it runs without being watched",
                           options->arguments[0]);
        return run_unwatched(options->arguments);
    }
    return run_with_library(options, session, &program);
}

static int run_run(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    const char *via = options_value(options, "via");
    if (export_options(options) != COMMAND_DONE)
        return COMMAND_FAILED;
    if (!is_run_enabled(&session))
        return run_unwatched(options->arguments);
    if (via == NULL || strcmp(via, "auto") == 0)
        return run_by_auto(options, &session);
    if (strcmp(via, "trace") == 0) {
        struct program program;
        program_look(options->arguments[0], &program);
        warn_of_sanitizer(&program, options->arguments[0]);
        return run_by_trace(options, &session, &program);
    }
    if (strcmp(via, "preload") == 0)
        return run_by_preload(options, &session);
    return command_misused("--via is auto, preload or trace, not '%s'", via);
}

const struct command run_command = {
    .name = "run",
    .arguments = "-- COMMAND [ARGUMENT...]",
    .summary = "Run a program and report its crashes",
    .make_options = run_options,
    .run = run_run,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
    .in_order = true,
};
