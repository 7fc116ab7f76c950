// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/memory_limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "images/read_file.h"

enum { STATUS_LIMIT_BYTES = 16 << 10, LEVELS_MAX = 16 };

// A limit above this means that there is none.
#define UNLIMITED_BYTES (UINT64_C(1) << 60)

static bool is_near(const struct crash_memory *memory)
{
    return memory->limit_bytes != 0 && memory->limit_bytes < UNLIMITED_BYTES &&
           memory->used_bytes >= memory->limit_bytes / 4 * 3;
}

// number_after gives the number after a line's name; 0: it is not there.
static uint64_t number_after(const struct text *text, const char *name)
{
    const char *at = text->bytes != NULL ? strstr(text->bytes, name) : NULL;
    return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool find_resource(pid_t pid, struct crash_memory *out)
{
    static const struct {
        int resource;
        const char *name;
        const char *line; // of /proc/PID/status, in KiB
    } resources[] = {
        { RLIMIT_AS, "RLIMIT_AS", "\nVmSize:" },
        { RLIMIT_DATA, "RLIMIT_DATA", "\nVmData:" },
    };
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        struct rlimit limit;
        struct text status = { 0 };
        if (prlimit(pid, resources[i].resource, NULL, &limit) != 0 ||
            limit.rlim_cur == RLIM_INFINITY ||
            read_process_file(pid, "status", STATUS_LIMIT_BYTES, &status) != CH_OK) {
            text_deinit(&status);
            continue;
        }
        struct crash_memory found = {
            .limit = resources[i].name,
            .limit_bytes = limit.rlim_cur,
            .used_bytes = number_after(&status, resources[i].line) * 1024,
        };
        text_deinit(&status);
        if (is_near(&found)) {
            *out = found;
            return true;
        }
    }
    return false;
}

// A hierarchy is one of the two versions of cgroups: where a process's group is named,
// and its files.
struct hierarchy {
    const char *line; // what precedes the group in /proc/PID/cgroup
    const char *folder;
    const char *limit;
    const char *used;
    const char *stat_line;
    const char *name;
};

static uint64_t read_limit_number(const char *folder, const char *group,
                                  const char *file)
{
    char path[PATH_MAX];
    struct text text = { 0 };
    int length = snprintf(path, sizeof(path), "%s%s/%s", folder, group, file);
    bool fits = length > 0 && (size_t)length < sizeof(path);
    // "max" is not a number and reads as 0.
    uint64_t number = fits && read_file(path, STATUS_LIMIT_BYTES, &text) == CH_OK
                          ? strtoull(text.bytes, NULL, 10)
                          : 0;
    text_deinit(&text);
    return number;
}

static uint64_t read_inactive(const struct hierarchy *h, const char *group)
{
    char path[PATH_MAX];
    struct text text = { 0 };
    int length = snprintf(path, sizeof(path), "%s%s/memory.stat", h->folder, group);
    uint64_t bytes = 0;
    if (length > 0 && (size_t)length < sizeof(path) &&
        read_file(path, STATUS_LIMIT_BYTES, &text) == CH_OK)
        bytes = number_after(&text, h->stat_line);
    text_deinit(&text);
    return bytes;
}

static bool find_group(const struct hierarchy *h, const char *group,
                       struct crash_memory *out)
{
    struct crash_memory found = {
        .limit = h->name,
        .limit_bytes = read_limit_number(h->folder, group, h->limit),
    };
    if (found.limit_bytes == 0)
        return false;
    uint64_t used = read_limit_number(h->folder, group, h->used);
    uint64_t inactive = read_inactive(h, group);
    found.used_bytes = used > inactive ? used - inactive : 0;
    if (!is_near(&found))
        return false;
    *out = found;
    return true;
}

// find_hierarchy checks a process's group and its ancestors, except the root, which has
// no limit.
static bool find_hierarchy(const struct hierarchy *h, const struct text *cgroup,
                           struct crash_memory *out)
{
    char group[PATH_MAX];
    const char *at = cgroup->bytes != NULL ? strstr(cgroup->bytes, h->line) : NULL;
    if (at == NULL || (h->line[0] == '0' && at != cgroup->bytes && at[-1] != '\n'))
        return false;
    at += strlen(h->line);
    size_t size = strcspn(at, "\n");
    // A group outside this cgroup namespace begins with "/..".
    if (size >= sizeof(group) || strncmp(at, "/..", 3) == 0)
        return false;
    memcpy(group, at, size);
    group[size] = 0;
    for (int level = 0; level < LEVELS_MAX && strlen(group) > 1; level++) {
        if (find_group(h, group, out))
            return true;
        *strrchr(group, '/') = 0;
    }
    return false;
}

uint64_t memory_limits_stack(pid_t pid)
{
    struct rlimit limit;
    return prlimit(pid, RLIMIT_STACK, NULL, &limit) == 0 &&
                   limit.rlim_cur != RLIM_INFINITY
               ? limit.rlim_cur
               : 0;
}

void memory_limits_find(pid_t pid, const struct text *cgroup, struct crash_memory *out)
{
    static const struct hierarchy hierarchies[] = {
        { "0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ",
          "memory.max of its cgroup" },
        { ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
          "memory.usage_in_bytes", "total_inactive_file ",
          "memory.limit_in_bytes of its cgroup" },
    };
    *out = (struct crash_memory){ 0 };
    if (find_resource(pid, out))
        return;
    for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
        if (find_hierarchy(&hierarchies[i], cgroup, out))
            return;
    }
}
