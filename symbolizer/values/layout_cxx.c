// SPDX-License-Identifier: Apache-2.0
//
// The types of libstdc++, as of gcc 5 to 15, with both of its strings and its debug
// mode, whose containers have the plain ones as bases.
//
// How it works: the table at the end has a row for each class: how its name begins,
// what it is shown as, the function that reads it, and the paths of the members that
// the function needs. Several rows of one class are its layouts in different versions.
// Invariants: a function checks each count and link before it follows it, and reports
// what contradicts itself (layout_damage) or was not copied; none follows a cycle.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/types/type_runtime.h"
#include "symbolizer/values/layout_table.h"

enum {
    TREE_HEAD = 32, // color, parent, left, right of a node
    TREE_PARENT = 8,
    TREE_LEFT = 16,
    TREE_RIGHT = 24,
    TREE_DEPTH = 96, // no balanced tree is as deep
    LINK = 8,
    LIST_HEAD = 16, // next, previous
    DEQUE_BYTES = 512,
};

// layout_cxx_read_shared_string reads the string of old objects. It is a pointer to its
// text; size, capacity and the number of owners are before that. Where these were not
// copied, the text is one of C.
void layout_cxx_read_shared_string(struct layout_object *object,
                                   struct layout_view *out)
{
    enum { SIZE = 24, CAPACITY = 16, SHOWN = 256 };
    uint64_t size;
    uint64_t capacity;
    uint64_t first;
    char byte;
    uint64_t width =
        layout_size(object, layout_target(object, object->members[0].type));
    out->form = LAYOUT_TEXT;
    out->width = width == 2 || width == 4 ? (uint8_t)width : 1;
    if (!layout_field(object, 0, &out->address, out) ||
        !layout_number(object, out->address, 1, &first, out)) {
        if (object->held == NULL || !out->missing)
            out->kind = NULL;
        out->no_size = true;
        return;
    }
    if (!layout_word(object, out->address - SIZE, &size, out) ||
        !layout_word(object, out->address - CAPACITY, &capacity, out)) {
        while (out->size < SHOWN && out->width == 1 &&
               memory_read(object->memory, out->address + out->size, &byte, 1) ==
                   CH_OK &&
               byte != 0)
            out->size++;
        out->missing = false;
        return;
    }
    out->size = size;
    if (size > capacity || capacity >= UINT64_C(1) << 40)
        out->kind = NULL;
}

static void cxx_read_bit_vector(struct layout_object *object, struct layout_view *out)
{
    uint64_t first;
    uint64_t last;
    uint64_t bits;
    uint64_t before;
    if (!layout_field(object, 0, &first, out) || !layout_field(object, 1, &last, out) ||
        !layout_field(object, 2, &bits, out) || !layout_field(object, 3, &before, out))
        return;
    out->form = LAYOUT_WORDS;
    if (last < first || bits >= 64 || before >= 64 || (last - first) >> 36 != 0)
        layout_damage(out, "its end is before its begin");
    else
        layout_bits(object, out, first, before, (last - first) * 8 + bits - before);
}

static void cxx_read_list(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t head = object->address + object->members[0].offset;
    uint64_t at = head;
    uint64_t next;
    uint64_t back;
    uint64_t count = 0;
    bool sized = layout_field(object, 1, &out->size, out);
    while (layout_word(object, at, &next, out) && next != head) {
        if (!layout_word(object, next + LINK, &back, out))
            break;
        if (back != at)
            layout_damage(out, "a link does not lead back");
        if (back != at || count++ == LAYOUT_WALK)
            break;
        at = next;
        if (!layout_add(out, type, at + layout_after(object, LIST_HEAD, type)) && sized)
            return;
    }
    if (sized && out->size > count && !out->missing)
        layout_damage(out, "it has fewer elements than its size");
    out->at_least = !sized && (out->missing || count > LAYOUT_WALK);
    if (!sized)
        out->size = count;
}

