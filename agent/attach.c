// SPDX-License-Identifier: Apache-2.0
#include "agent/attach.h"

#include <errno.h>
#include <time.h>

#include "agent/raw_report.h"
#include "base/clock.h"

enum ch_status attach_report(pid_t pid, const struct settings *settings,
                             const char *home, struct text *out, struct text *held)
{
    struct capture capture = {
        .settings = settings,
        .held = held,
        .home = settings->sanitize != SETTING_NO ? home : NULL,
    };
    char id[REPORT_ID_SIZE];
    report_id_make(clock_now_ms(CLOCK_REALTIME), id);

    enum ch_status status = capture_take(&capture, pid);
    if (status == CH_OK)
        status = raw_report_write(&capture, id, -1, out);
    int error = errno;
    capture_release(&capture);
    capture_deinit(&capture);
    errno = error;
    return status;
}
