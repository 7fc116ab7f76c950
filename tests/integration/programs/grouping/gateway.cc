// SPDX-License-Identifier: Apache-2.0
//
// The C++ program of the grouping harness: started like the C ones (ledger.h).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define KEPT __attribute__((noinline))

static volatile std::uintptr_t bad_value;
static volatile long zero;
static volatile long total;

template <class T> static T *bad()
{
    return reinterpret_cast<T *>(bad_value);
}

namespace gw
{

struct request {
    request *next = nullptr;
    long size = 0;
    virtual ~request() = default;
    virtual long weigh() const
    {
        return size;
    }
};

// A member that optimizers inline.
class session
{
  public:
    void touch(long amount)
    {
        user_->size = amount;
    }
    KEPT void renew(long amount)
    {
        user_->size += amount;
    }
    static long count_of(const request *list)
    {
        return list->size;
    }
    request *user_ = bad<request>();
};

static void member_inline()
{
    session one;
    one.touch(4);
}

static void member_kept()
{
    session one;
    one.renew(4);
}

static void static_member()
{
    total = total + session::count_of(bad<request>());
}

KEPT static long weigh_all(const request *list)
{
    return list->weigh();
}

static void virtual_call()
{
    total = total + weigh_all(bad<request>());
}

struct http_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

KEPT static void authorize(const std::string &token)
{
    if (token.size() < 8)
        throw http_error("token too short");
    total = total + 1;
}

static void uncaught_error()
{
    authorize("x");
}

KEPT static void find_route(std::vector<int> &routes, std::size_t index)
{
    total = total + routes.at(index);
}

static void out_of_range()
{
    std::vector<int> routes(3);
    find_route(routes, 7 + zero);
}

KEPT static void look_up(const std::map<std::string, int> &table)
{
    total = total + table.at("absent");
}

static void map_at()
{
    look_up({ { "present", 1 } });
}

KEPT static void convert(const std::string &text)
{
    total = total + std::stoi(text);
}

static void bad_number()
{
    convert("no number");
}

template <class T> KEPT T *first_of(T *list)
{
    total = total + *list;
    return list + 1;
}

static void template_function()
{
    first_of(bad<int>());
}

template <class T> struct queue {
    T *head = bad<T>();
    KEPT T take()
    {
        T value = *head;
        head++;
        return value;
    }
};

static void template_member()
{
    queue<long> waiting;
    total = total + waiting.take();
}

static void lambda_call()
{
    auto store = [](request *at) { at->size = 9; };
    store(bad<request>());
}

KEPT static void each(const std::function<void(request *)> &call)
{
    call(bad<request>());
}

static void std_function()
{
    each([](request *at) { at->size = total; });
}

KEPT static bool less_size(const request *a, const request *b)
{
    return a->size < b->size;
}

static void sort_compare()
{
    std::vector<const request *> list(20, bad<request>());
    std::sort(list.begin(), list.end(), less_size);
}

struct holder {
    request *held = bad<request>();
    KEPT ~holder()
    {
        held->size = 0;
    }
};

static void in_destructor()
{
    holder one;
    total = total + 1;
}

struct loader {
    request *from;
    KEPT explicit loader(request *at) : from(at)
    {
        from->size = 2;
    }
};

static void in_constructor()
{
    loader one(bad<request>());
}

struct stamp {
    long value;
    KEPT bool operator<(const stamp &other) const
    {
        return value < other.value;
    }
};

static void in_operator()
{
    total = total + (*bad<stamp>() < stamp{ 3 });
}

namespace
{
KEPT void hidden_step(request *at)
{
    at->size--;
}
} // namespace

static void anonymous_space()
{
    hidden_step(bad<request>());
}

[[noreturn]] static void fail_request(const char *why)
{
    std::fprintf(stderr, "gateway: %s\n", why);
    std::abort();
}

KEPT static void read_head(const char *text)
{
    if (text[0] != 'G')
        fail_request("no method");
    total = total + 1;
}

KEPT static void read_body(long size)
{
    if (size == 0)
        fail_request("no body");
    total = total + 1;
}

static void fail_head()
{
    read_head("x");
}

static void fail_body()
{
    read_body(zero);
}

KEPT static void join_late()
{
    std::thread one([] { usleep(1000000); });
    total = total + 1;
}

static void joinable_thread()
{
    join_late();
}

KEPT static void release_twice(int *value)
{
    delete value;
    std::unique_ptr<int> again(value);
}

static void delete_twice()
{
    release_twice(new int(3));
}

KEPT static long parse_list(int depth)
{
    volatile char frame[256];
    frame[depth & 255] = static_cast<char>(depth);
    return parse_list(depth + 1) + frame[depth & 127];
}

static void deep_list()
{
    total = total + parse_list(0);
}

struct base_shape {
    virtual ~base_shape() = default;
    virtual void draw() = 0;
    KEPT void redraw()
    {
        draw();
        total = total + 1;
    }
    base_shape()
    {
        redraw();
    }
};

struct circle : base_shape {
    void draw() override
    {
        total = total + 2;
    }
};

static void pure_virtual()
{
    circle one;
}

KEPT static void no_throw(long size) noexcept
{
    if (size == 0)
        throw std::logic_error("inside noexcept");
    total = total + 1;
}

static void through_noexcept()
{
    no_throw(zero);
}

} // namespace gw

