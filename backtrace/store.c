// SPDX-License-Identifier: Apache-2.0
//
// The store of stacks: one mapping with a hash table of record numbers and the records
// after it. Everything but creating and destroying may run in a signal handler.
//
// A stack's number is the offset of its record in units of 8 bytes. A record is written
// before its number is put into the table, by one atomic exchange, and never changes.
// Where two threads add the same stack at the same time, one record is left unused.
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "backtrace/stored.h"
#include "crashhook/backtrace_raw.h"
#include "formats/interchange/cbf.h"

enum {
    UNIT_BYTES = 8,
    PLACE_BYTES = 64, // of the store, for each place of the table
    LEAST_BYTES = 64 << 10,
    CBF_BYTES = CBF_OVERHEAD + CRASHHOOK_STORE_FRAMES * CBF_FRAME_MAX,
};

static const uint64_t most_bytes = UINT64_C(32) << 30;

struct store_record {
    uint32_t hash;
    uint32_t size;
    uint8_t cbf[];
};

struct crashhook_backtrace_store {
    size_t size;
    size_t places; // a power of two
    size_t begin;  // offset of the first record
    atomic_size_t used;
    atomic_size_t count;
    _Atomic(uint32_t) table[];
};

int crashhook_backtrace_store_create(size_t size,
                                     struct crashhook_backtrace_store **out)
{
    size_t places = 1;
    if (size < LEAST_BYTES || size > most_bytes)
        return EINVAL;
    while (places < size / PLACE_BYTES)
        places *= 2;
    struct crashhook_backtrace_store *made =
        mmap(NULL, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return ENOMEM;
    made->size = size;
    made->places = places;
    made->begin = (sizeof(*made) + places * sizeof(made->table[0]) + UNIT_BYTES - 1) &
                  -(size_t)UNIT_BYTES;
    atomic_init(&made->used, made->begin);
    *out = made;
    return 0;
}

void crashhook_backtrace_store_destroy(struct crashhook_backtrace_store *store)
{
    if (store != NULL)
        munmap(store, store->size);
}

static uint32_t store_hash(const uint8_t *bytes, size_t size)
{
    const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = size;
    struct cursor c = cursor_over(bytes, size);
    while (cursor_left(&c) >= sizeof(uint64_t))
        hash = (hash ^ cursor_u64(&c)) * multiplier;
    hash = (hash ^ cursor_uint(&c, cursor_left(&c))) * multiplier;
    return (uint32_t)(hash >> 32);
}

static struct store_record *record_at(const struct crashhook_backtrace_store *store,
                                      uint32_t number)
{
    return (struct store_record *)((uintptr_t)store + (size_t)number * UNIT_BYTES);
}

// store_put gives the number of a new record; 0: there is no room for it.
static uint32_t store_put(struct crashhook_backtrace_store *store, uint32_t hash,
                          const uint8_t *cbf, size_t size)
{
    size_t needed =
        (sizeof(struct store_record) + size + UNIT_BYTES - 1) & -(size_t)UNIT_BYTES;
    size_t at = atomic_load(&store->used);
    do {
        if (needed > store->size - at)
            return 0;
    } while (!atomic_compare_exchange_weak(&store->used, &at, at + needed));
    struct store_record *record = record_at(store, (uint32_t)(at / UNIT_BYTES));
    record->hash = hash;
    record->size = (uint32_t)size;
    memcpy(record->cbf, cbf, size);
    return (uint32_t)(at / UNIT_BYTES);
}

// store_bytes gives the number of the stack with these bytes.
static uint32_t store_bytes(struct crashhook_backtrace_store *store, const uint8_t *cbf,
                            size_t size)
{
    const uint32_t hash = store_hash(cbf, size);
    uint32_t written = 0;
    for (size_t i = 0; i < store->places; i++) {
        _Atomic(uint32_t) *place = &store->table[(hash + i) & (store->places - 1)];
        uint32_t number = atomic_load_explicit(place, memory_order_acquire);
        if (number == 0) {
            if (written == 0)
                written = store_put(store, hash, cbf, size);
            if (written == 0)
                return 0;
            if (atomic_compare_exchange_strong(place, &number, written)) {
                atomic_fetch_add(&store->count, 1);
                return written;
            }
        }
        const struct store_record *record = record_at(store, number);
        if (record->hash == hash && record->size == size &&
            memcmp(record->cbf, cbf, size) == 0)
            return number;
    }
    return 0;
}

uint32_t crashhook_backtrace_store_add(struct crashhook_backtrace_store *store,
                                       const uint64_t *addresses, size_t count)
{
    uint8_t cbf[CBF_BYTES];
    struct cbf_writer writer;
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, cbf, sizeof(cbf));
    for (size_t i = 0; status == CH_OK && i < count && i < CRASHHOOK_STORE_FRAMES; i++)
        status = cbf_write_frame(&writer, CBF_RETURN_ADDRESS, addresses[i]);
    if (status == CH_OK && count > CRASHHOOK_STORE_FRAMES)
        status = cbf_write_frame(&writer, CBF_TRUNC, 0);
    if (status != CH_OK)
        return 0;
    cbf_write_end(&writer);
    return store_bytes(store, cbf, writer.size);
}

const uint8_t *
crashhook_backtrace_store_cbf(const struct crashhook_backtrace_store *store,
                              uint32_t number, size_t *out_size)
{
    size_t at = (size_t)number * UNIT_BYTES;
    size_t used = atomic_load(&store->used);
    if (at < store->begin || at > used || used - at < sizeof(struct store_record))
        return NULL;
    const struct store_record *record = record_at(store, number);
    if (record->size > used - at - sizeof(*record) ||
        store_hash(record->cbf, record->size) != record->hash)
        return NULL;
    *out_size = record->size;
    return record->cbf;
}

int crashhook_backtrace_store_get(const struct crashhook_backtrace_store *store,
                                  uint32_t number, struct crashhook_backtrace **out)
{
    size_t size;
    const uint8_t *cbf = crashhook_backtrace_store_cbf(store, number, &size);
    return cbf != NULL ? crashhook_backtrace_from_cbf(cbf, size, NULL, out) : ENOENT;
}

size_t crashhook_backtrace_store_count(const struct crashhook_backtrace_store *store)
{
    return atomic_load(&store->count);
}

size_t crashhook_backtrace_store_used(const struct crashhook_backtrace_store *store)
{
    return atomic_load(&store->used) - store->begin;
}
