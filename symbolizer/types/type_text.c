// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_text.h"

#include <string.h>

enum {
    // libstdc++'s std::string has room for short texts in itself.
    SHORT_OFFSET = 16,
    SHORT_SIZE = 15,
    // libc++'s std::string is three words, or as many bytes of which the first has the
    // size.
    LIBCXX_BYTES = 24,
    LIBCXX_SHORT_SIZE = 22,
};

// LONGEST: what says that it is longer was never initialized.
#define LONGEST (UINT64_C(1) << 40)

// text_layout is the members of a structure that holds text.
struct text_layout {
    const char *name;    // how the type's name begins
    const char *outer;   // the member that has the pointer's structure; NULL: itself
    const char *pointer; // the pointer
    const char *size;
};

static const struct text_layout text_layouts[] = {
    { "basic_string<char,", "_M_dataplus", "_M_p", "_M_string_length" },
    { "basic_string_view<char,", NULL, "_M_str", "_M_len" },
    { "&str", NULL, "data_ptr", "length" },
    { "string", NULL, "str", "len" },
};

// text_member finds a member of type index by its name.
static const struct type_part *text_member(const struct type_table *table,
                                           uint32_t index, const char *name)
{
    const struct type *type = &table->types[index];
    for (uint32_t i = 0; i < type->part_count; i++) {
        const struct type_part *part = &table->parts[type->first_part + i];
        if (strcmp(part->name, name) == 0)
            return part;
    }
    return NULL;
}

// text_offsets is where a structure's pointer and size are.
struct text_offsets {
    uint64_t pointer;
    uint64_t size;
};

static bool text_apply(const struct type_table *table, uint32_t index,
                       const struct text_layout *layout, struct text_offsets *out)
{
    const struct type *type = &table->types[index];
    uint64_t before = 0;
    uint32_t holder = index;
    if (strncmp(type->name, layout->name, strlen(layout->name)) != 0)
        return false;
    const struct type_part *size = text_member(table, index, layout->size);
    if (layout->outer != NULL) {
        const struct type_part *outer = text_member(table, index, layout->outer);
        if (outer == NULL)
            return false;
        before = outer->offset_bits / 8;
        holder = type_strip(table, outer->type);
        if (table->types[holder].kind != TYPE_STRUCT)
            return false;
    }
    const struct type_part *pointer = text_member(table, holder, layout->pointer);
    if (size == NULL || pointer == NULL ||
        table->types[type_strip(table, pointer->type)].kind != TYPE_POINTER)
        return false;
    *out = (struct text_offsets){ .pointer = before + pointer->offset_bits / 8,
                                  .size = size->offset_bits / 8 };
    return true;
}

static bool text_offsets_of(const struct type_table *table, uint32_t index,
                            struct text_offsets *out)
{
    for (size_t i = 0; i < sizeof(text_layouts) / sizeof(text_layouts[0]); i++)
        if (text_apply(table, index, &text_layouts[i], out))
            return true;
    return false;
}

// text_is_libcxx says whether the type is libc++'s std::string.
static bool text_is_libcxx(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[index];
    return strncmp(type->name, "basic_string<char,", strlen("basic_string<char,")) ==
               0 &&
           type->size == LIBCXX_BYTES &&
           (text_member(table, index, "__r_") != NULL ||
            text_member(table, index, "__rep_") != NULL);
}

bool type_text_is(const struct type_table *table, uint32_t index)
{
    struct text_offsets offsets;
    return table->types[index].kind == TYPE_STRUCT &&
           (text_offsets_of(table, index, &offsets) || text_is_libcxx(table, index));
}

static bool find_libcxx(const struct memory_reader *memory, uint64_t address,
                        struct type_text *out)
{
    uint8_t first;
    if (memory_read(memory, address, &first, sizeof(first)) != CH_OK)
        return false;
    if (first & 1)
        return memory_read_word(memory, address + 8, &out->size) == CH_OK &&
               memory_read_word(memory, address + 16, &out->address) == CH_OK;
    *out = (struct type_text){ .address = address + 1, .size = first >> 1 };
    return out->size <= LIBCXX_SHORT_SIZE;
}

bool type_text_find(const struct type_table *table, uint32_t index,
                    const struct memory_reader *memory, uint64_t address,
                    struct type_text *out)
{
    struct text_offsets offsets;
    struct type_text found;
    uint8_t last;
    if (text_is_libcxx(table, index)) {
        if (!find_libcxx(memory, address, &found))
            return false;
    } else if (!text_offsets_of(table, index, &offsets) ||
               memory_read_word(memory, address + offsets.pointer, &found.address) !=
                   CH_OK ||
               memory_read_word(memory, address + offsets.size, &found.size) != CH_OK) {
        return false;
    }
    bool in_itself = found.address == address + SHORT_OFFSET;
    if (found.size >= LONGEST || (in_itself && found.size > SHORT_SIZE))
        return false;
    if (found.size != 0 &&
        memory_read(memory, found.address, &last, sizeof(last)) != CH_OK)
        return false;
    *out = found;
    return true;
}
