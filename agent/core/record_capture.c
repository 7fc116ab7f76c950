// SPDX-License-Identifier: Apache-2.0
#include "agent/core/record_capture.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/live/keep.h"
#include "agent/live/request.h"
#include "base/clock.h"
#include "formats/debug/elf.h"

static const char *reason_of_record(uint32_t reason)
{
    switch (reason) {
    case RECORD_NOT_STARTED:
        return "no agent could be started";
    case RECORD_AGENT_GONE:
        return "the agent ended before it had written a report";
    case RECORD_AGENT_LATE:
        return "the agent had written no report by the deadline";
    case RECORD_CUT_OFF:
        return "the program ended in another way before its report was written";
    case RECORD_REFUSED:
        return "the system refused to start an agent, by a signal";
    default:
        return "no agent has written a report";
    }
}

static bool is_later(const struct timespec *time, uint64_t ns)
{
    return (uint64_t)time->tv_sec > ns / 1000000000 ||
           ((uint64_t)time->tv_sec == ns / 1000000000 &&
            (uint64_t)time->tv_nsec > ns % 1000000000);
}

// has_changed returns true if the file now at the mapping's path is not what was mapped
// by the time of the record.
static bool has_changed(const struct record_capture *all,
                        const struct target_mapping *mapping)
{
    // Of a liveness record the time is that of the process's start, in ticks since that
    // of the machine.
    const uint64_t vague_ns = record_capture_is_liveness(all) ? 1000000000 : 0;
    const uint64_t record_ns = all->crash.realtime_ns;
    char path[PATH_MAX];
    struct stat info;
    if (mapping->path_size >= sizeof(path))
        return true;
    memcpy(path, mapping->path, mapping->path_size);
    path[mapping->path_size] = 0;
    if (stat(path, &info) != 0)
        return true;
    bool replaced = info.st_ino != mapping->inode && is_later(&info.st_ctim, record_ns);
    return replaced || is_later(&info.st_mtim, record_ns + vague_ns);
}

static void mark_changed_files(struct record_capture *all)
{
    struct target_images *images = &all->capture.images;
    const struct target_mapping *before = NULL;
    for (size_t i = 0; i < images->mapping_count; i++) {
        struct target_mapping *mapping = &images->mappings[i];
        if (mapping->inode == 0 || mapping->path_size == 0 || mapping->path[0] != '/')
            continue;
        bool same = before != NULL && before->inode == mapping->inode &&
                    before->device == mapping->device;
        if (same)
            mapping->deleted = before->deleted;
        else if (has_changed(all, mapping))
            mapping->deleted = true;
        before = mapping;
    }
}

// shape_as_core presents the record as a core, so that the code that reads cores can be
// used.
static void shape_as_core(struct record_capture *all, int fd)
{
    struct record_file *record = &all->record;
#if defined(__aarch64__)
    all->core = (struct core_file){ .fd = fd, .machine = ELF_AARCH64 };
#else
    all->core = (struct core_file){ .fd = fd, .machine = ELF_X86_64 };
#endif
    all->core.segments = record->segments;
    all->core.segment_count = record->segment_count;
    all->core.auxv = cursor_over(record->auxv.bytes, record->auxv.size);
}

static enum ch_status find_recorded_images(struct record_capture *all)
{
    static const struct core_places here = { 0 };
    struct target_images *images = &all->capture.images;
    struct record_file *record = &all->record;
    text_append(&images->maps, record->maps.bytes, record->maps.size);
    enum ch_status status = images_parse_maps(images);
    if (status != CH_OK)
        return status;
    mark_changed_files(all);
    status = core_memory_init(&all->memory, &all->core);
    if (status != CH_OK)
        return status;
    all->images = (struct core_images){ .core = &all->core,
                                        .places = &here,
                                        .memory = &all->memory,
                                        .say = problem_texts_say,
                                        .say_context = &all->problems,
                                        .images = images };
    status = core_images_find(&all->images);
    if (status == CH_OK)
        core_sections_add(&all->images);
    all->capture.reader = all->images.reader;
    // A record has only the stack, so the memory that the notes point to is missing.
    for (size_t i = 0; i < images->count; i++)
        memset(images->images[i].places, 0, sizeof(images->images[i].places));
    return status;
}

