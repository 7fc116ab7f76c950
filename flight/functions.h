// SPDX-License-Identifier: Apache-2.0
//
// The numbers of functions that are known by address: their slots in a hash table that
// only grows. A record has room for 28 bits; the agent reads the table to get the
// addresses back.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/flight_state.h"

extern uint64_t functions_table[FLIGHT_FUNCTIONS] __attribute__((visibility("hidden")));
extern struct flight_image functions_images[FLIGHT_IMAGES]
    __attribute__((visibility("hidden")));

// functions_add finds or takes a slot for a function that is not in its first one.
// FLIGHT_NO_ID: no slot is free nearby.
uint32_t functions_add(uint64_t address);

// functions_leave_unloaded leaves the addresses of libraries that are not loaded any
// more to other code.
void functions_leave_unloaded(void);

// functions_place is the first slot in which a function's address is looked up.
static inline uint32_t functions_place(uint64_t address)
{
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 48) % FLIGHT_FUNCTIONS;
}

// functions_known gives the number of the function at address if it is in its first
// slot, or 0.
static inline uint32_t functions_known(uint64_t address)
{
    uint32_t place = functions_place(address);
    bool known = __atomic_load_n(&functions_table[place], __ATOMIC_RELAXED) == address;
    return known ? FLIGHT_FIRST_ID + place : 0;
}

// functions_id gives the number of the function at address.
static inline uint32_t functions_id(uint64_t address)
{
    uint32_t id = functions_known(address);
    return id != 0 ? id : functions_add(address);
}
