// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/wait_names.h"

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/summary/crash_words.h"
#include "report/summary/report_waits.h"
#include "report/value/report.h"
#include "symbolizer/files/debug_files.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/search/report_images.h"

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

void wait_names_add(json_t *report, const struct symbolizer_options *options)
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
