// SPDX-License-Identifier: Apache-2.0
//
// backtrace_peers [LIBRARY]: the libraries for a program's own backtraces that this
// machine has: a capture of 20 and of 100 frames, of 20 frames in each of 8 threads,
// the first and the later names of an address, and the memory that these took. All walk
// the same stack in turns, so that other load affects all alike. With a LIBRARY the
// program first loads 500 copies of it. Each line is a measure, a library and a value;
// bench/capture.py makes a table of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <crashhook/backtrace.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#if __has_include(<absl/debugging/stacktrace.h>) && defined(WITH_ABSL)
#include <absl/debugging/stacktrace.h>
#include <absl/debugging/symbolize.h>
#endif
#if __has_include(<backtrace.h>) && defined(WITH_LIBBACKTRACE)
#include <backtrace.h>
#endif
#if __has_include(<boost/stacktrace.hpp>)
#include <boost/stacktrace.hpp>
#endif
#if __has_include(<cpptrace/cpptrace.hpp>) && defined(WITH_CPPTRACE)
#include <cpptrace/cpptrace.hpp>
#endif
#if defined(__cpp_lib_stacktrace)
#include <stacktrace>
#endif

namespace
{
constexpr std::size_t room = 256;
bool counts_frames; // captures that would not otherwise

// A peer captures a stack, and gives the number of frames; it prints the name of an
// address into a buffer, where it can.
struct peer {
    const char *name;
    std::size_t (*capture)();
    void (*symbolize)(std::uint64_t address);
};

std::size_t capture_raw(crashhook_unwind_algorithm algorithm)
{
    std::uint64_t frames[room];
    crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.algorithm = algorithm;
    return crashhook_backtrace_capture_raw(frames, room, &options);
}

std::size_t capture_whole()
{
    std::size_t frames = 1;
    crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    crashhook_backtrace *backtrace = nullptr;
    options.limit = room;
    if (crashhook_backtrace_capture(&options, &backtrace) != 0)
        return 0;
    if (counts_frames) {
        crashhook_frames position = crashhook_backtrace_frames(backtrace);
        crashhook_frame frame;
        for (frames = 0; crashhook_frames_next(&position, &frame);)
            frames++;
    }
    crashhook_backtrace_destroy(backtrace);
    return frames;
}

void symbolize_crashhook(std::uint64_t address)
{
    crashhook_backtrace *backtrace = nullptr;
    crashhook_symbolicated_backtrace *named = nullptr;
    if (crashhook_backtrace_from_addresses(&address, 1, CRASHHOOK_FRAME_RETURN_ADDRESS,
                                           &backtrace) != 0)
        return;
    if (crashhook_backtrace_symbolicate(backtrace, nullptr,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) == 0)
        crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
}

std::size_t capture_glibc()
{
    // libunwind exports the name too.
    static const auto capture = reinterpret_cast<int (*)(void **, int)>(
        dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace"));
    void *frames[room];
    return static_cast<std::size_t>(capture(frames, room));
}

std::size_t capture_libunwind()
{
    void *frames[room];
    return static_cast<std::size_t>(unw_backtrace(frames, room));
}

void symbolize_glibc(std::uint64_t address)
{
    static const auto symbols = reinterpret_cast<char **(*)(void *const *, int)>(
        dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace_symbols"));
    void *const addresses[] = { reinterpret_cast<void *>(address) };
    std::free(static_cast<void *>(symbols(addresses, 1)));
}

#if defined(ABSL_DEBUGGING_STACKTRACE_H_)
std::size_t capture_absl()
{
    void *frames[room];
    return static_cast<std::size_t>(absl::GetStackTrace(frames, room, 0));
}

void symbolize_absl(std::uint64_t address)
{
    char name[256];
    absl::Symbolize(reinterpret_cast<void *>(address - 1), name, sizeof(name));
}
#endif

#if defined(BACKTRACE_H)
backtrace_state *libbacktrace_state()
{
    static backtrace_state *state = backtrace_create_state(
        nullptr, 1, [](void *, const char *, int) {}, nullptr);
    return state;
}

std::size_t capture_libbacktrace()
{
    std::size_t count = 0;
    backtrace_simple(
        libbacktrace_state(), 0,
        [](void *counter, std::uintptr_t) {
            ++*static_cast<std::size_t *>(counter);
            return 0;
        },
        [](void *, const char *, int) {}, &count);
    return count;
}

void symbolize_libbacktrace(std::uint64_t address)
{
    backtrace_pcinfo(
        libbacktrace_state(), address - 1,
        [](void *, std::uintptr_t, const char *, int, const char *) { return 0; },
        [](void *, const char *, int) {}, nullptr);
}
#endif

#if defined(BOOST_STACKTRACE_STACKTRACE_HPP)
std::size_t capture_boost()
{
    return boost::stacktrace::stacktrace(0, room).size();
}

void symbolize_boost(std::uint64_t address)
{
    (void)boost::stacktrace::frame(reinterpret_cast<void *>(address - 1)).name();
}
#endif

#if defined(WITH_CPPTRACE)
std::size_t capture_cpptrace()
{
    return cpptrace::generate_raw_trace(0, room).frames.size();
}

void symbolize_cpptrace(std::uint64_t address)
{
    cpptrace::raw_trace{ { static_cast<cpptrace::frame_ptr>(address - 1) } }.resolve();
}
#endif

#if defined(__cpp_lib_stacktrace)
std::size_t capture_standard()
{
    return std::stacktrace::current(0, room).size();
}

// symbolize_standard names another address: an entry cannot be made of one.
void symbolize_standard(std::uint64_t)
{
    (void)std::stacktrace::current(0, 1)[0].description();
}
#endif

const peer peers[] = {
    { "crashhook raw", [] { return capture_raw(CRASHHOOK_UNWIND_AUTO); }, nullptr },
    { "crashhook raw fast", [] { return capture_raw(CRASHHOOK_UNWIND_FAST); },
      nullptr },
    { "crashhook", capture_whole, symbolize_crashhook },
    { "libunwind", capture_libunwind, nullptr },
    { "glibc", capture_glibc, symbolize_glibc },
#if defined(ABSL_DEBUGGING_STACKTRACE_H_)
    { "absl", capture_absl, symbolize_absl },
#endif
#if defined(BACKTRACE_H)
    { "libbacktrace", capture_libbacktrace, symbolize_libbacktrace },
#endif
#if defined(BOOST_STACKTRACE_STACKTRACE_HPP)
    { "boost", capture_boost, symbolize_boost },
#endif
#if defined(WITH_CPPTRACE)
    { "cpptrace", capture_cpptrace, symbolize_cpptrace },
#endif
#if defined(__cpp_lib_stacktrace)
    { "std::stacktrace", capture_standard, symbolize_standard },
#endif
};
constexpr std::size_t peer_count = sizeof(peers) / sizeof(peers[0]);

double now_ns()
{
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double time_captures(const peer &measured, int captures)
{
    const double begin = now_ns();
    for (int i = 0; i < captures; i++)
        measured.capture();
    return (now_ns() - begin) / captures;
}

void print_value(const char *measure, const peer &measured, double value)
{
    std::printf("%s\t%s\t%.2f\n", measure, measured.name, value);
}

void measure_peers(std::size_t frames)
{
    constexpr int rounds = 51;
    const std::string measure = std::to_string(frames) + " frames";
    std::vector<std::vector<double>> times(peer_count);
    std::size_t counts[peer_count];
    counts_frames = true;
    for (std::size_t i = 0; i < peer_count; i++)
        counts[i] = peers[i].capture();
    counts_frames = false;
    for (int round = 0; round < rounds; round++)
        for (std::size_t i = 0; i < peer_count; i++)
            times[i].push_back(time_captures(peers[i], 200));
    for (std::size_t i = 0; i < peer_count; i++) {
        print_value(measure.c_str(), peers[i], median(times[i]));
        print_value((measure + ", found").c_str(), peers[i],
                    static_cast<double>(counts[i]));
    }
}

// call_at_depth calls action when the stack has about so many frames.
template <class Action>
__attribute__((noinline)) void call_at_depth(std::size_t frames, const Action &action)
{
    if (capture_raw(CRASHHOOK_UNWIND_AUTO) < frames)
        call_at_depth(frames, action);
    else
        action();
    __asm__ volatile("");
}

// measure_threads gives the time of a capture of 20 frames while count threads capture.
double measure_threads(const peer &measured, std::size_t count)
{
    std::vector<double> times(count);
    std::vector<std::thread> threads;
    for (double &time : times)
        threads.emplace_back([&measured, &time] {
            (void)crashhook_backtrace_thread_prepare();
            call_at_depth(20, [&measured, &time] {
                measured.capture();
                time = time_captures(measured, 500);
            });
        });
    for (std::thread &thread : threads)
        thread.join();
    return median(times);
}

// resident_kb is the memory of this process that is not of files.
long resident_kb()
{
    long pages[3] = {};
    std::ifstream statm("/proc/self/statm");
    statm >> pages[0] >> pages[1] >> pages[2];
    return (pages[1] - pages[2]) * 4;
}

// load_copies loads 500 copies of a library.
void load_copies(const char *path)
{
    char folder[] = "/tmp/crashhook-peers.XXXXXX";
    if (mkdtemp(folder) == nullptr)
        return;
    int loaded = 0;
    for (int i = 0; i < 500; i++) {
        const std::string copy = std::string(folder) + "/" + std::to_string(i) + ".so";
        std::filesystem::copy_file(path, copy);
        loaded += dlopen(copy.c_str(), RTLD_NOW) != nullptr;
    }
    std::filesystem::remove_all(folder);
    if (loaded != 500)
        std::fprintf(stderr, "only %d copies of %s were loaded\n", loaded, path);
}

void measure_names(const peer &measured)
{
    const long before_kb = resident_kb();
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(&measure_threads) + 8;
    const double begin = now_ns();
    measured.symbolize(address);
    const double first = now_ns() - begin;
    std::vector<double> later;
    for (int i = 0; i < 101; i++) {
        const double again = now_ns();
        measured.symbolize(address);
        later.push_back(now_ns() - again);
    }
    print_value("first name", measured, first / 1e3);
    print_value("later names", measured, median(later) / 1e3);
    print_value("memory", measured, static_cast<double>(resident_kb() - before_kb));
}
} // namespace

int main(int argc, char **argv)
{
#if defined(ABSL_DEBUGGING_STACKTRACE_H_)
    absl::InitializeSymbolizer(argv[0]);
#endif
    if (argc > 1)
        load_copies(argv[1]);
    for (const std::size_t frames : { 20, 100 })
        call_at_depth(frames, [frames] { measure_peers(frames); });
    for (const peer &measured : peers) {
        print_value("1 thread", measured, measure_threads(measured, 1));
        print_value("8 threads", measured, measure_threads(measured, 8));
    }
    for (const peer &measured : peers)
        if (measured.symbolize != nullptr)
            measure_names(measured);
    return 0;
}
