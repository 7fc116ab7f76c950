// SPDX-License-Identifier: Apache-2.0
//
// The types of LLVM's libc++, as of clang 14 to 20. Members that were one of a
// compressed pair are members of the container itself in later versions.
#include <stdio.h>
#include <string.h>

#include "symbolizer/values/layout_table.h"

enum {
    LINK = 8,
    LIST_HEAD = 16, // previous, next
    NODE_HEAD = 16, // next, hash
    TREE_HEAD = 25, // left, right, parent, is black
    TREE_RIGHT = 8,
    TREE_PARENT = 16,
    TREE_BLACK = 24,
    TREE_DEPTH = 96,
    DEQUE_BYTES = 4096,
    DEQUE_FEWEST = 16,
};

// layout_libcxx_read_string reads a string. A short one is in the object: its first
// byte has the size, and its lowest bit is 0.
void layout_libcxx_read_string(struct layout_object *object, struct layout_view *out)
{
    enum { SIZE = 8, ADDRESS = 16, BYTES = 24, WIDEST = 4 };
    uint64_t first;
    uint8_t last;
    uint64_t width = layout_size(object, layout_argument(object, object->type, 0));
    out->form = LAYOUT_TEXT;
    out->width = width <= WIDEST ? (uint8_t)width : 0;
    bool whole = out->width != 0 && object->table->types[object->type].size == BYTES &&
                 layout_number(object, object->address, 1, &first, out);
    if (whole && first & 1) {
        whole = layout_word(object, object->address + SIZE, &out->size, out) &&
                layout_word(object, object->address + ADDRESS, &out->address, out) &&
                out->size >> 40 == 0;
    } else if (whole) {
        out->address = object->address + width;
        out->size = first >> 1;
        whole = out->size < (BYTES - 1) / width;
    }
    if (!whole || (out->size != 0 && memory_read(object->memory, out->address, &last,
                                                 sizeof(last)) != CH_OK))
        out->kind = NULL;
}

static void libcxx_read_list(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t head = object->address + object->members[0].offset;
    uint64_t at = head;
    uint64_t count = 0;
    if (!layout_field(object, 1, &out->size, out))
        return;
    for (; count < out->size && count < LAYOUT_ITEMS; count++) {
        uint64_t next;
        uint64_t back;
        if (!layout_word(object, at + LINK, &next, out) ||
            !layout_word(object, next, &back, out))
            return;
        if (back != at || next == head) {
            layout_damage(out, next == head ? "it has fewer elements than its size"
                                            : "a link does not lead back");
            return;
        }
        at = next;
        (void)layout_add(out, type, at + layout_after(object, LIST_HEAD, type));
    }
}

static void libcxx_read_forward_list(struct layout_object *object,
                                     struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t at;
    if (!layout_field(object, 0, &at, out))
        return;
    for (; at != 0 && out->size < LAYOUT_WALK; out->size++) {
        (void)layout_add(out, type, at + layout_after(object, LINK, type));
        if (!layout_word(object, at, &at, out))
            break;
    }
    if (out->size == LAYOUT_WALK)
        layout_damage(out, "its links do not end");
    out->at_least = at != 0;
}

static void libcxx_read_deque(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->type, 0);
    uint64_t each = layout_size(object, type);
    uint64_t map;
    uint64_t start;
    if (each == 0 || !layout_field(object, 0, &map, out) ||
        !layout_field(object, 1, &start, out) ||
        !layout_field(object, 2, &out->size, out))
        return;
    uint64_t block =
        each < DEQUE_BYTES / DEQUE_FEWEST ? DEQUE_BYTES / each : DEQUE_FEWEST;
    if (out->size >> 40 != 0 || start >> 40 != 0) {
        layout_damage(out, "its size is impossible");
        return;
    }
    for (uint64_t i = start; i < start + out->size; i++) {
        uint64_t at;
        if (!layout_word(object, map + i / block * LINK, &at, out) ||
            !layout_add(out, type, at + i % block * each))
            return;
    }
}

