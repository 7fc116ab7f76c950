// SPDX-License-Identifier: Apache-2.0
#include "flight/ring.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "flight/ring_file.h"
#include "shared/place_note.h"

enum {
    // A version 1 buffer: its first records, and the kinds of its records.
    PREAMBLE_SIZE = 3 * RING_METADATA_SIZE,
    NEW_BUFFER = 0,
    END_OF_BUFFER = 1,
    NEW_CPU = 2,
    TSC_WRAP = 3,
    WALL_CLOCK = 4,
    CALL_ARGUMENT = 6,
    // The rings of the last few threads that ended are kept for the report.
    ENDED_KEPT = 8,
    // A handler that left by longjmp never returns to finish its record.
    DROPPED_IN_A_ROW_MAX = 4096,
    // glibc keeps values of the first keys in the thread itself, the others on the
    // heap.
    KEYS_WITHOUT_HEAP = 32,
    // The offset of the processor's number in struct rseq.
    RSEQ_CPU_ID = 4,
};

struct flight_state flight_state = {
    .magic = FLIGHT_MAGIC,
    .version = FLIGHT_VERSION,
    .size = sizeof(struct flight_state),
    .ring_size = sizeof(struct flight_ring),
};

__thread struct flight_ring *ring_of_thread;

_Static_assert(sizeof(flight_state) == FLIGHT_STATE_BYTES, "as the note says");
PLACE_NOTE(PLACE_FLIGHT, FLIGHT_STATE_BYTES, flight_state);

static __thread bool claiming; // or ending: no ring may be claimed
static __thread unsigned destructor_rounds;

// A ring_forking is what a thread that forks goes on with.
static __thread struct ring_forking {
    struct flight_ring *ring;
    bool claiming;
} forking;

uint32_t ring_blocks;        // 0: nothing is recorded
static uint32_t ended_count; // threads that ended and whose rings were not reused
static uint64_t ended_total;
static pthread_key_t exit_key;
static bool exit_key_made;

extern const ptrdiff_t __rseq_offset __attribute__((weak)); // glibc's name

// cpu_place gives the address where the kernel stores the number of this thread's
// processor.
static const uint32_t *cpu_place(void)
{
    static const uint32_t unknown;
    if (&__rseq_offset == NULL)
        return &unknown;
#if defined(__x86_64__)
    char *self; // gcc has the builtin for this processor from version 11 on
    __asm__("mov %%fs:0, %0" : "=r"(self));
#else
    char *self = __builtin_thread_pointer();
#endif
    return (const uint32_t *)(self + __rseq_offset + RSEQ_CPU_ID);
}

// put_metadata writes a record whose data begins in the second byte of first.
static void put_metadata(uint64_t at, unsigned kind, uint64_t first, uint64_t second)
{
    uint64_t *words = (uint64_t *)(uintptr_t)at;
    words[0] = (kind << 1 | 1) | first << 8;
    words[1] = second;
}

// put_u64 writes a record of a 64-bit number followed by a 32-bit one.
static void put_u64(uint64_t at, unsigned kind, uint64_t value, uint32_t after)
{
    put_metadata(at, kind, value, value >> 56 | (uint64_t)after << 8);
}

static void put_cpu(uint64_t at, uint32_t cpu, uint64_t tsc)
{
    put_metadata(at, NEW_CPU, (cpu & 0xffff) | tsc << 16, tsc >> 40);
}

// wipe_ring clears a block without using vector registers, as XRay saves only some of
// them.
static void wipe_ring(uint64_t block)
{
    volatile uint64_t *words = (volatile uint64_t *)(uintptr_t)block;
    for (size_t i = 0; i < FLIGHT_BLOCK_BYTES / sizeof(*words); i++)
        words[i] = 0;
}

// note_time stores a pair of counter and clock readings. Without the machine that
// recorded them, the times of records are interpolated between this pair and that of
// the start.
static void note_time(struct flight_ring *ring, uint64_t tsc, uint64_t now)
{
    ring->sync_tsc = tsc;
    ring->sync_ns = now;
}

// open_block begins the next block, which overwrites the oldest.
static void open_block(struct flight_ring *ring, uint64_t tsc)
{
    uint64_t block =
        ring->blocks + ring->opened % ring->block_count * FLIGHT_BLOCK_BYTES;
    uint64_t now = counter_clock_ns();
    ring->cpu = *ring->cpu_now;
    if (ring->opened != 0)
        put_metadata(ring->at, END_OF_BUFFER, 0, 0);
    wipe_ring(block);
    put_metadata(block, NEW_BUFFER, (uint32_t)ring->tid, 0);
    put_u64(block + RING_METADATA_SIZE, WALL_CLOCK, now / 1000000000u,
            (uint32_t)(now % 1000000000u / 1000));
    put_cpu(block + 2 * RING_METADATA_SIZE, ring->cpu, tsc);
    note_time(ring, tsc, now);
    ring->last_tsc = tsc;
    ring->dropped_in_a_row = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ring->opened++;
    ring->limit = block + FLIGHT_BLOCK_BYTES - RING_METADATA_SIZE - RING_FUNCTION_SIZE;
    ring->at = block + PREAMBLE_SIZE;
}

