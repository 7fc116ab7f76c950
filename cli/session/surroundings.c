// SPDX-License-Identifier: Apache-2.0
#include "cli/session/surroundings.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/own_thread.h"
#include "images/read_file.h"
#include "report/file/held_file.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"

enum { SMALL_BYTES = 4096, ENVIRONMENT_MAX = 64 << 10 };

// surroundings_is_shown returns true if the environment variable of size bytes belongs
// to those that a report of the program has: LANG, LC_*, PATH, TZ, TMPDIR, LD_*,
// MALLOC_*, GLIBC_TUNABLES, and those that begin with the program's name.
static bool surroundings_is_shown(const char *name, size_t size, const char *program)
{
    static const char *const names[] = { "LANG", "LANGUAGE", "PATH",
                                         "TZ",   "TMPDIR",   "GLIBC_TUNABLES" };
    static const char *const begins[] = { "LC_", "LD_", "MALLOC_" };
    enum { SHORTEST_PREFIX = 3 };
    size_t length = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0)
            return true;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    // A program's own variables begin with its name: SHOP_MODE of shop and shop-server.
    while (length < size && isalnum((unsigned char)program[length]) &&
           toupper((unsigned char)program[length]) == name[length])
        length++;
    return length >= SHORTEST_PREFIX && length < size && name[length] == '_' &&
           !isalnum((unsigned char)program[length]);
}

// add_variable adds NAME=VALUE, if it is shown.
static void add_variable(json_t *environment, const char *variable, const char *program,
                         const struct settings *settings)
{
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    const char *equals = strchr(variable, '=');
    size_t size = equals != NULL ? (size_t)(equals - variable) : 0;
    if (size == 0 || !surroundings_is_shown(variable, size, program))
        return;
    if (settings->sanitize == SETTING_NO)
        text_append_string(&masked, equals + 1);
    else
        sanitize_named(variable, size, equals + 1, getenv("HOME"), &masked);
    json_t *value =
        json_string(text_ok(&masked) && masked.size != 0 ? masked.bytes : "");
    char *name = strndup(variable, size);
    if (name != NULL && value != NULL)
        (void)json_object_set(environment, name, value);
    json_decref(value);
    free(name);
}

static void read_environment(json_t *environment, struct held_file *held,
                             const json_t *at, const char *program,
                             const struct settings *settings)
{
    const struct memory_reader reader = held_file_reader(held);
    uint64_t start;
    int64_t size = report_integer(at, "size", 0);
    if (!report_address(at, "start", &start) || size <= 0 || size > ENVIRONMENT_MAX)
        return;
    char *all = calloc(1, (size_t)size + 1);
    if (all == NULL || memory_read(&reader, start, all, (size_t)size) != CH_OK) {
        free(all);
        return;
    }
    for (size_t done = 0; done < (size_t)size; done += strlen(all + done) + 1)
        // What does not end in the bytes was cut.
        if (done + strlen(all + done) < (size_t)size)
            add_variable(environment, all + done, program, settings);
    free(all);
}

void surroundings_add_environment(json_t *report, const struct settings *settings,
                                  const void *held, size_t held_size)
{
    json_t *surroundings = json_object_get(report, "surroundings");
    const json_t *at = json_object_get(surroundings, "environment_at");
    const char *program = report_program(report);
    struct held_file file;
    if (at == NULL)
        return;
    json_t *environment = json_object();
    if (held_size != 0 && held_file_init(&file, held, held_size) == CH_OK) {
        read_environment(environment, &file, at,
                         program != NULL ? file_name(program) : "", settings);
        held_file_deinit(&file);
        (void)json_object_set(surroundings, "environment", environment);
    }
    json_decref(environment);
    (void)json_object_del(surroundings, "environment_at");
}

static void add_namespaces(json_t *surroundings, const char *process)
{
    static const char *const names[] = { "cgroup", "ipc",  "mnt",  "net",
                                         "pid",    "time", "user", "uts" };
    json_t *namespaces = json_object();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[40];
        char target[64];
        (void)snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, names[i]);
        ssize_t size = readlink(path, target, sizeof(target) - 1);
        target[size > 0 ? size : 0] = 0;
        const char *number = strchr(target, '[');
        if (number != NULL)
            (void)json_object_set_new(
                namespaces, names[i],
                json_integer((json_int_t)strtoull(number + 1, NULL, 10)));
    }
    (void)json_object_set_new(surroundings, "namespaces", namespaces);
}

