// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/symbol_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "collector/entry/entry.h"
#include "formats/debug/elf.h"
#include "formats/interchange/source_bundle.h"
#include "symbolizer/cache/symbol_cache_folder.h"

const char *symbol_folder_of(const char *folder, const char *project,
                             char out[SYMBOL_FOLDER_PATH_SIZE])
{
    (void)snprintf(out, SYMBOL_FOLDER_PATH_SIZE, "%.*s%s%s", SYMBOL_FOLDER_PATH_MAX,
                   folder, project[0] != 0 ? "/projects/" : "", project);
    return out;
}

bool symbol_folder_id_ok(const char *id)
{
    size_t length = strspn(id, "0123456789abcdef");
    return id[length] == 0 && length % 2 == 0 && length >= 4 &&
           length < SYMBOL_FOLDER_ID_SIZE;
}

// symbol_kind_ending is how names of files of a kind end.
static const char *symbol_kind_ending(enum symbol_kind kind)
{
    static const char *const endings[SYMBOL_KINDS] = { ".debug", ".sources", "",
                                                       ".sym" };
    return endings[kind];
}

// file_path writes the path of the file of that kind for build ID id, or returns false
// where it does not fit.
static bool file_path(const char *folder, enum symbol_kind kind, const char *id,
                      char *out)
{
    int length = snprintf(out, SYMBOL_FOLDER_PATH_SIZE, "%s/.build-id/%.2s/%s%s",
                          folder, id, id + 2, symbol_kind_ending(kind));
    return length > 0 && length < SYMBOL_FOLDER_PATH_SIZE;
}

