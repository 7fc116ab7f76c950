// SPDX-License-Identifier: Apache-2.0
//
// How it works: daemon_serve polls the socket to the programs that it serves. A message
// with a descriptor is either the channel of a crash or, once, the liveness record of
// the program (daemon_keep_take). Between messages daemon_keep_look looks at the
// program that is supervised.
//
// A crash is reported by this process (daemon_serves_itself), which then executes
// itself anew (daemon_again), so that nothing of one report is left for the next; or by
// a fork of it (serve_crash), where the program is supervised or a report is to be sent
// before the process may die. daemon_serve returns in the process that reports.
//
// States of supervision: none -> kept (pid is known, the record is mapped) -> ended:
// the record is left in the spool, from which the command makes the report of a kill
// (finish_keeping). With CRASHHOOK_KILLS=seize the first thread is traced, too; then a
// kill is seen before the process has exited, and daemon_serve returns DAEMON_KILL.
//
// The agent exits when no process holds the other end of the socket and nothing is
// supervised.
//
// What warms the agent (warm_*) runs before the first crash: it touches memory and code
// that a report will need, and remembers no facts.
#include "agent/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/daemon/liveness.h"
#include "agent/live/capture.h"
#include "agent/live/request.h"
#include "agent/raw/finish.h"
#include "agent/raw/raw_report.h"
#include "agent/raw/store.h"
#include "agent/trace/trace.h"
#include "base/clock.h"
#include "base/settings/settings.h"
#include "base/system/file.h"
#include "base/system/populate.h"
#include "images/read_file.h"
#include "report/file/report_id.h"
#include "shared/request_page.h"

enum {
    PAGE_BYTES = 4096,
    STACK_BYTES = 40 << 10, // what a small crash uses of the stack
};

void warm_bytes(void *bytes, size_t size)
{
    volatile char *at = bytes;
    for (size_t i = 0; i < size; i += PAGE_BYTES)
        at[i] = at[i];
}

static __attribute__((noinline)) void warm_stack(void)
{
    char bytes[STACK_BYTES] = { 0 };
    warm_bytes(bytes, sizeof(bytes));
}

// warm_heap has the blocks that a small crash uses in the heap's lists of free ones.
static void warm_heap(void)
{
    static const struct {
        size_t bytes;
        size_t count;
    } sizes[] = {
        { 32, 16 },     { 64, 16 },      { 128, 16 },     { 256, 16 },
        { 512, 8 },     { 1 << 10, 8 },  { 2 << 10, 4 },  { 4 << 10, 5 },
        { 8 << 10, 4 }, { 16 << 10, 2 }, { 32 << 10, 1 },
    };
    enum { HEAD_BYTES = 16, BLOCKS = 128 };
    void *blocks[BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < sizes[i].count && count < BLOCKS; j++) {
            blocks[count] = calloc(1, sizes[i].bytes - HEAD_BYTES);
            if (blocks[count] != NULL)
                warm_bytes(blocks[count++], sizes[i].bytes - HEAD_BYTES);
        }
    }
    while (count != 0)
        free(blocks[--count]);
}

// warm_code maps the program's own text and constants.
static void warm_code(void)
{
    extern char __executable_start[];
    extern char edata[];
    (void)madvise(__executable_start, (size_t)(edata - __executable_start),
                  MADV_POPULATE_READ);
}

// warm_report makes a report of the process, which runs on meanwhile, and drops it: a
// crash will take the same ways through the program, touch the same memory and read
// much of the same memory of the process.
static void warm_report(pid_t pid, const struct settings *settings)
{
    char id[REPORT_ID_SIZE];
    struct text CH_CLEANUP(text_deinit) report = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    struct capture *capture = calloc(1, sizeof(*capture));
    if (capture == NULL)
        return;
    capture->settings = settings;
    capture->held = &held;
    capture->home = settings->sanitize != SETTING_NO ? getenv("HOME") : NULL;
    capture->stop = (struct stop){ .pid = pid, .traced = true }; // nothing is stopped
    capture->memory_fd = -1;
    capture->careful = true; // no page of a running program is to be made for us
    report_id_make(0, id);
    if (capture_take(capture, pid) == CH_OK &&
        raw_report_write(capture, id, -1, &report) == CH_OK)
        target_memory_remember(&capture->memory);
    capture_deinit(capture);
    free(capture);
}

