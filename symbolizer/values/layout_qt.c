// SPDX-License-Identifier: Apache-2.0
//
// The types of Qt 5 and Qt 6. Those of Qt 5 lead to a header that every instance has in
// common with others, so its members are looked up where the pointer leads.
#include <string.h>

#include "symbolizer/values/layout_table.h"

enum {
    QT_LINK = 8,
    MAP_LEFT = 8, // of a QMapNode, after its parent and color
    MAP_RIGHT = 16,
    MAP_NODE = 24,
    MAP_STEPS = 96 * (LAYOUT_ITEMS + 2), // no balanced tree is as deep
    HASH_NODE = 12,                      // next and the hash itself
    SPAN_SLOTS = 128,
    SPAN_UNUSED = 255,
};

// A qt_header is what the member that a row names first leads to.
struct qt_header {
    struct layout_object *object;
    struct layout_view *out;
    uint32_t type;
    uint64_t address;
};

static bool qt_begin(struct layout_object *object, struct layout_view *out,
                     struct qt_header *header)
{
    *header =
        (struct qt_header){ .object = object,
                            .out = out,
                            .type = layout_target(object, object->members[0].type) };
    return layout_field(object, 0, &header->address, out);
}

// qt_find finds a member of the header. False: the type has another layout.
static bool qt_find(const struct qt_header *header, const char *name,
                    struct layout_member *out)
{
    if (layout_member_of(header->object, header->type, name, out))
        return true;
    header->out->kind = NULL;
    return false;
}

// qt_number reads a member of the header of size bytes.
static bool qt_number(const struct qt_header *header, const char *name, uint64_t size,
                      uint64_t *number)
{
    struct layout_member at;
    return qt_find(header, name, &at) &&
           layout_number(header->object, header->address + at.offset, size, number,
                         header->out);
}

// qt_read_array finds the elements of an array of Qt 5: its header says where they are.
static bool qt_read_array(struct layout_object *object, struct layout_view *out,
                          uint64_t *elements)
{
    struct qt_header header;
    uint64_t offset;
    if (!qt_begin(object, out, &header) || !qt_number(&header, "size", 4, &out->size) ||
        !qt_number(&header, "offset", 8, &offset))
        return false;
    if (out->size > INT32_MAX)
        out->kind = NULL;
    *elements = header.address + offset;
    return out->kind != NULL;
}

void layout_qt_read_string(struct layout_object *object, struct layout_view *out)
{
    out->form = LAYOUT_TEXT;
    out->width = strcmp(object->row->kind, "QString") == 0 ? 2 : 1;
    if (!qt_read_array(object, out, &out->address))
        out->kind = NULL;
}

static void qt_read_vector(struct layout_object *object, struct layout_view *out)
{
    uint64_t elements;
    if (qt_read_array(object, out, &elements))
        layout_elements(object, out, layout_argument(object, object->type, 0), elements,
                        out->size);
}

// is_movable returns true if a QList has elements of the type in its own array. Of
// classes other than Qt's own, the debug information does not say.
static bool is_movable(const struct layout_object *object, uint32_t type)
{
    static const char *const classes[] = { "QString",  "QByteArray", "QList<",
                                           "QVector<", "QMap<",      "QHash<" };
    const struct type *of = &object->table->types[type_strip(object->table, type)];
    if (of->kind != TYPE_STRUCT && of->kind != TYPE_UNION)
        return true;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strncmp(of->name, classes[i], strlen(classes[i])) == 0)
            return true;
    return false;
}

