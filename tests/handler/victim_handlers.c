// SPDX-License-Identifier: Apache-2.0
//
// Programs with handlers of their own, put in place before ours (earlier) or after
// (later).
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "handler/victim.h"

static sigjmp_buf back;
static struct sigaction replaced;
static char *guarded;

static void step_over(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    ucontext_t *registers = context;
#if defined(__x86_64__)
    registers->uc_mcontext.gregs[REG_RIP] += 3; // movb $1, (%rax)
#else
    registers->uc_mcontext.pc += 4;
#endif
    victim_say("H");
}

static void jump_back(int signal)
{
    (void)signal;
    victim_say("H");
    siglongjmp(back, 1);
}

static void open_page(int signal)
{
    (void)signal;
    victim_say("H");
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static void only_return(int signal, siginfo_t *info, void *context)
{
    (void)context;
    char text[64];
    snprintf(text, sizeof(text), "H%d:%d:%p\n", signal, info->si_code, info->si_addr);
    victim_say(text);
}

static void reset_and_return(int number)
{
    victim_say("H");
    signal(number, SIG_DFL);
}

static void reset_and_raise(int number)
{
    victim_say("H");
    signal(number, SIG_DFL);
    raise(number);
}

static void abort_in_handler(int signal)
{
    (void)signal;
    victim_say("H");
    abort();
}

static void call_replaced(int signal, siginfo_t *info, void *context)
{
    victim_say("H");
    replaced.sa_sigaction(signal, info, context);
}

static void call_replaced_with_a_number(int signal)
{
    victim_say("H");
    replaced.sa_handler(signal);
}

static void put_replaced_back(int signal)
{
    victim_say("H");
    sigaction(signal, &replaced, NULL);
}

static void handle(int signal, void *handler, int flags)
{
    struct sigaction action = { .sa_flags = flags };
    if ((flags & SA_SIGINFO) != 0)
        action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
    else
        action.sa_handler = (void (*)(int))handler;
    sigaction(signal, &action, &replaced);
}

__attribute__((noinline)) static void three_byte_fault(void)
{
#if defined(__x86_64__)
    __asm__ volatile("xor %%eax, %%eax\n\tmovb $1, (%%rax)" ::: "rax", "memory");
#else
    __asm__ volatile("mov x0, xzr\n\tstr x0, [x0]" ::: "x0", "memory");
#endif
}

static void earlier_steps_over(void)
{
    handle(SIGSEGV, step_over, SA_SIGINFO);
    victim_load_library();
    for (int i = 0; i < 3; i++)
        three_byte_fault();
    abort();
}

static void earlier_jumps(void)
{
    handle(SIGSEGV, jump_back, 0);
    victim_load_library();
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            victim_null_write();
    }
    abort();
}

static void earlier_opens_the_page(void)
{
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, open_page, 0);
    victim_load_library();
    for (int i = 0; i < 3; i++) {
        mprotect(guarded, 4096, PROT_NONE);
        *(volatile char *)guarded = 1;
    }
    abort();
}

static void earlier_returns(void)
{
    handle(SIGSEGV, only_return, SA_SIGINFO);
    victim_load_library();
    victim_wild_write();
}

static void earlier_returns_from_abort(void)
{
    handle(SIGABRT, only_return, SA_SIGINFO);
    victim_load_library();
    abort();
}

static void earlier_resets(void)
{
    handle(SIGSEGV, reset_and_return, 0);
    victim_load_library();
    victim_null_write();
}

static void earlier_raises(void)
{
    handle(SIGSEGV, reset_and_raise, 0);
    victim_load_library();
    victim_null_write();
}

static void earlier_aborts(void)
{
    handle(SIGSEGV, abort_in_handler, 0);
    victim_load_library();
    victim_null_write();
}

static void earlier_ignores(void)
{
    signal(SIGSEGV, SIG_IGN);
    victim_load_library();
    victim_kill_self();
    victim_say("alive\n");
    victim_null_write();
}

static void unloads_ours(void)
{
    void *handle = victim_load_library();
    if (handle == NULL || dlclose(handle) != 0)
        _exit(1);
    victim_null_write();
}

// A read that an ignored signal arrives in goes on as if nothing had come.
static void reads_on_when_an_ignored_signal_comes(void)
{
    char byte;
    int ends[2];
    signal(SIGSEGV, SIG_IGN);
    victim_load_library();
    if (pipe(ends) != 0)
        _exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        usleep(50000);
        kill(getppid(), SIGSEGV);
        usleep(50000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    victim_say(read(ends[0], &byte, 1) == 1 ? "read\n" : "interrupted\n");
}

static void later_calls_ours(void)
{
    victim_load_library();
    handle(SIGSEGV, call_replaced, SA_SIGINFO);
    victim_null_write();
}

static void later_calls_ours_with_a_number(void)
{
    victim_load_library();
    handle(SIGSEGV, call_replaced_with_a_number, 0);
    victim_null_write();
}

static void later_puts_ours_back(void)
{
    victim_load_library();
    handle(SIGSEGV, put_replaced_back, 0);
    victim_null_write();
}

static void later_drops_siginfo(void)
{
    struct sigaction ours;
    victim_load_library();
    sigaction(SIGSEGV, NULL, &ours);
    ours.sa_flags &= ~SA_SIGINFO;
    sigaction(SIGSEGV, &ours, NULL);
    victim_null_write();
}

const struct victim_way victim_handlers[] = {
    { "earlier-steps-over", earlier_steps_over },
    { "earlier-jumps", earlier_jumps },
    { "earlier-opens-the-page", earlier_opens_the_page },
    { "earlier-returns", earlier_returns },
    { "earlier-returns-from-abort", earlier_returns_from_abort },
    { "earlier-resets", earlier_resets },
    { "earlier-raises", earlier_raises },
    { "earlier-aborts", earlier_aborts },
    { "earlier-ignores", earlier_ignores },
    { "unloads-ours", unloads_ours },
    { "reads-on-when-an-ignored-signal-comes", reads_on_when_an_ignored_signal_comes },
    { "later-calls-ours", later_calls_ours },
    { "later-calls-ours-with-a-number", later_calls_ours_with_a_number },
    { "later-puts-ours-back", later_puts_ours_back },
    { "later-drops-siginfo", later_drops_siginfo },
    { NULL, NULL },
};
