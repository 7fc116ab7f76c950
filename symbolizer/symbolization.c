// SPDX-License-Identifier: Apache-2.0
//
// How it works: symbolization_init lists each backtrace, frame and place of the report
// once; symbolization_look_up fills in the names of places, an image at a time, and
// symbolization_recall takes them from a memo of earlier reports; symbolization_write
// replaces the frames by named ones, and adds packages.
// Invariants: the report is unchanged until symbolization_write; lookups are sorted by
// image, so that one image is open at a time; an image is recalled whole or not at all.
#include "symbolizer/symbolization.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "base/system/mounts.h"
#include "formats/debug/elf.h"
#include "report/file/report_tree.h"
#include "report/grouping/report_in_app.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/files/dpkg_packages.h"
#include "symbolizer/flight_names.h"
#include "symbolizer/names/frame_names.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/names/symbol_image.h"
#include "symbolizer/report_frames.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/report_images.h"
#include "symbolizer/symbolizer.h"

// PLACES_MAX bounds the memory of a memo.
enum { PLACES_MAX = 1 << 17, IMAGE_KEY_SIZE = 2 * BUILD_ID_MAX + 2 + PATH_MAX };

void symbolization_memo_deinit(struct symbolization_memo *memo)
{
    json_decref(memo->images);
    *memo = (struct symbolization_memo){ 0 };
}

// image_key writes the key of an image. False: the image is not remembered.
static bool image_key(const struct report_image *image, char key[static IMAGE_KEY_SIZE])
{
    key[0] = 0;
    if (image == NULL)
        return true;
    if (image->id.size == 0)
        return false;
    size_t length = 2 * image->id.size;
    hex_encode(image->id.bytes, image->id.size, key);
    return (size_t)snprintf(key + length, IMAGE_KEY_SIZE - length, " %s", image->path) <
           IMAGE_KEY_SIZE - length;
}

// symbolization_memo_image is what memo has of an image, {places: {key: names},
// package: P}, which is made if there is nothing yet; image NULL stands for what is in
// no image. NULL: the image is not remembered, memory is short, or memo is NULL.
static json_t *symbolization_memo_image(struct symbolization_memo *memo,
                                        const struct report_image *image)
{
    char key[IMAGE_KEY_SIZE];
    if (memo == NULL || !image_key(image, key))
        return NULL;
    if (memo->images == NULL)
        memo->images = json_object();
    json_t *found = json_object_get(memo->images, key);
    if (found != NULL)
        return found;
    found = json_pack("{s:{}}", "places");
    return json_object_set_new(memo->images, key, found) == 0 ? found : NULL;
}

// symbolization_memo_count counts places that were added. A memo that has too many
// starts anew.
static void symbolization_memo_count(struct symbolization_memo *memo, size_t places)
{
    memo->place_count += places;
    if (memo->place_count <= PLACES_MAX)
        return;
    (void)json_object_clear(memo->images);
    memo->place_count = 0;
}

enum {
    SEGMENTS_READ = 64,
    NOTES_READ = 64,
    NOTES_BYTES = 16384,
    NOTE_PACKAGE = (int)0xcafe1a7e,
    VALUE_MAX = 128,
};

// noted is what the notes of a file say.
struct noted {
    struct build_id id;
    json_t *package;
};

static void read_package_json(const struct elf_note *note, struct noted *out)
{
    static const char *const members[] = { "type",         "name", "version",
                                           "architecture", "os",   "osVersion" };
    const char *text = (const char *)note->description;
    json_t *read = json_loadb(text, strnlen(text, note->description_size), 0, NULL);
    json_t *package = json_object();
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *value = json_object_get(read, members[i]);
        if (json_is_string(value) && json_string_length(value) <= VALUE_MAX)
            (void)json_object_set(package, members[i], value);
    }
    json_decref(read);
    if (json_object_get(package, "name") != NULL && out->package == NULL)
        out->package = package;
    else
        json_decref(package);
}

