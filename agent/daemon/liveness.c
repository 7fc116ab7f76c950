// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/liveness.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/record_file.h"
#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/rights.h"
#include "base/text.h"
#include "report/spool/spool.h"
#include "shared/start_record.h"

enum {
    COPY_BYTES = 64 << 10,
    START_RELEASE_MAX = 93,
    DAY_S = 86400,
    OTHERS_MODE = S_IRUSR | S_IWUSR,
    OURS_MODE = OTHERS_MODE | S_ISVTX,
};

void liveness_create(struct liveness *live)
{
    enum { NOEXEC_SEAL = 8 }; // of Linux 6.3; older headers lack it
    struct rlimit limit;
    char path[64];
    *live = (struct liveness){ .fd = -1, .copier = -1 };
    // The limit counts for this memory too: passing it would raise SIGXFSZ.
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < LIVENESS_LEAST_BYTES)
        return;
    live->fd = memfd_create(LIVENESS_NAME, MFD_CLOEXEC | NOEXEC_SEAL);
    if (live->fd < 0)
        live->fd = memfd_create(LIVENESS_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), live->fd);
    if (live->fd >= 0)
        (void)setenv(LIVENESS_VARIABLE, path, 1);
}

void liveness_claim(const struct liveness *live)
{
    const struct record_header header = { .magic = RECORD_MAGIC, .pid = getpid() };
    if (live->fd >= 0)
        (void)!pwrite(live->fd, &header, sizeof(header), 0);
}

void liveness_see(struct liveness *live, pid_t pid)
{
    char status[40];
    struct rights rights;
    (void)snprintf(status, sizeof(status), "/proc/%d/status", pid);
    if (live->fd < 0)
        return;
    rights_read(pid, &rights);
    if (rights.user == geteuid())
        rights_compare_capabilities(&rights);
    if (access(status, R_OK) == 0) // otherwise it may have exited meanwhile
        live->ours = rights.user == geteuid() && !rights.fewer;
    (void)fchmod(live->fd, live->ours ? OURS_MODE : OTHERS_MODE);
}

bool liveness_is_ours(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 && file.st_uid == geteuid() &&
           (file.st_mode & S_ISVTX) != 0;
}

static bool read_live_header(const struct liveness *live, struct record_header *out)
{
    return live->fd >= 0 &&
           file_read_at(live->fd, out, sizeof(*out), 0) == sizeof(*out) &&
           out->magic == RECORD_MAGIC && out->version == RECORD_VERSION;
}

bool liveness_is_filled(const struct liveness *live)
{
    struct record_header header;
    return read_live_header(live, &header);
}

bool liveness_read(const struct liveness *live, struct context_page *out)
{
    return liveness_is_filled(live) &&
           file_read_at(live->fd, out, sizeof(*out), (uint64_t)sysconf(_SC_PAGESIZE)) ==
               sizeof(*out);
}

static off_t liveness_at(size_t offset)
{
    return (off_t)((size_t)sysconf(_SC_PAGESIZE) +
                   offsetof(struct context_page, liveness) + offset);
}

void liveness_write(const struct liveness *live,
                    const struct context_liveness *liveness)
{
    const size_t from = offsetof(struct context_liveness, asked_signal);
    if (liveness_is_filled(live))
        (void)!pwrite(live->fd, (const char *)liveness + from, sizeof(*liveness) - from,
                      liveness_at(from));
}

void liveness_end(const struct liveness *live)
{
    const uint32_t ended = LIVENESS_ENDED;
    if (liveness_is_filled(live))
        (void)!pwrite(live->fd, &ended, sizeof(ended),
                      liveness_at(offsetof(struct context_liveness, ended)));
}

bool liveness_is_left(const struct liveness *live)
{
    // The kernel refuses this seal as long as there is a writable mapping.
    return fcntl(live->fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}

// copy_pages copies what has changed of the record to the file. False: the disk does
// not take it.
static bool copy_pages(int memory, int file)
{
    static char now[COPY_BYTES];
    static char before[COPY_BYTES];
    const uint64_t size = record_file_size(memory);
    struct stat is;
    if (fstat(file, &is) != 0 ||
        ((uint64_t)is.st_size != size && ftruncate(file, (off_t)size) != 0))
        return false;
    // Most of the flight recorder's rings are holes.
    off_t at = 0;
    while ((at = lseek(memory, at, SEEK_DATA)) >= 0 && (uint64_t)at < size) {
        size_t left = (size_t)(size - (uint64_t)at);
        size_t count = file_read_at(
            memory, now, left < sizeof(now) ? left : sizeof(now), (uint64_t)at);
        size_t same = file_read_at(file, before, count, (uint64_t)at);
        if ((same != count || memcmp(now, before, count) != 0) &&
            pwrite(file, now, count, at) != (ssize_t)count)
            return false;
        at += (off_t)count;
    }
    return true;
}

// open_copy opens and locks our copy in the spool; -1: there is none.
static int open_copy(const struct spool *spool, const char *name)
{
    struct stat file;
    int fd =
        openat(spool->folder_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &file) != 0 || file.st_nlink != 1 ||
                    file.st_uid != geteuid() || !spool_hold_record(spool, name, fd)))
        file_close(&fd);
    return fd;
}

