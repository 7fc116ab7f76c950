// SPDX-License-Identifier: Apache-2.0
//
// The types of Go: strings, slices, channels, and both layouts of maps, of which that
// with groups came with Go 1.24. Variables are pointers to a map or a channel.
#include <string.h>

#include "symbolizer/types/type_runtime.h"
#include "symbolizer/values/layout_table.h"

enum {
    WORD = 8,
    PLACES = 8,     // of a bucket or a group
    PROBED = 4096,  // places of a map that are looked at
    FIRST_TAKEN = 5 // in a bucket: lower numbers are of free or moved places
};

// A go_map is a map that is being read.
struct go_map {
    struct layout_object *object;
    struct layout_view *out;
    uint32_t type; // of a bucket or a group
    uint64_t size; // of one
    uint64_t left; // places that may still be looked at
};

static bool go_map_is_done(const struct go_map *map)
{
    return map->left == 0 || map->out->damage != NULL || map->out->missing ||
           map->out->item_count >= LAYOUT_ITEMS ||
           map->out->item_count >= map->out->size;
}

// A go_bucket is where the members of a bucket are. A map to nothing has no values.
struct go_bucket {
    struct layout_member tags;
    struct layout_member keys;
    struct layout_member values;
    struct layout_member overflow;
    uint32_t types[2];
    uint64_t sizes[2];
};

static bool go_find_bucket(struct go_map *map, struct go_bucket *out)
{
    struct layout_object *object = map->object;
    if (!layout_member_of(object, map->type, "tophash", &out->tags) ||
        !layout_member_of(object, map->type, "keys", &out->keys) ||
        !layout_member_of(object, map->type, "overflow", &out->overflow))
        return false;
    if (!layout_member_of(object, map->type, "values", &out->values))
        out->values = (struct layout_member){ .type = TYPE_UNKNOWN_INDEX };
    out->types[0] = layout_element(object, out->keys.type);
    out->types[1] = layout_element(object, out->values.type);
    for (int i = 0; i < 2; i++)
        out->sizes[i] = layout_size(object, out->types[i]);
    map->size = layout_size(object, map->type);
    return map->size != 0 && out->sizes[0] != 0;
}

// go_take_places adds what is in one bucket.
static void go_take_places(struct go_map *map, const struct go_bucket *bucket,
                           uint64_t at)
{
    struct layout_view *out = map->out;
    for (uint64_t i = 0; i < PLACES && !go_map_is_done(map); i++) {
        uint64_t tag;
        map->left--;
        if (!layout_number(map->object, at + bucket->tags.offset + i, 1, &tag, out))
            return;
        if (tag < FIRST_TAKEN)
            continue;
        out->items[out->item_count++] = (struct layout_item){
            .key = { .type = bucket->types[0],
                     .address = at + bucket->keys.offset + i * bucket->sizes[0] },
            .value = { .type = bucket->types[1],
                       .address = at + bucket->values.offset + i * bucket->sizes[1] }
        };
    }
}

// go_take_buckets adds what is in an array of buckets and in those that overflowed from
// them.
static void go_take_buckets(struct go_map *map, const struct go_bucket *bucket,
                            uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count && !go_map_is_done(map); i++) {
        uint64_t at = first + i * map->size;
        while (at != 0 && !go_map_is_done(map)) {
            go_take_places(map, bucket, at);
            if (!go_map_is_done(map) &&
                !layout_word(map->object, at + bucket->overflow.offset, &at, map->out))
                return;
        }
    }
}

// go_end makes a map to nothing the set of its keys, and notes what is missing.
static void go_end(const struct go_map *map)
{
    struct layout_view *out = map->out;
    if (map->left != 0 && !out->missing && out->item_count < LAYOUT_ITEMS &&
        out->item_count < out->size)
        layout_damage(out, "it has fewer elements than its size");
    for (size_t i = 0; i < out->item_count; i++) {
        if (layout_size(map->object, out->items[i].value.type) != 0)
            return;
        out->form = LAYOUT_SEQUENCE;
        out->items[i].value = out->items[i].key;
    }
}

