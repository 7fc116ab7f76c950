// SPDX-License-Identifier: Apache-2.0
//
// Runs a program with the handler preloaded, and stands in for it towards whoever
// started us: same exit status, same signals.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/crash_records.h"
#include "cli/installed.h"
#include "cli/preload_path.h"
#include "cli/session.h"

enum {
    OPTIONS_MAX = 32,
    HELP_SIZE = 256,
    VALUE_SIZE = 64,
    EXIT_NO_PERMISSION = 126,
    EXIT_NO_COMMAND = 127
};

// The signals that are passed on. Of those a terminal sends to the whole foreground
// group, the program has its own already.
static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
enum { PASSED_ON = sizeof(passed_on) / sizeof(passed_on[0]) };

static volatile pid_t program;        // 0: it has ended
static volatile sig_atomic_t hurried; // somebody wants us to end after it
static struct sigaction child_action; // what SIGCHLD did when we were started

// describe_value writes what a variable's option takes: "no|yes|tty", or VALUE and
// behind its help what that may be.
static void describe_value(const struct settings_variable *variable, char *value,
                           char *help)
{
    const char *words = variable->words;
    (void)snprintf(value, VALUE_SIZE, "%s", words != NULL ? words : "VALUE");
    for (char *at = value; words != NULL && *at != 0; at++) {
        if (*at == ' ')
            *at = '|';
    }
    (void)snprintf(help, HELP_SIZE, "%.*s%s%s", (int)strcspn(variable->help, "."),
                   variable->help, words != NULL ? "" : ": ",
                   words != NULL ? "" : variable->accepted);
}

static const struct option *run_options(void)
{
    static struct option rows[OPTIONS_MAX];
    static char values[OPTIONS_MAX][VALUE_SIZE];
    static char help[OPTIONS_MAX][HELP_SIZE];
    size_t count;
    size_t used = 0;
    const struct settings_variable *variables = settings_variables(&count);
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

// absolute writes a path option so that it means the same where the program has gone
// when it crashes; values of other options, and `stderr`, stay as they are.
static bool absolute(const char *option, const char *value, struct text *out)
{
    static const char *const paths[] = { "spool", "agent", "token-file", "log" };
    char folder[PATH_MAX];
    bool is_path = false;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        is_path |= strcmp(option, paths[i]) == 0;
    if (strcmp(option, "log") == 0 && strcmp(value, "stderr") == 0)
        is_path = false;
    if (is_path && value[0] != '/' && getcwd(folder, sizeof(folder)) != NULL)
        text_appendf(out, "%s/", folder);
    text_append_string(out, value);
    return text_ok(out) && out->size != 0;
}

static int export_option(const struct settings_variable *variable, const char *value)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    const char *set = absolute(variable->option, value, &text) ? text.bytes : value;
    if (setenv(variable->name, set, 1) != 0)
        return command_fail("cannot set %s: %s", variable->name, strerror(errno));
    return COMMAND_DONE;
}

// export_options sets the variables that options stand for.
static int export_options(const struct options *options)
{
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = variables[i].option != NULL
                                ? options_value(options, variables[i].option)
                                : NULL;
        if (value != NULL && export_option(&variables[i], value) != COMMAND_DONE)
            return COMMAND_FAILED;
    }
    return COMMAND_DONE;
}

// preload puts the library in front of what is preloaded already.
static int preload(void)
{
    char library[PATH_MAX];
    char path[PATH_MAX];
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    const char *others = getenv("LD_PRELOAD");
    if (!installed_library(library))
        return command_fail("cannot find " CRASHHOOK_SONAME " beside this program");
    if (preload_path_make(library, path) != CH_OK)
        return command_fail(
            "cannot preload '%s': LD_PRELOAD takes no path with a space or "
            "a colon, and neither /tmp nor /var/tmp takes a link to it",
            library);
    text_append_string(&value, path);
    if (others != NULL && others[0] != 0)
        text_appendf(&value, ":%s", others);
    if (!text_ok(&value) || setenv("LD_PRELOAD", value.bytes, 1) != 0)
        return command_fail("cannot set LD_PRELOAD: %s", strerror(errno));
    return COMMAND_DONE;
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    bool typed = info->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
    (void)context;
    if (program == 0)
        hurried = 1;
    else if (!typed)
        (void)kill(program, signal);
    errno = saved;
}

