// SPDX-License-Identifier: Apache-2.0
//
// Reports a core file, or one that the kernel pipes to us: on stdout, or with --store
// into the spool, as a crash under the handler would leave it (docs/cores.md).
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/core/core_input.h"
#include "agent/core/minidump_core.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/rights.h"
#include "cli/session/command.h"
#include "cli/session/confine.h"
#include "cli/session/delivery.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "formats/interchange/minidump.h"
#include "report/value/report.h"
#include "symbolizer/search/guarded_child.h"

// Stores the report of a core that the kernel passes on, or of a file.
//
// A core is made by whatever crashed, and the kernel starts its helper as root. So the
// core is received, read and named in a child process that runs as the user of the
// dying process, or as a user that owns nothing (confine.h) where the former would be a
// gain of rights: for a process of root, and for one that changed its user or may not
// be dumped. The child drops capabilities, network, other programs and writing of files
// before it reads a byte. Root only writes the report that it returns to the spool,
// without parsing it.

struct core_store {
    struct session *session; // its spool is open
    struct core_options options;
    const char *name; // of the core, for messages
    int fd;           // a core file, or a pipe
};

// core_work is what the child works on.
struct core_work {
    struct core_store *store;
    struct rights owner;     // the user whose rights the core is read with
    bool owner_is_safe;      // else those of nobody are used
    struct core_input input; // its fd is negative if the core is a file
    char id[REPORT_ID_SIZE];
};

// find_owner reads the rights of the dying process. The files in /proc of a process
// that may not be dumped belong to root (proc(5)).
static void find_owner(struct core_work *work)
{
    struct stat folder;
    char path[64];
    pid_t pid = work->store->options.pid;
    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    if (pid == 0 || stat(path, &folder) != 0)
        return;
    rights_read(pid, &work->owner);
    work->owner_is_safe = !work->owner.mixed && work->owner.user != 0 &&
                          folder.st_uid == work->owner.user;
}

static bool become_owner(const struct core_work *work)
{
    if (geteuid() != 0)
        return true;
    return work->owner_is_safe ? confine_become(&work->owner) : confine_become_nobody();
}

// release_process closes the pipe: the kernel keeps the dying process until that
// happens.
static void release_process(int fd)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, fd);
}

// read_core_report makes the raw report. It runs in the child.
static enum ch_status read_core_report(struct core_work *work, struct text *raw,
                                       struct text *held)
{
    struct core_store *store = work->store;
    struct core_capture core;
    enum ch_status status = CH_OK;
    if (work->input.fd >= 0)
        status = core_input_fill(&work->input, store->fd);
    if (status == CH_OK)
        status = core_capture_open(
            &core, work->input.fd >= 0 ? work->input.fd : store->fd, &store->options);
    if (status != CH_OK)
        return status;
    core.capture.held = held;
    status = raw_report_write(&core.capture, work->id, -1, raw);
    core.capture.held = NULL;
    core_capture_close(&core);
    return status;
}

// core_in_child returns the report with its names.
static enum ch_status core_in_child(void *context, int to_parent)
{
    struct core_work *work = context;
    const struct session *session = work->store->session;
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    struct text CH_CLEANUP(text_deinit) named = { 0 };
    struct report_error error;
    json_auto_t *report = NULL;
    spool_close(&work->store->session->spool);
    if (!become_owner(work))
        return CH_ERR_IO;
    confine_reader();
    enum ch_status status = read_core_report(work, &raw, &held);
    release_process(work->store->fd);
    if (status == CH_OK)
        status = report_parse(raw.bytes, raw.size, &report, &error);
    if (status != CH_OK)
        return status;
    session_symbolize(session, report);
    session_add_values(session, report, held.bytes, held.size);
    (void)json_object_set_new(report, "revision", json_integer(1));
    status = report_print_kept(report, &named);
    const struct text *best = status == CH_OK ? &named : &raw;
    return file_write_all(to_parent, best->bytes, best->size) ? CH_OK : CH_ERR_IO;
}

// core_store_words says what is wrong with a core that could not be read; NULL: the
// fault is not the core's.
static const char *core_store_words(enum ch_status status)
{
    switch (status) {
    case CH_ERR_MALFORMED:
        return "not a core file";
    case CH_ERR_UNSUPPORTED:
        return "a core of a machine other than x86-64 and aarch64";
    case CH_ERR_TRUNCATED:
        return "it ends inside its header";
    case CH_ERR_NO_MEMORY:
        return strerror(ENOMEM);
    default:
        return NULL;
    }
}

