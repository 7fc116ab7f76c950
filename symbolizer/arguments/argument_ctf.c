// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_ctf.h"

#include <stdint.h>
#include <string.h>

#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_value.h"
#include "symbolizer/types/type_table.h"

enum { VECTORS_MAX = 8, EIGHTBYTE_BITS = 64, LARGE_BYTES = 16 };

// need is what an argument occupies.
struct need {
    bool unknown;
    bool memory;
    bool indirect; // its address takes the register
    unsigned general;
    unsigned vectors;
    unsigned vector_mask; // bit n: its register n is a vector register
    uint64_t piece;       // bytes in each of several registers; 0: 8
    uint64_t size;
    bool wide; // aligned to 16 bytes
};

enum { ALL_VECTORS = (1 << ARGUMENT_REGISTERS_MAX) - 1 };

// classify_scalar classifies a value of type, which is no aggregate.
static struct need classify_scalar(const struct type *type)
{
    struct need need = { .size = type->size };
    bool is_complex = (type->encoding & TYPE_COMPLEX) != 0;
    if (type->kind == TYPE_FLOAT) {
        need.memory = type->size > (is_complex ? 16 : 8);
        need.wide = type->size == 16 && !is_complex;
        need.vectors = type->size > 8 && !need.memory ? 2 : 1;
        need.vector_mask = ALL_VECTORS;
        need.unknown = type->size > 16;
        return need;
    }
    need.unknown = type->size == 0 || type->size > 16;
    need.general = type->size > 8 ? 2 : 1;
    need.wide = type->size == 16;
    return need;
}

// abi_add_member adds a member to the classes of a small structure's eightbytes. False:
// its kind cannot be classified here.
static bool abi_add_member(const struct type_table *table,
                           const struct type_member *member, bool general[2],
                           bool *unaligned)
{
    uint32_t index = type_strip(table, member->part->type);
    uint64_t bits = type_size_bits(table, index);
    while (table->types[index].kind == TYPE_ARRAY)
        index = type_strip(table, table->types[index].target);
    const struct type *type = &table->types[index];
    bool is_bits = type->kind == TYPE_SLICE;
    if (member->opens)
        return true; // its members follow
    if (bits == 0 || type->kind == TYPE_STRUCT || type->kind == TYPE_UNION ||
        type->kind == TYPE_UNKNOWN || type->size > 8)
        return false;
    if (!is_bits && member->offset_bits % (type->size * 8) != 0)
        *unaligned = true;
    for (uint64_t at = member->offset_bits / EIGHTBYTE_BITS;
         at <= (member->offset_bits + bits - 1) / EIGHTBYTE_BITS && at < 2; at++)
        general[at] = general[at] || type->kind != TYPE_FLOAT;
    return true;
}

static struct need classify_structure(const struct type_table *table,
                                      const struct type *type)
{
    struct need need = { .size = type->size };
    struct type_members members;
    struct type_member member;
    bool general[2] = { false, false };
    bool unaligned = false;
    type_members_init(&members, table, type);
    while (type_members_next(&members, &member))
        if (!abi_add_member(table, &member, general, &unaligned))
            need.unknown = true;
    // A large structure is always passed in memory, but its alignment depends on its
    // members.
    need.memory = type->size > 16 || unaligned;
    if (need.memory || need.unknown || type->size == 0) {
        need.unknown = need.unknown && !need.memory;
        return need;
    }
    unsigned eightbytes = type->size > 8 ? 2 : 1;
    for (unsigned i = 0; i < eightbytes; i++) {
        need.general += general[i];
        need.vectors += !general[i];
        need.vector_mask |= general[i] ? 0 : 1u << i;
    }
    return need;
}

// leaves is what the scalars that a structure consists of have in common.
struct leaves {
    bool unknown;
    bool mixed;       // not all are of one floating type
    bool wide;        // one is aligned to 16 bytes
    uint64_t element; // the size of the floating type
    uint64_t end_bits;
};

enum { PENDING_MAX = 32 };

// pending are members that are still to be looked at.
struct pending {
    uint32_t types[PENDING_MAX];
    uint64_t offsets[PENDING_MAX];
    size_t count;
};

