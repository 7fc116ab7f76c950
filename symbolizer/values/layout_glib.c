// SPDX-License-Identifier: Apache-2.0
//
// The types of GLib. Programs have pointers to them alone.
#include "symbolizer/values/layout_table.h"

// glib_read_list reads a GList. It is shown from the node that is at hand.
static void glib_read_list(struct layout_object *object, struct layout_view *out)
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

// A glib_table is the head of a GHashTable. GLib's headers do not declare its members;
// they are those of GLib 2.60 to 2.86.
struct glib_table {
    uint64_t size; // of each array; a power of two
    uint32_t modulus;
    uint32_t mask;
    uint32_t nodes;
    uint32_t occupied; // nodes, and places whose node was removed
    uint32_t flags;
    uint32_t padding;
    uint64_t keys;
    uint64_t hashes;
    uint64_t values; // those of a set are the keys
};

enum { BIG_KEYS = 1, BIG_VALUES = 2 }; // of flags: pointers, not numbers of 32 bits

// glib_is_text returns true if a key is a string: whether its hash is GLib's for
// strings.
static bool glib_is_text(const struct layout_object *object, uint64_t key,
                         uint32_t hash)
{
    enum { FIRST = 5381, FACTOR = 33, LONGEST = 256, LOWEST_HASH = 2 };
    char text[LONGEST];
    uint32_t made = FIRST;
    uint64_t address;
    if (memory_read_word(object->memory, key, &address) != CH_OK ||
        memory_read_string(object->memory, address, text, sizeof(text)) != CH_OK)
        return false;
    for (size_t i = 0; text[i] != 0; i++)
        made = made * FACTOR + (uint32_t)(signed char)text[i];
    return hash == (made < LOWEST_HASH ? LOWEST_HASH : made);
}

// glib_place adds a basic type for a key or a value, and gives where it is.
static bool glib_place(struct layout_object *object, uint64_t array, bool big,
                       uint64_t number, struct type_place *out)
{
    enum { SMALL = 4, BIG = 8 };
    out->address = array + number * (big ? BIG : SMALL);
    return type_dwarf_add_basic(object->dwarf,
                                big ? TYPE_DWARF_ADDRESS : TYPE_DWARF_NUMBER,
                                &out->type) == CH_OK;
}

// glib_read_nodes adds the nodes of a table, of which each has a hash.
static void glib_read_nodes(struct layout_object *object, struct layout_view *out,
                            const struct glib_table *table)
{
    enum { LOWEST_HASH = 2, HASH_BYTES = 4 };
    for (uint64_t i = 0; i < table->size && i < LAYOUT_WALK; i++) {
        uint64_t hash;
        struct type_place key = { 0 };
        struct type_place value = { 0 };
        if (out->item_count == LAYOUT_ITEMS || out->item_count == out->size ||
            !layout_number(object, table->hashes + i * HASH_BYTES, HASH_BYTES, &hash,
                           out))
            return;
        if (hash < LOWEST_HASH)
            continue;
        if (!glib_place(object, table->keys, table->flags & BIG_KEYS, i, &key) ||
            !glib_place(object, table->values, table->flags & BIG_VALUES, i, &value))
            return;
        if (table->flags & BIG_KEYS &&
            glib_is_text(object, key.address, (uint32_t)hash))
            (void)!type_dwarf_add_basic(object->dwarf, TYPE_DWARF_TEXT, &key.type);
        if (table->values == table->keys)
            (void)layout_add(out, key.type, key.address);
        else
            layout_add_key(out, key.type, key.address, value.type, value.address);
    }
}

// glib_read_table reads a GHashTable. What contradicts its layout may have another one,
// and is not shown.
static void glib_read_table(struct layout_object *object, struct layout_view *out)
{
    struct glib_table table;
    if (object->dwarf == NULL ||
        memory_read(object->memory, object->address, &table, sizeof(table)) != CH_OK ||
        table.size < LAYOUT_ITEMS || table.mask != table.size - 1 ||
        (table.size & table.mask) != 0 || table.modulus > table.size ||
        table.nodes > table.occupied || table.occupied > table.size ||
        table.keys == 0 || table.hashes == 0 || table.values == 0) {
        out->kind = NULL;
        return;
    }
    out->form = table.values == table.keys ? LAYOUT_SEQUENCE : LAYOUT_PAIRS;
    out->size = table.nodes;
    glib_read_nodes(object, out, &table);
}

// glib_read_queue reads a GQueue by its list.
static void glib_read_queue(struct layout_object *object, struct layout_view *out)
{
    struct layout_member data;
    struct layout_member next;
    uint64_t node;
    uint32_t type = layout_target(object, object->members[0].type);
    if (!layout_field(object, 0, &node, out) ||
        !layout_field(object, 1, &out->size, out))
        return;
    if (!layout_member_of(object, type, "data", &data) ||
        !layout_member_of(object, type, "next", &next)) {
        out->kind = NULL;
        return;
    }
    for (; node != 0 && out->item_count < out->size;) {
        if (!layout_add(out, data.type, node + data.offset) ||
            !layout_word(object, node + next.offset, &node, out))
            return;
    }
    if ((node == 0) != (out->item_count == out->size))
        layout_damage(out, "its size is not the number of its elements");
}

const struct layout_row layout_glib[] = {
    { "_GString", "GString", layout_read_text, { "str", "len", "allocated_len" } },
    { "_GList", "GList", glib_read_list, { "data", "next", "prev" } },
    { "_GSList", "GSList", glib_read_list, { "data", "next" } },
    { "_GQueue", "GQueue", glib_read_queue, { "head", "length" } },
    { "_GPtrArray", "GPtrArray", layout_read_counted, { "pdata", "len" } },
    { "_GByteArray", "GByteArray", layout_read_counted, { "data", "len" } },
    { "_GHashTable", "GHashTable", glib_read_table, { NULL } },
    { 0 },
};
