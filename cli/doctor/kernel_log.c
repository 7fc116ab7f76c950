// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/kernel_log.h"

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

// kernel_log_tells says whether message tells how process pid ended.
static bool kernel_log_tells(const char *message, pid_t pid, bool *out_memory)
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

// kernel_record_second is when a record was written, in seconds since 1970.
static int64_t kernel_record_second(const char *record)
{
    uint64_t us = 0;
    const char *number = strchr(record, ',');
    const char *moment = number != NULL ? strchr(number + 1, ',') : NULL;
    if (moment != NULL)
        us = strtoull(moment + 1, NULL, 10);
    return (int64_t)((clock_now_ms(CLOCK_REALTIME) - clock_now_ms(CLOCK_MONOTONIC) +
                      us / 1000) /
                     1000);
}

// append_kernel_message appends the first line of a record after its time of day.
static void append_kernel_message(int64_t second, const char *message, struct text *out)
{
    char time_text[TIME_SIZE] = "";
    time_t seconds = (time_t)second;
    struct tm parts;
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ ", &parts);
    text_append_string(out, time_text);
    text_append(out, message, strcspn(message, "\n"));
}

// take_kernel_record keeps a record that answers the query in place of an earlier one.
static void take_kernel_record(const char *record, const struct kernel_log_query *query,
                               struct kernel_log_answer *out)
{
    bool memory;
    const char *message = strchr(record, ';');
    int64_t second = kernel_record_second(record);
    if (message == NULL)
        return;
    if (out->begins == 0)
        out->begins = second;
    if (!time_span_has(query->span, second) ||
        !kernel_log_tells(message + 1, query->pid, &memory))
        return;
    out->memory = memory;
    text_clear(&out->message);
    append_kernel_message(second, message + 1, &out->message);
}

// find_in_file reads lines, as someone has kept them of /dev/kmsg.
static bool find_in_file(const struct kernel_log_query *query,
                         struct kernel_log_answer *out)
{
    char line[RECORD_SIZE];
    FILE *file = fopen(query->path, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL)
        take_kernel_record(line, query, out);
    (void)fclose(file);
    errno = 0;
    return out->message.size != 0;
}

bool kernel_log_find(const struct kernel_log_query *query,
                     struct kernel_log_answer *out)
{
    char record[RECORD_SIZE];
    if (query->path != NULL)
        return find_in_file(query, out);
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
        take_kernel_record(record, query, out);
    }
    (void)close(fd);
    errno = 0;
    return out->message.size != 0;
}
