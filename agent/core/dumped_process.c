// SPDX-License-Identifier: Apache-2.0
#include "agent/core/dumped_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/core_file.h"
#include "base/system/file.h"
#include "formats/debug/elf.h"
#include "images/read_file.h"

enum { ENVIRONMENT_LIMIT_BYTES = 256 << 10 };

// still_has_memory returns true if a word of the thread's memory map can be read: a
// thread that has exited has none.
static bool still_has_memory(pid_t tid)
{
    char path[40];
    char byte;
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", tid);
    CH_CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, &byte, 1) == 1;
}

// find_living is the process's first thread, or another one if that has exited.
static pid_t find_living(pid_t pid, int tasks_fd)
{
    if (still_has_memory(pid))
        return pid;
    pid_t found = pid;
    DIR *tasks = fdopendir(dup(tasks_fd));
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        if (tid <= 0 || !still_has_memory(tid))
            continue;
        found = tid;
        break;
    }
    if (tasks != NULL)
        (void)closedir(tasks);
    return found;
}

// has_link_of returns true if the link of /proc/PID is the same as that of another
// process. Nothing is asked of a file system, which may be one that the process serves.
static bool has_link_of(pid_t pid, const char *link, const char *other)
{
    char path[40];
    char its[64] = { 0 };
    char others[64] = { 0 };
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, link);
    if (readlink(path, its, sizeof(its) - 1) <= 0)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%s/%s", other, link);
    return readlink(path, others, sizeof(others) - 1) > 0 && strcmp(its, others) == 0;
}

// is_in_first_root returns true if our root folder is that of the first process: as
// in a service, whose mounts are a copy of the machine's with less rights.
static bool is_in_first_root(void)
{
    struct stat ours;
    struct stat first;
    return stat("/", &ours) == 0 && stat("/proc/1/root/", &first) == 0 &&
           ours.st_dev == first.st_dev && ours.st_ino == first.st_ino;
}

// read_host reads what the machine is, and of the process's root folder only what our
// own says too.
static void read_host(struct dumped_process *out)
{
    out->our_files = has_link_of(out->tid, "root", "self") &&
                     (has_link_of(out->tid, "ns/mnt", "self") ||
                      (has_link_of(out->tid, "ns/mnt", "1") && is_in_first_root()));
    facts_read_host(&out->host, getpid(), &out->facts.cgroup);
    if (!out->our_files)
        text_clear(&out->host.os);
}

enum ch_status dumped_process_open(pid_t pid, struct dumped_process *out)
{
    char path[40];
    *out = (struct dumped_process){ .pid = pid, .memory_fd = -1, .program_fd = -1 };
    (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
    out->tasks_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->tasks_fd < 0)
        return CH_ERR_IO;
    out->tid = find_living(pid, out->tasks_fd);
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", out->tid);
    out->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->memory_fd < 0) {
        int error = errno;
        dumped_process_close(out);
        errno = error;
        return CH_ERR_IO;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", out->tid);
    out->program_fd = open(path, O_PATH | O_CLOEXEC);
    read_process_file_keep(out->tid, "maps");
    read_process_file_keep(out->tid, "auxv");
    facts_read_process(&out->facts, pid, out->tid);
    read_host(out);
    if (read_process_file(out->tid, "environ", ENVIRONMENT_LIMIT_BYTES,
                          &out->environment) == CH_ERR_IO)
        text_clear(&out->environment);
    return CH_OK;
}

void dumped_process_close(struct dumped_process *process)
{
    file_close(&process->memory_fd);
    file_close(&process->tasks_fd);
    file_close(&process->program_fd);
    facts_deinit_process(&process->facts);
    facts_deinit_host(&process->host);
    text_deinit(&process->environment);
}

// copy_exactly copies exactly size bytes.
static enum ch_status copy_exactly(int from, int to, uint64_t size)
{
    static uint8_t piece[64 << 10];
    while (size > 0) {
        size_t wanted = size < sizeof(piece) ? (size_t)size : sizeof(piece);
        ssize_t count = file_read_all(from, piece, wanted);
        if (count < 0)
            return CH_ERR_IO;
        if ((size_t)count < wanted)
            return CH_ERR_TRUNCATED;
        if (!file_write_all(to, piece, wanted))
            return CH_ERR_IO;
        size -= wanted;
    }
    return CH_OK;
}

// dumped_notes_copy relies on the order of the kernel: the program header of the notes
// is the first, and the notes follow the last one. So that tells where they end even if
// the number of program headers does not fit the ELF header.
enum ch_status dumped_notes_copy(int from, int to)
{
    uint8_t start[ELF_HEADER_SIZE + ELF_SEGMENT_SIZE];
    struct elf_header header;
    struct elf_segment notes;
    ssize_t size = file_read_all(from, start, sizeof(start));
    if (size < 0)
        return CH_ERR_IO;
    if ((size_t)size < sizeof(start))
        return CH_ERR_TRUNCATED;
    enum ch_status status = elf_read_header(start, ELF_HEADER_SIZE, &header);
    if (status != CH_OK)
        return status;
    if (header.type != ELF_CORE || !header.is_64 ||
        header.segment_offset != ELF_HEADER_SIZE)
        return CH_ERR_MALFORMED;
    status =
        elf_read_segment(&header, start + ELF_HEADER_SIZE, ELF_SEGMENT_SIZE, 0, &notes);
    if (status != CH_OK)
        return status;
    const uint64_t headers_max = (uint64_t)CORE_SEGMENTS_MAX * ELF_SEGMENT_SIZE;
    if (notes.type != ELF_PT_NOTE || notes.offset < sizeof(start) ||
        notes.offset > headers_max)
        return CH_ERR_MALFORMED;
    uint64_t notes_size = notes.file_size < CORE_NOTES_LIMIT_BYTES
                              ? notes.file_size
                              : CORE_NOTES_LIMIT_BYTES; // the last threads are left out
    if (!file_write_all(to, start, sizeof(start)))
        return CH_ERR_IO;
    return copy_exactly(from, to, notes.offset + notes_size - sizeof(start));
}
