// SPDX-License-Identifier: Apache-2.0
//
// How it works (capture_take): stop all threads, then read the rest from the stopped
// process, in this order: thread names (ahead, on a second thread), rights, memory
// reader, a first bulk read of what will be needed anyway, images from the map, the
// dynamic linker's list, facts of the process and the host. Stacks are not read here:
// the report's writer walks them while the process is still held.
//
// States: taken (threads are stopped) -> released (capture_release: threads run, or
// die) -> deinitialized. Everything that reads the process needs the first.
//
// Only a failure to stop the process, or to allocate, ends the capture. Whatever else
// fails is a problem of the report (capture_problem), and the part is missing.
//
// This file also has the reading of thread names (thread_names_*) and the bound on
// single reads (stall_*): two timers, of which the first kills us and the second sets
// the first back as long as signals are delivered, which a read that does not end
// prevents.
#include "agent/live/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/system/own_thread.h"
#include "base/system/own_user.h"
#include "base/system/rights.h"
#include "formats/debug/maps.h"
#include "images/image_frames.h"
#include "images/link_map.h"
#include "shared/context_page.h"
#include "shared/request_page.h"

// procmap_query is the kernel's, for headers older than the kernel.
struct procmap_query {
    uint64_t size;
    uint64_t query_flags;
    uint64_t query_addr;
    uint64_t vma_start;
    uint64_t vma_end;
    uint64_t vma_flags;
    uint64_t vma_page_size;
    uint64_t vma_offset;
    uint64_t inode;
    uint32_t dev_major;
    uint32_t dev_minor;
    uint32_t vma_name_size; // in: of the buffer, 0: none; out: with its zero
    uint32_t build_id_size;
    uint64_t vma_name_addr;
    uint64_t build_id_addr;
};

#define PROCMAP_QUERY_CALL _IOWR('f', 17, struct procmap_query)

enum {
    VMA_PERMISSIONS = MAPS_READ | MAPS_WRITE | MAPS_EXECUTE | MAPS_SHARED, // the same
    COVERING_OR_NEXT = 0x10,
    MAPPINGS_MAX = 1 << 20,
};

// A map_query is the list under way.
struct map_query {
    struct target_images *to;
    size_t capacity;
    uint64_t next; // where the last mapping ends
    int fd;
    struct procmap_query asked;
    char name[PATH_MAX + 16]; // with " (deleted)"
};

// query_at asks for the mapping at address or the next one, with its name or without.
static bool query_at(struct map_query *query, uint64_t address, bool named)
{
    query->asked = (struct procmap_query){
        .size = sizeof(query->asked),
        .query_flags = COVERING_OR_NEXT,
        .query_addr = address,
        .vma_name_size = named ? sizeof(query->name) : 0,
        .vma_name_addr = named ? (uintptr_t)query->name : 0,
    };
    return ioctl(query->fd, PROCMAP_QUERY_CALL, &query->asked) == 0;
}

static struct target_mapping mapping_of(const struct procmap_query *asked)
{
    return (struct target_mapping){
        .start = asked->vma_start,
        .end = asked->vma_end,
        .permissions = (unsigned)asked->vma_flags & VMA_PERMISSIONS,
        .inode = asked->inode,
        .device = (uint64_t)asked->dev_major << 32 | asked->dev_minor,
        .offset = asked->vma_offset,
    };
}

// has_same_path returns true if a mapping is another part of the file before it.
static bool has_same_path(const struct target_mapping *before,
                          const struct target_mapping *mapping)
{
    return mapping->inode != 0 && mapping->start == before->end &&
           mapping->inode == before->inode && mapping->device == before->device;
}

// note_name appends the name to the text of all, and its size to the mapping.
static void note_name(const struct map_query *query, struct target_mapping *mapping)
{
    static const char deleted[] = " (deleted)";
    const size_t suffix = sizeof(deleted) - 1;
    size_t size = strnlen(query->name, query->asked.vma_name_size);
    if (query->asked.vma_name_size == 0 || size == 0)
        return;
    mapping->deleted =
        size > suffix && strcmp(query->name + size - suffix, deleted) == 0;
    mapping->path_size = mapping->deleted ? size - suffix : size;
    text_append(&query->to->maps, query->name, mapping->path_size);
}

