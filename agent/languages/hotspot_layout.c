// SPDX-License-Identifier: Apache-2.0
#include "agent/languages/hotspot_layout.h"

#include <stdbool.h>
#include <string.h>

#include "agent/images/image_symbol.h"
#include "base/cursor.h"

enum {
    NAME_BYTES = 64,
    STRIDE_MAX = 256,
    KNOWN_VERSION = 17,
};

// hotspot_kind is what a row asks for.
enum hotspot_kind { MEMBER, STATIC, SIZE };

static const struct {
    const char *type;
    const char *field; // NULL: the type itself
    enum hotspot_kind kind;
} wanted[HOTSPOT_WORDS] = {
    [HOTSPOT_VERSION] = { "Abstract_VM_Version", "_vm_major_version", STATIC },
    [HOTSPOT_HEAPS] = { "CodeCache", "_heaps", STATIC },
    [HOTSPOT_ARRAY_LENGTH] = { "GrowableArrayBase", "_len", MEMBER },
    [HOTSPOT_ARRAY_DATA] = { "GrowableArray<int>", "_data", MEMBER },
    [HOTSPOT_HEAP_MEMORY] = { "CodeHeap", "_memory", MEMBER },
    [HOTSPOT_HEAP_MAP] = { "CodeHeap", "_segmap", MEMBER },
    [HOTSPOT_HEAP_SHIFT] = { "CodeHeap", "_log2_segment_size", MEMBER },
    [HOTSPOT_SPACE_LOW] = { "VirtualSpace", "_low", MEMBER },
    [HOTSPOT_SPACE_HIGH] = { "VirtualSpace", "_high", MEMBER },
    [HOTSPOT_BLOCK_USED] = { "HeapBlock::Header", "_used", MEMBER },
    [HOTSPOT_BLOCK_SIZE] = { "HeapBlock", NULL, SIZE },
    [HOTSPOT_BLOB_NAME] = { "CodeBlob", "_name", MEMBER },
    [HOTSPOT_BLOB_COMPLETE] = { "CodeBlob", "_frame_complete_offset", MEMBER },
    [HOTSPOT_BLOB_FRAME] = { "CodeBlob", "_frame_size", MEMBER },
    [HOTSPOT_BLOB_CODE] = { "CodeBlob", "_code_begin", MEMBER },
    [HOTSPOT_BLOB_CODE_END] = { "CodeBlob", "_code_end", MEMBER },
    [HOTSPOT_COMPILED_METHOD] = { "CompiledMethod", "_method", MEMBER },
    [HOTSPOT_COMPILED_SCOPES] = { "CompiledMethod", "_scopes_data_begin", MEMBER },
    [HOTSPOT_COMPILED_DEOPT] = { "CompiledMethod", "_deopt_handler_begin", MEMBER },
    [HOTSPOT_COMPILED_ORIGINAL_PC] = { "nmethod", "_orig_pc_offset", MEMBER },
    [HOTSPOT_COMPILED_METADATA] = { "nmethod", "_metadata_offset", MEMBER },
    [HOTSPOT_COMPILED_PCS] = { "nmethod", "_scopes_pcs_offset", MEMBER },
    [HOTSPOT_COMPILED_PCS_END] = { "nmethod", "_dependencies_offset", MEMBER },
    [HOTSPOT_PC_OFFSET] = { "PcDesc", "_pc_offset", MEMBER },
    [HOTSPOT_PC_SCOPE] = { "PcDesc", "_scope_decode_offset", MEMBER },
    [HOTSPOT_PC_SIZE] = { "PcDesc", NULL, SIZE },
    [HOTSPOT_METHOD_CONST] = { "Method", "_constMethod", MEMBER },
    [HOTSPOT_CONST_POOL] = { "ConstMethod", "_constants", MEMBER },
    [HOTSPOT_CONST_FLAGS] = { "ConstMethod", "_flags", MEMBER },
    [HOTSPOT_CONST_WORDS] = { "ConstMethod", "_constMethod_size", MEMBER },
    [HOTSPOT_CONST_CODE_SIZE] = { "ConstMethod", "_code_size", MEMBER },
    [HOTSPOT_CONST_NAME] = { "ConstMethod", "_name_index", MEMBER },
    [HOTSPOT_CONST_SIZE] = { "ConstMethod", NULL, SIZE },
    [HOTSPOT_POOL_CLASS] = { "ConstantPool", "_pool_holder", MEMBER },
    [HOTSPOT_POOL_LENGTH] = { "ConstantPool", "_length", MEMBER },
    [HOTSPOT_POOL_SOURCE] = { "ConstantPool", "_source_file_name_index", MEMBER },
    [HOTSPOT_POOL_SIZE] = { "ConstantPool", NULL, SIZE },
    [HOTSPOT_CLASS_NAME] = { "Klass", "_name", MEMBER },
    [HOTSPOT_CLASS_POOL] = { "InstanceKlass", "_constants", MEMBER },
    [HOTSPOT_SYMBOL_LENGTH] = { "Symbol", "_length", MEMBER },
    [HOTSPOT_SYMBOL_TEXT] = { "Symbol", "_body[0]", MEMBER },
};

