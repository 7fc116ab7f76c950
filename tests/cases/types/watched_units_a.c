// SPDX-License-Identifier: Apache-2.0
//
// With watched_units_b.c a program that watches objects of types that its units define
// differently by one name.
#include <stdlib.h>

#include "crashhook/crashhook.h"

struct ambiguous {
    int number;
    double weight;
};

struct alike {
    int from_a;
};

static struct ambiguous object = { 1, 0.5 };
static struct alike alike = { 5 };

void watch_b(void);

int main(void)
{
    crashhook_watch("of a", &object, "struct ambiguous");
    crashhook_watch("alike", &alike, "struct alike");
    watch_b();
    abort();
}
