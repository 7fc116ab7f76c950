// SPDX-License-Identifier: Apache-2.0
#include "cli/debug/debug_images.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "formats/debug/elf.h"
#include "formats/interchange/source_bundle.h"
#include "report/value/report.h"

enum { ID_DIGITS = 128, SEGMENTS_MAX = 64 };

// mapped is an ELF file.
struct mapped {
    struct elf_view view;
    void *bytes;
    size_t size;
};

static void mapped_close(struct mapped *mapped)
{
    if (mapped->bytes != NULL)
        munmap(mapped->bytes, mapped->size);
}

// map_build maps the file at path if it is a regular ELF file of that build; without a
// build ID none is sure to be.
static bool map_build(const char *path, const char *build_id, struct mapped *out)
{
    struct stat status;
    const uint8_t *id = NULL;
    size_t size = 0;
    char digits[ID_DIGITS + 1];
    int CH_CLEANUP(file_close) fd =
        open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *out = (struct mapped){ 0 };
    if (build_id == NULL || fd < 0 || fstat(fd, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size == 0)
        return false;
    out->size = (size_t)status.st_size;
    out->bytes = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (out->bytes == MAP_FAILED)
        out->bytes = NULL;
    bool same = out->bytes != NULL &&
                elf_view_init(&out->view, out->bytes, out->size) == CH_OK &&
                elf_view_build_id(&out->view, &id, &size) == CH_OK &&
                size <= ID_DIGITS / 2;
    if (same)
        hex_encode(id, size, digits);
    if (same && strcmp(digits, build_id) == 0)
        return true;
    mapped_close(out);
    return false;
}

// lowest_vaddr is the page of the first loaded segment.
static uint64_t lowest_vaddr(const struct elf_view *view)
{
    struct elf_segment segment;
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = 0; elf_view_segment(view, i, &segment) == CH_OK; i++) {
        if (segment.type == ELF_PT_LOAD && segment.vaddr < lowest)
            lowest = segment.vaddr;
    }
    return lowest == UINT64_MAX ? 0 : lowest & ~(uint64_t)(DEBUG_PAGE - 1);
}

// add_ranges adds the parts of an image's file that the process could not write.
static enum ch_status add_ranges(struct debug_images *images,
                                 const struct elf_view *view, uint64_t bias,
                                 const char *path)
{
    const uint64_t mask = DEBUG_PAGE - 1;
    struct elf_segment segment;
    for (uint32_t i = 0;
         i < SEGMENTS_MAX && elf_view_segment(view, i, &segment) == CH_OK; i++) {
        if (segment.type != ELF_PT_LOAD || (segment.flags & ELF_PF_W) != 0 ||
            segment.file_size == 0 || segment.file_size > view->size)
            continue;
        struct debug_ranges *ranges = &images->ranges;
        if (!array_reserve(&ranges->list, &ranges->capacity, ranges->count,
                           sizeof(ranges->list[0])))
            return CH_ERR_NO_MEMORY;
        uint64_t start = bias + segment.vaddr;
        ranges->list[ranges->count++] = (struct debug_range){
            .start = start & ~mask,
            .end = (start + segment.file_size + mask) & ~mask,
            .offset = segment.offset & ~mask,
            .path = path,
        };
    }
    return CH_OK;
}

// image is one of the report's while its files are looked for.
struct image {
    size_t number;
    const char *path;
    const char *build_id; // NULL: none
    uint64_t base;
    bool mentioned; // by a frame
};

static bool is_build_id(const char *digits)
{
    size_t length = strlen(digits);
    return length >= 4 && length <= ID_DIGITS && length % 2 == 0 &&
           strspn(digits, "0123456789abcdef") == length;
}

// expand_path writes the path of an image here: reports have `~` for a home.
static void expand_path(const char *path, char out[PATH_MAX])
{
    const char *home = getenv("HOME");
    bool own = strncmp(path, "~/", 2) == 0 && home != NULL;
    (void)snprintf(out, PATH_MAX, "%s%s", own ? home : "", own ? path + 1 : path);
}

