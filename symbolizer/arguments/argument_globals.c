// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_globals.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/arguments/argument_value.h"
#include "symbolizer/files/die_walk.h"

enum {
    USES_MAX = 512,
    VARIABLES_MAX = 16384, // of a unit
    SCOPES_MAX = 64,       // namespaces
    SCOPES_DEPTH = 8,
    MODULES_MAX = 4096,
    WORD = sizeof(uint64_t),
};

// use is an address that the function's code refers to.
struct use {
    uint64_t address;
    uint64_t distance; // from the pc
    bool written;
};

// unit_variable is a variable of the function's unit.
struct unit_variable {
    Dwarf_Die die;
    uint64_t address; // 0: its symbol has it
    size_t scope;
};

// finding is the variables of one call being found.
struct finding {
    const struct argument_stack *stack;
    const struct argument_call *call;
    const struct argument_code *code;
    bool thread_locals; // the code reads the thread pointer
    uint64_t block;     // of the image's thread locals; 0: not known
    struct use uses[USES_MAX];
    size_t use_count;
    struct unit_variable *variables; // by address
    size_t variable_count;
    size_t variable_capacity;
    char *scopes[SCOPES_MAX]; // "a::b::", of namespaces
    size_t scope_count;
};

static void globals_use(struct finding *f, uint64_t address,
                        const struct argument_step *step)
{
    uint64_t pc = f->call->vaddr;
    if (address != 0 && f->use_count < USES_MAX)
        f->uses[f->use_count++] =
            (struct use){ address,
                          step->vaddr < pc ? pc - step->vaddr : step->vaddr - pc,
                          step->effects.memory.written };
}

static bool is_aarch64(const struct finding *f)
{
    return f->stack->arch->id == UNWIND_ARCH_AARCH64;
}

// globals_use_entry follows an entry of the image's table of addresses: it has the
// address of a variable, or the distance of a thread local from the thread pointer.
static void globals_use_entry(struct finding *f, uint64_t entry,
                              const struct argument_step *step)
{
    uint64_t word;
    if (memory_read_word(f->stack->memory, entry, &word) != CH_OK)
        return;
    globals_use(f, word, step);
    bool local = is_aarch64(f) ? word != 0 && word <= INT32_MAX
                               : (int64_t)word < 0 && (int64_t)word >= INT32_MIN;
    if (local)
        globals_use(f, f->stack->thread_pointer + word, step);
}

// globals_use_module follows a pair of the table of addresses that
// __tls_get_addr is called with: the number of a module, and an offset in its block.
static void globals_use_module(struct finding *f, uint64_t pair,
                               const struct argument_step *step)
{
    const struct memory_reader *memory = f->stack->memory;
    uint64_t module;
    uint64_t offset;
    uint64_t table;
    uint64_t block;
    if (memory_read_word(memory, pair, &module) != CH_OK || module == 0 ||
        module >= MODULES_MAX ||
        memory_read_word(memory, pair + WORD, &offset) != CH_OK ||
        offset > UINT32_MAX ||
        memory_read_word(memory, f->stack->thread_pointer + WORD, &table) != CH_OK ||
        memory_read_word(memory, table + module * 2 * WORD, &block) != CH_OK)
        return;
    if (f->block == 0)
        f->block = block;
    if (offset != 0)
        globals_use(f, block + offset, step);
}

// globals_use_memory notes what a memory operand refers to.
static void globals_use_memory(struct finding *f, const struct argument_step *step)
{
    const struct instruction_memory *memory = &step->effects.memory;
    uint64_t place = (uint64_t)memory->displacement;
    uint64_t bias = f->call->image->bias;
    if (memory->segmented) {
        f->thread_locals = true;
        globals_use(f, f->stack->thread_pointer + place, step);
    } else if (memory->base == INSTRUCTION_PC) {
        place += step->vaddr + step->effects.length + bias;
        globals_use(f, place, step);
        if (step->effects.action == INSTRUCTION_LOADS && memory->bytes == WORD)
            globals_use_entry(f, place, step);
        if (step->effects.action == INSTRUCTION_ADDRESSES)
            globals_use_module(f, place, step);
    } else if (bias == 0) {
        globals_use(f, place, step);
    }
}

