// SPDX-License-Identifier: Apache-2.0
#include "agent/live/stop.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "support/child.h"
#include "support/test.h"

enum { BUDGET_MS = 5000 };

// What children and the test share: a counter that a spinning thread drives, and the
// ids of its threads.
static volatile struct {
    unsigned long turns;
    int spinner_tid;
    int handled;
} * shared;

static int set_up(void **state)
{
    (void)state;
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = page;
    return page == MAP_FAILED;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap((void *)(uintptr_t)shared, 4096);
}

static void *spin(void *context)
{
    (void)context;
    shared->spinner_tid = gettid();
    for (;;)
        shared->turns++;
    return NULL;
}

// One thread sleeps in read(), one spins and makes no system call.
static int sleep_and_spin(int ready, int go)
{
    pthread_t thread;
    char byte;
    if (pthread_create(&thread, NULL, spin, NULL) != 0)
        return 1;
    while (shared->turns == 0)
        continue;
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

static const struct stopped_thread *find(const struct stop *stop, pid_t tid)
{
    for (size_t i = 0; i < stop->count; i++) {
        if (stop->threads[i].tid == tid)
            return &stop->threads[i];
    }
    return NULL;
}

static void stop_finds_every_thread_and_what_it_did(void **state)
{
    (void)state;
    struct child child = child_start(sleep_and_spin);
    struct stop stop;
    child_await_sleep(child.pid, child.pid);

    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    size_t count = stop.count;
    const struct stopped_thread *sleeper = find(&stop, child.pid);
    const struct stopped_thread *spinner = find(&stop, shared->spinner_tid);
    char sleeper_state = sleeper != NULL ? sleeper->run_state : 0;
    char spinner_state = spinner != NULL ? spinner->run_state : 0;
    bool registers = spinner != NULL && spinner->registers.value[UNWIND_PC] != 0;
    unsigned long turns = shared->turns;
    stop_release(&stop);
    while (shared->turns == turns)
        continue;
    stop_deinit(&stop);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    assert_int_equal(count, 2);
    assert_int_equal(sleeper_state, 'S');
    assert_int_equal(spinner_state, 'R');
    assert_true(registers);
}

static void stop_leaves_the_free_thread_running(void **state)
{
    (void)state;
    shared->turns = 0;
    struct child child = child_start(sleep_and_spin);
    struct stop stop;

    enum ch_status status =
        stop_threads(&stop, child.pid, shared->spinner_tid, BUDGET_MS);
    const struct stopped_thread *spinner = find(&stop, shared->spinner_tid);
    bool listed = spinner != NULL && spinner->state == STOP_FREE;
    unsigned long turns = shared->turns;
    while (shared->turns == turns)
        continue;
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    assert_true(listed);
}

// The child waits for an event; a stop must not make the wait fail.
static int wait_in_epoll(int ready, int go)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN };
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, go, &event) != 0)
        return 2;
    child_say_ready(ready);
    int count = epoll_wait(epoll, &event, 1, 60000);
    return count == 1 ? 0 : 3;
}

static void *sleep_for_ever(void *context)
{
    for (;;)
        pause();
    return context;
}

// Between the ids of its threads lie those of processes that have ended.
static int make_threads_far_apart(int ready, int go)
{
    enum { OTHERS = 200 };
    pthread_t thread;
    char byte;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
            return 1;
        for (int j = 0; j < OTHERS; j++) {
            pid_t other = fork();
            if (other == 0)
                _exit(0);
            waitpid(other, NULL, 0);
        }
    }
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

static void stop_finds_threads_whose_ids_are_far_apart(void **state)
{
    (void)state;
    struct child child = child_start(make_threads_far_apart);
    struct stop stop;
    enum ch_status status = stop_threads(&stop, child.pid, child.pid, BUDGET_MS);
    size_t stopped = 0;
    for (size_t i = 0; i < stop.count; i++)
        stopped += stop.threads[i].state == STOP_STOPPED;
    size_t count = stop.count;
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    assert_int_equal(count, 3);
    assert_int_equal(stopped, 2);
}

static void stop_lets_an_epoll_wait_go_on(void **state)
{
    (void)state;
    struct child child = child_start(wait_in_epoll);
    struct stop stop;
    child_await_sleep(child.pid, child.pid);

    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    stop_release(&stop);
    stop_deinit(&stop);
    child_await_sleep(child.pid, child.pid);
    ssize_t wrote = write(child.go, "x", 1);
    int ended = child_end(&child, false);

    assert_int_equal(status, CH_OK);
    assert_int_equal(wrote, 1);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
}

// A socket with a time limit answers a stop with EINTR, in whatever call it is used.
static int ends[2];

static int read_in_pieces(int ready, int go)
{
    const struct timeval limit = { .tv_sec = 60 };
    char byte;
    struct iovec piece = { &byte, 1 };
    (void)go;
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    child_say_ready(ready);
    return readv(ends[0], &piece, 1) == 1 ? 0 : 3;
}

