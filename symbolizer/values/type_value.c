// SPDX-License-Identifier: Apache-2.0
//
// How it works: value_make_all takes items from a queue, makes the value of each,
// attaches it to its container, and queues its parts; so values are made breadth first.
// Invariants: each container is in the tree or in `hidden`, and referenced by `kept`
// until the end; an object is followed once (value_note_seen); secrets are masked when
// their item is taken, by flags that parts inherit; limits count items, not bytes.
#include "symbolizer/values/type_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "report/secrets/sanitize.h"
#include "report/secrets/secret.h"
#include "symbolizer/types/type_table.h"
#include "symbolizer/values/layout_table.h"
#include "symbolizer/values/type_scalar.h"

enum {
    ITEMS_MAX = 4 * TYPE_VALUE_COUNT_MAX,
    SEEN_SLOTS = 2 * TYPE_VALUE_COUNT_MAX, // a power of two, never more than half full
    CONTAINERS_MAX = 4,                    // in each other, whose contents are shown
    INSIDE_MAX = 16, // objects that are shown as the object in them
};

// item is a value that is still to be made, and where it belongs.
struct item {
    json_t *container; // an object or an array that is in the tree already
    const char *key;   // in an object
    json_t *ready;     // the value, if it is known already
    struct type_place place;
    bool secret;       // its name is secret: its address may be shown, its value not
    bool open;         // ... except for the members of a structure, such as `session`
    bool is_key;       // ... and except for small numbers, such as keys of maps
    bool is_part;      // of what has the name: its bytes may be those of a secret
    bool sparse;       // its members are optional
    bool optional;     // it is shown if it is set
    uint8_t pointers;  // followed to get here
    uint8_t dimension; // of an array: the number of dimensions already indexed
    uint8_t depth;     // containers that it is in
};

struct making {
    const struct type_value *how;
    struct item *items; // a queue: first in, first out
    size_t first;
    size_t count;
    size_t capacity;
    size_t made;
    uint64_t *seen; // hashes of the objects followed so far; 0: free
    size_t seen_count;
    json_t *hidden; // members of a structure with a secret name go here
    json_t *kept;   // every object and array
};

// value_push adds an item. Memory grows as needed: most values are a single number.
static void value_push(struct making *m, const struct item *item)
{
    if (m->count == ITEMS_MAX ||
        !array_reserve(&m->items, &m->capacity, m->count, sizeof(m->items[0]))) {
        json_decref(item->ready);
        return;
    }
    m->items[m->count++] = *item;
}

// known_name is what the name of a value implies. The last ones are cached: threads
// repeat the names of arguments, and judging one takes thousands of instructions.
static enum secret_name known_name(const char *name)
{
    enum { NAMES_KEPT = 512, NAME_BYTES = 24 };
    static _Thread_local struct {
        char name[NAME_BYTES]; // empty: unused
        enum secret_name sure;
    } kept[NAMES_KEPT];
    size_t length = strnlen(name, NAME_BYTES);
    if (length == 0 || length == NAME_BYTES)
        return secret_name_of(name, strlen(name));
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3;
    size_t at = (size_t)(hash >> 32) % NAMES_KEPT;
    if (strcmp(kept[at].name, name) != 0) {
        memcpy(kept[at].name, name, length + 1);
        kept[at].sure = secret_name_of(name, length);
    }
    return kept[at].sure;
}

// value_note_name applies what the name of a value implies.
static void value_note_name(const struct type_value *how, const char *name,
                            struct item *item)
{
    enum secret_name sure = how->sanitize ? known_name(name) : SECRET_NAME_NONE;
    item->secret = sure >= SECRET_NAME_PAIR;
    item->open = sure == SECRET_NAME_PAIR;
    size_t length = strlen(name);
    item->is_key = item->open && length >= strlen("key") &&
                   strcasecmp(name + length - strlen("key"), "key") == 0;
    item->is_part = false;
}

