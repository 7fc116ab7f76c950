// SPDX-License-Identifier: Apache-2.0
//
// `crashhook debug` makes a folder with a core of the report, links to the files of its
// images, and a script, and runs gdb on it. The folder goes when gdb ends.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/file.h"
#include "cli/debug/debug_core.h"
#include "cli/debug/debug_images.h"
#include "cli/debug/debug_script.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "cli/session/temporary_folder.h"
#include "report/value/report.h"

enum { NOT_STARTED = 127 };

// debugging is one run of the command.
struct debugging {
    struct session *session;
    const json_t *report; // expanded
    const char *collector;
    char folder[TEMPORARY_FOLDER_SIZE];
    bool made;
};

static void debugging_deinit(struct debugging *debugging)
{
    if (debugging->made)
        temporary_folder_remove(debugging->folder);
}

static bool make_debug_folder(struct debugging *debugging)
{
    debugging->made = temporary_folder_make("debug", debugging->folder);
    // The name stands in commands of the debugger.
    if (debugging->made && strpbrk(debugging->folder, " \t\n\"'\\:") != NULL) {
        debugging_deinit(debugging);
        debugging->made = false;
        errno = EINVAL;
    }
    if (!debugging->made)
        (void)command_fail("cannot make a folder '%s': %s", debugging->folder,
                           strerror(errno));
    return debugging->made;
}

static bool write_debug_file(const struct debugging *debugging, const char *name,
                             const void *bytes, size_t size)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", debugging->folder, name);
    int CH_CLEANUP(file_close) fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && file_write_all(fd, bytes, size))
        return true;
    (void)command_fail("cannot write '%s': %s", path, strerror(errno));
    return false;
}

// frames_plan is the places of a thread's frames. Inlined calls are left out: the
// debugger finds them by itself.
static json_t *frames_plan(const json_t *thread, json_t *notes)
{
    json_t *chain = json_array();
    const json_t *frames =
        json_object_get(json_object_get(thread, "backtrace"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *address = report_string(frame, "address");
        const char *kind = report_string(frame, "kind");
        uint64_t value = 0;
        if (kind != NULL && strcmp(kind, "omit") == 0) {
            char line[128];
            (void)snprintf(line, sizeof(line),
                           "thread %lld: %lld frames are left out after #%zu",
                           (long long)report_integer(thread, "tid", 0),
                           (long long)report_integer(frame, "count", 0),
                           json_array_size(chain) - 1);
            json_array_append_new(notes, json_string(line));
        } else if (!json_is_true(json_object_get(frame, "inline")) && address != NULL &&
                   command_parse_address(address, &value)) {
            json_array_append_new(chain, json_integer((json_int_t)value));
        }
    }
    return chain;
}

// plan_json is what the script reads.
static json_t *plan_json(const struct debugging *debugging,
                         const struct debug_images *images)
{
    const json_t *list = json_object_get(debugging->report, "threads");
    const char *summary =
        report_string(json_object_get(debugging->report, "crash"), "summary");
    json_t *threads = json_array();
    bool arm = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *thread = json_array_get(list, i);
        arm |= report_string(json_object_get(thread, "registers"), "pc") != NULL;
        json_array_append_new(threads,
                              json_pack("{s:I, s:o}", "tid",
                                        (json_int_t)report_integer(thread, "tid", 0),
                                        "frames", frames_plan(thread, images->notes)));
    }
    if (json_array_size(json_object_get(debugging->report, "memory")) == 0)
        json_array_append_new(images->notes,
                              json_string("the report has no memory: stacks and data"
                                          " cannot be read"));
    return json_pack("{s:o, s:O, s:O, s:s, s:s, s:s}", "threads", threads, "images",
                     images->found, "notes", images->notes, "summary",
                     summary != NULL ? summary : "a report without a crash", "pc",
                     arm ? "pc" : "rip", "sp", arm ? "sp" : "rsp");
}

static bool write_script(const struct debugging *debugging,
                         const struct debug_images *images)
{
    struct text CH_CLEANUP(text_deinit) script = { 0 };
    json_auto_t *plan = plan_json(debugging, images);
    char *dumped = json_dumps(plan, JSON_COMPACT | JSON_ENSURE_ASCII);
    text_appendf(&script, "FOLDER = \"%s\"\n", debugging->folder);
    text_append(&script, debug_script_bytes, debug_script_size);
    bool written = dumped != NULL && text_ok(&script) &&
                   write_debug_file(debugging, "plan.json", dumped, strlen(dumped)) &&
                   write_debug_file(debugging, "debug.py", script.bytes, script.size);
    free(dumped);
    return written;
}

