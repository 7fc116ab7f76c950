// SPDX-License-Identifier: Apache-2.0
//
// The table of all that the collector answers: start reading here. A row names the
// method, the path, who has access and the limit of the body; http_server.c answers
// everything else with 404 or 405.
#pragma once
#include "collector/server/http.h"

extern const struct http_route routes_table[];
extern const size_t routes_count;
