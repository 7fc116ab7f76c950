// SPDX-License-Identifier: Apache-2.0
//
// The types of libraries of C and C++ other than the standard ones, Qt and GLib: Boost,
// Abseil, Folly, Protocol Buffers, and the strings of sds.
#include <string.h>

#include "symbolizer/values/layout_table.h"

enum { WORD = 8 };

static void other_read_boost_optional(struct layout_object *object,
                                      struct layout_view *out)
{
    uint64_t engaged;
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &engaged, out))
        return;
    if (engaged > 1)
        layout_damage(out, "it neither holds a value nor none");
    if (engaged == 1)
        (void)layout_add(out, layout_argument(object, object->type, 0),
                         object->address + object->members[1].offset);
}

// other_read_flat reads a table of Abseil: a control byte for each slot, which is
// negative where the slot is free.
static void other_read_flat(struct layout_object *object, struct layout_view *out)
{
    enum { FREE = 0x80 };
    uint32_t type = layout_target(object, object->members[1].type);
    uint64_t each = layout_size(object, type);
    struct layout_member pair;
    uint64_t control;
    uint64_t slots;
    uint64_t capacity;
    if (!layout_field(object, 0, &control, out) ||
        !layout_field(object, 1, &slots, out) ||
        !layout_field(object, 2, &out->size, out) ||
        !layout_field(object, 3, &capacity, out))
        return;
    if (out->size > capacity || capacity >> 40 != 0) {
        layout_damage(out, "its size is impossible");
        return;
    }
    bool map = out->form == LAYOUT_PAIRS;
    if (map && !layout_member_of(object, type, "value", &pair)) {
        out->kind = NULL;
        return;
    }
    for (uint64_t i = 0; i < capacity && out->item_count < out->size; i++) {
        uint64_t byte;
        if (out->item_count == LAYOUT_ITEMS || i == LAYOUT_WALK ||
            !layout_number(object, control + i, 1, &byte, out))
            return;
        if ((byte & FREE) != 0)
            continue;
        if (map)
            (void)layout_add_pair(object, out, pair.type, slots + i * each);
        else
            (void)layout_add(out, type, slots + i * each);
    }
    if (out->item_count < out->size)
        layout_damage(out, "it has fewer elements than its size");
}

// other_read_cord reads a Cord whose text is in itself or in one block.
static void other_read_cord(struct layout_object *object, struct layout_view *out)
{
    enum { TAG = 15, IS_TREE = 1, FLAT = 6 };
    struct layout_member parts[4];
    uint64_t at = object->address + object->members[0].offset;
    uint64_t tag;
    out->form = LAYOUT_TEXT;
    out->width = 1;
    out->address = at;
    if (!layout_number(object, at + TAG, 1, &tag, out))
        return;
    out->size = tag >> 1;
    if ((tag & IS_TREE) == 0)
        return;
    if (!layout_member_of(object, object->members[0].type, "as_tree_.rep", &parts[0])) {
        out->kind = NULL;
        return;
    }
    uint32_t block = layout_target(object, parts[0].type);
    if (!layout_member_of(object, block, "length", &parts[1]) ||
        !layout_member_of(object, block, "tag", &parts[2]) ||
        !layout_member_of(object, block, "storage", &parts[3])) {
        out->kind = NULL;
        return;
    }
    if (!layout_word(object, at + parts[0].offset, &at, out) ||
        !layout_number(object, at + parts[2].offset, 1, &tag, out) ||
        !layout_word(object, at + parts[1].offset, &out->size, out))
        return;
    out->address = at + parts[3].offset;
    if (tag < FLAT)
        out->kind = NULL; // a tree of several blocks
}