static void set_record_crash(struct record_capture *all)
{
    const struct request_page *page = &all->record.header.page;
    request_crash(page, page->crashed_tid, &all->crash);
    all->capture.crash = &all->crash;
}

static void set_record_process(struct record_capture *all)
{
    const struct record_header *header = &all->record.header;
    struct process_facts *facts = &all->capture.process;
    *facts = (struct process_facts){ .pid = header->pid,
                                     .ppid = header->ppid,
                                     .uid = header->uid };
    text_append(&facts->executable, all->record.executable.bytes,
                all->record.executable.size);
    facts_read_host(&all->capture.host, getpid(), NULL);
}

// bound_liveness keeps what the liveness record says, which is in a file that others
// may have written, to what can be said.
static void bound_liveness(struct context_liveness *liveness)
{
    liveness->asked_by_name[sizeof(liveness->asked_by_name) - 1] = 0;
    liveness->stuck_in[sizeof(liveness->stuck_in) - 1] = 0;
    if (liveness->supervisor_is >= LIVENESS_KEEPERS)
        liveness->supervisor_is = LIVENESS_NO_KEEPER;
    if (liveness->service > LIVENESS_OF_KUBERNETES)
        liveness->service = LIVENESS_NO_SERVICE;
    if (liveness->end_signal < 0 || liveness->end_signal > SIGRTMAX)
        liveness->end_signal = 0;
}

static void set_context(struct record_capture *all)
{
    const struct text *bytes = &all->record.context;
    if (bytes->size != sizeof(all->context))
        return;
    memcpy(&all->context, bytes->bytes, sizeof(all->context));
    bound_liveness(&all->context.liveness);
    if (context_check(&all->context) == CH_OK)
        all->capture.context = &all->context;
}

// set_settings applies the settings that the dead process had.
static void set_settings(struct record_capture *all, const struct settings *settings)
{
    const char *sanitize = record_file_variable(&all->record, "CRASHHOOK_SANITIZE");
    all->settings = *settings;
    all->settings.release = record_file_variable(&all->record, "CRASHHOOK_RELEASE");
    all->settings.environment =
        record_file_variable(&all->record, "CRASHHOOK_ENVIRONMENT");
    all->settings.tags = record_file_variable(&all->record, "CRASHHOOK_TAGS");
    all->settings.user = record_file_variable(&all->record, "CRASHHOOK_USER");
    if (sanitize != NULL && strcmp(sanitize, "no") == 0)
        all->settings.sanitize = SETTING_NO;
    if (all->settings.sanitize != SETTING_NO)
        all->capture.home = record_file_variable(&all->record, "HOME");
    all->capture.settings = &all->settings;
}

// set_liveness_start sets the time of the record to that at which its process began.
static void set_liveness_start(struct record_capture *all)
{
    const uint64_t ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t ticks = all->record.header.page.crash_realtime_ns;
    uint64_t up_ns = clock_now_ns(CLOCK_BOOTTIME);
    uint64_t start_ns = ticks / ticks_per_second * 1000000000 +
                        ticks % ticks_per_second * (1000000000 / ticks_per_second);
    all->crash.realtime_ns = clock_now_ns(CLOCK_REALTIME);
    if (start_ns < up_ns)
        all->crash.realtime_ns -= up_ns - start_ns;
}

static enum ch_status read_record_parts(struct record_capture *all, int fd,
                                        const struct settings *settings)
{
    enum ch_status status = record_file_open(&all->record, fd);
    if (status != CH_OK)
        return status;
    const struct record_header *header = &all->record.header;
    all->capture.tier = "record";
    all->capture.arch = unwind_arch_native();
    all->capture.stop.pid = header->pid;
    // The record has only the crashed thread's name.
    all->capture.core_name = header->thread_name;
    all->capture.core_name_tid = header->page.crashed_tid;
    set_settings(all, settings);
    set_record_crash(all);
    if (header->reason == RECORD_ALIVE)
        set_liveness_start(all);
    else
        problem_texts_say(&all->problems, "%s", reason_of_record(header->reason));
    shape_as_core(all, fd);
    set_record_process(all);
    if (header->reason == RECORD_ALIVE)
        all->capture.process.started_ms = all->crash.realtime_ns / 1000000;
    set_context(all);
    return find_recorded_images(all);
}