// prepare_debugging writes all that gdb reads.
static bool prepare_debugging(struct debugging *debugging)
{
    struct debug_images CH_CLEANUP(debug_images_deinit) images = { 0 };
    struct text CH_CLEANUP(text_deinit) core = { 0 };
    if (debug_images_init(&images, debugging->session, debugging->folder,
                          debugging->collector) != CH_OK ||
        debug_images_find(&images, debugging->report) != CH_OK) {
        (void)command_fail("cannot link the files of the report's images: %s",
                           strerror(errno));
        return false;
    }
    enum ch_status status = debug_core_write(debugging->report, &images.ranges, &core);
    if (status != CH_OK) {
        (void)command_fail("cannot make a core of the report: %s",
                           status == CH_ERR_UNSUPPORTED
                               ? "it has no registers of amd64 or aarch64"
                               : "out of memory");
        return false;
    }
    return write_debug_file(debugging, "core", core.bytes, core.size) &&
           write_script(debugging, &images);
}

// run_debugger runs gdb and returns its exit status. Ctrl-C is the debugger's.
static int run_debugger(const struct debugging *debugging,
                        const struct options *options, size_t first)
{
    char script[PATH_MAX];
    size_t count = options->argument_count - first;
    const char **arguments = calloc(count + 6, sizeof(*arguments));
    int status = 0;
    (void)snprintf(script, sizeof(script), "%s/debug.py", debugging->folder);
    if (arguments == NULL)
        return command_fail("cannot start gdb: out of memory");
    arguments[0] = "gdb";
    arguments[1] = "-q";
    arguments[2] = "-nx"; // a project's own .gdbinit is not for a stranger's report
    arguments[3] = "-x";
    arguments[4] = script;
    for (size_t i = 0; i < count; i++)
        arguments[5 + i] = options->arguments[first + i];
    (void)signal(SIGINT, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGINT, SIG_DFL);
        (void)execvp("gdb", (char *const *)(uintptr_t)arguments);
        arguments[0] = "gdb-multiarch";
        (void)execvp("gdb-multiarch", (char *const *)(uintptr_t)arguments);
        _exit(NOT_STARTED);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)signal(SIGINT, SIG_DFL);
    free(arguments);
    if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED))
        return command_fail("cannot start gdb: is it installed?");
    return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}

// read_debugged reads the report that the argument names, the newest one without, in
// expanded form.
static json_t *read_debugged(struct session *session, const char *argument,
                             struct text *collector)
{
    json_auto_t *report = NULL;
    struct text CH_CLEANUP(text_deinit) expanded = { 0 };
    bool url = argument != NULL && collector_is_url(argument);
    enum ch_status status = url ? collector_report(session, argument, &report)
                                : session_spool_report(session, argument, &report);
    if (status == CH_OK && url)
        status = collector_base(session, argument, collector);
    if (status == CH_OK)
        status = report_print_expanded(report, &expanded);
    return status == CH_OK ? json_loadb(expanded.bytes, expanded.size, 0, NULL) : NULL;
}

static int run_debug(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session;
    struct text CH_CLEANUP(text_deinit) collector = { 0 };
    const char *first = options->argument_count != 0 ? options->arguments[0] : NULL;
    // What begins with a dash is the debugger's.
    bool named = first != NULL && (first[0] != '-' || first[1] == 0);
    session_init(&session, options);
    json_auto_t *report = read_debugged(&session, named ? first : NULL, &collector);
    struct debugging CH_CLEANUP(debugging_deinit)
        debugging = { .session = &session,
                      .report = report,
                      .collector = collector.size != 0 ? collector.bytes : NULL };
    if (report == NULL || !make_debug_folder(&debugging) ||
        !prepare_debugging(&debugging))
        return COMMAND_FAILED;
    return run_debugger(&debugging, options, named ? 1 : 0);
}

static const struct option debug_options[] = {
    { "spool", "DIR", "where to look an id up", 0 },
    { "token-file", "FILE", "file with the token of the URL's collector", 0 },
    { 0 },
};

const struct command debug_command = {
    .name = "debug",
    .arguments = "[REPORT|ID|URL] [-- GDB-ARGUMENT...]",
    .summary = "Open a report in gdb: registers, stacks, debug files and sources",
    .options = debug_options,
    .run = run_debug,
    .arguments_max = SIZE_MAX,
};
