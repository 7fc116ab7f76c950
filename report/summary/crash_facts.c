// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_facts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/system/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/summary/readable_name.h"

static void append_origin_value(const struct crash_origin *o, struct text *out)
{
    const char *name = o->register_name != NULL ? o->register_name : "the value";
    bool returned = strcmp(name, "return") == 0;
    text_append_string(out, returned ? "the return address" : name);
}

static void append_freed(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_append_string(out, " is ");
    if (o->offset > 0)
        text_appendf(out, "%" PRId64 " bytes after ", o->offset);
    text_append_string(out, "what malloc put into freed memory");
    if (o->address != NULL)
        text_appendf(out, " at %s", o->address);
}

static void append_text_value(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_append_string(out, " holds text");
    if (o->text != NULL)
        text_appendf(out, ", \"%s\"", o->text);
}

static void append_fill(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_append_string(out, " holds a pattern that memory is filled with");
    if (o->filler != NULL)
        text_appendf(out, " (%s)", o->filler);
}

// append_whole reports what the pointer was, and how that is known.
static void append_whole(const struct crash_origin *o, struct text *out)
{
    if (o->address == NULL)
        return;
    text_append_string(out, o->address);
    if (o->holder == NULL)
        return;
    if (strcmp(o->holder, "malloc") == 0)
        text_append_string(out, ", which malloc has given out");
    else if (strcmp(o->holder, "stack") == 0)
        text_append_string(out, ", which stands on the stack");
    else
        text_appendf(out, ", which is in %s", o->holder);
}

static void append_cut(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    if (o->address != NULL) {
        text_append_string(out, " is the lower half of a pointer, ");
        append_whole(o, out);
    }
    if (o->variable == NULL)
        return;
    text_appendf(out, "%s was taken from `%s`, which has 4 bytes",
                 o->address != NULL ? "; it" : "", o->variable);
    if (o->file != NULL)
        text_appendf(out, ", at %s:%" PRId64, file_name(o->file), o->line);
}

static void append_flip(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_appendf(out, " differs by bit %" PRId64 " alone from ", o->bit);
    append_whole(o, out);
}

static void append_failed_map(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_append_string(out, " is -1, which mmap returns when it fails (MAP_FAILED)");
}

static void append_signed(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_append_string(out, " is what a failed authentication leaves of a signed "
                            "pointer");
    if (o->address != NULL)
        text_appendf(out, " to %s", o->address);
}

static void append_guard(const struct crash_origin *o, struct text *out)
{
    text_appendf(out, "the address is in the guard page of thread %" PRId64 "'s stack",
                 o->thread);
}

static void append_offset(const struct crash_origin *o, struct text *out)
{
    text_appendf(out, "%" PRId64 " bytes from a null pointer", o->offset);
    if (o->member != NULL)
        text_appendf(out, ", `%s`", o->member);
}

static void append_freed_stack(const struct crash_origin *o, struct text *out)
{
    append_origin_value(o, out);
    text_append_string(out, " was read");
    if (o->address != NULL)
        text_appendf(out, " at %s", o->address);
    text_append_string(out, ", below the stack pointer: from a variable of a function "
                            "that has returned");
}

static void append_unloaded(const struct crash_origin *o, struct text *out)
{
    text_appendf(out, "%s was there, and was unloaded",
                 o->image != NULL ? o->image : "a library");
}

bool crash_origin_append(const struct crash_origin *o, struct text *out)
{
    static const struct {
        const char *kind;
        void (*append)(const struct crash_origin *, struct text *);
    } kinds[] = {
        { "freed-chunk", append_freed },
        { "text", append_text_value },
        { "fill", append_fill },
        { "truncated", append_cut },
        { "bit-flip", append_flip },
        { "map-failed", append_failed_map },
        { "guard-page", append_guard },
        { "failed-signature", append_signed },
        { "null-offset", append_offset },
        { "freed-stack", append_freed_stack },
        { "unloaded-image", append_unloaded },
    };
    for (size_t i = 0; o->kind != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(o->kind, kinds[i].kind) != 0)
            continue;
        kinds[i].append(o, out);
        return true;
    }
    return false;
}