static int write_when_full(int ready, int go)
{
    static char bytes[65536];
    const struct timeval limit = { .tv_sec = 60 };
    (void)go;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    while (send(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        continue;
    child_say_ready(ready);
    return write(ends[0], bytes, 1) == 1 ? 0 : 3;
}

// goes_on stops a child in its call, which must go on until answer lets it end.
static void goes_on(int (*run)(int, int), void (*answer)(int))
{
    struct stop stop;
    bool paired = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
    struct child child = child_start(run);
    child_await_sleep(child.pid, child.pid);

    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    stop_release(&stop);
    stop_deinit(&stop);
    answer(ends[1]);
    int ended = child_end(&child, false);
    close(ends[0]);
    close(ends[1]);

    assert_true(paired);
    assert_int_equal(status, CH_OK);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static void give_a_byte(int fd)
{
    (void)!write(fd, "x", 1);
}

static void take_all(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        continue;
}

static void stop_lets_calls_with_a_time_limit_go_on(void **state)
{
    (void)state;
    goes_on(read_in_pieces, give_a_byte);
    goes_on(write_when_full, take_all);
}

static void stop_is_told_of_stops_where_children_are_ignored(void **state)
{
    (void)state;
    struct timespec begin;
    struct timespec end;
    struct child child = child_start(wait_in_epoll);
    struct stop stop;
    child_await_sleep(child.pid, child.pid);

    signal(SIGCHLD, SIG_IGN);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    clock_gettime(CLOCK_MONOTONIC, &end);
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    // Not after all of the time that it has.
    assert_true(end.tv_sec - begin.tv_sec < BUDGET_MS / 1000 - 1);
}

static void count_signal(int signal)
{
    (void)signal;
    shared->handled++;
}

// The child holds a signal back until it may go.
static int hold_a_signal(int ready, int go)
{
    char byte;
    struct sigaction action = { .sa_handler = count_signal };
    sigaction(SIGUSR1, &action, NULL);
    child_say_ready(ready);
    while (read(go, &byte, 1) != 1) {
        if (errno != EINTR)
            return 4;
    }
    return shared->handled == 1 ? 0 : 5;
}

static void stop_delivers_a_signal_that_arrives_meanwhile_once(void **state)
{
    (void)state;
    shared->handled = 0;
    struct child child = child_start(hold_a_signal);
    struct stop stop;

    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    kill(child.pid, SIGUSR1);
    stop_release(&stop);
    stop_deinit(&stop);
    while (shared->handled == 0)
        continue;
    ssize_t wrote = write(child.go, "x", 1);
    int ended = child_end(&child, false);

    assert_int_equal(status, CH_OK);
    assert_int_equal(wrote, 1);
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static void *say_ready_and_sleep(void *context)
{
    char byte;
    const int *fds = context;
    // The main thread exits: it is a zombie once only one other thread is alive.
    for (char path[64];;) {
        char stat[512];
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t size = read(fd, stat, sizeof(stat) - 1);
        close(fd);
        stat[size > 0 ? size : 0] = 0;
        if (strstr(stat, ") Z ") != NULL)
            break;
    }
    child_say_ready(fds[0]);
    _exit(read(fds[1], &byte, 1) == 1 ? 0 : 1);
}

static int exit_the_main_thread(int ready, int go)
{
    static int fds[2];
    pthread_t thread;
    fds[0] = ready;
    fds[1] = go;
    if (pthread_create(&thread, NULL, say_ready_and_sleep, fds) != 0)
        return 1;
    pthread_exit(NULL);
}

static void stop_passes_over_a_main_thread_that_has_exited(void **state)
{
    (void)state;
    struct child child = child_start(exit_the_main_thread);
    struct stop stop;
    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    int refused = stop.refused;
    size_t stopped = 0;
    for (size_t i = 0; i < stop.count; i++)
        stopped += stop.threads[i].state == STOP_STOPPED;
    stop_release(&stop);
    stop_deinit(&stop);
    ssize_t wrote = write(child.go, "x", 1);
    int ended = child_end(&child, false);

    assert_int_equal(status, CH_OK);
    assert_int_equal(refused, 0);
    assert_int_equal(stopped, 1);
    assert_int_equal(wrote, 1);
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static void stop_says_that_a_process_is_gone(void **state)
{
    (void)state;
    struct child child = child_start(hold_a_signal);
    pid_t pid = child.pid;
    struct stop stop;
    child_end(&child, true);
    assert_int_equal(stop_threads(&stop, pid, 0, BUDGET_MS), CH_ERR_IO);
}

static void stop_reaps_the_dead_so_that_their_parent_hears_of_it(void **state)
{
    (void)state;
    shared->turns = 0;
    struct child child = child_start(sleep_and_spin);
    struct stop stop;

    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    kill(child.pid, SIGKILL);
    // The child is ours as well as traced by us, so the first wait takes its exit.
    stop_await_termination(&stop, BUDGET_MS);
    size_t left = 0;
    for (size_t i = 0; i < stop.count; i++)
        left += stop.threads[i].state != STOP_GONE;
    stop_deinit(&stop);
    child_end(&child, false);

    assert_int_equal(status, CH_OK);
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_finds_every_thread_and_what_it_did),
        cmocka_unit_test(stop_leaves_the_free_thread_running),
        cmocka_unit_test(stop_finds_threads_whose_ids_are_far_apart),
        cmocka_unit_test(stop_lets_an_epoll_wait_go_on),
        cmocka_unit_test(stop_is_told_of_stops_where_children_are_ignored),
        cmocka_unit_test(stop_lets_calls_with_a_time_limit_go_on),
        cmocka_unit_test(stop_delivers_a_signal_that_arrives_meanwhile_once),
        cmocka_unit_test(stop_passes_over_a_main_thread_that_has_exited),
        cmocka_unit_test(stop_says_that_a_process_is_gone),
        cmocka_unit_test(stop_reaps_the_dead_so_that_their_parent_hears_of_it),
    };
    return cmocka_run_group_tests_name("agent/stop", tests, set_up, tear_down);
}
