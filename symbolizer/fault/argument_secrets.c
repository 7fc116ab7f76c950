// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_secrets.h"

#include <stdbool.h>
#include <string.h>

#include "report/file/report_table.h"
#include "report/file/report_tree.h"

static const char masked_text[] = "***";

// A secrets_fn looks at one value of a variable: its member of that name.
typedef void secrets_fn(json_t *variable, const char *member, json_t *addresses);

static void secrets_note(json_t *variable, const char *member, json_t *addresses)
{
    const json_t *value = json_object_get(variable, member);
    const char *address = report_string(value, "address");
    const char *text = report_string(value, "value");
    if (address != NULL && text != NULL && strcmp(text, masked_text) == 0)
        (void)json_object_set_new(addresses, address, json_true());
}

static void secrets_cover(json_t *variable, const char *member, json_t *addresses)
{
    const json_t *value = json_object_get(variable, member);
    const char *address = report_string(value, "address");
    if (address == NULL || report_string(value, "value") == NULL ||
        json_object_get(addresses, address) == NULL)
        return;
    (void)json_object_set_new(
        variable, member,
        json_pack("{s:s, s:s}", "address", address, "value", masked_text));
    if (json_object_get(variable, "text") != NULL)
        (void)json_object_set_new(variable, "text", json_string(masked_text));
}

static void secrets_visit_frame(const json_t *frame, secrets_fn *visit,
                                json_t *addresses)
{
    for (size_t i = 0; i < REPORT_TABLE_LISTS; i++) {
        const json_t *list = json_object_get(frame, report_table_lists[i]);
        for (size_t j = 0; j < json_array_size(list); j++) {
            visit(json_array_get(list, j), "value", addresses);
            visit(json_array_get(list, j), "entry_value", addresses);
        }
    }
}

static void secrets_visit_all(const json_t *all, secrets_fn *visit, json_t *addresses)
{
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *thread = json_array_get(all, i);
        for (size_t j = 0; j < json_array_size(thread); j++)
            secrets_visit_frame(json_array_get(thread, j), visit, addresses);
    }
}

void argument_secrets_mask(json_t *all)
{
    json_t *addresses = json_object();
    secrets_visit_all(all, secrets_note, addresses);
    if (json_object_size(addresses) != 0)
        secrets_visit_all(all, secrets_cover, addresses);
    json_decref(addresses);
}
