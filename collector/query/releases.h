// SPDX-License-Identifier: Apache-2.0
//
// The releases of each program: their order, and which of them are new.
//
// A release is current in its program if it is the newest one in which a group began
// and that has at least a tenth of the program's reports of the last 14 days: a canary
// is not, until more hosts run it. The current release and all newer ones are new.
//
// Limit: the RELEASES_MOST that were seen last. Users: lists of what is new, the
// overview.
#pragma once
#include "collector/store/store_internal.h"

enum { RELEASES_MOST = 2000 };

struct release {
    char project[ENTRY_PROJECT_SIZE];
    char program[sizeof(((struct entry *)NULL)->executable)];
    char name[sizeof(((struct entry *)NULL)->release)];
    int64_t count;  // of reports that were received
    int64_t recent; // of the last 14 days
    int64_t first_seen_ms;
    int64_t last_seen_ms;
    int64_t place; // that somebody declared, or -1
    bool began;    // a group was first seen in it
    bool current;
    bool fresh; // current, or newer than that
};

// releases is ordered by project and program, the newest release first.
struct releases {
    struct release *list;
    size_t count;
    size_t capacity;
    bool failed;
};

// releases_of says of which releases and reports: empty is any.
struct releases_of {
    const char *project;
    const char *program;
    const char *environment;
};

// releases_read reads them through a connection, and releases_find through one of the
// store's; releases_deinit frees them.
CH_CHECKED enum ch_status releases_read(struct sql *sql, const struct releases_of *of,
                                        struct releases *out);
CH_CHECKED enum ch_status
releases_find(struct store *store, const struct releases_of *of, struct releases *out);
void releases_deinit(struct releases *releases);

// release_day is how many reports of a release crashed on a day (of UTC, since 1970).
struct release_day {
    const char *project;
    const char *program;
    const char *release; // may be empty
    int64_t day;
    int64_t count;
};

typedef void release_day_fn(void *context, const struct release_day *row);

// releases_list_days visits the days from first to last on which a release crashed.
CH_CHECKED enum ch_status releases_list_days(struct store *store,
                                             const struct releases_of *of,
                                             const int64_t first_and_last[2],
                                             release_day_fn *visit, void *context);

// store_order is the releases of a program in their order, the oldest first.
struct store_order {
    const char *project;
    const char *program;
    const char *const *names;
    size_t count;
};

// store_declare_order keeps an order that somebody declared, in place of what was
// declared of the program before.
CH_CHECKED enum ch_status store_declare_order(struct store *store,
                                              const struct store_order *order,
                                              char error[STORE_ERROR_SIZE]);

// releases_program_end is the index after the last release of the program of the one at
// start.
size_t releases_program_end(const struct releases *releases, size_t start);

// releases_write_fresh appends a JSON array of the new releases, each after its project
// and program with a line end between them.
CH_CHECKED enum ch_status releases_write_fresh(const struct releases *releases,
                                               struct text *out);
