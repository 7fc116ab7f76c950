// SPDX-License-Identifier: Apache-2.0
//
// The handler keeps no descriptor of the liveness record, and no room for a call that
// would give it: so the memory is found by the handler's mapping, from which another
// one of the same memory is made.
#include "flight/ring_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/context_page.h"
#include "shared/record_file.h"

enum {
    LINE_BYTES = 256,          // of /proc/self/maps; longer lines come in parts
    FILE_BYTES_MAX = 32 << 20, // of all rings: those of 512 threads of 64 KB
    TABLE_BYTES_MAX = 8 << 20, // of XRay's functions
    RING_POPULATE_WRITE = 23,  // madvise's since Linux 5.14; older headers lack it
};

// A ring_area is what the file has of the recorder; the blocks follow in whole pages.
struct ring_area {
    struct flight_state state;
    _Alignas(128) struct flight_ring rings[FLIGHT_RINGS_MAX];
    uint64_t functions[FLIGHT_FUNCTIONS];
    struct flight_image images[FLIGHT_IMAGES];
};

static const struct flight_state *ring_area_state; // of the recorder
static struct ring_area *ring_area; // NULL: the rings are in private memory
static char *ring_area_blocks;
static size_t ring_area_block_bytes; // of one ring
static size_t ring_area_rings;       // how many have their blocks in the file
static size_t ring_area_bytes;

// find_record finds the handler's mapping of the liveness record, which begins with the
// context page. NULL: there is none.
static void *find_record(void)
{
    char line[LINE_BYTES];
    void *found = NULL;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && found == NULL && fgets(line, sizeof(line), maps) != NULL) {
        // START-END PERMISSIONS OFFSET DEVICE INODE PATH, see proc(5)
        if (strstr(line, " rw-s ") != NULL &&
            strstr(line, "/memfd:" LIVENESS_NAME) != NULL)
            found = (void *)(uintptr_t)strtoull(line, NULL, 16);
    }
    if (maps != NULL)
        (void)fclose(maps);
    return found;
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

// put_record_chunk writes the header of a chunk of the record, and returns what
// follows.
static char *put_record_chunk(char *at, enum record_kind kind, uint64_t size,
                              const void *memory)
{
    const struct record_chunk chunk = { kind, (uint32_t)size, (uintptr_t)memory };
    memcpy(at, &chunk, sizeof(chunk));
    return at + sizeof(chunk);
}

// append_rings appends the table of XRay's functions, which does not change any more,
// and an area of that size to the record, of which liveness is all from the context
// page on. The end moves last: without that the area is nothing to a reader. NULL:
// there is no room.
static struct ring_area *append_rings(char *liveness, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const void *table = (const void *)(uintptr_t)ring_area_state->xray_functions;
    uint64_t table_bytes = ring_area_state->xray_count * sizeof(uint64_t);
    struct record_chunk *end = (void *)(liveness + sizeof(struct context_page));
    while (end->kind != RECORD_END)
        end = (void *)((char *)(end + 1) + end->size);
    // The first header takes the place of the end.
    char *at = (char *)(end + 1);
    table_bytes = table_bytes <= TABLE_BYTES_MAX ? table_bytes : 0;
    char *filler = at + table_bytes;
    char *area = (char *)(((uintptr_t)filler + 2 * sizeof(*end) + page - 1) & -page);
    if (!make_room(at, (size_t)(area - at) + sizeof(struct flight_state)) ||
        !make_room(area + bytes, sizeof(*end)))
        return NULL;
    (void)put_record_chunk(area + bytes, RECORD_END, 0, NULL);
    (void)put_record_chunk(area - sizeof(*end), RECORD_FLIGHT, bytes, area);
    (void)put_record_chunk(filler, RECORD_FILLER,
                           (uint64_t)(area - filler) - 2 * sizeof(*end), NULL);
    memcpy(at, table, table_bytes);
    (void)put_record_chunk((char *)end, RECORD_MEMORY, table_bytes, table);
    return (struct ring_area *)(void *)area;
}

struct flight_ring *ring_file_begin(const struct flight_state *state,
                                    size_t block_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t head = (sizeof(struct ring_area) + page - 1) / page * page;
    const size_t rings = FILE_BYTES_MAX / block_bytes < FLIGHT_RINGS_MAX
                             ? FILE_BYTES_MAX / block_bytes
                             : FLIGHT_RINGS_MAX;
    void *liveness = find_record();
    ring_area_state = state;
    if (liveness == NULL)
        return NULL;
    // Of a shared mapping, a size of 0 makes another one (mremap(2)).
    char *all = mremap(liveness, 0, LIVENESS_BYTES - page, MREMAP_MAYMOVE);
    if (all == MAP_FAILED)
        return NULL;
    // Writing a core would allocate every page that is not used.
    (void)madvise(all, LIVENESS_BYTES - page, MADV_DONTDUMP);
    ring_area_bytes = head + rings * block_bytes;
    ring_area = append_rings(all, ring_area_bytes);
    if (ring_area == NULL) {
        (void)munmap(all, LIVENESS_BYTES - page);
        return NULL;
    }
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
        now.images = (uintptr_t)ring_area->images;
        ring_area->state = now;
    } while (ring_area->state.ring_count !=
             __atomic_load_n(&ring_area_state->ring_count, __ATOMIC_SEQ_CST));
}

void ring_file_note_function(uint32_t slot, uint64_t value)
{
    if (ring_area != NULL &&
        make_room(&ring_area->functions[slot], sizeof(ring_area->functions[slot])))
        ring_area->functions[slot] = value;
}

void ring_file_note_image(uint64_t index, const struct flight_image *image)
{
    if (ring_area == NULL || !make_room(&ring_area->images[index], sizeof(*image)))
        return;
    ring_area->images[index] = *image;
    ring_file_tell();
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
