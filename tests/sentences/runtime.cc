// SPDX-License-Identifier: Apache-2.0
//
// says_little HOW: ends by an exception whose text no base class keeps, or by
// std::terminate, which does not say why.
//
// all signal: ABRT
// all flags: -std=c++17
//
// case literal
//   kind: uncaught-exception
//   says: Uncaught exception ledger::literal: a page is missing
//   in: main
// case texted
//   kind: uncaught-exception
//   says: Uncaught exception ledger::texted: the sum of column 4 is wrong
//   in: main
// case buffered
//   kind: uncaught-exception
//   says: Uncaught exception ledger::buffered: line 12 is blank
//   in: main
// case chosen
//   kind: uncaught-exception
//   says: Uncaught exception ledger::chosen: the auditor has it
//   in: main
// case chosen_nothing
//   kind: uncaught-exception
//   says: Uncaught exception ledger::chosen: nothing is known
//   in: main
// case far
//   kind: uncaught-exception
//   says: Uncaught exception ledger::far: a virtual base
//   in: main
// case computing
//   kind: uncaught-exception
//   says: Uncaught exception ledger::computing,
//   in: main
// case bad_alloc
//   kind: uncaught-exception
//   says: Uncaught exception std::bad_alloc
//   in: main
// case optional
//   kind: uncaught-exception
//   says: Uncaught exception std::bad_optional_access: bad optional access
//   in: main
// case variant
//   kind: uncaught-exception
//   says: Uncaught exception std::bad_variant_access: std::get: wrong index for variant
//   in: main
// case filesystem
//   kind: uncaught-exception
//   says: Uncaught exception .*filesystem_error: filesystem error: cannot get file
//     size: No such file or directory .*/nowhere/at/all
//   in: main
// case stream
//   kind: uncaught-exception
//   says: Uncaught exception std::ios_base::failure.*: basic_ios::clear: iostream error
//   in: main
//   builds: g++
// case system
//   kind: uncaught-exception
//   says: Uncaught exception std::system_error: the ledger: No such file or directory
//   in: main
// case int
//   kind: uncaught-exception
//   says: Uncaught exception int: 42
//   in: main
// case unsigned_long
//   kind: uncaught-exception
//   says: Uncaught exception unsigned long: 18446744073709551615
//   in: main
// case double
//   kind: uncaught-exception
//   says: Uncaught exception double: 2.5
//   in: main
// case bool
//   kind: uncaught-exception
//   says: Uncaught exception bool: true
//   in: main
// case text
//   kind: uncaught-exception
//   says: Uncaught exception char const\*: no such page
//   in: main
// case string
//   kind: uncaught-exception
//   says: Uncaught exception std::string: a page that is longer than fits
//   in: main
// case short_string
//   kind: uncaught-exception
//   says: Uncaught exception std::string: short
//   in: main
// case pure
//   builds: -static -runtime
//   kind: pure-virtual
//   says: A pure virtual function was called, in ledger::shape::
//   in: -
// case pure
//   builds: runtime clang
//   kind: pure-virtual
//   says: A pure virtual function was called, in ledger::shape::
//   in: -
//
// For gcc the function that reports this is a weak symbol: a library that is linked in
// leaves it out, and the slot is null.
//
// case pure
//   builds: runtime -clang
//   signal: SEGV
//   kind: null-dereference
//   says: Jump to 0x0, through a null pointer; `this->_vptr.shape\[2\]` is null
//   variable: this->_vptr.shape\[2\]
//   in: measure
// case noexcept
//   kind: uncaught-exception
//   says: Uncaught exception ledger::literal: a page is missing; it was leaving a
//     noexcept function
//   true: Uncaught exception ledger::literal: a page is missing
//   in: -
// case joinable
//   kind: terminate
//   says: A std::thread was destroyed, or assigned to, before its thread was joined
//   true: std::terminate was called, without an exception
//   in: -
//   builds: -stripped
// case rethrow
//   kind: terminate
//   says: `throw;` was executed while no exception was handled
//   in: -
//   builds: -stripped
// case terminate
//   kind: terminate
//   says: std::terminate was called, without an exception
//   in: main
// case thread_end
//   builds: -static -musl -runtime
//   kind: terminate
//   says: std::terminate was called: an exception, or the end of the thread, was
//     leaving a noexcept function
//   in: -
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <variant>

