// SPDX-License-Identifier: Apache-2.0
//
// handler_stacks STACK THREAD SIGNAL END KIB: calls a handler that needs KIB of stack,
// says what stack it ran on, and ends in one of several ways. Nothing here depends on
// addresses, so that what it prints can be compared with a run without the library.
//
// STACK: none (handler without SA_ONSTACK), asked (with it, but the thread has set
// none), own (the thread has set one of 6 MiB), small (of 16 KiB, and what nested
// handlers need), back (set, and then what was before put back), nodefer (as asked, and
// the signal is not blocked). THREAD: main, other. SIGNAL: usr1, segv, rt, overflow.
// END: return, exit, raise, chain, longjmp, setcontext, throw, nested, fault.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" int crashhook_thread_init(void) __attribute__((weak));

static const char *stack_kind, *signal_name, *end;
static size_t wanted;
static int number;
static char *page; // not accessible at first
static stack_t own;
static sigjmp_buf before;
static ucontext_t context;
static volatile bool came_back;
static thread_local char *frame_of_thread;
static volatile int depth;

static void say(const char *what)
{
    // printf is no matter: no handler interrupts it here.
    printf("%s\n", what);
    fflush(stdout);
}

static void say_stack(void)
{
    stack_t now;
    char here;
    bool on_own = own.ss_sp != nullptr && &here >= (char *)own.ss_sp &&
                  &here < (char *)own.ss_sp + own.ss_size;
    bool on_thread = &here < frame_of_thread && frame_of_thread - &here < (8 << 20);
    sigaltstack(nullptr, &now);
    printf("on %s, set %d %d\n",
           on_own      ? "own"
           : on_thread ? "thread"
                       : "another",
           now.ss_sp == own.ss_sp, now.ss_flags);
    fflush(stdout);
}

__attribute__((noinline)) static void use_stack(void)
{
    volatile char *kept = (volatile char *)__builtin_alloca(wanted);
    for (size_t i = 0; i < wanted; i += 256)
        kept[wanted - 1 - i] = 1;
    say_stack();
}

static void take_default(void)
{
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
}

static struct sigaction former;

// In a function of its own, because of its many ends.
__attribute__((noinline)) static void leave(void *interrupted)
{
    if (strcmp(end, "exit") == 0)
        _exit(7);
    if (strcmp(end, "longjmp") == 0)
        siglongjmp(before, 1);
    if (strcmp(end, "setcontext") == 0)
        setcontext(&context);
    if (strcmp(end, "throw") == 0)
        throw 5;
    if (strcmp(end, "fault") == 0)
        *(volatile int *)(page + 8) = 1;
    if (strcmp(end, "raise") == 0) {
        take_default();
        raise(number);
    }
    if (strcmp(end, "chain") == 0)
        former.sa_sigaction(number, nullptr, interrupted);
    if (strcmp(end, "nested") == 0 && depth++ < 3)
        raise(number == SIGSEGV ? SIGUSR2 : number);
}

static void handle(int, siginfo_t *info, void *interrupted)
{
    auto *uc = (ucontext_t *)interrupted;
    // How often a handler that faults is called depends on what each call takes.
    static volatile bool said;
    bool often = strcmp(stack_kind, "nodefer") == 0 && strcmp(end, "fault") == 0;
    if (!often || !said) {
        said = true;
        printf("called for %d\n", info->si_signo);
        // The kernel calls a handler without SA_ONSTACK itself, and shows our stack.
        if (strcmp(stack_kind, "none") != 0)
            printf("former stack %d %d\n", uc->uc_stack.ss_sp == own.ss_sp,
                   uc->uc_stack.ss_flags);
        use_stack();
    }
    leave(interrupted);
    if (number == SIGSEGV && (strcmp(end, "return") == 0 || strcmp(end, "nested") == 0))
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void handle_former(int, siginfo_t *, void *)
{
    use_stack();
    _exit(8);
}

static void set(int signal, void (*handler)(int, siginfo_t *, void *),
                struct sigaction *old)
{
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | (strcmp(stack_kind, "none") != 0 ? SA_ONSTACK : 0);
    if (strcmp(stack_kind, "nodefer") == 0 || strcmp(end, "nested") == 0)
        action.sa_flags |= SA_NODEFER;
    sigaction(signal, &action, old);
}

static void set_own(size_t bytes)
{
    own.ss_sp = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own.ss_size = bytes;
    sigaltstack(&own, nullptr);
}

// more_for_frames gives what four frames of signals need beyond 2 KiB each, as on
// processors with AVX-512.
static size_t more_for_frames(void)
{
    enum { FRAMES = 4, FRAME_BYTES = 2048 };
    const unsigned long signal_frame = 51; // AT_MINSIGSTKSZ
    size_t bytes = getauxval(signal_frame);
    return bytes > FRAME_BYTES ? FRAMES * (bytes - FRAME_BYTES) : 0;
}

static void prepare(void)
{
    if (strcmp(stack_kind, "own") == 0)
        set_own(6 << 20);
    if (strcmp(stack_kind, "small") == 0)
        set_own(16384 + (strcmp(end, "nested") == 0 ? more_for_frames() : 0));
    if (strcmp(stack_kind, "back") == 0) {
        stack_t old;
        sigaltstack(nullptr, &old);
        set_own(65536);
        sigaltstack(&old, nullptr);
        own = {};
    }
    struct sigaction asked;
    set(number, handle_former, nullptr);
    set(SIGUSR2, handle, nullptr);
    set(number, handle, &former);
    sigaction(number, nullptr, &asked);
    printf("set %d %x\n", asked.sa_sigaction == handle, asked.sa_flags);
}

__attribute__((noinline)) static int fill_stack(int level)
{
    volatile char kept[4096];
    kept[0] = (char)level; // crashes here
    return fill_stack(level + 1) + kept[0];
}

__attribute__((noinline)) static void bring(void)
{
    try {
        if (strcmp(signal_name, "overflow") == 0)
            fill_stack(0);
        else if (number == SIGSEGV)
            *(volatile int *)page = 1; // crashes here
        else
            raise(number);
    } catch (int value) {
        printf("caught %d\n", value);
    }
}

static void *run(void *)
{
    char here;
    frame_of_thread = &here;
    if (crashhook_thread_init != nullptr)
        crashhook_thread_init();
    prepare();
    getcontext(&context);
    if (!came_back && sigsetjmp(before, 1) == 0) {
        came_back = true;
        bring();
    }
    stack_t now;
    sigaltstack(nullptr, &now);
    printf("goes on, set %d %d\n", now.ss_sp == own.ss_sp, now.ss_flags);
    fflush(stdout);
    return nullptr;
}

int main(int count, char **values)
{
    if (count != 6)
        return 2;
    stack_kind = values[1];
    signal_name = values[3];
    end = values[4];
    wanted = strtoul(values[5], nullptr, 10) << 10;
    number = strcmp(signal_name, "segv") == 0 || strcmp(signal_name, "overflow") == 0
                 ? SIGSEGV
             : strcmp(signal_name, "rt") == 0 ? SIGRTMAX
                                              : SIGUSR1;
    page = (char *)mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, nullptr, _IOLBF, 4096);
    pthread_t thread;
    if (strcmp(values[2], "main") == 0)
        run(nullptr);
    else if (pthread_create(&thread, nullptr, run, nullptr) == 0)
        pthread_join(thread, nullptr);
    say("ends");
    return 0;
}
