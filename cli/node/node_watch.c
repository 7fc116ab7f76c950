// SPDX-License-Identifier: Apache-2.0
//
// Adds the terminations to the ledger of which no core reaches the node agent. The
// kernel's process connector (cn_proc) reports each process that ends by a signal. Who
// killed one is known from elsewhere, and is read before the termination is judged,
// because it was said before the process died:
// - the kernel's log names the victims of the out-of-memory killer and of seccomp, and
//   says why a core was not passed on;
// - a tracing instance of our own has each SIGKILL with its sender (signal_generate).
//
// A termination by a signal that dumps core waits for three times --deadline: in that
// time the agent adds its own line. If it has not, the kernel passed on no core.
//
// The events of all threads of a process are one termination: the first one may have
// ended before. It counts when all have ended, since seccomp also kills single threads.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/process_end.h"
#include "base/system/rights.h"
#include "cli/node/node.h"
#include "images/read_file.h"
#include "report/file/report_tree.h"
#include "shared/signals.h"

#define TRACE_FOLDER "/sys/kernel/tracing/instances"
#define TRACE_NAME "crashhook-"
enum {
    CAUSES = 256,
    WAITING = 1024,
    RECORD_BYTES = 8192,
    CAUSE_SIZE = 320,
    USAGE_SIZE = 96,
    NAME = 16,
    SECCOMP_DEAD = 3, // the kernel's own mode for a thread that it has killed
};

// A cause is what killed a process, or why the kernel passed on no core of it.
struct cause {
    pid_t victim;
    char text[CAUSE_SIZE];
};

// An unreported termination is one that the agent may still report, or a kill.
struct unreported {
    pid_t pid;
    uid_t uid;
    int signal;
    uint64_t since_ms;
    uint64_t realtime_ms;
    char name[NAME];
    char cause[CAUSE_SIZE]; // empty: not known
    int seccomp;            // its mode in /proc/PID/status
};

struct node_watch {
    struct node *node;
    int events;               // the connector's socket
    int log;                  // /dev/kmsg; negative: it cannot be read
    int trace;                // the instance's trace_pipe; negative: there is none
    char usage[USAGE_SIZE];   // of the cgroup that was out of memory last
    char piece[RECORD_BYTES]; // of the trace; it begins with what is left of a line
    size_t piece_size;
    struct cause causes[CAUSES]; // the latest, as a ring
    size_t cause_count;
    struct unreported waiting[WAITING]; // each of another process
    size_t waiting_count;
};

static void add_cause(struct node_watch *watch, pid_t victim, const char *text)
{
    struct cause *cause = &watch->causes[watch->cause_count++ % CAUSES];
    cause->victim = victim;
    (void)snprintf(cause->text, sizeof(cause->text), "%.*s", (int)strcspn(text, "\n"),
                   text);
}

// take_cause copies the last cause of the process's termination. Numbers come again, so
// it is used once.
static void take_cause(struct node_watch *watch, struct unreported *of)
{
    for (size_t i = 0; i < CAUSES && i < watch->cause_count; i++) {
        struct cause *cause = &watch->causes[(watch->cause_count - 1 - i) % CAUSES];
        if (cause->victim != of->pid)
            continue;
        memcpy(of->cause, cause->text, sizeof(of->cause));
        cause->victim = 0;
        return;
    }
}

// log_number_after reads the number after a word of the message; 0: it has no such
// word.
static pid_t log_number_after(const char *message, const char *word)
{
    const char *at = strstr(message, word);
    return at != NULL ? (pid_t)strtol(at + strlen(word), NULL, 10) : 0;
}

// take_log_message takes what the kernel says of the end of a process. It also has the
// names of programs, whose 15 characters are too few for one of these messages.
static void take_log_message(struct node_watch *watch, const char *message)
{
    static const char usage[] = "memory: usage ";
    static const char dump[] = "coredump: "; // "Pid " and "Process " before Linux 6.9
    char text[CAUSE_SIZE];
    pid_t killed = log_number_after(message, "Killed process ");
    if (strncmp(message, usage, strlen(usage)) == 0) {
        (void)snprintf(watch->usage, sizeof(watch->usage), "%.*s",
                       (int)strcspn(message, "\n"), message);
    } else if (killed != 0) {
        const char *of = strncmp(message, "Memory cgroup", 13) == 0 ? watch->usage : "";
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)strcspn(message, "\n"),
                       message, *of != 0 ? "; " : "", of);
        add_cause(watch, killed, text);
        watch->usage[0] = 0;
    } else if (strstr(message, "type=1326 ") != NULL) { // of the audit system: seccomp
        (void)snprintf(text, sizeof(text), "seccomp killed it for system call %d",
                       log_number_after(message, " syscall="));
        add_cause(watch, log_number_after(message, " pid="), text);
    } else if (strncmp(message, dump, strlen(dump)) == 0) {
        const char *why = strstr(message, "): ");
        if (why != NULL)
            add_cause(watch, log_number_after(message, dump), why + strlen("): "));
    } else if (strstr(message, "RLIMIT_CORE set to 1") != NULL) {
        add_cause(watch, log_number_after(message, "rocess "), message);
    } else if (strstr(message, " over core_pipe_limit") != NULL) {
        add_cause(watch, log_number_after(message, "Pid "), message);
    }
}

