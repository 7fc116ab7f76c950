// SPDX-License-Identifier: Apache-2.0
#include "report/value/value_text.h"

#include <inttypes.h>
#include <string.h>

#include "report/value/report.h"

enum {
    ELEMENTS_MAX = 16,
    SMALL_MEMBERS = 4,
    NESTED_MAX = 5, // containers in each other
};

bool value_text_is_scalar(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

const json_t *value_text_pointee(const json_t *value)
{
    return report_string(value, "address") != NULL ? json_object_get(value, "value")
                                                   : NULL;
}

static void append_quoted_value(const char *text, struct text *out)
{
    text_append_string(out, "\"");
    text_append_string(out, text);
    text_append_string(out, "\"");
}

// is_number_text is true for a string in hex: numbers that JSON cannot hold, and
// addresses.
static bool is_number_text(const char *text)
{
    return strncmp(text, "0x", 2) == 0 &&
           strspn(text + 2, "0123456789abcdef") == strlen(text + 2);
}

static void append_scalar(const json_t *value, struct text *out)
{
    const char *text = json_string_value(value);
    if (text != NULL && is_number_text(text))
        text_append_string(out, text);
    else if (text != NULL)
        append_quoted_value(text, out);
    else if (json_is_integer(value))
        text_appendf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        text_appendf(out, "%.10g", json_real_value(value));
    else if (json_is_boolean(value))
        text_append_string(out, json_is_true(value) ? "true" : "false");
    else
        text_append_string(out, "NULL");
}

// is_short returns true if a value is a scalar, or a pointer to one.
static bool is_short(const json_t *value)
{
    const json_t *to = value_text_pointee(value);
    bool pointer = report_string(value, "address") != NULL;
    return value_text_is_scalar(value) ||
           (pointer && (to == NULL || value_text_is_scalar(to)));
}

// append_short writes a scalar, or a pointer and the scalar that it points to.
static void append_short(const json_t *value, struct text *out)
{
    const json_t *to = value_text_pointee(value);
    if (value_text_is_scalar(value)) {
        append_scalar(value, out);
        return;
    }
    text_append_string(out, report_string(value, "address"));
    if (to == NULL)
        return;
    text_append_string(out, " ");
    append_scalar(to, out);
}

// append_value_error reports why there is no value, or that its type is not known.
static void append_value_error(const char *error, struct text *out)
{
    if (strcmp(error, "no-type") == 0)
        text_append_string(out, "?");
    else
        text_appendf(out, "(%s)", error);
}

// is_small returns true if a structure is shown in one line: {x = 1, y = 2}.
static bool is_small(const json_t *value)
{
    const char *key;
    json_t *member;
    if (!json_is_object(value) || json_object_size(value) > SMALL_MEMBERS ||
        report_string(value, "address") != NULL || report_string(value, "container"))
        return false;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (!is_short(member))
            return false;
    }
    return true;
}

static void append_small(const json_t *value, struct text *out)
{
    const char *key;
    json_t *member;
    const char *separator = "{";
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        text_append_string(out, separator);
        text_append_string(out, key);
        text_append_string(out, " = ");
        append_short(member, out);
        separator = ", ";
    }
    text_append_string(out, *separator == '{' ? "{}" : "}");
}

// append_pointer writes a pointer and, if it is small, what it points to.
static void append_pointer(const json_t *value, struct text *out)
{
    const json_t *to = value_text_pointee(value);
    const char *error = report_string(value, "error");
    long long owners = report_integer(value, "owners", -1);
    text_append_string(out, report_string(value, "address"));
    if (owners >= 0)
        text_appendf(out, owners == 1 ? " (1 owner)" : " (%lld owners)", owners);
    if (to != NULL && value_text_is_scalar(to)) {
        text_append_string(out, " ");
        append_scalar(to, out);
    } else if (is_small(to)) {
        text_append_string(out, " ");
        append_small(to, out);
    }
    if (error != NULL) {
        text_append_string(out, " (");
        text_append_string(out, error);
        text_append_string(out, ")");
    }
    if (json_is_true(json_object_get(value, "seen")))
        text_append_string(out, " (above)");
}

// append_elements writes an array whose elements are not structures.
static void append_elements(const json_t *array, struct text *out)
{
    size_t count = json_array_size(array);
    text_append_string(out, "[");
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_array_get(array, i);
        const json_t *more = json_object_get(element, "more");
        text_append_string(out, i != 0 ? ", " : "");
        if (i == ELEMENTS_MAX || json_is_integer(more)) {
            text_append_string(out, "...");
            break;
        }
        append_scalar(element, out);
    }
    text_append_string(out, "]");
}