static void cxx_read_forward_list(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t after = layout_after(object, LINK, type);
    uint64_t at;
    uint64_t slow;
    if (!layout_field(object, 0, &at, out))
        return;
    slow = at;
    // One that follows at half the speed meets the other in a loop.
    for (out->size = 0; at != 0 && out->size < LAYOUT_WALK; out->size++) {
        (void)layout_add(out, type, at + after);
        if (!layout_word(object, at, &at, out))
            break;
        if (out->size % 2 == 1 && !layout_word(object, slow, &slow, out))
            break;
        if (at != 0 && at == slow) {
            layout_damage(out, "its links lead in a circle");
            break;
        }
    }
    out->at_least = at != 0;
}

static void cxx_read_deque(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t each = layout_size(object, type);
    struct {
        uint64_t cur, first, last, node;
    } ends[2];
    for (size_t i = 0; i < 2; i++) {
        uint64_t at = object->address + object->members[i].offset;
        if (!layout_word(object, at, &ends[i].cur, out) ||
            !layout_word(object, at + 8, &ends[i].first, out) ||
            !layout_word(object, at + 16, &ends[i].last, out) ||
            !layout_word(object, at + 24, &ends[i].node, out))
            return;
    }
    if (each == 0)
        return;
    uint64_t block = each < DEQUE_BYTES ? DEQUE_BYTES / each : 1;
    uint64_t blocks = (ends[1].node - ends[0].node) / LINK;
    uint64_t in_first = (ends[0].last - ends[0].cur) / each;
    uint64_t in_last = (ends[1].cur - ends[1].first) / each;
    out->no_size = true;
    if (ends[1].node < ends[0].node || blocks >> 36 != 0 || in_first > block ||
        in_last > block || ends[0].last - ends[0].first != block * each) {
        layout_damage(out, "its ends contradict each other");
        return;
    }
    out->no_size = false;
    out->size = blocks == 0 ? (ends[1].cur - ends[0].cur) / each
                            : (blocks - 1) * block + in_first + in_last;
    uint64_t at = ends[0].cur;
    uint64_t left = blocks == 0 ? out->size : in_first;
    for (uint64_t i = 0; i < out->size; i++, left--, at += each) {
        if (left == 0) {
            ends[0].node += LINK;
            left = block;
            if (!layout_word(object, ends[0].node, &at, out))
                return;
        }
        if (!layout_add(out, type, at))
            return;
    }
}

// A tree is one whose nodes are walked in order.
struct tree {
    struct layout_object *object;
    struct layout_view *out;
    uint64_t header;
    uint64_t left; // nodes that may still be looked at
};

// cxx_tree_link reads a link of a node, and checks that the node there leads back.
// False: there is none, or it cannot be followed.
static bool cxx_tree_link(struct tree *tree, uint64_t node, uint64_t offset,
                          uint64_t *to)
{
    uint64_t back;
    if (tree->out->damage != NULL || tree->left-- == 0 ||
        !layout_word(tree->object, node + offset, to, tree->out) || *to == 0 ||
        !layout_word(tree->object, *to + TREE_PARENT, &back, tree->out))
        return false;
    if (back != node)
        layout_damage(tree->out, "a link does not lead back");
    return back == node;
}

// cxx_tree_next gives the node after a node, or the header. False: a link cannot be
// followed.
static bool cxx_tree_next(struct tree *tree, uint64_t *node)
{
    uint64_t at = *node;
    uint64_t to;
    struct layout_view *out = tree->out;
    if (cxx_tree_link(tree, at, TREE_RIGHT, &to)) {
        for (at = to; cxx_tree_link(tree, at, TREE_LEFT, &to); at = to)
            continue;
        *node = at;
        return out->damage == NULL && !out->missing;
    }
    if (out->missing)
        return false; // there may be nodes to the right
    for (int i = 0; i < TREE_DEPTH && out->damage == NULL; i++) {
        uint64_t parent;
        uint64_t right;
        if (!layout_word(tree->object, at + TREE_PARENT, &parent, out))
            return false;
        if (parent == tree->header) {
            *node = parent;
            return true;
        }
        if (!layout_word(tree->object, parent + TREE_RIGHT, &right, out))
            return false;
        if (right != at) {
            *node = parent;
            return true;
        }
        at = parent;
    }
    layout_damage(out, "its tree is too deep");
    return false;
}

