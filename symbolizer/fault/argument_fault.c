// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/register_name.h"
#include "report/value/report.h"
#include "symbolizer/fault/argument_freed.h"
#include "symbolizer/fault/argument_index.h"
#include "symbolizer/fault/argument_trace.h"
#include "symbolizer/fault/library_functions.h"

enum { WORD_BYTES = 8 };

// fault is the crash whose variable is looked for.
struct fault {
    const json_t *crash;
    const json_t *shown;
    struct argument_trace trace;
    const struct argument_call *innermost;
    struct argument_named named;
    uint64_t value; // the bad one
    uint8_t bytes;
    uint64_t elements;              // of the array that it is outside of; 0: none
    const char *container;          // what it is; NULL: an array
    struct text array;              // its name
    struct argument_named parts[2]; // of an address
    uint8_t base;                   // the operand's register
    const struct library_function *function; // that it was passed to; NULL: none
    const char *passed_as;                   // its role there
    bool likely;       // it is the only one that can be bad, but no code says so
    const char *state; // of a block that was freed; NULL: not known
    char text[ARGUMENT_FREED_TEXT]; // in the place of its size
    bool number;                    // the value is a number, of 8 bytes
    bool refused;                   // the value is where a call was to go
};

static bool fault_is_kind(const struct fault *f, const char *const *kinds)
{
    const char *kind = report_string(f->crash, "kind");
    for (size_t i = 0; kind != NULL && kinds[i] != NULL; i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

// fault_agrees says whether what memory has for the name is the bad value.
static bool fault_agrees(const struct fault *f)
{
    uint64_t mask = f->bytes < WORD_BYTES ? (UINT64_C(1) << (8 * f->bytes)) - 1 : ~0ull;
    return !f->named.has_value || ((f->named.value ^ f->value) & mask) == 0;
}

// fault_name_register names a register of call index with that value.
static bool fault_name_register(struct fault *f, size_t index, uint8_t reg,
                                uint64_t value)
{
    f->value = value;
    f->bytes = WORD_BYTES;
    return argument_trace_register(&f->trace, index, reg, WORD_BYTES, &f->named) &&
           !f->named.is_address && fault_agrees(f);
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

// fault_has_operand says whether the memory operand leads to the address of the fault.
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

// fault_name_base names the base of an operand that is nothing else.
static bool fault_name_base(struct fault *f, const struct instruction_memory *memory)
{
    uint64_t base = f->innermost->frame.registers.value[memory->base];
    return memory->index == INSTRUCTION_NO_REGISTER &&
           memory->base != f->trace.stack->arch->sp &&
           fault_name_register(f, 0, memory->base, base);
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
    f->bytes = WORD_BYTES;
    return fault_agrees(f);
}

// fault_type is the type of a named value, without typedefs and qualifiers.
static const struct type *fault_type(const struct argument_named *named)
{
    const struct type_table *table = &named->call->image->types.table;
    return &table->types[type_strip(table, named->type)];
}

// fault_blame makes one of the two parts of an address the bad value.
static void fault_blame(struct fault *f, int part)
{
    struct text unused = f->named.expression;
    f->named = f->parts[part];
    f->parts[part].expression = unused;
    f->value = f->named.value;
    f->bytes = WORD_BYTES;
}

// fault_is_null says whether a part is a pointer that is null.
static bool fault_is_null(const struct argument_named *part)
{
    return part->has_value && !part->is_address && part->scale == 1 &&
           part->value == 0 && fault_type(part)->kind == TYPE_POINTER;
}

// fault_is_outside says whether a part is an index that is outside of the array whose
// address the other one is, and notes the array.
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
        type_size(table, part->type, &bytes) != CH_OK || bytes > WORD_BYTES ||
        part->value < array->count)
        return false;
    f->elements = array->count;
    text_clear(&f->array);
    text_append(&f->array, other->expression.bytes, other->expression.size);
    return text_ok(&f->array);
}

// fault_name_parts names the base or the index of which the address is the sum.
static bool fault_name_parts(struct fault *f)
{
    for (int i = 0; i < 2; i++) {
        if (!fault_is_null(&f->parts[i]) &&
            !fault_is_outside(f, &f->parts[i], &f->parts[1 - i]))
            continue;
        fault_blame(f, i);
        return true;
    }
    return false;
}

// fault_part names a register that is part of the address.
static bool fault_part(struct fault *f, uint8_t reg, uint8_t scale,
                       struct argument_named *out)
{
    uint64_t value = f->innermost->frame.registers.value[reg];
    if (!argument_trace_register(&f->trace, 0, reg, WORD_BYTES, out))
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

// fault_name_sum names a part of an address that is the sum of two registers: in the
// operand itself, or before.
static bool fault_name_sum(struct fault *f, const struct instruction_memory *memory)
{
    if (memory->index < ARGUMENT_GENERAL_REGISTERS)
        return fault_part(f, memory->base, 1, &f->parts[0]) &&
               fault_part(f, memory->index, memory->scale, &f->parts[1]) &&
               fault_name_parts(f);
    uint64_t base = f->innermost->frame.registers.value[memory->base];
    return argument_trace_sum(&f->trace, 0, memory->base, f->parts) &&
           f->parts[0].has_value && f->parts[1].has_value &&
           f->parts[0].value * f->parts[0].scale +
                   f->parts[1].value * f->parts[1].scale ==
               base &&
           fault_name_parts(f);
}

static bool fault_name_operand(struct fault *f)
{
    static const char *const kinds[] = { "null-dereference",
                                         "non-canonical-address",
                                         "use-after-unmap",
                                         "write-to-read-only",
                                         "file-truncated",
                                         "protection-key",
                                         "memory-tag",
                                         "misaligned",
                                         "small-address",
                                         "unknown",
                                         NULL };
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    if (!fault_is_kind(f, kinds) || step == NULL ||
        !fault_has_operand(f, &step->effects.memory))
        return false;
    f->base = step->effects.memory.base;
    return fault_name_base(f, &step->effects.memory) ||
           fault_name_sum(f, &step->effects.memory) ||
           (fault_name_offset(f, &step->effects.memory) &&
            fault_type(&f->named)->kind == TYPE_POINTER);
}

// fault_name_divisor names the register or memory that a division divides by.
static bool fault_name_divisor(struct fault *f)
{
    static const char *const kinds[] = { "divide-by-zero", "division-overflow", NULL };
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    if (!fault_is_kind(f, kinds) || step == NULL ||
        report_integer(f->crash, "code", 0) != 1) // FPE_INTDIV
        return false;
    const struct instruction_effects *effects = &step->effects;
    f->value = 0;
    f->bytes = 4;
    if (effects->memory.used) {
        f->bytes = effects->memory.bytes;
        bool named = argument_trace_memory(&f->trace, 0, &effects->memory, &f->named) &&
                     f->named.has_value;
        f->value = f->named.value;
        return named;
    }
    uint64_t divisor = effects->to < ARGUMENT_GENERAL_REGISTERS
                           ? f->innermost->frame.registers.value[effects->to]
                           : 1;
    f->value = divisor;
    return argument_trace_register(&f->trace, 0, effects->to, WORD_BYTES, &f->named) &&
           !f->named.is_address && fault_agrees(f);
}

// fault_is_refused_target says whether the innermost call failed because of its target,
// which it notes: an address that the processor cannot translate.
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
    f->refused = (uint64_t)((int64_t)(f->value << 16) >> 16) != f->value;
    return f->refused;
}

// fault_name_target names what an indirect call went to. A call that failed itself was
// about to read the target: the bad value is the address that it read it from, unless
// that can be read and no code can be where it leads.
static bool fault_name_target(struct fault *f)
{
    static const char *const kinds[] = { "wild-jump", "execute-of-data",
                                         "null-dereference", "non-canonical-address",
                                         NULL };
    const struct argument_stack *stack = f->trace.stack;
    size_t caller = f->innermost->image == NULL ? 1 : 0;
    if (!fault_is_kind(f, kinds) || caller >= stack->count)
        return false;
    const struct argument_step *step = argument_trace_step(&f->trace, caller);
    bool jumps =
        step != NULL && caller == 0 && step->effects.flow == INSTRUCTION_ANYWHERE;
    if (step == NULL || (step->effects.flow != INSTRUCTION_CALLS && !jumps) ||
        step->effects.target != 0)
        return false;
    f->bytes = WORD_BYTES;
    f->value = f->innermost->address;
    if (caller == 0 && !fault_is_refused_target(f, step))
        return false;
    if (step->effects.memory.used)
        return argument_trace_memory(&f->trace, caller, &step->effects.memory,
                                     &f->named) &&
               !f->named.is_address && fault_agrees(f);
    return argument_trace_register(&f->trace, caller, step->effects.to, WORD_BYTES,
                                   &f->named) &&
           !f->named.is_address && fault_agrees(f);
}

// fault_library_function gives the library's function that the call of step in the
// caller at index is one of; NULL: another.
static const struct library_function *
fault_library_function(const struct fault *f, size_t index,
                       const struct argument_step *step)
{
    const struct argument_call *caller = &f->trace.stack->calls[index];
    const struct instruction_memory *memory = &step->effects.memory;
    const char *name = NULL;
    if (step->effects.target != 0)
        name = library_functions_import_of_stub(caller->image, step->effects.target);
    else if (memory->used && memory->base == INSTRUCTION_PC)
        name = library_functions_import_of_slot(caller->image,
                                                step->vaddr + step->effects.length +
                                                    (uint64_t)memory->displacement);
    const struct library_function *found =
        name != NULL ? library_functions_find(name) : NULL;
    const char *called =
        report_string(f->trace.stack->calls[index - 1].from, "function");
    return found == NULL && called != NULL ? library_functions_find_scoped(called)
                                           : found;
}

// fault_number gives a pointer's value as the report shows it.
static bool fault_number(const json_t *value, uint64_t *out)
{
    const char *address = json_is_object(value) ? report_string(value, "address")
                                                : json_string_value(value);
    *out = 0;
    return json_is_null(value) ||
           (address != NULL && report_read_address(address, out));
}

// fault_has_value says whether a shown variable has that value, as of now or as of its
// function's call.
static bool fault_has_value(const json_t *variable, uint64_t value)
{
    const json_t *now = json_object_get(variable, "value");
    const json_t *then = json_object_get(variable, "entry_value");
    uint64_t number;
    return (fault_number(now, &number) && number == value) ||
           (fault_number(then, &number) && number == value);
}

// fault_is_shown says whether the report shows the argument with that value.
static bool fault_is_shown(const struct fault *f, uint64_t value)
{
    const json_t *list = NULL;
    for (size_t i = 0; i < json_array_size(f->shown) && list == NULL; i++) {
        const json_t *call = json_array_get(f->shown, i);
        if (report_integer(call, "frame", -1) == (json_int_t)f->named.frame)
            list = json_object_get(call, "arguments");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = report_string(one, "name");
        if (name != NULL && strcmp(name, f->named.expression.bytes) == 0)
            return fault_has_value(one, value);
    }
    return false;
}

// fault_caller gives the index of the innermost call of the program's own code, which
// called the libraries; 0: there is none.
static size_t fault_caller(const struct fault *f)
{
    const struct argument_stack *stack = f->trace.stack;
    for (size_t i = 0; i < stack->count; i++) {
        bool system = report_flag(stack->calls[i].from, "system");
        if (!system)
            return stack->calls[i].image != NULL &&
                           stack->calls[i].image != f->innermost->image
                       ? i
                       : 0;
    }
    return 0;
}

// fault_may_be says whether a pointer with that role can be the one that was accessed
// as the processor says.
static bool fault_may_be(const struct fault *f, const char *role)
{
    const char *operation =
        report_string(json_object_get(f->crash, "access"), "operation");
    if (role == NULL || operation == NULL)
        return role != NULL;
    // Functions store where the text ended, and never read that.
    return strcmp(role, strcmp(operation, "write") == 0 ? "source" : "end") != 0;
}

// fault_name_member_of_null names the null pointer of which a member's address was
// passed in a register by the caller.
static bool fault_name_member_of_null(struct fault *f, size_t caller, uint8_t reg,
                                      uint64_t address)
{
    struct argument_named *named = &f->named;
    f->value = 0;
    f->bytes = WORD_BYTES;
    return argument_trace_offset(&f->trace, caller, reg, named) && !named->is_address &&
           named->scale == 1 && named->added > 0 && (uint64_t)named->added == address &&
           fault_agrees(f) &&
           (named->has_value || f->innermost->frame.registers.value[reg] == address) &&
           fault_type(named)->kind == TYPE_POINTER;
}

// fault_name_argument names a pointer that was passed in a register by the caller, and
// that the access at address began at, or followed in the same page: that page cannot
// be accessed, so it is the pointer that is bad, and not a length.
static bool fault_name_argument(struct fault *f, size_t caller, uint8_t reg,
                                uint64_t address)
{
    enum { PAGE_BYTES = 4096 };
    if (fault_name_register(f, caller, reg, address))
        return f->named.has_value || (f->named.variable && fault_is_shown(f, address));
    if (fault_name_member_of_null(f, caller, reg, address))
        return true;
    if (!argument_trace_register(&f->trace, caller, reg, WORD_BYTES, &f->named) ||
        f->named.is_address || !f->named.has_value || f->named.scale != 1 ||
        f->named.value > address || f->named.value / PAGE_BYTES != address / PAGE_BYTES)
        return false;
    f->value = f->named.value;
    return true;
}

// fault_is_only names the pointer in a register whose value is not known any more,
// where it is the only one that the function can have failed at. One past the end of a
// page may have been reached from a pointer that is good.
static bool fault_is_only(struct fault *f, size_t caller, uint8_t reg, uint64_t address)
{
    enum { PAGE_BYTES = 4096 };
    f->value = address;
    f->bytes = WORD_BYTES;
    return (address == 0 || address % PAGE_BYTES != 0) &&
           argument_trace_register(&f->trace, caller, reg, WORD_BYTES, &f->named) &&
           !f->named.is_address && !f->named.has_value && f->named.scale == 1;
}

// fault_is_other says whether the pointer in a register is known to be another one than
// what the function failed at, which is address.
static bool fault_is_other(struct fault *f, size_t caller, uint8_t reg,
                           uint64_t address)
{
    uint64_t value;
    if (argument_trace_value(&f->trace, caller, reg, &value))
        return value != address;
    return argument_trace_register(&f->trace, caller, reg, WORD_BYTES, &f->named) &&
           (f->named.is_address || f->named.has_value);
}

// fault_argument gives the register of an argument.
static uint8_t fault_argument(const struct fault *f, size_t number)
{
    return argument_machine_of(f->trace.stack->arch)->arguments[number];
}

static const char *fault_register_name(const struct fault *f, uint8_t number)
{
    return f->trace.stack->arch->id == UNWIND_ARCH_AMD64
               ? register_name_amd64(number, WORD_BYTES)
               : register_name_aarch64(number);
}

// fault_in_register gives the number of the pointer whose register the called function
// itself accessed, unchanged by a displacement or an index; negative: none. Functions
// that return their destination have it in rax from the start.
static int fault_in_register(const struct fault *f, size_t caller,
                             const struct library_function *function)
{
    const char *expression =
        report_string(json_object_get(f->crash, "access"), "expression");
    if (caller == 1 && expression != NULL && strcmp(expression, "rax") == 0)
        return function->roles[0] != NULL &&
                       strcmp(function->roles[0], "destination") == 0
                   ? 0
                   : -1;
    for (size_t i = 0; i < LIBRARY_POINTERS && caller == 1 && expression != NULL; i++)
        if (strcmp(expression, fault_register_name(f, fault_argument(f, i))) == 0)
            return (int)i;
    return -1;
}

// fault_passed_values gives how many pointers at most follow the format that the
// function was passed: one for each conversion and each width that is an argument. The
// format has the number at. LIBRARY_POINTERS: that is not known.
static size_t fault_passed_values(struct fault *f, size_t caller, size_t at)
{
    char format[256];
    uint64_t address;
    size_t count = 0;
    if (!argument_trace_value(&f->trace, caller, fault_argument(f, at), &address) ||
        memory_read_string(f->trace.stack->memory, address, format, sizeof(format)) !=
            CH_OK)
        return LIBRARY_POINTERS;
    for (const char *next = format; *next != 0; next++)
        count += *next == '%' || *next == '*';
    return count;
}

// fault_passed_count gives how many arguments of the function may be pointers that the
// caller passed: a function with a format is passed no more than that asks for.
static size_t fault_passed_count(struct fault *f, size_t caller,
                                 const struct library_function *function)
{
    for (size_t i = 0; i + 1 < LIBRARY_POINTERS; i++)
        if (function->roles[i] != NULL && strcmp(function->roles[i], "format") == 0 &&
            function->roles[i + 1] != NULL)
            return i + 1 + fault_passed_values(f, caller, i);
    return LIBRARY_POINTERS;
}

// fault_is_at_begin says whether an access at address was at the begin of what the
// function was passed a pointer to: at null there is nothing before, and most functions
// access the begin first. A register that is the whole operand is not advanced yet: its
// first page cannot be accessed.
static bool fault_is_at_begin(const struct fault *f, uint64_t address,
                              const struct library_function *function)
{
    const char *expression =
        report_string(json_object_get(f->crash, "access"), "expression");
    return function->exact || address == 0 ||
           (function->begins && expression != NULL &&
            strpbrk(expression, "+-*") == NULL);
}

// fault_find_passed names the pointer that the function failed at, and gives the number
// of the argument; negative: it is not known.
static int fault_find_passed(struct fault *f, size_t caller,
                             const struct library_function *function, uint64_t address)
{
    uint64_t value = address + function->before;
    int equal = -1;
    bool same = false; // equal has the very value
    int possible = -1;
    size_t possible_count = 0;
    size_t count = fault_passed_count(f, caller, function);
    for (int i = 0; i < LIBRARY_POINTERS && (size_t)i < count; i++) {
        if (!fault_may_be(f, function->roles[i]))
            continue;
        if (fault_name_argument(f, caller, fault_argument(f, i), value)) {
            bool is_same = f->value == value;
            if (equal >= 0 && same == is_same)
                return -1; // which of the two it was is not known
            equal = same ? equal : i;
            same = same || is_same;
        } else if (!fault_is_other(f, caller, fault_argument(f, i), value)) {
            possible = i;
            possible_count++;
        }
    }
    if (equal >= 0)
        return fault_name_argument(f, caller, fault_argument(f, equal), value) ? equal
                                                                               : -1;
    int accessed = fault_in_register(f, caller, function);
    if (accessed >= 0 && fault_may_be(f, function->roles[accessed]))
        possible = accessed;
    else if (possible_count != 1 || !fault_is_at_begin(f, value, function))
        return -1;
    if (!fault_is_only(f, caller, fault_argument(f, possible), value))
        return -1;
    f->likely = true;
    return possible;
}

// fault_passes gives the index of the program's call that called a function of a
// library, and that function; 0: there is none.
static size_t fault_passes(struct fault *f, const struct library_function **out,
                           uint64_t *out_address)
{
    size_t caller = fault_caller(f);
    const struct argument_step *step =
        caller != 0 && report_address(f->crash, "address", out_address)
            ? argument_trace_step(&f->trace, caller)
            : NULL;
    *out = step != NULL && step->effects.flow == INSTRUCTION_CALLS
               ? fault_library_function(f, caller, step)
               : NULL;
    return *out != NULL ? caller : 0;
}

// fault_name_passed names the pointer that was passed to a function of a library, which
// failed right at it, or a function that it called.
static bool fault_name_passed(struct fault *f)
{
    const struct library_function *function;
    uint64_t address;
    size_t caller = fault_passes(f, &function, &address);
    int bad = caller != 0 ? fault_find_passed(f, caller, function, address) : -1;
    // A name of a library's header, which was inlined, is not the program's.
    if (bad < 0 ||
        report_flag(json_array_get(f->trace.frames, f->named.frame), "system"))
        return false;
    f->function = function;
    f->passed_as = function->roles[bad];
    return true;
}

// fault_take_array takes the name of an array, and what it has.
static void fault_take_array(struct fault *f, struct argument_index *found)
{
    text_deinit(&f->array);
    f->array = found->array;
    f->elements = found->extent.count;
    f->container = found->extent.kind;
    f->likely = true;
    found->array = (struct text){ 0 };
}

// fault_pointer gives the value of a pointer that was passed in a register.
static bool fault_pointer(struct fault *f, size_t caller, uint8_t reg, uint64_t *out)
{
    struct argument_named *named = &f->named;
    bool named_whole =
        argument_trace_register(&f->trace, caller, reg, WORD_BYTES, named);
    if (!named_whole && !argument_trace_offset(&f->trace, caller, reg, named))
        return false;
    *out = named->value + (named_whole ? 0 : (uint64_t)named->added);
    return named->scale == 1 && (named->has_value || named->is_address);
}

// fault_name_length names the number of bytes that was passed to a function of a
// library, which failed past the end of what it was passed a pointer to.
static bool fault_name_length(struct fault *f)
{
    const struct library_function *function;
    struct argument_index found = { 0 };
    struct argument_named *named = &f->named;
    uint64_t address;
    uint64_t begin;
    size_t matches = 0;
    size_t caller = fault_passes(f, &function, &address);
    int length = caller != 0 ? library_functions_length(function) : -1;
    for (int i = 0; length >= 0 && i < length; i++) {
        if (!fault_may_be(f, function->roles[i]) ||
            !fault_pointer(f, caller, fault_argument(f, i), &begin) ||
            begin > address ||
            !argument_index_find_array(&f->trace, caller, begin, address, &found))
            continue;
        matches++;
        f->value = address - begin;
    }
    if (matches == 1 &&
        argument_trace_register(&f->trace, caller, fault_argument(f, length),
                                WORD_BYTES, named) &&
        named->has_value && !named->is_address && named->scale == 1 &&
        named->value > f->value && fault_type(named)->kind == TYPE_INTEGER) {
        fault_take_array(f, &found);
        f->elements *= found.extent.each;
        f->function = function;
        f->passed_as = "length";
        return true;
    }
    argument_index_deinit(&found);
    return false;
}

// fault_name_freed names the pointer with which the program called free, realloc or
// delete, where malloc found that it is none of a block, or that the block is damaged.
static bool fault_name_freed(struct fault *f)
{
    static const char *const kinds[] = { "heap-corruption", NULL };
    struct argument_named *named = &f->named;
    size_t caller = fault_is_kind(f, kinds) ? fault_caller(f) : 0;
    const struct argument_step *step =
        caller != 0 ? argument_trace_step(&f->trace, caller) : NULL;
    f->function = step != NULL && step->effects.flow == INSTRUCTION_CALLS
                      ? fault_library_function(f, caller, step)
                      : NULL;
    if (f->function == NULL || !library_functions_frees(f->function))
        return false;
    f->passed_as = f->function->roles[0];
    bool known = fault_pointer(f, caller, fault_argument(f, 0), &f->value) &&
                 !report_flag(json_array_get(f->trace.frames, named->frame), "system");
    if (!known || f->value == 0) {
        f->function = NULL;
        return false;
    }
    if (named->is_address || named->added != 0)
        named->variable = false; // a part or the address of it was passed
    if (!named->is_address && named->added != 0)
        text_appendf(&named->expression, " %c %" PRIu64, named->added < 0 ? '-' : '+',
                     named->added < 0 ? -(uint64_t)named->added
                                      : (uint64_t)named->added);
    f->bytes = WORD_BYTES;
    f->likely = true; // memory may have changed since the call
    f->state = argument_freed_state(f->trace.stack, f->value, f->text);
    return text_ok(&named->expression);
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
        text_deinit(&f->named.expression);
        fault_take_array(f, &found);
        f->named = (struct argument_named){ .expression = found.index,
                                            .type = found.variable.type,
                                            .call = &stack->calls[index],
                                            .frame = found.variable.frame,
                                            .variable = found.is_variable,
                                            .role = found.variable.role,
                                            .has_value = true,
                                            .value = (uint64_t)found.value };
        f->number = true;
        f->value = (uint64_t)found.value;
        f->bytes = WORD_BYTES;
    } else {
        argument_index_deinit(&found);
    }
    return named;
}

