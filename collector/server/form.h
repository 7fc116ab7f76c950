// SPDX-License-Identifier: Apache-2.0
//
// The fields of a form as browsers send it (application/x-www-form-urlencoded), decoded
// in place. Values are UTF-8 without NUL and otherwise arbitrary. Users: the pages that
// take forms. Limit: FORM_FIELDS fields.
#pragma once
#include "base/status.h"
#include "base/text.h"

enum { FORM_FIELDS = 256 };

struct form {
    struct {
        const char *name;
        const char *value;
    } fields[FORM_FIELDS];
    size_t count;
};

// form_read decodes body in place and points out's fields into it. CH_ERR_MALFORMED:
// the body is not a form, or not UTF-8. CH_ERR_LIMIT: it has more than FORM_FIELDS
// fields.
CH_CHECKED enum ch_status form_read(struct text *body, struct form *out);

// form_value is the value of a field, or NULL if there is none.
const char *form_value(const struct form *form, const char *name);
