// SPDX-License-Identifier: Apache-2.0
//
// Fields of Protocol Buffers. With an argument each is overwritten by pointers to
// itself.
#include <cstring>
#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>
#include <string>

#include "order.pb.h" // made by the test

static int *volatile nothing;

template <class T> static void damage(T &object)
{
    T *self = &object;
    for (size_t i = 0; i + sizeof(self) <= sizeof(object); i += sizeof(self))
        memcpy((char *)self + i, &self, sizeof(self));
}

int main(int argc, char **)
{
    google::protobuf::RepeatedPtrField<std::string> names, nobody;
    google::protobuf::Map<int, int> squares;
    google::protobuf::Map<std::string, int> ages;
    google::protobuf::RepeatedField<int> numbers;
    shop::Order message;
    message.set_customer("a customer");
    message.add_cents(250);
    message.add_cents(499);
    message.add_notes("fragile");
    message.mutable_address()->set_city("Ghent");
    for (int i = 0; i < 4; i++) {
        numbers.Add(i);
        *names.Add() = "n" + std::to_string(i);
        squares[i] = i * i;
        ages["a" + std::to_string(i)] = i;
    }
    if (argc > 1)
        damage(names), damage(squares), damage(ages), damage(numbers), damage(message);
    return *nothing;
}