static const char *warm_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// warm_begin prepares for a crash of process pid; 0: of one that is not known.
static void warm_begin(pid_t pid, const struct settings *settings)
{
    warm_code();
    warm_stack();
    warm_heap();
    (void)finish_is_possible();
    store_ahead(settings, warm_variable);
    if (pid != 0) {
        // The files of /proc that every report reads.
        static const char *const names[] = { "status", "stat", "cmdline", "cgroup" };
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            read_process_file_keep(pid, names[i]);
        facts_remember_root(pid);
        warm_report(pid, settings);
    }
    target_memory_warm();
}

// The waiting agent as the supervisor of the program that started it (CRASHHOOK_KILLS):
// it holds the program's liveness record, looks at the program once in a while, writes
// what it sees into the record, and learns from the kernel how the program ended. With
// CRASHHOOK_KILLS=seize, it also traces the program's first thread, and reports a kill
// with its stack. It counts starts as well (CRASHHOOK_STARTS).
//
// Where `crashhook run` keeps the program, that one looks, and this one traces at most.

struct daemon_keep {
    pid_t pid; // of the program; 0: nothing is kept, or no longer
    int pidfd; // of the program; -1: it had ended before it could be watched
    struct liveness live;
    const struct settings *settings;
    char path[PATH_MAX]; // of its spool
    bool looked_again;   // for the record, after the end
    bool seizes;         // it is to be traced
    bool seized;         // and is
    struct keep keep;
    uint64_t pause_ms; // until the next look
    uint64_t next_ms;  // when that is, of CLOCK_MONOTONIC
};

// A daemon_kept is what is to be done after daemon_keep_look.
enum daemon_kept {
    DAEMON_KEEPS,
    DAEMON_ENDED,   // the program has ended
    DAEMON_REPORTS, // this is a new process, which makes the report
};

static const char *keep_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// is_kept_by_other returns true if `crashhook run` keeps the program: it writes the
// liveness record.
static bool is_kept_by_other(const struct daemon_keep *keep)
{
    struct context_page now;
    return liveness_read(&keep->live, &now) && now.liveness.supervisor != 0 &&
           now.liveness.supervisor != getpid();
}

static void hear_child(int signal)
{
    (void)signal;
}

// hear_children has stops of the traced thread interrupt daemon_keep_wait; children are
// still reaped by the kernel.
static void hear_children(void)
{
    const struct sigaction action = { .sa_handler = hear_child,
                                      .sa_flags = SA_NOCLDWAIT };
    sigset_t child;
    (void)sigaction(SIGCHLD, &action, NULL);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
}

