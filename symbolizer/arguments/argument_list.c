// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_list.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/arguments/argument_value.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/values/type_value.h"

// list_key is what a key of argument_share is of.
enum list_key { LIST_WORD, LIST_VARIABLE, LIST_ARRAY, LIST_CALL };

// LIST_SHARED_MAX is the longest list that is looked for among those before.
enum { LIST_SHARED_MAX = ARGUMENT_CALLS_MAX };

void argument_list_begin(struct argument_list *list, const struct argument_stack *stack,
                         const struct argument_image *image)
{
    *list = (struct argument_list){ .stack = stack, .table = &image->types.table };
}

// list_share makes value, which it takes, one of those that are shared. False: memory
// does not suffice, and it is not.
static bool list_share(struct argument_share *share, const void *key, size_t size,
                       json_t *value)
{
    return value != NULL && argument_share_add(share, key, size, value);
}

// list_set_word sets a member to a literal, of which there is one value.
static void list_set_word(struct argument_share *share, json_t *object, const char *key,
                          const char *word)
{
    const struct {
        uint64_t kind;
        const char *word;
    } of = { LIST_WORD, word };
    if (word == NULL)
        return;
    json_t *value = argument_share_find(share, &of, sizeof(of));
    if (value == NULL) {
        value = json_string(word);
        (void)list_share(share, &of, sizeof(of), value);
    }
    (void)json_object_set_new_nocheck(object, key, value);
}

// list_text_of gives the text of a value that is a string of the program: an array of
// characters, an object that holds text, or what a pointer to characters points to.
// NULL: it is none.
static json_t *list_text_of(const struct argument_list *list,
                            const struct argument *argument)
{
    json_t *value = argument->values[ARGUMENT_NOW];
    json_t *pointed = json_object_get(value, "value");
    if (json_is_object(value))
        return json_is_string(pointed) ? pointed : NULL;
    return json_is_string(value) && type_value_holds_text(list->table, argument->type)
               ? value
               : NULL;
}

// list_describe sets what is the same in all frames at a place.
static void list_describe(const struct argument_list *list,
                          const struct argument *argument, json_t *object)
{
    const struct argument_planned *planned = argument->planned;
    CH_CLEANUP(text_deinit) struct text type = { 0 };
    if (planned != NULL) {
        (void)json_object_set_nocheck(object, "index", planned->index);
        if (planned->shown_name != NULL)
            (void)json_object_set_nocheck(object, "name", planned->shown_name);
        if (planned->shown_type != NULL)
            (void)json_object_set_nocheck(object, "type", planned->shown_type);
        if (planned->scope != 0)
            (void)json_object_set_new_nocheck(object, "scope",
                                              json_integer(planned->scope));
        return;
    }
    (void)json_object_set_new(object, "index",
                              json_integer((json_int_t)json_array_size(list->all)));
    if (argument->name != NULL)
        (void)json_object_set_new(object, "name", json_string(argument->name));
    if (argument->type != TYPE_UNKNOWN_INDEX &&
        type_name(list->table, argument->type, &type) == CH_OK)
        (void)json_object_set_new(object, "type", json_string(type.bytes));
}

// list_value takes a value of the argument; NULL: it has none.
static json_t *list_value(const struct argument_list *list,
                          const struct argument *argument, enum argument_when when)
{
    return argument->is_plain[when]
               ? argument_value_of_plain(list->stack, list->table, argument, when)
               : argument->values[when];
}

// list_is_masked returns true if the value is a pointer whose text was masked.
static bool list_is_masked(const json_t *value)
{
    const char *text = json_string_value(json_object_get(value, "value"));
    return text != NULL && strcmp(text, "***") == 0;
}

static json_t *list_make_variable(const struct argument_list *list,
                                  const struct argument *argument)
{
    struct argument_share *share = list->stack->share;
    json_t *object = json_object();
    json_t *text = json_incref(list_text_of(list, argument));
    json_t *value = list_value(list, argument, ARGUMENT_NOW);
    json_t *entry = list_value(list, argument, ARGUMENT_AT_ENTRY);
    share->masked = share->masked || list_is_masked(value) || list_is_masked(entry);
    list_describe(list, argument, object);
    if (value != NULL)
        (void)json_object_set_new_nocheck(object, "value", value);
    if (text != NULL)
        (void)json_object_set_new_nocheck(object, "text", text);
    if (entry != NULL)
        (void)json_object_set_new_nocheck(object, "entry_value", entry);
    list_set_word(share, object, "source", argument->source);
    list_set_word(share, object, "confidence", argument->confidence);
    list_set_word(share, object, "reason", argument->reason);
    return object;
}

// variable_key is what the object of an argument is made from.
struct variable_key {
    uint64_t kind;
    const void *of[4];
    uint64_t is_plain[ARGUMENT_WHENS];
    uint8_t plain[ARGUMENT_WHENS * ARGUMENT_PLAIN_MAX]; // those that there are
};

// variable_key_fill gives the size of the key.
static size_t variable_key_fill(const struct argument *argument,
                                struct variable_key *out)
{
    const void *const of[] = { argument->planned, argument->source,
                               argument->confidence, argument->reason };
    size_t size = 0;
    out->kind = LIST_VARIABLE;
    memcpy(out->of, of, sizeof(of));
    for (int i = 0; i < ARGUMENT_WHENS; i++) {
        out->is_plain[i] = argument->is_plain[i];
        if (!argument->is_plain[i])
            continue;
        memcpy(out->plain + size, argument->plain[i], argument->planned->plain);
        size += argument->planned->plain;
    }
    return offsetof(struct variable_key, plain) + size;
}

