// SPDX-License-Identifier: Apache-2.0
#include "heap/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/image.h"
#include "heap/walk.h"

#define NEXT_FIRST_DECLARED(member, symbol, result, parameters, ...)                   \
    static result first_##member parameters;
#define NEXT_FREE_FIRST_DECLARED(member, symbol, origin, parameters, arguments)        \
    static void first_##member parameters;
NEXT_FUNCTIONS(NEXT_FIRST_DECLARED)
NEXT_FREES(NEXT_FREE_FIRST_DECLARED)

#define NEXT_FIRST(member, ...) .member = first_##member,
struct next next = { NEXT_FUNCTIONS(NEXT_FIRST) NEXT_FREES(NEXT_FIRST) };

int32_t next_counts_again;
int32_t next_calloc_counts_again;

// other_memalign, as the others of that name, is called for a function that is in no
// library.
static void *other_memalign(size_t alignment, size_t size)
{
    void *block = NULL;
    int error = next.posix_memalign(
        &block, alignment < sizeof(block) ? sizeof(block) : alignment, size);
    if (error != 0)
        errno = error;
    return error == 0 ? block : NULL;
}

static void *other_page_allocation(size_t size)
{
    return other_memalign((size_t)getpagesize(), size);
}

static void *other_pvalloc(size_t size)
{
    size_t page = (size_t)getpagesize();
    size_t all;
    if (__builtin_add_overflow(size, page - 1, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return other_page_allocation(all & ~(page - 1));
}

// is_called_again: a function was needed while another was being looked for.
static bool is_called_again;

// find_preceded calls malloc as the program would, and sees whether that comes to us,
// before any function is known: an address does not say so, as that of a program's stub
// for malloc may stand for any.
static bool find_preceded(void)
{
    void *(*first_of_all)(size_t) = NULL;
    void (*free_of_all)(void *) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    memcpy(&first_of_all, &found, sizeof(found));
    found = dlsym(RTLD_DEFAULT, "free");
    memcpy(&free_of_all, &found, sizeof(found));
    is_called_again = false;
    free_of_all(first_of_all(1));
    return !is_called_again;
}

bool next_is_preceded(void)
{
    static enum { UNKNOWN, PRECEDED, FIRST } place;
    if (place == UNKNOWN)
        place = find_preceded() ? PRECEDED : FIRST;
    return place == PRECEDED;
}

// Each instance of the library exports it, and dlsym finds the first one's. That of an
// archive in a program that exports nothing comes second, whatever its place.
extern const char crashhook_heap_instance;
__attribute__((visibility("default"), used)) const char crashhook_heap_instance = 1;

// is_ours returns true if an address is in the image that this instance is a part of.
static bool is_ours(const void *address)
{
    return walk_image((uintptr_t)address) == walk_image((uintptr_t)next_find_all);
}

bool next_is_second(void)
{
    const void *first = dlsym(RTLD_DEFAULT, "crashhook_heap_instance");
    return first != NULL && !is_ours(first);
}

// is_of_libc returns true if a function is none of an allocator's.
static bool is_of_libc(const char *symbol)
{
    return strncmp(symbol, "dl", 2) == 0 || strncmp(symbol, "pthread", 7) == 0 ||
           strcmp(symbol, "prctl") == 0;
}

// belongs_to_malloc returns true if a function of C is that of malloc's allocator: what
// only the C library has, it takes from a heap of its own.
static bool belongs_to_malloc(const char *symbol, const void *found)
{
    return next.malloc == first_malloc || is_of_libc(symbol) ||
           walk_image((uintptr_t)found) == walk_image((uintptr_t)next.malloc);
}

static void *open_loaded(const void *address)
{
    Dl_info image;
    return dladdr(address, &image) != 0
               ? next.dlopen(image.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

// find_in_caller looks in the library that called us, and in those that it needs. What
// is to stay is not in that library itself, which the program may unload.
static void *find_in_caller(const char *symbol, bool stays)
{
    struct walk_frame frames[HEAP_FRAMES];
    size_t count = walk_stack(0, frames, HEAP_FRAMES);
    const void *pc = NULL;
    for (size_t i = 0; i < count && (pc == NULL || is_ours(pc)); i++)
        pc = (const void *)(uintptr_t)frames[i].pc;
    void *caller = open_loaded(pc);
    void *found = caller != NULL ? dlsym(caller, symbol) : NULL;
    bool is_in_it = walk_image((uintptr_t)found) == walk_image((uintptr_t)pc);
    if (found != NULL &&
        (is_ours(found) || (stays && (is_in_it || open_loaded(found) == NULL))))
        found = NULL;
    if (caller != NULL)
        (void)next.dlclose(caller);
    return found;
}

static void *find_operator(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    // A runtime that was loaded for a library alone is not among those that come next.
    return found != NULL ? found : find_in_caller(symbol, true);
}

// or_throw returns block. Without one the operator of the caller's library is called,
// which fails as it does without us.
static void *or_throw(void *block, const char *symbol, size_t size, size_t alignment)
{
    void *(*fails)(size_t, size_t);
    if (block != NULL)
        return block;
    void *found = find_in_caller(symbol, false);
    if (found == NULL)
        abort(); // without a runtime there is no exception to throw
    memcpy(&fails, &found, sizeof(found));
    return fails(size, alignment);
}

// preceding_function finds what comes before us. What does not would lead back to us,
// unless our functions were rewritten, as Valgrind does: those that it always rewrites
// lead to its own.
static void *preceding_function(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    bool is_rewritten = strcmp(symbol, "malloc") == 0 || strcmp(symbol, "free") == 0 ||
                        strcmp(symbol, "realloc") == 0;
    return is_rewritten || !is_ours(found) ? found : NULL;
}

static void *next_find_symbol(const char *symbol)
{
    // An allocator before us has the blocks of the program.
    if (next_is_preceded() && !is_of_libc(symbol))
        return preceding_function(symbol);
    if (symbol[0] == '_')
        return find_operator(symbol);
    void *found = dlsym(RTLD_NEXT, symbol);
    return found != NULL && belongs_to_malloc(symbol, found) ? found : NULL;
}

// next_find stores the function that symbol names. False: it is in no library, or it is
// being looked for further out: the C library may allocate meanwhile.
static bool next_find(const char *symbol, void *to)
{
    static __thread bool is_busy __attribute__((tls_model("initial-exec")));
    if (is_busy) {
        is_called_again = true;
        return false;
    }
    is_busy = true;
    void *found = next_find_symbol(symbol);
    is_busy = false;
    if (found != NULL)
        memcpy(to, &found, sizeof(found));
    // musl's calloc calls malloc, which is ours.
    if (found != NULL && strcmp(symbol, "calloc") == 0)
        next_calloc_counts_again = !image_has_finder();
    if (found != NULL && strcmp(symbol, "_Znwm") == 0)
        next_counts_again =
            walk_image((uintptr_t)found) != walk_image((uintptr_t)next.malloc);
    return found != NULL;
}

void next_find_all(void)
{
    // One that no library has takes longer to look for than all that are there.
    bool has_operators = dlsym(RTLD_NEXT, "_Znwm") != NULL;
#define NEXT_FIND(member, symbol, ...)                                                 \
    (void)((symbol[0] != '_' || has_operators) && next_find(symbol, &next.member));
    NEXT_FUNCTIONS(NEXT_FIND)
    NEXT_FREES(NEXT_FIND)
    (void)dlerror(); // nobody has called dlsym before
}

// NEXT_FIRST_RETURNS defines what the pointer of a function leads to at first.
#define NEXT_FIRST_RETURNS(member, symbol, result, parameters, arguments, otherwise,   \
                           ...)                                                        \
    static result first_##member parameters                                            \
    {                                                                                  \
        if (!next_find(symbol, &next.member))                                          \
            return otherwise;                                                          \
        return next.member arguments;                                                  \
    }
#define NEXT_FIRST_FREES(member, symbol, origin, parameters, arguments)                \
    static void first_##member parameters                                              \
    {                                                                                  \
        if (next_find(symbol, &next.member))                                           \
            next.member arguments;                                                     \
        else if (next.free != first_free)                                              \
            next.free(block);                                                          \
    }

NEXT_FUNCTIONS(NEXT_FIRST_RETURNS)
// NOLINTNEXTLINE(bugprone-branch-clone): both are the same for free alone.
NEXT_FREES(NEXT_FIRST_FREES)

enum heap_origin next_operator_of(const void *pc, enum heap_origin otherwise)
{
    uint64_t start = walk_function((uintptr_t)pc - 1);
    if (start == 0)
        return otherwise;
#define NEXT_FAMILY(member, symbol, result, parameters, arguments, other, family, ...) \
    if (start == (uintptr_t)next.member)                                               \
        return family;
    NEXT_NEWS(NEXT_FAMILY)
    return otherwise;
}
