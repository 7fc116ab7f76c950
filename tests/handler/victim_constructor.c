// SPDX-License-Identifier: Apache-2.0
//
// A library whose constructor crashes, before anything of the program itself runs.
__attribute__((constructor)) static void crash(void)
{
    *(volatile int *)0 = 1;
}
