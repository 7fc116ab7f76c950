// SPDX-License-Identifier: Apache-2.0
#include "heap/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/event.h"
#include "heap/walk.h"
#include "shared/place_note.h"

enum { FILL = 0xcb };

// NOLINTNEXTLINE(readability-identifier-naming): the note refers to it by this name.
struct heap_state crashhook_heap_state;
_Static_assert(sizeof(struct heap_state) == HEAP_STATE_BYTES, "the note tells it");
_Static_assert(PLACE_HEAP == 5, "the note tells it");
PLACE_NOTE(5, 192, crashhook_heap_state);

// A queue_cell is a place of the queue of free slots, after Dmitry Vyukov's bounded
// queue: turn tells whether it is to be written or read, and in which round.
struct queue_cell {
    uint64_t turn;
    uint64_t slot;
};

// musl has no such variable.
extern char __libc_single_threaded __attribute__((weak));

static struct heap_block *blocks;
static bool *is_open; // of each slot: from before it is opened until after it is closed
static struct queue_cell *cells;
static uint64_t cell_mask;
static uint64_t queue_head; // counts reads
static uint64_t queue_tail; // counts writes
static int64_t bytes_left;  // of the limit on resident memory

static uint64_t stride(void)
{
    return HEAP_SLOT_BYTES + crashhook_heap_state.page_bytes;
}

static uint64_t pool_slot_start(uint64_t slot)
{
    const struct heap_state *state = &crashhook_heap_state;
    return state->base + state->page_bytes + slot * stride();
}

// queue_claim claims the place at one end of the queue. ready is how far a place's turn
// is ahead of its number when it may be claimed. NULL: there is none.
static struct queue_cell *queue_claim(uint64_t *end, uint64_t ready)
{
    uint64_t at = __atomic_load_n(end, __ATOMIC_RELAXED);
    for (;;) {
        struct queue_cell *cell = &cells[at & cell_mask];
        uint64_t turn = __atomic_load_n(&cell->turn, __ATOMIC_ACQUIRE);
        if (turn < at + ready)
            return NULL;
        if (turn > at + ready)
            at = __atomic_load_n(end, __ATOMIC_RELAXED);
        else if (__atomic_compare_exchange_n(end, &at, at + 1, true, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED))
            return cell;
    }
}

// queue_put adds a slot. If another thread was stopped while it took from that place
// one round ago, the slot is lost.
static void queue_put(uint64_t slot)
{
    struct queue_cell *cell = queue_claim(&queue_tail, 0);
    if (cell == NULL)
        return;
    cell->slot = slot;
    __atomic_add_fetch(&cell->turn, 1, __ATOMIC_RELEASE);
}

// queue_take takes the slot that was added first. False: there is none, or the one that
// added it has not finished.
static bool queue_take(uint64_t *out_slot)
{
    struct queue_cell *cell = queue_claim(&queue_head, 1);
    if (cell == NULL)
        return false;
    *out_slot = cell->slot;
    __atomic_add_fetch(&cell->turn, cell_mask, __ATOMIC_RELEASE);
    return true;
}

static void queue_reset(void)
{
    queue_head = queue_tail = 0;
    for (uint64_t i = 0; i <= cell_mask; i++)
        cells[i].turn = i;
}

void *pool_map(size_t size, int protection)
{
    void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    return at != MAP_FAILED ? at : NULL;
}

void pool_open(enum pool_mode mode, uint32_t slots, uint64_t limit_bytes)
{
    struct heap_state *state = &crashhook_heap_state;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    // A slot's first page stays resident, and so does its part of the tables.
    uint64_t slot_bytes =
        page + sizeof(*blocks) + sizeof(*is_open) + 4 * sizeof(*cells);
    uint64_t count = 1;
    if (slots > limit_bytes / (2 * slot_bytes))
        slots = (uint32_t)(limit_bytes / (2 * slot_bytes));
    while (count < 2 * (uint64_t)slots)
        count *= 2;
    size_t size = slots * (HEAP_SLOT_BYTES + page) + 2 * page;
    blocks = pool_map(slots * sizeof(*blocks), PROT_READ | PROT_WRITE);
    is_open = pool_map(slots * sizeof(*is_open), PROT_READ | PROT_WRITE);
    cells = pool_map(count * sizeof(*cells), PROT_READ | PROT_WRITE);
    char *pool = pool_map(size, PROT_NONE);
    if (blocks == NULL || is_open == NULL || cells == NULL || pool == NULL)
        return;
    cell_mask = count - 1;
    bytes_left = (int64_t)(limit_bytes - slots * slot_bytes);
    queue_reset();
    for (uint64_t i = 0; i < slots; i++)
        queue_put(i);
    state->slots = slots;
    state->page_bytes = page;
    state->blocks = (uintptr_t)blocks;
    state->base = (uintptr_t)pool;
    state->trap = state->base + size - page;
    state->mode = mode;
    __atomic_store_n(&state->bytes, size, __ATOMIC_RELEASE);
}

