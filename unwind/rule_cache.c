// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_cache.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_reader.h"
#include "formats/debug/sframe.h"
#include "formats/debug/unwind_row.h"
#include "unwind/image_cfi.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

// The SFrame sections of a target's images, fetched when they are first needed.
//
// A section that is missing, damaged or of an unknown version is remembered as such, so
// that each image is tried once, however many frames it has.

struct image_sframe;

// Real sections have some hundred kilobytes; those of browsers may reach ten megabytes.
enum { SECTION_LIMIT_BYTES = 64 << 20 };

enum section_state { SECTION_UNREAD, SECTION_READ, SECTION_UNUSABLE };

struct section {
    enum section_state state;
    uint8_t *bytes;
    struct sframe_section sframe;
};

struct image_sframe {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    bool any;
    struct section *sections;
};

// image_sframe_create prepares for the sections of count images; the images must
// outlive it.
CH_CHECKED static enum ch_status image_sframe_create(const struct unwind_arch *arch,
                                                     const struct memory_reader *memory,
                                                     const struct unwind_image *images,
                                                     size_t count,
                                                     struct image_sframe **out)
{
    struct image_sframe *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    *made = (struct image_sframe){
        .arch = arch, .memory = memory, .images = images, .count = count
    };
    for (size_t i = 0; i < count; i++)
        made->any = made->any || images[i].sframe_size != 0;
    made->sections = made->any ? calloc(count, sizeof(*made->sections)) : NULL;
    if (made->any && made->sections == NULL) {
        free(made);
        return CH_ERR_NO_MEMORY;
    }
    *out = made;
    return CH_OK;
}

static void image_sframe_destroy(struct image_sframe *sections)
{
    if (sections == NULL)
        return;
    for (size_t i = 0; sections->sections != NULL && i < sections->count; i++)
        free(sections->sections[i].bytes);
    free(sections->sections);
    free(sections);
}

// image_sframe_any returns true if any image has an SFrame section.
static bool image_sframe_any(const struct image_sframe *sections)
{
    return sections->any;
}

static bool sframe_is_for(const struct sframe_section *section,
                          const struct unwind_arch *arch)
{
    switch (section->arch) {
    case SFRAME_AMD64:
        return arch->id == UNWIND_ARCH_AMD64;
    case SFRAME_AARCH64_BIG:
    case SFRAME_AARCH64_LITTLE:
        return arch->id == UNWIND_ARCH_AARCH64;
    default:
        return arch->id == UNWIND_ARCH_S390X;
    }
}

static void image_sframe_read_section(struct image_sframe *s, size_t index)
{
    const struct unwind_image *image = &s->images[index];
    struct section *section = &s->sections[index];
    uint64_t limit = image->sframe_size;
    size_t size;
    if (limit > SECTION_LIMIT_BYTES)
        limit = SECTION_LIMIT_BYTES;

    section->state = SECTION_UNUSABLE;
    if (limit == 0 || image_bytes_copy(s->memory, image->sframe, limit, &section->bytes,
                                       &size) != CH_OK)
        return;
    if (sframe_section_init(&section->sframe, section->bytes, size, image->sframe) ==
            CH_OK &&
        sframe_section_usable(&section->sframe) &&
        sframe_is_for(&section->sframe, s->arch) &&
        section->sframe.bytes.big_endian == s->memory->big_endian)
        section->state = SECTION_READ;
}

// image_sframe_find gives the rules at pc, which is in images[index]. CH_ERR_NOT_FOUND:
// nothing covers it. CH_ERR_UNSUPPORTED: the image has no section, or one that cannot
// be used.
CH_CHECKED static enum ch_status image_sframe_find(struct image_sframe *s, size_t index,
                                                   uint64_t pc, struct unwind_row *out)
{
    const struct unwind_image *image = &s->images[index];
    if (!s->any)
        return CH_ERR_UNSUPPORTED;
    struct section *section = &s->sections[index];
    if (section->state == SECTION_UNREAD)
        image_sframe_read_section(s, index);
    if (section->state != SECTION_READ)
        return CH_ERR_UNSUPPORTED;
    if (sframe_lookup(&section->sframe, pc, out) != CH_OK)
        return CH_ERR_NOT_FOUND;
    // Before version 3 nothing in SFrame marked the code that the kernel starts.
    if (image->entry != 0 && image->entry >= out->start && image->entry < out->end)
        out->flags |= UNWIND_OUTERMOST;
    return CH_OK;
}

void compiled_cfi_init(struct compiled_cfi *cfi, const struct unwind_arch *arch,
                       const struct memory_reader *memory)
{
    *cfi = (struct compiled_cfi){ .processor = image_cfi_processor(arch),
                                  .big_endian = memory->big_endian,
                                  .narrow = memory->narrow };
}