// is_hidden returns true if a value of the type is not shown. No secret is one truth
// value, one fraction, or one value that has a name in the source; many may be.
static bool is_hidden(const struct making *m, const struct item *item, uint32_t type)
{
    enum { NUMBER_BYTES = 4 };
    const struct type *of = &m->how->table->types[type_strip(m->how->table, type)];
    bool structure = of->kind == TYPE_STRUCT || of->kind == TYPE_UNION;
    bool number = of->kind == TYPE_INTEGER && of->size <= NUMBER_BYTES;
    bool harmless = of->kind == TYPE_ENUM || of->kind == TYPE_FLOAT ||
                    (of->kind == TYPE_INTEGER && of->encoding & TYPE_BOOLEAN) ||
                    (item->is_key && number);
    return item->secret && !(item->open && structure) && (item->is_part || !harmless);
}

// value_is_rust_reference returns true if a pointer is a Box or a reference of Rust,
// the types of which have names: like references of C++ they always lead to an object.
static bool value_is_rust_reference(const struct type *type)
{
    return type->name[0] == '&' || strncmp(type->name, "Box<", strlen("Box<")) == 0 ||
           strncmp(type->name, "alloc::boxed::Box<", strlen("alloc::boxed::Box<")) == 0;
}

// value_is_handle returns true if a pointer leads to what it is shown as, such as a map
// of Go.
static bool value_is_handle(const struct type_table *table, const struct type *pointer)
{
    return pointer->kind == TYPE_POINTER &&
           layout_table_is_handle(
               table->types[type_strip(table, pointer->target)].name);
}

static json_t *masked_value(void)
{
    return json_string("***");
}

static json_t *address_value(uint64_t address)
{
    return json_sprintf("0x%" PRIx64, address);
}

static json_t *pointer_object(uint64_t address, const char *key, json_t *value)
{
    return json_pack("{s:o, s:o}", "address", address_value(address), key, value);
}

// was_readable returns false if no memory was at address that the program could read.
static bool was_readable(const struct held_file *held, uint64_t address)
{
    if (held == NULL || held->mapping_count == 0)
        return true;
    const struct held_mapping *mapping = held_file_mapping(held, address);
    return mapping != NULL && (mapping->flags & HELD_READ) != 0;
}

// missing_reason returns why what a pointer at place leads to, at address, is missing.
static json_t *missing_reason(const struct making *m, uint64_t place, uint64_t address)
{
    bool known = place >= m->how->known_from && place < m->how->known_to;
    return json_string(m->how->cut && !known && was_readable(m->how->held, address)
                           ? "not-copied"
                           : "unreadable");
}

// unknown_value is what is shown where the type is not known.
static json_t *unknown_value(void)
{
    return json_pack("{s:s}", "error", "no-type");
}

static json_t *error_object(const struct making *m, uint64_t address)
{
    return json_pack("{s:o}", "error", missing_reason(m, 0, address));
}

// value_note_seen returns true if an object was followed before, and notes it.
static bool value_note_seen(struct making *m, uint64_t address, uint32_t type)
{
    uint64_t hash = (address ^ (uint64_t)type << 48) * 0x9e3779b97f4a7c15u | 1;
    size_t at = (size_t)(hash >> 40) & (SEEN_SLOTS - 1);
    if (m->seen == NULL)
        m->seen = calloc(SEEN_SLOTS, sizeof(m->seen[0]));
    if (m->seen == NULL)
        return true; // without memory nothing more is followed
    while (m->seen[at] != 0 && m->seen[at] != hash)
        at = (at + 1) & (SEEN_SLOTS - 1);
    if (m->seen[at] == hash)
        return true;
    if (m->seen_count++ < SEEN_SLOTS / 2)
        m->seen[at] = hash;
    return false;
}

// complete_type gives the type that a forward declares, if there is exactly one.
static uint32_t complete_type(const struct type_table *table, uint32_t index)
{
    uint32_t found = TYPE_UNKNOWN_INDEX;
    index = type_strip(table, index);
    const struct type *forward = &table->types[index];
    if (forward->kind != TYPE_FORWARD)
        return index;
    for (uint32_t i = TYPE_UNKNOWN_INDEX + 1; i < table->count; i++) {
        const struct type *type = &table->types[i];
        if (type->kind != forward->tag || strcmp(type->name, forward->name) != 0)
            continue;
        if (found != TYPE_UNKNOWN_INDEX)
            return index;
        found = i;
    }
    return found != TYPE_UNKNOWN_INDEX ? found : index;
}

