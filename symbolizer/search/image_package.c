// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/search/image_package.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system/file.h"
#include "base/system/reachable.h"
#include "formats/debug/elf.h"

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

json_t *image_package_read(const char *path, const struct build_id *id)
{
    struct noted noted = { .package = NULL };
    struct stat info;
    CH_CLEANUP(file_close)
    int fd = reachable_open(path);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return NULL;
    read_note_segments(fd, &noted);
    if (!build_id_equal(&noted.id, id)) {
        json_decref(noted.package);
        noted.package = NULL;
    }
    return noted.package;
}