static void read_notes(struct cursor notes, uint64_t align, struct noted *out)
{
    struct elf_note note;
    const uint8_t *id;
    size_t id_size;
    if (elf_find_build_id(notes, align, &id, &id_size) == CH_OK &&
        id_size <= BUILD_ID_MAX) {
        memcpy(out->id.bytes, id, id_size);
        out->id.size = id_size;
    }
    for (int i = 0; i < NOTES_READ && elf_next_note(&notes, align, &note) == CH_OK; i++)
        if (note.type == (uint32_t)NOTE_PACKAGE && note.name_size == 4 &&
            memcmp(note.name, "FDO", 4) == 0 && note.description_size != 0)
            read_package_json(&note, out);
}

static void read_note_segments(int fd, struct noted *out)
{
    uint8_t bytes[SEGMENTS_READ * ELF_SEGMENT_SIZE];
    uint8_t notes[NOTES_BYTES];
    struct elf_header header;
    size_t size = file_read_at(fd, bytes, ELF_HEADER_SIZE, 0);
    if (elf_read_header(bytes, size, &header) != CH_OK ||
        header.segment_size > ELF_SEGMENT_SIZE || header.segment_count > SEGMENTS_READ)
        return;
    size = file_read_at(fd, bytes, (size_t)header.segment_count * header.segment_size,
                        header.segment_offset);
    for (uint32_t i = 0; i < header.segment_count; i++) {
        struct elf_segment segment;
        if (elf_read_segment(&header, bytes, size, i, &segment) != CH_OK ||
            segment.type != ELF_PT_NOTE || segment.file_size > sizeof(notes))
            continue;
        size_t read =
            file_read_at(fd, notes, (size_t)segment.file_size, segment.offset);
        struct cursor cursor = cursor_over(notes, read);
        cursor.big_endian = header.big_endian;
        read_notes(cursor, segment.align, out);
    }
}

// read_notes_of reads the notes of the file at path. False: it is no file.
static bool read_notes_of(const char *path, struct noted *out)
{
    struct stat info;
    CH_CLEANUP(file_close)
    int fd = reachable_open(path);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    read_note_segments(fd, out);
    return true;
}

json_t *image_package_read(const char *path, const struct build_id *id)
{
    struct noted noted = { .package = NULL };
    if (!read_notes_of(path, &noted))
        return NULL;
    if (!build_id_equal(&noted.id, id)) {
        json_decref(noted.package);
        noted.package = NULL;
    }
    return noted.package;
}

void symbolization_deinit(struct symbolization *symbolization)
{
    for (size_t i = 0; i < symbolization->backtrace_count; i++)
        json_decref(symbolization->backtraces[i].frames);
    for (size_t i = 0; i < symbolization->lookup_count; i++)
        json_decref(symbolization->lookups[i].names);
    for (size_t i = 0; i < symbolization->frame_count; i++) {
        json_decref(symbolization->frames[i].bare);
        json_decref(symbolization->frames[i].named);
    }
    free(symbolization->lookups);
    free(symbolization->frames);
    free(symbolization->backtraces);
    report_images_deinit(&symbolization->images);
}

static bool frame_is_return_address(const json_t *frame)
{
    const char *kind = json_string_value(json_object_get(frame, "kind"));
    return kind != NULL && strcmp(kind, "ra") == 0;
}

static int by_named_place(const void *left, const void *right)
{
    const struct symbolization_lookup *a = left;
    const struct symbolization_lookup *b = right;
    if (a->place.image != b->place.image)
        return a->place.image < b->place.image ? -1 : 1;
    if (a->place.offset != b->place.offset)
        return a->place.offset < b->place.offset ? -1 : 1;
    return (int)a->after_call - (int)b->after_call;
}

static enum ch_status collect_frame(struct symbolization *symbolization,
                                    const json_t *frame)
{
    struct symbolization_lookup lookup = { .after_call =
                                               frame_is_return_address(frame) };
    if (report_frame_place(frame, &lookup.place) != CH_OK)
        return CH_OK;
    if (!array_reserve(&symbolization->lookups, &symbolization->lookup_capacity,
                       symbolization->lookup_count, sizeof(lookup)))
        return CH_ERR_NO_MEMORY;
    symbolization->lookups[symbolization->lookup_count++] = lookup;
    return CH_OK;
}

