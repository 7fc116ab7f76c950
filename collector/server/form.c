// SPDX-License-Identifier: Apache-2.0
#include "collector/server/form.h"

#include <jansson.h>
#include <string.h>

#include "base/hex.h"

// decode_form_value replaces `+` and `%20` by the characters they encode, in place.
static bool decode_form_value(char *text)
{
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        unsigned char byte = (unsigned char)*from;
        if (byte == '%') {
            size_t size = 0;
            if (from[1] == 0 ||
                hex_decode(from + 1, 2, &byte, sizeof(byte), &size) != CH_OK ||
                byte == 0)
                return false;
            from += 2;
        } else if (byte == '+') {
            byte = ' ';
        }
        if (byte == '\n' && to > text && to[-1] == '\r')
            to--; // browsers end lines with CR LF
        *to++ = (char)byte;
    }
    *to = 0;
    // json_string returns NULL for what is not UTF-8.
    json_t *utf8 = json_string(text);
    json_decref(utf8);
    return utf8 != NULL;
}

enum ch_status form_read(struct text *body, struct form *out)
{
    *out = (struct form){ 0 };
    if (body->bytes == NULL)
        return CH_OK;
    if (strlen(body->bytes) != body->size)
        return CH_ERR_MALFORMED;
    char *rest = NULL;
    for (char *field = strtok_r(body->bytes, "&", &rest); field != NULL;
         field = strtok_r(NULL, "&", &rest)) {
        char *equals = strchr(field, '=');
        if (equals == NULL)
            return CH_ERR_MALFORMED;
        if (out->count == FORM_FIELDS)
            return CH_ERR_LIMIT;
        *equals = 0;
        if (!decode_form_value(field) || !decode_form_value(equals + 1))
            return CH_ERR_MALFORMED;
        out->fields[out->count].name = field;
        out->fields[out->count++].value = equals + 1;
    }
    return CH_OK;
}

const char *form_value(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->count; i++) {
        if (strcmp(form->fields[i].name, name) == 0)
            return form->fields[i].value;
    }
    return NULL;
}
