// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/values/layout_table.h"

#include <string.h>

const struct layout_row *const layout_tables[] = { layout_cxx,   layout_libcxx,
                                                   layout_rust,  layout_go,
                                                   layout_qt,    layout_glib,
                                                   layout_other, NULL };

bool layout_table_find(struct layout_object *object)
{
    const struct type *type = &object->table->types[object->type];
    // A type that is only declared may be of a known library that hides its members.
    if (type->kind != TYPE_STRUCT && type->kind != TYPE_UNION &&
        type->kind != TYPE_FORWARD)
        return false;
    if (layout_rust_enum(object) || layout_find_message(object) ||
        layout_go_named(object))
        return true;
    for (size_t i = 0; layout_tables[i] != NULL; i++)
        for (const struct layout_row *row = layout_tables[i]; row->name != NULL; row++)
            if (row->name[0] == type->name[0] && layout_fits(object, row))
                return true;
    return false;
}

bool layout_table_is_handle(const char *name)
{
    static const char *const names[] = { "hash<",      "map<",     "hchan<",
                                         "_GList",     "_GSList",  "_GPtrArray",
                                         "_GQueue",    "_GString", "_GByteArray",
                                         "_GHashTable" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

bool layout_table_row_is_text(const struct layout_row *row)
{
    layout_read_fn *const readers[] = { layout_read_text, layout_cxx_read_shared_string,
                                        layout_libcxx_read_string,
                                        layout_qt_read_string };
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (row->read == readers[i])
            return true;
    return false;
}

bool layout_is_contiguous(const struct layout_row *row)
{
    return row->read == layout_read_range || row->read == layout_read_counted ||
           row->read == layout_read_text;
}

bool layout_table_is_text(const struct type_table *table, uint32_t type)
{
    struct layout_object object = { .table = table, .type = type_strip(table, type) };
    return layout_table_find(&object) && layout_table_row_is_text(object.row);
}

bool layout_table_read(struct layout_object *object, struct layout_view *out)
{
    const char *kind = object->row->kind;
    bool map = strstr(kind, "map") != NULL || strstr(kind, "Map") != NULL;
    *out = (struct layout_view){ .form = map ? LAYOUT_PAIRS : LAYOUT_SEQUENCE,
                                 .kind = kind,
                                 .owners = -1,
                                 .index = -1 };
    object->row->read(object, out);
    return out->kind != NULL;
}