// libcxx_tree_step gives the node after a node. False: a link cannot be followed.
static bool libcxx_tree_step(struct layout_object *object, struct layout_view *out,
                             uint64_t *node)
{
    uint64_t at = *node;
    uint64_t to;
    int left = TREE_DEPTH;
    if (!layout_word(object, at + TREE_RIGHT, &to, out))
        return false;
    bool down = to != 0;
    while (to != 0 && left-- > 0) {
        uint64_t back;
        if (!layout_word(object, to + TREE_PARENT, &back, out))
            return false;
        if (back != at) {
            layout_damage(out, "a link does not lead back");
            return false;
        }
        at = to;
        if (!layout_word(object, at, &to, out))
            return false;
    }
    for (bool up = !down; up && left-- > 0;) {
        uint64_t parent;
        uint64_t first;
        if (!layout_word(object, at + TREE_PARENT, &parent, out) ||
            !layout_word(object, parent, &first, out))
            return false;
        up = first != at;
        at = parent;
    }
    if (left <= 0)
        layout_damage(out, "its tree is too deep");
    *node = at;
    return left > 0;
}

static void libcxx_read_tree(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->members[0].type, 0);
    uint64_t node;
    uint64_t end = object->address + object->members[3].offset;
    uint64_t black;
    if (!layout_field(object, 2, &out->size, out) || out->size == 0 ||
        !layout_field(object, 1, &node, out))
        return;
    for (uint64_t i = 0; i < out->size && i < LAYOUT_ITEMS; i++) {
        if (node == end) {
            layout_damage(out, "it has fewer elements than its size");
            return;
        }
        if (!layout_number(object, node + TREE_BLACK, 1, &black, out))
            return;
        if (black > 1) {
            layout_damage(out, "a node has no color");
            return;
        }
        (void)layout_add_pair(object, out, type,
                              node + layout_after(object, TREE_HEAD, type));
        if (i + 1 < out->size && !libcxx_tree_step(object, out, &node))
            return;
    }
}

static void libcxx_read_hash(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_argument(object, object->members[0].type, 0);
    uint64_t node;
    if (!layout_field(object, 1, &node, out) ||
        !layout_field(object, 2, &out->size, out))
        return;
    uint64_t count = 0;
    for (; node != 0 && count < out->size && count < LAYOUT_ITEMS; count++) {
        uint64_t next;
        if (!layout_word(object, node, &next, out))
            return;
        if (next == node) {
            layout_damage(out, "its links lead in a circle");
            return;
        }
        (void)layout_add_pair(object, out, type,
                              node + layout_after(object, NODE_HEAD, type));
        node = next;
    }
    if ((node == 0) != (count == out->size) && count < LAYOUT_ITEMS)
        layout_damage(out, "its size is not the number of its elements");
}

static void libcxx_read_variant(struct layout_object *object, struct layout_view *out)
{
    uint64_t index;
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &index, out) || index == UINT32_MAX)
        return;
    layout_choose(object, index, out);
}

static void libcxx_read_shared(struct layout_object *object, struct layout_view *out)
{
    enum { OWNERS = 8 };
    uint64_t block;
    uint64_t others;
    layout_read_pointer(object, out);
    if (out->kind == NULL || !layout_field(object, 1, &block, out) || block == 0 ||
        !layout_word(object, block + OWNERS, &others, out))
        return;
    out->owners = (int64_t)others + 1; // the first is not counted
    if (out->owners == 0 && strcmp(object->row->kind, "weak_ptr") == 0)
        out->item_count = 0;
    else if (out->owners <= 0 || out->owners > INT32_MAX)
        layout_damage(out, "it has no owner");
}

static void libcxx_read_tuple(struct layout_object *object, struct layout_view *out)
{
    struct layout_object inner = *object;
    inner.type = type_strip(object->table, object->members[0].type);
    inner.address += object->members[0].offset;
    layout_read_tuple(&inner, out);
}