namespace ledger
{

// The forms in which classes keep the text of their what().
class literal : public std::exception
{
  public:
    const char *what() const noexcept override
    {
        return "a page is missing";
    }
};

class texted : public std::exception
{
  public:
    explicit texted(std::string text) : text_(std::move(text))
    {
    }
    const char *what() const noexcept override
    {
        return text_.c_str();
    }

  private:
    int page_ = 7;
    std::string text_;
};

class buffered : public std::exception
{
  public:
    buffered()
    {
        snprintf(text_, sizeof(text_), "line %d is blank", 12);
    }
    const char *what() const noexcept override
    {
        return text_;
    }

  private:
    char text_[64];
};

class chosen : public std::exception
{
  public:
    explicit chosen(const char *text) : text_(text)
    {
    }
    const char *what() const noexcept override
    {
        return text_ != nullptr ? text_ : "nothing is known";
    }

  private:
    const char *text_;
};

class far : public virtual std::exception
{
  public:
    const char *what() const noexcept override
    {
        return "a virtual base";
    }
};

class computing : public std::runtime_error
{
  public:
    computing() : std::runtime_error("what it was made with")
    {
    }
    const char *what() const noexcept override
    {
        static char text[64];
        snprintf(text, sizeof(text), "computed %d", rand());
        return text;
    }
};

struct shape {
    shape()
    {
        measure();
    }
    virtual ~shape() = default;
    __attribute__((noinline)) void measure()
    {
        area();
    }
    virtual double area() = 0;
};

struct circle : shape {
    double area() override
    {
        return 3;
    }
};

[[gnu::noinline]] void sign() noexcept
{
    throw literal();
}

} // namespace ledger

[[gnu::noinline]] static void leave_joinable()
{
    std::thread worker([] { std::this_thread::sleep_for(std::chrono::seconds(30)); });
}

static void rethrow_nothing()
{
    throw;
}

static void end_thread() noexcept
{
    pthread_exit(nullptr);
}

int main(int, char **argv)
{
    std::string how = argv[1];
    if (how == "literal")
        throw ledger::literal();
    if (how == "texted")
        throw ledger::texted("the sum of column 4 is wrong");
    if (how == "buffered")
        throw ledger::buffered();
    if (how == "chosen")
        throw ledger::chosen("the auditor has it");
    if (how == "chosen_nothing")
        throw ledger::chosen(nullptr);
    if (how == "far")
        throw ledger::far();
    if (how == "computing")
        throw ledger::computing();
    if (how == "bad_alloc")
        throw std::bad_alloc();
    if (how == "optional")
        return std::optional<int>().value();
    if (how == "variant")
        return std::get<0>(std::variant<int, char>('a'));
    if (how == "filesystem")
        (void)std::filesystem::file_size("/nowhere/at/all");
    if (how == "stream") {
        std::ifstream file;
        file.exceptions(std::ios::failbit);
        file.open("/nowhere/at/all");
    }
    if (how == "system")
        throw std::system_error(2, std::generic_category(), "the ledger");
    if (how == "int")
        throw 42;
    if (how == "unsigned_long")
        throw 18446744073709551615ul;
    if (how == "double")
        throw 2.5;
    if (how == "bool")
        throw true;
    if (how == "text")
        throw "no such page";
    if (how == "string")
        throw std::string("a page that is longer than fits");
    if (how == "short_string")
        throw std::string("short");
    if (how == "pure")
        ledger::circle().area();
    if (how == "noexcept")
        ledger::sign();
    if (how == "joinable")
        leave_joinable();
    if (how == "rethrow")
        rethrow_nothing();
    if (how == "terminate")
        std::terminate();
    if (how == "thread_end")
        end_thread();
    return 0;
}
