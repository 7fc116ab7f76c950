// SPDX-License-Identifier: Apache-2.0
//
// Work for SQLite, for check_arguments.py.
#include <sqlite3.h>
#include <stddef.h>

static int on_row(void *count, int columns, char **values, char **names)
{
    (void)columns;
    (void)values;
    (void)names;
    ++*(int *)count;
    return 0;
}

int main(void)
{
    sqlite3 *db;
    int rows = 0;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 1;
    for (int i = 0; i < 20; i++) {
        int status = sqlite3_exec(
            db,
            "create table if not exists t(a integer primary key, b text, c real);"
            "create index if not exists i on t(b, c);"
            "insert into t(b, c) values('one', 1.5), ('two', 2.5), (upper('three'), 3);"
            "select t.b, count(*), sum(u.c) from t join t as u on t.a = u.a + 1 "
            "where t.b like 't%' group by t.b having count(*) > 0 order by 2 desc, 1;"
            "update t set c = c * 2 where a % 3 = 1; delete from t where a % 7 = 0;",
            on_row, &rows, NULL);
        if (status != SQLITE_OK)
            return 1;
    }
    sqlite3_close(db);
    return rows > 0 ? 0 : 1;
}
