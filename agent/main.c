// SPDX-License-Identifier: Apache-2.0
//
// crashhook-agent: holds a crashed process, writes its raw report into the spool, lets
// the process die, and execs `crashhook finish`. It is started by the handler, or by
// `crashhook run` to watch a program from outside (trace.h). It links neither libcurl
// nor libdw: their start-up would be part of every crash. `--to-text RECORD` prints
// what the handler wrote where no agent could be started.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#include "agent/core/record_capture.h"
#include "agent/daemon/daemon.h"
#include "agent/facts/context.h"
#include "agent/live/capture.h"
#include "agent/live/permitted.h"
#include "agent/live/request.h"
#include "agent/raw/crash_examine.h"
#include "agent/raw/finish.h"
#include "agent/raw/raw_report.h"
#include "agent/raw/raw_threads.h"
#include "agent/raw/store.h"
#include "agent/trace/trace.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/system/bounded_write.h"
#include "base/system/own_thread.h"
#include "base/system/populate.h"
#include "base/system/process_end.h"
#include "base/system/program_start.h"
#include "images/image_frames.h"
#include "report/secrets/sanitize.h"
#include "report/spool/spool.h"
#include "report/summary/crash_summary.h"

// A record as text, for a machine that has the agent and nothing else: what happened,
// and the stack of the thread that crashed, with the names that the symbol tables of
// the files give. `crashhook show` says more, and needs an installation.

enum { SYMBOL_FUNCTION = 2, SYMBOL_NAME_BYTES = 256 };

static const char *record_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// A symbol is the function that contains an address.
struct symbol {
    char name[SYMBOL_NAME_BYTES]; // empty: not known
    uint64_t offset;
};

// search_record_table looks in one symbol table for the function that contains vaddr. A
// function without a size reaches to the next one.
static void search_record_table(const struct elf_view *file, const char *table,
                                uint64_t vaddr, struct symbol *out)
{
    struct elf_section section;
    struct elf_section names;
    struct elf_symbol symbol;
    uint64_t best = 0;
    if (elf_view_find_section(file, table, &section, NULL) != CH_OK ||
        elf_view_section(file, section.link, &names) != CH_OK)
        return;
    struct cursor symbols = elf_section_cursor(file, &section);
    while (elf_next_symbol(file, &symbols, &symbol) == CH_OK) {
        bool inside = symbol.value <= vaddr &&
                      (symbol.size == 0 || vaddr - symbol.value < symbol.size);
        if ((symbol.info & 15) != SYMBOL_FUNCTION || symbol.section == 0 || !inside ||
            symbol.value < best)
            continue;
        struct cursor text = elf_section_cursor(file, &names);
        cursor_seek(&text, symbol.name);
        size_t size = cursor_left(&text);
        const char *name = (const char *)cursor_take(&text, size);
        if (name == NULL || memchr(name, 0, size) == NULL)
            continue;
        (void)snprintf(out->name, sizeof(out->name), "%s", name);
        out->offset = vaddr - symbol.value;
        best = symbol.value;
    }
}

static void find_symbol(struct target_image *image, uint64_t address,
                        struct symbol *out)
{
    struct elf_view file;
    out->name[0] = 0;
    if (image->deleted || image_frames_open(image, &file) != CH_OK)
        return;
    search_record_table(&file, ".symtab", address - image->bias, out);
    if (out->name[0] == 0)
        search_record_table(&file, ".dynsym", address - image->bias, out);
}

struct frames {
    struct capture *capture;
    unsigned count;
};

// print_frame is an unwind_frame_fn.
static bool print_frame(void *context, const struct unwind_frame *frame,
                        const struct unwind_state *state)
{
    struct frames *frames = context;
    uint64_t inside = frame->address - (frame->kind == UNWIND_KIND_RA);
    const struct target_image *found = images_find(&frames->capture->images, inside);
    struct symbol symbol = { 0 };
    (void)state;
    printf("%4u  ", frames->count++);
    if (found == NULL) {
        printf("0x%" PRIx64 "\n", frame->address);
        return frames->count < RAW_FRAMES_MAX;
    }
    size_t index = (size_t)(found - frames->capture->images.images);
    find_symbol(&frames->capture->images.images[index], inside, &symbol);
    if (symbol.name[0] != 0)
        printf("%s+0x%" PRIx64 " in ", symbol.name,
               symbol.offset + (frame->kind == UNWIND_KIND_RA));
    printf("%.*s+0x%" PRIx64 "\n", (int)found->path_size, found->path,
           frame->address - found->base);
    return frames->count < RAW_FRAMES_MAX;
}

static void print_time(uint64_t realtime_ns)
{
    char text[32];
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    if (gmtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) != 0)
        printf("Time     %s\n", text);
}

