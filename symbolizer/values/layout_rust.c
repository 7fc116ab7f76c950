// SPDX-License-Identifier: Apache-2.0
//
// The types of Rust's libraries, as of 1.63 to 1.90, and its enums. Rust orders members
// as it likes, so that all of them are found by their names.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/values/layout_table.h"

enum {
    NODE_ITEMS = 11, // of a node of a B-tree
    TREE_DEPTH = 12,
    PROBED = 4096, // bytes of a hash table that are looked at
};

static void rust_read_duration(struct layout_object *object, struct layout_view *out)
{
    uint64_t seconds;
    uint64_t nanoseconds;
    out->form = LAYOUT_WORDS;
    if (layout_field(object, 0, &seconds, out) &&
        layout_field(object, 1, &nanoseconds, out))
        (void)snprintf(out->word, sizeof(out->word), "%" PRIu64 ".%09" PRIu64 " s",
                       seconds, nanoseconds);
}

// rust_read_counted_owner reads an Rc: the owners and the object are in one block.
static void rust_read_counted_owner(struct layout_object *object,
                                    struct layout_view *out)
{
    struct layout_member value;
    struct layout_member strong;
    uint64_t owners;
    uint32_t block = layout_target(object, object->members[0].type);
    out->form = LAYOUT_POINTER;
    if (!layout_field(object, 0, &out->address, out) ||
        !layout_member_of(object, block, "strong", &strong) ||
        (!layout_member_of(object, block, "value", &value) &&
         !layout_member_of(object, block, "data", &value))) {
        out->kind = NULL;
        return;
    }
    uint64_t at = out->address;
    if (layout_word(object, at + strong.offset, &owners, out)) {
        out->owners = (int64_t)owners;
        if (owners == 0 || owners > INT32_MAX)
            layout_damage(out, "it has no owner");
    }
    out->address = at + value.offset;
    (void)layout_add(out, value.type, out->address);
}

static void rust_read_ring(struct layout_object *object, struct layout_view *out,
                           uint64_t first, uint64_t count, uint64_t room)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t each = layout_size(object, type);
    uint64_t begin;
    out->size = count;
    if (!layout_field(object, 0, &begin, out))
        return;
    if (room == 0 ? count != 0 : first >= room || count > room || room >> 40 != 0) {
        layout_damage(out, "its size is impossible");
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        if (!layout_add(out, type, begin + (first + i) % room * each))
            return;
}

static void rust_read_deque(struct layout_object *object, struct layout_view *out)
{
    uint64_t first;
    uint64_t count;
    uint64_t room;
    if (layout_field(object, 1, &first, out) && layout_field(object, 2, &count, out) &&
        layout_field(object, 3, &room, out))
        rust_read_ring(object, out, first, count, room);
}

// rust_read_old_deque reads a VecDeque as before 1.67. It has the places of both ends,
// and room for a power of two.
static void rust_read_old_deque(struct layout_object *object, struct layout_view *out)
{
    uint64_t tail;
    uint64_t head;
    uint64_t room;
    if (!layout_field(object, 1, &tail, out) || !layout_field(object, 2, &head, out) ||
        !layout_field(object, 3, &room, out))
        return;
    if (room == 0 || (room & (room - 1)) != 0)
        layout_damage(out, "its room is no power of two");
    else
        rust_read_ring(object, out, tail, (head - tail) & (room - 1), room);
}