// globals_use_local notes an offset from the thread pointer or from the block of the
// image's thread locals, which the code has put into a register before.
static void globals_use_local(struct finding *f, const struct argument_step *step)
{
    enum { RBP = 6, RSP = 7 };
    const struct instruction_effects *effects = &step->effects;
    const struct instruction_memory *memory = &effects->memory;
    bool based = memory->used && !memory->segmented && memory->base < INSTRUCTION_PC &&
                 memory->base != RSP && memory->base != RBP;
    int64_t offset = effects->action == INSTRUCTION_ADDS ? effects->constant
                     : based                             ? memory->displacement
                                                         : 0;
    if (offset < 0 && f->thread_locals)
        globals_use(f, f->stack->thread_pointer + (uint64_t)offset, step);
    if (offset >= 0 && f->block != 0 && (based || offset != 0))
        globals_use(f, f->block + (uint64_t)offset, step);
}

// registers_at are the addresses that code of AArch64 has in registers.
struct registers_at {
    uint64_t value[UNWIND_REGISTERS];
    uint32_t known; // bit n: value[n] is known
};

// register_address gives the address that a step of AArch64 computes or accesses.
// False: none, or it is not known.
static bool register_address(const struct finding *f, const struct argument_step *step,
                             const struct registers_at *at, uint64_t *out)
{
    const struct instruction_effects *effects = &step->effects;
    const struct instruction_memory *memory = &effects->memory;
    bool adds = effects->action == INSTRUCTION_ADDS;
    uint8_t from = memory->used ? memory->base : adds ? effects->to : effects->from;
    if (memory->used && memory->index != INSTRUCTION_NO_REGISTER)
        return false;
    *out = memory->used ? (uint64_t)memory->displacement
           : adds       ? (uint64_t)effects->constant
                        : 0;
    if (from == INSTRUCTION_PC) {
        *out += step->vaddr + effects->length + f->call->image->bias;
        return true;
    }
    if (from >= 32 || (at->known >> from & 1) == 0 ||
        (!memory->used && !adds && effects->action != INSTRUCTION_MOVES))
        return false;
    *out += at->value[from];
    return true;
}

// globals_use_registers lists what code of AArch64 refers to. Most addresses are made
// by two instructions, of which the first (ADRP) gives the page. They are followed in
// the order of the code; a call may overwrite x0 to x18 and x30.
static void globals_use_registers(struct finding *f)
{
    enum { PAGE_MASK = 0xfff, OVERWRITTEN = 0x4007ffff };
    struct registers_at at = { .known = 0 };
    for (size_t i = 0; i < f->code->count; i++) {
        const struct argument_step *step = &f->code->steps[i];
        const struct instruction_effects *effects = &step->effects;
        const bool makes = effects->action == INSTRUCTION_ADDRESSES;
        uint64_t place;
        bool found = register_address(f, step, &at, &place);
        bool page = found && makes && effects->memory.base == INSTRUCTION_PC &&
                    (place & PAGE_MASK) == 0;
        if (found && !page)
            globals_use(f, place, step);
        if (found && effects->action == INSTRUCTION_LOADS && effects->bytes == WORD)
            globals_use_entry(f, place, step);
        if (found && makes && !page) // a descriptor of a thread local
            globals_use_entry(f, place + WORD, step);
        at.known &= ~effects->written;
        if (effects->flow == INSTRUCTION_CALLS)
            at.known &= ~(uint32_t)OVERWRITTEN;
        bool holds = makes || effects->action == INSTRUCTION_ADDS ||
                     effects->action == INSTRUCTION_MOVES;
        if ((!found || !holds) && !effects->takes_thread)
            continue;
        if (effects->to >= 32)
            continue;
        at.value[effects->to] =
            effects->takes_thread ? f->stack->thread_pointer : place;
        at.known |= UINT32_C(1) << effects->to;
    }
}

static int globals_compare_uses(const void *a, const void *b)
{
    const struct use *one = a;
    const struct use *other = b;
    return (one->distance > other->distance) - (one->distance < other->distance);
}

// globals_find_uses lists what the code refers to, the nearest to the pc first.
static void globals_find_uses(struct finding *f)
{
    if (is_aarch64(f))
        globals_use_registers(f);
    for (size_t i = 0; !is_aarch64(f) && i < f->code->count; i++) {
        const struct argument_step *step = &f->code->steps[i];
        if (step->effects.memory.used)
            globals_use_memory(f, step);
        else if (step->effects.action == INSTRUCTION_SETS && f->call->image->bias == 0)
            globals_use(f, (uint64_t)step->effects.constant, step);
    }
    for (size_t i = 0;
         (f->thread_locals || (f->block != 0 && !is_aarch64(f))) && i < f->code->count;
         i++)
        globals_use_local(f, &f->code->steps[i]);
    if (f->use_count != 0)
        qsort(f->uses, f->use_count, sizeof(f->uses[0]), globals_compare_uses);
}