// other_find_string finds the text of libstdc++'s string at address: a pointer to the
// text, which ends with a 0 after its size.
static bool other_find_string(const struct layout_object *object, uint64_t address,
                              uint64_t *text, uint64_t *size)
{
    enum { LARGEST = 1 << 30 };
    uint8_t end;
    return memory_read_word(object->memory, address, text) == CH_OK &&
           memory_read_word(object->memory, address + WORD, size) == CH_OK &&
           *size < LARGEST &&
           memory_read(object->memory, *text + *size, &end, sizeof(end)) == CH_OK &&
           end == 0;
}

// other_read_inlined reads an InlinedVector: its size is followed by a bit that is set
// if the elements are elsewhere.
static void other_read_inlined(struct layout_object *object, struct layout_view *out)
{
    uint64_t size;
    uint64_t at = object->address + object->members[2].offset;
    if (!layout_field(object, 0, &size, out))
        return;
    if ((size & 1) != 0 && !layout_field(object, 1, &at, out))
        return;
    layout_elements(object, out, layout_argument(object, object->type, 0), at,
                    size >> 1);
}

// other_read_status reads a Status: its code, or a pointer to a block that has the code
// and a message. The lowest bit tells which, in another way before 2024, so that the
// number itself has to: no block is at such a low address.
static void other_read_status(struct layout_object *object, struct layout_view *out)
{
    enum { HIGHEST_CODE = 16, FLAGS = 3, CODE = 4, MESSAGE = 8 };
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    uint64_t status;
    uint64_t code;
    uint64_t text;
    uint64_t size;
    uint32_t type;
    out->form = LAYOUT_CHOICE;
    if (strcmp(object->table->types[object->type].name, object->row->name) != 0)
        out->kind = NULL; // such as StatusBar
    if (out->kind == NULL || !layout_field(object, 0, &status, out))
        return;
    uint64_t block = status & ~(uint64_t)FLAGS;
    code = status >> 2;
    if (code > HIGHEST_CODE && !layout_number(object, block + CODE, 4, &code, out))
        return;
    if (code > HIGHEST_CODE) {
        layout_damage(out, "its code is none");
        return;
    }
    out->choice = names[code];
    if (status >> 2 > HIGHEST_CODE && object->dwarf != NULL &&
        other_find_string(object, block + MESSAGE, &text, &size) &&
        type_dwarf_add_basic(object->dwarf, TYPE_DWARF_TEXT, &type) == CH_OK)
        (void)layout_add(out, type, block + MESSAGE);
}

// other_read_fbstring reads a string of Folly. The two highest bits of its last byte
// tell whether the text is in the string itself; its last character is then the number
// of those that are free.
static void other_read_fbstring(struct layout_object *object, struct layout_view *out)
{
    enum { BYTES = 24, ELSEWHERE = 0xc0 };
    uint64_t last;
    uint64_t left;
    uint64_t width =
        layout_size(object, layout_target(object, object->members[0].type));
    layout_read_text(object, out);
    if (width == 0 || width > sizeof(uint32_t) ||
        !layout_number(object, object->address + BYTES - 1, 1, &last, out) ||
        !layout_number(object, object->address + BYTES - width, width, &left, out)) {
        out->kind = NULL;
        return;
    }
    if ((last & ELSEWHERE) != 0)
        return;
    out->kind = left < BYTES / width ? object->row->kind : NULL;
    out->missing = false;
    out->address = object->address;
    out->size = BYTES / width - 1 - left;
}

// other_read_field_text reads a text of a message of Protocol Buffers: a pointer to a
// string, with flags in its lowest bits.
static void other_read_field_text(struct layout_object *object, struct layout_view *out)
{
    enum { FLAGS = 3 };
    uint64_t string;
    out->form = LAYOUT_TEXT;
    out->width = 1;
    if (!layout_field(object, 0, &string, out) ||
        !other_find_string(object, string & ~(uint64_t)FLAGS, &out->address,
                           &out->size))
        out->kind = NULL;
}

