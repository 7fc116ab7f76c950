// SPDX-License-Identifier: Apache-2.0
//
// The spool is a folder where every report is written first: `ID.json` is a report,
// `ID.state` (spool_state.h) says which targets have it, `.ID.tmp` is a report that a
// process is still writing and no other process reads. `ID.core` and `ID.core.zst` are
// cores of the same crash, which stay on this machine and are removed with the report.
//
// A report becomes visible by one rename or link, so any visible report is complete. A
// process that works on a report holds flock on the inode that ID.json names: the agent
// takes the lock before that, and its descriptor is passed through exec to `crashhook
// finish`; a rewrite locks the new file before it is renamed over the old one; a
// process that waited compares inodes after it got the lock. A process that dies loses
// its lock, and the next one takes over.
//
// The folder belongs to the user alone (0700): a folder of another user, one that
// others may write to, and a symbolic link are refused. Reports that are not regular
// files are refused. The one exception is a drop folder: root's, sticky, writable but
// not readable by others (mode 1733), where everybody may leave files and only root can
// list or remove those of others. Nothing here needs more than libc; only spool_replace
// syncs. Users: agent, upload, cli.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/settings/settings.h"
#include "base/status.h"
#include "report/file/report_id.h"

#define SPOOL_CORE ".core"
#define SPOOL_FULL_CORE ".core.zst"

enum spool_access {
    SPOOL_READ,  // list and read; it may be another user's folder
    SPOOL_WRITE, // it must exist, and be ours or a drop folder
    SPOOL_CREATE // the same, but missing folders of the path are created
};

struct spool {
    int folder_fd;
    bool drop; // it is a drop folder: we cannot list, prune or sweep it
};

// spool_entry is a report in the spool, as spool_list returns it.
struct spool_entry {
    char id[REPORT_ID_SIZE];
    uint64_t size; // with its cores
};

struct spool_listing {
    struct spool_entry *entries; // oldest first
    size_t count;
};

// spool_open opens the folder at path. CH_ERR_UNSUPPORTED: it does not belong to us
// alone.
CH_CHECKED enum ch_status spool_open(const char *path, enum spool_access access,
                                     struct spool *out);

void spool_close(struct spool *spool);

// spool_why reports in a few words why a function of this header returned status; errno
// must still be the one it set. For the end of a message: `cannot open spool '/x':
// ...`.
const char *spool_why(enum ch_status status);

// spool_create creates the file for report id, locked and close-on-exec. The descriptor
// is the lock: keep it until the report is done. To pass it through exec, clear
// FD_CLOEXEC.
CH_CHECKED enum ch_status spool_create(const struct spool *spool, const char *id,
                                       int *out_fd);

// spool_prepare creates a file without a name, locked and close-on-exec, which
// spool_publish_prepared makes report id once it is written: creating a file is most of
// the time that a small report takes. Either fails where the file system cannot do
// that, or where the folder is another one by then; spool_create is the way then.
CH_CHECKED enum ch_status spool_prepare(const struct spool *spool, int *out_fd);
CH_CHECKED enum ch_status spool_publish_prepared(const struct spool *spool,
                                                 const char *id, int fd);

// spool_publish makes a created report visible as ID.json; the lock stays.
CH_CHECKED enum ch_status spool_publish(const struct spool *spool, const char *id);

// spool_discard removes a created report that was not published.
void spool_discard(const struct spool *spool, const char *id);

// spool_lock opens report id for reading and takes its lock without waiting. CH_ERR_IO
// with errno EWOULDBLOCK: another process works on it. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status spool_lock(const struct spool *spool, const char *id,
                                     int *out_fd);

// spool_adopt verifies that fd, inherited through exec, is the lock of report id.
CH_CHECKED enum ch_status spool_adopt(const struct spool *spool, const char *id,
                                      int fd);

// spool_read opens report id for reading, without a lock: the file is complete, but may
// be replaced at any time.
CH_CHECKED enum ch_status spool_read(const struct spool *spool, const char *id,
                                     int *out_fd);

// spool_replace writes size bytes as the new report id, synced to disk, and replaces
// *lock_fd by the lock of the new file. On failure the old report and lock stay.
CH_CHECKED enum ch_status spool_replace(const struct spool *spool, const char *id,
                                        const void *bytes, size_t size, int *lock_fd);

// spool_replace_sent does the same and does not wait for the disk: were the machine to
// crash now, the report might be lost. That is for a report that has arrived where it
// was to go.
CH_CHECKED enum ch_status spool_replace_sent(const struct spool *spool, const char *id,
                                             const void *bytes, size_t size,
                                             int *lock_fd);

