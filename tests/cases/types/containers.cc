// SPDX-License-Identifier: Apache-2.0
//
// containers SEED [DAMAGE]: makes one local variable of each kind of container, with
// contents at random, prints each variable's name and what it holds as JSON, and
// crashes. Of a container the first eight elements and the size are printed. With
// DAMAGE, that many words of the containers, or of the heap, are overwritten first.
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <forward_list>
#include <functional>
#include <future>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <valarray>
#include <vector>
#if __cplusplus >= 201703L
#include <any>
#include <filesystem>
#include <optional>
#include <variant>
#endif

static std::mt19937 chance;
static std::vector<void *> blocks; // of the heap, for DAMAGE

static unsigned below(unsigned limit)
{
    return static_cast<unsigned>(chance() % limit);
}

// How many elements a container gets: none, a few, more than are shown.
static unsigned some()
{
    static const unsigned sizes[] = { 0, 1, 3, 8, 9, 40 };
    return sizes[below(6)];
}

static std::string text()
{
    static const unsigned lengths[] = { 0, 1, 7, 15, 16, 40, 120 };
    std::string made(lengths[below(7)], ' ');
    for (char &letter : made)
        letter = static_cast<char>('a' + below(26));
    free(malloc(16 + below(200)));
    blocks.push_back(malloc(16 + below(2000))); // objects are not beside each other
    return made;
}

struct item {
    std::string name;
    int count;
};

struct alignas(64) wide_item {
    int count;
};

struct partly_wide_item {
    alignas(32) int count;
};

struct key_order {
    bool operator()(const item &a, const item &b) const
    {
        return a.name < b.name;
    }
};

static int twice(int number)
{
    return 2 * number;
}

template <class T> std::string show(const T *pointer);
static std::string show(int value)
{
    return std::to_string(value);
}
static std::string show(short value)
{
    return std::to_string(value);
}
static std::string show(unsigned char value)
{
    return std::to_string(value);
}
static std::string show(long value)
{
    return std::to_string(value);
}
static std::string show(double value)
{
    return std::to_string(value);
}
static std::string show(long double value)
{
    return std::to_string(value);
}
#ifdef _LIBCPP_VERSION
#define COMPLEX(parts) "{\"size\": 2, \"items\": [" + (parts) + "]}"
#else
#define COMPLEX(parts) "[" + (parts) + "]" // a number of two parts for the compiler
#endif
static std::string show(const std::complex<double> &value)
{
    return COMPLEX(show(value.real()) + ", " + show(value.imag()));
}
static std::string show(bool value)
{
    return value ? "true" : "false";
}
static std::string show(const std::string &value)
{
    return "\"" + value + "\"";
}
static std::string show(const wide_item &value)
{
    return "{\"count\": " + show(value.count) + "}";
}
static std::string show(const partly_wide_item &value)
{
    return "{\"count\": " + show(value.count) + "}";
}
static std::string show(const item &value)
{
    return "{\"name\": " + show(value.name) + ", \"count\": " + show(value.count) + "}";
}

template <class A, class B> std::string show(const std::pair<A, B> &value)
{
    return "{\"first\": " + show(value.first) + ", \"second\": " + show(value.second) +
           "}";
}

template <class C> std::string show_all(const C &all);
template <class T, class A> std::string show(const std::vector<T, A> &all)
{
    return show_all(all);
}

template <class C> std::string show_all(const C &all)
{
    std::string items;
    size_t count = 0;
    for (const auto &each : all)
        if (count++ < 8)
            items += (items.empty() ? "" : ", ") + show(each);
    return "{\"size\": " + std::to_string(count) + ", \"items\": [" + items + "]}";
}

template <class C> std::string show_pairs(const C &all)
{
    std::string items;
    size_t count = 0;
    for (const auto &each : all)
        if (count++ < 8)
            items += (items.empty() ? "[" : ", [") + show(each.first) + ", " +
                     show(each.second) + "]";
    return "{\"size\": " + std::to_string(count) + ", \"entries\": [" + items + "]}";
}

// heap_of gives the elements of a queue as it has them.
template <class T> const std::vector<T> &heap_of(const std::priority_queue<T> &queue)
{
    struct opened : std::priority_queue<T> {
        static const std::vector<T> &of(const std::priority_queue<T> &all)
        {
            return all.*&opened::c;
        }
    };
    return opened::of(queue);
}

static std::string hexadecimal(int (*function)(int))
{
    char text[32];
    snprintf(text, sizeof(text), "%p", reinterpret_cast<void *>(function));
    return text;
}

