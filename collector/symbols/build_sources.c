// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/build_sources.h"

#include <string.h>
#include <unistd.h>

#include "base/system/file.h"

enum { PART_BYTES = 64 << 10 };

// walk is the position of a walk over the lines of a file.
struct walk {
    struct source_lines *out;
    uint64_t line; // from 1
    uint64_t last; // last line wanted
    size_t length; // of this line so far, in bytes
    char *at;      // where the line is copied to; NULL: it is not wanted
};

// read_index reads the beginning of the bundle until the index is complete.
static enum ch_status read_index(struct build_sources *sources)
{
    static const char end[] = "\n\n";
    char part[PART_BYTES];
    const char *found = NULL;
    while (found == NULL && sources->index.size < SOURCE_BUNDLE_INDEX_BYTES) {
        size_t before = sources->index.size;
        size_t got = file_read_at(sources->fd, part, sizeof(part), before);
        text_append(&sources->index, part, got);
        if (got == 0 || !text_ok(&sources->index))
            return CH_ERR_TRUNCATED;
        size_t from = before != 0 ? before - 1 : 0; // the end may straddle two parts
        found = memmem(sources->index.bytes + from, sources->index.size - from, end, 2);
    }
    return found != NULL ? CH_OK : CH_ERR_LIMIT;
}

// check_index parses the whole index once and stores where it ends.
static enum ch_status check_index(struct build_sources *sources)
{
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    enum ch_status status =
        source_bundle_read(&reader, sources->index.bytes, sources->index.size);
    while (status == CH_OK)
        status = source_bundle_next(&reader, &file);
    sources->index_size = source_bundle_index_size(&reader);
    return status == CH_END ? CH_OK : status;
}

bool build_sources_open(struct build_sources *out, int fd)
{
    *out = (struct build_sources){ .fd = fd };
    if (out->fd < 0)
        return false;
    if (read_index(out) == CH_OK && check_index(out) == CH_OK)
        return true;
    build_sources_close(out);
    return false;
}

void build_sources_close(struct build_sources *sources)
{
    if (sources->fd >= 0)
        close(sources->fd);
    text_deinit(&sources->index);
    *sources = (struct build_sources){ .fd = -1 };
}

// is_file compares a path of the bundle with a frame's path, in which `~` may stand for
// the home directory.
static bool is_file(const struct source_bundle_file *file, const char *name)
{
    size_t length = strlen(name);
    if (name[0] != '~' || name[1] != '/')
        return file->path_size == length && memcmp(file->path, name, length) == 0;
    return file->path_size >= length &&
           memcmp(file->path + file->path_size - (length - 1), name + 1, length - 1) ==
               0;
}

static bool find_source_file(const struct build_sources *sources, const char *name,
                             struct source_bundle_file *out)
{
    struct source_bundle_reader reader;
    if (source_bundle_read(&reader, sources->index.bytes, sources->index.size) != CH_OK)
        return false;
    while (source_bundle_next(&reader, out) == CH_OK) {
        if (is_file(out, name))
            return true;
    }
    return false;
}

// begin_source_line starts to copy the current line if it is one of those wanted.
static void begin_source_line(struct walk *walk)
{
    struct source_lines *out = walk->out;
    walk->length = 0;
    walk->at = walk->line >= out->first && walk->line <= walk->last
                   ? out->lines[out->count++]
                   : NULL;
    if (walk->at != NULL)
        walk->at[0] = 0;
}

static void keep_source_bytes(struct walk *walk, const char *bytes, size_t size)
{
    static const char nul[] = "\uFFFD";
    for (size_t i = 0; walk->at != NULL && i < size; i++) {
        const char *written = bytes[i] != 0 ? bytes + i : nul;
        size_t length = bytes[i] != 0 ? 1 : sizeof(nul) - 1;
        if (walk->length + length >= BUILD_SOURCES_LINE_SIZE)
            return;
        memcpy(walk->at + walk->length, written, length);
        walk->length += length;
        walk->at[walk->length] = 0;
    }
}

static void end_source_line(struct walk *walk)
{
    if (walk->at != NULL && walk->length != 0 && walk->at[walk->length - 1] == '\r')
        walk->at[walk->length - 1] = 0;
    walk->line++;
}

static uint64_t count_ends(const char *part, size_t size)
{
    uint64_t ends = 0;
    for (size_t i = 0; i < size; i++)
        ends += part[i] == '\n';
    return ends;
}

// walk_source_part walks over the lines of a part of the file; it skips a part that
// ends before the first line wanted.
static void walk_source_part(struct walk *walk, const char *part, size_t size)
{
    uint64_t ends = count_ends(part, size);
    if (walk->line + ends < walk->out->first) {
        walk->line += ends;
        return;
    }
    for (size_t i = 0; i < size && walk->line <= walk->last;) {
        const char *end = memchr(part + i, '\n', size - i);
        size_t length = end != NULL ? (size_t)(end - part) - i : size - i;
        keep_source_bytes(walk, part + i, length);
        i += length + (end != NULL);
        if (end == NULL)
            return;
        end_source_line(walk);
        begin_source_line(walk);
    }
}

enum ch_status build_sources_lines(const struct build_sources *sources,
                                   const char *file, uint64_t line,
                                   struct source_lines *out)
{
    struct source_bundle_file found;
    char part[PART_BYTES];
    if (line == 0 || line > SOURCE_BUNDLE_FILE_BYTES ||
        !find_source_file(sources, file, &found))
        return CH_ERR_NOT_FOUND;
    *out = (struct source_lines){ .first = line > BUILD_SOURCES_AROUND
                                               ? line - BUILD_SOURCES_AROUND
                                               : 1 };
    struct walk walk = { .out = out, .line = 1, .last = line + BUILD_SOURCES_AROUND };
    begin_source_line(&walk);
    for (uint64_t done = 0; done < found.size && walk.line <= walk.last;) {
        uint64_t left = found.size - done;
        size_t got = file_read_at(sources->fd, part,
                                  left < sizeof(part) ? (size_t)left : sizeof(part),
                                  sources->index_size + found.offset + done);
        walk_source_part(&walk, part, got);
        done += got;
        if (got == 0)
            return CH_ERR_IO;
    }
    // A file's last newline ends its last line; it does not begin another one.
    if (walk.at != NULL && walk.length == 0)
        out->count--;
    end_source_line(&walk);
    return out->first + out->count > line ? CH_OK : CH_ERR_NOT_FOUND;
}

enum ch_status build_sources_file(const struct build_sources *sources, const char *file,
                                  struct text *out)
{
    struct source_bundle_file found;
    char part[PART_BYTES];
    if (!find_source_file(sources, file, &found))
        return CH_ERR_NOT_FOUND;
    for (uint64_t done = 0; done < found.size;) {
        uint64_t left = found.size - done;
        size_t got = file_read_at(sources->fd, part,
                                  left < sizeof(part) ? (size_t)left : sizeof(part),
                                  sources->index_size + found.offset + done);
        if (got == 0)
            return CH_ERR_IO;
        text_append(out, part, got);
        done += got;
    }
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
