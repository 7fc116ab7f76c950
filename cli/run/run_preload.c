// SPDX-License-Identifier: Apache-2.0
//
// Standing in for a program towards our parent: every signal is passed on, we stop when
// the program stops, and die as it died.
//
// How it works (run_preloaded): start_program blocks all signals, forks, and executes
// the program in the child (exec_program); failure_fd gives errno if that fails, and is
// closed if it succeeds. await_program receives signals one at a time: those of others
// are passed on (pass_on_to_program), SIGCHLD reaps children (reap_children). After the
// program's exit report_end_aside has a second process do what is left in the spool,
// which may hang (end_in_spool): wait for agents (await_reports), take records, print
// the line about a crash without a report (unreported_tell), report a killed program
// (supervisor_end). end_as then ends us.
//
// With --stderr-tail a relay, a third process, is between the program's standard error
// and ours (stderr_tail_*): a pipe, or a terminal where ours is one.
//
// Invariants: signals are received by rt_sigtimedwait alone, so none interrupts
// anything. The signal actions are not changed, so the program inherits which signals
// are ignored. The supervisor looks at the program a last time before it is reaped
// (reap_children).
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/run/heap_summary.h"
#include "cli/run/run_program.h"
#include "cli/run/supervisor.h"
#include "cli/session/aside.h"
#include "cli/session/collect.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "cli/session/exit_words.h"
#include "cli/session/program_kind.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/summary/signal_name.h"
#include "shared/record_file.h"
#include "shared/signals.h"

// What `crashhook run` says when a program into which it preloaded the handler was
// killed by a signal that counts as a crash, and there is no report.

// spool_has_report returns true if the spool has a report that began at since_ms or
// later.
static bool spool_has_report(const struct spool *spool, uint64_t since_ms)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    if (spool->folder_fd < 0 || spool_list(spool, &listing) != CH_OK)
        return false;
    for (size_t i = 0; i < listing.count; i++) {
        if (report_id_time_ms(listing.entries[i].id) >= since_ms)
            return true;
    }
    return false;
}

static bool folder_has_report(const char *path, uint64_t since_ms)
{
    struct spool CH_CLEANUP(spool_close) spool = { .folder_fd = -1 };
    return spool_open(path, SPOOL_READ, &spool) == CH_OK &&
           spool_has_report(&spool, since_ms);
}

// find_elsewhere finds a place that has a report and replaces a spool that cannot be
// used.
static bool find_elsewhere(uint64_t since_ms, char path[static PATH_MAX])
{
    glob_t found = { 0 };
    bool any = folder_has_report(SETTINGS_DROP_FOLDER, since_ms);
    (void)snprintf(path, PATH_MAX, "%s", SETTINGS_DROP_FOLDER);
    if (any || glob(SETTINGS_OWN_FOLDER "[0-9]*", GLOB_NOSORT, NULL, &found) != 0)
        return any;
    for (size_t i = 0; i < found.gl_pathc && !any; i++) {
        any = folder_has_report(found.gl_pathv[i], since_ms);
        (void)snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
    return any;
}

// drop_is_hidden returns true if programs of this user can leave reports in the drop
// folder, where root alone can find them.
static bool drop_is_hidden(void)
{
    return access(SETTINGS_DROP_FOLDER, W_OK | X_OK) == 0 &&
           access(SETTINGS_DROP_FOLDER, R_OK) != 0;
}

// unreported_has_report returns true if the session's spool has a report that began
// since_ms after 1970 or later.
static bool unreported_has_report(const struct session *session, uint64_t since_ms)
{
    return spool_has_report(&session->spool, since_ms);
}

// unreported_tell prints one line on stderr if neither the spool, nor a place that
// replaces it, has such a report: the reason, where it follows from the kind of program
// or from loaded, and what to do. loaded is false if the handler was not installed yet.
// status is as waitpid returns it. Returns true if there is no report.
static bool unreported_tell(const struct session *session, const char *program,
                            int status, bool loaded, uint64_t since_ms)
{
    char path[PATH_MAX];
    struct program kind;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = signal_name(number);
    if (name == NULL || !signal_in(session->settings.signals, number) ||
        unreported_has_report(session, since_ms))
        return false;
    if (find_elsewhere(since_ms, path)) {
        (void)command_fail("'%s' died by %s; the report is in '%s'", program, name,
                           path);
        return false;
    }
    program_look(program, &kind);
    bool loads = kind.kind == PROGRAM_DYNAMIC || kind.kind == PROGRAM_SANITIZED ||
                 kind.kind == PROGRAM_HAS_HANDLER || kind.kind == PROGRAM_UNKNOWN;
    if (loads && loaded && drop_is_hidden())
        (void)command_fail("'%s' died by %s; if it left a report, root finds that in "
                           "'%s'; see 'crashhook doctor'",
                           program, name, SETTINGS_DROP_FOLDER);
    else if (loads && loaded)
        (void)command_fail(
            "'%s' died by %s and left no report of its own; see 'crashhook "
            "doctor'",
            program, name);
    else
        (void)command_fail(
            "'%s' died by %s and left no report of its own, since %s; 'crashhook "
            "run --via trace' watches it from outside",
            program, name,
            loads ? "it died before it had installed a handler"
                  : program_kind_words(kind.kind));
    return true;
}

// unreported_tell_exit reports why an exit with a failure has no report, if the program
// has a sanitizer that may have caused it and that does not report to the handler.
static void unreported_tell_exit(const struct session *session, const char *program,
                                 int status, uint64_t since_ms)
{
    struct program kind;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 ||
        unreported_has_report(session, since_ms))
        return;
    program_look(program, &kind);
    if (kind.hidden != NULL)
        (void)command_fail(
            "'%s' exited with %d: what %s finds is not reported, because "
            "its runtime is linked in; 'crashhook run --stderr-tail' "
            "reports what it says",
            program, WEXITSTATUS(status), kind.hidden);
}