static int by_pointer(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)left;
    uintptr_t b = (uintptr_t)right;
    return a < b ? -1 : a > b;
}

static int by_backtrace(const void *left, const void *right)
{
    const struct symbolization_backtrace *a = left;
    const struct symbolization_backtrace *b = right;
    return by_pointer(a->backtrace, b->backtrace);
}

static int by_frame(const void *left, const void *right)
{
    const struct symbolization_frame *a = left;
    const struct symbolization_frame *b = right;
    return by_pointer(a->frame, b->frame);
}

static enum ch_status list_backtrace(struct symbolization *symbolization,
                                     json_t *backtrace)
{
    if (!json_is_object(backtrace))
        return CH_OK;
    if (!array_reserve(&symbolization->backtraces, &symbolization->backtrace_capacity,
                       symbolization->backtrace_count,
                       sizeof(symbolization->backtraces[0])))
        return CH_ERR_NO_MEMORY;
    symbolization->backtraces[symbolization->backtrace_count++] =
        (struct symbolization_backtrace){ .backtrace = backtrace };
    return CH_OK;
}

// list_backtraces lists each backtrace of the report once.
static enum ch_status list_backtraces(struct symbolization *symbolization,
                                      json_t *report)
{
    json_t *threads = json_object_get(report, "threads");
    const json_t *crash = json_object_get(report, "crash");
    const json_t *heap = json_object_get(crash, "heap");
    const json_t *others[] = { json_object_get(crash, "exception"),
                               json_object_get(heap, "allocated"),
                               json_object_get(heap, "freed") };
    enum ch_status status =
        list_backtrace(symbolization, flight_names_functions(report));
    for (size_t i = 0; status == CH_OK && i < sizeof(others) / sizeof(others[0]); i++)
        status = list_backtrace(symbolization, json_object_get(others[i], "backtrace"));
    const json_t *lists[] = { threads, json_object_get(report, "goroutines"),
                              json_object_get(json_object_get(report, "heap"),
                                              "stacks") };
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
        for (size_t i = 0; status == CH_OK && i < json_array_size(lists[k]); i++)
            status = list_backtrace(
                symbolization,
                json_object_get(json_array_get(lists[k], i), "backtrace"));
    if (status != CH_OK || symbolization->backtrace_count == 0)
        return status;
    qsort(symbolization->backtraces, symbolization->backtrace_count,
          sizeof(symbolization->backtraces[0]), by_backtrace);
    size_t kept = 1;
    for (size_t i = 1; i < symbolization->backtrace_count; i++)
        if (symbolization->backtraces[i].backtrace !=
            symbolization->backtraces[kept - 1].backtrace)
            symbolization->backtraces[kept++] = symbolization->backtraces[i];
    symbolization->backtrace_count = kept;
    return CH_OK;
}

static enum ch_status list_frames_of(struct symbolization *symbolization,
                                     struct symbolization_backtrace *at)
{
    enum ch_status status = report_frames_of(at->backtrace, &at->frames);
    if (status == CH_ERR_NOT_FOUND)
        return CH_OK; // a thread that could not be unwound
    for (size_t i = 0; status == CH_OK && i < json_array_size(at->frames); i++) {
        if (!array_reserve(&symbolization->frames, &symbolization->frame_capacity,
                           symbolization->frame_count,
                           sizeof(symbolization->frames[0])))
            return CH_ERR_NO_MEMORY;
        symbolization->frames[symbolization->frame_count++] =
            (struct symbolization_frame){ .frame = json_array_get(at->frames, i) };
    }
    return status;
}