// spool_write_file replaces the file name in the folder by size bytes, through a
// temporary name: for the small files next to reports. It is not synced: were the
// machine to lose one, a report would be sent again, under the id that it had.
CH_CHECKED enum ch_status spool_write_file(const struct spool *spool, const char *name,
                                           const void *bytes, size_t size);

// spool_open_file opens the regular file name in the folder for reading; symbolic links
// are not followed, and a FIFO does not block.
CH_CHECKED enum ch_status spool_open_file(const struct spool *spool, const char *name,
                                          int *out_fd);

// spool_list finds the reports, oldest first; spool_listing_deinit frees them. Files
// with other names are ignored.
CH_CHECKED enum ch_status spool_list(const struct spool *spool,
                                     struct spool_listing *out);
void spool_listing_deinit(struct spool_listing *listing);

// spool_remove deletes report id and its state; the caller holds its lock.
CH_CHECKED enum ch_status spool_remove(const struct spool *spool, const char *id);

// spool_sweep deletes what writers that died left: temporary files that nobody has
// locked or modified for an hour. It returns how many.
size_t spool_sweep(const struct spool *spool);

// The folders that a report may be written to, in the order in which they are tried.
//
// A program that gave up its user after its start can seldom write to the spool it was
// started with. What it leaves in the drop folder is collected by root (collect.h); the
// folder in /tmp belongs to the user, and is refused if it does not. The handler's
// record takes the same path (handler/crash/crash_spool.c), but is never left in
// memory: that place is for a container whose root is read-only and that has no volume.

enum spool_place {
    SPOOL_PLACE_CONFIGURED, // the one that settings and variables name
    SPOOL_PLACE_DROP,       // SETTINGS_DROP_FOLDER
    SPOOL_PLACE_TEMPORARY,  // SETTINGS_OWN_FOLDER and the user's number
    SPOOL_PLACE_MEMORY,     // SETTINGS_MEMORY_FOLDER likewise, if reports are sent
    SPOOL_PLACES
};

// spool_place_path writes the path of a place. CH_ERR_NOT_FOUND: no variable names a
// configured one, or a URL to send to.
CH_CHECKED enum ch_status spool_place_path(enum spool_place place,
                                           const struct settings *settings,
                                           settings_get_fn *get,
                                           char path[static PATH_MAX]);

// spool_place_of_user writes the path of a user's SPOOL_PLACE_TEMPORARY.
void spool_place_of_user(uid_t user, char path[static PATH_MAX]);

// spool_place_open opens a place for writing; it never creates the drop folder.
CH_CHECKED enum ch_status spool_place_open(enum spool_place place, const char *path,
                                           struct spool *out);

// Records in the spool: `crash-*.record`, which the handler of a crashed program leaves
// there when no agent wrote a report (shared/record_file.h).
//
// The next process that works with the spool converts them into reports. It holds flock
// on the record, so that two processes never make two reports of one record.
//
// `life-*.record` is a copy of a program's liveness record, for the case that its
// supervisor is killed with it; as long as that lives, it holds the lock.
// `last-*.record` are the last words of a program that exits by a panic or an exception
// (cli/session/exit_words.h).

// SPOOL_LIVENESS_NAME_SIZE is for the name of a liveness record.
enum { SPOOL_LIVENESS_NAME_SIZE = 48 };

// spool_record_fn makes a report of the record that is open as fd. True: it is done,
// and the record is deleted.
typedef bool spool_record_fn(void *context, const char *name, int fd);

// spool_is_record returns true if name is that of a record.
bool spool_is_record(const char *name);

// spool_liveness_name writes the name of a liveness record: that of a process, by its
// start in clock ticks.
void spool_liveness_name(uint64_t start_ticks, int32_t pid,
                         char out[static SPOOL_LIVENESS_NAME_SIZE]);

// spool_is_words returns true if name is that of last words, and spool_words_process
// gives the process, or thread, that it names. spool_words_name writes the name.
bool spool_is_words(const char *name);
bool spool_words_process(const char *name, uint64_t *out_start_ticks, int32_t *out_pid);
void spool_words_name(uint64_t start_ticks, int32_t pid,
                      char out[static SPOOL_LIVENESS_NAME_SIZE]);

// spool_hold_record locks the record on fd. False: another process has it, or the name
// is that of another file by now, or of none.
bool spool_hold_record(const struct spool *spool, const char *name, int fd);

// spool_take_record passes one record on like this; false: it does not exist, or
// another process works on it.
bool spool_take_record(const struct spool *spool, const char *name,
                       spool_record_fn *take, void *context);

// spool_take_records passes every record that no other process works on to take, lives
// last, after words. It fails only if the folder cannot be read.
CH_CHECKED enum ch_status spool_take_records(const struct spool *spool,
                                             spool_record_fn *take, void *context);
