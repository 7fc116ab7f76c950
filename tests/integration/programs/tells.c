// SPDX-License-Identifier: Apache-2.0
//
// tells WAY [HOW [WHAT]]: what a program says of itself through crashhook.h, and then
// crashes or goes on. Tests read what comes of it.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crashhook/crashhook.h"

static volatile int zero;

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(98);
}

// A kind of end. Some are not the end in a callback.
static void end_by(const char *how)
{
    if (strcmp(how, "segv") == 0)
        crashhook_test_crash(CRASHHOOK_TEST_NULL_WRITE);
    if (strcmp(how, "abort") == 0)
        crashhook_test_crash(CRASHHOOK_TEST_ABORT);
    if (strcmp(how, "overflow") == 0)
        crashhook_test_crash(CRASHHOOK_TEST_STACK_OVERFLOW);
    if (strcmp(how, "illegal") == 0)
        crashhook_test_crash(CRASHHOOK_TEST_ILLEGAL_INSTRUCTION);
    if (strcmp(how, "divide") == 0)
        zero = (zero + 100) / zero;
    if (strcmp(how, "hang") == 0) {
        for (;;)
            pause();
    }
}

static void context(const char *how)
{
    char message[32];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(message, sizeof(message), "step %d", i);
        crashhook_breadcrumb(message);
    }
    crashhook_breadcrumb("login with password=hunter2-7731");
    (void)crashhook_set_tag("shard", "7");
    (void)crashhook_set_tag("gone", "x");
    (void)crashhook_set_tag("gone", NULL);
    (void)crashhook_set_tag("shard", "8");
    (void)crashhook_set_user("ann");
    (void)crashhook_set_data("query", "select * from t where token=abc7731secret");
    (void)crashhook_set_data("password", "marigold7731");
    (void)crashhook_set_data("body",
                             "{\"user\":\"bob\", \"password\" : \"tulip7731\"}");
    (void)crashhook_set_data("a \xff", "one"); // these two are one key
    (void)crashhook_set_data("a \xfe", "two");
    (void)crashhook_attach_file(how, 200);
    (void)crashhook_attach_file("/nonexistent/log", 0);
    end_by("segv");
}

// little uses the first slot of each table and gives it up again.
static void little(const char *how)
{
    (void)crashhook_set_tag("gone", "x");
    (void)crashhook_set_tag("shard", "7");
    (void)crashhook_set_tag("gone", NULL);
    (void)crashhook_set_data("gone", "x");
    (void)crashhook_set_data("query", "select");
    (void)crashhook_set_data("gone", NULL);
    crashhook_breadcrumb("only step");
    end_by(how);
}

static bool has_child(void)
{
    int status;
    return waitpid(-1, &status, WNOHANG | __WALL) >= 0;
}

static void on_child(int signal)
{
    (void)signal;
    say("child\n");
}

static void *spin(void *argument)
{
    struct timespec left = { 2, 0 };
    (void)argument;
    // An interrupted sleep would end early.
    if (nanosleep(&left, NULL) != 0)
        say("interrupted\n");
    return NULL;
}

static void report_now(const char *how)
{
    pthread_t thread;
    char line[64];
    int count = (int)strtol(how, NULL, 10);
    int good = 0;
    signal(SIGCHLD, on_child);
    pthread_create(&thread, NULL, spin, NULL);
    for (int i = 0; i < count; i++)
        good += crashhook_report_now("as asked") == 0;
    if (has_child())
        say("has child\n");
    pthread_join(thread, NULL);
    (void)snprintf(line, sizeof(line), "reported %d\n", good);
    say(line);
}

static void hangs(void)
{
    const struct timespec tick = { 0, 20000000 };
    if (crashhook_watchdog_start(2000) != 0)
        say("no watchdog\n");
    for (int i = 0; i < 50; i++) {
        crashhook_watchdog_feed();
        nanosleep(&tick, NULL);
    }
    say("fed\n");
    sleep(6);
    crashhook_watchdog_feed();
    crashhook_watchdog_stop();
    say("went on\n");
}

static const char *callback_ends_by;
static enum crashhook_answer callback_answers;

static enum crashhook_answer before(const struct crashhook_crash *crash, void *argument)
{
    (void)crash;
    say(argument);
    crashhook_breadcrumb("in the callback");
    if (crashhook_report_now(NULL) == 0)
        say("reported from a callback\n");
    end_by(callback_ends_by);
    return callback_answers;
}

static void after(const struct crashhook_crash *crash, void *argument)
{
    (void)argument;
    say(crash->reported ? "after: reported\n" : "after: not reported\n");
    end_by(callback_ends_by);
}

static void last(const struct crashhook_crash *crash, void *argument)
{
    (void)crash;
    (void)argument;
    end_by(callback_ends_by);
}

static void recover(int signal)
{
    (void)signal;
    say("went on\n");
    _exit(3);
}

static void answers(const char *how)
{
    callback_ends_by = "";
    callback_answers = (enum crashhook_answer)strtol(how, NULL, 10);
    crashhook_set_callbacks(before, after, (void *)(uintptr_t) "before\n");
    if (callback_answers == CRASHHOOK_CONTINUE)
        signal(SIGALRM, recover);
    if (callback_answers == CRASHHOOK_CONTINUE)
        alarm(1);
    if (callback_answers == CRASHHOOK_CONTINUE)
        raise(SIGTRAP);
    if (callback_answers == CRASHHOOK_CONTINUE)
        pause();
    end_by("segv");
}

static void secret_near(void)
{
    char words[64] = "password=hunter2-7731 and more";
    __asm__ volatile("" : : "r"(words) : "memory");
    *(volatile char **)(uintptr_t)(unsigned)zero = words;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    const char *how = argc > 2 ? argv[2] : "";
    callback_ends_by = argc > 3 ? argv[3] : "";
    if (strcmp(way, "context") == 0)
        context(how);
    if (strcmp(way, "little") == 0)
        little(how);
    if (strcmp(way, "now") == 0)
        report_now(how);
    if (strcmp(way, "hangs") == 0)
        hangs();
    if (strcmp(way, "answers") == 0)
        answers(how);
    if (strcmp(way, "before") == 0)
        crashhook_set_callbacks(before, NULL, (void *)(uintptr_t) "");
    if (strcmp(way, "after") == 0)
        crashhook_set_callbacks(NULL, last, NULL);
    if (strcmp(way, "secret") == 0)
        secret_near();
    if (strcmp(way, "before") == 0 || strcmp(way, "after") == 0 ||
        strcmp(way, "test") == 0)
        end_by(how);
    return 0;
}
