// SPDX-License-Identifier: Apache-2.0
//
// A report as one OpenTelemetry log record: what POST /v1/logs takes, in JSON or in
// protobuf.
//
// Attributes have the names of the semantic conventions for exceptions, processes,
// hosts and services where there is one, and `crashhook.*` for the rest: registers,
// images, the backtraces in Compact Backtrace Format. A pure function of the report.
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum otlp_form { OTLP_JSON, OTLP_PROTOBUF };

// otlp_logs_write appends the request as it would be sent at unix_ms; JSON on one line.
// Intakes take a few megabytes: a larger record is written without the other threads.
CH_CHECKED enum ch_status otlp_logs_write(const json_t *report, int64_t unix_ms,
                                          enum otlp_form form, struct text *out);
