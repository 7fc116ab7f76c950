// SPDX-License-Identifier: Apache-2.0
//
// SQLite for the stepping harness, as a library that was built with SFrame.
#include "stepping.h"

struct sqlite3;
int sqlite3_open(const char *name, struct sqlite3 **out);
int sqlite3_exec(struct sqlite3 *database, const char *text,
                 int (*row)(void *, int, char **, char **), void *context,
                 char **error);

static volatile int rows;

static int count_row(void *context, int count, char **values, char **names)
{
    (void)context;
    (void)values;
    (void)names;
    rows += count;
    return 0;
}

int main(void)
{
    struct sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != 0)
        return 2;
    sqlite3_exec(database,
                 "CREATE TABLE t(a, b); INSERT INTO t VALUES(3, 'x'), (1, 'y')", 0, 0,
                 0);
    stepping_begin();
    sqlite3_exec(database, "SELECT count(*), max(b) FROM t WHERE a < 3 GROUP BY b",
                 count_row, 0, 0);
    stepping_end();
    return rows == 0;
}
