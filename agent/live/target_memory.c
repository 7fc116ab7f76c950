// SPDX-License-Identifier: Apache-2.0
//
// How it works: read_stopped_target answers a read from one of two places.
// - The window, for the stack that is being walked. fill_window moves it outward, each
//   time by more; read_ends reads the inner ends of the next stacks with one call.
// - The cache, for all else: blocks in sets of TARGET_CACHE_WAYS, of which the oldest
//   is replaced. fetch_blocks reads up to TARGET_FETCH_BLOCKS of them with one call; a
//   read that is larger than a block fetches the rest of its page first (fetch_page).
//   Both are filled by target_memory_copy.
//
// target_memory_copy uses memory->way, the first of the ways that works: READV
// (process_vm_readv), PRESENT (pages in memory alone), FILE (/proc/PID/mem), PEEK
// (ptrace), SERVER (the crashed process's handler), NO_WAY. A way that is refused is
// not tried again; a hole in memory is not a refusal.
//
// Invariants: all threads of the process are stopped as long as anything is cached. A
// page is readable as a whole or not at all, so holes begin and end at pages.
#include "agent/live/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "base/system/mounts.h"
#include "base/system/populate.h"
#include "images/images.h"
#include "shared/request_page.h"

#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

void touched_pages_open(struct touched_pages *pages, pid_t pid)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
    pages->fd = open(path, O_RDONLY | O_CLOEXEC);
    pages->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    pages->first = 0;
    pages->count = 0;
}

void touched_pages_close(struct touched_pages *pages)
{
    if (pages->fd >= 0)
        close(pages->fd);
    pages->fd = -1;
}

// read_page_words reads the entries of page and of those after it. After one failure it
// gives up for good. The file ends where the address space does, so a page after that
// has no entry, which is no failure.
static void read_page_words(struct touched_pages *pages, uint64_t page)
{
    const size_t word = sizeof(pages->words[0]);
    ssize_t size =
        pread(pages->fd, pages->words, sizeof(pages->words), (off_t)(page * word));
    pages->first = page;
    pages->count = size > 0 ? (size_t)size / word : 0;
    if (size < 0)
        touched_pages_close(pages);
}

static bool is_touched(struct touched_pages *pages, uint64_t page)
{
    if (pages->fd >= 0 && page - pages->first >= pages->count)
        read_page_words(pages, page);
    return pages->fd < 0 || (page - pages->first < pages->count &&
                             (pages->words[page - pages->first] & (PRESENT | SWAPPED)));
}

bool touched_pages_next(struct touched_pages *pages, uint64_t *start, uint64_t end,
                        uint64_t *out_end)
{
    uint64_t page = *start / pages->page_bytes;
    const uint64_t last = end / pages->page_bytes;
    while (page < last && !is_touched(pages, page))
        page++;
    *start = page * pages->page_bytes;
    while (page < last && is_touched(pages, page))
        page++;
    *out_end = page * pages->page_bytes;
    return *start < *out_end;
}

// Memory by request: where the kernel lets no one read the crashed process, its
// handler, which waits for us anyway, sends what we request over the channel
// (request_page.h).

// receive_read receives exactly length bytes.
static bool receive_read(int channel, void *to, size_t length)
{
    ssize_t count = length != 0 ? recv(channel, to, length, MSG_WAITALL) : 0;
    while (count < 0 && errno == EINTR)
        count = recv(channel, to, length, MSG_WAITALL);
    return count == (ssize_t)length;
}

// read_page requests bytes of one page, which is readable as a whole or not at all.
static ssize_t read_page(int channel, uint64_t address, void *to, size_t length)
{
    const struct request_read wanted = { .what = REQUEST_READ,
                                         .length = (uint32_t)length,
                                         .address = address };
    uint64_t count;
    if (send(channel, &wanted, sizeof(wanted), MSG_NOSIGNAL) != sizeof(wanted) ||
        !receive_read(channel, &count, sizeof(count)) || count > length ||
        !receive_read(channel, to, (size_t)count)) {
        errno = ENOSYS; // whatever failed, there is no server
        return -1;
    }
    return (ssize_t)count;
}

