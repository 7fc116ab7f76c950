// SPDX-License-Identifier: Apache-2.0
// Nested scopes of crashhook.hpp, and, where the compiler has it, a std::stacktrace in
// Compact Backtrace Format, printed in hex.
#include <crashhook/crashhook.hpp>

#include <stdexcept>

#if defined(__cpp_lib_stacktrace)
static std::vector<unsigned char> inner()
{
    return crashhook::cbf(std::stacktrace::current());
}

static std::vector<unsigned char> outer()
{
    return inner();
}

static void print_stacktrace()
{
    for (unsigned char byte : outer())
        std::printf("%02x", static_cast<unsigned>(byte));
    std::printf("\n");
}
#else
static void print_stacktrace()
{
}
#endif

static void leave()
{
    crashhook::scoped_breadcrumb work("work");
    throw std::runtime_error("no order");
}

int main()
{
    crashhook::settings().set(&crashhook_options::release, "1.4.2").install();
    crashhook::scoped_tag stage("stage", "pricing");
    {
        crashhook::scoped_tag other("other", "1");
        crashhook::scoped_tag again("stage", "shipping");
    }
    try {
        leave();
    } catch (const std::exception &) {
        crashhook_report_now("left");
    }
    print_stacktrace();
    return 0;
}
