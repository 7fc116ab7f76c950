// SPDX-License-Identifier: Apache-2.0
//
// What the program Mixed of Java overwrites: the description that the virtual machine
// exports of itself, its code with the tables of compiled methods, the methods that are
// on the stack with all that they refer to, and the stack.
#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ruins.h"

enum { PLACES_MAX = 8192, WRITES_MAX = 12, STACK_BYTES = 8192 };

struct place {
    uint64_t at;
    uint64_t size;
};

static struct place places[PLACES_MAX];
static size_t place_count;
static uint64_t rng_state;

static uint64_t rng(void)
{
    rng_state += 0x9e3779b97f4a7c15;
    uint64_t z = rng_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void add_place(uint64_t at, uint64_t size)
{
    if (place_count < PLACES_MAX && at != 0)
        places[place_count++] = (struct place){ at & ~(uint64_t)7, size };
}

// peek reads a word that may not be there.
static uint64_t peek(uint64_t at)
{
    uint64_t word = 0;
    struct iovec to = { &word, sizeof(word) };
    struct iovec from = { (void *)(uintptr_t)at, sizeof(word) };
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(word) ? word : 0;
}

// add_method adds a method with its constants, class and names, if word is one.
static void add_method(uint64_t word)
{
    uint64_t constant = peek(word + 8);
    uint64_t pool = constant != 0 ? peek(constant + 8) : 0;
    uint64_t holder = pool != 0 ? peek(pool + 24) : 0;
    if (word % 8 != 0 || holder == 0 || peek(holder + 232) != pool)
        return;
    add_place(word, 88);
    add_place(constant, 160);
    add_place(pool, 72);
    add_place(pool + 72, 8 * 24);
    add_place(holder, 240);
    add_place(peek(holder + 24), 32);
    uint64_t name = peek(constant + 32) >> 16 & 0xffff;
    add_place(peek(pool + 72 + 8 * name), 32);
}

// add_compiled adds the tables of compiled code that word, a return address, is in:
// they follow the code, and its description precedes it.
static void add_compiled(uint64_t word)
{
    for (uint64_t at = word & ~(uint64_t)127, i = 0; i < 64; i++, at -= 128) {
        uint64_t blob = at + 16;
        uint64_t begin = peek(blob + 32);
        uint64_t end = peek(blob + 40);
        if (begin < blob || word < begin || word > end || end - blob > 1 << 20)
            continue;
        add_place(at, 16 + 352);
        add_place(end, 512);
        return;
    }
}

static void *symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

// add_tables adds the entries of the description that are read, and the variables that
// say how they are laid out.
static void add_tables(void)
{
    static const char *const variables[] = {
        "gHotSpotVMStructs",
        "gHotSpotVMTypes",
        "gHotSpotVMStructEntryArrayStride",
        "gHotSpotVMStructEntryTypeNameOffset",
        "gHotSpotVMStructEntryFieldNameOffset",
        "gHotSpotVMStructEntryOffsetOffset",
        "gHotSpotVMStructEntryAddressOffset",
        "gHotSpotVMTypeEntryArrayStride",
        "gHotSpotVMTypeEntrySizeOffset",
    };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        add_place((uint64_t)(uintptr_t)symbol(variables[i]), 8);
    uint64_t entry = peek((uint64_t)(uintptr_t)symbol("gHotSpotVMStructs"));
    for (; peek(entry) != 0; entry += 48) {
        char type[16];
        memcpy(type, (const void *)(uintptr_t)peek(entry), sizeof(type));
        uint64_t address = peek(entry + 40);
        if (strncmp(type, "Code", 4) == 0 || strncmp(type, "Const", 5) == 0 ||
            strncmp(type, "Method", 6) == 0 || strncmp(type, "PcDesc", 6) == 0 ||
            strncmp(type, "Compiled", 8) == 0 || strncmp(type, "nmethod", 7) == 0 ||
            strncmp(type, "VirtualSpace", 12) == 0)
            add_place(entry, 48);
        if (strncmp(type, "CodeCache", 9) == 0 && address != 0) {
            uint64_t list = peek(address);
            uint64_t data = peek(list + 8);
            add_place(address, 8);
            add_place(list, 24);
            add_place(data, 24);
            for (uint64_t i = 0; i < 3; i++) {
                add_place(peek(data + 8 * i), 264);
                add_place(peek(peek(data + 8 * i) + 120 + 16), 4096);
            }
        }
    }
}

static void add_stack(void)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    for (uint64_t at = here; at < here + STACK_BYTES; at += 8) {
        uint64_t word = peek(at);
        add_method(word);
        add_compiled(word);
    }
    // The frames of C, which the native report is made of, stay.
    for (uint64_t at = here + 1024; at < here + STACK_BYTES; at += 256)
        add_place(at, 256);
}

static uint64_t ruin_value(void)
{
    static const uint64_t values[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63,
                                       0x4141414141414141 };
    uint64_t choice = rng() % 16;
    if (choice < 5)
        return values[choice];
    if (choice < 10)
        return places[rng() % place_count].at;
    return rng();
}

void Java_Mixed_ruin(void *environment, void *class_of, int64_t seed, int32_t count);
void Java_Mixed_ruin(void *environment, void *class_of, int64_t seed, int32_t count)
{
    (void)environment;
    (void)class_of;
    add_tables();
    add_stack();
    for (int32_t i = 0; i < count; i++) {
        uint64_t pairs[2 * WRITES_MAX];
        rng_state = (uint64_t)seed + (uint64_t)i;
        size_t writes = 1 + rng() % WRITES_MAX;
        for (size_t k = 0; k < writes; k++) {
            const struct place *place = &places[rng() % place_count];
            pairs[2 * k] = place->at + 8 * (rng() % (place->size / 8));
            pairs[2 * k + 1] = ruin_value();
        }
        ruin_in_child(seed + i, pairs, writes);
    }
}
