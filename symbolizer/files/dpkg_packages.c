// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/dpkg_packages.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/text.h"
#include "symbolizer/cache/symbol_cache_folder.h"

enum { DATABASE_BYTES = 64 << 20, NAME_BYTES = 256, KNOWN_BYTES = 128 << 10 };

// A search is the files whose packages are still looked for.
struct search {
    struct dpkg_file *files;
    size_t count;
    size_t left;
    uint64_t end_ms;
    bool lacks;        // a file of the database could not be read
    struct text bytes; // of the file that is being read
    struct owner {
        const char *path; // without /usr: older lists have what was there before
        size_t length;
        char name[NAME_BYTES];    // of the package; "": not found yet
        const char *architecture; // in name; NULL: the list does not say
    } owners[DPKG_FILES_MAX];
};

static const char *without_usr(const char *path, size_t *length)
{
    enum { PREFIX = 4 };
    bool merged = *length > PREFIX && memcmp(path, "/usr/", PREFIX + 1) == 0;
    *length -= merged ? PREFIX : 0;
    return merged ? path + PREFIX : path;
}

// search_read reads a file of the database. False: it is empty, or cannot be read.
static bool search_read(struct search *s, int folder, const char *name)
{
    struct stat info;
    CH_CLEANUP(file_close)
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    text_clear(&s->bytes);
    bool is_read = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                   text_read(&s->bytes, fd, DATABASE_BYTES) == CH_OK;
    s->lacks = s->lacks || !is_read;
    return is_read && s->bytes.size != 0;
}

// A line_reader is the lines of a text, of which each ends before its newline.
struct line_reader {
    const char *at;
    const char *end;
    const char *line;
    size_t length;
    bool whole; // it has a newline
};

static bool line_reader_next(struct line_reader *lines)
{
    if (lines->at >= lines->end)
        return false;
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    lines->whole = stop != NULL;
    stop = lines->whole ? stop : lines->end;
    lines->line = lines->at;
    lines->length = (size_t)(stop - lines->at);
    lines->at = stop + 1;
    return true;
}

static struct line_reader lines_of(const struct search *s)
{
    return (struct line_reader){ .at = s->bytes.bytes,
                                 .end = s->bytes.bytes + s->bytes.size };
}

// search_list notes the package of a list, which was read, for the files in it.
static void search_list(struct search *s, const char *name, size_t name_length)
{
    struct line_reader lines = lines_of(s);
    while (line_reader_next(&lines)) {
        size_t length = lines.length;
        const char *path = without_usr(lines.line, &length);
        for (size_t i = 0; i < s->count; i++) {
            struct owner *owner = &s->owners[i];
            if (length != owner->length || owner->name[0] != 0 ||
                memcmp(path, owner->path, length) != 0)
                continue;
            memcpy(owner->name, name, name_length);
            char *colon = strchr(owner->name, ':');
            owner->architecture = colon != NULL ? colon + 1 : NULL;
            if (colon != NULL)
                *colon = 0;
            s->left--;
        }
    }
}

// search_lists looks for the files in the lists: NAME.list, or NAME:ARCHITECTURE.list.
static void search_lists(struct search *s, int fd)
{
    static const char suffix[] = ".list";
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    if (folder == NULL) {
        close(fd);
        return;
    }
    while (s->left != 0 && clock_now_ms(CLOCK_MONOTONIC) < s->end_ms &&
           (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length <= strlen(suffix) || length >= NAME_BYTES ||
            strcmp(entry->d_name + length - strlen(suffix), suffix) != 0)
            continue;
        if (search_read(s, fd, entry->d_name))
            search_list(s, entry->d_name, length - strlen(suffix));
    }
    closedir(folder);
}

// A paragraph is what the database says of one package.
struct paragraph {
    char name[NAME_BYTES];
    char architecture[NAME_BYTES];
    char version[NAME_BYTES];
};

// paragraph_take stores the value of a line "Field: value" that is one of the fields.
static void paragraph_take(struct paragraph *p, const char *line, size_t length)
{
    const struct {
        const char *field;
        char *to;
    } fields[] = { { "Package: ", p->name },
                   { "Architecture: ", p->architecture },
                   { "Version: ", p->version } };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        size_t field = strlen(fields[i].field);
        if (length > field && length - field < NAME_BYTES &&
            memcmp(line, fields[i].field, field) == 0) {
            memcpy(fields[i].to, line + field, length - field);
            fields[i].to[length - field] = 0;
        }
    }
}

// search_describe makes the packages of the files that the paragraph is of.
static void search_describe(struct search *s, const struct paragraph *p)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct owner *owner = &s->owners[i];
        if (p->version[0] != 0 && s->files[i].package == NULL &&
            strcmp(owner->name, p->name) == 0 &&
            (owner->architecture == NULL ||
             strcmp(owner->architecture, p->architecture) == 0))
            s->files[i].package = json_pack(
                "{s:s, s:s, s:s, s:s, s:s}", "type", "deb", "name", p->name, "version",
                p->version, "architecture", p->architecture, "source", "dpkg");
    }
}

