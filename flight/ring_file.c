// SPDX-License-Identifier: Apache-2.0
//
// The handler keeps no descriptor of the life, and no room for a call that would give
// it: so the file is found by its mapping. Its lock belongs to the handler's mapping,
// and lasts as long.
#include "flight/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "handler/record_file.h"

enum {
    LINE_BYTES = PATH_MAX + 128, // of /proc/self/maps
    FILE_BYTES_MAX = 32 << 20,   // of all rings: those of 512 threads of 64 KB
    TABLE_BYTES_MAX = 8 << 20,   // of XRay's functions
    RING_POPULATE_WRITE = 23,    // madvise's since Linux 5.14; older headers lack it
};

// A ring_area is what the file has of the recorder; the blocks follow in whole pages.
struct ring_area {
    struct flight_state state;
    _Alignas(128) struct flight_ring rings[FLIGHT_RINGS_MAX];
    uint64_t functions[FLIGHT_FUNCTIONS];
};

static const struct flight_state *ring_area_state; // of the recorder
static struct ring_area *ring_area; // NULL: the rings are in private memory
static char *ring_area_blocks;
static size_t ring_area_block_bytes; // of one ring
static size_t ring_area_rings;       // how many have their blocks in the file
static size_t ring_area_bytes;

// names_life is whether a line of /proc/self/maps names a life, and gives its path.
static const char *names_life(const char *line)
{
    static const char suffix[] = RECORD_SUFFIX;
    size_t length = strlen(line);
    const char *path = strchr(line, '/');
    if (path == NULL || length < sizeof(suffix) ||
        strcmp(line + length - (sizeof(suffix) - 1), suffix) != 0 ||
        strstr(path, "/" RECORD_LIFE_PREFIX) == NULL)
        return NULL;
    return path;
}

// find_life_path finds the mapping of the life among the process's own. NULL: none.
static const char *find_life_path(char line[static LINE_BYTES])
{
    char piece[1024];
    size_t used = 0;
    ssize_t got;
    const char *path = NULL;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && path == NULL && (got = read(fd, piece, sizeof(piece))) > 0) {
        for (ssize_t i = 0; i < got && path == NULL; i++) {
            if (piece[i] != '\n' && used < LINE_BYTES - 1) {
                line[used++] = piece[i];
                continue;
            }
            line[used] = 0;
            used = 0;
            path = names_life(line);
        }
    }
    if (fd >= 0)
        (void)close(fd);
    return path;
}

// is_own_life is whether the file is the life of this process.
static bool is_own_life(int fd)
{
    struct record_header header;
    return pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
           header.magic == RECORD_MAGIC && header.reason == RECORD_ALIVE &&
           header.pid == getpid();
}

// keeps_its_room is whether a page of a file, once it was written to the disk, needs no
// room to be written there again, and is on this machine.
static bool keeps_its_room(int fd)
{
    static const unsigned long known[] = {
        0xef53,     // ext2, ext3, ext4
        0x58465342, // XFS
        0x01021994, // tmpfs
        0x794c7630, // overlayfs
        0xf2f52010, // F2FS
    };
    struct statfs found;
    if (fstatfs(fd, &found) != 0)
        return false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if ((unsigned long)found.f_type == known[i])
            return true;
    }
    return false;
}

static int open_own_life(void)
{
    char line[LINE_BYTES];
    const char *path = find_life_path(line);
    if (path == NULL)
        return -1;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (is_own_life(fd) && keeps_its_room(fd)))
        return fd;
    (void)close(fd);
    return -1;
}

// make_room makes the pages of memory in the file writable, now and later. False: the
// disk is full, or the kernel is older than 5.14.
static bool make_room(const void *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)memory & ~(uintptr_t)(page - 1);
    int error = errno;
    bool made = madvise((void *)first, (uintptr_t)memory + bytes - first,
                        RING_POPULATE_WRITE) == 0;
    errno = error;
    return made;
}

// put_life_chunk writes the header of a chunk of the life before at.
static bool put_life_chunk(int fd, uint64_t at, enum record_kind kind, uint64_t size,
                           const void *memory)
{
    const struct record_chunk chunk = { kind, (uint32_t)size, (uintptr_t)memory };
    return pwrite(fd, &chunk, sizeof(chunk), (off_t)(at - sizeof(chunk))) ==
           (ssize_t)sizeof(chunk);
}

