// SPDX-License-Identifier: Apache-2.0
//
// Crashes that the kind of memory explains, or a limit, or what was there before.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone)) static

enum { PAGE = 4096, MIB = 1 << 20 };

static volatile long sink;
static volatile int zero;
static volatile int least = INT_MIN;
static volatile int minus_one = -1;
static char *volatile nothing;

// case null_far
//   builds: -static -no-pie
//   kind: null-dereference
//   says: Write to 0x400000, through a null pointer
//   access: write 1 0x400000
//   cause: null-offset|none
OWN void null_far(void)
{
    nothing[4 * (size_t)MIB] = 1;
    sink++;
}

OWN long deeper(long depth)
{
    volatile char room[512];
    room[0] = (char)depth;
    return deeper(depth + 1) + room[0];
}

static void *run_deeper(void *argument)
{
    pthread_setname_np(pthread_self(), "digger");
    sink = deeper(0);
    return argument;
}

static void start_deeper(void)
{
    sink = deeper(0);
}

// case small_stack
//   kind: stack-overflow
//   live: Stack overflow in thread 'digger' at 0x[0-9a-f]+: its stack has 25\d KiB
//   core: Stack overflow at 0x[0-9a-f]+: its stack has 25\d KiB
//   in: deeper
OWN void small_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    if (pthread_create(&thread, &attributes, run_deeper, NULL) == 0)
        pthread_join(thread, NULL);
}

// case coroutine_stack
//   kind: stack-overflow
//   says: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack has 64 KiB
//   in: deeper
OWN void coroutine_stack(void)
{
    static ucontext_t here;
    static ucontext_t there;
    const size_t size = 16 * PAGE;
    char *stack =
        mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mprotect(stack + PAGE, size, PROT_READ | PROT_WRITE) != 0 ||
        getcontext(&there) != 0)
        exit(3);
    there.uc_stack.ss_sp = stack + PAGE;
    there.uc_stack.ss_size = size;
    makecontext(&there, start_deeper, 0);
    swapcontext(&here, &there);
}

// case large_array
//   kind: stack-overflow
//   live: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack has 8192 KiB
//   core: Stack overflow in thread '[^']+' at 0x[0-9a-f]+: its stack had grown to
//     1\d\d KiB
OWN void large_array(void)
{
    volatile char large[32 * MIB];
    large[zero] = 1;
    sink = large[zero];
}

// case lost_stack
//   kind: unknown
//   says: Write to 0x12345677fff8, where nothing is mapped
//   access: write 8 0x12345677fff8
OWN void lost_stack(void)
{
    __asm__ volatile("movabs $0x123456780000, %%rsp\n\tpush %%rax" : : : "memory");
}

// case bad_frame
//   signal: BUS
//   kind: non-canonical-address
//   says: Read from 0x7777777777777770, an address that no memory can have
//   access: read 8 0x7777777777777770
OWN void bad_frame(void)
{
    __asm__ volatile("push %%rbp\n\t"
                     "movabs $0x7777777777777770, %%rbp\n\t"
                     "mov (%%rbp), %%rax\n\t"
                     "pop %%rbp"
                     :
                     :
                     : "rax", "memory");
    sink++;
}

// case protected_page
//   kind: unknown
//   says: Write to 0x[0-9a-f]+, which may not be accessed
//   access: write 1 *
OWN void protected_page(void)
{
    char *at = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)at = 'x';
    sink++;
}

// case unmapped
//   builds: -static
//   kind: use-after-unmap
//   says: Read from 0x[0-9a-f]+, where nothing is mapped; probably memory that was
//     unmapped
//   access: read 1 *
OWN void unmapped(void)
{
    char *at = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, MIB);
    sink = ((volatile char *)at)[MIB / 2];
    sink++;
}

// case freed_large
//   builds: -static
//   kind: use-after-unmap
//   says: Read from 0x[0-9a-f]+, where nothing is mapped; probably memory that was
//     unmapped
OWN void freed_large(void)
{
    volatile char *large = malloc(8 * MIB);
    large[5] = 1;
    free((void *)large);
    sink = large[MIB];
    sink++;
}

