// SPDX-License-Identifier: Apache-2.0
//
// How it works: fault_find collects in struct fault what is known. fault_name tries
// `ways` in their order of certainty, each from a clean state (fault_forget), until one
// names a value that fault_settle accepts: a variable of the program's own code, or an
// argument of it. If none does and a function returned the value, all are tried again
// with takes_returned. fault_write makes the JSON.
// Invariants: nothing that a failed way noted is written; `likely` is set where memory
// may have changed since, or the name is not proved.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/summary/crash_kind.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/arguments/argument_site.h"
#include "symbolizer/fault/argument_path.h"
#include "symbolizer/fault/argument_trace.h"
#include "symbolizer/fault/fault.h"

enum { REGISTERS = 6, LEVELS_MAX = 4, NEAR_NULL_BYTES = 65536, FAR_BYTES = 65536 };

// operand_kinds are the crashes of an access to memory by an address that was wrong.
static const uint64_t operand_kinds =
    CRASH_KIND_BIT(NULL_DEREFERENCE) | CRASH_KIND_BIT(NON_CANONICAL) |
    CRASH_KIND_BIT(USE_AFTER_UNMAP) | CRASH_KIND_BIT(WRITE_TO_READ_ONLY) |
    CRASH_KIND_BIT(FILE_TRUNCATED) | CRASH_KIND_BIT(PROTECTION_KEY) |
    CRASH_KIND_BIT(MEMORY_TAG) | CRASH_KIND_BIT(MISALIGNED) |
    CRASH_KIND_BIT(SMALL_POINTER) | CRASH_KIND_BIT(UNKNOWN);

// first_in_app gives the first in-app call after index, which called; 0: there is none.
static size_t first_in_app(const struct argument_stack *stack, size_t index)
{
    for (size_t i = index + 1; i < stack->count; i++)
        if (!report_flag(stack->calls[i].from, "system"))
            return stack->calls[i].image != NULL ? i : 0;
    return 0;
}

// outer_name names the pointer that was passed in a register, if with what was added to
// it, by a function of the C++ library, too, it has the value.
static bool outer_name(struct argument_trace *trace, size_t caller, uint8_t reg,
                       uint64_t value, struct argument_named *out)
{
    if (!argument_trace_register(trace, caller, reg, FAULT_WORD_BYTES, out) &&
        !argument_trace_offset(trace, caller, reg, out))
        return false;
    const struct type_table *table = &out->call->image->types.table;
    return !out->is_address && out->scale == 1 && out->has_value &&
           table->types[type_strip(table, out->type)].kind == TYPE_POINTER &&
           (out->value + (uint64_t)out->added == value ||
            (out->accessed && out->value == 0 && value < NEAR_NULL_BYTES)) &&
           (out->added == 0 || !argument_trace_leads(trace, out->value));
}

// outer_find_at finds what the call at index passed as value. A register that passes
// nothing may still have a copy of it, by the same name.
static bool outer_find_at(struct argument_trace *trace, size_t index, uint64_t value,
                          struct argument_named *out)
{
    const struct argument_machine *machine = argument_machine_of(trace->stack->arch);
    const struct argument_step *step = argument_trace_step(trace, index);
    struct argument_named other = { 0 };
    int found = -1;
    bool same = true;
    if (step == NULL || step->effects.flow != INSTRUCTION_CALLS)
        return false;
    for (int i = 0; i < REGISTERS && same; i++) {
        if (!outer_name(trace, index, machine->arguments[i], value, &other))
            continue;
        if (found >= 0)
            same = outer_name(trace, index, machine->arguments[found], value, out) &&
                   strcmp(out->expression.bytes, other.expression.bytes) == 0;
        found = found < 0 ? i : found;
    }
    argument_named_deinit(&other);
    return found >= 0 && same &&
           outer_name(trace, index, machine->arguments[found], value, out);
}

// argument_outer_find names the pointer that the first in-app function that led to call
// index passed in a register as value, which is its own value and out->added. Where
// that is an argument close to null, its caller is looked at, too. False: there is no
// such register, or several.
static bool argument_outer_find(struct argument_trace *trace, size_t index,
                                uint64_t value, struct argument_named *out)
{
    const struct argument_stack *stack = trace->stack;
    struct argument_named next = { 0 };
    bool found = false;
    for (int level = 0; level < LEVELS_MAX; level++) {
        index = first_in_app(stack, index);
        if (index == 0 || !outer_find_at(trace, index, value, &next))
            break;
        struct argument_named before = *out;
        *out = next;
        next = before;
        found = true;
        value = out->value;
        // An argument that is close to null may be a member of what is null further
        // out.
        if (!out->variable || out->role != ARGUMENT_PARAMETER || value == 0 ||
            value + NEAR_NULL_BYTES >= 2 * (uint64_t)NEAR_NULL_BYTES)
            break;
    }
    argument_named_deinit(&next);
    return found;
}

