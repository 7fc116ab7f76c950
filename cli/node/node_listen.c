// SPDX-License-Identifier: Apache-2.0
//
// The acceptor of the socket form (core_pattern @@FILE). The kernel connects for each
// dying process, which waits until somebody answers or closes. So this process does
// nothing that can block: it accepts, rejects what is above the rates, and starts a
// worker for each process, NODE_WORKERS at a time. A connection that waits for a worker
// for as long as a process may be held is closed, and its process ends without a
// report.
//
// A part that is stopped would hold processes. So the acceptor continues its workers,
// and is itself the child of a supervisor, which continues it. In each turn the
// acceptor sends SIGCONT to the supervisor, which continues that, and is what it feeds
// systemd's watchdog by. If one of the two ends, the other does.
//
// One user has at most half of the workers, and those who wait are served in order.
//
// The handshake: the kernel sends its size and what it can do, we choose, and it
// answers with a word that says whether it agrees (core(5)).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/live/facts.h"
#include "base/clock.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "cli/node/node.h"

enum {
    BACKLOG = 4096,
    WAITING_MAX = 960, // they and the workers have less than 1,024 descriptors
    CHOOSE_KERNEL = 1, // the kernel writes the core to the socket
    CHOOSE_REJECT = 4,
    CHOOSE_WAIT = 8, // it holds the process until the socket is closed
    ANSWER_MS = 1000,
    TICK_MS = 1000,
};

struct coredump_request {
    uint32_t size;
    uint32_t size_of_answer;
    uint64_t mask;
};

struct coredump_answer {
    uint32_t size;
    uint32_t spare;
    uint64_t mask;
};

// A waiting connection.
struct waiting {
    int fd;
    pid_t pid;
    uid_t uid;
    uint64_t since_ms;
};

struct worker {
    pid_t pid; // 0: this place is free
    struct waiting of;
};

struct acceptor {
    struct node *node;
    int listens;
    struct waiting waiting[WAITING_MAX]; // in order
    size_t waiting_count;
    struct worker workers[NODE_WORKERS];
};

static const char too_many[] = "too many processes crashed at the same time";

void node_tell_systemd(const char *state)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || strlen(path) >= sizeof(to.sun_path))
        return;
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (*path == '@')
        to.sun_path[0] = 0;
    CH_CLEANUP(file_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)sendto(fd, state, strlen(state), MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&to, size);
}

// open_socket is the socket that systemd passes on as descriptor 3, or a new one, to
// which root alone may connect (the umask is 077).
static int open_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *for_whom = getenv("LISTEN_PID");
    if (for_whom != NULL && strtol(for_whom, NULL, 10) == getpid() &&
        getenv("LISTEN_FDS") != NULL)
        return 3;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || strlen(path) >= sizeof(address.sun_path) ||
        !file_make_parents(path, 0700))
        return -1;
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    (void)unlink(path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    file_close(&fd);
    return -1;
}

// answer_kernel does the handshake. It waits a second at most.
static bool answer_kernel(int fd, uint64_t choice)
{
    const struct timeval time = { .tv_sec = ANSWER_MS / 1000 };
    struct coredump_request request = { 0 };
    uint8_t rest[64];
    uint32_t agreed = UINT32_MAX;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
    if (recv(fd, &request, sizeof(request), MSG_WAITALL) != (ssize_t)sizeof(request) ||
        request.size < sizeof(request) ||
        request.size > sizeof(request) + sizeof(rest) ||
        (request.mask & choice) != choice)
        return false;
    size_t more = request.size - sizeof(request);
    if (more != 0 && recv(fd, rest, more, MSG_WAITALL) != (ssize_t)more)
        return false;
    const struct coredump_answer answer = { .size = sizeof(answer), .mask = choice };
    if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
        return false;
    // For its word a process has to run, whose user may have started many.
    return choice == CHOOSE_REJECT ||
           (recv(fd, &agreed, sizeof(agreed), MSG_WAITALL) == (ssize_t)sizeof(agreed) &&
            agreed == 0);
}