// string_value makes a string of a program's bytes; those that are not UTF-8 are
// escaped.
static json_t *string_value(const struct making *m, const char *bytes, bool more)
{
    struct text text = { 0 };
    if (m->how->sanitize)
        sanitize_string(bytes, m->how->home, &text);
    else
        text_append_string(&text, bytes);
    text_append_string(&text, more ? "..." : "");
    json_t *value = json_string(text.bytes != NULL ? text.bytes : "");
    if (value == NULL) {
        struct text escaped = { 0 };
        for (size_t i = 0; text.bytes != NULL && i < text.size; i++)
            text_appendf(&escaped, (uint8_t)text.bytes[i] < 0x80 ? "%c" : "\\x%02x",
                         (uint8_t)text.bytes[i]);
        value = json_string(escaped.bytes != NULL ? escaped.bytes : "");
        text_deinit(&escaped);
    }
    text_deinit(&text);
    return value;
}

static bool is_char(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[type_strip(table, index)];
    return type->kind == TYPE_INTEGER && type->size == 1 &&
           strcmp(type->name, "char") == 0;
}

// array_string makes a string of a char array of size bytes.
static json_t *array_string(const struct making *m, uint64_t address, uint64_t size)
{
    char bytes[TYPE_VALUE_STRING + 1] = "";
    size_t length = size < TYPE_VALUE_STRING ? (size_t)size : TYPE_VALUE_STRING;
    if (memory_read(m->how->memory, address, bytes, length) != CH_OK)
        return error_object(m, address);
    return string_value(m, bytes, size > length && strlen(bytes) == length);
}

// pointed_string makes the value of a char pointer.
static json_t *pointed_string(const struct making *m, const struct item *item,
                              uint64_t address)
{
    char bytes[TYPE_VALUE_STRING + 1] = "";
    enum ch_status status =
        memory_read_string(m->how->memory, address, bytes, sizeof(bytes));
    if (item->secret)
        return pointer_object(address, "value", masked_value());
    // What precedes a hole is worth showing, but an empty string is not.
    if (status == CH_ERR_FAULT && bytes[0] == 0)
        return m->how->pointers == 0
                   ? address_value(address)
                   : pointer_object(address, "error",
                                    missing_reason(m, item->place.address, address));
    return pointer_object(address, "value", string_value(m, bytes, status != CH_OK));
}

static json_t *pointer_value(struct making *m, const struct item *item)
{
    const struct type_table *table = m->how->table;
    uint64_t address;
    if (memory_read_word(m->how->memory, item->place.address, &address) != CH_OK)
        return error_object(m, item->place.address);
    if (address == 0)
        return json_null();
    uint32_t pointer = type_strip(table, item->place.type);
    uint32_t target = complete_type(table, table->types[pointer].target);
    uint64_t size = 0;
    uint8_t first;
    if (is_char(table, target))
        return pointed_string(m, item, address);
    bool shown = type_size(table, target, &size) == CH_OK && size != 0;
    int most = m->how->pointers;
    if (most == 0 && value_is_rust_reference(&table->types[pointer]))
        most = 1;
    struct item led = *item;
    led.is_part = true; // there may be more of them
    if (!shown || is_hidden(m, &led, target) || item->pointers >= most)
        return address_value(address);
    if (value_note_seen(m, address, target))
        return pointer_object(address, "seen", json_true());
    if (memory_read(m->how->memory, address, &first, sizeof(first)) != CH_OK)
        return pointer_object(address, "error",
                              missing_reason(m, item->place.address, address));
    json_t *object = json_pack("{s:o}", "address", address_value(address));
    const struct item next = { .container = object,
                               .key = "value",
                               .place = { .type = target, .address = address },
                               .pointers = item->pointers + 1 };
    if (object != NULL)
        value_push(m, &next);
    return object;
}

// value_place_base sets the place of a virtual base of the object at address: its
// offset is in the table of virtual functions.
static void value_place_base(const struct making *m, const struct type_part *part,
                             uint64_t address, struct item *item)
{
    uint64_t table;
    uint64_t offset;
    item->place = (struct type_place){ .type = part->type };
    if (memory_read_word(m->how->memory, address, &table) != CH_OK ||
        memory_read_word(m->how->memory, table + (uint64_t)part->value, &offset) !=
            CH_OK)
        item->ready = error_object(m, address);
    else
        item->place.address = address + offset;
}

