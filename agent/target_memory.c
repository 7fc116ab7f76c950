// SPDX-License-Identifier: Apache-2.0
#include "agent/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/target_server.h"

// No page begins at this address, so it marks an empty place of the cache.
#define NO_PAGE UINT64_C(1)

enum { FIRST_FILL_BYTES = 16 * 1024 };

// map_anonymous: fresh pages cost nothing until they are touched.
static void *map_anonymous(size_t size)
{
    void *bytes =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static size_t arena_bytes(void)
{
    return TARGET_CACHE_PAGES *
               (TARGET_PAGE_BYTES + sizeof(uint64_t) + sizeof(uint16_t)) +
           TARGET_WINDOW_BYTES;
}

enum ch_status target_memory_init(struct target_memory *memory, pid_t pid)
{
    uint8_t *arena = map_anonymous(arena_bytes());
    if (arena == NULL)
        return CH_ERR_NO_MEMORY;

    *memory = (struct target_memory){ .pid = pid, .mem_fd = -1 };
    memory->pages = arena;
    memory->window = memory->pages + (size_t)TARGET_CACHE_PAGES * TARGET_PAGE_BYTES;
    memory->page_address = (uint64_t *)(void *)(memory->window + TARGET_WINDOW_BYTES);
    memory->page_size = (uint16_t *)(void *)(memory->page_address + TARGET_CACHE_PAGES);
    for (size_t i = 0; i < TARGET_CACHE_PAGES; i++)
        memory->page_address[i] = NO_PAGE;
    return CH_OK;
}

void target_memory_deinit(struct target_memory *memory)
{
    if (memory->pages != NULL)
        munmap(memory->pages, arena_bytes());
    if (memory->mem_fd >= 0)
        close(memory->mem_fd);
    *memory = (struct target_memory){ .mem_fd = -1 };
}

void target_memory_set_stack(struct target_memory *memory, uint64_t start, uint64_t end)
{
    memory->stack_start = start;
    memory->stack_end = end;
    memory->window_size = 0;
    memory->next_fill = FIRST_FILL_BYTES;
}

void target_memory_set_server(struct target_memory *memory, int channel)
{
    memory->server = channel;
}

// is_refusal tells what we may not do from what is not there.
static bool is_refusal(int error)
{
    return error == EPERM || error == EACCES || error == ENOSYS;
}

static ssize_t copy_by_readv(struct target_memory *memory, uint64_t address, void *to,
                             size_t length)
{
    struct iovec local = { .iov_base = to, .iov_len = length };
    struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
    return process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
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
        [TARGET_READV] = copy_by_readv,
        [TARGET_FILE] = copy_by_file,
        [TARGET_SERVER] = copy_by_server,
        [TARGET_NO_WAY] = copy_by_no_way,
    };
    for (;;) {
        ssize_t count = ways[memory->way](memory, address, to, length);
        if (count >= 0)
            return (size_t)count;
        if (!is_refusal(errno))
            return 0;
        memory->way++;
    }
}

// fill_window reads the stack from address on. Walks go outward, so what lies before
// address is not wanted again; each fill is larger, for deep stacks.
static void fill_window(struct target_memory *memory, uint64_t address)
{
    uint64_t start = address & ~UINT64_C(63);
    size_t size = memory->next_fill;
    if (start < memory->stack_start)
        start = memory->stack_start;
    if (size > memory->stack_end - start)
        size = (size_t)(memory->stack_end - start);
    memory->window_address = start;
    memory->window_size = target_memory_copy(memory, start, memory->window, size);
    if (memory->next_fill < TARGET_WINDOW_BYTES)
        memory->next_fill *= 4;
}

static size_t copy_from(const uint8_t *bytes, uint64_t at, size_t size,
                        uint64_t address, void *to, size_t length)
{
    size_t skip = (size_t)(address - at);
    if (skip >= size)
        return 0;
    size_t count = size - skip < length ? size - skip : length;
    memcpy(to, bytes + skip, count);
    return count;
}

static size_t read_target(void *source, uint64_t address, void *to, size_t length)
{
    struct target_memory *memory = source;

    if (address >= memory->stack_start && address < memory->stack_end) {
        if (address - memory->window_address >= memory->window_size)
            fill_window(memory, address);
        return copy_from(memory->window, memory->window_address, memory->window_size,
                         address, to, length);
    }

    uint64_t page = address & ~(uint64_t)(TARGET_PAGE_BYTES - 1);
    size_t slot = (size_t)(page / TARGET_PAGE_BYTES) % TARGET_CACHE_PAGES;
    uint8_t *bytes = memory->pages + slot * TARGET_PAGE_BYTES;
    if (memory->page_address[slot] != page) {
        memory->page_address[slot] = page;
        memory->page_size[slot] =
            (uint16_t)target_memory_copy(memory, page, bytes, TARGET_PAGE_BYTES);
    }
    return copy_from(bytes, page, memory->page_size[slot], address, to, length);
}

struct memory_reader target_memory_reader(struct target_memory *memory)
{
    return (struct memory_reader){ .read = read_target, .source = memory };
}