// core_why says why the child could not read a core.
static const char *core_why(enum ch_status status)
{
    if (status == CH_ERR_FAULT)
        return "reading it crashed";
    if (status == CH_ERR_LIMIT)
        return "reading it took too long";
    const char *words = core_store_words(status);
    return words != NULL ? words : "it cannot be read";
}

// become_finish prints and sends the report, as after any crash. It parses the report
// again, so it runs only if printing or sending was requested.
static int become_finish(const struct core_store *store, const char *id, int lock_fd)
{
    char lock[16];
    (void)snprintf(lock, sizeof(lock), "%d", lock_fd);
    // The lock must survive exec.
    (void)fcntl(lock_fd, F_SETFD, 0);
    (void)alarm(0);
    execl("/proc/self/exe", "crashhook", "finish", "--spool",
          store->session->spool_path, "--id", id, "--lock-fd", lock, (char *)NULL);
    return command_fail("cannot finish report %s: %s", id, strerror(errno));
}

static void say_nothing(void *context, const char *line)
{
    (void)context;
    (void)line;
}

// keep_report writes what the child returned to the spool, and keeps the spool within
// its limits.
static int keep_report(const struct core_work *work, const struct text *report)
{
    struct core_store *store = work->store;
    const struct settings *settings = &store->session->settings;
    struct delivery CH_CLEANUP(delivery_deinit) delivery = { 0 };
    int lock_fd = -1;
    enum ch_status status = spool_replace(&store->session->spool, work->id,
                                          report->bytes, report->size, &lock_fd);
    if (status != CH_OK)
        return command_fail("cannot write report %s to spool '%s': %s", work->id,
                            store->session->spool_path, spool_why(status));
    if (settings->url != NULL || settings->print == SETTING_YES)
        return become_finish(store, work->id, lock_fd);
    if (delivery_init(&delivery, store->session, say_nothing, NULL) == CH_OK)
        (void)delivery_prune(&delivery, work->id);
    (void)close(lock_fd);
    return COMMAND_DONE;
}

// core_store_report stores the report. The result is a command's; it reports a failure
// itself.
static int core_store_report(struct core_store *store)
{
    struct core_work work = { .store = store, .input = { .fd = -1 } };
    struct text CH_CLEANUP(text_deinit) report = { .limit_bytes = REPORT_MAX_BYTES };
    struct process_facts facts;
    struct stat info;
    int64_t time_ms = 2 * (int64_t)store->session->settings.timeout_ms;
    find_owner(&work);
    report_id_make(clock_now_ms(CLOCK_REALTIME), work.id);
    if (fstat(store->fd, &info) != 0)
        return command_fail("cannot read '%s': %s", store->name, strerror(errno));
    if (!S_ISREG(info.st_mode) &&
        !core_input_open(store->session->spool_path, &work.input))
        return command_fail("cannot keep the core of stdin in '%s': %s",
                            store->session->spool_path, strerror(errno));
    // The kernel's facts about the process, which only we may read.
    if (store->options.pid != 0) {
        facts_read_process(&facts, store->options.pid, store->options.pid);
        store->options.facts = &facts;
    }
    struct guarded_child child;
    int64_t deadline_ms = guarded_child_now_ms() + time_ms;
    enum ch_status status =
        guarded_child_start(core_in_child, &work, deadline_ms, &child);
    if (status == CH_OK) {
        release_process(store->fd); // only the child uses it now
        status = guarded_child_finish(&child, deadline_ms, &report);
    }
    if (store->options.facts != NULL)
        facts_deinit_process(&facts);
    if (status != CH_OK || report.size == 0)
        return command_fail("cannot read '%s': %s", store->name, core_why(status));
    return keep_report(&work, &report);
}

static const struct option core_options[] = {
    { .name = "exe", .value = "FILE", .help = "the program that left the core" },
    { .name = "sysroot", .value = "DIR", .help = "the folder that was its /" },
    { .name = "json", .help = "print the report itself" },
    { .name = "unwind", .value = "HOW", .help = "as CRASHHOOK_UNWIND" },
    { .name = "limit", .value = "FRAMES", .help = "as CRASHHOOK_LIMIT" },
    { .name = "top", .value = "FRAMES", .help = "as CRASHHOOK_TOP" },
    { .name = "symbolize", .value = "HOW", .help = "as CRASHHOOK_SYMBOLIZE" },
    { .name = "preset", .value = "PRESET", .help = "as CRASHHOOK_PRESET" },
    { .name = "store", .help = "for core_pattern: store the report, print nothing" },
    { .name = "spool", .value = "DIR", .help = "with --store: the spool" },
    { .name = "pid", .value = "PID", .help = "for core_pattern: the dying process" },
    { 0 },
};

