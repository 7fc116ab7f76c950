// SPDX-License-Identifier: Apache-2.0
//
// Global variables of every kind, used by a function that crashes. Argument 1 says what
// becomes of them before: "wild" makes pointers lead nowhere.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *path;
    int limit;
    double ratio;
};

int shared_count = 41;
char *password = (char *)"hunter2";
int not_used_by_serve = 5;
extern int of_other_unit;
extern int of_library;
int library_use(int *p);

static unsigned hits;
static struct config defaults = { "/etc/shop.conf", 7, 0.5 };
static struct config *current;
static __thread int depth = 3;
__thread const char *label;
static int table[300];
static char banner[64] = "welcome";
static const int constant[4] = { 1, 2, 3, 4 };
static volatile int printed;
static int *volatile nowhere;

__attribute__((noinline)) static int serve(int *p, int i)
{
    hits += 2;
    depth++;
    shared_count += constant[i & 3];
    defaults.limit += i;
    banner[0] = (char)(banner[0] - 32 * i);
    table[i] = of_other_unit;
    if (current != NULL && label != NULL && password[0] != 0)
        printed = fprintf(stderr, "%d %d\n", table[i + 1], of_library);
    int value = *p;
    return value + library_use(p);
}

int main(int argc, char **argv)
{
    static struct config made = { "/srv/shop", 9, 2.25 };
    int wild = argc > 1 && strcmp(argv[1], "wild") == 0;
    int library = argc > 1 && strcmp(argv[1], "library") == 0;
    label = "xyz";
    current = &made;
    if (wild) {
        memset(&defaults.path, 0x5a, sizeof(defaults.path));
        memset(&label, 0x5a, sizeof(label));
    }
    return (library ? library_use(NULL) : serve(nowhere, argc > 5 ? argc : 1)) +
           not_used_by_serve;
}
