// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/surroundings.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/facts/raw_write.h"
#include "images/read_file.h"
#include "report/summary/signal_name.h"

enum { SMALL_FILE_BYTES = 4096, ADDRESS_TEXT_BYTES = 160 };

static const char *tcp_state_name(int state)
{
    // In the order of the kernel's numbers, from 1 on (tcp(7), TCP_INFO).
    static const char *const names[] = { NULL,        "established", "syn-sent",
                                         "syn-recv",  "fin-wait-1",  "fin-wait-2",
                                         "time-wait", "close",       "close-wait",
                                         "last-ack",  "listen",      "closing" };
    return state > 0 && (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state]
                                                                         : NULL;
}

// append_internet appends an address and port; unspecified ones as they are.
static void append_internet(const struct sockaddr_storage *address, char *out,
                            size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        (void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        (void)snprintf(out, size, "%s:%u", host, (unsigned)ntohs(v4->sin_port));
    } else {
        const struct sockaddr_in6 *v6 = (const void *)address;
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        (void)snprintf(out, size, "[%s]:%u", host, (unsigned)ntohs(v6->sin6_port));
    }
}

// write_socket_address writes one end of a socket, unless it has none.
static void write_socket_address(struct json_writer *w, const struct capture *capture,
                                 const char *key, const struct sockaddr_storage *from,
                                 socklen_t size)
{
    char text[ADDRESS_TEXT_BYTES];
    const struct sockaddr_un *local = (const void *)from;
    size_t name = offsetof(struct sockaddr_un, sun_path);
    if (from->ss_family == AF_INET || from->ss_family == AF_INET6) {
        append_internet(from, text, sizeof(text));
        raw_write_string(w, key, text);
    } else if (from->ss_family == AF_UNIX && size > name && size <= sizeof(*local)) {
        // A name that begins with NUL is an abstract one.
        (void)snprintf(text, sizeof(text), "%s%.*s", local->sun_path[0] == 0 ? "@" : "",
                       (int)(size - name - (local->sun_path[0] == 0)),
                       local->sun_path + (local->sun_path[0] == 0));
        raw_write_words(w, capture, key, text);
    }
}

