// SPDX-License-Identifier: Apache-2.0
//
// With two_units_b.c a program whose units mean different things by one name.
struct ambiguous {
    int from_a;
    const char *text;
};

struct ambiguous in_a;
int same_in_both(struct ambiguous *it);

__attribute__((noinline)) static int named_twice(int number)
{
    return number + 1;
}

int from_a(struct ambiguous *it);
int from_a(struct ambiguous *it)
{
    return named_twice(it->from_a);
}

int main(void)
{
    return from_a(&in_a) + same_in_both(&in_a);
}
