// SPDX-License-Identifier: Apache-2.0
//
// Captures in the handlers of timers that interrupt 8 threads at 10 kHz each, beside
// dlopen, fork, malloc and exceptions. CRASHHOOK_FULL=1 makes ten million of them, or
// 200,000 in a sanitizer's build.
//
//     test_backtrace_timers LIBRARY
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <crashhook/backtrace.h>

namespace
{
constexpr int threads = 8;
// In a sanitizer's build a capture that looks up every frame takes longer than 0.1 ms,
// so that a thread would do nothing else. Its allocator does not reset its locks in a
// child that was forked while another thread held them: the child allocates nothing.
constexpr bool sanitized = CRASHHOOK_SANITIZED;
constexpr long period_ns = sanitized ? 5'000'000 : 100'000;
std::atomic<long> captures;
std::atomic<long> incomplete;
std::atomic<long> failures;
std::atomic<bool> stop;

void capture(int, siginfo_t *, void *context)
{
    std::uint64_t addresses[128];
    crashhook_raw_end end = CRASHHOOK_RAW_INVALID;
    crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    const int before = errno;
    errno = 99;
    options.end = &end;
    options.context = captures.fetch_add(1) % 2 != 0 ? context : nullptr;
    const std::size_t count = crashhook_backtrace_capture_raw(addresses, 128, &options);
    // Code without unwind rules is interrupted too: a library's _init.
    incomplete += end != CRASHHOOK_RAW_COMPLETE;
    failures += count == 0 || errno != 99;
    errno = before;
}

void start_timer()
{
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + 1;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    timer_t timer;
    const itimerspec period = { { 0, period_ns }, { 0, period_ns } };
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &period, nullptr) != 0)
        failures++;
}

__attribute__((noinline)) void throw_from(int depth)
{
    if (depth == 0)
        throw std::runtime_error("thrown");
    throw_from(depth - 1);
    __asm__ volatile("");
}

void fork_once()
{
    const pid_t child = fork();
    if (child == 0) {
        std::uint64_t addresses[16];
        crashhook_backtrace *backtrace = nullptr;
        alarm(60);
        const bool captured =
            crashhook_backtrace_capture_raw(addresses, 16, nullptr) != 0;
        _exit(captured && (sanitized ||
                           crashhook_backtrace_capture(nullptr, &backtrace) == 0)
                  ? 0
                  : 1);
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    failures += status != 0;
}

void symbolicate_once()
{
    crashhook_backtrace *backtrace = nullptr;
    crashhook_symbolicated_backtrace *named = nullptr;
    if (crashhook_backtrace_capture(nullptr, &backtrace) != 0 ||
        crashhook_backtrace_symbolicate(backtrace, nullptr,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) != 0)
        failures++;
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
}

void work(int number, const char *library)
{
    // Every other thread captures without having been prepared.
    if (number % 2 == 0 && crashhook_backtrace_thread_prepare() != 0)
        failures++;
    start_timer();
    for (int round = 0; !stop; round++) {
        std::vector<std::string> strings(50, std::string(100 + round % 900, 'x'));
        try {
            throw_from(round % 20);
        } catch (const std::runtime_error &) {
        }
        if (number == 0 && round % 50 == 0)
            fork_once();
        if (number == 1)
            symbolicate_once();
        if (number == 2 || number == 3) {
            void *loaded = dlopen(library, RTLD_NOW);
            failures += loaded == nullptr;
            if (loaded != nullptr)
                dlclose(loaded);
        }
    }
    // Its timer goes on: the thread waits for the end of the process.
    const sigset_t *const none = nullptr;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, const_cast<sigset_t *>(none));
}
} // namespace

int main(int argc, char **argv)
{
    const char *full = std::getenv("CRASHHOOK_FULL");
    const bool all = full != nullptr && std::strcmp(full, "1") == 0;
    const long wanted = sanitized ? (all ? 200'000 : 5'000)
                        : all     ? 10'000'000
                                  : 200'000;
    struct sigaction action {
    };
    action.sa_sigaction = capture;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (argc != 2 || sigaction(SIGRTMIN + 1, &action, nullptr) != 0)
        return 2;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
        workers.emplace_back(work, i, argv[1]);
    constexpr unsigned hang_seconds = 300; // without a capture
    for (long before = -1; captures < wanted;) {
        if (captures - before > 1000) {
            before = captures;
            alarm(hang_seconds);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    stop = true;
    for (std::thread &worker : workers)
        worker.join();
    std::printf("captures %ld, incomplete %ld, failures %ld\n", captures.load(),
                incomplete.load(), failures.load());
    return failures == 0 && captures >= wanted && incomplete * 100 <= captures ? 0 : 1;
}
