// SPDX-License-Identifier: Apache-2.0
#include "collector/server/request_log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "collector/database/timestamp.h"

// printable is a string from outside, or a placeholder where it is not UTF-8.
static json_t *printable(const char *value)
{
    json_t *string = json_string(value);
    return string != NULL ? string : json_string("(no UTF-8)");
}

void request_log_write(const struct http_seen *seen)
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(timestamp_now(), time);
    json_t *line =
        json_pack("{s:s, s:o, s:o, s:i, s:I, s:I, s:I, s:s}", "time", time, "method",
                  printable(seen->method), "path", printable(seen->path), "status",
                  (int)seen->status, "received", (json_int_t)seen->received, "sent",
                  (json_int_t)seen->sent, "duration_ms", (json_int_t)seen->duration_ms,
                  "from", seen->from);
    if (seen->forwarded != NULL)
        json_object_set_new(line, "forwarded_for", printable(seen->forwarded));
    if (seen->who->index < ACCESS_TOKENS)
        json_object_set_new(line, "token",
                            json_integer((json_int_t)seen->who->index + 1));
    if (seen->who->named)
        json_object_set_new(line, "user", json_string(seen->who->name));
    char *dumped = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(line);
    struct text whole = { 0 };
    text_appendf(&whole, "%s\n", dumped != NULL ? dumped : "{}");
    // A log that cannot be written must not stop requests.
    ssize_t written = write(STDERR_FILENO, whole.bytes, whole.size);
    (void)written;
    text_deinit(&whole);
    free(dumped);
}
