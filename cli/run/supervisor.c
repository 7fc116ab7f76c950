// SPDX-License-Identifier: Apache-2.0
#include "cli/run/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/session/aside.h"
#include "cli/session/crash_records.h"
#include "cli/session/exit_words.h"
#include "shared/signals.h"

// From this pause on the program is the one that it becomes, and from COPIED_MS on it
// is worth a copy of its record in the spool.
enum { SETTLED_MS = 1000, COPIED_MS = 32, HUNG_MS = 1000 };

void supervisor_begin(struct supervisor *supervisor, const struct session *session,
                      pid_t pid, const char *const *arguments)
{
    *supervisor = (struct supervisor){ .session = session,
                                       .arguments = arguments,
                                       .pause_ms = keep_pause_ms(0),
                                       .live = supervisor->live,
                                       .termination = { .pid = pid,
                                                        .supervisor = LIVENESS_BY_RUN,
                                                        .started_ns = clock_now_ns(
                                                            CLOCK_BOOTTIME) } };
    keep_begin(&supervisor->keep, pid, LIVENESS_BY_RUN);
    liveness_see(&supervisor->live, pid);
    // It may end before the first look.
    facts_read_process(&supervisor->process, pid, pid);
    supervisor->next_ms = clock_now_ms(CLOCK_MONOTONIC) + supervisor->pause_ms;
}

struct timespec supervisor_left(const struct supervisor *supervisor)
{
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    uint64_t left = supervisor->next_ms > now ? supervisor->next_ms - now : 0;
    return (struct timespec){ .tv_sec = (time_t)(left / 1000),
                              .tv_nsec = (long)(left % 1000) * 1000000 };
}

// read_ended reads how the program says that it has ended, and returns true while its
// crash is being reported.
static bool read_ended(struct supervisor *supervisor)
{
    static struct context_page page;
    bool says = liveness_read(&supervisor->live, &page);
    enum liveness_ended how = says ? liveness_how_ended(&page.liveness) : 0;
    supervisor->cut_off = how == LIVENESS_CUT_OFF;
    supervisor->termination.crash_signal =
        how == LIVENESS_CRASHED ? (int)(page.liveness.ended / LIVENESS_SIGNAL) : 0;
    return how == LIVENESS_CRASHED;
}

bool supervisor_find_cut_off(struct supervisor *supervisor)
{
    enum { RECORD_MS = 1000 };
    const struct timespec pause = { .tv_nsec = 2000000 };
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + RECORD_MS;
    bool crashed = read_ended(supervisor);
    // The handler's process, which shares the program's memory, leaves a record within
    // a few milliseconds.
    while (crashed && clock_now_ms(CLOCK_MONOTONIC) < deadline) {
        bool last = liveness_is_left(&supervisor->live);
        crashed = read_ended(supervisor);
        if (last)
            break;
        (void)nanosleep(&pause, NULL);
    }
    return crashed || supervisor->cut_off;
}

// supervisor_read_process reads what is known of the program, as long as it may not be
// the one that it becomes.
static void supervisor_read_process(struct supervisor *supervisor)
{
    struct process_facts now;
    if (supervisor->pause_ms >= SETTLED_MS && supervisor->process.executable.size != 0)
        return;
    facts_read_process(&now, supervisor->termination.pid, supervisor->termination.pid);
    // Of one that has ended the kernel knows neither its file nor its arguments.
    struct process_facts *old = now.dead ? &now : &supervisor->process;
    facts_deinit_process(old);
    if (!now.dead)
        supervisor->process = now;
}

void supervisor_look(struct supervisor *supervisor)
{
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    if (now < supervisor->next_ms)
        return;
    supervisor_read_process(supervisor);
    keep_look(&supervisor->keep);
    liveness_see(&supervisor->live, supervisor->termination.pid);
    liveness_write(&supervisor->live, &supervisor->keep.liveness);
    liveness_look(&supervisor->live, &supervisor->session->settings,
                  supervisor->session->spool_path, supervisor->pause_ms >= COPIED_MS);
    supervisor->pause_ms = keep_pause_ms(supervisor->pause_ms);
    supervisor->next_ms = now + supervisor->pause_ms;
}