// read_kernel_log takes what the kernel has logged since the last call: a record for
// each read.
static void read_kernel_log(struct node_watch *watch)
{
    char record[RECORD_BYTES];
    ssize_t size;
    while ((size = read(watch->log, record, sizeof(record) - 1)) > 0 ||
           (size < 0 && errno == EPIPE)) {
        record[size > 0 ? size : 0] = 0;
        const char *message = strchr(record, ';');
        // The facility of the kernel is 0: others can write to its log.
        if (message != NULL && strtoul(record, NULL, 10) < 8)
            take_log_message(watch, message + 1);
    }
}

// take_trace_line reads "  NAME-PID  [CPU] FLAGS TIME: signal_generate: sig=9 errno=0
// code=0 comm=VICTIM pid=PID grp=1 res=0". Both names may have any characters.
static void take_trace_line(struct node_watch *watch, char *line)
{
    char text[CAUSE_SIZE];
    char *event = strstr(line, ": signal_generate: ");
    char *victim = NULL;
    for (char *at = event; at != NULL && (at = strstr(at, " pid=")) != NULL; at++)
        victim = at;
    char *processor = event != NULL ? strstr(line, " [") : NULL;
    if (victim == NULL || processor == NULL || processor > event)
        return;
    *processor = 0;
    char *name = line + strspn(line, " ");
    char *number = strrchr(name, '-');
    if (number == NULL)
        return;
    *number = 0;
    if (strstr(event, " code=128 ") != NULL) // SI_KERNEL
        (void)snprintf(text, sizeof(text), "the kernel sent it SIGKILL");
    else
        (void)snprintf(text, sizeof(text), "process %ld (%.15s) sent it SIGKILL",
                       strtol(number + 1, NULL, 10), name);
    add_cause(watch, (pid_t)strtol(victim + strlen(" pid="), NULL, 10), text);
}

// read_kill_trace takes the lines that are whole: a read may end inside of one.
static void read_kill_trace(struct node_watch *watch)
{
    const size_t most = sizeof(watch->piece) - 1;
    ssize_t size;
    while (watch->piece_size < most &&
           (size = read(watch->trace, watch->piece + watch->piece_size,
                        most - watch->piece_size)) > 0) {
        char *line = watch->piece;
        watch->piece[watch->piece_size + (size_t)size] = 0;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            take_trace_line(watch, line);
        }
        watch->piece_size = strlen(line);
        if (watch->piece_size == most)
            watch->piece_size = 0; // the kernel writes no such line
        memmove(watch->piece, line, watch->piece_size);
    }
}

static bool write_trace_file(const char *folder, const char *name, const char *value)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return file_put(path, 0, value, strlen(value));
}

// remove_old_traces removes instances that others left: one in use is busy.
static void remove_old_traces(void)
{
    DIR *folder = opendir(TRACE_FOLDER);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, TRACE_NAME, strlen(TRACE_NAME)) == 0)
            (void)unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

// open_trace has the kernel note the senders of SIGKILL.
static int open_trace(char folder[static PATH_MAX])
{
    char path[PATH_MAX + 16];
    remove_old_traces();
    (void)snprintf(folder, PATH_MAX, TRACE_FOLDER "/" TRACE_NAME "%d", getpid());
    (void)snprintf(path, sizeof(path), "%s/trace_pipe", folder);
    if (mkdir(folder, 0700) != 0 || !write_trace_file(folder, "buffer_size_kb", "64") ||
        !write_trace_file(folder, "events/signal/signal_generate/filter", "sig==9") ||
        !write_trace_file(folder, "events/signal/signal_generate/enable", "1"))
        return -1;
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

// A message of the connector is a struct nlmsghdr, a struct cn_msg and its content.
enum {
    CONNECTOR_AT = sizeof(struct nlmsghdr),
    CONTENT_AT = CONNECTOR_AT + sizeof(struct cn_msg),
    EVENT_BYTES = CONTENT_AT + sizeof(struct proc_event),
};

// open_events subscribes to ends by a signal; a filter in the kernel drops all else.
static int open_events(void)
{
    enum {
        BUFFER_BYTES = 4 << 20,
        WHAT = CONTENT_AT + offsetof(struct proc_event, what),
        SIGNAL = CONTENT_AT + offsetof(struct proc_event, event_data.exit.exit_code),
    };
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_EXIT), 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SIGNAL), // the lowest byte comes first
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7f, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };
    const struct sockaddr_nl address = { .nl_family = AF_NETLINK,
                                         .nl_groups = CN_IDX_PROC };
    const enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
    const struct nlmsghdr head = { .nlmsg_len = CONTENT_AT + sizeof(operation),
                                   .nlmsg_type = NLMSG_DONE };
    const struct cn_msg connector = { .id = { CN_IDX_PROC, CN_VAL_PROC },
                                      .len = sizeof(operation) };
    uint8_t listen[CONTENT_AT + sizeof(operation)];
    memcpy(listen, &head, sizeof(head));
    memcpy(listen + CONNECTOR_AT, &connector, sizeof(connector));
    memcpy(listen + CONTENT_AT, &operation, sizeof(operation));
    const int size = BUFFER_BYTES;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_CONNECTOR);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0 &&
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(fd, listen, sizeof(listen), 0) == (ssize_t)sizeof(listen))
        return fd;
    file_close(&fd);
    return -1;
}

