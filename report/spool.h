// SPDX-License-Identifier: Apache-2.0
//
// The spool is a folder where every report lands first: `ID.json` is a report,
// `ID.state` (spool_state.h) says which targets have it, `.ID.tmp` is a report that
// somebody is still writing and nobody else looks at.
//
// A report becomes visible by one rename, so what is visible is complete. A process
// that works on a report holds flock on the inode that ID.json names: the agent takes
// it before the rename and its descriptor goes over exec into `crashhook finish`; a
// rewrite locks the new file before it is renamed over the old one; who waited compares
// inodes after the lock. A process that dies loses its lock, and the next one takes
// over.
//
// The folder belongs to the user alone (0700): a folder of somebody else, one others
// may write to, and a symbolic link are refused. Reports that are no plain files are
// refused. The one exception is a drop folder: root's, sticky, writable and not
// readable by others (mode 1733), where everybody may leave files and nobody but root
// can list or take away those of others. Nothing here needs more than libc; nothing
// syncs but spool_replace. Users: agent, upload, cli.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "report/report_id.h"

enum spool_access {
    SPOOL_READ,  // list and read; the folder may be anybody's
    SPOOL_WRITE, // it is ours or a drop folder, and is there already
    SPOOL_CREATE // the same; missing folders on the way are made
};

struct spool {
    int folder_fd;
    bool drop; // it is a drop folder: it cannot be listed, pruned or swept from here
};

// A report in the spool, as spool_list gives it.
struct spool_entry {
    char id[REPORT_ID_SIZE];
    uint64_t size;
    int64_t modified; // seconds since 1970
};

struct spool_listing {
    struct spool_entry *entries; // oldest first
    size_t count;
};

// spool_open opens the folder at path. CH_ERR_UNSUPPORTED: it is not ours alone.
CH_CHECKED enum ch_status spool_open(const char *path, enum spool_access access,
                                     struct spool *out);

void spool_close(struct spool *spool);

// spool_why says in a few words why a function of this header returned status; errno
// must be as it left it. For the end of a message: `cannot open spool '/x': ...`.
const char *spool_why(enum ch_status status);

// spool_create makes the file that report id is to be written to, locked,
// close-on-exec. The descriptor is the lock: keep it until the report is done. To hand
// it over exec, clear FD_CLOEXEC.
CH_CHECKED enum ch_status spool_create(const struct spool *spool, const char *id,
                                       int *out_fd);

// spool_publish makes a created report visible as ID.json; the lock stays.
CH_CHECKED enum ch_status spool_publish(const struct spool *spool, const char *id);

// spool_discard removes a created report that was not published.
void spool_discard(const struct spool *spool, const char *id);

// spool_lock opens report id for reading and takes its lock without waiting. CH_ERR_IO
// with errno EWOULDBLOCK: somebody works on it. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status spool_lock(const struct spool *spool, const char *id,
                                     int *out_fd);

// spool_adopt makes sure that fd, inherited over exec, is the lock of report id.
CH_CHECKED enum ch_status spool_adopt(const struct spool *spool, const char *id,
                                      int fd);

// spool_read opens report id for reading, without a lock: what it names is complete,
// and may be replaced at any time.
CH_CHECKED enum ch_status spool_read(const struct spool *spool, const char *id,
                                     int *out_fd);

// spool_replace writes size bytes as the new report id, synced to disk, and swaps
// *lock_fd for the lock of the new file. On failure the old report and lock stay.
CH_CHECKED enum ch_status spool_replace(const struct spool *spool, const char *id,
                                        const void *bytes, size_t size, int *lock_fd);

// spool_write_file replaces the file name in the folder by size bytes, synced, through
// a temporary name: for the small files kept beside reports.
CH_CHECKED enum ch_status spool_write_file(const struct spool *spool, const char *name,
                                           const void *bytes, size_t size);

// spool_open_file opens the plain file name in the folder for reading; symbolic links
// are not followed, and a fifo does not block.
CH_CHECKED enum ch_status spool_open_file(const struct spool *spool, const char *name,
                                          int *out_fd);

// spool_list finds the reports, oldest first; spool_listing_deinit frees them. Files
// with other names are passed over.
CH_CHECKED enum ch_status spool_list(const struct spool *spool,
                                     struct spool_listing *out);
void spool_listing_deinit(struct spool_listing *listing);

// spool_remove deletes report id and its state; the caller holds its lock.
CH_CHECKED enum ch_status spool_remove(const struct spool *spool, const char *id);

// spool_sweep deletes what writers that died left behind: temporary files that nobody
// locks and nobody has touched for an hour. It returns how many.
size_t spool_sweep(const struct spool *spool);
