// SPDX-License-Identifier: Apache-2.0
//
// heap_musl [WRITES]: allocates in all ways that musl has, with forks and threads, of
// which one with a small stack loads the program. With an argument it writes to a block
// that a thread, which has ended, has freed.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile block;

__attribute__((noinline)) static char *make_block(void)
{
    char *made = calloc(3, 16);
    __asm__ volatile("" ::: "memory");
    return made;
}

__attribute__((noinline)) static void free_block(char *made)
{
    free(made);
    __asm__ volatile("" ::: "memory");
}

static void *free_it(void *unused)
{
    pthread_setname_np(pthread_self(), "io");
    free_block(block);
    return unused;
}

static void use_all_ways(size_t size)
{
    void *made = NULL;
    free(realloc(malloc(size), 2 * size));
    free(memalign(64, size));
    free(aligned_alloc(32, 32 * size));
    if (posix_memalign(&made, 256, size) != 0 || malloc_usable_size(made) < size)
        exit(1);
    free(made);
    made = strdup("a copy");
    free(made);
    free_block(make_block());
}

// is_sparse returns true if large zeroed memory takes no pages before it is written to.
static int is_sparse(void)
{
    const size_t large = (size_t)256 << 20;
    struct rusage usage;
    char *volatile memory = calloc(1, large);
    getrusage(RUSAGE_SELF, &usage);
    free(memory);
    return memory != NULL && (size_t)usage.ru_maxrss < large / 4 / 1024;
}

static void *open_program(void *unused)
{
    (void)dlopen(NULL, RTLD_NOW);
    return unused;
}

int main(int argc, char **argv)
{
    enum { SMALL_STACK = 4096 };
    pthread_attr_t small;
    pthread_t thread;
    if (!is_sparse())
        return 2;
    (void)argv;
    for (size_t i = 1; i < 500; i++)
        use_all_ways(i);
    pid_t child = fork();
    if (child == 0) {
        use_all_ways(100);
        _exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 1;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, SMALL_STACK);
    pthread_create(&thread, &small, open_program, NULL);
    pthread_join(thread, NULL);
    block = make_block();
    pthread_create(&thread, NULL, free_it, NULL);
    pthread_join(thread, NULL);
    if (argc > 1)
        block[40] = 1;
    puts("survived");
    return 0;
}
