// SPDX-License-Identifier: Apache-2.0
//
// A crash among strings, references, numbers in vector registers, structures by value
// and nested blocks; with an argument it waits there instead.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

struct point {
    double x, y;
};

struct order {
    int id;
    std::string customer;
    const char *note;
};

static volatile bool waits;
static volatile int *volatile nowhere;

FUNCTION static void stop()
{
    if (waits) {
        puts("here");
        fflush(stdout);
        pause();
    }
    *nowhere = 1;
}

FUNCTION static double scaled(double factor, float share, struct point at)
{
    double sum = at.x + at.y;
    if (!waits)
        *nowhere = (int)sum;
    return sum * factor * (double)share;
}

FUNCTION static int serve(const order &of, std::string_view kind, const char *password)
{
    int result = of.id;
    for (int round = 0; round < 3; round++) {
        std::string line = of.customer + " in round";
        int shadowed = round * 10;
        {
            int shadowed = 77;
            if (round == 2)
                stop();
            result += shadowed;
        }
        result += shadowed + (int)line.size();
    }
    return result + kind[0] + password[0];
}

int main(int count, char **)
{
    char *heap = strdup("kept on the heap");
    std::string secret = "the long password of nobody";
    order mine = { 42, "alice, whose name is longer than that", heap };
    waits = count > 1;
    if (count == 1 && getenv("TEXTS_SCALED") != nullptr)
        return (int)scaled(1.5, 0.25f, { 2.5, 3.5 });
    int result = serve(mine, "urgent", "hunter2");
    printf("%d %s\n", result, secret.c_str());
    return 0;
}
