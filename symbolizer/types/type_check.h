// SPDX-License-Identifier: Apache-2.0
//
// Whether types that were read from a file are as a table promises: indexes in range,
// members within their structures, sizes that values can be made of, names that end.
#pragma once
#include "base/status.h"
#include "base/text.h"
#include "symbolizer/types/type_table.h"

// type_check_one says whether one type, whose indexes are in range, is as a table
// promises; its name is left in name. CH_ERR_MALFORMED or CH_ERR_LIMIT: it is not.
CH_CHECKED enum ch_status type_check_one(const struct type_table *table, uint32_t index,
                                         struct text *name);

// type_check says whether the types from first on are as a table promises.
// CH_ERR_MALFORMED: they are not.
CH_CHECKED enum ch_status type_check(const struct type_table *table, uint32_t first);
