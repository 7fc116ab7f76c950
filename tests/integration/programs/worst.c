// SPDX-License-Identifier: Apache-2.0
//
// worst WAY [LIBRARY]: crashes in places where little is left to stand on. The library,
// where one is given, is loaded by the program itself and not before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, SMALL_STACK = 16384 };

static const char *library;

static void load_library(void)
{
    if (library != NULL && dlopen(library, RTLD_NOW) == NULL)
        _exit(99);
}

static void crash(void)
{
    volatile int *nowhere = NULL;
    *nowhere = 1;
}

// without_stack faults with a stack pointer that points nowhere.
static void without_stack(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mov $0x10, %rsp\n\tmov %rsp, 0x0");
#else
    __asm__ volatile("mov x9, #0x10\n\tmov sp, x9\n\tstr x9, [sp]");
#endif
}

// in_coroutine crashes on a stack that makecontext was given.
static void in_coroutine(void)
{
    static ucontext_t here;
    static ucontext_t there;
    getcontext(&there);
    there.uc_stack.ss_sp = malloc(SMALL_STACK);
    there.uc_stack.ss_size = SMALL_STACK;
    there.uc_link = &here;
    makecontext(&there, crash, 0);
    swapcontext(&here, &there);
}

// looping_frames crashes with a frame record that is its own caller's.
static void looping_frames(void)
{
    void **frame = __builtin_frame_address(0);
    frame[0] = frame;
    frame[1] = (void *)(uintptr_t)looping_frames;
    crash();
}

// in_vdso has the kernel's own code write to an address that is not there.
static void in_vdso(void)
{
    clock_gettime(CLOCK_MONOTONIC, (struct timespec *)8);
}

static void on_alarm(int signal)
{
    (void)signal;
    crash();
}

static void in_signal_handler(void)
{
    signal(SIGALRM, on_alarm);
    raise(SIGALRM);
}

static pthread_barrier_t ready;

static void *spin(void *argument)
{
    volatile unsigned long turns = 0;
    (void)argument;
    pthread_barrier_wait(&ready);
    while (turns + 1 != 0)
        turns++;
    return NULL;
}

static void *block_all(void *argument)
{
    sigset_t all;
    (void)argument;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_barrier_wait(&ready);
    while (pause() != 0)
        ;
    return NULL;
}

static void beside(void *(*run)(void *))
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, run, NULL);
    pthread_barrier_wait(&ready);
    crash();
}

static void beside_spinner(void)
{
    beside(spin);
}

static void beside_blocker(void)
{
    beside(block_all);
}

// in_raw_child crashes in a child whose libc still believes in its parent's pid.
static void in_raw_child(void)
{
    int status;
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        crash();
    waitpid((pid_t)pid, &status, 0);
    printf("%ld\n", pid);
    fflush(stdout);
    crash();
}

// code_page is a page of code that stands alone in memory.
static unsigned char *code_page(void)
{
    unsigned char *pages =
        mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    memset(pages + PAGE, 0x90, PAGE);
    return pages + PAGE;
}

static void call_code(unsigned char *code)
{
    void (*function)(void);
    memcpy(&function, &code, sizeof(function));
    __builtin___clear_cache((char *)code, (char *)code + 4);
    function();
}

#if defined(__x86_64__)
static const unsigned char undefined[] = { 0x0f, 0x0b }; // ud2
#else
static const unsigned char undefined[] = { 0, 0, 0, 0 }; // udf #0
#endif

static void at_start_of_mapping(void)
{
    unsigned char *code = code_page();
    memcpy(code, undefined, sizeof(undefined));
    call_code(code);
}

static void at_end_of_mapping(void)
{
    unsigned char *code = code_page() + PAGE - sizeof(undefined);
    memcpy(code, undefined, sizeof(undefined));
    call_code(code);
}

static void before_first_mapping(void)
{
    *(volatile char *)0x8000 = 1;
}

static void after_last_mapping(void)
{
    *(volatile char *)0x7ffffffff000 = 1;
}

// prints_errno is there before crashhook, and sees what the program had in errno.
static void prints_errno(int signal)
{
    char line[32];
    int length = snprintf(line, sizeof(line), "errno %d\n", errno);
    (void)!write(STDOUT_FILENO, line, (size_t)length);
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigaction(signal, &standard, NULL);
}

// allocates is there before crashhook, and does what no handler may.
static void allocates(int signal)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    free(malloc(100));
    sigaction(signal, &standard, NULL);
}

static void allocates_in_handler(void)
{
    // Without its own stack and the flag it would be called on the stack that the
    // program crashed on.
    static char stack[1 << 16];
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) }, NULL);
    sigaction(SIGSEGV,
              &(struct sigaction){ .sa_handler = allocates, .sa_flags = SA_ONSTACK },
              NULL);
    load_library();
    crash();
}

