// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/thrown_stack.h"

#include <stddef.h>
#include <string.h>

// read_newest takes the newest entry of one ring for the object, if it is newer than
// *time_ns.
static void read_newest(const struct throw_ring *ring, uint64_t object,
                        uint64_t *time_ns, struct thrown_stack *out)
{
    for (size_t i = 0; i < THROW_ENTRIES; i++) {
        const struct throw_entry *entry = &ring->entries[i];
        if (entry->object != object || entry->size == 0 ||
            entry->size > sizeof(entry->cbf) ||
            (out->size != 0 && entry->time_ns <= *time_ns))
            continue;
        memcpy(out->cbf, entry->cbf, entry->size);
        out->size = entry->size;
        out->tid = (pid_t)entry->tid;
        *time_ns = entry->time_ns;
    }
}

void thrown_stack_read(const struct memory_reader *reader, uint64_t state,
                       uint64_t object, struct thrown_stack *out)
{
    uint64_t time_ns = 0;
    for (size_t i = 0; object != 0 && i < THROW_RINGS; i++) {
        struct throw_ring ring;
        uint64_t at = state + offsetof(struct throw_state, rings) + i * sizeof(ring);
        uint32_t head[2];
        if (memory_read(reader, at, head, sizeof(head)) != CH_OK)
            return;
        bool is_used = head[1] != 0; // it has entries
        if (is_used && memory_read(reader, at, &ring, sizeof(ring)) == CH_OK)
            read_newest(&ring, object, &time_ns, out);
    }
}

void thrown_stack_find(struct capture *capture, uint64_t object,
                       struct thrown_stack *out)
{
    size_t at = 0;
    uint64_t state;
    out->size = 0;
    while (out->size == 0 &&
           capture_next_place(capture, PLACE_THROWS, sizeof(struct throw_state), &at,
                              &state))
        thrown_stack_read(&capture->reader, state, object, out);
}