// value_has_no_data returns true if an object of a class has no members, nor has its
// base.
static bool value_has_no_data(const struct type_table *table, uint32_t index)
{
    for (int chain = 0; chain < TYPE_CHAIN_MAX; chain++) {
        const struct type *type = &table->types[type_strip(table, index)];
        if (type->kind != TYPE_STRUCT || type->partial || type->part_count > 1)
            return false;
        if (type->part_count == 0)
            return true;
        if (table->parts[type->first_part].base != TYPE_BASE_PLAIN)
            return false;
        index = table->parts[type->first_part].type;
    }
    return false;
}

// push_members adds the members of a structure to object. Members of unnamed structures
// become members of object; named structures and base classes become objects of their
// own right here, so that the members keep their order.
static void push_members(struct making *m, const struct item *item, json_t *object)
{
    const struct type_table *table = m->how->table;
    uint32_t index = type_strip(table, item->place.type);
    json_t *containers[TYPE_MEMBERS_DEPTH + 1] = { object };
    int depth = 0;
    struct type_members members;
    struct type_member member;
    type_members_init(&members, table, &table->types[index]);
    while (type_members_next(&members, &member)) {
        depth -= member.closes;
        const char *name = member.part->name;
        struct item next = { .container = containers[depth],
                             .key = name,
                             .place = { .type = member.part->type,
                                        .address = item->place.address +
                                                   member.offset_bits / 8,
                                        .shift = member.offset_bits % 8 },
                             .optional = item->sparse,
                             .pointers = item->pointers };
        if (member.part->base == TYPE_BASE_VIRTUAL)
            value_place_base(m, member.part,
                             item->place.address +
                                 (member.offset_bits - member.part->offset_bits) / 8,
                             &next);
        else if (member.part->base == TYPE_BASE_NONE)
            value_note_name(m->how, name, &next);
        bool secret = is_hidden(m, &next, member.part->type);
        if (member.opens)
            containers[depth + 1] = containers[depth];
        if (member.opens && name[0] != 0)
            containers[depth + 1] = next.ready = json_object();
        depth += member.opens;
        if (secret && next.ready != NULL) {
            json_decref(next.ready);
            containers[depth] = m->hidden;
        }
        if (secret && next.ready != NULL)
            next.ready = masked_value();
        if (member.part->base != TYPE_BASE_NONE &&
            value_has_no_data(table, member.part->type))
            json_decref(next.ready);
        else if (name[0] != 0)
            value_push(m, &next);
    }
    if (table->types[index].partial)
        value_push(m, &(struct item){
                          .container = object, .key = "?", .ready = unknown_value() });
}

static void value_complete(const struct type_value *how, uint32_t type)
{
    if (how->dwarf != NULL)
        type_dwarf_complete(how->dwarf, type_strip(how->table, type));
}

static struct layout_object layout_object_of(const struct type_value *how,
                                             const struct type_place *place)
{
    return (struct layout_object){ .table = how->table,
                                   .dwarf = how->dwarf,
                                   .memory = how->memory,
                                   .held = how->held,
                                   .image = how->image,
                                   .type = type_strip(how->table, place->type),
                                   .address = place->address };
}

// text_value makes a string of the text that a view leads to.
static json_t *text_value(const struct making *m, const struct item *item,
                          const struct layout_view *view)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    if (item->secret)
        return masked_value();
    uint64_t known =
        layout_read_characters(m->how->memory, view, TYPE_VALUE_STRING, &bytes);
    text_append(&bytes, "", 1);
    return string_value(m, text_ok(&bytes) ? bytes.bytes : "", known < view->size);
}

// value_is_there returns true if the first byte of what is at place was copied.
static bool value_is_there(const struct making *m, const struct type_place *place)
{
    uint8_t first;
    return memory_read(m->how->memory, place->address, &first, sizeof(first)) == CH_OK;
}

