// SPDX-License-Identifier: Apache-2.0
#include "cli/run/heap_summary.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/session/command.h"
#include "shared/heap_pool.h"

enum { LIVE_SHOWN = 5 };

// A process_heap is a line of the file.
struct process_heap {
    uint64_t pid;
    uint64_t slots;
    uint64_t guarded;
    uint64_t refused;
    uint64_t live;
    uint64_t live_bytes;
    char program[32];
};

static char summary_path[PATH_MAX]; // empty: there is none

// read_limit reads how many mappings a process may have; 0: not known.
static uint64_t read_limit(void)
{
    char line[32] = "";
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file == NULL)
        return 0;
    bool is_read = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    return is_read ? strtoull(line, NULL, 10) : 0;
}

// say_limit reports that the kernel allows fewer blocks than are wanted.
static void say_limit(void)
{
    const char *wanted_text = getenv("CRASHHOOK_HEAP_SLOTS");
    uint64_t wanted = wanted_text != NULL ? strtoull(wanted_text, NULL, 10) : 0;
    uint64_t maps = read_limit();
    uint64_t allowed = maps / HEAP_MAPS_PER_SLOT;
    if (wanted == 0)
        wanted = HEAP_SLOTS_OF_EVERY;
    // The kernel's default is less by two.
    if (maps != 0 && allowed + 2 < wanted)
        (void)command_fail("--heap every: vm.max_map_count (%" PRIu64
                           ") allows %" PRIu64 " of %" PRIu64
                           " guarded blocks at a time in a process; "
                           "sysctl vm.max_map_count=%" PRIu64 " allows them all",
                           maps, allowed, wanted, wanted * HEAP_MAPS_PER_SLOT);
}

void heap_summary_begin(const struct settings *settings)
{
    const char *folder = getenv("TMPDIR");
    if (settings->heap != HEAP_EVERY || settings->print == SETTING_NO)
        return;
    say_limit();
    (void)snprintf(summary_path, sizeof(summary_path), "%s/crashhook-heap.XXXXXX",
                   folder != NULL && folder[0] == '/' ? folder : "/tmp");
    int fd = mkstemp(summary_path);
    if (fd < 0 || setenv(HEAP_SUMMARY_VARIABLE, summary_path, 1) != 0) {
        (void)command_fail("--heap every: no summary: cannot write '%s'", summary_path);
        summary_path[0] = 0;
    }
    if (fd >= 0)
        (void)close(fd);
}

static bool parse_process(const char *line, struct process_heap *out)
{
    uint64_t *const numbers[] = { &out->pid,     &out->slots, &out->guarded,
                                  &out->refused, &out->live,  &out->live_bytes };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char *end;
        *numbers[i] = strtoull(line, &end, 10);
        if (end == line || *end != ' ')
            return false;
        line = end + 1;
    }
    (void)snprintf(out->program, sizeof(out->program), "%.*s", (int)strcspn(line, "\n"),
                   line);
    return true;
}

static void sum_process(struct process_heap *all, const struct process_heap *one)
{
    all->pid++; // counts them
    all->guarded += one->guarded;
    all->refused += one->refused;
    all->live += one->live;
    all->live_bytes += one->live_bytes;
    if (one->refused != 0 && one->slots > all->slots)
        all->slots = one->slots;
}

// keep_largest inserts a process among those with the most live bytes.
static void keep_largest(struct process_heap largest[LIVE_SHOWN],
                         const struct process_heap *one)
{
    size_t at = LIVE_SHOWN;
    while (at > 0 && one->live_bytes > largest[at - 1].live_bytes)
        at--;
    if (at == LIVE_SHOWN)
        return;
    memmove(largest + at + 1, largest + at, (LIVE_SHOWN - 1 - at) * sizeof(largest[0]));
    largest[at] = *one;
}

static void print_sums(const struct process_heap *all,
                       const struct process_heap largest[LIVE_SHOWN])
{
    (void)command_fail(
        "heap: %" PRIu64 " process%s exited, %" PRIu64 " allocations guarded; %" PRIu64
        " blocks (%" PRIu64 " bytes) were still allocated",
        all->pid, all->pid == 1 ? "" : "es", all->guarded, all->live, all->live_bytes);
    for (size_t i = 0; i < LIVE_SHOWN && largest[i].live != 0; i++)
        (void)command_fail(
            "heap: %" PRIu64 " blocks (%" PRIu64 " bytes) in process %" PRIu64 " (%s)",
            largest[i].live, largest[i].live_bytes, largest[i].pid, largest[i].program);
    if (all->refused != 0)
        (void)command_fail("heap: %" PRIu64
                           " allocations were not guarded, since %" PRIu64
                           " blocks or the memory for them were in use; "
                           "CRASHHOOK_HEAP_SLOTS=%" PRIu64
                           " and sysctl vm.max_map_count=%" PRIu64 " allow more",
                           all->refused, all->slots, 4 * all->slots,
                           4 * all->slots * HEAP_MAPS_PER_SLOT);
}

void heap_summary_end(void)
{
    struct process_heap all = { 0 };
    struct process_heap largest[LIVE_SHOWN + 1] = { 0 };
    struct process_heap one;
    char line[256];
    FILE *file = summary_path[0] != 0 ? fopen(summary_path, "re") : NULL;
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (!parse_process(line, &one))
            continue;
        sum_process(&all, &one);
        keep_largest(largest, &one);
    }
    (void)fclose(file);
    (void)unlink(summary_path);
    if (all.pid != 0)
        print_sums(&all, largest);
}
