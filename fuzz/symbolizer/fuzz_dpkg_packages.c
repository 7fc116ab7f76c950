// SPDX-License-Identifier: Apache-2.0
//
// The list of a package and, after a zero byte, what dpkg's database says of packages,
// searched for the package of two files.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "symbolizer/files/dpkg_packages.h"

static char root[] = "/tmp/crashhook-fuzz.XXXXXX";

static const char *path_below_root(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static void remove_root(void)
{
    static const char *const names[] = {
        "var/lib/dpkg/info/shop.list",
        "var/lib/dpkg/status",
        "var/lib/dpkg/info",
        "var/lib/dpkg",
        "var/lib",
        "var",
        "",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)remove(path_below_root(names[i]));
}

static int make_root(void)
{
    static const char *const names[] = { "var", "var/lib", "var/lib/dpkg",
                                         "var/lib/dpkg/info" };
    if (mkdtemp(root) == NULL || atexit(remove_root) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mkdir(path_below_root(names[i]), 0700) != 0)
            return -1;
    return 0;
}

static void write_file(const char *name, const uint8_t *bytes, size_t size)
{
    int fd = open(path_below_root(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
        (void)!write(fd, bytes, size);
        close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool is_made;
    struct dpkg_file files[] = { { "/usr/bin/shop", NULL }, { "/opt/shop", NULL } };
    const uint8_t *end = size != 0 ? memchr(bytes, 0, size) : NULL;
    size_t list = end != NULL ? (size_t)(end - bytes) : size;
    if (!is_made && make_root() != 0)
        return 0;
    is_made = true;
    write_file("var/lib/dpkg/info/shop.list", bytes, list);
    write_file("var/lib/dpkg/status", bytes + list, size - list);
    dpkg_packages_find(root, NULL, files, 2);
    for (size_t i = 0; i < 2; i++)
        json_decref(files[i].package);
    return 0;
}