void compiled_cfi_deinit(struct compiled_cfi *cfi)
{
    for (size_t i = 0; i < cfi->count; i++)
        cfi_index_deinit(&cfi->indexes[i]);
    free(cfi->indexes);
    *cfi = (struct compiled_cfi){ 0 };
}

void compiled_cfi_set_sections(struct compiled_cfi *cfi, unwind_sections_fn *find,
                               void *context)
{
    cfi->find = find;
    cfi->context = context;
}

static void index_compiled(struct compiled_cfi *cfi, const struct unwind_section *from,
                           size_t *entries)
{
    const struct cfi_section section = {
        .kind = from->debug_frame ? CFI_DEBUG_FRAME : CFI_EH_FRAME,
        .big_endian = cfi->big_endian,
        .narrow = cfi->narrow,
        .address = from->debug_frame ? 0 : from->address,
        .text = from->text,
    };
    struct cfi_index *index = &cfi->indexes[cfi->count];
    if (*entries >= COMPILED_CFI_ENTRIES ||
        cfi_index_init(index, &section, from->bytes, from->size) != CH_OK)
        return;
    *entries += index->count;
    if (index->count != 0)
        cfi->count++;
    else
        cfi_index_deinit(index);
}

// ask_for_sections indexes all sections.
static void ask_for_sections(struct compiled_cfi *cfi)
{
    const struct unwind_section *sections;
    size_t entries = 0;
    size_t count = cfi->find(cfi->context, &sections);
    cfi->find = NULL;
    cfi->indexes = calloc(count + 1, sizeof(*cfi->indexes));
    for (size_t i = 0; cfi->indexes != NULL && i < count; i++)
        index_compiled(cfi, &sections[i], &entries);
}

enum ch_status compiled_cfi_find(struct compiled_cfi *cfi, uint64_t pc,
                                 struct unwind_row *out)
{
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (cfi->find != NULL)
        ask_for_sections(cfi);
    for (size_t i = 0; status == CH_ERR_NOT_FOUND && i < cfi->count; i++)
        status = cfi_index_find(&cfi->indexes[i], &cfi->processor, pc, out);
    return status;
}

enum {
    FIRST_PLACES = 128, // a power of two; most walks meet fewer addresses
    GROWTH = 4,
    PLACES = FIRST_PLACES * GROWTH * GROWTH * GROWTH,
    POOL_BYTES = 1 << 20,
    NO_ROW = UINT32_MAX,
};

struct place {
    uint64_t pc;
    uint32_t row;   // offset in the pool; NO_ROW: the source has no rule
    uint16_t epoch; // of the cache when this was written; any other one: empty
    uint8_t source; // enum rule_source
    uint8_t status; // enum ch_status, where there is no rule
};

struct rule_cache {
    const struct unwind_image *images;
    size_t count;
    struct image_sframe *sframe;
    struct image_cfi *cfi;
    struct compiled_cfi compiled;
    uint16_t epoch; // never 0
    size_t used;
    size_t pool_used;
    struct place *places; // at most half of them are used
    size_t place_count;
    uint8_t *pool;         // rows, each truncated after its last rule
    struct unwind_row row; // the last one found, or one that cannot be cached
};

enum ch_status rule_cache_create(const struct unwind_arch *arch,
                                 const struct memory_reader *memory,
                                 const struct unwind_image *images, size_t count,
                                 struct rule_cache **out)
{
    struct rule_cache *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    made->images = images;
    made->count = count;
    made->epoch = 1;
    made->place_count = FIRST_PLACES;
    made->places = calloc(FIRST_PLACES, sizeof(*made->places));
    made->pool = malloc(POOL_BYTES);
    enum ch_status status =
        made->places != NULL && made->pool != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = image_sframe_create(arch, memory, images, count, &made->sframe);
    compiled_cfi_init(&made->compiled, arch, memory);
    if (status == CH_OK)
        status = image_cfi_create(arch, memory, images, count, &made->cfi);
    if (status != CH_OK) {
        rule_cache_destroy(made);
        return status;
    }
    *out = made;
    return CH_OK;
}

void rule_cache_destroy(struct rule_cache *cache)
{
    if (cache == NULL)
        return;
    image_sframe_destroy(cache->sframe);
    image_cfi_destroy(cache->cfi);
    compiled_cfi_deinit(&cache->compiled);
    free(cache->places);
    free(cache->pool);
    free(cache);
}

void rule_cache_set_debug_frames(struct rule_cache *cache, unwind_debug_frame_fn *find,
                                 void *context)
{
    image_cfi_set_debug_frames(cache->cfi, find, context);
}

void rule_cache_set_sections(struct rule_cache *cache, unwind_sections_fn *find,
                             void *context)
{
    compiled_cfi_set_sections(&cache->compiled, find, context);
}

