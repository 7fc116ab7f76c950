// SPDX-License-Identifier: Apache-2.0
//
// probe_agent stands where the agent stands, and instead of a report writes down what
// the handler gave it: one line of key=value for each crash, appended to the file that
// `record` in the folder that XDG_CACHE_HOME names. NO_COLOR says how it behaves.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared/request_page.h"

extern char **environ;

static bool read_page(const struct request_message *message, struct request_page *out)
{
    struct iovec here = { out, sizeof(*out) };
    struct iovec there = { (void *)(uintptr_t)message->page_address, sizeof(*out) };
    return process_vm_readv(message->pid, &here, 1, &there, 1, 0) == sizeof(*out);
}

// print_descriptors lists what is open, the listing's own descriptor left out.
static void print_descriptors(FILE *to)
{
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return;
    fputs(" fds=", to);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd != dirfd(folder))
            fprintf(to, "%ld,", fd);
    }
    closedir(folder);
}

static void print_environment(FILE *to)
{
    fputs(" env=", to);
    for (char **variable = environ; *variable != NULL; variable++)
        fprintf(to, "%.*s,", (int)strcspn(*variable, "="), *variable);
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "CRASHHOOK_", strlen("CRASHHOOK_")) == 0)
            fprintf(to, " %s", *variable);
    }
    fprintf(to, " enable=%s", getenv("CRASHHOOK_ENABLE"));
    fprintf(to, " release=%s", getenv("CRASHHOOK_RELEASE"));
    fprintf(to, " tags=%s", getenv("CRASHHOOK_TAGS"));
    fprintf(to, " spool=%s", getenv("CRASHHOOK_SPOOL"));
}

static void write_record(const struct request_message *message)
{
    struct request_page page = { 0 };
    siginfo_t info;
    char line[8192] = "";
    char path[256];
    const char *folder = getenv("XDG_CACHE_HOME");
    bool got = read_page(message, &page);
    FILE *to = fmemopen(line, sizeof(line), "w");
    if (folder == NULL || to == NULL)
        exit(1);
    snprintf(path, sizeof(path), "%s/record", folder);

    memcpy(&info, page.siginfo, sizeof(info));
    fprintf(to, " read=%d pid=%d tid=%d signal=%d code=%d address=%p sender=%d", got,
            message->pid, message->tid, info.si_signo, info.si_code, info.si_addr,
            info.si_pid);
    fprintf(to, " dies=%u agent=%d same_tid=%d stack=%d group=%d", page.dies,
            page.agent_pid == getpid(), page.crashed_tid == message->tid,
            page.alternate_stack_bytes >= 65536,
            getpgid(0) != getpgid(message->pid) && getpgid(0) != getpid());
    fprintf(to, " kept=%u", page.kept_files);
    print_descriptors(to);
    print_environment(to);
    fputc('\n', to);
    fclose(to);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        exit(1);
    close(fd);
}

int main(void)
{
    const char *how = getenv("NO_COLOR");
    struct request_message message;
    if (how == NULL)
        how = "answer";
    if (strcmp(how, "exit") == 0)
        return 1;
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(how, "die-early") == 0)
        raise(SIGKILL);
    if (read(REQUEST_CHANNEL_FD, &message, sizeof(message)) != sizeof(message) ||
        message.magic != REQUEST_MAGIC)
        return 1;
    write_record(&message);
    if (strcmp(how, "die") == 0)
        raise(SIGKILL);
    if (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "terminate") == 0)
        kill(message.pid, SIGTERM);
    if (strcmp(how, "slow") == 0)
        usleep(300000); // the time in which a program could notice what it must not
    const char answers[] = { REQUEST_WRITTEN, REQUEST_RELEASE };
    if (write(REQUEST_CHANNEL_FD, answers, 2) != 2)
        return 1;
    // The free phase: the process must not have to wait for it.
    if (strcmp(how, "linger") == 0)
        sleep(20);
    return 0;
}