// other_read_repeated reads a RepeatedField. Where the library has it for a type, gcc
// describes it without its argument, which its name still has.
static void other_read_repeated(struct layout_object *object, struct layout_view *out)
{
    const struct type_table *table = object->table;
    const char *argument = strchr(table->types[object->type].name, '<') + 1;
    size_t length = strcspn(argument, ">");
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t elements;
    uint64_t count;
    for (uint32_t i = 0; i < table->count && type == TYPE_UNKNOWN_INDEX; i++)
        if (table->types[i].size != 0 && strlen(table->types[i].name) == length &&
            memcmp(table->types[i].name, argument, length) == 0)
            type = i;
    if (layout_field(object, 0, &elements, out) && layout_field(object, 1, &count, out))
        layout_elements(object, out, type, elements, count);
}

// other_read_repeated_pointers reads a RepeatedPtrField, whose elements are apart.
static void other_read_repeated_pointers(struct layout_object *object,
                                         struct layout_view *out)
{
    struct layout_member first;
    uint64_t elements;
    uint32_t type = layout_argument(object, object->type, 0);
    uint32_t block = layout_target(object, object->members[0].type);
    if (!layout_field(object, 0, &elements, out) ||
        !layout_field(object, 1, &out->size, out) || out->size == 0)
        return;
    if (!layout_member_of(object, block, "elements", &first)) {
        out->kind = NULL;
        return;
    }
    for (uint64_t i = 0; i < out->size; i++) {
        uint64_t at;
        if (!layout_word(object, elements + first.offset + i * WORD, &at, out) ||
            !layout_add(out, type, at))
            return;
    }
}

// other_read_buckets reads a Map of Protocol Buffers: chains of nodes that begin with
// the key. Two buckets that lead to the same are a tree.
static void other_read_buckets(struct layout_object *object, struct layout_view *out)
{
    uint32_t types[] = { layout_argument(object, object->type, 0),
                         layout_argument(object, object->type, 1) };
    uint64_t value = layout_after(object, layout_size(object, types[0]), types[1]);
    uint64_t end = layout_after(object, value + layout_size(object, types[1]),
                                object->members[2].type);
    uint64_t count;
    uint64_t table;
    uint64_t other;
    size_t steps = 0;
    if (!layout_field(object, 0, &out->size, out) ||
        !layout_field(object, 1, &count, out) || !layout_field(object, 2, &table, out))
        return;
    for (uint64_t i = 0; i < count && i < LAYOUT_WALK && out->item_count < out->size;
         i++) {
        uint64_t node;
        if (!layout_word(object, table + i * WORD, &node, out))
            return;
        if (node != 0 && count > 1 &&
            (!layout_word(object, table + (i ^ 1) * WORD, &other, out) ||
             other == node)) {
            out->kind = NULL;
            return;
        }
        while (node != 0) {
            if (out->item_count == LAYOUT_ITEMS)
                return;
            if (steps++ == LAYOUT_WALK) {
                layout_damage(out, "its links do not end");
                return;
            }
            layout_add_key(out, types[0], node, types[1], node + value);
            if (!layout_word(object, node + end, &node, out))
                return;
        }
    }
}

static void other_read_message(struct layout_object *object, struct layout_view *out)
{
    layout_read_inside(object, out);
    out->sparse = true;
}

bool layout_find_message(struct layout_object *object)
{
    static const struct layout_row row = {
        "", "message", other_read_message, { "_impl_" }
    };
    const struct type_table *table = object->table;
    const struct type *type = &table->types[object->type];
    const struct type_part *base =
        type->part_count != 0 ? &table->parts[type->first_part] : NULL;
    return base != NULL && base->base == TYPE_BASE_PLAIN &&
           (strcmp(table->types[type_strip(table, base->type)].name, "Message") == 0 ||
            strcmp(table->types[type_strip(table, base->type)].name, "MessageLite") ==
                0) &&
           layout_fits(object, &row);
}