// list_frames lists each frame of all backtraces once.
static enum ch_status list_frames(struct symbolization *symbolization)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < symbolization->backtrace_count; i++)
        status = list_frames_of(symbolization, &symbolization->backtraces[i]);
    if (status != CH_OK || symbolization->frame_count == 0)
        return status;
    qsort(symbolization->frames, symbolization->frame_count,
          sizeof(symbolization->frames[0]), by_frame);
    size_t kept = 1;
    for (size_t i = 1; i < symbolization->frame_count; i++)
        if (symbolization->frames[i].frame != symbolization->frames[kept - 1].frame)
            symbolization->frames[kept++] = symbolization->frames[i];
    symbolization->frame_count = kept;
    return CH_OK;
}

static enum ch_status collect_named(struct symbolization *symbolization, json_t *report)
{
    enum ch_status status = list_backtraces(symbolization, report);
    if (status == CH_OK)
        status = list_frames(symbolization);
    for (size_t i = 0; status == CH_OK && i < symbolization->frame_count; i++) {
        struct symbolization_frame *frame = &symbolization->frames[i];
        status =
            report_frame_prepare(frame->frame, &symbolization->images, &frame->bare);
        if (status == CH_OK)
            status = collect_frame(symbolization, frame->bare);
        else if (status == CH_ERR_NOT_FOUND)
            status = CH_OK;
    }
    return status;
}

enum ch_status symbolization_init(struct symbolization *symbolization, json_t *report,
                                  const struct symbolizer_options *options)
{
    *symbolization = (struct symbolization){ .options = options };
    if (!json_is_object(report) || !json_is_array(json_object_get(report, "threads")))
        return CH_ERR_MALFORMED;
    enum ch_status status = report_images_read(&symbolization->images, report);
    if (status == CH_OK)
        status = collect_named(symbolization, report);
    if (status != CH_OK || symbolization->lookup_count == 0)
        return status;
    qsort(symbolization->lookups, symbolization->lookup_count,
          sizeof(symbolization->lookups[0]), by_named_place);
    size_t kept = 1;
    for (size_t i = 1; i < symbolization->lookup_count; i++)
        if (by_named_place(&symbolization->lookups[i],
                           &symbolization->lookups[kept - 1]) != 0)
            symbolization->lookups[kept++] = symbolization->lookups[i];
    symbolization->lookup_count = kept;
    return CH_OK;
}

static enum ch_status name_lookup(struct symbol_image *image,
                                  struct symbolization_lookup *lookup,
                                  const struct frame_image *common)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct frame_image of = *common;
    size_t count = 0;
    uint64_t vaddr = lookup->place.offset;
    if (image != NULL) {
        vaddr += symbol_image_base(image);
        count = symbol_image_find(image, vaddr, frames);
    }
    bool named = count != 0 && frames[count - 1].function != NULL;
    if (image != NULL && !named)
        of.status = symbol_image_why(image, vaddr);
    return frame_names_make(frames, count, vaddr + lookup->after_call, &of,
                            &lookup->names);
}

static enum ch_status name_all_places(const struct symbolization *symbolization,
                                      struct symbol_image *image,
                                      struct symbolization_lookup *lookups,
                                      size_t count)
{
    struct frame_image common = { .path = "", .status = DEBUG_NO_IMAGE };
    if (lookups->place.image < symbolization->images.count) {
        common.path = symbolization->images.items[lookups->place.image].path;
        common.status = DEBUG_DAMAGED;
    }
    if (symbolization->options->sanitize)
        common.home = symbolization->options->home;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < count; i++)
        status = name_lookup(image, &lookups[i], &common);
    return status;
}

// name_image_places looks up all places of one image, which is open only meanwhile.
static enum ch_status name_image_places(const struct symbolization *symbolization,
                                        struct symbolization_lookup *lookups,
                                        size_t count)
{
    uint32_t index = lookups->place.image;
    if (index >= symbolization->images.count ||
        (symbolization->watch != NULL && symbolization->watch->refused[index]))
        return name_all_places(symbolization, NULL, lookups, count);
    if (symbolization->watch != NULL)
        *symbolization->watch->image_at_work = index;

    const struct symbolizer_options *options = symbolization->options;
    const struct report_image *from = &symbolization->images.items[index];
    struct debug_search search = symbolizer_options_search(options);
    char buffers[2][PATH_MAX];
    struct symbol_image *image;
    enum ch_status status =
        symbol_image_open(&image, symbolizer_options_path(options, from->path, buffers),
                          &from->id, &search, options->level == SYMBOLIZE_FAST);
    if (status != CH_OK)
        return status;
    status = name_all_places(symbolization, image, lookups, count);
    symbol_image_close(image);
    if (symbolization->watch != NULL)
        *symbolization->watch->image_at_work = REPORT_NO_IMAGE;
    return status;
}

