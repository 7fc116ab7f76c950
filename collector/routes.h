// SPDX-License-Identifier: Apache-2.0
//
// The table of everything the collector answers: start reading here. A row names the
// method, the path, who may ask and how much may be sent; what is in no row is answered
// with 404 or 405 by http.c.
#pragma once
#include "collector/http.h"

extern const struct http_route routes_table[];
extern const size_t routes_count;
