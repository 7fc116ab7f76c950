// SPDX-License-Identifier: Apache-2.0
#include "backtrace/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace/image_list.h"
#include "backtrace/stored.h"
#include "report/grouping/in_app.h"
#include "symbolizer/names/demangle.h"

static bool symbol_starts_with(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

// is_runtime_failure knows the functions in which failed checks of compilers and C
// libraries end. Clang records the reason of a trap as an inlined function of the first
// name, Swift as one of the second.
static bool is_runtime_failure(const char *raw_name)
{
    static const char *const failures[] = {
        "__clang_trap_msg", "Swift runtime failure: ",
        "__ubsan_handle_",  "__stack_chk_fail",
        "__fortify_fail",   "__chk_fail",
        "__assert_fail",    "__libc_fatal",
    };
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (symbol_starts_with(raw_name, failures[i]))
            return true;
    return false;
}

// is_thunk knows C++'s thunks (this and return adjustments; wrappers of thread-local
// variables) and linkers' names for the stubs of the procedure linkage table.
static bool is_thunk(const char *raw_name)
{
    size_t length = strlen(raw_name);
    return symbol_starts_with(raw_name, "_ZTh") ||
           symbol_starts_with(raw_name, "_ZTv") ||
           symbol_starts_with(raw_name, "_ZTc") ||
           symbol_starts_with(raw_name, "_ZTW") ||
           (length > 4 && strcmp(raw_name + length - 4, "@plt") == 0);
}

static bool copy_names(struct crashhook_symbol *symbol,
                       const struct crashhook_symbol *from)
{
    symbol->raw_name = strdup(from->raw_name);
    symbol->name =
        from->name != NULL ? strdup(from->name) : demangle_name(from->raw_name);
    if (symbol->name == NULL)
        symbol->name = strdup(from->raw_name);
    if (from->location.path != NULL)
        symbol->location.path = strdup(from->location.path);
    return symbol->raw_name != NULL && symbol->name != NULL &&
           (from->location.path == NULL || symbol->location.path != NULL);
}

// is_not_in_app asks the rule that reports are grouped and shown by.
static bool is_not_in_app(const struct crashhook_symbol *symbol)
{
    struct in_app_verdict verdict;
    const struct in_app_frame frame = {
        .image = symbol->image != NULL ? symbol->image->path : NULL,
        .function = symbol->name,
        .raw_name = symbol->raw_name,
        .file = symbol->location.path,
    };
    in_app_judge(&frame, &verdict);
    return !verdict.in_app;
}

void symbol_judge(struct crashhook_symbol *symbol)
{
    symbol->is_runtime_failure = is_runtime_failure(symbol->raw_name);
    symbol->is_thunk = is_thunk(symbol->raw_name);
    symbol->is_system = is_not_in_app(symbol);
}

enum ch_status symbol_create(const struct crashhook_symbol *from,
                             struct crashhook_symbol **out)
{
    struct crashhook_symbol *made = malloc(sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    *made = *from;
    made->raw_name = NULL;
    made->name = NULL;
    made->location.path = NULL;
    if (!copy_names(made, from)) {
        crashhook_symbol_destroy(made);
        return CH_ERR_NO_MEMORY;
    }
    symbol_judge(made);
    *out = made;
    return CH_OK;
}

int crashhook_symbol_create(const struct crashhook_image *image, const char *raw_name,
                            int64_t offset,
                            const struct crashhook_source_location *location,
                            struct crashhook_symbol **out)
{
    struct crashhook_symbol from = {
        .image = image, .image_index = SIZE_MAX, .raw_name = raw_name, .offset = offset
    };
    if (location != NULL)
        from.location = *location;
    return stored_errno(symbol_create(&from, out));
}

void crashhook_symbol_destroy(struct crashhook_symbol *symbol)
{
    if (symbol == NULL)
        return;
    free((char *)symbol->raw_name);
    free((char *)symbol->name);
    free((char *)symbol->location.path);
    free(symbol);
}

void symbol_describe_location(const struct crashhook_source_location *location,
                              struct text *out)
{
    text_append_string(out, location->path != NULL ? location->path : "<unknown>");
    if (location->line != 0)
        text_appendf(out, ":%" PRIu32, location->line);
    if (location->line != 0 && location->column != 0)
        text_appendf(out, ":%" PRIu32, location->column);
}

void symbol_describe(const struct crashhook_symbol *symbol, bool raw, struct text *out)
{
    const char *image = symbol->image != NULL ? symbol->image->name : NULL;
    if (symbol->image_index != SIZE_MAX)
        text_appendf(out, "[%zu] ", symbol->image_index);
    text_appendf(out, "%s %s", image != NULL ? image : "<unknown>",
                 raw ? symbol->raw_name : symbol->name);
    if (symbol->offset > 0)
        text_appendf(out, " + %" PRId64, symbol->offset);
    if (symbol->offset < 0)
        text_appendf(out, " - %" PRIu64, -(uint64_t)symbol->offset);
    if (symbol->location.path == NULL)
        return;
    text_append_string(out, " at ");
    symbol_describe_location(&symbol->location, out);
}

char *symbol_finish(struct text *line)
{
    text_append_string(line, "");
    if (text_ok(line) && line->bytes != NULL)
        return line->bytes;
    bool empty = text_ok(line);
    text_deinit(line);
    return empty ? strdup("") : NULL;
}

char *crashhook_symbol_description(const struct crashhook_symbol *symbol)
{
    struct text line = { 0 };
    symbol_describe(symbol, false, &line);
    return symbol_finish(&line);
}

char *
crashhook_source_location_description(const struct crashhook_source_location *location)
{
    struct text line = { 0 };
    symbol_describe_location(location, &line);
    return symbol_finish(&line);
}