// fault_value gives the bad value by the type of what has it.
static json_t *fault_value(const struct fault *f)
{
    const struct type_table *table = &f->named.call->image->types.table;
    const struct type *type = &table->types[type_strip(table, f->named.type)];
    uint64_t size = f->bytes;
    if (f->number)
        return json_integer((json_int_t)f->value);
    if (f->function != NULL && library_functions_frees(f->function))
        return json_sprintf("0x%" PRIx64, f->value);
    if (type->kind == TYPE_POINTER)
        return f->value == 0 ? json_null() : json_sprintf("0x%" PRIx64, f->value);
    (void)!type_size(table, f->named.type, &size);
    uint64_t value = f->named.has_value ? f->named.value : f->value;
    if (size < WORD_BYTES)
        value &= (UINT64_C(1) << (8 * size)) - 1;
    bool negative = type->encoding & TYPE_SIGNED && size <= WORD_BYTES && size != 0 &&
                    value >> (8 * size - 1) & 1;
    if (negative && size < WORD_BYTES)
        value |= ~UINT64_C(0) << (8 * size);
    if (!negative && value > INT64_MAX)
        return json_sprintf("0x%" PRIx64, value);
    return json_integer((json_int_t)value);
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
        !report_address(access, "address", &address) || address > INT32_MAX)
        return NULL;
    uint32_t target = type_strip(table, pointer->target);
    enum type_kind kind = table->types[target].kind;
    struct argument_part part = { target, address,
                                  (uint64_t)report_integer(access, "size", 0) };
    bool named = (kind == TYPE_STRUCT || kind == TYPE_UNION) &&
                 argument_path_append(table, &part, "->", &path) && text_ok(&path);
    return json_pack("{s:s, s:I, s:o*}", "kind", "null-offset", "offset",
                     (json_int_t)address, "member",
                     named ? json_sprintf("%s%s", f->named.expression.bytes, path.bytes)
                           : NULL);
}