// list_variable gives the object of an argument. out_own: no other frame has it, as its
// value depends on more than its bytes.
static json_t *list_variable(const struct argument_list *list,
                             const struct argument *argument, bool *out_own)
{
    struct argument_share *share = list->stack->share;
    struct variable_key key;
    *out_own = argument->planned == NULL || argument->values[ARGUMENT_NOW] != NULL ||
               argument->values[ARGUMENT_AT_ENTRY] != NULL;
    if (*out_own)
        return list_make_variable(list, argument);
    size_t size = variable_key_fill(argument, &key);
    json_t *made = argument_share_find(share, &key, size);
    if (made != NULL)
        return made;
    made = list_make_variable(list, argument);
    *out_own = !list_share(share, &key, size, made);
    return made;
}

void argument_list_add(struct argument_list *list, struct argument *argument)
{
    bool own;
    if (list->all == NULL)
        list->all = json_array();
    (void)json_array_append_new(list->all, list_variable(list, argument, &own));
    list->own = list->own || own;
}

// list_equal gives an array, which it takes, or an equal one of shared values. out_own:
// no other is equal.
static json_t *list_equal(struct argument_share *share, json_t *array, bool *out_own)
{
    uintptr_t key[1 + LIST_SHARED_MAX] = { LIST_ARRAY };
    size_t count = json_array_size(array);
    *out_own = true;
    if (array == NULL || count > LIST_SHARED_MAX)
        return array;
    for (size_t i = 0; i < count; i++)
        key[1 + i] = (uintptr_t)json_array_get(array, i);
    size_t size = (1 + count) * sizeof(key[0]);
    json_t *equal = argument_share_find(share, key, size);
    *out_own = equal == NULL && !list_share(share, key, size, array);
    if (equal == NULL)
        return array;
    json_decref(array);
    return equal;
}

void argument_list_end(struct argument_list *list)
{
    if (list->all != NULL && !list->own)
        list->all = list_equal(list->stack->share, list->all, &list->own);
}

json_t *argument_list_call(const struct argument_stack *stack,
                           const struct argument_lists *lists, size_t frame, bool tail,
                           bool *out_own)
{
    struct argument_share *share = stack->share;
    json_t *arguments = lists->arguments.all;
    json_t *locals = lists->locals.all;
    json_t *globals = lists->globals.all;
    const struct {
        uint64_t kind;
        const json_t *lists[3];
        uint64_t frame;
        uint64_t tail;
    } key = { LIST_CALL, { arguments, locals, globals }, frame, tail };
    *out_own = lists->arguments.own || lists->locals.own || lists->globals.own;
    json_t *call = *out_own ? NULL : argument_share_find(share, &key, sizeof(key));
    if (call != NULL) {
        json_decref(arguments);
        json_decref(locals);
        json_decref(globals);
        return call;
    }
    call = json_pack("{s:I, s:o*, s:o*, s:o*}", "frame", (json_int_t)frame, "arguments",
                     arguments, "locals", locals, "globals", globals);
    if (tail)
        (void)json_object_set_new(call, "tail_call", json_true());
    if (!*out_own)
        *out_own = !list_share(share, &key, sizeof(key), call);
    return call;
}

json_t *argument_list_thread(struct argument_share *share, json_t *calls)
{
    bool own;
    return list_equal(share, calls, &own);
}

enum { SHARE_FIRST = 256 };

static uint64_t share_hash(const uint8_t *key, size_t size)
{
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, key, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        key += sizeof(word);
    }
    for (; size > 0; size--)
        hash = (hash ^ *key++) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

// share_slot gives the slot of a key, or the free one where it belongs.
static struct argument_shared *share_slot(const struct argument_share *share,
                                          uint64_t hash, const void *key, size_t size)
{
    size_t at = (size_t)hash & (share->room - 1);
    for (;; at = (at + 1) & (share->room - 1)) {
        struct argument_shared *slot = &share->slots[at];
        if (slot->value == NULL ||
            (slot->hash == hash && slot->size == size &&
             memcmp(share->keys.bytes + slot->key, key, size) == 0))
            return slot;
    }
}

// share_reserve keeps the table at most half full.
static bool share_reserve(struct argument_share *share)
{
    if (2 * (share->count + 1) <= share->room)
        return true;
    size_t room = share->room != 0 ? 2 * share->room : SHARE_FIRST;
    struct argument_shared *before = share->slots;
    struct argument_shared *slots = calloc(room, sizeof(*slots));
    if (slots == NULL)
        return false;
    size_t count = share->room;
    share->slots = slots;
    share->room = room;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)before[i].hash & (room - 1);
        while (before[i].value != NULL && slots[at].value != NULL)
            at = (at + 1) & (room - 1);
        if (before[i].value != NULL)
            slots[at] = before[i];
    }
    free(before);
    return true;
}

void argument_share_deinit(struct argument_share *share)
{
    for (size_t i = 0; i < share->room; i++)
        json_decref(share->slots[i].value);
    free(share->slots);
    text_deinit(&share->keys);
    *share = (struct argument_share){ 0 };
}

json_t *argument_share_find(const struct argument_share *share, const void *key,
                            size_t size)
{
    if (share->room == 0)
        return NULL;
    return json_incref(share_slot(share, share_hash(key, size), key, size)->value);
}

bool argument_share_add(struct argument_share *share, const void *key, size_t size,
                        json_t *value)
{
    size_t at = share->keys.size;
    if (!share_reserve(share))
        return false;
    text_append(&share->keys, key, size);
    if (!text_ok(&share->keys))
        return false;
    uint64_t hash = share_hash(key, size);
    *share_slot(share, hash, key, size) = (struct argument_shared){
        .hash = hash, .key = at, .size = size, .value = json_incref(value)
    };
    share->count++;
    return true;
}