// note_image keeps an image that was found: the file at path becomes FOLDER/images/N.
static enum ch_status note_image(struct debug_images *images, const struct image *image,
                                 const struct mapped *mapped, const char *path,
                                 bool whole)
{
    char link[PATH_MAX];
    char bias[32];
    uint64_t moved = image->base - lowest_vaddr(&mapped->view);
    (void)snprintf(link, sizeof(link), "%s/images/%zu", images->folder, image->number);
    (void)snprintf(bias, sizeof(bias), "%#llx", (unsigned long long)moved);
    if (symlink(path, link) != 0)
        return CH_ERR_IO;
    if (json_array_append_new(images->found,
                              json_pack("{s:i, s:s, s:s}", "number", (int)image->number,
                                        "bias", bias, "path", image->path)) != 0)
        return CH_ERR_NO_MEMORY;
    if (!whole)
        return CH_OK;
    json_t *holder = json_string(link); // the ranges' paths live as long as `found`
    json_object_set_new(
        json_array_get(images->found, json_array_size(images->found) - 1), "link",
        holder);
    return add_ranges(images, &mapped->view, moved, json_string_value(holder));
}

// fetch_file gets a file of a build from the collector and writes it to path.
static bool fetch_file(const struct debug_images *images, const char *kind,
                       const char *build_id, const char *path)
{
    struct text CH_CLEANUP(text_deinit) from = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    if (images->collector == NULL)
        return false;
    text_appendf(&from, "/api/v1/%s/%s", kind, build_id);
    if (collector_find(images->session, images->collector, from.bytes, &body) != CH_OK)
        return false;
    (void)file_make_parents(path, 0700);
    int CH_CLEANUP(file_close) fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && file_write_all(fd, body.bytes, body.size);
}

// write_debug_path writes where debuggers look for the debug file of a build in folder.
static void write_debug_path(const char *folder, const char *build_id,
                             char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s/.build-id/%.2s/%s.debug", folder, build_id,
                   build_id + 2);
}

// find_debug_file finds the debug file of an image, here or at the collector.
static bool find_debug_file(const struct debug_images *images,
                            const struct image *image, char out[PATH_MAX])
{
    char folder[PATH_MAX - 64];
    if (image->build_id == NULL)
        return false;
    write_debug_path("/usr/lib/debug", image->build_id, out);
    if (access(out, R_OK) == 0)
        return true;
    (void)snprintf(folder, sizeof(folder), "%s/debug", images->folder);
    write_debug_path(folder, image->build_id, out);
    return image->mentioned && fetch_file(images, "symbols", image->build_id, out);
}

// is_inner_path says whether a path from a bundle stays below the folder it is put in.
static bool is_inner_path(const char *path)
{
    return path[0] == '/' && strstr(path, "/../") == NULL && strlen(path) > 1 &&
           strcmp(path + strlen(path) - 1, "/") != 0;
}

static void write_source(const struct debug_images *images, const char *path,
                         const char *bytes, size_t size)
{
    char target[PATH_MAX];
    int length = snprintf(target, sizeof(target), "%s/sources%s", images->folder, path);
    if (length < 0 || (size_t)length >= sizeof(target))
        return;
    (void)file_make_parents(target, 0700);
    int CH_CLEANUP(file_close) fd =
        open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)!file_write_all(fd, bytes, size);
}