static void libcxx_read_bit_vector(struct layout_object *object,
                                   struct layout_view *out)
{
    uint64_t begin;
    uint64_t size;
    out->form = LAYOUT_WORDS;
    if (!layout_field(object, 0, &begin, out) || !layout_field(object, 1, &size, out))
        return;
    if (size >> 40 != 0)
        layout_damage(out, "its size is impossible");
    else
        layout_bits(object, out, begin, 0, size);
}

static void libcxx_read_complex(struct layout_object *object, struct layout_view *out)
{
    for (size_t i = 0; i < 2; i++)
        (void)layout_add(out, object->members[i].type,
                         object->address + object->members[i].offset);
    out->size = 2;
    out->kind = "complex";
}

// libcxx_read_future reads a future or a promise: they lead to a state, which has the
// value once it is ready.
static void libcxx_read_future(struct layout_object *object, struct layout_view *out)
{
    enum { READY = 4 };
    struct layout_member flags;
    struct layout_member failure;
    struct layout_member value;
    uint64_t at;
    uint64_t status;
    uint64_t error;
    uint32_t type = layout_argument(object, object->type, 0);
    uint32_t state = layout_target(object, object->members[0].type);
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 0, &at, out) || at == 0)
        return;
    if (!layout_member_of(object, state, "__state_", &flags) ||
        !layout_member_of(object, state, "__exception_", &failure)) {
        out->kind = NULL;
        return;
    }
    if (!layout_number(object, at + flags.offset, 4, &status, out) ||
        !layout_word(object, at + failure.offset, &error, out))
        return;
    out->choice = (status & READY) == 0 ? "not ready"
                  : error != 0          ? "an exception"
                                        : "ready";
    if ((status & READY) != 0 && error == 0 && layout_size(object, type) != 0 &&
        layout_member_of(object, state, "__value_", &value))
        (void)layout_add(out, type, at + value.offset);
}

// libcxx_read_node_iterator reads an iterator that points to a node, at which an
// element of the type is.
static void libcxx_read_node_iterator(struct layout_object *object,
                                      struct layout_view *out, uint32_t type,
                                      uint64_t head)
{
    struct layout_member pair;
    out->form = LAYOUT_POINTER;
    if (!layout_field(object, 0, &out->address, out)) {
        out->kind = NULL;
        return;
    }
    uint64_t at = out->address + layout_after(object, head, type);
    if (layout_member_of(object, type, "__cc_", &pair) ||
        layout_member_of(object, type, "__cc", &pair))
        type = pair.type; // of a map
    if (out->address != 0)
        (void)layout_add(out, type, at);
}

static void libcxx_read_list_iterator(struct layout_object *object,
                                      struct layout_view *out)
{
    libcxx_read_node_iterator(object, out, layout_argument(object, object->type, 0),
                              LIST_HEAD);
    layout_cxx_leave_out_list_end(object, out);
}

static void libcxx_read_tree_iterator(struct layout_object *object,
                                      struct layout_view *out)
{
    libcxx_read_node_iterator(object, out, layout_argument(object, object->type, 0),
                              TREE_HEAD);
}

// libcxx_node_argument is the type of an element where the iterator is one to nodes,
// which have it as an argument: that of a hash table or a forward list.
static uint32_t libcxx_node_argument(const struct layout_object *object)
{
    uint32_t node = layout_target(object, layout_argument(object, object->type, 0));
    if (object->dwarf != NULL)
        type_dwarf_complete(object->dwarf, type_strip(object->table, node));
    return layout_argument(object, node, 0);
}

static void libcxx_read_hash_iterator(struct layout_object *object,
                                      struct layout_view *out)
{
    libcxx_read_node_iterator(object, out, libcxx_node_argument(object), NODE_HEAD);
}

