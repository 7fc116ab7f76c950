// SPDX-License-Identifier: Apache-2.0
//
// Accesses that fail, jumps to where no code is, stacks that end.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone)) static
#ifdef __aarch64__
#define BREAKPOINT "brk 0"
#else
#define BREAKPOINT "int3"
#endif

struct item {
    int id;
    double price;
    const char *name;
    struct item *next;
};

// hide keeps the compiler from knowing a value.
OWN void *hide(uintptr_t value)
{
    volatile uintptr_t hidden = value;
    return (void *)hidden;
}

static volatile int sink;

// case null_write
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   access: write 8 0x18
//   cause: null-offset
OWN void null_write(void)
{
    struct item *item = hide(0);
    item->next = item;
    sink++;
}

// case null_read
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   access: read 8 0x8
//   cause: null-offset
OWN void null_read(void)
{
    struct item *item = hide(0);
    sink = (int)item->price;
    sink++;
}

// case null_update
//   kind: null-dereference
//   says: Write to 0x0, through a null pointer|Read from 0x0, through a null pointer
//   access: * 4 0x0
OWN void null_update(void)
{
    struct item *item = hide(0);
    item->id += 5;
    sink++;
}

// case small_number
//   kind: small-pointer
//   says: Write to 0x1, a small number and not an address
//   access: write 1 0x1
OWN void small_number(void)
{
    char *p = hide(1);
    *p = 5;
    sink++;
}

// case kernel_address
//   kind: unknown|non-canonical-address
//   says: Read from 0xffffffff81000000, (?!through a null)
//   access: read 4 0xffffffff81000000
OWN void kernel_address(void)
{
    int *p = hide(0xffffffff81000000);
    sink = *p;
    sink++;
}

// case wild_read
//   kind: unknown
//   says: Read from 0x123456789abc, where nothing is mapped
//   access: read 4 0x123456789abc
OWN void wild_read(void)
{
    int *p = hide(0x123456789abc);
    sink = *p;
    sink++;
}

// case wild_double
//   kind: unknown
//   says: Write to 0x123456789ab8, where nothing is mapped
//   access: write 8 0x123456789ab8
OWN void wild_double(void)
{
    double *p = hide(0x123456789ab8);
    *p = sink + 1.5;
    sink++;
}

// case text_write
//   kind: non-canonical-address
//   says: Write to 0x4141414141414141, an address that no memory can have
//   access: write 4 0x4141414141414141
//   cause: none|text
OWN void text_write(void)
{
    int *p = hide(0x4141414141414141);
    *p = 7;
    sink++;
}

// case text_read
//   kind: non-canonical-address
//   says: Read from 0x4141414141414141, an address that no memory can have
//   access: read 4 0x4141414141414141
//   cause: none|text
OWN void text_read(void)
{
    int *p = hide(0x4141414141414141);
    sink = *p;
    sink++;
}

// case text_memset
//   kind: non-canonical-address
//   says: Write to 0x4141414141414[0-9a-f]+, an address that no memory can have
//   cause: none|text
OWN void text_memset(void)
{
    memset(hide(0x4141414141414141), 0, (size_t)hide(100));
    sink++;
}

// case text_memcpy
//   kind: non-canonical-address
//   says: Write to 0x4141414141414[0-9a-f]+, an address that no memory can have
//   cause: none|text
OWN void text_memcpy(void)
{
    char from[200] = { 1 };
    memcpy(hide(0x4141414141414141), from, (size_t)hide(100));
    sink++;
}

// case text_memcpy_from
//   kind: non-canonical-address
//   says: Read from 0x4141414141414[0-9a-f]+, an address that no memory can have
//   cause: none|text
OWN void text_memcpy_from(void)
{
    char to[200] = { 1 };
    memcpy(to, hide(0x4141414141414141), (size_t)hide(100));
    sink = to[5];
}

// case text_strlen
//   kind: non-canonical-address
//   says: Read from 0x4141414141414[0-9a-f]+, an address that no memory can have
//   cause: none|text
OWN void text_strlen(void)
{
    sink = (int)strlen(hide(0x4141414141414141));
    sink++;
}

static const char constant[4096] __attribute__((aligned(4096))) = "constant";

// case read_only
//   kind: write-to-read-only
//   says: Write to 0x[0-9a-f]+, which is read-only memory
//   access: write 1 *
OWN void read_only(void)
{
    *(char *)hide((uintptr_t)constant) = 5;
    sink++;
}

// case read_only_update
//   kind: write-to-read-only
//   says: Write to 0x[0-9a-f]+, which is read-only memory
//   access: write 4 *
OWN void read_only_update(void)
{
    __atomic_fetch_add((int *)hide((uintptr_t)constant), 5, __ATOMIC_SEQ_CST);
    sink++;
}

// case no_access
//   kind: unknown
//   says: Read from 0x[0-9a-f]+, which may not be accessed
//   access: read 4 *
OWN void no_access(void)
{
    int *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sink = *p;
    sink++;
}