static void write_off(struct acceptor *acceptor, const struct waiting *of,
                      const char *why)
{
    const struct node_entry entry = { .pid = of->pid, .uid = of->uid, .why = why };
    node_ledger_add(&acceptor->node->session.spool, &entry);
}

static size_t workers_of(const struct acceptor *acceptor, uid_t user)
{
    size_t count = 0;
    for (size_t i = 0; i < NODE_WORKERS; i++)
        count += acceptor->workers[i].pid != 0 && acceptor->workers[i].of.uid == user;
    return count;
}

static _Noreturn void work(struct acceptor *acceptor, const struct waiting *of)
{
    enum { LEAST_MS = 100 };
    struct node *node = acceptor->node;
    int result = COMMAND_FAILED;
    (void)signal(SIGCHLD, SIG_DFL);
    // Further workers of a user get less of the processors than the first of another.
    (void)!nice(2 * (int)workers_of(acceptor, of->uid));
    (void)alarm(3 * node->hold_ms / 1000 + 1);
    for (size_t i = 0; i < acceptor->waiting_count; i++) {
        if (acceptor->waiting[i].fd != of->fd)
            (void)close(acceptor->waiting[i].fd);
    }
    (void)close(acceptor->listens);
    bool agreed = answer_kernel(of->fd, CHOOSE_KERNEL | CHOOSE_WAIT);
    // The process is held since it connected.
    uint64_t waited_ms = clock_now_ms(CLOCK_MONOTONIC) - of->since_ms;
    node->hold_ms = waited_ms + LEAST_MS < node->hold_ms
                        ? node->hold_ms - (unsigned)waited_ms
                        : LEAST_MS;
    if (agreed)
        result = node_report(node, of->pid, of->fd);
    else
        write_off(acceptor, of, "the kernel did not agree on how to pass the core");
    _exit(result);
}

// start_worker starts one for a connection, and takes that from the list.
static void start_worker(struct acceptor *acceptor, struct worker *worker, size_t index)
{
    const struct waiting of = acceptor->waiting[index];
    pid_t child = fork();
    if (child == 0)
        work(acceptor, &of);
    if (child > 0)
        *worker = (struct worker){ .pid = child, .of = of };
    else
        write_off(acceptor, &of, strerror(errno));
    (void)close(of.fd);
    acceptor->waiting_count--;
    memmove(&acceptor->waiting[index], &acceptor->waiting[index + 1],
            (acceptor->waiting_count - index) * sizeof(of));
}

// next_served is the first connection of a user with less than half of the workers.
static bool next_served(const struct acceptor *acceptor, size_t *out)
{
    for (size_t i = 0; i < acceptor->waiting_count; i++) {
        if (workers_of(acceptor, acceptor->waiting[i].uid) < NODE_WORKERS / 2) {
            *out = i;
            return true;
        }
    }
    return false;
}

static void start_workers(struct acceptor *acceptor)
{
    size_t next;
    for (size_t i = 0; i < NODE_WORKERS && next_served(acceptor, &next); i++) {
        if (acceptor->workers[i].pid == 0)
            start_worker(acceptor, &acceptor->workers[i], next);
    }
}

static void reap_workers(struct acceptor *acceptor)
{
    int status;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (WIFSTOPPED(status))
            (void)kill(child, SIGCONT);
        for (size_t i = 0; i < NODE_WORKERS && !WIFSTOPPED(status); i++) {
            struct worker *worker = &acceptor->workers[i];
            if (worker->pid != child)
                continue;
            worker->pid = 0;
            if (WIFSIGNALED(status))
                write_off(acceptor, &worker->of,
                          "the process that reported it was killed");
        }
    }
}

