// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "report/value/report.h"
#include "upload/bodies/minidump_file.h"
#include "upload/bodies/otlp_logs.h"
#include "upload/bodies/sentry_envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct report_error error;
    struct text body = { 0 };
    json_t *report;
    if (report_parse((const char *)bytes, size, &report, &error) != CH_OK)
        return 0;
    (void)!sentry_envelope_write(report, (const char *)bytes, size, 0, &body);
    (void)!otlp_logs_write(report, 0, OTLP_JSON, &body);
    text_deinit(&body);
    body = (struct text){ 0 };
    (void)!otlp_logs_write(report, 0, OTLP_PROTOBUF, &body);
    text_deinit(&body);
    body = (struct text){ 0 };
    (void)!minidump_file_write(report, &body);
    text_deinit(&body);
    json_decref(report);
    return 0;
}
