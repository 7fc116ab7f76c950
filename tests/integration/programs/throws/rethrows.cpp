// SPDX-License-Identifier: Apache-2.0
//
// rethrows HOW: ends by an exception that was thrown elsewhere, whose stack is gone by
// then. `fast` throws and catches as often as the second argument says, and prints the
// nanoseconds that one takes.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

[[gnu::noinline]] static void find_page(int number)
{
    if (number > 0)
        throw std::out_of_range("no such page");
}

[[gnu::noinline]] static void close_book(int number)
{
    try {
        find_page(number);
    } catch (const std::exception &) {
        throw;
    }
}

static std::exception_ptr kept;

[[gnu::noinline]] static void keep(int number)
{
    try {
        find_page(number);
    } catch (...) {
        kept = std::current_exception();
    }
}

// time_throws throws from depth calls further down, as programs do.
[[gnu::noinline]] static void throw_below(int depth)
{
    if (depth > 0)
        throw_below(depth - 1);
    else
        find_page(1);
    std::fflush(nullptr);
}

static void time_throws(int count)
{
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; i++) {
        try {
            throw_below(10);
        } catch (const std::exception &) {
        }
    }
    std::chrono::duration<double, std::nano> took =
        std::chrono::steady_clock::now() - begin;
    std::printf("%.0f\n", took.count() / count);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (std::strcmp(how, "again") == 0)
        close_book(argc);
    if (std::strcmp(how, "kept") == 0) {
        std::thread other(keep, argc);
        other.join();
        std::rethrow_exception(kept);
    }
    if (std::strcmp(how, "many") == 0) {
        for (int i = 0; i < 1000; i++)
            keep(1);
        close_book(argc);
    }
    if (std::strcmp(how, "fast") == 0)
        time_throws(argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10))
                             : 1000);
    return 0;
}
