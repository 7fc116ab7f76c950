// SPDX-License-Identifier: Apache-2.0
//
// crashhook-agent: holds a crashed process, writes its raw report into the spool, lets
// the process die, and execs `crashhook finish`. It is started by the handler, or by
// `crashhook run` to watch a program from outside (trace.h). It links neither libcurl
// nor libdw: their start-up would be part of every crash. `--to-text RECORD` prints
// what the handler wrote where no agent could be started.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/daemon/daemon.h"
#include "agent/facts/context.h"
#include "agent/live/capture.h"
#include "agent/live/permitted.h"
#include "agent/live/request.h"
#include "agent/raw/finish.h"
#include "agent/raw/raw_report.h"
#include "agent/raw/store.h"
#include "agent/record_text.h"
#include "agent/trace/trace.h"
#include "base/clock.h"
#include "base/system/bounded_write.h"
#include "base/system/log_file.h"
#include "base/system/own_thread.h"
#include "base/system/populate.h"
#include "base/system/process_end.h"
#include "base/system/program_start.h"
#include "report/spool/spool.h"

struct agent {
    struct settings settings;
    struct agent_request request;
    struct capture capture;
    struct context_page context; // of the process
    struct text held;
    struct store store;
    int log_fd;
    bool prepared;
    bool traced;  // the tracer, our parent, holds the process
    bool cut_off; // the crashed program ended before it was read
};

static const char *get_agent_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static void log_agent_line(const struct agent *agent, const char *format, ...)
    CH_PRINTF(2, 3);

// log_agent_line writes a line to the log, with a bound on the wait: a held process
// must not wait for a slow reader.
static void log_agent_line(const struct agent *agent, const char *format, ...)
{
    enum { STALL_MS = 10 };
    char line[1024];
    va_list arguments;
    if (agent->log_fd < 0)
        return;
    int start = snprintf(line, sizeof(line) - 1, "crashhook-agent: ");
    va_start(arguments, format);
    (void)vsnprintf(line + start, sizeof(line) - 1 - (size_t)start, format, arguments);
    va_end(arguments);
    size_t size = strlen(line);
    line[size++] = '\n';
    (void)bounded_write(agent->log_fd, line, size, STALL_MS);
}

// arm_deadline has the kernel kill us should we ever hang: the process's own watchdog
// may not exist by then.
static void arm_deadline(uint64_t timeout_ms)
{
    timer_t timer;
    (void)stall_start_timer(SIGKILL, timeout_ms, 0, &timer);
}

// limit_resources bounds what a process with corrupt or hostile data can make us use,
// beyond what was used before. The free phase sets its own limits.
static void limit_resources(uint64_t timeout_ms)
{
    const uint64_t used_ms = clock_now_ms(CLOCK_PROCESS_CPUTIME_ID);
    const struct {
        int resource;
        rlim_t value;
    } limits[] = {
        { RLIMIT_AS, CRASHHOOK_SANITIZED ? RLIM_INFINITY : (rlim_t)4 << 30 },
        { RLIMIT_CPU, (rlim_t)((used_ms + timeout_ms) / 1000 + 1) },
        { RLIMIT_CORE, 0 },
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit now;
        if (getrlimit(limits[i].resource, &now) != 0)
            continue;
        now.rlim_cur = limits[i].value < now.rlim_max ? limits[i].value : now.rlim_max;
        (void)setrlimit(limits[i].resource, &now);
    }
}

// make_agent_report writes the raw report; false: there is none, and the handler was
// sent the reason.
static bool make_agent_report(struct agent *agent, struct finish *finish)
{
    struct store *store = &agent->store;
    store->capture = &agent->capture;
    store->settings = &agent->settings;
    store->get = get_agent_variable;
    store->time_ms = agent->request.crash.realtime_ns / 1000000;
    if (!finish_is_possible())
        capture_problem(&agent->capture, "symbolize",
                        "there is no command crashhook beside the agent: names are "
                        "missing until it shows or sends the report",
                        0);
    bool written = store_report(store, finish);
    if (store->refused[0] != 0)
        log_agent_line(agent, "cannot write report %s to %s%s%s", finish->id,
                       store->refused, written ? "; it is in " : "",
                       written ? store->path : "");
    if (!written && !agent->traced)
        request_why(REQUEST_CHANNEL_FD, store->why_not);
    return written;
}

// effective_hold resolves auto: capture, or upload where the agent would die with the
// process (as pid 1).
static enum setting_hold effective_hold(const struct agent *agent)
{
    enum setting_hold hold = agent->settings.hold;
    if (hold == HOLD_AUTO)
        hold = agent->request.pid == 1 ? HOLD_UPLOAD : HOLD_CAPTURE;
    return hold;
}

