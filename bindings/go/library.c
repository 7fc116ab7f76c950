// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// struct crashhook_options begins with its size; the first version has nine members.
enum { FIRST_MEMBERS = 9, MEMBERS_MAX = 64 };

struct options {
    size_t size;
    const char *members[MEMBERS_MAX];
};

typedef int install_fn(const void *options);
typedef int set_fn(const char *name, const char *value);
typedef void breadcrumb_fn(const char *message);
typedef int attach_fn(const char *path, size_t tail_bytes);
typedef int report_fn(const char *why);

static install_fn *install;
static set_fn *set_tag;
static set_fn *set_data;
static breadcrumb_fn *breadcrumb;
static attach_fn *attach_file;
static report_fn *report_now;

#ifndef CRASHHOOK_LOAD
install_fn crashhook_install;
set_fn crashhook_set_tag;
set_fn crashhook_set_data;
breadcrumb_fn crashhook_breadcrumb;
attach_fn crashhook_attach_file;
report_fn crashhook_report_now;

static void find_functions(void)
{
    set_tag = crashhook_set_tag;
    set_data = crashhook_set_data;
    breadcrumb = crashhook_breadcrumb;
    attach_file = crashhook_attach_file;
    report_now = crashhook_report_now;
    install = crashhook_install;
}
#else
static void find_functions(void)
{
    const char *path = getenv("LIBCRASHHOOK");
    void *library = dlopen(path != NULL ? path : "libcrashhook.so.1", RTLD_NOW);
    if (library == NULL)
        return;
    set_tag = (set_fn *)(uintptr_t)dlsym(library, "crashhook_set_tag");
    set_data = (set_fn *)(uintptr_t)dlsym(library, "crashhook_set_data");
    breadcrumb = (breadcrumb_fn *)(uintptr_t)dlsym(library, "crashhook_breadcrumb");
    attach_file = (attach_fn *)(uintptr_t)dlsym(library, "crashhook_attach_file");
    report_now = (report_fn *)(uintptr_t)dlsym(library, "crashhook_report_now");
    install = (install_fn *)(uintptr_t)dlsym(library, "crashhook_install");
}
#endif

int library_load(void)
{
    if (install == NULL)
        find_functions();
    return install != NULL;
}

int library_install(char **members, int count)
{
    struct options options = { .size =
                                   sizeof(size_t) + (size_t)count * sizeof(char *) };
    if (install == NULL || count > MEMBERS_MAX)
        return EINVAL;
    memcpy(options.members, members, (size_t)count * sizeof(char *));
    int error = install(&options);
    if (error != EINVAL)
        return error;
    options.size = sizeof(size_t) + FIRST_MEMBERS * sizeof(char *);
    return install(&options);
}

int library_set_tag(const char *name, const char *value)
{
    return set_tag != NULL ? set_tag(name, value) : ECANCELED;
}

int library_set_data(const char *name, const char *value)
{
    return set_data != NULL ? set_data(name, value) : ECANCELED;
}

void library_breadcrumb(const char *message)
{
    if (breadcrumb != NULL)
        breadcrumb(message);
}

int library_attach_file(const char *path, size_t tail_bytes)
{
    return attach_file != NULL ? attach_file(path, tail_bytes) : ECANCELED;
}

int library_report_now(const char *why)
{
    return report_now != NULL ? report_now(why) : ECANCELED;
}
