// SPDX-License-Identifier: Apache-2.0
#include "images/image_frames.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/rights.h"
#include "formats/debug/elf.h"
#include "images/debug_frame.h"
#include "images/sparse_file.h"

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

// read_regular reads the regular file at path; NULL when it is not one, or too large.
static uint8_t *read_regular(const char *path, size_t *out_size)
{
    // Opening a pipe or a device must neither block nor touch it.
    int fd = rights_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
    char path[4096];
    if (image->deleted || image->path_size == 0 || image->path[0] != '/' ||
        image->path_size >= sizeof(path))
        return CH_ERR_NOT_FOUND;
    memcpy(path, image->path, image->path_size);
    path[image->path_size] = 0;
    if (image->file == NULL)
        image->file = read_regular(path, &image->file_size);
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

void image_frames_find(struct target_images *images)
{
    for (size_t i = 0; i < images->count; i++)
        find_unwind_sections(&images->images[i], &images->unwind[i]);
}

// image_frames_open_again opens the image's file for its .debug_frame. What is in a
// core has a descriptor already.
static int image_frames_open_again(const struct target_image *image)
{
    char path[4096];
    if (image->file_fd != 0)
        return fcntl(image->file_fd, F_DUPFD_CLOEXEC, 3);
    if (image->deleted || image->path_size == 0 || image->path[0] != '/' ||
        image->path_size >= sizeof(path))
        return -1;
    memcpy(path, image->path, image->path_size);
    path[image->path_size] = 0;
    return rights_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
    int fd = image_frames_open_again(&images->images[index]);
    if (fd < 0)
        return;
    load_debug_frame(fd, &images->images[index], &images->unwind[index]);
    close(fd);
}

void image_frames_serve(struct target_images *images, struct unwind_space *space)
{
    unwind_space_set_debug_frames(space, find_image_debug_frame, images);
}
