// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/sorted.h"
#include "base/system/file.h"
#include "formats/debug/elf.h"

struct file_block {
    int fd; // -1: empty
    uint64_t offset;
    size_t size;
};

enum ch_status file_blocks_init(struct file_blocks *cache)
{
    *cache = (struct file_blocks){
        .bytes = malloc((size_t)FILE_BLOCKS * FILE_BLOCK_BYTES),
        .blocks = calloc(FILE_BLOCKS, sizeof(*cache->blocks)),
    };
    if (cache->bytes == NULL || cache->blocks == NULL) {
        file_blocks_deinit(cache);
        return CH_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < FILE_BLOCKS; i++)
        cache->blocks[i].fd = -1;
    return CH_OK;
}

void file_blocks_deinit(struct file_blocks *cache)
{
    free(cache->bytes);
    free(cache->blocks);
    *cache = (struct file_blocks){ 0 };
}

// fill_block reads as much of the block as the file has.
static void fill_block(struct file_block *block, uint8_t *bytes, int fd,
                       uint64_t offset)
{
    *block = (struct file_block){ .fd = fd, .offset = offset };
    block->size = file_read_at(fd, bytes, FILE_BLOCK_BYTES, offset);
}

size_t file_blocks_read(struct file_blocks *cache, int fd, uint64_t offset, void *to,
                        size_t length)
{
    if (offset > INT64_MAX - FILE_BLOCK_BYTES)
        return 0;
    uint64_t start = offset & ~(uint64_t)(FILE_BLOCK_BYTES - 1);
    size_t skip = (size_t)(offset - start);
    // Blocks of different files at the same offset get different slots.
    size_t slot = (size_t)(start / FILE_BLOCK_BYTES + (unsigned)fd * 37u) % FILE_BLOCKS;
    struct file_block *block = &cache->blocks[slot];
    uint8_t *bytes = cache->bytes + slot * FILE_BLOCK_BYTES;

    if (block->fd != fd || block->offset != start)
        fill_block(block, bytes, fd, start);
    if (skip >= block->size)
        return 0;
    size_t count = block->size - skip < length ? block->size - skip : length;
    memcpy(to, bytes + skip, count);
    return count;
}

enum { MANY_SEGMENTS = 0xffff, SECTION_SIZE = 64, SECTION_INFO = 44 };

// read_core_at appends up to size bytes at offset, and returns how many there were.
static size_t read_core_at(int fd, uint64_t offset, size_t size, struct text *out)
{
    uint8_t block[16 << 10];
    size_t done = 0;
    while (done < size) {
        size_t wanted = size - done < sizeof(block) ? size - done : sizeof(block);
        size_t count = file_read_at(fd, block, wanted, offset + done);
        text_append(out, block, count);
        done += count;
        if (count < wanted)
            break;
    }
    return text_ok(out) ? done : 0;
}

// segment_count is the number of program headers; when it does not fit the header's 16
// bits, section 0 has it.
static uint32_t segment_count(const struct core_file *core,
                              const struct elf_header *header)
{
    CH_CLEANUP(text_deinit) struct text section = { 0 };
    if (header->segment_count != MANY_SEGMENTS)
        return header->segment_count;
    if (read_core_at(core->fd, header->section_offset, SECTION_SIZE, &section) !=
        SECTION_SIZE)
        return MANY_SEGMENTS;
    struct cursor c = cursor_over(section.bytes, section.size);
    c.big_endian = core->big_endian;
    cursor_seek(&c, SECTION_INFO);
    return cursor_u32(&c);
}

// in_file is how many of the size bytes at offset the file has.
static uint64_t in_file(struct core_file *core, uint64_t offset, uint64_t size)
{
    uint64_t left = offset < core->size ? core->size - offset : 0;
    if (size > left)
        core->truncated = true;
    return size < left ? size : left;
}

static void add_core_segment(struct core_file *core, const struct elf_segment *segment)
{
    uint64_t end;
    uint64_t size = in_file(core, segment->offset, segment->file_size);
    if (!checked_add_u64(segment->vaddr, segment->memory_size, &end) ||
        segment->memory_size == 0) {
        core->damaged = core->damaged || segment->memory_size != 0;
        return;
    }
    core->segments[core->segment_count++] = (struct core_segment){
        .start = segment->vaddr,
        .end = end,
        .offset = segment->offset,
        .size = size < segment->memory_size ? size : segment->memory_size,
        .stated = segment->file_size < segment->memory_size ? segment->file_size
                                                            : segment->memory_size,
        .flags = segment->flags,
    };
}

