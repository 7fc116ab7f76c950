// SPDX-License-Identifier: Apache-2.0
//
// C types of every kind that compilers describe, for comparing what is read from CTF
// and from DWARF with other tools.
#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum color { RED, GREEN = 7, BLUE = -3 };
enum __attribute__((packed)) small { SMALL_A, SMALL_B };
typedef enum { NAMELESS_X = 1, NAMELESS_Y = 0x7fffffff } nameless_enum;

struct opaque;
union words {
    uint64_t whole;
    uint8_t bytes[8];
    struct {
        uint16_t low, high;
    };
};

typedef int (*comparison)(const void *, const void *);
typedef struct {
    short x, y;
} point;

struct bits {
    unsigned a : 3;
    unsigned b : 13;
    int c : 5;
    unsigned long long d : 40;
    unsigned : 0;
    bool e : 1;
    enum color f : 5;
};

struct __attribute__((packed)) tight {
    char c;
    int i;
    double d;
};

struct every {
    enum color color;
    enum small small;
    nameless_enum nameless;
    union words words;
    struct bits bits;
    point points[2][3];
    struct {
        int inner;
        union {
            float f;
            struct {
                char deep, deeper[3];
            };
        };
    };
    struct {
        struct tight tight;
        volatile int changing;
    } named;
    comparison compare;
    void (*handlers[4])(struct every *, int);
    int (*(*factory)(int))(char);
    const char *const *restrict names;
    char *(*grid)[5];
    struct every *next;
    struct opaque *opaque;
    const volatile void *nothing;
    long double wide;
    double complex z;
    float complex zf;
    _Bool yes;
    __int128 huge;
    int vector __attribute__((vector_size(16)));
    va_list arguments;
    wchar_t wide_character;
    int flexible[];
};

int counter;
static struct every *head;
const point origin = { 1, 2 };

int variadic(const char *format, ...);
int variadic(const char *format, ...)
{
    return *format;
}

comparison choose(int which, double weight, struct tight by_value, point pair);
comparison choose(int which, double weight, struct tight by_value, point pair)
{
    (void)weight;
    return which > by_value.i + pair.x ? NULL : (comparison)(void *)head;
}

__attribute__((noinline)) static long hidden(struct bits *bits, unsigned char c)
{
    return bits->a + c;
}

int main(int argc, char **argv)
{
    struct bits bits = { .a = 3 };
    head = (void *)argv;
    return (int)hidden(&bits, (unsigned char)argc) + variadic("x") + counter;
}