static void libcxx_read_chain_iterator(struct layout_object *object,
                                       struct layout_view *out)
{
    libcxx_read_node_iterator(object, out, libcxx_node_argument(object), LINK);
}

const struct layout_row layout_libcxx[] = {
    { "basic_string<", "string", layout_libcxx_read_string, { "__r_" } },
    { "basic_string<", "string", layout_libcxx_read_string, { "__rep_" } },
    { "basic_string_view<", "string_view", layout_read_text, { "__data_", "__size_" } },
    { "basic_string_view<", "string_view", layout_read_text, { "__data", "__size" } },
    { "vector<bool,", "vector", libcxx_read_bit_vector, { "__begin_", "__size_" } },
    { "vector<",
      "vector",
      layout_read_range,
      { "__begin_", "__end_", "?__end_cap_.__value_" } },
    { "array<", "array", layout_read_inside, { "__elems_" } },
    { "span<", "span", layout_read_counted, { "__data_", "__size_" } },
    { "span<", "span", layout_read_counted, { "__data", "__size" } },
    { "tuple<", "tuple", libcxx_read_tuple, { "__base_" } },
    { "list<", "list", libcxx_read_list, { "__end_", "__size_alloc_.__value_" } },
    { "list<", "list", libcxx_read_list, { "__end_", "__size_" } },
    { "forward_list<",
      "forward_list",
      libcxx_read_forward_list,
      { "__before_begin_.__value_.__next_" } },
    { "forward_list<",
      "forward_list",
      libcxx_read_forward_list,
      { "__before_begin_.__next_" } },
    { "deque<",
      "deque",
      libcxx_read_deque,
      { "__map_.__begin_", "__start_", "__size_.__value_" } },
    { "deque<",
      "deque",
      libcxx_read_deque,
      { "__map_.__begin_", "__start_", "__size_" } },
#define OLD_TREE                                                                       \
    {                                                                                  \
        "__tree_", "__tree_.__begin_node_", "__tree_.__pair3_.__value_",               \
            "__tree_.__pair1_.__value_"                                                \
    }
#define TREE                                                                           \
    {                                                                                  \
        "__tree_", "__tree_.__begin_node_", "__tree_.__size_", "__tree_.__end_node_"   \
    }
    { "map<", "map", libcxx_read_tree, OLD_TREE },
    { "map<", "map", libcxx_read_tree, TREE },
    { "multimap<", "multimap", libcxx_read_tree, OLD_TREE },
    { "multimap<", "multimap", libcxx_read_tree, TREE },
    { "set<", "set", libcxx_read_tree, OLD_TREE },
    { "set<", "set", libcxx_read_tree, TREE },
    { "multiset<", "multiset", libcxx_read_tree, OLD_TREE },
    { "multiset<", "multiset", libcxx_read_tree, TREE },
#define OLD_HASH                                                                       \
    {                                                                                  \
        "__table_", "__table_.__p1_.__value_.__next_", "__table_.__p2_.__value_"       \
    }
#define HASH                                                                           \
    {                                                                                  \
        "__table_", "__table_.__first_node_.__next_", "__table_.__size_"               \
    }
    { "unordered_map<", "unordered_map", libcxx_read_hash, OLD_HASH },
    { "unordered_map<", "unordered_map", libcxx_read_hash, HASH },
    { "unordered_multimap<", "unordered_multimap", libcxx_read_hash, OLD_HASH },
    { "unordered_multimap<", "unordered_multimap", libcxx_read_hash, HASH },
    { "unordered_set<", "unordered_set", libcxx_read_hash, OLD_HASH },
    { "unordered_set<", "unordered_set", libcxx_read_hash, HASH },
    { "unordered_multiset<", "unordered_multiset", libcxx_read_hash, OLD_HASH },
    { "unordered_multiset<", "unordered_multiset", libcxx_read_hash, HASH },
    { "optional<", "optional", layout_read_optional, { "__val_", "__engaged_" } },
    { "variant<",
      "variant",
      libcxx_read_variant,
      { "__impl.__index", "__impl.__data" } },
    { "variant<",
      "variant",
      libcxx_read_variant,
      { "__impl_.__index", "__impl_.__data" } },
    { "any", "any", layout_cxx_read_any, { "__h_", "__s_" } },
    { "any", "any", layout_cxx_read_any, { "__h", "__s" } },
    { "unique_ptr<", "unique_ptr", layout_read_pointer, { "__ptr_.__value_" } },
    { "unique_ptr<", "unique_ptr", layout_read_pointer, { "__ptr_" } },
    { "shared_ptr<", "shared_ptr", libcxx_read_shared, { "__ptr_", "__cntrl_" } },
    { "weak_ptr<", "weak_ptr", libcxx_read_shared, { "__ptr_", "__cntrl_" } },
    { "reference_wrapper<", "reference_wrapper", layout_read_pointer, { "__f_" } },
    { "__wrap_iter<", "iterator", layout_read_pointer, { "__i" } },
    { "__wrap_iter<", "iterator", layout_read_pointer, { "__i_" } },
    { "__deque_iterator<", "iterator", layout_read_pointer, { "__ptr_", "__m_iter_" } },
    { "__list_iterator<", "iterator", libcxx_read_list_iterator, { "__ptr_" } },
    { "__list_const_iterator<", "iterator", libcxx_read_list_iterator, { "__ptr_" } },
    { "__tree_iterator<", "iterator", libcxx_read_tree_iterator, { "__ptr_" } },
    { "__tree_const_iterator<", "iterator", libcxx_read_tree_iterator, { "__ptr_" } },
    { "__map_iterator<", "iterator", layout_read_inside, { "__i_" } },
    { "__map_const_iterator<", "iterator", layout_read_inside, { "__i_" } },
    { "__hash_iterator<", "iterator", libcxx_read_hash_iterator, { "__node_" } },
    { "__hash_const_iterator<", "iterator", libcxx_read_hash_iterator, { "__node_" } },
    { "__hash_map_iterator<", "iterator", layout_read_inside, { "__i_" } },
    { "__hash_map_const_iterator<", "iterator", layout_read_inside, { "__i_" } },
    { "__forward_list_iterator<",
      "iterator",
      libcxx_read_chain_iterator,
      { "__ptr_" } },
    { "path", "path", layout_read_inside, { "__pn_" } },
    { "atomic<", "atomic", layout_read_inside, { "__a_.__a_value" } },
    { "bitset<", "bitset", layout_read_bit_set, { "__first_" } },
    { "complex<", "complex", libcxx_read_complex, { "__re_", "__im_" } },
    { "duration<", "duration", layout_read_duration, { "__rep_" } },
    { "time_point<", "time_point", layout_read_inside, { "__d_" } },
    { "initializer_list<",
      "initializer_list",
      layout_read_counted,
      { "__begin_", "__size_" } },
    { "valarray<", "valarray", layout_read_range, { "__begin_", "__end_" } },
    { "function<", "function", layout_libcxx_read_function, { "__f_.__f_" } },
    { "future<", "future", libcxx_read_future, { "__state_" } },
    { "shared_future<", "shared_future", libcxx_read_future, { "__state_" } },
    { "promise<", "promise", libcxx_read_future, { "__state_" } },
    { "exception_ptr", "exception_ptr", layout_read_pointer, { "__ptr_" } },
#define MUTEX                                                                          \
    {                                                                                  \
        "__m_.__data.__lock", "__m_.__data.__owner"                                    \
    }
    { "mutex", "mutex", layout_cxx_read_mutex, MUTEX },
    { "recursive_mutex", "mutex", layout_cxx_read_mutex, MUTEX },
    { "thread", "thread", layout_cxx_read_thread, { "__t_" } },
    { 0 },
};