// globals_place gives the address of a variable by its location. False: it has none, or
// its block of thread locals is not known.
static bool globals_place(const struct finding *f, Dwarf_Die *die, uint64_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Attribute indexed;
    Dwarf_Op *ops;
    size_t count;
    if (!argument_origin_location(die, DW_AT_location, &attribute) ||
        dwarf_getlocation(&attribute, &ops, &count) != 0 || count == 0 || count > 2)
        return false;
    uint64_t place = ops[0].number;
    bool local = count == 2 && (ops[1].atom == DW_OP_form_tls_address ||
                                ops[1].atom == DW_OP_GNU_push_tls_address);
    switch (ops[0].atom) {
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index:
        if (dwarf_getlocation_attr(&attribute, &ops[0], &indexed) != 0 ||
            dwarf_formaddr(&indexed, &place) != 0)
            return false;
        break;
    case DW_OP_addr:
        break;
    default:
        if (!local)
            return false;
    }
    if (count == 2 && (!local || f->block == 0))
        return false;
    *out = place + (local ? f->block : f->call->image->bias);
    return true;
}

// globals_add_variable lists a variable. Those that are only declared here, and thread
// locals of AArch64, for which GCC writes no location, are placed by their symbols.
static void globals_add_variable(struct finding *f, Dwarf_Die *die, size_t scope)
{
    struct unit_variable variable = { .die = *die, .scope = scope };
    bool by_symbol = dwarf_hasattr_integrate(die, DW_AT_declaration) ||
                     (is_aarch64(f) && !dwarf_hasattr_integrate(die, DW_AT_location));
    if (f->variable_count == VARIABLES_MAX ||
        (!globals_place(f, die, &variable.address) && !by_symbol) ||
        !array_reserve(&f->variables, &f->variable_capacity, f->variable_count,
                       sizeof(f->variables[0])))
        return;
    f->variables[f->variable_count++] = variable;
}

// globals_scope makes the prefix of a namespace's names. SIZE_MAX: its variables are
// those of the C++ library, or there are too many.
static size_t globals_scope(struct finding *f, Dwarf_Die *die, size_t outer)
{
    const char *name = dwarf_diename(die);
    struct text text = { 0 };
    if (name == NULL)
        return outer;
    if (strcmp(name, "std") == 0 || strcmp(name, "__gnu_cxx") == 0 ||
        f->scope_count == SCOPES_MAX)
        return SIZE_MAX;
    text_appendf(&text, "%s%s::", f->scopes[outer], name);
    if (!text_ok(&text))
        return SIZE_MAX;
    f->scopes[f->scope_count] = text.bytes;
    return f->scope_count++;
}

// globals_find_variables lists the variables of the function's unit, and those of the
// namespaces in it.
static void globals_find_variables(struct finding *f)
{
    Dwarf_Die at[SCOPES_DEPTH];
    size_t scopes[SCOPES_DEPTH] = { 0 };
    Dwarf_Die function = f->call->function;
    Dwarf_Die unit;
    int depth = 0;
    if (dwarf_diecu(&function, &unit, NULL, NULL) == NULL ||
        dwarf_child(&unit, &at[0]) != 0)
        return;
    for (bool more = true; more;) {
        Dwarf_Die *die = &at[depth];
        bool nests = dwarf_tag(die) == DW_TAG_namespace && depth + 1 < SCOPES_DEPTH;
        size_t scope = nests ? globals_scope(f, die, scopes[depth]) : SIZE_MAX;
        if (dwarf_tag(die) == DW_TAG_variable)
            globals_add_variable(f, die, scopes[depth]);
        if (scope != SIZE_MAX && dwarf_child(die, &at[depth + 1]) == 0)
            scopes[++depth] = scope;
        else
            more = die_walk_on(at, &depth);
    }
}

static int globals_compare_places(const void *a, const void *b)
{
    const struct unit_variable *one = a;
    const struct unit_variable *other = b;
    return (one->address > other->address) - (one->address < other->address);
}

