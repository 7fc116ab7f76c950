// SPDX-License-Identifier: Apache-2.0
#include "base/system/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// address_space and cpu_seconds exceed what the largest debug files (libdw maps them)
// and a slow machine need.
static const rlim_t address_space = (rlim_t)16 << 30;
static const rlim_t cpu_seconds = 600;

// refused is what the free phase needs none of. An observer needs the first OBSERVING.
static const int refused[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_execve,
    SYS_execveat,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
};
enum { REFUSED = sizeof(refused) / sizeof(refused[0]), FIXED = 6, OBSERVING = 2 };

// refused_reader is what a reader does not need either, those of the network first.
// socketpair stays: it is local.
static const int refused_reader[] = {
    SYS_socket,     SYS_connect,         SYS_bind,           SYS_listen, SYS_accept,
    SYS_accept4,    SYS_sendto,          SYS_sendmmsg,       SYS_kill,   SYS_tkill,
    SYS_pidfd_open, SYS_process_madvise, SYS_io_uring_setup,
};
enum {
    REFUSED_READER = sizeof(refused_reader) / sizeof(refused_reader[0]),
    NETWORK = 8
};

#if defined(__x86_64__)
enum { OUR_ARCH = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { OUR_ARCH = AUDIT_ARCH_AARCH64 };
#endif

static struct sock_filter filter_statement(uint16_t code, uint32_t value)
{
    return (struct sock_filter)BPF_STMT(code, value);
}

static struct sock_filter emit_filter_jump(uint16_t code, uint32_t value, uint8_t if_so,
                                           uint8_t if_not)
{
    return (struct sock_filter)BPF_JUMP(code, value, if_so, if_not);
}

// refused_number is the number of a system call to refuse, or one that no call has:
// LeakSanitizer uses ptrace when the process ends.
static uint32_t refused_number(int number)
{
    bool kept = CRASHHOOK_SANITIZED && number == SYS_ptrace;
    return kept ? UINT32_MAX : (uint32_t)number;
}

// install_filter refuses the calls in list, and every call that is made with the
// numbers of another architecture.
static void install_filter(const int *list, size_t length)
{
    struct sock_filter filter[FIXED + REFUSED];
    uint16_t count = 0;
    filter[count++] =
        filter_statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[count++] = emit_filter_jump(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)OUR_ARCH, 0,
                                       (uint8_t)(length + 2));
    filter[count++] =
        filter_statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    // A match jumps over the rest of the list and over the RET that allows the call.
    for (size_t i = 0; i < length; i++)
        filter[count++] =
            emit_filter_jump(BPF_JMP | BPF_JEQ | BPF_K, refused_number(list[i]),
                             (uint8_t)(length - i), 0);
    filter[count++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[count++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = { count, filter };
    // On a kernel without seccomp this fails, and there is no filter.
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// confine_limit sets both limits of a resource; it never raises the hard one, which
// takes privileges.
static void confine_limit(int resource, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        value = now.rlim_max;
    now.rlim_cur = now.rlim_max = value;
    (void)setrlimit(resource, &now);
}

// confine_base sets limits, and filters all of refused but the first skipped ones.
static void confine_base(size_t skipped)
{
    if (!CRASHHOOK_SANITIZED) // the sanitizer's shadow memory takes the whole address
                              // space
        confine_limit(RLIMIT_AS, address_space);
    confine_limit(RLIMIT_CPU, cpu_seconds);
    confine_limit(RLIMIT_CORE, 1); // unlike 0, for pipes too (core(5))
    // Without no_new_privs a filter takes CAP_SYS_ADMIN (seccomp(2)).
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        install_filter(refused + skipped, REFUSED - skipped);
}

void confine_free_phase(void)
{
    confine_base(0);
}

void confine_observer(void)
{
    confine_base(OBSERVING);
    install_filter(refused_reader, NETWORK);
}

// refuse_writing makes the kernel refuse to change files by path. A kernel without
// Landlock leaves the user's own rights as the only limit.
static void refuse_writing(void)
{
    const struct landlock_ruleset_attr rules = {
        .handled_access_fs =
            LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
            LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
            LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
            LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
            LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
            LANDLOCK_ACCESS_FS_MAKE_SYM
    };
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    if (fd < 0)
        return;
    (void)syscall(SYS_landlock_restrict_self, fd, 0);
    (void)close(fd);
}

void confine_reader(void)
{
    static const rlim_t memory = (rlim_t)1 << 30;
    confine_free_phase();
    if (!CRASHHOOK_SANITIZED)
        confine_limit(RLIMIT_DATA, memory);
    refuse_writing();
    install_filter(refused_reader, REFUSED_READER);
}

bool confine_become(const struct rights *rights)
{
    const uid_t user = rights->user;
    const gid_t group = rights->group;
    if (setgroups(rights->group_count, rights->groups) != 0 ||
        setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0)
        return false;
    // Root keeps the capabilities that it had. For others setuid(0) must fail now:
    // otherwise privileges remain.
    return user == 0 ? rights_limit_capabilities(rights->capabilities, true)
                     : setuid(0) != 0;
}

static uid_t nobody_user; // 0: not looked up yet
static gid_t nobody_group;

void confine_find_nobody(void)
{
    const struct passwd *found = getpwnam("crashhook");
    bool ours = found != NULL && found->pw_uid != 0 && found->pw_gid != 0;
    nobody_user = ours ? found->pw_uid : RIGHTS_NOBODY;
    nobody_group = ours ? found->pw_gid : RIGHTS_NOBODY;
}

bool confine_become_nobody(void)
{
    if (nobody_user == 0)
        confine_find_nobody();
    const struct rights nobody = { .user = nobody_user, .group = nobody_group };
    return confine_become(&nobody);
}
