// SPDX-License-Identifier: Apache-2.0
//
// The layout of the tables.
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
//   place_names the names of places of builds, looked up once for all reports of those
//              that may read the debug file they are from
//   alerts     what happened that people are told of; alert_sends: who is still to be
//   logins     sessions of browsers; audit: who did what
//   start_days counted starts and clean ends; start_batches: what was added to them;
//   sessions   counted sessions that crashed
//   start_sums the sums of both by release and day; start_hosts: of starts by host
//   words      every distinct function, file, build and message of all facets, for
//              searches
//   reports    a row a report; tags, marks, bodies: what belongs to it
//   symbol_files debug files and sources; symbols: who sent which first. In the keys of
//              both and of place_names, `PROJECT/` precedes what is of a project;
//              asked_builds: what upstream was asked for;
//              object_parts: objects where they are in the database
//   segments   objects that bodies were packed into; object_place: where they are
#pragma once
#include "collector/store/sql.h"
#include "collector/store/store_facet.h"

// STORE_SCHEMA_VERSION is this program's layout.
#define STORE_SCHEMA_VERSION 19

// STORE_SCHEMA_OLDEST is the oldest layout whose programs can use this one.
#define STORE_SCHEMA_OLDEST 19

// STORE_NEVER is a time that does not come.
#define STORE_NEVER "9000000000000000"

// store_schema_open makes the tables, or upgrades them to this program's layout. error
// gets one line on failure.
CH_CHECKED enum ch_status store_schema_open(struct sql *sql,
                                            char error[SQL_ERROR_SIZE]);

// store_schema_check says whether this program can read the tables as they are.
CH_CHECKED enum ch_status store_schema_check(struct sql *sql,
                                             char error[SQL_ERROR_SIZE]);
