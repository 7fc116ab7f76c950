// SPDX-License-Identifier: Apache-2.0
//
// Stopping the other threads as early as possible, in crash context (see crash.c): by
// the process that becomes the agent, before it executes that. The kernel keeps the
// tracer of a thread when it executes another program. Until they have stopped, one of
// them might end the process, or replace it by another program.
//
// A thread that executes another program waits until those that we trace are reaped,
// and we would wait for it in PTRACE_SEIZE: a timer, which exec deletes, ends that. On
// a slow machine, each of many threads takes its time.
//
// The agent seizes the threads that are missed here, such as those created meanwhile,
// and finds out why the kernel refuses one.
#include "handler/crash/crash.h"

#include <linux/ptrace.h>

#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/machine/timer_syscalls.h"

#include "handler/machine/poison.h"

// entry is the kernel's struct dirent64.
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

// open_tasks opens the folder in /proc with the threads of the process. It writes the
// path from its end.
static int open_tasks(uint32_t pid)
{
    char path[32];
    char *at = path + sizeof(path);
    for (size_t i = sizeof("/task"); i > 0; i--)
        *--at = "/task"[i - 1];
    do {
        *--at = (char)('0' + pid % 10);
    } while ((pid /= 10) != 0);
    for (size_t i = sizeof("/proc/") - 1; i > 0; i--)
        *--at = "/proc/"[i - 1];
    return sys_open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void seize_thread(int32_t tid)
{
    if (tid == 0 || tid == crash_plan->page->crashed_tid ||
        sys_ptrace(PTRACE_SEIZE, tid) != 0)
        return;
    crash_plan->page->seized = 1;
    sys_ptrace(PTRACE_INTERRUPT, tid);
}

// is_script returns true if the file is a script: its interpreter might start the agent
// as another process, which cannot trace what we do.
static bool is_script(const char *path)
{
    char start[2] = { 0, 0 };
    int fd = sys_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; // or no agent
    sys_read(fd, start, sizeof(start));
    sys_close(fd);
    return start[0] == '#';
}

// seize_next_ids seizes threads whose ids follow that of the process, as those of most
// do: to list a thread takes the kernel ten times as long. It returns their number.
static size_t seize_next_ids(int32_t pid, size_t count)
{
    enum { MISSES_MAX = 64 };
    size_t found = 0;
    size_t missed = 0;
    for (int32_t tid = pid; found < count && missed < MISSES_MAX; tid++) {
        if (!sys_has_thread(pid, tid)) {
            missed++;
            continue;
        }
        found++;
        seize_thread(tid);
    }
    return found;
}

static void seize_folder(int fd)
{
    long size;
    while ((size = sys_folder_entries(fd, crash_plan->scratch, CRASH_SCRATCH)) > 0) {
        for (const char *at = crash_plan->scratch; at < crash_plan->scratch + size;) {
            const struct entry *entry = (const void *)at;
            const char *name = entry->name;
            seize_thread((int32_t)sys_read_number(&name)); // 0: it is none
            at += entry->bytes;
        }
    }
}

void crash_seize_others(const char *agent)
{
    enum { LEAST = 120, PER_THREAD_BITS = 22, FOLDER_LINKS = 2 }; // 4 ms for a thread
    const struct sys_timer_event event = { .signal = SIGKILL };
    const int32_t pid = (int32_t)(crash_state.claim >> 32);
    struct stat folder = { .st_nlink = 0 };
    int timer = -1;
    int fd = is_script(agent) ? -1 : open_tasks((uint32_t)pid);
    // The kernel counts the threads as folders in this one.
    if (fd >= 0 && sys_status(fd, &folder) == 0 &&
        sys_timer_create(&event, &timer) == 0) {
        size_t count = (size_t)folder.st_nlink - FOLDER_LINKS;
        sys_timer_set(timer, (count + LEAST) << PER_THREAD_BITS);
        if (seize_next_ids(pid, count) < count)
            seize_folder(fd);
        sys_timer_delete(timer);
    }
    if (fd >= 0)
        sys_close(fd);
}
