// SPDX-License-Identifier: Apache-2.0
#include "images/sparse_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 64 << 10, LOAD_MAX_BYTES = 256 << 20 };

enum ch_status sparse_file_init(struct sparse_file *file, int fd)
{
    struct stat info;
    *file = (struct sparse_file){ .fd = fd };
    if (fstat(fd, &info) != 0)
        return CH_ERR_IO;
    if (!S_ISREG(info.st_mode) || info.st_size <= 0)
        return CH_ERR_UNSUPPORTED;
    // Pages take memory only once they are read into.
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    file->bytes = bytes;
    file->size = size;
    return sparse_file_load(file, 0, size < HEAD_BYTES ? size : HEAD_BYTES);
}

void sparse_file_deinit(struct sparse_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->size);
    *file = (struct sparse_file){ 0 };
}

enum ch_status sparse_file_load(struct sparse_file *file, uint64_t offset,
                                uint64_t size)
{
    if (offset > file->size || size > file->size - offset)
        return CH_ERR_TRUNCATED;
    if (size > LOAD_MAX_BYTES)
        return CH_ERR_LIMIT;
    while (size != 0) {
        ssize_t count = pread(file->fd, file->bytes + offset, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count == 0 ? CH_ERR_TRUNCATED : CH_ERR_IO;
        offset += (uint64_t)count;
        size -= (uint64_t)count;
    }
    return CH_OK;
}

enum ch_status sparse_file_view(struct sparse_file *file, struct elf_view *out)
{
    struct elf_header header;
    struct elf_section names;
    enum ch_status status = elf_read_header(file->bytes, file->size, &header);
    if (status == CH_OK)
        status = sparse_file_load(file, header.section_offset,
                                  (uint64_t)header.section_count * header.section_size);
    if (status == CH_OK)
        status = elf_view_init(out, file->bytes, file->size);
    if (status == CH_OK)
        status = elf_view_section(out, out->header.section_names, &names);
    return status == CH_OK ? sparse_file_load(file, names.offset, names.size) : status;
}
