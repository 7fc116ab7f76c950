// SPDX-License-Identifier: Apache-2.0
#include <locale.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/utf8.h"
#include "collector/database/sql.h"
#include "collector/database/sqlite_log.h"
#include "collector/database/timestamp.h"
#include "report/file/digest.h"

// contains(SEARCHED, TEXT...) of SQLite: whether the texts, joined by line ends,
// contain the first one, in either case of the letters of every language, as the index
// of words and PostgreSQL know them. SQLite's lower() knows those of ASCII, and a copy
// of all texts in lower case takes five times as long.
//
// text_hash(TEXT) is a number of 64 bits, the same in every release: rows have it.

enum { ASCII_END = 0x80, FEW_BYTES = 4096 };

// lower_text writes size bytes of text to out, which holds twice as many: the lower
// case of a character may take a byte more than it.
static size_t lower_text(const unsigned char *text, size_t size, locale_t locale,
                         char *out)
{
    size_t written = 0;
    for (size_t at = 0; at < size;) {
        uint32_t character = text[at];
        size_t length = 1;
        if (character >= ASCII_END)
            length = utf8_decode(text + at, size - at, &character);
        if (length > 1 && locale != NULL)
            character = towlower_l(character, locale);
        if (length > 1)
            written += utf8_encode(character, out + written);
        else
            out[written++] =
                (char)(text[at] + (text[at] >= 'A' && text[at] <= 'Z' ? 'a' - 'A' : 0));
        at += length != 0 ? length : 1;
    }
    return written;
}

// sqlite_contains reports whether the texts after the first one, with a line end
// between each, contain the first, in either case.
static void sqlite_contains(sqlite3_context *context, int count, sqlite3_value **values)
{
    locale_t locale = sqlite3_user_data(context);
    char few[FEW_BYTES];
    size_t most = UTF8_MAX_BYTES;
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_text(values[i]) == NULL)
            return; // as of NULL, it is not known
        most += 2 * (size_t)sqlite3_value_bytes(values[i]) + 1;
    }
    char *room = most <= sizeof(few) ? few : sqlite3_malloc64(most);
    if (room == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    size_t end = 0;
    size_t searched = 0;
    for (int i = 0; i < count; i++) {
        if (i > 1)
            room[end++] = '\n';
        end += lower_text(sqlite3_value_text(values[i]),
                          (size_t)sqlite3_value_bytes(values[i]), locale, room + end);
        searched = i == 0 ? end : searched;
    }
    sqlite3_result_int(context,
                       memmem(room + searched, end - searched, room, searched) != NULL);
    if (room != few)
        sqlite3_free(room);
}

// is_like returns true if a text is a pattern, in which `%` stands for any text, `_`
// for a byte, and escape makes the next byte one as it is.
static bool is_like(const char *pattern, const char *pattern_end, const char *text,
                    const char *text_end, char escape)
{
    const char *resume = NULL; // after the last `%`
    const char *from = NULL;   // what that stands for ends here
    while (text < text_end || pattern < pattern_end) {
        bool any = pattern < pattern_end && *pattern == '%';
        bool escaped = pattern + 1 < pattern_end && *pattern == escape && escape != 0;
        if (any) {
            resume = ++pattern;
            from = text;
        } else if (pattern < pattern_end && text < text_end &&
                   (pattern[escaped] == *text || *pattern == '_')) {
            pattern += 1 + escaped;
            text++;
        } else if (resume != NULL && from < text_end) {
            pattern = resume;
            text = ++from;
        } else {
            return false;
        }
    }
    return true;
}

