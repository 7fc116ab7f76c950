// SPDX-License-Identifier: Apache-2.0
//
// How it works: names come from a memo (symbolization_recall), from caches in this
// process, or from a guarded child that reads the debug files (guard_names). A child
// that an image crashes is started again without it, at most RETRIES_MAX times.
// Meanwhile another child decompresses what arguments need. After names: Swift's,
// locks.
// Invariants: the children of the lookups share one deadline; nothing that a child
// sends is used before its form is checked; frames are replaced after the lookups, at
// once.
#include <gelf.h>
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/system/mounts.h"
#include "base/text.h"
#include "report/file/system_image.h"
#include "report/summary/crash_words.h"
#include "report/summary/report_waits.h"
#include "report/value/report.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/files/debug_files.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/names/frame_names.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/search/report_images.h"
#include "symbolizer/swift_names.h"
#include "symbolizer/symbolization.h"
#include "symbolizer/symbolizer.h"

// A variable's name is at most this long; more waits than this are not named, and a
// child has this much time.
enum { NAME_BYTES = 256, NAMED_WAITS_MAX = 64, WAIT_NAMES_MS = 5000 };

// No image is larger. Most locks are in memory that was mapped for a heap, far from a
// program.
#define IMAGE_BYTES_MAX (UINT64_C(1) << 40)

struct wait_naming {
    const struct symbolizer_options *options;
    const json_t *waits;
    struct report_images images;
    // The image that was looked at last, as that of several waits often is; NULL: none.
    const struct report_image *image;
    struct debug_files files;
    bool laid_out;
    uint64_t base; // if it is laid out
};

// wait_image is the image whose data may hold address: the last one that begins before
// it, unless that has no file. Its symbols tell.
static const struct report_image *wait_image(const struct report_images *images,
                                             uint64_t address)
{
    const struct report_image *found = NULL;
    for (size_t i = 0; i < images->count; i++) {
        const struct report_image *image = &images->items[i];
        if (image->base <= address && (found == NULL || image->base > found->base))
            found = image;
    }
    return found != NULL && found->path[0] != 0 &&
                   address - found->base < IMAGE_BYTES_MAX
               ? found
               : NULL;
}

// is_variable_at returns true if the variable is at vaddr, or is no larger than a lock
// and vaddr is within it: a condition's futex is. A member of a structure has no name
// of its own.
static bool is_variable_at(const GElf_Sym *symbol, uint64_t vaddr)
{
    enum { LOCK_BYTES = 56 }; // of glibc, the largest
    return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT &&
           symbol->st_shndx != SHN_UNDEF &&
           (symbol->st_value == vaddr || (symbol->st_size <= LOCK_BYTES &&
                                          vaddr - symbol->st_value < symbol->st_size));
}

// wait_find_variable finds the variable that is at vaddr by the symbols of a section.
static const char *wait_find_variable(const struct debug_elf *file, Elf_Scn *section,
                                      const GElf_Shdr *header, uint64_t vaddr)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count =
        data != NULL && header->sh_entsize != 0 ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            return NULL;
        if (is_variable_at(&symbol, vaddr))
            return elf_strptr(file->elf, header->sh_link, symbol.st_name);
    }
    return NULL;
}

static const char *variable_in_file(const struct debug_elf *file, uint64_t vaddr)
{
    const char *found = NULL;
    for (Elf_Scn *scn = file->elf != NULL ? elf_nextscn(file->elf, NULL) : NULL;
         scn != NULL && found == NULL; scn = elf_nextscn(file->elf, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) != NULL &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            found = wait_find_variable(file, scn, &header, vaddr);
    }
    return found;
}

// wait_open opens the files of image, unless they are open.
static void wait_open(struct wait_naming *symbolization,
                      const struct report_image *image)
{
    struct debug_search search = symbolizer_options_search(symbolization->options);
    char buffers[2][PATH_MAX];
    uint64_t text[2];
    if (symbolization->image == image)
        return;
    if (symbolization->image != NULL)
        debug_files_close(&symbolization->files);
    symbolization->image = image;
    debug_files_open(
        &symbolization->files,
        symbolizer_options_path(symbolization->options, image->path, buffers),
        &image->id, &search);
    const struct debug_elf *file = symbolization->files.image.elf != NULL
                                       ? &symbolization->files.image
                                       : &symbolization->files.debug;
    symbolization->laid_out =
        file->elf != NULL &&
        debug_elf_layout(file, &symbolization->base, text) == CH_OK;
}

