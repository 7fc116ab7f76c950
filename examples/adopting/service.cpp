// SPDX-License-Identifier: Apache-2.0
// A service in C++ that tells crashhook what it is doing:
// c++ -std=c++17 service.cpp $(pkg-config --cflags --libs crashhook)
#include <crashhook/crashhook.hpp>

#include <iostream>
#include <optional>
#include <string>

struct order {
    std::string name;
    std::optional<long> cents;
};

static order read_order(const std::string &line)
{
    crashhook::scoped_breadcrumb work("reading an order");
    size_t blank = line.find(' ');
    order read{ line.substr(0, blank), std::nullopt };
    if (blank != std::string::npos)
        read.cents = std::stol(line.substr(blank + 1));
    return read;
}

static long price_of(const order &order)
{
    const long *cents = order.cents ? &*order.cents : nullptr;
    return *const_cast<const volatile long *>(cents); // crashes here
}

int main()
{
    crashhook::settings().set(&crashhook_options::release, "1.4.2").install();
    crashhook::scoped_tag stage("stage", "starting");
    for (std::string line; std::getline(std::cin, line);) {
        order order = read_order(line);
        crashhook::scoped_tag tag("stage", "pricing");
        crashhook::breadcrumb("order of %s", order.name.c_str());
        std::cout << order.name << ": " << price_of(order) << "\n";
    }
}
