// SPDX-License-Identifier: Apache-2.0
#include "images/image_outline.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/rights.h"

enum { SEGMENTS_MAX = 256, NOTES_MAX_BYTES = 4096 };

// A view is an image being read: where its header is, and whether addresses are
// relative to its file or its mapping.
struct view {
    const struct memory_reader *from;
    uint64_t base;
    bool mapped;
    struct elf_header header;
};

static void read_outline_build_id(const struct view *view,
                                  const struct elf_segment *notes,
                                  struct image_outline *out)
{
    uint8_t bytes[NOTES_MAX_BYTES];
    const uint8_t *id;
    size_t id_size;
    uint64_t place = view->mapped ? notes->vaddr - out->low : notes->offset;
    size_t size =
        notes->file_size < sizeof(bytes) ? (size_t)notes->file_size : sizeof(bytes);
    if (out->build_id_size != 0 ||
        memory_read(view->from, view->base + place, bytes, size) != CH_OK)
        return;

    struct cursor c = cursor_over(bytes, size);
    c.big_endian = view->header.big_endian;
    if (elf_find_build_id(c, notes->align, &id, &id_size) != CH_OK)
        return;
    out->build_id_size =
        id_size < OUTLINE_BUILD_ID_MAX ? id_size : OUTLINE_BUILD_ID_MAX;
    memcpy(out->build_id, id, out->build_id_size);
}

static void note_load(const struct elf_segment *segment, struct image_outline *out)
{
    uint64_t end = segment->vaddr + segment->memory_size;
    if (end < segment->vaddr || out->load_count == OUTLINE_LOADS_MAX)
        return;
    uint64_t start = segment->vaddr & ~(uint64_t)(OUTLINE_PAGE_BYTES - 1);
    if (out->load_count == 0 || start < out->low)
        out->low = start;
    if (end > out->high)
        out->high = end;
    out->loads[out->load_count++] = *segment;
}

static void note_outline_segment(const struct view *view,
                                 const struct elf_segment *segment,
                                 struct image_outline *out)
{
    switch (segment->type) {
    case ELF_PT_PHDR:
        out->headers = segment->vaddr;
        break;
    case ELF_PT_DYNAMIC:
        out->dynamic = segment->vaddr;
        break;
    case ELF_PT_TLS:
        out->storage_size = segment->memory_size;
        out->storage_align = segment->align != 0 ? segment->align : 1;
        break;
    case ELF_PT_NOTE:
        read_outline_build_id(view, segment, out);
        break;
    default:
        break;
    }
}

enum ch_status image_outline_read(const struct memory_reader *from, uint64_t base,
                                  bool mapped, struct image_outline *out)
{
    struct view view = { .from = from, .base = base, .mapped = mapped };
    uint8_t bytes[SEGMENTS_MAX * ELF_SEGMENT_SIZE];
    struct elf_segment segment;

    if (memory_read(from, base, bytes, ELF_HEADER_SIZE) != CH_OK)
        return CH_ERR_FAULT;
    enum ch_status status = elf_read_header(bytes, ELF_HEADER_SIZE, &view.header);
    if (status != CH_OK)
        return CH_ERR_MALFORMED;
    const struct elf_header *header = &view.header;
    if (!header->is_64 || header->segment_size != ELF_SEGMENT_SIZE ||
        header->segment_count > SEGMENTS_MAX)
        return CH_ERR_MALFORMED;
    size_t size = (size_t)header->segment_count * ELF_SEGMENT_SIZE;
    if (memory_read(from, base + header->segment_offset, bytes, size) != CH_OK)
        return CH_ERR_FAULT;

    struct image_outline outline = { .machine = header->machine,
                                     .entry = header->entry };
    // Loadable segments come first, because the place of the notes depends on them.
    for (uint32_t i = 0; i < header->segment_count; i++) {
        if (elf_read_segment(header, bytes, size, i, &segment) == CH_OK &&
            segment.type == ELF_PT_LOAD)
            note_load(&segment, &outline);
    }
    if (outline.load_count == 0)
        return CH_ERR_MALFORMED;
    outline.headers = outline.low + header->segment_offset;
    for (uint32_t i = 0; i < header->segment_count; i++) {
        if (elf_read_segment(header, bytes, size, i, &segment) == CH_OK)
            note_outline_segment(&view, &segment, &outline);
    }
    *out = outline;
    return CH_OK;
}

static size_t read_outline_file(void *source, uint64_t address, void *to, size_t length)
{
    const int *fd = source;
    if (address > INT64_MAX)
        return 0;
    ssize_t count = pread(*fd, to, length, (off_t)address);
    return count > 0 ? (size_t)count : 0;
}

enum ch_status image_outline_open(const char *path, struct image_outline *out,
                                  int *out_fd)
{
    // Opening a pipe or a device must neither block nor touch it.
    int fd = rights_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0)
        return CH_ERR_IO;
    struct memory_reader reader = { .read = read_outline_file, .source = &fd };
    enum ch_status status = CH_ERR_MALFORMED;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        status = image_outline_read(&reader, 0, false, out);
    if (status != CH_OK) {
        close(fd);
        return status;
    }
    *out_fd = fd;
    return CH_OK;
}
