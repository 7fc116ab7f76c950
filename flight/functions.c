// SPDX-License-Identifier: Apache-2.0
#include "flight/functions.h"

#include <stdbool.h>

#include "flight/ring_file.h"

// The greatest distance of a function from its first slot.
enum { STEPS_MAX = 256 };

uint64_t functions_table[FLIGHT_FUNCTIONS];

uint32_t functions_add(uint64_t address)
{
    uint32_t place = functions_place(address);
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(&functions_table[place], &found, address, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            ring_file_note_function(place, address);
            return FLIGHT_FIRST_ID + place;
        }
        if (found == address)
            return FLIGHT_FIRST_ID + place;
        place = (place + 1) % FLIGHT_FUNCTIONS;
    }
    return FLIGHT_NO_ID;
}