// search_versions describes the packages of the file that was read, whose paragraphs
// end with an empty line.
static void search_versions(struct search *s)
{
    struct paragraph paragraph = { .name = "" };
    struct line_reader lines = lines_of(s);
    while (line_reader_next(&lines)) {
        if (lines.whole) // the version in a line that was cut is another one
            paragraph_take(&paragraph, lines.line, lines.length);
        if (lines.length != 0)
            continue;
        search_describe(s, &paragraph);
        paragraph = (struct paragraph){ .name = "" };
    }
    search_describe(s, &paragraph);
}

// search_database looks for the packages of the files. False: the database could not be
// read, or not in time.
static bool search_database(const char *root, struct dpkg_file *files, size_t count)
{
    struct search s = { .files = files,
                        .count = count,
                        .left = count,
                        .end_ms = clock_now_ms(CLOCK_MONOTONIC) + DPKG_TIMEOUT_MS };
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/var/lib/dpkg/info", root);
    for (size_t i = 0; i < s.count; i++) {
        struct owner *owner = &s.owners[i];
        owner->length = strlen(files[i].path);
        owner->path = without_usr(files[i].path, &owner->length);
    }
    int fd = length > 0 && length < (int)sizeof(path)
                 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
                 : -1;
    if (fd < 0)
        return false;
    search_lists(&s, fd);
    bool whole = s.left == 0 || clock_now_ms(CLOCK_MONOTONIC) < s.end_ms;
    (void)snprintf(path, sizeof(path), "%s/var/lib/dpkg/status", root);
    if (s.left < s.count && search_read(&s, AT_FDCWD, path))
        search_versions(&s);
    text_deinit(&s.bytes);
    return whole && !s.lacks;
}

// database_state makes what differs after each change of the database: dpkg replaces
// the file with all packages.
static bool database_state(const char *root, struct build_id *out)
{
    char path[PATH_MAX];
    struct stat status;
    int length = snprintf(path, sizeof(path), "%s/var/lib/dpkg/status", root);
    if (length < 0 || length >= (int)sizeof(path) || stat(path, &status) != 0)
        return false;
    const uint64_t state[] = { status.st_dev, status.st_ino, (uint64_t)status.st_size,
                               (uint64_t)status.st_mtim.tv_sec,
                               (uint64_t)status.st_mtim.tv_nsec };
    _Static_assert(sizeof(state) <= sizeof(out->bytes), "it is in a name");
    out->size = sizeof(state);
    memcpy(out->bytes, state, sizeof(state));
    return true;
}

// known_packages gives the packages, by path, that are known in that state of the
// database; null is the package of a file that is in none.
static json_t *known_packages(const char *folder, const struct build_id *state)
{
    int CH_CLEANUP(file_close) fd =
        symbol_cache_folder_open(folder, state, SYMBOL_CACHE_OF_PACKAGES);
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    // Read at once: jansson reads a file descriptor a byte at a time.
    json_t *known = fd >= 0 && text_read(&text, fd, KNOWN_BYTES) == CH_OK
                        ? json_loadb(text.bytes, text.size, 0, NULL)
                        : NULL;
    if (json_is_object(known))
        return known;
    json_decref(known);
    return json_object();
}

static void keep_packages(const char *folder, const struct build_id *state,
                          const json_t *known)
{
    char *text = json_dumps(known, JSON_COMPACT);
    symbol_cache_folder_forget(folder, state);
    if (text != NULL &&
        symbol_cache_folder_claim(folder, state, SYMBOL_CACHE_OF_PACKAGES))
        (void)!symbol_cache_folder_put(folder, state, SYMBOL_CACHE_OF_PACKAGES, text,
                                       strlen(text), SYMBOL_CACHE_FOLDER_BYTES);
    free(text);
}

void dpkg_packages_find(const char *root, const char *cache_folder,
                        struct dpkg_file *files, size_t count)
{
    struct dpkg_file missing[DPKG_FILES_MAX];
    size_t places[DPKG_FILES_MAX];
    size_t left = 0;
    struct build_id state;
    bool keeps = cache_folder != NULL && database_state(root, &state);
    json_t *known = keeps ? known_packages(cache_folder, &state) : NULL;
    for (size_t i = 0; i < count && i < DPKG_FILES_MAX; i++) {
        json_t *package = json_object_get(known, files[i].path);
        files[i].package = json_is_object(package) ? json_incref(package) : NULL;
        if (package == NULL) {
            places[left] = i;
            missing[left++] = (struct dpkg_file){ .path = files[i].path };
        }
    }
    bool whole = left != 0 && search_database(root, missing, left);
    for (size_t i = 0; i < left; i++) {
        json_t *package = missing[i].package;
        (void)json_object_set(known, missing[i].path,
                              package != NULL ? package : json_null());
        files[places[i]].package = package;
    }
    if (keeps && whole)
        keep_packages(cache_folder, &state, known);
    json_decref(known);
}
