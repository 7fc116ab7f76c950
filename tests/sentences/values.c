// SPDX-License-Identifier: Apache-2.0
//
// bad_values HOW: crashes through a pointer whose value tells where it came from.
//
// all kind: unknown|small-pointer|non-canonical-address|null-dereference|
//     use-after-unmap|wild-jump
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct entry {
    struct entry *next;
    long cents;
    char name[40];
};

static volatile long total;
static struct entry *volatile kept;

__attribute__((noinline)) static struct entry *make_entry(void)
{
    struct entry *entry = calloc(1, sizeof(*entry));
    entry->cents = 7;
    return entry;
}

// What follows a link that malloc has put into a freed entry.
__attribute__((noinline)) static void follow_freed(int lists)
{
    struct entry *volatile entries[12];
    for (int i = 0; i < lists; i++)
        entries[i] = make_entry();
    for (int i = 0; i < lists; i++)
        free(entries[i]);
    total = entries[lists - 1]->next->cents;
}

// case freed_last
//   cause: freed-chunk
//   says: .*is what malloc put into freed memory at 0x
//   in: follow_freed
static void freed_last(void)
{
    follow_freed(1);
}

// case freed_linked
//   builds: -no-pie -static
//   cause: freed-chunk
//   says: .*is what malloc put into freed memory at 0x
//   in: follow_freed
static void freed_linked(void)
{
    follow_freed(3);
}

// case freed_fast
//   builds: -no-pie -static
//   cause: freed-chunk
//   says: .*is what malloc put into freed memory at 0x
//   in: follow_freed
static void freed_fast(void)
{
    follow_freed(9); // past the seven that a thread keeps for itself
}

struct action {
    void (*run)(void);
    long count;
};

// case freed_call
//   builds: -static -no-pie
//   cause: freed-chunk
//   says: Jump to .*is what malloc put into freed memory at 0x
__attribute__((noinline)) static void freed_call(void)
{
    struct action *volatile first = malloc(sizeof(*first));
    struct action *volatile action = malloc(sizeof(*action));
    free(first);
    free(action);
    action->run();
    total = 1;
}

struct task {
    void (*run)(void);
    char notes[2000];
};

// case freed_unsorted
//   kind: execute-of-data
//   cause: freed-chunk
//   says: Jump to .*is what malloc put into freed memory at 0x
__attribute__((noinline)) static void freed_unsorted(void)
{
    struct task *volatile task = malloc(sizeof(*task));
    void *volatile after = malloc(100);
    free(task);
    task->run();
    total = after != NULL;
}

// case freed_two_unsorted
//   kind: execute-of-data
//   cause: freed-chunk
//   says: Jump to .*is what malloc put into freed memory at 0x
__attribute__((noinline)) static void freed_two_unsorted(void)
{
    struct task *volatile first = malloc(sizeof(*first));
    void *volatile between = malloc(100);
    struct task *volatile second = malloc(sizeof(*second));
    void *volatile after = malloc(100);
    free(first);
    free(second);
    first->run();
    total = between != after;
}

// case overrun_by_text
//   cause: text
//   says: .* holds text, "ers, Lon"
__attribute__((noinline)) static void overrun_by_text(void)
{
    struct {
        char name[16];
        struct entry *entry;
    } line = { .entry = make_entry() };
    char *volatile name = line.name;
    memcpy(name, "Smith and daughters, London", 24);
    total = line.entry->cents;
}

// case filled
//   cause: fill
//   says: .* holds a pattern that memory is filled with .jemalloc, freed memory
__attribute__((noinline)) static void filled(void)
{
    struct entry *entry = make_entry();
    memset(entry, 0x5a, sizeof(*entry));
    kept = entry;
    total = kept->next->cents;
}

// case dead
//   cause: fill
//   says: .* holds a pattern that memory is filled with
__attribute__((noinline)) static void dead(void)
{
    struct entry *entry = make_entry();
    entry->next = (struct entry *)(uintptr_t)0xdeadbeef;
    kept = entry;
    total = kept->next->cents;
}

