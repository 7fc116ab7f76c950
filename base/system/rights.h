// SPDX-License-Identifier: Apache-2.0
//
// What a thread of another process may do, and opening files with no more rights than
// that.
//
// Root's agents and commands serve processes that have fewer rights: in daemon mode, as
// the tracer, by `crashhook attach`, and when a report is completed, shown or sent.
// Such a process chooses the paths of its images, debug files, sources, JIT code and
// root folder. So these files are opened with the file system ids, the groups and the
// capabilities of its thread. Rights are applied to the calling thread alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

enum { RIGHTS_GROUPS_MAX = 64, RIGHTS_NOBODY = 65534 };

struct rights {
    bool fewer; // than this process has, which is root's
    bool mixed; // the real, effective, saved and file system ids differ
    uid_t real_user;
    uid_t user;                      // of the file system
    gid_t group;                     //
    gid_t groups[RIGHTS_GROUPS_MAX]; // those past the limit are left out
    size_t group_count;
    uint64_t capabilities; // the effective ones
};

// rights_parse reads the rights from the text of /proc/TID/status. A thread that has
// root's file system id without all the other ids being root's has run a setuid
// program, which its user may have influenced: it gets nobody's rights, as does a
// thread of which the text says too little.
void rights_parse(const struct text *status, struct rights *out);

// rights_read reads the rights of a thread.
void rights_read(pid_t tid, struct rights *out);

// rights_compare_capabilities makes rights fewer if we have other capabilities too: a
// process of root may have given some up.
void rights_compare_capabilities(struct rights *rights);

// rights_apply sets the rights that rights_open opens files with.
void rights_apply(const struct rights *rights);

// rights_try makes each call that rights_apply and rights_open make, in a process of
// its own, to see whether a seccomp filter ends it. rights_deny replaces rights_apply
// where one does: if the rights are fewer than ours, rights_open opens nothing.
void rights_try(void);
void rights_deny(const struct rights *rights);

// rights_applied returns them, or NULL if they are no fewer than our own.
const struct rights *rights_applied(void);

// rights_open is open(2) with the rights that were applied. errno is EPERM if they
// cannot be assumed.
int rights_open(const char *path, int flags);

// rights_assume and rights_resume are the halves of it, for other calls in between.
// False: the rights cannot be assumed, and nothing has changed.
bool rights_assume(void);
void rights_resume(void);

// rights_own_capabilities returns the effective capabilities of this process; all, if
// they cannot be read.
uint64_t rights_own_capabilities(void);

// rights_limit_capabilities removes all but these from the effective capabilities, and
// for good if permitted is set.
bool rights_limit_capabilities(uint64_t kept, bool for_good);
