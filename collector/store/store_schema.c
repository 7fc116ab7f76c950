// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_schema.h"

#include <stdio.h>

#define TEXT_OF(number) #number
#define DIGITS(number) TEXT_OF(number)

// words are the statements of a dialect that keep two programs from upgrading at the
// same time, and that read and write the number of the layout and of the oldest one
// whose programs can use it.
static const struct {
    const char *begin;
    const char *read;
    const char *oldest;
    const char *write;
} words[] = {
    [SQL_SQLITE] = { .begin = "BEGIN IMMEDIATE",
                     .read = "PRAGMA user_version",
                     .oldest = "PRAGMA user_version", // one file, one collector
                     .write = "PRAGMA user_version = " DIGITS(
                         STORE_SCHEMA_VERSION) "; COMMIT" },
    [SQL_POSTGRES] = { .begin = "BEGIN; SELECT pg_advisory_xact_lock(7157312091);"
                                "CREATE TABLE IF NOT EXISTS"
                                " crashhook_layout(version bigint NOT NULL,"
                                " oldest bigint NOT NULL DEFAULT 0)",
                       .read = "SELECT max(version) FROM crashhook_layout",
                       .oldest = "SELECT max(oldest) FROM crashhook_layout",
                       .write = "DELETE FROM crashhook_layout;"
                                "INSERT INTO crashhook_layout(version, oldest)"
                                " VALUES (" DIGITS(STORE_SCHEMA_VERSION) ", " DIGITS(
                                    STORE_SCHEMA_OLDEST) "); COMMIT" },
};

// read_layout finds the number of the layout, and refuses one that this program cannot
// use: CH_ERR_UNSUPPORTED.
static enum ch_status read_layout(struct sql *sql, int64_t *found,
                                  char error[SQL_ERROR_SIZE])
{
    int64_t oldest = 0;
    enum ch_status status =
        sql_query(sql, words[sql->dialect].read, NULL, 0, sql_take_number, found);
    if (status == CH_OK && *found != 0 && *found != STORE_SCHEMA_UPGRADED &&
        *found < STORE_SCHEMA_VERSION) {
        snprintf(error, SQL_ERROR_SIZE,
                 "the database has layout %lld, this program upgrades layout %d alone",
                 (long long)*found, STORE_SCHEMA_UPGRADED);
        return CH_ERR_UNSUPPORTED;
    }
    if (status != CH_OK || *found <= STORE_SCHEMA_VERSION)
        return status;
    status =
        sql_query(sql, words[sql->dialect].oldest, NULL, 0, sql_take_number, &oldest);
    if (status != CH_OK || oldest <= STORE_SCHEMA_VERSION)
        return status;
    snprintf(error, SQL_ERROR_SIZE,
             "the database has layout %lld, this program knows %d", (long long)*found,
             STORE_SCHEMA_VERSION);
    return CH_ERR_UNSUPPORTED;
}

// bring_forward makes the tables or upgrades them. It ends the transaction.
static enum ch_status bring_forward(struct sql *sql, int64_t found)
{
    if (found > STORE_SCHEMA_VERSION)
        return sql_script(sql, "COMMIT");
    enum ch_status status = CH_OK;
    if (found == 0)
        status = sql_script(sql, store_schema_new[sql->dialect]);
    else if (found == STORE_SCHEMA_UPGRADED)
        status = sql_script(sql, store_schema_upgrade[sql->dialect]);
    return status == CH_OK ? sql_script(sql, words[sql->dialect].write) : status;
}

enum ch_status store_schema_open(struct sql *sql, char error[SQL_ERROR_SIZE])
{
    int64_t found = 0;
    enum ch_status status = sql_script(sql, words[sql->dialect].begin);
    if (status == CH_OK)
        status = read_layout(sql, &found, error);
    if (status == CH_OK)
        status = bring_forward(sql, found);
    if (status != CH_OK && status != CH_ERR_UNSUPPORTED)
        snprintf(error, SQL_ERROR_SIZE, "%s", sql->error);
    if (status != CH_OK)
        sql_rollback(sql);
    return status == CH_ERR_UNSUPPORTED ? CH_ERR_IO : status;
}

enum ch_status store_schema_check(struct sql *sql, char error[SQL_ERROR_SIZE])
{
    int64_t found = 0;
    enum ch_status status = read_layout(sql, &found, error);
    if (status == CH_OK && found < STORE_SCHEMA_VERSION) {
        snprintf(error, SQL_ERROR_SIZE,
                 "the database has layout %lld, which a collector that writes has to"
                 " upgrade to %d",
                 (long long)found, STORE_SCHEMA_VERSION);
        return CH_ERR_IO;
    }
    if (status != CH_OK && status != CH_ERR_UNSUPPORTED)
        snprintf(error, SQL_ERROR_SIZE, "%s", sql->error);
    return status == CH_ERR_UNSUPPORTED ? CH_ERR_IO : status;
}