// open_maker opens a pidfd of the process that made the socket: since Linux 6.16 also
// of one that has ended.
static int open_maker(int socket, pid_t pid)
{
    enum { PEER_PIDFD = 77 }; // SO_PEERPIDFD of Linux 6.5; older headers lack it
    int pidfd = -1;
    socklen_t size = sizeof(pidfd);
    if (getsockopt(socket, SOL_SOCKET, PEER_PIDFD, &pidfd, &size) == 0)
        return pidfd;
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool is_in_namespace(void)
{
    const ino_t machines = 0xeffffffc; // PID namespace: the kernel's PROC_PID_INIT_INO
    struct stat own;
    return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != machines;
}

// daemon_keep_begin begins to keep the process that made the socket.
static void daemon_keep_begin(struct daemon_keep *keep, int socket,
                              const struct settings *settings)
{
    struct ucred maker = { 0 };
    socklen_t size = sizeof(maker);
    *keep = (struct daemon_keep){ .pidfd = -1,
                                  .live = { .fd = -1, .copier = -1 },
                                  .settings = settings };
    if (settings_spool_path(settings, keep_variable, NULL, keep->path,
                            sizeof(keep->path)) != CH_OK ||
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0)
        return;
    keep->pidfd = open_maker(socket, maker.pid);
    if (keep->pidfd < 0 && errno != ESRCH)
        return;
    keep->pid = maker.pid;
    // It may have exited before it is seen. It has started this process, whose ids are
    // equal unless a setuid program did.
    keep->live.ours = maker.uid == geteuid() && getuid() == geteuid();
    keep->seizes = settings->kills == KILLS_SEIZE;
    keep_begin(&keep->keep, keep->pid, LIVENESS_BY_DAEMON);
    keep->keep.liveness.is_near = settings->kills != KILLS_NO && is_in_namespace();
    keep->pause_ms = keep_pause_ms(0);
    keep->next_ms = clock_now_ms(CLOCK_MONOTONIC);
    hear_children();
}

// daemon_keep_take takes the liveness record that the program has sent, and begins to
// keep it. False: fd is something else.
static bool daemon_keep_take(struct daemon_keep *keep, int socket,
                             const struct settings *settings, int fd)
{
    if (fcntl(fd, F_GET_SEALS) < 0) // a crash's channel has none
        return false;
    if (keep->pid == 0)
        daemon_keep_begin(keep, socket, settings);
    if (keep->live.fd < 0 && keep->pid != 0)
        keep->live.fd = fd;
    else
        (void)close(fd);
    liveness_see(&keep->live, keep->pid);
    return true;
}

// daemon_keep_wait waits, as poll does with one descriptor, until there is something to
// do: on that, for the supervisor, or both.
static void daemon_keep_wait(const struct daemon_keep *keep, struct pollfd *other)
{
    struct pollfd files[2] = { *other, { .fd = keep->pidfd, .events = POLLIN } };
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    uint64_t left = keep->next_ms > now ? keep->next_ms - now : 0;
    const struct timespec timeout = { .tv_sec = (time_t)(left / 1000),
                                      .tv_nsec = (long)(left % 1000) * 1000000 };
    sigset_t none;
    (void)sigemptyset(&none);
    if (ppoll(files, 2, keep->pid != 0 ? &timeout : NULL, &none) < 0)
        files[0].revents = 0;
    other->revents = files[0].revents;
}

static bool kept_has_ended(const struct daemon_keep *keep)
{
    if (keep->pidfd < 0) // it had ended before it could be watched
        return true;
    struct pollfd end = { .fd = keep->pidfd, .events = POLLIN };
    return poll(&end, 1, 0) == 1;
}

// read_zombie_status reads the last field of /proc/PID/stat, the status as waitpid
// would return it, of a process that nobody has waited for. False: somebody has.
static bool read_zombie_status(pid_t pid, int *out)
{
    enum { STATUS_FIELD = 52, STATE_FIELD = 3 };
    struct text CH_CLEANUP(text_deinit) stat = { 0 };
    if (read_process_file(pid, "stat", PATH_MAX, &stat) != CH_OK || stat.size == 0)
        return false;
    const char *at = strrchr(stat.bytes, ')');
    if (at == NULL || strncmp(at, ") Z", 3) != 0)
        return false;
    at += 2;
    for (int field = STATE_FIELD; field < STATUS_FIELD && at != NULL; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    *out = (int)strtol(at, NULL, 10);
    return true;
}

// A pidfd_exit is what the kernel reports of a pidfd since Linux 6.13. Older headers
// lack it.
struct pidfd_exit {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t numbers[11]; // of the process, its users and groups
    int32_t status;
};

// read_pidfd_status asks the pidfd, which knows it of a process that somebody has
// waited for, since Linux 6.15.
static bool read_pidfd_status(int pidfd, int *out)
{
    enum { INFO_EXIT = 1 << 3 };
    struct pidfd_exit info = { .mask = INFO_EXIT };
    if (ioctl(pidfd, _IOWR(0xff, 11, struct pidfd_exit), &info) != 0 ||
        (info.mask & INFO_EXIT) == 0)
        return false;
    *out = info.status;
    return true;
}

// leave_record does what is left to do in the spool, which may hang, and has a report
// made there if the program was killed. As long as others may crash, another process
// does it.
static void leave_record(struct daemon_keep *keep, bool alone)
{
    const struct settings *settings = keep->settings;
    struct context_page now;
    if (!liveness_read(&keep->live, &now) || is_kept_by_other(keep) ||
        (!alone && fork() != 0))
        return;
    enum liveness_ended how = liveness_how_ended(&now.liveness);
    bool reports =
        how == LIVENESS_LOST || (settings->kills != KILLS_NO &&
                                 (now.liveness.ended == 0 || how == LIVENESS_CRASHED));
    (void)signal(SIGXFSZ, SIG_IGN);
    liveness_see(&keep->live, keep->pid);
    liveness_close_others(&keep->live);
    (void)liveness_stop_copier(&keep->live, -1);
    // It has seen the end. Until now the copy in the spool named a supervisor, so that
    // no other process made a report of it.
    keep->keep.liveness.supervisor = 0;
    liveness_write(&keep->live, &keep->keep.liveness);
    liveness_count(&keep->live, settings, keep->path);
    if (liveness_store(&keep->live, keep->path, reports)) {
        (void)signal(SIGCHLD, SIG_DFL);
        finish_sweep(settings->url != NULL ? "upload" : "list");
    }
    _exit(0);
}

// finish_keeping writes how the program ended, if that is known: an end that is no kill
// needs no report.
static void finish_keeping(struct daemon_keep *keep, bool alone)
{
    static struct context_page now;
    int status = 0;
    bool known = read_zombie_status(keep->pid, &status) ||
                 (keep->pidfd >= 0 && read_pidfd_status(keep->pidfd, &status));
    enum liveness_ended how = liveness_read(&keep->live, &now)
                                  ? liveness_how_ended(&now.liveness)
                                  : LIVENESS_ENDED;
    bool crashed = how == LIVENESS_CRASHED || how == LIVENESS_LOST;
    if (known && !termination_is_kill(status & 0x7f) && !crashed)
        liveness_end(&keep->live);
    if (!is_kept_by_other(keep)) {
        keep_end(&keep->keep, known ? status & 0x7f : 0);
        liveness_write(&keep->live, &keep->keep.liveness);
    }
    leave_record(keep, alone);
}

// daemon_keep_deinit gives up what is kept.
static void daemon_keep_deinit(struct daemon_keep *keep)
{
    liveness_deinit(&keep->live);
    file_close(&keep->pidfd);
    keep->pid = 0;
}

// report_kill reports the program, which is held while it exits.
static enum daemon_kept report_kill(struct daemon_keep *keep, int signal,
                                    struct trace_report *out)
{
    static struct context_page context; // of which the new process needs a copy
    bool written;
    keep_end(&keep->keep, signal);
    usage_sample_end(&keep->keep.usage, &keep->keep.liveness);
    struct termination termination = { .pid = keep->pid,
                                       .supervisor = LIVENESS_BY_DAEMON,
                                       .signal = signal,
                                       .realtime_ns =
                                           keep->keep.liveness.end_realtime_ns,
                                       .started_ns = clock_now_ns(CLOCK_BOOTTIME),
                                       .liveness = keep->keep.liveness };
    uint64_t up_ns = termination.started_ns;
    struct process_facts facts;
    facts_read_process(&facts, keep->pid, keep->pid);
    termination.started_ns -=
        facts.uptime_ms * 1000000 < up_ns ? facts.uptime_ms * 1000000 : up_ns;
    facts_deinit_process(&facts);
    // The process's own memory may be emptied by now, the record is not.
    out->context = liveness_read(&keep->live, &context) ? &context : NULL;
    if (out->context != NULL && is_kept_by_other(keep)) {
        termination.liveness = context.liveness;
        termination.liveness.events = keep->keep.liveness.events;
        termination.liveness.cpu_limit_s = keep->keep.liveness.cpu_limit_s;
        termination.liveness.cpu_used_ms = keep->keep.liveness.cpu_used_ms;
    }
    if (trace_seize_report(keep->pid, &termination, out, &written))
        return DAEMON_REPORTS;
    if (written)
        liveness_end(&keep->live);
    keep->seizes = false;
    keep->seized = false;
    return DAEMON_KEEPS;
}

static enum daemon_kept look_at_traced(struct daemon_keep *keep,
                                       struct trace_report *out)
{
    int signal;
    if (keep->seizes && !keep->seized)
        keep->seized = trace_seize_begin(keep->pid);
    if (!keep->seized)
        return DAEMON_KEEPS;
    switch (trace_seize_look(&keep->keep, &signal)) {
    case SEIZE_DIES:
        return report_kill(keep, signal, out);
    case SEIZE_FREE:
        keep->seized = false;
        break;
    default:
        break;
    }
    return DAEMON_KEEPS;
}

// is_ending returns true if the process is exiting: it has closed its files and freed
// its memory, but its exit is not reported yet.
static bool is_ending(const struct daemon_keep *keep)
{
    struct process_facts facts;
    facts_read_process(&facts, keep->pid, keep->pid);
    bool dead = facts.dead;
    facts_deinit_process(&facts);
    return dead;
}

// look_at_kept looks at the program, unless another does.
static void look_at_kept(struct daemon_keep *keep)
{
    struct context_page now;
    if (!liveness_read(&keep->live, &now) || is_kept_by_other(keep))
        return;
    keep_note_sender(&keep->keep.liveness, &now.liveness);
    keep_look(&keep->keep);
    liveness_see(&keep->live, keep->pid);
    liveness_write(&keep->live, &keep->keep.liveness);
    liveness_look(&keep->live, keep->settings, keep->path,
                  keep->settings->kills != KILLS_NO);
}

// forget_other returns true if the process has executed a program that has its own
// supervisor, or none: it has the record mapped no more. What the copier wrote is
// removed.
static bool forget_other(struct daemon_keep *keep)
{
    if (keep->live.fd < 0 || is_ending(keep) || !liveness_is_left(&keep->live) ||
        is_ending(keep))
        return false;
    if (fork() != 0)
        return true;
    liveness_close_others(&keep->live);
    (void)liveness_stop_copier(&keep->live, -1);
    (void)liveness_store(&keep->live, keep->path, false);
    _exit(0);
}

// daemon_keep_detach detaches from the program, which has crashed or requested a report
// of itself; it is traced again later, if it lives.
static void daemon_keep_detach(struct daemon_keep *keep)
{
    if (keep->pid != 0 && keep->seized)
        trace_seize_end(keep->pid);
    keep->seized = false;
}

// daemon_keep_look does what is due. alone: no process can send a crash any more.
static enum daemon_kept daemon_keep_look(struct daemon_keep *keep, bool alone,
                                         struct trace_report *out)
{
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    if (keep->pid == 0)
        return DAEMON_KEEPS;
    enum daemon_kept kept = look_at_traced(keep, out);
    if (kept != DAEMON_KEEPS)
        return kept;
    if (kept_has_ended(keep)) {
        // The record may have come between the last look for it and the end.
        if (keep->live.fd < 0 && !keep->looked_again) {
            keep->looked_again = true;
            return DAEMON_KEEPS;
        }
        finish_keeping(keep, alone);
        daemon_keep_deinit(keep);
        return DAEMON_ENDED;
    }
    if (now < keep->next_ms)
        return DAEMON_KEEPS;
    if (alone && forget_other(keep)) {
        daemon_keep_detach(keep);
        daemon_keep_deinit(keep);
        return DAEMON_ENDED;
    }
    look_at_kept(keep);
    keep->next_ms = now + keep->pause_ms;
    keep->pause_ms = keep_pause_ms(keep->pause_ms);
    return DAEMON_KEEPS;
}

// DAEMON_NONE is receive_channel's answer where no process that could crash is left;
// DAEMON_AGAIN: nothing has come.
enum { DAEMON_NONE = -1, DAEMON_AGAIN = -2 };

// channel_of is the descriptor in a message that has one, and one only. The kernel
// reports its sender.
static int channel_of(struct msghdr *message)
{
    struct ucred caller = { 0 };
    int channel = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET)
            continue;
        if (head->cmsg_type == SCM_CREDENTIALS)
            memcpy(&caller, CMSG_DATA(head), sizeof(caller));
        size_t bytes = head->cmsg_type == SCM_RIGHTS ? head->cmsg_len - CMSG_LEN(0) : 0;
        for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            file_close(&channel);
            memcpy(&channel, CMSG_DATA(head) + at, sizeof(channel));
        }
    }
    request_expect(&caller);
    return channel;
}

