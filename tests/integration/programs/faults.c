// SPDX-License-Identifier: Apache-2.0
//
// faults HOW: crashes in the function that is named like HOW, each in another way.
#include <dlfcn.h>
#include <errno.h>
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
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20 };

struct order {
    char name[24];
    long price;
};

// What the compiler must not know.
static struct order *volatile no_order;
static volatile int zero;
static volatile int least = INT_MIN;
static volatile int minus_one = -1;
static const char constant[] = "never to be written";
static volatile long sink;
static const char *program;

static void null_member(void)
{
    sink = no_order->price;
}

static void null_far(void)
{
    volatile char *nothing = (volatile char *)no_order;
    nothing[(size_t)MIB * 4] = 1;
}

static void null_call(void)
{
    void (*volatile nothing)(void) = NULL;
    nothing();
    sink = 1;
}

__attribute__((noinline)) static long deeper(long depth)
{
    volatile char room[512];
    room[0] = (char)depth;
    return deeper(depth + 1) + room[0];
}

static void stack_main(void)
{
    sink = deeper(0);
}

static void *run_deeper(void *argument)
{
    (void)argument;
    pthread_setname_np(pthread_self(), "digger");
    sink = deeper(0);
    return NULL;
}

static void stack_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    if (pthread_create(&thread, &attributes, run_deeper, NULL) == 0)
        pthread_join(thread, NULL);
}

// stack_array jumps far past the end of the stack at once.
static void stack_array(void)
{
    volatile char large[32 * MIB];
    large[0] = 1;
    sink = large[0];
}

static void write_constant(void)
{
    char *volatile at = (char *)(uintptr_t)constant;
    *at = 'x';
}

static void write_protected(void)
{
    char *at = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)at = 'x';
}

static void call_data(void)
{
    static unsigned char code[64] = { 0xc3 };
    void (*volatile call)(void) = (void (*)(void))(uintptr_t)code;
    call();
    sink = 1;
}

static void call_garbage(void)
{
    void (*volatile call)(void) = (void (*)(void))(uintptr_t)0x123456789000;
    call();
    sink = 1;
}

static void read_garbage(void)
{
    sink = *(volatile long *)(uintptr_t)0x123456789008;
}

static void non_canonical(void)
{
    volatile long *volatile at = (volatile long *)(uintptr_t)0xdeadbeefdeadbee0;
    sink = at[1];
}

static void unmapped(void)
{
    char *at = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, MIB);
    sink = ((volatile char *)at)[MIB / 2];
}

// load finds a function of a library that lies beside the program.
static void *load(const char *library, const char *function, void **out_library)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(program, '/') - program),
             program, library);
    *out_library = dlopen(path, RTLD_NOW);
    void *found = *out_library != NULL ? dlsym(*out_library, function) : NULL;
    if (found == NULL)
        exit(3);
    return found;
}

static void closed_library(void)
{
    void *plugin;
    void (*volatile call)(void) =
        (void (*)(void))load("libplugin.so", "plugin_work", &plugin);
    call();
    dlclose(plugin);
    call();
    sink = 1;
}

// loaded_exception ends by an exception of a libstdc++ that the program did not have
// when it started.
static void loaded_exception(void)
{
    void *thrower;
    ((void (*)(void))load("libthrower.so", "thrower_work", &thrower))();
    sink = 1;
}

static void *run_loaded_exception(void *argument)
{
    loaded_exception();
    return argument;
}

static void loaded_exception_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_loaded_exception, NULL) == 0)
        pthread_join(thread, NULL);
}

static void truncated_file(void)
{
    int fd = open("table.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, 2 * PAGE) != 0)
        exit(3);
    volatile char *at = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 10) != 0)
        exit(3);
    sink = at[PAGE + 8];
}

static void divide_by_zero(void)
{
    sink = 7 / zero;
}

static void divide_least(void)
{
    sink = least / minus_one;
}

static void illegal(void)
{
    __builtin_trap();
}

#if defined(__x86_64__)

static void breakpoint(void)
{
    __asm__ volatile("int3; nop");
}

static void privileged(void)
{
    __asm__ volatile("hlt");
}

static void unaligned_vector(void)
{
    static char bytes[64] __attribute__((aligned(16)));
    __asm__ volatile("movaps (%0), %%xmm0" : : "r"(bytes + 1) : "xmm0");
}

// lost_stack pushes onto a stack that is none.
static void lost_stack(void)
{
    __asm__ volatile("movabs $0x123456780000, %%rsp\n\tpush %%rax" : : : "memory");
}

// bad_frame goes through the register that leads to the stack's variables, for which
// the processor has a fault of its own.
static void bad_frame(void)
{
    __asm__ volatile("push %%rbp\n\t"
                     "movabs $0x7777777777777770, %%rbp\n\t"
                     "mov (%%rbp), %%rax\n\t"
                     "pop %%rbp"
                     :
                     :
                     : "rax", "memory");
}

// Both leave their return address overwritten.
__attribute__((noinline, naked)) static void smashed_return(void)
{
    __asm__ volatile("movabs $0x4141414141414141, %rax\n\t"
                     "mov %rax, (%rsp)\n\t"
                     "ret");
}

__attribute__((noinline, naked)) static void smashed_return_low(void)
{
    __asm__ volatile("movabs $0x414141414141, %rax\n\t"
                     "mov %rax, (%rsp)\n\t"
                     "ret");
}

#endif

static void forbidden_call(void)
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
static void *use_all_memory(void)
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

static void out_of_memory(void)
{
    if (use_all_memory() == NULL)
        abort();
}

// group_memory uses 56 MiB, of what a control group may allow, and aborts.
static void group_memory(void)
{
    char *block = malloc(56 * (size_t)MIB);
    memset(block, 'x', 56 * (size_t)MIB);
    sink = block[zero];
    abort();
}

static void null_memory(void)
{
    struct order *volatile order = use_all_memory();
    order->price = 7;
}

static void wait_for_signal(void)
{
    puts("waiting");
    fflush(stdout);
    for (;;)
        pause();
}

static void raise_it(void)
{
    raise(SIGSEGV);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*crash)(void);
    } ways[] = {
        { "null_member", null_member },
        { "null_far", null_far },
        { "null_call", null_call },
        { "stack_main", stack_main },
        { "stack_thread", stack_thread },
        { "stack_array", stack_array },
        { "write_constant", write_constant },
        { "write_protected", write_protected },
        { "call_data", call_data },
        { "call_garbage", call_garbage },
        { "read_garbage", read_garbage },
        { "non_canonical", non_canonical },
        { "unmapped", unmapped },
        { "closed_library", closed_library },
        { "truncated_file", truncated_file },
        { "loaded_exception", loaded_exception },
        { "loaded_exception_in_thread", loaded_exception_in_thread },
        { "divide_by_zero", divide_by_zero },
        { "divide_least", divide_least },
        { "illegal", illegal },
#if defined(__x86_64__)
        { "breakpoint", breakpoint },
        { "privileged", privileged },
        { "unaligned_vector", unaligned_vector },
        { "lost_stack", lost_stack },
        { "bad_frame", bad_frame },
        { "smashed_return", smashed_return },
        { "smashed_return_low", smashed_return_low },
#endif
        { "forbidden_call", forbidden_call },
        { "out_of_memory", out_of_memory },
        { "null_memory", null_memory },
        { "group_memory", group_memory },
        { "wait_for_signal", wait_for_signal },
        { "raise_it", raise_it },
    };
    program = argv[0];
    for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(argv[1], ways[i].name) == 0)
            ways[i].crash();
    }
    return 2;
}