static void keeps_errno(void)
{
    signal(SIGSEGV, prints_errno);
    load_library();
    errno = 4242;
    crash();
}

// gone_handler has a handler whose code is no longer there.
static void gone_handler(void)
{
    unsigned char *code = code_page();
    void (*function)(int);
    memcpy(&function, &code, sizeof(function));
    signal(SIGSEGV, function);
    load_library();
    munmap(code, PAGE);
    crash();
}

// closed_handler has a handler that has repaired a fault, and then went with its
// library.
static void closed_handler(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO };
    void *closable = dlopen(library, RTLD_NOW);
    void *function = closable != NULL ? dlsym(closable, "open_page") : NULL;
    memcpy(&action.sa_sigaction, &function, sizeof(function));
    sigaction(SIGSEGV, &action, NULL);
    volatile char *page =
        mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
    if (dlclose(closable) != 0 || dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL)
        _exit(98);
    crash();
}

// without_folder crashes in a folder that has been removed.
static void without_folder(void)
{
    char path[] = "/tmp/crashhook-gone-XXXXXX";
    if (mkdtemp(path) == NULL || chdir(path) != 0 || rmdir(path) != 0)
        _exit(77);
    crash();
}

static void *crash_without(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    // What can be read of the process by its number goes a little later.
    char byte;
    while (readlink("/proc/self/exe", &byte, 1) > 0)
        sched_yield();
    crash();
    return NULL;
}

// without_main_thread crashes in a thread that has outlived the first one.
static void without_main_thread(void)
{
    static pthread_t main_thread;
    pthread_t thread;
    main_thread = pthread_self();
    pthread_create(&thread, NULL, crash_without, &main_thread);
    pthread_exit(NULL);
}

#if defined(__x86_64__)

// step_over_and_unmap has a handler with these flags whose code has stepped over a
// fault before it went.
static void step_over_and_unmap(int flags)
{
    static const unsigned char step_over[] = {
        0x48, 0x83, 0x82, 168, 0, 0, 0, 2, // add $2, 168(%rdx): the context's rip
        0xc3,                              // ret
    };
    struct sigaction action = { .sa_flags = SA_SIGINFO | flags };
    unsigned char *code = code_page();
    memcpy(code, step_over, sizeof(step_over));
    memcpy(&action.sa_sigaction, &code, sizeof(code));
    sigaction(SIGSEGV, &action, NULL);
    __asm__ volatile("movl %%eax, (%%rax)" ::"a"(0L) : "memory"); // of two bytes
    munmap(code, PAGE);
    crash();
}

static void gone_handler_again(void)
{
    step_over_and_unmap(SA_NODEFER);
}

// gone_handler_deferred blocks the very signal that its missing code raises.
static void gone_handler_deferred(void)
{
    step_over_and_unmap(0);
}

// check_alignment has the processor refuse misaligned accesses, in handlers too.
static void check_alignment(void)
{
    __asm__ volatile("pushfq\n\t"
                     "orl $0x40000, (%%rsp)\n\t"
                     "popfq" ::
                         : "memory", "cc");
}

__attribute__((noinline)) static void misaligned(void)
{
    static char bytes[16];
    check_alignment();
    __asm__ volatile("movl $1, 1(%0)" ::"r"(bytes) : "memory");
}

__attribute__((noinline)) static void null_write_checking_alignment(void)
{
    check_alignment();
    __asm__ volatile("movl $1, 0" ::: "memory");
}

#endif

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    { "plain", crash },
#if defined(__x86_64__)
    { "gone-handler-again", gone_handler_again },
    { "gone-handler-deferred", gone_handler_deferred },
    { "misaligned", misaligned },
    { "null-write-checking-alignment", null_write_checking_alignment },
#endif
    { "without-stack", without_stack },
    { "in-coroutine", in_coroutine },
    { "looping-frames", looping_frames },
    { "in-vdso", in_vdso },
    { "in-signal-handler", in_signal_handler },
    { "beside-spinner", beside_spinner },
    { "beside-blocker", beside_blocker },
    { "in-raw-child", in_raw_child },
    { "at-start-of-mapping", at_start_of_mapping },
    { "at-end-of-mapping", at_end_of_mapping },
    { "before-first-mapping", before_first_mapping },
    { "after-last-mapping", after_last_mapping },
    { "allocates-in-handler", allocates_in_handler },
    { "keeps-errno", keeps_errno },
    { "gone-handler", gone_handler },
    { "closed-handler", closed_handler },
    { "without-folder", without_folder },
    { "without-main-thread", without_main_thread },
};

int main(int argc, char **argv)
{
    library = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) == 0)
            ways[i].run();
    }
    return 2;
}
