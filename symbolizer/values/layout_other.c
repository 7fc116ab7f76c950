// SPDX-License-Identifier: Apache-2.0
//
// The types of libraries of C and C++ other than the standard ones and Qt: GLib, Boost,
// Abseil, Protocol Buffers.
#include "symbolizer/values/layout_table.h"

enum { WORD = 8 };

// other_read_g_list reads a GList. It is shown from the node that is at hand, a GQueue
// from its head.
static void other_read_g_list(struct layout_object *object, struct layout_view *out)
{
    uint64_t at = object->address;
    uint64_t next;
    for (out->size = 0; at != 0 && out->size < LAYOUT_WALK; out->size++) {
        (void)layout_add(out, object->members[0].type, at + object->members[0].offset);
        if (!layout_word(object, at + object->members[1].offset, &next, out))
            break;
        if (next == object->address || next == at) {
            layout_damage(out, "its links lead in a circle");
            break;
        }
        at = next;
    }
    out->at_least = at != 0;
    if (out->size == LAYOUT_WALK)
        layout_damage(out, "its links do not end");
}

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

const struct layout_row layout_other[] = {
    { "_GString", "GString", layout_read_text, { "str", "len", "allocated_len" } },
    { "_GList", "GList", other_read_g_list, { "data", "next", "prev" } },
    { "_GSList", "GSList", other_read_g_list, { "data", "next" } },
    { "_GPtrArray", "GPtrArray", layout_read_counted, { "pdata", "len" } },
    { "_GByteArray", "GByteArray", layout_read_counted, { "data", "len" } },
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
    { "flat_set<", "flat_set", layout_read_inside, { "m_flat_tree.m_data.m_seq" } },
    { "string_view", "string_view", layout_read_text, { "ptr_", "length_" } },
#define FLAT                                                                           \
    {                                                                                  \
        "ctrl_", "slots_", "size_", "capacity_"                                        \
    }
    { "flat_hash_map<", "flat_hash_map", other_read_flat, FLAT },
    { "flat_hash_set<", "flat_hash_set", other_read_flat, FLAT },
    { "Cord", "Cord", other_read_cord, { "contents_.data_" } },
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
