// SPDX-License-Identifier: Apache-2.0
//
// The table of everything the collector answers: start reading here.
#pragma once
#include "collector/http.h"

extern const struct http_route routes_table[];
extern const size_t routes_count;
