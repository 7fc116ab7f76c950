// SPDX-License-Identifier: Apache-2.0
//
// The system calls of the crash path, and all that it may call other than itself.
//
// Each is the kernel's call of that name, made without libc: no errno, no cancellation
// point, no cached pid, no interposed wrapper. A failure is a negative errno value.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "handler/machine/machine.h"
#include "handler/machine/signal_syscalls.h"

static inline int32_t sys_getppid(void)
{
    return (int32_t)machine_call0(SYS_getppid);
}

static inline uint32_t sys_getuid(void)
{
    return (uint32_t)machine_call0(SYS_getuid);
}

static inline uint32_t sys_geteuid(void)
{
    return (uint32_t)machine_call0(SYS_geteuid);
}

// sys_own_group puts this process into a process group of its own.
static inline void sys_own_group(void)
{
    machine_call2(SYS_setpgid, 0, 0);
}

// Calls made from many places are functions in syscalls.c.
#pragma GCC visibility push(hidden)

// sys_read_number reads a decimal number of a file that the kernel writes, after
// spaces, and leaves *at behind it.
uint64_t sys_read_number(const char **at);

long sys_prctl(int option, unsigned long value);

// sys_clock_ns is the clock's time in nanoseconds.
uint64_t sys_clock_ns(clockid_t clock);

// sys_futex_wait sleeps while word has value, for at most ns nanoseconds; the kernel
// may wake the word too.
long sys_futex_wait(uint32_t *word, uint32_t value, uint64_t ns);

// sys_poll waits at most ns nanoseconds for an event.
long sys_poll(struct pollfd *watched, unsigned count, uint64_t ns);

// sys_exit_group ends the process; by a signal where a filter refuses the call.
__attribute__((noreturn)) void sys_exit_group(int status);

#pragma GCC visibility pop

// sys_processor writes the number of the processor that this thread runs on.
static inline void sys_processor(unsigned *out)
{
    machine_call3(SYS_getcpu, (long)out, 0, 0);
}

// sys_processors reads the set of those it may run on and returns the size of that;
// sys_stay_on replaces it.
static inline long sys_processors(void *out, size_t size)
{
    return machine_call3(SYS_sched_getaffinity, 0, (long)size, (long)out);
}

static inline void sys_stay_on(const void *processors, size_t size)
{
    machine_call3(SYS_sched_setaffinity, 0, (long)size, (long)processors);
}

static inline int sys_pidfd_open(int32_t pid)
{
    return (int)machine_call2(SYS_pidfd_open, pid, 0);
}

static inline void sys_pidfd_send_signal(int pidfd, int signal)
{
    machine_call4(SYS_pidfd_send_signal, pidfd, signal, 0, 0);
}

// sys_wait reaps the child pid, cloned or forked.
static inline long sys_wait(int32_t pid, int options)
{
    return machine_call4(SYS_wait4, pid, 0, options | 0x40000000 /* __WALL */, 0);
}

static inline void sys_futex_wake_all(uint32_t *word)
{
    machine_call4(SYS_futex, (long)word, 1 /* FUTEX_WAKE */, INT32_MAX, 0);
}

static inline long sys_socketpair(int *out_ends)
{
    return machine_call4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
                         (long)out_ends);
}

// sys_send_pieces writes bytes to a socket, without raising SIGPIPE. If some bytes are
// unmapped, the whole call fails, up to some pages.
static inline long sys_send_pieces(int fd, struct iovec *pieces, size_t count)
{
    struct msghdr message = { .msg_iov = pieces, .msg_iovlen = count };
    return machine_call3(SYS_sendmsg, fd, (long)&message, MSG_NOSIGNAL);
}

static inline long sys_send(int fd, void *bytes, size_t length)
{
    struct iovec piece = { bytes, length };
    return sys_send_pieces(fd, &piece, 1);
}

// sys_log_socket makes a socket for messages to the log daemon.
static inline int sys_log_socket(void)
{
    return (int)machine_call3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

// sys_send_to sends bytes to an address if its queue has room.
static inline long sys_send_to(int fd, void *bytes, size_t length, void *place,
                               size_t place_size)
{
    struct iovec piece = { bytes, length };
    struct msghdr message = { .msg_name = place,
                              .msg_namelen = (socklen_t)place_size,
                              .msg_iov = &piece,
                              .msg_iovlen = 1 };
    return machine_call3(SYS_sendmsg, fd, (long)&message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// sys_receive reads what has arrived on a socket and never waits.
static inline long sys_receive(int fd, void *to, size_t length)
{
    return machine_call(SYS_recvfrom, fd, (long)to, (long)length, MSG_DONTWAIT, 0);
}

static inline int sys_open(const char *path, int flags)
{
    return (int)machine_call3(SYS_openat, AT_FDCWD, (long)path, flags);
}

static inline void sys_close(int fd)
{
    machine_call1(SYS_close, fd);
}

static inline long sys_close_range(unsigned first, unsigned last)
{
    return machine_call3(SYS_close_range, first, last, 0);
}

static inline long sys_dup(int fd)
{
    return machine_call1(SYS_dup, fd);
}

static inline long sys_dup_to(int fd, int wanted)
{
    return machine_call3(SYS_dup3, fd, wanted, 0);
}

static inline void sys_keep_at_exec(int fd)
{
    machine_call3(SYS_fcntl, fd, 2 /* F_SETFD */, 0);
}

static inline long sys_unshare(int flags)
{
    return machine_call1(SYS_unshare, flags);
}

// sys_limit reads a resource's limit into out_old and sets it to limit.
__attribute__((visibility("hidden"))) long
sys_limit(int resource, const struct rlimit *limit, struct rlimit *out_old);

static inline long sys_mprotect(void *address, size_t length, int protection)
{
    return machine_call3(SYS_mprotect, (long)address, (long)length, protection);
}

static inline void sys_munmap(void *address, size_t length)
{
    machine_call3(SYS_munmap, (long)address, (long)length, 0);
}

static inline long sys_madvise(uintptr_t address, size_t length, int advice)
{
    return machine_call3(SYS_madvise, (long)address, (long)length, advice);
}

// sys_folder_entries reads entries of a folder, struct dirent64 of the kernel.
static inline long sys_folder_entries(int fd, void *to, size_t size)
{
    return machine_call3(SYS_getdents64, fd, (long)to, (long)size);
}

static inline long sys_ptrace(int request, int32_t tid)
{
    return machine_call4(SYS_ptrace, request, tid, 0, 0);
}

static inline void sys_exec(const char *path, char *const *argv, char *const *envp)
{
    machine_call3(SYS_execve, (long)path, (long)argv, (long)envp);
}