static const struct {
    const char *name;
    void (*run)();
} bugs[] = {
    { "member_inline:gw::session::touch", gw::member_inline },
    { "member_kept:gw::session::renew", gw::member_kept },
    { "static_member:gw::session::count_of", gw::static_member },
    { "virtual_call:gw::weigh_all", gw::virtual_call },
    { "uncaught_error:gw::authorize", gw::uncaught_error },
    { "out_of_range:gw::find_route", gw::out_of_range },
    { "map_at:gw::look_up", gw::map_at },
    { "bad_number:gw::convert", gw::bad_number },
    { "template_function:gw::first_of", gw::template_function },
    { "template_member:gw::queue::take", gw::template_member },
    { "lambda_call:gw::lambda_call", gw::lambda_call },
    { "std_function:gw::std_function", gw::std_function },
    { "sort_compare:gw::less_size", gw::sort_compare },
    { "in_destructor:gw::holder::~holder", gw::in_destructor },
    { "in_constructor:gw::loader::loader", gw::in_constructor },
    { "in_operator:gw::stamp::operator<", gw::in_operator },
    { "anonymous_space:hidden_step", gw::anonymous_space },
    { "fail_head:gw::read_head", gw::fail_head },
    { "fail_body:gw::read_body", gw::fail_body },
    { "joinable_thread:gw::join_late", gw::joinable_thread },
    { "delete_twice:gw::release_twice", gw::delete_twice },
    { "deep_list:gw::parse_list", gw::deep_list },
    { "pure_virtual:gw::base_shape::redraw", gw::pure_virtual },
    { "through_noexcept:gw::no_throw", gw::through_noexcept },
};

KEPT static void descend(int depth, void (*run)())
{
    volatile int here = depth;
    if (here > 0)
        descend(here - 1, run);
    else
        run();
    total = total + here;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        for (const auto &bug : bugs)
            std::puts(bug.name);
        return 0;
    }
    const std::string name = std::string(argv[1]) + ":";
    int depth = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 0;
    int threads = argc > 3 ? static_cast<int>(std::strtol(argv[3], nullptr, 10)) : 0;
    bad_value = argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 0;
    for (int i = 0; i < threads; i++)
        std::thread([] {
            for (;;)
                pause();
        }).detach();
    for (const auto &bug : bugs) {
        if (std::strncmp(bug.name, name.c_str(), name.size()) == 0)
            descend(depth, bug.run);
    }
    return 3;
}
