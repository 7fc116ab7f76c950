// SPDX-License-Identifier: Apache-2.0
//
// says_little HOW: ends by an exception whose text no base class keeps, or by
// std::terminate, which does not say why.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
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
    if (how == "chosen-nothing")
        throw ledger::chosen(nullptr);
    if (how == "far")
        throw ledger::far();
    if (how == "computing")
        throw ledger::computing();
    if (how == "bad-alloc")
        throw std::bad_alloc();
    if (how == "optional")
        return std::optional<int>().value();
    if (how == "variant")
        return std::get<0>(std::variant<int, char>('a'));
    if (how == "filesystem")
        (void)std::filesystem::file_size("/nowhere/at/all");
    if (how == "system")
        throw std::system_error(2, std::generic_category(), "the ledger");
    if (how == "int")
        throw 42;
    if (how == "unsigned long")
        throw 18446744073709551615ul;
    if (how == "double")
        throw 2.5;
    if (how == "bool")
        throw true;
    if (how == "text")
        throw "no such page";
    if (how == "string")
        throw std::string("a page that is longer than fits");
    if (how == "short-string")
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
    return 0;
}