// fault_operand_address computes the address of an operand from the registers.
static bool fault_operand_address(const struct fault *f,
                                  const struct instruction_memory *memory,
                                  uint64_t next, uint64_t *out)
{
    const uint64_t *registers = f->innermost->frame.registers.value;
    *out = (uint64_t)memory->displacement;
    if (memory->base == INSTRUCTION_PC)
        *out += next;
    else if (memory->base < ARGUMENT_GENERAL_REGISTERS)
        *out += registers[memory->base];
    else if (memory->base != INSTRUCTION_NO_REGISTER)
        return false;
    if (memory->index < ARGUMENT_GENERAL_REGISTERS) {
        uint64_t index = registers[memory->index];
        if (memory->index_word)
            index = memory->index_signed ? (uint64_t)(int32_t)index : (uint32_t)index;
        *out += index * memory->scale;
    }
    return memory->index < ARGUMENT_GENERAL_REGISTERS ||
           memory->index == INSTRUCTION_NO_REGISTER;
}

// fault_has_operand returns true if the memory operand leads to the address of the
// fault.
static bool fault_has_operand(const struct fault *f,
                              const struct instruction_memory *memory)
{
    const json_t *access = json_object_get(f->crash, "access");
    uint64_t said;
    uint64_t address;
    return memory->used && memory->base < ARGUMENT_GENERAL_REGISTERS &&
           fault_operand_address(f, memory, 0, &address) &&
           report_address(access, "address", &said) && said == address;
}

// fault_is_far returns true if a pointer leads to memory, and the access was so far
// from it that an index that is a constant is to blame, and not the pointer.
static bool fault_is_far(const struct fault *f, const struct instruction_memory *memory)
{
    uint64_t base = f->innermost->frame.registers.value[memory->base];
    return (memory->displacement >= FAR_BYTES || memory->displacement <= -FAR_BYTES) &&
           argument_trace_leads(&f->trace, base);
}

// fault_name_accessed names the null pointer in an object of the C++ library to which a
// function of the library has added: an empty vector's, or that of an iterator.
static bool fault_name_accessed(struct fault *f, uint8_t reg, uint64_t value)
{
    const struct argument_named *named = &f->named;
    f->value = 0;
    return value < NEAR_NULL_BYTES &&
           argument_trace_register(&f->trace, 0, reg, FAULT_WORD_BYTES, &f->named) &&
           named->accessed && !named->is_address && named->scale == 1 &&
           named->has_value && named->value == 0;
}

// fault_name_base names the base of an operand that is nothing else.
static bool fault_name_base(struct fault *f, const struct instruction_memory *memory)
{
    uint64_t base = f->innermost->frame.registers.value[memory->base];
    return memory->index == INSTRUCTION_NO_REGISTER &&
           memory->base != f->trace.stack->arch->sp && !fault_is_far(f, memory) &&
           (fault_name_register(f, 0, memory->base, base) ||
            fault_name_accessed(f, memory->base, base));
}

// fault_name_offset names the pointer to which constants were added before, as
// compilers that do not optimize do for elements of arrays.
static bool fault_name_offset(struct fault *f, const struct instruction_memory *memory)
{
    uint64_t base = f->innermost->frame.registers.value[memory->base];
    struct argument_named *named = &f->named;
    if (memory->index != INSTRUCTION_NO_REGISTER ||
        memory->base == f->trace.stack->arch->sp ||
        !argument_trace_offset(&f->trace, 0, memory->base, named) ||
        named->is_address || named->scale != 1 || named->added == 0)
        return false;
    f->value = base - (uint64_t)named->added;
    f->bytes = FAULT_WORD_BYTES;
    return fault_agrees(f) &&
           (!argument_trace_leads(&f->trace, f->value) ||
            // The memory itself refused, and no index ran past an end.
            (crash_words_is_kind(f->crash, CRASH_KIND_BIT(WRITE_TO_READ_ONLY) |
                                               CRASH_KIND_BIT(FILE_TRUNCATED)) &&
             named->added > 0 && named->added < FAR_BYTES));
}

// fault_blame makes one of the two parts of an address the bad value.
static void fault_blame(struct fault *f, int part)
{
    struct text unused = f->named.expression;
    f->named = f->parts[part];
    f->parts[part].expression = unused;
    f->value = f->named.value;
    f->bytes = FAULT_WORD_BYTES;
}

// fault_product is what a part adds to the address.
static uint64_t fault_product(const struct argument_named *part)
{
    int64_t number = (int64_t)part->value;
    if (fault_type(part)->kind == TYPE_INTEGER)
        (void)argument_named_number(part, &number);
    return (uint64_t)number * part->scale;
}

