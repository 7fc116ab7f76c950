// SPDX-License-Identifier: Apache-2.0
//
// raw_actions SIGNAL: a program that sets its handler for the signal by a direct system
// call, as a runtime without libc does, makes a thread and then faults by that signal.
// The handler says so and ends the program with status 9.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    uint64_t flags;
#if defined(__x86_64__)
    void (*restorer)(void);
#endif
    uint64_t mask;
};

#if defined(__x86_64__)
void raw_restore(void);
__asm__("raw_restore: mov $15, %eax\n\tsyscall");
#endif

static void handle(int number, siginfo_t *info, void *context)
{
    static const char text[] = "raw handler\n";
    (void)number;
    (void)info;
    (void)context;
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(3);
    _exit(9);
}

static void set_raw(int number)
{
    struct kernel_action action = { .handler = handle, .flags = SA_SIGINFO };
#if defined(__x86_64__)
    action.flags |= 0x04000000; // SA_RESTORER
    action.restorer = raw_restore;
#endif
    if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask)) != 0)
        _exit(77);
}

static void *end_at_once(void *nothing)
{
    return nothing;
}

__attribute__((noinline)) static void read_past_the_end(void)
{
    char path[] = "/tmp/crashhook-raw-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)*page;
}

__attribute__((noinline)) static void fault(const char *name)
{
    volatile int zero = 0;
    if (strcmp(name, "SIGSEGV") == 0)
        *(volatile int *)(uintptr_t)(unsigned)zero = 1;
    if (strcmp(name, "SIGBUS") == 0)
        read_past_the_end();
    if (strcmp(name, "SIGABRT") == 0)
        abort();
#if defined(__x86_64__)
    if (strcmp(name, "SIGFPE") == 0)
        __asm__ volatile("idivl %1" ::"a"(1), "r"(zero), "d"(0));
    if (strcmp(name, "SIGILL") == 0)
        __asm__ volatile("ud2");
    if (strcmp(name, "SIGTRAP") == 0)
        __asm__ volatile("int3");
#endif
}

int main(int argc, char **argv)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP };
    pthread_t thread;
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        set_raw(numbers[i]);
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
        pthread_join(thread, NULL);
    fault(argv[1]);
    return 0;
}
