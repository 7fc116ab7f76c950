// SPDX-License-Identifier: Apache-2.0
//
// The context page: what the program records of itself while it runs (tags,
// breadcrumbs, data, files to attach), laid out so that it can be read from outside at
// any moment.
//
// The program writes it without locks; the agent copies the page from the crashed
// process, or finds it in the handler's record. Where the program has a supervisor, the
// page is a part of memory that both have mapped and that outlives the process
// (liveness_record.h). A slot is valid only while its sequence
// number says so: a writer first makes the number odd (for a breadcrumb, 0) and at the
// end valid again, so that a crash in between costs that slot only. Every string is
// bounded by its array, terminated or not.
#pragma once
#include <stdint.h>

#define CONTEXT_MAGIC UINT64_C(0x74786574746e6f63) // "conttext"
enum { CONTEXT_VERSION = 4 };

enum {
    CONTEXT_TAGS = 32,
    CONTEXT_DATA = 16,
    CONTEXT_ATTACHMENTS = 8,
    CONTEXT_BREADCRUMBS = 128,
    CONTEXT_NAME_BYTES = 36,
    LIVENESS_SAMPLES = 96,
};

// A context_tag is a short value by name; context_datum is a longer one. sequence: 0
// unused, odd being written.
struct context_tag {
    uint32_t sequence;
    char name[CONTEXT_NAME_BYTES];
    char value[128];
};

struct context_datum {
    uint32_t sequence;
    char name[CONTEXT_NAME_BYTES];
    char value[1024];
};

struct context_attachment {
    uint32_t sequence;
    uint32_t tail_bytes; // how many bytes of the file's end to attach
    char path[512];
};

// A context_breadcrumb is one message. sequence: 0 unused or being written, else one
// more than the message's number.
struct context_breadcrumb {
    uint64_t sequence;
    uint64_t realtime_ns;
    char message[240];
};

// A liveness_sample is the memory that the process used at a moment.
struct liveness_sample {
    uint64_t realtime_ns; // 0: none
    uint64_t rss_bytes;
    uint64_t cgroup_bytes; // of all in its cgroup; 0: not known
    // How much of the last ten seconds some, and all, of the cgroup's tasks, else the
    // machine's, waited for memory, in hundredths of a percent.
    uint32_t some_waited;
    uint32_t all_waited;
};

// A liveness_events counts what happened in the process's memory cgroup.
struct liveness_events {
    uint64_t oom_kills;   // of the kernel
    uint64_t group_kills; // of the whole cgroup at once
    uint64_t ooms;        // times that a limit on the memory was reached for good
    uint64_t oomd_kills;  // of systemd-oomd
};

// A liveness_supervisor is who watches a process to its end.
enum liveness_supervisor {
    LIVENESS_NO_KEEPER,
    LIVENESS_BY_RUN,
    LIVENESS_BY_TRACE,
    LIVENESS_BY_DAEMON,
    LIVENESS_KEEPERS
};
enum liveness_service {
    LIVENESS_NO_SERVICE,
    LIVENESS_OF_SYSTEMD,
    LIVENESS_OF_KUBERNETES
};

// LIVENESS_ASKED_OUTSIDE is asked_by of a process that is not in our PID namespace.
enum { LIVENESS_ASKED_OUTSIDE = -1 };

// A liveness_ended is how a process has ended: by an exit or a reported crash, or it
// goes on if the handler that is asked after the report recovers. LIVENESS_CRASHED: a
// crash is being reported. LIVENESS_CUT_OFF: the process ended in another way
// meanwhile, and the handler has left a record. LIVENESS_LOST: it ends by a crash of
// which the handler could leave nothing.
enum liveness_ended {
    LIVENESS_ENDED = 1,
    LIVENESS_TOLD,
    LIVENESS_CRASHED,
    LIVENESS_CUT_OFF,
    LIVENESS_LOST
};

// LIVENESS_SIGNAL is the lowest bit of the crash's signal, which is in the same word as
// LIVENESS_CRASHED: both are written by one store. LIVENESS_AWAITS is LIVENESS_ENDED of
// a process that sleeps on the word until its copy is removed and the word is that.
enum { LIVENESS_SIGNAL = 1 << 8, LIVENESS_AWAITS = LIVENESS_SIGNAL + LIVENESS_ENDED };

// A context_liveness is what is known of the program's life outside of its crashes. The
// program itself writes the first five, its supervisor, a process that outlives it, the
// rest.
struct context_liveness {
    uint32_t ended;      // enum liveness_ended, and the signal; 0: it has not
    int32_t told_signal; // that a handler of its own was called for, and asks it to end
    int32_t told_by;     // as asked_by
    uint32_t session_ended; // cleanly; 0: it has not
    uint64_t told_realtime_ns;
    int32_t asked_signal; // the last deadly signal that it was sent; 0: none
    int32_t asked_by;     // pid of who sent that; 0: not known
    int32_t supervisor;   // the supervisor's pid; 0: none
    uint64_t asked_realtime_ns;
    uint64_t
        supervisor_start; // when that began, in clock ticks, as in the record's name
    char asked_by_name[16];
    uint64_t limit_bytes; // of memory, of its cgroup; 0: not known
    uint64_t peak_bytes;  // the most that cgroup has had; 0: not known
    struct liveness_events events;
    uint64_t cpu_limit_s; // RLIMIT_CPU's hard limit; 0: none
    uint64_t cpu_used_ms;
    uint64_t stuck_since_ns; // since when its first thread has slept uninterruptibly
    uint64_t stuck_seen_ns;  // when that was seen last
    char stuck_in[48];       // and in which function of the kernel
    uint32_t supervisor_is;  // enum liveness_supervisor
    uint32_t service;        // enum liveness_service: what runs the process
    uint32_t is_near;        // it dies with the PID namespace, and may have a copier
    int32_t end_signal;      // by which it ended; 0: its supervisor has not seen that
    uint64_t end_realtime_ns;
    uint64_t samples; // written so far; the last LIVENESS_SAMPLES are kept
    struct liveness_sample sample[LIVENESS_SAMPLES];
};

struct context_page {
    uint64_t magic;
    uint32_t version;
    uint32_t size;        // of this struct
    uint64_t breadcrumbs; // written so far; the last CONTEXT_BREADCRUMBS are kept
    uint64_t session;     // of a process whose start was counted; 0: it was not
    uint64_t reported_s;  // when the handler had the last crash reported, in seconds
                          // since 1970; 0: it had none, or could not
    struct context_tag tags[CONTEXT_TAGS];
    struct context_datum data[CONTEXT_DATA];
    struct context_attachment attachments[CONTEXT_ATTACHMENTS];
    struct context_breadcrumb trail[CONTEXT_BREADCRUMBS];
    struct context_liveness liveness;
};

static inline enum liveness_ended
liveness_how_ended(const struct context_liveness *liveness)
{
    return (enum liveness_ended)(liveness->ended % LIVENESS_SIGNAL);
}