static void add_unreported(struct node_watch *watch, const struct unreported *of,
                           const char *why, const char *fix)
{
    struct node_entry entry = { .pid = of->pid,
                                .uid = of->uid,
                                .signal = of->signal,
                                .program = of->name,
                                .why = why,
                                .fix = fix };
    entry.rejected = node_rates_take(&watch->node->rates, of->uid, of->name);
    if ((entry.rejected & (entry.rejected - 1)) == 0)
        node_ledger_add(&watch->node->session.spool, &entry);
}

static void add_kill(struct node_watch *watch, const struct unreported *of)
{
    if (of->cause[0] != 0)
        add_unreported(
            watch, of, of->cause,
            "crashhook run -- PROGRAM # reports a killed program, and its memory");
    else if (of->seccomp == SECCOMP_MODE_STRICT || of->seccomp == SECCOMP_DEAD)
        add_unreported(watch, of,
                       "seccomp killed it: its strict mode allows read, write, _exit "
                       "and sigreturn alone",
                       NULL);
    else if (watch->trace >= 0)
        add_unreported(watch, of, "killed, by nobody that the kernel named", NULL);
    else
        add_unreported(watch, of, "killed, by whom is not known",
                       "mount -t tracefs tracefs /sys/kernel/tracing # and restart");
}

// add_coreless adds a termination by a signal that dumps core, of which none came.
static void add_coreless(struct node_watch *watch, const struct unreported *of)
{
    if (!node_is_installed(watch->node->root))
        add_unreported(watch, of, "the kernel does not pass cores to the node agent",
                       "crashhook node install");
    else if (strstr(of->cause, "core_pipe_limit") != NULL)
        add_unreported(watch, of, of->cause,
                       "crashhook node install --socket FILE # Linux 6.17, or raise "
                       "kernel.core_pipe_limit");
    else if (strstr(of->cause, "RLIMIT_CORE") != NULL)
        add_unreported(watch, of, of->cause,
                       "ulimit -c 0 # the value 1 means: to no program either");
    else if (of->cause[0] != 0)
        add_unreported(watch, of, of->cause, NULL);
    else
        add_unreported(watch, of, "it dumped no core: it may not be dumped",
                       "crashhook node install --suid # if it changed its user");
}

enum { EARLIER_MS = 1000 }; // the line may be that much older than the termination

// was_reported returns true if the agent has added a line about it to the ledger.
static bool was_reported(const json_t *all, const struct unreported *of)
{
    for (size_t i = json_array_size(all); i-- > 0;) {
        const json_t *entry = json_array_get(all, i);
        if (report_integer(entry, "time", 0) + EARLIER_MS < (int64_t)of->realtime_ms)
            break;
        if (report_integer(entry, "pid", 0) == of->pid)
            return true;
    }
    return false;
}

static bool end_is_whole(pid_t pid)
{
    return (kill(pid, 0) != 0 && errno == ESRCH) || process_await_end(pid, 0);
}

static void end_waiting(struct node_watch *watch, bool all)
{
    enum { KILL_MS = 100 }; // the other threads end meanwhile
    const uint64_t now_ms = clock_now_ms(CLOCK_MONOTONIC);
    json_auto_t *ledger = NULL; // read once for all
    size_t kept = 0;
    for (size_t i = 0; i < watch->waiting_count; i++) {
        const struct unreported *of = &watch->waiting[i];
        const bool is_kill = of->signal == SIGKILL;
        const uint64_t waited_ms = now_ms - of->since_ms;
        const bool over = all || waited_ms > 3 * (uint64_t)watch->node->hold_ms ||
                          (is_kill && waited_ms > KILL_MS && end_is_whole(of->pid));
        if (over && ledger == NULL && !is_kill)
            ledger = node_ledger_read(&watch->node->session.spool,
                                      of->realtime_ms - EARLIER_MS);
        if (!over)
            watch->waiting[kept++] = *of;
        else if (!end_is_whole(of->pid))
            continue; // it goes on without that thread
        else if (is_kill)
            add_kill(watch, of);
        else if (!was_reported(ledger, of))
            add_coreless(watch, of);
    }
    watch->waiting_count = kept;
}

