// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/diagnosis/diagnosis.h"

// origin_confidence is how certain an origin of that kind is (docs/reference/values.md
// has the words).
static const char *origin_confidence(const char *kind)
{
    static const struct {
        const char *kind;
        const char *confidence;
    } kinds[] = {
        { "freed-chunk", "proved" }, { "guard-page", "proved" },
        { "null-offset", "exact" },  { "unloaded-image", "proved" },
        { "freed-stack", "proved" }, { "bit-flip", "guess" },
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].confidence;
    return "likely";
}

static json_t *find_suspect(json_t *suspects, const char *name)
{
    for (size_t i = 0; i < json_array_size(suspects); i++) {
        json_t *suspect = json_array_get(suspects, i);
        const char *of = report_string(suspect, "register");
        bool same = name == NULL ? of == NULL : of != NULL && strcmp(of, name) == 0;
        if (json_is_object(suspect) && same)
            return suspect;
    }
    return NULL;
}

// suspect_in_operand is the one among the registers that the address was made of; two
// of them prove nothing.
static json_t *suspect_in_operand(json_t *suspects, json_t *crash)
{
    json_t *registers = json_object_get(json_object_get(crash, "access"), "registers");
    json_t *found = NULL;
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach(registers, name, value)
    {
        json_t *suspect = find_suspect(suspects, name);
        found = suspect != NULL ? suspect : found;
        count += suspect != NULL;
    }
    return count == 1 ? found : NULL;
}

// suspect_in_jump is the value that was jumped to.
static json_t *suspect_in_jump(json_t *suspects, json_t *crash)
{
    const char *by = report_string(json_object_get(crash, "target"), "by");
    const char *name = report_string(json_object_get(crash, "register"), "name");
    enum crash_kind kind = crash_words_kind(crash);
    json_t *target = find_suspect(suspects, "rip");
    if (target == NULL)
        target = find_suspect(suspects, "pc"); // of AArch64
    if (by != NULL && strcmp(by, "return") == 0) {
        json_t *returned = find_suspect(suspects, "return");
        return returned != NULL ? returned : target;
    }
    if (name != NULL)
        return find_suspect(suspects, name);
    bool jumped = kind == CRASH_KIND_WILD_JUMP || kind == CRASH_KIND_EXECUTE_OF_DATA;
    return jumped ? target : NULL;
}

// find_chosen is the one that the agent itself has linked to the crash.
static json_t *find_chosen(json_t *suspects)
{
    for (size_t i = 0; i < json_array_size(suspects); i++)
        if (report_flag(json_array_get(suspects, i), "chosen"))
            return json_array_get(suspects, i);
    return NULL;
}

// null_offset is how far from a null pointer the access was, as a member is; NULL: it
// was not.
static json_t *null_offset(const json_t *crash)
{
    enum crash_kind kind = crash_words_kind(crash);
    const json_t *access = json_object_get(crash, "access");
    json_t *registers = json_object_get(access, "registers");
    uint64_t address;
    if (kind != CRASH_KIND_NULL_DEREFERENCE || json_object_size(registers) != 1 ||
        !report_address(access, "address", &address) || address == 0 ||
        address > INT32_MAX)
        return NULL;
    const char *name = json_object_iter_key(json_object_iter(registers));
    uint64_t value;
    if (!report_address(registers, name, &value) || value != 0)
        return NULL;
    return json_pack("{s:s, s:s, s:I}", "kind", "null-offset", "register", name,
                     "offset", (json_int_t)address);
}

// is_failed_map returns true if -1 is in the only register of the address, and nothing
// was added to it that may be the address of a table: -1 is also an index, and the
// error of many calls.
static bool is_failed_map(const json_t *crash)
{
    enum { LOWEST_TABLE = 4 << 20 }; // where programs of a fixed place begin
    const json_t *access = json_object_get(crash, "access");
    uint64_t address;
    return json_object_size(json_object_get(access, "registers")) == 1 &&
           report_address(access, "address", &address) &&
           address + LOWEST_TABLE < 2 * (uint64_t)LOWEST_TABLE;
}

// is_no_origin returns true if the form proves nothing where it was found.
static bool is_no_origin(const json_t *origin, const json_t *crash)
{
    const char *kind = report_string(origin, "kind");
    return kind == NULL || (strcmp(kind, "map-failed") == 0 && !is_failed_map(crash));
}

bool diagnosis_origin(json_t *report, json_t *crash)
{
    json_t *suspects = json_object_get(crash, "suspects");
    enum crash_kind kind = crash_words_kind(crash);
    json_t *origin;
    (void)report;
    // A divisor is no pointer, and what free found is an access of its own.
    if (json_object_get(crash, "provenance") != NULL || kind == CRASH_KIND_NONE ||
        json_object_get(json_object_get(crash, "heap"), "found_by") != NULL ||
        kind == CRASH_KIND_STACK_OVERFLOW || kind == CRASH_KIND_DIVIDE_BY_ZERO)
        return json_object_del(crash, "suspects") == 0;
    json_t *suspect = find_chosen(suspects);
    if (suspect == NULL)
        suspect = suspect_in_operand(suspects, crash);
    if (suspect == NULL)
        suspect = suspect_in_jump(suspects, crash);
    if (suspect == NULL)
        suspect = find_suspect(suspects, NULL);
    origin = suspect != NULL ? json_copy(suspect) : null_offset(crash);
    (void)json_object_del(crash, "suspects");
    if (is_no_origin(origin, crash)) {
        json_decref(origin);
        return suspects != NULL;
    }
    const char *found = report_string(origin, "kind");
    (void)json_object_del(origin, "chosen");
    // With an offset, the address is as small as one through a null pointer, and that
    // in a low heap as a small number.
    if ((strcmp(found, "map-failed") == 0 && kind == CRASH_KIND_NULL_DEREFERENCE) ||
        (strcmp(found, "freed-chunk") == 0 && kind == CRASH_KIND_SMALL_POINTER))
        crash_words_set_kind(crash, CRASH_KIND_UNKNOWN);
    (void)json_object_set_new(origin, "confidence",
                              json_string(origin_confidence(found)));
    (void)json_object_set_new(crash, "provenance", origin);
    return true;
}
