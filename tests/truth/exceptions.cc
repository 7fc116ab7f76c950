// SPDX-License-Identifier: Apache-2.0
//
// Exceptions that nobody catches, however the C++ runtime is linked, and aborts that
// are not caused by the exception that is being handled.
//
// all signal: ABRT
// all kind: uncaught-exception
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#define OWN [[gnu::noinline]] static

namespace ledger
{
struct closed : std::exception {
    const char *what() const noexcept override
    {
        return "the ledger is closed";
    }
};
} // namespace ledger

// case standard
//   in: -
//   says: Uncaught exception std::invalid_argument: amount 7 is too large
OWN void standard()
{
    throw std::invalid_argument("amount " + std::to_string(7) + " is too large");
}

// case own_class
//   in: -
//   says: Uncaught exception ledger::closed: the ledger is closed
OWN void own_class()
{
    throw ledger::closed();
}

// case number
//   in: -
//   says: Uncaught exception int
OWN void number()
{
    throw 42;
}

// case never_throws
//   in: -
//   says: Uncaught exception std::out_of_range: row 9
OWN void never_throws() noexcept
{
    throw std::out_of_range("row 9");
}

// case in_thread
//   in: -
//   says: Uncaught exception std::runtime_error: lost the lease
OWN void in_thread()
{
    std::thread([] { throw std::runtime_error("lost the lease"); }).join();
}

// case handled
//   in: -
//   kind: abort
//   says: The program aborted
//   never: no such key
OWN void handled()
{
    try {
        throw std::runtime_error("no such key");
    } catch (const std::runtime_error &error) {
        if (strlen(error.what()) != 0)
            abort();
    }
}

// case handled_before
//   in: -
//   kind: abort
//   says: The program aborted
//   never: no such key
OWN void handled_before()
{
    try {
        throw std::runtime_error("no such key");
    } catch (const std::runtime_error &) {
    }
    abort();
}

// case nested
//   in: -
//   says: Uncaught exception std::logic_error: no order 17; nested in it:
//     ledger::closed: the ledger is closed(, thrown in nested\(\))?$
OWN void nested()
{
    try {
        own_class();
    } catch (...) {
        std::throw_with_nested(std::logic_error("no order 17"));
    }
}

// case nested_twice
//   in: -
//   says: Uncaught exception std::runtime_error: cannot open; nested in it:
//     std::logic_error: no order 17; in that: ledger::closed: the ledger is closed
OWN void nested_twice()
{
    try {
        nested();
    } catch (...) {
        std::throw_with_nested(std::runtime_error("cannot open"));
    }
}

// case given_up
//   says: std::terminate was called while an exception was handled,
//     std::runtime_error: no such key, in given_up\(\)
//   builds: -stripped
OWN void given_up()
{
    try {
        throw std::runtime_error("no such key");
    } catch (...) {
        std::terminate();
    }
}

static const struct {
    const char *name;
    void (*crash)();
} cases[] = {
    { "standard", standard },
    { "own_class", own_class },
    { "number", number },
    { "never_throws", never_throws },
    { "in_thread", in_thread },
    { "handled", handled },
    { "handled_before", handled_before },
    { "nested", nested },
    { "nested_twice", nested_twice },
    { "given_up", given_up },
};

int main(int, char **arguments)
{
    for (const auto &each : cases)
        if (strcmp(each.name, arguments[1]) == 0)
            each.crash();
    return 2;
}
