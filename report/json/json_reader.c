// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_reader.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

// INTEGER_DIGITS is how many digits every integer of that length has room for.
enum { KEY_BYTES = 128, INTEGER_DIGITS = 18 };

// span is a piece of the document.
struct span {
    const char *bytes;
    size_t size;
};

// json_level is an array or object that is read.
struct json_level {
    json_t *value;
    size_t count; // of the values it has so far
    bool object;
};

// reading is a document that is read up to at. root owns all that was made of it.
struct reading {
    const char *at;
    const char *end;
    json_t *root;
    struct span key; // of the member that is read
    size_t depth;
    struct json_level levels[JSON_READER_DEPTH]; // around at
};

// peek_token is the first byte that is no white space, or 0 at the end. Reports have
// next to none.
static inline char peek_token(struct reading *reading)
{
    if (reading->at < reading->end && (unsigned char)*reading->at > ' ')
        return *reading->at;
    while (reading->at < reading->end && (*reading->at == ' ' || *reading->at == '\n' ||
                                          *reading->at == '\r' || *reading->at == '\t'))
        reading->at++;
    return reading->at < reading->end ? *reading->at : 0;
}

static inline bool skip_token(struct reading *reading, char token)
{
    bool found = peek_token(reading) == token;
    reading->at += found;
    return found;
}

// read_by_jansson reads one value.
static json_t *read_by_jansson(struct span span)
{
    return json_loadb(span.bytes, span.size, JSON_DECODE_ANY, NULL);
}

// special_bytes sets the highest bit of the first byte of word, which is its lowest,
// that needs to be looked at: a control character, a quote, a backslash or a byte above
// ASCII. Bits above that one mean nothing, as a subtraction borrows from the next byte.
static uint64_t special_bytes(uint64_t word)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t control = word - each * ' ';
    uint64_t quote = (word ^ each * '"') - each;
    uint64_t backslash = (word ^ each * '\\') - each;
    return (word | control | quote | backslash) & each * 0x80;
}

static bool is_special(unsigned char byte)
{
    return byte < ' ' || byte >= 0x80 || byte == '"' || byte == '\\';
}

// find_special finds the first byte of a string that needs to be looked at; all others
// are ASCII that stands for itself. Most of a report is such, so eight are tested at
// once.
static const char *find_special(const char *at, const char *end)
{
    uint64_t word;
    for (; (size_t)(end - at) >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        uint64_t special = special_bytes(le64toh(word));
        if (special != 0)
            return at + __builtin_ctzll(special) / 8;
    }
    while (at < end && !is_special((unsigned char)*at))
        at++;
    return at;
}

// skip_quoted skips a string and gives what is between its quotes. plain: it has no
// escapes; those are not judged here.
static bool skip_quoted(struct reading *reading, struct span *out, bool *plain)
{
    const char *at = reading->at + 1;
    const char *end = reading->end;
    *plain = true;
    for (;;) {
        size_t size = 0;
        uint32_t character;
        at = find_special(at, end);
        if (at == end)
            return false;
        if (*at == '"')
            break;
        if ((unsigned char)*at >= 0x80)
            size = utf8_decode(at, (size_t)(end - at), &character);
        else if (*at == '\\' && end - at > 1)
            size = 2;
        if (size == 0)
            return false;
        *plain = *plain && *at != '\\';
        at += size;
    }
    *out = (struct span){ reading->at + 1, (size_t)(at - reading->at) - 1 };
    reading->at = at + 1;
    return true;
}

static json_t *read_json_string(struct reading *reading)
{
    struct span span;
    bool plain;
    if (!skip_quoted(reading, &span, &plain))
        return NULL;
    return plain ? json_stringn_nocheck(span.bytes, span.size)
                 : read_by_jansson((struct span){ span.bytes - 1, span.size + 2 });
}

static bool is_of_number(const struct reading *reading, const char *at)
{
    return at < reading->end && memchr("0123456789+-.eE", *at, 15) != NULL;
}

// read_odd_number has jansson read what is no short integer, or no number.
static json_t *read_odd_number(struct reading *reading)
{
    const char *start = reading->at;
    while (is_of_number(reading, reading->at))
        reading->at++;
    return read_by_jansson((struct span){ start, (size_t)(reading->at - start) });
}

