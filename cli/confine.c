// SPDX-License-Identifier: Apache-2.0
#include "cli/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

// Above what the largest debug files take (libdw maps them) and a slow machine needs.
static const rlim_t address_space = (rlim_t)16 << 30;
static const rlim_t cpu_seconds = 600;

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
enum { REFUSED = sizeof(refused) / sizeof(refused[0]), FIXED = 6 };

#if defined(__x86_64__)
enum { OUR_ARCH = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { OUR_ARCH = AUDIT_ARCH_AARCH64 };
#endif

static struct sock_filter statement(uint16_t code, uint32_t value)
{
    return (struct sock_filter)BPF_STMT(code, value);
}

static struct sock_filter jump(uint16_t code, uint32_t value, uint8_t if_so,
                               uint8_t if_not)
{
    return (struct sock_filter)BPF_JUMP(code, value, if_so, if_not);
}

// refused_number is the number of the index'th call to refuse, or one that no call has:
// a sanitizer looks for leaks at the end by ptrace.
static uint32_t refused_number(size_t index)
{
    bool kept = CRASHHOOK_SANITIZED && refused[index] == SYS_ptrace;
    return kept ? UINT32_MAX : (uint32_t)refused[index];
}

// install_filter refuses the calls of the list, and every call that is made by the
// numbers of another architecture.
static void install_filter(void)
{
    struct sock_filter filter[FIXED + REFUSED];
    uint16_t count = 0;
    filter[count++] =
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[count++] =
        jump(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)OUR_ARCH, 0, REFUSED + 2);
    filter[count++] =
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    // Each jumps over what is left of the list, and the answer yes, to the answer no.
    for (size_t i = 0; i < REFUSED; i++)
        filter[count++] = jump(BPF_JMP | BPF_JEQ | BPF_K, refused_number(i),
                               (uint8_t)(REFUSED - i), 0);
    filter[count++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[count++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = { count, filter };
    // A kernel without seccomp has none to install.
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// limit sets both limits of a resource, as far as that is lowering the hard one.
static void limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        value = now.rlim_max;
    now.rlim_cur = now.rlim_max = value;
    (void)setrlimit(resource, &now);
}

void confine_free_phase(void)
{
    if (!CRASHHOOK_SANITIZED) // its shadow memory takes the whole address space
        limit(RLIMIT_AS, address_space);
    limit(RLIMIT_CPU, cpu_seconds);
    limit(RLIMIT_CORE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        install_filter();
}
