// SPDX-License-Identifier: Apache-2.0
#include "heap/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "heap/event.h"
#include "heap/image.h"
#include "heap/live.h"
#include "heap/next.h"
#include "heap/pool.h"
#include "heap/walk.h"
#include "shared/counter.h"

enum {
    RATE = 5000,
    SLOTS = 64,
    BEFORE_START = 256,           // allocations of a thread until it looks again
    SAMPLE_LIMIT_BYTES = 5 << 20, // resident; what is not the pool's has TABLE_BYTES:
    // the live samples, and the library's variables with its cache of unwind rules.
    TABLE_BYTES = HEAP_LIVE_PLACES * sizeof(struct heap_live) + (128 << 10),
    MAP_COUNT = 65530,  // the kernel's default of vm.max_map_count
    ADDRESS_SHARE = 64, // of RLIMIT_AS
    MEMORY_SHARE = 8,
};

__thread int32_t sample_countdown __attribute__((tls_model("initial-exec")));
static __thread uint64_t sample_random __attribute__((tls_model("initial-exec")));
static __thread bool sample_is_busy __attribute__((tls_model("initial-exec")));
// The allocation is due, and got no slot: it is to be recorded.
static __thread bool sample_is_to_keep __attribute__((tls_model("initial-exec")));
static uint32_t sample_rate = RATE;
static bool has_started;

static uint64_t random_next(void)
{
    uint64_t x = sample_random;
    if (x == 0)
        x = (counter_read() * UINT64_C(0x9e3779b97f4a7c15)) ^
            (uint64_t)(uintptr_t)&sample_random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    sample_random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

// random_distance is exponentially distributed, with the mean sample_rate - 1/2, so
// that with its fraction cut off, one in sample_rate allocations is sampled: minus the
// logarithm of a random number below 1. The fraction of the binary logarithm is
// approximated by a parabola, whose error is below 0.01.
static int32_t random_distance(void)
{
    const uint64_t one = UINT64_C(1) << 16;
    const uint64_t ln2 = 45426;       // times one
    const uint64_t curvature = 22708; // 0.3465 times one
    uint64_t random = random_next() | 1;
    unsigned zeros = (unsigned)__builtin_clzll(random);
    uint64_t fraction = zeros < 63 ? (random << (zeros + 1)) >> 48 : 0;
    uint64_t log = fraction + ((fraction * (one - fraction)) / one * curvature) / one;
    uint64_t minus_log2 = ((uint64_t)zeros + 1) * one - log;
    uint64_t distance =
        minus_log2 * ln2 / one * (2 * (uint64_t)sample_rate - 1) / (2 * one);
    return distance < INT32_MAX ? (int32_t)distance : INT32_MAX;
}

// origin_of_caller tells a malloc that the C++ runtime's own operator calls.
static enum heap_origin origin_of_caller(enum heap_origin origin, const void *caller)
{
    return origin == HEAP_BY_NEW_ARRAY ? origin : next_operator_of(caller, origin);
}

void *sample_allocate(size_t size, size_t alignment, enum heap_origin origin,
                      const void *caller)
{
    const struct heap_state *state = &crashhook_heap_state;
    if (!__atomic_load_n(&has_started, __ATOMIC_ACQUIRE)) {
        sample_countdown = BEFORE_START;
        return NULL;
    }
    if (sample_is_busy || state->mode == POOL_NO) {
        sample_countdown = state->mode == POOL_NO ? INT32_MAX : 0;
        return NULL;
    }
    sample_is_busy = true;
    bool is_first = sample_random == 0; // of the thread: it has counted nothing yet
    sample_countdown = state->rate == 1 ? 0 : random_distance();
    void *block = NULL;
    if (!is_first || state->rate == 1)
        block = pool_allocate(&(struct pool_request){
            .size = size,
            .alignment = alignment,
            .at_end = random_next() >> 63,
            .origin = origin_of_caller(origin, caller),
            .caller = caller,
        });
    sample_is_to_keep =
        block == NULL && state->mode == POOL_SAMPLE && (!is_first || state->rate == 1);
    sample_is_busy = false;
    return block;
}

void *sample_keep(void *block, size_t size, enum heap_origin origin, const void *caller)
{
    if (!sample_is_to_keep)
        return block;
    sample_is_to_keep = false;
    int error = errno;
    sample_is_busy = true;
    if (block != NULL)
        live_add(block, size, origin_of_caller(origin, caller), caller);
    sample_is_busy = false;
    errno = error;
    return block;
}

static uint32_t number_of(const char *text, uint32_t fallback)
{
    uint64_t value = 0; // strtoul would be a function that only glibc has
    for (; text != NULL && *text >= '0' && *text <= '9' && value <= INT32_MAX; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value != 0 && *text == 0 && value <= INT32_MAX ? (uint32_t)value : fallback;
}

// map_count reads how many mappings a process may have.
static uint32_t map_count(void)
{
    char text[16] = { 0 };
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return MAP_COUNT;
    text[strcspn(text, "\n")] = 0;
    return number_of(text, MAP_COUNT);
}

// slots_allowed leaves half of the mappings, and nearly all of the address space, to
// the program.
static uint32_t slots_allowed(uint32_t wanted)
{
    struct rlimit limit;
    uint64_t most = HEAP_SLOTS_MAX;
    if (wanted > SLOTS && map_count() / HEAP_MAPS_PER_SLOT < most)
        most = map_count() / HEAP_MAPS_PER_SLOT;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur / ADDRESS_SHARE / (2 * HEAP_SLOT_BYTES) < most)
        most = limit.rlim_cur / ADDRESS_SHARE / (2 * HEAP_SLOT_BYTES);
    return wanted < most ? wanted : (uint32_t)most;
}

static uint64_t memory_share(void)
{
    struct sysinfo info;
    return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit / MEMORY_SHARE
                               : SAMPLE_LIMIT_BYTES;
}

// __register_atfork is what glibc's pthread_atfork, which is a part of each library,
// calls. musl lacks it: a child of a program with threads may find no free slot there.
extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
                             void (*child)(void), void *library) // glibc's name
    __attribute__((weak));