// fault_is_pointer returns true if a part is a pointer, and no number of a union.
static bool fault_is_pointer(const struct argument_named *part)
{
    return part->has_value && !part->is_address && part->scale == 1 &&
           !part->in_union && fault_type(part)->kind == TYPE_POINTER;
}

// fault_is_null returns true if a part is a pointer that is null.
static bool fault_is_null(const struct argument_named *part)
{
    return part->value == 0 && fault_is_pointer(part);
}

// fault_is_unmapped returns true if a part is a pointer to where nothing is mapped.
static bool fault_is_unmapped(const struct fault *f, const struct argument_named *part)
{
    return fault_is_pointer(part) &&
           !held_file_is_mapped(f->trace.stack->held, part->value);
}

// fault_is_outside returns true if a part is an index that is outside of the array
// whose address the other one is, and notes the array.
static bool fault_is_outside(struct fault *f, const struct argument_named *part,
                             const struct argument_named *other)
{
    const struct type_table *table = &other->call->image->types.table;
    const struct type *array = fault_type(other);
    uint64_t size;
    uint64_t bytes;
    if (!part->has_value || part->is_address || !other->is_address ||
        array->kind != TYPE_ARRAY || array->count == 0 ||
        fault_type(part)->kind != TYPE_INTEGER ||
        type_size(table, array->target, &size) != CH_OK || size != part->scale ||
        type_size(table, part->type, &bytes) != CH_OK || bytes > FAULT_WORD_BYTES ||
        part->value < array->count)
        return false;
    f->elements = array->count;
    text_clear(&f->array);
    text_append(&f->array, other->expression.bytes, other->expression.size);
    return text_ok(&f->array);
}

// fault_is_far_from returns true if a part is an index that leads far from where the
// other one, a pointer to memory, does.
static bool fault_is_far_from(const struct fault *f, const struct argument_named *part,
                              const struct argument_named *other)
{
    uint64_t bytes = fault_product(part);
    return fault_type(part)->kind == TYPE_INTEGER && !part->is_address &&
           fault_type(other)->kind == TYPE_POINTER && !other->is_address &&
           other->scale == 1 && argument_trace_leads(&f->trace, other->value) &&
           bytes + FAR_BYTES >= 2 * (uint64_t)FAR_BYTES;
}

// fault_part names a register that is part of the address.
static bool fault_part(struct fault *f, uint8_t reg, uint8_t scale,
                       struct argument_named *out)
{
    uint64_t value = f->innermost->frame.registers.value[reg];
    if (!argument_trace_register(&f->trace, 0, reg, FAULT_WORD_BYTES, out))
        return false;
    if (!out->has_value && out->scale == 1) {
        out->value = value;
        out->has_value = true;
    }
    uint64_t product = out->value * out->scale;
    bool agrees = product == value || (uint32_t)product == (uint32_t)value;
    out->scale *= scale;
    return out->has_value && agrees;
}

// fault_name_parts names the parts of an address that is the sum of two registers: in
// the operand itself, or before. False: neither has a name.
static bool fault_name_parts(struct fault *f, const struct instruction_memory *memory,
                             bool *out_both)
{
    if (memory->index < ARGUMENT_GENERAL_REGISTERS) {
        bool base = fault_part(f, memory->base, 1, &f->parts[0]);
        bool index = fault_part(f, memory->index, memory->scale, &f->parts[1]);
        f->parts[0].has_value = base;
        f->parts[1].has_value = index;
        *out_both = base && index;
        return base || index;
    }
    uint64_t base = f->innermost->frame.registers.value[memory->base];
    bool named = argument_trace_sum(&f->trace, 0, memory->base, f->parts);
    *out_both = named && f->parts[0].has_value && f->parts[1].has_value &&
                fault_product(&f->parts[0]) + fault_product(&f->parts[1]) == base;
    return named;
}

// fault_name_sum names a part of an address that is bad on its own, or for the other.
static bool fault_name_sum(struct fault *f, const struct instruction_memory *memory)
{
    bool both;
    bool named = fault_name_parts(f, memory, &both);
    int bad = 2; // a null pointer, or one to no memory, or an index that is too large
    for (int i = 1; named && i >= 0; i--)
        if (fault_is_null(&f->parts[i]) ||
            (both && (fault_is_unmapped(f, &f->parts[i]) ||
                      fault_is_outside(f, &f->parts[i], &f->parts[1 - i]))))
            bad = i;
    if (bad != 2)
        fault_blame(f, bad);
    return bad != 2;
}

// fault_name_far names the index that led far away from a pointer to memory, whose end
// is not known.
static bool fault_name_far(struct fault *f)
{
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    bool both;
    if (!crash_words_is_kind(f->crash, operand_kinds) || step == NULL ||
        !fault_has_operand(f, &step->effects.memory) ||
        !fault_name_parts(f, &step->effects.memory, &both) || !both)
        return false;
    for (int i = 0; i < 2; i++)
        if (fault_is_far_from(f, &f->parts[i], &f->parts[1 - i])) {
            fault_blame(f, i);
            f->likely = true;
            return true;
        }
    return false;
}

