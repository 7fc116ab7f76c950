// SPDX-License-Identifier: Apache-2.0
#include "report/spool_book.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "report/report.h"

enum { BOOK_MAX_BYTES = 1 << 20, NAME_SIZE = 32 };

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static int open_lock(const struct spool *spool, const char *name, int access)
{
    return openat(spool->folder_fd, name,
                  access | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

// lock waits for whoever else writes; each does so for one small file. The lock is
// opened for reading, so that who watches the folder is not told of it as of a change;
// a network file system may want more.
static enum ch_status lock(const struct spool *spool, const char *book, int *out_fd)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%s.lock", book);
    int fd = open_lock(spool, name, O_RDONLY);
    int locked = fd >= 0 ? flock(fd, LOCK_EX) : -1;
    if (fd >= 0 && locked != 0 && errno == EBADF) {
        close_fd(&fd);
        fd = open_lock(spool, name, O_RDWR);
    }
    while (fd >= 0 && locked != 0) {
        locked = flock(fd, LOCK_EX);
        if (locked == 0 || errno == EINTR)
            continue;
        close_fd(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return fd >= 0 ? CH_OK : CH_ERR_IO;
}

json_t *spool_book_read(const struct spool *spool, const char *name)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    int CH_CLEANUP(close_fd) fd = -1;
    char file[NAME_SIZE];
    json_t *content = NULL;
    (void)snprintf(file, sizeof(file), "%s.json", name);
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
    enum ch_status status = lock(spool, name, &out->lock_fd);
    if (status != CH_OK)
        return status;
    out->content = spool_book_read(spool, name);
    return out->content != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

void spool_book_close(struct spool_book *book)
{
    json_decref(book->content);
    close_fd(&book->lock_fd);
    *book = (struct spool_book){ .lock_fd = -1 };
}

enum ch_status spool_book_write(const struct spool_book *book)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char name[NAME_SIZE];
    enum ch_status status = report_print(book->content, &bytes);
    if (status != CH_OK)
        return status;
    (void)snprintf(name, sizeof(name), "%s.json", book->name);
    return spool_write_file(book->spool, name, bytes.bytes, bytes.size);
}
