// SPDX-License-Identifier: Apache-2.0
//
// The memory of a stopped process, read in bulk: one system call per page of unwind
// tables, one per window of stack, never one per word.
//
// Stacks are read through a window that moves outward with the walk, the inner ends of
// several threads' stacks at once where it was said which come next; everything else
// through a direct-mapped cache of pages. All that is right only while every thread of
// the process stands still. Where process_vm_readv is refused or would kill,
// /proc/PID/mem is used;
// where that is, a stopped thread is peeked at word by word, or, where none could be
// stopped, the crashed process's handler is asked (request_page.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory_reader.h"
#include "unwind/libunwind_peek.h"

enum {
    TARGET_PAGE_BYTES = 4096,
    TARGET_CACHE_PAGES = 512,
    TARGET_WINDOW_BYTES = 256 * 1024,
    TARGET_ENDS = 8, // stacks' inner ends that are read at once
    TARGET_END_BYTES = 16 * 1024,
};

// The part of a thread's stack that is in use.
struct target_stack {
    uint64_t start;
    uint64_t end; // of its mapping
};

// The bytes of the target from address on.
struct target_piece {
    uint8_t *bytes;
    uint64_t address;
    size_t size;
};

// The ways to a process's memory; each is tried when the one before is refused.
enum target_way {
    TARGET_READV,
    TARGET_FILE,
    TARGET_PEEK,
    TARGET_SERVER,
    TARGET_NO_WAY,
};

struct target_memory {
    pid_t pid;
    int mem_fd;                  // /proc/PID/mem; -1 until it is needed
    pid_t stopped_tid;           // a thread to peek at; 0: there is none
    struct libunwind_peek *peek; // at it, once it is needed
    int server;                  // the channel to the handler; 0: there is none
    enum target_way way;
    uint64_t *page_address; // of each cached page; 1: none
    uint16_t *page_size;    // bytes of it that could be read
    uint8_t *pages;
    uint8_t *fill;              // what the window is filled into
    struct target_piece window; // of fill, or one of ends
    struct target_piece ends[TARGET_ENDS];
    const struct target_stack *expected; // from the stack that is walked next on
    size_t expected_count;
    uint64_t stack_start; // the mapping the window moves in
    uint64_t stack_end;
    size_t next_fill; // bytes the next fill of the window asks for; 0: the first
};

// target_memory_init prepares to read the process of pid, which the caller keeps
// stopped. pid may be any thread of it that has not exited.
CH_CHECKED enum ch_status target_memory_init(struct target_memory *memory, pid_t pid);
void target_memory_deinit(struct target_memory *memory);

// target_memory_set_thread says which thread is stopped, for the case that nothing but
// peeking at one is allowed.
void target_memory_set_thread(struct target_memory *memory, pid_t tid);

// target_memory_set_server says where to ask when the kernel refuses: channel, at whose
// other end a handler waits.
void target_memory_set_server(struct target_memory *memory, int channel);

// target_memory_expect says which stacks will be walked, in this order, some perhaps
// not. stacks must outlive memory.
void target_memory_expect(struct target_memory *memory,
                          const struct target_stack *stacks, size_t count);

// target_memory_set_stack says in which mapping the stack of the next walk lies.
void target_memory_set_stack(struct target_memory *memory, uint64_t start,
                             uint64_t end);

// target_memory_reader is the process's memory as the rest of the project reads it.
struct memory_reader target_memory_reader(struct target_memory *memory);

// target_memory_copy reads from the process itself, past window and cache; it returns
// how many bytes it got before a hole.
size_t target_memory_copy(struct target_memory *memory, uint64_t address, void *to,
                          size_t length);