// push_pair adds a pair of a map. A key that is text may say that the value is secret.
static void push_pair(struct making *m, const struct item *item,
                      const struct layout_item *from, json_t *entries)
{
    json_t *entry = json_array();
    struct item next = *item;
    struct layout_view view;
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    next.container = entry;
    next.key = NULL;
    next.depth++;
    next.is_part = true;
    next.place = from->key;
    if (entry == NULL)
        return;
    (void)json_array_append_new(entries, entry);
    (void)json_array_append(m->kept, entry);
    value_complete(m->how, from->key.type);
    struct layout_object object = layout_object_of(m->how, &from->key);
    value_push(m, &next);
    if (layout_table_find(&object) && layout_table_row_is_text(object.row) &&
        layout_table_read(&object, &view)) {
        (void)layout_read_characters(m->how->memory, &view, TYPE_VALUE_STRING, &key);
        text_append(&key, "", 1);
        if (text_ok(&key) && !item->secret)
            value_note_name(m->how, key.bytes, &next);
    }
    next.place = from->value;
    value_push(m, &next);
}

// push_items adds the items of a view, as far as they were copied.
static void push_items(struct making *m, const struct item *item,
                       const struct layout_view *view, json_t *object)
{
    bool pairs = view->form == LAYOUT_PAIRS;
    json_t *items = json_array();
    if (items == NULL ||
        json_object_set_new(object, pairs ? "entries" : "items", items) != 0)
        return;
    (void)json_array_append(m->kept, items);
    size_t i = 0;
    for (; i < view->item_count && value_is_there(m, &view->items[i].value); i++) {
        struct item next = *item;
        next.container = items;
        next.key = NULL;
        next.place = view->items[i].value;
        next.depth++;
        next.is_part = true;
        if (pairs)
            push_pair(m, item, &view->items[i], items);
        else
            value_push(m, &next);
    }
    if (i < view->item_count || (view->missing && i < LAYOUT_ITEMS))
        (void)json_object_set_new(object, "error", json_string("not-copied"));
}

// value_push_held adds the one object that a view leads to.
static void value_push_held(struct making *m, const struct item *item,
                            const struct layout_view *view, json_t *object)
{
    struct item next = *item;
    next.container = object;
    next.key = "value";
    next.place = view->items[0].value;
    next.depth++;
    next.is_part = item->is_part || view->form == LAYOUT_POINTER;
    if (view->form == LAYOUT_POINTER &&
        value_note_seen(m, view->address, next.place.type))
        (void)json_object_set_new(object, "seen", json_true());
    else if (value_is_there(m, &next.place))
        value_push(m, &next);
    else
        (void)json_object_set_new(
            object, "error",
            json_string(m->how->held != NULL &&
                                !held_file_is_mapped(m->how->held, next.place.address)
                            ? "unreadable"
                            : "not-copied"));
}

static void describe_view(const struct layout_view *view, json_t *object)
{
    bool counted = view->form == LAYOUT_SEQUENCE || view->form == LAYOUT_PAIRS ||
                   view->form == LAYOUT_WORDS || view->form == LAYOUT_TEXT;
    if (view->choice != NULL)
        (void)json_object_set_new(object, "choice", json_string(view->choice));
    if (view->index >= 0)
        (void)json_object_set_new(object, "index", json_integer(view->index));
    if (counted && !view->no_size)
        (void)json_object_set_new(object, view->at_least ? "size_at_least" : "size",
                                  json_integer((json_int_t)view->size));
    if (view->form == LAYOUT_POINTER)
        (void)json_object_set_new(object, "address", address_value(view->address));
    if (view->owners >= 0)
        (void)json_object_set_new(object, "owners", json_integer(view->owners));
    if (view->damage != NULL)
        (void)json_object_set_new(object, "damaged", json_string(view->damage));
}

// view_value makes the value of an object that holds what view says.
static json_t *view_value(struct making *m, const struct item *item,
                          const struct layout_view *view)
{
    bool sequence = view->form == LAYOUT_SEQUENCE || view->form == LAYOUT_PAIRS;
    if (view->form == LAYOUT_TEXT && !view->missing)
        return text_value(m, item, view);
    if (view->form == LAYOUT_WORDS && view->damage == NULL && !view->missing)
        return item->secret ? masked_value() : json_string(view->word);
    if (view->form == LAYOUT_POINTER && view->address == 0)
        return json_null();
    json_t *object = json_pack("{s:s}", "container", view->kind);
    if (object == NULL)
        return NULL;
    describe_view(view, object);
    if (item->depth >= CONTAINERS_MAX)
        return object;
    if (sequence)
        push_items(m, item, view, object);
    else if (view->item_count != 0)
        value_push_held(m, item, view, object);
    else if (view->missing)
        (void)json_object_set_new(object, "error", json_string("not-copied"));
    return object;
}

