// SPDX-License-Identifier: Apache-2.0
//
// The layout of the tables, and the SQL that counts what is in them.
//
// A layout has a number. store_schema_open upgrades an older database, one step after
// the other in one transaction. It refuses a newer one unless that says, in PostgreSQL,
// that programs of this layout can go on with it: so collectors that share a database
// are upgraded one by one. A step that only adds tables, columns with defaults and
// indexes leaves STORE_SCHEMA_OLDEST as it is. The tables are the same in both
// dialects:
//
//   groups     a row a group, with the figures its lists show
//   group_days reports a day of a group
//   facets     every distinct value that a group's reports carry, with its count:
//              what filters and searches look at instead of at reports
//   merged     fingerprints whose reports belong to another group than their own
//   keys       what a key of before leads to: one of version 1, or of a group whose
//              reports got names; the target is the group's own key
//   history    what moved into a group and which decisions it replaced
//   moves      merges and splits under way
//   jobs       reports that are to be named, again or for the first time
//   nameless   which reports lack the names of which builds
//   places     the names of places of builds, looked up once for all reports
//   alerts     what happened that people are told of; alert_sends: who is still to be
//   logins     sessions of browsers; audit: who did what
//   start_days counted starts and clean ends; start_batches: what was added to them;
//   sessions   counted sessions that crashed
//   words      every distinct function, file, build and message of all facets, for
//              searches
//   reports    a row a report; tags, marks, bodies: what belongs to it
//   symbol_files debug files and sources; asked_builds: what upstream was asked for;
//              object_parts: objects where they are in the database
//   segments   objects that bodies were packed into; object_place: where they are
#pragma once
#include "collector/store/sql.h"
#include "collector/store/store_facet.h"

// STORE_SCHEMA_VERSION is this program's layout.
#define STORE_SCHEMA_VERSION 16

// STORE_SCHEMA_OLDEST is the oldest layout whose programs can use this one.
#define STORE_SCHEMA_OLDEST 13

// STORE_NEVER is a time that does not come.
#define STORE_NEVER "9000000000000000"

// STORE_PLAIN_FACETS selects group_number, kind, value, time: what those reports r for
// which `condition` is true have in their columns and tags.
#define STORE_PLAIN_FACETS(condition)                                                  \
    "SELECT r.group_number AS group_number, k.column1 AS kind,"                        \
    " CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary"                        \
    " WHEN 3 THEN r.executable WHEN 4 THEN r.hostname WHEN 5 THEN r.release"           \
    " WHEN 6 THEN r.environment WHEN 7 THEN CAST(r.signal AS text)"                    \
    " ELSE r.signal_name END AS value, r.time AS time"                                 \
    " FROM reports r CROSS JOIN (VALUES (1),(2),(3),(4),(5),(6),(7),(8)) k"            \
    " WHERE " condition " UNION ALL "                                                  \
    "SELECT r.group_number, 9, t.key || '\n' || t.value, r.time"                       \
    " FROM reports r JOIN tags t ON t.report = r.number WHERE " condition

// STORE_MARKS_SQLITE and STORE_MARKS_POSTGRES are the elements j.value of the marks m.
#define STORE_MARKS_SQLITE "json_each(m.list) j"
#define STORE_MARKS_POSTGRES                                                           \
    "json_array_elements_text(CAST(m.list AS json)) AS j(value)"

// STORE_FACETS_OF selects group_number, kind, value, time: all values of those reports
// r for which `condition` is true; elements is one of the two above.
#define STORE_FACETS_OF(condition, elements)                                           \
    "SELECT group_number, kind, value, time FROM (" STORE_PLAIN_FACETS(                \
        condition) " UNION ALL "                                                       \
                   "SELECT r.group_number, CAST(substr(j.value, 1, 2) AS bigint),"     \
                   " substr(j.value, 4), r.time FROM reports r JOIN marks m ON "       \
                   "m.report = r.number"                                               \
                   " CROSS JOIN " elements " WHERE " condition                         \
                   ") carried WHERE value <> ''"

// STORE_GAIN_FACETS_MERGE ends a statement that counts facets some of which may exist.
#define STORE_GAIN_FACETS_MERGE                                                        \
    " ON CONFLICT(group_number, kind, value) DO UPDATE SET"                            \
    " count = facets.count + excluded.count, last_seen ="                              \
    " CASE WHEN facets.last_seen < excluded.last_seen"                                 \
    " THEN excluded.last_seen ELSE facets.last_seen END"

// STORE_COUNT_FACETS counts the values that `facets` selects in their groups.
#define STORE_COUNT_FACETS(facets)                                                     \
    "INSERT INTO facets(group_number, kind, value, count, last_seen)"                  \
    " SELECT group_number, kind, value, count(*), max(time) FROM (" facets ") gained"  \
    " GROUP BY group_number, kind, value ORDER BY 1, 2, 3" STORE_GAIN_FACETS_MERGE

// STORE_GAIN_FACETS counts the values of reports in their groups.
#define STORE_GAIN_FACETS(condition, elements)                                         \
    STORE_COUNT_FACETS(STORE_FACETS_OF(condition, elements))

// store_schema_open makes the tables, or upgrades them to this program's layout. error
// gets one line on failure.
CH_CHECKED enum ch_status store_schema_open(struct sql *sql,
                                            char error[SQL_ERROR_SIZE]);

// store_schema_check says whether this program can read the tables as they are.
CH_CHECKED enum ch_status store_schema_check(struct sql *sql,
                                             char error[SQL_ERROR_SIZE]);
