// SPDX-License-Identifier: Apache-2.0
#include "collector/server/setting_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char blanks[] = " \t\r\n";

static const char key_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

enum ch_status setting_line_read(char *line, struct setting_line *out)
{
    char *rest = NULL;
    *out = (struct setting_line){ .word = "" };
    char *first = strtok_r(line, blanks, &rest);
    if (first == NULL || first[0] == '#')
        return CH_ERR_NOT_FOUND;
    for (char *word = first; word != NULL; word = strtok_r(NULL, blanks, &rest)) {
        size_t key = strspn(word, key_characters);
        if (word == first) {
            out->word = word;
            continue;
        }
        if (key == 0 || word[key] != '=')
            return CH_ERR_MALFORMED;
        if (out->count == SETTING_PAIRS)
            return CH_ERR_LIMIT;
        word[key] = 0;
        out->pairs[out->count].key = word;
        out->pairs[out->count++].value = word + key + 1;
    }
    return CH_OK;
}

enum ch_status setting_file_read(const char *path, size_t limit_bytes, struct text *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return CH_ERR_IO;
    enum ch_status status = text_read(out, fd, limit_bytes);
    int reason = errno;
    close(fd);
    errno = reason;
    text_append(out, "", 0);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

bool setting_flags_read(const char *text, const struct setting_flag *table,
                        size_t count, unsigned *out)
{
    *out = 0;
    while (*text != 0) {
        size_t length = strcspn(text, ",");
        size_t i = 0;
        while (i < count && (strlen(table[i].name) != length ||
                             strncmp(table[i].name, text, length) != 0))
            i++;
        if (i == count)
            return false;
        *out |= table[i].flag;
        text += length + (text[length] == ',');
    }
    return *out != 0;
}

enum { SIZE_DIGITS = 6 };

enum ch_status size_read(const char *text, int64_t *out)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] != 0 ? strchr(units, text[digits]) : NULL;
    if (digits == 0 || digits > SIZE_DIGITS || unit == NULL || text[digits + 1] != 0)
        return CH_ERR_MALFORMED;
    int64_t size = strtoll(text, NULL, 10) << (10 * (unit - units + 1));
    if (size == 0)
        return CH_ERR_MALFORMED;
    *out = size;
    return CH_OK;
}
