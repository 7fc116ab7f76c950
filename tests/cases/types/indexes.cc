// SPDX-License-Identifier: Apache-2.0
//
// Accesses by an index that is outside of what it is an index of, by the number that is
// the first argument; without one, how many there are. `wild SEED` accesses an address
// that no index explains.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#define FUNCTION __attribute__((noinline, noclone, noipa))

struct order {
    long id;
    std::vector<int> lines;
    int count;
};

struct shelf {
    int used;
    short sizes[16];
};

struct packet {
    long size;
    char *data;
    char head[32];
};

short table[64];
static std::vector<long> all{ 1, 2, 3 };
static char buffer[64];

FUNCTION static int of_vector(std::vector<int> &numbers, long at)
{
    return numbers[at] + 1;
}

FUNCTION static int of_member(order *o, int line)
{
    return o->lines[line] * 2;
}

FUNCTION static char of_string(const std::string &name, size_t position)
{
    return name[position];
}

FUNCTION static long of_table(long row)
{
    return table[row] * 2;
}

FUNCTION static long of_global(long which)
{
    return all[which] + 2;
}

FUNCTION static int of_block(int *sizes, long place)
{
    return sizes[place] + 3;
}

FUNCTION static int of_shelf(shelf *s, long slot)
{
    s->used++;
    return s->sizes[slot];
}

FUNCTION static int of_local(long at)
{
    int numbers[8];
    memset(numbers, 1, sizeof(numbers));
    asm volatile("" : : "r"(numbers) : "memory");
    return numbers[at];
}

FUNCTION static int of_objects(std::vector<order> &orders, int back)
{
    return orders[back].count;
}

// Of a library's function the length is to blame; without optimization it is known.
FUNCTION static void of_copy(const char *from, unsigned long wanted)
{
    memcpy(buffer, from, wanted);
    buffer[0] = 1;
}

FUNCTION static void of_packet(packet *p)
{
    memset(p->data, 1, p->size);
    p->size = 0;
}

FUNCTION static void of_text(unsigned long bytes)
{
    char text[100];
    memset(text, 0, bytes);
    asm volatile("" : : "r"(text) : "memory");
}

FUNCTION static int *anywhere(std::mt19937_64 &chance)
{
    return reinterpret_cast<int *>(chance() % (1ul << 44) | 1ul << 44);
}

FUNCTION static int of_wild(std::vector<int> &numbers, std::mt19937_64 &chance)
{
    std::vector<long> more(40, 7);
    long one = static_cast<long>(chance() % 100000), two = -3, large = 1l << 40;
    unsigned small = 17;
    asm volatile("" : : "r"(&one), "r"(&two), "r"(&large), "r"(&small) : "memory");
    return *anywhere(chance) + numbers[0] + static_cast<int>(more[1]);
}

int main(int count, char **words)
{
    enum { COUNT = 12 };
    static const long far = 1l << 42;
    if (count < 2)
        return printf("%d\n", COUNT) < 0;
    std::vector<int> numbers{ 1, 2, 3 };
    order o{ 1, { 4, 5, 6, 7 }, 2 };
    std::string name = "a name that is long enough";
    shelf s{};
    packet p{ far, nullptr, {} };
    std::vector<order> orders(3);
    std::mt19937_64 chance(count > 2 ? strtoul(words[2], nullptr, 10) : 0);
    auto *block = static_cast<int *>(malloc(200000 * sizeof(int)));
    auto *last = static_cast<char *>(malloc(1 << 30));
    p.data = reinterpret_cast<char *>(block);
    long result = 0;
    if (strcmp(words[1], "wild") == 0)
        return of_wild(numbers, chance);
    switch (atoi(words[1])) {
    case 0: result = of_vector(numbers, far / 2); break;
    case 1: result = of_member(&o, -1000000000); break;
    case 2: result = of_string(name, far); break;
    case 3: result = of_table(far); break;
    case 4: result = of_global(-far); break;
    case 5: result = of_block(block, far); break;
    case 6: result = of_shelf(&s, -far); break;
    case 7: result = of_local(far); break;
    case 8: result = of_objects(orders, -1000000000); break;
    case 9: of_copy(last, far); break;
    case 10: of_packet(&p); break;
    case 11: of_text(far); break;
    }
    printf("%ld %p\n", result, static_cast<void *>(last));
    return 0;
}