// receive_channel receives the next crash.
static int receive_channel(int socket)
{
    char byte;
    struct iovec piece = { &byte, 1 };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    } control;
    for (;;) {
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return DAEMON_AGAIN;
        if (count <= 0)
            return DAEMON_NONE;
        int channel = channel_of(&message);
        if (channel >= 0)
            return channel;
    }
}

// take_daemon_request moves the request's channel to the descriptor that the rest of
// the agent expects.
static void take_daemon_request(int channel, int wanted)
{
    sigset_t none;
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (channel == wanted)
        return;
    (void)dup2(channel, wanted);
    (void)close(channel);
}

static pid_t socket_maker(int socket)
{
    struct ucred maker = { 0 };
    socklen_t size = sizeof(maker);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 ? maker.pid
                                                                           : 0;
}

// serve_crash forks the process that reports a crash, and is true in that.
static bool serve_crash(struct daemon_keep *keep, int socket, int received, int channel)
{
    daemon_keep_detach(keep);
    pid_t pid = fork();
    if (pid == 0) {
        daemon_keep_deinit(keep);
        (void)close(socket);
        take_daemon_request(received, channel);
        return true;
    }
    (void)close(received); // after a failed fork, closing notifies the handler
    return false;
}

// daemon_serves_itself: others must not have to wait for long, and a program must not
// be left without its supervisor.
bool daemon_serves_itself(const struct settings *settings)
{
    return settings->kills == KILLS_NO && settings->starts != SETTING_YES &&
           settings->interactive == SETTING_NO &&
           (settings->hold == HOLD_AUTO || settings->hold == HOLD_CAPTURE);
}

