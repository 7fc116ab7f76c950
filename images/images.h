// SPDX-License-Identifier: Apache-2.0
//
// The images of a process, found in its memory map and read from its memory.
//
// What is mapped is what ran: a file since replaced or deleted on disk still gives its
// build ID here. An image is an ELF header in memory with code; the vDSO is one of
// them. link_map.h adds images that were not mapped from a file. For a live process,
// only files of /proc/PID are opened. A caller that knows the mappings from elsewhere
// (core_images.h) fills them in and then builds the images.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cursor.h"
#include "base/memory_reader.h"
#include "base/text.h"
#include "shared/place_note.h"
#include "unwind/unwind.h"

// Where those of our libraries that are in an image keep what reports show, according
// to their notes (shared/place_note.h). After a crash the handler reports it; for a
// live process or a core, only the notes do.

// PLACE_KINDS is one more than the highest note type: the types index places.
enum { PLACE_KINDS = PLACE_HEAP + 1 };

// An image_place is the content of one note, not yet validated.
struct image_place {
    uint64_t address; // 0: there is no note
    uint32_t version;
    uint32_t size;
};

// place_note_read looks for our notes in a note segment that begins at address in the
// target, and fills in places that are empty.
void place_note_read(struct cursor notes, uint64_t align, uint64_t address,
                     struct image_place places[PLACE_KINDS]);

// place_note_problem returns what is wrong with a place of size bytes in an image
// loaded from start to end; NULL: nothing.
const char *place_note_problem(const struct image_place *place, uint64_t start,
                               uint64_t end, size_t size);

enum {
    IMAGES_MAX = 65536,
    IMAGE_BUILD_ID_MAX = 64, // longer ones are cut; SHA-512 is the longest in use
};

struct target_mapping {
    uint64_t start;
    uint64_t end;
    unsigned permissions; // enum maps_permission
    uint64_t inode;
    uint64_t device;
    uint64_t offset;
    const char *path; // not terminated: path_size bytes
    size_t path_size;
    bool deleted;
};

struct target_image {
    const char *path; // path_size bytes, the mapping's or owned_path's
    size_t path_size;
    char *owned_path; // NULL: path is the mapping's
    bool deleted;
    uint64_t base; // lowest mapped address
    uint64_t end;  // one past the last address its program headers claim
    uint64_t end_of_text;
    uint64_t bias;  // address - vaddr
    uint64_t entry; // the program's entry point; 0: none
    uint8_t build_id[IMAGE_BUILD_ID_MAX];
    size_t build_id_size;
    uint64_t dynamic; // address of its dynamic section; 0: none
    uint64_t eh_frame_hdr;
    uint64_t eh_frame_hdr_size;
    uint64_t sframe;
    uint64_t sframe_size;                   // 0: there is none
    struct image_place places[PLACE_KINDS]; // of our libraries in it
    void *file; // the file that image_frames_open read; NULL: none
    size_t file_size;
    uint8_t *debug_frame; // that image_frames_serve found; NULL: none
    int file_fd;    // its file, where the owner of the images has it open; 0: path
                    // leads to it; -1: there is none
    bool owns_file; // file_fd is closed with the images
};

struct target_images {
    struct text maps; // /proc/PID/maps, which paths point into; or empty
    struct target_mapping *mappings;
    size_t mapping_count;
    struct target_image *images; // sorted by base
    size_t count;
    size_t capacity;
    struct unwind_image *unwind; // the same images, for the unwinder
};

// images_read lists the mappings and images of the process of pid, which may be any of
// its threads that has not exited; memory reads it. CH_ERR_IO: its memory map cannot be
// read. CH_ERR_LIMIT: there are more than can be listed; those found are listed.
CH_CHECKED enum ch_status images_read(struct target_images *out, pid_t pid,
                                      const struct memory_reader *memory);

// images_parse_maps lists the mappings in out->maps, which the caller has filled.
CH_CHECKED enum ch_status images_parse_maps(struct target_images *out);

// images_build rebuilds the list of images from images->mappings, sorted by start.
CH_CHECKED enum ch_status images_build(struct target_images *images,
                                       const struct memory_reader *memory);
void images_deinit(struct target_images *images);

// images_add adds an image whose ELF header is at address under the name path.
// CH_ERR_NOT_FOUND: there is no header, or no code after it.
CH_CHECKED enum ch_status images_add(struct target_images *images,
                                     const struct memory_reader *memory,
                                     uint64_t address, const char *path);

// images_list_for_unwinder fills images->unwind once all images are known.
CH_CHECKED enum ch_status images_list_for_unwinder(struct target_images *images);

// images_find is the image that holds address, or NULL.
const struct target_image *images_find(const struct target_images *images,
                                       uint64_t address);

// images_mapping is the mapping that holds address, or NULL.
const struct target_mapping *images_mapping(const struct target_images *images,
                                            uint64_t address);

// images_may_start returns true if mapping number index may begin with an ELF header.
bool images_may_start(const struct target_images *images, size_t index);

// images_is_code is an unwind_code_fn over struct target_images.
bool images_is_code(void *images, uint64_t address);

// images_is_data returns true if address is in an image and not in code.
bool images_is_data(void *images, uint64_t address);
