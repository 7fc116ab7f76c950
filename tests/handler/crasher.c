// SPDX-License-Identifier: Apache-2.0
//
// crasher is a program that crashes in the way its first argument names. It knows
// nothing of crashhook: the tests preload the library, link it, or have crasher dlopen
// it (second argument) once its own handler is in place.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static const char *library;

static void load_library(void)
{
    if (library != NULL && dlopen(library, RTLD_NOW) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(99);
    }
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(98);
}

static void null_write(void)
{
    *(volatile int *)0 = 1;
}

static void wild_write(void)
{
    *(volatile int *)0x123456789a8 = 1;
}

static void divide(void)
{
    volatile int dividend = 10;
    volatile int zero = 0;
    volatile int result = dividend / zero;
    (void)result;
}

static void illegal(void)
{
    __builtin_trap();
}

static void breakpoint(void)
{
    __asm__ volatile(
#if defined(__x86_64__)
        "int3"
#else
        "brk #0"
#endif
    );
}

static void bus(void)
{
    FILE *file = tmpfile();
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    (void)page[0];
}

static void forbidden_call(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    getppid();
}

static void kill_self(void)
{
    kill(getpid(), SIGSEGV);
}

static void wait_for_kill(void)
{
    say("ready\n");
    for (;;)
        pause();
}

static volatile int depth_wanted = 1;

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char room[256];
    room[0] = (char)depth;
    return depth_wanted ? recurse(depth + 1) + room[0] : 0;
}

static void overflow(void)
{
    recurse(0);
}

static void *run_in_thread(void *what)
{
    (*(void (**)(void))what)();
    return NULL;
}

static void in_thread(void (*what)(void), size_t stack)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack != 0)
        pthread_attr_setstacksize(&attributes, stack);
    if (pthread_create(&thread, &attributes, run_in_thread, &what) == 0)
        pthread_join(thread, NULL);
}

static void overflow_worker(void)
{
    in_thread(overflow, 0);
}

static void overflow_tiny(void)
{
    in_thread(overflow, 16384);
}

static int run_c11(void *argument)
{
    (void)argument;
    overflow();
    return 0;
}

static void overflow_c11(void)
{
    thrd_t thread;
    if (thrd_create(&thread, run_c11, NULL) == thrd_success)
        thrd_join(thread, NULL);
}

static void raise_segv(void)
{
    raise(SIGSEGV);
}

static void raise_worker(void)
{
    in_thread(raise_segv, 0);
}

static void *sleep_for_ever(void *argument)
{
    (void)argument;
    for (;;)
        pause();
    return NULL;
}

static void crowd(void)
{
    for (int i = 0; i < 511; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
            _exit(97);
    }
    null_write();
}

static pthread_barrier_t barrier;

static void *crash_together(void *argument)
{
    (void)argument;
    pthread_barrier_wait(&barrier);
    null_write();
    return NULL;
}

static void same_instant(void)
{
    pthread_barrier_init(&barrier, NULL, 17);
    for (int i = 0; i < 16; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, crash_together, NULL);
    }
    crash_together(NULL);
}

static void *come_and_go(void *argument)
{
    return argument;
}

// Ten thousand alternate stacks would be 640 MB if they stayed.
static void threads_come_and_go(void)
{
    struct rlimit limit = { 512u << 20, 512u << 20 };
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 10000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, come_and_go, NULL) != 0)
            _exit(97);
        pthread_join(thread, NULL);
    }
    null_write();
}

// unmap_ours takes away what the library mapped when it was loaded: its state as well.
static void unmap_ours(void)
{
    FILE *list = fopen("/proc/self/maps", "r");
    char line[512];
    if (list == NULL)
        _exit(96);
    while (fgets(line, sizeof(line), list) != NULL) {
        uintptr_t from;
        uintptr_t until;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &until, rights) == 3 &&
            strcmp(rights, "rw-p") == 0 && until - from == 4096 &&
            strchr(line, '/') == NULL && *(uint64_t *)from == 0x6b6f6f6868736172) {
            munmap((void *)from, until - from);
        }
    }
}

static void crash_in_handler(void)
{
    unmap_ours();
    null_write();
}

static void crash_in_handler_of_abort(void)
{
    unmap_ours();
    abort();
}

static void in_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        null_write();
    int status = 0;
    waitpid(pid, &status, 0);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void in_many_children(void)
{
    int dead = 0;
    for (int i = 0; i < 16; i++) {
        if (fork() == 0)
            null_write();
    }
    for (int i = 0; i < 16; i++) {
        int status = 0;
        wait(&status);
        dead += WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    }
    _exit(dead);
}

// After a vfork child has crashed on the shared memory, the parent must still be able
// to.
static void in_vfork_child(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        null_write();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
        _exit(1);
    abort();
}

static void on_child(int signal)
{
    (void)signal;
    say("SIGCHLD\n");
}