// go_read_buckets reads a map as before Go 1.24. While it grows, what was not moved yet
// is in the old buckets.
static void go_read_buckets(struct layout_object *object, struct layout_view *out)
{
    enum { LARGEST = 40 };
    struct go_map map = { object, out, layout_target(object, object->members[2].type),
                          0, PROBED };
    struct go_bucket bucket;
    uint64_t shift;
    uint64_t buckets;
    uint64_t old;
    if (!layout_field(object, 0, &out->size, out) ||
        !layout_field(object, 1, &shift, out) ||
        !layout_field(object, 2, &buckets, out) ||
        !layout_field(object, 3, &old, out) || out->size == 0)
        return;
    if (!go_find_bucket(&map, &bucket)) {
        out->kind = NULL;
        return;
    }
    if (shift > LARGEST || out->size >> LARGEST != 0 || buckets == 0) {
        layout_damage(out, "its size is impossible");
        return;
    }
    go_take_buckets(&map, &bucket, buckets, UINT64_C(1) << shift);
    if (old != 0) // as many as now, or half of them: all others were moved
        go_take_buckets(&map, &bucket, old,
                        shift == 0 ? 1 : UINT64_C(1) << (shift - 1));
    if (old != 0 && out->item_count < out->size)
        map.left = 0; // more may be in the other half
    go_end(&map);
}

// A go_group is where the members of a group are.
struct go_group {
    struct layout_member marks;
    struct layout_member places;
    struct layout_member key;
    uint32_t place;
    uint64_t place_size;
};

static bool go_find_group(struct go_map *map, struct go_group *out)
{
    struct layout_object *object = map->object;
    if (!layout_member_of(object, map->type, "ctrl", &out->marks) ||
        !layout_member_of(object, map->type, "slots", &out->places))
        return false;
    out->place = layout_element(object, out->places.type);
    out->place_size = layout_size(object, out->place);
    map->size = layout_size(object, map->type);
    return out->place_size != 0 && map->size != 0 &&
           layout_member_of(object, out->place, "key", &out->key);
}

static void go_take_groups(struct go_map *map, const struct go_group *group,
                           uint64_t first, uint64_t count)
{
    enum { FREE = 0x80 };
    for (uint64_t i = 0; i < count * PLACES && !go_map_is_done(map); i++) {
        uint64_t at = first + i / PLACES * map->size;
        uint64_t mark;
        map->left--;
        if (!layout_number(map->object, at + group->marks.offset + i % PLACES, 1, &mark,
                           map->out))
            return;
        if (!(mark & FREE))
            (void)layout_add_pair(map->object, map->out, group->place,
                                  at + group->places.offset +
                                      i % PLACES * group->place_size);
    }
}

// go_take_tables adds what is in the tables of a directory, in which one that has not
// been split stands several times in a row.
static void go_take_tables(struct go_map *map, const struct go_group *group,
                           const struct layout_member *data, uint64_t directory,
                           uint64_t count)
{
    enum { LARGEST = 1024 }; // places of a table
    uint64_t before = 0;
    for (uint64_t i = 0; i < count && !go_map_is_done(map); i++) {
        uint64_t table;
        uint64_t first;
        uint64_t mask;
        map->left--;
        if (!layout_word(map->object, directory + i * WORD, &table, map->out))
            return;
        if (table == before)
            continue;
        before = table;
        if (!layout_word(map->object, table + data->offset, &first, map->out) ||
            !layout_word(map->object, table + data->offset + WORD, &mask, map->out))
            return;
        if ((mask & (mask + 1)) != 0 || mask >= LARGEST)
            layout_damage(map->out, "its size is impossible");
        else
            go_take_groups(map, group, first, mask + 1);
    }
}

// go_read_groups reads a map as since Go 1.24. A small one has a group and no tables.
static void go_read_groups(struct layout_object *object, struct layout_view *out)
{
    struct go_map map = { .object = object, .out = out, .left = PROBED };
    struct go_group group;
    struct layout_member data;
    uint64_t directory;
    uint64_t count;
    uint32_t table =
        layout_target(object, layout_target(object, object->members[1].type));
    if (!layout_field(object, 0, &out->size, out) ||
        !layout_field(object, 1, &directory, out) ||
        !layout_field(object, 2, &count, out) || out->size == 0)
        return;
    if (!layout_member_of(object, table, "groups.data", &data)) {
        out->kind = NULL;
        return;
    }
    map.type = layout_target(object, data.type);
    if (!go_find_group(&map, &group)) {
        out->kind = NULL;
        return;
    }
    if (directory == 0 || (count & (count - 1)) != 0 || out->size >> 40 != 0)
        layout_damage(out, "its size is impossible");
    else if (count == 0)
        go_take_groups(&map, &group, directory, 1);
    else
        go_take_tables(&map, &group, &data, directory, count);
    go_end(&map);
}