// fault_is_led_from returns true if the variable is a null pointer to an object that
// has what was accessed, after its first bytes: these are at 0, which programs write to
// in order to crash, too.
static bool fault_is_led_from(const struct fault *f,
                              const struct argument_variable *variable)
{
    const struct type_table *table = &f->innermost->image->types.table;
    const struct type *pointer = &table->types[type_strip(table, variable->type)];
    const json_t *access = json_object_get(f->crash, "access");
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct argument_part part = { type_strip(table, pointer->target), 0,
                                  (uint64_t)report_integer(access, "size", 0), false };
    return variable->is_null && pointer->kind == TYPE_POINTER &&
           report_address(access, "address", &part.offset) && part.offset != 0 &&
           argument_path_append(table, &part, "->", &path);
}

// fault_take_variable names a variable of the call, which has the value.
static bool fault_take_variable(const struct argument_call *call,
                                const struct argument_variable *variable,
                                uint64_t value, struct argument_named *out)
{
    *out = (struct argument_named){ .expression = out->expression,
                                    .call = call,
                                    .frame = variable->frame,
                                    .scale = 1,
                                    .value = value,
                                    .type = variable->type,
                                    .role = variable->role,
                                    .variable = true,
                                    .has_value = true };
    text_clear(&out->expression);
    text_append_string(&out->expression, variable->name);
    return text_ok(&out->expression);
}

// fault_name_constant names the null pointer that the compiler made a constant address
// of: the only one of the innermost function that leads there.
static bool fault_name_constant(struct fault *f)
{
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    const struct argument_scope *scope = &f->trace.scope;
    const struct argument_variable *found = NULL;
    if (!crash_words_is_kind(f->crash, operand_kinds) || step == NULL ||
        !step->effects.memory.used ||
        step->effects.memory.base != INSTRUCTION_NO_REGISTER ||
        step->effects.memory.index != INSTRUCTION_NO_REGISTER ||
        !argument_scope_read(&f->trace.scope, f->trace.stack, 0, step->vaddr,
                             f->trace.frames))
        return false;
    for (size_t i = 0; i < scope->count; i++) {
        if (!fault_is_led_from(f, &scope->variables[i]))
            continue;
        if (found != NULL && found->frame == scope->variables[i].frame)
            return false;
        found = found == NULL ? &scope->variables[i] : found;
    }
    if (found == NULL)
        return false;
    f->value = 0;
    f->likely = true;
    return fault_take_variable(f->innermost, found, 0, &f->named);
}

static bool fault_name_operand(struct fault *f)
{
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    if (!crash_words_is_kind(f->crash, operand_kinds) || step == NULL ||
        !fault_has_operand(f, &step->effects.memory))
        return false;
    f->base = step->effects.memory.base;
    return fault_name_base(f, &step->effects.memory) ||
           fault_name_sum(f, &step->effects.memory) ||
           (fault_name_offset(f, &step->effects.memory) &&
            fault_type(&f->named)->kind == TYPE_POINTER);
}

// fault_is_number returns true if what was named is no pointer, and no union.
static bool fault_is_number(const struct fault *f)
{
    return argument_is_returned(&f->named) ||
           fault_type(&f->named)->kind != TYPE_POINTER;
}

// fault_name_divisor names the register or memory that a division divides by.
static bool fault_name_divisor(struct fault *f)
{
    const uint64_t kinds =
        CRASH_KIND_BIT(DIVIDE_BY_ZERO) | CRASH_KIND_BIT(DIVISION_OVERFLOW);
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    if (!crash_words_is_kind(f->crash, kinds) || step == NULL ||
        report_integer(f->crash, "code", 0) != 1) // FPE_INTDIV
        return false;
    const struct instruction_effects *effects = &step->effects;
    f->value = 0;
    f->bytes = 4;
    if (effects->memory.used) {
        f->bytes = effects->memory.bytes;
        bool named = argument_trace_memory(&f->trace, 0, &effects->memory, &f->named) &&
                     f->named.has_value && fault_is_number(f);
        f->value = f->named.value;
        return named;
    }
    uint64_t divisor = effects->to < ARGUMENT_GENERAL_REGISTERS
                           ? f->innermost->frame.registers.value[effects->to]
                           : 1;
    f->value = divisor;
    return argument_trace_register(&f->trace, 0, effects->to, FAULT_WORD_BYTES,
                                   &f->named) &&
           !f->named.is_address && fault_agrees(f) && fault_is_number(f);
}

