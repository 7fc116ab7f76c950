// SPDX-License-Identifier: Apache-2.0
//
// Null pointers that only the caller has a name for: the object of a member function,
// the elements of an empty vector, and what an iterator of an unordered container leads
// to at its end.
//
// all kind: null-dereference
// all says: .*through a null pointer
// all cause: none|null-offset
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#define OWN [[gnu::noinline]] static
#define HERE asm volatile("" : : : "memory")

struct address {
    std::string street, town;
    long number = 7;
};

struct order {
    long id = 3;
    address to;
    [[gnu::noinline]] long cents() const;
    long inlined_cents() const
    {
        return id * 100;
    }
};

long order::cents() const
{
    long sum = id * 100;
    HERE;
    return sum;
}

static volatile long sum;
static volatile long mask = 42;
static order *volatile none;

// case called_on_null
//   says: .*; `late`, a local of called_on_null, is null.*
//   variable: late
OWN void called_on_null()
{
    order *late = none;
    sum = late->cents();
    sum = late->id;
    HERE;
}

// case inlined_on_null
//   builds: -stripped
//   in: -
//   says: .*; `(late|none)`.*is null.*
//   variable: late|none
OWN void inlined_on_null(const order *late)
{
    sum = late->inlined_cents();
    HERE;
}

// case assigned_to_null
//   builds: O0
//   says: .*; `(late|of)`.*is null.*
//   variable: late|of
OWN void assigned_to_null(order *late, const order &from)
{
    *late = from;
    HERE;
}

// case empty_vector
//   builds: O0 -static
//   says: .*; `of.data\(\)` is null.*
//   variable: of.data\(\)
OWN void empty_vector()
{
    std::vector<long> of;
    sum = of[3];
    HERE;
}

// case found_nothing
//   builds: O0 -static
//   says: .*; `found` is null, as that of end\(\) is.*
//   variable: found
OWN void found_nothing()
{
    std::unordered_map<int, long> of = { { 1, 2 } };
    auto found = of.find(3);
    sum = found->second;
    HERE;
}

// case found_no_text
//   builds: O0 gcc -static
//   says: Read from 0x18, through a null pointer .*; `found` is null, as that of
//     end\(\) is.*
//   variable: found
OWN void found_no_text()
{
    std::unordered_map<int, std::string> of = { { 1, "tea" } };
    auto found = of.find(3);
    sum = (long)found->second.size();
    HERE;
}

struct part {
    long head[5];
    long price;
};

// case constant
//   builds: clang
//   variable: missing|none
//   never: a small number
OWN void constant()
{
    const volatile part *missing = nullptr;
    sum = missing->price;
    HERE;
}

// case on_purpose
//   never: `found`
OWN void on_purpose(const part *all)
{
    const part *found = nullptr;
    if (all->price == 0)
        *reinterpret_cast<volatile long *>(0) = 42;
    if (all->price == mask)
        found = all;
    sum = found != nullptr;
    HERE;
}

struct line {
    line *next;
    char text[16];
};

// case member_passed
//   kind: small-pointer
//   builds: -static
//   says: Read from 0x32, a small number .*; `at`, a.* of member_passed, is 0x2a
//   true: Read from 0x2a, a small number .*
//   variable: at
OWN void member_passed(const line *at)
{
    for (; at != nullptr; at = at->next)
        sum = static_cast<long>(strlen(at->text));
    HERE;
}

// case untyped
//   says: .*; `of(->from)?`.*is null.*
//   variable: of(->from)?
OWN void untyped(const void *given)
{
    const struct link {
        long head;
        const long *from;
    } *of = static_cast<const link *>(given);
    sum = *of->from;
    HERE;
}

struct person {
    std::string name;
    person *chief;
};

// case in_header
//   builds: gcc -lto
//   variable: of.chief
[[gnu::noipa]] std::string in_header(const person &of)
{
    return of.chief->name;
}

struct counter {
    long count;
    [[gnu::noinline]] long read() const
    {
        HERE;
        return count;
    }
};

struct meter {
    counter of;
    long more;
    [[gnu::always_inline]] long inlined_read() const
    {
        return of.read() + more;
    }
};

static counter *volatile no_counter;

OWN long pass_on(const order *first, const counter *last)
{
    sum = first != nullptr;
    return last->read();
}

// case passed_on
//   builds: -stripped
//   says: .*; `(last|late|this)`.*is null.*
//   variable: last|late|this
//   in: -
OWN void passed_on()
{
    const order *first = none;
    counter *late = no_counter;
    sum = pass_on(first, late);
    sum = first != nullptr;
    HERE;
}

OWN long read_masked(const order *first, long number)
{
    sum = first != nullptr;
    sum = reinterpret_cast<meter *>(number ^ mask)->inlined_read();
    return sum + (first != nullptr);
}

// case inlined_object
//   builds: -stripped
//   says: .*; `this`.*is null.*
//   variable: this
//   in: -
OWN void inlined_object()
{
    const order *first = none;
    sum = read_masked(first, 42);
    sum = first != nullptr;
    HERE;
}

static const struct {
    const char *name;
    void (*crash)();
} cases[] = {
    { "called_on_null", called_on_null },
    { "inlined_on_null", [] { inlined_on_null(none); } },
    { "assigned_to_null", [] { assigned_to_null(none, order()); } },
    { "empty_vector", empty_vector },
    { "found_nothing", found_nothing },
    { "found_no_text", found_no_text },
    { "constant", constant },
    { "on_purpose",
      [] {
          const part nothing = {};
          on_purpose(&nothing);
      } },
    { "passed_on", passed_on },
    { "inlined_object", inlined_object },
    { "member_passed",
      [] {
          line last = { nullptr, "last" };
          void *number = reinterpret_cast<void *>(0x2a);
          memcpy(&last.next, &number, sizeof(number));
          member_passed(&last);
      } },
    { "untyped",
      [] {
          long link[2] = {};
          untyped(link);
      } },
    { "in_header",
      [] {
          sum = static_cast<long>(in_header({ "x", nullptr }).size());
      } },
};

int main(int, char **arguments)
{
    for (const auto &each : cases)
        if (strcmp(each.name, arguments[1]) == 0)
            each.crash();
    return 2;
}
