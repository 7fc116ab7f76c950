// SPDX-License-Identifier: Apache-2.0
//
// Rows as visitors read them, from either database.
#include "collector/store_fixture.h"

// What the visitor of a row read.
struct row_read {
    int64_t first, second, absent;
    char text[8];
    size_t bytes, absent_bytes;
};

static int setup_name(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    void *folder = NULL;
    if (fixture == NULL || folder_setup(&folder) != 0)
        return -1;
    fixture->folder = folder;
    *state = fixture;
    return name_store(fixture) ? 0 : -1;
}

static struct sql *open_sql(const struct fixture *fixture,
                            const struct sql_statement *statements)
{
    struct sql_options options = { .name = fixture->name, .statements = statements };
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    if (sql_open(&options, error, &sql) != CH_OK)
        print_error("%s\n", error);
    return sql;
}

static const struct sql_statement statements[] = {
    { "SELECT CAST(1 AS bigint) AS one, CAST(2 AS bigint) AS two, 'three' AS three",
      NULL },
};

static void read_backwards(void *context, const struct sql_row *row)
{
    struct row_read *out = context;
    snprintf(out->text, sizeof(out->text), "%s", sql_column_text(row, "three"));
    (void)sql_column_bytes(row, "three", &out->bytes);
    out->second = sql_column_number(row, "two");
    out->first = sql_column_number(row, "one");
}

static void read_absent(void *context, const struct sql_row *row)
{
    struct row_read *out = context;
    out->absent_bytes = 1;
    (void)sql_column_bytes(row, "four", &out->absent_bytes);
    out->absent = sql_column_number(row, "four") + sql_column_text(row, "four")[0];
    out->second = sql_column_number(row, "two");
}

static void columns_are_read_by_name_in_any_order(void **state)
{
    struct row_read out = { 0 };
    struct sql *sql = open_sql(*state, statements);
    assert_non_null(sql);
    enum ch_status status =
        sql_query(sql, statements[0].sqlite, NULL, 0, read_backwards, &out);
    sql_close(sql);
    assert_int_equal(status, CH_OK);
    assert_int_equal(out.first, 1);
    assert_int_equal(out.second, 2);
    assert_string_equal(out.text, "three");
    assert_int_equal(out.bytes, 5);
}

static void a_query_fails_after_a_name_that_is_no_column(void **state)
{
    struct row_read out = { 0 };
    struct row_read after = { 0 };
    struct sql *sql = open_sql(*state, statements);
    assert_non_null(sql);
    enum ch_status status =
        sql_query(sql, statements[0].sqlite, NULL, 0, read_absent, &out);
    char error[SQL_ERROR_SIZE];
    snprintf(error, sizeof(error), "%s", sql->error);
    enum ch_status next =
        sql_query(sql, statements[0].sqlite, NULL, 0, read_backwards, &after);
    sql_close(sql);
    assert_int_equal(status, CH_ERR_IO);
    assert_string_equal(error, "there is no column 'four'");
    assert_int_equal(out.absent, 0);
    assert_int_equal(out.absent_bytes, 0);
    assert_int_equal(out.second, 2);
    assert_int_equal(next, CH_OK);
    assert_int_equal(after.first, 1);
}

static void a_queued_statement_fails_after_a_name_that_is_no_column(void **state)
{
    struct row_read out = { 0 };
    struct row_read after = { 0 };
    struct sql *sql = open_sql(*state, statements);
    assert_non_null(sql);
    sql_queue(sql, 0, NULL, 0, read_absent, &out);
    enum ch_status status = sql_flush(sql);
    bool connected = sql_rollback(sql);
    sql_queue(sql, 0, NULL, 0, read_backwards, &after);
    enum ch_status next = sql_flush(sql);
    sql_close(sql);
    assert_int_equal(status, CH_ERR_IO);
    assert_true(connected);
    assert_int_equal(next, CH_OK);
    assert_int_equal(after.second, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_read_by_name_in_any_order,
                                        setup_name, teardown),
        cmocka_unit_test_setup_teardown(a_query_fails_after_a_name_that_is_no_column,
                                        setup_name, teardown),
        cmocka_unit_test_setup_teardown(
            a_queued_statement_fails_after_a_name_that_is_no_column, setup_name,
            teardown),
    };
    return cmocka_run_group_tests_name("collector/sql", tests, NULL, NULL);
}
