// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/kernel_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

enum {
    READ_ALL = 3, // SYSLOG_ACTION_READ_ALL, which no header defines
    LOG_BYTES = 256 << 10,
};

// line_time_ns is the time in the brackets of "<6>[  123.456789] ...".
static uint64_t line_time_ns(const char *line)
{
    char *end = NULL;
    const char *open = strchr(line, '[');
    uint64_t seconds = open != NULL ? strtoull(open + 1, &end, 10) : 0;
    uint64_t micros = end != NULL && *end == '.' ? strtoull(end + 1, NULL, 10) : 0;
    return seconds * 1000000000 + micros * 1000;
}

bool kernel_log_find_oom(const char *log, pid_t pid, uint64_t since_ns, char *out,
                         size_t size)
{
    // The words of __oom_kill_process() in the kernel.
    char word[48];
    bool found = false;
    (void)snprintf(word, sizeof(word), "Killed process %d (", pid);
    for (const char *line = log; *line != 0; line += line[0] == '\n') {
        const char *end = line + strcspn(line, "\n");
        const char *at = strstr(line, word);
        const char *text = memchr(line, ']', (size_t)(end - line));
        if (at == NULL)
            break;
        if (at < end && text != NULL && line_time_ns(line) >= since_ns) {
            text += strspn(text, "] ");
            (void)snprintf(out, size, "%.*s", (int)(end - text), text);
            found = true;
        }
        line = end;
    }
    return found;
}

bool kernel_log_oom(pid_t pid, uint64_t since_ns, char *out, size_t size)
{
    char *log = malloc(LOG_BYTES);
    int count = log != NULL ? klogctl(READ_ALL, log, LOG_BYTES - 1) : -1;
    bool found = false;
    if (count > 0) {
        log[count] = 0;
        found = kernel_log_find_oom(log, pid, since_ns, out, size);
    }
    free(log);
    return found;
}
