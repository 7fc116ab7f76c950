// SPDX-License-Identifier: Apache-2.0
#include "upload/queue_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/spool/spool_state.h"

// has_failed is true if a target was sent the report before and did not take it.
static bool has_failed(const struct spool *spool, const char *id)
{
    struct spool_state state;
    bool failed = false;
    if (spool_state_read(spool, id, &state) != CH_OK)
        return false;
    for (size_t i = 0; i < state.count && !failed; i++)
        failed = state.targets[i].state == TARGET_PENDING && state.targets[i].attempts;
    spool_state_deinit(&state);
    return failed;
}

enum ch_status queue_order_apply(const struct spool *spool,
                                 struct spool_listing *listing)
{
    struct spool_entry *failed = calloc(listing->count + 1, sizeof(*failed));
    size_t failed_count = 0;
    size_t kept = 0;
    if (failed == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < listing->count; i++) {
        if (has_failed(spool, listing->entries[i].id))
            failed[failed_count++] = listing->entries[i];
        else
            listing->entries[kept++] = listing->entries[i];
    }
    if (failed_count != 0)
        memcpy(&listing->entries[kept], failed, failed_count * sizeof(*failed));
    free(failed);
    return CH_OK;
}