bool crash_origin_is_said(const struct crash_origin *origin)
{
    return origin->kind != NULL && strcmp(origin->kind, "null-offset") == 0;
}

// NAME_BYTES: no more of a name is said in a sentence.
enum { NAME_BYTES = 120 };

static void append_variable_name(struct text *out, const char *name)
{
    size_t size = strlen(name);
    size_t kept = utf8_cut(name, size, NAME_BYTES);
    text_append(out, name, kept);
    text_append_string(out, kept < size ? "..." : "");
}

// append_grouped appends a number with commas: 4,294,967,295.
static void append_grouped(struct text *out, uint64_t number)
{
    char digits[32];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        text_append_string(out, i != 0 && (length - i) % 3 == 0 ? "," : "");
        text_append(out, &digits[i], 1);
    }
}

// append_quoted_variable appends the expression. The pointer that compilers add to an
// object for its virtual functions has a name of theirs: `o->_vptr.Order`.
static void append_quoted_variable(struct text *out, const char *expression)
{
    static const char member[] = "_vptr";
    const char *pointer = strstr(expression, member);
    size_t before = pointer != NULL ? (size_t)(pointer - expression) : 0;
    bool arrow = before > 2 && memcmp(pointer - 2, "->", 2) == 0;
    bool dot = before > 1 && pointer[-1] == '.';
    if ((arrow || dot) && strpbrk(pointer + strlen(member), "[>") == NULL) {
        text_appendf(out, "the vtable pointer of `%s%.*s`", arrow ? "*" : "",
                     (int)(before - (arrow ? 2 : 1)), expression);
        return;
    }
    text_append_string(out, "`");
    append_variable_name(out, expression);
    text_append_string(out, "`");
}

// append_short_function appends a function's name without its parameters.
static void append_short_function(const char *function, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    readable_name_short(function, &name);
    append_variable_name(out, text_ok(&name) && name.size != 0 ? name.bytes : function);
}

// append_returned appends "what lookup returned", or "the pointer at what lookup
// returned". False: the variable is one.
static bool append_returned(const struct crash_variable *variable, struct text *out)
{
    bool leads = variable->role != NULL && strcmp(variable->role, "led-to") == 0;
    if (!leads && (variable->role == NULL || strcmp(variable->role, "returned") != 0))
        return false;
    text_append_string(out, leads ? "the pointer at what " : "what ");
    append_short_function(variable->expression, out);
    text_append_string(out, " returned");
    return true;
}

// append_variable_role appends who is at fault: "`p`, a local of f," or "`item->next`".
static void append_variable_role(const struct crash_variable *variable,
                                 struct text *out)
{
    static const struct {
        const char *role;
        const char *words;
    } roles[] = {
        { "local", ", a local of " },
        { "argument", ", an argument of " },
    };
    if (append_returned(variable, out))
        return;
    append_quoted_variable(out, variable->expression);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (variable->role == NULL || variable->function == NULL ||
            strcmp(variable->role, roles[i].role) != 0)
            continue;
        text_append_string(out, roles[i].words);
        append_short_function(variable->function, out);
        text_append_string(out, ",");
    }
}

// append_object appends "array `table`", "vector `numbers`", "block of malloc at `p`".
// True: it is the last.
static bool append_object(const char *container, const char *name, struct text *out)
{
    bool block = container != NULL && strcmp(container, "block") == 0;
    append_variable_name(out, container != NULL ? container : "array");
    text_append_string(out, block ? " of malloc" : "");
    if (name == NULL)
        return block;
    text_append_string(out, block ? " at `" : " `");
    append_variable_name(out, name);
    text_append_string(out, "`");
    return block;
}

