// SPDX-License-Identifier: Apache-2.0
#include "agent/live/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/facts.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "images/read_file.h"

enum { USAGE_FILE_BYTES = 16 << 10, USAGE_PATH_BYTES = PATH_MAX + 32 };

#define UNIFIED_ROOT "/sys/fs/cgroup"
#define UNIFIED_BESIDE_ROOT "/sys/fs/cgroup/unified" // where version 1 has the memory
#define MEMORY_ROOT "/sys/fs/cgroup/memory"

// No machine has that much; version 1 says so of a cgroup without a limit.
static const uint64_t no_limit = UINT64_C(1) << 60;

// usage_number is the number that text begins with; 0: there is none, or one that does
// not fit.
static uint64_t usage_number(const char *text)
{
    text += strspn(text, " \t");
    if (*text < '0' || *text > '9')
        return 0;
    uint64_t number = strtoull(text, NULL, 10);
    return number != UINT64_MAX ? number : 0;
}

// find_line is what follows word in lines of /proc; NULL: it is in none.
static const char *find_line(const char *lines, const char *word)
{
    const char *at = strstr(lines, word);
    return at != NULL ? at + strlen(word) : NULL;
}

// number_of_word is the number after word, which includes the line's end before it,
// except in the first line.
static uint64_t number_of_word(const struct text *text, const char *word)
{
    const char *at = text->size != 0 ? find_line(text->bytes, word) : NULL;
    return at != NULL ? usage_number(at) : 0;
}

// read_usage_file reads a file of the group whose folder is the first size bytes of
// usage->folder. The text begins with a line's end, so that each line follows one.
static bool read_usage_file(const struct usage *usage, size_t size, const char *name,
                            struct text *out)
{
    char path[USAGE_PATH_BYTES];
    if (usage->folder[0] == 0)
        return false;
    (void)snprintf(path, sizeof(path), "%.*s/memory.%s", (int)size, usage->folder,
                   name);
    text_append(out, "\n", 1);
    enum ch_status status = read_file(path, USAGE_FILE_BYTES, out);
    return (status == CH_OK || status == CH_ERR_LIMIT) && text_ok(out);
}

// read_usage_number reads the number after word, "\n" for the file's first, in a file
// of a group. 0: there is none.
static uint64_t read_usage_number(const struct usage *usage, size_t size,
                                  const char *name, const char *word)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    return read_usage_file(usage, size, name, &text) ? number_of_word(&text, word) : 0;
}

// has_memory_file returns true if the folder counts memory.
static bool has_memory_file(const struct usage *usage)
{
    char path[USAGE_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/memory.%s", usage->folder,
                   usage->unified ? "current" : "usage_in_bytes");
    return access(path, R_OK) == 0;
}

// leaves_root returns true if a group's path is outside of this cgroup namespace.
static bool leaves_root(const char *path, size_t length)
{
    static const char above[] = "/..";
    return memmem(path, length, above, sizeof(above) - 1) != NULL;
}

// use_folder takes the hierarchy's root and the path below it that a line of
// /proc/PID/cgroup names, or its root alone. False: neither counts memory.
static bool use_folder(struct usage *usage, const char *root, const char *hierarchy,
                       const char *path)
{
    size_t length = strcspn(path, "\n");
    int size = snprintf(usage->folder, sizeof(usage->folder), "%s%s", root, hierarchy);
    if (size <= 0 || (size_t)size + length >= sizeof(usage->folder))
        return false;
    usage->root_size = (size_t)size;
    if (length > 1 && !leaves_root(path, length)) {
        memcpy(usage->folder + size, path, length);
        usage->folder[(size_t)size + length] = 0;
    }
    if (has_memory_file(usage))
        return true;
    usage->folder[size] = 0;
    return has_memory_file(usage);
}

static uint64_t read_usage_limit(const struct usage *usage, size_t size)
{
    uint64_t limit =
        read_usage_number(usage, size, usage->unified ? "max" : "limit_in_bytes", "\n");
    return limit < no_limit ? limit : 0;
}

