// SPDX-License-Identifier: Apache-2.0
//
// Starts the recorder: by the constructor if CRASHHOOK_FLIGHT gives a size, or by
// crashhook_flight_start. It reads the variables once and tells libcrashhook, however
// that was loaded, where the agent finds the recorder's data.
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/settings/settings.h"
#include "crashhook/flight.h"
#include "flight/functions.h"
#include "flight/ring.h"
#include "flight/xray.h"
#include "shared/flight_register.h"

#pragma weak crashhook_flight_register
#pragma weak dlsym

enum start_flight { START_NOT, START_BEGUN };

static const char *get_flight_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// tell_handler looks the handler up by name, because it may be preloaded into a program
// that was linked without it.
static void tell_handler(void)
{
    flight_register_fn *tell = crashhook_flight_register;
    if (tell == NULL && dlsym != NULL)
        *(void **)&tell = dlsym(RTLD_DEFAULT, "crashhook_flight_register");
    if (tell != NULL)
        tell(&flight_state);
}

// blocks_for gives the number of blocks of a ring of about that size, at least two: one
// is always being written.
static uint32_t blocks_for(uint64_t bytes)
{
    uint64_t count = bytes / FLIGHT_BLOCK_BYTES;
    if (count < 2)
        return 2;
    return count < FLIGHT_BLOCKS_MAX ? (uint32_t)count : FLIGHT_BLOCKS_MAX;
}

static int start_flight(size_t bytes_per_thread)
{
    static int started;
    struct settings settings;
    int expected = START_NOT;
    settings_read(&settings, get_flight_variable, NULL, NULL); // libcrashhook complains
    uint64_t bytes = getenv("CRASHHOOK_FLIGHT") != NULL ? settings.flight_bytes
                                                        : (uint64_t)bytes_per_thread;
    if (getauxval(AT_SECURE) != 0)
        return EPERM;
    if (bytes == 0 || settings.enable == SETTING_NO)
        return ECANCELED;
    if (!__atomic_compare_exchange_n(&started, &expected, START_BEGUN, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return 0;
    flight_state.functions = (uintptr_t)functions_table;
    xray_list();
    if (!ring_begin_all(blocks_for(bytes))) {
        __atomic_store_n(&started, START_NOT, __ATOMIC_RELEASE);
        return ENOMEM;
    }
    tell_handler();
    xray_start();
    return 0;
}

int crashhook_flight_start(size_t bytes_per_thread)
{
    int saved = errno;
    int error = start_flight(bytes_per_thread);
    errno = saved;
    return error;
}

__attribute__((constructor)) static void start_at_load(void)
{
    (void)crashhook_flight_start(0);
}
