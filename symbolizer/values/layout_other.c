// SPDX-License-Identifier: Apache-2.0
//
// The types of libraries of C and C++ other than the standard ones: GLib, Qt, Boost,
// Abseil.
#include <string.h>

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

// layout_other_read_qt_string reads a string of Qt 5. It has its data after a header
// that says where.
void layout_other_read_qt_string(struct layout_object *object, struct layout_view *out)
{
    uint64_t head;
    uint64_t offset;
    struct layout_member size;
    struct layout_member at;
    uint32_t type = layout_target(object, object->members[0].type);
    out->form = LAYOUT_TEXT;
    out->width = strcmp(object->row->kind, "QString") == 0 ? 2 : 1;
    if (!layout_member_of(object, type, "size", &size) ||
        !layout_member_of(object, type, "offset", &at) ||
        !layout_field(object, 0, &head, out) ||
        !layout_number(object, head + size.offset, 4, &out->size, out) ||
        !layout_word(object, head + at.offset, &offset, out) || out->size > INT32_MAX) {
        out->kind = NULL;
        return;
    }
    out->address = head + offset;
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

const struct layout_row layout_other[] = {
    { "_GString", "GString", layout_read_text, { "str", "len", "allocated_len" } },
    { "_GList", "GList", other_read_g_list, { "data", "next", "prev" } },
    { "_GSList", "GSList", other_read_g_list, { "data", "next" } },
    { "_GPtrArray", "GPtrArray", layout_read_counted, { "pdata", "len" } },
    { "_GByteArray", "GByteArray", layout_read_counted, { "data", "len" } },
    { "QString", "QString", layout_read_text, { "d.ptr", "d.size" } },
    { "QByteArray", "QByteArray", layout_read_text, { "d.ptr", "d.size" } },
    { "QString", "QString", layout_other_read_qt_string, { "d" } },
    { "QByteArray", "QByteArray", layout_other_read_qt_string, { "d" } },
    { "QList<", "QList", layout_read_counted, { "d.ptr", "d.size" } },
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
    { 0 },
};