static void *wait_for_any_child(void *argument)
{
    (void)argument;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid > 0)
            say("a child was returned\n");
    }
    return NULL;
}

static void watch_children(void)
{
    pthread_t thread;
    signal(SIGCHLD, on_child);
    pthread_create(&thread, NULL, wait_for_any_child, NULL);
    null_write();
}

static void listen_on_a_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(address);
    char text[16];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 5) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        _exit(95);
    snprintf(text, sizeof(text), "%d\n", ntohs(address.sin_port));
    say(text);
    null_write();
}

static void fill_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (dup(STDERR_FILENO) >= 0)
        ;
    null_write();
}

static void fill_descriptors_for_good(void)
{
    struct rlimit limit = { 64, 64 };
    setrlimit(RLIMIT_NOFILE, &limit);
    while (dup(STDERR_FILENO) >= 0)
        ;
    // The limit binds root too, who may otherwise raise it.
    prctl(PR_CAPBSET_DROP, 24 /* CAP_SYS_RESOURCE */);
    if (setresuid(65534, 65534, 65534) != 0)
        _exit(94);
    prctl(PR_SET_DUMPABLE, 1);
    null_write();
}

// With descriptor 3 taken or free, the channel must end up there.
static void descriptor_three_is_taken(void)
{
    dup2(STDERR_FILENO, 3);
    null_write();
}

static void hold_a_lock(void)
{
    struct flock lock = { .l_type = F_WRLCK };
    int fd = open("lock", O_RDWR | O_CREAT, 0600);
    if (fcntl(fd, F_SETLK, &lock) != 0)
        _exit(93);
    null_write();
}

// An orphan's reaper, as a container's first process or a shell's supervisor is.
static void watch_children_as_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    watch_children();
}

static void not_dumpable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    null_write();
}

static void ignore_all(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    null_write();
}

// Handlers of the program.

static sigjmp_buf back;
static struct sigaction replaced;
static char *guarded;

static void step_over(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    ucontext_t *registers = context;
#if defined(__x86_64__)
    registers->uc_mcontext.gregs[REG_RIP] += 3; // movb $1, (%rax)
#else
    registers->uc_mcontext.pc += 4;
#endif
    say("H");
}

static void jump_back(int signal)
{
    (void)signal;
    say("H");
    siglongjmp(back, 1);
}

static void open_page(int signal)
{
    (void)signal;
    say("H");
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static void only_return(int signal, siginfo_t *info, void *context)
{
    (void)context;
    char text[64];
    snprintf(text, sizeof(text), "H%d:%d:%p\n", signal, info->si_code, info->si_addr);
    say(text);
}

static void reset_and_return(int number)
{
    say("H");
    signal(number, SIG_DFL);
}

static void reset_and_raise(int number)
{
    say("H");
    signal(number, SIG_DFL);
    raise(number);
}

static void abort_in_handler(int signal)
{
    (void)signal;
    say("H");
    abort();
}

static void call_replaced(int signal, siginfo_t *info, void *context)
{
    say("H");
    replaced.sa_sigaction(signal, info, context);
}

static void call_replaced_with_a_number(int signal)
{
    say("H");
    replaced.sa_handler(signal);
}

static void put_replaced_back(int signal)
{
    say("H");
    sigaction(signal, &replaced, NULL);
}

static void handle(int signal, void *handler, int flags)
{
    struct sigaction action = { .sa_flags = flags };
    if ((flags & SA_SIGINFO) != 0)
        action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
    else
        action.sa_handler = (void (*)(int))handler;
    sigaction(signal, &action, &replaced);
}

__attribute__((noinline)) static void three_byte_fault(void)
{
#if defined(__x86_64__)
    __asm__ volatile("xor %%eax, %%eax\n\tmovb $1, (%%rax)" ::: "rax", "memory");
#else
    __asm__ volatile("mov x0, xzr\n\tstr x0, [x0]" ::: "x0", "memory");
#endif
}

static void earlier_steps_over(void)
{
    handle(SIGSEGV, step_over, SA_SIGINFO);
    load_library();
    for (int i = 0; i < 3; i++)
        three_byte_fault();
    abort();
}

static void earlier_jumps(void)
{
    handle(SIGSEGV, jump_back, 0);
    load_library();
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            null_write();
    }
    abort();
}

static void earlier_opens_the_page(void)
{
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, open_page, 0);
    load_library();
    for (int i = 0; i < 3; i++) {
        mprotect(guarded, 4096, PROT_NONE);
        *(volatile char *)guarded = 1;
    }
    abort();
}

static void earlier_returns(void)
{
    handle(SIGSEGV, only_return, SA_SIGINFO);
    load_library();
    wild_write();
}

static void earlier_returns_from_abort(void)
{
    handle(SIGABRT, only_return, SA_SIGINFO);
    load_library();
    abort();
}

