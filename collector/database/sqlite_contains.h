// SPDX-License-Identifier: Apache-2.0
//
// contains(SEARCHED, TEXT...) of SQLite: whether the texts, joined by line ends,
// contain the first one, in either case of the letters of every language, as the index
// of words and PostgreSQL know them. SQLite's lower() knows those of ASCII, and a copy
// of all texts in lower case takes five times as long.
//
// text_hash(TEXT) is a number of 64 bits, the same in every release: rows have it.
#pragma once
#include <sqlite3.h>

// sqlite_contains_add gives a connection both functions; SQLite's result.
int sqlite_contains_add(sqlite3 *db);
