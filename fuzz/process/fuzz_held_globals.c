// SPDX-License-Identifier: Apache-2.0
//
// The global variables of a crashed thread, copied from memory that is the input: code,
// a table of addresses, data and the thread's block, a quarter each. The first byte
// selects whether the program is at fixed addresses, and whether it is a library.
#include <stdlib.h>

#include "agent/facts/held_stack.h"
#include "formats/debug/maps.h"
#include "fuzz/fuzz.h"
#include "report/file/held_file.h"
#include "support/fake_memory.h"

enum { FIXED = 0x400000, PARTS = 4 };
#define MOVED UINT64_C(0x7f0000000000)

static void copy_globals(struct capture *capture, uint64_t pc, uint64_t thread_pointer)
{
    static struct held_pointers pointers;
    struct backtrace_limit frames;
    const struct unwind_frame frame = { .address = pc, .kind = UNWIND_KIND_PC };
    backtrace_limit_init(&frames, 1, 0);
    (void)backtrace_limit_add(&frames, &frame);
    held_pointers_init(&pointers, capture);
    held_globals_add(capture, &pointers, &frames, thread_pointer);
    held_pointers_copy(&pointers);
    backtrace_limit_deinit(&frames);
}

// What was copied is a held_file, whatever the memory has.
static void check_held(const struct text *held)
{
    struct held_file file;
    if (held->size == 0)
        return;
    if (held_file_init(&file, held->bytes, held->size) != CH_OK)
        abort();
    held_file_deinit(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { IS_MOVED = 1, IS_LIBRARY = 2 };
    static const unsigned permissions[PARTS] = { MAPS_READ | MAPS_EXECUTE, MAPS_READ,
                                                 MAPS_READ | MAPS_WRITE,
                                                 MAPS_READ | MAPS_WRITE };
    if (size <= PARTS)
        return 0;
    const uint64_t base = bytes[0] & IS_MOVED ? MOVED : FIXED;
    const size_t each = (size - 1) / PARTS;
    const struct fake_region region = { base, bytes + 1, PARTS * each };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct text held = { 0 };
    struct target_mapping mappings[PARTS];
    struct target_image image = { .path = "program",
                                  .path_size = 7,
                                  .base = base,
                                  .end = base + 3 * each,
                                  .entry = bytes[0] & IS_LIBRARY ? 0 : base };
    for (size_t i = 0; i < PARTS; i++)
        mappings[i] = (struct target_mapping){ .start = base + i * each,
                                               .end = base + (i + 1) * each,
                                               .permissions = permissions[i],
                                               .path = "" };
    struct capture capture = { .arch = &unwind_arch_amd64,
                               .reader = fake_memory_reader(&memory),
                               .held = &held,
                               .images = { .mappings = mappings,
                                           .mapping_count = PARTS,
                                           .images = &image,
                                           .count = 1 } };
    copy_globals(&capture, base + each / 2, base + PARTS * each - each / 2);
    check_held(&held);
    text_deinit(&held);
    return 0;
}