// add_number adds the number in a file of the folder; nothing where there is no limit.
static void add_number(json_t *to, const char *folder, const char *file,
                       const char *key)
{
    enum { NO_LIMIT_SHIFT = 60 }; // what version 1 has in place of none
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= sizeof(path) ||
        read_file(path, SMALL_BYTES, &text) != CH_OK || text.size == 0 ||
        !isdigit((unsigned char)text.bytes[0]))
        return;
    uint64_t number = strtoull(text.bytes, NULL, 10);
    if (number >> NO_LIMIT_SHIFT == 0)
        (void)json_object_set_new(to, key, json_integer((json_int_t)number));
}

// group_of gives the control group on the line of /proc/PID/cgroup that has this after
// its number. False: there is none, or it is outside of what we see.
static bool group_of(const char *cgroup, const char *line, char out[PATH_MAX])
{
    for (const char *at = cgroup; at != NULL && *at != 0;) {
        size_t length = strcspn(at, "\n");
        const char *colon = memchr(at, ':', length);
        size_t skip = strlen(line);
        if (colon != NULL && strncmp(colon, line, skip) == 0) {
            size_t size = length - (size_t)(colon + skip - at);
            if (size >= PATH_MAX || size == 0 || memmem(colon, size, "/..", 3) != NULL)
                return false;
            memcpy(out, colon + skip, size);
            out[size] = 0;
            return true;
        }
        at += length + (at[length] == '\n');
    }
    return false;
}

static void add_control_group(json_t *surroundings, const char *cgroup)
{
    static const struct {
        const char *line;
        const char *mount;
        const char *files[4][2];
    } versions[] = {
        { "::",
          "/sys/fs/cgroup",
          { { "memory.max", "memory_max_bytes" },
            { "memory.peak", "memory_peak_bytes" },
            { "pids.max", "pids_max" },
            { "pids.current", "pids" } } },
        { ":memory:",
          "/sys/fs/cgroup/memory",
          { { "memory.limit_in_bytes", "memory_max_bytes" },
            { "memory.max_usage_in_bytes", "memory_peak_bytes" },
            { "memory.usage_in_bytes", "memory_bytes" } } },
        { ":pids:",
          "/sys/fs/cgroup/pids",
          { { "pids.max", "pids_max" }, { "pids.current", "pids" } } },
    };
    json_t *limits = json_object();
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        char group[PATH_MAX];
        char folder[2 * PATH_MAX];
        if (!group_of(cgroup, versions[i].line, group))
            continue;
        (void)snprintf(folder, sizeof(folder), "%s%s", versions[i].mount, group);
        for (size_t k = 0; k < 4 && versions[i].files[k][0] != NULL; k++)
            add_number(limits, folder, versions[i].files[k][0],
                       versions[i].files[k][1]);
    }
    if (json_object_size(limits) != 0)
        (void)json_object_set(surroundings, "control_group", limits);
    json_decref(limits);
}

static void set_part(json_t *to, const char *key, const char *begin, size_t size)
{
    json_t *value = size != 0 ? json_stringn(begin, size) : NULL;
    if (value != NULL)
        (void)json_object_set_new(to, key, value);
}

// add_manager adds the names that a service manager or a container engine has put into
// the control group's path: the unit, the container's ID, the pod's.
static void add_manager(json_t *surroundings, const char *cgroup)
{
    enum { CONTAINER_DIGITS = 64 };
    for (const char *at = cgroup; *at != 0; at += *at != 0) {
        size_t size = strcspn(at, "/\n");
        const char *dot = memrchr(at, '.', size);
        const char *pod = memmem(at, size, "pod", 3);
        size_t digits =
            strspn(at + (size > 7 && strncmp(at, "docker-", 7) == 0 ? 7 : 0),
                   "0123456789abcdef");
        if (dot != NULL && size - (size_t)(dot - at) == 8 &&
            strncmp(dot, ".service", 8) == 0)
            set_part(surroundings, "unit", at, size);
        if (digits == CONTAINER_DIGITS)
            set_part(surroundings, "container_id",
                     at + (at[0] == 'd' && at[1] == 'o' ? 7 : 0), CONTAINER_DIGITS);
        if (pod != NULL && strstr(cgroup, "kubepods") != NULL &&
            size - (size_t)(pod - at) >= 3 + 32)
            set_part(surroundings, "pod_uid", pod + 3,
                     strspn(pod + 3, "0123456789abcdef-_"));
        at += size;
    }
}