// write_socket writes what the duplicate of a socket tells.
static void write_socket(struct json_writer *w, const struct capture *capture,
                         int socket_fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t size = sizeof(address);
    int type = 0;
    socklen_t type_size = sizeof(type);
    if (getsockname(socket_fd, (struct sockaddr *)&address, &size) != 0)
        return;
    (void)getsockopt(socket_fd, SOL_SOCKET, SO_TYPE, &type, &type_size);
    bool internet = address.ss_family == AF_INET || address.ss_family == AF_INET6;
    bool tcp = internet && type == SOCK_STREAM;
    raw_write_string(w, "protocol",
                     tcp                               ? "tcp"
                     : internet && type == SOCK_DGRAM  ? "udp"
                     : address.ss_family == AF_UNIX    ? "unix"
                     : address.ss_family == AF_NETLINK ? "netlink"
                                                       : "other");
    write_socket_address(w, capture, "local", &address, size);
    struct sockaddr_storage peer = { 0 };
    size = sizeof(peer);
    if (getpeername(socket_fd, (struct sockaddr *)&peer, &size) == 0)
        write_socket_address(w, capture, "peer", &peer, size);
    struct ucred other;
    size = sizeof(other);
    if (address.ss_family == AF_UNIX &&
        getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
        other.pid > 0)
        raw_write_count(w, "peer_pid", (uint64_t)other.pid);
    struct tcp_info info;
    size = sizeof(info);
    if (tcp && getsockopt(socket_fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
        raw_write_string(w, "state", tcp_state_name(info.tcpi_state));
}

// write_position writes where a file is read or written next, and how it was opened.
static void write_position(struct json_writer *w, pid_t pid, int number)
{
    struct text CH_CLEANUP(text_deinit) info = { 0 };
    char name[32];
    (void)snprintf(name, sizeof(name), "fdinfo/%d", number);
    if (read_process_file(pid, name, SMALL_FILE_BYTES, &info) != CH_OK ||
        info.size == 0)
        return;
    const char *position = strstr(info.bytes, "pos:");
    const char *flags = strstr(info.bytes, "flags:");
    if (position != NULL)
        raw_write_count(w, "position", strtoull(position + 4, NULL, 10));
    if (flags != NULL) {
        unsigned long opened = strtoul(flags + 6, NULL, 8);
        raw_write_string(w, "access",
                         (opened & O_ACCMODE) == O_RDONLY   ? "read"
                         : (opened & O_ACCMODE) == O_WRONLY ? "write"
                                                            : "both");
    }
}

// A descriptors is the reading of a process's descriptors.
struct descriptors {
    const struct capture *capture;
    pid_t pid;
    int folder;  // /proc/PID/fd
    int process; // a pidfd; negative: it was not needed yet, or cannot be had
    bool asked;  // for the pidfd
    size_t count;
    size_t positions;
};

static bool is_file_of_disk(const char *target)
{
    return target[0] == '/' && strncmp(target, "/dev/", 5) != 0 &&
           strncmp(target, "/proc/", 6) != 0;
}

// copy_socket duplicates a socket of the process; negative: it cannot be had.
static int copy_socket(struct descriptors *d, int number)
{
    // A filter that answers calls with signals would end us.
    if (!d->asked && permitted_all())
        d->process = (int)syscall(SYS_pidfd_open, d->pid, 0);
    d->asked = true;
    return d->process >= 0 ? (int)syscall(SYS_pidfd_getfd, d->process, number, 0) : -1;
}

static void write_descriptor(struct json_writer *w, struct descriptors *d,
                             const char *digits)
{
    char target[PATH_MAX];
    int number = (int)strtol(digits, NULL, 10);
    ssize_t size = readlinkat(d->folder, digits, target, sizeof(target) - 1);
    if (size < 0)
        return;
    target[size] = 0;
    json_write_object(w);
    json_write_key(w, "number");
    json_write_int(w, number);
    int copy = strncmp(target, "socket:", 7) == 0 ? copy_socket(d, number) : -1;
    if (copy >= 0) {
        raw_write_string(w, "target", "socket");
        write_socket(w, d->capture, copy);
        close(copy);
    } else if (is_file_of_disk(target)) {
        raw_write_words(w, d->capture, "target", target);
        if (d->positions++ < SURROUNDINGS_POSITIONS)
            write_position(w, d->pid, number);
    } else {
        raw_write_string(w, "target", target);
    }
    json_write_end(w, '}');
}

static void write_descriptors(struct json_writer *w, const struct capture *capture)
{
    struct descriptors d = { .capture = capture,
                             .pid = capture->process.pid,
                             .process = -1 };
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", d.pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    d.folder = dirfd(folder);
    struct stat counted; // since Linux 6.2 its size is their number
    bool known = fstat(d.folder, &counted) == 0 && counted.st_size > 0;
    const size_t most = known ? SURROUNDINGS_DESCRIPTORS : SURROUNDINGS_COUNTED;
    json_write_key(w, "descriptors");
    json_write_array(w);
    for (const struct dirent *entry;
         d.count < most && (entry = readdir(folder)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (d.count++ < SURROUNDINGS_DESCRIPTORS)
            write_descriptor(w, &d, entry->d_name);
    }
    json_write_end(w, ']');
    if (known || d.count < most)
        raw_write_count(w, "descriptor_count",
                        known ? (uint64_t)counted.st_size : d.count);
    if (d.process >= 0)
        close(d.process);
    closedir(folder);
}

static void write_limit(struct json_writer *w, const char *key, rlim_t value)
{
    if (value != RLIM_INFINITY)
        raw_write_count(w, key, value);
}

// write_limits writes the limits that are set; those of both kinds that are not are
// left out.
static void write_limits(struct json_writer *w, pid_t pid)
{
    static const struct {
        int resource;
        const char *name;
        const char *title;
    } limits[] = {
        { RLIMIT_AS, "address_space_bytes", "Max address space" },
        { RLIMIT_CORE, "core_bytes", "Max core file size" },
        { RLIMIT_CPU, "cpu_s", "Max cpu time" },
        { RLIMIT_DATA, "data_bytes", "Max data size" },
        { RLIMIT_FSIZE, "file_bytes", "Max file size" },
        { RLIMIT_NOFILE, "descriptors", "Max open files" },
        { RLIMIT_NPROC, "processes", "Max processes" },
        { RLIMIT_STACK, "stack_bytes", "Max stack size" },
    };
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    json_write_key(w, "limits");
    json_write_object(w);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit limit;
        if (!facts_read_limit(pid, limits[i].resource, limits[i].title, &lines,
                              &limit) ||
            (limit.rlim_cur == RLIM_INFINITY && limit.rlim_max == RLIM_INFINITY))
            continue;
        json_write_key(w, limits[i].name);
        json_write_object(w);
        write_limit(w, "soft", limit.rlim_cur);
        write_limit(w, "hard", limit.rlim_max);
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
}

// write_signals writes the names of a set; nothing for an empty one.
static void write_signals(struct json_writer *w, const char *key, uint64_t set)
{
    if (set == 0)
        return;
    json_write_key(w, key);
    json_write_array(w);
    for (int number = 1; number < 32; number++)
        if (set >> (number - 1) & 1 && signal_name(number) != NULL)
            json_write_string(w, signal_name(number));
    json_write_end(w, ']');
}

static void write_signal_sets(struct json_writer *w, const struct capture *capture,
                              uint64_t blocked)
{
    const struct process_facts *process = &capture->process;
    json_write_key(w, "signals");
    json_write_object(w);
    write_signals(w, "blocked", blocked);
    // Our handler ignores what would end the process while it waits for us.
    if (capture->crash == NULL || capture->stop.traced)
        write_signals(w, "ignored", process->ignored_signals);
    write_signals(w, "handled", process->handled_signals);
    json_write_end(w, '}');
}

// hold_environment keeps the variables that the process was started with for the free
// phase, which writes and masks some of them.
static void hold_environment(struct json_writer *w, const struct capture *capture)
{
    char all[SURROUNDINGS_ENVIRONMENT_BYTES];
    const struct process_facts *process = &capture->process;
    uint64_t begin = process->environment_start;
    uint64_t left =
        process->environment_end > begin ? process->environment_end - begin : 0;
    size_t size = left < sizeof(all) ? (size_t)left : sizeof(all);
    size_t got = 0;
    while (got < size) {
        size_t more = capture->reader.read(capture->reader.source, begin + got,
                                           all + got, size - got);
        if (more == 0 || more > size - got)
            break;
        got += more;
    }
    if (got == 0)
        return;
    held_file_add_memory(capture->held, begin, all, got);
    json_write_key(w, "environment_at");
    json_write_object(w);
    raw_write_address(w, "start", begin);
    raw_write_count(w, "size", got);
    json_write_end(w, '}');
}

// may_lack_something returns true if what ended the process may be that it had too
// little memory or too many descriptors, and for one that has not ended.
static bool may_lack_something(const struct capture *capture)
{
    const struct target_crash *crash = capture->crash;
    return crash == NULL || crash->info.si_signo == SIGABRT ||
           crash->info.si_signo == SIGBUS || crash->info.si_signo == SIGKILL;
}

static void write_oom_score(struct json_writer *w, pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) score = { 0 };
    if (read_process_file(pid, "oom_score", SMALL_FILE_BYTES, &score) != CH_OK ||
        score.size == 0)
        return;
    raw_write_count(w, "oom_score", strtoull(score.bytes, NULL, 10));
}

static void write_cpu_time(struct json_writer *w, uint64_t user, uint64_t system)
{
    raw_write_count(w, "cpu_user_ms", user);
    raw_write_count(w, "cpu_system_ms", system);
}

// crashed_signal_mask gives the signals that the crashed thread had blocked. Its
// handler blocks others while it waits for us.
static uint64_t crashed_signal_mask(const struct capture *capture)
{
    const struct target_crash *crash = capture->crash;
    uint64_t mask = capture->process.blocked_signals;
    if (crash != NULL && crash->context != 0 &&
        memory_read(&capture->reader, crash->context + offsetof(ucontext_t, uc_sigmask),
                    &mask, sizeof(mask)) != CH_OK)
        return 0;
    return mask;
}

void surroundings_write(struct json_writer *w, const struct capture *capture)
{
    const struct process_facts *process = &capture->process;
    if (!capture_is_process(capture) || capture->gone || process->dead ||
        process->pid <= 0)
        return;
    json_write_key(w, "surroundings");
    json_write_object(w);
    if (capture->same_root) {
        json_write_key(w, "inherited");
        json_write_bool(w, true);
    }
    write_cpu_time(w, process->cpu_user_ms, process->cpu_system_ms);
    write_signal_sets(w, capture, crashed_signal_mask(capture));
    write_limits(w, process->pid);
    const bool lacks = may_lack_something(capture);
    if (lacks)
        write_oom_score(w, process->pid);
    if (capture->settings->descriptors == DESCRIPTORS_YES ||
        (capture->settings->descriptors == DESCRIPTORS_AUTO && lacks))
        write_descriptors(w, capture);
    if (capture->settings->arguments != SETTING_NO && capture->held != NULL)
        hold_environment(w, capture);
    json_write_end(w, '}');
}

void surroundings_thread_write(struct json_writer *w, const struct capture *capture,
                               pid_t tid, size_t index)
{
    uint64_t user;
    uint64_t system;
    if (capture_is_process(capture) && capture->stop.count > 1 &&
        index < SURROUNDINGS_THREADS &&
        facts_read_cpu_time(capture->process.pid, tid, &user, &system))
        write_cpu_time(w, user, system);
}
