// SPDX-License-Identifier: Apache-2.0
#include "flight/xray.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "flight/ring.h"

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

void xray_list(void)
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

void xray_start(void)
{
    if (!xray_is_ours())
        return;
    (void)__xray_set_handler(record_sled);
    (void)__xray_set_handler_arg1(record_argument);
    (void)__xray_patch();
}
