// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/flight_place.h"

#include <stddef.h>
#include <stdint.h>

#include "handler/crash/crash.h"

static uint64_t place;

void flight_place_tell(void)
{
    const struct crash_plan *plan = __atomic_load_n(&crash_plan, __ATOMIC_ACQUIRE);
    if (plan != NULL)
        plan->page->flight_state = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
}

void crashhook_flight_register(const void *state)
{
    __atomic_store_n(&place, (uintptr_t)state, __ATOMIC_RELEASE);
    flight_place_tell();
}
