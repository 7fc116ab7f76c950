// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a program that knows nothing of it: at the call of malloc number
// HARM_CALL it damages the program, as HARM_KIND says, at places that HARM_SEED
// chooses.
//
//   word     words on the stack of the callers that look like pointers
//   return   a return address of one of the callers
//   page     the protection of the page of a block
//   head     what malloc has before a block
//   block    the contents of a block
//   pointer  words in blocks that look like pointers
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 64, FRAME_WORDS = 160, PAGE_BYTES = 4096 };

extern void *__libc_malloc(size_t size);

static struct {
    uint64_t *at;
    size_t words;
} blocks[BLOCKS];

static long calls_left = -1;
static uint64_t state;
static const char *kind;

static uint64_t chance(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

__attribute__((constructor)) static void begin(void)
{
    const char *call = getenv("HARM_CALL");
    const char *seed = getenv("HARM_SEED");
    kind = getenv("HARM_KIND");
    if (call == NULL || seed == NULL || kind == NULL)
        return;
    state = strtoull(seed, NULL, 10);
    calls_left = strtol(call, NULL, 10);
}

static uint64_t bad_value(uint64_t was)
{
    const uint64_t values[] = { 0,
                                8,
                                0x2a,
                                0x4141414141414141,
                                0x123456789abc,
                                ~0ul,
                                was ^ (UINT64_C(1) << 40),
                                was + (64 << 20) };
    return values[chance(sizeof(values) / sizeof(values[0]))];
}

// wanted is an address that may be in the code of an image.
struct wanted {
    uint64_t address;
    int found;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *wanted = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) &&
            wanted->address >= start && wanted->address - start < part->p_memsz)
            wanted->found = 1;
    }
    return wanted->found;
}

static int is_code(uint64_t address)
{
    struct wanted wanted = { .address = address };
    dl_iterate_phdr(look_into, &wanted);
    return wanted.found;
}

static int is_pointer(uint64_t word)
{
    return word > (1 << 16) && word >> 47 == 0 && word % 4 == 0 && !is_code(word);
}

static void harm_stack(uint64_t *frame, int returns)
{
    unsigned left = 1 + (unsigned)chance(returns ? 6 : 12);
    for (size_t i = 2; i < FRAME_WORDS; i++) {
        if (!(returns ? is_code(frame[i]) : is_pointer(frame[i])))
            continue;
        // Of return addresses one is overwritten, of pointers every third.
        if (--left == 0 || (!returns && left % 3 == 0))
            frame[i] = bad_value(frame[i]);
        if (left == 0)
            return;
    }
}

static void harm_block(void)
{
    size_t one = (size_t)chance(BLOCKS);
    uint64_t *at = blocks[one].at;
    if (at == NULL)
        return;
    if (strcmp(kind, "page") == 0) {
        void *page = (void *)((uintptr_t)at & ~(uintptr_t)(PAGE_BYTES - 1));
        (void)mprotect(page, PAGE_BYTES, chance(2) ? PROT_NONE : PROT_READ);
    } else if (strcmp(kind, "head") == 0) {
        at[-1] = bad_value(at[-1]);
    } else if (strcmp(kind, "block") == 0) {
        memset(at, chance(2) ? 0x41 : 0, blocks[one].words * sizeof(uint64_t));
    } else {
        for (size_t i = 0; i < blocks[one].words; i++)
            if (is_pointer(at[i]))
                at[i] = bad_value(at[i]);
    }
}

__attribute__((noinline)) static void harm(uint64_t *frame)
{
    if (strcmp(kind, "word") == 0)
        harm_stack(frame, 0);
    else if (strcmp(kind, "return") == 0)
        harm_stack(frame, 1);
    else
        for (int i = 0; i < 8; i++)
            harm_block();
}

void *malloc(size_t size)
{
    static unsigned next;
    void *at = __libc_malloc(size);
    if (calls_left > 0 && at != NULL) {
        // The latest blocks are likely in use.
        blocks[next % BLOCKS].at = at;
        blocks[next++ % BLOCKS].words = size / sizeof(uint64_t);
        if (--calls_left == 0)
            harm(__builtin_frame_address(0));
    }
    return at;
}