void supervisor_note(struct supervisor *supervisor, int number, const siginfo_t *info)
{
    if (keep_asked(&supervisor->keep, number, info))
        liveness_write(&supervisor->live, &supervisor->keep.liveness);
}

void supervisor_look_last(struct supervisor *supervisor, int signal)
{
    keep_end(&supervisor->keep, signal);
    liveness_see(&supervisor->live, supervisor->termination.pid);
    if (supervisor->process.arguments.size != 0)
        return;
    // The kernel had not laid them out yet when it was looked at.
    for (size_t i = 0; supervisor->arguments[i] != NULL; i++)
        text_append(&supervisor->process.arguments, supervisor->arguments[i],
                    strlen(supervisor->arguments[i]) + 1);
}

static uint64_t time_ms(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

// keep_last_words notes how a runtime ended the program. False: it was none, or the
// exit was no failure.
static bool keep_last_words(struct termination *termination, int status,
                            const struct text *said)
{
    enum { SAID_BYTES = 8 << 10 };
    struct last_words words;
    if (said->size == 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 0)
        return false;
    last_words_find(said->bytes, WEXITSTATUS(status), &words);
    if (words.kind == CRASH_KIND_NONE)
        return false;
    size_t from = said->size > SAID_BYTES ? said->size - SAID_BYTES : 0;
    termination->exits = true;
    termination->exit_status = WEXITSTATUS(status);
    termination->kind = words.kind;
    text_append(&termination->message, words.text, words.size);
    text_append(&termination->said, said->bytes + from, said->size - from);
    return text_ok(&termination->message) && text_ok(&termination->said);
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

void supervisor_end(struct supervisor *supervisor, int status,
                    const struct rusage *used, const struct text *said)
{
    struct termination *termination = &supervisor->termination;
    struct context_liveness *liveness = &supervisor->keep.liveness;
    // Where the crash before has left a record, that is what is reported.
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool handled = signal_in(supervisor->session->settings.signals, signal);
    bool killed = !supervisor->cut_off &&
                  (termination->crash_signal != 0 || supervisor->unreported ||
                   (!handled && termination_is_kill(signal)));
    if (!liveness_stop_copier(&supervisor->live, HUNG_MS)) {
        aside_answer(); // nobody need wait any longer
        (void)liveness_stop_copier(&supervisor->live, -1);
    }
    liveness_count(&supervisor->live, &supervisor->session->settings,
                   supervisor->session->spool_path);
    if (crash_records_take_words(supervisor->session, termination->pid,
                                 supervisor->process.start_ticks, &supervisor->live)) {
        send_report(supervisor->session);
    } else if (keep_last_words(termination, status, said)) {
        termination->realtime_ns = clock_now_ns(CLOCK_REALTIME);
        termination->liveness = *liveness;
        // It said that it ended, and is reported all the same.
        crash_records_killed(supervisor->session, termination, &supervisor->process,
                             &supervisor->live);
        send_report(supervisor->session);
    } else if (killed) {
        termination->signal = signal;
        termination->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        termination->realtime_ns = liveness->end_realtime_ns;
        liveness->cpu_used_ms = time_ms(&used->ru_utime) + time_ms(&used->ru_stime);
        usage_sample(&supervisor->keep.usage, (uint64_t)used->ru_maxrss * 1024,
                     liveness);
        termination->liveness = *liveness;
        crash_records_killed(supervisor->session, termination, &supervisor->process,
                             &supervisor->live);
        send_report(supervisor->session);
    }
    (void)liveness_store(&supervisor->live, supervisor->session->spool_path, false);
}

void supervisor_deinit(struct supervisor *supervisor)
{
    liveness_deinit(&supervisor->live);
    facts_deinit_process(&supervisor->process);
}
