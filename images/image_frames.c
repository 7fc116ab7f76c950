// SPDX-License-Identifier: Apache-2.0
#include "images/image_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "base/system/rights.h"
#include "formats/debug/decompress.h"
#include "formats/debug/elf.h"

// A file of which only some parts are read, in memory where the whole would have its
// place. An ELF file's headers and one section can be viewed so without reading the
// rest, which for a program with debug information is hundreds of megabytes.

// A sparse_file is zeros where it was not loaded; zeroed, it is empty.
struct sparse_file {
    int fd; // the caller's
    uint8_t *bytes;
    size_t size;
};

enum { HEAD_BYTES = 64 << 10, LOAD_MAX_BYTES = 256 << 20 };

// sparse_file_load reads size bytes at offset. CH_ERR_TRUNCATED: the file is shorter.
// CH_ERR_LIMIT: they are more than are ever read.
CH_CHECKED static enum ch_status sparse_file_load(struct sparse_file *file,
                                                  uint64_t offset, uint64_t size)
{
    if (offset > file->size || size > file->size - offset)
        return CH_ERR_TRUNCATED;
    if (size > LOAD_MAX_BYTES)
        return CH_ERR_LIMIT;
    while (size != 0) {
        ssize_t count = pread(file->fd, file->bytes + offset, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count == 0 ? CH_ERR_TRUNCATED : CH_ERR_IO;
        offset += (uint64_t)count;
        size -= (uint64_t)count;
    }
    return CH_OK;
}

// sparse_file_init reserves room for the regular file at fd, and loads its beginning,
// where program headers and notes are. CH_ERR_UNSUPPORTED: it is no regular file.
CH_CHECKED static enum ch_status sparse_file_init(struct sparse_file *file, int fd)
{
    struct stat info;
    *file = (struct sparse_file){ .fd = fd };
    if (fstat(fd, &info) != 0)
        return CH_ERR_IO;
    if (!S_ISREG(info.st_mode) || info.st_size <= 0)
        return CH_ERR_UNSUPPORTED;
    // Pages take memory only once they are read into.
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    file->bytes = bytes;
    file->size = size;
    return sparse_file_load(file, 0, size < HEAD_BYTES ? size : HEAD_BYTES);
}

static void sparse_file_deinit(struct sparse_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->size);
    *file = (struct sparse_file){ 0 };
}

// sparse_file_view loads the section headers of an ELF file and their names.
CH_CHECKED static enum ch_status sparse_file_view(struct sparse_file *file,
                                                  struct elf_view *out)
{
    struct elf_header header;
    struct elf_section names;
    enum ch_status status = elf_read_header(file->bytes, file->size, &header);
    if (status == CH_OK)
        status = sparse_file_load(file, header.section_offset,
                                  (uint64_t)header.section_count * header.section_size);
    if (status == CH_OK)
        status = elf_view_init(out, file->bytes, file->size);
    if (status == CH_OK)
        status = elf_view_section(out, out->header.section_names, &names);
    return status == CH_OK ? sparse_file_load(file, names.offset, names.size) : status;
}

static uint8_t *read_section_bytes(int fd, size_t size)
{
    uint8_t *bytes = malloc(size);
    size_t done = 0;
    while (bytes != NULL && done < size) {
        ssize_t count = pread(fd, bytes + done, size - done, (off_t)done);
        if (count <= 0) {
            free(bytes);
            return NULL;
        }
        done += (size_t)count;
    }
    return bytes;
}

// open_image_file opens the image's file; -1: there is none.
static int open_image_file(const struct target_image *image)
{
    char path[4096];
    if (image->file_fd != 0)
        return fcntl(image->file_fd, F_DUPFD_CLOEXEC, 3);
    if (image->deleted || image->path_size == 0 || image->path[0] != '/' ||
        image->path_size >= sizeof(path))
        return -1;
    memcpy(path, image->path, image->path_size);
    path[image->path_size] = 0;
    // Opening a pipe or a device must neither block nor touch it.
    return rights_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// read_regular reads the image's file; NULL when it is no regular one, or too large.
static uint8_t *read_regular(const struct target_image *image, size_t *out_size)
{
    int fd = open_image_file(image);
    struct stat info;
    uint8_t *bytes = NULL;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        info.st_size <= IMAGE_FRAMES_FILE_MAX) {
        *out_size = (size_t)info.st_size;
        bytes = read_section_bytes(fd, *out_size);
    }
    close(fd);
    return bytes;
}

static bool same_build(const struct elf_view *file, const struct target_image *image)
{
    const uint8_t *id;
    size_t size;
    if (elf_view_loaded_build_id(file, &id, &size) != CH_OK)
        return image->build_id_size == 0;
    if (size > IMAGE_BUILD_ID_MAX)
        size = IMAGE_BUILD_ID_MAX;
    return size == image->build_id_size && memcmp(id, image->build_id, size) == 0;
}

void image_frames_take(const struct elf_view *file, const struct target_image *image,
                       struct unwind_image *unwind)
{
    struct elf_section section;
    if (elf_view_find_section(file, ".eh_frame", &section, NULL) == CH_OK &&
        section.flags & ELF_SHF_ALLOC) {
        unwind->eh_frame = image->bias + section.vaddr;
        unwind->eh_frame_size = section.size;
    }
}

enum ch_status image_frames_open(struct target_image *image, struct elf_view *out)
{
    if (image->file == NULL)
        image->file = read_regular(image, &image->file_size);
    if (image->file == NULL)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = elf_view_init(out, image->file, image->file_size);
    return status != CH_OK || same_build(out, image) ? status : CH_ERR_NOT_FOUND;
}