// fault_is_refused_target returns true if the innermost call failed because of its
// target, which it notes: an address that the processor cannot translate.
static bool fault_is_refused_target(struct fault *f, const struct argument_step *step)
{
    const struct instruction_effects *effects = &step->effects;
    uint64_t next = f->innermost->address + effects->length;
    uint64_t address;
    f->value = 0;
    if (!effects->memory.used && effects->to < ARGUMENT_GENERAL_REGISTERS)
        f->value = f->innermost->frame.registers.value[effects->to];
    else if (effects->memory.used &&
             (!fault_operand_address(f, &effects->memory, next, &address) ||
              memory_read_word(f->trace.stack->memory, address, &f->value) != CH_OK))
        return false;
    f->refused = !crash_address_is_canonical(f->value);
    return f->refused;
}

// fault_name_target names what an indirect call went to. A call that failed itself was
// about to read the target: the bad value is the address that it read it from, unless
// that can be read and no code can be where it leads.
static bool fault_name_target(struct fault *f)
{
    const uint64_t kinds = CRASH_KIND_BIT(WILD_JUMP) | CRASH_KIND_BIT(EXECUTE_OF_DATA) |
                           CRASH_KIND_BIT(NULL_DEREFERENCE) |
                           CRASH_KIND_BIT(NON_CANONICAL);
    const struct argument_stack *stack = f->trace.stack;
    size_t caller = f->innermost->image == NULL ? 1 : 0;
    if (!crash_words_is_kind(f->crash, kinds) || caller >= stack->count)
        return false;
    const struct argument_step *step = argument_trace_step(&f->trace, caller);
    bool jumps =
        step != NULL && caller == 0 && step->effects.flow == INSTRUCTION_ANYWHERE;
    if (step == NULL || (step->effects.flow != INSTRUCTION_CALLS && !jumps) ||
        step->effects.target != 0)
        return false;
    f->bytes = FAULT_WORD_BYTES;
    f->value = f->innermost->address;
    if (caller == 0 && !fault_is_refused_target(f, step))
        return false;
    if (step->effects.memory.used)
        return argument_trace_memory(&f->trace, caller, &step->effects.memory,
                                     &f->named) &&
               !f->named.is_address && fault_agrees(f);
    return argument_trace_register(&f->trace, caller, step->effects.to,
                                   FAULT_WORD_BYTES, &f->named) &&
           !f->named.is_address && fault_agrees(f);
}

// fault_name_index names the index by which the address is outside of an array. Code of
// libraries' headers that was compiled into the program is passed over.
static bool fault_name_index(struct fault *f)
{
    struct argument_index found = { 0 };
    const struct argument_stack *stack = f->trace.stack;
    const json_t *access = json_object_get(f->crash, "access");
    uint64_t address;
    size_t index = 0;
    while (index < stack->count && report_flag(stack->calls[index].from, "system"))
        index++;
    if (index == stack->count || stack->calls[index].image == NULL ||
        (!report_address(access, "address", &address) &&
         !report_address(f->crash, "address", &address)))
        return false;
    bool named = argument_index_find(&f->trace, index, address, &found);
    if (named) {
        fault_take_array(f, &found);
        (void)fault_take_variable(&stack->calls[index], &found.variable,
                                  (uint64_t)found.value, &f->named);
        text_deinit(&f->named.expression);
        f->named.expression = found.index;
        f->named.variable = found.is_variable;
        f->number = true;
        f->value = (uint64_t)found.value;
        f->bytes = FAULT_WORD_BYTES;
    } else {
        argument_index_deinit(&found);
    }
    return named;
}

// fault_value gives the bad value by the type of what has it.
static json_t *fault_value(const struct fault *f)
{
    const struct type_table *table = &f->named.call->image->types.table;
    const struct type *type = fault_type(&f->named);
    uint64_t size = f->bytes;
    if (f->number)
        return json_integer((json_int_t)f->value);
    if (f->function != NULL && library_functions_frees(f->function))
        return json_sprintf("0x%" PRIx64, f->value);
    if (type->kind == TYPE_POINTER)
        return f->value == 0 ? json_null() : json_sprintf("0x%" PRIx64, f->value);
    (void)!type_size(table, f->named.type, &size);
    uint64_t value = f->named.has_value ? f->named.value : f->value;
    if (size < FAULT_WORD_BYTES)
        value &= (UINT64_C(1) << (8 * size)) - 1;
    bool negative = type->encoding & TYPE_SIGNED && size <= FAULT_WORD_BYTES &&
                    size != 0 && value >> (8 * size - 1) & 1;
    if (negative && size < FAULT_WORD_BYTES)
        value |= ~UINT64_C(0) << (8 * size);
    if (!negative && value > INT64_MAX)
        return json_sprintf("0x%" PRIx64, value);
    return json_integer((json_int_t)value);
}

