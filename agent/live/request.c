// SPDX-License-Identifier: Apache-2.0
#include "agent/live/request.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "agent/live/target_memory.h"
#include "base/system/file.h"
#include "base/system/rights.h"

static struct ucred expected; // pid 0: nobody in particular
static bool expects;

void request_expect(const struct ucred *caller)
{
    expected = *caller;
    expects = true;
}

// is_of_caller returns true if the thread is one of the caller's process. The number
// may be another process's by now, or the process may have executed a setuid program:
// root takes neither from others. A process that gained rights has files of root in
// /proc.
static bool is_of_caller(const struct request_message *message)
{
    char path[64];
    struct stat folder;
    struct rights rights;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d", message->pid, message->tid);
    if (message->pid != expected.pid || stat(path, &folder) != 0)
        return false;
    if (geteuid() != 0 || expected.uid == 0)
        return true;
    rights_read(message->tid, &rights);
    return folder.st_uid != 0 && rights.real_user == expected.uid;
}

enum { MESSAGE_MS = 5000 };

static enum ch_status receive_message(int channel, struct request_message *out)
{
    // The handler sends it while we start. Where it does not, a thread of the process
    // may execute another program, and wait until we release the others.
    struct pollfd handler = { .fd = channel, .events = POLLIN };
    if (poll(&handler, 1, MESSAGE_MS) == 0)
        return CH_END;
    ssize_t size = file_read_all(channel, out, sizeof(*out));
    if (size != sizeof(*out))
        return size < 0 ? CH_ERR_IO : CH_END;
    if (out->magic != REQUEST_MAGIC || out->pid <= 0 || out->tid <= 0)
        return CH_ERR_MALFORMED;
    return CH_OK;
}

#if defined(__x86_64__)

// read_page_registers converts from the order of the kernel's signal context
// (REQUEST_REGISTERS in request_page.h) to DWARF's.
static void read_page_registers(const uint64_t *from, struct target_crash *out)
{
    static const uint8_t by_number[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
                                         REG_RDI, REG_RBP, REG_RSP, REG_R8,  REG_R9,
                                         REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
                                         REG_R15, REG_RIP };
    for (size_t i = 0; i < sizeof(by_number); i++)
        out->registers.value[i] = from[by_number[i]];
    out->flags = from[REG_EFL];
    out->fault_error = from[REG_ERR];
    out->fault_trap = from[REG_TRAPNO];
}

#elif defined(__aarch64__)

static void read_page_registers(const uint64_t *from, struct target_crash *out)
{
    enum { PSTATE = 33 };
    memcpy(out->registers.value, from, sizeof(out->registers.value));
    out->flags = from[PSTATE];
}

#endif

void request_crash(const struct request_page *page, pid_t tid, struct target_crash *out)
{
    *out = (struct target_crash){
        .tid = tid,
        .realtime_ns = page->crash_realtime_ns,
        .monotonic_ns = page->crash_monotonic_ns,
        .dies = page->dies != 0,
        .places = page->places,
        .context_page = page->context_page,
        .thread_pointer = page->thread_pointer,
        .gs_base = page->gs_base,
        .shadow_stack = page->live != 0 ? 0 : page->shadow_stack,
        .handlers = 1,
        .has_memory_tag = page->live == 0 && page->memory_tag >= 0,
        .memory_tag = (uint8_t)page->memory_tag,
        .watches = page->watches,
        .context = page->context_address,
    };
    memcpy(&out->info, page->siginfo, sizeof(out->info));
    memcpy(&out->then, page->then, sizeof(out->then));
    out->exits = page->exit_status >= 0;
    out->exit_status = (int32_t)page->exit_status;
    read_page_registers(page->registers, out);
}

// take_processors gives this process those that the program had.
static void take_processors(const struct request_page *page)
{
    cpu_set_t set;
    _Static_assert(sizeof(set) == sizeof(page->processors), "one set");
    memcpy(&set, page->processors, sizeof(set));
    if (page->dies != 0 && CPU_COUNT(&set) != 0)
        (void)sched_setaffinity(0, sizeof(set), &set);
}

enum ch_status request_receive(int channel, struct agent_request *out)
{
    struct request_message message;
    struct request_page page;
    struct target_memory memory;
    enum ch_status status = receive_message(channel, &message);
    if (status != CH_OK)
        return status;

    if (expects && !is_of_caller(&message))
        return CH_ERR_MALFORMED;
    if (message.filtered != 0)
        permitted_expect_filter();
    target_memory_init_uncached(&memory, message.tid);
    target_memory_set_server(&memory, channel);
    size_t size =
        target_memory_copy(&memory, message.page_address, &page, sizeof(page));
    target_memory_deinit(&memory);
    if (size != sizeof(page))
        return CH_ERR_FAULT;
    if (page.magic != REQUEST_MAGIC || page.version != REQUEST_VERSION ||
        page.size != sizeof(page))
        return CH_ERR_MALFORMED;
    take_processors(&page);

    *out = (struct agent_request){
        .pid = message.pid,
        .live = page.live != 0,
        .careful = message.careful != 0,
        .seized = page.seized != 0,
        .deadline_monotonic_ns = page.deadline_monotonic_ns,
    };
    request_crash(&page, message.tid, &out->crash);
    out->crash.channel = channel;
    out->crash.flight_state = page.flight_state;
    return CH_OK;
}

bool request_is_cut_off(int channel)
{
    struct pollfd handler = { .fd = channel, .events = POLLRDHUP };
    return poll(&handler, 1, 0) == 1;
}

void request_written(int channel)
{
    const char byte = REQUEST_WRITTEN;
    // MSG_NOSIGNAL, because a SIGPIPE, where the handler has exited, would kill the
    // free phase.
    (void)!send(channel, &byte, 1, MSG_NOSIGNAL);
}

void request_why(int channel, const char *why)
{
    // It is sent in one piece: the handler never waits for the rest of a message.
    char message[1 + REQUEST_WHY_MAX] = { REQUEST_WHY };
    (void)snprintf(message + 1, REQUEST_WHY_MAX, "%s", why);
    (void)!send(channel, message, strlen(message) + 1, MSG_NOSIGNAL);
}

void request_release(int channel, bool reported)
{
    // Each message wakes the handler, so both answers are one.
    static const char answers[] = { REQUEST_WRITTEN, REQUEST_RELEASE };
    size_t first = reported ? 0 : 1;
    (void)!send(channel, answers + first, sizeof(answers) - first, MSG_NOSIGNAL);
    // Where both are on one processor, the handler goes first.
    (void)sched_yield();
    close(channel);
}