// append_block_state appends what is known of a block that was freed.
static void append_block_state(const struct crash_variable *variable, struct text *out)
{
    static const char *const words[][2] = {
        { "stack", ", which is on the stack" },
        { "image", ", which is in the memory of a file" },
        { "misaligned", ", which is not aligned as blocks of malloc are" },
        { "text", ", and text is where its size was" },
        { "end", ", as that of end() is" },
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (variable->state != NULL && strcmp(variable->state, words[i][0]) == 0)
            text_append_string(out, words[i][1]);
    if (variable->block_bytes != 0)
        text_appendf(out, ", a block of %" PRIu64 " bytes", variable->block_bytes);
    if (variable->text == NULL)
        return;
    text_append_string(out, ": \"");
    append_variable_name(out, variable->text);
    text_append_string(out, "\"");
}

void crash_variable_append(const struct crash_variable *variable, struct text *out)
{
    append_variable_role(variable, out);
    text_append_string(out, " is ");
    if (variable->is_number) {
        text_append_string(out, variable->number < 0 ? "-" : "");
        append_grouped(out, variable->number < 0 ? -(uint64_t)variable->number
                                                 : (uint64_t)variable->number);
    } else {
        append_variable_name(out,
                             variable->address != NULL ? variable->address : "null");
    }
    append_block_state(variable, out);
    if (variable->elements == 0 && variable->container == NULL)
        return;
    text_append_string(out, ", the ");
    bool block = append_object(variable->container, variable->array, out);
    text_append_string(out, block ? " has room for " : " has ");
    append_grouped(out, variable->elements);
    text_append_string(out, variable->bytes ? " bytes" : "");
}

void crash_nearest_append(const struct crash_nearest *nearest, struct text *out)
{
    if (nearest->distance != 0)
        append_grouped(out, nearest->distance);
    text_append_string(out, nearest->distance == 0   ? "right "
                            : nearest->distance == 1 ? " byte "
                                                     : " bytes ");
    append_variable_name(out, nearest->side);
    text_append_string(out, " the ");
    (void)append_object(nearest->container, nearest->object, out);
    text_append_string(out, " (");
    append_grouped(out, nearest->bytes);
    text_append_string(out, " bytes)");
}

void crash_chunk_append(const struct crash_chunk *chunk, struct text *out)
{
    bool size = chunk->field == NULL || strcmp(chunk->field, "size") == 0;
    if (chunk->address == 0)
        return;
    if (chunk->size != 0)
        text_appendf(out,
                     "; the block of %" PRIu64 " bytes at 0x%" PRIx64
                     " was written to after it was freed: its first 8 bytes are"
                     " 0x%" PRIx64,
                     chunk->size, chunk->address, chunk->value);
    else
        text_appendf(out, "; the %s of the chunk at 0x%" PRIx64 " is 0x%" PRIx64,
                     size ? "size" : "copy of the previous chunk's size in front",
                     chunk->address, chunk->value);
    if (chunk->text != NULL) {
        text_append_string(out, " (\"");
        append_variable_name(out, chunk->text);
        text_append_string(out, "\")");
    } else if (chunk->is_text) {
        text_append_string(out, " (text)");
    }
    if (chunk->before == 0)
        return;
    text_appendf(out, ", after the %" PRIu64 " bytes at 0x%" PRIx64, chunk->before_size,
                 chunk->before);
    if (chunk->runs_on)
        text_append_string(out, ", whose text runs on over it");
    if (chunk->before_text == NULL)
        return;
    text_append_string(out, ": \"");
    append_variable_name(out, chunk->before_text);
    text_append_string(out, "\"");
}

void crash_return_append(const struct crash_return *overwritten, struct text *out)
{
    if (overwritten->function != NULL) {
        text_append_string(out, "the return address of ");
        append_variable_name(out, overwritten->function);
        text_append_string(out, " was ");
    } else {
        text_append_string(out, "a return address was ");
    }
    text_appendf(out, "0x%" PRIx64 ", found 0x%" PRIx64, overwritten->expected,
                 overwritten->found);
}