static json_t *read_json_number(struct reading *reading)
{
    const char *digits = reading->at + (*reading->at == '-');
    const char *at = digits;
    json_int_t value = 0;
    while (at < reading->end && at - digits < INTEGER_DIGITS && *at >= '0' &&
           *at <= '9')
        value = value * 10 + (*at++ - '0');
    if (at == digits || (*digits == '0' && at - digits > 1) ||
        is_of_number(reading, at))
        return read_odd_number(reading);
    bool negative = digits != reading->at;
    reading->at = at;
    return json_integer(negative ? -value : value);
}

static json_t *read_json_word(struct reading *reading)
{
    static const char *const words[] = { "true", "false", "null" };
    size_t left = (size_t)(reading->end - reading->at);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i]);
        if (size > left || memcmp(reading->at, words[i], size) != 0)
            continue;
        reading->at += size;
        return i == 2 ? json_null() : json_boolean(i == 0);
    }
    return NULL;
}

// read_json_scalar reads a value that holds no others.
static json_t *read_json_scalar(struct reading *reading, char first)
{
    if (first == '"')
        return read_json_string(reading);
    return first == '-' || (first >= '0' && first <= '9') ? read_json_number(reading)
                                                          : read_json_word(reading);
}

// put_json_member puts the member that is read into object, whose earlier one of that
// key it replaces.
static bool put_json_member(const struct reading *reading, json_t *object,
                            json_t *value)
{
    const struct span *key = &reading->key;
#if JANSSON_VERSION_HEX >= 0x020e00
    return json_object_setn_new_nocheck(object, key->bytes, key->size, value) == 0;
#else
    char name[KEY_BYTES];
    memcpy(name, key->bytes, key->size);
    name[key->size] = 0;
    return json_object_set_new_nocheck(object, name, value) == 0;
#endif
}

// put_json_value puts value where the reading is; the document owns it from then on.
// False: there was a member of that key, or memory is short.
static bool put_json_value(struct reading *reading, json_t *value)
{
    if (value == NULL)
        return false;
    if (reading->depth == 0) {
        reading->root = value;
        return true;
    }
    struct json_level *level = &reading->levels[reading->depth - 1];
    level->count++;
    if (!level->object)
        return json_array_append_new(level->value, value) == 0;
    return put_json_member(reading, level->value, value) &&
           json_object_size(level->value) == level->count;
}

// read_json_value reads a value; of an array or object it reads the beginning.
static bool read_json_value(struct reading *reading)
{
    char first = peek_token(reading);
    if (first != '{' && first != '[')
        return put_json_value(reading, read_json_scalar(reading, first));
    const bool object = first == '{';
    if (reading->depth == JSON_READER_DEPTH)
        return false;
    json_t *value = object ? json_object() : json_array();
    if (!put_json_value(reading, value))
        return false;
    reading->levels[reading->depth++] = (struct json_level){ value, 0, object };
    reading->at++;
    return true;
}

static bool read_json_key(struct reading *reading)
{
    bool plain;
    return peek_token(reading) == '"' && skip_quoted(reading, &reading->key, &plain) &&
           plain && reading->key.size < KEY_BYTES && skip_token(reading, ':');
}

// read_json_next reads the next value of the innermost level, or the level's end.
static bool read_json_next(struct reading *reading)
{
    const struct json_level *level = &reading->levels[reading->depth - 1];
    if (skip_token(reading, level->object ? '}' : ']')) {
        reading->depth--;
        return true;
    }
    return (level->count == 0 || skip_token(reading, ',')) &&
           (!level->object || read_json_key(reading)) && read_json_value(reading);
}

json_t *json_reader_read(const char *bytes, size_t size, json_error_t *why)
{
    struct reading reading;
    reading.at = bytes;
    reading.end = bytes + size;
    reading.root = NULL;
    reading.depth = 0;
    char first = peek_token(&reading);
    bool good = (first == '{' || first == '[') && read_json_value(&reading);
    while (good && reading.depth != 0)
        good = read_json_next(&reading);
    if (good && peek_token(&reading) == 0 && reading.at == reading.end)
        return reading.root;
    json_decref(reading.root);
    return json_loadb(bytes, size, JSON_REJECT_DUPLICATES, why);
}

size_t json_string_end(const char *bytes, size_t size, size_t start)
{
    size_t i = start + 1;
    while (i < size && bytes[i] != '"')
        i += bytes[i] == '\\' ? 2 : 1;
    return i < size ? i + 1 : size;
}