static void leaves_add_scalar(struct leaves *leaves, const struct type *type,
                              uint64_t end_bits)
{
    bool is_complex = (type->encoding & TYPE_COMPLEX) != 0;
    uint64_t element = is_complex ? type->size / 2 : type->size;
    leaves->end_bits = end_bits > leaves->end_bits ? end_bits : leaves->end_bits;
    leaves->wide = leaves->wide || element == LARGE_BYTES;
    if (type->kind != TYPE_FLOAT ||
        (leaves->element != 0 && leaves->element != element))
        leaves->mixed = true;
    leaves->element = element;
}

// leaves_add adds a member that is not a scalar by its own members, and an array by its
// last element.
static void leaves_add(const struct type_table *table, struct pending *pending,
                       struct leaves *leaves)
{
    uint64_t at = pending->offsets[--pending->count];
    uint32_t index = type_strip(table, pending->types[pending->count]);
    const struct type *type = &table->types[index];
    while (type->kind == TYPE_ARRAY) {
        uint32_t element = type_strip(table, type->target);
        if (type->count == 0)
            return;
        at += (type->count - 1) * type_size_bits(table, element);
        type = &table->types[index = element];
    }
    bool is_structure = type->kind == TYPE_STRUCT || type->kind == TYPE_UNION;
    for (uint32_t i = 0; is_structure && i < type->part_count; i++) {
        const struct type_part *part = &table->parts[type->first_part + i];
        if (pending->count == PENDING_MAX) {
            leaves->unknown = true;
            return;
        }
        pending->types[pending->count] = part->type;
        pending->offsets[pending->count++] = at + part->offset_bits;
    }
    uint64_t bits = type_size_bits(table, index);
    leaves->unknown = leaves->unknown || (!is_structure && bits == 0);
    if (!is_structure && bits != 0)
        leaves_add_scalar(leaves, type, at + bits);
}

// classify_structure_aarch64: one to four members of one floating type are passed in as
// many vector registers; others of more than 16 bytes by their address.
static struct need classify_structure_aarch64(const struct type_table *table,
                                              uint32_t index)
{
    const uint64_t size = table->types[index].size;
    struct pending pending = { .types = { index }, .count = 1 };
    struct leaves leaves = { .unknown = size == 0 };
    while (pending.count != 0 && !leaves.unknown)
        leaves_add(table, &pending, &leaves);
    struct need need = { .size = size, .wide = leaves.wide, .unknown = leaves.unknown };
    bool is_whole = leaves.end_bits == size * 8;
    if (!leaves.mixed && leaves.element != 0 && size <= 4 * leaves.element) {
        need.vectors = (unsigned)(size / leaves.element);
        need.vector_mask = ALL_VECTORS;
        need.piece = leaves.element;
        need.unknown = need.unknown || !is_whole;
    } else if (size > LARGE_BYTES) {
        need = (struct need){ .indirect = true, .general = 1, .size = 8 };
        need.unknown = leaves.unknown && size <= 4 * LARGE_BYTES;
    } else {
        need.general = size > 8 ? 2 : 1;
    }
    return need;
}

static struct need classify_aarch64(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[index];
    if (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION)
        return classify_structure_aarch64(table, index);
    struct need need = classify_scalar(type);
    bool is_complex = (type->encoding & TYPE_COMPLEX) != 0;
    if (type->kind != TYPE_FLOAT)
        return need;
    need.memory = false;
    need.vectors = is_complex ? 2 : 1;
    need.piece = type->size / need.vectors;
    need.wide = type->size == (is_complex ? 2 * LARGE_BYTES : LARGE_BYTES);
    need.unknown = type->size > (is_complex ? 2 * LARGE_BYTES : LARGE_BYTES);
    return need;
}

static struct need classify_amd64(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[index];
    return type->kind == TYPE_STRUCT || type->kind == TYPE_UNION
               ? classify_structure(table, type)
               : classify_scalar(type);
}

// argument_abi_rules is what the two processors' rules differ in.
struct argument_abi_rules {
    struct need (*classify)(const struct type_table *table, uint32_t index);
    unsigned general_max;
    uint8_t general[VECTORS_MAX]; // by DWARF number
    enum unwind_arch_id arch;
    bool exhausts;       // once one is on the stack, later ones of its kind are, too
    bool even;           // what is aligned to 16 bytes begins with an even register
    bool hidden_general; // a large result's address takes the first register
};