// go_read_channel reads what was sent into a channel and not received: the elements are
// in a ring, of which it has the type where a goroutine's element would be.
static void go_read_channel(struct layout_object *object, struct layout_view *out)
{
    struct layout_member element;
    uint64_t room;
    uint64_t begin;
    uint64_t first;
    uint64_t closed;
    if (!layout_field(object, 0, &out->size, out) ||
        !layout_field(object, 1, &room, out) || !layout_field(object, 2, &begin, out) ||
        !layout_field(object, 3, &first, out) || !layout_field(object, 4, &closed, out))
        return;
    if (out->size > room || (room != 0 && first >= room) || room >> 40 != 0) {
        layout_damage(out, "its size is impossible");
        return;
    }
    if (closed != 0)
        out->choice = "closed";
    if (!layout_member_of(object, layout_target(object, object->members[5].type),
                          "elem", &element))
        return;
    uint32_t type = layout_target(object, element.type);
    uint64_t each = layout_size(object, type);
    for (uint64_t i = 0; i < out->size && each != 0; i++)
        if (!layout_add(out, type, begin + (first + i) % room * each))
            return;
}

// go_member finds the first of two names that a member had in versions of Go.
static bool go_member(struct layout_object *object, uint32_t type,
                      const char *const names[static 2], struct layout_member *out)
{
    return layout_member_of(object, type, names[0], out) ||
           layout_member_of(object, type, names[1], out);
}

// go_find_type finds the type of what an interface holds, and whether the interface has
// the value itself, and not its address. tag has the address of the type's description,
// or of a table that has that.
static bool go_find_type(struct layout_object *object, uint64_t tag, uint32_t *out_type,
                         bool *out_direct, struct layout_view *out)
{
    enum { DIRECT = 0x20 };
    static const char *const types[2] = { "_type", "Type" };
    static const char *const kinds[2] = { "kind", "Kind_" };
    struct layout_member member;
    uint64_t kind;
    uint32_t described = layout_target(object, object->members[1].type);
    if (go_member(object, described, types, &member)) {
        described = layout_target(object, member.type);
        if (!layout_word(object, tag + member.offset, &tag, out))
            return false;
    }
    if (object->image == NULL || object->dwarf == NULL ||
        !go_member(object, described, kinds, &member) ||
        !layout_number(object, tag + member.offset, 1, &kind, out))
        return false;
    *out_direct = kind & DIRECT;
    *out_type = type_runtime_of_go(object->dwarf, tag - object->image->bias);
    return *out_type != TYPE_UNKNOWN_INDEX;
}

// go_read_interface reads an interface, which holds a value of any type. A pointer in
// it is shown as what it leads to.
static void go_read_interface(struct layout_object *object, struct layout_view *out)
{
    uint64_t data;
    uint64_t tag;
    uint32_t type;
    bool direct;
    out->form = LAYOUT_POINTER; // null is one without a type
    if (!layout_field(object, 0, &data, out) || !layout_field(object, 1, &tag, out) ||
        tag == 0)
        return;
    out->form = LAYOUT_CHOICE;
    if (!go_find_type(object, tag, &type, &direct, out)) {
        out->kind = NULL;
        return;
    }
    uint32_t target = layout_target(object, type);
    if (object->table->types[type].name[0] == 0) {
        out->kind = NULL; // a function
        return;
    }
    out->choice = object->table->types[type].name;
    if (direct && data != 0 && layout_size(object, target) != 0)
        (void)layout_add(out, target, data);
    else
        (void)layout_add(out, type,
                         direct ? object->address + object->members[0].offset : data);
}

bool layout_go_named(struct layout_object *object)
{
    static const struct layout_row text = {
        "", "string", layout_read_text, { "str", "len" }
    };
    static const struct layout_row slice = {
        "", "slice", layout_read_counted, { "array", "len", "cap" }
    };
    return strchr(object->table->types[object->type].name, '.') != NULL &&
           (layout_fits(object, &text) || layout_fits(object, &slice));
}

const struct layout_row layout_go[] = {
    { "string", "string", layout_read_text, { "str", "len" } },
    { "[]", "slice", layout_read_counted, { "array", "len" } },
    { "hash<", "map", go_read_buckets, { "count", "B", "buckets", "oldbuckets" } },
    { "map<", "map", go_read_groups, { "used", "dirPtr", "dirLen" } },
    { "hchan<",
      "chan",
      go_read_channel,
      { "qcount", "dataqsiz", "buf", "recvx", "closed", "recvq.first" } },
    { "runtime.iface", "interface", go_read_interface, { "data", "tab" } },
    { "runtime.eface", "interface", go_read_interface, { "data", "_type" } },
    { 0 },
};