static struct trace_report traced;

// read_agent_context reads what the process recorded of itself. Its handler says where
// that is; a tracer has to find it.
static enum ch_status read_agent_context(struct agent *agent)
{
    struct capture *capture = &agent->capture;
    if (agent->traced && traced.context != NULL) {
        agent->context = *traced.context;
        return context_check(&agent->context);
    }
    return agent->traced
               ? context_find(capture, &agent->context)
               : context_read(&capture->reader, agent->request.crash.context_page,
                              &agent->context);
}

static bool take_capture(struct agent *agent)
{
    struct capture *capture = &agent->capture;
    capture->settings = &agent->settings;
    capture->careful = agent->request.careful;
    capture->bounded = !agent->request.careful;
    capture->crash = agent->request.live ? NULL : &agent->request.crash;
    capture->held = &agent->held;
    if (agent->traced && traced.killed) {
        termination_judge(&traced.termination);
        capture->termination = &traced.termination;
    }
    capture->stop.seized = agent->request.seized;
    capture->watches = agent->request.crash.watches;
    capture->home = agent->settings.sanitize != SETTING_NO ? getenv("HOME") : NULL;
    capture->timings.spawn_us =
        capture_clock_us() - agent->request.crash.monotonic_ns / 1000;
    enum ch_status status = capture_take(capture, agent->request.pid);
    if (status != CH_OK)
        log_agent_line(agent, "cannot stop process %d: %s", agent->request.pid,
                       strerror(errno));
    agent->cut_off = !agent->traced && request_is_cut_off(REQUEST_CHANNEL_FD);
    if (agent->cut_off)
        log_agent_line(agent, "process %d ended while it was read", agent->request.pid);
    if (status == CH_OK && !agent->cut_off && read_agent_context(agent) == CH_OK)
        capture->context = &agent->context;
    return status == CH_OK && !agent->cut_off;
}

// dies_beside_us returns true if we go on while the process dies: one processor is busy
// for long with freeing much memory, and no filter may kill us for choosing another.
static bool dies_beside_us(const struct agent *agent)
{
    enum { MUCH_MB = 64 };
    return agent->request.crash.dies && permitted_all() &&
           agent->capture.process.rss_bytes >> 20 >= MUCH_MB;
}

// make_way sleeps until the process is dead, or about as long as a small one takes to
// die. The process may need this very CPU, which the free phase would keep busy.
static void make_way(pid_t pid)
{
    enum { SMALL_DEATH_MS = 2 };
    (void)process_await_end(pid, SMALL_DEATH_MS);
}

// let_die answers the handler, and waits until the stopped threads are dead and reaped,
// because the parent cannot reap a thread that its tracer has not reaped. Only then are
// the copies of the process put where the free phase finds them: its threads need the
// processors to die. tell_written: the handler does not know of the report yet.
static void let_die(struct agent *agent, struct finish *finish, bool tell_written)
{
    struct capture *capture = &agent->capture;
    bool beside = dies_beside_us(agent);
    if (agent->traced)
        trace_reported();
    else if (!agent->request.crash.dies || agent->cut_off)
        capture_release(capture);
    // On the processor of the thread that dies we would wait until it is dead.
    if (beside)
        own_child_move(0);
    if (!agent->traced)
        request_release(REQUEST_CHANNEL_FD, tell_written);
    if (!agent->traced)
        stop_await_termination(&capture->stop, (unsigned)agent->settings.timeout_ms);
    if (agent->request.crash.dies && !beside)
        make_way(agent->request.pid);
    finish_keep(finish, &agent->held);
}

// take_traced takes over what a tracer holds.
static void take_traced(struct agent *agent)
{
    agent->traced = true;
    agent->request = traced.request;
    agent->capture.stop = traced.stop;
    agent->capture.memory_fd = traced.memory_fd;
}

// run_tracer runs the tracer, and returns for each crash in a process of its own.
static void run_tracer(struct agent *agent, const char *pid)
{
    trace_serve((pid_t)strtol(pid, NULL, 10), REQUEST_CHANNEL_FD, &agent->settings,
                &traced);
    take_traced(agent);
}

