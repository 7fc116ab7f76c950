// SPDX-License-Identifier: Apache-2.0
//
// What is known of a fleet beyond its groups: what each release began and brought back,
// the machines that crash, the builds whose names are missing, and the debug files.
// Users: the pages and requests of these.
#pragma once
#include "collector/store/store.h"
#include "collector/store/store_symbols.h"

// store_release_groups is a release with the number of groups that were first seen in
// it, and of those that came back in it.
struct store_release_groups {
    const char *project;
    const char *program;
    const char *release;
    int64_t began;
    int64_t back;
};

typedef void store_release_groups_fn(void *context,
                                     const struct store_release_groups *release);

// store_list_release_groups visits the releases of a program; empty: of all.
CH_CHECKED enum ch_status
store_list_release_groups(struct store *store, const char *project, const char *program,
                          store_release_groups_fn *visit, void *context);

// store_compared is a group with its reports in two releases.
struct store_compared {
    const char *group;
    const char *title;
    int64_t before;
    int64_t after;
};

typedef void store_compared_fn(void *context, const struct store_compared *row);

// store_compare_releases visits the groups of a program that have reports in one of two
// releases, those that differ most first.
CH_CHECKED enum ch_status store_compare_releases(struct store *store,
                                                 const struct store_release_groups *of,
                                                 const char *after, size_t limit,
                                                 store_compared_fn *visit,
                                                 void *context);

// STORE_MACHINES_COUNTED is how many reports are counted by machine: the newest.
enum { STORE_MACHINES_COUNTED = 100000 };

struct store_machine {
    const char *host; // may be empty
    int64_t reports;
    int64_t groups;
    int64_t last_seen_ms;
    int64_t counted; // reports of all machines
};

typedef void store_machine_fn(void *context, const struct store_machine *machine);

// store_list_machines visits the machines that crashed since a time, those with most
// reports first.
CH_CHECKED enum ch_status store_list_machines(struct store *store, const char *project,
                                              int64_t since_ms, size_t limit,
                                              store_machine_fn *visit, void *context);

// STORE_MISSING_COUNTED is how many reports are looked at for missing names: the
// newest.
enum { STORE_MISSING_COUNTED = 20000 };

struct store_missing {
    const char *build;
    const char *program; // of one of the reports
    const char *example; // the id of one of them
    int64_t reports;
    int64_t last_seen_ms;
};

typedef void store_missing_fn(void *context, const struct store_missing *missing);

// store_list_missing visits the builds whose names most reports lack.
CH_CHECKED enum ch_status store_list_missing(struct store *store, const char *project,
                                             size_t limit, store_missing_fn *visit,
                                             void *context);

// store_symbols_total sums the debug files and sources that a project uses; empty: all.
struct store_symbols_total {
    int64_t files;
    int64_t size;
    int64_t kept; // bytes that are stored of them
};

CH_CHECKED enum ch_status store_symbols_total(struct store *store, const char *project,
                                              struct store_symbols_total *out);

// store_list_latest_symbols visits these files, the ones used last first.
CH_CHECKED enum ch_status store_list_latest_symbols(struct store *store,
                                                    const char *project, size_t limit,
                                                    store_symbol_fn *visit,
                                                    void *context);
