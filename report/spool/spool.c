// SPDX-License-Identifier: Apache-2.0
//
// How it works: a report has up to three names in the folder.
//   .ID.tmp  being written; its writer holds flock on it (spool_create)
//   ID.json  visible: renamed or linked when it is complete (spool_publish)
//   ID.state which targets have it (spool_state.h)
// spool_prepare creates a file without a name where the file system can (O_TMPFILE),
// and spool_publish_prepared links it.
//
// Locks belong to the inode. spool_replace writes a new file, locks it, syncs it,
// renames it over the old one, and only then releases the old lock. So spool_lock,
// after it has the lock, compares the inode with what ID.json names now, and starts
// again if they differ.
//
// Trust: a folder is used only if it is ours alone, or a drop folder (is_drop_folder);
// files are opened without following links and without blocking, and only regular ones
// count. In a drop folder nothing is listed, pruned or swept.
//
// spool_sweep deletes .tmp files whose lock can be taken and that are older than an
// hour.
#include "report/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/file.h"
#include "base/system/own_user.h"

static bool is_named(const char *name, const char *prefix)
{
    static const char suffix[] = ".record";
    size_t length = strlen(name);
    return length > strlen(prefix) + sizeof(suffix) &&
           memcmp(name, prefix, strlen(prefix)) == 0 &&
           strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}

bool spool_is_record(const char *name)
{
    return is_named(name, "crash-");
}

static bool spool_is_liveness(const char *name)
{
    return is_named(name, "life-");
}

void spool_liveness_name(uint64_t start_ticks, int32_t pid,
                         char out[static SPOOL_LIVENESS_NAME_SIZE])
{
    (void)snprintf(out, SPOOL_LIVENESS_NAME_SIZE,
                   "life-%016" PRIx64 "-%08" PRIx32 ".record", start_ticks,
                   (uint32_t)pid);
}

bool spool_is_words(const char *name)
{
    return is_named(name, "last-");
}

bool spool_words_process(const char *name, uint64_t *out_start_ticks, int32_t *out_pid)
{
    const char *at = name + strlen("last-");
    char *end;
    if (!spool_is_words(name))
        return false;
    uint64_t start = strtoull(at, &end, 16);
    if (end == at || *end != '-')
        return false;
    at = end + 1;
    unsigned long pid = strtoul(at, &end, 16);
    if (end == at || *end != '.' || pid == 0 || pid > INT32_MAX)
        return false;
    *out_start_ticks = start;
    *out_pid = (int32_t)pid;
    return true;
}

void spool_words_name(uint64_t start_ticks, int32_t pid,
                      char out[static SPOOL_LIVENESS_NAME_SIZE])
{
    (void)snprintf(out, SPOOL_LIVENESS_NAME_SIZE,
                   "last-%016" PRIx64 "-%08" PRIx32 ".record", start_ticks,
                   (uint32_t)pid);
}

