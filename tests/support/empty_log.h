// SPDX-License-Identifier: Apache-2.0
//
// Bringing all of a SQLite file's log into the file.
#pragma once
#include <unistd.h>

#include "collector/database/sql.h"

// empty_log waits for the thread that does it, too, which SQLite does not wait for. No
// transaction may be open.
static inline bool empty_log(struct sql *writer)
{
    enum { TRIES = 10000 };
    int64_t busy = 1;
    for (int i = 0; i < TRIES && busy != 0; i++) {
        if (sql_query(writer, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, 0,
                      sql_take_number, &busy) != CH_OK)
            return false;
        if (busy != 0)
            usleep(1000);
    }
    return busy == 0;
}
