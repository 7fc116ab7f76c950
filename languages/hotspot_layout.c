// SPDX-License-Identifier: Apache-2.0
#include "languages/hotspot_layout.h"

#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"
#include "images/image_symbol.h"

enum {
    NAME_BYTES = 64,
    STRIDE_MAX = 256,
    BATCH_BYTES = 8192, // of entries that are read together
    BATCH_ENTRIES = BATCH_BYTES / sizeof(uint64_t),
};

// hotspot_kind is what a row asks for.
enum hotspot_kind { MEMBER, STATIC, SIZE };

// A word has a second row where versions differ in its name alone.
static const struct {
    enum hotspot_word word;
    enum hotspot_kind kind;
    const char *type;
    const char *field; // NULL: the type itself
} wanted[] = {
    { HOTSPOT_VERSION, STATIC, "Abstract_VM_Version", "_vm_major_version" },
    { HOTSPOT_HEAPS, STATIC, "CodeCache", "_heaps" },
    { HOTSPOT_ARRAY_LENGTH, MEMBER, "GrowableArrayBase", "_len" },
    { HOTSPOT_ARRAY_DATA, MEMBER, "GrowableArray<int>", "_data" },
    { HOTSPOT_HEAP_MEMORY, MEMBER, "CodeHeap", "_memory" },
    { HOTSPOT_HEAP_MAP, MEMBER, "CodeHeap", "_segmap" },
    { HOTSPOT_HEAP_SHIFT, MEMBER, "CodeHeap", "_log2_segment_size" },
    { HOTSPOT_SPACE_LOW, MEMBER, "VirtualSpace", "_low" },
    { HOTSPOT_SPACE_HIGH, MEMBER, "VirtualSpace", "_high" },
    { HOTSPOT_BLOCK_USED, MEMBER, "HeapBlock::Header", "_used" },
    { HOTSPOT_BLOCK_SIZE, SIZE, "HeapBlock", NULL },
    { HOTSPOT_BLOB_NAME, MEMBER, "CodeBlob", "_name" },
    { HOTSPOT_BLOB_COMPLETE, MEMBER, "CodeBlob", "_frame_complete_offset" },
    { HOTSPOT_BLOB_FRAME, MEMBER, "CodeBlob", "_frame_size" },
    { HOTSPOT_BLOB_CODE, MEMBER, "CodeBlob", "_code_begin" },
    { HOTSPOT_BLOB_CODE_END, MEMBER, "CodeBlob", "_code_end" },
    { HOTSPOT_COMPILED_METHOD, MEMBER, "CompiledMethod", "_method" },
    { HOTSPOT_COMPILED_SCOPES, MEMBER, "CompiledMethod", "_scopes_data_begin" },
    { HOTSPOT_COMPILED_DEOPT, MEMBER, "CompiledMethod", "_deopt_handler_begin" },
    { HOTSPOT_COMPILED_METHOD, MEMBER, "nmethod", "_method" },
    { HOTSPOT_COMPILED_ORIGINAL_PC, MEMBER, "nmethod", "_orig_pc_offset" },
    { HOTSPOT_COMPILED_METADATA, MEMBER, "nmethod", "_metadata_offset" },
    { HOTSPOT_COMPILED_PCS, MEMBER, "nmethod", "_scopes_pcs_offset" },
    { HOTSPOT_COMPILED_PCS_END, MEMBER, "nmethod", "_dependencies_offset" },
    { HOTSPOT_PC_OFFSET, MEMBER, "PcDesc", "_pc_offset" },
    { HOTSPOT_PC_SCOPE, MEMBER, "PcDesc", "_scope_decode_offset" },
    { HOTSPOT_PC_SIZE, SIZE, "PcDesc", NULL },
    { HOTSPOT_METHOD_CONST, MEMBER, "Method", "_constMethod" },
    { HOTSPOT_CONST_POOL, MEMBER, "ConstMethod", "_constants" },
    { HOTSPOT_CONST_FLAGS, MEMBER, "ConstMethod", "_flags" },
    { HOTSPOT_CONST_FLAGS, MEMBER, "ConstMethod", "_flags._flags" },
    { HOTSPOT_CONST_WORDS, MEMBER, "ConstMethod", "_constMethod_size" },
    { HOTSPOT_CONST_CODE_SIZE, MEMBER, "ConstMethod", "_code_size" },
    { HOTSPOT_CONST_NAME, MEMBER, "ConstMethod", "_name_index" },
    { HOTSPOT_CONST_SIZE, SIZE, "ConstMethod", NULL },
    { HOTSPOT_POOL_CLASS, MEMBER, "ConstantPool", "_pool_holder" },
    { HOTSPOT_POOL_LENGTH, MEMBER, "ConstantPool", "_length" },
    { HOTSPOT_POOL_SOURCE, MEMBER, "ConstantPool", "_source_file_name_index" },
    { HOTSPOT_POOL_SIZE, SIZE, "ConstantPool", NULL },
    { HOTSPOT_CLASS_NAME, MEMBER, "Klass", "_name" },
    { HOTSPOT_CLASS_POOL, MEMBER, "InstanceKlass", "_constants" },
    { HOTSPOT_SYMBOL_LENGTH, MEMBER, "Symbol", "_length" },
    { HOTSPOT_SYMBOL_TEXT, MEMBER, "Symbol", "_body[0]" },
    { HOTSPOT_BLOB_CODE_OFFSET, MEMBER, "CodeBlob", "_code_offset" },
    { HOTSPOT_BLOB_DATA_OFFSET, MEMBER, "CodeBlob", "_data_offset" },
    { HOTSPOT_BLOB_MUTABLE, MEMBER, "CodeBlob", "_mutable_data" },
    { HOTSPOT_BLOB_MUTABLE_SIZE, MEMBER, "CodeBlob", "_mutable_data_size" },
    { HOTSPOT_BLOB_RELOCATION_SIZE, MEMBER, "CodeBlob", "_relocation_size" },
    { HOTSPOT_COMPILED_IMMUTABLE, MEMBER, "nmethod", "_immutable_data" },
    { HOTSPOT_COMPILED_IMMUTABLE_SIZE, MEMBER, "nmethod", "_immutable_data_size" },
    { HOTSPOT_COMPILED_SCOPES_OFFSET, MEMBER, "nmethod", "_scopes_data_offset" },
    { HOTSPOT_COMPILED_DEOPT_OFFSET, MEMBER, "nmethod", "_deopt_handler_offset" },
};

