// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/vdso.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

bool vdso_is_path(const char *path)
{
    return strcmp(path, "[vdso]") == 0 || strncmp(path, "linux-vdso", 10) == 0 ||
           strncmp(path, "linux-gate", 10) == 0;
}

enum ch_status vdso_open(struct debug_elf *out)
{
    const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (vdso == NULL)
        return CH_ERR_NOT_FOUND;
    // The bytes are the running kernel's, so they are trusted. The section headers come
    // last, which gives the size.
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    void *bytes = malloc(size);
    if (bytes == NULL)
        return CH_ERR_NO_MEMORY;
    memcpy(bytes, vdso, size);
    return debug_elf_over(out, bytes, size);
}
