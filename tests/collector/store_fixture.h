// SPDX-License-Identifier: Apache-2.0
//
// What tests of stores share: a store of a test's own, entries to put in, visitors that
// remember. It is a SQLite file, or, where CRASHHOOK_TEST_POSTGRESQL names a database,
// a schema in there: every test of stores is run over both.
#pragma once
#include "collector/database/sql.h"
#include "collector/database/timestamp.h"
#include "collector/store/store.h"
#include "collector/store/store_internal.h"
#include "support/folder.h"
#include "support/test.h"

// PLAIN_FACETS selects group_number, kind, value, time of what all reports have in
// their columns and tags: what facets count, in words of the tests' own.
#define PLAIN_FACETS                                                                   \
    "SELECT group_number, kind, value, time FROM (SELECT r.group_number AS"            \
    " group_number, k.column1 AS kind, CASE k.column1 WHEN 1 THEN r.title"             \
    " WHEN 2 THEN r.summary WHEN 3 THEN r.executable WHEN 4 THEN r.hostname"           \
    " WHEN 5 THEN r.release WHEN 6 THEN r.environment"                                 \
    " WHEN 7 THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,"             \
    " r.time AS time FROM reports r"                                                   \
    " CROSS JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) k"                    \
    " UNION ALL SELECT r.group_number, 9, t.key || '\n' || t.value, r.time"            \
    " FROM reports r JOIN tags t ON t.report = r.number) plain WHERE value <> ''"

// What every test has: a store in a folder of its own.
struct fixture {
    struct folder *folder;
    struct store *store;
    int64_t now_ms;
    char name[256]; // of the store
};

// name_store writes the name of a store that is not there yet.
static inline bool name_store(struct fixture *fixture)
{
    static int schemas;
    const char *base = getenv("CRASHHOOK_TEST_POSTGRESQL");
    char error[SQL_ERROR_SIZE];
    char script[64];
    struct sql *sql = NULL;
    if (base == NULL) {
        (void)snprintf(fixture->name, sizeof(fixture->name), "sqlite:%s",
                       folder_path(fixture->folder, "store.db"));
        return true;
    }
    struct sql_options options = { .name = base };
    schemas++;
    (void)snprintf(script, sizeof(script), "CREATE SCHEMA test%d", schemas);
    (void)snprintf(fixture->name, sizeof(fixture->name),
                   "%.160s&options=-csearch_path%%3Dtest%d,public", base, schemas);
    if (sql_open(&options, error, &sql) != CH_OK)
        return false;
    bool made = sql_script(sql, script) == CH_OK;
    sql_close(sql);
    return made;
}

// open_store opens it with a minute for each list: how long they take is not tested
// here.
static inline bool open_store(struct fixture *fixture)
{
    char error[STORE_ERROR_SIZE];
    bool opened = store_open(fixture->name, error, &fixture->store) == CH_OK;
    if (opened)
        fixture->store->list_ms = 60000;
    else
        print_error("%s\n", error);
    return opened;
}

// setup_named gives a test the name of a store that is not there yet.
static inline int setup_named(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    void *folder = NULL;
    if (fixture == NULL || folder_setup(&folder) != 0)
        return -1;
    fixture->folder = folder;
    fixture->now_ms = timestamp_now();
    *state = fixture;
    return name_store(fixture) ? 0 : -1;
}

static inline int setup(void **state)
{
    return setup_named(state) == 0 && open_store(*state) ? 0 : -1;
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    void *folder = fixture->folder;
    store_close(fixture->store);
    free(fixture);
    return folder_teardown(&folder);
}

// make_entry is report number of a group, minutes ago.
static inline struct entry make_entry(const struct fixture *fixture, unsigned number,
                                      const char *group, int minutes)
{
    struct entry entry = { .revision = 1,
                           .time_ms = fixture->now_ms - minutes * 60000,
                           .received_ms = fixture->now_ms,
                           .signal = 11,
                           .signal_name = "SIGSEGV",
                           .title = "SIGSEGV in f",
                           .summary = "Read address 0x0",
                           .release = "1.0",
                           .environment = "test",
                           .executable = "/bin/program",
                           .hostname = "host" };
    static const char marks[] = "11\nwallet::post\0"
                                "12\nsrc/journal.cpp\0"
                                "13\n6f1dd07b9ce6a0d2\0"
                                "14\nno \"file\"\0"
                                "23\nmain";
    memcpy(entry.marks, marks, sizeof(marks));
    entry.marks_size = sizeof(marks);
    (void)snprintf(entry.id, sizeof(entry.id), "00000000-0000-7000-8000-%012x", number);
    (void)snprintf(entry.group, sizeof(entry.group), "%s", group);
    return entry;
}

