// SPDX-License-Identifier: Apache-2.0
struct ambiguous {
    long from_b[3];
    double weight;
};

struct ambiguous in_b;

__attribute__((noinline)) static long named_twice(char *text, long number)
{
    return text[number];
}

int same_in_both(struct ambiguous *it);
int same_in_both(struct ambiguous *it)
{
    return (int)named_twice((char *)it, in_b.from_b[0]);
}
