// SPDX-License-Identifier: Apache-2.0
#include "cli/run/stderr_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/system/file.h"

enum {
    RING_BYTES = 64 << 10,
    PIECE_BYTES = RING_BYTES,
    IDLE_LOOKS = 3, // how often in a row the relay must have nothing to do
    IDLE_MS = 2,
    WAIT_LOOKS = 1000,
};

// stderr_ring is shared with the relay.
struct stderr_ring {
    uint64_t written; // bytes so far; the last RING_BYTES are kept
    uint32_t busy;    // the relay has read what it has not written yet
    char bytes[RING_BYTES];
};

static void keep_piece(struct stderr_ring *ring, const char *bytes, size_t size)
{
    size_t at = (size_t)(ring->written % RING_BYTES);
    size_t first = size < RING_BYTES - at ? size : RING_BYTES - at;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, size - first);
    __atomic_store_n(&ring->written, ring->written + size, __ATOMIC_RELEASE);
}

// relay passes on until nobody can write any more. A terminal's end of file is EIO.
__attribute__((noreturn)) static void relay(struct stderr_ring *ring, int from)
{
    static char piece[PIECE_BYTES];
    ssize_t count;
    while ((count = read(from, piece, sizeof(piece))) > 0 ||
           (count < 0 && errno == EINTR)) {
        if (count < 0)
            continue;
        __atomic_store_n(&ring->busy, 1, __ATOMIC_SEQ_CST);
        keep_piece(ring, piece, (size_t)count);
        bool passed = file_write_all(STDERR_FILENO, piece, (size_t)count);
        __atomic_store_n(&ring->busy, 0, __ATOMIC_SEQ_CST);
        if (!passed) // then the program is to hear of it
            break;
    }
    _exit(0);
}

// open_terminal makes a terminal like standard error, which changes nothing of what is
// written to it.
static bool open_terminal(struct stderr_tail *tail)
{
    struct termios modes;
    struct winsize size;
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0)
        return false;
    int program = open(ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (program < 0) {
        (void)close(ours);
        return false;
    }
    if (tcgetattr(STDERR_FILENO, &modes) == 0) {
        modes.c_oflag &= ~(tcflag_t)OPOST;
        (void)tcsetattr(program, TCSANOW, &modes);
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
        (void)ioctl(program, TIOCSWINSZ, &size);
    tail->program_fd = program;
    tail->relay_fd = ours;
    return true;
}

static bool open_ends(struct stderr_tail *tail)
{
    int ends[2];
    if (isatty(STDERR_FILENO))
        return open_terminal(tail);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    tail->relay_fd = ends[0];
    tail->program_fd = ends[1];
    return true;
}

enum ch_status stderr_tail_begin(struct stderr_tail *tail)
{
    *tail = (struct stderr_tail){ .program_fd = -1, .relay_fd = -1 };
    void *ring = mmap(NULL, sizeof(*tail->ring), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    if (!open_ends(tail)) {
        (void)munmap(ring, sizeof(*tail->ring));
        return CH_ERR_IO;
    }
    tail->ring = ring;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(tail->program_fd);
        relay(tail->ring, tail->relay_fd);
    }
    return pid > 0 ? CH_OK : CH_ERR_IO;
}

void stderr_tail_use(const struct stderr_tail *tail)
{
    if (tail->program_fd >= 0)
        (void)dup2(tail->program_fd, STDERR_FILENO);
}

void stderr_tail_started(struct stderr_tail *tail)
{
    file_close(&tail->program_fd);
}

// is_idle returns true if the relay has nothing to pass on at this moment.
static bool is_idle(const struct stderr_tail *tail)
{
    int waiting = 0;
    return ioctl(tail->relay_fd, FIONREAD, &waiting) == 0 && waiting == 0 &&
           __atomic_load_n(&tail->ring->busy, __ATOMIC_SEQ_CST) == 0;
}

void stderr_tail_read(struct stderr_tail *tail, struct text *out)
{
    if (tail->ring == NULL)
        return;
    for (int i = 0, idle = 0; i < WAIT_LOOKS && idle < IDLE_LOOKS; i++) {
        idle = is_idle(tail) ? idle + 1 : 0;
        (void)poll(NULL, 0, IDLE_MS);
    }
    uint64_t end = __atomic_load_n(&tail->ring->written, __ATOMIC_ACQUIRE);
    uint64_t start = end > RING_BYTES ? end - RING_BYTES : 0;
    for (uint64_t at = start; at < end; at++)
        text_append(out, &tail->ring->bytes[at % RING_BYTES], 1);
}
