// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_variable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

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
    append_quoted_variable(out, variable->expression);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (variable->role == NULL || variable->function == NULL ||
            strcmp(variable->role, roles[i].role) != 0)
            continue;
        text_append_string(out, roles[i].words);
        append_variable_name(out, variable->function);
        text_append_string(out, ",");
    }
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
    if (variable->elements == 0)
        return;
    text_append_string(out, ", the array ");
    if (variable->array != NULL) {
        text_append_string(out, "`");
        append_variable_name(out, variable->array);
        text_append_string(out, "` ");
    }
    text_append_string(out, "has ");
    append_grouped(out, variable->elements);
}