// add_core_tags adds a segment of memory's tags; a core without them needs no list.
static void add_core_tags(struct core_file *core, const struct elf_segment *segment)
{
    struct core_segment *grown =
        reallocarray(core->tags, core->tag_count + 1, sizeof(*core->tags));
    if (grown == NULL)
        return;
    core->tags = grown;
    core->tags[core->tag_count++] = (struct core_segment){
        .start = segment->vaddr,
        .end = segment->vaddr + segment->memory_size,
        .offset = segment->offset,
        .size = in_file(core, segment->offset, segment->file_size),
    };
}

static void add_notes(struct core_file *core, const struct elf_segment *segment)
{
    uint64_t size = in_file(core, segment->offset, segment->file_size);
    if (core->notes.size != 0)
        return; // one segment holds all notes
    if (size > CORE_NOTES_LIMIT_BYTES) {
        size = CORE_NOTES_LIMIT_BYTES;
        core->truncated = true;
    }
    (void)read_core_at(core->fd, segment->offset, (size_t)size, &core->notes);
}

static int by_segment_start(const void *left, const void *right)
{
    const struct core_segment *a = left;
    const struct core_segment *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return 0;
}

static enum ch_status read_core_segments(struct core_file *core,
                                         struct elf_header *header)
{
    CH_CLEANUP(text_deinit) struct text table = { 0 };
    uint32_t count = segment_count(core, header);
    if (header->segment_size != ELF_SEGMENT_SIZE)
        return CH_ERR_MALFORMED;
    if (count > CORE_SEGMENTS_MAX) {
        count = CORE_SEGMENTS_MAX;
        core->truncated = true;
    }
    size_t size = (size_t)count * header->segment_size;
    size_t got = read_core_at(core->fd, header->segment_offset, size, &table);
    core->truncated = core->truncated || got != size;
    core->segments = calloc((size_t)count + 1, sizeof(*core->segments));
    if (core->segments == NULL)
        return CH_ERR_NO_MEMORY;

    header->segment_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct elf_segment segment;
        if (elf_read_segment(header, table.bytes, got, i, &segment) != CH_OK)
            break;
        if (segment.type == ELF_PT_LOAD)
            add_core_segment(core, &segment);
        if (segment.type == ELF_PT_AARCH64_MEMTAG_MTE && core->machine == ELF_AARCH64)
            add_core_tags(core, &segment);
        if (segment.type == ELF_PT_NOTE)
            add_notes(core, &segment);
    }
    qsort(core->segments, core->segment_count, sizeof(*core->segments),
          by_segment_start);
    return CH_OK;
}

static enum ch_status add_core_thread(struct core_file *core,
                                      const struct core_thread *thread)
{
    if (core->thread_count == CORE_THREADS_MAX) {
        core->truncated = true;
        return CH_OK;
    }
    if (!array_reserve(&core->threads, &core->thread_capacity, core->thread_count,
                       sizeof(*core->threads)))
        return CH_ERR_NO_MEMORY;
    core->threads[core->thread_count++] = *thread;
    return CH_OK;
}

// keep_note records a note. Of notes that may occur only once, the first counts. A
// signal, vectors, storage or shadow note belongs to the thread before it.
static enum ch_status keep_note(struct core_file *core, const struct core_note *note)
{
    switch (note->kind) {
    case CORE_NOTE_THREAD:
        return add_core_thread(core, &note->thread);
    case CORE_NOTE_VECTORS:
        if (core->thread_count != 0)
            core->threads[core->thread_count - 1].vectors = note->vectors;
        return CH_OK;
    case CORE_NOTE_STORAGE:
        if (core->thread_count != 0)
            core->threads[core->thread_count - 1].thread_pointer = note->thread_pointer;
        return CH_OK;
    case CORE_NOTE_SHADOW:
        if (core->thread_count != 0)
            core->threads[core->thread_count - 1].shadow_stack = note->shadow_stack;
        return CH_OK;
    case CORE_NOTE_PROCESS:
        if (!core->has_process)
            core->process = note->process;
        core->has_process = true;
        return CH_OK;
    case CORE_NOTE_SIGNAL:
        if (!core->has_signal && core->thread_count != 0 &&
            (core->thread_count == 1 ||
             core->threads[core->thread_count - 1].signal != 0)) {
            core->signal = note->signal;
            core->has_signal = true;
        }
        return CH_OK;
    case CORE_NOTE_AUXV:
        if (cursor_left(&core->auxv) == 0)
            core->auxv = note->auxv;
        return CH_OK;
    case CORE_NOTE_FILES:
        if (!core->has_files)
            core->files = note->files;
        core->has_files = true;
        return CH_OK;
    default:
        return CH_OK;
    }
}