// HOTSPOT_UNKNOWN marks a word that was not found so far.
#define HOTSPOT_UNKNOWN UINT64_MAX

// A hotspot_entry is the words of an entry that are read.
struct hotspot_entry {
    uint64_t type;
    uint64_t field;
    uint64_t value;
    uint64_t address;
};

static uint64_t entry_word(const uint8_t *bytes, uint64_t stride, uint64_t offset)
{
    struct cursor c = cursor_over(bytes, (size_t)stride);
    cursor_seek(&c, (size_t)offset);
    uint64_t value = cursor_u64(&c);
    return cursor_ok(&c) ? value : 0;
}

static enum ch_status read_entry(const struct memory_reader *reader,
                                 const struct hotspot_table *table, size_t number,
                                 struct hotspot_entry *out)
{
    uint8_t bytes[STRIDE_MAX];
    enum ch_status status = memory_read(reader, table->begin + number * table->stride,
                                        bytes, (size_t)table->stride);
    if (status != CH_OK)
        return status;
    *out = (struct hotspot_entry){
        .type = entry_word(bytes, table->stride, table->type),
        .value = entry_word(bytes, table->stride, table->value),
    };
    if (!table->types) {
        out->field = entry_word(bytes, table->stride, table->field);
        out->address = entry_word(bytes, table->stride, table->address);
    }
    return CH_OK;
}

// read_name reads a name of the description; a longer one than any that is wanted is
// cut.
static bool read_name(const struct memory_reader *reader, uint64_t address,
                      char out[static NAME_BYTES])
{
    enum ch_status status = memory_read_string(reader, address, out, NAME_BYTES);
    return status == CH_OK || status == CH_ERR_TRUNCATED;
}

static bool is_wanted_type(const char *type)
{
    for (size_t i = 0; i < HOTSPOT_WORDS; i++)
        if (strcmp(wanted[i].type, type) == 0)
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
    for (size_t i = 0; i < HOTSPOT_WORDS; i++) {
        if (strcmp(wanted[i].type, type) != 0 ||
            (wanted[i].kind == SIZE) != table->types ||
            (wanted[i].kind != SIZE && strcmp(wanted[i].field, field) != 0))
            continue;
        bool is_static = wanted[i].kind == STATIC;
        if (!is_static && entry->value > HOTSPOT_OFFSET_MAX)
            return CH_ERR_MALFORMED;
        layout->word[i] = is_static ? entry->address : entry->value;
    }
    return CH_OK;
}

enum ch_status hotspot_layout_take(const struct memory_reader *reader,
                                   const struct hotspot_table *table,
                                   struct hotspot_layout *layout)
{
    char type[NAME_BYTES] = "";
    uint64_t named = 0; // the address that type was read from
    bool is_wanted = false;
    if (table->stride < sizeof(uint64_t) || table->stride > STRIDE_MAX)
        return CH_ERR_MALFORMED;
    for (size_t i = 0; i < HOTSPOT_ENTRIES_MAX; i++) {
        struct hotspot_entry entry;
        enum ch_status status = read_entry(reader, table, i, &entry);
        if (status != CH_OK)
            return status;
        if (entry.type == 0)
            return CH_OK;
        // The entries of a type follow each other, and share the name.
        if (entry.type != named) {
            if (!read_name(reader, entry.type, type))
                return CH_ERR_FAULT;
            named = entry.type;
            is_wanted = is_wanted_type(type);
        }
        if (is_wanted)
            status = take_hotspot_entry(reader, type, table, &entry, layout);
        if (status != CH_OK)
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
    if (layout->version != KNOWN_VERSION)
        return CH_ERR_UNSUPPORTED;
    for (size_t i = 0; i < HOTSPOT_WORDS; i++)
        if (layout->word[i] == HOTSPOT_UNKNOWN)
            return CH_ERR_UNSUPPORTED;
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