// append_table appends the table of XRay's functions, which does not change any more,
// and returns where the file ends then.
static uint64_t append_table(int fd, uint64_t end)
{
    const void *table = (const void *)(uintptr_t)ring_area_state->xray_functions;
    uint64_t bytes = ring_area_state->xray_count * sizeof(uint64_t);
    uint64_t at = end + sizeof(struct record_chunk);
    if (bytes == 0 || bytes > TABLE_BYTES_MAX ||
        pwrite(fd, table, bytes, (off_t)at) != (ssize_t)bytes ||
        !put_life_chunk(fd, at, RECORD_MEMORY, bytes, table))
        return end;
    return at + bytes;
}

// map_ring_area appends an area of that size to the life and maps it. The headers come
// last: without them the area is nothing to a reader.
static struct ring_area *map_ring_area(int fd, size_t bytes, uint64_t end)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t filler = end + sizeof(struct record_chunk);
    const uint64_t start =
        (filler + sizeof(struct record_chunk) + page - 1) / page * page;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < start + bytes ||
        ftruncate(fd, (off_t)(start + bytes)) != 0)
        return NULL;
    struct ring_area *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_NORESERVE, fd, (off_t)start);
    if (area != MAP_FAILED && make_room(&area->state, sizeof(area->state)) &&
        put_life_chunk(fd, start, RECORD_FLIGHT, bytes, area) &&
        put_life_chunk(fd, filler, RECORD_FILLER,
                       start - sizeof(struct record_chunk) - filler, NULL))
        return area;
    if (area != MAP_FAILED)
        (void)munmap(area, bytes);
    (void)!ftruncate(fd, (off_t)end);
    return NULL;
}

struct flight_ring *ring_file_begin(const struct flight_state *state,
                                    size_t block_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t head = (sizeof(struct ring_area) + page - 1) / page * page;
    const size_t rings = FILE_BYTES_MAX / block_bytes < FLIGHT_RINGS_MAX
                             ? FILE_BYTES_MAX / block_bytes
                             : FLIGHT_RINGS_MAX;
    struct stat file;
    int fd = open_own_life();
    ring_area_state = state;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &file) == 0) {
        ring_area_bytes = head + rings * block_bytes;
        ring_area = map_ring_area(fd, ring_area_bytes,
                                  append_table(fd, (uint64_t)file.st_size));
    }
    (void)close(fd);
    if (ring_area == NULL)
        return NULL;
    ring_area_blocks = (char *)ring_area + head;
    ring_area_block_bytes = block_bytes;
    ring_area_rings = rings;
    return ring_area->rings;
}

static bool is_in_area(const struct flight_ring *ring)
{
    return ring_area != NULL && ring >= ring_area->rings &&
           ring < ring_area->rings + FLIGHT_RINGS_MAX;
}

bool ring_file_admits(const struct flight_ring *ring)
{
    return !is_in_area(ring) || make_room(ring, sizeof(*ring));
}

void *ring_file_blocks(const struct flight_ring *ring)
{
    if (!is_in_area(ring))
        return NULL;
    size_t index = (size_t)(ring - ring_area->rings);
    char *blocks = ring_area_blocks + index * ring_area_block_bytes;
    if (index >= ring_area_rings || !make_room(blocks, ring_area_block_bytes))
        return NULL;
    return blocks;
}

void ring_file_tell(void)
{
    if (ring_area == NULL)
        return;
    // Threads may do so at the same time, and the last must not tell of fewer rings.
    do {
        struct flight_state now = *ring_area_state;
        now.functions = (uintptr_t)ring_area->functions;
        ring_area->state = now;
    } while (ring_area->state.ring_count !=
             __atomic_load_n(&ring_area_state->ring_count, __ATOMIC_SEQ_CST));
}

void ring_file_note_function(uint32_t slot, uint64_t address)
{
    if (ring_area != NULL &&
        make_room(&ring_area->functions[slot], sizeof(ring_area->functions[slot])))
        ring_area->functions[slot] = address;
}

bool ring_file_leave(const struct flight_ring *own)
{
    char *area = (char *)ring_area;
    if (area == NULL)
        return true;
    char *copy = mmap(NULL, ring_area_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        return false;
    memcpy(copy + ((char *)ring_area->rings - area), ring_area->rings,
           ring_area_state->ring_count * sizeof(ring_area->rings[0]));
    const char *blocks = own != NULL ? (const char *)(uintptr_t)own->blocks : NULL;
    if (blocks != NULL && blocks >= ring_area_blocks && blocks < area + ring_area_bytes)
        memcpy(copy + (blocks - area), blocks, ring_area_block_bytes);
    if (mremap(copy, ring_area_bytes, ring_area_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
               area) == MAP_FAILED)
        return false;
    ring_area = NULL; // the rings stay where they are, in private memory
    return true;
}
