// SPDX-License-Identifier: Apache-2.0
//
// recovers WAY COUNT: a program that turns its own faults into something else, as .NET
// and the JVM do, COUNT times: by a changed context (context), by making the memory
// accessible (mprotect) or by siglongjmp (jump). It prints how many nanoseconds one
// fault has cost, the median of ten parts, and exits as if nothing had been.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { PARTS = 10 };

static sigjmp_buf back;
static char *page;
static volatile int faults;

static void step_over(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *registers = context;
#if defined(__x86_64__)
    registers->uc_mcontext.gregs[REG_RIP] += 3; // movb $1, (%rax)
#else
    registers->uc_mcontext.pc += 4;
#endif
    faults++;
}

static void open_page(int number)
{
    (void)number;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    faults++;
}

static void jump(int number)
{
    (void)number;
    faults++;
    siglongjmp(back, 1);
}

__attribute__((noinline)) static void write_to(char *address)
{
#if defined(__x86_64__)
    __asm__ volatile("movb $1, (%0)" : : "a"(address) : "memory");
#else
    __asm__ volatile("strb wzr, [%0]" : : "r"(address) : "memory");
#endif
}

static void fault(const char *way)
{
    if (strcmp(way, "mprotect") == 0)
        mprotect(page, 4096, PROT_NONE);
    if (strcmp(way, "jump") != 0 || sigsetjmp(back, 1) == 0)
        write_to(page);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO };
    double parts[PARTS];

    if (argc != 3)
        return 2;
    int count = (int)strtol(argv[2], NULL, 10) / PARTS;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(argv[1], "context") == 0)
        action.sa_sigaction = step_over;
    else
        action =
            (struct sigaction){ .sa_handler =
                                    strcmp(argv[1], "jump") == 0 ? jump : open_page };
    sigaction(SIGSEGV, &action, NULL);
    for (int part = 0; part < PARTS; part++) {
        double began = now_ns();
        for (volatile int i = 0; i < count; i++)
            fault(argv[1]);
        parts[part] = (now_ns() - began) / count;
    }
    qsort(parts, PARTS, sizeof(parts[0]), compare);
    printf("%.0f\n", parts[PARTS / 2]);
    return faults == count * PARTS ? 0 : 1;
}