static void add_file_number(json_t *to, const char *path, const char *key)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    if (read_file(path, SMALL_BYTES, &text) == CH_OK && text.size != 0)
        (void)json_object_set_new(to, key, json_integer(strtoll(text.bytes, NULL, 10)));
}

// is_line_of returns true if a line of the kernel's log is about the process, and was
// written after it had started: numbers are used again.
static bool is_line_of(const char *line, size_t size, int64_t pid, double after_s)
{
    char marks[3][32];
    const char *bracket = memchr(line, '[', size);
    if (bracket == NULL || strtod(bracket + 1, NULL) < after_s)
        return false;
    (void)snprintf(marks[0], sizeof(marks[0]), "[%" PRId64 "]", pid);
    (void)snprintf(marks[1], sizeof(marks[1]), "process %" PRId64 " ", pid);
    (void)snprintf(marks[2], sizeof(marks[2]), "pid=%" PRId64 ",", pid);
    for (size_t i = 0; i < 3; i++)
        if (memmem(line, size, marks[i], strlen(marks[i])) != NULL)
            return true;
    return false;
}

enum { LOG_BYTES = 32 << 10 };

static char kernel_log[LOG_BYTES + 1];
static pthread_t kernel_log_reader;
static bool kernel_log_is_read; // by a thread

static void *kernel_log_fill(void *unused)
{
    enum { READ_ALL = 3 };
    int count = klogctl(READ_ALL, kernel_log, LOG_BYTES);
    kernel_log[count > 0 ? count : 0] = 0;
    return unused;
}

void surroundings_read_ahead(void)
{
    kernel_log_is_read = own_thread_start(&kernel_log_reader, kernel_log_fill, NULL);
}

void surroundings_add_log(json_t *report, const struct settings *settings)
{
    enum { LINES_MAX = 8 };
    json_t *surroundings = json_object_get(report, "surroundings");
    const json_t *process = json_object_get(report, "process");
    if (!kernel_log_is_read || pthread_join(kernel_log_reader, NULL) != 0)
        (void)kernel_log_fill(NULL);
    int64_t pid = report_integer(process, "pid", 0);
    double age_s = (double)report_integer(process, "uptime_ms", 0) / 1000 + 60;
    double now_s = (double)clock_now_ms(CLOCK_BOOTTIME) / 1000;
    json_t *lines = json_array();
    for (const char *at = kernel_log; *at != 0 && pid > 0;) {
        size_t size = strcspn(at, "\n");
        if (is_line_of(at, size, pid, now_s - age_s) &&
            json_array_size(lines) < LINES_MAX) {
            struct text CH_CLEANUP(text_deinit) masked = { 0 };
            char *line = strndup(at, size);
            if (line != NULL && settings->sanitize != SETTING_NO)
                sanitize_string(line, getenv("HOME"), &masked);
            else if (line != NULL)
                text_append_string(&masked, line);
            if (text_ok(&masked) && masked.size != 0)
                (void)json_array_append_new(lines, json_string(masked.bytes));
            free(line);
        }
        at += size + (at[size] == '\n');
    }
    if (json_array_size(lines) != 0)
        (void)json_object_set(surroundings, "kernel_log", lines);
    json_decref(lines);
}

void surroundings_add_process(json_t *surroundings, const char *process,
                              const char *cgroup)
{
    char path[40];
    add_namespaces(surroundings, process);
    (void)snprintf(path, sizeof(path), "/proc/%s/oom_score_adj", process);
    add_file_number(surroundings, path, "oom_score_adjustment");
    add_control_group(surroundings, cgroup);
}

void surroundings_add_system(json_t *report)
{
    json_t *surroundings = json_object_get(report, "surroundings");
    const char *cgroup = report_string(json_object_get(report, "process"), "cgroup");
    bool inherited = report_flag(surroundings, "inherited");
    (void)json_object_del(surroundings, "inherited");
    if (surroundings == NULL)
        return;
    if (inherited)
        surroundings_add_process(surroundings, "self", cgroup);
    if (cgroup != NULL)
        add_manager(surroundings, cgroup);
    add_file_number(surroundings, "/proc/sys/kernel/tainted", "kernel_taint");
}