enum ch_status symbolization_look_up(struct symbolization *symbolization,
                                     const struct symbolization_watch *watch)
{
    size_t begin = 0;
    symbolization->watch = watch;
    for (size_t i = 1; i <= symbolization->lookup_count; i++) {
        struct symbolization_lookup *first = &symbolization->lookups[begin];
        if (i < symbolization->lookup_count &&
            symbolization->lookups[i].place.image == first->place.image)
            continue;
        // The places of an image have names all or none.
        enum ch_status status = first->names == NULL
                                    ? name_image_places(symbolization, first, i - begin)
                                    : CH_OK;
        if (status != CH_OK)
            return status;
        begin = i;
    }
    return CH_OK;
}

// place_key has room for a number in base 16 and what frame it is.
struct place_key {
    char text[24];
};

static struct place_key key_of_place(const struct symbolization_lookup *lookup)
{
    struct place_key key;
    (void)snprintf(key.text, sizeof(key.text), "%llx%s",
                   (unsigned long long)lookup->place.offset,
                   lookup->after_call ? "r" : "");
    return key;
}

static json_t *remembered_image(const struct symbolization *symbolization,
                                uint32_t index)
{
    return symbolization_memo_image(symbolization->options->memo,
                                    index < symbolization->images.count
                                        ? &symbolization->images.items[index]
                                        : NULL);
}

// recall_image names all of count places of one image, or none.
static bool recall_image(const struct symbolization *symbolization,
                         struct symbolization_lookup *lookups, size_t count)
{
    const json_t *places = json_object_get(
        remembered_image(symbolization, lookups->place.image), "places");
    for (size_t i = 0; i < count; i++)
        if (json_object_get(places, key_of_place(&lookups[i]).text) == NULL)
            return false;
    for (size_t i = 0; i < count; i++)
        lookups[i].names =
            json_incref(json_object_get(places, key_of_place(&lookups[i]).text));
    return true;
}

bool symbolization_recall(struct symbolization *symbolization)
{
    size_t begin = 0;
    bool all = true;
    for (size_t i = 1; i <= symbolization->lookup_count; i++) {
        struct symbolization_lookup *first = &symbolization->lookups[begin];
        if (i < symbolization->lookup_count &&
            symbolization->lookups[i].place.image == first->place.image)
            continue;
        all = recall_image(symbolization, first, i - begin) && all;
        begin = i;
    }
    return all;
}

void symbolization_keep(const struct symbolization *symbolization)
{
    for (size_t i = 0; i < symbolization->lookup_count; i++) {
        const struct symbolization_lookup *lookup = &symbolization->lookups[i];
        json_t *places = json_object_get(
            remembered_image(symbolization, lookup->place.image), "places");
        if (places != NULL && lookup->names != NULL)
            (void)json_object_set(places, key_of_place(lookup).text, lookup->names);
    }
    if (symbolization->options->memo != NULL)
        symbolization_memo_count(symbolization->options->memo,
                                 symbolization->lookup_count);
}

void symbolization_write_caches(struct symbolization *symbolization)
{
    struct debug_search search = symbolizer_options_search(symbolization->options);
    uint32_t before = REPORT_NO_IMAGE;
    for (size_t i = 0; i < symbolization->lookup_count; i++) {
        uint32_t index = symbolization->lookups[i].place.image;
        if (index >= symbolization->images.count || index == before)
            continue;
        char buffers[2][PATH_MAX];
        const struct report_image *image = &symbolization->images.items[index];
        const char *path =
            symbolizer_options_path(symbolization->options, image->path, buffers);
        // An image that cannot be cached is no failure: its names come from the files.
        if (image->id.size != 0)
            (void)!image_cache_write_names(path, &image->id, &search);
        if (image->id.size != 0 && symbolization->options->arguments)
            image_cache_write_plain(path, &image->id, &search);
        before = index;
    }
}

