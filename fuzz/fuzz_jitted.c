// SPDX-License-Identifier: Apache-2.0
//
// What names jitted code; the first byte chooses: a perf map, a jitdump, or a file of
// GDB's JIT interface.
#include "agent/languages/jit_descriptor.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct jitted jitted = { 0 };
    if (size == 0)
        return 0;
    for (uint64_t i = 0; i < 64; i++)
        jitted_want(&jitted, i << (i % 48));
    jitted_sort(&jitted);
    if (bytes[0] % 3 == 0)
        jitted_read_map(&jitted, bytes + 1, size - 1);
    if (bytes[0] % 3 == 1)
        jitted_read_dump(&jitted, bytes + 1, size - 1);
    if (bytes[0] % 3 == 2)
        jit_descriptor_read_file(bytes + 1, size - 1, &jitted);
    for (size_t i = 0; i < jitted.count; i++)
        if (jitted.codes[i].source != NULL)
            (void)jitted_name_split(jitted.codes[i].name.bytes,
                                    jitted.codes[i].name.size, i % 2 != 0);
    jitted_deinit(&jitted);
    return 0;
}