// target_server_read requests length bytes at address from the handler on channel and
// returns how many it has before a hole. -1: there is no answer; errno is set.
static ssize_t target_server_read(int channel, uint64_t address, void *to,
                                  size_t length)
{
    size_t done = 0;
    while (done < length) {
        size_t room = REQUEST_READ_MAX - (address + done) % REQUEST_READ_MAX;
        size_t part = length - done < room ? length - done : room;
        ssize_t count = read_page(channel, address + done, (uint8_t *)to + done, part);
        if (count < 0)
            return -1;
        done += (size_t)count;
        if ((size_t)count != part)
            break;
    }
    return (ssize_t)done;
}

// How pages of a held process can be read without waiting for whoever supplies them: a
// thread that we have stopped (userfaultfd), or the server of a file system. Used where
// an ordinary read has not ended (target_memory.h).

// A page_way is how a page can be read. PAGE_UNKNOWN: the kernel does not say which
// pages are in memory.
enum page_way { PAGE_UNKNOWN, PAGE_LEFT_OUT, PAGE_BY_READV, PAGE_BY_FILE };

struct target_care;

struct target_care {
    const struct target_images *images;
    struct touched_pages pages;
    struct mounts mounts;
};

// target_care_create prepares to judge the pages of the process of tid, whose mappings
// images will have; process pid sees the mounts that its files are on. NULL: there is
// no memory. images must outlive it.
static struct target_care *target_care_create(const struct target_images *images,
                                              pid_t tid, pid_t pid)
{
    struct target_care *care = malloc(sizeof(*care));
    if (care == NULL)
        return NULL;
    care->images = images;
    touched_pages_open(&care->pages, tid);
    (void)!mounts_read(&care->mounts, pid); // without it, no file is read
    return care;
}

static void target_care_destroy(struct target_care *care)
{
    if (care == NULL)
        return;
    touched_pages_close(&care->pages);
    mounts_deinit(&care->mounts);
    free(care);
}

static bool mapping_begins(const struct target_mapping *mapping, const char *start)
{
    size_t size = strlen(start);
    return mapping->path_size >= size && memcmp(mapping->path, start, size) == 0;
}

// way_of_absent chooses the way for a page that is not in memory. Pages of files come
// from their file system. The kernel fills others with zeros, unless userfaultfd has
// another process fill them: /proc/PID/mem then answers EIO, where process_vm_readv
// waits.
static enum page_way way_of_absent(const struct target_care *care, uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(care->images, address);
    size_t mount;
    if (mapping == NULL)
        return PAGE_LEFT_OUT;
    if (!mapping_begins(mapping, "/") || mapping_begins(mapping, "/memfd:") ||
        mapping_begins(mapping, "/dev/shm/") || mapping_begins(mapping, "/dev/zero"))
        return PAGE_BY_FILE;
    if (mapping->deleted || mapping_begins(mapping, "/dev/") ||
        mounts_may_block(&care->mounts, mapping->path, mapping->path_size, &mount))
        return PAGE_LEFT_OUT;
    return PAGE_BY_READV;
}

// target_care_way is how the page of address can be read: by process_vm_readv, or by
// /proc/PID/mem.
static enum page_way target_care_way(struct target_care *care, uint64_t address)
{
    const uint64_t page = care->pages.page_bytes;
    uint64_t start = address & ~(page - 1);
    uint64_t end;
    bool present = touched_pages_next(&care->pages, &start, start + page, &end);
    if (care->pages.fd < 0)
        return PAGE_UNKNOWN;
    return present ? PAGE_BY_READV : way_of_absent(care, address);
}