// parent_size is the size of the folder that the first size bytes are in; 0: that is
// above the hierarchy's root.
static size_t parent_size(const struct usage *usage, size_t size)
{
    while (size > usage->root_size && usage->folder[size - 1] != '/')
        size--;
    return size > usage->root_size ? size - 1 : 0;
}

// find_limited looks for the lowest limit, of the cgroup or one that it is in: that
// one's use is what ends in a kill.
static void find_limited(struct usage *usage)
{
    uint64_t lowest = UINT64_MAX;
    usage->limited_size = strlen(usage->folder);
    for (size_t size = usage->limited_size; size != 0;
         size = parent_size(usage, size)) {
        uint64_t limit = read_usage_limit(usage, size);
        if (limit == 0 || limit >= lowest)
            continue;
        lowest = limit;
        usage->limited_size = size;
    }
}

// find_pressure takes the cgroup's file, which version 2 has, also next to version 1;
// otherwise the machine's.
static void find_pressure(struct usage *usage, const char *root, const char *path)
{
    static const char *const roots[] = { UNIFIED_ROOT, UNIFIED_BESIDE_ROOT };
    int length = path != NULL ? (int)strcspn(path, "\n") : 0;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && length > 1; i++) {
        if (leaves_root(path, (size_t)length))
            break;
        int size = snprintf(usage->pressure, sizeof(usage->pressure),
                            "%s%s%.*s/memory.pressure", root, roots[i], length, path);
        if (size > 0 && (size_t)size < sizeof(usage->pressure) &&
            access(usage->pressure, R_OK) == 0)
            return;
    }
    (void)snprintf(usage->pressure, sizeof(usage->pressure), "%s/proc/pressure/memory",
                   root);
}

void usage_find(struct usage *out, const char *root, const char *lines)
{
    const char *first = find_line(lines, ":memory:");
    const char *second =
        strncmp(lines, "0::", 3) == 0 ? lines + 3 : find_line(lines, "\n0::");
    out->unified = false;
    if (first == NULL || !use_folder(out, root, MEMORY_ROOT, first)) {
        out->unified = true;
        if (second == NULL || !use_folder(out, root, UNIFIED_ROOT, second))
            out->folder[0] = 0;
    }
    find_limited(out);
    find_pressure(out, root, second);
}