// fault_is_end returns true if the null pointer is that of an iterator of an unordered
// container of libstdc++.
static bool fault_is_end(const struct fault *f)
{
    static const char node[] = "_Hash_node<";
    const struct type_table *table = &f->named.call->image->types.table;
    const struct type *pointer = fault_type(&f->named);
    return pointer->kind == TYPE_POINTER && f->value == 0 && !f->named.variable &&
           !argument_is_returned(&f->named) &&
           strncmp(table->types[type_strip(table, pointer->target)].name, node,
                   sizeof(node) - 1) == 0;
}

// fault_null_member gives which member or element of what the null pointer leads to was
// accessed.
static json_t *fault_null_member(const struct fault *f)
{
    const struct type_table *table = &f->named.call->image->types.table;
    const struct type *pointer = fault_type(&f->named);
    const json_t *access = json_object_get(f->crash, "access");
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    uint64_t address;
    if (pointer->kind != TYPE_POINTER || f->value != 0 ||
        argument_is_returned(&f->named) ||
        !report_address(access, "address", &address) || address > INT32_MAX)
        return NULL;
    uint32_t target = type_strip(table, pointer->target);
    enum type_kind kind = table->types[target].kind;
    struct argument_part part = { target, address,
                                  (uint64_t)report_integer(access, "size", 0), false };
    bool has_members = (kind == TYPE_STRUCT || kind == TYPE_UNION) &&
                       !f->named.accessed && !fault_is_end(f);
    bool named = has_members && argument_path_append(table, &part, "->", &path);
    // A library is passed an array, and reads it in other steps than its elements.
    if (has_members && !named && f->function != NULL) {
        part = (struct argument_part){ target, address, sizeof(char), false };
        text_clear(&path);
        named = argument_path_append(table, &part, "->", &path) && path.size > 3 &&
                memcmp(path.bytes + path.size - 3, "[0]", 3) == 0;
        if (named)
            path.bytes[path.size - 3] = 0;
    }
    named = named && text_ok(&path);
    return json_pack("{s:s, s:I, s:o*}", "kind", "null-offset", "offset",
                     (json_int_t)address, "member",
                     named ? json_sprintf("%s%s", f->named.expression.bytes, path.bytes)
                           : NULL);
}

// fault_freed_stack reports that the bad value was loaded from below the stack pointer,
// past what the innermost function may use: from variables of one that has returned.
static json_t *fault_freed_stack(const struct fault *f)
{
    enum { RED_ZONE_BYTES = 128 };
    uint64_t sp = f->innermost->frame.registers.value[f->trace.stack->arch->sp];
    uint64_t start;
    if (!f->named.loaded || f->base >= ARGUMENT_GENERAL_REGISTERS ||
        !report_address(json_object_get(f->crash, "stack"), "start", &start) ||
        f->named.from < start || f->named.from >= sp - RED_ZONE_BYTES)
        return NULL;
    return json_pack("{s:s, s:s, s:o}", "kind", "freed-stack", "register",
                     fault_register_name(f, f->base), "address",
                     json_sprintf("0x%" PRIx64, f->named.from));
}

// fault_freed_link reports that the bad value is what malloc put where it was loaded
// from, when it was freed: the link to a block of the same size, since glibc 2.32
// combined with its address, or the key in the word after it, which all such have.
static json_t *fault_freed_link(const struct fault *f)
{
    enum { ALIGNMENT = 16, PAGE_SHIFT = 12 };
    const struct held_file *held = f->trace.stack->held;
    uint64_t block = f->named.from & ~(uint64_t)(ALIGNMENT - 1);
    uint64_t link = f->value;
    uint64_t key;
    if (!f->named.loaded || f->value == 0 ||
        fault_type(&f->named)->kind != TYPE_POINTER ||
        (block != f->named.from &&
         (block + FAULT_WORD_BYTES != f->named.from ||
          memory_read_word(f->trace.stack->memory, block, &link) != CH_OK)))
        return NULL;
    uint64_t next = link ^ block >> PAGE_SHIFT;
    if (next % ALIGNMENT != 0)
        return NULL;
    const struct held_mapping *mapping = held_file_mapping(held, block);
    uint64_t size = argument_freed_size(f->trace.stack, block);
    if (size == 0 || mapping == NULL || mapping->flags & HELD_OF_FILE ||
        (next != 0 && (held_file_mapping(held, next) != mapping ||
                       argument_freed_size(f->trace.stack, next) != size)) ||
        (block != f->named.from &&
         (next == 0 ||
          memory_read_word(f->trace.stack->memory, next + FAULT_WORD_BYTES, &key) !=
              CH_OK ||
          key != f->value)))
        return NULL;
    return json_pack("{s:s, s:o}", "kind", "freed-chunk", "address",
                     json_sprintf("0x%" PRIx64, f->named.from));
}

