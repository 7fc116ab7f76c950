// SPDX-License-Identifier: Apache-2.0
#include "backtrace/named_cache.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace/local_images.h"
#include "backtrace/symbol.h"
#include "base/system/mounts.h"
#include "crashhook/backtrace.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/symbol_image.h"

enum {
    PARTS = 32,       // of the table, each with its lock; a fork takes all of them
    PLACES = 512,     // of each part
    OPEN_IMAGES = 32, // at most so many keep their files mapped
    NAMES_ONLY = 1,   // how an image is opened: without lines and inlined calls
    WITH_CACHE = 2,   // with the symbol cache
    WAYS_TO_OPEN = 4,
    UNREFERENCED_IMAGES = 128, // that may be loaded again
    AFTER_CALL = 1 << 8,       // of a named_entry's flags
    DEFAULT_LIMIT_BYTES = 16 << 20,
};

struct named_image {
    struct image_memo memo;   // first, as lists have its address
    struct named_image *next; // in the list of all
    size_t references;        // under the list's lock
    char *path;
    struct build_id id;
    bool is_private;           // it has no build ID, and belongs to one list
    atomic_uint_fast64_t used; // the number of the last look-up in it
    atomic_bool is_open;
    atomic_bool is_unwanted; // it is to be closed when the look-up has ended
    pthread_mutex_t lock;    // of what follows
    struct symbol_image *open[WAYS_TO_OPEN];
};

// A part holds the entries whose hash ends with its number. They are dropped in the
// order in which they were added, but once more spared if they were used since.
struct part {
    pthread_mutex_t lock;
    size_t bytes;
    struct named_entry *oldest;
    struct named_entry *newest;
    struct named_entry *places[PLACES];
};

