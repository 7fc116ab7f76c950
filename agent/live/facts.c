// SPDX-License-Identifier: Apache-2.0
#include "agent/live/facts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "base/clock.h"
#include "base/system/rights.h"
#include "images/read_file.h"

enum { PROCESS_PATH_BYTES = 64, PROCESS_STATUS_BYTES = 16384 };

// open_in_root opens a path below the process's root. Where the kernel cannot keep
// symbolic links inside of that, it opens nothing.
static int open_in_root(pid_t pid, const char *path)
{
    char name[PROCESS_PATH_BYTES];
    snprintf(name, sizeof(name), "/proc/%d/root", pid);
    int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    // A fifo must not block, nor a device be opened for long.
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    bool assumed = rights_assume();
    int fd = assumed ? (int)syscall(SYS_openat2, root, path, &how, sizeof(how)) : -1;
    if (assumed)
        rights_resume();
    close(root);
    return fd;
}

enum ch_status process_file_read(pid_t pid, const char *path, uid_t uid,
                                 size_t limit_bytes, struct text *out)
{
    struct stat facts;
    int fd = open_in_root(pid, path);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
        (uid == PROCESS_FILE_ANY || facts.st_uid == uid))
        status = text_read(out, fd, limit_bytes);
    close(fd);
    return status;
}

pid_t process_file_number(pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) facts = { 0 };
    if (read_process_file(pid, "status", PROCESS_STATUS_BYTES, &facts) != CH_OK ||
        facts.size == 0)
        return 0;
    // The last number of the line is that of the innermost namespace.
    const char *line = strstr(facts.bytes, "\nNSpid:");
    if (line == NULL)
        return 0;
    size_t length = strcspn(line + 1, "\n");
    const char *tab = memrchr(line + 1, '\t', length);
    return tab != NULL ? (pid_t)strtol(tab + 1, NULL, 10) : 0;
}

enum {
    ARGUMENTS_LIMIT_BYTES = 128 << 10,
    SMALL_LIMIT_BYTES = 16 << 10,
};

// Fields of /proc/PID/stat; field 3 is the first after the bracket that closes the
// command (proc(5)). The command itself may hold brackets and spaces, so the last
// bracket counts.
enum {
    STAT_FIRST = 3,
    STAT_PPID = 4,
    STAT_SESSION = 6,
    STAT_CHILD_FAULTS = 11, // of children that were waited for
    STAT_USER_TIME = 14,
    STAT_SYSTEM_TIME = 15,
    STAT_START_TIME = 22,
    STAT_MEMORY = 23, // addresses in use, in bytes
    STAT_RSS = 24,
    STAT_BLOCKED = 32,
    STAT_IGNORED = 33,
    STAT_HANDLED = 34,
    STAT_ENVIRONMENT_START = 50,
    STAT_ENVIRONMENT_END = 51,
    STAT_FIELDS
};

static void read_stat_fields(const struct text *stat, uint64_t out[static STAT_FIELDS])
{
    const char *at = stat->bytes != NULL ? strrchr(stat->bytes, ')') : NULL;
    memset(out, 0, STAT_FIELDS * sizeof(out[0]));
    if (at == NULL)
        return;
    // musl's strspn and strtoull take twice as long, for many threads.
    for (int field = STAT_FIRST - 1; *++at != 0 && field < STAT_FIELDS;) {
        if (*at == ' ')
            field++;
        else if (*at >= '0' && *at <= '9')
            out[field] = out[field] * 10 + (uint64_t)(*at - '0');
    }
}

// read_clocks reads two clocks at once: a thread may lose its processor in between.
static void read_clocks(uint64_t *up_ms, uint64_t *now_ms)
{
    enum { TRIES = 16, AT_ONCE_MS = 1 };
    for (int i = 0; i < TRIES; i++) {
        *up_ms = clock_now_ms(CLOCK_BOOTTIME);
        *now_ms = clock_now_ms(CLOCK_REALTIME);
        if (clock_now_ms(CLOCK_BOOTTIME) - *up_ms <= AT_ONCE_MS)
            return;
    }
}

static void read_times(struct process_facts *out, uint64_t start_ticks)
{
    uint64_t ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t up_ms;
    uint64_t now_ms;
    read_clocks(&up_ms, &now_ms);
    if (start_ticks == 0 || ticks_per_second == 0 || start_ticks > UINT64_MAX / 1000)
        return;
    uint64_t start_ms = start_ticks * 1000 / ticks_per_second;
    if (start_ms > up_ms)
        return;
    out->uptime_ms = up_ms - start_ms;
    out->started_ms = now_ms - out->uptime_ms;
}

