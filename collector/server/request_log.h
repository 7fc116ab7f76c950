// SPDX-License-Identifier: Apache-2.0
//
// A line of JSON on stderr for every request that was answered. It names the token by
// its index in the token file, never the token itself, and never contains search
// parameters.
#pragma once
#include "collector/server/http.h"

// request_log_write writes one line with a single write, so that lines do not mix.
void request_log_write(const struct http_seen *seen);
