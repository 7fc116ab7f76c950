// SPDX-License-Identifier: Apache-2.0
//
// Faults and signals of one thread.
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "handler/victim.h"
#include "shared/request_page.h"

void victim_null_write(void)
{
    *(volatile int *)0 = 1;
}

void victim_wild_write(void)
{
    *(volatile int *)0x123456789a8 = 1;
}

static void divide(void)
{
    volatile int dividend = 10;
    volatile int zero = 0;
    volatile int result = dividend / zero;
    (void)result;
}

static void illegal(void)
{
#if defined(__aarch64__)
    __asm__ volatile(".inst 0"); // the compiler's trap is a breakpoint there
#else
    __builtin_trap();
#endif
}

static void breakpoint(void)
{
    __asm__ volatile(
#if defined(__x86_64__)
        "int3"
#else
        "brk #0"
#endif
    );
}

static void bus(void)
{
    FILE *file = tmpfile();
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    (void)page[0];
}

// trap_call has the kernel answer one system call with SIGSYS.
static void trap_call(unsigned number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void forbidden_call(void)
{
    trap_call(SYS_getppid);
    getppid();
}

// Our own way to the agent is a forbidden call.
static void forbidden_agent(void)
{
    trap_call(SYS_clone);
    victim_null_write();
}

static int crash_at_image(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)info;
    (void)size;
    (void)argument;
    victim_null_write();
    return 0;
}

static void in_loader_lock(void)
{
    dl_iterate_phdr(crash_at_image, NULL);
}

// malloc finds its heap damaged and aborts, its lock held.
static void in_malloc(void)
{
    // Behind a pointer, or a compiler leaves out what is not used.
    void *(*volatile allocate)(size_t) = malloc;
    volatile char *block = allocate(24);
    for (int i = 0; i < 40; i++) // over the size of what follows
        block[i] = (char)0xff;
    for (size_t size = 32; size < 1 << 22; size *= 2)
        (void)allocate(size);
}

static void out_of_memory(void)
{
    setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, RLIM_INFINITY });
    abort();
}

void victim_kill_self(void)
{
    kill(getpid(), SIGSEGV);
}

static void wait_for_kill(void)
{
    victim_say("ready\n");
    for (;;)
        pause();
}

static volatile int depth_wanted = 1;

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char room[256];
    room[0] = (char)depth;
    return depth_wanted ? recurse(depth + 1) + room[0] : 0;
}

void victim_overflow(void)
{
    recurse(0);
}

// unmap_ours takes the request page away, which begins with its magic number.
static void unmap_ours(void)
{
    FILE *list = fopen("/proc/self/maps", "r");
    char line[512];
    while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
        uintptr_t from;
        uintptr_t until;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &until, rights) != 3 ||
            strcmp(rights, "rw-p") != 0 || strpbrk(line, "/[") != NULL)
            continue;
        for (; from < until; from += 4096) {
            if (*(uint64_t *)from == REQUEST_MAGIC)
                munmap((void *)from, 4096);
        }
    }
}

static void crash_in_handler(void)
{
    unmap_ours();
    victim_null_write();
}

static void crash_in_handler_of_abort(void)
{
    unmap_ours();
    abort();
}

static void not_dumpable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    victim_null_write();
}

static void quit(void)
{
    raise(SIGQUIT);
}

static void change_folder(void)
{
    if (chdir("/") == 0)
        victim_null_write();
}

static void live(void)
{
    victim_say("alive\n");
}

const struct victim_way victim_faults[] = {
    { "null-write", victim_null_write },
    { "wild-write", victim_wild_write },
    { "abort", abort },
    { "divide", divide },
    { "illegal", illegal },
    { "breakpoint", breakpoint },
    { "bus", bus },
    { "forbidden-call", forbidden_call },
    { "forbidden-agent", forbidden_agent },
    { "in-loader-lock", in_loader_lock },
    { "in-malloc", in_malloc },
    { "out-of-memory", out_of_memory },
    { "kill-self", victim_kill_self },
    { "wait-for-kill", wait_for_kill },
    { "overflow", victim_overflow },
    { "crash-in-handler", crash_in_handler },
    { "crash-in-handler-of-abort", crash_in_handler_of_abort },
    { "not-dumpable", not_dumpable },
    { "quit", quit },
    { "change-folder", change_folder },
    { "live", live },
    { NULL, NULL },
};