static void find_unwind_sections(struct target_image *image,
                                 struct unwind_image *unwind)
{
    struct elf_view file;
    if (image->eh_frame_hdr_size == 0 && image_frames_open(image, &file) == CH_OK)
        image_frames_take(&file, image, unwind);
}

// open_deleted opens the file of a mapping. Only root may follow the links in
// map_files; the program's own file can be reached by /proc/PID/exe as well.
static int open_deleted(const struct target_mapping *mapping, pid_t pid)
{
    char path[80];
    struct stat file;
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
             (unsigned long long)mapping->start, (unsigned long long)mapping->end);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &file) != 0 || file.st_ino != mapping->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void hold_deleted(struct target_images *images, pid_t pid)
{
    size_t held = 0;
    for (size_t i = 0; i < images->count && held < IMAGE_FRAMES_DELETED_MAX; i++) {
        struct target_image *image = &images->images[i];
        const struct target_mapping *mapping = images_mapping(images, image->base);
        int fd = image->deleted && image->file_fd == 0 && mapping != NULL
                     ? open_deleted(mapping, pid)
                     : -1;
        if (fd < 0)
            continue;
        image->file_fd = fd;
        image->owns_file = true;
        held++;
    }
}

void image_frames_find(struct target_images *images, pid_t pid)
{
    hold_deleted(images, pid);
    for (size_t i = 0; i < images->count; i++)
        find_unwind_sections(&images->images[i], &images->unwind[i]);
}

// load_debug_frame copies the .debug_frame of the file at fd, if it is the image's.
static void load_debug_frame(int fd, struct target_image *image,
                             struct unwind_image *unwind)
{
    struct elf_view file;
    struct elf_section section;
    struct sparse_file CH_CLEANUP(sparse_file_deinit) sparse = { 0 };
    size_t size;
    if (sparse_file_init(&sparse, fd) != CH_OK ||
        sparse_file_view(&sparse, &file) != CH_OK || !same_build(&file, image) ||
        debug_frame_find(&file, &section) != CH_OK ||
        sparse_file_load(&sparse, section.offset, section.size) != CH_OK ||
        debug_frame_copy(&file, &section, DEBUG_FRAME_MAX_BYTES, &image->debug_frame,
                         &size) != CH_OK)
        return;
    unwind->debug_frame = image->debug_frame;
    unwind->debug_frame_size = size;
}

// find_image_debug_frame is an unwind_debug_frame_fn over struct target_images.
static void find_image_debug_frame(void *context, size_t index)
{
    struct target_images *images = context;
    int fd = open_image_file(&images->images[index]);
    if (fd < 0)
        return;
    load_debug_frame(fd, &images->images[index], &images->unwind[index]);
    close(fd);
}

void image_frames_serve(struct target_images *images, struct unwind_space *space)
{
    unwind_space_set_debug_frames(space, find_image_debug_frame, images);
}

static const char old_name[] = ".zdebug_frame";

enum ch_status debug_frame_find(const struct elf_view *file, struct elf_section *out)
{
    enum ch_status status = elf_view_find_section(file, ".debug_frame", out, NULL);
    if (status != CH_OK)
        status = elf_view_find_section(file, old_name, out, NULL);
    return status;
}

// read_header reads the header of a compressed section: Elf64_Chdr, or "ZLIB" and the
// size in big-endian order.
static enum ch_status read_header(struct cursor *bytes, bool is_old,
                                  uint32_t *out_method, uint64_t *out_size)
{
    if (is_old) {
        const uint8_t *magic = cursor_take(bytes, 4);
        bool is_zlib = magic != NULL && memcmp(magic, "ZLIB", 4) == 0;
        *out_method = is_zlib ? DECOMPRESS_ZLIB : 0;
        bytes->big_endian = true;
        *out_size = cursor_u64(bytes);
    } else {
        *out_method = cursor_u32(bytes);
        cursor_skip(bytes, 4); // reserved
        *out_size = cursor_u64(bytes);
        cursor_skip(bytes, 8); // its alignment
    }
    return cursor_ok(bytes) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status debug_frame_copy(const struct elf_view *file,
                                const struct elf_section *section, size_t limit,
                                uint8_t **out, size_t *out_size)
{
    struct cursor bytes = elf_section_cursor(file, section);
    bool is_old = strncmp(section->name, ".zdebug", 7) == 0;
    bool is_compressed = is_old || section->flags & ELF_SHF_COMPRESSED;
    uint64_t size = cursor_left(&bytes);
    uint32_t method;
    enum ch_status status = CH_OK;
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    if (!file->header.is_64)
        return CH_ERR_UNSUPPORTED;
    if (is_compressed)
        status = read_header(&bytes, is_old, &method, &size);
    if (status == CH_OK && is_compressed && size > limit)
        status = CH_ERR_LIMIT;
    if (status != CH_OK)
        return status;
    uint8_t *copy = malloc(size != 0 ? (size_t)size : 1);
    if (copy == NULL)
        return CH_ERR_NO_MEMORY;
    if (is_compressed)
        status = decompress(method, bytes, copy, (size_t)size);
    else if (size != 0)
        memcpy(copy, cursor_take(&bytes, (size_t)size), (size_t)size);
    if (status != CH_OK) {
        free(copy);
        return status;
    }
    *out = copy;
    *out_size = (size_t)size;
    return CH_OK;
}