void ring_prepare(struct flight_ring *ring, uint64_t tsc, uint64_t size)
{
    uint64_t needed = RING_METADATA_SIZE + size;
    if (ring->at + needed > ring->limit + RING_FUNCTION_SIZE) {
        open_block(ring, tsc);
        return;
    }
    if (*ring->cpu_now != ring->cpu) {
        ring->cpu = *ring->cpu_now;
        put_cpu(ring->at, ring->cpu, tsc);
    } else if (tsc - ring->last_tsc > INT32_MAX) {
        put_u64(ring->at, TSC_WRAP, tsc, 0);
    } else {
        return;
    }
    note_time(ring, tsc, counter_clock_ns());
    ring->last_tsc = tsc;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ring->at += RING_METADATA_SIZE;
}

void ring_drop(struct flight_ring *ring)
{
    ring->dropped++;
    if (++ring->dropped_in_a_row < DROPPED_IN_A_ROW_MAX)
        return;
    ring->dropped_in_a_row = 0;
    ring->busy = 0;
}

void ring_record_argument(struct flight_ring *ring, uint32_t id, uint64_t argument)
{
    enum { SIZE = RING_FUNCTION_SIZE + RING_METADATA_SIZE };
    if (!ring_enter(ring))
        return;
    uint64_t tsc = counter_read();
    if (!ring_fits(ring, tsc, SIZE))
        ring_prepare(ring, tsc, SIZE);
    uint64_t at =
        ring_put(ring, ring->at, id << 4 | (uint32_t)RING_ENTER_ARGS << 1, tsc);
    put_u64(at, CALL_ARGUMENT, argument, 0);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ring->at = at + RING_METADATA_SIZE;
    ring_leave(ring);
}

static struct flight_ring *ring_at(uint32_t index)
{
    return (struct flight_ring *)(uintptr_t)flight_state.rings + index;
}

static uint32_t rings_used(void)
{
    uint32_t count = __atomic_load_n(&flight_state.ring_count, __ATOMIC_ACQUIRE);
    return count < FLIGHT_RINGS_MAX ? count : FLIGHT_RINGS_MAX;
}

static void end_ring(struct flight_ring *ring)
{
    ring->ended_as = __atomic_add_fetch(&ended_total, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ended_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->state, FLIGHT_ENDED, __ATOMIC_RELEASE);
}

