// SPDX-License-Identifier: Apache-2.0
#include "backtrace/local_images.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "backtrace/local_code.h"
#include "backtrace/local_thread.h"
#include "base/array.h"
#include "base/system/file.h"
#include "formats/debug/elf.h"

enum { PAGE_BYTES = 4096 };

// listed is the linker's list while it is copied.
struct listed {
    struct crashhook_images *images;
    struct local_image *code;
    size_t count; // of all images, whether there was room for them or not
    size_t room;
};

// A shared_list is kept for all threads. Whoever uses it takes it out meanwhile, so
// that there is no lock that a fork could leave held.
struct shared_list {
    uint64_t generation;
    struct crashhook_images *images;
};

static _Atomic(struct shared_list *) shared;

// The dynamic linker's own list.
extern struct r_debug _r_debug __attribute__((weak));

// glibc 2.32 and later: no other thread was started.
extern char __libc_single_threaded __attribute__((weak));

// In a child the linker's lock may be held by a thread that does not exist there. Until
// the child has loaded or unloaded something itself, its list is read without the lock.
static atomic_bool is_child;
static uint64_t state_at_fork;

// The dynamic linker's lock is not reset in a child that was forked while another
// thread held it. So a fork waits until no thread of ours is in the linker's list.
#if defined(PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP)
static const pthread_rwlock_t unlocked =
    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t forking = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
static const pthread_rwlock_t unlocked = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t forking = PTHREAD_RWLOCK_INITIALIZER;
#endif

static void begin_fork(void)
{
    (void)pthread_rwlock_wrlock(&forking);
}

static void end_fork(void)
{
    (void)pthread_rwlock_unlock(&forking);
}

// linker_state is a number that changes with the linker's list.
static uint64_t linker_state(void)
{
    const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t state = 1;
    for (const struct link_map *map = &_r_debug != NULL ? _r_debug.r_map : NULL;
         map != NULL; map = map->l_next)
        state = (state ^ map->l_addr ^ (uintptr_t)map->l_ld) * multiplier;
    return state | UINT64_C(1) << 63; // no number of changes
}

// end_fork_in_child makes the lock anew: threads that waited for it do not exist here.
static void end_fork_in_child(void)
{
    forking = unlocked;
    state_at_fork = linker_state();
    atomic_store(&is_child, &_r_debug != NULL);
}

// walk_unlocked is dl_iterate_phdr without its lock.
static int walk_unlocked(int (*visit)(struct dl_phdr_info *, size_t, void *),
                         void *context)
{
    int result = 0;
    for (const struct link_map *map = _r_debug.r_map; map != NULL && result == 0;
         map = map->l_next) {
        struct local_image image;
        size_t count;
        struct dl_phdr_info info = { .dlpi_addr = map->l_addr,
                                     .dlpi_name = map->l_name };
        // What another thread was loading is not found yet; what it was unloading may
        // be unmapped.
        if (!local_code_image((uintptr_t)map->l_ld, &image) ||
            !local_code_is_readable(image.start))
            continue;
        info.dlpi_phdr = local_code_segments(&image, &count);
        info.dlpi_phnum = (uint16_t)count;
        result = count != 0 ? visit(&info, sizeof(info), context) : 0;
    }
    return result;
}

// walk_linker_list calls visit for each image that is loaded, and gives what it
// returned last.
static int walk_linker_list(int (*visit)(struct dl_phdr_info *, size_t, void *),
                            void *context)
{
    if (atomic_load(&is_child))
        return walk_unlocked(visit, context);
    // It is not locked where the fork itself is to be captured, nor where there is no
    // other thread to fork.
    bool is_alone = &__libc_single_threaded != NULL && __libc_single_threaded != 0;
    bool locked = !is_alone && pthread_rwlock_rdlock(&forking) == 0;
    int result = dl_iterate_phdr(visit, context);
    if (locked)
        (void)pthread_rwlock_unlock(&forking);
    return result;
}

static int count_changes(struct dl_phdr_info *info, size_t size, void *out)
{
    uint64_t *generation = out;
    (void)size;
    *generation = (uint64_t)info->dlpi_adds + (uint64_t)info->dlpi_subs;
    return 1;
}

// generation_now changes whenever an object is loaded or unloaded.
static uint64_t generation_now(void)
{
    uint64_t generation = 0;
    if (atomic_load(&is_child)) {
        generation = linker_state();
        if (generation == state_at_fork)
            return generation;
        atomic_store(&is_child, false);
    }
    (void)walk_linker_list(count_changes, &generation);
    return generation;
}

// local_program_path writes the path of the program's file. A program that was started
// by way of the dynamic linker is not what /proc calls it.
static const char *local_program_path(char out[PATH_MAX])
{
    static const char deleted[] = " (deleted)";
    const char *started = (const char *)getauxval(AT_EXECFN);
    ssize_t size = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[size > 0 ? size : 0] = 0;
    size_t length = strlen(out);
    size_t suffix = sizeof(deleted) - 1;
    if (length > suffix && strcmp(out + length - suffix, deleted) == 0)
        out[length - suffix] = 0;
    const char *name = file_name(out);
    if (length != 0 && strncmp(name, "ld-", 3) != 0 && strncmp(name, "ld.", 3) != 0)
        return out;
    return started != NULL && realpath(started, out) != NULL ? out : started;
}