// value_follow_handle makes place that of the object of a library to which a pointer
// leads. False: it leads to none that can be read.
static bool value_follow_handle(const struct type_value *how, struct type_place *place)
{
    const struct type *type = &how->table->types[type_strip(how->table, place->type)];
    struct type_place to = { .type = type->target };
    uint8_t first;
    if (!value_is_handle(how->table, type))
        return false;
    value_complete(how, to.type);
    struct layout_object object = layout_object_of(how, &to);
    if (!layout_table_find(&object) || !layout_table_is_handle(object.row->name) ||
        memory_read_word(how->memory, place->address, &to.address) != CH_OK ||
        memory_read(how->memory, to.address, &first, sizeof(first)) != CH_OK)
        return false;
    *place = to;
    return true;
}

// value_look_inside finds what a structure holds, or what the object in it does, which
// item becomes. False: it is shown by its members.
static bool value_look_inside(const struct making *m, struct item *item,
                              struct layout_view *out)
{
    for (int i = 0; i < INSIDE_MAX; i++) {
        value_complete(m->how, item->place.type);
        struct layout_object object = layout_object_of(m->how, &item->place);
        if (!layout_table_find(&object) || !layout_table_read(&object, out))
            return false;
        if (out->form != LAYOUT_INSIDE)
            return true;
        item->place = out->items[0].value;
        item->sparse = out->sparse;
    }
    return false;
}

// value_look_at_sds finds the string of sds that a pointer leads to.
static bool value_look_at_sds(const struct making *m, const struct item *item,
                              struct layout_view *out)
{
    struct layout_object object = layout_object_of(m->how, &item->place);
    object.type = item->place.type; // its name is that of a typedef
    return layout_read_sds(&object, out);
}

// dimensions are those of an array in C's order: nested array types are in the reverse
// order in a table.
struct dimensions {
    uint32_t counts[TYPE_CHAIN_MAX];
    int count;
    uint32_t element;
    uint64_t element_size;
};

static bool find_dimensions(const struct type_table *table, uint32_t index,
                            struct dimensions *out)
{
    uint32_t nested[TYPE_CHAIN_MAX];
    *out = (struct dimensions){ .element = index };
    while (table->types[out->element].kind == TYPE_ARRAY &&
           out->count < TYPE_CHAIN_MAX) {
        nested[out->count++] = table->types[out->element].count;
        out->element = table->types[out->element].target;
    }
    for (int i = 0; i < out->count; i++)
        out->counts[i] = nested[out->count - 1 - i];
    return type_size(table, out->element, &out->element_size) == CH_OK;
}

static json_t *array_value(struct making *m, const struct item *item)
{
    struct dimensions d;
    uint32_t index = type_strip(m->how->table, item->place.type);
    if (!find_dimensions(m->how->table, index, &d) || item->dimension >= d.count)
        return json_null();
    uint64_t count = d.counts[item->dimension];
    uint64_t stride = d.element_size;
    bool last = item->dimension + 1 == d.count;
    for (int i = item->dimension + 1; i < d.count; i++)
        stride *= d.counts[i];
    if (last && is_char(m->how->table, d.element))
        return array_string(m, item->place.address, count);
    json_t *array = json_array();
    for (uint64_t i = 0; array != NULL && i < count && i < TYPE_VALUE_ELEMENTS; i++) {
        const struct item next = { .container = array,
                                   .place = { .type = last ? d.element : index,
                                              .address =
                                                  item->place.address + i * stride },
                                   .pointers = item->pointers,
                                   .dimension = last ? 0 : item->dimension + 1 };
        value_push(m, &next);
    }
    const struct item rest = {
        .container = array,
        .ready = json_pack("{s:I}", "more", (json_int_t)(count - TYPE_VALUE_ELEMENTS))
    };
    if (array != NULL && count > TYPE_VALUE_ELEMENTS)
        value_push(m, &rest);
    else
        json_decref(rest.ready);
    return array;
}

