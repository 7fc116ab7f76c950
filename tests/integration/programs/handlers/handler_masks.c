// SPDX-License-Identifier: Apache-2.0
//
// handler_masks CASE [full]: what a program sees of the signals that its handler has
// blocked, and what becomes of signals that are sent, or faults that happen, meanwhile.
// full: the handler blocks all signals. Each prints what happens; alone and with a
// crash reporter that must be the same.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name;
static volatile int calls;
static sigjmp_buf out_of_it;

static int is_case(const char *wanted)
{
    return strcmp(name, wanted) == 0;
}

static void say(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void fault_at(unsigned address)
{
    *(volatile int *)(unsigned long)address = 1;
}

static void say_mask(void)
{
    sigset_t now;
    char digit[] = " 00";
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    say("blocked");
    for (int number = 1; number <= 64; number++) {
        digit[1] = (char)('0' + number / 10);
        digit[2] = (char)('0' + number % 10);
        if (sigismember(&now, number) == 1)
            say(digit);
    }
    say("\n");
}

static void change(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    if (sigprocmask(how, &set, NULL) != 0)
        say("failed\n");
}

static void set_mask_and_restore(void)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    say_mask();
    sigprocmask(SIG_SETMASK, &before, NULL);
    say_mask();
}

// recover leaves the handler, so that main goes on.
static void recover(void)
{
    siglongjmp(out_of_it, 1);
}

static void on_ill(int number)
{
    (void)number;
    say("on_ill");
    say_mask();
    if (is_case("nested"))
        fault_at(24); // SIGSEGV is blocked
    recover();
}

static void on_segv(int number)
{
    say(calls++ == 0 ? "first call\n" : "another call\n");
    if (calls > 3)
        _exit(9);
    if (is_case("mask"))
        say_mask();
    if (is_case("set-mask"))
        set_mask_and_restore();
    if (is_case("set-mask-and-fault")) {
        set_mask_and_restore();
        fault_at(8);
    }
    if (is_case("unblock-and-fault")) {
        change(SIG_UNBLOCK, number);
        say_mask();
        if (calls < 3)
            fault_at(8);
    }
    if (is_case("unblock-and-block-and-fault")) {
        change(SIG_UNBLOCK, number);
        change(SIG_BLOCK, number);
        say_mask();
        fault_at(8);
    }
    if (is_case("send") && calls == 1) {
        raise(number);
        kill(getpid(), SIGILL);
        say("sent\n");
    }
    if (is_case("send-and-unblock") && calls == 1) {
        raise(number);
        say("sent\n");
        change(SIG_UNBLOCK, number);
        say("unblocked\n");
    }
    if (is_case("send-default")) {
        signal(number, SIG_DFL);
        raise(number);
        say("sent\n");
        _exit(4);
    }
    if (is_case("nested") || is_case("other"))
        __builtin_trap();
    if (is_case("abort-blocked")) {
        change(SIG_BLOCK, SIGABRT);
        raise(SIGABRT);
        say("sent\n");
        _exit(6);
    }
    recover();
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_segv };
    if (argc != 2 && argc != 3)
        return 2;
    name = argv[1];
    if (argc == 3)
        sigfillset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    action.sa_handler = on_ill;
    sigemptyset(&action.sa_mask);
    if (!is_case("other"))
        sigaction(SIGILL, &action, NULL);
    say_mask();
    // Left without its mask the signal stays blocked, and the second fault is deadly.
    if (sigsetjmp(out_of_it, is_case("keep-blocked") ? 0 : 1) == 0)
        fault_at(is_case("sent-first") ? (raise(SIGSEGV), 24) : 24);
    say("recovered\n");
    if (is_case("keep-blocked"))
        say_mask();
    if (sigsetjmp(out_of_it, 1) == 0)
        fault_at(40);
    say_mask();
    say("ends\n");
    return 0;
}
