// SPDX-License-Identifier: Apache-2.0
//
// The memory of a stopped process, read in bulk: one system call per block of unwind
// tables, one per window of stack, never one per word.
//
// Stacks are read through a window that moves outward with the walk; where the caller
// announced the next stacks, the inner ends of several are read at once. All other
// reads go through a set-associative cache of blocks. A block is smaller than a page,
// and blocks are stored in the order in which they are read: touching a page of our own
// for the first time takes longer than the call that reads a block.
//
// A read of a page that is not in memory waits for its supplier: a thread that we have
// stopped (userfaultfd), or the server of a file system. Where a read has not ended,
// the agent that reads next queries which pages are there (TARGET_PRESENT).
//
// All that is correct only while every thread of the process is stopped. Where
// process_vm_readv is refused or would kill, /proc/PID/mem is used; where that is
// refused, a stopped thread is peeked at word by word; where no thread could be
// stopped, the crashed process's handler reads for us (request_page.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory_reader.h"
#include "images/images.h"
#include "unwind/libunwind_peek.h"

enum {
    TARGET_PAGE_BYTES = 4096,
    TARGET_BLOCK_BYTES = 1024, // divides a page
    TARGET_CACHE_BLOCKS = 2048,
    TARGET_CACHE_WAYS = 4,    // places that a block may have
    TARGET_FETCH_BLOCKS = 32, // read by one call at most
    TARGET_WINDOW_BYTES = 256 * 1024,
    TARGET_ENDS = 8, // inner ends of stacks read at once
    TARGET_END_BYTES = 16 * 1024,
    TARGET_AHEAD_OTHERS = 8,
    // How many bytes below a stack pointer belong to the stack: leaf functions may keep
    // data there (the red zone).
    TARGET_BELOW_STACK = 128,
};

// A target_stack is the used part of a thread's stack.
struct target_stack {
    uint64_t start;
    uint64_t end; // of its mapping
};

// A target_block is a block of the cache.
struct target_block {
    uint64_t address;
    uint32_t size; // readable bytes
};

// A target_way is a way of reading a process's memory; each is tried when the one
// before is refused.
enum target_way {
    TARGET_READV,
    TARGET_PRESENT, // as before, but no page that may have to be waited for
    TARGET_FILE,
    TARGET_PEEK,
    TARGET_SERVER,
    TARGET_NO_WAY,
};

struct target_memory {
    pid_t pid;
    int mem_fd;                  // /proc/PID/mem; -1 until needed
    pid_t stopped_tid;           // a thread to peek at; 0: none
    struct libunwind_peek *peek; // for that thread, created when needed
    int server;                  // the channel to the handler; 0: none
    struct target_care *care;    // for TARGET_PRESENT; NULL: not wanted
    enum target_way way;
    uint16_t *block_at; // which block each place of the cache has, from 1; 0: none
    struct target_block *blocks;
    uint8_t *block_bytes; // of each of blocks
    size_t block_count;
    uint64_t missed;             // the last block that a read waited for
    size_t misses;               // that followed one another closely
    uint8_t *fill;               // buffer that the window is read into
    uint8_t *end_bytes;          // buffers of ends
    struct memory_window window; // in fill, or one of ends
    struct memory_window ends[TARGET_ENDS];
    const struct target_stack *expected; // from the next stack to be walked on
    size_t expected_count;
    uint64_t stack_start; // the mapping that the window moves in
    uint64_t stack_end;
    size_t next_fill; // bytes the next fill asks for; 0: it is the first
};

// target_memory_init prepares to read the process of pid, which the caller keeps
// stopped. pid may be any of its threads that has not exited.
CH_CHECKED enum ch_status target_memory_init(struct target_memory *memory, pid_t pid);

// target_memory_init_uncached is for target_memory_copy alone, and cannot fail.
void target_memory_init_uncached(struct target_memory *memory, pid_t pid);
void target_memory_deinit(struct target_memory *memory);

// target_memory_warm prepares the memory of the next target_memory_init: what a small
// process needs of it has been touched.
void target_memory_warm(void);

// target_memory_remember notes which blocks were read: target_memory_ahead reads the
// same ones of another memory with few calls, and those of the other addresses.
void target_memory_remember(const struct target_memory *memory);
void target_memory_ahead(struct target_memory *memory, const uint64_t *others,
                         size_t count);

// target_memory_set_thread sets a stopped thread to peek at, in case no other way is
// allowed.
void target_memory_set_thread(struct target_memory *memory, pid_t tid);

// target_memory_set_careful reads no page that another process may have to supply.
// Pages of files are read if images, which may still be empty, has their mapping, and
// process pid sees it on a file system that the kernel serves itself. images must
// outlive memory. CH_ERR_NO_MEMORY: memory is read as before.
CH_CHECKED enum ch_status target_memory_set_careful(struct target_memory *memory,
                                                    const struct target_images *images,
                                                    pid_t pid);

// target_memory_set_server sets the channel to ask when the kernel refuses; a handler
// waits at its other end.
void target_memory_set_server(struct target_memory *memory, int channel);

// target_memory_expect announces the stacks that will be walked, in this order; some
// may be skipped. stacks must outlive memory.
void target_memory_expect(struct target_memory *memory,
                          const struct target_stack *stacks, size_t count);

// target_memory_fetch reads the blocks at the addresses into the cache, many with one
// call; those that cannot be read so are read when they are needed.
void target_memory_fetch(struct target_memory *memory, const uint64_t *addresses,
                         size_t count);

// target_memory_set_stack sets the mapping that the next walk's stack is in.
void target_memory_set_stack(struct target_memory *memory, uint64_t start,
                             uint64_t end);

// target_memory_reader is the process's memory as a memory_reader.
struct memory_reader target_memory_reader(struct target_memory *memory);

// target_memory_copy reads from the process itself, bypassing window and cache; it
// returns how many bytes it got before a hole.
size_t target_memory_copy(struct target_memory *memory, uint64_t address, void *to,
                          size_t length);

// Which pages of a held process exist. Of a stack of 8 MB only a few pages were
// touched; searching the rest would find zeros, and make the kernel allocate them.
//
// /proc/PID/pagemap says. Where it cannot be read, every page counts as touched. Pages
// that are swapped out count as touched too; file pages that were mapped but never read
// do not, so this is for anonymous memory.

enum { TOUCHED_PAGES_READ = 512 }; // read at once

struct touched_pages {
    int fd; // -1: pagemap cannot be read
    uint64_t page_bytes;
    uint64_t first; // the page of words[0]
    size_t count;
    uint64_t words[TOUCHED_PAGES_READ];
};

// touched_pages_open prepares to query the pages of pid's process; it succeeds even if
// pagemap cannot be read. pid may be any of its threads that has not exited.
void touched_pages_open(struct touched_pages *pages, pid_t pid);
void touched_pages_close(struct touched_pages *pages);

// touched_pages_next finds the first run of touched pages from *start on, below end,
// and sets *start and *out_end to its bounds, which are page-aligned. False: there is
// none.
bool touched_pages_next(struct touched_pages *pages, uint64_t *start, uint64_t end,
                        uint64_t *out_end);