enum ch_status record_capture_open(struct record_capture *all, int fd,
                                   const struct settings *settings)
{
    *all = (struct record_capture){
        .capture = { .memory = { .mem_fd = -1 } },
        .problems = { .capture = &all->capture, .stage = "record" },
    };
    enum ch_status status = read_record_parts(all, fd, settings);
    if (status != CH_OK)
        record_capture_close(all);
    return status;
}

bool record_capture_is_liveness(const struct record_capture *all)
{
    return all->record.header.reason == RECORD_ALIVE;
}

bool record_capture_has_ended(const struct record_capture *all)
{
    const struct context_liveness *liveness = &all->context.liveness;
    enum liveness_ended how = liveness_how_ended(liveness);
    return liveness->ended != 0 && how != LIVENESS_CRASHED && how != LIVENESS_LOST;
}

void record_capture_killed(struct record_capture *all,
                           const struct termination *termination,
                           struct process_facts *process)
{
    struct capture *capture = &all->capture;
    struct process_facts *kept = &capture->process;
    pid_t pid = capture->stop.pid;
    uint64_t end_ms = termination->realtime_ns / 1000000;
    if (kept->started_ms != 0 && end_ms > kept->started_ms)
        kept->uptime_ms = end_ms - kept->started_ms;
    all->termination = *termination; // with its texts
    keep_note_sender(&all->termination.liveness, &all->context.liveness);
    if (liveness_how_ended(&all->context.liveness) == LIVENESS_CRASHED)
        all->termination.crash_signal =
            (int)(all->context.liveness.ended / LIVENESS_SIGNAL);
    termination_judge(&all->termination);
    all->crash = (struct target_crash){
        .tid = pid,
        .info.si_signo = termination->exits ? SIGABRT
                         : all->termination.crash_signal != 0
                             ? all->termination.crash_signal
                         : termination->signal != 0 ? termination->signal
                                                    : SIGKILL,
        .realtime_ns = termination->realtime_ns,
        .flight_state = all->record.flight_state,
        .signal_only = true,
        .dies = true,
    };
    capture->crash = &all->crash;
    capture->termination = &all->termination;
    capture->gone = true;
    if (process == NULL)
        return;
    if (process->executable.size == 0) { // it ended before its supervisor looked
        text_deinit(&process->executable);
        process->executable = kept->executable;
        kept->executable = (struct text){ 0 };
    }
    facts_deinit_process(kept);
    *kept = *process;
    kept->rss_bytes = 0; // of one time; the samples have it
    *process = (struct process_facts){ 0 };
}

// read_nothing is the memory of a process that nothing is left of.
static size_t read_nothing(void *source, uint64_t address, void *to, size_t length)
{
    (void)source;
    (void)address;
    (void)to;
    (void)length;
    return 0;
}

void record_capture_bare(struct record_capture *all, pid_t pid,
                         const struct settings *settings)
{
    *all = (struct record_capture){
        .capture = { .memory = { .mem_fd = -1 },
                     .settings = settings,
                     .tier = "record",
                     .arch = unwind_arch_native(),
                     .reader = { .read = read_nothing },
                     .stop = { .pid = pid } },
        .problems = { .capture = &all->capture, .stage = "record" },
        .settings = *settings,
    };
    facts_read_host(&all->capture.host, getpid(), NULL);
}

void record_capture_close(struct record_capture *all)
{
    termination_deinit(&all->termination);
    capture_deinit(&all->capture);
    core_images_deinit(&all->images);
    core_memory_deinit(&all->memory);
    record_file_close(&all->record);
    problem_texts_deinit(&all->problems);
}
