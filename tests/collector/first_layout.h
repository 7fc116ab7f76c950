// SPDX-License-Identifier: Apache-2.0
//
// The layout of SQLite stores of the first version, as it was written then: for tests
// that bring an old store forward. It is SQL, and says nothing of the version.
#pragma once

#define FIRST_LAYOUT                                                                   \
    "CREATE TABLE groups(number INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL "       \
    "UNIQUE,"                                                                          \
    " title TEXT NOT NULL, summary TEXT NOT NULL, signal INTEGER NOT NULL,"            \
    " status TEXT NOT NULL DEFAULT 'open', count INTEGER NOT NULL,"                    \
    " first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL);"                       \
    "CREATE INDEX groups_by_last_seen ON groups(last_seen, number);"                   \
    "CREATE TABLE group_releases(group_number INTEGER NOT NULL, release TEXT NOT "     \
    "NULL,"                                                                            \
    " count INTEGER NOT NULL, last_seen INTEGER NOT NULL,"                             \
    " PRIMARY KEY(group_number, release)) WITHOUT ROWID;"                              \
    "CREATE TABLE group_days(group_number INTEGER NOT NULL, day INTEGER NOT NULL,"     \
    " count INTEGER NOT NULL, PRIMARY KEY(group_number, day)) WITHOUT ROWID;"          \
    "CREATE TABLE reports(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"        \
    " revision INTEGER NOT NULL, group_number INTEGER NOT NULL, time INTEGER NOT "     \
    "NULL,"                                                                            \
    " received INTEGER NOT NULL, signal INTEGER NOT NULL, signal_name TEXT NOT NULL,"  \
    " title TEXT NOT NULL, summary TEXT NOT NULL, release TEXT NOT NULL,"              \
    " environment TEXT NOT NULL, executable TEXT NOT NULL, hostname TEXT NOT NULL);"   \
    "CREATE INDEX reports_by_time ON reports(time, number);"                           \
    "CREATE INDEX reports_by_group ON reports(group_number, time, number);"            \
    "CREATE TABLE tags(report INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT "    \
    "NULL,"                                                                            \
    " PRIMARY KEY(report, key)) WITHOUT ROWID;"                                        \
    "CREATE INDEX tags_by_value ON tags(key, value, report);"                          \
    "CREATE TABLE bodies(report INTEGER PRIMARY KEY, encoding INTEGER NOT NULL,"       \
    " bytes BLOB NOT NULL);"
