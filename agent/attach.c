// SPDX-License-Identifier: Apache-2.0
#include "agent/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "agent/facts/context.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"

static enum ch_status attach_with(enum ch_status take(struct capture *, pid_t),
                                  struct capture *capture, pid_t pid, struct text *out)
{
    char id[REPORT_ID_SIZE];
    report_id_make(clock_now_ms(CLOCK_REALTIME), id);

    struct context_page *context = calloc(1, sizeof(*context));
    enum ch_status status = take(capture, pid);
    if (status == CH_OK && context != NULL && context_find(capture, context) == CH_OK)
        capture->context = context;
    if (status == CH_OK)
        status = raw_report_write(capture, id, -1, out);
    int error = errno;
    capture_release(capture);
    capture_deinit(capture);
    free(context);
    errno = error;
    return status;
}

enum ch_status attach_report(pid_t pid, const struct settings *settings,
                             const char *home, struct text *out, struct text *held)
{
    struct capture capture = {
        .settings = settings,
        .held = held,
        .careful = true, // nothing but SIGKILL would end a wait for a page
        .home = settings->sanitize != SETTING_NO ? home : NULL,
    };
    return attach_with(capture_take, &capture, pid, out);
}

enum ch_status attach_look(pid_t pid, const struct settings *settings, const char *home,
                           struct text *out)
{
    struct capture capture = {
        .settings = settings,
        .home = settings->sanitize != SETTING_NO ? home : NULL,
    };
    return attach_with(capture_look, &capture, pid, out);
}