static void cxx_read_tree(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->members[1].type, 1);
    struct tree tree = { .object = object,
                         .out = out,
                         .header = object->address + object->members[0].offset,
                         .left = TREE_DEPTH * (LAYOUT_ITEMS + 2) };
    uint64_t node;
    uint64_t color;
    if (!layout_field(object, 2, &out->size, out) || out->size == 0)
        return;
    if (!cxx_tree_link(&tree, tree.header, TREE_PARENT, &node)) {
        layout_damage(out, out->missing ? NULL : "its root does not lead back");
        return;
    }
    for (uint64_t to; cxx_tree_link(&tree, node, TREE_LEFT, &to); node = to)
        continue;
    if (out->missing && out->item_count == 0)
        return; // the first is not known
    for (uint64_t i = 0; out->damage == NULL && i < out->size && i < LAYOUT_ITEMS;
         i++) {
        if (node == tree.header) {
            layout_damage(out, "it has fewer elements than its size");
            return;
        }
        if (!layout_number(object, node, 4, &color, out))
            return;
        if (color > 1) {
            layout_damage(out, "a node has no color");
            return;
        }
        (void)layout_add_pair(object, out, type,
                              node + layout_after(object, TREE_HEAD, type));
        if (i + 1 < out->size && !cxx_tree_next(&tree, &node))
            return;
    }
}

static void cxx_read_hash(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->members[3].type, 1);
    uint64_t after = layout_after(object, LINK, type);
    uint64_t node;
    uint64_t buckets;
    if (!layout_field(object, 0, &node, out) ||
        !layout_field(object, 1, &out->size, out) ||
        !layout_field(object, 2, &buckets, out))
        return;
    if (buckets == 0 || buckets >> 40 != 0 || out->size >> 40 != 0) {
        layout_damage(out, "its size is impossible");
        return;
    }
    uint64_t count = 0;
    for (; node != 0 && count < out->size && count < LAYOUT_ITEMS; count++) {
        uint64_t next;
        if (!layout_word(object, node, &next, out))
            return;
        if (next == node) {
            layout_damage(out, "its links lead in a circle");
            return;
        }
        (void)layout_add_pair(object, out, type, node + after);
        node = next;
    }
    if (node == 0 && count < out->size)
        layout_damage(out, "it has fewer elements than its size");
    if (node != 0 && count == out->size)
        layout_damage(out, "it has more elements than its size");
}

static void cxx_read_variant(struct layout_object *object, struct layout_view *out)
{
    uint64_t index;
    uint64_t size = layout_size(object, object->members[0].type);
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &index, out))
        return;
    if (index == (size < LINK ? (UINT64_C(1) << size * 8) - 1 : UINT64_MAX))
        return; // an exception left it without a value
    layout_choose(object, index, out);
}

// cxx_read_unique reads a unique_ptr, which has a tuple of its pointer and what deletes
// it.
static void cxx_read_unique(struct layout_object *object, struct layout_view *out)
{
    struct layout_view tuple = { .kind = "tuple" };
    struct layout_object inner = *object;
    inner.type = type_strip(object->table, object->members[0].type);
    inner.address += object->members[0].offset;
    layout_read_tuple(&inner, &tuple);
    out->form = LAYOUT_POINTER;
    if (tuple.item_count == 0 ||
        layout_target(object, tuple.items[0].value.type) == TYPE_UNKNOWN_INDEX ||
        !layout_word(object, tuple.items[0].value.address, &out->address, out)) {
        out->kind = NULL;
        return;
    }
    uint32_t type = layout_target(object, tuple.items[0].value.type);
    if (out->address != 0 && layout_size(object, type) != 0)
        (void)layout_add(out, type, out->address);
}

static void cxx_read_shared(struct layout_object *object, struct layout_view *out)
{
    enum { OWNERS = 8 };
    uint64_t block;
    uint64_t owners;
    layout_read_pointer(object, out);
    if (out->kind == NULL || !layout_field(object, 1, &block, out) || block == 0 ||
        !layout_number(object, block + OWNERS, 4, &owners, out))
        return;
    out->owners = (int64_t)owners;
    if (owners == 0 && strcmp(object->row->kind, "weak_ptr") == 0)
        out->item_count = 0; // it has expired
    else if (owners == 0 || owners > INT32_MAX)
        layout_damage(out, "it has no owner");
}