static void print(const char *name, const std::string &value)
{
    printf("%s\t%s\n", name, value.c_str());
}

#ifdef __clang__
#define CAPTURED // in front of the name of what a lambda has captured
#else
#define CAPTURED "__"
#endif
#define ALL(variable) print(#variable, show_all(variable))
#define PAIRS(variable) print(#variable, show_pairs(variable))
#define ONE(variable) print(#variable, show(variable))

// damage overwrites words of the objects between two addresses, or of the heap.
static void damage(unsigned count, const void *first, const void *last)
{
    auto *from =
        reinterpret_cast<uintptr_t *>(reinterpret_cast<uintptr_t>(first) & ~7ul);
    auto *to = reinterpret_cast<uintptr_t *>(reinterpret_cast<uintptr_t>(last) & ~7ul);
    if (to < from)
        std::swap(from, to);
    for (unsigned i = 0; i < count; i++) {
        static const uintptr_t odd[] = { 0, 1, 8, 0x4141414141414141, ~0ul, 1ul << 47 };
        uintptr_t *where = from + below(static_cast<unsigned>(to - from));
        if (below(2) != 0 && !blocks.empty()) {
            auto *block = static_cast<uintptr_t *>(blocks[below(blocks.size())]);
            where = block + static_cast<int>(below(120)) - 60;
        }
        uintptr_t with = odd[below(6)];
        if (below(3) == 0)
            with = *(from + below(static_cast<unsigned>(to - from)));
        *where = with;
    }
}