// value_make_value makes the value of item, and adds its parts to the queue.
static json_t *value_make_value(struct making *m, const struct item *from)
{
    const struct type_table *table = m->how->table;
    struct item item = *from;
    struct layout_view view;
    item.optional = false; // its parts are not
    if (item.ready != NULL)
        return item.ready;
    enum type_kind kind = table->types[type_strip(table, item.place.type)].kind;
    struct type_place handle = item.place;
    if (kind == TYPE_POINTER && value_follow_handle(m->how, &handle)) {
        item.place = handle;
        kind = TYPE_STRUCT;
    }
    bool viewed = kind == TYPE_POINTER ? value_look_at_sds(m, &item, &view)
                                       : (kind == TYPE_STRUCT || kind == TYPE_UNION) &&
                                             value_look_inside(m, &item, &view);
    if (!viewed &&
        table->types[type_strip(table, item.place.type)].kind == TYPE_FORWARD)
        item.place = from->place; // a handle whose layout is not known
    uint32_t index = type_strip(table, item.place.type);
    kind = table->types[index].kind;
    if (kind != TYPE_POINTER && is_hidden(m, &item, index))
        return masked_value();
    if (viewed)
        return view_value(m, &item, &view);
    switch (kind) {
    case TYPE_STRUCT:
    case TYPE_UNION: {
        json_t *object = json_object();
        if (object != NULL)
            push_members(m, &item, object);
        return object;
    }
    case TYPE_ARRAY:
        return array_value(m, &item);
    case TYPE_POINTER:
        return pointer_value(m, &item);
    case TYPE_INTEGER:
    case TYPE_FLOAT:
    case TYPE_ENUM:
    case TYPE_SLICE: {
        json_t *value = type_scalar_value(table, m->how->memory, &item.place);
        return value != NULL ? value : error_object(m, item.place.address);
    }
    default:
        return unknown_value();
    }
}

// attach_value puts value where it belongs. Containers stay referenced until the end: a
// malicious type can have two members of one name, and the second replaces the first.
static void attach_value(struct making *m, const struct item *item, json_t *value)
{
    if (json_is_object(value) || json_is_array(value))
        (void)json_array_append(m->kept, value);
    // Out of memory, a value is missing; jansson accepts NULL here.
    if (item->key != NULL)
        (void)json_object_set_new_nocheck(item->container, item->key, value);
    else
        (void)json_array_append_new(item->container, value);
}

