// SPDX-License-Identifier: Apache-2.0
//
// Bodies made smaller for the way: zstd for collectors, gzip for everybody else's
// servers, and those only where it is worth it, since more things on the way can read a
// plain body. Users: collector, sentry, otlp.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"
#include "upload/http.h"

// packing_zstd appends size bytes compressed. It fails for want of memory alone.
CH_CHECKED enum ch_status packing_zstd(const void *bytes, size_t size,
                                       struct text *out);

// packing_gzip is the same as a gzip file.
CH_CHECKED enum ch_status packing_gzip(const void *bytes, size_t size,
                                       struct text *out);

// packing_body makes plain the body of request, compressed into packed where it is
// large. Both texts have to stay for as long as the request.
CH_CHECKED enum ch_status packing_body(const struct text *plain, struct text *packed,
                                       struct http_request *request);
