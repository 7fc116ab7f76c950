// SPDX-License-Identifier: Apache-2.0
//
// A line of JSON on stderr for every request that was answered. It names the token by
// its place in the token file, never by itself, and never what was searched for.
#pragma once
#include "collector/http.h"

// request_log_write writes the line, whole, in one write.
void request_log_write(const struct http_seen *seen);
