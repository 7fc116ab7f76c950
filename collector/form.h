// SPDX-License-Identifier: Apache-2.0
//
// The fields of a form as browsers send it (application/x-www-form-urlencoded), decoded
// where they stand. Values are UTF-8 without a NUL, and may be anything else. Users:
// the pages that take forms. Limit: FORM_FIELDS fields.
#pragma once
#include "base/status.h"
#include "base/text.h"

enum { FORM_FIELDS = 16 };

struct form {
    struct {
        const char *name;
        const char *value;
    } fields[FORM_FIELDS];
    size_t count;
};

// form_read decodes body in place and points out's fields into it. CH_ERR_MALFORMED:
// what it holds is no form, or no UTF-8. CH_ERR_LIMIT: more fields than FORM_FIELDS.
CH_CHECKED enum ch_status form_read(struct text *body, struct form *out);

// form_value is a field's value, NULL where there is none.
const char *form_value(const struct form *form, const char *name);
