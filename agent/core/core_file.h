// SPDX-License-Identifier: Apache-2.0
//
// An open core file: its threads, its notes, and its memory as far as it was written.
//
// The file may be cut, sparse or forged. What is there is used; what is missing is
// recorded (`truncated`, `damaged`) and is never an error. Only a file that is not a
// core, or that is of an unknown machine, is refused. docs/cores.md has the details.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "formats/debug/core_notes.h"

// A cache for small reads at scattered places of files: a core and the images it names.
//
// Unwinding reads single words here and there, so whole blocks are read and the latest
// kept. Nothing is mapped: a file that shrinks meanwhile gives fewer bytes, never a
// SIGBUS.

enum { FILE_BLOCK_BYTES = 16 << 10, FILE_BLOCKS = 256 };

struct file_blocks {
    uint8_t *bytes;
    struct file_block *blocks;
};

// file_blocks_init allocates room for FILE_BLOCKS blocks.
CH_CHECKED enum ch_status file_blocks_init(struct file_blocks *cache);
void file_blocks_deinit(struct file_blocks *cache);

// file_blocks_read copies up to length bytes at offset of the file fd, and returns how
// many: fewer at the end of the file or of a block. fd must stay open for as long as
// the cache is used.
size_t file_blocks_read(struct file_blocks *cache, int fd, uint64_t offset, void *to,
                        size_t length);

enum {
    CORE_SEGMENTS_MAX = 1 << 18,
    CORE_THREADS_MAX = 1 << 16,
    CORE_NOTES_LIMIT_BYTES = 64 << 20,
};

// Entries of the auxiliary vector that are used here (elf.h, AT_*).
enum {
    CORE_AT_PHDR = 3,
    CORE_AT_ENTRY = 9,
    CORE_AT_EXECFN = 31,
    CORE_AT_SYSINFO_EHDR = 33,
};

// A core_segment is a range of the address space. Bytes past size are not in the core.
struct core_segment {
    uint64_t start;
    uint64_t end;
    uint64_t offset; // in the file
    uint64_t size;   // bytes of it that the file has
    uint64_t stated; // bytes of it that the file should have, by its headers
    uint32_t flags;  // enum elf_segment_flag, ORed
};

struct core_file {
    int fd; // the caller's
    uint64_t size;
    uint16_t machine; // enum elf_machine
    bool big_endian;
    bool truncated;                // the file is shorter than its headers say
    bool damaged;                  // some note could not be read
    struct core_segment *segments; // sorted by start
    size_t segment_count;
    struct core_segment *tags; // memory's tags (MTE of aarch64): 4 bits for 16 bytes
    size_t tag_count;
    struct text notes; // the bytes that the members below point into
    struct core_thread *threads;
    size_t thread_count;
    size_t thread_capacity;
    struct core_process process;
    bool has_process;
    struct core_signal signal; // of the first thread
    bool has_signal;
    struct cursor auxv;
    struct core_files files;
    bool has_files;
};

// core_file_open reads the headers and notes of the core on fd, which must stay open.
// CH_ERR_MALFORMED: it is not a core. CH_ERR_UNSUPPORTED: a core of an unknown machine.
// CH_ERR_TRUNCATED: it ends within its header. CH_ERR_IO: errno is set.
CH_CHECKED enum ch_status core_file_open(struct core_file *core, int fd);
void core_file_close(struct core_file *core);

// core_file_auxv is the value of an entry of the auxiliary vector. CH_ERR_NOT_FOUND:
// the vector has no entry of that type.
CH_CHECKED enum ch_status core_file_auxv(const struct core_file *core, uint64_t type,
                                         uint64_t *out);

// core_file_segment is the segment that holds address, or NULL.
const struct core_segment *core_file_segment(const struct core_file *core,
                                             uint64_t address);

// core_file_tag gives the tag that the memory at address had. CH_ERR_NOT_FOUND: the
// core has none for it.
CH_CHECKED enum ch_status core_file_tag(const struct core_file *core, uint64_t address,
                                        uint8_t *out);

// core_file_read copies up to length bytes at address from the core's segments, and
// returns how many.
size_t core_file_read(const struct core_file *core, struct file_blocks *cache,
                      uint64_t address, void *to, size_t length);
