// SPDX-License-Identifier: Apache-2.0
//
// Standing in for a program towards our parent: every signal is passed on, we stop when
// the program stops, and die as it died.
//
// All signals are blocked here and received one at a time, so none interrupts anything;
// the signal actions are not changed, so the program inherits which signals are
// ignored.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/collect.h"
#include "cli/command.h"
#include "cli/crash_records.h"
#include "cli/keeper.h"
#include "cli/run_program.h"
#include "cli/session.h"
#include "cli/stderr_tail.h"
#include "cli/unreported.h"

// wrapped is the program that we stand in for.
struct wrapped {
    pid_t pid;
    int failure_fd; // receives errno if the program could not be executed, else closes
    int status;     // as waitpid returns it
    struct rusage used;
    struct keeper keeper;
    struct stderr_tail tail;
    sigset_t mask; // that we were started with
    struct sigaction child_action;
};

// mask_signals calls the kernel directly: libc would leave out the two real-time
// signals that it uses itself.
static void mask_signals(uint64_t set, void *before)
{
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, before, sizeof(set));
}

static int wait_for_signal(siginfo_t *info, const struct timespec *timeout)
{
    const uint64_t all = UINT64_MAX;
    return (int)syscall(SYS_rt_sigtimedwait, &all, info, timeout, sizeof(all));
}

// take_signal lets signal have its default effect on us.
static void take_signal(int number)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };
    struct sigaction before;
    (void)sigaction(number, &by_default, &before);
    (void)kill(getpid(), number);
    mask_signals(~(UINT64_C(1) << (number - 1)), NULL);
    mask_signals(UINT64_MAX, NULL);
    (void)sigaction(number, &before, NULL);
}

static void exec_program(const char **arguments, const struct wrapped *program,
                         int failure_fd, pid_t parent)
{
    (void)sigaction(SIGCHLD, &program->child_action, NULL);
    // A signal that cannot be passed on, SIGKILL, may end us.
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Our parent may have died before the call above.
    if (getppid() != parent)
        _exit(RUN_NO_COMMAND);
    stderr_tail_use(&program->tail);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &program->mask, NULL, 8);
    (void)execvp(arguments[0], (char **)(uintptr_t)arguments);
    int why = errno;
    (void)!write(failure_fd, &why, sizeof(why));
    _exit(RUN_NO_COMMAND);
}

static enum ch_status start_program(const char **arguments, struct wrapped *program,
                                    bool keep_stderr)
{
    int failure[2];
    pid_t parent = getpid();
    // While SIGCHLD is ignored, the exit status of a child is lost.
    (void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL },
                    &program->child_action);
    mask_signals(UINT64_MAX, &program->mask);
    if (keep_stderr && stderr_tail_begin(&program->tail) != CH_OK)
        (void)command_fail("cannot keep standard error: %s", strerror(errno));
    // Made here, as the process that keeps standard error must not have it open.
    if (pipe2(failure, O_CLOEXEC) != 0)
        return CH_ERR_IO;
    program->failure_fd = failure[0];
    program->pid = fork();
    if (program->pid == 0)
        exec_program(arguments, program, failure[1], parent);
    (void)close(failure[1]);
    stderr_tail_started(&program->tail);
    return program->pid > 0 ? CH_OK : CH_ERR_IO;
}

// is_group_wide is true if the terminal sent the signal to the whole foreground group,
// which includes the program.
static bool is_group_wide(const struct wrapped *program, int number,
                          const siginfo_t *info)
{
    static const int typed[] = { SIGINT,  SIGQUIT, SIGTSTP, SIGHUP,
                                 SIGCONT, SIGTTIN, SIGTTOU, SIGWINCH };
    bool terminal = false;
    for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++)
        terminal |= typed[i] == number;
    return terminal && info->si_code == SI_KERNEL && getpgid(program->pid) == getpgrp();
}

// pass_on_to_program sends the program a signal that we received, with its value.
static void pass_on_to_program(struct wrapped *program, int number, siginfo_t *info)
{
    keeper_note(&program->keeper, number, info);
    if (is_group_wide(program, number, info) || info->si_pid == getpid())
        return;
    if (info->si_code >= 0 || info->si_code == SI_TKILL ||
        syscall(SYS_rt_sigqueueinfo, program->pid, number, info) != 0)
        (void)kill(program->pid, number);
}

// reap_children waits for children that changed state: as the first process of a
// container we also inherit orphans, agents among them. True: the program has ended.
static bool reap_children(struct wrapped *program)
{
    int status;
    pid_t pid;
    struct rusage used;
    siginfo_t ended = { 0 };
    if (waitid(P_PID, (id_t)program->pid, &ended, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        ended.si_pid != 0)
        keeper_look_last(&program->keeper,
                         ended.si_code == CLD_EXITED ? 0 : ended.si_status);
    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) > 0) {
        if (pid != program->pid)
            continue;
        if (WIFSTOPPED(status)) {
            take_signal(WSTOPSIG(status));
            continue;
        }
        program->status = status;
        program->used = used;
        return true;
    }
    return pid < 0 && errno == ECHILD;
}

