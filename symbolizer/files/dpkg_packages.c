// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/dpkg_packages.h"

#include <dirent.h>
#include <endian.h>
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
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/system/file.h"
#include "base/text.h"
#include "symbolizer/cache/symbol_cache_folder.h"

enum {
    DATABASE_BYTES = 64 << 20, // of a file of dpkg's
    KNOWN_BYTES = 128 << 10,
    INDEX_BYTES = 32 << 20,
    NAME_BYTES = 256,
    SETTLED_MS = 50, // time after which a change gives a folder another time of change
    WANTED_BITS = 12,
    WANTED_SHIFT = 32 - WANTED_BITS,
};

static const char list_suffix[] = ".list";

// A search is the files whose packages are still looked for.
struct search {
    int info; // the folder of the lists
    struct dpkg_file *files;
    size_t count;
    size_t left;
    bool lacks;        // a file of the database could not be read
    struct text bytes; // of the file that is being read
    struct owner {
        const char *path; // without /usr: older lists have what was there before
        size_t length;
        uint32_t hash;
        char name[NAME_BYTES];    // of the package; "": not found yet
        const char *architecture; // in name; NULL: the list does not say
    } owners[DPKG_FILES_MAX];
    bool wanted[1 << WANTED_BITS]; // by the top bits of a hash: an owner has it
};

static const char *without_usr(const char *path, size_t *length)
{
    enum { PREFIX = 4 };
    bool merged = *length > PREFIX && memcmp(path, "/usr/", PREFIX + 1) == 0;
    *length -= merged ? PREFIX : 0;
    return merged ? path + PREFIX : path;
}

static bool database_path(char out[PATH_MAX], const char *root, const char *name)
{
    int length = snprintf(out, PATH_MAX, "%s/var/lib/dpkg/%s", root, name);
    return length > 0 && length < PATH_MAX;
}

static bool search_open(struct search *s, const char *root)
{
    char path[PATH_MAX];
    s->info = database_path(path, root, "info")
                  ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
                  : -1;
    return s->info >= 0;
}

static void search_close(struct search *s)
{
    file_close(&s->info);
    text_deinit(&s->bytes);
}