// copy_to_spool makes the file in the spool and returns it, locked. What does not fit
// on the disk is missing at the end; so a copy that is there is corrected in its place.
// -1: nothing fits.
static int copy_to_spool(const struct liveness *live, const struct spool *spool)
{
    char name[SPOOL_LIVENESS_NAME_SIZE];
    char temporary[SPOOL_LIVENESS_NAME_SIZE + 8];
    struct record_header header;
    if (!read_live_header(live, &header))
        return -1;
    spool_liveness_name(header.page.crash_realtime_ns, header.pid, name);
    int fd = open_copy(spool, name);
    if (fd >= 0 && fchmod(fd, live->ours ? OURS_MODE : OTHERS_MODE) == 0) {
        (void)copy_pages(live->fd, fd);
        return fd;
    }
    file_close(&fd);
    (void)snprintf(temporary, sizeof(temporary), ".%s.tmp", name);
    (void)unlinkat(spool->folder_fd, temporary, 0);
    fd = openat(spool->folder_fd, temporary,
                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fchmod(fd, live->ours ? OURS_MODE : OTHERS_MODE) == 0 &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        (copy_pages(live->fd, fd) ||
         liveness_is_filled(&(const struct liveness){ .fd = fd })) &&
        renameat(spool->folder_fd, temporary, spool->folder_fd, name) == 0)
        return fd;
    if (fd >= 0)
        (void)unlinkat(spool->folder_fd, temporary, 0);
    file_close(&fd);
    return -1;
}

static bool open_live_spool(const char *path, struct spool *out)
{
    if (spool_open(path, SPOOL_CREATE, out) != CH_OK)
        return false;
    if (!out->drop) // there nobody would look for it
        return true;
    spool_close(out);
    return false;
}

void liveness_close_others(struct liveness *live)
{
    enum { FIRST = STDERR_FILENO + 1 };
    // Above the numbers that they are to get, so that neither takes the other's.
    int memory = live->fd >= 0 ? fcntl(live->fd, F_DUPFD, FIRST + 2) : -1;
    int copier = live->copier >= 0 ? fcntl(live->copier, F_DUPFD, FIRST + 2) : -1;
    live->fd = memory >= 0 ? dup3(memory, FIRST, O_CLOEXEC) : -1;
    live->copier = copier >= 0 ? dup3(copier, FIRST + 1, O_CLOEXEC) : -1;
    if (live->fd < 0)
        (void)close(FIRST);
    if (live->copier < 0)
        (void)close(FIRST + 1);
    (void)syscall(SYS_close_range, FIRST + 2, ~0u, 0);
}

// begin_aside prepares a forked process that may hang: it holds nothing of others, and
// no limit on the size of files ends it.
static void begin_aside(struct liveness *live)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
        (void)dup2(null, fd);
    liveness_close_others(live);
}

__attribute__((noreturn)) static void copy_for_ever(struct liveness *live,
                                                    const char *path, pid_t parent)
{
    const struct timespec pause = { .tv_sec = 1 };
    // A shared mapping would count for liveness_is_left.
    const struct context_page *context =
        mmap(NULL, sizeof(*context), PROT_READ, MAP_PRIVATE, live->fd,
             sysconf(_SC_PAGESIZE));
    const uint32_t *ended = &context->liveness.ended;
    struct spool spool = { .folder_fd = -1 };
    int file = -1;
    begin_aside(live);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent && context != MAP_FAILED) {
        uint32_t how = __atomic_load_n(ended, __ATOMIC_SEQ_CST);
        if (spool.folder_fd < 0 && !open_live_spool(path, &spool))
            spool.folder_fd = -1;
        if (file >= 0 &&
            fchmod(file, liveness_is_ours(live->fd) ? OURS_MODE : OTHERS_MODE) == 0)
            (void)copy_pages(live->fd, file);
        else if (spool.folder_fd >= 0 && how % LIVENESS_SIGNAL != LIVENESS_ENDED)
            file = copy_to_spool(live, &spool);
        if (how == LIVENESS_AWAITS) { // it may do so again before this process sleeps
            const struct liveness copied = { .fd = live->fd, .ours = live->ours };
            (void)liveness_store(&copied, path, false);
            file_close(&file);
            liveness_end(live);
            how = LIVENESS_ENDED;
            (void)syscall(SYS_futex, ended, FUTEX_WAKE, INT32_MAX, NULL);
        }
        (void)syscall(SYS_futex, ended, FUTEX_WAIT, how, &pause);
    }
    _exit(0);
}

