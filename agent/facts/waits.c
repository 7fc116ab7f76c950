// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/facts/raw_write.h"
#include "report/summary/wait_cycle.h"

// x86-64 registers by their DWARF numbers: a system call's result, and its arguments.
// Those of AArch64 are x0 to x3.
enum { RAX = 0, RDX = 1, RSI = 4, RDI = 5, R10 = 10 };

// The number of the call, of either processor.
enum { FUTEX_X86_64 = 202, FUTEX_AARCH64 = 98 };

// What the kernel leaves as the result of a call that it will restart
// (include/linux/errno.h); such a call is still waiting.
enum { RESTART_FIRST = 512, RESTART_LAST = 516 };

static bool is_futex_wait(uint64_t operation, struct wait_call *out)
{
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        out->locks = true;
        return true;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return true;
    default:
        return false;
    }
}

static bool wait_make_call(const uint64_t arguments[static 4], struct wait_call *out)
{
    struct wait_call call = { .address = arguments[0],
                              .value = arguments[2] & UINT32_MAX,
                              .timed = arguments[3] != 0 };
    if (!is_futex_wait(arguments[1], &call))
        return false;
    *out = call;
    return true;
}

bool waits_parse_call(const char *line, struct wait_call *out)
{
    char *end;
    uint64_t arguments[4];
    long number = strtol(line, &end, 10);
    for (size_t i = 0; i < 4; i++) {
        const char *argument = end;
        arguments[i] = strtoull(argument, &end, 16);
        if (end == argument)
            return false;
    }
    return number == SYS_futex && wait_make_call(arguments, out);
}

// wait_call_of_x86_64 reads the call of a stopped thread.
static bool wait_call_of_x86_64(const struct stopped_thread *thread,
                                struct wait_call *out)
{
    const uint64_t *value = thread->registers.value;
    int64_t result = (int64_t)value[RAX];
    const uint64_t arguments[] = { value[RDI], value[RSI], value[RDX], value[R10] };
    return thread->call == FUTEX_X86_64 && -result >= RESTART_FIRST &&
           -result <= RESTART_LAST && wait_make_call(arguments, out);
}

// wait_call_of_aarch64 reads the call that a stopped thread waits in: the thread stands
// at its instruction, and nothing in the registers is its result.
static bool wait_call_of_aarch64(const struct stopped_thread *thread,
                                 struct wait_call *out)
{
    return thread->call == FUTEX_AARCH64 &&
           wait_make_call(thread->registers.value, out);
}

// crashed_call_of_aarch64 reads the call of a crashed thread that is to make it again.
// After a call, the result has replaced its first argument.
static bool crashed_call_of_aarch64(const struct capture *capture,
                                    struct wait_call *out)
{
    enum { X8 = 8, PC = 32, SVC = 0xd4000001 };
    const uint64_t *value = capture->crash->registers.value;
    uint32_t code;
    return value[X8] == FUTEX_AARCH64 &&
           memory_read(&capture->reader, value[PC], &code, sizeof(code)) == CH_OK &&
           code == SVC && wait_make_call(value, out);
}

// wait_call_of_crashed reads the call that the crashed thread was in when a signal
// interrupted it: it stands at the instruction, to make the call again, or after it.
static bool wait_call_of_crashed(const struct capture *capture, struct wait_call *out)
{
    enum { PC = 16, SYSCALL_BYTES = 2, INTERRUPTED = 4 };
    static const uint8_t instruction[SYSCALL_BYTES] = { 0x0f, 0x05 };
    const uint64_t *value = capture->crash->registers.value;
    uint8_t code[2 * SYSCALL_BYTES];
    const uint64_t arguments[] = { value[RDI], value[RSI], value[RDX], value[R10] };
    if (capture->arch->id == UNWIND_ARCH_AARCH64)
        return crashed_call_of_aarch64(capture, out);
    if (memory_read(&capture->reader, value[PC] - SYSCALL_BYTES, code, sizeof(code)) !=
        CH_OK)
        return false;
    bool again = value[RAX] == FUTEX_X86_64 &&
                 memcmp(code + SYSCALL_BYTES, instruction, SYSCALL_BYTES) == 0;
    int64_t result = -(int64_t)value[RAX];
    bool ended = (result == INTERRUPTED ||
                  (result >= RESTART_FIRST && result <= RESTART_LAST)) &&
                 memcmp(code, instruction, SYSCALL_BYTES) == 0;
    return (again || ended) && wait_make_call(arguments, out);
}

