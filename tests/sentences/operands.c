// SPDX-License-Identifier: Apache-2.0
//
// Instructions of which few tables know whether they read or write their operand. Half
// of the addresses are ones that no memory can have: of those the processor does not
// tell which it was.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline, noclone)) static

// hide keeps the compiler from knowing a value.
OWN void *hide(uint64_t value)
{
    volatile uint64_t hidden = value;
    return (void *)hidden;
}

static volatile int sink;

#define NO_MEMORY UINT64_C(0x8000000000001000)
#define UNMAPPED UINT64_C(0x123456789000)

// STORE makes one instruction of the address in %0.
#define STORE(name, address, ...)                                                      \
    OWN void name(void)                                                                \
    {                                                                                  \
        void *place = hide(address);                                                   \
        __asm__ volatile(__VA_ARGS__                                                   \
                         :                                                             \
                         : "r"(place)                                                  \
                         : "rax", "rcx", "rdx", "rdi", "rsi", "xmm0", "memory");       \
        sink++;                                                                        \
    }

static void need(const char *feature)
{
    __builtin_cpu_init();
    int has = strcmp(feature, "avx2") == 0 ? __builtin_cpu_supports("avx2") : 0;
    if (strcmp(feature, "movbe") == 0) {
        unsigned a = 1, b, c = 0, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        has = c >> 22 & 1;
    }
    if (has)
        return;
    printf("this processor has no %s\n", feature);
    exit(77);
}

// case sse_store
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 16 0x8000000000001000
STORE(sse_store, NO_MEMORY, "movups %%xmm0, (%0)")

// case sse_load
//   kind: non-canonical-address
//   says: Read from 0x8000000000001000, an address that no memory can have
//   access: read 16 0x8000000000001000
STORE(sse_load, NO_MEMORY, "movups (%0), %%xmm0")

// case sse_store_unmapped
//   kind: unknown
//   says: Write to 0x123456789000, where nothing is mapped
//   access: write 16 0x123456789000
STORE(sse_store_unmapped, UNMAPPED, "movaps %%xmm0, (%0)")

// case sse_scalar
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 8 0x8000000000001000
STORE(sse_scalar, NO_MEMORY, "movsd %%xmm0, (%0)")

// case avx_store
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 32 0x8000000000001000
OWN void avx_store(void)
{
    need("avx2");
    void *place = hide(NO_MEMORY);
    __asm__ volatile("vmovdqu %%ymm0, (%0)" : : "r"(place) : "memory");
    sink++;
}

// case avx_load
//   kind: unknown
//   says: Read from 0x123456789000, where nothing is mapped
//   access: read 32 0x123456789000
OWN void avx_load(void)
{
    need("avx2");
    void *place = hide(UNMAPPED);
    __asm__ volatile("vmovdqu (%0), %%ymm0" : : "r"(place) : "xmm0", "memory");
    sink++;
}

// case x87_store
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 8 0x8000000000001000
STORE(x87_store, NO_MEMORY, "fldz; fstpl (%0)")

// case x87_long_store
//   kind: unknown
//   says: Write to 0x123456789000, where nothing is mapped
//   access: write 10 0x123456789000
STORE(x87_long_store, UNMAPPED, "fldz; fstpt (%0)")

// case x87_load
//   kind: non-canonical-address
//   says: Read from 0x8000000000001000, an address that no memory can have
//   access: read 4 0x8000000000001000
STORE(x87_load, NO_MEMORY, "flds (%0)")

// case past_caches
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 4 0x8000000000001000
STORE(past_caches, NO_MEMORY, "movnti %%eax, (%0)")

// case swapped_store
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 8 0x8000000000001000
OWN void swapped_store(void)
{
    need("movbe");
    void *place = hide(NO_MEMORY);
    __asm__ volatile("movbe %%rax, (%0)" : : "r"(place) : "memory");
    sink++;
}

// case compare_exchange
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 8 0x8000000000001000
STORE(compare_exchange, NO_MEMORY, "lock cmpxchg %%rdx, (%0)")

// case exchange_add
//   kind: unknown
//   says: Write to 0x123456789000, where nothing is mapped
//   access: write 4 0x123456789000
STORE(exchange_add, UNMAPPED, "lock xadd %%edx, (%0)")

// case compare
//   kind: non-canonical-address
//   says: Read from 0x8000000000001000, an address that no memory can have
//   access: read 4 0x8000000000001000
STORE(compare, NO_MEMORY, "cmpl $5, (%0)")

// case set_byte
//   kind: non-canonical-address
//   says: Write to 0x8000000000001000, an address that no memory can have
//   access: write 1 0x8000000000001000
STORE(set_byte, NO_MEMORY, "sete (%0)")

// case fill_words
//   kind: unknown
//   says: Write to 0x123456789000, where nothing is mapped
//   access: write 8 0x123456789000
STORE(fill_words, UNMAPPED, "mov %0, %%rdi; mov $4, %%ecx; rep stosq")

// case copy_bytes_from
//   kind: unknown
//   says: Read from 0x123456789000, where nothing is mapped
//   access: read 1 0x123456789000
STORE(copy_bytes_from, UNMAPPED,
      "mov %0, %%rsi; lea -256(%%rsp), %%rdi; mov $4, %%ecx; rep movsb")

// case copy_bytes_to
//   kind: unknown
//   says: Write to 0x123456789000, where nothing is mapped
//   access: write 1 0x123456789000
STORE(copy_bytes_to, UNMAPPED,
      "mov %0, %%rdi; lea -256(%%rsp), %%rsi; mov $4, %%ecx; rep movsb")

// case push_from
//   kind: unknown
//   says: Read from 0x123456789000, where nothing is mapped
//   access: read 8 0x123456789000
STORE(push_from, UNMAPPED, "pushq (%0)")

// case call_through
//   kind: unknown
//   says: Read from 0x123456789000, where nothing is mapped
//   access: read 8 0x123456789000
STORE(call_through, UNMAPPED, "call *(%0)")

// case high_byte
//   kind: unknown
//   says: Write to 0x123456789008, where nothing is mapped
//   access: write 1 0x123456789008
STORE(high_byte, UNMAPPED, "mov %0, %%rdx; movb %%ah, 8(%%rdx)")

// Some processors fault at the upper half, whatever the mask.
// case masked_store
//   kind: unknown
//   says: Write to 0x12345678900[08], where nothing is mapped
//   access: write 16 0x123456789000
STORE(masked_store, UNMAPPED,
      "mov %0, %%rdi; pcmpeqb %%xmm0, %%xmm0; maskmovdqu %%xmm0, %%xmm0")

#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();

int main(int count, char **arguments)
{
    CASE(sse_store)
    CASE(sse_load)
    CASE(sse_store_unmapped)
    CASE(sse_scalar)
    CASE(avx_store)
    CASE(avx_load)
    CASE(x87_store)
    CASE(x87_long_store)
    CASE(x87_load)
    CASE(past_caches)
    CASE(swapped_store)
    CASE(compare_exchange)
    CASE(exchange_add)
    CASE(compare)
    CASE(set_byte)
    CASE(fill_words)
    CASE(copy_bytes_from)
    CASE(copy_bytes_to)
    CASE(push_from)
    CASE(call_through)
    CASE(high_byte)
    CASE(masked_store)
    return 0;
}
