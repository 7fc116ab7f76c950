// SPDX-License-Identifier: Apache-2.0
//
// Exceptions that nobody catches, and what C++ programs end by besides.
//
// all signal: ABRT
// all kind: uncaught-exception
#include <cstring>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define OWN __attribute__((noinline)) static

static volatile int sink;

// case thrown
//   says: Uncaught exception std::runtime_error: bad thing 42, thrown in thrown
OWN void thrown()
{
    throw std::runtime_error("bad thing 42");
}

// case out_of_range
//   says: Uncaught exception std::out_of_range: vector::_M_range_check: __n
//     \(which is 130\) >= this->size\(\) \(which is 3\), thrown in out_of_range
OWN void out_of_range()
{
    std::vector<int> three(3);
    volatile std::size_t at = 130;
    sink = three.at(at);
}

OWN void thrower(int depth)
{
    if (depth == 0)
        throw std::logic_error("first");
    thrower(depth - 1);
}

// case rethrown
//   says: Uncaught exception std::logic_error: first,
//     (rethrown in rethrown|.*thrown in thrower)
OWN void rethrown()
{
    try {
        thrower(3);
    } catch (...) {
        sink++;
        throw;
    }
}

// case rethrown_elsewhere
//   says: Uncaught exception std::logic_error: first,
//     (rethrown in rethrown_elsewhere|.*thrown in thrower)
OWN void rethrown_elsewhere()
{
    std::exception_ptr kept;
    try {
        thrower(3);
    } catch (...) {
        kept = std::current_exception();
    }
    std::rethrow_exception(kept);
}

// case in_a_thread
//   says: Uncaught exception std::runtime_error: bad thing 42, thrown in thrown
//   in: thrown
OWN void in_a_thread()
{
    std::thread thread(thrown);
    thread.join();
}

// case odd_text
//   says: Uncaught exception std::runtime_error: a > b, std::allocator<char>\) > >= c
//     \(anonymous namespace\)::x, thrown in odd_text
OWN void odd_text()
{
    throw std::runtime_error(
        "a > b, std::allocator<char>) > >= c (anonymous namespace)::x");
}

// case plain_abort
//   kind: abort
//   says: The program aborted$
OWN void plain_abort()
{
    std::abort();
}

namespace
{
struct account {
    static int check(int id)
    {
        return id < 0 ? id : fail(id);
    }
    static int fail(int id)
    {
        sink = id;
        std::abort();
    }
};
} // namespace

// case static_member
//   kind: abort
//   says: The program aborted$
//   in: account::fail
OWN void static_member()
{
    sink = account::check(5);
}

int main(int count, char **arguments)
{
#define CASE(name)                                                                     \
    if (count > 1 && std::strcmp(arguments[1], #name) == 0)                            \
        name();
    CASE(thrown)
    CASE(out_of_range)
    CASE(rethrown)
    CASE(rethrown_elsewhere)
    CASE(in_a_thread)
    CASE(odd_text)
    CASE(plain_abort)
    CASE(static_member)
}
