// SPDX-License-Identifier: Apache-2.0
#include "report/value/report_rights.h"

#include "base/system/own_user.h"
#include "report/value/report.h"

static const char read_as[] = "read_as";

void report_rights(const json_t *report, struct rights *out)
{
    const json_t *from = json_object_get(json_object_get(report, "process"), read_as);
    const json_t *groups = json_object_get(from, "groups");
    // Nobody's rights are in place of what is missing.
    *out = (struct rights){
        .fewer = from != NULL && own_user() == 0,
        .user = (uid_t)report_integer(from, "uid", RIGHTS_NOBODY),
        .group = (gid_t)report_integer(from, "gid", RIGHTS_NOBODY),
        .capabilities = (uint64_t)report_integer(from, "capabilities", 0),
    };
    for (size_t i = 0; i < json_array_size(groups) && i < RIGHTS_GROUPS_MAX; i++)
        out->groups[out->group_count++] =
            (gid_t)json_integer_value(json_array_get(groups, i));
}

void report_rights_set(json_t *report, uid_t user)
{
    json_t *rights = json_pack("{s:I, s:I, s:i, s:[]}", "uid", (json_int_t)user, "gid",
                               (json_int_t)RIGHTS_NOBODY, "capabilities", 0, "groups");
    (void)json_object_set_new(json_object_get(report, "process"), read_as, rights);
}
