// SPDX-License-Identifier: Apache-2.0
//
// Calls through tables of functions that are null, freed or overwritten: what is wrong
// is the pointer to the table, not the address of the call.
//
// all kind: null-dereference|non-canonical-address
// all cause: none|null-offset|text
#include <cstdlib>
#include <cstring>
#include <functional>

#define OWN [[gnu::noinline]] static
#define KEEP(value) asm volatile("" : "+r"(value))

static volatile long zero;
static const long text = 0x4141414141414141;

struct codec {
    long id;
    int (*init)(codec *);
    int (*decode)(codec *, const char *);
};

struct stream {
    codec *using_codec;
    long position;
};

struct shape {
    double width = 1;
    virtual ~shape() = default;
    virtual double area(int factor) const
    {
        return width * factor;
    }
};

static shape known;

OWN int decode(codec *with)
{
    int result = with->decode(with, "frame");
    KEEP(result);
    return result;
}

OWN int decode_of(stream *from)
{
    int result = from->using_codec->decode(from->using_codec, "frame");
    KEEP(result);
    return result;
}

OWN int measure(shape *of)
{
    int result = (int)of->area(2);
    KEEP(result);
    return result;
}

static int (*hook)(int);

OWN int run_hook(int with)
{
    int result = hook(with);
    KEEP(result);
    return result;
}

// case null_table
//   in: decode
//   says: Read from 0x10, through a null pointer
//   variable: with
//   never: decode` is (null|0x)
static int null_table()
{
    return decode((codec *)zero);
}

// case text_table
//   in: decode
//   says: Read from 0x4141414141414151, an address that no memory can have
//   variable: with
static int text_table()
{
    return decode((codec *)(zero + text));
}

// case null_slot
//   in: decode
//   says: Jump to 0x0, through a null pointer
//   variable: with->decode
static int null_slot()
{
    return decode((codec *)calloc(4, sizeof(codec)));
}

// case text_slot
//   in: decode
//   says: Jump to 0x4141414141414141, an address that no memory can have
//   variable: with->decode
static int text_slot()
{
    char *memory = (char *)malloc(sizeof(codec));
    memset(memory, 0x41, sizeof(codec));
    return decode((codec *)memory);
}

// case null_member_table
//   in: decode_of
//   says: Read from 0x10, through a null pointer
//   variable: from->using_codec
static int null_member_table()
{
    stream of = { (codec *)zero, 1 };
    return decode_of(&of);
}

// case null_object
//   in: measure
//   says: Read from 0x0, through a null pointer
//   variable: of
static int null_object()
{
    return measure((shape *)zero);
}

// case zeroed_object
//   in: measure
//   says: Read from 0x10, through a null pointer
//   variable: of->_vptr.shape
//   shows: the vtable pointer of `\*of` is null
//   builds: -clang
static int zeroed_object()
{
    return measure((shape *)calloc(1, sizeof(shape)));
}

// case overwritten_object
//   in: measure
//   says: Read from 0x4141414141414151, an address that no memory can have
//   variable: of->_vptr.shape
//   shows: the vtable pointer of `\*of` is 0x4141414141414141
//   builds: -clang
static int overwritten_object()
{
    char *memory = (char *)malloc(sizeof(shape));
    memset(memory, 0x41, sizeof(shape));
    return measure((shape *)memory);
}

// case null_hook
//   in: run_hook
//   says: Jump to 0x0, through a null pointer
//   variable: hook
static int null_hook()
{
    return run_hook((int)zero);
}

// case text_hook
//   in: run_hook
//   says: Jump to 0x4141414141414141, an address that no memory can have
//   variable: hook
static int text_hook()
{
    hook = (int (*)(int))(zero + text);
    return run_hook((int)zero);
}

struct meter {
    int reading;
    int scaled() const;
};

OWN int read_by(const meter *from, int meter::*field, int (meter::*method)() const)
{
    int value = from->*field + (from->*method)();
    asm volatile("" : "+r"(value));
    return value;
}

// case null_member_function
//   in: read_by
//   says: Jump to 0x0, through a null pointer
//   variable: method|none
//   never: type is not known
static int null_member_function()
{
    meter of = { 7 };
    int (meter::*none)() const = nullptr;
    asm volatile("" : : "r"(&none) : "memory");
    return read_by(&of, &meter::reading, none);
}

static const struct {
    const char *name;
    int (*crash)();
} cases[] = {
    { "null_table", null_table },
    { "text_table", text_table },
    { "null_slot", null_slot },
    { "text_slot", text_slot },
    { "null_member_table", null_member_table },
    { "null_object", null_object },
    { "zeroed_object", zeroed_object },
    { "overwritten_object", overwritten_object },
    { "null_hook", null_hook },
    { "text_hook", text_hook },
    { "null_member_function", null_member_function },
};

int main(int, char **arguments)
{
    for (const auto &each : cases)
        if (strcmp(each.name, arguments[1]) == 0)
            return each.crash() + (int)known.area(1);
    return 2;
}
