// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/images/read_file.h"
#include "base/clock.h"
#include "base/file.h"
#include "report/spool_records.h"

static const char *keep_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// open_kept_life opens the life of the process. -1: it has none.
static int open_kept_life(pid_t pid, const struct settings *settings)
{
    char folder[PATH_MAX];
    char name[SPOOL_LIFE_NAME_SIZE];
    struct process_facts facts;
    if (settings_spool_path(settings, keep_variable, NULL, folder, sizeof(folder)) !=
        CH_OK)
        return -1;
    facts_read_process(&facts, pid, pid);
    spool_life_name(facts.start_ticks, pid, name);
    facts_deinit_process(&facts);
    int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return -1;
    int fd = openat(folder_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    (void)close(folder_fd);
    return fd;
}

static off_t life_at(size_t offset)
{
    return (off_t)((size_t)sysconf(_SC_PAGESIZE) + offsetof(struct context_page, life) +
                   offset);
}

// read_kept_life reads the life as it is in the file. False: it cannot be read.
static bool read_kept_life(const struct daemon_keep *keep, struct context_life *out)
{
    return pread(keep->life_fd, out, sizeof(*out), life_at(0)) == (ssize_t)sizeof(*out);
}

// is_kept_by_other is whether `crashhook run` keeps the program: it writes the life.
static bool is_kept_by_other(const struct daemon_keep *keep)
{
    struct context_life now;
    return read_kept_life(keep, &now) && now.keeper != 0 && now.keeper != getpid();
}

// write_kept_life writes all of the life but for the program's own word.
static void write_kept_life(const struct daemon_keep *keep)
{
    const size_t from = offsetof(struct context_life, asked_signal);
    const struct context_life *life = &keep->keep.life;
    (void)!pwrite(keep->life_fd, (const char *)life + from, sizeof(*life) - from,
                  life_at(from));
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

void daemon_keep_begin(struct daemon_keep *keep, int socket,
                       const struct settings *settings)
{
    struct ucred maker = { 0 };
    socklen_t size = sizeof(maker);
    *keep = (struct daemon_keep){ .pidfd = -1, .life_fd = -1 };
    if (settings->kills == KILLS_NO ||
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0)
        return;
    keep->pidfd = (int)syscall(SYS_pidfd_open, maker.pid, 0);
    keep->life_fd = keep->pidfd >= 0 ? open_kept_life(maker.pid, settings) : -1;
    if (keep->life_fd < 0) {
        file_close(&keep->pidfd);
        return;
    }
    keep->pid = maker.pid;
    keep->seizes = settings->kills == KILLS_SEIZE;
    keep_begin(&keep->keep, keep->pid, LIFE_BY_DAEMON);
    keep->pause_ms = keep_pause_ms(0);
    keep->next_ms = clock_now_ms(CLOCK_MONOTONIC);
    hear_children();
}

void daemon_keep_wait(const struct daemon_keep *keep, struct pollfd *other)
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

// A pidfd_exit is what the kernel tells of a pidfd since Linux 6.13, of which older
// headers do not know.
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

// mark_ended has the life say that it needs no report.
static void mark_ended(const struct daemon_keep *keep)
{
    const uint32_t ended = LIFE_ENDED;
    (void)!pwrite(keep->life_fd, &ended, sizeof(ended),
                  life_at(offsetof(struct context_life, ended)));
}

// finish_keeping writes how the program ended, if that is known: an end that is no kill
// needs no report.
static void finish_keeping(struct daemon_keep *keep)
{
    int status = 0;
    bool known = read_zombie_status(keep->pid, &status) ||
                 read_pidfd_status(keep->pidfd, &status);
    if (known && !death_is_kill(status & 0x7f))
        mark_ended(keep);
    if (is_kept_by_other(keep))
        return;
    keep_end(&keep->keep, known ? status & 0x7f : 0);
    keep->keep.life.keeper = 0; // it has seen all
    write_kept_life(keep);
}

void daemon_keep_deinit(struct daemon_keep *keep)
{
    file_close(&keep->life_fd);
    file_close(&keep->pidfd);
    keep->pid = 0;
}

// report_kill reports the program, which is held on its way out.
static enum daemon_kept report_kill(struct daemon_keep *keep, int signal,
                                    struct trace_report *out)
{
    static struct context_page context; // of which the new process needs a copy
    struct context_life now;
    bool written;
    keep_end(&keep->keep, signal);
    // The kernel may be emptying it already.
    usage_sample(&keep->keep.usage,
                 keep->keep.life.events.oom_kills != 0 ? usage_peak(&keep->keep.usage)
                                                       : 0,
                 &keep->keep.life);
    struct death death = { .pid = keep->pid,
                           .keeper = LIFE_BY_DAEMON,
                           .signal = signal,
                           .realtime_ns = keep->keep.life.end_realtime_ns,
                           .started_ns = clock_now_ns(CLOCK_BOOTTIME),
                           .life = keep->keep.life };
    uint64_t up_ns = death.started_ns;
    struct process_facts facts;
    facts_read_process(&facts, keep->pid, keep->pid);
    death.started_ns -=
        facts.uptime_ms * 1000000 < up_ns ? facts.uptime_ms * 1000000 : up_ns;
    facts_deinit_process(&facts);
    if (is_kept_by_other(keep) && read_kept_life(keep, &now)) {
        now.events = keep->keep.life.events;
        now.cpu_limit_s = keep->keep.life.cpu_limit_s;
        now.cpu_used_ms = keep->keep.life.cpu_used_ms;
        death.life = now;
    }
    // The process's own memory may be emptied by now, the file is not.
    bool whole = pread(keep->life_fd, &context, sizeof(context),
                       (off_t)sysconf(_SC_PAGESIZE)) == (ssize_t)sizeof(context);
    out->context = whole ? &context : NULL;
    if (trace_seize_report(keep->pid, &death, out, &written))
        return DAEMON_REPORTS;
    if (written)
        mark_ended(keep);
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

// is_ending is whether the process is on its way out: it has closed its files and has
// no memory any more, but its end is yet to be told.
static bool is_ending(const struct daemon_keep *keep)
{
    struct process_facts facts;
    facts_read_process(&facts, keep->pid, keep->pid);
    bool dead = facts.dead;
    facts_deinit_process(&facts);
    return dead;
}

// has_become_other is whether the process has executed a program that has its own
// keeper, or none: its life is deleted, or no longer locked.
static bool has_become_other(const struct daemon_keep *keep)
{
    struct stat file;
    if (fstat(keep->life_fd, &file) != 0 || file.st_nlink == 0)
        return true;
    if (flock(keep->life_fd, LOCK_SH | LOCK_NB) != 0)
        return false;
    (void)flock(keep->life_fd, LOCK_UN);
    return true;
}

// look_at_kept looks at the program, unless another does.
static void look_at_kept(struct daemon_keep *keep)
{
    struct context_life now;
    if (!read_kept_life(keep, &now) || (now.keeper != 0 && now.keeper != getpid()))
        return;
    keep_told(&keep->keep.life, &now);
    keep_look(&keep->keep);
    write_kept_life(keep);
}

enum daemon_kept daemon_keep_look(struct daemon_keep *keep, bool alone,
                                  struct trace_report *out)
{
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    if (keep->pid == 0)
        return DAEMON_KEEPS;
    enum daemon_kept kept = look_at_traced(keep, out);
    if (kept != DAEMON_KEEPS)
        return kept;
    if (kept_has_ended(keep)) {
        finish_keeping(keep);
        daemon_keep_deinit(keep);
        return DAEMON_ENDED;
    }
    if (now < keep->next_ms)
        return DAEMON_KEEPS;
    if (alone && has_become_other(keep)) {
        if (is_ending(keep)) {
            keep->next_ms = now + keep->pause_ms; // its end comes before
            return DAEMON_KEEPS;
        }
        daemon_keep_let_go(keep);
        daemon_keep_deinit(keep);
        return DAEMON_ENDED;
    }
    look_at_kept(keep);
    keep->next_ms = now + keep->pause_ms;
    keep->pause_ms = keep_pause_ms(keep->pause_ms);
    return DAEMON_KEEPS;
}

void daemon_keep_let_go(struct daemon_keep *keep)
{
    if (keep->pid != 0 && keep->seized)
        trace_seize_end(keep->pid);
    keep->seized = false;
}
