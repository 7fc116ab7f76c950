// SPDX-License-Identifier: Apache-2.0
//
// Objects that are gone, or never were.
//
// Where code is not optimized, gcc adds the offset of a table's entry, and both that of
// an element, to an address before they read: no register holds what was in memory, and
// what is said there helps less. Constants that compilers compute tell less too.
//
// all flags: -std=c++17
// all kind: unknown|small-pointer|non-canonical-address|null-dereference|
//     wild-jump|use-after-unmap
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define OWN [[gnu::noinline]] static

static volatile long sink;
static volatile std::size_t far = 10000000;

struct shape {
    long sides = 4;
    std::string name = "square";
    virtual ~shape() = default;
    [[gnu::noinline]] virtual long area()
    {
        return sides * 2;
    }
};

struct circle : shape {
    [[gnu::noinline]] long area() override
    {
        return 3;
    }
};

struct page {
    shape *first = nullptr;
    long number = 5;
    [[gnu::noinline]] long count() const
    {
        return number + sink;
    }
};

static shape *volatile kept;
static page *volatile book;

// case null_virtual
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
OWN void null_virtual()
{
    kept = nullptr;
    sink = kept->area();
}

// case null_method
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   cause: null-offset
OWN void null_method()
{
    book = nullptr;
    sink = book->count();
}

// case deleted_virtual
//   says: .*is what malloc put into freed memory at 0x
//   cause: none|freed-chunk
//   true: Read from 0x[0-9a-f]+, where nothing is mapped
OWN void deleted_virtual()
{
    kept = new circle();
    delete kept;
    sink = kept->area();
}

// case deleted_member
//   says: .*is what malloc put into freed memory at 0x
//   cause: freed-chunk
OWN void deleted_member()
{
    book = new page();
    book->first = new circle();
    delete book;
    sink = book->first->sides;
}

// case overwritten_vtable
//   kind: non-canonical-address
//   says: Read from 0x[0-9a-f]+, an address that no memory can have.*holds text,
//     "overwrit"
//   cause: none|text
//   true: Read from 0x[0-9a-f]+, an address that no memory can have
OWN void overwritten_vtable()
{
    kept = new circle();
    char *volatile text = reinterpret_cast<char *>(kept);
    for (std::size_t i = 0; i < 8; i++)
        text[i] = "overwritten"[i];
    sink = kept->area();
}

// case empty_unique
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   cause: null-offset
OWN void empty_unique()
{
    std::unique_ptr<page> none;
    page *volatile at = none.get();
    sink = at->number;
}

// case null_element
//   kind: null-dereference|small-pointer|unknown
//   says: Read from 0x8, through a null pointer
//   cause: none|null-offset
//   true: Read from 0x8, a small number
OWN void null_element()
{
    std::vector<shape *> shapes(3);
    sink = shapes[1]->sides;
}

// case far_element
//   says: Read from 0x[0-9a-f]+, where nothing is mapped
OWN void far_element()
{
    std::vector<long> numbers(3);
    sink = numbers[far];
}

// case null_reference
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   cause: null-offset
OWN void null_reference()
{
    book = nullptr;
    const page &first = *book;
    sink = first.number;
}

// case null_function
//   kind: null-dereference
//   says: Jump to 0x0, through a null pointer
OWN void null_function()
{
    long (*volatile call)() = nullptr;
    sink = call();
}

// case stale_iterator
//   says: .*is (16 bytes after )?what malloc put into freed memory at 0x
//   cause: freed-chunk
OWN void stale_iterator()
{
    std::list<shape *> shapes = { new circle(), new circle() };
    auto at = shapes.begin();
    shapes.erase(at);
    sink = (*std::next(at))->sides;
}

// case null_list
//   kind: null-dereference
//   says: Read from 0x[0-9a-f]+, through a null pointer
//   cause: none|null-offset
OWN void null_list()
{
    std::list<page> *volatile pages = nullptr;
    sink = pages->front().number;
}

// case cleared_object
//   kind: null-dereference|unknown
//   says: Read from 0x[0-9a-f]+, through a null pointer
//   cause: none|null-offset
//   true: Read from 0x10, a small number
OWN void cleared_object()
{
    kept = new circle();
    void *volatile all = kept;
    std::memset(all, 0, sizeof(circle));
    sink = kept->area();
}

// case within_lambda
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   cause: null-offset
//   in: within_lambda
OWN void within_lambda()
{
    page *volatile none = nullptr;
    std::function<long()> count = [&] { return none->number; };
    sink = count();
}

int main(int count, char **arguments)
{
#define CASE(name)                                                                     \
    if (count > 1 && std::strcmp(arguments[1], #name) == 0)                            \
        name();
    CASE(null_virtual)
    CASE(null_method)
    CASE(deleted_virtual)
    CASE(deleted_member)
    CASE(overwritten_vtable)
    CASE(empty_unique)
    CASE(null_element)
    CASE(far_element)
    CASE(null_reference)
    CASE(null_function)
    CASE(stale_iterator)
    CASE(null_list)
    CASE(cleared_object)
    CASE(within_lambda)
}