static uint32_t uid_of(const struct text *status)
{
    const char *line = status->bytes != NULL ? strstr(status->bytes, "\nUid:") : NULL;
    return line != NULL ? (uint32_t)strtoul(line + 5, NULL, 10) : 0;
}

// read_fact_text reads a file as far as its limit; a file that cannot be read leaves
// out empty.
static void read_fact_text(pid_t pid, const char *name, size_t limit_bytes,
                           struct text *out)
{
    if (read_process_file(pid, name, limit_bytes, out) == CH_ERR_IO)
        text_clear(out);
}

// note_thread_name takes the thread's name out of its stat, which shows it as comm
// does.
static void note_thread_name(struct process_facts *out, const struct text *stat,
                             pid_t tid)
{
    const char *begin = stat->bytes != NULL ? strchr(stat->bytes, '(') : NULL;
    const char *end = begin != NULL ? strrchr(begin, ')') : NULL;
    if (end == NULL || (size_t)(end - begin) > sizeof(out->thread_name))
        return;
    out->tid = tid;
    memcpy(out->thread_name, begin + 1, (size_t)(end - begin) - 1);
    out->thread_name[strcspn(out->thread_name, "\n")] = 0;
}

static uint64_t ticks_to_ms(uint64_t ticks)
{
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    return per_second != 0 && ticks <= UINT64_MAX / 1000 ? ticks * 1000 / per_second
                                                         : 0;
}

// read_limit_word reads a number, or the word `unlimited`, and goes on behind it.
static rlim_t read_limit_word(const char **at)
{
    char *end;
    *at += strspn(*at, " ");
    rlim_t value = **at == 'u' ? RLIM_INFINITY : strtoull(*at, &end, 10);
    *at += strcspn(*at, " \n");
    return value;
}

bool facts_read_limit(pid_t pid, int resource, const char *title, struct text *lines,
                      struct rlimit *out)
{
    if (prlimit(pid, resource, NULL, out) == 0)
        return true;
    if (lines->size == 0)
        read_fact_text(pid, "limits", SMALL_LIMIT_BYTES, lines);
    const char *at = lines->size != 0 ? strstr(lines->bytes, title) : NULL;
    if (at == NULL)
        return false;
    at += strlen(title);
    out->rlim_cur = read_limit_word(&at);
    out->rlim_max = read_limit_word(&at);
    return true;
}

bool facts_read_cpu_time(pid_t pid, pid_t tid, uint64_t *out_user_ms,
                         uint64_t *out_system_ms)
{
    uint64_t fields[STAT_FIELDS];
    struct text CH_CLEANUP(text_deinit) stat = { 0 };
    char name[32];
    (void)snprintf(name, sizeof(name), "task/%d/stat", tid);
    read_fact_text(pid, name, SMALL_LIMIT_BYTES, &stat);
    read_stat_fields(&stat, fields);
    *out_user_ms = ticks_to_ms(fields[STAT_USER_TIME]);
    *out_system_ms = ticks_to_ms(fields[STAT_SYSTEM_TIME]);
    return stat.size != 0;
}