const struct layout_row layout_other[] = {
    { "optional<",
      "optional",
      other_read_boost_optional,
      { "m_initialized", "m_storage" } },
    { "intrusive_ptr<", "intrusive_ptr", layout_read_pointer, { "px" } },
    { "shared_ptr<", "shared_ptr", layout_read_pointer, { "px" } },
    { "scoped_ptr<", "scoped_ptr", layout_read_pointer, { "px" } },
    { "vector<",
      "vector",
      layout_read_counted,
      { "m_holder.m_start", "m_holder.m_size" } },
    { "small_vector<",
      "small_vector",
      layout_read_counted,
      { "m_holder.m_start", "m_holder.m_size" } },
    { "flat_map<", "flat_map", layout_read_inside, { "m_flat_tree.m_data.m_seq" } },
    { "flat_set<", "flat_set", layout_read_inside, { "m_data.m_seq" } }, // of its base
    { "string_view", "string_view", layout_read_text, { "ptr_", "length_" } },
#define FLAT                                                                           \
    {                                                                                  \
        "ctrl_", "slots_", "size_", "capacity_"                                        \
    }
    { "flat_hash_map<", "flat_hash_map", other_read_flat, FLAT },
    { "flat_hash_set<", "flat_hash_set", other_read_flat, FLAT },
    { "Cord", "Cord", other_read_cord, { "contents_.data_" } },
    { "InlinedVector<",
      "InlinedVector",
      other_read_inlined,
      { "storage_.metadata_.value", "storage_.data_.allocated.allocated_data",
        "storage_.data_.inlined.inlined_data" } },
    { "Status", "Status", other_read_status, { "rep_" } },
    { "basic_fbstring<",
      "fbstring",
      other_read_fbstring,
      { "store_.ml_.data_", "store_.ml_.size_", "store_.small_" } },
    { "ArenaStringPtr", "string", other_read_field_text, { "tagged_ptr_.ptr_" } },
    { "RepeatedField<",
      "RepeatedField",
      other_read_repeated,
      { "arena_or_elements_", "current_size_" } },
    { "RepeatedPtrField<",
      "RepeatedPtrField",
      other_read_repeated_pointers,
      { "rep_", "current_size_" } },
    { "Map<",
      "Map",
      other_read_buckets,
      { "elements_.num_elements_", "elements_.num_buckets_", "elements_.table_" } },
    { 0 },
};

bool layout_read_sds(struct layout_object *object, struct layout_view *out)
{
    enum { TYPES = 5, TYPE = 7, SHIFT = 3 };
    const struct type *of = &object->table->types[object->type];
    for (int i = 0; of->kind == TYPE_CONST || of->kind == TYPE_VOLATILE; i++) {
        if (i == TYPE_CHAIN_MAX)
            return false;
        of = &object->table->types[of->target];
    }
    uint64_t flags;
    uint64_t allocated;
    uint64_t end;
    *out = (struct layout_view){
        .form = LAYOUT_TEXT, .kind = "sds", .width = 1, .owners = -1, .index = -1
    };
    if (of->kind != TYPE_TYPEDEF || strcmp(of->name, "sds") != 0 ||
        !layout_word(object, object->address, &out->address, out) ||
        !layout_number(object, out->address - 1, 1, &flags, out) ||
        (flags & TYPE) >= TYPES)
        return false;
    out->size = allocated = flags >> SHIFT;
    if ((flags & TYPE) != 0) { // the size and what is allocated are before the flags
        uint64_t width = UINT64_C(1) << ((flags & TYPE) - 1);
        uint64_t head = out->address - 1 - 2 * width;
        if (flags >> SHIFT != 0 ||
            !layout_number(object, head, width, &out->size, out) ||
            !layout_number(object, head + width, width, &allocated, out))
            return false;
    }
    return out->size <= allocated && allocated >> 40 == 0 &&
           layout_number(object, out->address + out->size, 1, &end, out) && end == 0;
}
