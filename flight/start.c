// SPDX-License-Identifier: Apache-2.0
//
// Starts the recorder: by the constructor if CRASHHOOK_FLIGHT gives a size, or by
// crashhook_flight_start. It reads the variables once and tells libcrashhook, however
// that was loaded, where the agent finds the recorder's data.
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/settings/settings.h"
#include "crashhook/flight.h"
#include "flight/functions.h"
#include "flight/ring.h"
#include "shared/flight_register.h"

// Recording through XRay's sleds, in programs compiled with -fxray-instrument: clang's
// runtime patches them to call us, and its function numbers are used.

// XRAY_LOG_ARGUMENT is an entry type of XRay's runtime (xray/xray_interface.h). The
// runtime may be absent from the program, hence the weak symbols.
enum { XRAY_LOG_ARGUMENT = 3 };
typedef void xray_handler_fn(int32_t id, int type);
typedef void xray_argument_fn(int32_t id, int type, uint64_t argument);

extern int __xray_set_handler(xray_handler_fn *handler) __attribute__((weak));
extern int __xray_set_handler_arg1(xray_argument_fn *handler) __attribute__((weak));
extern int __xray_patch(void) __attribute__((weak));
extern uintptr_t __xray_function_address(int32_t id) __attribute__((weak));
extern size_t __xray_max_function_id(void) __attribute__((weak));

// The linker defines these around the instrumentation map (docs/formats/fdr.md). A
// shared library does not see the program's symbols; the addresses of the functions are
// then asked of clang's runtime one by one.
extern const int64_t __start_xray_instr_map[] __attribute__((weak));
extern const int64_t __stop_xray_instr_map[] __attribute__((weak));

static void record_sled(int32_t id, int type)
{
    struct flight_ring *ring = ring_of_thread;
    if ((unsigned)type > RING_TAIL_EXIT && type != XRAY_LOG_ARGUMENT)
        return;
    if (ring == NULL && (ring = ring_claim()) == NULL)
        return;
    // record_argument, the other handler, is called when an argument is to be logged.
    ring_record(ring, type == XRAY_LOG_ARGUMENT ? RING_ENTER : (enum ring_action)type,
                (uint32_t)id);
}

static void record_argument(int32_t id, int type, uint64_t argument)
{
    struct flight_ring *ring = ring_of_thread;
    if (type != XRAY_LOG_ARGUMENT) {
        record_sled(id, type);
        return;
    }
    if (ring != NULL || (ring = ring_claim()) != NULL)
        ring_record_argument(ring, (uint32_t)id, argument);
}

// list_by_map stores the function of each entry of the map whose function differs from
// that of the entry before, because that is how XRay numbers them.
static void list_by_map(uint64_t *functions, size_t count)
{
    enum { ENTRY_WORDS = 4, FUNCTION = 1, VERSION_BYTE = 18, RELATIVE = 2 };
    const int64_t *entry = __start_xray_instr_map;
    uint64_t previous = 0;
    size_t id = 0;
    for (; entry + ENTRY_WORDS <= __stop_xray_instr_map && id <= count;
         entry += ENTRY_WORDS) {
        uint64_t function = (uint64_t)entry[FUNCTION];
        if (((const uint8_t *)entry)[VERSION_BYTE] >= RELATIVE)
            function += (uintptr_t)&entry[FUNCTION];
        if (function == previous)
            continue;
        previous = function;
        if (id < count)
            functions[id] = function;
        id++;
    }
}

// xray_is_ours returns true if the program has XRay's sleds, and uses them for nothing
// else.
static bool xray_is_ours(void)
{
    return __xray_set_handler != NULL && __xray_set_handler_arg1 != NULL &&
           __xray_patch != NULL && __xray_function_address != NULL &&
           __xray_max_function_id != NULL && getenv("XRAY_OPTIONS") == NULL;
}

// xray_list makes the table in which the agent finds the address of a function's
// number, before xray_start.
static void xray_list(void)
{
    size_t count = xray_is_ours() ? __xray_max_function_id() : 0;
    size_t bytes = count * sizeof(uint64_t);
    if (count == 0 || count >= FLIGHT_FIRST_ID)
        return;
    uint64_t *functions =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (functions == MAP_FAILED)
        return;
    if (__start_xray_instr_map != NULL && __stop_xray_instr_map != NULL) {
        list_by_map(functions, count);
    } else {
        for (size_t i = 0; i < count; i++)
            functions[i] = __xray_function_address((int32_t)i + 1);
    }
    flight_state.xray_functions = (uintptr_t)functions;
    flight_state.xray_count = count;
}

// xray_start patches the program's sleds. It does nothing in a program that has none,
// or if XRAY_OPTIONS is set, because XRay is then used for something else.
static void xray_start(void)
{
    if (!xray_is_ours())
        return;
    (void)__xray_set_handler(record_sled);
    (void)__xray_set_handler_arg1(record_argument);
    (void)__xray_patch();
}

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
    flight_state.images = (uintptr_t)functions_images;
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
