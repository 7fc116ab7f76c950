// SPDX-License-Identifier: Apache-2.0
//
// removes_itself: a program whose file is deleted while it runs, as an upgrade does,
// and that crashes then.
#include <unistd.h>

static void use_old_version(volatile int *version)
{
    *version = 1; // crashes here
}

int main(int argc, char **argv)
{
    (void)argc;
    if (unlink(argv[0]) != 0)
        return 2;
    use_old_version(NULL);
    return 0;
}
