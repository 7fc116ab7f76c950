// SPDX-License-Identifier: Apache-2.0
//
// A program that watches objects of every kind and then crashes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crashhook/crashhook.h"

enum mood { GLAD = 1, SAD = -2 };
typedef uint32_t user_id;
typedef struct {
    short x, y;
} point;

struct node {
    int number;
    struct node *next;
};

struct session {
    user_id uid;
    enum mood mood;
    const char *name;
    char tag[8];
    uint8_t raw[4];
    union {
        uint32_t v4;
        float ratio;
    };
    struct {
        int deep;
    } named;
    unsigned f1 : 3, f2 : 7;
    int f3 : 4;
    _Bool up;
    double score;
    float single;
    long double wide;
    unsigned long long big;
    signed char small;
    point points[2][3];
    int numbers[100];
    struct node *list;
    struct node *none;
    struct node *dangling;
    struct node *unmapped;
    void *nothing;
    void (*callback)(int);
    struct session *self;
    const char *password;
    const char *home;
    const char *bad_text;
};

static struct session session;
static int counter = 41;
enum { NODES = 10000 };

static void callback(int number)
{
    counter += number;
}

static struct node *make_ring(void)
{
    struct node *first = NULL;
    struct node *last = NULL;
    for (int i = NODES; i > 0; i--) {
        struct node *node = malloc(sizeof(*node));
        node->number = i;
        node->next = first;
        first = node;
        last = last != NULL ? last : node;
    }
    last->next = first;
    return first;
}

static void fill(const char *home)
{
    session = (struct session){ .uid = 7,
                                .mood = SAD,
                                .name = "root",
                                .tag = "eight888",
                                .raw = { 1, 2, 3, 4 },
                                .v4 = 0x3f800000,
                                .named = { .deep = 5 },
                                .f1 = 5,
                                .f2 = 100,
                                .f3 = -3,
                                .up = 1,
                                .score = 1.5,
                                .single = -0.25f,
                                .wide = 2.75L,
                                .big = UINT64_MAX,
                                .small = -128,
                                .points = { { { 1, 2 }, { 3, 4 }, { 5, 6 } },
                                            { { 7, 8 }, { 9, 10 }, { 11, 12 } } },
                                .unmapped = (void *)(uintptr_t)0x12345678,
                                .nothing = &session,
                                .callback = callback,
                                .self = &session,
                                .password = "hunter2",
                                .home = home,
                                .bad_text = "caf\xe9\n" };
    for (int i = 0; i < 100; i++)
        session.numbers[i] = i;
    session.dangling = malloc(1 << 20); // a mapping of its own
    free(session.dangling);
    session.list = make_ring();
}

int main(int argc, char **argv)
{
    int local = 3;
    struct session *pointer = &session;
    (void)argc;
    fill(argv[0]);
    crashhook_watch("forgotten", &local, "int"); // in the first slot
    crashhook_watch("session", &session, "struct session");
    crashhook_watch("counter", &counter, "int");
    crashhook_watch("local", &local, "const int");
    crashhook_watch("pointer", &pointer, "struct session *");
    crashhook_watch("points", &session.points[0][0], "point");
    crashhook_watch("token", &counter, "int");
    crashhook_watch_object("stale", &session, "struct session", sizeof(session) - 8);
    crashhook_watch_object("no such", &session, "struct nobody", 4);
    crashhook_watch_object("gone", (void *)(uintptr_t)0x1000, "int", 4);
    crashhook_unwatch("forgotten");
    callback(1);
    abort();
}
