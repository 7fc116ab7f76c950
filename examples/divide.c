// SPDX-License-Identifier: Apache-2.0
//
// divide: the average time of a request, on the first day without any.
#include <stdio.h>
#include <stdlib.h>

struct day {
    long total_ms;
    long requests;
};

__attribute__((noinline)) static long average_ms(const struct day *day)
{
    return day->total_ms / day->requests; // crashes here
}

int main(int argc, char **argv)
{
    struct day today = { 5300, argc > 1 ? strtol(argv[1], NULL, 10) : 0 };

    printf("%ld ms a request\n", average_ms(&today));
    return 0;
}