// fault_cut gives the variable of 4 bytes that the bad value was taken from.
static json_t *fault_cut(struct fault *f)
{
    struct argument_named cut = { 0 };
    uint64_t vaddr;
    json_t *origin = NULL;
    if (fault_type(&f->named)->kind == TYPE_POINTER &&
        argument_trace_cut(&f->trace, 0, f->base, &cut, &vaddr))
        origin = json_pack("{s:s, s:s, s:s, s:I}", "kind", "truncated", "register",
                           fault_register_name(f, f->base), "variable",
                           cut.expression.bytes, "vaddr", (json_int_t)vaddr);
    argument_named_deinit(&cut);
    return origin;
}

static json_t *fault_write(struct fault *f)
{
    static const char *const roles[] = { "local", "argument", "global", "returned",
                                         "led-to" };
    const json_t *frame = json_array_get(f->trace.frames, f->named.frame);
    bool has_role = f->named.variable || argument_is_returned(&f->named);
    bool outside = f->elements != 0 || f->container != NULL;
    bool array = f->container == NULL || strcmp(f->container, "array") == 0;
    json_t *origin = fault_null_member(f);
    if (origin == NULL)
        origin = fault_freed_stack(f);
    if (origin == NULL)
        origin = fault_freed_link(f);
    if (origin == NULL)
        origin = fault_cut(f);
    return json_pack(
        "{s:s, s:I, s:s*, s:o, s:s, s:s*, s:s*, s:s*, s:o*, s:s*, s:s*, s:s*, s:s*, "
        "s:o*, s:o*}",
        "expression", f->named.expression.bytes, "frame", (json_int_t)f->named.frame,
        "function", report_string(frame, "function"), "value", fault_value(f),
        "confidence", f->likely ? "likely" : "proved", "role",
        has_role ? roles[f->named.role] : NULL, "passed_to",
        f->function != NULL ? f->function->name : NULL, "passed_as",
        f->function != NULL ? f->passed_as : NULL, "elements",
        outside ? json_integer((json_int_t)f->elements) : NULL, "array",
        outside ? f->array.bytes : NULL, "container",
        outside && !array ? f->container : NULL, "state",
        f->state == NULL && fault_is_end(f) ? "end" : f->state, "text",
        f->text[0] != 0 ? f->text : NULL, "block_bytes",
        f->block_bytes != 0 ? json_integer((json_int_t)f->block_bytes) : NULL, "origin",
        origin);
}

// fault_name_outer names the pointer that a library's function was passed, where only
// the value at which it failed tells.
static bool fault_name_outer(struct fault *f)
{
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    if (step == NULL || !report_flag(f->innermost->from, "system") ||
        !fault_has_operand(f, &step->effects.memory) ||
        step->effects.memory.index != INSTRUCTION_NO_REGISTER ||
        step->effects.memory.base == f->trace.stack->arch->sp)
        return false;
    f->base = step->effects.memory.base;
    f->value = f->innermost->frame.registers.value[f->base];
    f->likely = argument_outer_find(&f->trace, 0, f->value, &f->named);
    f->value = f->named.value;
    f->bytes = FAULT_WORD_BYTES;
    return f->likely;
}

// fault_find_null finds the null pointer that the value close to null of a variable was
// made of: by the caller, whose argument it is, or by the function itself.
static bool fault_find_null(struct fault *f, struct argument_named *out)
{
    size_t index = (size_t)(f->named.call - f->trace.stack->calls);
    if (f->named.role == ARGUMENT_PARAMETER &&
        argument_outer_find(&f->trace, index, f->value, out))
        return true;
    return index == 0 && argument_trace_stored(&f->trace, 0, f->base, out) &&
           !out->is_address && out->scale == 1 && out->has_value && out->value == 0 &&
           fault_type(out)->kind == TYPE_POINTER && (uint64_t)out->added == f->value;
}

// fault_find_object names what the caller has for `this`: the pointer that it passed,
// or the function that returned the object.
static bool fault_find_object(struct fault *f, size_t index, struct argument_named *out)
{
    const struct argument_stack *stack = f->trace.stack;
    const uint8_t self = argument_machine_of(stack->arch)->arguments[0];
    bool is_this = f->named.variable &&
                   strcmp(f->named.expression.bytes, "this") == 0 &&
                   f->named.frame == f->named.call->index;
    for (int level = 0; is_this && level < LEVELS_MAX; level++) {
        if (argument_site_is_tail(stack, index) || ++index >= stack->count ||
            report_flag(stack->calls[index].from, "system") ||
            (!argument_trace_register(&f->trace, index, self, FAULT_WORD_BYTES, out) &&
             !argument_trace_offset(&f->trace, index, self, out)))
            return false;
        if (argument_is_returned(out)) {
            out->value = f->value - (uint64_t)out->added;
            return true;
        }
        if (out->is_address || out->scale != 1 || out->added != 0 || !out->has_value ||
            out->value != f->value || fault_type(out)->kind != TYPE_POINTER)
            return false;
        if (strcmp(out->expression.bytes, "this") != 0)
            return !report_flag(json_array_get(f->trace.frames, out->frame), "system");
        // That of a call that was inlined was not passed by the next caller.
        is_this = out->frame == out->call->index;
    }
    return false;
}