__attribute__((noinline)) static void fill(int *volatile nowhere, unsigned damaged)
{
    std::vector<int> numbers;
    std::vector<std::string> words;
    std::vector<item> records;
    std::vector<std::vector<short>> rows;
    std::vector<bool> flags;
    std::list<int> chain;
    std::list<item> queue;
    std::forward_list<long> single;
    std::deque<int> both;
    std::deque<std::string> lines;
    std::set<int> distinct;
    std::set<std::string> names;
    std::set<item, key_order> items;
    std::multiset<short> several;
    std::map<int, int> squares;
    std::map<std::string, std::string> table;
    std::map<std::string, std::vector<int>> lists;
    std::multimap<int, double> weights;
    std::unordered_set<int> seen;
    std::unordered_map<int, std::string> by_number;
    std::unordered_map<std::string, int> by_word;
    std::unordered_multimap<int, int> repeated;
    std::array<int, 3> three{ { static_cast<int>(below(9)), 2, 3 } };
    std::string line = text();
    std::pair<int, std::string> pair(static_cast<int>(below(99)), text());
    std::tuple<int, std::string, double> mixed(static_cast<int>(below(99)), text(),
                                               0.5);
    std::unique_ptr<item> owner(below(4) ? new item{ text(), 4 } : nullptr);
    std::shared_ptr<item> shared(below(4) ? std::make_shared<item>(item{ text(), 5 })
                                          : nullptr);
    std::weak_ptr<item> weak = shared;
    std::atomic<int> counter(static_cast<int>(below(1000)));
    std::bitset<12> bits(below(4096));
    std::complex<double> wave(1.5, below(10));
    std::map<int, wide_item> apart;
    std::list<partly_wide_item> partly_apart;
    std::forward_list<std::complex<double>> waves;
    std::unordered_set<long double> exact;
    std::stack<int> pile;
    std::chrono::milliseconds pause(below(5000));
    std::reference_wrapper<std::string> referred(line);
    std::valarray<int> measured(static_cast<int>(below(9)), 1 + below(3));
    std::initializer_list<int> listed = { 3, 1, 2 };
    std::priority_queue<int> urgent;
    std::mutex lock;
    std::exception_ptr failure;
    std::u16string wide(below(2) ? u"wide" : u"wider than in itself");
#if __cplusplus >= 201703L
    std::string_view part(line.data() + line.size() / 2, line.size() - line.size() / 2);
    std::optional<std::string> maybe;
    std::optional<int> number;
    std::variant<int, std::string, item> choice;
    std::filesystem::path place = "/" + text();
    std::any anything;
    std::any small(static_cast<int>(below(100)));
    std::any large(item{ text(), 7 });
    if (below(2))
        maybe = text();
    if (below(2))
        number = below(100);
    unsigned which = below(3);
    if (which == 1)
        choice = text();
    else if (which == 2)
        choice = item{ text(), 6 };
    else
        choice = 17;
#endif
    int captured = static_cast<int>(below(100));
    std::function<int(int)> none;
    std::function<int(int)> doubling = twice;
    enum { ADDING = __LINE__ + 1, NAMING = ADDING + 1 };
    std::function<int(int)> adding = [captured](int with) { return captured + with; };
    std::function<int(int)> naming = [line, captured](int with) {
        return captured + with;
    };
    std::promise<std::string> given;
    std::future<std::string> promised = given.get_future();
    std::promise<int> thrown;
    if (below(2))
        given.set_value(line);
    if (below(2))
        thrown.set_exception(std::make_exception_ptr(1));
    for (unsigned i = some(); i > 0; i--)
        numbers.push_back(static_cast<int>(below(1000)));
    for (unsigned i = some(); i > 0; i--)
        words.push_back(text());
    for (unsigned i = some(); i > 0; i--)
        records.push_back({ text(), static_cast<int>(i) });
    for (unsigned i = some(); i > 0; i--)
        rows.emplace_back(below(10), static_cast<short>(i));
    for (unsigned i = some(); i > 0; i--)
        flags.push_back(below(2));
    for (unsigned i = some(); i > 0; i--)
        chain.push_back(static_cast<int>(1000 + i)); // not the size of the list
    for (unsigned i = some(); i > 0; i--)
        queue.push_back({ text(), static_cast<int>(i) });
    for (unsigned i = some(); i > 0; i--)
        single.push_front(i);
    for (unsigned i = 20 * some(); i > 0; i--)
        both.push_back(static_cast<int>(i));
    for (unsigned i = below(300); i > 0 && !both.empty(); i--)
        both.pop_front();
    for (unsigned i = some(); i > 0; i--)
        lines.push_front(text());
    for (unsigned i = some(); i > 0; i--)
        distinct.insert(static_cast<int>(below(100)));
    for (unsigned i = some(); i > 0; i--)
        names.insert(text());
    for (unsigned i = some(); i > 0; i--)
        items.insert({ text(), static_cast<int>(i) });
    for (unsigned i = some(); i > 0; i--)
        several.insert(static_cast<short>(below(5)));
    for (unsigned i = some(); i > 0; i--)
        squares[static_cast<int>(i)] = static_cast<int>(i * i);
    for (unsigned i = some(); i > 0; i--)
        table[text()] = text();
    for (unsigned i = some(); i > 0; i--)
        lists[text()] = std::vector<int>(below(4), static_cast<int>(i));
    for (unsigned i = some(); i > 0; i--)
        weights.insert({ static_cast<int>(below(3)), i * 0.5 });
    for (unsigned i = some(); i > 0; i--)
        seen.insert(static_cast<int>(below(1000)));
    for (unsigned i = some(); i > 0; i--)
        by_number[static_cast<int>(below(1000))] = text();
    for (unsigned i = some(); i > 0; i--)
        by_word[text()] = static_cast<int>(i);
    for (unsigned i = some(); i > 0; i--)
        repeated.insert({ static_cast<int>(below(3)), static_cast<int>(i) });
    for (unsigned i = some(); i > 0; i--) {
        apart[static_cast<int>(i)].count = static_cast<int>(below(1000));
        partly_apart.push_back({ static_cast<int>(below(1000)) });
        waves.push_front({ i * 0.5, 3 });
        exact.insert(i * 0.5L);
    }
    for (unsigned i = below(8); i > 0; i--)
        pile.push(static_cast<int>(i));
    for (unsigned i = below(8); i > 0; i--)
        urgent.push(static_cast<int>(i));
    if (below(2))
        lock.lock();
    std::vector<int>::iterator at = numbers.begin();
    std::list<int>::iterator in_chain = chain.begin();
    std::list<int>::iterator after_chain = chain.end();
    std::list<item>::const_iterator after_queue = queue.end();
    std::forward_list<long>::iterator in_single = single.begin();
    std::deque<int>::iterator in_both = both.begin();
    std::set<std::string>::iterator in_names = names.begin();
    std::map<int, int>::iterator in_squares = squares.begin();
    std::unordered_map<int, std::string>::iterator in_by_number = by_number.begin();

    ALL(numbers), ALL(words), ALL(records), ALL(rows), ALL(chain), ALL(queue);
    ALL(single), ALL(both), ALL(lines), ALL(distinct), ALL(names), ALL(items);
    ALL(several), ALL(seen);
    PAIRS(squares), PAIRS(table), PAIRS(lists), PAIRS(weights), PAIRS(by_number);
    PAIRS(by_word), PAIRS(repeated), PAIRS(apart);
    ALL(partly_apart), ALL(waves), ALL(exact);
    ONE(line), ONE(pair);
    std::string all_flags;
    for (bool flag : flags)
        all_flags += flag ? '1' : '0';
    print("flags", show(all_flags));
    print("three", "[" + show(three[0]) + ", 2, 3]");
    print("mixed", "{\"size\": 3, \"items\": [" + show(std::get<0>(mixed)) + ", " +
                       show(std::get<1>(mixed)) + ", 0.5]}");
    print("owner", owner ? "{\"value\": " + show(*owner) + "}" : "null");
    print("shared",
          shared ? "{\"owners\": 1, \"value\": " + show(*shared) + "}" : "null");
    print("weak",
          shared ? "{\"owners\": 1, \"value\": " + show(*shared) + "}" : "null");
    print("counter", show(counter.load()));
    print("bits", show(bits.to_string()));
    print("wave", show(wave));
    print("pause", "\"" + std::to_string(pause.count()) + " ms\"");
    print("referred", "{\"value\": " + show(line) + "}");
    if (!numbers.empty())
        print("at", "{\"value\": " + show(*at) + "}");
    if (!chain.empty())
        print("in_chain", "{\"value\": " + show(*in_chain) + "}");
#if _GLIBCXX_USE_CXX11_ABI || defined(_LIBCPP_VERSION)
    print("after_queue", "{}");
    print("after_chain", "{}");
#endif
    if (!single.empty())
        print("in_single", "{\"value\": " + show(*in_single) + "}");
    if (!both.empty())
        print("in_both", "{\"value\": " + show(*in_both) + "}");
    if (!names.empty())
        print("in_names", "{\"value\": " + show(*in_names) + "}");
    if (!squares.empty())
        print("in_squares", "{\"value\": " + show(*in_squares) + "}");
    if (!by_number.empty())
        print("in_by_number", "{\"value\": " + show(*in_by_number) + "}");
    if (!urgent.empty())
        print("urgent", show_all(heap_of(urgent)));
    ALL(measured), ALL(listed);
    print("wide", show(std::string(wide.begin(), wide.end())));
    print("failure", "null");
    if (lock.try_lock())
        print("lock", "\"unlocked\""), lock.unlock();
    else
        print("lock", "\"locked by thread " + std::to_string(getpid()) + "\"");
    print("none", "{}");
    print("adding", "{\"choice\": \"lambda of line " + std::to_string(ADDING) +
                        "\", \"value\": {\"" CAPTURED "captured\": " + show(captured) +
                        "}}");
    print("naming", "{\"choice\": \"lambda of line " + std::to_string(NAMING) +
                        "\", \"value\": {\"" CAPTURED "line\": " + show(line) +
                        ", \"" CAPTURED "captured\": " + show(captured) + "}}");
    print("doubling",
          "{\"choice\": \"twice\", \"value\": \"" + hexadecimal(twice) + "\"}");
    bool is_given =
        promised.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    std::string state = is_given
                            ? "{\"choice\": \"ready\", \"value\": " + show(line) + "}"
                            : "{\"choice\": \"not ready\"}";
    print("given", state);
    print("promised", state);
    bool is_thrown = thrown.get_future().wait_for(std::chrono::seconds(0)) ==
                     std::future_status::ready;
    print("thrown",
          is_thrown ? "{\"choice\": \"an exception\"}" : "{\"choice\": \"not ready\"}");
#if __cplusplus >= 201703L
    print("anything", "{}");
    print("small",
          "{\"choice\": \"int\", \"value\": " + show(std::any_cast<int>(small)) + "}");
    print("large", "{\"choice\": \"item\", \"value\": " +
                       show(std::any_cast<item>(large)) + "}");
    print("part", show(std::string(part)));
    print("maybe", maybe ? "{\"value\": " + show(*maybe) + "}" : "{}");
    print("number", number ? "{\"value\": " + show(*number) + "}" : "{}");
    print("choice", "{\"index\": " + std::to_string(which) + ", \"value\": " +
                        (which == 0   ? "17"
                         : which == 1 ? show(std::get<1>(choice))
                                      : show(std::get<2>(choice))) +
                        "}");
    print("place", show(place.string()));
#endif
    fflush(stdout);
    if (damaged)
        damage(damaged, &numbers, &referred);
    *nowhere = 1; // crashes here
    asm volatile("" : : "r"(&at), "r"(&pile), "r"(&numbers), "r"(&flags) : "memory");
}

int main(int argc, char **argv)
{
    chance.seed(argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 1);
    for (int i = 0; i < 64; i++)
        blocks.push_back(malloc(16 + below(500)));
    fill(nullptr, argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : 0);
}