// prepare_agent does what can be done before there is a process to work on.
static void prepare_agent(struct agent *agent)
{
    agent->prepared = true;
    limit_resources(agent->settings.timeout_ms);
    // Writing past a file size limit that we could not lift is to fail, not to kill us.
    (void)signal(SIGXFSZ, SIG_IGN);
    // Nor is a line to stop us where a terminal lets only its own group write.
    (void)signal(SIGTTOU, SIG_IGN);
    // The limit of processor time is to end us, also where the program ignored that.
    (void)signal(SIGXCPU, SIG_DFL);
    // Only its owner may read the report, whatever umask was inherited.
    umask(077);
}

// set_up_agent prepares for the work on one process.
static void set_up_agent(struct agent *agent)
{
    agent->log_fd = log_file_open(agent->settings.log);
    arm_deadline(agent->settings.timeout_ms);
    if (!agent->prepared)
        prepare_agent(agent);
}

// is_to_finish returns true if this process becomes the free phase. One that waits for
// further crashes, at the socket again, leaves that to a child, where again is -1; the
// report comes first where no process may be made.
static bool is_to_finish(int *again)
{
    if (*again < 0)
        return true;
    (void)signal(SIGCHLD, SIG_IGN); // so that the kernel reaps it
    if (fork() > 0)
        return false;
    (void)signal(SIGCHLD, SIG_DFL);
    *again = -1;
    return true;
}

// report_process reports the process, lets it die, and becomes the free phase. It
// returns the exit status where it does not become that.
static int report_process(struct agent *agent, int *again)
{
    struct finish finish = { .lock_fd = -1, .held_fd = -1 };
    enum ch_status status =
        agent->traced ? CH_OK : request_receive(REQUEST_CHANNEL_FD, &agent->request);
    if (status != CH_OK) {
        log_agent_line(agent, "cannot take the request: %s", ch_status_name(status));
        return 1;
    }
    bool reported = take_capture(agent) && make_agent_report(agent, &finish);
    stall_end();
    if (agent->traced && !reported)
        trace_unreported(&traced, agent->store.why_not[0] != 0
                                      ? agent->store.why_not
                                      : "the process cannot be read\n");
    if (reported)
        finish_keep_images(&finish, &agent->capture.images);
    finish.keep_stderr = agent->request.keep_stderr;
    bool held = reported && effective_hold(agent) != HOLD_CAPTURE;
    if (held && !agent->traced)
        request_written(REQUEST_CHANNEL_FD);
    if (held) {
        finish_keep(&finish, &agent->held);
        finish_run(&finish);
    }
    let_die(agent, &finish, reported && !held);
    if (!reported)
        return 1;
    if (held || !is_to_finish(again))
        return 0;
    finish_exec(&finish);
    log_agent_line(agent, "cannot run crashhook finish: %s; report %s stays raw",
                   strerror(errno), finish.id);
    return 1;
}

// serve_daemon waits for a crash.
static void serve_daemon(struct agent *agent, int *out_again)
{
    default_signals_restore();
    warm_bytes(agent, sizeof(*agent));
    // One that forks a process for each crash may run for as long as the program.
    if (daemon_serves_itself(&agent->settings))
        prepare_agent(agent);
    if (daemon_serve(REQUEST_CHANNEL_FD, REQUEST_CHANNEL_FD, &agent->settings, &traced,
                     out_again) == DAEMON_KILL)
        take_traced(agent);
}

// populate_stack maps what a small crash takes of the stack.
static void populate_stack(void)
{
    enum { STACK_BYTES = 96 << 10 };
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    populate((void *)(here - STACK_BYTES), STACK_BYTES);
}

// spare_descriptors makes room for the files of a report where the limit on
// descriptors, inherited from the crashed program, leaves none. Nothing reads the
// agent's input, or its output.
static void spare_descriptors(void)
{
    enum { FEW = 16 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FEW)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < FEW) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
    }
}

static int run_agent(int argc, char **argv)
{
    static struct agent agent; // all zero, so that it is in .bss and not in the file
    int again = -1;

    if (argc == 3 && strcmp(argv[1], "--to-text") == 0)
        return record_text_print(argv[2]);
    default_signals_unblock();
    populate_stack();
    standard_files_hold();
    settings_read(&agent.settings, get_agent_variable, NULL, NULL);
    if (argc > 1 && strcmp(argv[1], "--daemon") == 0)
        serve_daemon(&agent, &again);
    if (argc > 2 && strcmp(argv[1], "--trace") == 0)
        run_tracer(&agent, argv[2]);
    if (argc == 1)
        spare_descriptors();
    agent.capture.same_root = argc == 1;
    set_up_agent(&agent);
    int status = report_process(&agent, &again);
    if (again >= 0)
        daemon_again(again);
    return status;
}

int main(int argc, char **argv)
{
    return ample_stack_run(run_agent, argc, argv);
}
