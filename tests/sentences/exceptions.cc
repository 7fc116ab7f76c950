// SPDX-License-Identifier: Apache-2.0
//
// Exceptions that nobody catches, and what C++ programs end by besides.
//
// all flags: -std=c++17
// all signal: ABRT
// all kind: uncaught-exception
#include <any>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
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

// case from_map
//   says: Uncaught exception std::out_of_range: map::at, thrown in from_map
OWN void from_map()
{
    std::map<int, int> pages;
    sink = pages.at(sink + 7);
}

// case no_number
//   says: Uncaught exception std::invalid_argument: stoi, thrown in no_number
OWN void no_number()
{
    sink = std::stoi("seven");
}

// case no_string
//   says: Uncaught exception std::logic_error: basic_string: construction from null is
//     not valid, thrown in no_string
OWN void no_string()
{
    const char *volatile none = nullptr;
    std::string text(none);
    sink = (int)text.size();
}

// case too_long
//   says: Uncaught exception std::length_error: .*, thrown in too_long
OWN void too_long()
{
    volatile std::size_t size = SIZE_MAX / 2;
    std::vector<long> numbers(size);
    sink = (int)numbers.size();
}

// case too_much
//   kind: uncaught-exception|memory-limit
//   says: Uncaught exception std::bad_alloc(: std::bad_alloc)?, thrown in too_much
OWN void too_much()
{
    volatile std::size_t size = std::size_t(1) << 60;
    char *volatile room = new char[size];
    sink = room[0];
}

// case no_function
//   says: Uncaught exception std::bad_function_call(: bad_function_call)?, thrown in
//     no_function
OWN void no_function()
{
    std::function<int()> none;
    sink = none();
}

struct base {
    virtual ~base() = default;
};
struct derived : base {
    int number = 5;
};

// case bad_cast
//   says: Uncaught exception std::bad_cast(: std::bad_cast)?, thrown in bad_cast
OWN void bad_cast()
{
    base plain;
    base &any = plain;
    sink = dynamic_cast<derived &>(any).number;
}

// case bad_any
//   says: Uncaught exception std::bad_any_cast(: bad any_cast)?, thrown in bad_any
OWN void bad_any()
{
    std::any any = 5;
    sink = (int)std::any_cast<std::string>(any).size();
}

// case bad_weak
//   says: Uncaught exception std::bad_weak_ptr(: bad_weak_ptr)?, thrown in bad_weak
OWN void bad_weak()
{
    std::weak_ptr<int> gone = std::make_shared<int>(5);
    sink = *std::shared_ptr<int>(gone);
}

// case broken_promise
//   says: Uncaught exception std::future_error: std::future_error: Broken promise, .*in
//     broken_promise
OWN void broken_promise()
{
    std::future<int> future;
    {
        std::promise<int> promise;
        future = promise.get_future();
    }
    sink = future.get();
}

// case locked_twice
//   says: Uncaught exception std::system_error: .*, thrown in locked_twice
OWN void locked_twice()
{
    std::mutex mutex;
    std::unique_lock<std::mutex> lock(mutex);
    lock.lock();
}

namespace ledger
{
struct plain {
    int page = 7;
};
enum class color { red = 1, green };
} // namespace ledger

// case no_base
//   says: Uncaught exception (ledger::)?plain, thrown in no_base
OWN void no_base()
{
    throw ledger::plain();
}

// case enumerated
//   says: Uncaught exception ledger::color(: \d+)?, thrown in enumerated
OWN void enumerated()
{
    throw ledger::color::green;
}

// case pointer
//   says: Uncaught exception std::runtime_error\*.*, thrown in pointer
OWN void pointer()
{
    throw new std::runtime_error("on the heap");
}

struct closing {
    ~closing() noexcept(false)
    {
        throw std::runtime_error("from a destructor");
    }
};

// case in_destructor
//   says: Uncaught exception std::(runtime_error: from a destructor|logic_error: the
//     first)
OWN void in_destructor()
{
    try {
        closing at_end;
        throw std::logic_error("the first");
    } catch (const std::logic_error &) {
        sink++;
    }
}

static int compare(const void *, const void *)
{
    throw std::runtime_error("within qsort");
}

// case through_c
//   says: Uncaught exception std::runtime_error: within qsort, thrown in compare
OWN void through_c()
{
    int numbers[] = { 3, 1, 2 };
    qsort(numbers, 3, sizeof(int), compare);
}

// case nested
//   says: Uncaught exception std::runtime_error: the outer; nested in it: .*in nested
OWN void nested()
{
    try {
        thrower(1);
    } catch (...) {
        std::throw_with_nested(std::runtime_error("the outer"));
    }
}

// case optional_range
//   says: Uncaught exception std::out_of_range: basic_string::substr: __pos \(which is
//     9\) > this->size\(\) \(which is 3\), thrown in optional_range
OWN void optional_range()
{
    volatile std::size_t at = 9;
    sink = (int)std::string("abc").substr(at).size();
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
    CASE(from_map)
    CASE(no_number)
    CASE(no_string)
    CASE(too_long)
    CASE(too_much)
    CASE(no_function)
    CASE(bad_cast)
    CASE(bad_any)
    CASE(bad_weak)
    CASE(broken_promise)
    CASE(locked_twice)
    CASE(no_base)
    CASE(enumerated)
    CASE(pointer)
    CASE(in_destructor)
    CASE(through_c)
    CASE(nested)
    CASE(optional_range)
}
