// SPDX-License-Identifier: Apache-2.0
//
// When sums that take long are summed again.
//
// Whoever asks is answered by what is kept. A thread sums it again before it is too
// old: every ten seconds while somebody asks, else once a minute. Users: the groups
// that rise (store_query_look.c), sums over all groups (sums.c).
#pragma once
#include <stdbool.h>
#include <stdint.h>

// kept is the age of what is kept; all zeros is nothing.
struct kept {
    bool there;
    bool asked;      // since it was summed
    int64_t made_ms; // when it was summed last, or that was not worth keeping
    int64_t asked_ms;
};

// kept_take says whether it may be shown.
bool kept_take(struct kept *kept, int64_t now_ms);

// kept_is_due says whether it is to be summed again; always: even if nobody asked for
// an hour.
bool kept_is_due(const struct kept *kept, bool always, int64_t now_ms);

// kept_renew says that it was summed, and is there or not.
void kept_renew(struct kept *kept, bool there, int64_t now_ms);
