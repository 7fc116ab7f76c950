// SPDX-License-Identifier: Apache-2.0
//
// A whole minidump, made into a core and reported.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/core/minidump_core.h"
#include "agent/raw/raw_report.h"
#include "base/system/file.h"
#include "fuzz/fuzz.h"

static void say_nothing(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

static const char *no_variable(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

static void report_dump(int core)
{
    struct settings settings;
    struct core_capture *all = calloc(1, sizeof(*all));
    struct text raw = { .limit_bytes = 16 << 20 };
    settings_read(&settings, no_variable, NULL, NULL);
    const struct core_options options = {
        .settings = &settings,
        .places = { .exe = "/nonexistent", .sysroot = "/nonexistent" },
    };
    if (all != NULL && core_capture_open(all, core, &options) == CH_OK) {
        (void)!raw_report_write(&all->capture, "01930000-0001-7788-99aa-000000000001",
                                -1, &raw);
        core_capture_close(all);
    }
    text_deinit(&raw);
    free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct minidump_places places = { .sysroot = "/nonexistent",
                                            .say = say_nothing };
    const char *why;
    int core = -1;
    int fd = memfd_create("minidump", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    if (file_write_all(fd, bytes, size) &&
        minidump_to_core(fd, &places, &core, &why) == CH_OK) {
        report_dump(core);
        (void)close(core);
    }
    (void)close(fd);
    return 0;
}