// cxx_is_tree_end returns true if a node is a tree's own: it is red and its parent is
// the root, whose parent it is, or that of an empty tree, which has itself on its left.
// No element's are so, nor is memory of zeros.
static bool cxx_is_tree_end(const struct layout_object *object, uint64_t node)
{
    struct layout_view unused = { 0 };
    uint64_t color;
    uint64_t root;
    uint64_t back;
    return layout_number(object, node, 4, &color, &unused) && color == 0 &&
           layout_word(object, node + TREE_PARENT, &root, &unused) &&
           layout_word(object, root != 0 ? root + TREE_PARENT : node + TREE_LEFT, &back,
                       &unused) &&
           back == node;
}

void layout_cxx_leave_out_list_end(const struct layout_object *object,
                                   struct layout_view *out)
{
    struct layout_view unused = { 0 };
    uint64_t at = out->address;
    uint64_t size;
    uint64_t count = 0;
    if (!layout_word(object, at + LIST_HEAD, &size, &unused))
        return;
    while (count <= size && count < LAYOUT_WALK &&
           layout_word(object, at, &at, &unused) && at != out->address)
        count++;
    if (at == out->address && count == size)
        out->item_count = 0;
}

// cxx_read_node_iterator reads an iterator that points to a node, at which the element
// is.
static void cxx_read_node_iterator(struct layout_object *object,
                                   struct layout_view *out)
{
    bool list = strncmp(object->row->name, "_List_", strlen("_List_")) == 0;
    bool tree = strncmp(object->row->name, "_Rb_", strlen("_Rb_")) == 0;
    uint64_t head = tree ? TREE_HEAD : list ? LIST_HEAD : LINK;
    uint32_t type = layout_argument(object, object->type, 0);
    if (object->table->types[type_strip(object->table, type)].reference != 0)
        type = layout_target(object, type);
    out->form = LAYOUT_POINTER;
    if (!layout_field(object, 0, &out->address, out))
        out->kind = NULL;
    else if (tree && cxx_is_tree_end(object, out->address))
        layout_past_end(out);
    else if (out->address != 0)
        (void)layout_add(out, type, out->address + layout_after(object, head, type));
    if (list)
        layout_cxx_leave_out_list_end(object, out);
}

void layout_cxx_read_mutex(struct layout_object *object, struct layout_view *out)
{
    uint64_t lock;
    uint64_t owner;
    out->form = LAYOUT_WORDS;
    if (!layout_field(object, 0, &lock, out) || !layout_field(object, 1, &owner, out))
        return;
    if (lock == 0)
        (void)snprintf(out->word, sizeof(out->word), "unlocked");
    else
        (void)snprintf(out->word, sizeof(out->word), "locked by thread %" PRIu64,
                       owner);
}

void layout_cxx_read_thread(struct layout_object *object, struct layout_view *out)
{
    uint64_t id;
    out->form = LAYOUT_WORDS;
    if (layout_field(object, 0, &id, out))
        (void)snprintf(out->word, sizeof(out->word), id == 0 ? "none" : "0x%" PRIx64,
                       id);
}

// cxx_read_span reads a span. One of a fixed size has it as an argument.
static void cxx_read_span(struct layout_object *object, struct layout_view *out)
{
    uint64_t begin;
    uint64_t size = (uint64_t)layout_argument_value(object, object->type, 1);
    if (!layout_field(object, 0, &begin, out) ||
        (object->members[1].type != TYPE_UNKNOWN_INDEX &&
         layout_size(object, object->members[1].type) == LINK &&
         !layout_field(object, 1, &size, out)))
        return;
    layout_elements(object, out, layout_target(object, object->members[0].type), begin,
                    size);
}

// cxx_class_of finds the class of the function at an address.
static bool cxx_class_of(const struct layout_object *object, uint64_t address,
                         struct type_runtime_class *out)
{
    Dwarf_Die function;
    return object->image != NULL && object->dwarf != NULL &&
           object->image->find_function(object->image->context, address, &function) &&
           type_runtime_class_of(object->dwarf, &function, out);
}