static uint64_t read_rss(pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    uint64_t pages = 0;
    if (read_process_file(pid, "statm", USAGE_FILE_BYTES, &text) == CH_OK &&
        text.size != 0) {
        const char *second = strchr(text.bytes, ' ');
        pages = second != NULL ? usage_number(second + 1) : 0;
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// open_as finds the cgroup unless it is the one that /proc/PID/cgroup had before.
// False: it is that.
static bool open_as(struct usage *usage, pid_t pid, uint32_t before)
{
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    if (read_process_file(pid, "cgroup", USAGE_FILE_BYTES, &lines) != CH_OK ||
        lines.size == 0)
        return false;
    uint32_t found_in = crc32c(lines.bytes, lines.size);
    if (found_in == before)
        return false;
    *usage = (struct usage){ .pid = pid, .found_in = found_in };
    usage_find(usage, "", lines.bytes);
    return true;
}

// usage_follow finds it again where the process is in another cgroup by now. False: it
// is not.
static bool usage_follow(struct usage *usage)
{
    struct usage now = { 0 };
    // A process that has given up its memory has left its cgroup, or soon will.
    if (!open_as(&now, usage->pid, usage->found_in) || read_rss(usage->pid) == 0)
        return false;
    *usage = now;
    return true;
}

// percent_of_word is the number of form 12.34 after word, in hundredths, 100 % at most.
static uint32_t percent_of_word(const struct text *text, const char *word)
{
    enum { ALL = 10000 };
    const char *at = text->size != 0 ? find_line(text->bytes, word) : NULL;
    if (at == NULL)
        return 0;
    uint64_t whole = usage_number(at);
    at += strspn(at, "0123456789");
    uint64_t hundredths = *at == '.' && at[1] != 0 && at[2] >= '0' && at[2] <= '9'
                              ? usage_number((char[]){ at[1], at[2], 0 })
                              : 0;
    return whole < ALL / 100 ? (uint32_t)(whole * 100 + hundredths) : ALL;
}

static void read_pressure(const struct usage *usage, struct liveness_sample *out)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    if (usage->pressure[0] == 0 ||
        read_file(usage->pressure, USAGE_FILE_BYTES, &text) == CH_ERR_IO)
        return;
    out->some_waited = percent_of_word(&text, "some avg10=");
    out->all_waited = percent_of_word(&text, "full avg10=");
}

// usage_limits notes the limit and the highest use of the cgroup.
static void usage_limits(const struct usage *usage, struct context_liveness *liveness)
{
    const size_t limited = usage->limited_size;
    liveness->limit_bytes = read_usage_limit(usage, limited);
    liveness->peak_bytes = read_usage_number(
        usage, limited, usage->unified ? "peak" : "max_usage_in_bytes", "\n");
}

void usage_sample(const struct usage *usage, uint64_t rss_bytes,
                  struct context_liveness *liveness)
{
    const bool v2 = usage->unified;
    const size_t limited = usage->limited_size;
    struct liveness_sample sample = { .realtime_ns = clock_now_ns(CLOCK_REALTIME),
                                      .rss_bytes = rss_bytes };
    usage_limits(usage, liveness);
    if (rss_bytes == 0) {
        sample.rss_bytes = read_rss(usage->pid);
        sample.cgroup_bytes =
            read_usage_number(usage, limited, v2 ? "current" : "usage_in_bytes", "\n");
    }
    read_pressure(usage, &sample);
    if (sample.rss_bytes == 0)
        return; // it has given up its memory: it is exiting
    liveness->sample[liveness->samples % LIVENESS_SAMPLES] = sample;
    liveness->samples++;
}

void usage_sample_end(const struct usage *usage, struct context_liveness *liveness)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    uint64_t before = 0;
    if (liveness->samples != 0)
        before = liveness->sample[(liveness->samples - 1) % LIVENESS_SAMPLES].rss_bytes;
    (void)!read_process_file(usage->pid, "status", USAGE_FILE_BYTES, &text);
    uint64_t peak = number_of_word(&text, "\nVmHWM:") << 10;
    // The kernel may count a little less than it did, and no peak falls otherwise.
    if (peak == 0 || peak >= before - before / 8)
        usage_sample(usage, liveness->events.oom_kills != 0 ? peak : 0, liveness);
}

// count_ooms counts how often a limit was reached, of the cgroup or one that it is in.
// events.local, of Linux 5.2, leaves out what happened in groups below.
static uint64_t count_ooms(const struct usage *usage)
{
    uint64_t count = 0;
    for (size_t size = strlen(usage->folder); size != 0;
         size = parent_size(usage, size)) {
        struct text CH_CLEANUP(text_deinit) text = { 0 };
        if (read_usage_file(usage, size, "events.local", &text))
            count += number_of_word(&text, "\noom ");
        else
            count += read_usage_number(usage, size, "events", "\noom ");
    }
    return count;
}

void usage_events(const struct usage *usage, struct liveness_events *out)
{
    const size_t size = strlen(usage->folder);
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    *out = (struct liveness_events){ 0 };
    if (!usage->unified) {
        out->oom_kills = read_usage_number(usage, size, "oom_control", "\noom_kill ");
        out->ooms = read_usage_number(usage, usage->limited_size, "failcnt", "\n");
        return;
    }
    if (!read_usage_file(usage, size, "events.local", &text)) {
        text_clear(&text);
        (void)read_usage_file(usage, size, "events", &text);
    }
    out->oom_kills = number_of_word(&text, "\noom_kill ");
    out->group_kills = number_of_word(&text, "\noom_group_kill ");
    out->ooms = count_ooms(usage);
    // The attribute by which systemd-oomd counts on a cgroup.
    char number[24] = "";
    ssize_t length =
        getxattr(usage->folder, "user.oomd_kill", number, sizeof(number) - 1);
    out->oomd_kills = length > 0 ? usage_number(number) : 0;
}

