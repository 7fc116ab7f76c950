// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/symbol_cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "base/system/own_user.h"

enum {
    NAME_SIZE = 2 * BUILD_ID_MAX + 24,
    CLAIM_SECONDS = 24 * 60 * 60,
    PACKAGES_SECONDS = 30 * 24 * 60 * 60,
    KIND_COUNT = SYMBOL_CACHE_OF_PACKAGES + 1,
};

static const char *const kind_suffixes[] = { [SYMBOL_CACHE_OF_NAMES] = "",
                                             [SYMBOL_CACHE_OF_DEBUG] = "-plain",
                                             [SYMBOL_CACHE_OF_PACKAGES] = "-packages" };
static const char claim_suffix[] = ".claim";
static const char new_suffix[] = ".new";

const char *symbol_cache_folder_default(char out[PATH_MAX])
{
    const char *xdg = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    int length = -1;
    if (xdg != NULL && xdg[0] == '/')
        length = snprintf(out, PATH_MAX, "%s/crashhook/symbols", xdg);
    else if (own_user() == 0)
        length = snprintf(out, PATH_MAX, "%s", SYMBOL_CACHE_FOLDER_SHARED);
    else if (home != NULL && home[0] == '/')
        length = snprintf(out, PATH_MAX, "%s/.cache/crashhook/symbols", home);
    return length > 0 && length < PATH_MAX ? out : NULL;
}

// folder_is_of returns true if the file belongs to owner and no other user can write
// it.
static bool folder_is_of(int fd, mode_t type, uid_t owner)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && (facts.st_mode & S_IFMT) == type &&
           facts.st_uid == owner && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int folder_open_of(const char *folder, uid_t owner)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && !folder_is_of(fd, S_IFDIR, owner)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int folder_open(const char *folder)
{
    return folder_open_of(folder, own_user());
}

static bool folder_name_of(const struct build_id *id, enum symbol_cache_kind kind,
                           const char *suffix, char out[NAME_SIZE])
{
    char hex[2 * BUILD_ID_MAX + 1];
    if (id->size == 0 || id->size > BUILD_ID_MAX)
        return false;
    hex_encode(id->bytes, id->size, hex);
    (void)snprintf(out, NAME_SIZE, "%s%s%s", hex, kind_suffixes[kind], suffix);
    return true;
}

// folder_open_file opens a file of a folder if both are owner's.
static int folder_open_file(const char *folder, const char *name, uid_t owner)
{
    int CH_CLEANUP(file_close) folder_fd = folder_open_of(folder, owner);
    if (folder_fd < 0)
        return -1;
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && folder_is_of(fd, S_IFREG, owner))
        return fd;
    file_close(&fd);
    return -1;
}

// folder_open_shared opens a file of root's folder that is meant for everybody.
static int folder_open_shared(const char *name)
{
    struct stat facts;
    int fd = folder_open_file(SYMBOL_CACHE_FOLDER_SHARED, name, 0);
    if (fd >= 0 && (fstat(fd, &facts) != 0 || (facts.st_mode & S_IROTH) == 0))
        file_close(&fd);
    return fd;
}

static bool folder_is_shared(const char *name)
{
    int fd = folder_open_shared(name);
    bool shared = fd >= 0;
    file_close(&fd);
    return shared;
}

enum ch_status symbol_cache_folder_find(struct symbol_cache *out, const char *folder,
                                        const struct build_id *id)
{
    char name[NAME_SIZE];
    if (!folder_name_of(id, SYMBOL_CACHE_OF_NAMES, "", name))
        return CH_ERR_NOT_FOUND;
    int fd = folder_open_file(folder, name, own_user());
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (fd >= 0)
        status = symbol_cache_map(out, fd, id);
    bool useless = status == CH_ERR_MALFORMED || status == CH_ERR_TRUNCATED ||
                   status == CH_ERR_UNSUPPORTED || status == CH_ERR_LIMIT;
    int CH_CLEANUP(file_close) folder_fd = useless ? folder_open(folder) : -1;
    if (useless && folder_fd >= 0)
        (void)unlinkat(folder_fd, name, 0);
    if (fd < 0 || useless) {
        file_close(&fd);
        fd = folder_open_shared(name);
        if (fd < 0 || symbol_cache_map(out, fd, id) != CH_OK)
            status = CH_ERR_NOT_FOUND;
        else
            status = CH_OK;
    }
    file_close(&fd);
    return status;
}

int symbol_cache_folder_open(const char *folder, const struct build_id *id,
                             enum symbol_cache_kind kind)
{
    char name[NAME_SIZE];
    if (!folder_name_of(id, kind, "", name))
        return -1;
    int fd = folder_open_file(folder, name, own_user());
    return fd >= 0 ? fd : folder_open_shared(name);
}