// append_begin writes the first members of a structure that does not fit on a line:
// {id = 42, name = "alice", prices = {...}, ...}.
static void append_begin(const json_t *value, struct text *out)
{
    const char *key;
    json_t *member;
    size_t count = 0;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (count == SMALL_MEMBERS)
            break;
        text_append_string(out, count++ == 0 ? "{" : ", ");
        text_append_string(out, key);
        text_append_string(out, " = ");
        if (value_text_is_scalar(member))
            append_scalar(member, out);
        else if (report_string(member, "address") != NULL)
            append_pointer(member, out);
        else if (report_string(member, "error") != NULL &&
                 report_string(member, "container") == NULL)
            append_value_error(report_string(member, "error"), out);
        else if (is_small(member))
            append_small(member, out);
        else
            text_append_string(out, json_is_array(member) ? "[...]" : "{...}");
    }
    text_append_string(out, count < json_object_size(value) ? ", ...}" : "}");
}

// append_rest writes what is wrong with a container, and how many it holds, unless all
// of them were written.
static void append_rest(const json_t *value, size_t shown, struct text *out)
{
    const char *damage = report_string(value, "damaged");
    const char *error = report_string(value, "error");
    long long least = report_integer(value, "size_at_least", -1);
    long long size = report_integer(value, "size", -1);
    if (least >= 0)
        text_appendf(out, " of %lld or more", least);
    else if (size >= 0 && (unsigned long long)size != shown)
        text_appendf(out, " of %lld", size);
    if (error != NULL)
        text_appendf(out, " (%s)", error);
    if (damage != NULL)
        text_appendf(out, " (damaged: %s)", damage);
}

// elements_of is the elements of a container, or its pairs; NULL: it has none.
static const json_t *elements_of(const json_t *value)
{
    const json_t *items = json_object_get(value, "items");
    if (report_string(value, "container") == NULL)
        return NULL;
    return json_is_array(items) ? items : json_object_get(value, "entries");
}

static void append_leaf(const json_t *value, struct text *out)
{
    const char *error = report_string(value, "error");
    if (value_text_is_scalar(value)) {
        append_scalar(value, out);
    } else if (report_string(value, "address") != NULL) {
        append_pointer(value, out);
    } else if (json_is_array(value) && value_text_is_scalar(json_array_get(value, 0))) {
        append_elements(value, out);
    } else if (report_string(value, "container") != NULL) {
        bool empty = json_object_size(value) == 1; // an optional without a value
        text_append_string(out, empty ? "none" : report_string(value, "container"));
        append_rest(value, 0, out);
    } else if (error != NULL) {
        append_value_error(error, out);
    } else if (is_small(value)) {
        append_small(value, out);
    } else if (json_is_object(value)) {
        append_begin(value, out);
    } else {
        text_append_string(out, "[...]");
    }
}

// value_level is a value whose elements are being written, or one that is in
// parentheses.
struct value_level {
    const json_t *value;
    const json_t *elements; // NULL: parentheses
    size_t next;
};

// begin_open_value begins a value. True: it has elements or parentheses, which are to
// be written and closed.
static bool begin_open_value(const json_t **value, struct value_level *level,
                             struct text *out)
{
    const json_t *of = *value;
    const json_t *elements = elements_of(of);
    const char *choice = report_string(of, "choice");
    *level = (struct value_level){ .value = of, .elements = elements };
    if (elements != NULL) {
        bool pairs = json_object_get(of, "entries") == elements;
        text_append_string(out, pairs ? "{" : "[");
        return true;
    }
    *value = json_object_get(of, "value");
    if (choice != NULL) // an enum: Some(3)
        text_append_string(out, choice);
    if (*value == NULL)
        return false;
    text_append_string(out, choice != NULL ? "(" : "");
    return true;
}

// is_open returns true if a value is written with others in it: a container, an enum,
// an optional.
static bool is_open(const json_t *value)
{
    return report_string(value, "container") != NULL &&
           report_string(value, "address") == NULL &&
           (elements_of(value) != NULL || json_object_get(value, "value") != NULL ||
            report_string(value, "choice") != NULL);
}