// case closed_library
//   builds: -static
//   kind: use-after-unmap
//   says: Jump to 0x[0-9a-f]+, where nothing is mapped.*libz\.so\.1.*unloaded
//   cause: unloaded-image
OWN void closed_library(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW);
    const char *(*volatile call)(void) = NULL;
    if (library == NULL)
        exit(77);
    call = (const char *(*)(void))dlsym(library, "zlibVersion");
    call();
    dlclose(library);
    call();
    sink++;
}

// case closed_library_data
//   builds: -static
//   kind: use-after-unmap
//   says: Read from 0x[0-9a-f]+, where nothing is mapped.*libz\.so\.1.*unloaded
//   cause: unloaded-image
OWN void closed_library_data(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW);
    const char *(*call)(void) = NULL;
    if (library == NULL)
        exit(77);
    call = (const char *(*)(void))dlsym(library, "zlibVersion");
    const char *volatile version = call();
    dlclose(library);
    sink = version[0];
    sink++;
}

// case truncated_file
//   signal: BUS
//   kind: file-truncated
//   says: Read from 0x[0-9a-f]+, past the end of the file mapped there '.*/table\.dat'
OWN void truncated_file(void)
{
    int fd = open("table.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, 2 * PAGE) != 0)
        exit(3);
    volatile char *at = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 10) != 0)
        exit(3);
    sink = at[PAGE + 8];
    sink++;
}

// case divide_least
//   signal: FPE
//   kind: division-overflow
//   says: Integer division whose result is too large
//   true: Integer division by zero, or one that overflows
OWN void divide_least(void)
{
    sink = least / minus_one;
}

// case divide_least_long
//   signal: FPE
//   kind: division-overflow
//   says: Integer division whose result is too large
//   true: Integer division by zero, or one that overflows
//   cause: none
OWN void divide_least_long(void)
{
    static volatile long least_long = LONG_MIN;
    sink = least_long / minus_one;
}

// case remainder_by_zero
//   signal: FPE
//   kind: divide-by-zero
//   says: Integer division by zero
OWN void remainder_by_zero(void)
{
    sink = 7 % zero;
}

// case privileged
//   kind: illegal-instruction
//   says: Instruction 'hlt', which programs may not execute, at 0x
OWN void privileged(void)
{
    __asm__ volatile("hlt");
}

// case undefined_instruction
//   signal: ILL
//   kind: illegal-instruction
//   says: Illegal instruction at 0x
OWN void undefined_instruction(void)
{
    __asm__ volatile(".byte 0x06"); // push %es, which 64-bit code does not have
}

// case unaligned_vector
//   kind: misaligned
//   says: Read from 0x[0-9a-f]+, which is not aligned as the instruction needs it
//   access: read 16 *
OWN void unaligned_vector(void)
{
    static char bytes[64] __attribute__((aligned(16)));
    char *volatile at = bytes + 1;
    __asm__ volatile("movaps (%0), %%xmm0" : : "r"(at) : "xmm0");
    sink++;
}

// case unaligned_store
//   kind: misaligned
//   says: Write to 0x[0-9a-f]+, which is not aligned as the instruction needs it
//   access: write 16 *
OWN void unaligned_store(void)
{
    static char bytes[64] __attribute__((aligned(16)));
    char *volatile at = bytes + 4;
    __asm__ volatile("movaps %%xmm0, (%0)" : : "r"(at) : "memory");
    sink++;
}

// Both leave their return address overwritten.
//
// case smashed_return
//   kind: overwritten-return
//   says: Return to 0x4141414141414141, an address that no memory can have: the
//     return address was overwritten
//   cause: text
__attribute__((noinline, naked)) static void smashed_return(void)
{
    __asm__ volatile("movabs $0x4141414141414141, %rax\n\t"
                     "mov %rax, (%rsp)\n\t"
                     "ret");
}

