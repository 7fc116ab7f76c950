// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/record_file.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct record_file record;
    int fd = memfd_create("record", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size &&
        record_file_open(&record, fd) == CH_OK)
        record_file_close(&record);
    close(fd);
    return 0;
}
