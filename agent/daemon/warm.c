// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/warm.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "agent/live/capture.h"
#include "agent/raw/finish.h"
#include "agent/raw/raw_report.h"
#include "agent/raw/store.h"
#include "base/system/populate.h"
#include "images/read_file.h"
#include "report/file/report_id.h"

enum {
    PAGE_BYTES = 4096,
    STACK_BYTES = 96 << 10, // what a small crash uses of the stack
};

void warm_bytes(void *bytes, size_t size)
{
    volatile char *at = bytes;
    for (size_t i = 0; i < size; i += PAGE_BYTES)
        at[i] = at[i];
}

static __attribute__((noinline)) void warm_stack(void)
{
    char bytes[STACK_BYTES] = { 0 };
    warm_bytes(bytes, sizeof(bytes));
}

// warm_heap has the blocks that a small crash uses in the heap's lists of free ones.
static void warm_heap(void)
{
    static const struct {
        size_t bytes;
        size_t count;
    } sizes[] = {
        { 32, 16 },     { 64, 16 },      { 128, 16 },     { 256, 16 },
        { 512, 8 },     { 1 << 10, 8 },  { 2 << 10, 4 },  { 4 << 10, 5 },
        { 8 << 10, 4 }, { 16 << 10, 2 }, { 32 << 10, 1 },
    };
    enum { HEAD_BYTES = 16, BLOCKS = 128 };
    void *blocks[BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < sizes[i].count && count < BLOCKS; j++) {
            blocks[count] = calloc(1, sizes[i].bytes - HEAD_BYTES);
            if (blocks[count] != NULL)
                warm_bytes(blocks[count++], sizes[i].bytes - HEAD_BYTES);
        }
    }
    while (count != 0)
        free(blocks[--count]);
}

// warm_code maps the program's own text and constants.
static void warm_code(void)
{
    extern char __executable_start[];
    extern char edata[];
    (void)madvise(__executable_start, (size_t)(edata - __executable_start),
                  MADV_POPULATE_READ);
}

// warm_report makes a report of the process, which runs on meanwhile, and drops it: a
// crash will take the same ways through the program, touch the same memory and read
// much of the same memory of the process.
static void warm_report(pid_t pid, const struct settings *settings)
{
    char id[REPORT_ID_SIZE];
    struct text CH_CLEANUP(text_deinit) report = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    struct capture *capture = calloc(1, sizeof(*capture));
    if (capture == NULL)
        return;
    capture->settings = settings;
    capture->held = &held;
    capture->home = settings->sanitize != SETTING_NO ? getenv("HOME") : NULL;
    capture->stop = (struct stop){ .pid = pid, .traced = true }; // nothing is stopped
    capture->memory_fd = -1;
    capture->careful = true; // no page of a running program is to be made for us
    report_id_make(0, id);
    if (capture_take(capture, pid) == CH_OK &&
        raw_report_write(capture, id, -1, &report) == CH_OK)
        target_memory_remember(&capture->memory);
    capture_deinit(capture);
    free(capture);
}

static const char *warm_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// warm_entries opens the files of /proc that every report reads.
static void warm_entries(pid_t pid)
{
    static const char *const names[] = { "status", "stat", "cmdline", "cgroup" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        read_process_file_keep(pid, names[i]);
    facts_remember_root(pid);
}

void warm_begin(pid_t pid, const struct settings *settings)
{
    warm_code();
    warm_stack();
    warm_heap();
    (void)finish_is_possible();
    store_ahead(settings, warm_variable);
    if (pid != 0) {
        warm_entries(pid);
        warm_report(pid, settings);
    }
    target_memory_warm();
}