struct core_command {
    struct session session;
    struct core_options options;
    const char *name; // of the core, as the user typed it
    char exe[PATH_MAX];
    char sysroot[PATH_MAX];
    char debug_dir[PATH_MAX];
    char symbols[PATH_MAX]; // --symbols; empty: none
    bool store;
    int fd;
};

static void command_deinit(struct core_command *command)
{
    if (command->fd > STDERR_FILENO)
        (void)close(command->fd);
    session_deinit(&command->session);
}

// why_no_core says why a core could not be read.
static const char *why_no_core(enum ch_status status)
{
    const char *words = core_store_words(status);
    return words != NULL ? words : strerror(errno);
}

// input_folder is where a core from a pipe is buffered.
static const char *input_folder(void)
{
    const char *temporary = getenv("TMPDIR");
    return temporary != NULL && *temporary != 0 ? temporary : "/var/tmp";
}

// open_core opens the file, or buffers the core that comes through the pipe.
static int open_core(struct core_command *command)
{
    struct stat info;
    enum ch_status status = CH_OK;
    bool is_stdin = strcmp(command->name, "-") == 0;
    command->fd = is_stdin ? STDIN_FILENO : open(command->name, O_RDONLY | O_CLOEXEC);
    if (command->fd < 0 || fstat(command->fd, &info) != 0)
        return command_fail("cannot open '%s': %s", command->name, strerror(errno));
    if (!is_stdin && !S_ISREG(info.st_mode))
        return command_fail("cannot read '%s': not a regular file", command->name);
    if (command->store)
        return COMMAND_DONE; // it is buffered where it is read
    // Everything read from here on was made by the crashed program.
    confine_free_phase();
    if (!S_ISREG(info.st_mode))
        status = core_input_keep(STDIN_FILENO, input_folder(), &command->fd);
    if (status != CH_OK)
        return command_fail("cannot keep the core of stdin in '%s': %s", input_folder(),
                            strerror(errno));
    return COMMAND_DONE;
}

// find_places makes the paths absolute, because they become part of the report.
static int find_places(struct core_command *command, const struct options *options)
{
    const char *exe = options_value(options, "exe");
    const char *sysroot = options_value(options, "sysroot");
    const char *symbols = options_value(options, "symbols");
    struct core_places *places = &command->options.places;
    if (exe != NULL && realpath(exe, command->exe) == NULL)
        return command_fail("cannot open '%s': %s", exe, strerror(errno));
    if (sysroot != NULL && realpath(sysroot, command->sysroot) == NULL)
        return command_fail("cannot open '%s': %s", sysroot, strerror(errno));
    if (symbols != NULL && realpath(symbols, command->symbols) == NULL)
        return command_fail("cannot open '%s': %s", symbols, strerror(errno));
    if (symbols != NULL)
        command->session.debug_dir = command->symbols;
    if (exe != NULL)
        places->exe = command->exe;
    if (sysroot != NULL && strcmp(command->sysroot, "/") != 0)
        places->sysroot = command->sysroot;
    command->session.exe = places->exe;
    command->session.sysroot = places->sysroot;
    if (places->sysroot != NULL) {
        int length = snprintf(command->debug_dir, sizeof(command->debug_dir),
                              "%s/usr/lib/debug", places->sysroot);
        if (length > 0 && (size_t)length < sizeof(command->debug_dir))
            command->session.debug_dir = command->debug_dir;
    }
    return COMMAND_DONE;
}

static int print_core(const struct core_command *command, struct capture *capture,
                      bool as_json)
{
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    char id[REPORT_ID_SIZE];
    report_id_make(clock_now_ms(CLOCK_REALTIME), id);
    capture->held = &held;
    enum ch_status status = raw_report_write(capture, id, -1, &raw);
    if (status != CH_OK)
        return command_fail("cannot report '%s': %s", command->name,
                            ch_status_name(status));
    return session_print_raw(&command->session, &raw, &held, as_json);
}

// fill_descriptors opens the standard descriptors. The kernel starts its helper with
// the core as stdin alone; files that are opened later must not become stdout or
// stderr. Messages go to the kernel's log.
static void fill_descriptors(void)
{
    bool no_stderr = fcntl(STDERR_FILENO, F_GETFD) < 0;
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd > STDERR_FILENO)
        (void)close(fd);
    int log = no_stderr ? open("/dev/kmsg", O_WRONLY | O_CLOEXEC) : -1;
    if (log < 0)
        return;
    (void)dup2(log, STDERR_FILENO);
    (void)close(log);
}

