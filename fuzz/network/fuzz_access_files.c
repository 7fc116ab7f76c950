// SPDX-License-Identifier: Apache-2.0
//
// The files that people write for a collector; the first byte chooses: tokens, web
// hooks, or mail.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/requests/receivers.h"
#include "collector/server/access.h"
#include "fuzz/fuzz.h"

static void read_tokens(const char *path)
{
    struct access access;
    struct access_grant grant;
    char why[ACCESS_WHY_SIZE];
    if (access_init(path, &access, why) == CH_OK) {
        (void)access_find_token(&access, "token", 5, &grant);
        (void)access_find_name(&access, "kim", &grant);
    }
    access_deinit(&access);
}

static void read_receivers(const char *hooks, const char *mail)
{
    struct receiver_list list;
    char why[ACCESS_WHY_SIZE];
    if (receiver_list_init(&list, hooks, mail, why, sizeof(why)) != CH_OK)
        return;
    struct text name = { 0 };
    struct receivers *receivers = receivers_take(&list);
    for (size_t i = 0; i < receivers->count; i++)
        receiver_write_name(&receivers->list[i], &name);
    receivers_release(&list, receivers);
    text_deinit(&name);
    receiver_list_deinit(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[40];
    int fd = size != 0 ? memfd_create("file", MFD_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    (void)fchmod(fd, 0600);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (write(fd, bytes + 1, size - 1) == (ssize_t)size - 1) {
        if (bytes[0] % 3 == 0)
            read_tokens(path);
        else
            read_receivers(bytes[0] % 3 == 1 ? path : NULL,
                           bytes[0] % 3 == 2 ? path : NULL);
    }
    close(fd);
    return 0;
}