enum { HOTSPOT_WANTED = sizeof(wanted) / sizeof(wanted[0]) };

// HOTSPOT_UNKNOWN marks a word that was not found so far.
#define HOTSPOT_UNKNOWN UINT64_MAX

// A hotspot_entry is the words of an entry that are read.
struct hotspot_entry {
    uint64_t type;
    uint64_t field;
    uint64_t value;
    uint64_t address;
};

// hotspot_batch is entries that follow one another. Their names are in two hundred
// places, so those of a batch are fetched together.
struct hotspot_batch {
    uint8_t bytes[BATCH_BYTES];
    size_t count;
    uint64_t places[BATCH_ENTRIES]; // of names
    bool wanted[BATCH_ENTRIES];
};

static uint64_t entry_word(const struct cursor *entry, uint64_t offset)
{
    return offset < STRIDE_MAX ? cursor_u64_at(entry, (size_t)offset) : 0;
}

// hotspot_read_batch reads the entries from first on, as far as they can be read.
static void hotspot_read_batch(const struct memory_reader *reader,
                               const struct hotspot_table *table, size_t first,
                               struct hotspot_batch *out)
{
    uint64_t begin = table->begin + first * table->stride;
    size_t size = (size_t)(BATCH_BYTES / table->stride * table->stride);
    size_t got = memory_read_part(reader, begin, out->bytes, size);
    out->count = got / (size_t)table->stride;
}

static struct hotspot_entry hotspot_entry_of(const struct hotspot_batch *batch,
                                             const struct hotspot_table *table,
                                             size_t number)
{
    const size_t stride = (size_t)table->stride;
    const struct cursor bytes = cursor_over(batch->bytes + number * stride, stride);
    struct hotspot_entry entry = {
        .type = entry_word(&bytes, table->type),
        .value = entry_word(&bytes, table->value),
    };
    if (!table->types) {
        entry.field = entry_word(&bytes, table->field);
        entry.address = entry_word(&bytes, table->address);
    }
    return entry;
}