// value_is_unset returns true if a member of a message of Protocol Buffers is not set:
// it is zero, or a container without elements. Those that describe the others are left
// out, too.
static bool value_is_unset(const struct making *m, const struct item *member)
{
    static const char *const internal[] = { "_has_bits_", "_cached_size_" };
    const struct type_table *table = m->how->table;
    struct item item = *member;
    struct layout_view view;
    uint8_t bytes[64];
    uint64_t size;
    for (size_t i = 0; i < sizeof(internal) / sizeof(internal[0]); i++)
        if (strcmp(item.key, internal[i]) == 0)
            return true;
    enum type_kind kind = table->types[type_strip(table, item.place.type)].kind;
    if ((kind == TYPE_STRUCT || kind == TYPE_UNION) &&
        value_look_inside(m, &item, &view))
        return view.size == 0 && !view.missing && view.damage == NULL &&
               (view.form == LAYOUT_SEQUENCE || view.form == LAYOUT_PAIRS ||
                view.form == LAYOUT_TEXT);
    if (type_size(table, item.place.type, &size) != CH_OK || size > sizeof(bytes) ||
        memory_read(m->how->memory, item.place.address, bytes, (size_t)size) != CH_OK)
        return false;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static json_t *value_make_all(struct making *m, const struct item *root)
{
    value_push(m, root);
    for (; m->first < m->count; m->first++) {
        const struct item item = m->items[m->first]; // making it may move the others
        if (item.optional && item.ready == NULL && value_is_unset(m, &item))
            continue;
        size_t most =
            m->how->pointers != 0 ? TYPE_VALUE_COUNT_MAX : TYPE_VALUE_COUNT_BRIEF;
        bool limited = item.ready == NULL && m->made++ >= most;
        json_t *value =
            limited ? json_pack("{s:s}", "error", "limit") : value_make_value(m, &item);
        attach_value(m, &item, value);
    }
    return json_incref(json_array_get(root->container, 0));
}

bool type_value_holds_text(const struct type_table *table, uint32_t type)
{
    struct dimensions d;
    uint32_t index = type_strip(table, type);
    if (table->types[index].kind == TYPE_POINTER &&
        (table->types[index].reference || value_is_handle(table, &table->types[index])))
        index = complete_type(table, table->types[index].target);
    if (table->types[index].kind == TYPE_ARRAY)
        return find_dimensions(table, index, &d) && is_char(table, d.element);
    return layout_table_is_text(table, index);
}

// value_plain_size does what type_value_bytes_size does, but for arrays.
static uint8_t value_plain_size(const struct type_table *table, uint32_t type)
{
    const struct type *bare = &table->types[type_strip(table, type)];
    if (bare->size > UINT8_MAX)
        return 0;
    switch (bare->kind) {
    case TYPE_INTEGER:
    case TYPE_FLOAT:
    case TYPE_ENUM:
        return (uint8_t)bare->size;
    case TYPE_POINTER:
        return bare->size == sizeof(uint64_t) && bare->reference == 0 &&
                       !value_is_rust_reference(bare) &&
                       !value_is_handle(table, bare) &&
                       !is_char(table, complete_type(table, bare->target))
                   ? sizeof(uint64_t)
                   : 0;
    default:
        return 0;
    }
}

uint64_t type_value_bytes_size(const struct type_table *table, uint32_t type)
{
    struct dimensions d;
    uint32_t index = type_strip(table, type);
    if (table->types[index].kind != TYPE_ARRAY)
        return value_plain_size(table, type);
    if (!find_dimensions(table, index, &d) || is_char(table, d.element))
        return 0;
    uint64_t size = value_plain_size(table, d.element);
    for (int i = 0; i < d.count && size <= UINT32_MAX; i++)
        size *= d.counts[i];
    return size <= UINT32_MAX ? size : 0;
}

// value_follow_reference makes place that of the object that a reference refers to.
// False: it cannot be read.
static bool value_follow_reference(const struct type_value *how,
                                   struct type_place *place)
{
    const struct type *type = &how->table->types[type_strip(how->table, place->type)];
    const struct type_place to = { .type = complete_type(how->table, type->target) };
    uint64_t size;
    uint8_t last;
    if (type->kind != TYPE_POINTER || !type->reference ||
        memory_read_word(how->memory, place->address, &place->address) != CH_OK)
        return false;
    place->type = to.type;
    return type_size(how->table, to.type, &size) == CH_OK && size != 0 &&
           memory_read(how->memory, place->address + size - 1, &last, sizeof(last)) ==
               CH_OK;
}

// value_make_simple makes a value that has no parts.
static json_t *value_make_simple(const struct type_value *how, uint32_t type,
                                 uint64_t address, const char *name)
{
    struct making m = { .how = how };
    struct item item = { .place = { .type = type, .address = address } };
    value_note_name(how, name, &item);
    return value_make_value(&m, &item);
}

json_t *type_value_make(const struct type_value *how, uint32_t type, uint64_t address,
                        const char *name)
{
    if (how->pointers == 0 && value_plain_size(how->table, type) != 0)
        return value_make_simple(how, type, address, name);
    struct making m = { .how = how, .hidden = json_object(), .kept = json_array() };
    json_t *holder = json_array();
    json_t *value = NULL;
    if (m.hidden != NULL && m.kept != NULL && holder != NULL) {
        struct item root = { .container = holder,
                             .place = { .type = type, .address = address } };
        value_note_name(how, name, &root);
        struct type_place referred = root.place;
        if (value_follow_reference(how, &referred))
            root.place = referred;
        if (how->pointers > 0)
            (void)value_note_seen(&m, address, type_strip(how->table, type));
        value = value_make_all(&m, &root);
    }
    json_decref(holder);
    json_decref(m.hidden);
    json_decref(m.kept);
    free(m.items);
    free(m.seen);
    return value;
}
