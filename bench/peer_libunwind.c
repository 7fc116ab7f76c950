// SPDX-License-Identifier: Apache-2.0
//
// peer_libunwind PID none|global|thread: the minimal program that unwinds a process
// with libunwind-ptrace. Prints what bench_unwind prints.
#include <dirent.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS_MAX = 4096 };

static unsigned long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}

static size_t stop_all(const char *pid, pid_t *tids)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%s/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid != 0 && count < THREADS_MAX &&
            ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 &&
            ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
            tids[count++] = tid;
    }
    if (folder != NULL)
        closedir(folder);
    for (size_t i = 0; i < count; i++)
        waitpid(tids[i], NULL, __WALL);
    return count;
}

static size_t unwind_one(unw_addr_space_t space, pid_t tid)
{
    unw_cursor_t cursor;
    unw_word_t pc;
    size_t frames = 0;
    void *context = _UPT_create(tid);
    if (context == NULL || unw_init_remote(&cursor, space, context) != 0)
        return 0;
    do {
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0)
            break;
        frames++;
    } while (unw_step(&cursor) > 0);
    _UPT_destroy(context);
    return frames;
}

int main(int argc, char **argv)
{
    static pid_t tids[THREADS_MAX];
    size_t frames = 0;
    if (argc != 3)
        return 2;
    unsigned long begin = now_us();
    size_t threads = stop_all(argv[1], tids);
    unsigned long stopped = now_us();
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    unw_set_caching_policy(space, strcmp(argv[2], "global") == 0 ? UNW_CACHE_GLOBAL
                                  : strcmp(argv[2], "thread") == 0
                                      ? UNW_CACHE_PER_THREAD
                                      : UNW_CACHE_NONE);
    for (size_t i = 0; i < threads; i++)
        frames += unwind_one(space, tids[i]);
    unsigned long end = now_us();
    printf("%zu %zu %.3f %lu\n", threads, frames, (double)(end - begin) / 1000,
           end - stopped);
    return 0;
}