// wait_call_of_file reads the call of a thread that could not be stopped.
static bool wait_call_of_file(const struct capture *capture, pid_t tid,
                              struct wait_call *out)
{
    char name[32];
    char line[256];
    if (capture->stop.tasks_fd == 0)
        return false;
    (void)snprintf(name, sizeof(name), "%d/syscall", tid);
    int fd = openat(capture->stop.tasks_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (size <= 0)
        return false;
    line[size] = 0;
    return waits_parse_call(line, out);
}

static bool wait_call_of(const struct capture *capture,
                         const struct stopped_thread *thread, struct wait_call *out)
{
    if (thread->state == STOP_STOPPED)
        return capture->arch->id == UNWIND_ARCH_AMD64
                   ? wait_call_of_x86_64(thread, out)
                   : wait_call_of_aarch64(thread, out);
    return thread->state != STOP_GONE && thread->state != STOP_FREE &&
           wait_call_of_file(capture, thread->tid, out);
}

// A waited_lock is what is at and around a futex.
struct waited_lock {
    const struct capture *capture;
    const struct wait_call *call;
    uint32_t word; // what the futex holds
};

static bool wait_read_u32(const struct waited_lock *lock, int64_t offset, uint32_t *out)
{
    return memory_read(&lock->capture->reader, lock->call->address + (uint64_t)offset,
                       out, sizeof(*out)) == CH_OK;
}

static const struct stopped_thread *waited_thread(const struct capture *capture,
                                                  uint32_t tid)
{
    for (size_t i = 0; tid != 0 && i < capture->stop.count; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        if ((uint32_t)thread->tid == tid && thread->state != STOP_GONE)
            return thread;
    }
    return NULL;
}

static bool take_owner(const struct waited_lock *lock, uint32_t tid, const char *object,
                       int64_t offset, struct wait *out)
{
    const struct target_crash *crash = lock->capture->crash;
    if (waited_thread(lock->capture, tid) == NULL &&
        (crash == NULL || tid == 0 || (uint32_t)crash->tid != tid))
        return false; // no such thread is alive
    out->object = object;
    out->address = lock->call->address + (uint64_t)offset;
    out->owner = (pid_t)tid;
    return true;
}

// has_ended returns true if no thread of the process has the number.
static bool has_ended(const struct capture *capture, uint32_t tid)
{
    char path[64];
    if (!capture_is_process(capture))
        return true; // a core has all threads
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32, capture->stop.pid,
                   tid);
    return access(path, F_OK) != 0 && errno == ENOENT;
}

