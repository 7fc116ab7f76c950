// SPDX-License-Identifier: Apache-2.0
//
// C++ for the stepping harness: exceptions through frames with something to destroy,
// virtual calls, constructors, landing pads.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "stepping.h"

namespace
{

volatile int seen;

struct guard {
    explicit guard(int n) : number(n)
    {
        seen = seen + n;
    }
    ~guard()
    {
        seen = seen - number;
    }
    int number;
};

struct shape {
    virtual ~shape() = default;
    virtual int area(int by) const = 0;
};

struct square : shape {
    explicit square(int s) : side(s)
    {
    }
    int area(int by) const override
    {
        guard g(by);
        if (by > 2)
            throw std::out_of_range("too much");
        return side * side * by;
    }
    int side;
};

__attribute__((noinline)) int total(const std::vector<std::unique_ptr<shape>> &shapes,
                                    int by)
{
    guard g(1);
    int sum = 0;
    for (const auto &s : shapes)
        sum += s->area(by);
    return sum;
}

__attribute__((noinline)) int careful(const std::vector<std::unique_ptr<shape>> &shapes,
                                      int by)
{
    std::string name(30, 'x');
    try {
        guard g(2);
        return total(shapes, by) + static_cast<int>(name.size());
    } catch (const std::out_of_range &e) {
        return static_cast<int>(std::string(e.what()).size());
    }
}

} // namespace

int main()
{
    std::vector<std::unique_ptr<shape>> shapes;
    shapes.push_back(std::make_unique<square>(3));
    shapes.push_back(std::make_unique<square>(4));
    stepping_begin();
    int sum = careful(shapes, 1);
    sum += careful(shapes, 3);
    stepping_end();
    return sum == 0;
}