// globals_at finds the last variable that begins at address or before it.
static const struct unit_variable *globals_at(const struct finding *f, uint64_t address)
{
    size_t low = 0;
    size_t high = f->variable_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->variables[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low != 0 && f->variables[low - 1].address != 0 ? &f->variables[low - 1]
                                                          : NULL;
}

// globals_declared places the variables of the unit that the linker calls name: they
// are at address. Where another image has a copy of a variable of this one, the copy is
// used.
static void globals_declared(struct finding *f, const char *name, uint64_t address,
                             bool copied)
{
    for (size_t i = 0; i < f->variable_count; i++) {
        Dwarf_Die *die = &f->variables[i].die;
        const char *linked =
            f->variables[i].address == 0 || (copied && argument_origin_is_external(die))
                ? argument_origin_name(die)
                : NULL;
        if (linked != NULL && strcmp(linked, name) == 0)
            f->variables[i].address = address;
    }
}

// globals_is_written returns true if the code writes the variable and was optimized, or
// is not known not to be: it may then keep a newer value in a register.
static bool globals_is_written(const struct finding *f, uint64_t address, uint64_t size)
{
    Dwarf_Die function = f->call->function;
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    const char *producer =
        dwarf_diecu(&function, &unit, NULL, NULL) != NULL
            ? dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute))
            : NULL;
    if (producer != NULL && strncmp(producer, "GNU ", strlen("GNU ")) == 0 &&
        strstr(producer, " -O") == NULL)
        return false;
    for (size_t i = 0; i < f->use_count; i++)
        if (f->uses[i].written && f->uses[i].address - address < size)
            return true;
    return false;
}

static bool globals_is_used(const struct finding *f, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < f->use_count; i++)
        if (f->uses[i].address - address < size)
            return true;
    return false;
}

// globals_read_symbols places declared variables by an image's symbols.
static void globals_read_symbols(struct finding *f, const struct argument_image *image)
{
    Elf *elf = image->types.files.image.elf;
    Elf_Scn *scn = NULL;
    GElf_Shdr header;
    GElf_Sym symbol;
    while (elf != NULL && (scn = elf_nextscn(elf, scn)) != NULL) {
        if (gelf_getshdr(scn, &header) == NULL || header.sh_entsize == 0 ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        size_t count = data != NULL ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 0; i < count && i < INT32_MAX; i++) {
            if (gelf_getsym(data, (int)i, &symbol) == NULL)
                break;
            int type = GELF_ST_TYPE(symbol.st_info);
            uint64_t address =
                symbol.st_value + (type == STT_TLS ? f->block : image->bias);
            const char *name = (type == STT_OBJECT || type == STT_TLS) &&
                                       symbol.st_shndx != SHN_UNDEF &&
                                       globals_is_used(f, address, symbol.st_size)
                                   ? elf_strptr(elf, header.sh_link, symbol.st_name)
                                   : NULL;
            if (name != NULL)
                globals_declared(f, name, address, image != f->call->image);
        }
    }
}

// globals_place_declared places the variables that the unit only declares: in the
// call's own image, or in another of the stack.
static void globals_place_declared(struct finding *f)
{
    const struct argument_stack *stack = f->stack;
    size_t own = (size_t)(f->call - stack->calls);
    if (f->variable_count == 0)
        return;
    globals_read_symbols(f, f->call->image);
    for (size_t i = own + 1; i < stack->count; i++)
        if (stack->calls[i].image != NULL && stack->calls[i].image != f->call->image &&
            stack->calls[i].image != stack->calls[i - 1].image)
            globals_read_symbols(f, stack->calls[i].image);
    if (f->variable_count != 0)
        qsort(f->variables, f->variable_count, sizeof(f->variables[0]),
              globals_compare_places);
}

// globals_may_change returns true if the program can have changed what is at address.
static bool globals_may_change(const struct argument_stack *stack, uint64_t address)
{
    const struct held_mapping *mapping = held_file_mapping(stack->held, address);
    return mapping == NULL || mapping->flags & HELD_WRITE;
}

// globals_is_stream returns true for variables of the C library that tell nothing.
static bool globals_is_stream(const char *name)
{
    return strcmp(name, "stdin") == 0 || strcmp(name, "stdout") == 0 ||
           strcmp(name, "stderr") == 0 || strncmp(name, "_ZSt", strlen("_ZSt")) == 0;
}

// globals_is_seen notes that the variable at address is listed. True: it was before.
static bool globals_is_seen(struct argument_globals *globals, uint64_t address)
{
    for (size_t i = 0; i < globals->seen_count; i++)
        if (globals->seen[i] == address)
            return true;
    if (globals->seen_count < ARGUMENT_GLOBALS_SEEN)
        globals->seen[globals->seen_count++] = address;
    return false;
}