// case null_call
//   kind: null-dereference
//   says: Jump to 0x0, through a null pointer
OWN void null_call(void)
{
    ((void (*)(void))hide(0))();
    sink++;
}

// case small_call
//   kind: wild-jump
//   says: Jump to 0x10, a small number and not an address
OWN void small_call(void)
{
    ((void (*)(void))hide(0x10))();
    sink++;
}

// case wild_call
//   kind: wild-jump
//   says: Jump to 0x123456789000, where nothing is mapped
OWN void wild_call(void)
{
    ((void (*)(void))hide(0x123456789000))();
    sink++;
}

// case data_call
//   kind: execute-of-data
//   says: Jump to 0x[0-9a-f]+, which is data and not code
OWN void data_call(void)
{
    ((void (*)(void))hide((uintptr_t)&sink))();
    sink++;
}

// case text_call
//   kind: non-canonical-address
//   says: Jump to 0x4141414141414141, an address that no memory can have
//   cause: none|text
OWN void text_call(void)
{
    ((void (*)(void))hide(0x4141414141414141))();
    sink++;
}

// case recursion
//   kind: stack-overflow
//   says: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack has 8192 KiB
//   core: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack had grown to
//     8\d\d\d KiB
OWN int recursion(int depth)
{
    volatile char room[200];
    room[depth % 200] = (char)depth;
    return depth < 0 ? 0 : recursion(depth + 1) + room[depth % 200];
}

// case far_alloca
//   kind: stack-overflow
//   says: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack has 8192 KiB
//   core: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack had grown to
//     1\d\d KiB
OWN void far_alloca(void)
{
    volatile char *room = __builtin_alloca((size_t)hide(20 << 20));
    room[0] = 1;
    sink = room[0];
}

// case bad_longjmp
//   kind: non-canonical-address|wild-jump|unknown
//   says: (?!.*null pointer)(Jump|Return|Access|Read|Write) to
//   in: -
OWN void bad_longjmp(void)
{
    jmp_buf place;
    memset(&place, 0x5a, sizeof(place));
    longjmp(place, 1);
}

// case breakpoint
//   signal: TRAP
//   kind: trap
//   says: Trap at 0x
OWN void breakpoint(void)
{
    volatile char room[50];
    for (int i = 0; i < 50; i++)
        room[i] = (char)i;
    __asm__ volatile(BREAKPOINT);
    __builtin_unreachable();
}

// after_breakpoint begins right after the breakpoint, and stores what is on the stack
// in another way than the function before.
__attribute__((noinline, aligned(1))) static int after_breakpoint(int x)
{
    volatile int y = x;
    return y * 3;
}

// case built_in_trap
//   signal: ILL
//   kind: illegal-instruction
//   says: Illegal instruction at 0x[0-9a-f]+ \(ud2
OWN void built_in_trap(void)
{
    if (sink == 0)
        __builtin_trap();
    sink++;
}

// case divide_by_zero
//   signal: FPE
//   kind: divide-by-zero
//   says: Integer division by zero
OWN void divide_by_zero(void)
{
    volatile int zero = 0;
    sink = (int)getpid() / zero;
}

// case plain_abort
//   signal: ABRT
//   kind: abort
//   says: The program aborted$
OWN void plain_abort(void)
{
    abort();
}

// case double_free
//   signal: ABRT
//   kind: heap-corruption
//   says: Heap corruption: free\(\): double free detected in tcache 2
OWN void double_free(void)
{
    char *p = malloc((size_t)hide(40));
    free(p);
    free(hide((uintptr_t)p));
    sink = p[0];
}

// case own_raise
//   kind: sent-by-process
//   says: SIGSEGV raised by the program itself
OWN void own_raise(void)
{
    raise(SIGSEGV);
    sink++;
}

int main(int count, char **arguments)
{
#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();
    CASE(null_write)
    CASE(null_read)
    CASE(null_update)
    CASE(small_number)
    CASE(kernel_address)
    CASE(wild_read)
    CASE(wild_double)
    CASE(text_write)
    CASE(text_read)
    CASE(text_memset)
    CASE(text_memcpy)
    CASE(text_memcpy_from)
    CASE(text_strlen)
    CASE(read_only)
    CASE(read_only_update)
    CASE(no_access)
    CASE(null_call)
    CASE(small_call)
    CASE(wild_call)
    CASE(data_call)
    CASE(text_call)
    if (count > 1 && strcmp(arguments[1], "recursion") == 0)
        sink = recursion(1);
    CASE(far_alloca)
    CASE(bad_longjmp)
    CASE(breakpoint)
    sink = after_breakpoint(sink);
    CASE(built_in_trap)
    CASE(divide_by_zero)
    CASE(plain_abort)
    CASE(double_free)
    CASE(own_raise)
    return 0;
}
