// SPDX-License-Identifier: Apache-2.0
//
// gives_up_root USER [FOLDER]: a daemon that becomes another user after its start, as
// memcached -u and nginx's workers do, in another root where FOLDER is given, and
// crashes.
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

static void serve_request(volatile int *request)
{
    *request = 1; // crashes here
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    unsigned user = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2 && (chroot(argv[2]) != 0 || chdir("/") != 0))
        return 2;
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)
        return 2;
    serve_request(NULL);
    return 0;
}
