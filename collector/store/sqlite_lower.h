// SPDX-License-Identifier: Apache-2.0
//
// lower() of SQLite for letters of every language: its own knows those of ASCII, while
// the index of words and PostgreSQL know all.
#pragma once
#include <sqlite3.h>

// sqlite_lower_add gives a connection the function; SQLite's result.
int sqlite_lower_add(sqlite3 *db);
