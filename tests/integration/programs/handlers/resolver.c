// SPDX-License-Identifier: Apache-2.0
//
// A program that crashes while the loader relocates it: no constructor has run.
static volatile int *volatile nowhere;

static int answer_zero(void)
{
    return 0;
}

static int (*resolve_answer(void))(void)
{
    *nowhere = 1;
    return answer_zero;
}

int answer(void) __attribute__((ifunc("resolve_answer")));

int main(void)
{
    return answer();
}