static const struct argument_abi_rules abi_amd64 = {
    .classify = classify_amd64,
    .general_max = 6,
    .general = { 5, 4, 1, 2, 8, 9 },
    .arch = UNWIND_ARCH_AMD64,
    .hidden_general = true,
};

static const struct argument_abi_rules abi_aarch64 = {
    .classify = classify_aarch64,
    .general_max = 8,
    .general = { 0, 1, 2, 3, 4, 5, 6, 7 },
    .arch = UNWIND_ARCH_AARCH64,
    .exhausts = true,
    .even = true,
};

static struct need classify_type(const struct argument_abi *abi, uint32_t type)
{
    uint32_t index = type_strip(abi->table, type);
    switch (abi->table->types[index].kind) {
    case TYPE_STRUCT:
    case TYPE_UNION:
    case TYPE_INTEGER:
    case TYPE_ENUM:
    case TYPE_POINTER:
    case TYPE_FLOAT:
        return abi->rules->classify(abi->table, index);
    default:
        return (struct need){ .unknown = true };
    }
}

static bool is_void(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[type_strip(table, index)];
    return type->kind == TYPE_INTEGER && type->size == 0;
}

bool argument_abi_init(struct argument_abi *abi, const struct type_table *table,
                       enum unwind_arch_id arch, uint32_t result)
{
    *abi = (struct argument_abi){ .table = table };
    abi->rules = arch == UNWIND_ARCH_AMD64     ? &abi_amd64
                 : arch == UNWIND_ARCH_AARCH64 ? &abi_aarch64
                                               : NULL;
    if (abi->rules == NULL || !abi->rules->hidden_general || is_void(table, result))
        return abi->rules != NULL;
    struct need need = classify_type(abi, result);
    const struct type *type = &table->types[type_strip(table, result)];
    abi->lost = need.unknown;
    if (need.memory && type->kind != TYPE_FLOAT) // the caller passes its address
        abi->general = 1;
    return true;
}

static struct argument_abi_place place_on_stack(struct argument_abi *abi,
                                                const struct need *need)
{
    uint64_t alignment = need->wide ? 16 : 8;
    abi->stack = (abi->stack + alignment - 1) / alignment * alignment;
    struct argument_abi_place place = { .kind = ARGUMENT_ON_STACK,
                                        .indirect = need->indirect,
                                        .offset = abi->stack };
    abi->stack += (need->size + 7) / 8 * 8;
    if (abi->rules->exhausts && need->general != 0)
        abi->general = abi->rules->general_max;
    if (abi->rules->exhausts && need->vectors != 0)
        abi->vectors = VECTORS_MAX;
    return place;
}

struct argument_abi_place argument_abi_next(struct argument_abi *abi, uint32_t type)
{
    const struct argument_abi_rules *rules = abi->rules;
    struct argument_abi_place place = { .kind = ARGUMENT_UNPLACED };
    struct need need = classify_type(abi, type);
    abi->lost = abi->lost || need.unknown;
    if (abi->lost)
        return place;
    if (rules->even && need.wide && need.general == 2)
        abi->general += abi->general % 2;
    bool fits = !need.memory && abi->general + need.general <= rules->general_max &&
                abi->vectors + need.vectors <= VECTORS_MAX;
    if (!fits)
        return place_on_stack(abi, &need);
    place.indirect = need.indirect;
    place.count = (uint8_t)(need.general + need.vectors);
    place.piece = need.piece != 0 ? (uint8_t)need.piece : EIGHTBYTE_BITS / 8;
    place.kind = place.count != 1    ? ARGUMENT_SPLIT
                 : need.vectors != 0 ? ARGUMENT_VECTOR
                                     : ARGUMENT_GENERAL;
    uint64_t vector = argument_vector_first(rules->arch);
    for (unsigned i = 0; i < place.count; i++)
        place.registers[i] = need.vector_mask >> i & 1
                                 ? (uint8_t)(vector + abi->vectors++)
                                 : rules->general[abi->general++];
    return place;
}

