// SPDX-License-Identifier: Apache-2.0
//
// Calls with arguments of every form, the innermost of which crashes.
#include <string.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

struct pair {
    int a;
    long b;
};

struct big {
    long x[5];
};

enum mood { GLAD = 1, SAD = -2 };

int leaf(int n, const char *text, const struct pair *p, double d, struct big b, long a5,
         long a6, long a7, long a8);
int middle(struct pair *p, enum mood mood, const char *password);
int outer(int count, char **argv);
int tail(int number);

FUNCTION int leaf(int n, const char *text, const struct pair *p, double d, struct big b,
                  long a5, long a6, long a7, long a8)
{
    if (n > 3)
        *(volatile int *)0 = (int)(b.x[2] + a7 + a8);
    return n + (int)strlen(text) + p->a + (int)d + (int)a5 + (int)a6;
}

FUNCTION int middle(struct pair *p, enum mood mood, const char *password)
{
    struct big b = { { 1, 2, 3, 4, 5 } };
    int result = leaf(4, password, p, 2.5, b, 5, 6, 7, 8);
    return result * p->a * mood;
}

// Its call is a jump: who returns from middle was not called with its arguments.
FUNCTION int tail(int number)
{
    static struct pair pair = { 3, 9 };
    pair.a = number;
    return middle(&pair, SAD, "hunter2");
}

FUNCTION int outer(int count, char **argv)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += tail(count + 10);
    return sum + argv[0][0];
}

int main(int argc, char **argv)
{
    return outer(argc, argv) + argc;
}
