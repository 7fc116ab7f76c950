// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/fault/fault.h"

// fault_slot gives the vaddr of the slot that the call of step goes through; 0: none.
static uint64_t fault_slot(const struct argument_call *caller,
                           const struct argument_step *step)
{
    const struct instruction_memory *memory = &step->effects.memory;
    if (step->effects.target != 0)
        return library_functions_slot_of_stub(caller->image, step->effects.target);
    return memory->used && memory->base == INSTRUCTION_PC
               ? step->vaddr + step->effects.length + (uint64_t)memory->displacement
               : 0;
}

// fault_library_function gives the library's function that the call of step in the
// caller at index is one of; NULL: another.
static const struct library_function *
fault_library_function(const struct fault *f, size_t index,
                       const struct argument_step *step)
{
    const struct argument_call *caller = &f->trace.stack->calls[index];
    uint64_t slot = fault_slot(caller, step);
    const char *name =
        slot != 0 ? library_functions_import_of_slot(caller->image, slot) : NULL;
    const struct library_function *found =
        name != NULL ? library_functions_find(name) : NULL;
    const char *called =
        report_string(f->trace.stack->calls[index - 1].from, "function");
    return found == NULL && called != NULL ? library_functions_find_scoped(called)
                                           : found;
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

// fault_may_be returns true if a pointer with that role can be the one that was
// accessed as the processor says.
static bool fault_may_be(const struct fault *f, const char *role)
{
    const char *operation =
        report_string(json_object_get(f->crash, "access"), "operation");
    if (role == NULL || operation == NULL)
        return role != NULL;
    // Functions store where the text ended, and never read that.
    return strcmp(role, strcmp(operation, "write") == 0 ? "source" : "end") != 0;
}

// fault_name_holder names the pointer, to which a constant may have been added, that
// was passed in a register by the caller: one that is null, or leads to no memory.
static bool fault_name_holder(struct fault *f, size_t caller, uint8_t reg,
                              uint64_t address)
{
    struct argument_named *named = &f->named;
    f->bytes = FAULT_WORD_BYTES;
    if (!argument_trace_offset(&f->trace, caller, reg, named) || named->is_address ||
        named->scale != 1 || fault_type(named)->kind != TYPE_POINTER)
        return false;
    f->value = address - (uint64_t)named->added;
    return fault_agrees(f) && !argument_trace_leads(&f->trace, f->value);
}

// fault_name_argument names a pointer that was passed in a register by the caller, and
// that the access at address began at, or was in the same page as: that page cannot
// be accessed, so it is the pointer that is bad, and not a length.
static bool fault_name_argument(struct fault *f, size_t caller, uint8_t reg,
                                uint64_t address)
{
    enum { PAGE_BYTES = 4096 };
    if (fault_name_register(f, caller, reg, address))
        return f->named.has_value;
    if (fault_name_holder(f, caller, reg, address) && f->named.added > 0 &&
        (f->named.has_value ||
         (f->value == 0 && f->innermost->frame.registers.value[reg] == address)))
        return true;
    if (!argument_trace_register(&f->trace, caller, reg, FAULT_WORD_BYTES, &f->named) ||
        f->named.is_address || !f->named.has_value || f->named.scale != 1 ||
        fault_type(&f->named)->kind != TYPE_POINTER ||
        f->named.value / PAGE_BYTES != address / PAGE_BYTES)
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
    f->bytes = FAULT_WORD_BYTES;
    return (address == 0 || address % PAGE_BYTES != 0) &&
           argument_trace_register(&f->trace, caller, reg, FAULT_WORD_BYTES,
                                   &f->named) &&
           !f->named.is_address && !f->named.has_value && f->named.scale == 1;
}

// fault_is_other returns true if the pointer in a register is known to be another one
// than what the function failed at, which is address.
static bool fault_is_other(struct fault *f, size_t caller, uint8_t reg,
                           uint64_t address)
{
    uint64_t value;
    if (argument_trace_value(&f->trace, caller, reg, &value))
        return value != address;
    return argument_trace_register(&f->trace, caller, reg, FAULT_WORD_BYTES,
                                   &f->named) &&
           (f->named.is_address || f->named.has_value);
}

// fault_argument gives the register of an argument.
static uint8_t fault_argument(const struct fault *f, size_t number)
{
    return argument_machine_of(f->trace.stack->arch)->arguments[number];
}

// fault_is_copied returns true if the function that failed copies another register to
// that one before: it need not have what was passed any more.
static bool fault_is_copied(const struct fault *f, uint8_t reg)
{
    const struct argument_scan *scan = argument_entry_code(f->innermost);
    for (size_t i = 0; scan != NULL && i < scan->code.count; i++) {
        const struct argument_step *step = &scan->code.steps[i];
        if (step->vaddr < f->innermost->vaddr && step->effects.to == reg &&
            step->effects.action == INSTRUCTION_MOVES)
            return true;
    }
    return false;
}

// Functions of strings read from the last multiple of this before their pointer.
enum { ALIGNED_BYTES = 16 };

// fault_in_register gives the number of the pointer whose register the called function
// itself accessed, unchanged by a displacement or an index, or aligned in another
// register; negative: none. Functions that return their destination have it in rax from
// the start.
static int fault_in_register(const struct fault *f, size_t caller,
                             const struct library_function *function)
{
    const json_t *access = json_object_get(f->crash, "access");
    const char *expression = report_string(access, "expression");
    uint64_t address;
    int aligned = -1;
    if (caller == 1 && expression != NULL && strcmp(expression, "rax") == 0)
        return function->roles[0] != NULL &&
                       strcmp(function->roles[0], "destination") == 0
                   ? 0
                   : -1;
    if (caller != 1 || expression == NULL || strpbrk(expression, "+-*") != NULL ||
        !report_address(access, "address", &address))
        return -1;
    for (size_t i = 0; i < LIBRARY_POINTERS; i++) {
        uint8_t reg = fault_argument(f, i);
        if (function->roles[i] == NULL || fault_is_copied(f, reg))
            continue;
        if (strcmp(expression, fault_register_name(f, reg)) == 0)
            return (int)i;
        if (aligned < 0 && f->innermost->frame.registers.value[reg] / ALIGNED_BYTES ==
                               address / ALIGNED_BYTES)
            aligned = (int)i;
    }
    return aligned;
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

// fault_is_at_begin returns true if an access at address was at the begin of what the
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
    if (accessed >= 0 && fault_may_be(f, function->roles[accessed]) &&
        !fault_is_other(f, caller, fault_argument(f, accessed), value))
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
    const json_t *access = json_object_get(f->crash, "access");
    // Of an address that no memory can have the kernel reports none, or on AArch64 one
    // without the highest byte.
    bool is_computed = crash_words_is_kind(f->crash, CRASH_KIND_BIT(NON_CANONICAL)) &&
                       report_address(access, "address", out_address);
    const struct argument_step *step =
        caller != 0 &&
                (is_computed || report_address(f->crash, "address", out_address) ||
                 report_address(access, "address", out_address))
            ? argument_trace_step(&f->trace, caller)
            : NULL;
    *out = step != NULL && step->effects.flow == INSTRUCTION_CALLS
               ? fault_library_function(f, caller, step)
               : NULL;
    return *out != NULL ? caller : 0;
}

bool fault_name_passed(struct fault *f)
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

// fault_is_entered returns true if the call of step in the call after index entered
// the function of index, and no jump led on from there.
static bool fault_is_entered(const struct fault *f, size_t index,
                             const struct argument_step *step)
{
    const struct argument_call *callee = &f->trace.stack->calls[index];
    const struct argument_call *caller = callee + 1;
    struct argument_symbol symbol;
    uint64_t entered = step->effects.target + caller->image->bias;
    uint64_t slot = fault_slot(caller, step);
    return step->effects.flow == INSTRUCTION_CALLS &&
           argument_entry_symbol(callee, &symbol) &&
           (slot == 0 ||
            memory_read_word(f->trace.stack->memory, slot + caller->image->bias,
                             &entered) == CH_OK) &&
           entered == symbol.vaddr + callee->image->bias;
}

// fault_follow_entry names the pointer that the program's own code passed in a register
// that the innermost function still has it in, perhaps with a constant added.
static bool fault_follow_entry(struct fault *f)
{
    const struct argument_stack *stack = f->trace.stack;
    const struct argument_step *step = argument_trace_step(&f->trace, 0);
    const struct instruction_memory *memory =
        step != NULL ? &step->effects.memory : NULL;
    if (memory == NULL || memory->base >= ARGUMENT_GENERAL_REGISTERS ||
        memory->index != INSTRUCTION_NO_REGISTER || memory->base == stack->arch->sp)
        return false;
    uint8_t reg = memory->base;
    uint64_t value = f->innermost->frame.registers.value[reg];
    size_t caller = 0;
    do {
        int64_t added;
        if (!argument_entry_made(&stack->calls[caller], step->vaddr, &reg, &added))
            return false;
        value -= (uint64_t)added;
        f->null = f->null || value == 0;
        step = ++caller < stack->count ? argument_trace_step(&f->trace, caller) : NULL;
        if (step == NULL || !fault_is_entered(f, caller - 1, step))
            return false;
    } while (report_flag(stack->calls[caller].from, "system"));
    if (argument_trace_leads(&f->trace, value) ||
        !fault_name_holder(f, caller, reg, value))
        return false;
    f->function = fault_library_function(f, caller, step);
    for (size_t i = 0; f->function != NULL && i < LIBRARY_POINTERS; i++)
        if (fault_argument(f, i) == reg)
            f->passed_as = f->function->roles[i];
    return true;
}

bool fault_name_entered(struct fault *f)
{
    return report_flag(f->innermost->from, "system") && fault_follow_entry(f);
}

bool fault_name_parameter(struct fault *f)
{
    return !report_flag(f->innermost->from, "system") && fault_follow_entry(f);
}

// fault_pointer gives the value of a pointer that was passed in a register.
static bool fault_pointer(struct fault *f, size_t caller, uint8_t reg, uint64_t *out)
{
    struct argument_named *named = &f->named;
    bool named_whole =
        argument_trace_register(&f->trace, caller, reg, FAULT_WORD_BYTES, named);
    if (!named_whole && !argument_trace_offset(&f->trace, caller, reg, named))
        return false;
    *out = named->value + (named_whole ? 0 : (uint64_t)named->added);
    return named->scale == 1 && (named->has_value || named->is_address);
}

bool fault_name_length(struct fault *f)
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
                                FAULT_WORD_BYTES, named) &&
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

// fault_is_listed returns true if malloc found the block in a list of free blocks of
// one size: it was not joined with others, and has the size that it was allocated with.
static bool fault_is_listed(const struct fault *f)
{
    const char *message = report_string(f->crash, "message");
    return message != NULL && (strstr(message, "double free detected in tcache") ||
                               strstr(message, "(fasttop)"));
}

bool fault_name_freed(struct fault *f)
{
    struct argument_named *named = &f->named;
    size_t caller =
        crash_words_kind(f->crash) == CRASH_KIND_HEAP_CORRUPTION ? fault_caller(f) : 0;
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
    f->bytes = FAULT_WORD_BYTES;
    f->likely = true; // memory may have changed since the call
    f->state = argument_freed_state(f->trace.stack, f->value, f->text);
    if (f->state == NULL && fault_is_listed(f))
        f->block_bytes = argument_freed_size(f->trace.stack, f->value);
    return text_ok(&named->expression);
}
