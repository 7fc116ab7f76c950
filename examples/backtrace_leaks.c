// SPDX-License-Identifier: Apache-2.0
//
// A leak detector to be preloaded (docs/backtrace-leaks.md): it notes the stack of each
// malloc as a number of 4 bytes, forgets it at free, and prints what is left when the
// program ends, with its stack.
//
//     LD_PRELOAD=./libbacktrace_leaks.so ./program
#include <crashhook/backtrace.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 16, FRAMES = 32, STORE_BYTES = 8 << 20 };

struct block {
    uintptr_t address; // 0: the place is empty
    size_t size;
    uint32_t stack;
};

static struct crashhook_backtrace_store *stacks;
static struct block blocks[BLOCKS];
static atomic_flag is_locked = ATOMIC_FLAG_INIT;
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

// find_block gives the place of address, or the empty one where it belongs. NULL: the
// table is full.
static struct block *find_block(uintptr_t address)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        struct block *block = &blocks[(address / 16 + i) % BLOCKS];
        if (block->address == address || block->address == 0)
            return block;
    }
    return NULL;
}

static void note_block(uintptr_t address, size_t size, uint32_t stack)
{
    while (atomic_flag_test_and_set_explicit(&is_locked, memory_order_acquire))
        continue;
    struct block *block = find_block(address);
    if (block != NULL)
        *block = (struct block){ address, size, stack };
    atomic_flag_clear_explicit(&is_locked, memory_order_release);
}

void *malloc(size_t size)
{
    uint64_t addresses[FRAMES];
    if (next_malloc == NULL) {
        void *found = dlsym(RTLD_NEXT, "malloc");
        memcpy(&next_malloc, &found, sizeof(found));
    }
    void *made = next_malloc(size);
    if (stacks == NULL || made == NULL)
        return made;
    size_t count = crashhook_backtrace_capture_raw(addresses, FRAMES, NULL);
    note_block((uintptr_t)made, size,
               crashhook_backtrace_store_add(stacks, addresses, count));
    return made;
}

void free(void *address)
{
    if (next_free == NULL) {
        void *found = dlsym(RTLD_NEXT, "free");
        memcpy(&next_free, &found, sizeof(found));
    }
    if (stacks != NULL && address != NULL)
        note_block((uintptr_t)address, 0, 0);
    next_free(address);
}

static void print_leak(const struct block *block)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    if (crashhook_backtrace_store_get(stacks, block->stack, &backtrace) != 0)
        return;
    if (crashhook_backtrace_symbolicate(backtrace, NULL,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) == 0) {
        char *text =
            crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_FRIENDLY);
        fprintf(stderr, "leak of %zu bytes:\n%s\n", block->size,
                text != NULL ? text : "");
        free(text);
        crashhook_symbolicated_backtrace_destroy(named);
    }
    crashhook_backtrace_destroy(backtrace);
}

__attribute__((constructor)) static void begin(void)
{
    (void)crashhook_backtrace_store_create(STORE_BYTES, &stacks);
}

__attribute__((destructor)) static void print_leaks(void)
{
    static struct block left[BLOCKS];
    // Printing allocates too.
    memcpy(left, blocks, sizeof(left));
    for (size_t i = 0; i < BLOCKS; i++)
        if (left[i].stack != 0)
            print_leak(&left[i]);
}
