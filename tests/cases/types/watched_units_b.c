// SPDX-License-Identifier: Apache-2.0
#include "crashhook/crashhook.h"

struct ambiguous {
    long numbers[3];
};

struct alike {
    float from_b;
};

static struct ambiguous object = { { 2, 3, 4 } };
static struct alike alike = { 5 };

void watch_b(void);
void watch_b(void)
{
    crashhook_watch("of b", &object, "struct ambiguous");
    crashhook_watch("alike in b", &alike, "struct alike");
}
