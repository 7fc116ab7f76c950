// SPDX-License-Identifier: Apache-2.0
//
// The kernel's calls change one thread, libc's all of them.
#include "base/system/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/file.h"

enum { STATUS_LIMIT_BYTES = 512 << 10 }; // a process may have 65,536 groups

struct thread_rights {
    struct rights applied;
    struct rights own; // to return to
    bool denied;       // the rights cannot be assumed: nothing is opened
};

// They are on the heap: a library that is loaded while a program runs has little room
// for thread-local variables. NULL: no fewer were applied.
static _Thread_local struct thread_rights *held;

static const char *rights_line(const struct text *status, const char *key)
{
    const char *at = status->bytes != NULL ? strstr(status->bytes, key) : NULL;
    return at != NULL ? at + strlen(key) : NULL;
}

// read_ids reads the numbers of a line; it returns how many, at most room.
static size_t read_ids(const struct text *status, const char *key, unsigned *out,
                       size_t room)
{
    const char *at = rights_line(status, key);
    size_t count = 0;
    while (at != NULL && count < room) {
        char *end;
        at += strspn(at, " \t");
        unsigned long id = strtoul(at, &end, 10);
        if (end == at || *at == '\n')
            break;
        out[count++] = (unsigned)id;
        at = end;
    }
    return count;
}

static bool ids_equal(const unsigned ids[static 4])
{
    return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

#define NOBODYS                                                                        \
    .mixed = true, .real_user = RIGHTS_NOBODY, .user = RIGHTS_NOBODY,                  \
    .group = RIGHTS_NOBODY

static const struct rights nobody = { NOBODYS };

// Where there is no memory for the rights, none can be assumed.
static struct thread_rights without_memory = { .applied = { .fewer = true, NOBODYS },
                                               .denied = true };

void rights_parse(const struct text *status, struct rights *out)
{
    enum { FILE_SYSTEM = 3 }; // after the real, the effective and the saved id
    unsigned users[4];
    unsigned groups[4];
    const char *capabilities = rights_line(status, "\nCapEff:");
    *out = nobody;
    if (read_ids(status, "\nUid:", users, 4) == 4 &&
        read_ids(status, "\nGid:", groups, 4) == 4 && capabilities != NULL &&
        (users[FILE_SYSTEM] != 0 || ids_equal(users))) {
        out->mixed = !ids_equal(users) || !ids_equal(groups);
        out->real_user = users[0];
        out->user = users[FILE_SYSTEM];
        out->group = groups[FILE_SYSTEM];
        out->group_count =
            read_ids(status, "\nGroups:", out->groups, RIGHTS_GROUPS_MAX);
        out->capabilities = strtoull(capabilities, NULL, 16);
    }
    out->fewer = geteuid() == 0 && out->user != 0;
}

void rights_read(pid_t tid, struct rights *out)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
    int CH_CLEANUP(file_close) fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || text_read(&status, fd, STATUS_LIMIT_BYTES) != CH_OK)
        text_clear(&status);
    rights_parse(&status, out);
}

void rights_compare_capabilities(struct rights *rights)
{
    rights->fewer |= (rights_own_capabilities() & ~rights->capabilities) != 0;
}

// hold_rights makes these rights the ones that count.
static void hold_rights(const struct rights *rights)
{
    if (held != &without_memory)
        free(held);
    held = NULL;
    if (!rights->fewer)
        return;
    held = calloc(1, sizeof(*held));
    if (held != NULL)
        held->applied = *rights;
    else
        held = &without_memory;
}

void rights_apply(const struct rights *rights)
{
    hold_rights(rights);
    if (held == NULL || held->denied)
        return;
    struct rights *own = &held->own;
    int count = getgroups(RIGHTS_GROUPS_MAX, own->groups);
    own->group_count = count > 0 ? (size_t)count : 0;
    own->user = geteuid();
    own->group = getegid();
    own->capabilities = rights_own_capabilities();
}

void rights_deny(const struct rights *rights)
{
    hold_rights(rights);
    if (held != NULL)
        held->denied = true;
}

const struct rights *rights_applied(void)
{
    return held != NULL ? &held->applied : NULL;
}

// A capability_sets is the argument of capget(2) and capset(2).
struct capability_sets {
    struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static bool capability_call(long number, struct capability_sets *sets)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    return syscall(number, &head, sets) == 0;
}

uint64_t rights_own_capabilities(void)
{
    struct capability_sets sets = { 0 };
    struct rights own;
    if (capability_call(SYS_capget, &sets))
        return (uint64_t)sets.half[1].effective << 32 | sets.half[0].effective;
    rights_read(getpid(), &own); // a seccomp filter may refuse the call
    return own.user != RIGHTS_NOBODY ? own.capabilities : UINT64_MAX;
}

bool rights_limit_capabilities(uint64_t kept, bool for_good)
{
    struct capability_sets sets = { 0 };
    if (!capability_call(SYS_capget, &sets))
        return false;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        uint32_t part = (uint32_t)(kept >> (32 * i));
        sets.half[i].effective = sets.half[i].permitted & part;
        if (for_good)
            sets.half[i].permitted = sets.half[i].inheritable = sets.half[i].effective;
    }
    return capability_call(SYS_capset, &sets);
}

void rights_try(void)
{
    struct capability_sets sets = { 0 };
    if (capability_call(SYS_capget, &sets))
        (void)capability_call(SYS_capset, &sets);
    (void)geteuid();
    (void)getegid();
    (void)syscall(SYS_setgroups, getgroups(0, NULL), NULL);
    (void)syscall(SYS_setfsgid, -1);
    (void)syscall(SYS_setfsuid, -1);
}

// change_rights changes the groups, which takes a capability, before the user, and
// reports whether the file system ids are as wanted.
static bool change_rights(const struct rights *to)
{
    (void)syscall(SYS_setgroups, to->group_count, to->groups);
    (void)syscall(SYS_setfsgid, to->group);
    (void)syscall(SYS_setfsuid, to->user);
    return syscall(SYS_setfsgid, -1) == (long)to->group &&
           syscall(SYS_setfsuid, -1) == (long)to->user &&
           getgroups(0, NULL) == (int)to->group_count;
}

bool rights_assume(void)
{
    if (held == NULL)
        return true;
    if (!held->denied && change_rights(&held->applied) &&
        rights_limit_capabilities(held->applied.capabilities, false))
        return true;
    rights_resume();
    errno = EPERM;
    return false;
}

void rights_resume(void)
{
    int error = errno;
    if (held != NULL && !held->denied) {
        // The user comes first: with root's id the kernel raises what it lowered.
        (void)rights_limit_capabilities(held->own.capabilities, false);
        (void)change_rights(&held->own);
        (void)rights_limit_capabilities(held->own.capabilities, false);
    }
    errno = error;
}

int rights_open(const char *path, int flags)
{
    if (!rights_assume())
        return -1;
    int fd = openat(AT_FDCWD, path, flags);
    rights_resume();
    return fd;
}