// fault_settle gives what was named the name that the program's own code has for it: a
// library's variables are not to blame, and an argument that is close to null may be a
// member of a null pointer of the caller's. False: there is no such name.
static bool fault_settle(struct fault *f)
{
    struct argument_named outer = { 0 };
    bool system =
        report_flag(json_array_get(f->trace.frames, f->named.frame), "system");
    bool near = f->named.variable && f->value != 0 &&
                f->value + NEAR_NULL_BYTES < 2 * NEAR_NULL_BYTES;
    size_t index = (size_t)(f->named.call - f->trace.stack->calls);
    bool found = fault_type(&f->named)->kind == TYPE_POINTER &&
                 ((near && fault_find_null(f, &outer)) ||
                  (system && argument_outer_find(&f->trace, index, f->value, &outer)) ||
                  fault_find_object(f, index, &outer));
    if (!found) {
        argument_named_deinit(&outer);
        return !system;
    }
    argument_named_deinit(&f->named);
    f->named = outer;
    f->value = outer.value;
    f->likely = true;
    return true;
}

// fault_runs_on returns true if the access may have run on from an object beside it: a
// pointer that moves on fails at the first bytes of a page, or the last, and one that
// was wrong from the start does not.
static bool fault_runs_on(const struct fault *f)
{
    enum { PAGE_BYTES = 4096, EDGE_BYTES = 64 };
    uint64_t address;
    if (f->number || fault_type(&f->named)->kind != TYPE_POINTER ||
        !report_address(json_object_get(f->crash, "access"), "address", &address))
        return true;
    uint64_t at = address % PAGE_BYTES;
    return at < EDGE_BYTES || at >= PAGE_BYTES - EDGE_BYTES;
}

// fault_forget takes back what a way that named nothing has noted.
static void fault_forget(struct fault *f)
{
    f->base = INSTRUCTION_NO_REGISTER;
    f->function = NULL;
    f->container = f->passed_as = f->state = NULL;
    f->elements = f->block_bytes = 0;
    f->likely = f->number = false;
    f->text[0] = 0;
}

// fault_name tries all ways until one names the bad value, or a call was refused.
static bool fault_name(struct fault *f)
{
    static bool (*const ways[])(struct fault *) = {
        fault_name_freed,   fault_name_target,  fault_name_entered,
        fault_name_passed,  fault_name_operand, fault_name_constant,
        fault_name_divisor, fault_name_length,  fault_name_index,
        fault_name_far,     fault_name_outer,   fault_name_parameter,
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !f->refused; i++) {
        fault_forget(f);
        if (ways[i](f) && fault_settle(f))
            return true;
    }
    fault_forget(f);
    return false;
}

// fault_find names the bad value: by a variable that has it, else by the function that
// returned it.
static json_t *fault_find(struct fault *f)
{
    if (f->trace.stack->count == 0 || !f->innermost->frame.activation ||
        argument_machine_of(f->trace.stack->arch) == NULL)
        return NULL;
    bool named = fault_name(f);
    if (!named && f->trace.met_returned) {
        f->trace.takes_returned = true;
        f->refused = false;
        named = fault_name(f);
    }
    json_t *variable = named ? fault_write(f) : f->refused ? json_object() : NULL;
    json_t *nearest = f->container == NULL && (variable == NULL || fault_runs_on(f))
                          ? argument_index_nearest(&f->trace, f->crash)
                          : NULL;
    if (variable == NULL && f->null)
        variable = json_pack("{s:n}", "value");
    if (nearest != NULL && variable == NULL)
        variable = json_object();
    if (nearest != NULL)
        (void)json_object_set_new(variable, "nearest", nearest);
    if (f->refused)
        (void)json_object_set_new(variable, "target",
                                  json_sprintf("0x%" PRIx64, f->value));
    return variable;
}

json_t *argument_fault_find(const json_t *report, const struct argument_stack *stack,
                            const json_t *frames)
{
    struct fault *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return NULL;
    f->crash = json_object_get(report, "crash");
    f->trace.stack = stack;
    f->trace.frames = frames;
    f->innermost = stack->calls;
    json_t *found = fault_find(f);
    argument_named_deinit(&f->named);
    argument_named_deinit(&f->parts[0]);
    argument_named_deinit(&f->parts[1]);
    text_deinit(&f->array);
    free(f);
    return found;
}
