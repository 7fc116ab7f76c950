// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_book.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/own_user.h"
#include "report/json/json_tree.h"

// IN_PLACE_BYTES is what the kernel writes whole even for a process that is killed: a
// page.
enum { BOOK_MAX_BYTES = 1 << 20, NAME_SIZE = 48, IN_PLACE_BYTES = 4096 };

// book_file writes the name of one of a book's files. In a drop folder each user has
// its own books.
static void book_file(const struct spool *spool, const char *book, const char *ending,
                      char name[static NAME_SIZE])
{
    if (spool->drop)
        (void)snprintf(name, NAME_SIZE, "%.20s-%u.%s", book, own_user(), ending);
    else
        (void)snprintf(name, NAME_SIZE, "%.30s.%s", book, ending);
}

static int open_lock(const struct spool *spool, const char *name, int access)
{
    struct stat file;
    int fd = openat(spool->folder_fd, name,
                    access | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    // In a drop folder another user may have created the file first, to keep us
    // waiting.
    if (fd >= 0 && spool->drop &&
        (fstat(fd, &file) != 0 || file.st_uid != own_user())) {
        (void)close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

// lock_book waits for other writers, each of which writes one small file. The lock file
// is opened for reading, because closing a writable descriptor would notify watchers of
// the folder of a change; on a network file system a lock may require write access
// (EBADF, flock(2)).
static enum ch_status lock_book(const struct spool *spool, const char *book,
                                int *out_fd)
{
    char name[NAME_SIZE];
    book_file(spool, book, "lock", name);
    int fd = open_lock(spool, name, O_RDONLY);
    int locked = fd >= 0 ? flock(fd, LOCK_EX) : -1;
    if (fd >= 0 && locked != 0 && errno == EBADF) {
        file_close(&fd);
        fd = open_lock(spool, name, O_RDWR);
    }
    while (fd >= 0 && locked != 0) {
        locked = flock(fd, LOCK_EX);
        if (locked == 0 || errno == EINTR)
            continue;
        file_close(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return fd >= 0 ? CH_OK : CH_ERR_IO;
}

json_t *spool_book_read(const struct spool *spool, const char *name)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    int CH_CLEANUP(file_close) fd = -1;
    char file[NAME_SIZE];
    json_t *content = NULL;
    book_file(spool, name, "json", file);
    if (spool_open_file(spool, file, &fd) == CH_OK &&
        text_read(&bytes, fd, BOOK_MAX_BYTES) == CH_OK && bytes.size != 0)
        content = json_loadb(bytes.bytes, bytes.size, 0, NULL);
    if (json_is_object(content))
        return content;
    json_decref(content);
    return json_object();
}

enum ch_status spool_book_open(const struct spool *spool, const char *name,
                               struct spool_book *out)
{
    *out = (struct spool_book){ .spool = spool, .name = name, .lock_fd = -1 };
    enum ch_status status = lock_book(spool, name, &out->lock_fd);
    if (status != CH_OK)
        return status;
    out->content = spool_book_read(spool, name);
    return out->content != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

void spool_book_close(struct spool_book *book)
{
    json_decref(book->content);
    file_close(&book->lock_fd);
    *book = (struct spool_book){ .lock_fd = -1 };
}

enum ch_status spool_book_write(const struct spool_book *book)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char name[NAME_SIZE];
    enum ch_status status = json_tree_print(book->content, &bytes);
    if (status != CH_OK)
        return status;
    book_file(book->spool, book->name, "json", name);
    return spool_write_file(book->spool, name, bytes.bytes, bytes.size);
}

// overwrite_book writes the bytes over a book's file. False: it is not one that can
// take them, and is unchanged.
static bool overwrite_book(const struct spool *spool, const char *name,
                           const struct text *bytes)
{
    struct stat file;
    int CH_CLEANUP(file_close) fd =
        openat(spool->folder_fd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
           file.st_nlink == 1 && file.st_uid == own_user() &&
           file.st_size == (off_t)bytes->size &&
           pwrite(fd, bytes->bytes, bytes->size, 0) == (ssize_t)bytes->size;
}

enum ch_status spool_book_update(const struct spool_book *book)
{
    char blanks[IN_PLACE_BYTES];
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char name[NAME_SIZE];
    enum ch_status status = json_tree_print(book->content, &bytes);
    if (status != CH_OK)
        return status;
    if (bytes.size < IN_PLACE_BYTES) {
        size_t rest = IN_PLACE_BYTES - bytes.size;
        memset(blanks, '\n', rest);
        text_append(&bytes, blanks, rest);
    }
    if (!text_ok(&bytes))
        return CH_ERR_NO_MEMORY;
    book_file(book->spool, book->name, "json", name);
    if (bytes.size == IN_PLACE_BYTES && overwrite_book(book->spool, name, &bytes))
        return CH_OK;
    return spool_write_file(book->spool, name, bytes.bytes, bytes.size);
}
