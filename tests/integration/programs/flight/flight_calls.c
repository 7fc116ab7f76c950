// SPDX-License-Identifier: Apache-2.0
//
// flight_calls HOW: a program whose functions are recorded (it is compiled with
// -finstrument-functions, or with -fxray-instrument, by test_flight.py) and that
// crashes in one way or another. Its work is real: threads that read the program's own
// ELF headers with formats/debug/elf.c, which is recorded too.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/debug/elf.h"

#define NOT_RECORDED __attribute__((no_instrument_function))

enum { WORKERS = 4, DEPTH = 5, SHORT_THREADS = 10000, AT_A_TIME = 20 };
enum { SIGNALS_LEAST = 100, STEPS_LEAST = 1000 };

static struct elf_view program;
static pthread_barrier_t all_at_work;
static jmp_buf way_back;
static volatile sig_atomic_t working = 1;
static volatile sig_atomic_t handled; // signals
static volatile int steps;

#if defined(__clang__)
#define FIRST_ARGUMENT __attribute__((xray_log_args(1), xray_always_instrument))
#else
#define FIRST_ARGUMENT
#endif

// descend calls itself until it reads where nothing is.
FIRST_ARGUMENT __attribute__((noinline)) int descend(long depth, const int *nowhere)
{
    if (depth == 0)
        return *nowhere; // crashes here
    int below = descend(depth - 1, nowhere);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

static size_t read_sections(void)
{
    size_t bytes = 0;
    struct elf_section section;
    for (uint32_t i = 0; elf_view_section(&program, i, &section) == CH_OK; i++)
        bytes += section.size;
    return bytes;
}

static void read_program(void)
{
    struct stat status;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        abort();
    const void *bytes =
        mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED ||
        elf_view_init(&program, bytes, (size_t)status.st_size) != CH_OK)
        abort();
    close(fd);
}

static void *work(void *crashes)
{
    for (int i = 0; i < 20; i++)
        (void)read_sections();
    pthread_barrier_wait(&all_at_work);
    if (crashes != NULL)
        (void)descend(DEPTH, NULL);
    for (;;)
        (void)read_sections();
    return NULL;
}

static void crash_in_a_worker(void)
{
    pthread_t threads[WORKERS];
    pthread_barrier_init(&all_at_work, NULL, WORKERS);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, i == WORKERS - 1 ? &way_back : NULL);
    pthread_join(threads[0], NULL);
}

static void *work_shortly(void *unused)
{
    (void)read_sections();
    return unused;
}

static void crash_after_many_threads(void)
{
    for (int begun = 0; begun < SHORT_THREADS; begun += AT_A_TIME) {
        pthread_t threads[AT_A_TIME];
        for (int i = 0; i < AT_A_TIME; i++)
            pthread_create(&threads[i], NULL, work_shortly, NULL);
        for (int i = 0; i < AT_A_TIME; i++)
            pthread_join(threads[i], NULL);
    }
    (void)descend(DEPTH, NULL);
}

static void crash_in_a_child(void)
{
    int status;
    pthread_t other;
    pthread_create(&other, NULL, work_shortly, NULL);
    pthread_join(other, NULL);
    pid_t child = fork();
    if (child == 0)
        (void)descend(DEPTH, NULL);
    waitpid(child, &status, 0);
    (void)read_sections();
}

__attribute__((noinline)) static int step(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void handle(int signal)
{
    (void)step(signal);
    handled++;
}

NOT_RECORDED static void *send_signals(void *to)
{
    while (pthread_kill(*(pthread_t *)to, SIGUSR1) == 0 && working)
        ;
    return NULL;
}

// Most of the thread's time is spent in the recorder, so the signals mostly come there.
static void crash_among_signals(void)
{
    const struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    pthread_t self = pthread_self();
    pthread_t sender;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&sender, NULL, send_signals, &self);
    for (int i = 0; i < 2000 || handled < SIGNALS_LEAST; i++)
        (void)read_sections();
    working = 0;
    pthread_join(sender, NULL);
    (void)descend(DEPTH, NULL);
}

// jump leaves without coming back through its callers.
__attribute__((noinline)) static int jump(int depth)
{
    if (depth == 0)
        longjmp(way_back, 1);
    int below = jump(depth - 1);
    __asm__ volatile("" : "+r"(below));
    return below;
}

static void crash_after_a_jump(void)
{
    if (setjmp(way_back) == 0)
        (void)jump(3);
    (void)descend(DEPTH, NULL);
}

static void load_call_unload(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    void (*call)(void) = NULL;
    if (handle != NULL)
        *(void **)&call = dlsym(handle, "call_in_library");
    if (call == NULL)
        abort();
    call();
    dlclose(handle);
}

static void crash_after_many_calls(void)
{
    for (int i = 0; i < 2000; i++)
        (void)read_sections();
    (void)descend(DEPTH, NULL);
}

NOT_RECORDED static void *step_for_ever(void *unused)
{
    for (;;)
        steps = step(steps);
    return unused;
}

// Most of the thread's time is spent in the recorder, so the signal mostly comes there.
NOT_RECORDED static void crash_in_the_recorder(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, step_for_ever, NULL);
    while (steps < STEPS_LEAST)
        usleep(1000);
    pthread_kill(thread, SIGSEGV);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "worker";
    read_program();
    if (strcmp(how, "worker") == 0)
        crash_in_a_worker();
    if (strcmp(how, "threads") == 0)
        crash_after_many_threads();
    if (strcmp(how, "fork") == 0)
        crash_in_a_child();
    if (strcmp(how, "signals") == 0)
        crash_among_signals();
    if (strcmp(how, "longjmp") == 0)
        crash_after_a_jump();
    if (strcmp(how, "dlclose") == 0) {
        for (int i = 2; i < argc; i++)
            load_call_unload(argv[i]);
        (void)descend(DEPTH, NULL);
    }
    if (strcmp(how, "wrap") == 0)
        crash_after_many_calls();
    if (strcmp(how, "recorder") == 0)
        crash_in_the_recorder();
    return 0;
}
