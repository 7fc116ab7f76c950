// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_rest.h"

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"

enum { SHORT_MS = 5, BUSY_MS = 2000, TIMES = 9, LONG_MS = 5000 };

bool store_is_busy(const struct store *store)
{
    return timestamp_now() - store->stored_ms < BUSY_MS;
}

int store_rest_ms(struct store *store, int64_t took_ms)
{
    int64_t rest_ms = TIMES * took_ms;
    // Other collectors may store reports in the same PostgreSQL.
    bool busy = store->writer->dialect == SQL_POSTGRES || store_is_busy(store);
    if (!busy || rest_ms < SHORT_MS)
        return SHORT_MS;
    return rest_ms < LONG_MS ? (int)rest_ms : LONG_MS;
}
