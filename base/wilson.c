// SPDX-License-Identifier: Apache-2.0
#include "base/wilson.h"

// wilson_root is the square root, by Newton's method, for values from 0 to 1: a library
// for it would be loaded at the start of each command.
static double wilson_root(double value)
{
    double root = 1;
    for (int i = 0; i < 64 && value > 0; i++)
        root = (root + value / root) / 2;
    return value > 0 ? root : 0;
}

void wilson_interval(double hits, double count, double *out_low, double *out_high)
{
    const double z = 1.959964;
    double share = hits / count;
    double middle = share + z * z / (2 * count);
    double spread =
        z * wilson_root(share * (1 - share) / count + z * z / (4 * count * count));
    double all = 1 + z * z / count;
    *out_low = middle > spread && hits > 0 ? (middle - spread) / all : 0;
    *out_high = middle + spread < all ? (middle + spread) / all : 1;
}