// mask_core_home masks the home of the process's user: the kernel runs its helper as
// root.
static void mask_core_home(struct core_command *command)
{
    struct stat info;
    char path[64];
    command->options.home = getenv("HOME");
    if (command->options.pid != 0) {
        (void)snprintf(path, sizeof(path), "/proc/%d", command->options.pid);
        const struct passwd *user =
            stat(path, &info) == 0 ? getpwuid(info.st_uid) : NULL;
        command->options.home = user != NULL ? user->pw_dir : NULL;
        if (user != NULL)
            (void)setenv("HOME", user->pw_dir, 1);
    }
    if (command->session.settings.sanitize == SETTING_NO)
        command->options.home = NULL;
}

// say_missing is a core_say_fn.
static void say_missing(void *context, const char *format, ...) CH_PRINTF(2, 3);
static void say_missing(void *context, const char *format, ...)
{
    va_list arguments;
    (void)context;
    (void)fputs("crashhook: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
}

// convert_minidump replaces a minidump by a core that is made of it.
static int convert_minidump(struct core_command *command)
{
    uint8_t head[4];
    const char *why = NULL;
    int core = -1;
    const struct minidump_places places = { .exe = command->options.places.exe,
                                            .sysroot = command->options.places.sysroot,
                                            .symbols = command->symbols[0] != 0
                                                           ? command->symbols
                                                           : NULL,
                                            .say = say_missing };
    if (pread(command->fd, head, sizeof(head), 0) != sizeof(head) ||
        !minidump_is(head, sizeof(head)))
        return COMMAND_DONE;
    enum ch_status status = minidump_to_core(command->fd, &places, &core, &why);
    if (status == CH_OK) {
        (void)close(command->fd);
        command->fd = core;
        return COMMAND_DONE;
    }
    return command_fail("cannot read minidump '%s': %s", command->name,
                        status == CH_ERR_IO          ? strerror(errno)
                        : status == CH_ERR_NO_MEMORY ? strerror(ENOMEM)
                                                     : why);
}

static int report_core(struct core_command *command, bool as_json)
{
    struct core_capture core;
    if (convert_minidump(command) != COMMAND_DONE)
        return COMMAND_FAILED;
    enum ch_status status = core_capture_open(&core, command->fd, &command->options);
    if (status != CH_OK)
        return command_fail("cannot read '%s': %s", command->name, why_no_core(status));
    int result = print_core(command, &core.capture, as_json);
    core_capture_close(&core);
    return result;
}

static int store_core(struct core_command *command)
{
    struct core_store store = { .session = &command->session,
                                .options = command->options,
                                .name = command->name,
                                .fd = command->fd };
    return core_store_report(&store);
}

static int run_core(const struct options *options)
{
    struct core_command CH_CLEANUP(command_deinit) command = { .fd = -1 };
    const char *pid = options_value(options, "pid");
    command.name = options->arguments[0];
    command.store = options_given(options, "store");
    if (command.store)
        fill_descriptors();
    session_init(&command.session, options);
    command.options.settings = &command.session.settings;
    if (pid != NULL && !command_parse_pid(pid, &command.options.pid))
        return command_misused("core: '%s' is no process id", pid);
    if (command.store && session_spool_open(&command.session, SPOOL_CREATE) != CH_OK)
        return COMMAND_FAILED;
    mask_core_home(&command);
    int result = find_places(&command, options);
    if (result == COMMAND_DONE)
        result = open_core(&command);
    if (result == COMMAND_DONE && command.store)
        return store_core(&command);
    if (result == COMMAND_DONE)
        result = report_core(&command, options_given(options, "json"));
    return result;
}

static const struct option minidump_options[] = {
    { .name = "symbols", .value = "DIR", .help = "files by name or build ID" },
    { .name = "exe", .value = "FILE", .help = "the program that left the minidump" },
    { .name = "sysroot", .value = "DIR", .help = "the folder that was its /" },
    { .name = "json", .help = "print the report itself" },
    { .name = "unwind", .value = "HOW", .help = "as CRASHHOOK_UNWIND" },
    { .name = "symbolize", .value = "HOW", .help = "as CRASHHOOK_SYMBOLIZE" },
    { .name = "preset", .value = "PRESET", .help = "as CRASHHOOK_PRESET" },
    { 0 },
};

const struct command minidump_command = {
    .name = "minidump",
    .arguments = "FILE|-",
    .summary = "Report a minidump of a Linux program",
    .options = minidump_options,
    .run = run_core,
    .arguments_min = 1,
    .arguments_max = 1,
};

const struct command core_command = {
    .name = "core",
    .arguments = "CORE|-",
    .summary = "Report a core file",
    .options = core_options,
    .run = run_core,
    .arguments_min = 1,
    .arguments_max = 1,
};