// fault_freed_stack tells that the bad value was loaded from below the stack pointer,
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

static json_t *fault_write(const struct fault *f)
{
    static const char *const roles[] = { "local", "argument", "global" };
    const json_t *frame = json_array_get(f->trace.frames, f->named.frame);
    const char *function = report_string(frame, "function");
    json_t *variable =
        json_pack("{s:s, s:I, s:s*, s:o, s:s}", "expression", f->named.expression.bytes,
                  "frame", (json_int_t)f->named.frame, "function", function, "value",
                  fault_value(f), "confidence", f->likely ? "likely" : "proved");
    if (f->named.variable)
        (void)json_object_set_new(variable, "role", json_string(roles[f->named.role]));
    if (f->function != NULL) {
        (void)json_object_set_new(variable, "passed_to",
                                  json_string(f->function->name));
        (void)json_object_set_new(variable, "passed_as", json_string(f->passed_as));
    }
    if (f->elements != 0 || f->container != NULL) {
        (void)json_object_set_new(variable, "elements",
                                  json_integer((json_int_t)f->elements));
        (void)json_object_set_new(variable, "array", json_string(f->array.bytes));
        if (f->container != NULL && strcmp(f->container, "array") != 0)
            (void)json_object_set_new(variable, "container", json_string(f->container));
    }
    if (f->state != NULL)
        (void)json_object_set_new(variable, "state", json_string(f->state));
    if (f->text[0] != 0)
        (void)json_object_set_new(variable, "text", json_string(f->text));
    json_t *origin = fault_null_member(f);
    if (origin == NULL)
        origin = fault_freed_stack(f);
    if (origin != NULL)
        (void)json_object_set_new(variable, "origin", origin);
    return variable;
}