// read_name reads a name of the description; a longer one than any that is wanted is
// cut.
static bool read_name(const struct memory_reader *reader, uint64_t address,
                      char out[static NAME_BYTES])
{
    enum ch_status status = memory_read_string(reader, address, out, NAME_BYTES);
    return status == CH_OK || status == CH_ERR_TRUNCATED;
}

// hotspot_is_same compares names; most of a thousand differ from those that are wanted
// in the first letter.
static bool hotspot_is_same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

static bool is_wanted_type(const char *type)
{
    for (size_t i = 0; i < HOTSPOT_WANTED; i++)
        if (hotspot_is_same(wanted[i].type, type))
            return true;
    return false;
}

// take_hotspot_entry stores the word of an entry whose type is wanted.
static enum ch_status take_hotspot_entry(const struct memory_reader *reader,
                                         const char *type,
                                         const struct hotspot_table *table,
                                         const struct hotspot_entry *entry,
                                         struct hotspot_layout *layout)
{
    char field[NAME_BYTES] = "";
    if (!table->types && !read_name(reader, entry->field, field))
        return CH_ERR_FAULT;
    for (size_t i = 0; i < HOTSPOT_WANTED; i++) {
        if (!hotspot_is_same(wanted[i].type, type) ||
            (wanted[i].kind == SIZE) != table->types ||
            (wanted[i].kind != SIZE && !hotspot_is_same(wanted[i].field, field)))
            continue;
        bool is_static = wanted[i].kind == STATIC;
        if (!is_static && entry->value > HOTSPOT_OFFSET_MAX)
            return CH_ERR_MALFORMED;
        layout->word[wanted[i].word] = is_static ? entry->address : entry->value;
    }
    return CH_OK;
}

// hotspot_fetch_types fetches the names of a batch's types, and drops what follows the
// last entry. True: that was there. The entries of a type follow each other, and share
// the name.
static bool hotspot_fetch_types(const struct memory_reader *reader,
                                const struct hotspot_table *table,
                                struct hotspot_batch *batch)
{
    size_t places = 0;
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t type = hotspot_entry_of(batch, table, i).type;
        if (places == 0 || batch->places[places - 1] != type)
            batch->places[places++] = type;
        if (type == 0)
            batch->count = i;
    }
    bool ended = places != 0 && batch->places[places - 1] == 0;
    memory_fetch(reader, batch->places, places - ended);
    return ended;
}

// hotspot_mark_wanted marks the entries whose types are wanted, and fetches their
// names.
static enum ch_status hotspot_mark_wanted(const struct memory_reader *reader,
                                          const struct hotspot_table *table,
                                          struct hotspot_batch *batch)
{
    char type[NAME_BYTES];
    uint64_t named = 0; // the address that type was read from
    size_t places = 0;
    bool is_wanted = false;
    for (size_t i = 0; i < batch->count; i++) {
        struct hotspot_entry entry = hotspot_entry_of(batch, table, i);
        if (entry.type != named && !read_name(reader, entry.type, type))
            return CH_ERR_FAULT;
        if (entry.type != named)
            is_wanted = is_wanted_type(type);
        named = entry.type;
        batch->wanted[i] = is_wanted;
        if (is_wanted && !table->types)
            batch->places[places++] = entry.field;
    }
    memory_fetch(reader, batch->places, places);
    return CH_OK;
}

static enum ch_status hotspot_take_batch(const struct memory_reader *reader,
                                         const struct hotspot_table *table,
                                         struct hotspot_batch *batch,
                                         struct hotspot_layout *layout)
{
    enum ch_status status = hotspot_mark_wanted(reader, table, batch);
    for (size_t i = 0; status == CH_OK && i < batch->count; i++) {
        char type[NAME_BYTES];
        struct hotspot_entry entry = hotspot_entry_of(batch, table, i);
        if (!batch->wanted[i])
            continue;
        status = read_name(reader, entry.type, type)
                     ? take_hotspot_entry(reader, type, table, &entry, layout)
                     : CH_ERR_FAULT;
    }
    return status;
}

