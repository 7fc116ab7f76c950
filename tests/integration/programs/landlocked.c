// SPDX-License-Identifier: Apache-2.0
//
// landlocked: a program that may write and execute nothing any more (Landlock), and
// crashes. It exits with 77 where the kernel knows no Landlock.
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void parse_input(volatile int *input)
{
    *input = 1; // crashes here
}

static int confine(void)
{
    const struct landlock_ruleset_attr rules = { .handled_access_fs =
                                                     LANDLOCK_ACCESS_FS_EXECUTE |
                                                     LANDLOCK_ACCESS_FS_WRITE_FILE |
                                                     LANDLOCK_ACCESS_FS_MAKE_REG |
                                                     LANDLOCK_ACCESS_FS_MAKE_DIR |
                                                     LANDLOCK_ACCESS_FS_REMOVE_FILE };
    long fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    return fd >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}

int main(void)
{
    if (!confine())
        return 77;
    parse_input(NULL);
    return 0;
}