// rust_read_hash reads a HashMap. It has a byte for each place, the highest bit of
// which is clear where it is taken; the pairs are before these bytes, in the reverse
// order.
static void rust_read_hash(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->members[0].type, 0);
    uint64_t each = layout_size(object, type);
    struct layout_member key;
    bool set =
        out->form == LAYOUT_SEQUENCE && layout_member_of(object, type, "__0", &key);
    uint64_t bytes;
    uint64_t mask;
    if (!layout_field(object, 1, &bytes, out) ||
        !layout_field(object, 2, &out->size, out) ||
        !layout_field(object, 3, &mask, out))
        return;
    if ((mask & (mask + 1)) != 0 || mask >> 40 != 0 || out->size > mask + 1) {
        layout_damage(out, "its size is impossible");
        return;
    }
    for (uint64_t i = 0; i <= mask && i < PROBED && out->item_count < out->size; i++) {
        uint64_t taken;
        if (!layout_number(object, bytes + i, 1, &taken, out))
            return;
        uint64_t at = bytes - (i + 1) * each;
        if ((taken & 0x80) == 0 && !(set ? layout_add(out, key.type, at + key.offset)
                                         : layout_add_pair(object, out, type, at)))
            return;
    }
    if (mask < PROBED && out->item_count < out->size)
        layout_damage(out, "it has fewer elements than its size");
}

// A tree is a B-tree whose nodes are walked in order.
struct tree {
    struct layout_object *object;
    struct layout_view *out;
    uint32_t node; // the types of a node without and with edges
    struct layout_member keys;
    struct layout_member values;
    struct layout_member count;
    struct layout_member parent;
    uint64_t edges; // offset in a node with edges
    uint32_t types[2];
};

// A tree_level is a node that is being walked.
struct tree_level {
    uint64_t node;
    uint64_t count; // of its elements
    uint64_t next;
    bool entered; // what is below the next element was
};

// rust_tree_enter begins a node: its number of elements is read. False: it cannot be.
static bool rust_tree_enter(struct tree *tree, struct tree_level *level, uint64_t node)
{
    level->node = node;
    level->next = 0;
    level->entered = false;
    if (!layout_number(tree->object, node + tree->count.offset, 2, &level->count,
                       tree->out))
        return false;
    if (level->count == 0 || level->count > NODE_ITEMS)
        layout_damage(tree->out, "a node has an impossible number of elements");
    return tree->out->damage == NULL;
}

// rust_tree_descend begins the child before the next element of a level.
static bool rust_tree_descend(struct tree *tree, const struct tree_level *level,
                              struct tree_level *below)
{
    uint64_t child;
    uint64_t back;
    uint64_t edge = level->node + tree->edges + level->next * sizeof(child);
    if (!layout_word(tree->object, edge, &child, tree->out) ||
        !layout_word(tree->object, child + tree->parent.offset, &back, tree->out))
        return false;
    if (back != level->node)
        layout_damage(tree->out, "a link does not lead back");
    return back == level->node && rust_tree_enter(tree, below, child);
}

static void rust_tree_take(struct tree *tree, const struct tree_level *level)
{
    struct layout_view *out = tree->out;
    uint64_t sizes[2] = { layout_size(tree->object, tree->types[0]),
                          layout_size(tree->object, tree->types[1]) };
    out->items[out->item_count++] = (struct layout_item){
        .key = { .type = tree->types[0],
                 .address = level->node + tree->keys.offset + level->next * sizes[0] },
        .value = { .type = tree->types[1],
                   .address =
                       level->node + tree->values.offset + level->next * sizes[1] }
    };
}

// rust_tree_visit walks in order: what is below an element, the element, and so on.
static void rust_tree_visit(struct tree *tree, uint64_t root, uint64_t height)
{
    struct tree_level levels[TREE_DEPTH + 1];
    uint64_t depth = 1;
    if (!rust_tree_enter(tree, &levels[0], root))
        return;
    while (depth > 0 && tree->out->item_count < LAYOUT_ITEMS) {
        struct tree_level *level = &levels[depth - 1];
        if (depth <= height && !level->entered) {
            level->entered = true;
            if (!rust_tree_descend(tree, level, &levels[depth++]))
                return;
        } else if (level->next < level->count) {
            rust_tree_take(tree, level);
            level->next++;
            level->entered = false;
        } else {
            depth--;
        }
    }
}