// What a program writes on standard error, passed on by a process in between that keeps
// the last of it: for `crashhook run --stderr-tail`, whose report of a crash, a panic
// or a failed exit quotes it.
//
// The program gets a pipe, or, where standard error was a terminal, a terminal of its
// own, so that isatty and colours are as before. Everything is passed on in order, by
// one read and one write; a slow reader slows the program down as it would without. The
// process outlives us as long as another process has the other end.

struct stderr_tail {
    int program_fd; // the program's standard error; -1: there is none
    int relay_fd;   // the relay's end of it
    struct stderr_ring *ring;
};

enum {
    PIECE_BYTES = STDERR_RING_BYTES,
    IDLE_LOOKS = 3, // how often in a row the relay must have nothing to do
    IDLE_MS = 2,
    WAIT_LOOKS = 1000,
};

// relay passes on until nobody can write any more. A terminal's end of file is EIO.
__attribute__((noreturn)) static void relay(struct stderr_ring *ring, int from)
{
    static char piece[PIECE_BYTES];
    ssize_t count;
    while ((count = read(from, piece, sizeof(piece))) > 0 ||
           (count < 0 && errno == EINTR)) {
        if (count < 0)
            continue;
        __atomic_store_n(&ring->busy, 1, __ATOMIC_SEQ_CST);
        stderr_ring_keep(ring, piece, (size_t)count);
        bool passed = file_write_all(STDERR_FILENO, piece, (size_t)count);
        __atomic_store_n(&ring->busy, 0, __ATOMIC_SEQ_CST);
        if (!passed) // then the program is to hear of it
            break;
    }
    _exit(0);
}