static void close_value(const struct value_level *level, struct text *out)
{
    if (level->elements == NULL) {
        text_append_string(out,
                           report_string(level->value, "choice") != NULL ? ")" : "");
        append_rest(level->value, 1, out);
        return;
    }
    bool pairs = json_object_get(level->value, "entries") == level->elements;
    size_t size = json_array_size(level->elements);
    if (report_integer(level->value, "size", 0) > (long long)size)
        text_append_string(out, size != 0 ? ", ..." : "...");
    text_append_string(out, pairs ? "}" : "]");
    append_rest(level->value, size, out);
}

// next_element gives the next element of a level, after writing what is before it.
static const json_t *next_element(struct value_level *level, struct text *out)
{
    const json_t *element = json_array_get(level->elements, level->next);
    if (level->next++ != 0)
        text_append_string(out, ", ");
    if (json_object_get(level->value, "entries") != level->elements)
        return element;
    append_leaf(json_array_get(element, 0), out);
    text_append_string(out, ": ");
    return json_array_get(element, 1);
}

void value_text_append(const json_t *value, struct text *out)
{
    struct value_level levels[NESTED_MAX];
    size_t depth = 0;
    for (;;) {
        if (depth == NESTED_MAX || !is_open(value))
            append_leaf(value, out);
        else if (begin_open_value(&value, &levels[depth], out) &&
                 levels[depth++].elements == NULL)
            continue; // value is what is in the parentheses
        while (depth > 0 &&
               (levels[depth - 1].elements == NULL ||
                levels[depth - 1].next == json_array_size(levels[depth - 1].elements)))
            close_value(&levels[--depth], out);
        if (depth == 0)
            return;
        value = next_element(&levels[depth - 1], out);
    }
}

bool value_text_is_whole(const json_t *value)
{
    return is_small(value) || report_string(value, "container") != NULL;
}

const char *value_text_reason(const json_t *variable)
{
    static const struct {
        const char *reason;
        const char *words;
    } reasons[] = {
        { "clobbered", "its register was overwritten" },
        { "optimized-out", "the compiler left it out" },
        { "unreadable", "its memory could not be read" },
        { "aggregate-split", "it is passed in several places" },
        { "clone", "the compiler changed the function's parameters" },
        { "ambiguous-symbol", "several functions have this name" },
        { "ambiguous-type", "several types have this name" },
        { "no-location", "the compiler keeps it nowhere here" },
        { "no-type", "its type is not known" },
    };
    const char *reason = report_string(variable, "reason");
    for (size_t i = 0; reason != NULL && i < sizeof(reasons) / sizeof(reasons[0]);
         i++) {
        if (strcmp(reasons[i].reason, reason) == 0)
            return reasons[i].words;
    }
    return reason;
}

int64_t value_text_scope(const json_t *variable)
{
    return report_integer(variable, "scope", 0);
}

bool value_text_is_known(const json_t *variable)
{
    return json_object_get(variable, "value") != NULL ||
           json_object_get(variable, "entry_value") != NULL;
}

bool value_text_is_certain(const json_t *variable)
{
    const char *confidence = report_string(variable, "confidence");
    const json_t *value = json_object_get(variable, "value");
    const json_t *entry = json_object_get(variable, "entry_value");
    bool sure = confidence == NULL ||
                (strcmp(confidence, "likely") != 0 && strcmp(confidence, "guess") != 0);
    return value != NULL && sure && (entry == NULL || json_equal(value, entry));
}

void value_text_append_name(const json_t *variable, struct text *out)
{
    const char *name = report_string(variable, "name");
    if (name != NULL)
        text_append_string(out, name);
    else
        text_appendf(out, "#%" PRId64, report_integer(variable, "index", 0));
}

void value_text_append_state(const json_t *variable, struct text *out)
{
    const char *confidence = report_string(variable, "confidence");
    const char *reason = value_text_reason(variable);
    const json_t *value = json_object_get(variable, "value");
    const json_t *entry = json_object_get(variable, "entry_value");
    if (value != NULL)
        value_text_append(value, out);
    if (entry != NULL && (value == NULL || !json_equal(value, entry))) {
        text_append_string(out, value != NULL ? " (" : "");
        value_text_append(entry, out);
        text_append_string(out, value != NULL ? " when called)" : " when called");
    }
    if (!value_text_is_known(variable)) {
        text_append_string(out, "?");
        if (reason != NULL)
            text_appendf(out, " (%s)", reason);
    }
    if (confidence != NULL && strcmp(confidence, "likely") == 0)
        text_append_string(out, " (likely)");
    if (confidence != NULL && strcmp(confidence, "guess") == 0)
        text_append_string(out, " (a guess)");
}