// case smashed_return_low
//   kind: overwritten-return|wild-jump
//   says: Jump to 0x414141414141, where nothing is mapped; a return led there: its
//     address was overwritten
//   true: Jump to 0x414141414141, where nothing is mapped
//   in: -
__attribute__((noinline, naked)) static void smashed_return_low(void)
{
    __asm__ volatile("movabs $0x414141414141, %rax\n\t"
                     "mov %rax, (%rsp)\n\t"
                     "ret");
}

// case forbidden_call
//   signal: SYS
//   kind: seccomp
//   says: System call 140 \(getpriority\) refused by a seccomp filter
OWN void forbidden_call(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = { sizeof(filter) / sizeof(filter[0]), filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        exit(3);
    sink = syscall(SYS_getpriority, 0, 0);
}

// use_all_memory allocates until it is refused.
OWN void *use_all_memory(void)
{
    struct rlimit limit = { 256 * MIB, 256 * MIB };
    void *volatile block = NULL;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        exit(3);
    do
        block = malloc(MIB);
    while (block != NULL);
    return block;
}

// case out_of_memory
//   signal: ABRT
//   kind: memory-limit
//   says: The program aborted; 2\d\d MiB of the 256 MiB that RLIMIT_AS allows are in
//     use
//   ways: live
OWN void out_of_memory(void)
{
    if (use_all_memory() == NULL)
        abort();
}

// case null_memory
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   live: Write to 0x18, through a null pointer; 2\d\d MiB of the 256 MiB that
//     RLIMIT_AS allows are in use
//   cause: null-offset
OWN void null_memory(void)
{
    long *volatile order = use_all_memory();
    order[3] = 7;
    sink++;
}

// case with_a_key
//   kind: protection-key
//   says: Write to 0x[0-9a-f]+, which protection key \d+ does not allow this thread
OWN void with_a_key(void)
{
    int key = pkey_alloc(0, PKEY_DISABLE_WRITE);
    char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (key < 0 || pkey_mprotect(page, PAGE, PROT_READ | PROT_WRITE, key) != 0) {
        puts("this processor has no protection keys");
        exit(77);
    }
    page[8] = 1;
    sink++;
}

// case stack_is_no_code
//   kind: execute-of-data
//   says: Jump to 0x[0-9a-f]+, which is data and not code
OWN void stack_is_no_code(void)
{
    volatile char code[16] = { (char)0xc3 };
    ((void (*)(void))(uintptr_t)code)();
    sink++;
}

// case shared_read_only
//   kind: write-to-read-only
//   says: Write to 0x[0-9a-f]+, which is read-only memory '.*/page\.dat'
OWN void shared_read_only(void)
{
    int fd = open("page.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, PAGE) != 0)
        exit(3);
    volatile char *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    at[7] = 1;
    sink++;
}

// case code_is_read_only
//   kind: write-to-read-only
//   says: Write to 0x[0-9a-f]+, which is read-only memory '.*/places
OWN void code_is_read_only(void)
{
    *(volatile char *)(uintptr_t)code_is_read_only = 1;
    sink++;
}

#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();

int main(int count, char **arguments)
{
    CASE(null_far)
    CASE(small_stack)
    CASE(coroutine_stack)
    CASE(large_array)
    CASE(lost_stack)
    CASE(bad_frame)
    CASE(protected_page)
    CASE(unmapped)
    CASE(freed_large)
    CASE(closed_library)
    CASE(closed_library_data)
    CASE(truncated_file)
    CASE(divide_least)
    CASE(divide_least_long)
    CASE(remainder_by_zero)
    CASE(privileged)
    CASE(undefined_instruction)
    CASE(unaligned_vector)
    CASE(unaligned_store)
    CASE(smashed_return)
    CASE(smashed_return_low)
    CASE(forbidden_call)
    CASE(out_of_memory)
    CASE(null_memory)
    CASE(with_a_key)
    CASE(stack_is_no_code)
    CASE(shared_read_only)
    CASE(code_is_read_only)
    return 0;
}