static enum ch_status read_core_notes(struct core_file *core)
{
    struct cursor notes = cursor_over(core->notes.bytes, core->notes.size);
    notes.big_endian = core->big_endian;
    for (;;) {
        struct core_note note;
        enum ch_status status = core_notes_next(&notes, core->machine, &note);
        if (status == CH_END)
            return CH_OK;
        if (status == CH_OK)
            status = keep_note(core, &note);
        if (status == CH_ERR_NO_MEMORY || status == CH_ERR_UNSUPPORTED)
            return status;
        if (status != CH_OK)
            core->damaged = true;
        if (status == CH_ERR_TRUNCATED)
            return CH_OK;
    }
}

// put_crashed_first makes the thread that a signal stopped the first one. Kernels write
// it first; qemu 10's user mode does not.
static void put_crashed_first(struct core_file *core)
{
    for (size_t i = 1; i < core->thread_count && core->threads[0].signal == 0; i++) {
        struct core_thread first = core->threads[0];
        if (core->threads[i].signal == 0)
            continue;
        core->threads[0] = core->threads[i];
        core->threads[i] = first;
    }
}

static enum ch_status read_core_header(struct core_file *core, struct elf_header *out)
{
    uint8_t bytes[ELF_HEADER_SIZE];
    ssize_t size = pread(core->fd, bytes, sizeof(bytes), 0);
    if (size < 0)
        return CH_ERR_IO;
    enum ch_status status = elf_read_header(bytes, (size_t)size, out);
    if (status != CH_OK)
        return status;
    if (out->type != ELF_CORE)
        return CH_ERR_MALFORMED;
    bool known = out->machine == ELF_X86_64 || out->machine == ELF_AARCH64;
    return known && out->is_64 ? CH_OK : CH_ERR_UNSUPPORTED;
}

enum ch_status core_file_open(struct core_file *core, int fd)
{
    struct stat info;
    struct elf_header header;
    if (fstat(fd, &info) != 0)
        return CH_ERR_IO;
    *core = (struct core_file){ .fd = fd, .size = (uint64_t)info.st_size };
    enum ch_status status = read_core_header(core, &header);
    if (status != CH_OK)
        return status;
    core->machine = header.machine;
    core->big_endian = header.big_endian;
    status = read_core_segments(core, &header);
    if (status == CH_OK)
        status = read_core_notes(core);
    if (status == CH_OK)
        put_crashed_first(core);
    else
        core_file_close(core);
    return status;
}

void core_file_close(struct core_file *core)
{
    free(core->segments);
    free(core->tags);
    free(core->threads);
    text_deinit(&core->notes);
    *core = (struct core_file){ .fd = -1 };
}

enum ch_status core_file_auxv(const struct core_file *core, uint64_t type,
                              uint64_t *out)
{
    struct cursor auxv = core->auxv;
    uint64_t entry;
    uint64_t value;
    while (core_auxv_next(&auxv, &entry, &value) == CH_OK) {
        if (entry != type)
            continue;
        *out = value;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

const struct core_segment *core_file_segment(const struct core_file *core,
                                             uint64_t address)
{
    size_t after = SORTED_UP_TO(core->segments, core->segment_count, start, address);
    if (after == 0 || address >= core->segments[after - 1].end)
        return NULL;
    return &core->segments[after - 1];
}

enum ch_status core_file_tag(const struct core_file *core, uint64_t address,
                             uint8_t *out)
{
    enum { GRANULE = 16, TAG_BITS = 4, TAG_MASK = 15 };
    for (size_t i = 0; i < core->tag_count; i++) {
        const struct core_segment *tags = &core->tags[i];
        uint8_t pair;
        if (address < tags->start || address >= tags->end)
            continue;
        uint64_t granule = (address - tags->start) / GRANULE;
        if (granule / 2 >= tags->size ||
            file_read_at(core->fd, &pair, 1, tags->offset + granule / 2) != 1)
            return CH_ERR_NOT_FOUND;
        *out = pair >> (granule % 2 != 0 ? TAG_BITS : 0) & TAG_MASK;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

size_t core_file_read(const struct core_file *core, struct file_blocks *cache,
                      uint64_t address, void *to, size_t length)
{
    const struct core_segment *segment = core_file_segment(core, address);
    if (segment == NULL || address - segment->start >= segment->size)
        return 0;
    uint64_t skip = address - segment->start;
    uint64_t left = segment->size - skip;
    return file_blocks_read(cache, core->fd, segment->offset + skip, to,
                            left < length ? (size_t)left : length);
}
