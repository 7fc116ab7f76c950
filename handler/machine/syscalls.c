// SPDX-License-Identifier: Apache-2.0
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

long sys_prctl(int option, unsigned long value)
{
    return machine_call(SYS_prctl, option, (long)value, 0, 0, 0);
}

uint64_t sys_clock_ns(clockid_t clock)
{
    struct timespec now = { 0, 0 };
    machine_call2(SYS_clock_gettime, clock, (long)&now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sys_read_number(const char **at)
{
    uint64_t number = 0;
    while (**at == ' ')
        ++*at;
    while (**at >= '0' && **at <= '9')
        number = 10 * number + (uint64_t)(*(*at)++ - '0');
    return number;
}

static struct timespec sys_timespec(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

long sys_futex_wait(uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec timeout = sys_timespec(ns);
    return machine_call4(SYS_futex, (long)word, 0 /* FUTEX_WAIT */, value,
                         (long)&timeout);
}

long sys_poll(struct pollfd *watched, unsigned count, uint64_t ns)
{
    struct timespec timeout = sys_timespec(ns);
    return machine_call(SYS_ppoll, (long)watched, count, (long)&timeout, 0,
                        SYS_SIGSET_BYTES);
}

uint64_t sys_sigmask(uint64_t mask)
{
    uint64_t old = 0;
    machine_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&old,
                  SYS_SIGSET_BYTES);
    return old;
}

long sys_limit(int resource, const struct rlimit *limit, struct rlimit *out_old)
{
    return machine_call4(SYS_prlimit64, 0, resource, (long)limit, (long)out_old);
}

__attribute__((noreturn)) void sys_exit_group(int status)
{
    machine_call1(SYS_exit_group, status);
    for (;;)
        machine_fault(SIGSEGV); // the exit was refused
}

uint64_t sys_pending(void)
{
    uint64_t set = 0;
    machine_call2(SYS_rt_sigpending, (long)&set, SYS_SIGSET_BYTES);
    return set;
}
