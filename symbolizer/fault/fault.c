// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/fault.h"

#include <string.h>

#include "base/register_name.h"
#include "report/value/report.h"

bool fault_is_kind(const struct fault *f, const char *const *kinds)
{
    const char *kind = report_string(f->crash, "kind");
    for (size_t i = 0; kind != NULL && kinds[i] != NULL; i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

bool fault_agrees(const struct fault *f)
{
    uint64_t mask =
        f->bytes < FAULT_WORD_BYTES ? (UINT64_C(1) << (8 * f->bytes)) - 1 : ~0ull;
    return !f->named.has_value || ((f->named.value ^ f->value) & mask) == 0;
}

bool fault_name_register(struct fault *f, size_t index, uint8_t reg, uint64_t value)
{
    f->value = value;
    f->bytes = FAULT_WORD_BYTES;
    return argument_trace_register(&f->trace, index, reg, FAULT_WORD_BYTES,
                                   &f->named) &&
           !f->named.is_address && fault_agrees(f);
}

const struct type *fault_type(const struct argument_named *named)
{
    static const struct type pointer = { .kind = TYPE_POINTER };
    const struct type_table *table = &named->call->image->types.table;
    if (argument_is_returned(named))
        return &pointer;
    return &table->types[type_strip(table, named->type)];
}

const char *fault_register_name(const struct fault *f, uint8_t number)
{
    return f->trace.stack->arch->id == UNWIND_ARCH_AMD64
               ? register_name_amd64(number, FAULT_WORD_BYTES)
               : register_name_aarch64(number);
}

void fault_take_array(struct fault *f, struct argument_index *found)
{
    text_deinit(&f->array);
    f->array = found->array;
    f->elements = found->extent.count;
    f->container = found->extent.kind;
    f->likely = true;
    found->array = (struct text){ 0 };
}
