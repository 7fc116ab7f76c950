// SPDX-License-Identifier: Apache-2.0
//
// A sort whose fifth comparison waits, under a signal handler: recorded by
// `crashhook record` from Debian's trixie and sid, in which it was compiled with
// -O2 -Wa,--gsframe.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int compare(const void *a, const void *b)
{
    static int calls;
    if (++calls == 5)
        pause();
    return *(const int *)a - *(const int *)b;
}
static void on_signal(int number)
{
    int values[] = { 5, 3, 1, 4, 2, number };
    qsort(values, 6, sizeof(int), compare);
    printf("%d\n", values[0]);
}
int main(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    return 0;
}