// rust_find_node finds the type of nodes: the root's pointer leads to one.
static bool rust_find_node(struct tree *tree, uint32_t reference)
{
    struct layout_object *object = tree->object;
    struct layout_member pointer;
    if (!layout_member_of(object, reference, "node.pointer", &pointer))
        return false;
    tree->node = layout_target(object, pointer.type);
    return layout_member_of(object, tree->node, "keys", &tree->keys) &&
           layout_member_of(object, tree->node, "vals", &tree->values) &&
           layout_member_of(object, tree->node, "len", &tree->count) &&
           layout_member_of(object, tree->node, "parent", &tree->parent) &&
           // Edges come after what a node without them has.
           (tree->edges = layout_size(object, tree->node)) != 0;
}

static void rust_read_tree(struct layout_object *object, struct layout_view *out)
{
    struct tree tree = { .object = object, .out = out };
    struct layout_member height;
    struct layout_member node;
    struct layout_member some;
    uint64_t levels;
    uint64_t root;
    uint32_t option = object->members[0].type;
    tree.types[0] = layout_argument(object, object->type, 0);
    tree.types[1] = layout_argument(object, object->type, 1);
    bool set = layout_size(object, tree.types[1]) == 0; // it is a map to nothing
    if (set) {
        out->form = LAYOUT_SEQUENCE;
        out->kind = "BTreeSet";
    }
    if (!layout_field(object, 1, &out->size, out) || out->size == 0)
        return;
    if (!layout_member_of(object, option, "Some.__0", &some) ||
        !layout_member_of(object, some.type, "height", &height) ||
        !layout_member_of(object, some.type, "node", &node) ||
        !rust_find_node(&tree, some.type)) {
        out->kind = NULL;
        return;
    }
    uint64_t at = object->address + object->members[0].offset + some.offset;
    if (!layout_word(object, at + height.offset, &levels, out) ||
        !layout_word(object, at + node.offset, &root, out))
        return;
    if (levels > TREE_DEPTH)
        layout_damage(out, "its tree is too deep");
    else
        rust_tree_visit(&tree, root, levels);
    for (size_t i = 0; set && i < out->item_count; i++)
        out->items[i].value = out->items[i].key;
}

// rust_read_enum finds the variant that an enum is.
static void rust_read_enum(struct layout_object *object, struct layout_view *out)
{
    const struct type *type = &object->table->types[object->type];
    const struct type_part *parts = &object->table->parts[type->first_part];
    const struct type_part *chosen = NULL;
    uint64_t size = layout_size(object, parts[0].type);
    if (size > sizeof(uint64_t))
        size = sizeof(uint64_t); // targets are little-endian
    uint64_t number = 0;
    uint64_t mask = size < 8 ? (UINT64_C(1) << size * 8) - 1 : UINT64_MAX;
    out->form = LAYOUT_CHOICE;
    if (size != 0 && !layout_number(object, object->address + parts[0].offset_bits / 8,
                                    size, &number, out))
        return;
    for (uint32_t i = 1; i < type->part_count; i++)
        if (i != type->count && size != 0 &&
            ((uint64_t)parts[i].value & mask) == number)
            chosen = &parts[i];
    if (chosen == NULL && type->count != 0 && type->count < type->part_count)
        chosen = &parts[type->count];
    if (chosen == NULL) {
        layout_damage(out, "it is none of its variants");
        return;
    }
    out->choice = chosen->name;
    struct layout_member only;
    uint64_t at = object->address + chosen->offset_bits / 8;
    uint32_t variant = chosen->type;
    const struct type *held = &object->table->types[type_strip(object->table, variant)];
    if (held->part_count == 1 && layout_member_of(object, variant, "__0", &only))
        (void)layout_add(out, only.type, at + only.offset);
    else if (held->part_count != 0)
        (void)layout_add(out, variant, at);
}

bool layout_rust_enum(struct layout_object *object)
{
    static const struct layout_row row = { "", "enum", rust_read_enum, { 0 } };
    const struct type *type = &object->table->types[object->type];
    if (!type->variants || type->part_count < 2)
        return false;
    object->row = &row;
    return true;
}

#define POINTERS "buf.ptr.pointer.pointer"
#define INNER "buf.inner.ptr.pointer.pointer"