// fill_around writes the pattern around a block of fresh pages.
static void fill_around(const struct heap_block *block, uint64_t slot)
{
    uint64_t start = pool_slot_start(slot);
    uint64_t after = block->address + block->size;
    memset((void *)(uintptr_t)start, FILL, block->address - start);
    memset((void *)(uintptr_t)after, FILL, start + block->bytes - after);
}

// take_bytes_left takes what a block needs beside its slot's first page, which stays
// resident.
static bool take_bytes_left(int64_t bytes)
{
    if (__atomic_sub_fetch(&bytes_left, bytes, __ATOMIC_RELAXED) >= 0)
        return true;
    __atomic_add_fetch(&bytes_left, bytes, __ATOMIC_RELAXED);
    return false;
}

// pool_open_slot makes pages of a slot accessible, and zero. The first page is not
// mapped as the others are (MAP_NORESERVE), so the kernel keeps it apart from its
// neighbours, and does not have to split and merge mappings each time.
static bool pool_open_slot(uint64_t slot, uint64_t bytes)
{
    char *start = (char *)(uintptr_t)pool_slot_start(slot);
    uint64_t page = crashhook_heap_state.page_bytes;
    const int access = PROT_READ | PROT_WRITE;
    bool is_new = blocks[slot].status == HEAP_UNUSED;
    if (is_new ? mmap(start, page, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                      0) == MAP_FAILED
               : mprotect(start, page, access) != 0)
        return false;
    if (bytes > page && mprotect(start + page, bytes - page, access) != 0) {
        (void)mprotect(start, page, PROT_NONE);
        return false;
    }
    if (!is_new)
        memset(start, 0, page);
    return true;
}

