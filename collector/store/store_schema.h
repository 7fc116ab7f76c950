// SPDX-License-Identifier: Apache-2.0
//
// The layout of the tables: schema/sqlite.sql and schema/postgresql.sql show them.
//
// A layout has a number. store_schema_open makes the tables of a new store from these
// files. It upgrades a database of the layout STORE_SCHEMA_UPGRADED by
// schema/*_from_18.sql, in one transaction, and refuses an older one. It refuses a
// newer one unless that says, in PostgreSQL, that programs of this layout can go on
// with it: so collectors that share a database are upgraded one by one.
//
// A change that only adds tables, columns with defaults and indexes leaves
// STORE_SCHEMA_OLDEST as it is. A change of the layout is made in four files: both that
// show the tables, and both that upgrade them. The numbers increase with the first
// change after a release.
#pragma once
#include "collector/database/sql.h"
#include "collector/entry/store_facet.h"

// STORE_SCHEMA_VERSION is this program's layout.
#define STORE_SCHEMA_VERSION 19

// STORE_SCHEMA_UPGRADED is the layout that this program upgrades.
#define STORE_SCHEMA_UPGRADED 18

// STORE_SCHEMA_OLDEST is the oldest layout whose programs can use this one.
#define STORE_SCHEMA_OLDEST 19

// STORE_NEVER is a time that does not come.
#define STORE_NEVER "9000000000000000"

// store_schema_new makes the tables, by dialect; store_schema_upgrade upgrades those of
// the layout STORE_SCHEMA_UPGRADED. statements.cmake makes both of schema/*.sql.
extern const char *const store_schema_new[];
extern const char *const store_schema_upgrade[];

// store_schema_open makes the tables, or upgrades them to this program's layout. error
// gets one line on failure.
CH_CHECKED enum ch_status store_schema_open(struct sql *sql,
                                            char error[SQL_ERROR_SIZE]);

// store_schema_check finds out whether this program can read the tables as they are.
CH_CHECKED enum ch_status store_schema_check(struct sql *sql,
                                             char error[SQL_ERROR_SIZE]);