// cxx_name_held names what an object holds: its type, the function that a pointer leads
// to, or the line of a lambda.
static void cxx_name_held(const struct layout_object *object, struct layout_view *out,
                          uint32_t type, uint64_t at)
{
    const struct type_table *table = object->table;
    uint32_t target = layout_target(object, type);
    const char *name = table->types[type].name;
    uint64_t address;
    Dwarf_Die function;
    int line = type_runtime_line(object->dwarf, type_strip(table, type));
    if (table->types[target].kind == TYPE_FUNCTION &&
        memory_read_word(object->memory, at, &address) == CH_OK &&
        object->image->find_function(object->image->context, address, &function))
        name = dwarf_diename(&function);
    if (name != NULL && name[0] != 0) {
        out->choice = name;
    } else if (table->types[type].kind == TYPE_STRUCT && line != 0) {
        (void)snprintf(out->word, sizeof(out->word), "lambda of line %d", line);
        out->choice = out->word;
    }
}

// cxx_hold adds what an object holds in itself, or else where a pointer in it leads.
static void cxx_hold(struct layout_object *object, struct layout_view *out,
                     uint32_t type, bool inside)
{
    uint64_t at = object->address + object->members[1].offset;
    if (!inside && !layout_word(object, at, &at, out))
        return;
    cxx_name_held(object, out, type, at);
    (void)layout_add(out, type, at);
}

// layout_cxx_read_any reads an any. The function that manages its value is one of a
// class that was made for the value's type.
void layout_cxx_read_any(struct layout_object *object, struct layout_view *out)
{
    uint64_t manager;
    struct type_runtime_class class;
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &manager, out) || manager == 0)
        return;
    bool known = cxx_class_of(object, manager, &class);
    bool inside = known && (strncmp(class.name, "_Manager_internal<", 18) == 0 ||
                            strncmp(class.name, "_SmallHandler<", 14) == 0);
    bool outside = known && (strncmp(class.name, "_Manager_external<", 18) == 0 ||
                             strncmp(class.name, "_LargeHandler<", 14) == 0);
    uint32_t type = inside || outside ? type_runtime_argument(object->dwarf, &class, 0)
                                      : TYPE_UNKNOWN_INDEX;
    if (type == TYPE_UNKNOWN_INDEX)
        out->kind = NULL;
    else
        cxx_hold(object, out, type, inside);
}

// cxx_read_function reads a function object. The class of the function that manages its
// target has the target's type, and where that is.
static void cxx_read_function(struct layout_object *object, struct layout_view *out)
{
    uint64_t manager;
    uint64_t inside;
    struct type_runtime_class class;
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &manager, out) || manager == 0)
        return;
    uint32_t type = TYPE_UNKNOWN_INDEX;
    if (cxx_class_of(object, manager, &class) &&
        type_runtime_constant(&class, "__stored_locally", &inside))
        type = type_runtime_argument(
            object->dwarf, &class,
            strncmp(class.name, "_Function_handler<", 18) == 0 ? 1 : 0);
    if (type == TYPE_UNKNOWN_INDEX)
        out->kind = NULL;
    else
        cxx_hold(object, out, type, inside != 0);
}

// layout_libcxx_read_function reads a function object of libc++: a pointer to an object
// that begins with its table of virtual functions, those of a class for the target.
void layout_libcxx_read_function(struct layout_object *object, struct layout_view *out)
{
    enum { FUNCTION_CALL = 48 }; // of the table; what precedes it may be shared code
    uint64_t target;
    uint64_t functions;
    uint64_t call;
    struct type_runtime_class class;
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &target, out) || target == 0 ||
        !layout_word(object, target, &functions, out) ||
        !layout_word(object, functions + FUNCTION_CALL, &call, out))
        return;
    uint32_t type = cxx_class_of(object, call, &class) &&
                            strncmp(class.name, "__func<", strlen("__func<")) == 0
                        ? type_runtime_argument(object->dwarf, &class, 0)
                        : TYPE_UNKNOWN_INDEX;
    if (type == TYPE_UNKNOWN_INDEX) {
        out->kind = NULL;
        return;
    }
    uint64_t at = target + layout_after(object, LINK, type);
    cxx_name_held(object, out, type, at);
    (void)layout_add(out, type, at);
}