// pool_close_slot makes a slot inaccessible. The memory of all pages but the first is
// released.
static void pool_close_slot(const struct heap_block *block, uint64_t slot)
{
    char *start = (char *)(uintptr_t)pool_slot_start(slot);
    uint64_t page = crashhook_heap_state.page_bytes;
    int error = errno;
    (void)mprotect(start, page, PROT_NONE);
    if (block->bytes > page &&
        mmap(start + page, block->bytes - page, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
        (void)mprotect(start + page, block->bytes - page, PROT_NONE);
    __atomic_store_n(&is_open[slot], false, __ATOMIC_SEQ_CST);
    errno = error;
}

static int64_t bytes_beside(uint64_t bytes)
{
    return (int64_t)(bytes - crashhook_heap_state.page_bytes);
}

static bool take_slot(uint64_t bytes, uint64_t *out)
{
    int error = errno;
    if (!take_bytes_left(bytes_beside(bytes)))
        return false;
    bool has_slot = queue_take(out);
    if (has_slot)
        __atomic_store_n(&is_open[*out], true, __ATOMIC_SEQ_CST);
    bool is_taken = has_slot && pool_open_slot(*out, bytes);
    if (!is_taken)
        __atomic_add_fetch(&bytes_left, bytes_beside(bytes), __ATOMIC_RELAXED);
    if (has_slot && !is_taken) {
        __atomic_store_n(&is_open[*out], false, __ATOMIC_SEQ_CST);
        queue_put(*out);
    }
    errno = error;
    return is_taken;
}

void *pool_allocate(const struct pool_request *request)
{
    const size_t size = request->size;
    struct heap_state *state = &crashhook_heap_state;
    uint64_t page = state->page_bytes;
    uint64_t slot;
    if (size > HEAP_SLOT_BYTES || request->alignment > page)
        return NULL;
    uint64_t bytes = size == 0 ? page : (size + page - 1) & ~(page - 1);
    if (!take_slot(bytes, &slot)) {
        __atomic_add_fetch(&state->refused, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    struct heap_block *block = &blocks[slot];
    __atomic_store_n(&block->status, HEAP_BUSY, __ATOMIC_RELEASE);
    uint64_t room =
        request->at_end ? (bytes - size) & ~(uint64_t)(request->alignment - 1) : 0;
    block->bytes = (uint32_t)bytes;
    block->address = pool_slot_start(slot) + room;
    block->size = size;
    block->caller = (uintptr_t)request->caller;
    block->freed.realtime_ns = 0;
    block->freed.cbf_size = 0;
    fill_around(block, slot);
    event_note(&block->allocated, request->origin, request->caller);
    __atomic_store_n(&block->status, HEAP_LIVE, __ATOMIC_RELEASE);
    __atomic_add_fetch(&state->guarded, 1, __ATOMIC_RELAXED);
    return (void *)(uintptr_t)block->address;
}

// fail ends the program by a fault at the trap.
static __attribute__((noreturn)) void fail(enum heap_error error, uint64_t address,
                                           uint64_t slot, enum heap_origin origin)
{
    struct heap_state *state = &crashhook_heap_state;
    uint64_t number =
        __atomic_fetch_add(&state->failed, 1, __ATOMIC_RELAXED) % HEAP_FAILURES;
    state->failures[number] =
        (struct heap_failure){ error, (uint32_t)origin, address, slot };
    __asm__ volatile("" ::: "memory"); // nothing in this process reads the record
    for (;;)                           // a handler of the program's own may return
        *(volatile char *)(uintptr_t)(state->trap + number * HEAP_TRAP_BYTES) = 0;
}

// find_damage is the first address in a range that lacks the pattern; end: none.
static uint64_t find_damage(uint64_t start, uint64_t end)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)start;
    // The C library compares faster than a loop: each byte with the one before it.
    if (start != end && *at == FILL && memcmp(at, at + 1, end - start - 1) == 0)
        return end;
    while (start < end && *(const uint8_t *)(uintptr_t)start == FILL)
        start++;
    return start;
}

static void check_around(const struct heap_block *block, uint64_t slot,
                         enum heap_origin origin)
{
    uint64_t after = block->address + block->size;
    uint64_t end = pool_slot_start(slot) + block->bytes;
    uint64_t damaged = find_damage(after, end);
    if (damaged != end)
        fail(HEAP_DAMAGE_AFTER, damaged, slot, origin);
    damaged = find_damage(pool_slot_start(slot), block->address);
    if (damaged != block->address)
        fail(HEAP_DAMAGE_BEFORE, damaged, slot, origin);
}

// is_mismatched judges a free by another family than the allocation's. Where malloc and
// the operators meet, both calls have to be in one image: a library may have operators
// of its own, which call malloc and free.
static bool is_mismatched(const struct heap_block *block, enum heap_origin origin,
                          const void *caller)
{
    enum heap_origin allocated = (enum heap_origin)block->allocated.origin;
    if (allocated == origin)
        return false;
    if (allocated != HEAP_BY_MALLOC && origin != HEAP_BY_MALLOC)
        return true;
    uint64_t image = walk_image((uintptr_t)caller);
    return image != 0 && image == walk_image(block->caller);
}

static uint64_t pool_slot_of(uint64_t address)
{
    const struct heap_state *state = &crashhook_heap_state;
    uint64_t offset = address - state->base;
    uint64_t slot =
        offset < state->page_bytes ? 0 : (offset - state->page_bytes) / stride();
    return slot < state->slots ? slot : state->slots - 1;
}

void pool_free(void *address, enum heap_origin origin, const void *caller)
{
    uint64_t at = (uintptr_t)address;
    uint64_t slot = pool_slot_of(at);
    struct heap_block *block = &blocks[slot];
    uint32_t status = HEAP_LIVE;
    if (at != block->address)
        fail(HEAP_INVALID_FREE, at, slot, origin);
    if (!__atomic_compare_exchange_n(&block->status, &status, HEAP_BUSY, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        fail(status == HEAP_FREED ? HEAP_DOUBLE_FREE : HEAP_INVALID_FREE, at, slot,
             origin);
    if (is_mismatched(block, origin, caller)) {
        __atomic_store_n(&block->status, HEAP_LIVE, __ATOMIC_RELEASE);
        fail(HEAP_MISMATCHED_FREE, at, slot, origin);
    }
    check_around(block, slot, origin);
    event_note(&block->freed, origin, caller);
    __atomic_store_n(&block->status, HEAP_FREED, __ATOMIC_RELEASE);
    pool_close_slot(block, slot);
    __atomic_add_fetch(&bytes_left, bytes_beside(block->bytes), __ATOMIC_RELAXED);
    queue_put(slot);
}

size_t pool_size(const void *address)
{
    const struct heap_block *block = &blocks[pool_slot_of((uintptr_t)address)];
    return block->address == (uintptr_t)address ? block->size : 0;
}

uint64_t pool_count_live(uint64_t *out_bytes)
{
    uint64_t count = 0;
    *out_bytes = 0;
    for (uint32_t i = 0; i < crashhook_heap_state.slots; i++) {
        if (__atomic_load_n(&blocks[i].status, __ATOMIC_ACQUIRE) != HEAP_LIVE)
            continue;
        *out_bytes += blocks[i].size;
        count++;
    }
    return count;
}

void pool_after_fork(void)
{
    const struct heap_state *state = &crashhook_heap_state;
    bool is_single = &__libc_single_threaded != NULL && __libc_single_threaded != 0;
    if (state->mode == POOL_NO || is_single)
        return;
    queue_reset();
    for (uint64_t i = 0; i < state->slots; i++) {
        if (!is_open[i]) // others are live, or were changing
            queue_put(i);
    }
}