// lookup is the call whose arguments are looked up.
struct lookup {
    const struct argument_stack *stack;
    const struct argument_call *call;
    size_t index;
    bool at_entry;
};

// find_signature finds the type of the function called name. If there are several that
// differ, none is used, and reason says why.
static uint32_t find_signature(const struct type_table *table, const char *name,
                               const char **reason)
{
    uint32_t found = TYPE_UNKNOWN_INDEX;
    for (uint32_t i = 0; i < table->symbol_count; i++) {
        const struct type_symbol *symbol = &table->symbols[i];
        if (strcmp(symbol->name, name) != 0 ||
            table->types[symbol->type].kind != TYPE_FUNCTION || symbol->type == found)
            continue;
        if (found != TYPE_UNKNOWN_INDEX)
            *reason = "ambiguous-symbol";
        else
            found = symbol->type;
    }
    return found;
}

// why_not_said returns why the signature of a name may not be that of the function.
static const char *why_not_said(struct argument_image *image, const char *name)
{
    // Functions that compilers derive from another have different arguments, and a dot
    // in their names.
    if (strchr(name, '.') != NULL)
        return "clone";
    return argument_image_is_unique(image, name) ? NULL : "ambiguous-symbol";
}

static void set_found(struct argument *argument, const char *source,
                      const char *confidence)
{
    argument->source = source;
    argument->confidence = confidence;
}

static enum ch_status argument_ctf_take(const struct lookup *l,
                                        struct argument *argument,
                                        const struct argument_location *location)
{
    return argument_value_make(l->stack, l->call, location, argument,
                               ARGUMENT_AT_ENTRY);
}

// find_passed_register finds what was passed in a register.
static enum ch_status find_passed_register(const struct lookup *l, uint8_t reg,
                                           struct argument_entry *out)
{
    const struct argument_frame *frame = &l->call->frame;
    const uint8_t *vector = argument_frame_vector(frame, reg);
    *out = (struct argument_entry){ .source = "abi-register" };
    if (l->at_entry && vector != NULL) {
        out->bytes = ARGUMENT_VECTOR_BYTES;
        out->location = (struct argument_location){ .kind = ARGUMENT_IS_BYTES,
                                                    .value = ARGUMENT_VECTOR_BYTES,
                                                    .bytes = vector };
        return CH_OK;
    }
    if (l->at_entry && argument_frame_knows(frame, reg)) {
        out->bytes = sizeof(uint64_t);
        out->location =
            (struct argument_location){ .kind = ARGUMENT_IN_REGISTER, .value = reg };
        return CH_OK;
    }
    return argument_entry_find(l->stack, l->index, reg, out);
}

// find_in_registers looks for the argument that was passed in one or several registers.
static enum ch_status find_in_registers(const struct lookup *l,
                                        const struct argument_abi_place *place,
                                        struct argument *argument)
{
    struct argument_location pieces = { .kind = ARGUMENT_IS_PIECES };
    struct argument_entry entry = { .source = "abi-register" };
    uint64_t size;
    if (type_size(&l->call->image->types.table, argument->type, &size) != CH_OK)
        return CH_ERR_NOT_FOUND;
    for (unsigned i = 0; i < place->count && pieces.value < size; i++) {
        enum ch_status status = find_passed_register(l, place->registers[i], &entry);
        uint64_t piece = place->count == 1 ? size : place->piece;
        piece = piece < size - pieces.value ? piece : size - pieces.value;
        if (status == CH_OK && piece > entry.bytes)
            return CH_ERR_NOT_FOUND;
        if (status == CH_OK)
            status = argument_location_bytes(&entry.location, &l->call->frame,
                                             l->stack->memory,
                                             pieces.pieces + pieces.value, piece);
        if (status != CH_OK)
            return status;
        pieces.value += piece;
    }
    set_found(argument, entry.source, "proved");
    return argument_ctf_take(l, argument, &pieces);
}

