// SPDX-License-Identifier: Apache-2.0
//
// hostile SEED: overwrites what an agent reads of a process (the dynamic linker's list,
// ELF headers, unwind tables, stacks, names, arguments, the context page) with random
// or malicious bytes, and then crashes.
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

enum { RANGES_MAX = 256, THREADS = 3 };

struct range {
    unsigned char *start;
    size_t size;
};

static struct range ranges[RANGES_MAX];
static size_t range_count;
static uint32_t state;

static uint32_t next(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static struct range writable[RANGES_MAX]; // mappings
static size_t writable_count;

// open_memory makes all memory but code writable, as far as the kernel lets us.
static void open_memory(void)
{
    char line[512];
    unsigned long start;
    unsigned long end;
    char rights[8];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 ||
            rights[0] != 'r' || rights[2] == 'x' || writable_count == RANGES_MAX)
            continue;
        if (rights[1] == 'w' ||
            mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) == 0)
            writable[writable_count++] =
                (struct range){ (unsigned char *)start, end - start };
    }
    if (maps != NULL)
        fclose(maps);
}

// add takes what can be written of a range.
static void add(uintptr_t start, size_t size)
{
    for (size_t i = 0; i < writable_count && range_count < RANGES_MAX; i++) {
        uintptr_t from = (uintptr_t)writable[i].start;
        size_t left = from + writable[i].size - start;
        if (start >= from && start < from + writable[i].size && size != 0)
            ranges[range_count++] =
                (struct range){ (unsigned char *)start, size < left ? size : left };
    }
}

// put writes the low bytes of value, without a call of anybody.
static void put(unsigned char *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *(volatile unsigned char *)(to + i) = (unsigned char)(value >> 8 * i);
}

// malicious is a value that arithmetic stumbles over.
static uint64_t malicious(void)
{
    static const uint64_t values[] = {
        0,          1,      UINT64_MAX, INT64_MAX, (uint64_t)1 << 63, 0xffffffff,
        0x80000000, 0xffff, 0x7fffffff, 0x8000,    (uint64_t)1 << 47, 0x3fffffffffff,
    };
    return values[next() % (sizeof(values) / sizeof(values[0]))];
}

static void spoil(const struct range *range)
{
    uint32_t how = next() % 5;
    size_t count = how < 2 ? range->size : 1 + next() % 64;
    for (size_t i = 0; i < count; i++) {
        size_t at = how < 2 ? i : next() % range->size;
        if (how == 0)
            put(range->start + at, next(), 1);
        if (how == 1)
            put(range->start + at, 0xff, 1);
        if (how == 2)
            put(range->start + at, range->start[at] ^ (1u << next() % 8), 1);
        size_t width = (size_t)1 << next() % 4;
        if (how == 3 && at + width <= range->size)
            put(range->start + at, malicious(), width);
        // A pointer into the range itself makes lists that go round.
        if (how == 4 && at + 8 <= range->size)
            put(range->start + at, (uintptr_t)range->start + next() % range->size, 8);
    }
}

// add_image takes an image's header and the tables that unwinders read.
static int add_image(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        bool table = header->p_type == PT_GNU_EH_FRAME || header->p_type == PT_NOTE ||
                     header->p_type == PT_GNU_SFRAME || header->p_type == PT_DYNAMIC;
        bool head = header->p_type == PT_LOAD && header->p_offset == 0;
        if (!table && !head)
            continue;
        // What follows the index is .eh_frame itself, and in the handler's own library
        // soon what the handler needs to run.
        size_t bytes = head ? 1024 : header->p_memsz;
        if (header->p_type == PT_GNU_EH_FRAME &&
            strstr(info->dlpi_name, "libcrashhook") == NULL)
            bytes *= 4;
        add(start, bytes);
    }
    return 0;
}

// add_context finds what crashhook keeps for the program, by what it begins with.
static void add_context(void)
{
    for (size_t i = 0; i < writable_count; i++) {
        if (memcmp(writable[i].start, "conttext", 8) == 0)
            add((uintptr_t)writable[i].start + 16, writable[i].size - 16);
    }
}

static pthread_barrier_t ready;

static void *wait_for_ever(void *argument)
{
    pthread_barrier_wait(&ready);
    while (pause() != 0)
        ;
    return argument;
}

static void crash(void)
{
    *(volatile int *)(uintptr_t)(state & 0) = 1;
}

int main(int argc, char **argv)
{
    char name[16];
    char here[256];
    pthread_t thread;
    state = (argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1) * 2654435761u + 1;
    // A thread that still starts blocks all signals, and a fault of it then is
    // nobody's.
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, wait_for_ever, NULL);
    pthread_barrier_wait(&ready);
    usleep(1000);
    open_memory();
    dl_iterate_phdr(add_image, NULL);
    add_context();
    add((uintptr_t)&_r_debug, sizeof(_r_debug));
    for (struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
        add((uintptr_t)map, sizeof(*map));
        add((uintptr_t)map->l_name, strlen(map->l_name));
    }
    add((uintptr_t)argv[0], strlen(argv[0]));
    // The other threads' stacks and descriptors lie in front of this one's descriptor.
    add((uintptr_t)thread - 8192, 8192);
    add((uintptr_t)here + 512, 2048);
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = (char)(1 + next() % 255);
    prctl(PR_SET_NAME, name);
    // Each case spoils some of them, none that this code still needs: it calls nobody.
    uint32_t chance = 1 + next() % 4;
    for (size_t i = 0; i < range_count; i++) {
        if (next() % chance == 0)
            spoil(&ranges[i]);
    }
    crash();
    return 0;
}