// map_anonymous allocates lazily: fresh pages cost nothing until they are touched.
static void *map_anonymous(size_t size)
{
    void *bytes =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static size_t arena_bytes(void)
{
    return TARGET_CACHE_BLOCKS *
               (TARGET_BLOCK_BYTES + sizeof(struct target_block) + sizeof(uint16_t)) +
           TARGET_WINDOW_BYTES + (size_t)TARGET_ENDS * TARGET_END_BYTES;
}

static uint8_t *warm_arena; // for the next target_memory_init; NULL: none

// The blocks that target_memory_remember has seen.
enum { REMEMBERED_BLOCKS = 128 };
static uint64_t remembered[REMEMBERED_BLOCKS];
static size_t remembered_count;

void target_memory_warm(void)
{
    enum { BLOCK_PAGES = 32, FILL_PAGES = 4, PAGE_BYTES = 4096 };
    uint8_t *arena = map_anonymous(arena_bytes());
    if (arena == NULL)
        return;
    const uint8_t *fill = arena + (size_t)TARGET_CACHE_BLOCKS * TARGET_BLOCK_BYTES;
    volatile uint8_t *end =
        arena + arena_bytes() -
        TARGET_CACHE_BLOCKS * (sizeof(struct target_block) + sizeof(uint16_t));
    for (size_t i = 0; i < BLOCK_PAGES; i++)
        ((volatile uint8_t *)arena)[i * PAGE_BYTES] = 0;
    for (size_t i = 0; i < FILL_PAGES; i++)
        ((volatile uint8_t *)arena)[(size_t)(fill - arena) + i * PAGE_BYTES] = 0;
    *end = 0;
    arena[arena_bytes() - 1] = 0;
    warm_arena = arena;
}

void target_memory_init_uncached(struct target_memory *memory, pid_t pid)
{
    *memory = (struct target_memory){ .pid = pid, .mem_fd = -1 };
    memory->way = permitted(PERMITTED_READV) ? TARGET_READV : TARGET_FILE;
}

enum ch_status target_memory_init(struct target_memory *memory, pid_t pid)
{
    enum { SMALL_CRASH_BYTES = 48 << 10 }; // what a small crash takes of the cache
    uint8_t *arena = warm_arena;
    warm_arena = NULL;
    if (arena == NULL) {
        arena = map_anonymous(arena_bytes());
        if (arena == NULL)
            return CH_ERR_NO_MEMORY;
        populate(arena, SMALL_CRASH_BYTES);
    }
    target_memory_init_uncached(memory, pid);
    memory->block_bytes = arena;
    memory->fill = arena + (size_t)TARGET_CACHE_BLOCKS * TARGET_BLOCK_BYTES;
    memory->end_bytes = memory->fill + TARGET_WINDOW_BYTES;
    uint8_t *end = memory->end_bytes;
    for (size_t i = 0; i < TARGET_ENDS; i++, end += TARGET_END_BYTES)
        memory->ends[i].bytes = end;
    memory->blocks = (struct target_block *)(void *)end;
    memory->block_at = (uint16_t *)(void *)(memory->blocks + TARGET_CACHE_BLOCKS);
    return CH_OK;
}

void target_memory_deinit(struct target_memory *memory)
{
    if (memory->block_bytes != NULL)
        munmap(memory->block_bytes, arena_bytes());
    libunwind_peek_destroy(memory->peek);
    if (memory->mem_fd >= 0)
        close(memory->mem_fd);
    target_care_destroy(memory->care);
    *memory = (struct target_memory){ .mem_fd = -1 };
}

void target_memory_expect(struct target_memory *memory,
                          const struct target_stack *stacks, size_t count)
{
    memory->expected = stacks;
    memory->expected_count = count;
}

void target_memory_set_stack(struct target_memory *memory, uint64_t start, uint64_t end)
{
    memory->stack_start = start;
    memory->stack_end = end;
    memory->window.size = 0;
    memory->next_fill = 0;
}

void target_memory_set_thread(struct target_memory *memory, pid_t tid)
{
    memory->stopped_tid = tid;
}

void target_memory_set_server(struct target_memory *memory, int channel)
{
    memory->server = channel;
}

static ssize_t copy_by_readv(struct target_memory *memory, uint64_t address, void *to,
                             size_t length)
{
    struct iovec local = { .iov_base = to, .iov_len = length };
    struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
    return process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
}

enum ch_status target_memory_set_careful(struct target_memory *memory,
                                         const struct target_images *images, pid_t pid)
{
    memory->care = target_care_create(images, memory->pid, pid);
    if (memory->care == NULL)
        return CH_ERR_NO_MEMORY;
    if (memory->way == TARGET_READV)
        memory->way = TARGET_PRESENT;
    return CH_OK;
}

static ssize_t copy_by_file(struct target_memory *memory, uint64_t address, void *to,
                            size_t length)
{
    if (memory->mem_fd < 0) {
        char path[32];
        snprintf(path, sizeof(path), "/proc/%d/mem", memory->pid);
        memory->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (memory->mem_fd < 0)
        return -1;
    if (address > INT64_MAX)
        return 0;
    return pread(memory->mem_fd, to, length, (off_t)address);
}

// copy_by_present copies up to the first page that may have to be waited for.
static ssize_t copy_by_present(struct target_memory *memory, uint64_t address, void *to,
                               size_t length)
{
    size_t done = 0;
    size_t count = 0;
    for (ssize_t copied = 0; done < length && (size_t)copied == count;) {
        enum page_way way = target_care_way(memory->care, address + done);
        errno = EPERM;
        if (way == PAGE_UNKNOWN)
            return -1;
        if (way == PAGE_LEFT_OUT)
            break;
        count = TARGET_PAGE_BYTES - (address + done) % TARGET_PAGE_BYTES;
        while (count < length - done &&
               target_care_way(memory->care, address + done + count) == way)
            count += TARGET_PAGE_BYTES;
        count = count < length - done ? count : length - done;
        uint8_t *at = (uint8_t *)to + done;
        copied = way == PAGE_BY_READV ? copy_by_readv(memory, address + done, at, count)
                                      : copy_by_file(memory, address + done, at, count);
        if (copied < 0)
            return done != 0 ? (ssize_t)done : copied;
        done += (size_t)copied;
    }
    return (ssize_t)done;
}

static ssize_t copy_by_peeks(struct target_memory *memory, uint64_t address, void *to,
                             size_t length)
{
    errno = ENOSYS;
    if (memory->peek == NULL &&
        (memory->stopped_tid == 0 ||
         libunwind_peek_create(memory->stopped_tid, &memory->peek) != CH_OK))
        return -1;
    return libunwind_peek_read(memory->peek, address, to, length);
}

static ssize_t copy_by_server(struct target_memory *memory, uint64_t address, void *to,
                              size_t length)
{
    errno = ENOSYS;
    return memory->server > 0 ? target_server_read(memory->server, address, to, length)
                              : -1;
}

static ssize_t copy_by_no_way(struct target_memory *memory, uint64_t address, void *to,
                              size_t length)
{
    (void)memory;
    (void)address;
    (void)to;
    (void)length;
    return 0;
}

size_t target_memory_copy(struct target_memory *memory, uint64_t address, void *to,
                          size_t length)
{
    static ssize_t (*const ways[])(struct target_memory *, uint64_t, void *, size_t) = {
        [TARGET_READV] = copy_by_readv,   [TARGET_PRESENT] = copy_by_present,
        [TARGET_FILE] = copy_by_file,     [TARGET_PEEK] = copy_by_peeks,
        [TARGET_SERVER] = copy_by_server, [TARGET_NO_WAY] = copy_by_no_way,
    };
    for (;;) {
        ssize_t count = ways[memory->way](memory, address, to, length);
        if (count >= 0)
            return (size_t)count;
        // Any other error: the memory is absent.
        if (errno != EPERM && errno != EACCES && errno != ENOSYS)
            return 0;
        memory->way++;
        if (memory->way == TARGET_PRESENT && memory->care == NULL)
            memory->way++;
    }
}

// find_expected skips expected stacks that did not come, up to the one being walked,
// whose used part holds address.
static bool find_expected(struct target_memory *memory, uint64_t address)
{
    for (size_t i = 0; i < memory->expected_count; i++) {
        const struct target_stack *stack = &memory->expected[i];
        if (stack->end != memory->stack_end || address < stack->start)
            continue;
        memory->expected += i;
        memory->expected_count -= i;
        return true;
    }
    return false;
}

// read_ends reads the inner ends of the stack being walked and of those expected next,
// with one call.
static void read_ends(struct target_memory *memory)
{
    struct iovec local[TARGET_ENDS];
    struct iovec remote[TARGET_ENDS];
    size_t count = memory->expected_count;
    if (count > TARGET_ENDS)
        count = TARGET_ENDS;
    for (size_t i = 0; i < TARGET_ENDS; i++)
        memory->ends[i].size = 0;
    for (size_t i = 0; i < count; i++) {
        const struct target_stack *stack = &memory->expected[i];
        uint64_t size = stack->end - stack->start;
        if (size > TARGET_END_BYTES)
            size = TARGET_END_BYTES;
        memory->ends[i].address = stack->start;
        local[i] =
            (struct iovec){ memory->end_bytes + i * TARGET_END_BYTES, (size_t)size };
        remote[i] = (struct iovec){ (void *)(uintptr_t)stack->start, (size_t)size };
    }
    ssize_t copied = process_vm_readv(memory->pid, local, count, remote, count, 0);
    for (size_t i = 0; i < count && copied > 0; i++) {
        size_t size = local[i].iov_len;
        memory->ends[i].size = (size_t)copied < size ? (size_t)copied : size;
        copied -= (ssize_t)memory->ends[i].size;
    }
}

// use_end makes the end that holds address the window.
static bool use_end(struct target_memory *memory, uint64_t address)
{
    for (size_t i = 0; i < TARGET_ENDS; i++) {
        if (address - memory->ends[i].address >= memory->ends[i].size)
            continue;
        memory->window = memory->ends[i];
        return true;
    }
    return false;
}

// fill_window makes the window begin at address. Walks go outward, so what is before is
// not read again; each fill is larger, for deep stacks.
static void fill_window(struct target_memory *memory, uint64_t address)
{
    uint64_t below = 0; // what a stack has below its pointer is read too, later
    if (memory->next_fill == 0) {
        below = TARGET_BELOW_STACK;
        memory->next_fill = TARGET_END_BYTES;
        if (use_end(memory, address))
            return;
        if (memory->way == TARGET_READV && find_expected(memory, address))
            read_ends(memory);
        if (use_end(memory, address))
            return;
    }
    if (below > address - memory->stack_start)
        below = address - memory->stack_start;
    uint64_t start = (address - below) & ~UINT64_C(63);
    size_t size = memory->next_fill;
    if (start < memory->stack_start)
        start = memory->stack_start;
    if (size > memory->stack_end - start)
        size = (size_t)(memory->stack_end - start);
    memory->window.bytes = memory->fill;
    memory->window.address = start;
    memory->window.size = target_memory_copy(memory, start, memory->fill, size);
    if (memory->next_fill < TARGET_WINDOW_BYTES)
        memory->next_fill *= 4;
}

static size_t copy_from(const struct memory_window *piece, uint64_t address, void *to,
                        size_t length)
{
    size_t skip = (size_t)(address - piece->address);
    if (skip >= piece->size)
        return 0;
    size_t count = piece->size - skip < length ? piece->size - skip : length;
    memcpy(to, piece->bytes + skip, count);
    return count;
}

// NO_BLOCK is no block's address.
#define NO_BLOCK UINT64_C(1)

// block_set gives the places that the block at address may have. Numbers that are
// multiples of a large power of two are common among those of blocks, so that a part of
// the number alone would give many of them one set.
static uint16_t *block_set(const struct target_memory *memory, uint64_t address)
{
    enum { SETS = TARGET_CACHE_BLOCKS / TARGET_CACHE_WAYS, SET_BITS = 9 };
    _Static_assert(SETS == 1 << SET_BITS, "the hash gives the number of a set");
    const uint32_t golden = 2654435769; // 2^32 by the golden ratio, as Knuth has it
    uint32_t hash = (uint32_t)(address / TARGET_BLOCK_BYTES) * golden;
    return &memory->block_at[(hash >> (32 - SET_BITS)) * TARGET_CACHE_WAYS];
}

// find_block gives the number of the cache's block at address. False: there is none.
static bool find_block(const struct target_memory *memory, uint64_t address,
                       size_t *out)
{
    const uint16_t *set = block_set(memory, address);
    for (size_t i = 0; i < TARGET_CACHE_WAYS && set[i] != 0; i++) {
        *out = set[i] - (size_t)1;
        if (memory->blocks[*out].address == address)
            return true;
    }
    return false;
}

// claim_block gives the number of a block for address, which is not in the cache: a new
// one, or the oldest of its set. The newest of a set is its first.
static size_t claim_block(struct target_memory *memory, uint64_t address)
{
    uint16_t *set = block_set(memory, address);
    size_t way = 0;
    while (way < TARGET_CACHE_WAYS - 1 && set[way] != 0 &&
           memory->blocks[set[way] - 1].address != NO_BLOCK)
        way++;
    uint16_t block = set[way] != 0 ? set[way] : (uint16_t)++memory->block_count;
    memmove(set + 1, set, way * sizeof(set[0]));
    set[0] = block;
    memory->blocks[block - 1].address = address;
    return block - (size_t)1;
}

// fetch_blocks reads the blocks at the addresses, with one call.
static void fetch_blocks(struct target_memory *memory, const uint64_t *addresses,
                         size_t count)
{
    struct iovec local[TARGET_FETCH_BLOCKS];
    struct iovec remote[TARGET_FETCH_BLOCKS];
    size_t block[TARGET_FETCH_BLOCKS];
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++) {
        size_t number;
        if (find_block(memory, addresses[i], &number))
            continue;
        number = claim_block(memory, addresses[i]);
        block[wanted] = number;
        local[wanted] =
            (struct iovec){ memory->block_bytes + number * TARGET_BLOCK_BYTES,
                            TARGET_BLOCK_BYTES };
        remote[wanted++] =
            (struct iovec){ (void *)(uintptr_t)addresses[i], TARGET_BLOCK_BYTES };
    }
    ssize_t copied =
        wanted != 0 ? process_vm_readv(memory->pid, local, wanted, remote, wanted, 0)
                    : 0;
    size_t left = copied > 0 ? (size_t)copied : 0;
    for (size_t i = 0; i < wanted; i++) {
        struct target_block *read = &memory->blocks[block[i]];
        size_t size = left < TARGET_BLOCK_BYTES ? left : TARGET_BLOCK_BYTES;
        left -= size;
        // What two addresses share is the last one's.
        if (read->address != (uint64_t)(uintptr_t)remote[i].iov_base)
            continue;
        read->size = TARGET_BLOCK_BYTES;
        // A hole ends the call; what is after it is read on its own.
        if (size < TARGET_BLOCK_BYTES)
            read->address = NO_BLOCK;
    }
}

void target_memory_fetch(struct target_memory *memory, const uint64_t *addresses,
                         size_t count)
{
    uint64_t starts[TARGET_FETCH_BLOCKS];
    for (size_t at = 0; at < count && memory->way == TARGET_READV;) {
        size_t number = 0;
        for (; number < TARGET_FETCH_BLOCKS && at < count; at++) {
            uint64_t start = addresses[at] & ~(uint64_t)(TARGET_BLOCK_BYTES - 1);
            if (number == 0 || starts[number - 1] != start)
                starts[number++] = start;
        }
        fetch_blocks(memory, starts, number);
    }
}

void target_memory_remember(const struct target_memory *memory)
{
    remembered_count = 0;
    for (size_t i = 0; i < memory->block_count && remembered_count < REMEMBERED_BLOCKS;
         i++) {
        // A block that could not be read would end the call that reads others.
        if (memory->blocks[i].address != NO_BLOCK && memory->blocks[i].size != 0)
            remembered[remembered_count++] = memory->blocks[i].address;
    }
}

void target_memory_ahead(struct target_memory *memory, const uint64_t *others,
                         size_t count)
{
    uint64_t all[REMEMBERED_BLOCKS + TARGET_AHEAD_OTHERS];
    if (count > TARGET_AHEAD_OTHERS)
        count = TARGET_AHEAD_OTHERS;
    memcpy(all, remembered, remembered_count * sizeof(all[0]));
    memcpy(all + remembered_count, others, count * sizeof(all[0]));
    target_memory_fetch(memory, all, remembered_count + count);
}

// read_ahead reads a block that a read waits for and those after it, if several reads
// before went the same way: lists are often laid out in the order in which they are
// walked.
static void read_ahead(struct target_memory *memory, uint64_t start)
{
    enum { SINGLE_READS = 3 };
    const uint64_t close = (uint64_t)4 * TARGET_BLOCK_BYTES;
    const uint64_t most = (uint64_t)TARGET_FETCH_BLOCKS * TARGET_BLOCK_BYTES;
    uint64_t starts[TARGET_FETCH_BLOCKS];
    size_t ahead = 1;
    bool goes_on = start - memory->missed <= close;
    memory->misses = goes_on ? memory->misses + 1 : 0;
    for (size_t i = SINGLE_READS; i < memory->misses && ahead < TARGET_FETCH_BLOCKS;
         i++)
        ahead *= 2;
    memory->missed = start + (ahead - 1) * TARGET_BLOCK_BYTES;
    if (ahead == 1 || memory->way != TARGET_READV || start > UINT64_MAX - most)
        return;
    for (size_t i = 0; i < ahead; i++)
        starts[i] = start + i * TARGET_BLOCK_BYTES;
    fetch_blocks(memory, starts, ahead);
}

// read_block reads from the one block of the cache that address is in.
static size_t read_block(struct target_memory *memory, uint64_t address, void *to,
                         size_t length)
{
    uint64_t start = address & ~(uint64_t)(TARGET_BLOCK_BYTES - 1);
    size_t block;
    bool found = find_block(memory, start, &block);
    if (!found) {
        read_ahead(memory, start);
        found = find_block(memory, start, &block);
    }
    if (!found)
        block = claim_block(memory, start);
    uint8_t *bytes = memory->block_bytes + block * TARGET_BLOCK_BYTES;
    if (!found)
        memory->blocks[block].size =
            (uint32_t)target_memory_copy(memory, start, bytes, TARGET_BLOCK_BYTES);
    const struct memory_window piece = { bytes, start, memory->blocks[block].size };
    return copy_from(&piece, address, to, length);
}

// fetch_page reads what is in the page of address, from there on, into the cache.
static void fetch_page(struct target_memory *memory, uint64_t address, size_t length)
{
    enum { PAGE_BLOCKS = TARGET_PAGE_BYTES / TARGET_BLOCK_BYTES };
    uint64_t page = address & ~(uint64_t)(TARGET_PAGE_BYTES - 1);
    uint64_t starts[PAGE_BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < PAGE_BLOCKS; i++) {
        uint64_t start = page + i * TARGET_BLOCK_BYTES;
        if (start + TARGET_BLOCK_BYTES > address &&
            (start <= address || start - address < length))
            starts[count++] = start;
    }
    target_memory_fetch(memory, starts, count);
}

// read_outside_window reads what the window does not hold yet, or never will. A page is
// read as a whole, because no hole begins inside it.
static __attribute__((noinline)) size_t
read_outside_window(struct target_memory *memory, uint64_t address, void *to,
                    size_t length)
{
    if (address >= memory->stack_start && address < memory->stack_end) {
        if (address - memory->window.address >= memory->window.size)
            fill_window(memory, address);
        return copy_from(&memory->window, address, to, length);
    }

    if (length > TARGET_BLOCK_BYTES)
        fetch_page(memory, address, length);
    size_t done = 0;
    size_t count;
    do {
        count = read_block(memory, address + done, (uint8_t *)to + done, length - done);
        done += count;
    } while (count != 0 && done < length && (address + done) % TARGET_PAGE_BYTES != 0);
    return done;
}

// read_stopped_target is a memory_read_fn. Nearly all reads are of words of the stack
// that is being walked.
static size_t read_stopped_target(void *source, uint64_t address, void *to,
                                  size_t length)
{
    struct target_memory *memory = source;
    const struct memory_window *window = &memory->window;
    uint64_t skip = address - window->address;
    if (length != sizeof(uint64_t) || window->size < sizeof(uint64_t) ||
        skip > window->size - sizeof(uint64_t))
        return read_outside_window(memory, address, to, length);
    memcpy(to, window->bytes + skip, sizeof(uint64_t));
    return sizeof(uint64_t);
}

// fetch_stopped_target is a memory_fetch_fn.
static void fetch_stopped_target(void *source, const uint64_t *addresses, size_t count)
{
    target_memory_fetch(source, addresses, count);
}

struct memory_reader target_memory_reader(struct target_memory *memory)
{
    return (struct memory_reader){ .read = read_stopped_target,
                                   .source = memory,
                                   .fetch = fetch_stopped_target,
                                   .window = &memory->window };
}