static const json_t *names_of(const struct symbolization *symbolization,
                              const json_t *frame)
{
    struct symbolization_lookup key = { .after_call = frame_is_return_address(frame) };
    if (report_frame_place(frame, &key.place) != CH_OK)
        return NULL;
    const struct symbolization_lookup *found =
        bsearch(&key, symbolization->lookups, symbolization->lookup_count, sizeof(key),
                by_named_place);
    return found != NULL ? found->names : NULL;
}

// name_frame makes the frames that replace a frame: the calls inlined there, and
// itself.
static enum ch_status name_frame(const struct symbolization *symbolization,
                                 struct symbolization_frame *at)
{
    if (at->named != NULL || at->bare == NULL)
        return CH_OK;
    at->named = json_array();
    return frame_names_apply(names_of(symbolization, at->bare), at->bare, at->named);
}

// symbolization_append appends the frames that replace one frame of a backtrace.
static enum ch_status symbolization_append(const struct symbolization *symbolization,
                                           json_t *frame, json_t *named)
{
    const struct symbolization_frame key = { .frame = frame };
    struct symbolization_frame *at = bsearch(
        &key, symbolization->frames, symbolization->frame_count, sizeof(key), by_frame);
    if (at == NULL)
        return CH_OK;
    enum ch_status status = name_frame(symbolization, at);
    if (status == CH_OK && at->named != NULL &&
        json_array_extend(named, at->named) != 0)
        status = CH_ERR_NO_MEMORY;
    return status;
}

// symbolization_append_between appends the frames that replace one frame, and before
// the function itself those that an interpreter ran in it: frames [from, index) of the
// backtrace. Calls inlined into the function are further in than these.
static enum ch_status
symbolization_append_between(const struct symbolization *symbolization, json_t *frames,
                             size_t from, size_t index, json_t *named)
{
    json_t *frame = json_array_get(frames, index);
    enum ch_status status = CH_OK;
    // Files know nothing of code that was named when it was captured.
    if (report_string(frame, "source") == NULL)
        status = symbolization_append(symbolization, frame, named);
    else if (json_array_append(named, frame) != 0)
        status = CH_ERR_NO_MEMORY;
    size_t at = json_array_size(named);
    at -= at != 0;
    for (size_t i = from; status == CH_OK && i < index; i++)
        if (json_array_insert(named, at + (i - from), json_array_get(frames, i)) != 0)
            status = CH_ERR_NO_MEMORY;
    return status;
}

static enum ch_status write_place_names(const struct symbolization *symbolization,
                                        const struct symbolization_backtrace *at)
{
    json_t *named = json_array();
    enum ch_status status = named != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    size_t from = 0;
    for (size_t i = 0; status == CH_OK && i < json_array_size(at->frames); i++) {
        if (report_frame_is_interpreted(json_array_get(at->frames, i)))
            continue;
        while (from < i &&
               !report_frame_is_interpreted(json_array_get(at->frames, from)))
            from++;
        status =
            symbolization_append_between(symbolization, at->frames, from, i, named);
        from = i + 1;
    }
    if (status != CH_OK) {
        json_decref(named);
        return status;
    }
    return json_object_set_new(at->backtrace, "frames", named) == 0 ? CH_OK
                                                                    : CH_ERR_NO_MEMORY;
}

// image_is_below returns true if the file of the image's path below root has its build:
// one that was held may be of another file system, with a database of its own.
static bool image_is_below(const char *root, const struct report_image *image)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s%s", root, image->path);
    struct noted noted = { .package = NULL };
    if (image->path[0] != '/' || length <= 0 || length >= (int)sizeof(path) ||
        !read_notes_of(path, &noted))
        return false;
    json_decref(noted.package);
    return build_id_equal(&noted.id, &image->id);
}

