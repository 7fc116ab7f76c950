// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_jitted.h"

#include <stdio.h>
#include <string.h>

#include "agent/facts/raw_write.h"
#include "agent/live/process_file.h"

enum { JITDUMPS_MAX = 4, JITTED_PATH_BYTES = 4096 };

// jitted_address is an address inside of the code that a place is in.
static uint64_t jitted_address(const struct raw_place *place)
{
    return place->address - (place->kind == UNWIND_KIND_RA);
}

// read_jitted_file reads one of the process's files. False: there is none.
static bool read_jitted_file(struct raw_jitted *jitted, const char *path,
                             struct text *out)
{
    struct capture *capture = jitted->capture;
    enum ch_status status = process_file_read(
        capture->process.pid, path, capture->process.uid, JITTED_FILE_BYTES, out);
    if (status == CH_ERR_LIMIT)
        capture_problem(capture, "jit", "a list of its code is too large", 0);
    return (status == CH_OK || status == CH_ERR_LIMIT) && out->size != 0;
}

// is_jitdump: the writer maps a page of the file as code, so that profilers find it.
static bool is_jitdump(const struct target_mapping *mapping)
{
    const char *slash = memrchr(mapping->path, '/', mapping->path_size);
    size_t size =
        slash != NULL ? mapping->path_size - (size_t)(slash - mapping->path) : 0;
    return size > 10 && size < JITTED_PATH_BYTES && memcmp(slash, "/jit-", 5) == 0 &&
           memcmp(slash + size - 5, ".dump", 5) == 0 &&
           mapping->path_size < JITTED_PATH_BYTES;
}

static void read_jitdumps(struct raw_jitted *jitted)
{
    const struct target_images *images = &jitted->capture->images;
    size_t found = 0;
    for (size_t i = 0; i < images->mapping_count && found < JITDUMPS_MAX; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        struct text CH_CLEANUP(text_deinit) bytes = { 0 };
        char path[JITTED_PATH_BYTES];
        if (!is_jitdump(mapping))
            continue;
        found++;
        memcpy(path, mapping->path, mapping->path_size);
        path[mapping->path_size] = 0;
        if (read_jitted_file(jitted, path, &bytes))
            jitted_read_dump(&jitted->jitted, bytes.bytes, bytes.size);
    }
}

static void read_perf_map(struct raw_jitted *jitted)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char path[64];
    pid_t number = process_file_number(jitted->capture->process.pid);
    if (number <= 0)
        return;
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", number);
    if (read_jitted_file(jitted, path, &bytes))
        jitted_read_map(&jitted->jitted, bytes.bytes, bytes.size);
}

// find_jitted_sections is an unwind_sections_fn over struct raw_jitted.
static size_t find_jitted_sections(void *context, const struct unwind_section **out)
{
    struct raw_jitted *jitted = context;
    const struct capture *capture = jitted->capture;
    jit_descriptor_read(&jitted->debuggers, &capture->reader, &capture->images);
    return jit_descriptor_sections(&jitted->debuggers, out);
}

void raw_jitted_init(struct raw_jitted *jitted, struct capture *capture,
                     struct unwind_space *space)
{
    *jitted = (struct raw_jitted){ .capture = capture };
    if (!capture->narrow && !capture->reader.big_endian)
        unwind_space_set_sections(space, find_jitted_sections, jitted);
}

void raw_jitted_read(struct raw_jitted *jitted, const struct raw_stacks *stacks)
{
    struct capture *capture = jitted->capture;
    if (capture->narrow)
        return;
    for (size_t i = 0; i < stacks->place_count; i++) {
        const struct raw_place *place = &stacks->places[i];
        uint64_t address = jitted_address(place);
        if (place->image == SIZE_MAX &&
            images_find(&capture->images, address) == NULL &&
            images_is_code(&capture->images, address))
            jitted_want(&jitted->jitted, address);
    }
    if (jitted->jitted.count == 0)
        return;
    for (size_t i = 0; i < capture->images.count; i++) {
        const struct target_image *image = &capture->images.images[i];
        if (memmem(image->path, image->path_size, "/libjvm.so", 10) != NULL)
            jitted->hotspot = true;
    }
    jitted_sort(&jitted->jitted);
    jit_descriptor_read(&jitted->debuggers, &capture->reader, &capture->images);
    jit_descriptor_name(&jitted->debuggers, &jitted->jitted);
    if (!capture_is_process(capture))
        return; // its files may be another process's by now
    read_jitdumps(jitted);
    read_perf_map(jitted);
}

void raw_jitted_deinit(struct raw_jitted *jitted)
{
    jit_descriptor_deinit(&jitted->debuggers);
    jitted_deinit(&jitted->jitted);
}

static void write_jitted_part(struct json_writer *w, const char *key, const char *text,
                              size_t size)
{
    json_write_key(w, key);
    json_write_bytes(w, text, size);
}

void raw_jitted_write(const struct raw_jitted *jitted, struct json_writer *w,
                      const struct raw_place *place)
{
    const struct jitted_code *code =
        place->image == SIZE_MAX ? jitted_find(&jitted->jitted, jitted_address(place))
                                 : NULL;
    if (code == NULL)
        return;
    const struct jitted_place name =
        jitted_name_split(code->name.bytes, code->name.size, jitted->hotspot);
    write_jitted_part(w, "function", name.function, name.function_size);
    if (name.language != NULL) {
        write_jitted_part(w, "raw_name", code->name.bytes, code->name.size);
        raw_write_string(w, "language", name.language);
    }
    if (name.file_size != 0)
        raw_write_path(w, jitted->capture, "file", name.file, name.file_size);
    raw_write_string(w, "source", code->source);
}
