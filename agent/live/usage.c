// SPDX-License-Identifier: Apache-2.0
#include "agent/live/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

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

// number_of_word is the number after word, which includes the line's end before it,
// except in the first line.
static uint64_t number_of_word(const struct text *text, const char *word)
{
    const char *at = text->size != 0 ? strstr(text->bytes, word) : NULL;
    return at != NULL ? usage_number(at + strlen(word)) : 0;
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

// find_line is the path in the line of /proc/PID/cgroup that has word; NULL: none has.
static const char *find_line(const char *lines, const char *word)
{
    const char *at = strstr(lines, word);
    return at != NULL ? at + strlen(word) : NULL;
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

void usage_open(struct usage *out, pid_t pid)
{
    *out = (struct usage){ .pid = pid };
    (void)open_as(out, pid, 0);
}

bool usage_follow(struct usage *usage)
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
    const char *at = text->size != 0 ? strstr(text->bytes, word) : NULL;
    if (at == NULL)
        return 0;
    at += strlen(word);
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

void usage_limits(const struct usage *usage, struct context_liveness *liveness)
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
    liveness->peak_bytes =
        read_usage_number(usage, limited, v2 ? "peak" : "max_usage_in_bytes", "\n");
    read_pressure(usage, &sample);
    if (sample.rss_bytes == 0)
        return; // it has given up its memory: it is exiting
    liveness->sample[liveness->samples % LIVENESS_SAMPLES] = sample;
    liveness->samples++;
}

uint64_t usage_peak(const struct usage *usage)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    if (read_process_file(usage->pid, "status", USAGE_FILE_BYTES, &text) != CH_OK)
        return 0;
    return number_of_word(&text, "\nVmHWM:") << 10;
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

// count_oomd_kills reads the attribute by which systemd-oomd counts on a cgroup.
static uint64_t count_oomd_kills(const struct usage *usage)
{
    char number[24] = "";
    ssize_t size =
        getxattr(usage->folder, "user.oomd_kill", number, sizeof(number) - 1);
    return size > 0 ? usage_number(number) : 0;
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
    out->oomd_kills = count_oomd_kills(usage);
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
