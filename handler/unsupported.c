// SPDX-License-Identifier: Apache-2.0
//
// libcrashhook for processors that the handler does not know: programs that call it
// build and run there, and leave no reports.
#include <errno.h>
#include <stdlib.h>

#include "crashhook/crashhook.h"

int crashhook_install(const struct crashhook_options *options)
{
    (void)options;
    return ENOTSUP;
}

int crashhook_thread_init(void)
{
    return ENOTSUP;
}

int crashhook_set_tag(const char *name, const char *value)
{
    (void)name;
    (void)value;
    return ECANCELED;
}

int crashhook_set_user(const char *id)
{
    return crashhook_set_tag(NULL, id);
}

int crashhook_set_data(const char *name, const char *value)
{
    return crashhook_set_tag(name, value);
}

void crashhook_breadcrumb(const char *message)
{
    (void)message;
}

int crashhook_attach_file(const char *path, size_t tail_bytes)
{
    (void)path;
    (void)tail_bytes;
    return ECANCELED;
}

void crashhook_set_callbacks(crashhook_before_fn *before, crashhook_after_fn *after,
                             void *argument)
{
    (void)before;
    (void)after;
    (void)argument;
}

int crashhook_session_begin(void)
{
    return ECANCELED;
}

void crashhook_session_end(void)
{
}

int crashhook_report_now(const char *why)
{
    (void)why;
    return ECANCELED;
}

int crashhook_watchdog_start(unsigned timeout_ms)
{
    (void)timeout_ms;
    return ECANCELED;
}

void crashhook_watchdog_end_after(unsigned timeouts)
{
    (void)timeouts;
}

void crashhook_watchdog_feed(void)
{
}

void crashhook_watchdog_stop(void)
{
}

void crashhook_test_crash(enum crashhook_test how)
{
    (void)how;
    abort();
}

int crashhook_watch_object(const char *name, const volatile void *object,
                           const char *type, size_t size)
{
    (void)name;
    (void)object;
    (void)type;
    (void)size;
    return ENOSPC;
}

int(crashhook_unwatch)(const volatile void *object)
{
    (void)object;
    return ENOENT;
}

int crashhook_unwatch_name(const char *name)
{
    return (crashhook_unwatch)(name);
}

const char *crashhook_version(void)
{
    return CRASHHOOK_VERSION;
}
