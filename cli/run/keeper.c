// SPDX-License-Identifier: Apache-2.0
#include "cli/run/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/session/aside.h"
#include "cli/session/crash_records.h"
#include "cli/session/last_words.h"
#include "report/summary/crash_kind.h"

// From this pause on the program is the one that it becomes, and from COPIED_MS on it
// is worth a copy of its record in the spool.
enum { SETTLED_MS = 1000, COPIED_MS = 32, HUNG_MS = 1000 };

void keeper_begin(struct keeper *keeper, const struct session *session, pid_t pid,
                  const char *const *arguments)
{
    *keeper =
        (struct keeper){ .session = session,
                         .arguments = arguments,
                         .pause_ms = keep_pause_ms(0),
                         .live = keeper->live,
                         .death = { .pid = pid,
                                    .keeper = LIFE_BY_RUN,
                                    .started_ns = clock_now_ns(CLOCK_BOOTTIME) } };
    keep_begin(&keeper->keep, pid, LIFE_BY_RUN);
    liveness_see(&keeper->live, pid);
    // It may end before the first look.
    facts_read_process(&keeper->process, pid, pid);
    keeper->next_ms = clock_now_ms(CLOCK_MONOTONIC) + keeper->pause_ms;
}

struct timespec keeper_left(const struct keeper *keeper)
{
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    uint64_t left = keeper->next_ms > now ? keeper->next_ms - now : 0;
    return (struct timespec){ .tv_sec = (time_t)(left / 1000),
                              .tv_nsec = (long)(left % 1000) * 1000000 };
}

// read_ended reads how the program says that it has ended, and returns true while its
// crash is being reported.
static bool read_ended(struct keeper *keeper)
{
    static struct context_page page;
    bool says = liveness_read(&keeper->live, &page);
    enum life_ended how = says ? life_how_ended(&page.life) : 0;
    keeper->cut_off = how == LIFE_CUT_OFF;
    keeper->death.crash_signal =
        how == LIFE_CRASHED ? (int)(page.life.ended / LIFE_SIGNAL) : 0;
    return how == LIFE_CRASHED;
}

bool keeper_find_cut_off(struct keeper *keeper)
{
    enum { RECORD_MS = 1000 };
    const struct timespec pause = { .tv_nsec = 2000000 };
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + RECORD_MS;
    bool crashed = read_ended(keeper);
    // The handler's process, which shares the program's memory, leaves a record within
    // a few milliseconds.
    while (crashed && clock_now_ms(CLOCK_MONOTONIC) < deadline) {
        bool last = liveness_is_left(&keeper->live);
        crashed = read_ended(keeper);
        if (last)
            break;
        (void)nanosleep(&pause, NULL);
    }
    return crashed || keeper->cut_off;
}

// keeper_read_process reads what is known of the program, as long as it may not be the
// one that it becomes.
static void keeper_read_process(struct keeper *keeper)
{
    struct process_facts now;
    if (keeper->pause_ms >= SETTLED_MS && keeper->process.executable.size != 0)
        return;
    facts_read_process(&now, keeper->death.pid, keeper->death.pid);
    // Of one that has ended the kernel knows neither its file nor its arguments.
    struct process_facts *old = now.dead ? &now : &keeper->process;
    facts_deinit_process(old);
    if (!now.dead)
        keeper->process = now;
}

void keeper_look(struct keeper *keeper)
{
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    if (now < keeper->next_ms)
        return;
    keeper_read_process(keeper);
    keep_look(&keeper->keep);
    liveness_see(&keeper->live, keeper->death.pid);
    liveness_write(&keeper->live, &keeper->keep.life);
    liveness_look(&keeper->live, &keeper->session->settings,
                  keeper->session->spool_path, keeper->pause_ms >= COPIED_MS);
    keeper->pause_ms = keep_pause_ms(keeper->pause_ms);
    keeper->next_ms = now + keeper->pause_ms;
}

void keeper_note(struct keeper *keeper, int number, const siginfo_t *info)
{
    if (keep_asked(&keeper->keep, number, info))
        liveness_write(&keeper->live, &keeper->keep.life);
}

