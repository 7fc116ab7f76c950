// SPDX-License-Identifier: Apache-2.0
#include "heap/event.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "heap/image.h"
#include "heap/walk.h"

static __thread char thread_name[HEAP_NAME_BYTES]
    __attribute__((tls_model("initial-exec")));
static ptrdiff_t tid_offset; // of a thread's id from its descriptor; 0: not known

void event_start(void)
{
    // The C library keeps the ids of threads, so that no system call is needed, which
    // a sandbox might refuse. Offsets: glibc on x86-64 and AArch64, and musl on x86-64,
    // whose descriptor ends before those of glibc.
    static const ptrdiff_t known_of_glibc[] = { 0x2d0, 0xd0 };
    static const ptrdiff_t known_of_musl[] = { 0x30, 0x30 };
    const ptrdiff_t *known = image_has_finder() ? known_of_glibc : known_of_musl;
    const char *self = (const char *)(uintptr_t)pthread_self();
    for (size_t i = 0; i < 2; i++) {
        int32_t value;
        memcpy(&value, self + known[i], sizeof(value));
        if (value == (int32_t)syscall(SYS_gettid)) {
            tid_offset = known[i];
            return;
        }
    }
}

static uint32_t thread_id(void)
{
    const char *self = (const char *)(uintptr_t)pthread_self();
    uint32_t tid;
    if (tid_offset == 0)
        return (uint32_t)syscall(SYS_gettid);
    memcpy(&tid, self + tid_offset, sizeof(tid));
    return tid;
}

void event_name_thread(const char *name)
{
    memset(thread_name, 0, sizeof(thread_name));
    memcpy(thread_name, name, strnlen(name, sizeof(thread_name) - 1));
}

void event_note(struct heap_event *event, enum heap_origin origin, const void *caller)
{
    struct walk_frame frames[HEAP_FRAMES];
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_REALTIME, &now); // the vDSO's
    size_t count = walk_stack((uintptr_t)caller, frames, HEAP_FRAMES);
    event->tid = thread_id();
    event->origin = (uint8_t)origin;
    memcpy(event->name, thread_name, sizeof(event->name));
    event->cbf_size =
        (uint16_t)walk_encode(frames, count, event->cbf, sizeof(event->cbf));
    event->realtime_ns =
        (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
