// SPDX-License-Identifier: Apache-2.0
//
// A library that the program Mixed of Java calls, and that crashes. If MIXED_VERSION is
// set, it first makes it the version in the virtual machine's description of itself.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// An entry of that description.
struct member {
    const char *type;
    const char *field;
    const char *declared;
    int is_static;
    unsigned long offset;
    int *address;
};

static int *volatile nowhere;

void Java_Mixed_crash(void *environment, void *class_of);

static void __attribute__((noinline)) mixed_bug(void)
{
    *nowhere = 1; // crashes here
    __asm__ volatile("");
}

static void set_version(int version)
{
    struct member **members = dlsym(RTLD_DEFAULT, "gHotSpotVMStructs");
    for (struct member *one = *members; one->type != NULL; one++)
        if (strcmp(one->field, "_vm_major_version") == 0)
            *one->address = version;
}

void Java_Mixed_crash(void *environment, void *class_of)
{
    const char *version = getenv("MIXED_VERSION");
    (void)environment;
    (void)class_of;
    if (version != NULL)
        set_version((int)strtol(version, NULL, 10));
    mixed_bug();
    __asm__ volatile("");
}