// cxx_read_future reads a future or a promise: they lead to a state, which has a result
// once it is ready.
static void cxx_read_future(struct layout_object *object, struct layout_view *out)
{
    enum { READY = 1, RESULT_HEAD = 16, RESULT_ERROR = 8 };
    uint64_t state;
    uint64_t status;
    uint64_t result;
    uint64_t error;
    struct layout_member at[2];
    uint32_t type = layout_argument(object, object->type, 0);
    uint32_t of = layout_target(object, object->members[0].type);
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &state, out) || state == 0)
        return;
    if (!layout_member_of(object, of, "_M_status._M_data", &at[0]) ||
        !layout_member_of(object, of, "_M_result", &at[1])) {
        out->kind = NULL;
        return;
    }
    if (!layout_number(object, state + at[0].offset, 4, &status, out) ||
        !layout_word(object, state + at[1].offset, &result, out))
        return;
    out->choice = "not ready";
    if ((status & READY) == 0)
        return;
    out->choice = "ready";
    if (result == 0 || !layout_word(object, result + RESULT_ERROR, &error, out))
        return;
    if (error != 0)
        out->choice = "an exception";
    else if (layout_size(object, type) != 0)
        (void)layout_add(out, type, result + layout_after(object, RESULT_HEAD, type));
}

// cxx_read_checked reads an iterator of the debug mode, which begins with the iterator
// that it checks.
static void cxx_read_checked(struct layout_object *object, struct layout_view *out)
{
    out->form = LAYOUT_INSIDE;
    (void)layout_add(out, layout_argument(object, object->type, 0), object->address);
}

