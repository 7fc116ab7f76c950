// SPDX-License-Identifier: Apache-2.0
#include "collector/database/sqlite_contains.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/utf8.h"
#include "report/file/digest.h"

enum { ASCII_END = 0x80, FEW_BYTES = 4096 };

// lower_text writes size bytes of text to out, which holds twice as many: the lower
// case of a character may take a byte more than it.
static size_t lower_text(const unsigned char *text, size_t size, locale_t locale,
                         char *out)
{
    size_t written = 0;
    for (size_t at = 0; at < size;) {
        uint32_t character = text[at];
        size_t length = 1;
        if (character >= ASCII_END)
            length = utf8_decode(text + at, size - at, &character);
        if (length > 1 && locale != NULL)
            character = towlower_l(character, locale);
        if (length > 1)
            written += utf8_encode(character, out + written);
        else
            out[written++] =
                (char)(text[at] + (text[at] >= 'A' && text[at] <= 'Z' ? 'a' - 'A' : 0));
        at += length != 0 ? length : 1;
    }
    return written;
}

// sqlite_contains reports whether the texts after the first one, with a line end
// between each, contain the first, in either case.
static void sqlite_contains(sqlite3_context *context, int count, sqlite3_value **values)
{
    locale_t locale = sqlite3_user_data(context);
    char few[FEW_BYTES];
    size_t most = UTF8_MAX_BYTES;
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_text(values[i]) == NULL)
            return; // as of NULL, it is not known
        most += 2 * (size_t)sqlite3_value_bytes(values[i]) + 1;
    }
    char *room = most <= sizeof(few) ? few : sqlite3_malloc64(most);
    if (room == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    size_t end = 0;
    size_t searched = 0;
    for (int i = 0; i < count; i++) {
        if (i > 1)
            room[end++] = '\n';
        end += lower_text(sqlite3_value_text(values[i]),
                          (size_t)sqlite3_value_bytes(values[i]), locale, room + end);
        searched = i == 0 ? end : searched;
    }
    sqlite3_result_int(context,
                       memmem(room + searched, end - searched, room, searched) != NULL);
    if (room != few)
        sqlite3_free(room);
}

// is_like returns true if a text is a pattern, in which `%` stands for any text, `_`
// for a byte, and escape makes the next byte one as it is.
static bool is_like(const char *pattern, const char *pattern_end, const char *text,
                    const char *text_end, char escape)
{
    const char *resume = NULL; // after the last `%`
    const char *from = NULL;   // what that stands for ends here
    while (text < text_end || pattern < pattern_end) {
        bool any = pattern < pattern_end && *pattern == '%';
        bool escaped = pattern + 1 < pattern_end && *pattern == escape && escape != 0;
        if (any) {
            resume = ++pattern;
            from = text;
        } else if (pattern < pattern_end && text < text_end &&
                   (pattern[escaped] == *text || *pattern == '_')) {
            pattern += 1 + escaped;
            text++;
        } else if (resume != NULL && from < text_end) {
            pattern = resume;
            text = ++from;
        } else {
            return false;
        }
    }
    return true;
}

// sqlite_like is LIKE in the lower case of all languages.
static void sqlite_like(sqlite3_context *context, int count, sqlite3_value **values)
{
    locale_t locale = sqlite3_user_data(context);
    char few[FEW_BYTES];
    const unsigned char *escape =
        count > 2 ? sqlite3_value_text(values[2]) : (const unsigned char *)"";
    if (sqlite3_value_text(values[0]) == NULL ||
        sqlite3_value_text(values[1]) == NULL || escape == NULL)
        return;
    size_t sizes[] = { (size_t)sqlite3_value_bytes(values[0]),
                       (size_t)sqlite3_value_bytes(values[1]) };
    size_t most = 2 * (sizes[0] + sizes[1]) + UTF8_MAX_BYTES;
    char *room = most <= sizeof(few) ? few : sqlite3_malloc64(most);
    if (room == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    char *text =
        room + lower_text(sqlite3_value_text(values[0]), sizes[0], locale, room);
    size_t size = lower_text(sqlite3_value_text(values[1]), sizes[1], locale, text);
    sqlite3_result_int(context,
                       is_like(room, text, text, text + size, (char)escape[0]));
    if (room != few)
        sqlite3_free(room);
}

// sqlite_text_hash is the first 64 bits of the SHA-256 of a text.
static void sqlite_text_hash(sqlite3_context *context, int count,
                             sqlite3_value **values)
{
    char digits[SHA256_HEX_SIZE];
    const void *text = sqlite3_value_text(values[0]);
    (void)count;
    if (text == NULL)
        return;
    sha256_hex(text, (size_t)sqlite3_value_bytes(values[0]), digits);
    digits[16] = 0;
    sqlite3_result_int64(context, (sqlite3_int64)strtoull(digits, NULL, 16));
}

static void free_contains_locale(void *locale)
{
    if (locale != NULL)
        freelocale(locale);
}

int sqlite_contains_add(sqlite3 *db)
{
    // Without it, letters of ASCII alone have two cases.
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    int result = sqlite3_create_function_v2(
        db, "text_hash", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
        sqlite_text_hash, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        free_contains_locale(locale);
        return result;
    }
    result = sqlite3_create_function_v2(
        db, "like", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, locale,
        sqlite_like, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        free_contains_locale(locale);
        return result;
    }
    return sqlite3_create_function_v2(
        db, "contains", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, locale, sqlite_contains,
        NULL, NULL, free_contains_locale);
}
