// SPDX-License-Identifier: Apache-2.0
//
// Stacks of a given depth: of one recursive function, or of eight functions in turn,
// whose frames have different sizes and saved registers.
#pragma once

// deep_at_bottom_fn is called at the bottom.
typedef void deep_at_bottom_fn(void);
typedef long deep_call_fn(long depth, deep_at_bottom_fn *at_bottom);

static deep_call_fn *volatile deep_next[8];

// deep_descend calls itself depth times and then at_bottom. Using the result prevents
// tail calls, which would drop frames.
__attribute__((noinline)) static long deep_descend(long depth,
                                                   deep_at_bottom_fn *at_bottom)
{
    if (depth <= 1) {
        at_bottom();
        return 0;
    }
    return deep_descend(depth - 1, at_bottom) + 1;
}

#define DEEP_FUNCTION(name, index, words)                                              \
    __attribute__((noinline)) static long name(long depth,                             \
                                               deep_at_bottom_fn *at_bottom)           \
    {                                                                                  \
        volatile long kept[words];                                                     \
        kept[0] = depth;                                                               \
        long below = deep_next[((index) + 1) % 8](depth - 1, at_bottom);               \
        return below * kept[0] + depth + (long)deep_next[depth & 7];                   \
    }
DEEP_FUNCTION(one, 0, 1)
DEEP_FUNCTION(two, 1, 3)
DEEP_FUNCTION(three, 2, 9)
DEEP_FUNCTION(four, 3, 2)
DEEP_FUNCTION(five, 4, 17)
DEEP_FUNCTION(six, 5, 5)
DEEP_FUNCTION(seven, 6, 40)

static long eight(long depth, deep_at_bottom_fn *at_bottom)
{
    return depth <= 0 ? deep_descend(1, at_bottom) : one(depth, at_bottom) + 1;
}

// deep_calls_init is called before threads are started.
static void deep_calls_init(void)
{
    static deep_call_fn *const functions[] = { one,  two, three, four,
                                               five, six, seven, eight };
    for (int i = 0; i < 8; i++)
        deep_next[i] = functions[i];
}

// deep_calls goes depth calls down; -N: through the eight functions.
static long deep_calls(long depth, deep_at_bottom_fn *at_bottom)
{
    return depth < 0 ? eight(-depth - 2, at_bottom) : deep_descend(depth, at_bottom);
}