// qt_read_list reads a QList of Qt 5: an array of words, which have the elements or,
// where these are larger, lead to them.
static void qt_read_list(struct layout_object *object, struct layout_view *out)
{
    struct qt_header header;
    struct layout_member array;
    uint64_t first;
    uint64_t end;
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t each = layout_size(object, type);
    if (!qt_begin(object, out, &header) || !qt_find(&header, "array", &array) ||
        !qt_number(&header, "begin", 4, &first) || !qt_number(&header, "end", 4, &end))
        return;
    if (each == 0 || (each <= QT_LINK && !is_movable(object, type))) {
        out->kind = NULL;
        return;
    }
    if (end < first || end > INT32_MAX) {
        layout_damage(out, "its end is before its begin");
        return;
    }
    out->size = end - first;
    for (uint64_t i = first; i < end; i++) {
        uint64_t at = header.address + array.offset + i * QT_LINK;
        if ((each > QT_LINK && !layout_word(object, at, &at, out)) ||
            !layout_add(out, type, at))
            return;
    }
}

// A qt_node is where a node of a map or of Qt 5's hash table has its key and value.
struct qt_node {
    uint32_t types[2];
    uint64_t key;
    uint64_t value;
};

// qt_find_node finds them after the links of a node, which end at head.
static struct qt_node qt_find_node(struct layout_object *object, uint64_t head)
{
    struct qt_node node = { .types = { layout_argument(object, object->type, 0),
                                       layout_argument(object, object->type, 1) } };
    node.key = layout_after(object, head, node.types[0]);
    node.value = layout_after(object, node.key + layout_size(object, node.types[0]),
                              node.types[1]);
    return node;
}

static void qt_add_node(struct layout_view *out, const struct qt_node *node,
                        uint64_t at)
{
    layout_add_key(out, node->types[0], at + node->key, node->types[1],
                   at + node->value);
}

// qt_next_in_map goes to the next node of a tree. False: it cannot be read.
static bool qt_next_in_map(struct layout_object *object, struct layout_view *out,
                           uint64_t *node, unsigned *steps)
{
    enum { COLOR = 3 };
    uint64_t to;
    uint64_t right;
    if (!layout_word(object, *node + MAP_RIGHT, &to, out))
        return false;
    if (to != 0) {
        do {
            *node = to;
            if (++*steps > MAP_STEPS ||
                !layout_word(object, *node + MAP_LEFT, &to, out))
                return false;
        } while (to != 0);
        return true;
    }
    do {
        to = *node;
        if (++*steps > MAP_STEPS || !layout_word(object, to, node, out))
            return false;
        *node &= ~(uint64_t)COLOR;
        if (!layout_word(object, *node + MAP_RIGHT, &right, out))
            return false;
    } while (right == to);
    return true;
}

static void qt_read_map(struct layout_object *object, struct layout_view *out)
{
    struct qt_header header;
    struct layout_member end;
    uint64_t node;
    unsigned steps = 0;
    const struct qt_node places = qt_find_node(object, MAP_NODE);
    if (!qt_begin(object, out, &header) || !qt_find(&header, "header", &end) ||
        !qt_number(&header, "size", 4, &out->size) ||
        !qt_number(&header, "mostLeftNode", 8, &node))
        return;
    for (uint64_t i = 0; i < out->size && out->item_count < LAYOUT_ITEMS; i++) {
        if (node == header.address + end.offset) {
            layout_damage(out, "it has fewer elements than its size");
            return;
        }
        qt_add_node(out, &places, node);
        if (i + 1 < out->size && out->item_count < LAYOUT_ITEMS &&
            !qt_next_in_map(object, out, &node, &steps)) {
            layout_damage(out, out->missing ? NULL : "its links do not end");
            return;
        }
    }
}

// qt_read_chains reads the hash table of Qt 5: chains that end at the header.
static void qt_read_chains(const struct qt_header *header)
{
    struct layout_object *object = header->object;
    struct layout_view *out = header->out;
    uint64_t buckets;
    uint64_t count;
    size_t steps = 0;
    const struct qt_node places = qt_find_node(object, HASH_NODE);
    if (!qt_number(header, "size", 4, &out->size) ||
        !qt_number(header, "buckets", 8, &buckets) ||
        !qt_number(header, "numBuckets", 4, &count))
        return;
    for (uint64_t i = 0; i < count && i < LAYOUT_WALK && out->item_count < out->size;
         i++) {
        uint64_t node;
        if (!layout_word(object, buckets + i * QT_LINK, &node, out))
            return;
        while (node != header->address) {
            if (out->item_count == LAYOUT_ITEMS)
                return;
            if (steps++ == LAYOUT_WALK) {
                layout_damage(out, "its links do not end");
                return;
            }
            qt_add_node(out, &places, node);
            if (!layout_word(object, node, &node, out))
                return;
        }
    }
}