// open_terminal makes a terminal like standard error, which changes nothing of what is
// written to it.
static bool open_terminal(struct stderr_tail *tail)
{
    struct termios modes;
    struct winsize size;
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0)
        return false;
    int program = open(ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (program < 0) {
        (void)close(ours);
        return false;
    }
    if (tcgetattr(STDERR_FILENO, &modes) == 0) {
        modes.c_oflag &= ~(tcflag_t)OPOST;
        (void)tcsetattr(program, TCSANOW, &modes);
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
        (void)ioctl(program, TIOCSWINSZ, &size);
    tail->program_fd = program;
    tail->relay_fd = ours;
    return true;
}

static bool open_ends(struct stderr_tail *tail)
{
    int ends[2];
    if (isatty(STDERR_FILENO))
        return open_terminal(tail);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    tail->relay_fd = ends[0];
    tail->program_fd = ends[1];
    return true;
}

// stderr_tail_begin makes the relay, before the program is started. Its signals must be
// blocked.
CH_CHECKED static enum ch_status stderr_tail_begin(struct stderr_tail *tail)
{
    *tail = (struct stderr_tail){ .program_fd = -1, .relay_fd = -1 };
    if (!open_ends(tail))
        return CH_ERR_IO;
    tail->ring = stderr_ring_create();
    if (tail->ring == NULL) {
        file_close(&tail->program_fd);
        file_close(&tail->relay_fd);
        return CH_ERR_NO_MEMORY;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(tail->program_fd);
        relay(tail->ring, tail->relay_fd);
    }
    return pid > 0 ? CH_OK : CH_ERR_IO;
}

// is_idle returns true if the relay has nothing to pass on at this moment.
static bool is_idle(const struct stderr_tail *tail)
{
    int waiting = 0;
    return ioctl(tail->relay_fd, FIONREAD, &waiting) == 0 && waiting == 0 &&
           __atomic_load_n(&tail->ring->busy, __ATOMIC_SEQ_CST) == 0;
}

// stderr_tail_read appends the last of what was written, once all of it is passed on.
static void stderr_tail_read(struct stderr_tail *tail, struct text *out)
{
    if (tail->ring == NULL)
        return;
    for (int i = 0, idle = 0; i < WAIT_LOOKS && idle < IDLE_LOOKS; i++) {
        idle = is_idle(tail) ? idle + 1 : 0;
        (void)poll(NULL, 0, IDLE_MS);
    }
    stderr_ring_append(tail->ring, STDERR_RING_BYTES, out);
}

enum {
    ANSWER_MS = 1000, // how long a spool that does not answer is waited for
    CHECKED_MS = 64,  // the supervisor's pause from which on the spool is looked at
};

// wrapped is the program that we represent to our parent.
struct wrapped {
    pid_t pid;
    int failure_fd; // receives errno if the program could not be executed, else closes
    int status;     // as waitpid returns it
    struct rusage used;
    struct supervisor supervisor;
    struct stderr_tail tail;
    bool checked;  // what is wrong with the spool was said
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
    liveness_claim(&program->supervisor.live);
    // Our parent may have died before the call above.
    if (getppid() != parent)
        _exit(RUN_NO_COMMAND);
    run_rename(parent);
    if (program->tail.program_fd >= 0)
        (void)dup2(program->tail.program_fd, STDERR_FILENO);
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
    file_close(&program->tail.program_fd); // the program has it by now
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

// pass_on_to_parent takes a signal that the program sent. One by which programs tell
// their parent something is for ours; others, such as SIGTERM, are mostly sent to the
// group that we are in.
static void pass_on_to_parent(int number)
{
    enum { FIRST_REAL_TIME = 34 };
    if (number == SIGUSR1 || number == SIGUSR2 || number >= FIRST_REAL_TIME)
        (void)kill(getppid(), number);
}

// pass_on_to_program sends the program a signal that we received, with its value.
static void pass_on_to_program(struct wrapped *program, int number, siginfo_t *info)
{
    supervisor_note(&program->supervisor, number, info);
    if (is_group_wide(program, number, info) || info->si_pid == getpid())
        return;
    if (info->si_pid == program->pid && info->si_code <= 0) {
        pass_on_to_parent(number);
        return;
    }
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
        supervisor_look_last(&program->supervisor,
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

void run_check_spool(const struct session *session, bool traced)
{
    enum { TRACED_MS = 100 };
    static struct liveness none = { .fd = -1, .copier = -1 };
    struct session own = *session;
    struct aside check;
    if (aside_begin(&check, &none)) {
        (void)!session_spool_open(&own, SPOOL_CREATE);
        _exit(EXIT_SUCCESS);
    }
    if (traced)
        (void)aside_await_work(&check, TRACED_MS);
    else
        (void)aside_await(&check, ANSWER_MS);
    aside_leave(&check);
}

static void await_program(struct wrapped *program)
{
    for (;;) {
        siginfo_t info = { 0 };
        struct timespec left = supervisor_left(&program->supervisor);
        int number = wait_for_signal(&info, &left);
        supervisor_look(&program->supervisor);
        // A program that runs for longer is worth it; of others the end is early
        // enough.
        if (!program->checked && program->supervisor.pause_ms >= CHECKED_MS) {
            program->checked = true;
            run_check_spool(program->supervisor.session, false);
        }
        if (number > 0 && (number != SIGCHLD || info.si_code <= 0))
            pass_on_to_program(program, number, &info);
        if (number == SIGCHLD && reap_children(program))
            return;
    }
}

// has_unfinished returns true if a report that was begun at since_ms or later is being
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

// is_hurried returns true if the signal requests us to end, now that the program has.
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
// has preloaded into us must not report the program's termination as ours.
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

// tell_cut_off reports that the program crashed, although it did not end by that.
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
    supervisor_deinit(&program->supervisor);
}

// use_memory replaces a spool that cannot be used by the place from which a report of
// the program is being sent.
static bool use_memory(struct session *session)
{
    char path[PATH_MAX];
    if (spool_place_path(SPOOL_PLACE_MEMORY, &session->settings, session_getenv,
                         path) != CH_OK ||
        spool_open(path, SPOOL_WRITE, &session->spool) != CH_OK)
        return false;
    memcpy(session->spool_path, path, sizeof(path));
    return true;
}

// end_in_spool does what is left to do in the spool.
static void end_in_spool(struct wrapped *program, struct session *session,
                         const struct text *said, uint64_t since_ms)
{
    struct supervisor *supervisor = &program->supervisor;
    const char *name = supervisor->arguments[0];
    enum ch_status status =
        program->checked
            ? spool_open(session->spool_path, SPOOL_CREATE, &session->spool)
            : session_spool_open(session, SPOOL_CREATE);
    bool usable = status == CH_OK || use_memory(session);
    if (!usable)
        session->spool.folder_fd = -1;
    aside_answer();
    await_reports(session, since_ms);
    bool cut_off = supervisor_find_cut_off(supervisor);
    if (usable)
        crash_records_take_for_program(session);
    bool loaded = supervisor->live.fd < 0 || liveness_is_filled(&supervisor->live);
    supervisor->unreported =
        unreported_tell(session, name, program->status, loaded, since_ms);
    if (cut_off && !supervisor->unreported)
        tell_cut_off(name, program->status);
    if (unreported_has_report(session, since_ms))
        supervisor->termination.crash_signal = 0;
    if (usable)
        supervisor_end(supervisor, program->status, &program->used, said);
    unreported_tell_exit(session, name, program->status, since_ms);
}

// report_end_aside has that done by a process that may hang. Where the spool does not
// answer, only a program that died of a signal is worth the whole time and a line.
static void report_end_aside(struct wrapped *program, struct session *session,
                             uint64_t since_ms)
{
    enum { FINISH_MS = 30000 }; // for what a report needs that is in place
    bool died = WIFSIGNALED(program->status);
    uint64_t timeout_ms = session->settings.timeout_ms;
    struct text CH_CLEANUP(text_deinit) said = { 0 };
    struct aside aside;
    stderr_tail_read(&program->tail, &said);
    if (aside_begin(&aside, &program->supervisor.live)) {
        end_in_spool(program, session, &said, since_ms);
        _exit(EXIT_SUCCESS);
    }
    aside.passes_on = is_hurried; // that process waits for reports
    bool done = aside_await(&aside, died ? timeout_ms : ANSWER_MS) &&
                aside_await(&aside, timeout_ms + FINISH_MS) && aside.said_fd < 0;
    const char *name = died ? signal_name(WTERMSIG(program->status)) : NULL;
    if (!done && died)
        (void)command_fail("'%s' died by %s; it is not reported yet, since spool '%s' "
                           "does not answer; see 'crashhook list' when it does",
                           program->supervisor.arguments[0],
                           name != NULL ? name : "a signal", session->spool_path);
    aside_leave(&aside);
    // The copier is one of them, and not every first process of a container reaps.
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
        continue;
}

// run_instead becomes the program, where no other process can.
static int run_instead(struct wrapped *program, const char **arguments)
{
    (void)command_fail("cannot start a process for '%s': %s; it takes the place of "
                       "this one, and no kill of it is reported",
                       arguments[0], strerror(errno));
    (void)sigaction(SIGCHLD, &program->child_action, NULL);
    mask_signals(*(const uint64_t *)&program->mask, NULL);
    return run_unwatched(arguments);
}

int run_in_place(const char **arguments, const struct session *session, bool kills)
{
    // Of children that are in another namespace, the first one is its init process.
    if (!run_has_apart_children()) {
        char process[16];
        (void)snprintf(process, sizeof(process), "%d", getpid());
        run_check_spool(session, true);
        if (kills && session->settings.kills == KILLS_NO) // not for its children
            (void)setenv(LIVENESS_VARIABLE, process, 1);
    }
    return run_unwatched(arguments);
}

int run_preloaded(const char **arguments, struct session *session, bool kills,
                  bool keep_stderr)
{
    struct wrapped CH_CLEANUP(wrapped_deinit)
        program = { .failure_fd = -1,
                    .supervisor = { .live = { .fd = -1, .copier = -1 } },
                    .tail = { .program_fd = -1, .relay_fd = -1 } };
    uint64_t since_ms = clock_now_ms(CLOCK_REALTIME);
    int why = 0;
    (void)!settings_spool_path(&session->settings, session_getenv, NULL,
                               session->spool_path, sizeof(session->spool_path));
    heap_summary_begin(&session->settings);
    if (kills)
        liveness_create(&program.supervisor.live);
    if (start_program(arguments, &program, keep_stderr) != CH_OK)
        return run_instead(&program, arguments);
    // From then on the process is the program.
    bool failed = read(program.failure_fd, &why, sizeof(why)) == (ssize_t)sizeof(why);
    supervisor_begin(&program.supervisor, session, program.pid, arguments);
    await_program(&program);
    heap_summary_end();
    if (failed)
        return run_failed(arguments[0], why);
    report_end_aside(&program, session, since_ms);
    return end_as(program.status);
}