// sqlite_like is LIKE in the lower case of all languages.
static void sqlite_like(sqlite3_context *context, int count, sqlite3_value **values)
{
    locale_t locale = sqlite3_user_data(context);
    char few[FEW_BYTES];
    const unsigned char *escape =
        count > 2 ? sqlite3_value_text(values[2]) : (const unsigned char *)"";
    if (sqlite3_value_text(values[0]) == NULL ||
        sqlite3_value_text(values[1]) == NULL || escape == NULL)
        return;
    size_t sizes[] = { (size_t)sqlite3_value_bytes(values[0]),
                       (size_t)sqlite3_value_bytes(values[1]) };
    size_t most = 2 * (sizes[0] + sizes[1]) + UTF8_MAX_BYTES;
    char *room = most <= sizeof(few) ? few : sqlite3_malloc64(most);
    if (room == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    char *text =
        room + lower_text(sqlite3_value_text(values[0]), sizes[0], locale, room);
    size_t size = lower_text(sqlite3_value_text(values[1]), sizes[1], locale, text);
    sqlite3_result_int(context,
                       is_like(room, text, text, text + size, (char)escape[0]));
    if (room != few)
        sqlite3_free(room);
}

// sqlite_text_hash is the first 64 bits of the SHA-256 of a text.
static void sqlite_text_hash(sqlite3_context *context, int count,
                             sqlite3_value **values)
{
    char digits[SHA256_HEX_SIZE];
    const void *text = sqlite3_value_text(values[0]);
    (void)count;
    if (text == NULL)
        return;
    sha256_hex(text, (size_t)sqlite3_value_bytes(values[0]), digits);
    digits[16] = 0;
    sqlite3_result_int64(context, (sqlite3_int64)strtoull(digits, NULL, 16));
}

static void free_contains_locale(void *locale)
{
    if (locale != NULL)
        freelocale(locale);
}

// sqlite_contains_add gives a connection both functions; SQLite's result.
static int sqlite_contains_add(sqlite3 *db)
{
    // Without it, letters of ASCII alone have two cases.
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    int result = sqlite3_create_function_v2(
        db, "text_hash", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
        sqlite_text_hash, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        free_contains_locale(locale);
        return result;
    }
    result = sqlite3_create_function_v2(
        db, "like", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, locale,
        sqlite_like, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        free_contains_locale(locale);
        return result;
    }
    return sqlite3_create_function_v2(
        db, "contains", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, locale, sqlite_contains,
        NULL, NULL, free_contains_locale);
}

enum {
    BUSY_TIMEOUT_MS = 10000,
    STEPS_A_LOOK = 20000, // of SQLite's virtual machine between two looks at the clock
};

struct sqlite {
    struct sql sql;
    sqlite3 *db;
    struct sqlite_log *log; // NULL: it only reads
    sqlite3_stmt *prepared[SQL_STATEMENTS];
    int64_t until_ms; // when a query is aborted; 0: never
};

// The triggers that maintain the search index are why a writer must trust the schema. A
// container may have no folder for the temporary files of a step to a newer layout.
static const char writing_pragmas[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
    "PRAGMA journal_size_limit = 134217728;" // of a log that a long reader made longer
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -32768; PRAGMA trusted_schema = 1";
static const char reading_pragmas[] =
    "PRAGMA query_only = 1; PRAGMA cache_size = -8192; PRAGMA trusted_schema = 0";

// fail_sqlite keeps the first failure, with SQLite's message for it.
static enum ch_status fail_sqlite(struct sqlite *sqlite, int result)
{
    struct sql *sql = &sqlite->sql;
    if (sql->failed == CH_OK) {
        sql->failed = result == SQLITE_INTERRUPT ? CH_ERR_LIMIT : CH_ERR_IO;
        snprintf(sql->error, sizeof(sql->error), "%s",
                 sqlite->db != NULL ? sqlite3_errmsg(sqlite->db) : "out of memory");
    }
    return sql->failed;
}

static void bind_sqlite_value(sqlite3_stmt *statement, const struct sql_value *values,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sql_value *value = &values[i];
        int at = (int)i + 1;
        // SQLITE_STATIC: the values live until the statement was run.
        if (value->text != NULL)
            sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC);
        else if (value->bytes != NULL)
            sqlite3_bind_blob64(statement, at, value->bytes, value->size,
                                SQLITE_STATIC);
        else
            sqlite3_bind_int64(statement, at, value->number);
    }
}

// run_sqlite_statement steps through the rows of a bound statement.
static int run_sqlite_statement(struct sqlite *sqlite, sqlite3_stmt *statement,
                                sql_row_fn *visit, void *context)
{
    struct sql_columns columns = { .count = sqlite3_column_count(statement) };
    struct sql_row row = { .sql = &sqlite->sql,
                           .handle = statement,
                           .columns = &columns };
    int result = sqlite3_step(statement);
    for (; result == SQLITE_ROW; result = sqlite3_step(statement)) {
        if (visit != NULL)
            visit(context, &row);
    }
    sql_check_columns(&sqlite->sql, &columns);
    return columns.missing == NULL ? result : SQLITE_ERROR;
}

static void sqlite_queue(struct sql *sql, unsigned statement,
                         const struct sql_value *values, size_t count,
                         sql_row_fn *visit, void *context)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    sqlite3_stmt **prepared = &sqlite->prepared[statement];
    if (*prepared == NULL) {
        int result = sqlite3_prepare_v3(sqlite->db, sql->statements[statement].sqlite,
                                        -1, SQLITE_PREPARE_PERSISTENT, prepared, NULL);
        if (result != SQLITE_OK) {
            fail_sqlite(sqlite, result);
            return;
        }
    }
    bind_sqlite_value(*prepared, values, count);
    int result = run_sqlite_statement(sqlite, *prepared, visit, context);
    if (result != SQLITE_DONE)
        fail_sqlite(sqlite, result);
    sqlite3_reset(*prepared);
    sqlite3_clear_bindings(*prepared);
}

static enum ch_status sqlite_flush(struct sql *sql)
{
    return sql->failed;
}

static enum ch_status sqlite_query(struct sql *sql, const char *text,
                                   const struct sql_value *values, size_t count,
                                   sql_row_fn *visit, void *context)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(sqlite->db, text, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        bind_sqlite_value(statement, values, count);
        result = run_sqlite_statement(sqlite, statement, visit, context);
    }
    enum ch_status status = CH_OK;
    if (result != SQLITE_DONE) {
        status = fail_sqlite(sqlite, result);
        sql->failed = CH_OK; // the failure concerns only this query
    }
    sqlite3_finalize(statement);
    return status;
}

