// SPDX-License-Identifier: Apache-2.0
//
// A thread that returns from a signal, on a stack that is the input.
#include "agent/facts/first_fault.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { CODE = 0x401000, STACK = 0x10000000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    // mov $15,%rax; syscall
    static const uint8_t code[4096] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    static const struct settings settings = { .unwind = SETTING_UNWIND_AUTO };
    const struct fake_region regions[] = { { CODE, code, sizeof(code) },
                                           { STACK, bytes, size } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    const struct unwind_image image = { .start = CODE, .end = CODE + sizeof(code) };
    const struct target_crash crash = {
        .info = { .si_signo = SIGABRT, .si_code = SI_TKILL },
        .registers = { .value = { [7] = STACK, [16] = CODE } },
    };
    static struct capture capture;
    struct unwind_space *space;

    memset(&capture, 0, sizeof(capture));
    capture.settings = &settings;
    capture.crash = &crash;
    capture.arch = &unwind_arch_amd64;
    capture.reader = fake_memory_reader(&memory);
    if (unwind_space_create(&unwind_arch_amd64, &capture.reader, &image, 1, &space) !=
        CH_OK)
        return 0;
    (void)first_fault_find(&capture, space);
    unwind_space_destroy(space);
    return 0;
}
