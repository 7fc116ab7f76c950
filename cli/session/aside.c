// SPDX-License-Identifier: Apache-2.0
#include "cli/session/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/text.h"
#include "images/read_file.h"

// A process that waits for a disk this long, in one wait, is left to that.
enum { DISK_MS = 1000, STATUS_BYTES = 16 << 10 };

bool aside_begin(struct aside *aside, struct liveness *live)
{
    int said[2];
    *aside = (struct aside){ .said_fd = -1 };
    if (pipe2(said, O_CLOEXEC) != 0)
        return false;
    // Without an exit signal: where this process becomes the program, that has a child
    // which it does not notice.
    aside->pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
    if (aside->pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)signal(SIGPIPE, SIG_IGN); // nobody may be waiting by now
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(said[1], STDERR_FILENO);
        liveness_close_others(live);
        return true;
    }
    (void)close(said[1]);
    aside->said_fd = said[0];
    return false;
}

void aside_answer(void)
{
    (void)!write(STDERR_FILENO, "", 1);
}

// pass_on_said writes what the process says, but for its answers. False: it has ended.
static bool pass_on_said(struct aside *aside)
{
    char text[4096];
    ssize_t count = read(aside->said_fd, text, sizeof(text));
    if (count <= 0)
        return count < 0 && errno == EINTR;
    for (char *at = text; at < text + count;) {
        char *end = memchr(at, 0, (size_t)(text + count - at));
        aside->answers += end != NULL;
        end = end != NULL ? end : text + count;
        (void)file_write_all(STDERR_FILENO, at, (size_t)(end - at));
        at = end + 1;
    }
    return true;
}

// count_waits counts how often the process has waited for anything. 0: it does not wait
// now, or not in state wanted (0: any), or there is no /proc.
static uint64_t count_waits(pid_t pid, char wanted)
{
    static const char state[] = "\nState:\t";
    static const char count[] = "\nvoluntary_ctxt_switches:";
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    if (read_process_file(pid, "status", STATUS_BYTES, &status) != CH_OK ||
        status.size == 0)
        return 0;
    const char *is = strstr(status.bytes, state);
    const char *at = strstr(status.bytes, count);
    if (is == NULL || at == NULL)
        return 0;
    is += sizeof(state) - 1;
    bool waits = wanted != 0 ? *is == wanted : *is != 'R';
    return waits ? strtoull(at + strlen(count), NULL, 10) : 0;
}

// pass_on_signals passes on those that have arrived.
static void pass_on_signals(const struct aside *aside, int signals_fd)
{
    struct signalfd_siginfo info;
    while (read(signals_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (aside->passes_on((int)info.ssi_signo))
            (void)kill(aside->pid, (int)info.ssi_signo);
    }
}

// open_signals opens a descriptor that signals are read from; negative: there is none.
static int open_signals(const struct aside *aside)
{
    sigset_t all;
    (void)sigfillset(&all);
    return aside->passes_on != NULL ? signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK)
                                    : -1;
}

static bool await_process(struct aside *aside, uint64_t most_ms, int signals_fd)
{
    const uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + most_ms;
    const unsigned answers = aside->answers;
    while (aside->said_fd >= 0 && aside->answers == answers) {
        struct pollfd heard[] = { { .fd = aside->said_fd, .events = POLLIN },
                                  { .fd = signals_fd, .events = POLLIN } };
        uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
        if (now >= deadline)
            return false;
        uint64_t left = deadline - now < DISK_MS ? deadline - now : DISK_MS;
        uint64_t waits = count_waits(aside->pid, 'D');
        int ready = poll(heard, 2, (int)left);
        if (ready == 0 && waits != 0 && count_waits(aside->pid, 'D') == waits)
            return false;
        if (ready > 0 && heard[1].revents != 0)
            pass_on_signals(aside, signals_fd);
        if (ready <= 0 || heard[0].revents == 0 || pass_on_said(aside))
            continue;
        aside_leave(aside);
        while (aside->pid > 0 && waitpid(aside->pid, NULL, __WALL) < 0 &&
               errno == EINTR)
            continue;
    }
    return true;
}

bool aside_await(struct aside *aside, uint64_t most_ms)
{
    int signals_fd = open_signals(aside);
    bool done = await_process(aside, most_ms, signals_fd);
    file_close(&signals_fd);
    return done;
}

bool aside_await_work(struct aside *aside, unsigned most_ms)
{
    for (; most_ms > 0; most_ms--) {
        uint64_t waits = count_waits(aside->pid, 0);
        if (aside_await(aside, 1))
            return true;
        if (waits != 0 && count_waits(aside->pid, 0) == waits)
            return false;
    }
    return false;
}

void aside_leave(struct aside *aside)
{
    file_close(&aside->said_fd);
}