// case cut
//   builds: -static -no-pie
//   cause: truncated
//   says: .* is the lower half of a pointer, 0x
__attribute__((noinline)) static void cut(void)
{
    struct entry *entry = make_entry();
    kept = (struct entry *)(uintptr_t)(uint32_t)(uintptr_t)entry;
    total = kept->cents;
    free(entry);
}

// case cut_signed
//   cause: truncated
//   says: .* is the lower half of a pointer, 0x2000f0000000
__attribute__((noinline)) static void cut_signed(void)
{
    // A mapping of which bit 31 is set, as an int's sign.
    char *place = (char *)(uintptr_t)UINT64_C(0x2000f0000000);
    struct entry *volatile entry =
        mmap(place, 4096, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    kept = (struct entry *)(intptr_t)(int)(intptr_t)entry;
    total = kept->cents;
}

// case flipped
//   cause: bit-flip
//   says: .* differs by bit 41 alone from 0x
__attribute__((noinline)) static void flipped(void)
{
    struct entry *volatile entry = make_entry();
    kept = (struct entry *)((uintptr_t)entry ^ UINT64_C(1) << 41);
    total = kept->cents;
}

// case map_failed
//   cause: map-failed
//   says: .* is -1, which mmap returns when it fails
__attribute__((noinline)) static void map_failed(void)
{
    kept = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    total = kept->cents;
}

// leave_variable leaves a pointer to its own variable, and the other two what is there
// afterwards.
__attribute__((noinline)) static void leave_variable(void)
{
    struct entry entry = { .next = NULL, .cents = 7 };
    struct entry *volatile local = &entry;
    kept = local;
}

// Nearer to the stack pointer, functions that call none may have variables.
__attribute__((noinline)) static void leave_far_variable(void)
{
    volatile char room[300];
    room[total % 300] = 1;
    leave_variable();
    room[299 - total % 300] = 1;
}

__attribute__((noinline)) static void overwrite_stack(void)
{
    volatile uintptr_t words[100];
    for (int i = 0; i < 100; i++)
        words[i] = UINT64_C(0x123456789000) + (uintptr_t)i;
}

// case returned_variable
//   cause: freed-stack
//   says: Read from 0x1234567890.*was read at 0x[0-9a-f]+, below the stack pointer
__attribute__((noinline)) static void returned_variable(void)
{
    leave_far_variable();
    overwrite_stack();
    struct entry *volatile entry = kept; // only what the stack leads to is held
    total = entry->next->cents;
}

// case null_member
//   cause: null-offset
//   says: Read from 0x8, through a null pointer
__attribute__((noinline)) static void null_member(void)
{
    kept = NULL;
    total = kept->cents;
}

static sem_t started;
static char *volatile stack_begin;

static void *note_stack(void *unused)
{
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &begin, &size);
    stack_begin = begin;
    sem_post(&started);
    pause();
    return unused;
}

// case other_guard
//   cause: guard-page
//   says: .*the address is in the guard page of thread \d+'s stack
__attribute__((noinline)) static void other_guard(void)
{
    pthread_t thread;
    sem_init(&started, 0, 0);
    pthread_create(&thread, NULL, note_stack, NULL);
    sem_wait(&started);
    stack_begin[-64] = 1;
}

// Values without a cause that can be told.
__attribute__((noinline)) static void wild(void)
{
    kept = (struct entry *)(uintptr_t)strtoull(getenv("WILD"), NULL, 16);
    total = kept->cents;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *how;
        void (*crash)(void);
    } ways[] = {
        { "freed_last", freed_last },
        { "freed_linked", freed_linked },
        { "freed_fast", freed_fast },
        { "freed_call", freed_call },
        { "freed_unsorted", freed_unsorted },
        { "freed_two_unsorted", freed_two_unsorted },
        { "overrun_by_text", overrun_by_text },
        { "filled", filled },
        { "dead", dead },
        { "cut", cut },
        { "cut_signed", cut_signed },
        { "flipped", flipped },
        { "map_failed", map_failed },
        { "returned_variable", returned_variable },
        { "null_member", null_member },
        { "other_guard", other_guard },
        { "wild", wild },
    };
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(argv[1], ways[i].how) == 0)
            ways[i].crash();
    return 0;
}