// qt_read_spans reads the hash table of Qt 6: spans of 128 slots, each the number of an
// entry of its span.
static void qt_read_spans(const struct qt_header *header)
{
    struct layout_object *object = header->object;
    struct layout_view *out = header->out;
    struct layout_member spans;
    struct layout_member entries;
    struct layout_member key;
    struct layout_member value;
    uint64_t at;
    uint64_t count;
    uint32_t node = layout_argument(object, header->type, 0);
    if (!qt_find(header, "spans", &spans) ||
        !qt_number(header, "size", 8, &out->size) ||
        !qt_number(header, "numBuckets", 8, &count) ||
        !qt_number(header, "spans", 8, &at))
        return;
    uint32_t span = layout_target(object, spans.type);
    uint64_t span_size = layout_size(object, span);
    if (span_size == 0 || !layout_member_of(object, span, "entries", &entries) ||
        !layout_member_of(object, node, "key", &key) ||
        !layout_member_of(object, node, "value", &value)) {
        out->kind = NULL;
        return;
    }
    uint64_t each = layout_size(object, layout_target(object, entries.type));
    for (uint64_t i = 0; i < count && i < LAYOUT_WALK && out->item_count < out->size;
         i++) {
        uint64_t in = at + i / SPAN_SLOTS * span_size;
        uint64_t number;
        uint64_t first;
        if (out->item_count == LAYOUT_ITEMS ||
            !layout_number(object, in + i % SPAN_SLOTS, 1, &number, out))
            return;
        if (number == SPAN_UNUSED)
            continue;
        if (!layout_word(object, in + entries.offset, &first, out))
            return;
        first += number * each;
        layout_add_key(out, key.type, first + key.offset, value.type,
                       first + value.offset);
    }
}

static void qt_read_hash(struct layout_object *object, struct layout_view *out)
{
    struct qt_header header;
    struct layout_member spans;
    out->form = LAYOUT_PAIRS;
    if (!qt_begin(object, out, &header))
        return;
    if (layout_member_of(object, header.type, "spans", &spans)) {
        if (header.address != 0)
            qt_read_spans(&header);
    } else {
        qt_read_chains(&header);
    }
    if (out->size > INT32_MAX)
        layout_damage(out, "its size is impossible");
}

// qt_read_shared_map reads a QMap of Qt 6, which leads to a map of the standard
// library.
static void qt_read_shared_map(struct layout_object *object, struct layout_view *out)
{
    struct qt_header header;
    struct layout_member map;
    if (!qt_begin(object, out, &header) || header.address == 0 ||
        !qt_find(&header, "m", &map))
        return;
    out->form = LAYOUT_INSIDE;
    (void)layout_add(out, map.type, header.address + map.offset);
}

const struct layout_row layout_qt[] = {
    { "QString", "QString", layout_read_text, { "d.ptr", "d.size" } },
    { "QByteArray", "QByteArray", layout_read_text, { "d.ptr", "d.size" } },
    { "QString", "QString", layout_qt_read_string, { "d" } },
    { "QByteArray", "QByteArray", layout_qt_read_string, { "d" } },
    { "QList<", "QList", layout_read_counted, { "d.ptr", "d.size" } },
    { "QList<", "QList", qt_read_list, { "d", "p" } },
    { "QVector<", "QVector", qt_read_vector, { "d" } },
    { "QMap<", "QMap", qt_read_shared_map, { "d.d" } },
    { "QMap<", "QMap", qt_read_map, { "d" } },
    { "QHash<", "QHash", qt_read_hash, { "d" } },
    { 0 },
};