static struct part parts[PARTS] = { [0 ... PARTS -
                                     1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
static atomic_size_t limit_bytes = DEFAULT_LIMIT_BYTES;
static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;
static struct named_image *all_images;
static atomic_uint_fast64_t lookups;
static atomic_size_t open_count;
static size_t unreferenced; // images, under the list's lock
static char cache_folder[PATH_MAX];
static struct debug_search searches[2]; // without and with the symbol cache

static void close_image(struct named_image *image)
{
    for (size_t i = 0; i < WAYS_TO_OPEN; i++) {
        if (image->open[i] != NULL)
            atomic_fetch_sub(&open_count, 1);
        symbol_image_close(image->open[i]);
        image->open[i] = NULL;
    }
    atomic_store(&image->is_open, false);
}

static void lock_all(void)
{
    pthread_mutex_lock(&images_lock);
    for (size_t i = 0; i < PARTS; i++)
        pthread_mutex_lock(&parts[i].lock);
}

static void unlock_all(void)
{
    for (size_t i = PARTS; i > 0; i--)
        pthread_mutex_unlock(&parts[i - 1].lock);
    pthread_mutex_unlock(&images_lock);
}

// continue_in_child forgets what other threads were reading: they do not exist here,
// and what they left is incomplete.
static void continue_in_child(void)
{
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    for (struct named_image *image = all_images; image != NULL; image = image->next) {
        if (pthread_mutex_trylock(&image->lock) == 0) {
            pthread_mutex_unlock(&image->lock);
            continue;
        }
        memset(image->open, 0, sizeof(image->open));
        image->lock = unlocked;
    }
    unlock_all();
}

static void begin_cache(void)
{
    searches[1].cache_folder = symbol_cache_folder_default(cache_folder);
    (void)pthread_atfork(lock_all, unlock_all, continue_in_child);
}

static void release_named_image(struct image_memo *memo);

static struct named_image *create_named_image(const struct crashhook_image *from)
{
    struct named_image *made = calloc(1, sizeof(*made));
    char *path = strdup(from->path != NULL ? from->path : "");
    if (made == NULL || path == NULL) {
        free(made);
        free(path);
        return NULL;
    }
    made->memo.release = release_named_image;
    made->path = path;
    made->is_private = from->id_size == 0;
    if (from->id_size != 0 && from->id_size <= sizeof(made->id.bytes)) {
        made->id.size = from->id_size;
        memcpy(made->id.bytes, from->id, from->id_size);
    }
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

static bool is_named_image(const struct named_image *known,
                           const struct crashhook_image *image)
{
    return !known->is_private && known->id.size == image->id_size &&
           memcmp(known->id.bytes, image->id, image->id_size) == 0 &&
           strcmp(known->path, image->path != NULL ? image->path : "") == 0;
}

static void drop_image_entries(const struct named_image *image);

// take_unneeded takes an image that is not needed out of the list of all: image itself,
// or, where there are many without a reference, the one used least recently. NULL:
// none.
static struct named_image *take_unneeded(struct named_image *image)
{
    struct named_image *least = image->is_private ? image : NULL;
    struct named_image **at = &all_images;
    for (struct named_image *other = all_images;
         least != image && unreferenced > UNREFERENCED_IMAGES && other != NULL;
         other = other->next)
        if (other->references == 0 && (least == NULL || other->used < least->used))
            least = other;
    if (least == NULL)
        return NULL;
    while (*at != least)
        at = &(*at)->next;
    *at = least->next;
    unreferenced--;
    return least;
}

// release_named_image drops a list's reference.
static void release_named_image(struct image_memo *memo)
{
    struct named_image *image = (struct named_image *)memo;
    struct named_image *unneeded = NULL;
    pthread_mutex_lock(&images_lock);
    if (--image->references == 0) {
        unreferenced++;
        unneeded = take_unneeded(image);
    }
    pthread_mutex_unlock(&images_lock);
    if (unneeded == NULL)
        return;
    drop_image_entries(unneeded);
    close_image(unneeded);
    pthread_mutex_destroy(&unneeded->lock);
    free(unneeded->path);
    free(unneeded);
}

// find_named_image gives the image that a list's item is, with a reference that the
// item keeps. NULL: no memory.
static struct named_image *find_named_image(struct crashhook_image *item)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct image_memo *memo = atomic_load_explicit(&item->named, memory_order_acquire);
    if (memo != NULL)
        return (struct named_image *)memo;
    pthread_once(&once, begin_cache);
    pthread_mutex_lock(&images_lock);
    struct named_image *image = (struct named_image *)atomic_load(&item->named);
    struct named_image *known = image == NULL ? all_images : NULL;
    while (known != NULL && !is_named_image(known, item))
        known = known->next;
    if (image == NULL && known == NULL) {
        known = create_named_image(item);
        if (known != NULL) {
            known->next = all_images;
            all_images = known;
            unreferenced++;
        }
    }
    if (image == NULL && known != NULL) {
        unreferenced -= known->references++ == 0;
        atomic_store_explicit(&item->named, &known->memo, memory_order_release);
        image = known;
    }
    pthread_mutex_unlock(&images_lock);
    return image;
}

void named_entry_release(struct named_entry *entry)
{
    if (entry != NULL &&
        atomic_fetch_sub_explicit(&entry->references, 1, memory_order_acq_rel) == 1)
        free(entry);
}

static struct named_entry **named_place(struct part *part, uint64_t hash)
{
    return &part->places[(hash / PARTS) % PLACES];
}

static uint64_t hash_of(const struct named_image *image, uint64_t offset,
                        unsigned flags)
{
    const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = ((uintptr_t)image ^ flags) * multiplier;
    hash = (hash ^ offset) * multiplier;
    return hash ^ hash >> 32;
}

static struct named_entry *find_entry(struct part *part, uint64_t hash,
                                      const struct named_image *image, uint64_t offset,
                                      unsigned flags)
{
    struct named_entry *entry = *named_place(part, hash);
    while (entry != NULL &&
           !(entry->image == image && entry->offset == offset && entry->flags == flags))
        entry = entry->next;
    return entry;
}

// drop_oldest takes the oldest entry out of its part.
static void drop_oldest(struct part *part)
{
    struct named_entry *entry = part->oldest;
    struct named_entry **at =
        named_place(part, hash_of(entry->image, entry->offset, entry->flags));
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    part->oldest = entry->older;
    if (part->oldest == NULL)
        part->newest = NULL;
    part->bytes -= entry->bytes;
    named_entry_release(entry);
}

static void append_entry(struct part *part, struct named_entry *entry)
{
    entry->older = NULL;
    if (part->newest != NULL)
        part->newest->older = entry;
    else
        part->oldest = entry;
    part->newest = entry;
}

// drop_down_to drops entries until the part has room. One that was used since it was
// added, or spared, is spared.
static void drop_down_to(struct part *part, size_t bytes)
{
    while (part->oldest != NULL && part->bytes > bytes) {
        struct named_entry *entry = part->oldest;
        if (!entry->is_used || part->newest == entry) {
            drop_oldest(part);
            continue;
        }
        entry->is_used = false;
        part->oldest = entry->older;
        append_entry(part, entry);
    }
}

// drop_image_entries drops those of one image; NULL: of all.
static void drop_image_entries(const struct named_image *image)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct part *part = &parts[i];
        pthread_mutex_lock(&part->lock);
        struct named_entry *last = part->newest;
        for (bool more = part->oldest != NULL; more;) {
            struct named_entry *entry = part->oldest;
            more = entry != last;
            if (image == NULL || entry->image == image) {
                drop_oldest(part);
                continue;
            }
            if (entry == part->newest)
                continue;
            part->oldest = entry->older;
            append_entry(part, entry);
        }
        pthread_mutex_unlock(&part->lock);
    }
}