void facts_read_known(struct process_facts *out, pid_t pid, pid_t tid,
                      const struct text *status)
{
    static const char deleted[] = " (deleted)";
    size_t suffix = sizeof(deleted) - 1;
    uint64_t fields[STAT_FIELDS];
    struct text stat = { 0 };

    *out = (struct process_facts){ .pid = pid, .uid = uid_of(status) };
    read_fact_text(pid, "stat", SMALL_LIMIT_BYTES, &stat);
    read_stat_fields(&stat, fields);
    out->ppid = (pid_t)fields[STAT_PPID];
    const char *bracket = stat.bytes != NULL ? strrchr(stat.bytes, ')') : NULL;
    // An exiting process has no memory before its state says so.
    out->dead = bracket == NULL || bracket[1] == 0 ||
                strchr("ZXx", bracket[2]) != NULL || fields[STAT_MEMORY] == 0;
    out->had_children = fields[STAT_CHILD_FAULTS] != 0;
    out->start_ticks = fields[STAT_START_TIME];
    out->cpu_user_ms = ticks_to_ms(fields[STAT_USER_TIME]);
    out->cpu_system_ms = ticks_to_ms(fields[STAT_SYSTEM_TIME]);
    out->blocked_signals = fields[STAT_BLOCKED];
    out->ignored_signals = fields[STAT_IGNORED];
    out->handled_signals = fields[STAT_HANDLED];
    out->environment_start = fields[STAT_ENVIRONMENT_START];
    out->environment_end = fields[STAT_ENVIRONMENT_END];
    read_times(out, out->start_ticks);
    if (tid != pid) {
        text_clear(&stat);
        read_fact_text(tid, "stat", SMALL_LIMIT_BYTES, &stat);
        read_stat_fields(&stat, fields);
    }
    note_thread_name(out, &stat, tid);
    out->rss_bytes = fields[STAT_RSS] * (uint64_t)sysconf(_SC_PAGESIZE);
    text_deinit(&stat);

    read_fact_text(tid, "cmdline", ARGUMENTS_LIMIT_BYTES, &out->arguments);
    read_fact_text(tid, "cgroup", SMALL_LIMIT_BYTES, &out->cgroup);
    if (read_process_link(tid, "cwd", &out->working_directory) != CH_OK)
        text_clear(&out->working_directory);
    if (read_process_link(tid, "exe", &out->executable) != CH_OK)
        text_clear(&out->executable);
    struct text *exe = &out->executable;
    if (exe->size > suffix &&
        memcmp(exe->bytes + exe->size - suffix, deleted, suffix) == 0) {
        out->executable_deleted = true;
        exe->size -= suffix;
        exe->bytes[exe->size] = 0;
    }
}

void facts_read_process(struct process_facts *out, pid_t pid, pid_t tid)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    read_fact_text(pid, "status", SMALL_LIMIT_BYTES, &status);
    facts_read_known(out, pid, tid, &status);
}

// pidfd_info is the kernel's of 6.13, for headers that are older.
struct pidfd_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid;
    uint32_t process;
    uint32_t parent;
    uint32_t ids[8];
    uint32_t spare;
};

#define PIDFD_INFO_CALL _IOWR(0xff, 11, struct pidfd_info)

// ask_parent asks for the parent of a process without /proc, in less than half the
// time. False: the kernel does not say, or a filter may kill for the question.
static bool ask_parent(pid_t pid, pid_t *out_parent, bool *out_leads)
{
    enum { KNOWS_IDS = 1 };
    struct pidfd_info info = { .mask = KNOWS_IDS };
    int fd = permitted_all() ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd < 0)
        return false;
    bool told = ioctl(fd, PIDFD_INFO_CALL, &info) == 0;
    *out_parent = (pid_t)info.parent;
    *out_leads = getsid(pid) == pid;
    close(fd);
    return told;
}

static void read_parent(pid_t pid, pid_t *out_parent, bool *out_leads)
{
    uint64_t fields[STAT_FIELDS];
    struct text CH_CLEANUP(text_deinit) stat = { 0 };
    read_fact_text(pid, "stat", SMALL_LIMIT_BYTES, &stat);
    read_stat_fields(&stat, fields);
    *out_parent = (pid_t)fields[STAT_PPID];
    *out_leads = fields[STAT_SESSION] == (uint64_t)pid;
}

size_t facts_read_ancestors(pid_t parent, pid_t out[static FACTS_ANCESTORS])
{
    bool leads = false;
    size_t count = 0;
    while (parent > 0 && count < FACTS_ANCESTORS && !leads) {
        pid_t pid = parent;
        out[count++] = pid;
        if (pid == 1 || count == FACTS_ANCESTORS)
            break;
        if (!ask_parent(pid, &parent, &leads))
            read_parent(pid, &parent, &leads);
    }
    return count;
}

void facts_deinit_process(struct process_facts *facts)
{
    text_deinit(&facts->executable);
    text_deinit(&facts->arguments);
    text_deinit(&facts->working_directory);
    text_deinit(&facts->cgroup);
}

enum { ROOT_PATH_BYTES = 64 };

// write_root_path writes the path of a file in the root folder of the thread. Ours is
// reached without /proc, which takes a third of the time.
static void write_root_path(pid_t tid, const char *name,
                            char path[static ROOT_PATH_BYTES])
{
    if (tid == getpid())
        (void)snprintf(path, ROOT_PATH_BYTES, "/%s", name);
    else
        (void)snprintf(path, ROOT_PATH_BYTES, "/proc/%d/root/%s", tid, name);
}

