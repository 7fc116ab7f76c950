// SPDX-License-Identifier: Apache-2.0
// Crashes in crash_confined; what it may do is the matter of an AppArmor profile.
__attribute__((noinline)) static void crash_confined(volatile int *where)
{
    *where = 1;
}

int main(void)
{
    crash_confined((volatile int *)8);
    return 0;
}