// add stores one entry and gives the outcome, or -1.
static inline int add(struct fixture *fixture, const struct entry *entry,
                      const char *body)
{
    char error[STORE_ERROR_SIZE];
    struct store_upload upload = { .entry = entry,
                                   .body = body,
                                   .body_size = strlen(body) };
    return store_add(fixture->store, &upload, 1, error) == CH_OK ? (int)upload.outcome
                                                                 : -1;
}

static inline int add_new(struct fixture *fixture, unsigned number, const char *group,
                          int minutes)
{
    struct entry entry = make_entry(fixture, number, group, minutes);
    return add(fixture, &entry, "body");
}

// What a visitor remembers: the last characters of ids, and the last group.
struct seen {
    char ids[256];
    size_t count;
    struct store_group group;
    char release[2][16];
    char status[16];
    char status_release[32];
    char resolved_in[32];
    char note[64];
    char assignee[16];
    char body[64];
};

static inline void see_report(void *context, const struct store_report *report)
{
    struct seen *seen = context;
    if (seen->count < sizeof(seen->ids) - 1)
        seen->ids[seen->count] = report->id[35];
    seen->count++;
}

static inline void see_group(void *context, const struct store_group *group)
{
    struct seen *seen = context;
    if (seen->count < sizeof(seen->ids) - 1)
        seen->ids[seen->count] = group->id[0];
    seen->count++;
    seen->group = *group;
    (void)snprintf(seen->status, sizeof(seen->status), "%s", group->status);
    (void)snprintf(seen->status_release, sizeof(seen->status_release), "%s",
                   group->status_release);
    (void)snprintf(seen->resolved_in, sizeof(seen->resolved_in), "%s",
                   group->resolved_in);
    (void)snprintf(seen->note, sizeof(seen->note), "%s", group->note);
    (void)snprintf(seen->assignee, sizeof(seen->assignee), "%s", group->assignee);
    for (size_t i = 0; i < 2 && i < group->release_count; i++)
        (void)snprintf(seen->release[i], sizeof(seen->release[i]), "%s",
                       group->releases[i]);
}

static inline void see_body(void *context, const struct store_report *report,
                            const struct store_body *body)
{
    struct seen *seen = context;
    seen->count = (size_t)report->revision;
    (void)snprintf(seen->body, sizeof(seen->body), "%.*s", (int)body->size,
                   (const char *)body->bytes);
}

static inline struct seen list(struct fixture *fixture, struct store_filter filter)
{
    struct seen seen = { 0 };
    char next[STORE_CURSOR_SIZE];
    filter.limit = filter.limit != 0 ? filter.limit : STORE_PAGE_MAX;
    if (store_list_reports(fixture->store, &filter, see_report, &seen, next) != CH_OK)
        (void)snprintf(seen.ids, sizeof(seen.ids), "failed");
    return seen;
}

static inline struct seen list_groups(struct fixture *fixture,
                                      struct store_filter filter)
{
    struct seen seen = { 0 };
    char next[STORE_CURSOR_SIZE];
    filter.limit = STORE_PAGE_MAX;
    if (store_list_groups(fixture->store, &filter, see_group, &seen, next) != CH_OK)
        (void)snprintf(seen.ids, sizeof(seen.ids), "failed");
    return seen;
}

// where is a filter of one term.
static inline struct store_filter where(enum store_key key, const char *value)
{
    return (struct store_filter){ .terms = { { .key = key, .value = value } },
                                  .term_count = 1 };
}

// and_where is the filter with one more term.
static inline struct store_filter and_where(struct store_filter filter,
                                            enum store_key key, const char *value)
{
    filter.terms[filter.term_count++] =
        (struct store_term){ .key = key, .value = value };
    return filter;
}

static inline struct seen find_group(struct fixture *fixture, const char *id)
{
    struct seen seen = { 0 };
    if (store_find_group(fixture->store, id, see_group, &seen) != CH_OK)
        (void)snprintf(seen.ids, sizeof(seen.ids), "failed");
    return seen;
}

#define STORE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
