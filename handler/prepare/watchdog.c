// SPDX-License-Identifier: Apache-2.0
//
// The hang watchdog: a thread that expects crashhook_watchdog_feed's count to change.
// It counts its own ticks as time, so a process that was stopped, or a machine that
// slept, costs one tick and causes no report.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/plan.h"
#include "shared/request_page.h"

enum { TICKS = 8, LEAST_MS = 100, STACK_BYTES = 64 * 1024 };

// The mutex is held while the thread is started or stopped; the thread takes none.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static pid_t owner;       // the process that has the thread; 0: none
static uint32_t stopping; // a futex word; 1: the thread is to end
static unsigned tick_ms;
static unsigned fed;
static unsigned end_after; // timeouts; 0: never

void crashhook_watchdog_end_after(unsigned timeouts)
{
    __atomic_store_n(&end_after, timeouts, __ATOMIC_RELAXED);
}

void crashhook_watchdog_feed(void)
{
    __atomic_fetch_add(&fed, 1, __ATOMIC_RELAXED);
}

// watchdog_rest waits one tick. True: the watchdog is to end.
static bool watchdog_rest(void)
{
    const uint64_t tick_ns = tick_ms * UINT64_C(1000000);
    while (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE) == 0) {
        if (sys_futex_wait(&stopping, 0, tick_ns) == -ETIMEDOUT)
            return false;
    }
    return true;
}

// watchdog_end_program sends the process SIGABRT. This thread blocks it, so another
// takes it: the first, if that may, which is most likely the one that hangs.
static void watchdog_end_program(void)
{
    siginfo_t info = { .si_signo = SIGABRT, .si_code = SI_QUEUE };
    info.si_pid = sys_getpid();
    info.si_uid = sys_getuid();
    info.si_value.sival_ptr = (void *)REQUEST_WATCHDOG;
    machine_call3(SYS_rt_sigqueueinfo, info.si_pid, SIGABRT, (long)&info);
}

static void *watchdog_watch(void *argument)
{
    unsigned seen = __atomic_load_n(&fed, __ATOMIC_RELAXED);
    unsigned missed = 0;
    (void)argument;
    while (!watchdog_rest()) {
        unsigned now = __atomic_load_n(&fed, __ATOMIC_RELAXED);
        missed = now != seen ? 0 : missed + 1;
        seen = now;
        unsigned times = missed / TICKS;
        if (times * TICKS != missed || times == 0)
            continue;
        if (times == __atomic_load_n(&end_after, __ATOMIC_RELAXED))
            watchdog_end_program();
        else if ((times & (times - 1)) == 0) // the first, second, fourth, ... time
            (void)crashhook_report_now("hang: the watchdog has not been fed in time");
    }
    return NULL;
}

static int make_thread(void)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    // The thread must receive none of the program's signals.
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, watchdog_watch, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return error;
}

// renew_after_fork resets the state in a forked child, which has the variables of its
// parent's watchdog but not the thread, and maybe the lock as another thread held it.
static void renew_after_fork(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    pid_t pid = __atomic_load_n(&owner, __ATOMIC_RELAXED);
    if (pid == 0 || pid == sys_getpid())
        return;
    lock = fresh;
    owner = 0;
}

int crashhook_watchdog_start(unsigned timeout_ms)
{
    if (!plan_is_in_force())
        return ECANCELED;
    if (timeout_ms < LEAST_MS)
        return EINVAL;
    renew_after_fork();
    (void)pthread_mutex_lock(&lock);
    int error = owner == sys_getpid() ? EALREADY : 0;
    if (error == 0) {
        tick_ms = timeout_ms / TICKS;
        stopping = 0;
        error = make_thread();
        owner = error == 0 ? sys_getpid() : 0;
    }
    (void)pthread_mutex_unlock(&lock);
    return error;
}

void crashhook_watchdog_stop(void)
{
    renew_after_fork();
    (void)pthread_mutex_lock(&lock);
    if (owner == sys_getpid()) {
        __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
        sys_futex_wake_all(&stopping);
        (void)pthread_join(thread, NULL);
        owner = 0;
    }
    (void)pthread_mutex_unlock(&lock);
}
