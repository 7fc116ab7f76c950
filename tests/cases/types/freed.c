// SPDX-License-Identifier: Apache-2.0
//
// Aborts of glibc's free and realloc, by the name that is the first argument.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

struct user {
    int id;
    char *name;
};

static char constant[64];

FUNCTION static void of_twice(struct user *user)
{
    free(user->name);
    free(user->name);
    user->id = 2;
}

FUNCTION static void of_stack(struct user *user)
{
    char text[64];
    user->name = text + 16;
    free(user->name);
    user->id = 3;
}

FUNCTION static void of_image(struct user *user)
{
    user->name = constant + 32;
    free(user->name);
    user->id = 3;
}

FUNCTION static void of_inner(struct user *user)
{
    free(user->name + 8);
    user->id = 4;
}

FUNCTION static void of_overrun(struct user *user, const char *text)
{
    char *next = malloc(24);
    strcpy(user->name, text);
    free(next);
    user->id = 5;
}

FUNCTION static void of_moved(struct user *user)
{
    user->name = realloc(user->name + 4, 300);
    user->id = 6;
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "";
    struct user *user = malloc(sizeof(*user));
    user->name = malloc(24);
    if (strcmp(how, "twice") == 0)
        of_twice(user);
    if (strcmp(how, "stack") == 0)
        of_stack(user);
    if (strcmp(how, "image") == 0)
        of_image(user);
    if (strcmp(how, "inner") == 0)
        of_inner(user);
    if (strcmp(how, "overrun") == 0)
        of_overrun(user, "a name that is far too long for this, and longer");
    if (strcmp(how, "moved") == 0)
        of_moved(user);
    puts("end");
    return 0;
}
