// SPDX-License-Identifier: Apache-2.0
//
// Values of classes: bases are members like others, and no type is shown without the
// members that it has.
//
// all kind: null-dereference
// all says: Read from 0x0, through a null pointer
// all variable: missing
// all builds: O0
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct device {
    int port = 80;
    virtual ~device() = default;
};

struct reader : virtual device {
    int reads = 3;
};

struct writer : virtual device {
    long writes = 9;
};

struct both : reader, writer {
    char tag[4] = "x";
};

struct node {
    int id = 7;
    const char *name = "seven";
};

struct branch : node {
    int left = 1, right = 2;
};

struct leaf : branch {
};

struct empty {
};

struct filled : empty {
    short size = 5;
};

// case single
//   in: look_single
//   shows: of = \{node = \{id = 7, name = 0x[0-9a-f]+ "seven"\}, left = 1, right = 2\}
[[gnu::noinline]] static int look_single(branch of, const int *missing)
{
    return of.left + *missing;
}

// case without_members
//   in: look_leaf
//   never: of = \{\}
[[gnu::noinline]] static int look_leaf(leaf of, const int *missing)
{
    return of.left + *missing;
}

// case empty_base
//   in: look_filled
//   shows: of = \{size = 5\}, nothing = \{\}
[[gnu::noinline]] static int look_filled(filled of, empty nothing, const int *missing)
{
    (void)nothing;
    return of.size + *missing;
}

// case virtual_base
//   in: look_reader
//   shows: of = \{device = \{_vptr.device = 0x[0-9a-f]+, port = 80\},
//     _vptr.reader = 0x[0-9a-f]+, reads = 3\}
[[gnu::noinline]] static int look_reader(reader &of, const int *missing)
{
    return of.reads + *missing;
}

// case inherited_member
//   in: follow
//   says: Read from 0x0, through a null pointer
//   variable: from->name
[[gnu::noinline]] static int follow(leaf *from, const int *)
{
    return *from->name;
}

// case past_the_end
//   in: look_at_ends
//   shows: none = end\(\)
[[gnu::noinline]] static int look_at_ends(std::map<int, int>::iterator none,
                                          const int *missing)
{
    return (none == none) + *missing;
}

// case zeroed_node
//   in: look_at_zeros
//   shows: zeros =
//   never: zeros = end
[[gnu::noinline]] static int look_at_zeros(std::map<int, int>::iterator zeros,
                                           const int *missing)
{
    return (zeros == zeros) + *missing;
}

// case damaged_text
//   builds: O0 gcc
//   in: look_at_text
//   shows: _M_p = 0x4141414141414141|text = \{\.\.\.\}
//   never: text = ""
[[gnu::noinline]] static int look_at_text(const std::string &text, const int *missing)
{
    return (int)text.size() + *missing;
}

enum access { GUEST = 3, OWNER };

struct entry {
    int key = 4711;
    access password = OWNER;
    bool secret = true;
    int pin = 4815;
};

// case harmless_numbers
//   in: look_at_entry
//   shows: key = 4711, password = "?OWNER"?, secret = true
//   never: 4815
[[gnu::noinline]] static int look_at_entry(entry of, const int *missing)
{
    return of.key + *missing;
}

// case many_numbers
//   in: look_at_keys
//   shows: key = \["\*\*\*", "\*\*\*"\]
//   never: 4815162
[[gnu::noinline]] static int look_at_keys(const std::vector<unsigned> &key,
                                          const std::map<int, int> &map_key,
                                          const std::unique_ptr<unsigned> &own_key,
                                          const int *missing)
{
    return (int)(key.size() + map_key.size() + *own_key) + *missing;
}

int main(int, char **arguments)
{
    const char *name = arguments[1];
    const int *missing = nullptr;
    both of_both;
    leaf nameless;
    nameless.name = nullptr;
    if (strcmp(name, "single") == 0)
        return look_single(branch(), missing);
    if (strcmp(name, "without_members") == 0)
        return look_leaf(leaf(), missing);
    if (strcmp(name, "empty_base") == 0)
        return look_filled(filled(), empty(), missing);
    if (strcmp(name, "virtual_base") == 0)
        return look_reader(of_both, missing);
    std::map<int, int> numbers = { { 1, 2 } };
    if (strcmp(name, "past_the_end") == 0)
        return look_at_ends(numbers.end(), missing);
    static long zeros[8];
    std::map<int, int>::iterator at;
    void *node = zeros;
    memcpy(static_cast<void *>(&at), &node, sizeof(node));
    if (strcmp(name, "zeroed_node") == 0)
        return look_at_zeros(at, missing);
    if (strcmp(name, "harmless_numbers") == 0)
        return look_at_entry(entry(), missing);
    if (strcmp(name, "many_numbers") == 0)
        return look_at_keys({ 48151621, 48151622 }, { { 48151623, 48151624 } },
                            std::make_unique<unsigned>(48151625), missing);
    std::string text;
    memset(static_cast<void *>(&text), 'A', 8);
    if (strcmp(name, "damaged_text") == 0)
        return look_at_text(text, missing);
    return follow(&nameless, missing);
}