void keeper_look_last(struct keeper *keeper, int signal)
{
    keep_end(&keeper->keep, signal);
    liveness_see(&keeper->live, keeper->death.pid);
    if (keeper->process.arguments.size != 0)
        return;
    // The kernel had not laid them out yet when it was looked at.
    for (size_t i = 0; keeper->arguments[i] != NULL; i++)
        text_append(&keeper->process.arguments, keeper->arguments[i],
                    strlen(keeper->arguments[i]) + 1);
}

static uint64_t time_ms(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

// keep_last_words notes how a runtime ended the program. False: it was none, or the
// exit was no failure.
static bool keep_last_words(struct death *death, int status, const struct text *said)
{
    enum { SAID_BYTES = 8 << 10 };
    struct last_words words;
    if (said->size == 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 0)
        return false;
    last_words_find(said->bytes, WEXITSTATUS(status), &words);
    if (words.kind == NULL)
        return false;
    size_t from = said->size > SAID_BYTES ? said->size - SAID_BYTES : 0;
    death->exits = true;
    death->exit_status = WEXITSTATUS(status);
    death->kind = crash_kind_of(words.kind);
    text_append(&death->message, words.text, words.size);
    text_append(&death->said, said->bytes + from, said->size - from);
    return text_ok(&death->message) && text_ok(&death->said);
}

// become_upload becomes `crashhook upload` of this spool, which prints nothing.
static void become_upload(const struct session *session)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
        (void)dup2(null, fd);
    (void)setsid();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)unsetenv("LD_PRELOAD"); // what the program was to load
    (void)setenv("CRASHHOOK_ENABLE", "no", 1);
    (void)execl("/proc/self/exe", "crashhook", "upload", "--spool", session->spool_path,
                (char *)NULL);
}

// send_report has the report sent: a kill has no free phase that would. The first
// process of a container takes all others with it, and waits.
static void send_report(const struct session *session)
{
    if (session->settings.url == NULL)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        become_upload(session);
        _exit(EXIT_FAILURE);
    }
    if (pid > 0 && getppid() == 1)
        (void)waitpid(pid, NULL, 0);
}

void keeper_end(struct keeper *keeper, int status, const struct rusage *used,
                const struct text *said)
{
    struct death *death = &keeper->death;
    struct context_life *life = &keeper->keep.life;
    // Where the crash before has left a record, that is what is reported.
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool killed = !keeper->cut_off &&
                  (death->crash_signal != 0 ||
                   (signal != 0 && (death_is_kill(signal) || keeper->unreported)));
    if (!liveness_stop_copier(&keeper->live, HUNG_MS)) {
        aside_answer(); // nobody need wait any longer
        (void)liveness_stop_copier(&keeper->live, -1);
    }
    liveness_count(&keeper->live, &keeper->session->settings,
                   keeper->session->spool_path);
    if (crash_records_take_words(keeper->session, death->pid,
                                 keeper->process.start_ticks, &keeper->live)) {
        send_report(keeper->session);
    } else if (keep_last_words(death, status, said)) {
        death->realtime_ns = clock_now_ns(CLOCK_REALTIME);
        death->life = *life;
        // It said that it ended, and is reported all the same.
        crash_records_bury(keeper->session, death, &keeper->process, &keeper->live);
        send_report(keeper->session);
    } else if (killed) {
        death->signal = signal;
        death->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        death->realtime_ns = life->end_realtime_ns;
        life->cpu_used_ms = time_ms(&used->ru_utime) + time_ms(&used->ru_stime);
        usage_sample(&keeper->keep.usage, (uint64_t)used->ru_maxrss * 1024, life);
        death->life = *life;
        crash_records_bury(keeper->session, death, &keeper->process, &keeper->live);
        send_report(keeper->session);
    }
    (void)liveness_store(&keeper->live, keeper->session->spool_path, false);
}

void keeper_deinit(struct keeper *keeper)
{
    liveness_deinit(&keeper->live);
    facts_deinit_process(&keeper->process);
}