static enum ch_status sqlite_script(struct sql *sql, const char *text)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    int result = sqlite3_exec(sqlite->db, text, NULL, NULL, NULL);
    return result == SQLITE_OK ? CH_OK : fail_sqlite(sqlite, result);
}

static bool sqlite_rollback(struct sql *sql)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    if (!sqlite3_get_autocommit(sqlite->db))
        sqlite3_exec(sqlite->db, "ROLLBACK", NULL, NULL, NULL);
    sql->failed = CH_OK;
    return true;
}

static int statement_is_late(void *context)
{
    return timestamp_now() >= *(const int64_t *)context;
}

static void sqlite_limit_time(struct sql *sql, int64_t until_ms)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    sqlite->until_ms = until_ms;
    sqlite3_progress_handler(sqlite->db, until_ms != 0 ? STEPS_A_LOOK : 0,
                             until_ms != 0 ? statement_is_late : NULL,
                             &sqlite->until_ms);
}

static sqlite3_stmt *row_statement(const struct sql_row *row)
{
    return (sqlite3_stmt *)(uintptr_t)row->handle;
}

static const char *sqlite_column_name(const struct sql_row *row, int column)
{
    return sqlite3_column_name(row_statement(row), column);
}

static int64_t sqlite_row_number(const struct sql_row *row, int column)
{
    return sqlite3_column_int64(row_statement(row), column);
}

static const char *sqlite_row_text(const struct sql_row *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row_statement(row), column);
    return text != NULL ? (const char *)text : "";
}

static const void *sqlite_row_bytes(const struct sql_row *row, int column,
                                    size_t *out_size)
{
    const void *bytes = sqlite3_column_blob(row_statement(row), column);
    *out_size = (size_t)sqlite3_column_bytes(row_statement(row), column);
    return bytes;
}

static void sqlite_close(struct sql *sql)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    for (size_t i = 0; i < SQL_STATEMENTS; i++)
        sqlite3_finalize(sqlite->prepared[i]);
    sqlite_log_destroy(sqlite->log);
    sqlite3_close(sqlite->db);
    free(sqlite);
}

static const struct sql_driver driver = {
    .close = sqlite_close,
    .queue = sqlite_queue,
    .flush = sqlite_flush,
    .query = sqlite_query,
    .script = sqlite_script,
    .rollback = sqlite_rollback,
    .limit_time = sqlite_limit_time,
    .column_name = sqlite_column_name,
    .row_number = sqlite_row_number,
    .row_text = sqlite_row_text,
    .row_bytes = sqlite_row_bytes,
};

static int connect_to(struct sqlite *sqlite, const char *path,
                      const struct sql_options *options)
{
    bool reading = options->reading;
    int flags =
        reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int result = sqlite3_open_v2(path, &sqlite->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return result;
    sqlite3_busy_timeout(sqlite->db, BUSY_TIMEOUT_MS);
    sqlite3_extended_result_codes(sqlite->db, 1);
    result = sqlite_contains_add(sqlite->db);
    if (result == SQLITE_OK)
        result = sqlite3_exec(sqlite->db, reading ? reading_pragmas : writing_pragmas,
                              NULL, NULL, NULL);
    int pages = options->log_pages != 0 ? options->log_pages : SQLITE_LOG_PAGES;
    if (result == SQLITE_OK && !reading &&
        sqlite_log_create(sqlite->db, path, pages, &sqlite->log) != CH_OK) {
        sqlite->sql.failed = CH_ERR_IO;
        snprintf(sqlite->sql.error, SQL_ERROR_SIZE, "its log cannot be watched");
        result = SQLITE_ERROR;
    }
    return result;
}

struct sqlite_log *sql_sqlite_log(struct sql *sql, const char **path)
{
    struct sqlite *sqlite = (struct sqlite *)sql;
    *path = sqlite3_db_filename(sqlite->db, "main");
    return sqlite->log;
}

enum ch_status sql_sqlite_open(const struct sql_options *options, const char *name,
                               char error[SQL_ERROR_SIZE], struct sql **out)
{
    struct sqlite *sqlite = calloc(1, sizeof(*sqlite));
    if (sqlite == NULL) {
        snprintf(error, SQL_ERROR_SIZE, "out of memory");
        return CH_ERR_NO_MEMORY;
    }
    sqlite->sql = (struct sql){ .driver = &driver,
                                .dialect = SQL_SQLITE,
                                .statements = options->statements };
    int result = connect_to(sqlite, name, options);
    if (result != SQLITE_OK) {
        fail_sqlite(sqlite, result);
        snprintf(error, SQL_ERROR_SIZE, "%s", sqlite->sql.error);
        sqlite_close(&sqlite->sql);
        return CH_ERR_IO;
    }
    *out = &sqlite->sql;
    return CH_OK;
}
