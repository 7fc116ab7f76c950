// SPDX-License-Identifier: Apache-2.0
//
// A process by its number: what would stop a report of one that lives. doctor_gone.c
// says why there is none of one that has died.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/live/facts.h"
#include "base/clock.h"
#include "base/system/mounts.h"
#include "cli/doctor/doctor.h"
#include "formats/debug/maps.h"
#include "images/read_file.h"

enum { PROC_FILE_BYTES = 8 << 20 };

static bool process_file(pid_t pid, const char *name, struct text *out)
{
    return read_process_file(pid, name, PROC_FILE_BYTES, out) == CH_OK &&
           out->bytes != NULL;
}

// doctor_status_number is the number after key in a process's status, in that base.
static uint64_t doctor_status_number(const struct text *status, const char *key,
                                     int base)
{
    const char *at = status->bytes != NULL ? strstr(status->bytes, key) : NULL;
    return at != NULL ? strtoull(at + strlen(key), NULL, base) : 0;
}

// process_variable is a variable in an environment of NUL-ended strings; NULL: not set.
static const char *process_variable(const struct text *environment, const char *name)
{
    size_t length = strlen(name);
    const char *end = environment->bytes + environment->size;
    for (const char *at = environment->bytes; at != NULL && at < end;
         at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static const char handler_name[] = "/libcrashhook.so";

static bool holds_the_handler(const struct text *maps)
{
    return maps->bytes != NULL && strstr(maps->bytes, handler_name) != NULL;
}

static bool may_execute(const char *path)
{
    return access(path, X_OK) == 0;
}

// live_finds_agent returns true if the handler of a live process, whose maps these are,
// would find an agent: in the folders that the process sees, which a chroot may have
// changed.
static bool live_finds_agent(pid_t pid, const struct text *maps, const char *chosen)
{
    char root[32];
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    (void)snprintf(root, sizeof(root), "/proc/%d/root", pid);
    if (chosen != NULL && chosen[0] == '/') {
        text_appendf(&path, "%s%s", root, chosen);
        return text_ok(&path) && may_execute(path.bytes);
    }
    const char *end = strstr(maps->bytes, handler_name);
    const char *start = end;
    while (start > maps->bytes && start[-1] != '\n')
        start--;
    start += strcspn(start, "/");
    text_append(&path, start, (size_t)(end - start) + 1);
    return text_ok(&path) && doctor_find_agent(root, path.bytes, may_execute);
}

// note_no_agent notes that a live process would find no agent; true: it would.
static bool note_no_agent(pid_t pid, const struct text *maps,
                          const struct text *environment, struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) root = { 0 };
    const char *mode = process_variable(environment, "CRASHHOOK_MODE");
    // Without the right to see its root, or with an agent that waits, nothing is known.
    if (read_process_link(pid, "root", &root) != CH_OK || !text_ok(&root) ||
        (mode != NULL && strcmp(mode, "daemon") == 0) ||
        live_finds_agent(pid, maps, process_variable(environment, "CRASHHOOK_AGENT")))
        return true;
    text_appendf(&out->line,
                 "; no agent is where its handler looks for one%s%s: a crash leaves a "
                 "record at best",
                 strcmp(root.bytes, "/") != 0 ? ", below its root " : "",
                 strcmp(root.bytes, "/") != 0 ? root.bytes : "");
    return false;
}

// note_live_settings notes what the process was started with; false: it reports
// nothing by that.
static bool note_live_settings(const struct text *environment,
                               struct doctor_finding *out)
{
    const char *enable = process_variable(environment, "CRASHHOOK_ENABLE");
    const char *spool = process_variable(environment, "CRASHHOOK_SPOOL");
    const char *url = process_variable(environment, "CRASHHOOK_URL");
    text_appendf(&out->line, "; its reports go to %s%s%s",
                 spool != NULL ? spool : "the spool of its user",
                 url != NULL ? " and to " : "", url != NULL ? url : "");
    if (enable == NULL || strcmp(enable, "no") != 0)
        return true;
    text_append_string(&out->line, "; CRASHHOOK_ENABLE=no: it reports nothing");
    return false;
}

static void note_live_limits(const struct text *status, struct doctor_finding *out)
{
    enum { STRICT = 1, FILTER = 2 };
    if (doctor_status_number(status, "\nSeccomp:", 10) == STRICT)
        text_append_string(&out->line,
                           "; its first thread is in strict seccomp mode, so "
                           "a crash of that is not reported, except by "
                           "`crashhook run`");
    if (doctor_status_number(status, "\nSeccomp:", 10) == FILTER)
        text_append_string(&out->line,
                           "; it has a seccomp filter, and what that denies "
                           "is not in its report");
    if (doctor_status_number(status, "\nTracerPid:", 10) != 0)
        text_appendf(&out->line, "; process %" PRIu64 " traces it",
                     doctor_status_number(status, "\nTracerPid:", 10));
}

// note_emulator: Valgrind loads a library of its own into what it runs; qemu maps the
// program itself.
static void note_emulator(const char *program, const struct text *maps,
                          struct doctor_finding *out)
{
    const char *name = strrchr(program, '/');
    name = name != NULL ? name + 1 : program;
    if (strstr(maps->bytes, "/vgpreload_core") != NULL)
        text_append_string(&out->line,
                           "; it runs under Valgrind: a crash is reported after "
                           "Valgrind has printed its own, registers may be older than "
                           "the failing instruction, and stacks of other threads are "
                           "Valgrind's own");
    else if (strncmp(name, "qemu-", 5) == 0)
        text_append_string(&out->line,
                           "; it runs under qemu, where no agent starts: a report has "
                           "the crashed thread alone");
}

// count_flagged counts the mappings that have one of those flags in VmFlags of smaps,
// each of two letters after a space.
static size_t count_flagged(const struct text *smaps, const char *wanted)
{
    size_t count = 0;
    const char *at = smaps->size != 0 ? smaps->bytes : "";
    while ((at = strstr(at, "\nVmFlags:")) != NULL) {
        const char *line = ++at;
        size_t size = strcspn(line, "\n");
        const char *flag = wanted;
        while (*flag != 0 && memmem(line, size, flag, 3) == NULL)
            flag += 3;
        count += *flag != 0;
    }
    return count;
}

// count_served counts the mappings of files on file systems that may block, and finds
// the path of the first.
static size_t count_served(pid_t pid, const struct text *maps, struct text *out_first)
{
    struct mounts CH_CLEANUP(mounts_deinit) mounts;
    struct cursor lines = cursor_over(maps->bytes, maps->size);
    struct maps_entry mapping;
    size_t count = 0;
    size_t mount;
    if (mounts_read(&mounts, pid) != CH_OK)
        return 0;
    for (enum ch_status status; (status = maps_next(&lines, &mapping)) != CH_END;) {
        if (status != CH_OK || mapping.inode == 0 || mapping.path_size == 0 ||
            mapping.path[0] != '/' || mapping.deleted ||
            !mounts_may_block(&mounts, mapping.path, mapping.path_size, &mount))
            continue;
        if (count++ == 0)
            text_append(out_first, mapping.path, mapping.path_size);
    }
    return count;
}

static void note_blocking(pid_t pid, const struct text *maps, const struct text *smaps,
                          struct doctor_finding *out)
{
    static const char then[] =
        ": a report leaves out pages that do not come, and is later by 2 s, or a "
        "quarter of CRASHHOOK_TIMEOUT if that is less";
    struct text CH_CLEANUP(text_deinit) first = { 0 };
    size_t supplied = count_flagged(smaps, " um uw ui"); // userfaultfd
    size_t served = count_served(pid, maps, &first);
    if (supplied != 0)
        text_appendf(&out->line,
                     "; the pages of %zu of its mappings are supplied by a process "
                     "(userfaultfd)%s",
                     supplied, then);
    if (served != 0)
        text_appendf(&out->line,
                     "; %zu of its mappings are of files whose server may not answer "
                     "(FUSE, NFS), such as '%s'%s",
                     served, first.bytes, supplied == 0 ? then : "");
}

// has_shadow_stacks returns true if this processor and its kernel have shadow stacks:
// user_shstk of x86-64, HWCAP_GCS of AArch64.
static bool has_shadow_stacks(void)
{
#ifdef __aarch64__
    return (getauxval(AT_HWCAP) >> 32 & 1) != 0;
#else
    enum { LIST_MAX = 1 << 20 };
    struct text CH_CLEANUP(text_deinit) processors = { 0 };
    return read_file("/proc/cpuinfo", LIST_MAX, &processors) == CH_OK &&
           processors.size != 0 && strstr(processors.bytes, " user_shstk") != NULL;
#endif
}

static void note_shadow_stack(const struct text *smaps, struct doctor_finding *out)
{
    if (count_flagged(smaps, " ss") != 0)
        text_append_string(&out->line,
                           "; it has a shadow stack, which gives the callers "
                           "where its stack was overwritten");
    else if (smaps->size != 0 && has_shadow_stacks())
        text_append_string(&out->line,
                           "; it has no shadow stack, which this processor offers: "
                           "after an overwrite of its stack, callers may be missing "
                           "(docs/unwinding.md says what it needs)");
}

static enum doctor_verdict note_live(pid_t pid, struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    struct text CH_CLEANUP(text_deinit) maps = { 0 };
    struct text CH_CLEANUP(text_deinit) smaps = { 0 };
    struct text CH_CLEANUP(text_deinit) environment = { 0 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    if (!process_file(pid, "maps", &maps) || !process_file(pid, "status", &status)) {
        text_appendf(&out->line, "process %d cannot be looked at: %s", pid,
                     errno != 0 ? strerror(errno) : "it has no memory");
        return DOCTOR_NOTE;
    }
    if (read_process_link(pid, "exe", &path) != CH_OK)
        text_append_string(&path, "?");
    text_appendf(&out->line, "process %d, '%s', %s", pid, path.bytes,
                 holds_the_handler(&maps) ? "holds the handler" : "");
    bool catches =
        (doctor_status_number(&status, "\nSigCgt:", 16) >> (SIGSEGV - 1) & 1) != 0;
    if (!holds_the_handler(&maps)) {
        text_appendf(
            &out->line,
            "does not hold the shared handler%s: start it by `crashhook run`, or "
            "look at it now by `crashhook attach %d`",
            catches ? ", but has a handler of SIGSEGV, linked or its own" : "", pid);
        return DOCTOR_TROUBLE;
    }
    (void)process_file(pid, "environ", &environment);
    bool enabled = note_live_settings(&environment, out);
    bool reported = enabled && catches && note_no_agent(pid, &maps, &environment, out);
    note_live_limits(&status, out);
    note_emulator(path.bytes, &maps, out);
    (void)process_file(pid, "smaps", &smaps);
    note_blocking(pid, &maps, &smaps, out);
    note_shadow_stack(&smaps, out);
    if (enabled && !catches)
        text_append_string(&out->line, "; it does not catch SIGSEGV now");
    return reported ? DOCTOR_FINE : DOCTOR_TROUBLE;
}

// is_started_after returns true if a process that lives was started when the one in
// question was gone: the kernel gave the number away again.
static bool is_started_after(pid_t pid, const struct time_span *span)
{
    struct process_facts facts;
    if (span == NULL)
        return false;
    facts_read_process(&facts, pid, pid);
    bool after =
        facts.started_ms != 0 && (int64_t)(facts.started_ms / 1000) > span->last;
    facts_deinit_process(&facts);
    return after;
}

enum doctor_verdict doctor_process(struct doctor *doctor, struct doctor_finding *out)
{
    char *end = NULL;
    struct time_span times;
    const struct time_span *span = doctor->at != NULL ? &times : NULL;
    long pid = strtol(doctor->pid, &end, 10);
    if (*doctor->pid == 0 || *end != 0 || pid <= 0 || pid > INT32_MAX) {
        text_appendf(&out->line, "'%s' is no process's number", doctor->pid);
        return DOCTOR_TROUBLE;
    }
    int64_t now = (int64_t)(clock_now_ms(CLOCK_REALTIME) / 1000);
    if (span != NULL && !time_span_read(doctor->at, now, &times)) {
        text_appendf(&out->line, "'%s' is no time: 12:31 or 2026-11-22T12:31",
                     doctor->at);
        return DOCTOR_TROUBLE;
    }
    bool lives = kill((pid_t)pid, 0) == 0 || errno == EPERM;
    if (lives && !is_started_after((pid_t)pid, span))
        return note_live((pid_t)pid, out);
    return doctor_gone(doctor, (pid_t)pid, span, out);
}