// fetch_sources puts the sources that the collector has of a build below
// FOLDER/sources.
static void fetch_sources(const struct debug_images *images, const char *build_id)
{
    struct text CH_CLEANUP(text_deinit) from = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    text_appendf(&from, "/api/v1/sources/%s", build_id);
    if (images->collector == NULL ||
        collector_find(images->session, images->collector, from.bytes, &body) !=
            CH_OK ||
        source_bundle_check(body.bytes, body.size) != CH_OK)
        return;
    for (int writes = 0; writes < 2; writes++) {
        size_t index = writes ? source_bundle_index_size(&reader) : 0;
        struct source_bundle_reader again;
        if (source_bundle_read(writes ? &again : &reader, body.bytes, body.size) !=
            CH_OK)
            return;
        while (source_bundle_next(writes ? &again : &reader, &file) == CH_OK) {
            char path[SOURCE_BUNDLE_PATH_BYTES + 1];
            memcpy(path, file.path, file.path_size);
            path[file.path_size] = 0;
            if (writes && is_inner_path(path))
                write_source(images, path, body.bytes + index + file.offset, file.size);
        }
    }
}

// find_image finds the files of one image.
static enum ch_status find_image(struct debug_images *images, const struct image *image)
{
    char path[PATH_MAX];
    char debug[PATH_MAX];
    struct elf_section section;
    struct mapped CH_CLEANUP(mapped_close) own = { 0 };
    struct mapped CH_CLEANUP(mapped_close) other = { 0 };
    expand_path(image->path, path);
    if (image->mentioned && image->build_id != NULL)
        fetch_sources(images, image->build_id);
    if (map_build(path, image->build_id, &own)) {
        bool complete =
            elf_view_find_section(&own.view, ".debug_info", &section, NULL) == CH_OK;
        // The debugger finds it by the build ID.
        if (!complete)
            (void)find_debug_file(images, image, debug);
        return note_image(images, image, &own, path, true);
    }
    if (find_debug_file(images, image, debug) &&
        map_build(debug, image->build_id, &other))
        return note_image(images, image, &other, debug, false);
    if (image->mentioned && image->path[0] != '[') {
        char line[PATH_MAX + 160];
        (void)snprintf(line, sizeof(line), "no file of %s (build ID %s) is here",
                       image->path,
                       image->build_id != NULL ? image->build_id : "unknown");
        json_array_append_new(images->notes, json_string(line));
    }
    return CH_OK;
}

// mark_framed_images marks the images that frames are in.
static void mark_framed_images(const json_t *report, bool *mentioned, size_t count)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = json_object_get(
            json_object_get(json_array_get(threads, i), "backtrace"), "frames");
        for (size_t k = 0; k < json_array_size(frames); k++) {
            int64_t image = report_integer(json_array_get(frames, k), "image", -1);
            if (image >= 0 && (size_t)image < count)
                mentioned[image] = true;
        }
    }
}

enum ch_status debug_images_init(struct debug_images *images,
                                 const struct session *session, const char *folder,
                                 const char *collector)
{
    static const char *const folders[] = { "images", "debug", "sources" };
    *images = (struct debug_images){ .session = session,
                                     .folder = folder,
                                     .collector = collector,
                                     .found = json_array(),
                                     .notes = json_array() };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        if (mkdir(path, 0700) != 0)
            return CH_ERR_IO;
    }
    return images->found != NULL && images->notes != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

enum ch_status debug_images_find(struct debug_images *images, const json_t *report)
{
    const json_t *list = json_object_get(report, "images");
    size_t count = json_array_size(list);
    bool *mentioned = calloc(count + 1, sizeof(*mentioned));
    enum ch_status status = mentioned != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (mentioned != NULL)
        mark_framed_images(report, mentioned, count);
    for (size_t i = 0; i < count && status == CH_OK; i++) {
        const json_t *one = json_array_get(list, i);
        const char *base = report_string(one, "base");
        const char *build_id = report_string(one, "build_id");
        struct image image = { .number = i,
                               .path = report_string(one, "path"),
                               .build_id = build_id != NULL && is_build_id(build_id)
                                               ? build_id
                                               : NULL,
                               .mentioned = mentioned[i] };
        if (image.path != NULL && base != NULL &&
            command_parse_address(base, &image.base))
            status = find_image(images, &image);
    }
    free(mentioned);
    return status;
}

void debug_images_deinit(struct debug_images *images)
{
    json_decref(images->found);
    json_decref(images->notes);
    free(images->ranges.list);
}
