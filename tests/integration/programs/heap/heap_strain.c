// SPDX-License-Identifier: Apache-2.0
//
// heap_strain WHAT: correct programs that strain an allocator: forks, threads, signals,
// atfork, dlopen, limits, seccomp, pattern. Ends with "survived", and status 1 if
// memory was not its own.
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 64, ROUNDS = 2000, SIZE_MAX_BYTES = 9000 };

static void fail(const char *what)
{
    fprintf(stderr, "failed: %s\n", what);
    _exit(1);
}

static uint32_t random_of(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void expect(const unsigned char *block, size_t size, unsigned char fill,
                   const char *what)
{
    for (size_t i = 0; i < size; i++)
        if (block[i] != fill)
            fail(what);
}

// replace frees a block of one size, and allocates another.
static unsigned char *replace(unsigned char *block, size_t old, size_t size,
                              unsigned way)
{
    unsigned char fill = old != 0 ? block[0] : 0;
    void *made = NULL;
    if (way == 0) {
        made = realloc(block, size + 1);
        expect(made, old < size ? old : size, fill, "realloc");
        return made;
    }
    free(block);
    if (way == 1) {
        made = calloc(1, size);
        expect(made, size, 0, "calloc");
        return made;
    }
    if (way == 2 &&
        (posix_memalign(&made, 128, size) != 0 || (uintptr_t)made % 128 != 0))
        fail("posix_memalign");
    return way == 2 ? made : malloc(size);
}

// exercise allocates, fills, compares, moves and frees blocks of all sizes.
static void exercise(uint32_t seed, int rounds)
{
    unsigned char *blocks[BLOCKS] = { NULL };
    size_t sizes[BLOCKS] = { 0 };
    for (int i = 0; i < rounds; i++) {
        size_t at = random_of(&seed) % BLOCKS;
        size_t size = random_of(&seed) % SIZE_MAX_BYTES;
        unsigned char fill = (unsigned char)(at + 1);
        expect(blocks[at], sizes[at], fill, "a block was changed");
        errno = 77;
        blocks[at] = replace(blocks[at], sizes[at], size, random_of(&seed) % 5);
        if (errno != 77 || blocks[at] == NULL ||
            (size >= 16 && (uintptr_t)blocks[at] % 16 != 0))
            fail("errno, memory or alignment");
        if (malloc_usable_size(blocks[at]) < size)
            fail("malloc_usable_size");
        memset(blocks[at], fill, size);
        sizes[at] = size;
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void await_child(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("a child");
}

static atomic_bool is_over;

static void *strain_thread(void *seed)
{
    while (!is_over)
        exercise((uint32_t)(uintptr_t)seed, 50);
    return NULL;
}

static void *short_thread(void *seed)
{
    exercise((uint32_t)(uintptr_t)seed, 40);
    return NULL;
}

static void strain_forks(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, strain_thread, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        pid_t child = i % 4 == 0 ? vfork() : fork();
        if (child == 0) {
            if (i % 4 != 0)
                exercise((uint32_t)i, 100);
            _exit(0);
        }
        await_child(child);
    }
    is_over = true;
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void strain_threads(void)
{
    enum { AT_ONCE = 100, ROUNDS_OF_THREADS = 10 };
    pthread_t threads[AT_ONCE];
    for (int round = 0; round < ROUNDS_OF_THREADS; round++) {
        for (size_t i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], NULL, short_thread, (void *)(i + 1)) != 0)
                fail("pthread_create");
        for (size_t i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
}

// The handler frees what another call of it allocated, and allocates. glibc's malloc
// may not be called there, so the main program does not call it meanwhile; ours is
// called all the time.
static void *volatile kept;
static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals = signals + 1;
}

static void on_alarm(int number)
{
    (void)number;
    void *block = malloc(100);
    free(kept);
    kept = block;
    signals = signals + 1;
}

// use_small_stack makes handlers run on a stack that has one page more than the kernel
// needs, as one of the classic 8 KiB has about.
static void use_small_stack(void)
{
    enum { PAGE_BYTES = 4096, MAP_BYTES = 1 << 20 };
    const size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + PAGE_BYTES;
    char *map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = { .ss_sp = map + PAGE_BYTES, .ss_size = size };
    if (map == MAP_FAILED || mprotect(map, PAGE_BYTES, PROT_NONE) != 0 ||
        sigaltstack(&stack, NULL) != 0)
        fail("sigaltstack");
}

static void strain_signals(const char *allocates)
{
    const struct itimerval often = { { 0, 200 }, { 0, 200 } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };
    bool is_handler = strcmp(allocates, "handlers") == 0;
    const struct sigaction action = { .sa_handler = is_handler ? on_alarm : on_signal,
                                      .sa_flags = SA_RESTART | SA_ONSTACK };
    if (is_handler)
        use_small_stack();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 500) {
        if (!is_handler)
            exercise(3, 100);
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

static void allocate_around(void)
{
    free(malloc(300));
    kept = realloc(kept, 20);
}

static void strain_atfork(void)
{
    pthread_atfork(allocate_around, allocate_around, allocate_around);
    strain_forks();
}

static void strain_dlopen(void)
{
    for (int i = 0; i < 40; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        void *other = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        exercise((uint32_t)i, 20);
        if (library == NULL || dlerror() != NULL)
            fail("dlopen");
        if (other != NULL)
            dlclose(other);
        dlclose(library);
    }
}

static void strain_limits(void)
{
    const struct rlimit limit = { 256 << 20, 256 << 20 };
    setrlimit(RLIMIT_AS, &limit);
    exercise(5, ROUNDS);
    size_t all = 0;
    while (all < 1u << 30 && malloc(1 << 20) != NULL)
        all += 1 << 20;
    if (all < 160u << 20 || all >= 256u << 20)
        fail("RLIMIT_AS");
}

// strain_seccomp allows what glibc's malloc calls, and what ends the program.
static void strain_seccomp(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        fail("seccomp");
    exercise(9, ROUNDS);
    (void)!write(1, "survived\n", 9);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "forks") == 0)
        strain_forks();
    else if (strcmp(what, "threads") == 0)
        strain_threads();
    else if (strcmp(what, "signals") == 0 || strcmp(what, "handlers") == 0)
        strain_signals(what);
    else if (strcmp(what, "atfork") == 0)
        strain_atfork();
    else if (strcmp(what, "dlopen") == 0)
        strain_dlopen();
    else if (strcmp(what, "limits") == 0)
        strain_limits();
    else if (strcmp(what, "seccomp") == 0)
        strain_seccomp();
    else
        exercise(1, ROUNDS * 10);
    puts("survived");
    return 0;
}