// end_waits closes connections whose processes have waited too long.
static void end_waits(struct acceptor *acceptor)
{
    uint64_t now_ms = clock_now_ms(CLOCK_MONOTONIC);
    while (acceptor->waiting_count != 0 &&
           now_ms - acceptor->waiting[0].since_ms > acceptor->node->hold_ms) {
        write_off(acceptor, &acceptor->waiting[0], too_many);
        (void)close(acceptor->waiting[0].fd);
        acceptor->waiting_count--;
        memmove(&acceptor->waiting[0], &acceptor->waiting[1],
                acceptor->waiting_count * sizeof(acceptor->waiting[0]));
    }
}

static void reject(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    enum { AT_ONCE_MS = 20 };
    if (poll(&ready, 1, AT_ONCE_MS) == 1)
        (void)answer_kernel(fd, CHOOSE_REJECT);
    (void)close(fd);
}

// accept_one returns false if nobody waits to be accepted.
static bool accept_one(struct acceptor *acceptor)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int fd = accept4(acceptor->listens, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) {
        (void)close(fd);
        return true;
    }
    const struct waiting of = { .fd = fd,
                                .pid = peer.pid,
                                .uid = peer.uid,
                                .since_ms = clock_now_ms(CLOCK_MONOTONIC) };
    const bool is_over = node_is_over_rate(acceptor->node, peer.pid);
    const bool is_full = acceptor->waiting_count == WAITING_MAX;
    if (!is_over && is_full)
        write_off(acceptor, &of, too_many);
    if (is_over || is_full)
        reject(fd);
    else
        acceptor->waiting[acceptor->waiting_count++] = of;
    return true;
}

// accept_all accepts all that wait, because the deadline of each begins then. Other
// work has to wait for that, so there is a limit.
static void accept_all(struct acceptor *acceptor)
{
    enum { MOST_MS = 100 };
    const uint64_t began_ms = clock_now_ms(CLOCK_MONOTONIC);
    while (accept_one(acceptor) && clock_now_ms(CLOCK_MONOTONIC) - began_ms < MOST_MS)
        continue;
}

static void wake(int signal)
{
    (void)signal; // poll returns
}

static int supervise(pid_t acceptor)
{
    const struct sigaction action = { .sa_handler = wake };
    int status;
    (void)sigaction(SIGCONT, &action, NULL);
    node_tell_systemd("READY=1");
    for (;;) {
        pid_t child = waitpid(-1, &status, WUNTRACED);
        if (child < 0 && errno == EINTR)
            node_tell_systemd("WATCHDOG=1");
        else if (child > 0 && WIFSTOPPED(status))
            (void)kill(child, SIGCONT);
        else if (child < 0 || child == acceptor)
            return command_fail("node: the process that accepts connections ended");
    }
}

int node_listen(struct node *node, const char *path)
{
    static struct acceptor acceptor;
    const struct sigaction action = { .sa_handler = wake };
    const pid_t supervisor = getpid();
    acceptor.node = node;
    acceptor.listens = open_socket(path);
    if (acceptor.listens < 0)
        return command_fail("cannot listen on '%s': %s", path, strerror(errno));
    (void)fcntl(acceptor.listens, F_SETFD, FD_CLOEXEC);
    (void)fcntl(acceptor.listens, F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (child < 0)
        return command_fail("node: cannot start the process that accepts connections:"
                            " %s",
                            strerror(errno));
    if (child != 0)
        return supervise(child);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != supervisor)
        _exit(COMMAND_FAILED);
    // Workers are copies of us, so they find what is read once. To look up a user may
    // load libraries, which takes a third of the time that a small process is held.
    facts_remember_root(getpid());
    confine_find_nobody();
    (void)sigaction(SIGCHLD, &action, NULL);
    for (;;) {
        struct pollfd ready = { .fd = acceptor.listens, .events = POLLIN };
        (void)kill(supervisor, SIGCONT);
        if (poll(&ready, 1, TICK_MS) == 1)
            accept_all(&acceptor);
        reap_workers(&acceptor);
        end_waits(&acceptor);
        start_workers(&acceptor);
    }
}
