// SPDX-License-Identifier: Apache-2.0
//
// The facts about the process and the machine that a report opens with. All come from
// /proc/PID and from system calls; what cannot be read is left out.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "base/text.h"

enum { FACTS_NAME_SIZE = 64 }; // the kernel's names of threads are shorter

struct process_facts {
    pid_t pid;
    pid_t ppid;
    pid_t tid;                         // one of its threads; 0: none
    char thread_name[FACTS_NAME_SIZE]; // of tid
    struct text executable;
    bool executable_deleted;
    struct text arguments; // each followed by a NUL, as /proc/PID/cmdline has them
    struct text working_directory;
    struct text cgroup;
    uint64_t started_ms;  // since 1970; 0: not known
    bool dead;            // it has ended, or is exiting without memory
    uint64_t start_ticks; // since the machine's start; 0: not known
    uint64_t uptime_ms;
    uint64_t rss_bytes;
    uint32_t uid;
    bool had_children; // it has waited for one that ended
    uint64_t cpu_user_ms;
    uint64_t cpu_system_ms;
    uint64_t blocked_signals; // of the thread with the process's number; bit N: N + 1,
                              // up to 31
    uint64_t ignored_signals;
    uint64_t handled_signals;
    uint64_t environment_start; // addresses; 0: not known
    uint64_t environment_end;
};

struct host_facts {
    struct utsname names;
    struct text os; // os-release's PRETTY_NAME
    struct text
        container; // docker, kubernetes, lxc, podman, systemd-nspawn; empty: none
    uint32_t cpus;
    uint64_t memory_bytes;
};

// facts_read_process reads what is known of process pid. tid is one of its threads that
// has not exited: an exited main thread no longer has cmdline, cwd and exe.
void facts_read_process(struct process_facts *out, pid_t pid, pid_t tid);

// facts_read_known is facts_read_process where the text of its status is known already.
void facts_read_known(struct process_facts *out, pid_t pid, pid_t tid,
                      const struct text *status);
// facts_read_cpu_time reads how long a thread of process pid has run. False: it is
// gone.
bool facts_read_cpu_time(pid_t pid, pid_t tid, uint64_t *out_user_ms,
                         uint64_t *out_system_ms);
void facts_deinit_process(struct process_facts *facts);

// facts_read_limit reads a limit of the process. The kernel gives others' limits to a
// process of the same user alone, but everybody may read them in /proc, on the line
// that begins with title. lines keeps that file for the next limit; it is empty at
// first. False: the limit is not known.
bool facts_read_limit(pid_t pid, int resource, const char *title, struct text *lines,
                      struct rlimit *out);

enum { FACTS_ANCESTORS = 5 };

// facts_read_ancestors writes a process's parent, its parent and so on, up to one that
// leads a session, and returns how many.
size_t facts_read_ancestors(pid_t parent, pid_t out[static FACTS_ANCESTORS]);

// facts_read_host reads what is known of the machine as thread tid sees it; our own is
// the cheapest to ask. cgroup is that of the process in question, from
// facts_read_process; NULL: it is tid's, and is read.
void facts_read_host(struct host_facts *out, pid_t tid, const struct text *cgroup);

// facts_remember_root reads what the root folder of thread tid says of the system, for
// later facts_read_host of threads with the same one, as long as its os-release is
// unchanged.
void facts_remember_root(pid_t tid);
void facts_deinit_host(struct host_facts *facts);

// Files that a held process wrote for others to read, as it sees them: in its own mount
// namespace and root.

// PROCESS_FILE_ANY stands for any user.
#define PROCESS_FILE_ANY ((uid_t)-1)

// process_file_read appends a file of the process of pid; the path is absolute and the
// process's. It has to be a regular file of user uid, and no symbolic link leads out of
// the process's root. It is opened with the rights that were applied (rights.h).
// CH_ERR_NOT_FOUND: there is no such file. CH_ERR_LIMIT: it has more than limit_bytes,
// and the first of them were read.
CH_CHECKED enum ch_status process_file_read(pid_t pid, const char *path, uid_t uid,
                                            size_t limit_bytes, struct text *out);

// process_file_number is the process's id in its own PID namespace; 0: not known.
pid_t process_file_number(pid_t pid);
