// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/file.h"

enum { PIECE_BYTES = 64 << 10 };

// A keeping is the file being filled.
struct keeping {
    int fd;
    uint64_t size;    // of the core so far, including holes
    uint64_t written; // bytes that occupy space
    uint64_t limit_bytes;
};

// put_core_bytes appends size bytes; false: no more fits.
static bool put_core_bytes(struct keeping *keeping, const uint8_t *bytes, size_t size)
{
    bool is_zero = bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
    if (is_zero) {
        keeping->size += size;
        return true;
    }
    if (keeping->written + size > keeping->limit_bytes)
        return false;
    for (size_t done = 0; done < size;) {
        ssize_t count = pwrite(keeping->fd, bytes + done, size - done,
                               (off_t)(keeping->size + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false; // when the disk is full, what was written stays
        done += (size_t)count;
    }
    keeping->size += size;
    keeping->written += size;
    return true;
}

bool core_input_open(const char *folder, struct core_input *out)
{
    out->start = 0;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    out->limit_bytes = fd >= 0 ? CORE_INPUT_LIMIT_BYTES : CORE_INPUT_MEMORY_BYTES;
    out->fd = fd >= 0 ? fd : memfd_create("crashhook-core", MFD_CLOEXEC);
    return out->fd >= 0;
}

enum ch_status core_input_fill(const struct core_input *input, int from)
{
    struct keeping keeping = { .fd = input->fd,
                               .size = input->start,
                               .written = input->start,
                               .limit_bytes = input->limit_bytes };
    uint8_t *piece = malloc(PIECE_BYTES);
    if (piece == NULL)
        return CH_ERR_NO_MEMORY;
    ssize_t size = file_read_all(from, piece, PIECE_BYTES);
    while (size > 0 && put_core_bytes(&keeping, piece, (size_t)size))
        size = file_read_all(from, piece, PIECE_BYTES);
    int error = errno;
    free(piece);
    errno = error;
    // Trailing holes are in the file only once its size is set.
    if (size < 0 || ftruncate(keeping.fd, (off_t)keeping.size) != 0)
        return CH_ERR_IO;
    return CH_OK;
}

enum ch_status core_input_keep(int from, const char *folder, int *out_fd)
{
    struct core_input input;
    if (!core_input_open(folder, &input))
        return CH_ERR_IO;
    enum ch_status status = core_input_fill(&input, from);
    if (status == CH_OK) {
        *out_fd = input.fd;
        return CH_OK;
    }
    int error = errno;
    close(input.fd);
    errno = error;
    return status;
}
