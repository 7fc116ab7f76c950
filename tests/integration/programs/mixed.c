// SPDX-License-Identifier: Apache-2.0
//
// A library that the program Mixed of Java calls, and that crashes.
static int *volatile nowhere;

void Java_Mixed_crash(void *environment, void *class_of);

static void __attribute__((noinline)) mixed_bug(void)
{
    *nowhere = 1; // crashes here
    __asm__ volatile("");
}

void Java_Mixed_crash(void *environment, void *class_of)
{
    (void)environment;
    (void)class_of;
    mixed_bug();
    __asm__ volatile("");
}