json_t *argument_fault_find(const json_t *report, const struct argument_stack *stack,
                            const json_t *frames, const json_t *shown)
{
    static bool (*const ways[])(struct fault *) = {
        fault_name_freed,   fault_name_target, fault_name_passed, fault_name_operand,
        fault_name_divisor, fault_name_length, fault_name_index,
    };
    struct fault *f = calloc(1, sizeof(*f));
    json_t *variable = NULL;
    if (f == NULL)
        return NULL;
    f->crash = json_object_get(report, "crash");
    f->shown = shown;
    f->trace.stack = stack;
    f->trace.frames = frames;
    f->innermost = stack->calls;
    f->base = INSTRUCTION_NO_REGISTER;
    bool stopped = stack->count != 0 && f->innermost->frame.activation &&
                   argument_machine_of(stack->arch) != NULL;
    for (size_t i = 0;
         stopped && variable == NULL && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (ways[i](f))
            variable = fault_write(f);
        else if (f->refused)
            variable = json_object();
    json_t *nearest = stopped && f->container == NULL
                          ? argument_index_nearest(&f->trace, f->crash)
                          : NULL;
    if (nearest != NULL && variable == NULL)
        variable = json_object();
    if (nearest != NULL)
        (void)json_object_set_new(variable, "nearest", nearest);
    if (f->refused)
        (void)json_object_set_new(variable, "target",
                                  json_sprintf("0x%" PRIx64, f->value));
    argument_named_deinit(&f->named);
    argument_named_deinit(&f->parts[0]);
    argument_named_deinit(&f->parts[1]);
    text_deinit(&f->array);
    free(f);
    return variable;
}
