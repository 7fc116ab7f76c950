// SPDX-License-Identifier: Apache-2.0
#include "backtrace/local_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crashhook/backtrace.h"

_Thread_local struct local_thread *local_thread_own
    __attribute__((tls_model("initial-exec")));

static struct local_thread main_thread;
static pthread_key_t thread_key;
static bool has_key;

// forget_thread runs when a thread ends. Signals may still arrive afterwards: the
// capture in their handlers then works as in a thread that was not prepared.
static void forget_thread(void *prepared)
{
    struct local_thread *thread = prepared;
    local_thread_own = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    crashhook_images_release(thread->images);
    thread->images = NULL;
    if (thread != &main_thread)
        munmap(thread, sizeof(*thread));
}

// find_main_stack needs no /proc: the kernel puts the random bytes of the auxiliary
// vector above all frames, and maps nothing else within the stack's limit below them.
static void find_main_stack(struct local_thread *thread)
{
    const uint64_t without_limit = UINT64_C(1) << 30;
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    uint64_t high = getauxval(AT_RANDOM) & ~UINT64_C(15);
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || high == 0)
        return;
    uint64_t size = limit.rlim_cur < without_limit ? limit.rlim_cur : without_limit;
    thread->stack_low = high > size ? high - size : 0;
    thread->stack_high = high;
}

static void find_thread_stack(struct local_thread *thread)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        thread->stack_low = (uintptr_t)low;
        thread->stack_high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

static bool is_main_thread(void)
{
    return getpid() == (pid_t)syscall(SYS_gettid);
}

__attribute__((constructor)) static void prepare_main_thread(void)
{
    has_key = pthread_key_create(&thread_key, forget_thread) == 0;
    if (!is_main_thread())
        return;
    find_main_stack(&main_thread);
    local_thread_own = &main_thread;
}

__attribute__((destructor)) static void forget_key(void)
{
    if (has_key)
        pthread_key_delete(thread_key);
}

enum ch_status local_thread_prepare(void)
{
    if (local_thread_own != NULL)
        return CH_OK;
    struct local_thread *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    // Without the key nothing would unmap it.
    if (!has_key || pthread_setspecific(thread_key, made) != 0) {
        munmap(made, sizeof(*made));
        return CH_ERR_NO_MEMORY;
    }
    if (is_main_thread())
        find_main_stack(made);
    else
        find_thread_stack(made);
    atomic_signal_fence(memory_order_seq_cst);
    local_thread_own = made;
    return CH_OK;
}

int crashhook_backtrace_thread_prepare(void)
{
    return local_thread_prepare() == CH_OK ? 0 : ENOMEM;
}