static void print_summary(struct record_capture *all)
{
    static const struct waits none;
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    struct crash_examination crash = { 0 };
    struct capture *capture = &all->capture;
    crash_examine(capture, &none, &crash);
    crash_summary(&crash.facts, &summary);
    printf("%.*s: %s\n", (int)capture->process.executable.size,
           capture->process.executable.bytes != NULL ? capture->process.executable.bytes
                                                     : "",
           summary.bytes != NULL ? summary.bytes : "");
    if (crash.message[0] != 0)
        printf("Message  %s\n", crash.message);
    printf("Process  %d\n", capture->process.pid);
    print_time(all->crash.realtime_ns);
    printf("Thread   %d \"%s\"\n\n", all->crash.tid, all->record.header.thread_name);
}

static enum ch_status print_stack(struct record_capture *all)
{
    static struct raw_threads threads;
    struct frames frames = { .capture = &all->capture };
    enum ch_status status = raw_threads_init(&threads, &all->capture);
    if (status != CH_OK)
        return status;
    enum unwind_end end = unwind_walk(threads.space, &all->crash.registers,
                                      all->settings.unwind, print_frame, &frames);
    if (end != UNWIND_END_OF_STACK)
        printf("      the stack cannot be followed further (%s)\n",
               unwind_end_name(end));
    raw_threads_deinit(&threads);
    return CH_OK;
}

static enum ch_status print_record(int fd)
{
    static struct record_capture all;
    struct settings settings;
    settings_read(&settings, record_variable, NULL, NULL);
    enum ch_status status = record_capture_open(&all, fd, &settings);
    if (status != CH_OK)
        return status;
    if (record_capture_is_liveness(&all)) {
        printf("process %d was still running when this was written\n",
               all.capture.process.pid);
    } else {
        print_summary(&all);
        status = print_stack(&all);
    }
    record_capture_close(&all);
    return status;
}

// record_text_print prints the record at path to standard output. It returns the exit
// status: 1 with a line on standard error where the file cannot be read as a record.
static int record_text_print(const char *path)
{
    char first = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)fprintf(stderr, "crashhook-agent: cannot open '%s': %s\n", path,
                      strerror(errno));
        return 1;
    }
    enum ch_status status = print_record(fd);
    bool is_report = status != CH_OK && pread(fd, &first, 1, 0) == 1 && first == '{';
    (void)close(fd);
    if (status == CH_OK)
        return fflush(stdout) == 0 ? 0 : 1;
    if (is_report)
        (void)fprintf(stderr,
                      "crashhook-agent: '%s' is a report and not a record; use "
                      "`crashhook show`\n",
                      path);
    else
        (void)fprintf(stderr, "crashhook-agent: cannot read the record '%s': %s\n",
                      path, ch_status_name(status));
    return 1;
}

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
    enum { HELD_BYTES = 128 << 10 }; // so much is not copied when it grows
    struct capture *capture = &agent->capture;
    (void)array_grow(&agent->held.bytes, &agent->held.capacity, HELD_BYTES, 1);
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

// let_die answers the handler, and waits until the stopped threads are dead and reaped,
// because the parent cannot reap a thread that its tracer has not reaped. Only then are
// the copies of the process put where the free phase finds them: its threads need the
// processors to die. tell_written: the handler does not know of the report yet.
static void let_die(struct agent *agent, struct finish *finish, bool tell_written)
{
    enum { SMALL_DEATH_MS = 2 };
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
        // It may need this very CPU, which the free phase would keep busy: sleep until
        // it is dead, or about as long as a small process takes to die.
        (void)process_await_end(agent->request.pid, SMALL_DEATH_MS);
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
    // The kernel kills us should we ever hang: the watchdog of the process itself may
    // not exist by then.
    timer_t timer;
    (void)stall_start_timer(SIGKILL, agent->settings.timeout_ms, 0, &timer);
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
    finish.asks = reported && agent->settings.interactive == SETTING_YES &&
                  !agent->request.live && finish_may_ask(agent->request.pid);
    bool held = reported && (finish.asks || effective_hold(agent) != HOLD_CAPTURE);
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
    enum { STACK_BYTES = 40 << 10 };
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
    sanitize_hide_people(agent.settings.pii == SETTING_NO);
    if (argc > 1 && strcmp(argv[1], "--daemon") == 0)
        serve_daemon(&agent, &again);
    if (argc > 2 && strcmp(argv[1], "--trace") == 0) {
        // The tracer returns for each crash in a process of its own.
        trace_serve((pid_t)strtol(argv[2], NULL, 10), REQUEST_CHANNEL_FD,
                    &agent.settings, &traced);
        take_traced(&agent);
    }
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
