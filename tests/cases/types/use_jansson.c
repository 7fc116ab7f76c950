// SPDX-License-Identifier: Apache-2.0
//
// Work for jansson, for check_arguments.py.
#include <jansson.h>
#include <stdlib.h>

int main(void)
{
    static const char text[] =
        "{\"name\": \"crash\", \"list\": [1, 2.5, true, null, \"x\\u00e9\"], "
        "\"deep\": {\"a\": {\"b\": [[], {}, [1, [2, [3]]]]}}, \"number\": -12345}";
    for (int i = 0; i < 200; i++) {
        json_error_t error;
        json_t *value = json_loads(text, 0, &error);
        json_object_set_new(value, "round", json_integer(i));
        json_t *copy = json_deep_copy(value);
        char *dumped = json_dumps(copy, JSON_INDENT(2) | JSON_SORT_KEYS);
        if (!json_equal(value, copy))
            return 1;
        free(dumped);
        json_decref(value);
        json_decref(copy);
    }
    return 0;
}