static void find_listed_id(const struct dl_phdr_info *info, const Elf64_Phdr *notes,
                           struct crashhook_image *image)
{
    const uint8_t *id;
    size_t size;
    struct cursor c =
        cursor_over((const void *)(info->dlpi_addr + notes->p_vaddr), notes->p_memsz);
    if (image->id_size != 0 ||
        elf_find_build_id(c, notes->p_align, &id, &size) != CH_OK)
        return;
    image->id = (uint8_t *)id;
    image->id_size = size < IMAGE_BUILD_ID_MAX ? size : IMAGE_BUILD_ID_MAX;
}

// read_linker_image fills in one image by its program headers. False: it has no code.
static bool read_linker_image(const struct dl_phdr_info *info,
                              struct crashhook_image *image, struct local_image *code)
{
    local_code_describe(info, code);
    *image = (struct crashhook_image){ .base = code->start, .width = 64 };
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        uint64_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
        end = (end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
            end > image->end_of_text)
            image->end_of_text = end;
        if (segment->p_type == PT_NOTE)
            find_listed_id(info, segment, image);
    }
    return image->end_of_text != 0;
}

// copy_linker_name copies a name of the linker's, whose lock ThreadSanitizer does not
// know.
__attribute__((no_sanitize("thread"))) static const char *
copy_linker_name(const char *name, char out[PATH_MAX])
{
    size_t size = 0;
    for (; name[size] != 0 && size < PATH_MAX - 1; size++)
        out[size] = name[size];
    out[size] = 0;
    return out;
}

static int add_linker_image(struct dl_phdr_info *info, size_t size, void *context)
{
    struct listed *listed = context;
    struct crashhook_image image;
    struct local_image code;
    char name[PATH_MAX];
    (void)size;
    if (!read_linker_image(info, &image, &code))
        return 0;
    const char *path =
        copy_linker_name(info->dlpi_name != NULL ? info->dlpi_name : "", name);
    if (image.base == getauxval(AT_SYSINFO_EHDR))
        path = "[vdso]";
    else if (path[0] == 0 || strcmp(path, "/proc/self/exe") == 0) // of musl, static
        path = local_program_path(name);
    if (listed->count++ >= listed->room)
        return 0;
    image.path = (char *)path;
    listed->code[listed->count - 1] = code;
    return image_list_add(listed->images, &image, path != NULL ? strlen(path) : 0) !=
           CH_OK;
}

static enum ch_status make_list(struct crashhook_images **out)
{
    size_t room = 64;
    for (;;) {
        struct listed listed = { .room = room };
        enum ch_status status = image_list_create(room, &listed.images);
        if (status != CH_OK)
            return status;
        listed.code = calloc(room, sizeof(*listed.code));
        bool failed =
            listed.code == NULL || walk_linker_list(add_linker_image, &listed) != 0;
        bool complete = !failed && listed.count <= room;
        if (complete)
            local_code_publish(listed.code, listed.count);
        free(listed.code);
        if (complete) {
            image_list_sort(listed.images);
            *out = listed.images;
            return CH_OK;
        }
        crashhook_images_release(listed.images);
        if (failed)
            return CH_ERR_NO_MEMORY;
        room = listed.count + 16;
    }
}

// list_at_start is for a C library without a search of its own: it needs the list
// before the first capture.
__attribute__((constructor)) static void list_at_start(void)
{
    struct crashhook_images *images;
    (void)pthread_atfork(begin_fork, end_fork, end_fork_in_child);
    if (make_list(&images) == CH_OK)
        crashhook_images_release(images);
}

// share_list keeps list for all threads, unless another thread has done so meanwhile.
static void share_list(struct shared_list *list)
{
    struct shared_list *none = NULL;
    if (atomic_compare_exchange_strong(&shared, &none, list))
        return;
    crashhook_images_release(list->images);
    free(list);
}

void local_images_release(void)
{
    struct shared_list *list = atomic_exchange(&shared, NULL);
    if (list == NULL)
        return;
    crashhook_images_release(list->images);
    free(list);
}

// take_shared gives a reference to the current list that is kept for all threads, or to
// a new one.
static enum ch_status take_shared(uint64_t generation, struct crashhook_images **out)
{
    struct shared_list *list = atomic_exchange(&shared, NULL);
    if (list != NULL && list->generation == generation) {
        *out = crashhook_images_retain(list->images);
        share_list(list);
        return CH_OK;
    }
    if (list != NULL) {
        crashhook_images_release(list->images);
        free(list);
    }
    enum ch_status status = make_list(out);
    list = status == CH_OK ? malloc(sizeof(*list)) : NULL;
    if (list == NULL)
        return status;
    *list = (struct shared_list){ generation, crashhook_images_retain(*out) };
    share_list(list);
    return CH_OK;
}

enum ch_status local_images_take(struct crashhook_images **out)
{
    uint64_t generation = generation_now();
    struct local_thread *thread =
        local_thread_prepare() == CH_OK ? local_thread_own : NULL;
    if (thread == NULL)
        return take_shared(generation, out);
    if (thread->images == NULL || thread->generation != generation) {
        struct crashhook_images *images;
        enum ch_status status = take_shared(generation, &images);
        if (status != CH_OK)
            return status;
        crashhook_images_release(thread->images);
        thread->images = images;
        thread->generation = generation;
    }
    *out = crashhook_images_retain(thread->images);
    return CH_OK;
}
