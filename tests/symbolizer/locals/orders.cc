// SPDX-License-Identifier: Apache-2.0
//
// Variables of C++ as they occur: strings, references, structures by value, numbers in
// vector registers, nested blocks, lambdas, inlined calls and recursion.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

enum class state { open, paid, sent };

struct money {
    long cents;
    char currency[4];
};

struct item {
    std::string name;
    money price;
    int count;
    item *next;
};

struct base {
    virtual ~base()
    {
    }
    virtual double weight(double factor) const = 0;
    int number = 7;
};

struct parcel : base {
    double kilos;
    float padding;
    parcel(double k, float p) : kilos(k), padding(p)
    {
    }
    double weight(double factor) const override;
};

__attribute__((noinline)) double parcel::weight(double factor) const
{
    double packed = kilos * factor;
    float rounded = static_cast<float>(packed) + padding;
    return packed + static_cast<double>(rounded) / 1000;
}

__attribute__((noinline)) static long hash(std::string_view text)
{
    unsigned long value = 1469598103934665603u;
    for (char c : text) {
        unsigned char byte = static_cast<unsigned char>(c);
        value = (value ^ byte) * 1099511628211u;
    }
    return static_cast<long>(value >> 8);
}

static inline long discount(const money &price, int percent)
{
    long off = price.cents * percent / 100;
    if (off > 500) {
        long most = 500;
        return most;
    }
    return off;
}

__attribute__((noinline)) static money total_of(const item &first, state at, float rate)
{
    money total = { 0, "EUR" };
    const item *one = &first;
    for (int i = 0; one != nullptr; i++, one = one->next) {
        long cents = one->price.cents * one->count;
        cents -= discount(one->price, i + 5);
        if (at == state::paid) {
            double taxed = static_cast<double>(cents) * static_cast<double>(rate);
            cents = static_cast<long>(taxed);
        }
        total.cents += cents;
    }
    return total;
}

__attribute__((noinline)) static int depth_of(const std::vector<int> &parents, int at)
{
    int parent = parents[static_cast<size_t>(at)];
    if (parent < 0)
        return 0;
    int above = depth_of(parents, parent);
    return above + 1;
}

__attribute__((noinline)) static std::string label(const item &of, const char *prefix)
{
    char number[16];
    std::string text = prefix;
    int written = snprintf(number, sizeof(number), "%d", of.count);
    text += of.name;
    text.append(number, static_cast<size_t>(written));
    return text;
}

__attribute__((noinline)) static long order(int round, const char *who)
{
    item second = {
        "envelope, large, brown, with window", { 129 + round, "EUR" }, 3, nullptr
    };
    item first = { "stamp", { 85, "EUR" }, round % 7 + 1, &second };
    std::string names[2] = { label(first, "a "), label(second, "b ") };
    parcel box(0.25 * round, 1.5f);
    std::vector<int> parents = { -1, 0, 1, 2, 1 };
    auto add = [&](long more) { return more + depth_of(parents, round % 5); };
    money total = total_of(first, static_cast<state>(round % 3), 1.19f);
    double weight = box.weight(1.1);
    long result = total.cents + add(static_cast<long>(weight));
    for (const std::string &name : names)
        result ^= hash(name);
    result += hash(who);
    return result;
}

int main(int count, char **words)
{
    long all = 0;
    for (int round = 0; round < 2000; round++)
        all += order(round, count > 1 ? words[1] : "nobody");
    printf("%ld\n", all);
    return 0;
}
