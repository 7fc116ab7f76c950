// SPDX-License-Identifier: Apache-2.0
//
// throws HOW: ends by an exception that nobody catches, or aborts while it handles one.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <vector>

namespace ledger
{
struct closed {
    int account;
};

struct entry {
    virtual ~entry() = default;
    long number = 7;
};

// Its std::runtime_error does not come first.
struct refused : entry, std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <typename Key, typename Rows> struct page : std::runtime_error {
    using std::runtime_error::runtime_error;
};
} // namespace ledger

static void throw_runtime_error()
{
    throw std::runtime_error("cannot open ledger 'q3'");
}

static void throw_again()
{
    try {
        throw std::out_of_range("no such page");
    } catch (const std::exception &) {
        throw;
    }
}

static void throw_kept()
{
    std::exception_ptr kept;
    try {
        throw std::invalid_argument("kept for later");
    } catch (...) {
        kept = std::current_exception();
    }
    std::rethrow_exception(kept);
}

static void throw_in_noexcept() noexcept
{
    throw std::logic_error("noexcept was a promise");
}

// throw_without_memory uses up what it may have.
static void throw_without_memory()
{
    const rlimit limit = { 256 << 20, 256 << 20 };
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return;
    for (;;) {
        volatile char *block = new char[1 << 20];
        block[0] = 1;
    }
}

static void abort_in_handler()
{
    try {
        throw std::runtime_error("caught, and no reason to die");
    } catch (const std::exception &) {
        std::abort();
    }
}

int main(int argc, char **argv)
{
    const std::string how = argc == 2 ? argv[1] : "";
    if (how == "main")
        throw_runtime_error();
    if (how == "thread")
        std::thread(throw_runtime_error).join();
    if (how == "custom")
        throw ledger::closed{ 4 };
    if (how == "int")
        throw 4;
    if (how == "second_base")
        throw ledger::refused("the second base");
    if (how == "template")
        throw ledger::page<int, std::vector<long>>("of a template");
    if (how == "again")
        throw_again();
    if (how == "kept")
        throw_kept();
    if (how == "noexcept")
        throw_in_noexcept();
    if (how == "system")
        throw std::filesystem::filesystem_error(
            "cannot read", std::make_error_code(std::errc::permission_denied));
    if (how == "memory")
        throw_without_memory();
    if (how == "secret")
        throw std::runtime_error("no login with password=hunter2, see /home/ann/log");
    if (how == "handler")
        abort_in_handler();
    return 2;
}