// is_glibc_mutex recognizes a pthread_mutex_t of glibc's by its members __lock,
// __owner, __nusers and __kind. A plain one holds 2 while somebody waits, one of the
// kernel's own (PI) or a robust one its owner's number.
static bool is_glibc_mutex(const struct waited_lock *lock, struct wait *out)
{
    enum { OWNER = 8, USERS = 12, KIND = 16, WAITED_FOR = 2, LAST_THREAD = 1 << 22 };
    enum { KIND_TYPE = 3, KIND_KNOWN = 0x3f3, KIND_BY_OWNER = 16 | 32 };
    uint32_t owner;
    uint32_t users;
    uint32_t kind;
    if (!wait_read_u32(lock, OWNER, &owner) || !wait_read_u32(lock, USERS, &users) ||
        !wait_read_u32(lock, KIND, &kind) || (kind & ~(uint32_t)KIND_KNOWN) != 0 ||
        users == 0 || users > INT32_MAX)
        return false;
    bool by_owner = kind & KIND_BY_OWNER;
    bool held = by_owner ? (lock->word & FUTEX_TID_MASK) == owner
                         : lock->word == WAITED_FOR && lock->call->value == WAITED_FOR;
    if (held && take_owner(lock, owner, "mutex", 0, out))
        return true;
    // A mutex that other processes do not share, and whose owner has ended, stays held.
    bool abandoned = held && (kind & ~(uint32_t)KIND_TYPE) == 0 && owner != 0 &&
                     owner <= LAST_THREAD && has_ended(lock->capture, owner);
    if (abandoned) {
        out->object = "mutex";
        out->address = lock->call->address;
        out->owner_ended = (pid_t)owner;
    }
    return abandoned;
}

// is_glibc_rwlock recognizes a pthread_rwlock_t that is held for writing, by the futex
// that its readers or its next writer wait on; bit 1 of it says
// that somebody waits.
static bool is_glibc_rwlock(const struct waited_lock *lock, struct wait *out)
{
    static const int64_t futexes[] = { 8, 12 }; // __wrphase_futex, __writers_futex
    enum { WRITER = 24, SHARED = 28, USED = 2, FUTEX_MAX = 3 };
    if (!(lock->call->value & USED) || lock->call->value > FUTEX_MAX ||
        lock->word != lock->call->value)
        return false;
    for (size_t i = 0; i < sizeof(futexes) / sizeof(futexes[0]); i++) {
        uint32_t writer;
        uint32_t shared;
        if (wait_read_u32(lock, WRITER - futexes[i], &writer) &&
            wait_read_u32(lock, SHARED - futexes[i], &shared) && shared <= 1 &&
            take_owner(lock, writer, "rwlock", -futexes[i], out))
            return true;
    }
    return false;
}

// wait_descriptor is where the thread's descriptor is; 0: not known.
static uint64_t wait_descriptor(const struct capture *capture,
                                const struct stopped_thread *thread)
{
    const struct target_crash *crash = capture->crash;
    return crash != NULL && thread->tid == crash->tid ? crash->thread_pointer
                                                      : thread->thread_pointer;
}

// wait_descriptor_offset is how far from the thread's pointer an address of its
// descriptor is: that begins at the pointer of x86-64, and ends at the one of AArch64.
static uint64_t wait_descriptor_offset(const struct capture *capture, uint64_t pointer,
                                       uint64_t address)
{
    return capture->arch->id == UNWIND_ARCH_AMD64 ? address - pointer
                                                  : pointer - 1 - address;
}

// is_joined recognizes that the futex is the one in a thread's descriptor on which its
// end is awaited: glibc's holds the thread's number, musl's its state.
static bool is_joined(const struct waited_lock *lock, struct wait *out)
{
    enum { DESCRIPTOR_BYTES = 2304, MUSL_JOINABLE = 2, MUSL_DESCRIPTOR_BYTES = 256 };
    const struct stop *stop = &lock->capture->stop;
    if (lock->word != lock->call->value)
        return false;
    for (size_t i = 0; i < stop->count; i++) {
        const struct stopped_thread *thread = &stop->threads[i];
        uint64_t pointer = wait_descriptor(lock->capture, thread);
        uint64_t offset =
            wait_descriptor_offset(lock->capture, pointer, lock->call->address);
        if (pointer == 0 || thread->state == STOP_GONE || offset >= DESCRIPTOR_BYTES)
            continue;
        bool joined = lock->word == (uint32_t)thread->tid ||
                      (lock->word == MUSL_JOINABLE && offset < MUSL_DESCRIPTOR_BYTES);
        return joined && take_owner(lock, (uint32_t)thread->tid, "thread", 0, out);
    }
    return false;
}

