// SPDX-License-Identifier: Apache-2.0
//
// A whole core: notes, mappings and sections together, as `crashhook core` reads them.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/raw/raw_report.h"
#include "fuzz/fuzz.h"

static const char *no_variable(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

static void write_core_report(int fd)
{
    struct settings settings;
    struct core_capture *all = calloc(1, sizeof(*all));
    struct text held = { 0 };
    struct text raw = { .limit_bytes = 16 << 20 };
    char id[REPORT_ID_SIZE];
    settings_read(&settings, no_variable, NULL, NULL);
    const struct core_options options = {
        .settings = &settings,
        .places = { .exe = "/nonexistent", .sysroot = "/nonexistent" },
    };
    report_id_make(0, id);
    if (all != NULL && core_capture_open(all, fd, &options) == CH_OK) {
        all->capture.held = &held;
        (void)!raw_report_write(&all->capture, id, -1, &raw);
        core_capture_close(all);
    }
    text_deinit(&held);
    text_deinit(&raw);
    free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("core", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
        write_core_report(fd);
    if (fd >= 0)
        close(fd);
    return 0;
}