// find_indirect looks for the argument whose address was passed.
static enum ch_status find_indirect(const struct lookup *l,
                                    const struct argument_abi_place *place,
                                    struct argument *argument)
{
    struct argument_location location = { .kind = ARGUMENT_IN_MEMORY };
    const struct argument_frame *frame = &l->call->frame;
    if (place->kind == ARGUMENT_GENERAL) {
        uint8_t reg = place->registers[0];
        if (!l->at_entry || !argument_frame_knows(frame, reg))
            return CH_ERR_NOT_FOUND;
        location.value = frame->registers.value[reg];
    } else if (frame->cfa == 0 ||
               memory_read(l->stack->memory, frame->cfa + place->offset,
                           &location.value, sizeof(location.value)) != CH_OK) {
        return CH_ERR_NOT_FOUND;
    }
    set_found(argument, place->kind == ARGUMENT_GENERAL ? "abi-register" : "abi-stack",
              l->at_entry ? "proved" : "likely");
    return argument_ctf_take(l, argument, &location);
}

static enum ch_status find_argument_on_stack(const struct lookup *l, uint64_t offset,
                                             struct argument *argument)
{
    const struct argument_location location = { .kind = ARGUMENT_IN_MEMORY,
                                                .value = l->call->frame.cfa + offset };
    if (l->call->frame.cfa == 0)
        return CH_ERR_NOT_FOUND;
    // The function may have reused the location.
    set_found(argument, "abi-stack", l->at_entry ? "proved" : "likely");
    return argument_ctf_take(l, argument, &location);
}

static enum ch_status find_at_place(const struct lookup *l,
                                    const struct argument_abi_place *place,
                                    struct argument *argument)
{
    if (place->indirect)
        return find_indirect(l, place, argument);
    switch (place->kind) {
    case ARGUMENT_GENERAL:
    case ARGUMENT_VECTOR:
    case ARGUMENT_SPLIT:
        return find_in_registers(l, place, argument);
    case ARGUMENT_ON_STACK:
        return find_argument_on_stack(l, place->offset, argument);
    default:
        return CH_ERR_NOT_FOUND;
    }
}

static void argument_ctf_find(const struct lookup *l,
                              const struct argument_abi_place *place,
                              struct argument *argument)
{
    const char *reason = place->kind == ARGUMENT_SPLIT      ? "aggregate-split"
                         : place->kind == ARGUMENT_UNPLACED ? "ambiguous-type"
                                                            : "clobbered";
    if (find_at_place(l, place, argument) == CH_OK)
        return;
    set_found(argument, "none", "unavailable");
    argument->reason = reason;
}

static void list_signature(const struct lookup *l, uint32_t signature,
                           const char *reason, struct argument_list *out)
{
    const struct type_table *table = &l->call->image->types.table;
    const struct type *function = &table->types[signature];
    struct argument_abi abi;
    if (!argument_abi_init(&abi, table, l->stack->arch->id, function->target))
        return;
    for (uint32_t i = 0; i < function->part_count; i++) {
        const struct type_part *part = &table->parts[function->first_part + i];
        struct argument argument = { .type = part->type };
        if (part->name != NULL && part->name[0] != 0)
            argument.name = part->name;
        struct argument_abi_place place = argument_abi_next(&abi, argument.type);
        if (reason == NULL) {
            argument_ctf_find(l, &place, &argument);
        } else {
            set_found(&argument, "none", "unavailable");
            argument.reason = reason;
        }
        argument_list_add(out, &argument);
    }
}

bool argument_ctf_list(const struct argument_stack *stack, size_t index,
                       struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    struct argument_symbol symbol;
    if ((call->image->types.source != TYPE_FROM_CTF &&
         call->image->types.source != TYPE_FROM_BTF) ||
        !argument_entry_symbol(call, &symbol))
        return false;
    const char *reason = why_not_said(call->image, symbol.name);
    const struct type_table *table = &call->image->types.table;
    uint32_t signature = find_signature(table, symbol.name, &reason);
    if (signature == TYPE_UNKNOWN_INDEX)
        return false;
    const struct lookup l = { .stack = stack,
                              .call = call,
                              .index = index,
                              .at_entry = call->frame.activation &&
                                          call->vaddr == symbol.vaddr };
    argument_list_begin(out, stack, call->image);
    list_signature(&l, signature, reason, out);
    return true;
}
