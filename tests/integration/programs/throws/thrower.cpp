// SPDX-License-Identifier: Apache-2.0
//
// thrower: a library in C++ that a program in C loads.
#include <stdexcept>

extern "C" void thrower_work();

extern "C" void thrower_work()
{
    throw std::length_error("thrown by a library that came late");
}