static uint64_t count_since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

void usage_events_since(const struct liveness_events *before,
                        struct liveness_events *now)
{
    now->oom_kills = count_since(before->oom_kills, now->oom_kills);
    now->group_kills = count_since(before->group_kills, now->group_kills);
    now->ooms = count_since(before->ooms, now->ooms);
    now->oomd_kills = count_since(before->oomd_kills, now->oomd_kills);
}

enum { KEEP_FILE_BYTES = 16 << 10, PAUSE_FIRST_MS = 8, PAUSE_MAX_MS = 1000 };

// The signals that request a process to end. systemd's watchdog sends SIGABRT.
static const int asking[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT };

static enum liveness_service find_service(void)
{
    if (getenv("KUBERNETES_SERVICE_HOST") != NULL)
        return LIVENESS_OF_KUBERNETES;
    return getenv("INVOCATION_ID") != NULL ? LIVENESS_OF_SYSTEMD : LIVENESS_NO_SERVICE;
}

void keep_begin(struct keep *keep, pid_t pid, enum liveness_supervisor as)
{
    struct process_facts own;
    facts_read_process(&own, getpid(), getpid());
    *keep = (struct keep){ .liveness = { .supervisor = getpid(),
                                         .supervisor_start = own.start_ticks,
                                         .supervisor_is = as,
                                         .service = find_service() } };
    facts_deinit_process(&own);
    keep->usage = (struct usage){ .pid = pid };
    (void)open_as(&keep->usage, pid, 0);
    usage_events(&keep->usage, &keep->before);
}

uint64_t keep_pause_ms(uint64_t pause_ms)
{
    if (pause_ms == 0)
        return PAUSE_FIRST_MS;
    return 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
}

// keep_pending is the set of signals that await the process or its first thread.
static uint64_t keep_pending(const char *status)
{
    static const char *const words[] = { "\nSigPnd:", "\nShdPnd:" };
    uint64_t pending = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *at = find_line(status, words[i]);
        pending |= at != NULL ? strtoull(at, NULL, 16) : 0;
    }
    return pending;
}

void keep_parse_status(const char *status, struct context_liveness *liveness)
{
    uint64_t pending = keep_pending(status);
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
        if (liveness->asked_signal != 0 || (pending >> (asking[i] - 1) & 1) == 0)
            continue;
        liveness->asked_signal = asking[i];
        liveness->asked_realtime_ns = clock_now_ns(CLOCK_REALTIME);
    }
}

// read_kernel_function reads the function of the kernel that the process's first thread
// sleeps in. It is "0" where we may not know.
static void read_kernel_function(pid_t pid, char *out, size_t size)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    out[0] = 0;
    if (read_process_file(pid, "wchan", size - 1, &name) != CH_ERR_IO && name.size > 1)
        (void)snprintf(out, size, "%s", name.bytes);
}

// keep_state is the state letter of the process's first thread; 0: it has ended.
static char keep_state(const char *status)
{
    const char *at = find_line(status, "\nState:\t");
    char state = at != NULL ? *at : 0;
    return state != 'Z' && state != 'X' ? state : 0;
}

// note_state notes whether the process's first thread sleeps uninterruptibly. One that
// no longer does may be exiting, so the earlier state counts until the next look.
static void note_state(struct keep *keep, char state, const char *status)
{
    struct context_liveness *liveness = &keep->liveness;
    if (keep->freed)
        liveness->stuck_since_ns = 0;
    keep->freed = state != 'D';
    if (keep->freed)
        return;
    liveness->stuck_seen_ns = clock_now_ns(CLOCK_REALTIME);
    if (liveness->stuck_since_ns == 0)
        liveness->stuck_since_ns = liveness->stuck_seen_ns;
    read_kernel_function(keep->usage.pid, liveness->stuck_in,
                         sizeof(liveness->stuck_in));
    keep_parse_status(status, liveness);
}

