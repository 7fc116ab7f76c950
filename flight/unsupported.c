// SPDX-License-Identifier: Apache-2.0
//
// The flight recorder for processors that it does not know.
#include <errno.h>

#include "crashhook/flight.h"

int crashhook_flight_start(size_t bytes_per_thread)
{
    (void)bytes_per_thread;
    return ENOTSUP;
}
