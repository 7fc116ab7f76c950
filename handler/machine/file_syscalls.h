// SPDX-License-Identifier: Apache-2.0
//
// The crash path's system calls on files, for writing a record. They are made as those
// in syscalls.h are.
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

// sys_length is strlen.
static inline size_t sys_length(const char *text)
{
    size_t length = 0;
    while (text[length] != 0)
        length++;
    return length;
}

// sys_exists returns true if the file is there.
static inline bool sys_exists(const char *path)
{
    return machine_call3(SYS_faccessat, AT_FDCWD, (long)path, 0 /* F_OK */) == 0;
}

// sys_executes returns true if the file may be executed by the real user.
static inline bool sys_executes(const char *path)
{
    return machine_call3(SYS_faccessat, AT_FDCWD, (long)path, 1 /* X_OK */) == 0;
}

// sys_create creates the file name in folder; it must not exist.
static inline int sys_create(int folder, const char *name)
{
    enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    return (int)machine_call4(SYS_openat, folder, (long)name, FLAGS, 0600);
}

static inline void sys_make_folder(const char *path)
{
    machine_call3(SYS_mkdirat, AT_FDCWD, (long)path, 0700);
}

static inline long sys_rename(int folder, const char *from, const char *to)
{
    return machine_call(SYS_renameat2, folder, (long)from, folder, (long)to, 0);
}

static inline void sys_unlink(int folder, const char *name)
{
    machine_call3(SYS_unlinkat, folder, (long)name, 0);
}

static inline long sys_status(int fd, struct stat *out)
{
    return machine_call2(SYS_fstat, fd, (long)out);
}

// sys_status_at is sys_status of the file at path, with the flags of fstatat(2).
static inline long sys_status_at(const char *path, struct stat *out, int flags)
{
    return machine_call4(SYS_newfstatat, AT_FDCWD, (long)path, (long)out, flags);
}

static inline long sys_readlink(const char *path, char *to, size_t size)
{
    return machine_call4(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, (long)size);
}

static inline long sys_read(int fd, void *to, size_t length)
{
    return machine_call3(SYS_read, fd, (long)to, (long)length);
}

static inline long sys_read_at(int fd, void *to, size_t length, uint64_t offset)
{
    return machine_call4(SYS_pread64, fd, (long)to, (long)length, (long)offset);
}

// sys_write_at writes the bytes at address, which may be unmapped: the result is then
// short, or -EFAULT. So it is where the disk is full, or where the file would grow past
// RLIMIT_FSIZE, for which the kernel would raise SIGXFSZ.
static inline long sys_write_at(int fd, uint64_t address, size_t length,
                                uint64_t offset)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    sys_limit(RLIMIT_FSIZE, NULL, &limit);
    if (offset >= limit.rlim_cur)
        return 0;
    if (length > limit.rlim_cur - offset)
        length = limit.rlim_cur - offset;
    return machine_call4(SYS_pwrite64, fd, (long)address, (long)length, (long)offset);
}

static inline void sys_truncate(int fd, uint64_t size)
{
    machine_call2(SYS_ftruncate, fd, (long)size);
}

static inline void sys_write(int fd, const void *bytes, size_t length)
{
    machine_call3(SYS_write, fd, (long)bytes, (long)length);
}

// sys_memory_file makes a memfd that can be sealed, and that nobody may execute where
// the kernel knows that flag.
static inline int sys_memory_file(const char *name)
{
    enum { CLOEXEC = 1, SEALING = 2, NOEXEC_SEAL = 8 };
    long fd = machine_call2(SYS_memfd_create, (long)name, CLOEXEC | NOEXEC_SEAL);
    if (fd < 0)
        fd = machine_call2(SYS_memfd_create, (long)name, CLOEXEC | SEALING);
    return (int)fd;
}

// sys_allocate gives the first size bytes of the file their memory or disk space, and
// makes the file at least as large.
static inline long sys_allocate(int fd, uint64_t size)
{
    return machine_call4(SYS_fallocate, fd, 0, 0, (long)size);
}

// sys_seals is the seals of a memfd, negative for any other file; sys_seal adds some.
static inline long sys_seals(int fd)
{
    return machine_call3(SYS_fcntl, fd, F_GET_SEALS, 0);
}

static inline long sys_seal(int fd, int seals)
{
    return machine_call3(SYS_fcntl, fd, F_ADD_SEALS, seals);
}

// sys_file_flags is the flags that fd was opened with (O_APPEND and the like).
static inline long sys_file_flags(int fd)
{
    return machine_call3(SYS_fcntl, fd, F_GETFL, 0);
}
