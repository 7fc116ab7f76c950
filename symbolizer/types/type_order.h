// SPDX-License-Identifier: Apache-2.0
//
// The order of the dimensions of arrays of arrays, which compilers nest in two ways in
// CTF and BTF.
#pragma once
#include "base/status.h"
#include "formats/debug/ctf_file.h"
#include "symbolizer/types/type_table.h"

// type_order_set brings the arrays of arrays from index first on, which are nested as
// order says, into the order of a table.
CH_CHECKED enum ch_status type_order_set(struct type_table *table, uint32_t first,
                                         enum ctf_order order);
