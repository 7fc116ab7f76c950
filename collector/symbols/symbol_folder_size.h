// SPDX-License-Identifier: Apache-2.0
//
// The folder of debug files as a cache: files that can be fetched again leave it, those
// first that were used longest ago, when all together take too much.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collector/symbols/symbol_folder.h"

// symbol_leave_fn returns whether a file can be fetched again.
typedef bool symbol_leave_fn(void *context, const char *project, enum symbol_kind kind,
                             const char *id);

// symbol_folder_trim removes files until the folder, with those of projects, takes at
// most size bytes, and what uploads that were killed left in it a day ago.
void symbol_folder_trim(const char *folder, int64_t size, symbol_leave_fn *may_leave,
                        void *context);