// globals_scope_of gives the scope of a variable: that of its declaration, if it is
// defined outside of it.
static size_t globals_scope_of(const struct finding *f,
                               const struct unit_variable *variable)
{
    Dwarf_Die die = variable->die;
    Dwarf_Die declaration;
    if (!argument_origin_refer(&die, DW_AT_specification, &declaration))
        return variable->scope;
    for (size_t i = 0; i < f->variable_count; i++)
        if (f->variables[i].die.addr == declaration.addr)
            return f->variables[i].scope;
    return variable->scope;
}

// globals_add lists the variable that a use leads into, if it is one.
static bool globals_add(struct argument_globals *globals, struct finding *f,
                        uint64_t address, struct argument_list *out)
{
    struct type_image *types = &f->call->image->types;
    const struct unit_variable *variable = globals_at(f, address);
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct argument argument = { 0 };
    uint64_t size;
    if (variable == NULL)
        return false;
    Dwarf_Die die = variable->die;
    const char *linked = argument_origin_name(&die);
    if (linked == NULL || globals_is_stream(linked) ||
        !globals_may_change(f->stack, variable->address) ||
        type_dwarf_add_type_of(&types->dwarf_types, &die, TYPE_DWARF_VALUE,
                               &argument.type) != CH_OK ||
        type_size(&types->table, argument.type, &size) != CH_OK ||
        address - variable->address >= size ||
        globals_is_seen(globals, variable->address))
        return false;
    text_appendf(&name, "%s%s", f->scopes[globals_scope_of(f, variable)],
                 dwarf_diename(&die));
    argument.name = text_ok(&name) ? name.bytes : NULL;
    const struct argument_location location = { .kind = ARGUMENT_IN_MEMORY,
                                                .value = variable->address };
    enum ch_status status =
        argument_value_make(f->stack, f->call, &location, &argument, ARGUMENT_NOW);
    if (status == CH_OK) {
        argument.source = "dwarf-location";
        argument.confidence =
            globals_is_written(f, variable->address, size) ? "likely" : "exact";
        globals->bytes += json_dumpb(argument.values[ARGUMENT_NOW], NULL, 0,
                                     JSON_COMPACT | JSON_ENCODE_ANY);
    }
    argument_lookup_add(out, &argument, status);
    return true;
}

// globals_find_code gives the decoded code of a call's function; NULL: it cannot be
// decoded.
static const struct argument_code *globals_find_code(const struct argument_call *call)
{
    struct argument_symbol symbol = { .size = 0 };
    Dwarf_Die function = call->function;
    Dwarf_Addr end;
    if (dwarf_lowpc(&function, &symbol.vaddr) == 0 &&
        dwarf_highpc(&function, &end) == 0 && end > symbol.vaddr)
        symbol.size = end - symbol.vaddr;
    else if (!argument_entry_symbol(call, &symbol))
        return NULL;
    const struct argument_scan *scan =
        argument_image_scan_any(call->image, symbol.vaddr, symbol.size);
    return scan != NULL ? &scan->code : NULL;
}

void argument_globals_list(struct argument_globals *globals,
                           const struct argument_stack *stack, size_t index,
                           struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    char none[] = "";
    if (globals->frames == ARGUMENT_GLOBALS_FRAMES || !call->has_function)
        return;
    globals->frames++;
    struct finding *f = calloc(1, sizeof(*f));
    const struct argument_code *code = globals_find_code(call);
    if (f == NULL || code == NULL) {
        free(f);
        return;
    }
    f->stack = stack;
    f->call = call;
    f->code = code;
    f->scopes[f->scope_count++] = none;
    f->block = argument_image_thread_block(call->image, stack->thread_pointer);
    globals_find_uses(f);
    if (f->use_count != 0)
        globals_find_variables(f);
    if (f->variable_count != 0)
        qsort(f->variables, f->variable_count, sizeof(f->variables[0]),
              globals_compare_places);
    globals_place_declared(f);
    argument_list_begin(out, stack, call->image);
    size_t added = 0;
    for (size_t i = 0; i < f->use_count && added < ARGUMENT_GLOBALS_MAX &&
                       globals->bytes < ARGUMENT_GLOBALS_BYTES;
         i++)
        added += globals_add(globals, f, f->uses[i].address, out);
    for (size_t i = 1; i < f->scope_count; i++)
        free(f->scopes[i]);
    free(f->variables);
    free(f);
}
