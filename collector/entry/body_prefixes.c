// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/body_prefixes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "report/json/json_reader.h"

enum {
    SLOTS = 512,
    WEEK_MS = 7 * 86400000,
    PREFIX_MOST = 16 * 1024,
    SHAPE_MOST = 4096, // bytes of one value's keys
    BODY_LEAST = 512,
    BODY_MOST = 256 * 1024, // of a body that is compressed so
    LEVEL = 3,
};

// known_prefix is a prefix of the store; number 0: none is known for the slot.
struct known_prefix {
    char group[ENTRY_GROUP_SIZE];
    char project[ENTRY_PROJECT_SIZE];
    int64_t week;
    int64_t number;
    struct text bytes;
};

struct body_prefixes {
    pthread_mutex_t lock; // guards what follows
    ZSTD_CCtx *compressor;
    struct known_prefix known[SLOTS];
};

struct body_prefixes *body_prefixes_create(void)
{
    struct body_prefixes *prefixes = calloc(1, sizeof(*prefixes));
    if (prefixes == NULL)
        return NULL;
    pthread_mutex_init(&prefixes->lock, NULL);
    prefixes->compressor = ZSTD_createCCtx();
    if (prefixes->compressor == NULL) {
        body_prefixes_destroy(prefixes);
        return NULL;
    }
    (void)ZSTD_CCtx_setParameter(prefixes->compressor, ZSTD_c_compressionLevel, LEVEL);
    return prefixes;
}

