// SPDX-License-Identifier: Apache-2.0
//
// Objects as files below a folder. A file is written beside its place, synced and
// renamed: what has a name is whole.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "collector/objects/object_side.h"

enum { OBJECT_PATH_SIZE = 4096, COPY_BYTES = 64 << 10, FOLDERS_OPEN = 16 };

struct object_folder {
    struct object_side side;
    char path[OBJECT_PATH_SIZE / 2];
};

static enum ch_status fail_folder(const char *what, const char *name, char *why)
{
    bool gone = errno == ENOENT;
    (void)snprintf(why, OBJECT_WHY_SIZE, "cannot %s '%.100s': %.100s", what, name,
                   strerror(errno));
    return gone ? CH_ERR_NOT_FOUND : CH_ERR_IO;
}

static void write_object_path(const struct object_side *side, const char *name,
                              char out[OBJECT_PATH_SIZE])
{
    const struct object_folder *folder = (const struct object_folder *)side;
    (void)snprintf(out, OBJECT_PATH_SIZE, "%s/%.*s", folder->path, OBJECT_NAME_SIZE,
                   name);
}

// sync_parent makes the rename of a file durable.
static bool sync_parent(const char *path)
{
    char parent[OBJECT_PATH_SIZE];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    *strrchr(parent, '/') = 0;
    int CH_CLEANUP(file_close) fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0;
}

static bool copy_source(const struct object_source *source, int fd)
{
    char part[COPY_BYTES];
    for (size_t left = source->size; left != 0;) {
        size_t got =
            fread(part, 1, left < sizeof(part) ? left : sizeof(part), source->file);
        if (got == 0 || !file_write_all(fd, part, got))
            return false;
        left -= got;
    }
    return true;
}

static enum ch_status folder_put(struct object_side *side, const char *name,
                                 const struct object_source *source, char *why)
{
    char path[OBJECT_PATH_SIZE];
    char temporary[OBJECT_PATH_SIZE + 16];
    write_object_path(side, name, path);
    (void)snprintf(temporary, sizeof(temporary), "%s.new-XXXXXX", path);
    if (!file_make_parents(path, 0700))
        return fail_folder("make the folder of", name, why);
    int CH_CLEANUP(file_close) fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail_folder("write", name, why);
    if (copy_source(source, fd) && fsync(fd) == 0 && rename(temporary, path) == 0 &&
        sync_parent(path))
        return CH_OK;
    (void)fail_folder("write", name, why);
    (void)unlink(temporary);
    return CH_ERR_IO;
}

static int open_object(struct object_side *side, const char *name)
{
    char path[OBJECT_PATH_SIZE];
    write_object_path(side, name, path);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static enum ch_status folder_get(struct object_side *side, const char *name, FILE *to,
                                 char *why)
{
    char part[COPY_BYTES];
    int CH_CLEANUP(file_close) fd = open_object(side, name);
    ssize_t got = 0;
    if (fd < 0)
        return fail_folder("read", name, why);
    while ((got = file_read_all(fd, part, sizeof(part))) > 0) {
        if (fwrite(part, 1, (size_t)got, to) != (size_t)got)
            return fail_folder("copy", name, why);
    }
    return got == 0 ? CH_OK : fail_folder("read", name, why);
}

static enum ch_status folder_read(struct object_side *side, const char *name,
                                  uint64_t offset, size_t size, struct text *out,
                                  char *why)
{
    char part[COPY_BYTES];
    int CH_CLEANUP(file_close) fd = open_object(side, name);
    if (fd < 0)
        return fail_folder("read", name, why);
    while (size != 0) {
        size_t got =
            file_read_at(fd, part, size < sizeof(part) ? size : sizeof(part), offset);
        if (got == 0) {
            (void)snprintf(why, OBJECT_WHY_SIZE, "'%.100s' is too short", name);
            return CH_ERR_IO;
        }
        text_append(out, part, got);
        offset += got;
        size -= got;
    }
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status folder_remove(struct object_side *side, const char *name,
                                    char *why)
{
    char path[OBJECT_PATH_SIZE];
    write_object_path(side, name, path);
    if (unlink(path) == 0 || errno == ENOENT)
        return CH_OK;
    return fail_folder("remove", name, why);
}

// listing is what nftw, which hands on nothing, tells of files to; it is the thread's.
static _Thread_local struct {
    object_seen_fn *visit;
    void *context;
    size_t root; // length of the path of the store
} listing;

static int list_file(const char *path, const struct stat *stat, int type,
                     struct FTW *where)
{
    (void)where;
    if (type != FTW_F)
        return 0;
    const struct object_seen seen = {
        .name = path + listing.root + 1,
        .size = (uint64_t)stat->st_size,
        .changed_ms = (int64_t)stat->st_mtim.tv_sec * 1000,
    };
    listing.visit(listing.context, &seen);
    return 0;
}

static enum ch_status folder_list(struct object_side *side, const char *folder,
                                  object_seen_fn *visit, void *context, char *why)
{
    char path[OBJECT_PATH_SIZE];
    write_object_path(side, folder, path);
    listing.visit = visit;
    listing.context = context;
    listing.root = strlen(((struct object_folder *)side)->path);
    if (nftw(path, list_file, FOLDERS_OPEN, FTW_PHYS) == 0 || errno == ENOENT)
        return CH_OK;
    return fail_folder("list", folder, why);
}

static void folder_close(struct object_side *side)
{
    free(side);
}

static const struct object_driver driver = {
    .close = folder_close,
    .put = folder_put,
    .get = folder_get,
    .read = folder_read,
    .remove = folder_remove,
    .list = folder_list,
};

enum ch_status object_folder_open(const char *path, char *why, struct object_side **out)
{
    char inside[OBJECT_PATH_SIZE];
    struct object_folder *folder = calloc(1, sizeof(*folder));
    if (folder == NULL)
        return CH_ERR_NO_MEMORY;
    folder->side.driver = &driver;
    int length = snprintf(folder->path, sizeof(folder->path), "%s", path);
    (void)snprintf(inside, sizeof(inside), "%s/x", folder->path);
    errno = ENAMETOOLONG;
    if (path[0] == 0 || length >= (int)sizeof(folder->path) ||
        !file_make_parents(inside, 0700) || access(folder->path, R_OK | W_OK) != 0) {
        (void)fail_folder("use the folder", path, why);
        free(folder);
        return CH_ERR_IO;
    }
    *out = &folder->side;
    return CH_OK;
}
