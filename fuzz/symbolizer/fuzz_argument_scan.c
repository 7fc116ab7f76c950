// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "symbolizer/code/argument_scan.h"

struct code {
    const uint8_t *bytes;
    size_t size;
};

static const uint8_t *bytes_at(void *context, uint64_t vaddr, size_t *out_size)
{
    const struct code *code = context;
    *out_size = vaddr < code->size ? code->size - (size_t)vaddr : 0;
    return vaddr < code->size ? code->bytes + vaddr : NULL;
}

// All of it is one function but for its last quarter, which lies outside.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct code code = { bytes, size };
    struct argument_point before;
    struct argument_scan *scan =
        argument_scan_create(0, size - size / 4, bytes_at, &code);
    for (size_t i = 0; scan != NULL && i < size; i++)
        (void)!(argument_scan_before(scan, i, &before) +
                (argument_scan_called(scan, i) != NULL));
    argument_scan_destroy(scan);
    return 0;
}