static void earlier_resets(void)
{
    handle(SIGSEGV, reset_and_return, 0);
    load_library();
    null_write();
}

static void earlier_raises(void)
{
    handle(SIGSEGV, reset_and_raise, 0);
    load_library();
    null_write();
}

static void earlier_aborts(void)
{
    handle(SIGSEGV, abort_in_handler, 0);
    load_library();
    null_write();
}

static void earlier_ignores(void)
{
    signal(SIGSEGV, SIG_IGN);
    load_library();
    kill_self();
    say("alive\n");
    null_write();
}

static void later_calls_ours(void)
{
    load_library();
    handle(SIGSEGV, call_replaced, SA_SIGINFO);
    null_write();
}

static void later_calls_ours_with_a_number(void)
{
    load_library();
    handle(SIGSEGV, call_replaced_with_a_number, 0);
    null_write();
}

static void later_puts_ours_back(void)
{
    load_library();
    handle(SIGSEGV, put_replaced_back, 0);
    null_write();
}

static void later_drops_siginfo(void)
{
    struct sigaction ours;
    load_library();
    sigaction(SIGSEGV, NULL, &ours);
    ours.sa_flags &= ~SA_SIGINFO;
    sigaction(SIGSEGV, &ours, NULL);
    null_write();
}

static void own_small_stack(void)
{
    stack_t own = { .ss_sp = malloc(8192), .ss_size = 8192 };
    sigaltstack(&own, NULL);
    overflow();
}

static void tell_stack(void)
{
    stack_t now;
    char text[64];
    sigaltstack(NULL, &now);
    snprintf(text, sizeof(text), "%zu\n",
             (now.ss_flags & SS_DISABLE) != 0 ? 0 : now.ss_size);
    say(text);
}

static void keeps_own_stack(void)
{
    stack_t own = { .ss_sp = malloc(100000), .ss_size = 100000 };
    sigaltstack(&own, NULL);
    load_library();
    tell_stack();
}

static void replaces_small_stack(void)
{
    stack_t own = { .ss_sp = malloc(8192), .ss_size = 8192 };
    sigaltstack(&own, NULL);
    load_library();
    tell_stack();
}

static void live(void)
{
    say("alive\n");
}

static const struct way {
    const char *name;
    void (*crash)(void);
} ways[] = {
    { "null-write", null_write },
    { "wild-write", wild_write },
    { "abort", abort },
    { "divide", divide },
    { "illegal", illegal },
    { "breakpoint", breakpoint },
    { "bus", bus },
    { "forbidden-call", forbidden_call },
    { "kill-self", kill_self },
    { "wait-for-kill", wait_for_kill },
    { "overflow", overflow },
    { "overflow-worker", overflow_worker },
    { "overflow-tiny", overflow_tiny },
    { "overflow-c11", overflow_c11 },
    { "raise-worker", raise_worker },
    { "crowd", crowd },
    { "same-instant", same_instant },
    { "threads-come-and-go", threads_come_and_go },
    { "crash-in-handler", crash_in_handler },
    { "crash-in-handler-of-abort", crash_in_handler_of_abort },
    { "in-child", in_child },
    { "in-many-children", in_many_children },
    { "in-vfork-child", in_vfork_child },
    { "watch-children", watch_children },
    { "listen", listen_on_a_port },
    { "fill-descriptors", fill_descriptors },
    { "fill-descriptors-for-good", fill_descriptors_for_good },
    { "descriptor-three-is-taken", descriptor_three_is_taken },
    { "hold-a-lock", hold_a_lock },
    { "watch-children-as-subreaper", watch_children_as_subreaper },
    { "not-dumpable", not_dumpable },
    { "ignore-all", ignore_all },
    { "earlier-steps-over", earlier_steps_over },
    { "earlier-jumps", earlier_jumps },
    { "earlier-opens-the-page", earlier_opens_the_page },
    { "earlier-returns", earlier_returns },
    { "earlier-returns-from-abort", earlier_returns_from_abort },
    { "earlier-resets", earlier_resets },
    { "earlier-raises", earlier_raises },
    { "earlier-aborts", earlier_aborts },
    { "earlier-ignores", earlier_ignores },
    { "later-calls-ours", later_calls_ours },
    { "later-calls-ours-with-a-number", later_calls_ours_with_a_number },
    { "later-puts-ours-back", later_puts_ours_back },
    { "later-drops-siginfo", later_drops_siginfo },
    { "own-small-stack", own_small_stack },
    { "keeps-own-stack", keeps_own_stack },
    { "replaces-small-stack", replaces_small_stack },
    { "live", live },
};

int main(int argc, char **argv)
{
    if (argc > 2)
        library = argv[2];
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) == 0) {
            ways[i].crash();
            return 0;
        }
    }
    fputs("usage: crasher WAY [LIBRARY]\n", stderr);
    return 2;
}
