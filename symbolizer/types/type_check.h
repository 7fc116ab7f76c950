// SPDX-License-Identifier: Apache-2.0
//
// Checks that types read from a file keep a table's promises: indexes are in range,
// members are inside their structures, values can be made of the sizes, names are
// finite.
#pragma once
#include "base/status.h"
#include "base/text.h"
#include "formats/debug/ctf_file.h"
#include "symbolizer/types/type_table.h"

// type_check_one checks one type, whose indexes are in range; its name is left in name.
// CH_ERR_MALFORMED or CH_ERR_LIMIT: it breaks a promise.
CH_CHECKED enum ch_status type_check_one(const struct type_table *table, uint32_t index,
                                         struct text *name);

// type_check checks the types from first on. CH_ERR_MALFORMED: one breaks a promise.
CH_CHECKED enum ch_status type_check(const struct type_table *table, uint32_t first);

// type_order_set brings the arrays of arrays from index first on, which are nested as
// order says, into the order of a table.
CH_CHECKED enum ch_status type_order_set(struct type_table *table, uint32_t first,
                                         enum ctf_order order);