void symbol_cache_folder_share(const char *folder, const struct build_id *id)
{
    char name[NAME_SIZE];
    int CH_CLEANUP(file_close) folder_fd = folder_open(folder);
    if (folder_fd < 0)
        return;
    (void)fchmod(folder_fd, 0755);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        if (folder_name_of(id, kind, "", name) &&
            fchmodat(folder_fd, name, 0644, 0) != 0 && errno != ENOENT)
            return; // another user's cache, which that user shares
}

void symbol_cache_folder_forget(const char *folder, const struct build_id *id)
{
    char name[NAME_SIZE];
    char claim[NAME_SIZE];
    int CH_CLEANUP(file_close) folder_fd = folder_open(folder);
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        if (folder_fd < 0 || !folder_name_of(id, kind, "", name) ||
            !folder_name_of(id, kind, claim_suffix, claim))
            return;
        (void)unlinkat(folder_fd, claim, 0); // first: a writer checks it last
        (void)unlinkat(folder_fd, name, 0);
    }
}

static bool folder_is_older(int folder_fd, const char *name, time_t seconds)
{
    struct stat facts;
    return fstatat(folder_fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - facts.st_mtime > seconds;
}

// folder_is_stale returns true if the process of a claim has had its time.
static bool folder_is_stale(int folder_fd, const char *name)
{
    return folder_is_older(folder_fd, name, CLAIM_SECONDS);
}

bool symbol_cache_folder_claim(const char *folder, const struct build_id *id,
                               enum symbol_cache_kind kind)
{
    char name[NAME_SIZE];
    char claim[NAME_SIZE];
    if (!folder_name_of(id, kind, "", name) ||
        !folder_name_of(id, kind, claim_suffix, claim) || folder_is_shared(name) ||
        !file_make_parents(folder, 0700) ||
        (mkdir(folder, 0700) != 0 && errno != EEXIST))
        return false;
    int CH_CLEANUP(file_close) folder_fd = folder_open(folder);
    if (folder_fd < 0 || faccessat(folder_fd, name, F_OK, 0) == 0)
        return false;
    if (folder_is_stale(folder_fd, claim))
        (void)unlinkat(folder_fd, claim, 0);
    int fd = openat(folder_fd, claim,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

bool symbol_cache_folder_lacks(const char *folder, const struct build_id *id)
{
    char name[NAME_SIZE];
    char claim[NAME_SIZE];
    int CH_CLEANUP(file_close) folder_fd = folder_open(folder);
    if (!folder_name_of(id, SYMBOL_CACHE_OF_NAMES, "", name) ||
        !folder_name_of(id, SYMBOL_CACHE_OF_NAMES, claim_suffix, claim) ||
        folder_is_shared(name))
        return false;
    if (folder_fd < 0)
        return access(folder, F_OK) != 0;
    return faccessat(folder_fd, name, F_OK, 0) != 0 &&
           (faccessat(folder_fd, claim, F_OK, 0) != 0 ||
            folder_is_stale(folder_fd, claim));
}

void symbol_cache_folder_release(const char *folder, const struct build_id *id,
                                 enum symbol_cache_kind kind)
{
    char claim[NAME_SIZE];
    int CH_CLEANUP(file_close) folder_fd = folder_open(folder);
    if (folder_fd >= 0 && folder_name_of(id, kind, claim_suffix, claim))
        (void)unlinkat(folder_fd, claim, 0);
}

// entry is a file of the folder and the time when it was last read.
struct entry {
    char name[NAME_SIZE];
    time_t used;
    uint64_t size;
};

struct entries {
    struct entry *items;
    size_t count;
    size_t capacity;
    uint64_t total;
};

// folder_add_entry adds the cache called name. A name with a suffix is a file being
// written, which is removed when it is a day old; an index of packages is removed after
// a month.
static bool folder_add_entry(struct entries *entries, int folder_fd, const char *name)
{
    struct stat facts;
    size_t length = strlen(name);
    if (strchr(name, '.') != NULL) {
        if (name[0] != '.' && folder_is_stale(folder_fd, name))
            (void)unlinkat(folder_fd, name, 0);
        return true;
    }
    const char *kind = strchr(name, '-');
    if (kind != NULL && strcmp(kind, kind_suffixes[SYMBOL_CACHE_OF_PACKAGES]) == 0 &&
        folder_is_older(folder_fd, name, PACKAGES_SECONDS)) {
        (void)unlinkat(folder_fd, name, 0);
        return true;
    }
    if (length >= NAME_SIZE ||
        fstatat(folder_fd, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (!array_reserve(&entries->items, &entries->capacity, entries->count,
                       sizeof(entries->items[0])))
        return false;
    struct entry *entry = &entries->items[entries->count++];
    memcpy(entry->name, name, length + 1);
    entry->used = facts.st_atime > facts.st_mtime ? facts.st_atime : facts.st_mtime;
    entry->size = (uint64_t)facts.st_size;
    entries->total += entry->size;
    return true;
}

static int oldest_first(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    return a->used < b->used ? -1 : a->used > b->used;
}

// prune_caches removes the least recently read files, but never kept, the new one.
static void prune_caches(int folder_fd, uint64_t limit_bytes, const char *kept)
{
    struct entries entries = { 0 };
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        file_close(&fd);
        return;
    }
    for (struct dirent *at; (at = readdir(dir)) != NULL;)
        if (!folder_add_entry(&entries, folder_fd, at->d_name))
            break;
    closedir(dir);
    if (entries.count != 0)
        qsort(entries.items, entries.count, sizeof(entries.items[0]), oldest_first);
    for (size_t i = 0; i < entries.count && entries.total > limit_bytes; i++) {
        const struct entry *entry = &entries.items[i];
        if (strcmp(entry->name, kept) != 0 && unlinkat(folder_fd, entry->name, 0) == 0)
            entries.total -= entry->size;
    }
    free(entries.items);
}

enum ch_status symbol_cache_folder_begin(struct symbol_cache_file *out,
                                         const char *folder, const struct build_id *id,
                                         enum symbol_cache_kind kind)
{
    char unfinished[NAME_SIZE];
    *out = (struct symbol_cache_file){ folder_open(folder), -1, *id, kind };
    if (out->folder_fd >= 0 && folder_name_of(id, kind, new_suffix, unfinished)) {
        // The claim is ours, so no other process is writing this.
        (void)unlinkat(out->folder_fd, unfinished, 0);
        out->fd = openat(out->folder_fd, unfinished,
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (out->fd < 0)
        file_close(&out->folder_fd);
    return out->fd >= 0 ? CH_OK : CH_ERR_IO;
}

// folder_finish renames the file that was written to the cache called name.
static enum ch_status folder_finish(const struct symbol_cache_file *file,
                                    const char *unfinished, const char *name)
{
    char claim[NAME_SIZE];
    // A process that forgot the build in the meantime has removed the claim.
    if (!folder_name_of(&file->id, file->kind, claim_suffix, claim))
        return CH_ERR_IO;
    if (unlinkat(file->folder_fd, claim, 0) != 0)
        return CH_ERR_NOT_FOUND;
    return renameat(file->folder_fd, unfinished, file->folder_fd, name) == 0
               ? CH_OK
               : CH_ERR_IO;
}

enum ch_status symbol_cache_folder_end(struct symbol_cache_file *file,
                                       enum ch_status status, uint64_t limit_bytes)
{
    char name[NAME_SIZE];
    char unfinished[NAME_SIZE];
    if (!folder_name_of(&file->id, file->kind, "", name) ||
        !folder_name_of(&file->id, file->kind, new_suffix, unfinished))
        status = CH_ERR_IO; // which begin would have noticed
    if (close(file->fd) != 0 && status == CH_OK)
        status = CH_ERR_IO;
    if (status == CH_OK)
        status = folder_finish(file, unfinished, name);
    if (status == CH_OK)
        prune_caches(file->folder_fd, limit_bytes, name);
    else
        (void)unlinkat(file->folder_fd, unfinished, 0);
    file_close(&file->folder_fd);
    return status;
}

enum ch_status symbol_cache_folder_put(const char *folder, const struct build_id *id,
                                       enum symbol_cache_kind kind, const void *bytes,
                                       size_t size, uint64_t limit_bytes)
{
    struct symbol_cache_file file;
    if (size > limit_bytes)
        return CH_ERR_LIMIT;
    enum ch_status status = symbol_cache_folder_begin(&file, folder, id, kind);
    if (status != CH_OK)
        return status;
    bool written = file_write_all(file.fd, bytes, size);
    return symbol_cache_folder_end(&file, written ? CH_OK : CH_ERR_IO, limit_bytes);
}

bool symbol_cache_folder_await(const char *folder, const struct build_id *id,
                               enum symbol_cache_kind kind, int64_t timeout_ms)
{
    enum { STEP_MS = 5, FRESH_SECONDS = 30 };
    char claim[NAME_SIZE];
    struct stat facts;
    int CH_CLEANUP(file_close) folder_fd = folder_open(folder);
    if (folder_fd < 0 || !folder_name_of(id, kind, claim_suffix, claim))
        return false;
    // An old claim is of a process that has died.
    if (fstatat(folder_fd, claim, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        time(NULL) - facts.st_mtime > FRESH_SECONDS)
        return false;
    for (int64_t ms = 0; ms < timeout_ms; ms += STEP_MS) {
        if (faccessat(folder_fd, claim, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            return true;
        (void)poll(NULL, 0, STEP_MS);
    }
    return false;
}
