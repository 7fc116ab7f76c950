// SPDX-License-Identifier: Apache-2.0
#include "report/file/report_shape.h"

#include <stddef.h>
#include <string.h>

const struct report_shape_member report_shape_report[] = {
    { "schema", REPORT_SHAPE_STRING, true },
    { "id", REPORT_SHAPE_STRING, true },
    { "revision", REPORT_SHAPE_INTEGER, true },
    { "time", REPORT_SHAPE_STRING, true },
    { "crash", REPORT_SHAPE_OBJECT, false },
    { "process", REPORT_SHAPE_OBJECT, false },
    { "host", REPORT_SHAPE_OBJECT, false },
    { "release", REPORT_SHAPE_STRING, false },
    { "environment", REPORT_SHAPE_STRING, false },
    { "session", REPORT_SHAPE_STRING, false },
    { "telemetry", REPORT_SHAPE_OBJECT, false },
    { "tags", REPORT_SHAPE_OBJECT, false },
    { "breadcrumbs", REPORT_SHAPE_ARRAY, false },
    { "user_data", REPORT_SHAPE_OBJECT, false },
    { "attachments", REPORT_SHAPE_ARRAY, false },
    { "threads", REPORT_SHAPE_ARRAY, true },
    { "images", REPORT_SHAPE_ARRAY, true },
    { "image_map", REPORT_SHAPE_STRING, false },
    { "watches", REPORT_SHAPE_ARRAY, false },
    { "flight", REPORT_SHAPE_OBJECT, false },
    { "memory", REPORT_SHAPE_ARRAY, false },
    { "fingerprint", REPORT_SHAPE_STRING, false },
    { "fingerprint2", REPORT_SHAPE_STRING, false },
    { "title", REPORT_SHAPE_STRING, false },
    { "problems", REPORT_SHAPE_ARRAY, false },
    { "spool", REPORT_SHAPE_OBJECT, false },
    { "agent", REPORT_SHAPE_OBJECT, false },
    { 0 },
};

const struct report_shape_member report_shape_crash[] = {
    { "signal", REPORT_SHAPE_INTEGER, true },
    { "name", REPORT_SHAPE_STRING, true },
    { "code", REPORT_SHAPE_INTEGER, false },
    { "code_name", REPORT_SHAPE_STRING, false },
    { "address", REPORT_SHAPE_ADDRESS, false },
    { "thread", REPORT_SHAPE_INTEGER, true },
    { "kind", REPORT_SHAPE_STRING, false },
    { "summary", REPORT_SHAPE_STRING, false },
    { "message", REPORT_SHAPE_STRING, false },
    { "stderr", REPORT_SHAPE_STRING, false },
    { "unwritten", REPORT_SHAPE_ARRAY, false },
    { "exception", REPORT_SHAPE_OBJECT, false },
    { 0 },
};

const struct report_shape_member report_shape_process[] = {
    { "pid", REPORT_SHAPE_INTEGER, false },
    { "ppid", REPORT_SHAPE_INTEGER, false },
    { "ancestors", REPORT_SHAPE_ARRAY, false },
    { "executable", REPORT_SHAPE_STRING, false },
    { "arguments", REPORT_SHAPE_ARRAY, false },
    { "started", REPORT_SHAPE_STRING, false },
    { "uptime_ms", REPORT_SHAPE_INTEGER, false },
    { "rss_bytes", REPORT_SHAPE_INTEGER, false },
    { "uid", REPORT_SHAPE_INTEGER, false },
    { "cgroup", REPORT_SHAPE_STRING, false },
    { "working_directory", REPORT_SHAPE_STRING, false },
    { 0 },
};

const struct report_shape_member report_shape_thread[] = {
    { "tid", REPORT_SHAPE_INTEGER, true },
    { "name", REPORT_SHAPE_STRING, false },
    { "state", REPORT_SHAPE_STRING, false },
    { "crashed", REPORT_SHAPE_FLAG, false },
    { "registers", REPORT_SHAPE_OBJECT, false },
    { "frame_registers", REPORT_SHAPE_ARRAY, false },
    { "exception", REPORT_SHAPE_OBJECT, false },
    { "backtrace", REPORT_SHAPE_OBJECT, false },
    { 0 },
};

const struct report_shape_member report_shape_backtrace[] = {
    { "cbf", REPORT_SHAPE_STRING, false },
    { "ended", REPORT_SHAPE_STRING, false },
    { "frames", REPORT_SHAPE_ARRAY, true },
    { 0 },
};

const struct report_shape_member report_shape_frame[] = {
    { "kind", REPORT_SHAPE_STRING, true },
    { "address", REPORT_SHAPE_ADDRESS, false },
    { "trust", REPORT_SHAPE_STRING, false },
    { "image", REPORT_SHAPE_INTEGER, false },
    { "image_offset", REPORT_SHAPE_ADDRESS, false },
    { "function", REPORT_SHAPE_STRING, false },
    { "raw_name", REPORT_SHAPE_STRING, false },
    { "function_offset", REPORT_SHAPE_INTEGER, false },
    { "file", REPORT_SHAPE_STRING, false },
    { "file_md5", REPORT_SHAPE_STRING, false },
    { "line", REPORT_SHAPE_INTEGER, false },
    { "column", REPORT_SHAPE_INTEGER, false },
    { "inline", REPORT_SHAPE_FLAG, false },
    { "language", REPORT_SHAPE_STRING, false },
    { "source", REPORT_SHAPE_STRING, false },
    { "omitted", REPORT_SHAPE_INTEGER, false },
    { "tail_call", REPORT_SHAPE_FLAG, false },
    { "tail_callers", REPORT_SHAPE_ARRAY, false },
    { "creator", REPORT_SHAPE_FLAG, false },
    { "system", REPORT_SHAPE_FLAG, false },
    { "rule", REPORT_SHAPE_STRING, false },
    { "arguments", REPORT_SHAPE_ARRAY, false },
    { "locals", REPORT_SHAPE_ARRAY, false },
    { "globals", REPORT_SHAPE_ARRAY, false },
    { "count", REPORT_SHAPE_INTEGER, false },
    { 0 },
};

const struct report_shape_member report_shape_image[] = {
    { "name", REPORT_SHAPE_STRING, false },
    { "path", REPORT_SHAPE_STRING, false },
    { "build_id", REPORT_SHAPE_STRING, false },
    { "base", REPORT_SHAPE_ADDRESS, true },
    { "end_of_text", REPORT_SHAPE_ADDRESS, false },
    { "has_sframe", REPORT_SHAPE_FLAG, false },
    { "unloaded", REPORT_SHAPE_FLAG, false },
    { "package", REPORT_SHAPE_OBJECT, false },
    { 0 },
};

const struct report_shape_member report_shape_problem[] = {
    { "stage", REPORT_SHAPE_STRING, true },
    { "status", REPORT_SHAPE_STRING, true },
    { "address", REPORT_SHAPE_ADDRESS, false },
    { 0 },
};

const char *const report_table_repeated[] = { "kind", "address", "trust", "image",
                                              "image_offset" };
const char *const report_table_lists[] = { "arguments", "locals", "globals" };
const char *const report_table_varying[] = { "value", "entry_value", "text" };

size_t report_table_find(const char *const *table, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i], key) == 0)
            return i;
    return count;
}
