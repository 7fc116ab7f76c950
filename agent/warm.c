// SPDX-License-Identifier: Apache-2.0
#include "agent/warm.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "agent/finish.h"
#include "agent/images/read_file.h"
#include "agent/live/facts.h"
#include "agent/live/target_memory.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 // for headers older than Linux 5.14
#endif

enum {
    PAGE_BYTES = 4096,
    STACK_BYTES = 96 << 10, // what a small crash uses of the stack
    STATUS_LIMIT_BYTES = 16 << 10,
};

void warm_bytes(void *bytes, size_t size)
{
    volatile char *at = bytes;
    for (size_t i = 0; i < size; i += PAGE_BYTES)
        at[i] = 0;
}

static __attribute__((noinline)) void warm_stack(void)
{
    char bytes[STACK_BYTES];
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
        { 512, 8 },     { 1 << 10, 8 },  { 2 << 10, 4 },  { 4 << 10, 4 },
        { 8 << 10, 3 }, { 16 << 10, 2 }, { 32 << 10, 1 },
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

// warm_process reads what a report will ask the kernel of the process.
static void warm_process(pid_t pid)
{
    struct process_facts facts;
    struct host_facts host;
    struct text status = { 0 };
    facts_read_process(&facts, pid, pid);
    facts_read_host(&host, pid, &facts.cgroup);
    (void)!read_process_file(pid, "maps", STATUS_LIMIT_BYTES, &status);
    facts_deinit_host(&host);
    facts_deinit_process(&facts);
    text_deinit(&status);
}

void warm_begin(pid_t pid)
{
    warm_code();
    warm_stack();
    warm_heap();
    target_memory_warm();
    (void)finish_is_possible();
    if (pid != 0)
        warm_process(pid);
}
