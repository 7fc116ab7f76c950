// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite_lower.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <wctype.h>

#include "base/utf8.h"

enum { ASCII_END = 0x80 };

static bool is_ascii_upper(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

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
        if (length > 1)
            written += utf8_encode(towlower_l(character, locale), out + written);
        else
            out[written++] =
                (char)(text[at] + (is_ascii_upper(text[at]) ? 'a' - 'A' : 0));
        at += length != 0 ? length : 1;
    }
    return written;
}

static void sqlite_lower(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const unsigned char *text = sqlite3_value_text(values[0]);
    if (text == NULL)
        return; // of NULL it is NULL
    size_t size = (size_t)sqlite3_value_bytes(values[0]);
    char *out = sqlite3_malloc64(2 * size + UTF8_MAX_BYTES);
    if (out == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    size = lower_text(text, size, sqlite3_user_data(context), out);
    sqlite3_result_text64(context, out, size, sqlite3_free, SQLITE_UTF8);
}

static void free_lower_locale(void *locale)
{
    freelocale(locale);
}

int sqlite_lower_add(sqlite3 *db)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    if (locale == NULL)
        return SQLITE_OK; // SQLite's own does for ASCII
    return sqlite3_create_function_v2(db, "lower", 1,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC, locale,
                                      sqlite_lower, NULL, NULL, free_lower_locale);
}