// sample_start runs before main. A setuid program's variables are ignored.
__attribute__((constructor)) static void sample_start(void)
{
    int error = errno;
    const char *mode = secure_getenv("CRASHHOOK_HEAP");
    bool is_every = mode != NULL && strcmp(mode, "every") == 0;
    bool is_sample = mode != NULL && strcmp(mode, "sample") == 0;
    uint32_t slots = number_of(secure_getenv("CRASHHOOK_HEAP_SLOTS"),
                               is_every ? HEAP_SLOTS_OF_EVERY : SLOTS);
    image_list();
    walk_start();
    bool is_second = next_is_second();
    next_find_all();
    sample_rate = number_of(secure_getenv("CRASHHOOK_HEAP_RATE"), RATE);
    if (is_second) {
        is_every = is_sample = false;
    } else if ((is_every || is_sample) && next_is_preceded()) {
        static const char line[] =
            "crashhook: CRASHHOOK_HEAP has no effect: this program has an allocator of "
            "its own, or one that is preloaded before libcrashhook-heap\n";
        (void)!write(STDERR_FILENO, line, sizeof(line) - 1);
        is_every = is_sample = false;
    }
    slots = is_every || is_sample ? slots_allowed(slots) : 0;
    event_start();
    crashhook_heap_state.rate = is_every ? 1 : sample_rate;
    if (slots != 0 && __register_atfork != NULL)
        (void)__register_atfork(NULL, NULL, pool_after_fork, NULL);
    if (slots != 0)
        pool_open(is_every ? POOL_EVERY : POOL_SAMPLE, slots,
                  is_every ? memory_share() : SAMPLE_LIMIT_BYTES - TABLE_BYTES);
    if (crashhook_heap_state.mode == POOL_SAMPLE)
        live_open();
    __atomic_store_n(&has_started, true, __ATOMIC_RELEASE);
    sample_countdown = 0;
    errno = error;
}

// sample_end appends to the file of `crashhook run` what this process guarded and what
// is still allocated, as one line.
__attribute__((destructor)) static void sample_end(void)
{
    const struct heap_state *state = &crashhook_heap_state;
    const char *path = secure_getenv(HEAP_SUMMARY_VARIABLE);
    char line[128];
    uint64_t bytes;
    if (state->mode != POOL_EVERY || path == NULL)
        return;
    uint64_t live = pool_count_live(&bytes);
    int size = snprintf(line, sizeof(line), "%d %u %llu %llu %llu %llu %.31s\n",
                        (int)getpid(), state->slots, (unsigned long long)state->guarded,
                        (unsigned long long)state->refused, (unsigned long long)live,
                        (unsigned long long)bytes, program_invocation_short_name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, line, (size_t)size);
    close(fd);
}