const struct layout_row layout_cxx[] = {
    { "basic_string<",
      "string",
      layout_read_text,
      { "_M_dataplus._M_p", "_M_string_length" } },
    { "basic_string<",
      "string",
      layout_cxx_read_shared_string,
      { "_M_dataplus._M_p" } },
    { "basic_string_view<", "string_view", layout_read_text, { "_M_str", "_M_len" } },
    { "vector<bool,",
      "vector",
      cxx_read_bit_vector,
      { "_M_impl._M_start._M_p", "_M_impl._M_finish._M_p",
        "_M_impl._M_finish._M_offset", "_M_impl._M_start._M_offset" } },
    { "vector<",
      "vector",
      layout_read_range,
      { "_M_impl._M_start", "_M_impl._M_finish", "_M_impl._M_end_of_storage" } },
    { "array<", "array", layout_read_inside, { "_M_elems" } },
    { "span<", "span", cxx_read_span, { "_M_ptr", "?_M_extent._M_extent_value" } },
    { "initializer_list<",
      "initializer_list",
      layout_read_counted,
      { "_M_array", "_M_len" } },
    { "valarray<", "valarray", layout_read_counted, { "_M_data", "_M_size" } },
    { "tuple<", "tuple", layout_read_tuple, { "_M_head_impl" } },
    { "list<",
      "list",
      cxx_read_list,
      { "_M_impl._M_node", "?_M_impl._M_node._M_size" } },
    { "forward_list<",
      "forward_list",
      cxx_read_forward_list,
      { "_M_impl._M_head._M_next" } },
    { "deque<", "deque", cxx_read_deque, { "_M_impl._M_start", "_M_impl._M_finish" } },
#define TREE                                                                           \
    {                                                                                  \
        "_M_t._M_impl._M_header", "_M_t", "_M_t._M_impl._M_node_count"                 \
    }
    { "map<", "map", cxx_read_tree, TREE },
    { "multimap<", "multimap", cxx_read_tree, TREE },
    { "set<", "set", cxx_read_tree, TREE },
    { "multiset<", "multiset", cxx_read_tree, TREE },
#define HASH                                                                           \
    {                                                                                  \
        "_M_h._M_before_begin._M_nxt", "_M_h._M_element_count",                        \
            "_M_h._M_bucket_count", "_M_h"                                             \
    }
    { "unordered_map<", "unordered_map", cxx_read_hash, HASH },
    { "unordered_multimap<", "unordered_multimap", cxx_read_hash, HASH },
    { "unordered_set<", "unordered_set", cxx_read_hash, HASH },
    { "unordered_multiset<", "unordered_multiset", cxx_read_hash, HASH },
    { "queue<", "queue", layout_read_inside, { "c" } },
    { "stack<", "stack", layout_read_inside, { "c" } },
    { "priority_queue<", "priority_queue", layout_read_inside, { "c" } },
    { "optional<",
      "optional",
      layout_read_optional,
      { "_M_payload._M_payload._M_value", "_M_payload._M_engaged" } },
    { "variant<", "variant", cxx_read_variant, { "_M_index", "_M_u" } },
    { "any", "any", layout_cxx_read_any, { "_M_manager", "_M_storage" } },
    { "function<", "function", cxx_read_function, { "_M_manager", "_M_functor" } },
    { "future<", "future", cxx_read_future, { "_M_state._M_ptr" } },
    { "shared_future<", "shared_future", cxx_read_future, { "_M_state._M_ptr" } },
    { "promise<", "promise", cxx_read_future, { "_M_future._M_ptr" } },
    { "unique_ptr<", "unique_ptr", cxx_read_unique, { "_M_t._M_t" } },
    { "shared_ptr<", "shared_ptr", cxx_read_shared, { "_M_ptr", "_M_refcount._M_pi" } },
    { "weak_ptr<", "weak_ptr", cxx_read_shared, { "_M_ptr", "_M_refcount._M_pi" } },
    { "reference_wrapper<", "reference_wrapper", layout_read_pointer, { "_M_data" } },
    { "__normal_iterator<", "iterator", layout_read_pointer, { "_M_current" } },
    { "_Safe_iterator<", "iterator", layout_read_pointer, { "_M_current" } },
    { "_Safe_iterator<", "iterator", cxx_read_checked, { "_M_node" } },
    { "_Safe_iterator<", "iterator", cxx_read_checked, { "_M_cur" } },
    { "_Deque_iterator<", "iterator", layout_read_pointer, { "_M_cur" } },
    { "_Rb_tree_iterator<", "iterator", cxx_read_node_iterator, { "_M_node" } },
    { "_Rb_tree_const_iterator<", "iterator", cxx_read_node_iterator, { "_M_node" } },
    { "_List_iterator<", "iterator", cxx_read_node_iterator, { "_M_node" } },
    { "_List_const_iterator<", "iterator", cxx_read_node_iterator, { "_M_node" } },
    { "_Fwd_list_iterator<", "iterator", cxx_read_node_iterator, { "_M_node" } },
    { "_Node_iterator<", "iterator", cxx_read_node_iterator, { "_M_cur" } },
    { "_Node_const_iterator<", "iterator", cxx_read_node_iterator, { "_M_cur" } },
    { "duration<", "duration", layout_read_duration, { "__r" } },
    { "time_point<", "time_point", layout_read_inside, { "__d" } },
    { "path", "path", layout_read_inside, { "_M_pathname", "_M_cmpts" } },
    { "bitset<", "bitset", layout_read_bit_set, { "_M_w" } },
    { "atomic<", "atomic", layout_read_inside, { "_M_i" } },
    { "atomic<", "atomic", layout_read_inside, { "_M_b._M_p" } },
    { "atomic<", "atomic", layout_read_inside, { "_M_base._M_i" } },
    { "__atomic_base<", "atomic", layout_read_inside, { "_M_i" } },
    { "complex<", "complex", layout_read_inside, { "_M_value" } },
    { "exception_ptr",
      "exception_ptr",
      layout_read_pointer,
      { "_M_exception_object" } },
#define MUTEX                                                                          \
    {                                                                                  \
        "_M_mutex.__data.__lock", "_M_mutex.__data.__owner"                            \
    }
    { "mutex", "mutex", layout_cxx_read_mutex, MUTEX },
    { "recursive_mutex", "mutex", layout_cxx_read_mutex, MUTEX },
    { "timed_mutex", "mutex", layout_cxx_read_mutex, MUTEX },
    { "recursive_timed_mutex", "mutex", layout_cxx_read_mutex, MUTEX },
    { "thread", "thread", layout_cxx_read_thread, { "_M_id._M_thread" } },
    { 0 },
};