static void pass_signals_on(void)
{
    struct sigaction action = { .sa_sigaction = pass_on,
                                .sa_flags = SA_SIGINFO | SA_RESTART };
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction before;
        // What is ignored stays so, here and in the program (nohup).
        if (sigaction(passed_on[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(passed_on[i], &action, NULL);
    }
}

static void start_program(const char **arguments, int failure_fd, const sigset_t *mask)
{
    (void)sigaction(SIGCHLD, &child_action, NULL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(arguments[0], (char **)(uintptr_t)arguments);
    int why = errno;
    (void)!write(failure_fd, &why, sizeof(why));
    _exit(EXIT_NO_COMMAND);
}

// start forks and execs; *out_why is errno of an exec that failed, 0 otherwise.
static enum ch_status start(const char **arguments, int *out_why)
{
    int failure[2];
    int why = 0;
    sigset_t all;
    sigset_t mask;
    if (pipe(failure) != 0)
        return CH_ERR_IO;
    (void)fcntl(failure[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(failure[1], F_SETFD, FD_CLOEXEC);
    // Where it is ignored nobody hears how a child has ended.
    (void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL },
                    &child_action);
    // No signal may find us between the fork and knowing the program's pid.
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0)
        start_program(arguments, failure[1], &mask);
    program = pid;
    if (pid > 0)
        pass_signals_on();
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)close(failure[1]);
    if (pid > 0 && read(failure[0], &why, sizeof(why)) != (ssize_t)sizeof(why))
        why = 0;
    (void)close(failure[0]);
    *out_why = why;
    return pid > 0 ? CH_OK : CH_ERR_IO;
}

// await_program reaps until the program has ended: as the first process of a container
// we also get the children that others leave behind, agents among them.
static int await_program(void)
{
    int status = 0;
    while (program != 0) {
        siginfo_t child = { 0 };
        if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT) != 0) {
            if (errno == EINTR)
                continue;
            return command_fail("cannot wait for the program: %s", strerror(errno));
        }
        // Nothing is passed on to who gets its number next.
        if (child.si_pid == program)
            program = 0;
        (void)waitpid(child.si_pid, &status, 0);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now = { 0 };
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// unfinished is whether a report that began at since_ms or later is being worked on.
static bool unfinished(const struct spool *spool, uint64_t since_ms)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    if (spool_list(spool, &listing) != CH_OK)
        return false;
    for (size_t i = 0; i < listing.count; i++) {
        int fd = -1;
        if (report_id_time_ms(listing.entries[i].id) < since_ms)
            continue;
        enum ch_status status = spool_lock(spool, listing.entries[i].id, &fd);
        if (status == CH_ERR_IO && errno == EWOULDBLOCK)
            return true;
        if (status == CH_OK)
            (void)close(fd);
    }
    return false;
}

// open_spool opens the spool that reports will be in. Where that cannot be used the
// person here is told now; the agent has nobody to tell. The handler complains about
// values that are not understood.
static void open_spool(struct session *session)
{
    *session = (struct session){ .spool = { -1 } };
    settings_read(&session->settings, session_getenv, NULL, NULL);
    if (session->settings.enable != SETTING_NO)
        (void)!session_open_spool(session, SPOOL_CREATE);
}

// await_reports waits for reports that were begun since we started, at most
// CRASHHOOK_TIMEOUT. They are published before their program is let go, so all of its
// own are there by now. A lock tells nobody when it falls, so it is asked for.
static void await_reports(const struct session *session, uint64_t since_ms)
{
    const struct timespec pause = { .tv_nsec = 5000000 };
    uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + session->settings.timeout_ms;
    while (session->spool.folder_fd >= 0 && unfinished(&session->spool, since_ms) &&
           !hurried && clock_ms(CLOCK_MONOTONIC) < deadline)
        (void)nanosleep(&pause, NULL);
}

static int run_run(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool = { -1 } };
    uint64_t since_ms = clock_ms(CLOCK_REALTIME);
    int why = 0;
    int result = export_options(options);
    if (result == COMMAND_DONE)
        result = preload();
    if (result != COMMAND_DONE)
        return result;
    open_spool(&session);
    if (start(options->arguments, &why) != CH_OK)
        return command_fail("cannot start '%s': %s", options->arguments[0],
                            strerror(errno));
    result = await_program();
    if (why != 0) {
        (void)command_fail("cannot run '%s': %s", options->arguments[0], strerror(why));
        return why == ENOENT ? EXIT_NO_COMMAND : EXIT_NO_PERMISSION;
    }
    await_reports(&session, since_ms);
    if (session.spool.folder_fd >= 0)
        crash_records_take(&session);
    return result;
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
