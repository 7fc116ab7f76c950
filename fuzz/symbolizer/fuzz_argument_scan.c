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
static void scan_code(const struct argument_machine *machine, struct code code)
{
    struct argument_point before;
    struct argument_scan *scan =
        argument_scan_create(machine, 0, code.size - code.size / 4, bytes_at, &code);
    for (size_t i = 0; scan != NULL && i < code.size; i++)
        (void)!(argument_scan_before(scan, i, &before) +
                (argument_scan_called(scan, i) != NULL));
    argument_scan_destroy(scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    scan_code(&argument_machine_amd64, (struct code){ bytes, size });
    scan_code(&argument_machine_aarch64, (struct code){ bytes, size });
    return 0;
}
