// SPDX-License-Identifier: Apache-2.0
//
// Compression of bodies: zstd for collectors; gzip for the servers of others, and only
// for large bodies, because more proxies and tools can read a plain one. Users:
// collector, sentry, otlp.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"
#include "net/http.h"

// packing_zstd appends size bytes compressed. It fails only when memory is short.
CH_CHECKED enum ch_status packing_zstd(const void *bytes, size_t size,
                                       struct text *out);

// packing_body makes plain the body of request, compressed into packed if it is large.
// Both texts must outlive the request.
CH_CHECKED enum ch_status packing_body(const struct text *plain, struct text *packed,
                                       struct http_request *request);
