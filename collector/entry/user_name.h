// SPDX-License-Identifier: Apache-2.0
//
// The users that crashes happened to: the tag `user` of a report.
//
// A collector counts users and need not know them. So it replaces each value, before
// anything is stored, by a pseudonym: `#` and the first digits of the SHA-256 of a
// secret of the store, the project and the value. The same user has one pseudonym in a
// project, another in each other project, and without the secret nobody can try names.
// A pseudonym is its own pseudonym, so that a report that is stored again stays as it
// is.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

#define USER_NAME_TAG "user"

enum { USER_NAME_SIZE = 18, USER_SALT_SIZE = 33 };

// user_name_hide writes the pseudonym of a user.
void user_name_hide(const char *salt, const char *project, const char *user,
                    char out[static USER_NAME_SIZE]);

// user_name_is_hidden returns true if that is a pseudonym.
bool user_name_is_hidden(const char *user);

// user_name_hide_in replaces the user in the tree of a report, and appends the report's
// JSON with the same change to out, which stays empty if there is nothing to hide.
// CH_ERR_MALFORMED: the user is no string, or the JSON has its keys with escapes.
CH_CHECKED enum ch_status user_name_hide_in(const char *salt, const char *project,
                                            json_t *report, const char *json,
                                            size_t size, struct text *out);
