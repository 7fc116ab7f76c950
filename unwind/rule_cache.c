// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_cache.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/compiled_cfi.h"
#include "unwind/image_cfi.h"
#include "unwind/image_sframe.h"

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
    struct unwind_row row; // the last one found, or one that cannot be kept
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

// ask_source looks the row up in the image's sections, or in those of code that lies in
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

// may_keep says whether a row can be cached: one with expressions cannot, because their
// bytes are gone after the next lookup.
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