static void await_program(struct wrapped *program)
{
    for (;;) {
        siginfo_t info = { 0 };
        struct timespec left = keeper_left(&program->keeper);
        int number = wait_for_signal(&info, &left);
        keeper_look(&program->keeper);
        if (number > 0 && (number != SIGCHLD || info.si_code <= 0))
            pass_on_to_program(program, number, &info);
        if (number == SIGCHLD && reap_children(program))
            return;
    }
}

// has_unfinished says whether a report that was begun at since_ms or later is being
// worked on, in the spool or where programs leave what they cannot write there.
static bool has_unfinished(const struct session *session, uint64_t since_ms)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    const struct spool *spool = &session->spool;
    if (collect_take_since(session, since_ms) != 0)
        return true;
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

// is_hurried says whether the signal asks us to end, now that the program has.
static bool is_hurried(int number)
{
    switch (number) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
        return false;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        take_signal(number);
        return false;
    default:
        return number > 0;
    }
}

// await_reports waits for reports that were begun since we started, at most
// CRASHHOOK_TIMEOUT. A report is published before its program is released, so all
// reports of the program are in place by now. The release of a lock cannot be waited
// for together with signals, so locks are polled.
static void await_reports(const struct session *session, uint64_t since_ms)
{
    const struct timespec pause = { .tv_nsec = 5000000 };
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + session->settings.timeout_ms;
    while (session->spool.folder_fd >= 0 && has_unfinished(session, since_ms) &&
           clock_now_ms(CLOCK_MONOTONIC) < deadline) {
        siginfo_t info;
        if (is_hurried(wait_for_signal(&info, &pause)))
            return;
    }
}

// die_of dies of the signal. It calls the kernel directly: a handler that another run
// has preloaded into us must not report the program's death as ours.
static void die_of(int number)
{
    const uint64_t by_default[4] = { 0 }; // the kernel's struct sigaction
    (void)syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof(uint64_t));
    (void)syscall(SYS_kill, getpid(), number);
    mask_signals(~(UINT64_C(1) << (number - 1)), NULL);
}

// end_as dies of the signal that the program died of, without another core file, or
// returns its exit status. The first process of a container cannot die like this: the
// kernel discards the signal.
static int end_as(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    (void)prctl(PR_SET_DUMPABLE, 0);
    die_of(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int run_failed(const char *command, int error)
{
    (void)command_fail("cannot run '%s': %s", command, strerror(error));
    return error == ENOENT ? RUN_NO_COMMAND : RUN_NO_PERMISSION;
}

// tell_cut_off says that the program crashed, although it did not end by that.
static void tell_cut_off(const char *program, int status)
{
    bool killed = WIFSIGNALED(status);
    (void)command_fail("'%s' crashed, and before that was reported it ended %s %d",
                       program, killed ? "by signal" : "with status",
                       killed ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void wrapped_deinit(struct wrapped *program)
{
    file_close(&program->failure_fd);
    keeper_deinit(&program->keeper);
}

int run_preloaded(const char **arguments, const struct session *session,
                  bool keep_stderr)
{
    struct wrapped CH_CLEANUP(wrapped_deinit)
        program = { .failure_fd = -1,
                    .keeper = { .life_fd = -1 },
                    .tail = { .program_fd = -1, .relay_fd = -1 } };
    struct text CH_CLEANUP(text_deinit) said = { 0 };
    uint64_t since_ms = clock_now_ms(CLOCK_REALTIME);
    int why = 0;
    if (start_program(arguments, &program, keep_stderr) != CH_OK)
        return command_fail("cannot start '%s': %s", arguments[0], strerror(errno));
    // From then on the process is the program.
    bool failed = read(program.failure_fd, &why, sizeof(why)) == (ssize_t)sizeof(why);
    keeper_begin(&program.keeper, session, program.pid, arguments);
    await_program(&program);
    if (failed)
        return run_failed(arguments[0], why);
    await_reports(session, since_ms);
    stderr_tail_read(&program.tail, &said);
    bool cut_off =
        session->spool.folder_fd >= 0 && keeper_find_cut_off(&program.keeper);
    if (session->spool.folder_fd >= 0)
        crash_records_take(session);
    if (cut_off)
        tell_cut_off(arguments[0], program.status);
    program.keeper.unreported =
        unreported_tell(session, arguments[0], program.status, since_ms);
    if (session->spool.folder_fd >= 0)
        keeper_end(&program.keeper, program.status, &program.used, &said);
    unreported_tell_exit(session, arguments[0], program.status, since_ms);
    return end_as(program.status);
}