// wait_variable gives the name of the variable at address as a string, or null.
static json_t *wait_variable(struct wait_naming *symbolization, uint64_t address)
{
    const struct report_image *image = wait_image(&symbolization->images, address);
    const char *name = NULL;
    if (image == NULL)
        return json_null();
    wait_open(symbolization, image);
    if (symbolization->laid_out) {
        uint64_t vaddr = address - image->base + symbolization->base;
        name = variable_in_file(&symbolization->files.image, vaddr);
        if (name == NULL)
            name = variable_in_file(&symbolization->files.debug, vaddr);
    }
    char *plain = name != NULL ? demangle_name(name) : NULL;
    const char *found = plain != NULL ? plain : name;
    json_t *json =
        found != NULL && strlen(found) < NAME_BYTES ? json_string(found) : json_null();
    free(plain);
    return json != NULL ? json : json_null();
}

// name_waits is a guarded_child_fn.
static enum ch_status name_waits(void *context, int to_parent)
{
    struct wait_naming *symbolization = context;
    json_t *names = json_array();
    for (size_t i = 0; i < json_array_size(symbolization->waits) && i < NAMED_WAITS_MAX;
         i++) {
        uint64_t address;
        bool has = report_address(json_array_get(symbolization->waits, i), "address",
                                  &address);
        (void)json_array_append_new(names, has ? wait_variable(symbolization, address)
                                               : json_null());
    }
    // What is open is so until the end of the child, which is now.
    return guarded_child_answer(names, to_parent);
}

static void take_wait_names(json_t *waits, const struct text *result)
{
    json_t *names = guarded_child_read(result);
    for (size_t i = 0; i < json_array_size(waits); i++) {
        json_t *name = json_array_get(names, i);
        if (json_is_string(name) && json_string_length(name) != 0 &&
            json_string_length(name) < NAME_BYTES)
            (void)json_object_set(json_array_get(waits, i), "name", name);
    }
    json_decref(names);
}

// tell_futex says by the functions that a thread is in what its futex belongs to.
static void tell_futex(const json_t *report, json_t *wait)
{
    static const char *const calls[][2] = {
        { "pthread_cond_", "condition" },
        { "__pthread_cond_", "condition" },
        { "___pthread_cond_", "condition" },
        { "sem_", "semaphore" },
        { "__new_sem_", "semaphore" },
        { "pthread_barrier_wait", "barrier" },
        { "__pthread_barrier_wait", "barrier" },
        { "___pthread_barrier_wait", "barrier" },
    };
    enum { FRAMES = 6 };
    const json_t *thread = report_wait_thread(report, wait);
    const json_t *frames = report_frames(thread);
    for (size_t i = 0; i < json_array_size(frames) && i < FRAMES; i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        for (size_t k = 0; function != NULL && k < sizeof(calls) / sizeof(calls[0]);
             k++) {
            if (strncmp(function, calls[k][0], strlen(calls[k][0])) != 0 ||
                !report_frame_is_system(report, frame))
                continue;
            (void)json_object_set_new(wait, "object", json_string(calls[k][1]));
            return;
        }
    }
}

static bool has_names(const json_t *waits)
{
    bool has = false;
    for (size_t i = 0; i < json_array_size(waits); i++)
        has = has || json_object_get(json_array_get(waits, i), "name") != NULL;
    return has;
}

// may_be_named returns true if an image may hold one of the locks.
static bool may_be_named(const struct wait_naming *symbolization)
{
    uint64_t address;
    for (size_t i = 0; i < json_array_size(symbolization->waits) && i < NAMED_WAITS_MAX;
         i++)
        if (report_address(json_array_get(symbolization->waits, i), "address",
                           &address) &&
            wait_image(&symbolization->images, address) != NULL)
            return true;
    return false;
}