// rule_cache_find_place gives the entry of pc, or the empty one where it belongs.
static struct place *rule_cache_find_place(const struct rule_cache *cache,
                                           enum rule_source source, uint64_t pc)
{
    uint64_t mixed = (pc * 2 + source) * UINT64_C(0x9e3779b97f4a7c15);
    size_t index = (size_t)(mixed >> 32);
    for (;; index++) {
        struct place *place = &cache->places[index & (cache->place_count - 1)];
        if (place->epoch != cache->epoch ||
            (place->pc == pc && place->source == source))
            return place;
    }
}

static void empty_rule_cache(struct rule_cache *cache)
{
    cache->used = 0;
    cache->pool_used = 0;
    // A new epoch makes every place empty at once. When the number wraps, places of an
    // old epoch would become valid again.
    cache->epoch++;
    if (cache->epoch != 0)
        return;
    memset(cache->places, 0, cache->place_count * sizeof(*cache->places));
    cache->epoch = 1;
}

// rule_cache_grow makes room for more places. False: there are as many as may be.
static bool rule_cache_grow(struct rule_cache *cache)
{
    struct place *before = cache->places;
    size_t count = cache->place_count;
    struct place *larger =
        count < PLACES ? calloc(count * GROWTH, sizeof(*larger)) : NULL;
    if (larger == NULL)
        return false;
    cache->places = larger;
    cache->place_count = count * GROWTH;
    for (size_t i = 0; i < count; i++)
        if (before[i].epoch == cache->epoch)
            *rule_cache_find_place(cache, (enum rule_source)before[i].source,
                                   before[i].pc) = before[i];
    free(before);
    return true;
}

// ask_source looks the row up in the image's sections, or in those of code that is in
// no image.
static enum ch_status ask_source(struct rule_cache *cache, enum rule_source source,
                                 uint64_t pc)
{
    const struct unwind_image *image = image_search(cache->images, cache->count, pc);
    if (image == NULL)
        return source == RULE_CFI ? compiled_cfi_find(&cache->compiled, pc, &cache->row)
                                  : CH_ERR_NOT_FOUND;
    size_t index = (size_t)(image - cache->images);
    if (source == RULE_SFRAME)
        return image_sframe_find(cache->sframe, index, pc, &cache->row);
    return image_cfi_find(cache->cfi, index, pc, &cache->row);
}

static bool is_expression(const struct unwind_rule *rule)
{
    return rule->kind == UNWIND_EXPRESSION || rule->kind == UNWIND_AT_EXPRESSION;
}

// may_keep returns true if a row can be cached: one with expressions cannot, because
// their bytes are invalid after the next lookup.
static bool may_keep(const struct unwind_row *row)
{
    bool keep = !is_expression(&row->cfa) && !is_expression(&row->ra) &&
                !is_expression(&row->fp);
    for (uint32_t i = 0; i < row->other_count; i++)
        keep = keep && !is_expression(&row->others[i].rule);
    return keep;
}

// keep_row copies the row to the pool and gives its offset there.
static uint32_t keep_row(struct rule_cache *cache)
{
    const struct unwind_row *row = &cache->row;
    size_t size =
        offsetof(struct unwind_row, others) + row->other_count * sizeof(row->others[0]);
    uint32_t offset = (uint32_t)cache->pool_used;
    memcpy(cache->pool + offset, row, size);
    cache->pool_used += size;
    return offset;
}

bool rule_cache_has_sframe(const struct rule_cache *cache)
{
    return image_sframe_any(cache->sframe);
}

enum ch_status rule_cache_find(struct rule_cache *cache, enum rule_source source,
                               uint64_t pc, const struct unwind_row **out)
{
    if (source == RULE_SFRAME && !image_sframe_any(cache->sframe))
        return CH_ERR_UNSUPPORTED;

    const struct place *found = rule_cache_find_place(cache, source, pc);
    if (found->epoch == cache->epoch && found->row == NO_ROW)
        return (enum ch_status)found->status;
    if (found->epoch == cache->epoch) {
        *out = (const struct unwind_row *)(const void *)(cache->pool + found->row);
        return CH_OK;
    }

    enum ch_status status = ask_source(cache, source, pc);
    if (status == CH_OK)
        *out = &cache->row;
    if (status == CH_OK && !may_keep(&cache->row))
        return CH_OK;
    if ((cache->used == cache->place_count / 2 && !rule_cache_grow(cache)) ||
        POOL_BYTES - cache->pool_used < sizeof(struct unwind_row))
        empty_rule_cache(cache);
    struct place *place = rule_cache_find_place(cache, source, pc);
    *place = (struct place){ .pc = pc,
                             .row = status == CH_OK ? keep_row(cache) : NO_ROW,
                             .epoch = cache->epoch,
                             .source = (uint8_t)source,
                             .status = (uint8_t)status };
    cache->used++;
    return status;
}