void body_prefixes_destroy(struct body_prefixes *prefixes)
{
    if (prefixes == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        text_deinit(&prefixes->known[i].bytes);
    ZSTD_freeCCtx(prefixes->compressor);
    pthread_mutex_destroy(&prefixes->lock);
    free(prefixes);
}

int64_t body_prefix_week(int64_t received_ms)
{
    return received_ms / WEEK_MS;
}

// known_slot is where the prefix of a group is, if it is known: groups share slots.
static struct known_prefix *known_slot(struct body_prefixes *prefixes,
                                       const struct entry *entry)
{
    uint32_t hash = 2166136261U; // FNV-1a
    for (const char *at = entry->group; *at != 0; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    return &prefixes->known[hash % SLOTS];
}

void body_prefixes_note(struct body_prefixes *prefixes, const struct entry *entry,
                        int64_t number, const void *bytes, size_t size)
{
    pthread_mutex_lock(&prefixes->lock);
    struct known_prefix *known = known_slot(prefixes, entry);
    entry_copy(known->group, sizeof(known->group), entry->group);
    entry_copy(known->project, sizeof(known->project), entry->project);
    known->week = body_prefix_week(entry->received_ms);
    text_clear(&known->bytes);
    text_append(&known->bytes, bytes, size);
    known->number = text_ok(&known->bytes) ? number : 0;
    pthread_mutex_unlock(&prefixes->lock);
}

// compress_with compresses a text with a prefix, if that makes it smaller than limit.
static bool compress_with(ZSTD_CCtx *compressor, const struct text *prefix,
                          const struct text_part *json, size_t limit, struct text *out)
{
    size_t room = ZSTD_compressBound(json->size);
    char *bytes = malloc(room);
    size_t made = 0;
    if (bytes == NULL)
        return false;
    made = ZSTD_CCtx_refPrefix(compressor, prefix->bytes, prefix->size);
    if (!ZSTD_isError(made))
        made = ZSTD_compress2(compressor, bytes, room, json->bytes, json->size);
    bool smaller = !ZSTD_isError(made) && made < limit;
    if (smaller)
        text_append(out, bytes, made);
    free(bytes);
    return smaller && text_ok(out);
}

int64_t body_prefixes_compress(struct body_prefixes *prefixes,
                               const struct entry *entry, const struct text_part *json,
                               size_t limit, bool *out_known, struct text *out)
{
    *out_known = json->size < BODY_LEAST || json->size > BODY_MOST;
    if (*out_known)
        return 0;
    pthread_mutex_lock(&prefixes->lock);
    const struct known_prefix *known = known_slot(prefixes, entry);
    *out_known = known->number != 0 && strcmp(known->group, entry->group) == 0 &&
                 strcmp(known->project, entry->project) == 0 &&
                 known->week == body_prefix_week(entry->received_ms);
    bool made = *out_known &&
                compress_with(prefixes->compressor, &known->bytes, json, limit, out);
    int64_t number = made ? known->number : 0;
    pthread_mutex_unlock(&prefixes->lock);
    return number;
}

// taken is what a prefix takes of a report's value: nothing, its keys, or all of it.
enum taken { TAKE_NOTHING, TAKE_KEYS, TAKE_ALL };

static enum taken taken_of(const char *key, size_t size)
{
    static const struct {
        const char *key;
        enum taken taken;
    } parts[] = {
        { "\"crash\"", TAKE_KEYS },    { "\"process\"", TAKE_KEYS },
        { "\"host\"", TAKE_KEYS },     { "\"threads\"", TAKE_KEYS },
        { "\"agent\"", TAKE_KEYS },    { "\"stacks\"", TAKE_ALL },
        { "\"places\"", TAKE_ALL },    { "\"images\"", TAKE_ALL },
        { "\"image_map\"", TAKE_ALL },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strlen(parts[i].key) == size && memcmp(parts[i].key, key, size) == 0)
            return parts[i].taken;
    }
    return TAKE_NOTHING;
}

// append_string appends what is taken of a string.
static void append_string(struct text *out, enum taken taken, bool is_key,
                          const char *string, size_t size)
{
    if (taken == TAKE_ALL || (taken == TAKE_KEYS && is_key))
        text_append(out, string, size);
    else if (taken == TAKE_KEYS)
        text_append_string(out, size > 2 && memcmp(string, "\"0x", 3) == 0 ? "\"0x\""
                                                                           : "\"\"");
}

void body_prefix_make(const char *json, size_t size, struct text *out)
{
    enum taken taken = TAKE_NOTHING;
    size_t depth = 0;
    size_t began = 0;
    for (size_t i = 0; i < size && out->size < PREFIX_MOST;) {
        size_t end = json[i] == '"' ? json_string_end(json, size, i) : i + 1;
        bool is_key = json[i] == '"' && end < size && json[end] == ':';
        depth += json[i] == '{' || json[i] == '[';
        depth -= depth > 0 && (json[i] == '}' || json[i] == ']');
        if (depth == 1 && is_key) {
            taken = taken_of(json + i, end - i);
            began = out->size;
        }
        if (taken == TAKE_KEYS && out->size - began > SHAPE_MOST)
            taken = TAKE_NOTHING;
        if (json[i] == '"')
            append_string(out, taken, is_key, json + i, end - i);
        else if (taken == TAKE_ALL ||
                 (taken == TAKE_KEYS && strchr("{}[]:,", json[i]) != NULL))
            text_append(out, json + i, 1);
        i = end;
    }
}

enum ch_status body_prefix_expand(const struct text_part *compressed,
                                  const struct text_part *prefix, struct text *out)
{
    unsigned long long size =
        ZSTD_getFrameContentSize(compressed->bytes, compressed->size);
    if (size > BODY_MOST) // and where it is unknown
        return CH_ERR_MALFORMED;
    ZSTD_DCtx *expander = ZSTD_createDCtx();
    char *bytes = malloc((size_t)size + 1);
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (expander != NULL && bytes != NULL) {
        size_t made = ZSTD_DCtx_refPrefix(expander, prefix->bytes, prefix->size);
        if (!ZSTD_isError(made))
            made = ZSTD_decompressDCtx(expander, bytes, (size_t)size, compressed->bytes,
                                       compressed->size);
        status = made == size ? CH_OK : CH_ERR_MALFORMED;
    }
    if (status == CH_OK)
        text_append(out, bytes, (size_t)size);
    ZSTD_freeDCtx(expander);
    free(bytes);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}