// wait_names_add adds the names to report, whose frames are named already.
static void wait_names_add(json_t *report, const struct symbolizer_options *options)
{
    json_t *waits = report_waits(report);
    struct wait_naming symbolization = { .options = options, .waits = waits };
    struct text CH_CLEANUP(text_deinit) result = { .limit_bytes = 1 << 20 };
    if (json_array_size(waits) == 0 || has_names(waits))
        return;
    for (size_t i = 0; i < json_array_size(waits); i++) {
        json_t *wait = json_array_get(waits, i);
        const char *object = report_string(wait, "object");
        if (object != NULL && strcmp(object, "futex") == 0)
            tell_futex(report, wait);
    }
    char *begun = crash_words_begun(report);
    if (report_images_read(&symbolization.images, report) == CH_OK &&
        may_be_named(&symbolization) &&
        guarded_child_run(name_waits, &symbolization,
                          guarded_child_now_ms() + WAIT_NAMES_MS, &result) == CH_OK)
        take_wait_names(waits, &result);
    report_images_deinit(&symbolization.images);
    // The names are part of the sentence for a deadlock.
    if (json_is_object(json_object_get(report, "crash")))
        crash_words_renew(report, begun);
    free(begun);
}

// Names that symbol caches have, looked up in this process: from the second crash of a
// program on these are all of them, and no guarded child is needed, which takes several
// times as long as the lookups.
//
// A cache is not as dangerous as a debug file. It is ours, nobody else may write it,
// and each byte is read with a cursor after its page's checksum was compared. What
// remains is a page that cannot be read, which is a SIGBUS: the rest is then left to
// the child.

static sigjmp_buf page_fault;
static _Thread_local volatile sig_atomic_t looking_up;

// leave_page leaves the lookups; the fault of a thread that makes none ends the
// process.
static void leave_page(int number)
{
    if (looking_up)
        siglongjmp(page_fault, number);
    (void)signal(number, SIG_DFL);
}

static enum ch_status name_cached_place(struct symbol_cache *cache,
                                        struct symbolization_lookup *lookup,
                                        const struct frame_image *image)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count = 0;
    uint64_t vaddr = lookup->place.offset + cache->base;
    enum ch_status status = symbol_cache_find(cache, vaddr, frames, &count);
    return status == CH_OK ? frame_names_make(frames, count, vaddr + lookup->after_call,
                                              image, &lookup->names)
                           : status;
}

// forget_names makes places be looked up again.
static void forget_names(struct symbolization_lookup *lookups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_decref(lookups[i].names);
        lookups[i].names = NULL;
    }
}

// name_cached_image looks up the places of one image, all or none.
static void name_cached_image(struct symbolization *symbolization,
                              struct symbolization_lookup *lookups, size_t count)
{
    const struct symbolizer_options *options = symbolization->options;
    const struct report_image *from =
        &symbolization->images.items[lookups->place.image];
    const struct frame_image image = { .path = from->path,
                                       .status = DEBUG_FOUND,
                                       .home =
                                           options->sanitize ? options->home : NULL };
    struct symbol_cache *cache = &symbolization->cache;
    if (symbol_cache_folder_find(cache, options->cache_folder, &from->id) != CH_OK)
        return;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < count; i++)
        status = name_cached_place(cache, &lookups[i], &image);
    if (status != CH_OK)
        forget_names(lookups, count); // the child removes a damaged cache
    symbol_cache_deinit(cache);
}

// name_outside handles places that are in no image.
static void name_outside(struct symbolization_lookup *lookups, size_t count)
{
    const struct frame_image none = { .path = "", .status = DEBUG_NO_IMAGE };
    for (size_t i = 0; i < count; i++)
        if (frame_names_make(NULL, 0, lookups[i].place.offset + lookups[i].after_call,
                             &none, &lookups[i].names) != CH_OK)
            lookups[i].names = NULL;
}

static void look_up_cached(struct symbolization *symbolization)
{
    size_t begin = 0;
    for (size_t i = 1; i <= symbolization->lookup_count; i++) {
        struct symbolization_lookup *first = &symbolization->lookups[begin];
        uint32_t index = first->place.image;
        if (i < symbolization->lookup_count &&
            symbolization->lookups[i].place.image == index)
            continue;
        if (index >= symbolization->images.count)
            name_outside(first, i - begin);
        else if (symbolization->images.items[index].id.size != 0 &&
                 first->names == NULL)
            name_cached_image(symbolization, first, i - begin);
        begin = i;
    }
}

