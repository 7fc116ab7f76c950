// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/source_bundle.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    volatile char last = 0;
    if (source_bundle_check(bytes, size) == CH_OK)
        last = 1;
    if (source_bundle_read(&reader, bytes, size) != CH_OK)
        return 0;
    while (source_bundle_next(&reader, &file) == CH_OK)
        last = file.path[file.path_size - 1];
    struct cursor found;
    if (source_bundle_find(cursor_over(bytes, size), "/a", &found) &&
        cursor_left(&found) != 0)
        last = (char)found.end[-1];
    (void)last;
    return 0;
}