// is_musl_mutex recognizes a pthread_mutex_t of musl's that checks its owner, whose
// futex holds the owner and a bit that says that somebody waits.
static bool is_musl_mutex(const struct waited_lock *lock, struct wait *out)
{
    enum { TYPE = -4, TYPE_KNOWN = 0x8f, TYPE_OWNED = 0xf };
    uint32_t type;
    return lock->word == lock->call->value && lock->word & FUTEX_WAITERS &&
           wait_read_u32(lock, TYPE, &type) && (type & ~(uint32_t)TYPE_KNOWN) == 0 &&
           (type & TYPE_OWNED) != 0 &&
           take_owner(lock, lock->word & FUTEX_TID_MASK & ~(uint32_t)FUTEX_OWNER_DIED,
                      "mutex", TYPE, out);
}

// wait_examine finds out what the thread waits for.
static void wait_examine(const struct capture *capture, const struct wait_call *call,
                         struct wait *out)
{
    static bool (*const forms[])(const struct waited_lock *,
                                 struct wait *) = { is_joined, is_glibc_mutex,
                                                    is_glibc_rwlock, is_musl_mutex };
    struct waited_lock lock = { .capture = capture, .call = call };
    out->object = "futex";
    out->address = call->address;
    out->timed = call->timed;
    if (!wait_read_u32(&lock, 0, &lock.word))
        return;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i](&lock, out))
            return;
}

static bool is_deadlock(const struct waits *waits)
{
    struct wait_edge edges[WAITS_MAX];
    for (size_t i = 0; i < waits->count; i++)
        if (waits->list[i].owner_ended != 0 && !waits->list[i].timed)
            return true;
    for (size_t i = 0; i < waits->count; i++)
        edges[i] = (struct wait_edge){ .tid = waits->list[i].tid,
                                       .owner = waits->list[i].owner,
                                       .timed = waits->list[i].timed };
    return wait_cycle(edges, waits->count, NULL, 0) != 0;
}

static void wait_add(const struct capture *capture, pid_t tid,
                     const struct wait_call *call, struct waits *out)
{
    struct wait *wait = &out->list[out->count++];
    *wait = (struct wait){ .tid = tid };
    wait_examine(capture, call, wait);
}

void waits_read(const struct capture *capture, struct waits *out)
{
    bool crashed_seen = capture->crash == NULL;
    struct wait_call call;
    out->count = 0;
    out->deadlock = false;
    if (capture->narrow || capture->reader.read == NULL)
        return;
    for (size_t i = 0; i < capture->stop.count && out->count < WAITS_MAX; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        if (!wait_call_of(capture, thread, &call))
            continue;
        wait_add(capture, thread->tid, &call, out);
        crashed_seen = crashed_seen || thread->tid == capture->crash->tid;
    }
    if (!crashed_seen && out->count < WAITS_MAX && wait_call_of_crashed(capture, &call))
        wait_add(capture, capture->crash->tid, &call, out);
    out->deadlock = is_deadlock(out);
}

void waits_write(struct json_writer *w, const struct waits *waits)
{
    if (waits->count == 0)
        return;
    json_write_key(w, "waits");
    json_write_array(w);
    for (size_t i = 0; i < waits->count; i++) {
        const struct wait *wait = &waits->list[i];
        json_write_object(w);
        raw_write_count(w, "tid", (uint64_t)wait->tid);
        raw_write_string(w, "object", wait->object);
        raw_write_address(w, "address", wait->address);
        if (wait->owner != 0)
            raw_write_count(w, "owner", (uint64_t)wait->owner);
        if (wait->owner_ended != 0)
            raw_write_count(w, "owner_ended", (uint64_t)wait->owner_ended);
        if (wait->timed) {
            json_write_key(w, "timeout");
            json_write_bool(w, true);
        }
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}