// symbolization_look_up_cached looks up the places of images that have a cache, and
// gives whether that were all places. It changes what SIGBUS does while it runs, so no
// other thread of the process may do the same (symbolizer_options.single).
static bool symbolization_look_up_cached(struct symbolization *symbolization)
{
    const struct sigaction ours = { .sa_handler = leave_page };
    struct sigaction before;
    if (symbolization->options->cache_folder == NULL ||
        symbolization->options->level != SYMBOLIZE_FULL ||
        sigaction(SIGBUS, &ours, &before) != 0)
        return false;
    looking_up = 1;
    if (sigsetjmp(page_fault, 1) == 0)
        look_up_cached(symbolization);
    else
        symbol_cache_deinit(&symbolization->cache); // it was left open
    looking_up = 0;
    (void)sigaction(SIGBUS, &before, NULL);
    bool all = true;
    for (size_t i = 0; i < symbolization->lookup_count; i++)
        all = all && symbolization->lookups[i].names != NULL;
    return all;
}

// The first report of a build finds no caches: its names and its arguments both need
// the same debug information decompressed. So while one guarded child looks up names,
// another decompresses for the arguments (decompressed_debug.h), which takes no extra
// time on a machine with a second processor.

// ahead is what to decompress.
struct ahead {
    const struct symbolization *symbolization;
    bool *wanted; // by index of images
};

static uint32_t image_to_prepare(const struct symbolization *symbolization,
                                 const json_t *frame)
{
    struct report_place place;
    if (report_frame_place(frame, &place) != CH_OK ||
        place.image >= symbolization->images.count)
        return REPORT_NO_IMAGE;
    return place.image;
}

static bool decompressed_image_is_system(const struct symbolization *symbolization,
                                         const json_t *frame)
{
    uint32_t image = image_to_prepare(symbolization, frame);
    return image == REPORT_NO_IMAGE ||
           system_image(symbolization->images.items[image].path);
}

// mark_wanted marks the images of a stack except for its startup code: the outermost
// frame, where the program or thread began, and the system frames next to it.
static void mark_wanted(const struct ahead *ahead, const json_t *frames)
{
    size_t count = json_array_size(frames);
    size_t end = count > 1 ? count - 1 : count;
    while (end > 0 && decompressed_image_is_system(ahead->symbolization,
                                                   json_array_get(frames, end - 1)))
        end--;
    if (end == 0)
        end = count;
    for (size_t i = 0; i < end; i++) {
        uint32_t image =
            image_to_prepare(ahead->symbolization, json_array_get(frames, i));
        if (image != REPORT_NO_IMAGE)
            ahead->wanted[image] = true;
    }
}

// find_lacking marks the images of frames that have no cache yet, and returns whether
// there are any: mostly there are none, and no stack has to be looked at.
static bool find_lacking(const struct symbolization *symbolization, bool *lacking)
{
    bool any = false;
    for (size_t i = 0; i < symbolization->lookup_count; i++) {
        uint32_t image = symbolization->lookups[i].place.image;
        bool again = i != 0 && symbolization->lookups[i - 1].place.image == image;
        if (again || image >= symbolization->images.count)
            continue;
        const struct build_id *id = &symbolization->images.items[image].id;
        lacking[image] = id->size != 0 && symbol_cache_folder_lacks(
                                              symbolization->options->cache_folder, id);
        any = any || lacking[image];
    }
    return any;
}

// mark_all marks what all stacks want and is lacking, and returns whether there is any.
static bool mark_all(const struct ahead *ahead, const bool *lacking)
{
    const struct symbolization *symbolization = ahead->symbolization;
    bool any = false;
    for (size_t i = 0; i < symbolization->backtrace_count; i++)
        mark_wanted(ahead, symbolization->backtraces[i].frames);
    for (size_t i = 0; i < symbolization->images.count; i++) {
        ahead->wanted[i] = ahead->wanted[i] && lacking[i];
        any = any || ahead->wanted[i];
    }
    return any;
}

// write_plain_forms is a guarded_child_fn.
static enum ch_status write_plain_forms(void *context, int to_parent)
{
    const struct ahead *ahead = context;
    const struct symbolizer_options *options = ahead->symbolization->options;
    struct debug_search search = symbolizer_options_search(options);
    (void)to_parent;
    for (size_t i = 0; i < ahead->symbolization->images.count; i++) {
        char buffers[2][PATH_MAX];
        const struct report_image *image = &ahead->symbolization->images.items[i];
        if (ahead->wanted[i])
            image_cache_write_plain(
                symbolizer_options_path(options, image->path, buffers), &image->id,
                &search);
    }
    return CH_OK;
}

