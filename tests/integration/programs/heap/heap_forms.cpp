// SPDX-License-Identifier: Apache-2.0
//
// heap_forms WAY: allocates and frees by every function that libcrashhook-heap stands
// before. churn: as a program should. keep: keeps known amounts, frees others, prints a
// line, and waits for a line on stdin. fill: the same, after more blocks of three pages
// than can be guarded. crash: as keep, but it aborts.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static const std::align_val_t aligned = std::align_val_t(64);

// one_of_each frees each block in all forms that C++ allows for it.
__attribute__((noinline)) static void one_of_each(size_t size)
{
    operator delete(operator new(size));
    operator delete(operator new(size), size);
    operator delete(operator new(size, std::nothrow), std::nothrow);
    operator delete[](operator new[](size));
    operator delete[](operator new[](size), size);
    operator delete[](operator new[](size, std::nothrow), std::nothrow);
    operator delete(operator new(size, aligned), aligned);
    operator delete(operator new(size, aligned), size, aligned);
    operator delete(operator new(size, aligned, std::nothrow), aligned, std::nothrow);
    operator delete[](operator new[](size, aligned), aligned);
    operator delete[](operator new[](size, aligned), size, aligned);
    operator delete[](operator new[](size, aligned, std::nothrow), aligned,
                      std::nothrow);
    void *block = nullptr;
    if (posix_memalign(&block, 128, size) != 0)
        exit(1);
    free(block);
    free(malloc(size));
    free(calloc(2, size));
    free(realloc(malloc(size / 2), size));
    block = reallocarray(calloc(1, size), 3, size);
    if (block == nullptr)
        exit(1);
    free(block);
    free(aligned_alloc(32, size / 32 * 32 + 32));
    free(memalign(256, size));
    free(valloc(size));
    free(pvalloc(size));
    char *copy = strdup("a copy");
    memset(copy, 0, malloc_usable_size(copy));
    free(copy);
}

static void *volatile sink; // so that the compiler leaves no call out

static void keep_pages()
{
    for (int i = 0; i < 1000; i++)
        sink = memset(malloc(12288), 1, 12288);
}

__attribute__((noinline)) static void keep_by_new()
{
    for (int i = 0; i < 30000; i++) {
        sink = operator new[](64);
        operator delete[](operator new[](640));
    }
}

__attribute__((noinline)) static void keep_by_malloc()
{
    for (int i = 0; i < 300; i++) {
        sink = malloc(100000); // more than a slot has
        free(malloc(100000));
    }
}

__attribute__((noinline)) static void keep_by_realloc()
{
    for (int i = 0; i < 10000; i++)
        sink = realloc(realloc(malloc(10), 100), 300);
}

int main(int argc, char **argv)
{
    bool crashes = argc > 1 && strcmp(argv[1], "crash") == 0;
    bool fills = argc > 1 && strcmp(argv[1], "fill") == 0;
    bool keeps = crashes || fills || (argc > 1 && strcmp(argv[1], "keep") == 0);
    for (size_t i = 0; !keeps && i < 400; i++)
        one_of_each(i * i % 3000 + 1);
    if (fills)
        keep_pages();
    if (keeps) {
        keep_by_new();
        keep_by_malloc();
        keep_by_realloc();
    }
    if (crashes)
        abort();
    puts("survived");
    fflush(stdout);
    char byte;
    return keeps && read(STDIN_FILENO, &byte, 1) < 0;
}
