// SPDX-License-Identifier: Apache-2.0
//
// Writing JSON trees: the same output as jansson's compact form, several times as fast,
// which matters for a report of a thousand threads.
//
// The tree is walked without recursion, at most JSON_TREE_DEPTH_MAX values deep, which
// is also jansson's limit for reading.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "base/text.h"

enum { JSON_TREE_DEPTH_MAX = 2048 };

// json_tree_write appends value on one line. CH_ERR_LIMIT: it is too deep.
// CH_ERR_NO_MEMORY: memory is short, or out reached its limit.
CH_CHECKED enum ch_status json_tree_write(const json_t *value, struct text *out);

// json_tree_print does the same and appends a newline.
CH_CHECKED enum ch_status json_tree_print(const json_t *value, struct text *out);