static enum ch_status append_mapping(struct map_query *query,
                                     const struct target_mapping *mapping)
{
    struct target_images *to = query->to;
    if (!array_reserve(&to->mappings, &query->capacity, to->mapping_count,
                       sizeof(to->mappings[0])) ||
        to->mappings == NULL)
        return CH_ERR_NO_MEMORY;
    to->mappings[to->mapping_count++] = *mapping;
    query->next = mapping->end;
    return CH_OK;
}

// query_next appends the next mapping. CH_END: there is none.
static enum ch_status query_next(struct map_query *query)
{
    struct target_images *to = query->to;
    const struct target_mapping *before =
        to->mapping_count != 0 ? &to->mappings[to->mapping_count - 1] : NULL;
    // What follows a file's mapping is probably another part of it.
    bool named = before == NULL || before->inode == 0;
    if (!query_at(query, query->next, named))
        return errno == ENOENT ? CH_END : CH_ERR_UNSUPPORTED;
    struct target_mapping mapping = mapping_of(&query->asked);
    bool same = before != NULL && has_same_path(before, &mapping);
    if (mapping.end <= mapping.start || mapping.end <= query->next ||
        to->mapping_count == MAPPINGS_MAX)
        return CH_ERR_UNSUPPORTED;
    if (!same && !named) {
        if (!query_at(query, mapping.start, true) ||
            query->asked.vma_start != mapping.start)
            return CH_ERR_UNSUPPORTED;
        mapping = mapping_of(&query->asked);
    }
    if (same) {
        mapping.path_size = before->path_size;
        mapping.deleted = before->deleted;
    } else {
        note_name(query, &mapping);
    }
    return append_mapping(query, &mapping);
}

// set_paths points the mappings to their names, which have ceased to move.
static void set_paths(struct target_images *to)
{
    const char *at = to->maps.bytes;
    for (size_t i = 0; i < to->mapping_count; i++) {
        struct target_mapping *mapping = &to->mappings[i];
        bool same = i != 0 && has_same_path(mapping - 1, mapping);
        if (mapping->path_size == 0)
            continue;
        mapping->path = same ? mapping[-1].path : at;
        at += same ? 0 : mapping->path_size;
    }
}

enum ch_status map_query_read(struct target_images *out, pid_t pid)
{
    char path[32];
    struct map_query query = { .to = out };
    enum ch_status status = CH_OK;
    *out = (struct target_images){ 0 };
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    query.fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (query.fd < 0)
        return CH_ERR_IO;
    while (status == CH_OK)
        status = query_next(&query);
    close(query.fd);
    if (status == CH_END && out->mapping_count != 0 && text_ok(&out->maps)) {
        set_paths(out);
        return CH_OK;
    }
    images_deinit(out);
    return status == CH_END ? CH_ERR_UNSUPPORTED : status;
}

static timer_t stall_timer;
static timer_t set_back_timer;
static struct itimerspec stall_time; // zero: no bound

static struct timespec timespec_of_ms(uint64_t ms)
{
    return (struct timespec){ .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000) * 1000000 };
}

bool stall_start_timer(int signal, uint64_t first_ms, uint64_t every_ms, timer_t *out)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
    const struct itimerspec when = { .it_value = timespec_of_ms(first_ms),
                                     .it_interval = timespec_of_ms(every_ms) };
    return timer_create(CLOCK_MONOTONIC, &event, out) == 0 &&
           timer_settime(*out, 0, &when, NULL) == 0;
}

static void set_back_stall(int signal)
{
    (void)signal;
    (void)timer_settime(stall_timer, 0, &stall_time, NULL);
}

// stall_begin starts both timers for a crash that may take timeout_ms.
static void stall_begin(uint64_t timeout_ms)
{
    enum { SET_BACK_TIMES = 4 };
    uint64_t stall_ms = request_stall_ms(timeout_ms);
    uint64_t every_ms = stall_ms / SET_BACK_TIMES;
    const struct sigaction action = { .sa_handler = set_back_stall,
                                      .sa_flags = SA_RESTART };
    if (every_ms == 0 || sigaction(SIGUSR1, &action, NULL) != 0 ||
        !stall_start_timer(SIGKILL, stall_ms, 0, &stall_timer))
        return;
    stall_time.it_value = timespec_of_ms(stall_ms);
    if (stall_start_timer(SIGUSR1, every_ms, every_ms, &set_back_timer))
        return;
    stall_time.it_value = (struct timespec){ 0 };
    set_back_stall(0);
}