// decompress_ahead_begin starts that child if an image of symbolization, which must
// outlive the child, has no cache yet and has frames whose arguments will be looked up.
// False: there is nothing to do.
static bool decompress_ahead_begin(struct symbolization *symbolization,
                                   int64_t deadline_ms, struct guarded_child *out)
{
    struct ahead ahead = { .symbolization = symbolization };
    const size_t count = symbolization->images.count;
    if (!symbolization->options->arguments ||
        symbolization->options->cache_folder == NULL)
        return false;
    bool *marks = calloc(2 * count + 1, sizeof(marks[0]));
    if (marks == NULL)
        return false;
    ahead.wanted = marks + count;
    bool begun = find_lacking(symbolization, marks) && mark_all(&ahead, marks) &&
                 guarded_child_start_beside(write_plain_forms, &ahead, deadline_ms,
                                            out) == CH_OK;
    free(marks);
    return begun;
}

// decompress_ahead_end waits until the child is done, or until the deadline.
static void decompress_ahead_end(struct guarded_child *child, int64_t deadline_ms)
{
    struct text CH_CLEANUP(text_deinit) nothing = { .limit_bytes = 1 };
    // Code that needs an image that was not finished decompresses it itself.
    (void)!guarded_child_finish(child, deadline_ms, &nothing);
}

#define CHILD_OUTPUT_MAX (256u << 20)

// RETRIES_MAX is the number of images that may crash a child before we give up.
enum { RETRIES_MAX = 8 };

struct guard {
    json_t *report;
    struct symbolization symbolization;
    volatile uint32_t *image_at_work; // shared with the child
    bool *refused;
    bool blamed;         // an image was refused
    int64_t deadline_ms; // of all attempts
};

// write_guarded_names sends the names of each place, in the order of places.
static enum ch_status write_guarded_names(const struct symbolization *symbolization,
                                          int to_parent)
{
    json_t *all = json_array();
    enum ch_status status = all != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    for (size_t i = 0; status == CH_OK && i < symbolization->lookup_count; i++)
        if (json_array_append(all, symbolization->lookups[i].names) != 0)
            status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = guarded_child_answer(all, to_parent);
    json_decref(all);
    return status;
}

// look_up_guarded is a guarded_child_fn.
static enum ch_status look_up_guarded(void *context, int to_parent)
{
    struct guard *guard = context;
    struct symbolization_watch watch = { .image_at_work = guard->image_at_work,
                                         .refused = guard->refused };
    enum ch_status status = symbolization_look_up(&guard->symbolization, &watch);
    return status == CH_OK ? write_guarded_names(&guard->symbolization, to_parent)
                           : status;
}

static bool is_names(const json_t *names)
{
    bool right = json_array_size(names) != 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        right = right && json_is_object(json_array_get(names, i));
    return right;
}

// take_names reads the child's result. Any other form is refused: a child that read a
// malicious file is not trusted.
static enum ch_status take_names(struct symbolization *symbolization,
                                 const struct text *result)
{
    json_t *all = guarded_child_read(result);
    bool right =
        json_is_array(all) && json_array_size(all) == symbolization->lookup_count;
    for (size_t i = 0; right && i < symbolization->lookup_count; i++)
        right = is_names(json_array_get(all, i));
    for (size_t i = 0; right && i < symbolization->lookup_count; i++)
        if (symbolization->lookups[i].names == NULL)
            symbolization->lookups[i].names = json_incref(json_array_get(all, i));
    json_decref(all);
    return right ? CH_OK : CH_ERR_MALFORMED;
}

static enum ch_status run_once(struct guard *guard)
{
    // Half of what is left, so that a child that hangs leaves time for another one
    // without its image.
    int64_t now = guarded_child_now_ms();
    struct text CH_CLEANUP(text_deinit) result = { .limit_bytes = CHILD_OUTPUT_MAX };
    *guard->image_at_work = REPORT_NO_IMAGE;
    enum ch_status status = guarded_child_run(
        look_up_guarded, guard, now + (guard->deadline_ms - now) / 2, &result);
    return status == CH_OK ? take_names(&guard->symbolization, &result) : status;
}

