// SPDX-License-Identifier: Apache-2.0
//
// peer_libdwfl PID: the minimal program that unwinds a process with elfutils. Prints
// what bench_unwind prints.
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}

struct count {
    size_t threads;
    size_t frames;
};

static int count_frame(Dwfl_Frame *frame, void *argument)
{
    struct count *count = argument;
    Dwarf_Addr pc;
    if (!dwfl_frame_pc(frame, &pc, NULL))
        return DWARF_CB_ABORT;
    count->frames++;
    return DWARF_CB_OK;
}

static int count_thread(Dwfl_Thread *thread, void *argument)
{
    struct count *count = argument;
    count->threads++;
    (void)dwfl_thread_getframes(thread, count_frame, count);
    return DWARF_CB_OK;
}

int main(int argc, char **argv)
{
    static char none[] = "";
    static char *no_debug_files = none;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &no_debug_files,
    };
    struct count count = { 0 };
    if (argc != 2)
        return 2;
    pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
    unsigned long begin = now_us();
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl == NULL || dwfl_linux_proc_report(dwfl, pid) != 0 ||
        dwfl_report_end(dwfl, NULL, NULL) != 0 ||
        dwfl_linux_proc_attach(dwfl, pid, false) != 0)
        return 1;
    unsigned long attached = now_us();
    (void)dwfl_getthreads(dwfl, count_thread, &count);
    unsigned long end = now_us();
    printf("%zu %zu %.3f %lu\n", count.threads, count.frames,
           (double)(end - begin) / 1000, end - attached);
    dwfl_end(dwfl);
    return 0;
}
