// SPDX-License-Identifier: Apache-2.0
#include "base/system/program_start.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

void standard_files_hold(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int useless = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        // open returns the lowest free number, which is this one.
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", useless | O_CLOEXEC) < 0)
            return;
    }
}

enum {
    NEEDED_BYTES = 1 << 20,
    MAPPED_BYTES = 8 << 20,
};

// run_on calls run on the stack that ends at end.
static int run_on(char *end, int (*run)(int argc, char **argv), int argc, char **argv)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %[end], %%rsp\n\t"
                     "call *%[run]\n\t"
                     "mov %%rbx, %%rsp"
                     : "=a"(result), "+D"(argc), "+S"(argv)
                     : [end] "r"(end), [run] "r"(run)
                     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
    return (int)result;
#elif defined(__aarch64__)
    register long x0 __asm__("x0") = argc;
    register char **x1 __asm__("x1") = argv;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[end]\n\t"
                     "blr %[run]\n\t"
                     "mov sp, x19"
                     : "+r"(x0), "+r"(x1)
                     : [end] "r"(end), [run] "r"(run)
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
                       "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30",
                       "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31");
    return (int)x0;
#else
    (void)end;
    return run(argc, argv);
#endif
}

int ample_stack_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= NEEDED_BYTES)
        return run(argc, argv);
    char *stack = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return run(argc, argv);
    return run_on(stack + MAPPED_BYTES, run, argc, argv);
}

#if defined(__GLIBC__) && !CRASHHOOK_SANITIZED

enum { HUGE_PAGE = 2 << 20, MAPPED_ALONE = 32 << 20, HEAP_MOST = 256 << 20 };

void large_heap_expect(size_t bytes)
{
    if (bytes < HUGE_PAGE)
        return;
    size_t size = bytes < HEAP_MOST ? bytes : HEAP_MOST;
    size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    // malloc accepts that other code moves the break, and goes on from there.
    uintptr_t now = (uintptr_t)sbrk(0);
    uintptr_t begin = (now + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (sbrk((intptr_t)(begin - now)) != (void *)now)
        return;
    (void)mallopt(M_TOP_PAD, (int)size);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX); // it stays as large as it is
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE);
    // More than is left of the heap, so that it grows; volatile, or the compiler would
    // remove the pair.
    void *volatile first = malloc(HUGE_PAGE);
    free(first);
    // Should the heap have to grow again, it is by little: there may be a limit.
    (void)mallopt(M_TOP_PAD, HUGE_PAGE);
    if ((uintptr_t)sbrk(0) > begin)
        (void)madvise((void *)begin, (uintptr_t)sbrk(0) - begin, MADV_HUGEPAGE);
}

#else

void large_heap_expect(size_t bytes)
{
    (void)bytes;
}

#endif