static void start_copier(struct liveness *live, const char *path)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        copy_for_ever(live, path, parent);
    if (pid > 0)
        live->copier = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pid > 0 && live->copier < 0) // nobody could end it
        (void)kill(pid, SIGKILL);
}

// count_start appends a record to the file of its day. A release whose name does not
// fit is not counted.
static void count_start(const struct settings *settings, const char *path,
                        uint64_t session, enum start_kind kind)
{
    const uint64_t now_s = clock_now_ns(CLOCK_REALTIME) / 1000000000;
    const struct start_record record = { session, (uint32_t)now_s, kind };
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct spool CH_CLEANUP(spool_close) spool = { .folder_fd = -1 };
    int CH_CLEANUP(file_close) fd = -1;
    struct stat file;
    const char *release = settings->release != NULL ? settings->release : "";
    if (strlen(release) > START_RELEASE_MAX ||
        spool_open(path, SPOOL_CREATE, &spool) != CH_OK)
        return;
    text_appendf(&name, START_PREFIX "%08x-", (unsigned)(now_s / DAY_S));
    for (; *release != 0; release++)
        text_appendf(&name, "%02x", (unsigned char)*release);
    text_append_string(&name, START_SUFFIX);
    if (text_ok(&name))
        fd = openat(spool.folder_fd, name.bytes,
                    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    0600);
    // Where others may write to the folder, it may be a link to a file of ours.
    if (fd >= 0 && fstat(fd, &file) == 0 && file.st_nlink == 1)
        (void)!write(fd, &record, sizeof(record));
}

void liveness_count(struct liveness *live, const struct settings *settings,
                    const char *path)
{
    struct context_page context;
    if (!liveness_read(live, &context) || context.session == 0)
        return;
    if (!live->counted)
        count_start(settings, path, context.session, START_BEGUN);
    live->counted = true;
    if (context.liveness.session_ended != 0)
        count_start(settings, path, context.session, START_ENDED);
}

void liveness_look(struct liveness *live, const struct settings *settings,
                   const char *path, bool copies)
{
    struct context_page context;
    if (!liveness_read(live, &context))
        return;
    if (copies && live->copier < 0)
        start_copier(live, path);
    if (live->counted || context.session == 0 || context.liveness.session_ended != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        begin_aside(live);
        count_start(settings, path, context.session, START_BEGUN);
        _exit(0);
    }
    live->counted = pid > 0;
}

bool liveness_stop_copier(struct liveness *live, int most_ms)
{
    struct pollfd end = { .fd = live->copier, .events = POLLIN };
    if (live->copier < 0)
        return true;
    (void)syscall(SYS_pidfd_send_signal, live->copier, SIGKILL, NULL, 0);
    return poll(&end, 1, most_ms) == 1;
}

bool liveness_store(const struct liveness *live, const char *path, bool keep)
{
    char name[SPOOL_LIVENESS_NAME_SIZE];
    struct record_header header;
    struct spool spool = { .folder_fd = -1 };
    int fd = -1;
    if (!read_live_header(live, &header) || !open_live_spool(path, &spool))
        return false;
    spool_liveness_name(header.page.crash_realtime_ns, header.pid, name);
    if (!keep) { // but its last words are reported with it
        char words[SPOOL_LIVENESS_NAME_SIZE];
        spool_words_name(header.page.crash_realtime_ns, header.pid, words);
        keep = faccessat(spool.folder_fd, words, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    if (keep)
        fd = copy_to_spool(live, &spool);
    else if (live->copier >= 0)
        (void)unlinkat(spool.folder_fd, name, 0);
    bool stored = fd >= 0;
    file_close(&fd);
    spool_close(&spool);
    return stored;
}

void liveness_deinit(struct liveness *live)
{
    file_close(&live->fd);
    file_close(&live->copier);
}