// take_ended reuses the ring of the thread that ended longest ago.
static struct flight_ring *take_ended(void)
{
    struct flight_ring *oldest = NULL;
    uint32_t expected = FLIGHT_ENDED;
    for (uint32_t i = 0; i < rings_used(); i++) {
        struct flight_ring *ring = ring_at(i);
        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == FLIGHT_ENDED &&
            (oldest == NULL || ring->ended_as < oldest->ended_as))
            oldest = ring;
    }
    if (oldest == NULL ||
        !__atomic_compare_exchange_n(&oldest->state, &expected, FLIGHT_CLAIMED, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return NULL;
    __atomic_sub_fetch(&ended_count, 1, __ATOMIC_RELAXED);
    return oldest;
}

// take_unused gives a ring that no thread has had.
static struct flight_ring *take_unused(void)
{
    uint32_t index = __atomic_load_n(&flight_state.ring_count, __ATOMIC_RELAXED);
    while (index < FLIGHT_RINGS_MAX) {
        if (__atomic_compare_exchange_n(&flight_state.ring_count, &index, index + 1,
                                        false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            struct flight_ring *ring = ring_at(index);
            if (!ring_file_admits(ring))
                return NULL;
            ring->state = FLIGHT_CLAIMED;
            return ring;
        }
    }
    return NULL;
}

// find_ended looks for threads that ended without running leave_ring.
static void find_ended(void)
{
    for (uint32_t i = 0; i < rings_used(); i++) {
        struct flight_ring *ring = ring_at(i);
        // Signal 0 is not sent: it only checks whether the thread exists (kill(2)).
        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == FLIGHT_LIVE &&
            syscall(SYS_tgkill, flight_state.pid, ring->tid, 0) != 0 && errno == ESRCH)
            end_ring(ring);
    }
}

static struct flight_ring *take_ring(void)
{
    struct flight_ring *ring = NULL;
    if (__atomic_load_n(&ended_count, __ATOMIC_RELAXED) > ENDED_KEPT)
        ring = take_ended();
    if (ring == NULL)
        ring = take_unused();
    if (ring != NULL)
        return ring;
    ring = take_ended();
    if (ring != NULL)
        return ring;
    find_ended();
    return take_ended();
}

static bool map_blocks(struct flight_ring *ring)
{
    size_t bytes = (size_t)ring_blocks * FLIGHT_BLOCK_BYTES;
    if (ring->blocks != 0)
        return true;
    void *blocks = ring_file_blocks(ring);
    if (blocks == NULL)
        blocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (blocks == MAP_FAILED)
        return false;
    ring->block_count = ring_blocks;
    ring->blocks = (uintptr_t)blocks;
    return true;
}

static struct flight_ring *claim_ring(void)
{
    struct flight_ring *ring = take_ring();
    if (ring == NULL || !map_blocks(ring)) {
        __atomic_add_fetch(&flight_state.threads_missed, 1, __ATOMIC_RELAXED);
        if (ring != NULL)
            end_ring(ring);
        return NULL;
    }
    ring->opened = 0;
    ring->dropped = 0;
    ring->busy = 0;
    ring->cpu_now = cpu_place();
    ring->tid = (int32_t)syscall(SYS_gettid);
    open_block(ring, counter_read());
    __atomic_store_n(&ring->state, FLIGHT_LIVE, __ATOMIC_RELEASE);
    if (exit_key_made && exit_key < KEYS_WITHOUT_HEAP)
        (void)pthread_setspecific(exit_key, ring);
    return ring;
}

struct flight_ring *ring_claim(void)
{
    // A thread that got no ring does not try again.
    if (__atomic_load_n(&ring_blocks, __ATOMIC_ACQUIRE) == 0 || claiming)
        return NULL;
    int error = errno;
    claiming = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct flight_ring *ring = claim_ring();
    ring_file_tell();
    if (ring != NULL) {
        ring_of_thread = ring;
        claiming = false;
    }
    errno = error;
    return ring;
}

// leave_ring is called when the thread ends. It has itself called again as often as
// possible, because other destructors are recorded too.
static void leave_ring(void *ring)
{
    enum { ROUNDS = 4 }; // of destructors: POSIX's minimum, and glibc's number
    if (++destructor_rounds < ROUNDS && pthread_setspecific(exit_key, ring) == 0)
        return;
    claiming = true;
    ring_of_thread = NULL;
    end_ring(ring);
}

// before_fork stops the thread's recording until the child has rings of its own: they
// may be in a file, which both would write to.
static void before_fork(void)
{
    forking = (struct ring_forking){ ring_of_thread, claiming };
    ring_of_thread = NULL;
    claiming = true;
}

static void after_fork_in_parent(void)
{
    ring_of_thread = forking.ring;
    claiming = forking.claiming;
}

// after_fork runs in the child of a fork, whose only thread continues with its ring.
// What other threads recorded does not belong to this process.
static void after_fork(void)
{
    struct flight_ring *own = forking.ring;
    flight_state.pid = getpid();
    if (!ring_file_leave(own)) {
        __atomic_store_n(&ring_blocks, 0, __ATOMIC_RELEASE);
        return;
    }
    after_fork_in_parent();
    for (uint32_t i = 0; i < rings_used(); i++) {
        struct flight_ring *ring = ring_at(i);
        if (ring == own)
            continue;
        ring->opened = 0;
        if (ring->state != FLIGHT_ENDED)
            end_ring(ring);
    }
    if (own == NULL || !ring_enter(own))
        return;
    own->tid = flight_state.pid;
    open_block(own, counter_read());
    ring_leave(own);
}

bool ring_begin_all(uint32_t block_count)
{
    void *rings =
        ring_file_begin(&flight_state, (size_t)block_count * FLIGHT_BLOCK_BYTES);
    if (rings == NULL)
        rings = mmap(NULL, FLIGHT_RINGS_MAX * sizeof(struct flight_ring),
                     PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rings == MAP_FAILED)
        return false;
    exit_key_made = pthread_key_create(&exit_key, leave_ring) == 0;
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork);
    flight_state.rings = (uintptr_t)rings;
    flight_state.pid = getpid();
    flight_state.start_ns = counter_clock_ns();
    flight_state.start_tsc = counter_read();
    ring_file_tell();
    __atomic_store_n(&ring_blocks, block_count, __ATOMIC_RELEASE);
    return true;
}
