// SPDX-License-Identifier: Apache-2.0
#include "cli/session/stderr_ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"

// map_ring maps the ring of a descriptor; NULL: it is none.
static void *map_ring(int fd, int protection)
{
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size != (off_t)sizeof(struct stderr_ring))
        return NULL;
    void *ring = mmap(NULL, sizeof(struct stderr_ring), protection, MAP_SHARED, fd, 0);
    return ring != MAP_FAILED ? ring : NULL;
}

struct stderr_ring *stderr_ring_create(void)
{
    char name[64];
    // The descriptor stays open: that is how others reach the ring.
    int fd = memfd_create("crashhook-stderr", MFD_CLOEXEC);
    void *ring = fd >= 0 && ftruncate(fd, sizeof(struct stderr_ring)) == 0
                     ? map_ring(fd, PROT_READ | PROT_WRITE)
                     : NULL;
    (void)snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), fd);
    if (ring != NULL && setenv(STDERR_RING_VARIABLE, name, 1) == 0)
        return ring;
    file_close(&fd);
    return NULL;
}

const struct stderr_ring *stderr_ring_open(void)
{
    const char *name = getenv(STDERR_RING_VARIABLE);
    CH_CLEANUP(file_close)
    int fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    return map_ring(fd, PROT_READ);
}

void stderr_ring_keep(struct stderr_ring *ring, const char *bytes, size_t size)
{
    size_t at = (size_t)(ring->written % STDERR_RING_BYTES);
    size_t first = size < STDERR_RING_BYTES - at ? size : STDERR_RING_BYTES - at;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, size - first);
    __atomic_store_n(&ring->written, ring->written + size, __ATOMIC_RELEASE);
}

void stderr_ring_append(const struct stderr_ring *ring, size_t most, struct text *out)
{
    uint64_t end = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
    most = most < STDERR_RING_BYTES ? most : STDERR_RING_BYTES;
    for (uint64_t at = end > most ? end - most : 0; at < end; at++)
        text_append(out, &ring->bytes[at % STDERR_RING_BYTES], 1);
}