// read_os takes PRETTY_NAME from the os-release in the process's own root.
static void read_os(struct text *out, pid_t tid)
{
    static const char key[] = "\nPRETTY_NAME=";
    struct text release = { 0 };
    char path[ROOT_PATH_BYTES];
    write_root_path(tid, "etc/os-release", path);
    text_append(&release, "\n", 1);
    // In a root folder of its own making a process can put a link to any file.
    if ((rights_applied() != NULL && tid != getpid()
             ? process_file_read(tid, "/etc/os-release", PROCESS_FILE_ANY,
                                 SMALL_LIMIT_BYTES, &release)
             : read_file(path, SMALL_LIMIT_BYTES, &release)) == CH_OK) {
        const char *line = strstr(release.bytes, key);
        const char *value = line != NULL ? line + sizeof(key) - 1 : "";
        value += *value == '"';
        text_append(out, value, strcspn(value, "\"\n"));
    }
    text_deinit(&release);
}

// guess_container guesses the container runtime from the names it gives its cgroups.
static void guess_container(struct text *out, const struct text *cgroup)
{
    static const char *const marks[][2] = {
        { "kubepods", "kubernetes" },
        { "libpod", "podman" },
        { "docker", "docker" },
        { "containerd", "containerd" },
        { "/lxc", "lxc" },
        { "/machine.slice", "machine" },
    };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && cgroup->size != 0; i++) {
        if (strstr(cgroup->bytes, marks[i][0]) != NULL) {
            text_append_string(out, marks[i][1]);
            break;
        }
    }
}

// find_container_mark recognizes the container by the files that engines put into its
// root: where it has a cgroup namespace, its own cgroup is called "/".
static void find_container_mark(struct text *out, pid_t tid)
{
    static const char *const marks[][2] = {
        { "var/run/secrets/kubernetes.io", "kubernetes" },
        { ".dockerenv", "docker" },
        { "run/.containerenv", "podman" },
    };
    char path[ROOT_PATH_BYTES];
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        write_root_path(tid, marks[i][0], path);
        if (access(path, F_OK) == 0) {
            text_append_string(out, marks[i][1]);
            break;
        }
    }
}

// A root_facts is what a root folder says of the system, and the os-release that said
// it.
struct root_facts {
    struct stat release;
    struct text os;
    struct text mark; // of a container
};

static struct root_facts remembered; // by facts_remember_root

static bool stat_os_release(pid_t tid, struct stat *out)
{
    char path[ROOT_PATH_BYTES];
    write_root_path(tid, "etc/os-release", path);
    return stat(path, out) == 0;
}

void facts_remember_root(pid_t tid)
{
    if (!stat_os_release(tid, &remembered.release))
        return;
    read_os(&remembered.os, tid);
    find_container_mark(&remembered.mark, tid);
}

// is_remembered returns true if the thread's root folder has the os-release that is
// remembered, unchanged.
static bool is_remembered(pid_t tid)
{
    const struct stat *then = &remembered.release;
    struct stat now;
    return remembered.os.size != 0 && stat_os_release(tid, &now) &&
           now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
           now.st_size == then->st_size && now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

void facts_read_host(struct host_facts *out, pid_t tid, const struct text *cgroup)
{
    struct sysinfo info;
    cpu_set_t cpus;

    *out = (struct host_facts){ 0 };
    uname(&out->names);
    if (sysinfo(&info) == 0)
        out->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        out->cpus = (uint32_t)CPU_COUNT(&cpus);
    bool known = is_remembered(tid);
    if (known)
        text_append(&out->os, remembered.os.bytes, remembered.os.size);
    else
        read_os(&out->os, tid);
    struct text own = { 0 };
    if (cgroup == NULL)
        read_fact_text(tid, "cgroup", SMALL_LIMIT_BYTES, &own);
    guess_container(&out->container, cgroup != NULL ? cgroup : &own);
    text_deinit(&own);
    if (out->container.size == 0 && known)
        text_append(&out->container, remembered.mark.bytes, remembered.mark.size);
    else if (out->container.size == 0)
        find_container_mark(&out->container, tid);
}

void facts_deinit_host(struct host_facts *facts)
{
    text_deinit(&facts->os);
    text_deinit(&facts->container);
}
