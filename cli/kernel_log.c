// SPDX-License-Identifier: Apache-2.0
#include "cli/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { RECORD_SIZE = 8192, RECORDS_MAX = 100000, TIME_SIZE = 32 };

bool kernel_log_tells(const char *message, pid_t pid, bool *out_memory)
{
    char killed[48];
    char fault[24];
    // As the kernel words it when memory runs out, and in the fault handlers of x86 and
    // Arm.
    (void)snprintf(killed, sizeof(killed), "Killed process %d (", pid);
    (void)snprintf(fault, sizeof(fault), "[%d]", pid);
    if (strstr(message, killed) != NULL) {
        *out_memory = true;
        return true;
    }
    const char *at = strstr(message, fault);
    if (at == NULL)
        return false;
    at += strlen(fault);
    *out_memory = false;
    return strstr(at, "segfault at ") != NULL || strstr(at, " trap ") == at ||
           strstr(at, "general protection") != NULL ||
           strstr(at, "unhandled ") != NULL || strstr(at, "bad frame") != NULL ||
           strstr(at, "invalid opcode") != NULL;
}

// append_kernel_message appends the first line of a record after its time of day.
static void append_kernel_message(const char *record, const char *message,
                                  struct text *out)
{
    char time_text[TIME_SIZE] = "";
    uint64_t us = 0;
    const char *number = strchr(record, ',');
    const char *moment = number != NULL ? strchr(number + 1, ',') : NULL;
    if (moment != NULL)
        us = strtoull(moment + 1, NULL, 10);
    time_t seconds = (time_t)((clock_now_ms(CLOCK_REALTIME) -
                               clock_now_ms(CLOCK_MONOTONIC) + us / 1000) /
                              1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ ", &parts);
    text_append_string(out, time_text);
    text_append(out, message, strcspn(message, "\n"));
}

// take_kernel_record keeps a record that tells of pid in place of an earlier one.
static bool take_kernel_record(const char *record, pid_t pid, struct text *out,
                               bool *out_memory)
{
    const char *message = strchr(record, ';');
    if (message == NULL || !kernel_log_tells(message + 1, pid, out_memory))
        return false;
    text_deinit(out);
    append_kernel_message(record, message + 1, out);
    return true;
}

// find_in_file reads lines, as someone has kept them of /dev/kmsg.
static bool find_in_file(const char *path, pid_t pid, struct text *out,
                         bool *out_memory)
{
    char line[RECORD_SIZE];
    bool found = false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL)
        found = take_kernel_record(line, pid, out, out_memory) || found;
    (void)fclose(file);
    errno = 0;
    return found;
}

bool kernel_log_find(const char *path, pid_t pid, struct text *out, bool *out_memory)
{
    char record[RECORD_SIZE];
    bool found = false;
    if (path != NULL)
        return find_in_file(path, pid, out, out_memory);
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        ssize_t length = read(fd, record, sizeof(record) - 1);
        if (length < 0 && errno == EPIPE)
            continue; // this record was overwritten before it was read
        if (length <= 0)
            break;
        record[length] = 0;
        found = take_kernel_record(record, pid, out, out_memory) || found;
    }
    (void)close(fd);
    errno = 0;
    return found;
}