void stall_end(void)
{
    if (stall_time.it_value.tv_sec == 0 && stall_time.it_value.tv_nsec == 0)
        return;
    stall_time.it_value = (struct timespec){ 0 };
    // It would end us where finish_exec has restored the signals.
    (void)timer_settime(set_back_timer, 0, &stall_time, NULL);
    set_back_stall(0);
}

// From so many threads on, starting one of ours costs less than it saves.
enum { LEAST_THREADS = 24 };

static void read_thread_name(const struct stop *stop, pid_t tid,
                             char out[static THREAD_NAME_SIZE])
{
    char path[32];
    out[0] = 0;
    if (stop->tasks_fd == 0)
        return;
    snprintf(path, sizeof(path), "%d/comm", tid);
    int fd = openat(stop->tasks_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = read(fd, out, THREAD_NAME_SIZE - 1);
    close(fd);
    out[size > 0 ? size : 0] = 0;
    out[strcspn(out, "\n")] = 0;
}

// read_names_ahead is what the second thread runs: it ends where the caller is.
static void *read_names_ahead(void *context)
{
    struct thread_names *names = context;
    const struct stop *stop = names->stop;
    own_thread_leave(names->callers_processor);
    for (size_t i = stop->count; i > atomic_load(&names->passed); i--) {
        struct thread_name *name = &names->names[i - 1];
        read_thread_name(stop, stop->threads[i - 1].tid, name->text);
        atomic_store_explicit(&name->complete, true, memory_order_release);
    }
    return NULL;
}

// may_start_reader returns true if there is a processor for a second thread, and no
// filter that may forbid it.
static bool may_start_reader(void)
{
    cpu_set_t cpus;
    return permitted_all() && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
           CPU_COUNT(&cpus) > 1;
}

void thread_names_begin(struct thread_names *names, const struct stop *stop)
{
    if (stop->count < LEAST_THREADS || stop->tasks_fd == 0 || !may_start_reader())
        return;
    names->names = calloc(stop->count, sizeof(*names->names));
    if (names->names == NULL)
        return;
    names->stop = stop;
    names->callers_processor = sched_getcpu();
    names->reading = pthread_create(&names->reader, NULL, read_names_ahead, names) == 0;
}

// find_thread_index gives the thread's index in stop, starting at the one that is
// probably wanted; SIZE_MAX: it is not listed.
static size_t find_thread_index(const struct thread_names *names, pid_t tid)
{
    const struct stop *stop = names->stop;
    for (size_t i = names->next; i < stop->count; i++)
        if (stop->threads[i].tid == tid)
            return i;
    for (size_t i = 0; i < names->next; i++)
        if (stop->threads[i].tid == tid)
            return i;
    return SIZE_MAX;
}

void thread_names_get(struct thread_names *names, const struct stop *stop, pid_t tid,
                      char out[static THREAD_NAME_SIZE])
{
    size_t index = names->names != NULL ? find_thread_index(names, tid) : SIZE_MAX;
    // The caller goes through them in order, after the crashed thread, which comes
    // first.
    if (index != SIZE_MAX && stop->threads[index].state != STOP_FREE) {
        names->next = index + 1;
        atomic_store(&names->passed, names->next);
    }
    if (index != SIZE_MAX &&
        atomic_load_explicit(&names->names[index].complete, memory_order_acquire))
        memcpy(out, names->names[index].text, THREAD_NAME_SIZE);
    else
        read_thread_name(stop, tid, out);
}

void thread_names_end(struct thread_names *names)
{
    if (names->reading)
        atomic_store(&names->passed, names->stop->count);
}

void thread_names_deinit(struct thread_names *names)
{
    thread_names_end(names);
    if (names->reading)
        pthread_join(names->reader, NULL);
    free(names->names);
    *names = (struct thread_names){ 0 };
}

// How long a thread may take to stop: longer than any scheduling delay, but short
// enough that a thread blocked in an unresponsive file system does not hold the process
// for long.
enum { STOP_BUDGET_MS = 1000 };

uint64_t capture_clock_us(void)
{
    return clock_now_us(CLOCK_MONOTONIC);
}

void capture_problem(struct capture *capture, const char *stage, const char *status,
                     uint64_t address)
{
    for (size_t i = 0; i < capture->problem_count; i++) {
        const struct capture_problem *known = &capture->problems[i];
        if (known->address == address && strcmp(known->stage, stage) == 0 &&
            strcmp(known->status, status) == 0)
            return;
    }
    if (capture->problem_count == CAPTURE_PROBLEMS_MAX)
        return;
    capture->problems[capture->problem_count++] =
        (struct capture_problem){ stage, status, address };
}

// stop_budget_ms leaves most of a short timeout to the rest of the work.
static unsigned stop_budget_ms(const struct settings *settings)
{
    uint64_t half = settings->timeout_ms / 2;
    return half < STOP_BUDGET_MS ? (unsigned)half : STOP_BUDGET_MS;
}

static enum ch_status stop_process(struct capture *capture, pid_t pid)
{
    pid_t free_tid = capture->crash != NULL ? capture->crash->tid : 0;
    bool traced = capture->stop.traced;
    unsigned budget_ms = stop_budget_ms(capture->settings);
    enum ch_status status = CH_OK;
    if (!traced && capture->stop.seized)
        status = stop_seized(&capture->stop, pid, free_tid, budget_ms);
    else if (!traced)
        status = stop_threads(&capture->stop, pid, free_tid, budget_ms);
    // A process whose only thread is the one that crashed has nothing to stop.
    if (status == CH_ERR_NOT_FOUND && free_tid != 0)
        status = CH_OK;
    if (!traced && free_tid != 0 &&
        (capture->stop.refused != 0 || capture->stop.tracer != 0)) {
        refusal_explain(pid, capture->stop.refused, capture->refusal);
        capture_problem(capture, "stop", capture->refusal, 0);
    }
    for (size_t i = 0; i < capture->stop.count; i++) {
        if (capture->stop.threads[i].state == STOP_ASKED)
            capture_problem(capture, "stop", "thread did not stop in time", 0);
    }
    return status;
}

// expect_stacks announces to the memory reader which stacks will be walked.
static void expect_stacks(struct capture *capture)
{
    const struct stop *stop = &capture->stop;
    size_t count = 0;
    capture->stacks = calloc(stop->count + 1, sizeof(*capture->stacks));
    for (size_t i = 0; capture->stacks != NULL && i < stop->count; i++) {
        uint64_t sp = stop->threads[i].registers.value[capture->arch->sp];
        const struct target_mapping *mapping =
            stop->threads[i].state == STOP_STOPPED
                ? images_mapping(&capture->images, sp)
                : NULL;
        if (mapping == NULL)
            continue;
        uint64_t below = sp - mapping->start;
        below = below < TARGET_BELOW_STACK ? below : TARGET_BELOW_STACK;
        capture->stacks[count++] = (struct target_stack){ sp - below, mapping->end };
    }
    target_memory_expect(&capture->memory, capture->stacks, count);
}

// stopped_thread is a thread that we have stopped, or 0.
static pid_t stopped_thread(const struct capture *capture)
{
    for (size_t i = 0; i < capture->stop.count; i++) {
        if (capture->stop.threads[i].state == STOP_STOPPED)
            return capture->stop.threads[i].tid;
    }
    return 0;
}

// is_narrow returns true if the program is a 32-bit one.
static bool is_narrow(const struct capture *capture)
{
    bool narrow = capture->crash != NULL && capture->crash->narrow;
    for (size_t i = 0; i < capture->stop.count; i++)
        narrow |= capture->stop.threads[i].narrow;
    return narrow;
}

// living_thread is a thread of process pid that still has its memory; a main thread
// that has exited no longer does.
static pid_t living_thread(const struct capture *capture, pid_t pid)
{
    pid_t tid = capture->crash != NULL ? capture->crash->tid : stopped_thread(capture);
    if (capture->dumped != 0)
        return capture->dumped;
    return tid != 0 ? tid : pid;
}

// use_rights_of opens what the process names from now on with the rights of its thread.
static void use_rights_of(const struct stop *stop, pid_t tid)
{
    struct rights rights;
    if (own_user() != 0)
        return;
    if (tid == stop->pid && stop->status.size != 0)
        rights_parse(&stop->status, &rights);
    else
        rights_read(tid, &rights);
    if (permitted(PERMITTED_RIGHTS)) {
        if (rights.user == 0)
            rights_compare_capabilities(&rights);
        rights_apply(&rights);
        return;
    }
    struct rights own;
    rights_read(getpid(), &own);
    rights.fewer |= own.user != 0 || (own.capabilities & ~rights.capabilities) != 0;
    rights_deny(&rights);
}

// fetch_image_headers has the memory reader read the beginnings of all images, of which
// a process may have hundreds.
static void fetch_image_headers(struct capture *capture)
{
    const struct target_images *images = &capture->images;
    uint64_t starts[TARGET_FETCH_BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < images->mapping_count; i++) {
        if (!images_may_start(images, i))
            continue;
        starts[count++] = images->mappings[i].start;
        if (count == TARGET_FETCH_BLOCKS) {
            target_memory_fetch(&capture->memory, starts, count);
            count = 0;
        }
    }
    target_memory_fetch(&capture->memory, starts, count);
}

// read_ahead_of_crash reads, with one call, what will be read of the process anyway.
static void read_ahead_of_crash(struct capture *capture)
{
    const struct target_crash *crash = capture->crash;
    uint64_t addresses[TARGET_AHEAD_OTHERS];
    size_t count = 0;
    // A hole ends the call, so those come last that may lead into one.
    if (crash != NULL && crash->context_page != 0) {
        addresses[count++] = crash->context_page;
        addresses[count++] = crash->context_page + offsetof(struct context_page, data);
        addresses[count++] =
            crash->context_page + offsetof(struct context_page, attachments);
    }
    if (crash != NULL && crash->thread_pointer != 0)
        addresses[count++] = crash->thread_pointer;
    if (crash != NULL) {
        addresses[count++] = crash->registers.value[capture->arch->sp];
        addresses[count++] = crash->registers.value[capture->arch->pc];
    }
    target_memory_ahead(&capture->memory, addresses, count);
}

// read_images lists the images of the process of tid.
static enum ch_status read_images(struct capture *capture, pid_t tid)
{
    // A filter may answer the query with a signal. Reading a file is what it allows.
    if (permitted_all() && map_query_read(&capture->images, tid) == CH_OK) {
        fetch_image_headers(capture);
        return images_build(&capture->images, &capture->reader);
    }
    return images_read(&capture->images, tid, &capture->reader);
}

// read_with_care leaves out pages that may never come. A crash is read so after a page
// has not come, which the report says.
static void read_with_care(struct capture *capture, pid_t pid)
{
    if (target_memory_set_careful(&capture->memory, &capture->images, pid) != CH_OK ||
        capture->crash == NULL)
        return;
    capture_problem(capture, "memory",
                    "a page of the process's memory did not come: pages that another "
                    "process or a file server would have to supply are left out",
                    0);
}

static void read_facts(struct capture *capture, pid_t pid, pid_t tid)
{
    if (capture->stop.status.size != 0)
        facts_read_known(&capture->process, pid, tid, &capture->stop.status);
    else
        facts_read_process(&capture->process, pid, tid);
    facts_read_host(&capture->host, capture->same_root ? getpid() : tid,
                    &capture->process.cgroup);
}

static enum ch_status list_images_of(struct capture *capture, pid_t tid)
{
    capture->reader = target_memory_reader(&capture->memory);
    capture->reader.narrow = capture->narrow;
    enum ch_status status = read_images(capture, tid);
    if (status != CH_OK)
        capture_problem(capture, "images", ch_status_name(status), 0);
    status = link_map_read(&capture->images, tid, &capture->reader);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        capture_problem(capture, "link_map", ch_status_name(status), 0);
    return images_list_for_unwinder(&capture->images);
}

uint64_t target_crash_guess_trap(const siginfo_t *info)
{
    enum { STACK_FAULT = 12, GENERAL_PROTECTION = 13 };
    if (info->si_code != SI_KERNEL)
        return 0;
    return info->si_signo == SIGSEGV  ? GENERAL_PROTECTION
           : info->si_signo == SIGBUS ? STACK_FAULT
                                      : 0;
}

bool target_crash_untag(siginfo_t *info)
{
    enum { TAG_BITS = 8, SYNCHRONOUS = 9 };
    bool is_access = info->si_signo == SIGSEGV || info->si_signo == SIGBUS;
    if (!is_access || info->si_code <= 0)
        return false;
    uint64_t shifted = (uint64_t)(uintptr_t)info->si_addr << TAG_BITS;
    info->si_addr = (void *)(uintptr_t)((int64_t)shifted >> TAG_BITS);
    return info->si_signo == SIGSEGV && info->si_code == SYNCHRONOUS;
}

enum ch_status capture_take(struct capture *capture, pid_t pid)
{
    uint64_t begin = capture_clock_us();
    capture->arch = unwind_arch_native();
    enum ch_status status = stop_process(capture, pid);
    uint64_t stopped = capture_clock_us();
    capture->timings.attach_us = stopped - begin;
    if (status != CH_OK) {
        if (status == CH_ERR_NOT_FOUND)
            errno = capture->stop.refused != 0 ? capture->stop.refused : ESRCH;
        return CH_ERR_IO;
    }

    if (capture->bounded)
        stall_begin(capture->settings->timeout_ms);
    thread_names_begin(&capture->names, &capture->stop);
    capture->narrow = is_narrow(capture);
    pid_t tid = living_thread(capture, pid);
    use_rights_of(&capture->stop, tid);
    status = target_memory_init(&capture->memory, tid);
    if (status != CH_OK)
        return status;
    if (capture->crash != NULL)
        target_memory_set_server(&capture->memory, capture->crash->channel);
    if (capture->stop.traced)
        capture->memory.mem_fd = capture->memory_fd;
    else
        target_memory_set_thread(&capture->memory, stopped_thread(capture));
    if (capture->careful)
        read_with_care(capture, pid);
    read_ahead_of_crash(capture);
    status = list_images_of(capture, tid);
    if (status != CH_OK)
        return status;
    image_frames_find(&capture->images, tid);
    expect_stacks(capture);
    if (capture->dumped == 0)
        read_facts(capture, pid, tid);
    capture->timings.capture_us = capture_clock_us() - stopped;
    return CH_OK;
}

bool capture_next_place(struct capture *capture, unsigned kind, size_t size, size_t *at,
                        uint64_t *out)
{
    static const char *const stages[PLACE_KINDS] = {
        [PLACE_WATCHES] = "watch", [PLACE_FLIGHT] = "flight",
        [PLACE_THROWS] = "throws", [PLACE_CONTEXT] = "context",
        [PLACE_HEAP] = "heap",
    };
    while (*at < capture->images.count) {
        const struct target_image *image = &capture->images.images[(*at)++];
        const struct image_place *place = &image->places[kind];
        if (place->address == 0)
            continue;
        const char *problem = place_note_problem(place, image->base, image->end, size);
        if (problem == NULL) {
            *out = place->address;
            return true;
        }
        capture_problem(capture, stages[kind], problem, place->address);
    }
    return false;
}

const char *capture_tier(const struct capture *capture)
{
    if (capture->tier != NULL)
        return capture->tier;
    if (capture->stop.traced && capture->dumped == 0 &&
        capture->memory.way != TARGET_NO_WAY)
        return "ptrace";
    switch (capture->memory.way) {
    case TARGET_READV:
    case TARGET_PRESENT:
        return capture->refusal[0] != 0 ? "readv" : "ptrace";
    case TARGET_PEEK:
        return "ptrace";
    case TARGET_FILE:
        return "procmem";
    case TARGET_SERVER:
        return "server";
    default:
        return "thread";
    }
}

void capture_release(struct capture *capture)
{
    stop_release(&capture->stop);
}

void capture_deinit(struct capture *capture)
{
    facts_deinit_host(&capture->host);
    facts_deinit_process(&capture->process);
    images_deinit(&capture->images);
    target_memory_deinit(&capture->memory);
    free(capture->stacks);
    capture->stacks = NULL;
    thread_names_deinit(&capture->names);
    stop_deinit(&capture->stop);
}

enum ch_status capture_look(struct capture *capture, pid_t pid)
{
    capture->arch = unwind_arch_native();
    if (kill(pid, 0) != 0)
        return CH_ERR_IO;
    use_rights_of(&capture->stop, pid);
    enum ch_status status = target_memory_init(&capture->memory, pid);
    if (status != CH_OK)
        return status;
    status = list_images_of(capture, pid);
    if (status == CH_OK)
        read_facts(capture, pid, pid);
    if (status == CH_OK && capture->images.count == 0) {
        errno = EPERM;
        return CH_ERR_IO;
    }
    return status;
}
