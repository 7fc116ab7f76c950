// SPDX-License-Identifier: Apache-2.0
//
// Objects that the program wants in its reports. This is not crash context, but uses no
// lock and no heap, because a program may call it anywhere.
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "crashhook/crashhook.h"
#include "handler/prepare/plan.h"
#include "shared/place_note.h"

struct watch_slot watch_slots[WATCH_COUNT];
_Static_assert(sizeof(watch_slots) == WATCH_TABLE_BYTES, "as the note says");
PLACE_NOTE(PLACE_WATCHES, WATCH_TABLE_BYTES, watch_slots);

static uint32_t state_of(const struct watch_slot *slot)
{
    return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

// change_state replaces state from, as it was read, by phase to. Every change back to
// free increments the number above the phase, so that a compare-and-swap with a stale
// state fails.
static bool change_state(struct watch_slot *slot, uint32_t from, uint32_t to)
{
    uint32_t next = (from & ~WATCH_STATE_MASK) | to;
    if (to == WATCH_FREE)
        next += WATCH_STATE_MASK + 1;
    return __atomic_compare_exchange_n(&slot->state, &from, next, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

int crashhook_watch_object(const char *name, const volatile void *object,
                           const char *type, size_t size)
{
    if (name == NULL || object == NULL || type == NULL || size == 0 ||
        strlen(name) >= WATCH_NAME_SIZE || strlen(type) >= WATCH_TYPE_SIZE)
        return EINVAL;
    for (size_t i = 0; i < WATCH_COUNT; i++) {
        struct watch_slot *slot = &watch_slots[i];
        uint32_t state = state_of(slot);
        if ((state & WATCH_STATE_MASK) != WATCH_FREE ||
            !change_state(slot, state, WATCH_CHANGING))
            continue;
        slot->address = (uintptr_t)object;
        slot->size = size;
        slot->caller = (uintptr_t)__builtin_return_address(0);
        memcpy(slot->name, name, strlen(name) + 1); // both lengths were checked
        memcpy(slot->type, type, strlen(type) + 1);
        (void)change_state(slot, state_of(slot), WATCH_READY); // while it is changing,
                                                               // no other thread
                                                               // touches it
        return 0;
    }
    return ENOSPC;
}

// watch_matches returns true if slot is the one to be freed. The slot may be reused at
// the same time: then what is read here means nothing, and change_state fails.
static bool watch_matches(const struct watch_slot *slot, const char *name,
                          uint64_t address)
{
    return name != NULL ? strncmp(slot->name, name, WATCH_NAME_SIZE) == 0
                        : slot->address == address;
}

// forget_watch frees the slots with a name or of an object.
static int forget_watch(const char *name, uint64_t address)
{
    int result = ENOENT;
    for (size_t i = 0; i < WATCH_COUNT; i++) {
        struct watch_slot *slot = &watch_slots[i];
        uint32_t state = state_of(slot);
        if ((state & WATCH_STATE_MASK) == WATCH_READY &&
            watch_matches(slot, name, address) && change_state(slot, state, WATCH_FREE))
            result = 0;
    }
    return result;
}

int(crashhook_unwatch)(const volatile void *object)
{
    return forget_watch(NULL, (uintptr_t)object);
}

int crashhook_unwatch_name(const char *name)
{
    if (name == NULL)
        return EINVAL;
    int object = forget_watch(NULL, (uintptr_t)name);
    int named = forget_watch(name, 0);
    return object == 0 ? object : named;
}