const struct layout_row layout_rust[] = {
    { "&str", "str", layout_read_text, { "data_ptr", "length" } },
    { "&mut str", "str", layout_read_text, { "data_ptr", "length" } },
    { "alloc::boxed::Box<str", "str", layout_read_text, { "data_ptr", "length" } },
    { "Box<str", "str", layout_read_text, { "data_ptr", "length" } },
    { "String", "String", layout_read_text, { "vec." POINTERS, "vec.len" } },
    { "String", "String", layout_read_text, { "vec." INNER, "vec.len" } },
    { "PathBuf",
      "PathBuf",
      layout_read_text,
      { "inner.inner.inner." POINTERS, "inner.inner.inner.len" } },
    { "PathBuf",
      "PathBuf",
      layout_read_text,
      { "inner.inner.inner." INNER, "inner.inner.inner.len" } },
    { "OsString",
      "OsString",
      layout_read_text,
      { "inner.inner." POINTERS, "inner.inner.len" } },
    { "OsString",
      "OsString",
      layout_read_text,
      { "inner.inner." INNER, "inner.inner.len" } },
    { "&[", "slice", layout_read_counted, { "data_ptr", "length" } },
    { "&mut [", "slice", layout_read_counted, { "data_ptr", "length" } },
    { "Box<[", "slice", layout_read_counted, { "data_ptr", "length" } },
    { "alloc::boxed::Box<[", "slice", layout_read_counted, { "data_ptr", "length" } },
    { "Vec<", "Vec", layout_read_counted, { POINTERS, "len" } },
    { "Vec<", "Vec", layout_read_counted, { INNER, "len" } },
    { "VecDeque<",
      "VecDeque",
      rust_read_old_deque,
      { POINTERS, "tail", "head", "buf.cap" } },
    { "VecDeque<",
      "VecDeque",
      rust_read_deque,
      { POINTERS, "head", "len", "buf.cap" } },
    { "VecDeque<",
      "VecDeque",
      rust_read_deque,
      { INNER, "head", "len", "buf.inner.cap" } },
#define HASH(prefix)                                                                   \
    {                                                                                  \
        prefix "table", prefix "table.table.ctrl.pointer", prefix "table.table.items", \
            prefix "table.table.bucket_mask"                                           \
    }
    { "HashMap<", "HashMap", rust_read_hash, HASH("base.") },
    { "HashMap<", "HashMap", rust_read_hash, HASH("") },
    { "HashSet<", "HashSet", rust_read_hash, HASH("base.map.") },
    { "HashSet<", "HashSet", rust_read_hash, HASH("map.") },
    { "BTreeMap<", "BTreeMap", rust_read_tree, { "root", "length" } },
    { "BTreeSet<", "BTreeSet", layout_read_inside, { "map" } },
    { "Rc<", "Rc", rust_read_counted_owner, { "ptr.pointer" } },
    { "Arc<", "Arc", rust_read_counted_owner, { "ptr.pointer" } },
    { "Cell<", "Cell", layout_read_inside, { "value.value" } },
    { "RefCell<", "RefCell", layout_read_inside, { "value.value" } },
    { "UnsafeCell<", "UnsafeCell", layout_read_inside, { "value" } },
    { "Mutex<", "Mutex", layout_read_inside, { "data.value" } },
    { "RwLock<", "RwLock", layout_read_inside, { "data.value" } },
    { "ManuallyDrop<", "ManuallyDrop", layout_read_inside, { "value" } },
    { "Pin<", "Pin", layout_read_inside, { "pointer" } },
    { "NonNull<", "NonNull", layout_read_pointer, { "pointer" } },
    { "AtomicBool", "atomic", layout_read_inside, { "v.value" } },
    { "AtomicU", "atomic", layout_read_inside, { "v.value" } },
    { "AtomicI", "atomic", layout_read_inside, { "v.value" } },
    { "Duration", "Duration", rust_read_duration, { "secs", "nanos" } },
    { "Duration", "Duration", rust_read_duration, { "secs", "nanos.__0" } },
    { "String", "String", layout_read_inside, { "vec" } },
    { 0 },
};