// A packages_search is the images whose package is looked for in a database.
struct packages_search {
    struct dpkg_file files[DPKG_FILES_MAX];
    uint32_t images[DPKG_FILES_MAX];
    size_t count;
};

// find_package gives the package that the note of an image names, or adds the image to
// search.
static json_t *find_package(const struct symbolization *symbolization, uint32_t index,
                            struct packages_search *search)
{
    char buffers[2][PATH_MAX];
    const struct report_image *image = &symbolization->images.items[index];
    const struct symbolizer_options *options = symbolization->options;
    json_t *package = image_package_read(
        symbolizer_options_path(options, image->path, buffers), &image->id);
    if (package == NULL && search->count < DPKG_FILES_MAX &&
        image_is_below(options->sysroot != NULL ? options->sysroot : "", image)) {
        search->images[search->count] = index;
        search->files[search->count++] = (struct dpkg_file){ .path = image->path };
    }
    return package;
}

// remember_package adds the package of an image to the report and to the memo.
static void remember_package(const struct symbolization *symbolization, json_t *images,
                             uint32_t index, json_t *package)
{
    json_t *memo = remembered_image(symbolization, index);
    (void)json_object_set(memo, "package", package != NULL ? package : json_null());
    if (package != NULL)
        (void)json_object_set_new(json_array_get(images, index), "package", package);
}

// write_packages adds the packages of the images that have frames.
static void write_packages(const struct symbolization *symbolization, json_t *report)
{
    json_t *images = json_object_get(report, "images");
    struct packages_search search = { .count = 0 };
    uint32_t before = REPORT_NO_IMAGE;
    for (size_t i = 0; i < symbolization->lookup_count; i++) {
        uint32_t index = symbolization->lookups[i].place.image;
        json_t *image = json_array_get(images, index);
        if (index >= symbolization->images.count || index == before || image == NULL)
            continue;
        before = index;
        json_t *known =
            json_object_get(remembered_image(symbolization, index), "package");
        if (json_is_object(known))
            (void)json_object_set(image, "package", known);
        else if (known == NULL)
            remember_package(symbolization, images, index,
                             find_package(symbolization, index, &search));
    }
    const char *root = symbolization->options->sysroot;
    dpkg_packages_find(root != NULL ? root : "", symbolization->options->cache_folder,
                       search.files, search.count);
    for (size_t i = 0; i < search.count; i++)
        remember_package(symbolization, images, search.images[i],
                         search.files[i].package);
}

enum ch_status symbolization_write(struct symbolization *symbolization, json_t *report)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < symbolization->backtrace_count; i++)
        if (symbolization->backtraces[i].frames != NULL)
            status = write_place_names(symbolization, &symbolization->backtraces[i]);
    if (status == CH_OK && symbolization->images.listed != NULL &&
        json_object_set(report, "images", symbolization->images.listed) != 0)
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        write_packages(symbolization, report);
    if (status == CH_OK)
        status = flight_names_write(report);
    if (status == CH_OK &&
        json_object_set_new(report, "revision", json_integer(1)) != 0)
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        report_in_app_mark(report);
    return status;
}

enum ch_status symbolizer_report(json_t *report,
                                 const struct symbolizer_options *options)
{
    if (options->level == SYMBOLIZE_OFF)
        return CH_OK;
    struct symbolization symbolization;
    enum ch_status status = symbolization_init(&symbolization, report, options);
    if (status == CH_OK)
        status = symbolization_look_up(&symbolization, NULL);
    if (status == CH_OK)
        status = symbolization_write(&symbolization, report);
    if (status == CH_OK)
        diagnosis_refine(report);
    symbolization_deinit(&symbolization);
    return status;
}

void symbolizer_cache_report(json_t *report, const struct symbolizer_options *options)
{
    struct symbolization symbolization;
    if (options->cache_folder == NULL || options->level != SYMBOLIZE_FULL ||
        !image_cache_leave())
        return;
    if (symbolization_init(&symbolization, report, options) == CH_OK)
        symbolization_write_caches(&symbolization);
    _exit(0);
}
