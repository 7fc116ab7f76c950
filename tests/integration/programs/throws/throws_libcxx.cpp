// SPDX-License-Identifier: Apache-2.0
//
// throws_libcxx HOW: ends as throws.cpp does, and is linked with libc++ in place of
// libstdc++. Debian has libc++'s headers for none who has libunwind's, so it uses only
// what both have under one name.
#include <cstring>
#include <exception>
#include <pthread.h>
#include <stdexcept>

static void throw_runtime_error()
{
    throw std::runtime_error("cannot open ledger 'q3'");
}

static void throw_again()
{
    try {
        throw std::runtime_error("no such page");
    } catch (const std::exception &) {
        throw;
    }
}

static void throw_in_noexcept() noexcept
{
    throw std::logic_error("noexcept was a promise");
}

static void *run(void *argument)
{
    throw_runtime_error();
    return argument;
}

int main(int argc, char **argv)
{
    const char *how = argc == 2 ? argv[1] : "";
    pthread_t thread;
    if (std::strcmp(how, "main") == 0)
        throw_runtime_error();
    if (std::strcmp(how, "thread") == 0 &&
        pthread_create(&thread, nullptr, run, nullptr) == 0)
        pthread_join(thread, nullptr);
    if (std::strcmp(how, "again") == 0)
        throw_again();
    if (std::strcmp(how, "noexcept") == 0)
        throw_in_noexcept();
    if (std::strcmp(how, "int") == 0)
        throw 4;
    return 2;
}
