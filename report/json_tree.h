// SPDX-License-Identifier: Apache-2.0
//
// Writing JSON trees: what jansson's own functions write in their compact form, several
// times as fast, which a report of a thousand threads is large enough for.
//
// The tree is walked without recursion, at most JSON_TREE_DEPTH_MAX values deep; that
// is how deep jansson reads.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "base/text.h"

enum { JSON_TREE_DEPTH_MAX = 2048 };

// json_tree_write appends value on one line. CH_ERR_LIMIT: it is too deep.
// CH_ERR_NO_MEMORY: out is full.
CH_CHECKED enum ch_status json_tree_write(const json_t *value, struct text *out);

// json_tree_print does the same and ends the line.
CH_CHECKED enum ch_status json_tree_print(const json_t *value, struct text *out);
