// SPDX-License-Identifier: Apache-2.0
//
// Pointers that no variable has: what a function returned, what is at the address that
// it returned, the pointer in an object, what a lambda has captured, the range of a
// loop.
//
// all kind: null-dereference
// all says: .*through a null pointer
// all cause: none|null-offset
// all builds: O0 -static
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <netdb.h>
#include <string>
#include <vector>

#define OWN [[gnu::noinline]] static
#define HERE asm volatile("" : : : "memory")

struct order {
    long id;
    long cents;
    std::vector<long> lines;
};

template <class Of> struct handle {
    Of *of = nullptr;
    Of *operator->() const
    {
        return of;
    }
};

struct shelf {
    order *orders[4] = {};
    order *&operator[](int row)
    {
        return orders[row];
    }
};

static volatile long sum;

// case by_own_arrow
//   says: .*; `of.of` is null
//   variable: of.of
OWN void by_own_arrow()
{
    handle<order> of;
    sum = of->cents;
    HERE;
}

template <class Of> struct range_of {
    Of *first = nullptr;
    Of *now = nullptr;
    Of *operator->() const
    {
        return now;
    }
};

// case by_second_pointer
//   says: .*; what range_of<order>::operator->\(\) const returned is null
//   variable: range_of<order>::operator->\(\) const
OWN void by_second_pointer()
{
    range_of<order> of;
    sum = of->id;
    HERE;
}

// case by_own_brackets
//   says: .*; the pointer at what shelf::operator\[\]\(int\) returned is null
//   variable: shelf::operator\[\]\(int\)
OWN void by_own_brackets()
{
    shelf of;
    sum = of[2]->cents;
    HERE;
}

// case by_unique
//   says: .*; `of`(, a local of by_unique,)? is null
//   variable: of
OWN void by_unique()
{
    std::unique_ptr<order> of;
    sum = of->cents;
    HERE;
}

// case into_library
//   says: .*; `of.of` is null; .*
//   variable: of.of
OWN void into_library()
{
    handle<order> of;
    sum = of->lines.size();
    HERE;
}

struct parcel {
    long id;
    std::shared_ptr<order> shared;
    std::unique_ptr<order> unique;
};

// case member_shared
//   says: .*; `parcel.shared` is null
//   variable: parcel.shared
OWN void member_shared(const parcel &parcel)
{
    sum = parcel.shared->id;
    HERE;
}

// case member_unique
//   says: .*; `parcel->unique` is null.*
//   variable: parcel->unique
OWN void member_unique(const parcel *parcel)
{
    sum = (*parcel->unique).cents;
    HERE;
}

// case given_shared
//   builds: O0 gcc -static
//   says: .*; `of` is null
//   variable: of
OWN void given_shared(std::shared_ptr<order> of)
{
    sum = of->id;
    HERE;
}

// case by_map
//   says: .*; the pointer at what std::map<int, order\*>::operator\[\]\(int&&\)
//     returned is null
//   variable: std::map<int, order.*
//   builds: O0 -static -clang
OWN void by_map()
{
    std::map<int, order *> of;
    sum = of[3]->cents;
    HERE;
}

// case passed_on
//   says: .*; what getenv returned is null
//   variable: getenv
//   builds: -static
OWN void passed_on()
{
    char path[64];
    memcpy(path, getenv("NO_SUCH_VARIABLE"), sizeof(path));
    sum = path[0];
    HERE;
}

// case captured
//   variable: of|this->of
OWN void captured()
{
    order *of = nullptr;
    auto read = [of] { return of->cents; };
    sum = read();
    HERE;
}

// case range_of_null
//   variable: of
OWN void range_of_null(const std::vector<long> &of)
{
    for (long each : of)
        sum = sum + each;
    HERE;
}

static order stock;

// A pointer that leads to memory is not to blame for what was added to it, and the room
// after the program was never mapped.
// case past_valid
//   kind: unknown
//   says: Read from 0x[0-9a-f]+, where nothing is mapped \(
//   variable: none
OWN void past_valid()
{
    order *of = &stock;
    freeaddrinfo(reinterpret_cast<addrinfo *>(&of->lines) + 100000);
    HERE;
}

// case joined
//   says: .*; `name`, a local of joined, is null
//   variable: name
OWN void joined()
{
    const char *name = nullptr;
    std::string all = std::string("name: ") + name;
    sum = static_cast<long>(all.size());
    HERE;
}

static const struct {
    const char *name;
    void (*crash)();
} cases[] = {
    { "by_own_arrow", by_own_arrow },
    { "by_own_brackets", by_own_brackets },
    { "by_second_pointer", by_second_pointer },
    { "by_unique", by_unique },
    { "into_library", into_library },
    { "member_shared", [] { member_shared({}); } },
    { "member_unique",
      [] {
          const parcel parcel{};
          member_unique(&parcel);
      } },
    { "given_shared", [] { given_shared(nullptr); } },
    { "by_map", by_map },
    { "passed_on", passed_on },
    { "captured", captured },
    { "past_valid", past_valid },
    { "joined", joined },
};

int main(int, char **arguments)
{
    const std::vector<long> *volatile none = nullptr;
    for (const auto &each : cases)
        if (strcmp(each.name, arguments[1]) == 0)
            each.crash();
    range_of_null(*none);
    return 2;
}
