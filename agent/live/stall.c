// SPDX-License-Identifier: Apache-2.0
#include "agent/live/stall.h"

#include <signal.h>
#include <stddef.h>

#include "shared/request_page.h"

static timer_t stall_timer;
static struct itimerspec stall_time; // zero: no bound

static struct timespec timespec_of_ms(uint64_t ms)
{
    return (struct timespec){ .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000) * 1000000 };
}

bool stall_start_timer(int signal, uint64_t first_ms, uint64_t every_ms, timer_t *out)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
    const struct itimerspec when = { .it_value = timespec_of_ms(first_ms),
                                     .it_interval = timespec_of_ms(every_ms) };
    return timer_create(CLOCK_MONOTONIC, &event, out) == 0 &&
           timer_settime(*out, 0, &when, NULL) == 0;
}

static void set_back_stall(int signal)
{
    (void)signal;
    (void)timer_settime(stall_timer, 0, &stall_time, NULL);
}

void stall_begin(uint64_t timeout_ms)
{
    enum { SET_BACK_TIMES = 4 };
    uint64_t stall_ms = request_stall_ms(timeout_ms);
    uint64_t every_ms = stall_ms / SET_BACK_TIMES;
    const struct sigaction action = { .sa_handler = set_back_stall,
                                      .sa_flags = SA_RESTART };
    timer_t timer;
    if (every_ms == 0 || sigaction(SIGUSR1, &action, NULL) != 0 ||
        !stall_start_timer(SIGKILL, stall_ms, 0, &stall_timer))
        return;
    stall_time.it_value = timespec_of_ms(stall_ms);
    if (!stall_start_timer(SIGUSR1, every_ms, every_ms, &timer))
        stall_end();
}

void stall_end(void)
{
    if (stall_time.it_value.tv_sec == 0 && stall_time.it_value.tv_nsec == 0)
        return;
    stall_time.it_value = (struct timespec){ 0 };
    set_back_stall(0);
    (void)signal(SIGUSR1, SIG_IGN);
}