static size_t string_bytes(const char *string)
{
    return string != NULL ? strlen(string) + 1 : 0;
}

static const char *put_string(char **at, const char *string)
{
    if (string == NULL)
        return NULL;
    size_t size = strlen(string) + 1;
    char *copy = memcpy(*at, string, size);
    *at += size;
    return copy;
}

// A lookup is one address of an image, for which an entry is made.
struct lookup {
    struct named_image *image;
    struct crashhook_image *item;
    uint64_t address;
    unsigned flags;
};

// symbol_of_frame gives the symbol of a frame that was found; its strings are the
// frame's. NULL: nothing was found.
static struct crashhook_symbol symbol_of_frame(const struct lookup *lookup,
                                               const struct symbol_frame *frame,
                                               uint64_t vaddr)
{
    struct crashhook_symbol symbol = { .image = lookup->item,
                                       .raw_name = "<unknown>", // as in Swift
                                       .name = "<unknown>" };
    if (frame != NULL && frame->function != NULL) {
        symbol.name = symbol_frame_public_name(frame->function);
        symbol.raw_name = frame->raw_name != NULL ? frame->raw_name : frame->function;
        symbol.offset = frame->inlined ? 0 : (int64_t)(vaddr - frame->start);
    }
    if (frame != NULL && lookup->flags & CRASHHOOK_SHOW_SOURCE_LOCATIONS &&
        frame->file != NULL)
        symbol.location = (struct crashhook_source_location){ frame->file, frame->line,
                                                              frame->column };
    symbol_judge(&symbol);
    return symbol;
}

static struct named_entry *make_entry(const struct lookup *lookup,
                                      const struct symbol_frame *frames, size_t count,
                                      uint64_t vaddr)
{
    struct crashhook_symbol symbols[SYMBOL_FRAMES_MAX];
    size_t begin =
        count != 0 && !(lookup->flags & CRASHHOOK_SHOW_INLINE_FRAMES) ? count - 1 : 0;
    size_t made = 0;
    size_t bytes = 0;
    do {
        const struct symbol_frame *frame =
            begin + made < count ? &frames[begin + made] : NULL;
        struct crashhook_symbol *symbol = &symbols[made++];
        *symbol = symbol_of_frame(lookup, frame, vaddr);
        bytes += string_bytes(symbol->raw_name) + string_bytes(symbol->name) +
                 string_bytes(symbol->location.path);
    } while (begin + made < count);

    size_t size = sizeof(struct named_entry) + made * sizeof(symbols[0]) + bytes;
    struct named_entry *entry = calloc(1, size);
    if (entry == NULL)
        return NULL;
    atomic_init(&entry->references, 1);
    entry->image = lookup->image;
    entry->offset = lookup->address - lookup->item->base;
    entry->flags = lookup->flags;
    entry->bytes = size;
    entry->count = made;
    char *at = (char *)(entry->symbols + made);
    for (size_t i = 0; i < made; i++) {
        entry->symbols[i] = symbols[i];
        entry->symbols[i].image = NULL;
        entry->symbols[i].raw_name = put_string(&at, symbols[i].raw_name);
        entry->symbols[i].name = put_string(&at, symbols[i].name);
        entry->symbols[i].location.path = put_string(&at, symbols[i].location.path);
    }
    return entry;
}

// close_if_idle closes image now, or lets the thread that reads it do that.
static void close_if_idle(struct named_image *image)
{
    atomic_store(&image->is_unwanted, true);
    if (pthread_mutex_trylock(&image->lock) != 0)
        return;
    close_image(image);
    atomic_store(&image->is_unwanted, false);
    pthread_mutex_unlock(&image->lock);
}

// close_least_used closes the image that was not used for the longest time, so that a
// program with many images does not keep all of their files mapped.
static void close_least_used(const struct named_image *except)
{
    struct named_image *least = NULL;
    pthread_mutex_lock(&images_lock);
    for (struct named_image *image = all_images; image != NULL; image = image->next)
        if (atomic_load(&image->is_open) && image != except &&
            (least == NULL || image->used < least->used))
            least = image;
    if (least != NULL)
        close_if_idle(least);
    pthread_mutex_unlock(&images_lock);
}

