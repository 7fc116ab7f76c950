// SPDX-License-Identifier: Apache-2.0
//
// crashhook/backtrace.hpp and crashhook/execinfo.h: each line that fails is printed.
#include <crashhook/backtrace.hpp>
#include <crashhook/execinfo.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iterator>
#if __cplusplus >= 202002L
#include <ranges>
#endif
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <unordered_set>

namespace
{
int failed;

void check(bool right, const char *what)
{
    if (!right)
        std::printf("failed: %s\n", what);
    failed += !right;
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

__attribute__((noinline)) crashhook::backtrace capture_here()
{
    crashhook::backtrace captured = crashhook::backtrace::capture();
    __asm__ volatile("");
    return captured;
}

void a_backtrace_is_a_value()
{
    std::vector<crashhook::backtrace> same;
    for (volatile int i = 0; i < 2;) {
        const int next = i + 1;
        same.push_back(capture_here());
        i = next;
    }
    crashhook::backtrace other = crashhook::backtrace::capture();
    CHECK(same[0] == same[1]);
    CHECK(!(same[0] == other) && same[0] != other);
    CHECK((same[0] < other) != (other < same[0]));
    CHECK(std::unordered_set<crashhook::backtrace>(same.begin(), same.end()).size() ==
          1);
    const std::vector<crashhook::frame> frames = same[0].frames();
    CHECK(frames.size() ==
          static_cast<std::size_t>(std::distance(same[0].begin(), same[0].end())));
    CHECK(frames.size() >= 3 && frames[0].kind() == CRASHHOOK_FRAME_RETURN_ADDRESS);
    CHECK(frames[0].adjusted_address() + 1 == frames[0].address());
    CHECK(crashhook::backtrace::from_json(same[0].to_json()) == same[0]);
    std::ostringstream text;
    text << same[0];
    CHECK(text.str() == same[0].description());
}

void names_are_a_range()
{
    const crashhook::symbolicated_backtrace named(capture_here());
    CHECK(named.size() >= 3);
    CHECK(named[0].function().find("capture_here") != std::string_view::npos);
    bool has_main = false;
    for (const crashhook::symbolicated_frame frame : named)
        has_main = has_main || frame.function() == "main";
    CHECK(has_main);
    const std::optional<std::string> lines = named[0].snippet(1);
    CHECK(lines && lines->find("backtrace::capture()") != std::string::npos);
    CHECK(lines && (*lines)[0] != '>' && lines->find("\n> ") != std::string::npos);
    std::ostringstream text;
    text << named;
    CHECK(text.str().find("capture_here") != std::string::npos);
    CHECK(named.to_json().find("\"frames\"") != std::string::npos);
}

void errors_are_thrown()
{
    try {
        crashhook::backtrace::from_json("no JSON");
        CHECK(false);
    } catch (const std::system_error &error) {
        CHECK(error.code().value() == EINVAL);
    }
}

void a_store_gives_the_same_number_to_the_same_stack()
{
    crashhook::backtrace_store store(1 << 20);
    std::uint32_t numbers[3] = { 0, 0, 0 };
    for (std::uint32_t &number : numbers)
        number = store.add(crashhook::raw_backtrace<>::capture());
    const std::uint32_t other = store.add(crashhook::raw_backtrace<>::capture());
    CHECK(numbers[0] != 0 && numbers[0] == numbers[1] && numbers[1] == numbers[2]);
    CHECK(other != numbers[0] && store.size() == 2);
    const crashhook::raw_backtrace<> raw = crashhook::raw_backtrace<>::capture();
    CHECK(store.get(store.add(raw)) == raw.to_backtrace());
    try {
        store.get(1);
        CHECK(false);
    } catch (const std::system_error &error) {
        CHECK(error.code().value() == ENOENT);
    }
}

#if !defined(__SANITIZE_THREAD__) // it delays signals
crashhook::raw_backtrace<> interrupted;

__attribute__((noinline)) void raise_here()
{
    std::raise(SIGUSR1);
    __asm__ volatile("");
}

void a_handler_captures_what_it_interrupted()
{
    struct sigaction action {
    };
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t *, void *context) {
        interrupted = crashhook::raw_backtrace<>::capture_context(context);
    };
    CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
    raise_here();
    const crashhook::symbolicated_backtrace named(interrupted.to_backtrace());
    bool has_raise = false;
    for (const crashhook::symbolicated_frame frame : named)
        has_raise =
            has_raise || frame.function().find("raise_here") != std::string_view::npos;
    CHECK(has_raise);
    // The first frame is no call, and its name is still that of the C library's
    // function.
    CHECK(named[0].function().find("kill") != std::string_view::npos);
}
#endif

void a_full_store_gives_0()
{
    crashhook_backtrace_store *store = nullptr;
    CHECK(crashhook_backtrace_store_create(1, &store) == EINVAL);
    CHECK(crashhook_backtrace_store_create(64 << 10, &store) == 0);
    std::uint64_t stack[20];
    std::uint32_t number = 1;
    std::size_t added = 0;
    for (; number != 0 && added < 100000; added++) {
        for (std::uint64_t &address : stack)
            address = 0x400000 + added * 4096;
        number = crashhook_backtrace_store_add(store, stack, 20);
    }
    CHECK(number == 0 && added > 100);
    CHECK(crashhook_backtrace_store_count(store) == added - 1);
    // What is in it still has its number.
    for (std::uint64_t &address : stack)
        address = 0x400000;
    const std::uint32_t first = crashhook_backtrace_store_add(store, stack, 20);
    std::size_t size = 0;
    CHECK(first != 0 && crashhook_backtrace_store_cbf(store, first, &size) != nullptr);
    CHECK(crashhook_backtrace_store_cbf(store, 0xffffffff, &size) == nullptr);
    crashhook_backtrace_store_destroy(store);
}

void execinfo_names_are_mapped()
{
    void *buffer[64];
    const int count = backtrace(buffer, 64);
    char **lines = backtrace_symbols(buffer, count);
    CHECK(count >= 3 && lines != nullptr);
    CHECK(lines != nullptr && std::strstr(lines[0], "execinfo_names_are_mapped") &&
          std::strstr(lines[0], "+0x"));
    bool has_main = false;
    for (int i = 0; lines != nullptr && i < count; i++)
        has_main = has_main || std::strstr(lines[i], "(main+0x") != nullptr;
    CHECK(has_main);
    std::free(lines);
    int ends[2];
    CHECK(pipe(ends) == 0);
    backtrace_symbols_fd(buffer, count, ends[1]);
    close(ends[1]);
    char text[64] = "";
    CHECK(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    CHECK(std::strncmp(text, "#0 0x", 5) == 0);
    CHECK(backtrace(buffer, 0) == 0);
}

__attribute__((noinline)) void throw_here()
{
    throw std::runtime_error("thrown");
}

// An exception has its stack where the library that keeps those is preloaded.
void an_exception_tells_where_it_was_thrown(bool kept)
{
    CHECK(!crashhook::backtrace::from_current_exception());
    try {
        throw_here();
    } catch (const std::runtime_error &) {
        const auto thrown = crashhook::backtrace::from_current_exception();
        CHECK(thrown.has_value() == kept);
        if (!thrown)
            return;
        const crashhook::symbolicated_backtrace named(*thrown);
        CHECK(named[0].function().find("throw_here") != std::string_view::npos);
    }
}

#if __cplusplus >= 202002L
static_assert(std::ranges::input_range<const crashhook::backtrace>);
static_assert(std::ranges::forward_range<const crashhook::symbolicated_backtrace>);
#endif

#if defined(__cpp_lib_format)
void values_are_formatted()
{
    const crashhook::backtrace captured = capture_here();
    const crashhook::symbolicated_backtrace named(captured);
    CHECK(std::format("{}", captured) == captured.description());
    CHECK(std::format("{}", named) == named.format());
    const std::string frame = captured.begin()->description();
    CHECK(std::format("{:>99}", *captured.begin()) ==
          std::string(99 - frame.size(), ' ') + frame);
    CHECK(std::format("{}", named[0]) == named[0].description());
}
#endif

#if defined(__cpp_lib_stacktrace)
void a_standard_stacktrace_is_converted()
{
    const std::stacktrace from = std::stacktrace::current();
    const crashhook::backtrace made = crashhook::backtrace::from_stacktrace(from);
    const crashhook::symbolicated_backtrace named(made);
    CHECK(made.frames().size() == from.size());
    CHECK(named[0].function().find("a_standard_stacktrace") != std::string_view::npos);
    CHECK(named[0].line() == from[0].source_line());
}
#endif
} // namespace

int main(int argc, char **argv)
{
    a_backtrace_is_a_value();
    names_are_a_range();
    errors_are_thrown();
    a_store_gives_the_same_number_to_the_same_stack();
#if !defined(__SANITIZE_THREAD__)
    a_handler_captures_what_it_interrupted();
#endif
    a_full_store_gives_0();
    execinfo_names_are_mapped();
    an_exception_tells_where_it_was_thrown(argc > 1 &&
                                           std::string_view(argv[1]) == "kept");
#if defined(__cpp_lib_format)
    values_are_formatted();
#endif
#if defined(__cpp_lib_stacktrace)
    a_standard_stacktrace_is_converted();
#endif
    std::printf("%d failed\n", failed);
    return failed != 0;
}
