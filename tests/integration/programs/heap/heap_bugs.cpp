// SPDX-License-Identifier: Apache-2.0
//
// heap_bugs KIND ACCESS SIZE HOW THREAD: misuses a block of the heap. KIND: after-free,
// overflow, underflow, damage, double-free, invalid-free, mismatched, again, none.
// ACCESS: read or write. HOW: how the block is allocated. THREAD: same, or other:
// another thread frees it, which is named io, if SIZE is odd by a second name.
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

struct alignas(64) wide {
    char bytes[64];
};

static const char *how;
static size_t size;
static bool writes;

static bool is_how(const char *word)
{
    return strcmp(how, word) == 0;
}

__attribute__((noinline)) static char *allocate_block()
{
    void *block = nullptr;
    if (is_how("malloc"))
        block = malloc(size);
    else if (is_how("calloc"))
        block = calloc(1, size);
    else if (is_how("realloc"))
        block = realloc(malloc(size / 2 + 1), size);
    else if (is_how("aligned"))
        block = aligned_alloc(64, (size + 63) / 64 * 64);
    else if (is_how("posix"))
        block = posix_memalign(&block, 256, size) == 0 ? block : nullptr;
    else if (is_how("new"))
        block = operator new(size);
    else if (is_how("new-array"))
        block = new char[size];
    else if (is_how("new-quiet"))
        block = operator new(size, std::nothrow);
    else
        block = operator new(size, std::align_val_t(64));
    if (block == nullptr)
        exit(3);
    if (is_how("aligned"))
        size = (size + 63) / 64 * 64;
    return static_cast<char *>(block);
}

__attribute__((noinline)) static void free_block(char *block)
{
    if (is_how("new") || is_how("new-quiet"))
        operator delete(block);
    else if (is_how("new-array"))
        delete[] block;
    else if (is_how("new-aligned"))
        operator delete(block, std::align_val_t(64));
    else
        free(block);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void free_otherwise(char *block)
{
    if (is_how("new") || is_how("new-quiet") || is_how("new-aligned"))
        delete[] block;
    else if (is_how("new-array"))
        operator delete(block);
    else
        operator delete(block);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void access_byte(volatile char *at)
{
    if (writes)
        *at = 1; // accessed here
    else
        (void)*at; // accessed here
}

static void free_in(const char *thread, char *block)
{
    if (strcmp(thread, "same") == 0) {
        free_block(block);
        return;
    }
    std::thread other([block] {
        const char *first = size % 2 == 0 ? "io" : "first";
        pthread_setname_np(pthread_self(), first);
        if (size % 2 != 0)
            prctl(PR_SET_NAME, "io");
        free_block(block);
    });
    other.join();
}

int main(int argc, char **argv)
{
    enum { PAGES = 8192 };
    if (argc != 6)
        return 2;
    const char *kind = argv[1];
    writes = strcmp(argv[2], "write") == 0;
    size = strtoul(argv[3], nullptr, 10);
    how = argv[4];
    // Without an end: each time the block may be guarded, or not.
    for (long i = 1; strcmp(kind, "again") == 0; i++) {
        char *block = allocate_block();
        free_block(block);
        printf("%ld\n", i);
        fflush(stdout);
        access_byte(block);
    }
    char *block = allocate_block();
    memset(block, 7, size);
    if (strcmp(kind, "none") != 0 && strcmp(kind, "after-free") != 0)
        printf("%p\n", static_cast<void *>(block));
    if (strcmp(kind, "after-free") == 0) {
        free_in(argv[5], block);
        access_byte(block + size / 2);
    } else if (strcmp(kind, "overflow") == 0) {
        for (size_t i = 0; i < PAGES; i++)
            access_byte(block + size + i);
    } else if (strcmp(kind, "underflow") == 0) {
        for (size_t i = 1; i < PAGES; i++)
            access_byte(block - i);
    } else if (strcmp(kind, "damage") == 0) {
        writes = true;
        access_byte(block + size);
        free_in(argv[5], block);
    } else if (strcmp(kind, "double-free") == 0) {
        free_in(argv[5], block);
        free_block(block);
    } else if (strcmp(kind, "invalid-free") == 0) {
        free_block(block + size / 2 + 1);
    } else if (strcmp(kind, "mismatched") == 0) {
        free_otherwise(block);
    } else {
        free_block(block);
    }
    puts("survived");
    return 0;
}