int symbol_folder_open(const char *folder, enum symbol_kind kind, const char *id)
{
    char path[SYMBOL_FOLDER_PATH_SIZE];
    if (!symbol_folder_id_ok(id) || !file_path(folder, kind, id, path))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

bool symbol_folder_has(const char *folder, enum symbol_kind kind, const char *id)
{
    char path[SYMBOL_FOLDER_PATH_SIZE];
    return symbol_folder_id_ok(id) && file_path(folder, kind, id, path) &&
           access(path, R_OK) == 0;
}

static bool has_debug_file(const char *folder, const char *id)
{
    return symbol_folder_has(folder, SYMBOL_DEBUG_FILE, id) ||
           symbol_folder_has(folder, SYMBOL_BREAKPAD, id);
}

bool symbol_folder_has_names(const char *folder, const char *id)
{
    return has_debug_file(folder, id) || symbol_folder_has(folder, SYMBOL_PROGRAM, id);
}

bool symbol_folder_precedes(const char *folder, const char *shared, const char *id)
{
    return has_debug_file(folder, id) ||
           (symbol_folder_has(folder, SYMBOL_PROGRAM, id) &&
            !has_debug_file(shared, id));
}

const char *symbol_folder_cache(const char *folder, char out[SYMBOL_FOLDER_PATH_SIZE])
{
    int length = snprintf(out, SYMBOL_FOLDER_PATH_SIZE, "%s/cache", folder);
    return length > 0 && length < SYMBOL_FOLDER_PATH_SIZE ? out : NULL;
}

static void forget_cache(const char *folder, const char *id)
{
    char cache[SYMBOL_FOLDER_PATH_SIZE];
    struct build_id build;
    if (symbol_folder_id_ok(id) &&
        hex_decode(id, strlen(id), build.bytes, sizeof(build.bytes), &build.size) ==
            CH_OK &&
        symbol_folder_cache(folder, cache) != NULL)
        symbol_cache_folder_forget(cache, &build);
}

static struct symbol_parts find_parts(const struct elf_view *file)
{
    struct elf_section found;
    struct symbol_parts parts = { 0 };
    parts.code = elf_view_find_section(file, ".text", &found, NULL) == CH_OK &&
                 found.type != ELF_SHT_NOBITS;
    parts.debug = elf_view_find_section(file, ".debug_info", &found, NULL) == CH_OK ||
                  elf_view_find_section(file, ".zdebug_info", &found, NULL) == CH_OK;
    return parts;
}

// map_file maps an ELF file; NULL: it is none.
static void *map_file(int fd, struct elf_view *out, size_t *out_size)
{
    struct stat stat;
    *out_size = fstat(fd, &stat) == 0 ? (size_t)stat.st_size : 0;
    void *bytes = mmap(NULL, *out_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    if (elf_view_init(out, bytes, *out_size) == CH_OK)
        return bytes;
    munmap(bytes, *out_size);
    return NULL;
}

struct symbol_parts symbol_folder_parts(int fd)
{
    struct elf_view file;
    struct symbol_parts parts = { 0 };
    size_t size;
    void *bytes = map_file(fd, &file, &size);
    if (bytes == NULL)
        return parts;
    parts = find_parts(&file);
    munmap(bytes, size);
    return parts;
}

bool symbol_folder_section(int fd, const char *name, uint64_t *out_offset,
                           uint64_t *out_size)
{
    struct elf_view file;
    struct elf_section section;
    size_t size;
    void *bytes = map_file(fd, &file, &size);
    if (bytes == NULL)
        return false;
    bool found = name[0] != 0 &&
                 elf_view_find_section(&file, name, &section, NULL) == CH_OK &&
                 section.type != ELF_SHT_NOBITS && section.offset <= size &&
                 section.size <= size - section.offset;
    munmap(bytes, size);
    if (found) {
        *out_offset = section.offset;
        *out_size = section.size;
    }
    return found;
}

// symbol_folder_drop removes the file alone.
static void symbol_folder_drop(const char *folder, enum symbol_kind kind,
                               const char *id)
{
    char path[SYMBOL_FOLDER_PATH_SIZE];
    if (symbol_folder_id_ok(id) && file_path(folder, kind, id, path))
        (void)unlink(path);
}

void symbol_folder_remove(const char *folder, enum symbol_kind kind, const char *id)
{
    symbol_folder_drop(folder, kind, id);
    if (kind != SYMBOL_SOURCES)
        forget_cache(folder, id);
}

enum ch_status symbol_folder_move(const char *from, const char *to,
                                  enum symbol_kind kind, const char *id)
{
    char from_path[SYMBOL_FOLDER_PATH_SIZE];
    char to_path[SYMBOL_FOLDER_PATH_SIZE];
    if (!symbol_folder_has(from, kind, id))
        return CH_OK;
    if (!file_path(from, kind, id, from_path) || !file_path(to, kind, id, to_path))
        return CH_ERR_LIMIT;
    // Another collector may move it at the same time.
    if (!file_make_parents(to_path, 0755) ||
        (rename(from_path, to_path) != 0 && errno != ENOENT))
        return CH_ERR_IO;
    symbol_folder_remove(from, kind, id);
    return CH_OK;
}

// upload_path writes where an upload is written to; false: part names no content.
static bool upload_path(const char *folder, const char *id,
                        const struct symbol_part *part,
                        char out[SYMBOL_FOLDER_PATH_SIZE])
{
    char name[SYMBOL_PART_SIZE + 16] = "XXXXXX";
    if (part->name[0] != 0)
        (void)snprintf(name, sizeof(name), "%s-%08x", part->name, part->sender);
    return symbol_folder_id_ok(id) &&
           part->name[strspn(part->name, "0123456789abcdef-")] == 0 &&
           strtoull(part->name, NULL, 16) <= SYMBOL_FILE_MAX &&
           snprintf(out, SYMBOL_FOLDER_PATH_SIZE, "%s/.build-id/.upload-%s-%s", folder,
                    id, name) < SYMBOL_FOLDER_PATH_SIZE;
}

uint64_t symbol_upload_offset(const char *folder, const char *build_id,
                              const struct symbol_part *part)
{
    char path[SYMBOL_FOLDER_PATH_SIZE];
    struct stat file;
    return upload_path(folder, build_id, part, path) && stat(path, &file) == 0
               ? (uint64_t)file.st_size
               : 0;
}

// open_part opens what has come of an upload. Nobody is kept from writing it at the
// same time: the one before may not have noticed yet that its connection broke, and
// writes the same bytes to the same places.
static enum ch_status open_part(struct symbol_upload *upload)
{
    struct stat file;
    const int create = upload->part.offset == 0 ? O_CREAT : 0;
    upload->fd = open(upload->temporary, O_RDWR | O_CLOEXEC | create, 0600);
    if (upload->fd < 0 && errno == ENOENT && create == 0)
        return CH_ERR_FAULT;
    if (upload->fd < 0 || fstat(upload->fd, &file) != 0)
        return CH_ERR_IO;
    if (upload->part.offset > (uint64_t)file.st_size)
        return CH_ERR_FAULT;
    return lseek(upload->fd, (off_t)upload->part.offset, SEEK_SET) >= 0 ? CH_OK
                                                                        : CH_ERR_IO;
}

enum ch_status symbol_upload_begin(const char *folder, enum symbol_kind kind,
                                   const char *build_id, struct symbol_upload *out)
{
    if (!symbol_folder_id_ok(build_id))
        return CH_ERR_MALFORMED;
    char final[SYMBOL_FOLDER_PATH_SIZE];
    if (!file_path(folder, kind, build_id, final))
        return CH_ERR_LIMIT;
    (void)snprintf(out->folder, sizeof(out->folder), "%s", folder);
    out->kind = kind;
    snprintf(out->build_id, sizeof(out->build_id), "%s", build_id);
    if (!upload_path(folder, build_id, &out->part, out->temporary))
        return out->part.name[0] != 0 ? CH_ERR_FAULT : CH_ERR_LIMIT;
    if (out->part.name[0] == 0 && out->part.offset != 0)
        return CH_ERR_FAULT;
    if (!file_make_parents(final, 0755))
        return CH_ERR_IO;
    if (out->part.name[0] != 0)
        return open_part(out);
    out->fd = mkostemp(out->temporary, O_CLOEXEC);
    return out->fd >= 0 ? CH_OK : CH_ERR_IO;
}

enum ch_status symbol_upload_write(struct symbol_upload *upload, const void *bytes,
                                   size_t size)
{
    bool more = upload->part.name[0] != 0 &&
                size > strtoull(upload->part.name, NULL, 16) - upload->part.offset;
    if (!more && file_write_all(upload->fd, bytes, size)) {
        upload->part.offset += size;
        return CH_OK;
    }
    upload->part.name[0] = 0; // the disk may be full
    return more ? CH_ERR_TRUNCATED : CH_ERR_IO;
}

// own_part makes a file of this upload alone of what has come: others may still have
// the part open, and write to it while it is checked, or when everybody sees it.
static enum ch_status own_part(struct symbol_upload *upload)
{
    enum { STEP_BYTES = 1 << 26 };
    int CH_CLEANUP(file_close) from = upload->fd;
    off_t at = 0;
    ssize_t got = 0;
    (void)unlink(upload->temporary);
    upload->part.name[0] = 0;
    upload->fd =
        upload_path(upload->folder, upload->build_id, &upload->part, upload->temporary)
            ? mkostemp(upload->temporary, O_CLOEXEC)
            : -1;
    do
        got = sendfile(upload->fd, from, &at, STEP_BYTES);
    while (got > 0);
    return got == 0 ? CH_OK : CH_ERR_IO;
}

// check_build compares the build ID in the file with the one it was uploaded as, and
// finds its kind.
static enum ch_status check_build(struct symbol_upload *upload, const void *bytes,
                                  size_t size)
{
    struct elf_view file;
    const uint8_t *id = NULL;
    size_t id_size = 0;
    if (elf_view_init(&file, bytes, size) != CH_OK)
        return CH_ERR_MALFORMED;
    if (elf_view_build_id(&file, &id, &id_size) != CH_OK ||
        id_size * 2 >= SYMBOL_FOLDER_ID_SIZE)
        return CH_ERR_NOT_FOUND;
    char hex[SYMBOL_FOLDER_ID_SIZE];
    hex_encode(id, id_size, hex);
    const struct symbol_parts parts = find_parts(&file);
    upload->kind = parts.debug  ? SYMBOL_DEBUG_FILE
                   : parts.code ? SYMBOL_PROGRAM
                                : SYMBOL_BREAKPAD;
    upload->has_code = parts.code;
    return strcmp(hex, upload->build_id) == 0 ? CH_OK : CH_ERR_NOT_FOUND;
}

enum ch_status symbol_upload_check(struct symbol_upload *upload)
{
    struct stat stat;
    char part[SYMBOL_PART_SIZE];
    char came[SYMBOL_PART_SIZE] = "";
    memcpy(part, upload->part.name, sizeof(part));
    if ((part[0] != 0 && own_part(upload) != CH_OK) || fstat(upload->fd, &stat) != 0)
        return CH_ERR_IO;
    if (stat.st_size <= 0)
        return CH_ERR_MALFORMED;
    size_t size = (size_t)stat.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, upload->fd, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_IO;
    if (part[0] != 0)
        (void)snprintf(came, sizeof(came), "%zx-%08x", size, crc32c(bytes, size));
    enum ch_status status = strcmp(came, part) != 0 ? CH_ERR_TRUNCATED
                            : upload->kind == SYMBOL_SOURCES
                                ? source_bundle_check(bytes, size)
                                : check_build(upload, bytes, size);
    munmap(bytes, size);
    upload->existed = status == CH_OK &&
                      symbol_folder_has(upload->folder, upload->kind, upload->build_id);
    return status;
}

// sync_folder makes the rename of a file in path's folder durable.
static enum ch_status sync_folder(const char *path)
{
    char folder[SYMBOL_FOLDER_PATH_SIZE];
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return CH_ERR_IO;
    int result = fsync(fd);
    close(fd);
    return result == 0 ? CH_OK : CH_ERR_IO;
}

enum ch_status symbol_upload_finish(struct symbol_upload *upload)
{
    char final[SYMBOL_FOLDER_PATH_SIZE];
    // Sync before the rename: after a power failure the name must not have an empty
    // file.
    if (!file_path(upload->folder, upload->kind, upload->build_id, final) ||
        fchmod(upload->fd, 0644) != 0 || fsync(upload->fd) != 0 ||
        rename(upload->temporary, final) != 0)
        return CH_ERR_IO;
    upload->temporary[0] = 0;
    if (upload->kind != SYMBOL_SOURCES)
        forget_cache(upload->folder, upload->build_id);
    return sync_folder(final);
}

void symbol_upload_abandon(struct symbol_upload *upload)
{
    if (upload->fd >= 0)
        close(upload->fd);
    upload->fd = -1;
    if (upload->temporary[0] != 0 && upload->part.name[0] == 0)
        unlink(upload->temporary);
    upload->temporary[0] = 0;
}

// cached_file is a file of the folder.
struct cached_file {
    char project[ENTRY_PROJECT_SIZE];
    char id[SYMBOL_FOLDER_ID_SIZE];
    enum symbol_kind kind;
    int64_t size;
    int64_t used_s;
};

struct cached_files {
    size_t root; // length of the folder's path
    struct cached_file *files;
    size_t count;
    size_t room;
    int64_t size;
};

// read_cached_name reads which file a path is, as ab/cdef….debug; false: none of ours.
static bool read_cached_name(const char *path, struct cached_file *out)
{
    const char *name = file_name(path);
    const char *dot = name + strcspn(name, ".");
    if (name - path < 3 || dot - name >= SYMBOL_FOLDER_ID_SIZE - 2)
        return false;
    (void)snprintf(out->id, sizeof(out->id), "%.2s%.*s", name - 3, (int)(dot - name),
                   name);
    for (out->kind = 0; out->kind < SYMBOL_KINDS; out->kind++)
        if (strcmp(dot, symbol_kind_ending(out->kind)) == 0)
            return symbol_folder_id_ok(out->id);
    return false;
}

// drop_killed_upload removes the file of an upload that nobody resumed.
static void drop_killed_upload(const char *path, const struct stat *facts)
{
    enum { DAY_S = 24 * 3600 };
    if (strncmp(file_name(path), ".upload-", strlen(".upload-")) == 0 &&
        facts->st_mtim.tv_sec < time(NULL) - DAY_S)
        (void)unlink(path);
}

static void add_cached(struct cached_files *files, const char *path,
                       const struct stat *facts)
{
    static const char projects[] = "projects/";
    const char *inside = path + files->root;
    struct cached_file file = { .project = "" };
    if (!read_cached_name(path, &file)) {
        drop_killed_upload(path, facts);
        return;
    }
    inside += strspn(inside, "/");
    if (strncmp(inside, projects, strlen(projects)) == 0) {
        inside += strlen(projects);
        (void)snprintf(file.project, sizeof(file.project), "%.*s",
                       (int)strcspn(inside, "/"), inside);
    }
    if (files->count == files->room) {
        size_t room = files->room == 0 ? 64 : 2 * files->room;
        struct cached_file *grown = realloc(files->files, room * sizeof(*grown));
        if (grown == NULL)
            return;
        files->files = grown;
        files->room = room;
    }
    file.size = (int64_t)facts->st_blocks * 512;
    file.used_s = facts->st_mtim.tv_sec;
    files->size += file.size;
    files->files[files->count++] = file;
}

// add_folder adds the files in a folder and below it. musl has no fts_open.
// NOLINTNEXTLINE(misc-no-recursion): its paths have a length that is limited
static void add_folder(struct cached_files *files, const char *folder)
{
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return;
    for (struct dirent *entry = readdir(entries); entry != NULL;
         entry = readdir(entries)) {
        char path[SYMBOL_FOLDER_PATH_SIZE];
        struct stat facts;
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            length >= (int)sizeof(path) || lstat(path, &facts) != 0)
            continue;
        if (S_ISDIR(facts.st_mode))
            add_folder(files, path);
        else if (S_ISREG(facts.st_mode))
            add_cached(files, path, &facts);
    }
    (void)closedir(entries);
}

static int by_use(const void *a, const void *b)
{
    const struct cached_file *x = a;
    const struct cached_file *y = b;
    return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

void symbol_folder_trim(const char *folder, int64_t size, symbol_leave_fn *may_leave,
                        void *context)
{
    char path[SYMBOL_FOLDER_PATH_SIZE];
    struct cached_files files = { .root = strlen(folder) };
    add_folder(&files, folder);
    if (files.files == NULL)
        return;
    if (files.size > size)
        qsort(files.files, files.count, sizeof(*files.files), by_use);
    for (size_t i = 0; i < files.count && files.size > size; i++) {
        if (!may_leave(context, files.files[i].project, files.files[i].kind,
                       files.files[i].id))
            continue;
        symbol_folder_of(folder, files.files[i].project, path);
        symbol_folder_drop(path, files.files[i].kind, files.files[i].id);
        files.size -= files.files[i].size;
    }
    free(files.files);
}