// add_guarded_problem adds to the report what went wrong, in image if not
// REPORT_NO_IMAGE.
static void add_guarded_problem(const struct guard *guard, const char *status,
                                uint32_t image)
{
    json_t *problems = json_object_get(guard->report, "problems");
    if (!json_is_array(problems)) {
        problems = json_array();
        if (json_object_set_new(guard->report, "problems", problems) != 0)
            return;
    }
    json_t *problem = json_pack("{s:s, s:s}", "stage", "symbolize", "status", status);
    const struct report_images *images = &guard->symbolization.images;
    if (problem != NULL && image < images->count)
        (void)json_object_set_new(problem, "image",
                                  json_string(images->items[image].path));
    (void)json_array_append_new(problems, problem);
}

// run_retrying excludes one more image after each child that an image has crashed.
static enum ch_status run_retrying(struct guard *guard)
{
    enum ch_status status = CH_OK;
    uint32_t image = REPORT_NO_IMAGE;
    for (int i = 0; i < RETRIES_MAX; i++) {
        status = run_once(guard);
        image = *guard->image_at_work;
        bool blamed = status == CH_ERR_FAULT || status == CH_ERR_LIMIT ||
                      status == CH_ERR_NO_MEMORY;
        if (!blamed || image >= guard->symbolization.images.count ||
            guard->refused[image])
            break;
        guard->refused[image] = true;
        guard->blamed = true;
        add_guarded_problem(guard, ch_status_name(status), image);
    }
    if (status != CH_OK)
        add_guarded_problem(guard, ch_status_name(status), REPORT_NO_IMAGE);
    return status;
}

// guard_names looks up the places of guard's symbolization in children.
static enum ch_status guard_names(struct guard *guard)
{
    void *shared = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    guard->image_at_work = shared;
    guard->refused =
        calloc(guard->symbolization.images.count + 1, sizeof(guard->refused[0]));
    enum ch_status status =
        guard->refused != NULL ? run_retrying(guard) : CH_ERR_NO_MEMORY;
    free(guard->refused);
    munmap(shared, sizeof(uint32_t));
    return status;
}

// find_names finds the names that no memo has, from caches alone if they have all.
static enum ch_status find_names(struct guard *guard)
{
    const struct symbolizer_options *options = guard->symbolization.options;
    struct guarded_child ahead;
    enum ch_status status = CH_OK;
    bool begun =
        decompress_ahead_begin(&guard->symbolization, guard->deadline_ms, &ahead);
    if (!options->single || !symbolization_look_up_cached(&guard->symbolization)) {
        status = guard_names(guard);
        if (options->memo != NULL)
            options->memo->file_readers++;
    }
    if (begun)
        decompress_ahead_end(&ahead, guard->deadline_ms);
    // Each report says which images could not be read, so their places are looked up
    // for each.
    if (status == CH_OK && !guard->blamed)
        symbolization_keep(&guard->symbolization);
    return status;
}

// check_image_places finds out which images are on file systems that do not answer,
// once for all children.
static void check_image_places(const struct guard *guard)
{
    const struct report_images *images = &guard->symbolization.images;
    for (uint32_t i = 0; i < images->count; i++) {
        char buffers[2][PATH_MAX];
        if (!reachable_check(symbolizer_options_path(guard->symbolization.options,
                                                     images->items[i].path, buffers)))
            add_guarded_problem(guard, "its file system does not answer", i);
    }
}

enum ch_status symbolizer_report_guarded(json_t *report,
                                         const struct symbolizer_options *options)
{
    if (options->level == SYMBOLIZE_OFF)
        return CH_OK;
    uint32_t timeout_ms =
        options->timeout_ms != 0 ? options->timeout_ms : SYMBOLIZER_TIMEOUT_MS;
    struct guard guard = { .report = report,
                           .deadline_ms = guarded_child_now_ms() + timeout_ms };
    diagnosis_begin(report);
    enum ch_status status = symbolization_init(&guard.symbolization, report, options);
    if (status == CH_OK)
        check_image_places(&guard);
    if (status == CH_OK && !symbolization_recall(&guard.symbolization))
        status = find_names(&guard);
    if (status == CH_OK)
        status = symbolization_write(&guard.symbolization, report);
    if (status == CH_OK)
        swift_names_apply(report, options);
    if (status == CH_OK)
        wait_names_add(report, options);
    if (status == CH_OK)
        diagnosis_refine(report);
    symbolization_deinit(&guard.symbolization);
    return status;
}
