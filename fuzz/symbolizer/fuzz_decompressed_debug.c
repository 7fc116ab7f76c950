// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "symbolizer/files/decompressed_debug.h"

// What is written is read back, and has the size that was announced or more.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LIMIT = 1 << 20 };
    struct debug_elf file;
    int from = memfd_create("from", MFD_CLOEXEC);
    int to = memfd_create("to", MFD_CLOEXEC);
    if (from < 0 || to < 0 || write(from, bytes, size) != (ssize_t)size)
        abort();
    if (debug_elf_adopt(&file, from) == CH_OK) { // which closes from
        uint64_t announced = decompressed_debug_size(&file);
        if (decompressed_debug_write(&file, to, LIMIT) == CH_OK &&
            lseek(to, 0, SEEK_END) < (off_t)announced)
            abort();
        struct debug_elf loaded;
        if (announced < LIMIT && decompressed_debug_load(&loaded, &file) == CH_OK) {
            (void)debug_elf_has_dwarf(&loaded);
            debug_elf_close(&loaded);
        }
        debug_elf_close(&file);
    }
    close(to);
    return 0;
}