enum ch_status hotspot_layout_take(const struct memory_reader *reader,
                                   const struct hotspot_table *table,
                                   struct hotspot_layout *layout)
{
    struct hotspot_batch batch;
    if (table->stride < sizeof(uint64_t) || table->stride > STRIDE_MAX)
        return CH_ERR_MALFORMED;
    for (size_t first = 0; first < HOTSPOT_ENTRIES_MAX; first += batch.count) {
        hotspot_read_batch(reader, table, first, &batch);
        if (batch.count == 0)
            return CH_ERR_FAULT;
        bool ended = hotspot_fetch_types(reader, table, &batch);
        enum ch_status status = hotspot_take_batch(reader, table, &batch, layout);
        if (status != CH_OK || ended)
            return status;
    }
    return CH_ERR_LIMIT;
}

enum ch_status hotspot_layout_check(const struct memory_reader *reader,
                                    struct hotspot_layout *layout)
{
    uint8_t version[4];
    uint64_t at = layout->word[HOTSPOT_VERSION];
    if (at == HOTSPOT_UNKNOWN ||
        memory_read(reader, at, version, sizeof(version)) != CH_OK)
        return CH_ERR_UNSUPPORTED;
    struct cursor c = cursor_over(version, sizeof(version));
    layout->version = cursor_u32(&c);
    if (layout->version != 17 && layout->version != 21 && layout->version != 25)
        return CH_ERR_UNSUPPORTED;
    for (size_t i = 0; i < HOTSPOT_WORDS; i++) {
        bool version_has = i < HOTSPOT_WORDS_UNTIL_21 ||
                           (i >= HOTSPOT_WORDS_SINCE_25) == hotspot_has_offsets(layout);
        if (layout->word[i] == HOTSPOT_UNKNOWN && version_has)
            return CH_ERR_UNSUPPORTED;
    }
    return CH_OK;
}

// exported_word reads a variable that the virtual machine exports.
static enum ch_status exported_word(const struct memory_reader *reader,
                                    const struct target_image *image, const char *name,
                                    uint64_t *out)
{
    uint64_t at;
    enum ch_status status = image_symbol_find(reader, image, name, &at);
    return status == CH_OK ? memory_read_word(reader, at, out) : status;
}

static enum ch_status open_hotspot_table(const struct memory_reader *reader,
                                         const struct target_image *image, bool types,
                                         struct hotspot_table *out)
{
    struct hotspot_table table = { .types = types };
    const struct {
        const char *name;
        uint64_t *to;
    } members[] = {
        { "gHotSpotVMStructs", &table.begin },
        { "gHotSpotVMStructEntryArrayStride", &table.stride },
        { "gHotSpotVMStructEntryTypeNameOffset", &table.type },
        { "gHotSpotVMStructEntryFieldNameOffset", &table.field },
        { "gHotSpotVMStructEntryOffsetOffset", &table.value },
        { "gHotSpotVMStructEntryAddressOffset", &table.address },
    };
    const struct {
        const char *name;
        uint64_t *to;
    } sizes[] = {
        { "gHotSpotVMTypes", &table.begin },
        { "gHotSpotVMTypeEntryArrayStride", &table.stride },
        { "gHotSpotVMTypeEntryTypeNameOffset", &table.type },
        { "gHotSpotVMTypeEntrySizeOffset", &table.value },
    };
    enum ch_status status = CH_OK;
    for (size_t i = 0; !types && status == CH_OK && i < 6; i++)
        status = exported_word(reader, image, members[i].name, members[i].to);
    for (size_t i = 0; types && status == CH_OK && i < 4; i++)
        status = exported_word(reader, image, sizes[i].name, sizes[i].to);
    if (status == CH_OK)
        *out = table;
    return status;
}

enum ch_status hotspot_layout_read(const struct memory_reader *reader,
                                   const struct target_image *image,
                                   struct hotspot_layout *out)
{
    struct hotspot_layout layout;
    struct hotspot_table table;
    memset(layout.word, 0xff, sizeof(layout.word));
    enum ch_status status = open_hotspot_table(reader, image, false, &table);
    if (status == CH_OK)
        status = hotspot_layout_take(reader, &table, &layout);
    if (status == CH_OK)
        status = open_hotspot_table(reader, image, true, &table);
    if (status == CH_OK)
        status = hotspot_layout_take(reader, &table, &layout);
    if (status == CH_OK)
        status = hotspot_layout_check(reader, &layout);
    if (status == CH_OK)
        *out = layout;
    return status;
}