// read_processor_time reads the limit and the use of the processor's time, of a process
// that has ended and is not reaped as well.
static void read_processor_time(pid_t pid, struct context_liveness *liveness)
{
    struct rlimit limit;
    clockid_t clock;
    if (prlimit(pid, RLIMIT_CPU, NULL, &limit) != 0)
        return;
    liveness->cpu_limit_s = limit.rlim_max != RLIM_INFINITY ? limit.rlim_max : 0;
    if (liveness->cpu_limit_s != 0 && clock_getcpuclockid(pid, &clock) == 0 &&
        clock_now_ms(clock) > liveness->cpu_used_ms)
        liveness->cpu_used_ms = clock_now_ms(clock);
}

void keep_follow(struct keep *keep)
{
    if (usage_follow(&keep->usage))
        usage_events(&keep->usage, &keep->before);
}

void keep_look(struct keep *keep)
{
    const pid_t pid = keep->usage.pid;
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    text_append(&status, "\n", 1);
    if (read_process_file(pid, "status", KEEP_FILE_BYTES, &status) == CH_ERR_IO ||
        !text_ok(&status) || keep_state(status.bytes) == 0)
        return; // that is its end, and the samples are to say how it was before
    keep_follow(keep);
    if ((keep_pending(status.bytes) >> (SIGKILL - 1) & 1) == 0) // nor when it is killed
        usage_sample(&keep->usage, 0, &keep->liveness);
    note_state(keep, keep_state(status.bytes), status.bytes);
    read_processor_time(pid, &keep->liveness);
}

// name_asker looks up the name of the sender, if that process still exists.
static void name_asker(struct context_liveness *liveness)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    liveness->asked_by_name[0] = 0;
    if (liveness->asked_by > 0 &&
        read_process_file(liveness->asked_by, "comm", sizeof(liveness->asked_by_name),
                          &name) == CH_OK &&
        name.size > 1)
        (void)snprintf(liveness->asked_by_name, sizeof(liveness->asked_by_name), "%.*s",
                       (int)strcspn(name.bytes, "\n"), name.bytes);
}

bool keep_asked(struct keep *keep, int signal, const siginfo_t *info)
{
    struct context_liveness *liveness = &keep->liveness;
    bool asks = false;
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++)
        asks |= asking[i] == signal;
    bool sent = info->si_code <= 0; // else the kernel itself has
    if (!asks || (sent && info->si_pid == keep->usage.pid))
        return false;
    liveness->asked_signal = signal;
    liveness->asked_realtime_ns = clock_now_ns(CLOCK_REALTIME);
    liveness->asked_by = !sent               ? 0
                         : info->si_pid != 0 ? info->si_pid
                                             : LIVENESS_ASKED_OUTSIDE;
    name_asker(liveness);
    return true;
}

void keep_note_sender(struct context_liveness *liveness,
                      const struct context_liveness *told)
{
    if (told->told_signal <= 0 || told->told_signal > SIGRTMAX ||
        told->told_realtime_ns <= liveness->asked_realtime_ns)
        return;
    // The supervisor that passes a signal on knows its sender better.
    bool passed_on = liveness->asked_signal == told->told_signal &&
                     liveness->supervisor == told->told_by;
    liveness->asked_realtime_ns = told->told_realtime_ns;
    if (passed_on)
        return;
    liveness->asked_signal = told->told_signal;
    liveness->asked_by = told->told_by;
    name_asker(liveness);
}

void keep_end(struct keep *keep, int signal)
{
    struct context_liveness *liveness = &keep->liveness;
    usage_events(&keep->usage, &liveness->events);
    usage_events_since(&keep->before, &liveness->events);
    if (keep->usage.folder[0] != 0)
        usage_limits(&keep->usage, liveness);
    read_processor_time(keep->usage.pid, liveness);
    liveness->end_signal = signal;
    liveness->end_realtime_ns = clock_now_ns(CLOCK_REALTIME);
}