enum daemon_wants daemon_serve(int socket, int channel, const struct settings *settings,
                               struct trace_report *out, int *out_again)
{
    static struct daemon_keep keep = { .pidfd = -1,
                                       .live = { .fd = -1, .copier = -1 } };
    const int on = 1;
    (void)setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    (void)setsid();                 // the handler leaves that to us
    (void)signal(SIGCHLD, SIG_IGN); // so that the kernel reaps the children
    *out_again = -1;
    int moved = socket == channel ? fcntl(socket, F_DUPFD_CLOEXEC, channel + 1) : -1;
    if (moved >= 0) {
        // The number stays taken until a crash's channel has it.
        (void)dup3(moved, channel, O_CLOEXEC);
        socket = moved;
    }
    struct pollfd crashes = { .fd = socket, .events = POLLIN };
    bool itself = socket != channel && daemon_serves_itself(settings);
    if (settings->kills == KILLS_SEIZE) // others begin when the record comes
        daemon_keep_begin(&keep, socket, settings);
    if (itself)
        warm_begin(socket_maker(socket), settings);
    while (crashes.fd >= 0 || keep.pid != 0) {
        daemon_keep_wait(&keep, &crashes);
        int received = crashes.revents != 0 ? receive_channel(socket) : DAEMON_AGAIN;
        if (received >= 0 && daemon_keep_take(&keep, socket, settings, received))
            continue;
        if (received >= 0 && itself) {
            take_daemon_request(received, channel);
            *out_again = socket;
            return DAEMON_CRASH;
        }
        if (received >= 0 && serve_crash(&keep, socket, received, channel))
            return DAEMON_CRASH;
        if (received == DAEMON_NONE) {
            // A process that executed a program may have another agent.
            daemon_keep_detach(&keep);
            crashes.fd = -1;
        }
        if (daemon_keep_look(&keep, crashes.fd < 0, out) == DAEMON_REPORTS)
            return DAEMON_KILL;
    }
    exit(0);
}

// raise_again removes a limit that applied to one report.
static void raise_again(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(resource, &limit);
}

void daemon_again(int socket)
{
    raise_again(RLIMIT_AS);
    raise_again(RLIMIT_CPU);
    (void)dup2(socket, REQUEST_CHANNEL_FD);
    execl("/proc/self/exe", "crashhook-agent", "--daemon", (char *)NULL);
    // The next crash finds nobody at the socket, and starts an agent.
    _exit(EXIT_FAILURE);
}