bool spool_hold_record(const struct spool *spool, const char *name, int fd)
{
    struct stat named;
    struct stat held;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
           fstatat(spool->folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

bool spool_take_record(const struct spool *spool, const char *name,
                       spool_record_fn *take, void *context)
{
    int fd = -1;
    if (spool_open_file(spool, name, &fd) != CH_OK)
        return false;
    bool held = spool_hold_record(spool, name, fd);
    if (held && take(context, name, fd))
        (void)unlinkat(spool->folder_fd, name, 0);
    (void)close(fd);
    return held;
}

static enum ch_status take_named(const struct spool *spool,
                                 bool (*wanted)(const char *name),
                                 spool_record_fn *take, void *context)
{
    int fd = openat(spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return CH_ERR_IO;
    }
    for (const struct dirent *found = readdir(directory); found != NULL;
         found = readdir(directory)) {
        if (wanted(found->d_name))
            (void)spool_take_record(spool, found->d_name, take, context);
    }
    (void)closedir(directory);
    return CH_OK;
}

enum ch_status spool_take_records(const struct spool *spool, spool_record_fn *take,
                                  void *context)
{
    enum ch_status status = take_named(spool, spool_is_record, take, context);
    if (status == CH_OK)
        status = take_named(spool, spool_is_words, take, context);
    return status == CH_OK ? take_named(spool, spool_is_liveness, take, context)
                           : status;
}

void spool_place_of_user(uid_t user, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s%u", SETTINGS_OWN_FOLDER, user);
}

enum ch_status spool_place_path(enum spool_place place, const struct settings *settings,
                                settings_get_fn *get, char path[static PATH_MAX])
{
    if (place == SPOOL_PLACE_CONFIGURED)
        return settings_spool_path(settings, get, NULL, path, PATH_MAX);
    if (place == SPOOL_PLACE_MEMORY && settings->url == NULL)
        return CH_ERR_NOT_FOUND;
    if (place == SPOOL_PLACE_DROP)
        (void)snprintf(path, PATH_MAX, "%s", SETTINGS_DROP_FOLDER);
    else if (place == SPOOL_PLACE_MEMORY)
        (void)snprintf(path, PATH_MAX, "%s%u", SETTINGS_MEMORY_FOLDER, own_user());
    else
        spool_place_of_user(own_user(), path);
    return CH_OK;
}

enum ch_status spool_place_open(enum spool_place place, const char *path,
                                struct spool *out)
{
    // A drop folder that we created would be ours, and nobody would collect from it.
    struct spool spool;
    bool is_drop_place = place == SPOOL_PLACE_DROP;
    enum ch_status status =
        spool_open(path, is_drop_place ? SPOOL_WRITE : SPOOL_CREATE, &spool);
    if (status == CH_OK && is_drop_place && !spool.drop) {
        spool_close(&spool);
        return CH_ERR_UNSUPPORTED;
    }
    if (status == CH_OK)
        *out = spool;
    return status;
}

enum { NAME_SIZE = 64, LISTING_MAX = 1 << 20, STALE_SECONDS = 3600 };

static void unlink_quietly(const struct spool *spool, const char *name)
{
    int saved = errno;
    (void)unlinkat(spool->folder_fd, name, 0);
    errno = saved;
}

static enum ch_status report_name(char name[static NAME_SIZE], const char *id,
                                  const char *format)
{
    if (!report_id_ok(id))
        return CH_ERR_NOT_FOUND;
    // The only formats are those below, which the compiler cannot see.
    const char *end = strchr(format, '*');
    (void)snprintf(name, NAME_SIZE, "%.*s%s%s", (int)(end - format), format, id,
                   end + 1);
    return CH_OK;
}

#define NAME_REPORT "*.json"
#define NAME_STATE "*.state"
#define NAME_CORE "*" SPOOL_CORE
#define NAME_FULL_CORE "*" SPOOL_FULL_CORE
#define NAME_TEMPORARY ".*.tmp"

// make_spool_folders creates path and every missing folder above it.
static enum ch_status make_spool_folders(const char *path)
{
    bool made =
        file_make_parents(path, 0700) && (mkdir(path, 0700) == 0 || errno == EEXIST);
    return made ? CH_OK : CH_ERR_IO;
}

// is_drop_folder is true if everybody may create files in the folder, and only root can
// list them or remove those of others.
static bool is_drop_folder(const struct stat *folder)
{
    enum { WANTED = S_ISVTX | S_IWOTH | S_IXOTH };
    return folder->st_uid == 0 && (folder->st_mode & (S_ISVTX | S_IRWXO)) == WANTED;
}

// open_spool_folder opens the folder for reading or, if that is not permitted, with
// O_PATH, which is enough to create files in a drop folder.
static int open_spool_folder(const char *path)
{
    enum { FLAGS = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    struct stat status;
    // musl's open sets O_CLOEXEC a second time, by a call of its own.
    int fd = openat(AT_FDCWD, path, O_RDONLY | FLAGS);
    if (fd < 0 && errno == EACCES)
        fd = open(path, O_PATH | FLAGS);
    // For a symbolic link the kernel returns ENOTDIR here; say what it is.
    if (fd < 0 && errno == ENOTDIR)
        errno = lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
    return fd;
}

enum ch_status spool_open(const char *path, enum spool_access access, struct spool *out)
{
    int fd = open_spool_folder(path);
    if (fd < 0 && errno == ENOENT && access == SPOOL_CREATE) {
        enum ch_status status = make_spool_folders(path);
        if (status != CH_OK)
            return status;
        fd = open_spool_folder(path);
    }
    if (fd < 0)
        return CH_ERR_IO;
    struct stat folder;
    bool known = fstat(fd, &folder) == 0;
    bool drop = known && is_drop_folder(&folder);
    bool is_ours_alone = known && folder.st_uid == own_user() &&
                         (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (access != SPOOL_READ && !drop && !is_ours_alone) {
        file_close(&fd);
        return CH_ERR_UNSUPPORTED;
    }
    *out = (struct spool){ .folder_fd = fd, .drop = drop };
    return CH_OK;
}

void spool_close(struct spool *spool)
{
    file_close(&spool->folder_fd);
}

const char *spool_why(enum ch_status status)
{
    switch (status) {
    case CH_ERR_UNSUPPORTED:
        return "it belongs to another user, or others may write to it";
    case CH_ERR_MALFORMED:
        return "it is not a plain file";
    case CH_ERR_NOT_FOUND:
        return "there is no such report";
    case CH_ERR_IO:
        if (errno == ELOOP)
            return "it is a symbolic link, which is not followed: name what it leads "
                   "to";
        if (errno == EWOULDBLOCK)
            return "another process is working on it";
        return strerror(errno);
    default:
        return ch_status_name(status);
    }
}

// create_locked creates a new file and locks it. O_EXCL: no other process can have it
// open.
static enum ch_status create_locked(const struct spool *spool, const char *name,
                                    int *out_fd)
{
    int fd = openat(spool->folder_fd, name,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return CH_ERR_IO;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        unlink_quietly(spool, name);
        file_close(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return CH_OK;
}

enum ch_status spool_create(const struct spool *spool, const char *id, int *out_fd)
{
    char name[NAME_SIZE];
    enum ch_status status = report_name(name, id, NAME_TEMPORARY);
    if (status != CH_OK)
        return status;
    return create_locked(spool, name, out_fd);
}

enum ch_status spool_prepare(const struct spool *spool, int *out_fd)
{
    int fd = openat(spool->folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return CH_ERR_IO;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        file_close(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return CH_OK;
}

enum ch_status spool_publish_prepared(const struct spool *spool, const char *id, int fd)
{
    char name[NAME_SIZE];
    char file[NAME_SIZE];
    enum ch_status status = report_name(name, id, NAME_REPORT);
    if (status != CH_OK)
        return status;
    // Only some users may link by the descriptor itself; before Linux 6.10, only root.
    if (linkat(fd, "", spool->folder_fd, name, AT_EMPTY_PATH) == 0)
        return CH_OK;
    (void)snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    bool linked =
        linkat(AT_FDCWD, file, spool->folder_fd, name, AT_SYMLINK_FOLLOW) == 0;
    return linked ? CH_OK : CH_ERR_IO;
}

static enum ch_status publish_report(const struct spool *spool, const char *from,
                                     const char *to)
{
    if (renameat(spool->folder_fd, from, spool->folder_fd, to) != 0)
        return CH_ERR_IO;
    return CH_OK;
}

enum ch_status spool_publish(const struct spool *spool, const char *id)
{
    char temporary[NAME_SIZE];
    char name[NAME_SIZE];
    enum ch_status status = report_name(temporary, id, NAME_TEMPORARY);
    if (status == CH_OK)
        status = report_name(name, id, NAME_REPORT);
    if (status != CH_OK)
        return status;
    return publish_report(spool, temporary, name);
}

void spool_discard(const struct spool *spool, const char *id)
{
    char name[NAME_SIZE];
    if (report_name(name, id, NAME_TEMPORARY) == CH_OK)
        unlink_quietly(spool, name);
}

// open_spool_file opens a file that must be a regular one and not a symbolic link.
static enum ch_status open_spool_file(const struct spool *spool, const char *name,
                                      int flags, int *out_fd)
{
    struct stat status;
    int fd =
        openat(spool->folder_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? CH_ERR_NOT_FOUND : CH_ERR_IO;
    if (fstat(fd, &status) != 0) {
        file_close(&fd);
        return CH_ERR_IO;
    }
    // In a drop folder only the collecting user may open what others left.
    if (!S_ISREG(status.st_mode) || (spool->drop && status.st_uid != own_user())) {
        file_close(&fd);
        return CH_ERR_MALFORMED;
    }
    *out_fd = fd;
    return CH_OK;
}

enum ch_status spool_open_file(const struct spool *spool, const char *name, int *out_fd)
{
    return open_spool_file(spool, name, O_RDONLY, out_fd);
}

enum ch_status spool_read(const struct spool *spool, const char *id, int *out_fd)
{
    char name[NAME_SIZE];
    enum ch_status status = report_name(name, id, NAME_REPORT);
    if (status != CH_OK)
        return status;
    return open_spool_file(spool, name, O_RDONLY, out_fd);
}

// still_named is true if name is the file that fd has open.
static bool still_named(const struct spool *spool, const char *name, int fd)
{
    struct stat named;
    struct stat held;
    return fstatat(spool->folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &held) == 0 && named.st_dev == held.st_dev &&
           named.st_ino == held.st_ino;
}

// open_locked opens a report and locks it. It opens for reading, because closing a
// writable descriptor would notify watchers of the folder of a change (inotify's
// IN_CLOSE_WRITE); on a network file system a lock may require write access (EBADF,
// flock(2)).
static enum ch_status open_locked(const struct spool *spool, const char *name,
                                  int *out_fd)
{
    int fd = -1;
    enum ch_status status = open_spool_file(spool, name, O_RDONLY, &fd);
    if (status != CH_OK)
        return status;
    int locked = flock(fd, LOCK_EX | LOCK_NB);
    if (locked != 0 && errno == EBADF) {
        file_close(&fd);
        status = open_spool_file(spool, name, O_RDWR, &fd);
        if (status != CH_OK)
            return status;
        locked = flock(fd, LOCK_EX | LOCK_NB);
    }
    if (locked != 0) {
        file_close(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return CH_OK;
}

enum ch_status spool_lock(const struct spool *spool, const char *id, int *out_fd)
{
    // A report is rewritten a handful of times: losing this race more often
    // than that means that somebody interferes on purpose.
    enum { ATTEMPTS = 16 };
    char name[NAME_SIZE];
    enum ch_status status = report_name(name, id, NAME_REPORT);

    for (int attempt = 0; status == CH_OK && attempt < ATTEMPTS; attempt++) {
        int fd = -1;
        status = open_locked(spool, name, &fd);
        if (status != CH_OK)
            return status;
        if (still_named(spool, name, fd)) {
            *out_fd = fd;
            return CH_OK;
        }
        file_close(&fd);
    }
    if (status == CH_OK) {
        errno = EWOULDBLOCK;
        status = CH_ERR_IO;
    }
    return status;
}

enum ch_status spool_adopt(const struct spool *spool, const char *id, int fd)
{
    char name[NAME_SIZE];
    enum ch_status status = report_name(name, id, NAME_REPORT);
    if (status != CH_OK)
        return status;
    if (!still_named(spool, name, fd))
        return CH_ERR_NOT_FOUND;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return CH_ERR_IO;
    return CH_OK;
}

// replace_spool_file writes temporary, locked, renames it to name, and returns its
// lock; with sync, both are on the disk then.
static enum ch_status replace_spool_file(const struct spool *spool,
                                         const char *temporary, const char *name,
                                         const struct iovec *content, bool sync,
                                         int *out_fd)
{
    int fd = -1;
    enum ch_status status = create_locked(spool, temporary, &fd);
    if (status == CH_ERR_IO && errno == EEXIST) {
        // Its writer held the lock that we hold now, and died.
        unlink_quietly(spool, temporary);
        status = create_locked(spool, temporary, &fd);
    }
    if (status != CH_OK)
        return status;

    bool written = file_write_all(fd, content->iov_base, content->iov_len);
    status = written && (!sync || fsync(fd) == 0) ? CH_OK : CH_ERR_IO;
    if (status == CH_OK)
        status = publish_report(spool, temporary, name);
    if (status != CH_OK) {
        unlink_quietly(spool, temporary);
        file_close(&fd);
        return status;
    }
    if (sync)
        (void)fsync(spool->folder_fd); // the new content is in place even if this fails
    *out_fd = fd;
    return CH_OK;
}

static enum ch_status replace_report(const struct spool *spool, const char *id,
                                     const struct iovec *content, bool sync,
                                     int *lock_fd)
{
    char temporary[NAME_SIZE];
    char name[NAME_SIZE];
    int fd = -1;
    enum ch_status status = report_name(temporary, id, NAME_TEMPORARY);
    if (status == CH_OK)
        status = report_name(name, id, NAME_REPORT);
    if (status == CH_OK)
        status = replace_spool_file(spool, temporary, name, content, sync, &fd);
    if (status != CH_OK)
        return status;
    file_close(lock_fd);
    *lock_fd = fd;
    return CH_OK;
}

enum ch_status spool_replace(const struct spool *spool, const char *id,
                             const void *bytes, size_t size, int *lock_fd)
{
    const struct iovec content = { (void *)(uintptr_t)bytes, size };
    return replace_report(spool, id, &content, true, lock_fd);
}

enum ch_status spool_replace_sent(const struct spool *spool, const char *id,
                                  const void *bytes, size_t size, int *lock_fd)
{
    const struct iovec content = { (void *)(uintptr_t)bytes, size };
    return replace_report(spool, id, &content, false, lock_fd);
}

enum ch_status spool_write_file(const struct spool *spool, const char *name,
                                const void *bytes, size_t size)
{
    char temporary[NAME_SIZE];
    int CH_CLEANUP(file_close) fd = -1;
    if ((size_t)snprintf(temporary, sizeof(temporary), ".%s.tmp", name) >=
        sizeof(temporary))
        return CH_ERR_LIMIT;
    return replace_spool_file(spool, temporary, name,
                              &(struct iovec){ (void *)(uintptr_t)bytes, size }, false,
                              &fd);
}

enum ch_status spool_remove(const struct spool *spool, const char *id)
{
    static const char *const others[] = { NAME_STATE, NAME_CORE, NAME_FULL_CORE };
    char name[NAME_SIZE];
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        enum ch_status status = report_name(name, id, others[i]);
        if (status != CH_OK)
            return status;
        if (unlinkat(spool->folder_fd, name, 0) != 0 && errno != ENOENT)
            return CH_ERR_IO;
    }
    enum ch_status status = report_name(name, id, NAME_REPORT);
    if (status == CH_OK && unlinkat(spool->folder_fd, name, 0) != 0)
        status = CH_ERR_IO;
    return status;
}

static DIR *open_directory(const struct spool *spool)
{
    int fd = openat(spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL && fd >= 0)
        file_close(&fd);
    return directory;
}

// id_of_name extracts the id from ID.json.
static bool id_of_name(const char *name, char id[static REPORT_ID_SIZE])
{
    size_t length = REPORT_ID_SIZE - 1;
    if (strlen(name) != length + 5 || strcmp(name + length, ".json") != 0)
        return false;
    memcpy(id, name, length);
    id[length] = 0;
    return report_id_ok(id);
}

static enum ch_status listing_add(struct spool_listing *listing, size_t *capacity,
                                  const struct spool_entry *entry)
{
    if (listing->count == LISTING_MAX)
        return CH_ERR_LIMIT;
    if (!array_reserve(&listing->entries, capacity, listing->count, sizeof(*entry)))
        return CH_ERR_NO_MEMORY;
    listing->entries[listing->count++] = *entry;
    return CH_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct spool_entry *left = a;
    const struct spool_entry *right = b;
    return strcmp(left->id, right->id);
}

// add_core_sizes adds the sizes of reports' cores to those of the reports.
static void add_core_sizes(const struct spool *spool,
                           const struct spool_listing *listing)
{
    static const char *const formats[] = { NAME_CORE, NAME_FULL_CORE };
    for (size_t i = 0; i < 2 * listing->count; i++) {
        struct spool_entry *entry = &listing->entries[i / 2];
        char name[NAME_SIZE];
        struct stat file;
        if (report_name(name, entry->id, formats[i % 2]) == CH_OK &&
            fstatat(spool->folder_fd, name, &file, AT_SYMLINK_NOFOLLOW) == 0)
            entry->size += (uint64_t)file.st_size;
    }
}

enum ch_status spool_list(const struct spool *spool, struct spool_listing *out)
{
    struct spool_listing listing = { 0 };
    size_t capacity = 0;
    bool cores = false;
    enum ch_status status = CH_OK;
    DIR *directory = open_directory(spool);
    if (directory == NULL)
        return CH_ERR_IO;

    for (const struct dirent *found = readdir(directory);
         found != NULL && status == CH_OK; found = readdir(directory)) {
        struct spool_entry entry = { 0 };
        struct stat file;
        cores = cores || strstr(found->d_name, SPOOL_CORE) != NULL;
        if (!id_of_name(found->d_name, entry.id) ||
            fstatat(spool->folder_fd, found->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        entry.size = file.st_size > 0 ? (uint64_t)file.st_size : 0;
        status = listing_add(&listing, &capacity, &entry);
    }
    (void)closedir(directory);
    if (status != CH_OK) {
        spool_listing_deinit(&listing);
        return status;
    }
    if (listing.count != 0)
        qsort(listing.entries, listing.count, sizeof(*listing.entries),
              compare_entries);
    if (cores)
        add_core_sizes(spool, &listing);
    *out = listing;
    return CH_OK;
}

void spool_listing_deinit(struct spool_listing *listing)
{
    free(listing->entries);
    *listing = (struct spool_listing){ 0 };
}

// abandoned is true for a temporary file that no living writer holds.
static bool abandoned(const struct spool *spool, const char *name)
{
    struct stat file;
    size_t length = strlen(name);
    int CH_CLEANUP(file_close) fd = -1;
    if (name[0] != '.' || length < 5 || strcmp(name + length - 4, ".tmp") != 0)
        return false;
    if (open_spool_file(spool, name, O_RDONLY, &fd) != CH_OK || fstat(fd, &file) != 0)
        return false;
    return time(NULL) - file.st_mtim.tv_sec >= STALE_SECONDS &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

size_t spool_sweep(const struct spool *spool)
{
    size_t count = 0;
    DIR *directory = open_directory(spool);
    if (directory == NULL)
        return 0;
    for (const struct dirent *found = readdir(directory); found != NULL;
         found = readdir(directory)) {
        if (abandoned(spool, found->d_name) &&
            unlinkat(spool->folder_fd, found->d_name, 0) == 0)
            count++;
    }
    (void)closedir(directory);
    return count;
}