// open_image gives the open image for a look-up with these options.
static struct symbol_image *open_image(struct named_image *image, unsigned flags)
{
    const unsigned lines =
        CRASHHOOK_SHOW_INLINE_FRAMES | CRASHHOOK_SHOW_SOURCE_LOCATIONS;
    size_t way = (flags & lines ? 0 : NAMES_ONLY) |
                 (flags & CRASHHOOK_USE_SYMBOL_CACHE ? WITH_CACHE : 0);
    image->used = atomic_fetch_add(&lookups, 1);
    if (image->open[way] != NULL)
        return image->open[way];
    struct symbol_image *opened;
    if (symbol_image_open(&opened, image->path, &image->id,
                          &searches[way & WITH_CACHE ? 1 : 0],
                          way & NAMES_ONLY) != CH_OK)
        return NULL;
    // The program may close descriptors that it does not know.
    symbol_image_detach(opened);
    image->open[way] = opened;
    atomic_store(&image->is_open, true);
    if (atomic_fetch_add(&open_count, 1) >= OPEN_IMAGES)
        close_least_used(image);
    return opened;
}

static struct named_entry *look_up(const struct lookup *lookup)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct named_image *image = lookup->image;
    struct named_entry *entry = NULL;
    pthread_mutex_lock(&image->lock);
    struct symbol_image *open = open_image(image, lookup->flags);
    if (open != NULL) {
        uint64_t vaddr = lookup->address - lookup->item->base + symbol_image_base(open);
        size_t count = symbol_image_find(open, vaddr, frames);
        uint64_t captured = vaddr + (lookup->flags & AFTER_CALL ? 1 : 0);
        entry = make_entry(lookup, frames, count, captured);
    }
    reachable_forget();
    if (atomic_exchange(&image->is_unwanted, false))
        close_image(image);
    pthread_mutex_unlock(&image->lock);
    return entry;
}

// keep_entry adds a new entry, unless it alone is too large, or another thread has
// added it meanwhile.
static void keep_entry(struct part *part, uint64_t hash, struct named_entry *entry)
{
    size_t limit = atomic_load_explicit(&limit_bytes, memory_order_relaxed) / PARTS;
    if (entry->bytes > limit)
        return;
    pthread_mutex_lock(&part->lock);
    if (find_entry(part, hash, entry->image, entry->offset, entry->flags) == NULL) {
        struct named_entry **place = named_place(part, hash);
        drop_down_to(part, limit - entry->bytes);
        atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
        entry->next = *place;
        *place = entry;
        append_entry(part, entry);
        part->bytes += entry->bytes;
    }
    pthread_mutex_unlock(&part->lock);
}

enum ch_status named_cache_find(struct crashhook_image *item, uint64_t address,
                                bool after_call, unsigned options,
                                struct named_entry **out)
{
    struct lookup lookup = { .image = find_named_image(item),
                             .item = item,
                             .address = address,
                             .flags = (options & CRASHHOOK_SYMBOLICATION_DEFAULT) |
                                      (after_call ? AFTER_CALL : 0) };
    if (lookup.image == NULL)
        return CH_ERR_NO_MEMORY;
    uint64_t offset = address - item->base;
    uint64_t hash = hash_of(lookup.image, offset, lookup.flags);
    struct part *part = &parts[hash % PARTS];
    pthread_mutex_lock(&part->lock);
    struct named_entry *entry =
        find_entry(part, hash, lookup.image, offset, lookup.flags);
    if (entry != NULL) {
        entry->is_used = true;
        atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&part->lock);
    if (entry == NULL) {
        entry = look_up(&lookup);
        if (entry == NULL)
            return CH_ERR_NO_MEMORY;
        keep_entry(part, hash, entry);
    }
    *out = entry;
    return CH_OK;
}

void crashhook_backtrace_cache_set_limit(size_t bytes)
{
    atomic_store(&limit_bytes, bytes);
    for (size_t i = 0; i < PARTS; i++) {
        pthread_mutex_lock(&parts[i].lock);
        drop_down_to(&parts[i], bytes / PARTS);
        pthread_mutex_unlock(&parts[i].lock);
    }
}

size_t crashhook_backtrace_cache_size(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < PARTS; i++) {
        pthread_mutex_lock(&parts[i].lock);
        bytes += parts[i].bytes;
        pthread_mutex_unlock(&parts[i].lock);
    }
    return bytes;
}

void crashhook_backtrace_cache_release(void)
{
    drop_image_entries(NULL);
    local_images_release();
    pthread_mutex_lock(&images_lock);
    for (struct named_image *image = all_images; image != NULL; image = image->next)
        close_if_idle(image);
    pthread_mutex_unlock(&images_lock);
}
