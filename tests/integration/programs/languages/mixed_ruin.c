// SPDX-License-Identifier: Apache-2.0
//
// What the program Mixed of Java overwrites: the description that the virtual machine
// exports of itself, its code with the tables of compiled methods, the methods that are
// on the stack with all that they refer to, and the stack.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "ruins.h"

enum { STACK_BYTES = 8192 };

// add_method adds a method with its constants, class and names, if word is one.
static void add_method(uint64_t word)
{
    uint64_t constant = ruin_peek(word + 8);
    uint64_t pool = constant != 0 ? ruin_peek(constant + 8) : 0;
    uint64_t holder = pool != 0 ? ruin_peek(pool + 24) : 0;
    if (word % 8 != 0 || holder == 0 || ruin_peek(holder + 232) != pool)
        return;
    ruin_add_place(word, 88);
    ruin_add_place(constant, 160);
    ruin_add_place(pool, 72);
    ruin_add_place(pool + 72, 8 * 24);
    ruin_add_place(holder, 240);
    ruin_add_place(ruin_peek(holder + 24), 32);
    uint64_t name = ruin_peek(constant + 32) >> 16 & 0xffff;
    ruin_add_place(ruin_peek(pool + 72 + 8 * name), 32);
}

// add_compiled adds the tables of compiled code that word, a return address, is in:
// they follow the code, and its description precedes it.
static void add_compiled(uint64_t word)
{
    for (uint64_t at = word & ~(uint64_t)127, i = 0; i < 64; i++, at -= 128) {
        uint64_t blob = at + 16;
        uint64_t begin = ruin_peek(blob + 32);
        uint64_t end = ruin_peek(blob + 40);
        if (begin < blob || word < begin || word > end || end - blob > 1 << 20)
            continue;
        ruin_add_place(at, 16 + 352);
        ruin_add_place(end, 512);
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
        ruin_add_place((uint64_t)(uintptr_t)symbol(variables[i]), 8);
    uint64_t entry = ruin_peek((uint64_t)(uintptr_t)symbol("gHotSpotVMStructs"));
    for (; ruin_peek(entry) != 0; entry += 48) {
        char type[16];
        memcpy(type, (const void *)(uintptr_t)ruin_peek(entry), sizeof(type));
        uint64_t address = ruin_peek(entry + 40);
        if (strncmp(type, "Code", 4) == 0 || strncmp(type, "Const", 5) == 0 ||
            strncmp(type, "Method", 6) == 0 || strncmp(type, "PcDesc", 6) == 0 ||
            strncmp(type, "Compiled", 8) == 0 || strncmp(type, "nmethod", 7) == 0 ||
            strncmp(type, "VirtualSpace", 12) == 0)
            ruin_add_place(entry, 48);
        if (strncmp(type, "CodeCache", 9) == 0 && address != 0) {
            uint64_t list = ruin_peek(address);
            uint64_t data = ruin_peek(list + 8);
            ruin_add_place(address, 8);
            ruin_add_place(list, 24);
            ruin_add_place(data, 24);
            for (uint64_t i = 0; i < 3; i++) {
                ruin_add_place(ruin_peek(data + 8 * i), 264);
                ruin_add_place(ruin_peek(ruin_peek(data + 8 * i) + 120 + 16), 4096);
            }
        }
    }
}

static void add_stack(void)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint64_t end = here + STACK_BYTES;
    // The C library's description of the thread, which is right above its stack, has a
    // part that the kernel reads (rseq): if that is in ruins, no signal is delivered.
    uint64_t thread = (uint64_t)pthread_self();
    if (thread > here && thread < end)
        end = thread;
    for (uint64_t at = here; at < end; at += 8) {
        uint64_t word = ruin_peek(at);
        add_method(word);
        add_compiled(word);
    }
    // The frames of C, which the native report is made of, stay.
    for (uint64_t at = here + 1024; at + 256 <= end; at += 256)
        ruin_add_place(at, 256);
}

void Java_Mixed_ruin(void *environment, void *class_of, int64_t seed, int32_t count);
void Java_Mixed_ruin(void *environment, void *class_of, int64_t seed, int32_t count)
{
    (void)environment;
    (void)class_of;
    add_tables();
    add_stack();
    ruin_cases(seed, count);
}