// take_end looks at the process first: it is gone once its parent has waited for it.
static void take_end(struct node_watch *watch, const struct exit_proc_event *end)
{
    const pid_t pid = end->process_tgid;
    const int signal = (int)(end->exit_code & 0x7f);
    if (signal != SIGKILL && !signal_in(SIGNALS_CRASH, signal))
        return; // TERM and the like: it was asked to end
    for (size_t i = 0; i < watch->waiting_count; i++) {
        if (watch->waiting[i].pid == pid)
            return;
    }
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    struct rights rights;
    rights_read(pid, &rights);
    struct unreported ended = { .pid = pid,
                                .uid = rights.real_user,
                                .signal = signal,
                                .since_ms = clock_now_ms(CLOCK_MONOTONIC),
                                .realtime_ms = clock_now_ms(CLOCK_REALTIME),
                                .name = "?" };
    if (read_process_file(pid, "comm", NAME, &name) == CH_OK && name.size > 1)
        (void)snprintf(ended.name, sizeof(ended.name), "%.*s",
                       (int)strcspn(name.bytes, "\n"), name.bytes);
    if (read_process_file(pid, "status", RECORD_BYTES, &status) == CH_OK)
        ended.seccomp = log_number_after(status.bytes, "\nSeccomp:\t");
    read_kill_trace(watch);
    read_kernel_log(watch); // says more of the same kill: it is found first
    take_cause(watch, &ended);
    if (watch->waiting_count == WAITING)
        end_waiting(watch, true);
    watch->waiting[watch->waiting_count++] = ended;
}

// next_end takes the next report of a process that ended. False: there is none yet.
static bool next_end(const struct node_watch *watch, struct exit_proc_event *out)
{
    uint8_t message[EVENT_BYTES];
    ssize_t size;
    // ENOBUFS: some were lost, and the next ones come.
    while ((size = recv(watch->events, message, sizeof(message), 0)) > 0 ||
           (size < 0 && errno == ENOBUFS)) {
        struct nlmsghdr head;
        struct proc_event event;
        if (size != (ssize_t)sizeof(message))
            continue;
        memcpy(&head, message, sizeof(head));
        memcpy(&event, message + CONTENT_AT, sizeof(event));
        *out = event.event_data.exit;
        if (head.nlmsg_pid == 0)
            return true; // from the kernel
    }
    return false;
}

static void read_events(struct node_watch *watch)
{
    struct exit_proc_event end;
    while (next_end(watch, &end))
        take_end(watch, &end);
}

// sees_ends returns true if the end of a child of ours is reported, by its number: in
// a container the kernel takes the subscription, and reports nothing, or other numbers.
static bool sees_ends(const struct node_watch *watch)
{
    enum { WAIT_MS = 2000, STEP_MS = 100 };
    struct exit_proc_event end;
    pid_t child = fork();
    if (child == 0) {
        (void)raise(SIGKILL);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
    for (int waited_ms = 0; waited_ms < WAIT_MS; waited_ms += STEP_MS) {
        struct pollfd ready = { .fd = watch->events, .events = POLLIN };
        (void)poll(&ready, 1, STEP_MS);
        while (next_end(watch, &end)) {
            if (end.process_pid == child)
                return true;
        }
    }
    return false;
}

static volatile sig_atomic_t is_ending;

static void request_end(int signal)
{
    is_ending = signal;
}

int node_watch(struct node *node)
{
    enum { TICK_MS = 500 };
    static struct node_watch watch;
    char trace[PATH_MAX];
    const struct sigaction action = { .sa_handler = request_end };
    watch.node = node;
    watch.events = open_events();
    if (watch.events < 0)
        return command_fail("node: the kernel reports no ends of processes: %s",
                            strerror(errno));
    if (!sees_ends(&watch))
        return command_fail("node: the kernel reports no ends of processes to this "
                            "container");
    watch.log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    (void)lseek(watch.log, 0, SEEK_END);
    watch.trace = open_trace(trace);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    node_tell_systemd("READY=1");
    while (is_ending == 0) {
        struct pollfd ready = { .fd = watch.events, .events = POLLIN };
        if (poll(&ready, 1, TICK_MS) == 1)
            read_events(&watch);
        end_waiting(&watch, false);
    }
    end_waiting(&watch, true);
    file_close(&watch.trace);
    (void)rmdir(trace);
    return COMMAND_DONE;
}
