// SPDX-License-Identifier: Apache-2.0
//
// Variables of C as they occur: structures by value in registers and on the stack,
// unions, bit-fields, arrays, text, floating point, statics, nested blocks, inlined
// calls and functions whose parameters the compiler changes.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
    double x, y;
};

struct pixel {
    uint8_t red, green, blue;
    unsigned opaque : 1;
    int layer : 7;
};

struct triangle {
    struct point corners[3];
    struct pixel colour;
    const char *name;
};

union number {
    double real;
    uint64_t bits;
};

enum side { LEFT = -1, ON, RIGHT };

static inline double cross(struct point a, struct point b)
{
    double left = a.x * b.y;
    double right = a.y * b.x;
    return left - right;
}

__attribute__((noinline)) static double area(struct triangle t)
{
    double twice = 0;
    for (int i = 0; i < 3; i++) {
        struct point here = t.corners[i];
        struct point there = t.corners[(i + 1) % 3];
        twice += cross(here, there);
    }
    return fabs(twice) / 2;
}

__attribute__((noinline)) static struct point middle(const struct triangle *of,
                                                     float weight)
{
    struct point sum = { 0, 0 };
    for (int i = 0; i < 3; i++) {
        sum.x += of->corners[i].x * weight;
        sum.y += of->corners[i].y * weight;
    }
    return sum;
}

__attribute__((noinline)) static enum side side_of(struct point at, struct point line)
{
    double turn = cross(line, at);
    if (turn > 1e-9)
        return LEFT;
    return turn < -1e-9 ? RIGHT : ON;
}

__attribute__((noinline)) static uint64_t mix(double value, int rounds)
{
    union number n = { .real = value };
    static uint64_t seen;
    for (int i = 0; i < rounds; i++) {
        uint64_t high = n.bits >> 32, low = n.bits & 0xffffffff;
        n.bits ^= high * 31 + low;
    }
    seen += n.bits;
    return seen;
}

static int __attribute__((noinline)) words_in(const char *text, int unused, int longest)
{
    int count = 0, length = 0;
    char word[24] = "";
    for (const char *c = text; *c != 0; c++) {
        if (*c == ' ') {
            count++;
            length = 0;
            continue;
        }
        if (length < longest && length < (int)sizeof(word) - 1) {
            word[length++] = *c;
            word[length] = 0;
        }
    }
    (void)unused;
    return count + (word[0] != 0);
}

static int compare(const void *a, const void *b)
{
    const double *one = a, *other = b;
    double difference = *one - *other;
    return (difference > 0) - (difference < 0);
}

__attribute__((noinline)) static double draw(int round, const char *title)
{
    struct triangle t = {
        { { round, 1 }, { round % 5, 2.5 }, { -3, round % 11 } },
        { (uint8_t)round, 128, 255, round & 1, round % 50 - 25 },
        title,
    };
    double areas[5];
    int counts[2][3] = { { round, 2, 3 }, { 4, 5, round } };
    struct point centre = middle(&t, 1.0f / 3);
    enum side side = side_of(centre, t.corners[round % 3]);
    for (int i = 0; i < 5; i++) {
        t.corners[0].x += i;
        areas[i] = area(t);
    }
    qsort(areas, 5, sizeof(areas[0]), compare);
    int words = words_in(title, round, round % 9);
    uint64_t mixed = mix(areas[2], words);
    return areas[0] + side + (double)(mixed % 7) + counts[round & 1][words % 3];
}

int main(int count, char **words)
{
    double all = 0;
    for (int round = 0; round < 2000; round++)
        all += draw(round, count > 1 ? words[1] : "a drawing of three corners");
    printf("%g\n", all);
    return 0;
}