// search_read reads a file of the database, whose name is for the folder of the lists.
// False: it is empty, or cannot be read.
static bool search_read(struct search *s, const char *name)
{
    struct stat info;
    CH_CLEANUP(file_close)
    int fd = openat(s->info, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

// An index_header starts an index. For each list, there follow the size of its name,
// the number of its lines, the name, and the CRC-32C of each line without /usr:
// little-endian numbers of 32 bits.
struct index_header {
    char magic[8];
    uint32_t crc; // CRC-32C of the rest
};

static void index_append(struct text *index, uint32_t number)
{
    number = htole32(number);
    text_append(index, &number, sizeof(number));
}

static struct cursor index_lists(const struct text *index)
{
    struct cursor lists = cursor_over(index->bytes, index->size);
    cursor_skip(&lists, sizeof(struct index_header));
    return lists;
}

static struct index_header index_header_of(const struct text *index)
{
    struct index_header header = { .magic = "CHPKGS1" };
    struct cursor lists = index_lists(index);
    header.crc = htole32(crc32c(lists.at, cursor_left(&lists)));
    return header;
}

// index_add adds the list that was read.
static void index_add(struct text *index, const struct search *s, const char *name)
{
    struct line_reader lines = lines_of(s);
    uint32_t count = 0;
    index_append(index, (uint32_t)strlen(name));
    size_t at = index->size;
    index_append(index, count);
    text_append_string(index, name);
    for (; line_reader_next(&lines); count++) {
        size_t length = lines.length;
        const char *path = without_usr(lines.line, &length);
        index_append(index, crc32c(path, length));
    }
    count = htole32(count);
    if (text_ok(index))
        memcpy(index->bytes + at, &count, sizeof(count));
}

// index_make reads the lists: NAME.list, or NAME:ARCHITECTURE.list. False: some could
// not be read, or not in time.
static bool index_make(struct text *index, struct search *s)
{
    uint64_t end_ms = clock_now_ms(CLOCK_MONOTONIC) + DPKG_TIMEOUT_MS;
    const struct dirent *entry;
    text_append(index, &(struct index_header){ 0 }, sizeof(struct index_header));
    int fd = openat(s->info, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        file_close(&fd);
        return false;
    }
    bool in_time = true;
    while (in_time && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length <= strlen(list_suffix) || length >= NAME_BYTES ||
            strcmp(entry->d_name + length - strlen(list_suffix), list_suffix) != 0)
            continue;
        if (search_read(s, entry->d_name))
            index_add(index, s, entry->d_name);
        in_time = clock_now_ms(CLOCK_MONOTONIC) < end_ms;
    }
    closedir(folder);
    return in_time && text_ok(index) && !s->lacks;
}

static bool search_wants(const struct search *s, uint32_t hash)
{
    if (!s->wanted[hash >> WANTED_SHIFT])
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (s->owners[i].hash == hash && s->owners[i].name[0] == 0)
            return true;
    return false;
}

// search_lists looks for the files in the lists that may have them by the index.
static void search_lists(struct search *s, struct cursor lists)
{
    while (s->left != 0 && cursor_left(&lists) != 0) {
        uint32_t length = cursor_u32(&lists);
        uint32_t count = cursor_u32(&lists);
        const uint8_t *name = cursor_take(&lists, length);
        const uint8_t *hashes = cursor_take(&lists, sizeof(count) * (size_t)count);
        char list[NAME_BYTES] = "";
        if (hashes == NULL || length <= strlen(list_suffix) || length >= sizeof(list))
            return;
        bool wants = false;
        for (uint32_t i = 0; i < count && !wants; i++) {
            uint32_t hash;
            memcpy(&hash, hashes + sizeof(hash) * (size_t)i, sizeof(hash));
            wants = search_wants(s, le32toh(hash));
        }
        memcpy(list, name, length);
        if (wants && search_read(s, list))
            search_list(s, list, length - strlen(list_suffix));
    }
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
        if (length == 0 || line[0] != fields[i].field[0]) // most lines
            continue;
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

// database_state makes what differs after each change of the file or folder name of the
// database, which dpkg replaces, or whose files it replaces. False: it cannot be read,
// or its next change might not be seen.
static bool database_state(const char *root, const char *name, struct build_id *out)
{
    char path[PATH_MAX];
    struct stat status;
    if (!database_path(path, root, name) || stat(path, &status) != 0)
        return false;
    const uint64_t state[] = { status.st_dev, status.st_ino, (uint64_t)status.st_size,
                               (uint64_t)status.st_mtim.tv_sec,
                               (uint64_t)status.st_mtim.tv_nsec };
    _Static_assert(sizeof(state) <= sizeof(out->bytes), "it is in a name");
    out->size = sizeof(state);
    memcpy(out->bytes, state, sizeof(state));
    uint64_t changed_ms = state[3] * 1000 + state[4] / 1000000;
    return changed_ms + SETTLED_MS < clock_now_ms(CLOCK_REALTIME);
}

// cache_keep keeps what was made of that state of the database.
static void cache_keep(const char *folder, const struct build_id *state,
                       const void *bytes, size_t size)
{
    symbol_cache_folder_forget(folder, state);
    if (symbol_cache_folder_claim(folder, state, SYMBOL_CACHE_OF_PACKAGES))
        (void)!symbol_cache_folder_put(folder, state, SYMBOL_CACHE_OF_PACKAGES, bytes,
                                       size, SYMBOL_CACHE_FOLDER_BYTES);
}

// cache_read reads what was kept. False: there is nothing.
static bool cache_read(const char *folder, const struct build_id *state,
                       size_t limit_bytes, struct text *out)
{
    int CH_CLEANUP(file_close) fd =
        symbol_cache_folder_open(folder, state, SYMBOL_CACHE_OF_PACKAGES);
    return fd >= 0 && text_read(out, fd, limit_bytes) == CH_OK;
}

static bool index_is_whole(const struct text *index)
{
    if (index->size < sizeof(struct index_header))
        return false;
    struct index_header header = index_header_of(index);
    return memcmp(index->bytes, &header, sizeof(header)) == 0;
}

// index_get reads the index that is kept in the folder (NULL: none), or makes it and
// keeps it there. False: it is not whole.
static bool index_get(struct text *index, struct search *s, const char *root,
                      const char *folder, struct build_id *out_state)
{
    bool keeps = folder != NULL && database_state(root, "info", out_state);
    if (keeps && cache_read(folder, out_state, INDEX_BYTES, index) &&
        index_is_whole(index))
        return true;
    text_clear(index);
    if (!index_make(index, s))
        return false;
    struct index_header header = index_header_of(index);
    memcpy(index->bytes, &header, sizeof(header));
    if (keeps)
        cache_keep(folder, out_state, index->bytes, index->size);
    return true;
}

// search_database looks for the packages of the files. False: the database could not be
// read, or not in time.
static bool search_database(const char *root, const char *cache_folder,
                            struct dpkg_file *files, size_t count)
{
    struct search s = { .files = files, .count = count, .left = count };
    struct text CH_CLEANUP(text_deinit) index = { .limit_bytes = INDEX_BYTES };
    struct build_id state;
    for (size_t i = 0; i < count; i++) {
        struct owner *owner = &s.owners[i];
        owner->length = strlen(files[i].path);
        owner->path = without_usr(files[i].path, &owner->length);
        owner->hash = crc32c(owner->path, owner->length);
        s.wanted[owner->hash >> WANTED_SHIFT] = true;
    }
    if (!search_open(&s, root))
        return false;
    bool whole = index_get(&index, &s, root, cache_folder, &state);
    search_lists(&s, index_lists(&index));
    if (s.left < s.count && search_read(&s, "../status"))
        search_versions(&s);
    search_close(&s);
    return whole && !s.lacks;
}

// known_packages gives the packages, by path, that are known in that state of the
// database; null is the package of a file that is in none.
static json_t *known_packages(const char *folder, const struct build_id *state)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    json_t *known = cache_read(folder, state, KNOWN_BYTES, &text)
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
    if (text != NULL)
        cache_keep(folder, state, text, strlen(text));
    free(text);
}

void dpkg_packages_find(const char *root, const char *cache_folder,
                        struct dpkg_file *files, size_t count)
{
    struct dpkg_file missing[DPKG_FILES_MAX];
    size_t places[DPKG_FILES_MAX];
    size_t left = 0;
    struct build_id state;
    bool keeps = cache_folder != NULL && database_state(root, "status", &state);
    json_t *known = keeps ? known_packages(cache_folder, &state) : NULL;
    for (size_t i = 0; i < count && i < DPKG_FILES_MAX; i++) {
        json_t *package = json_object_get(known, files[i].path);
        files[i].package = json_is_object(package) ? json_incref(package) : NULL;
        if (package == NULL) {
            places[left] = i;
            missing[left++] = (struct dpkg_file){ .path = files[i].path };
        }
    }
    bool whole = left != 0 && search_database(root, cache_folder, missing, left);
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

void dpkg_packages_index(const char *cache_folder, bool for_everybody)
{
    struct search s = { .count = 0 };
    struct text CH_CLEANUP(text_deinit) index = { .limit_bytes = INDEX_BYTES };
    struct build_id state = { .size = 0 };
    if (!search_open(&s, ""))
        return;
    if (index_get(&index, &s, "", cache_folder, &state) && for_everybody)
        symbol_cache_folder_share(cache_folder, &state);
    search_close(&s);
}
