// SPDX-License-Identifier: Apache-2.0
#include "agent/core_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10 };

// The file being filled.
struct keeping {
    int fd;
    uint64_t size;    // of the core so far, holes among it
    uint64_t written; // bytes that take room
    uint64_t limit_bytes;
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

// put writes size bytes behind what is there; false: no more fits.
static bool put(struct keeping *keeping, const uint8_t *bytes, size_t size)
{
    if (is_zero(bytes, size)) {
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
            return false; // a full disk keeps what it has
        done += (size_t)count;
    }
    keeping->size += size;
    keeping->written += size;
    return true;
}

// fill_piece reads until the piece is full or the input ends; negative: it cannot be
// read.
static ssize_t fill_piece(int from, uint8_t *piece)
{
    size_t size = 0;
    while (size < PIECE_BYTES) {
        ssize_t count = read(from, piece + size, PIECE_BYTES - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        size += (size_t)count;
    }
    return (ssize_t)size;
}

static int open_nameless(const char *folder, struct keeping *keeping)
{
    keeping->limit_bytes = CORE_INPUT_LIMIT_BYTES;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd >= 0)
        return fd;
    keeping->limit_bytes = CORE_INPUT_MEMORY_BYTES;
    return memfd_create("crashhook-core", MFD_CLOEXEC);
}

enum ch_status core_input_keep(int from, const char *folder, int *out_fd)
{
    struct keeping keeping = { .fd = -1 };
    uint8_t *piece = malloc(PIECE_BYTES);
    if (piece == NULL)
        return CH_ERR_NO_MEMORY;
    keeping.fd = open_nameless(folder, &keeping);
    ssize_t size = keeping.fd >= 0 ? fill_piece(from, piece) : -1;
    while (size > 0 && put(&keeping, piece, (size_t)size))
        size = fill_piece(from, piece);
    free(piece);
    // The size makes trailing holes part of the file.
    if (size < 0 || ftruncate(keeping.fd, (off_t)keeping.size) != 0) {
        int error = errno;
        if (keeping.fd >= 0)
            close(keeping.fd);
        errno = error;
        return CH_ERR_IO;
    }
    *out_fd = keeping.fd;
    return CH_OK;
}
