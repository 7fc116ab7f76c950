// SPDX-License-Identifier: Apache-2.0
#include "agent/live/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/images/read_file.h"
#include "base/clock.h"

enum { CGROUP_LIMIT_BYTES = 16 << 10 };

#define UNIFIED_ROOT "/sys/fs/cgroup"
#define MEMORY_ROOT "/sys/fs/cgroup/memory"

// No machine has that much; version 1 says so of a cgroup without a limit.
static const uint64_t no_limit = UINT64_C(1) << 60;

// has_memory_file is whether the folder counts memory.
static bool has_memory_file(const struct usage *usage)
{
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/memory.%s", usage->folder,
                   usage->unified ? "current" : "usage_in_bytes");
    return access(path, R_OK) == 0;
}

// use_folder takes root and the path below it that a line of /proc/PID/cgroup names, or
// root alone. False: neither counts memory.
static bool use_folder(struct usage *usage, const char *root, const char *path)
{
    int length = (int)strcspn(path, "\n");
    (void)snprintf(usage->folder, sizeof(usage->folder), "%s%.*s", root,
                   length == 1 ? 0 : length, path);
    if (has_memory_file(usage))
        return true;
    (void)snprintf(usage->folder, sizeof(usage->folder), "%s", root);
    return has_memory_file(usage);
}

void usage_open(struct usage *out, pid_t pid)
{
    static const char memory[] = ":memory:";
    static const char unified[] = "\n0::";
    struct text lines = { 0 };
    *out = (struct usage){ .pid = pid };
    text_append(&lines, "\n", 1);
    if (read_process_file(pid, "cgroup", CGROUP_LIMIT_BYTES, &lines) == CH_OK) {
        const char *first = strstr(lines.bytes, memory);
        const char *second = strstr(lines.bytes, unified);
        if (first == NULL ||
            !use_folder(out, MEMORY_ROOT, first + sizeof(memory) - 1)) {
            out->unified = true;
            if (second == NULL ||
                !use_folder(out, UNIFIED_ROOT, second + sizeof(unified) - 1))
                out->folder[0] = 0;
        }
    }
    text_deinit(&lines);
}

// read_cgroup_number reads the number after word in a file of the cgroup; an empty word
// is the file's beginning. 0: there is none.
static uint64_t read_cgroup_number(const struct usage *usage, const char *name,
                                   const char *word)
{
    char path[PATH_MAX + 32];
    struct text text = { 0 };
    uint64_t number = 0;
    if (usage->folder[0] == 0)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/memory.%s", usage->folder, name);
    if (read_file(path, CGROUP_LIMIT_BYTES, &text) == CH_OK && text.size != 0) {
        const char *at = strstr(text.bytes, word);
        if (at != NULL)
            number = strtoull(at + strlen(word), NULL, 10);
    }
    text_deinit(&text);
    return number;
}

static uint64_t read_rss(pid_t pid)
{
    struct text text = { 0 };
    uint64_t pages = 0;
    if (read_process_file(pid, "statm", CGROUP_LIMIT_BYTES, &text) == CH_OK &&
        text.size != 0) {
        const char *second = strchr(text.bytes, ' ');
        pages = second != NULL ? strtoull(second, NULL, 10) : 0;
    }
    text_deinit(&text);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void usage_sample(const struct usage *usage, uint64_t rss_bytes,
                  struct context_life *life)
{
    const bool v2 = usage->unified;
    uint64_t limit = read_cgroup_number(usage, v2 ? "max" : "limit_in_bytes", "");
    life->limit_bytes = limit < no_limit ? limit : 0;
    life->sample[life->samples % LIFE_SAMPLES] = (struct life_sample){
        .realtime_ns = clock_now_ns(CLOCK_REALTIME),
        .rss_bytes = rss_bytes != 0 ? rss_bytes : read_rss(usage->pid),
        .cgroup_bytes =
            rss_bytes != 0
                ? 0
                : read_cgroup_number(usage, v2 ? "current" : "usage_in_bytes", ""),
    };
    life->samples++;
}

uint64_t usage_peak(const struct usage *usage)
{
    static const char peak[] = "\nVmHWM:";
    struct text text = { 0 };
    const char *line = NULL;
    if (read_process_file(usage->pid, "status", CGROUP_LIMIT_BYTES, &text) == CH_OK)
        line = strstr(text.bytes, peak);
    uint64_t kilobytes = line != NULL ? strtoull(line + sizeof(peak) - 1, NULL, 10) : 0;
    text_deinit(&text);
    return kilobytes << 10;
}

uint64_t usage_oom_kills(const struct usage *usage)
{
    return read_cgroup_number(usage, usage->unified ? "events" : "oom_control",
                              "\noom_kill ");
}
