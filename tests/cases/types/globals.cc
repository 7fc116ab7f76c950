// SPDX-License-Identifier: Apache-2.0
//
// Global variables of C++: in namespaces, of classes, in anonymous namespaces, of a
// container type.
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace shop {
namespace detail {
std::vector<int> queue{ 1, 2, 3 };
}
std::map<std::string, int> stock{ { "apple", 3 }, { "pear", 4 } };
} // namespace shop

namespace {
std::string greeting = "hello there, this is longer than the object";
thread_local std::string user = "bob, whose name is longer than the object";
} // namespace

struct widget {
    static int count;
    inline static std::string kind = "round";
};
int widget::count = 12;

__attribute__((noinline)) static int use(int *p)
{
    shop::detail::queue.push_back(5);
    shop::stock["fig"] = 9;
    greeting += "!";
    user += "?";
    widget::count++;
    widget::kind += "er";
    std::cout << *p;
    return *p;
}

int main()
{
    return use(nullptr);
}
