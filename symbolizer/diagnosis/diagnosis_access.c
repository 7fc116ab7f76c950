// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/register_name.h"
#include "base/text.h"
#include "report/summary/crash_kind.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/code/instruction.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "unwind/unwind_arch.h"

// The values of an instruction's registers and addresses in a report's thread.
//
// A report has the general registers. Vector registers, and addresses that use a
// segment, whose base no report has, have no value here.

// aarch64_register reads x0 to x30 and sp, or the lower half of one as w0 to w30.
static bool aarch64_register(const json_t *registers, const char *name, uint64_t *out)
{
    bool is_half = name[0] == 'w';
    char whole[INSTRUCTION_NAME_MAX + 1];
    (void)snprintf(whole, sizeof(whole), "%s%s", is_half ? "x" : "", name + is_half);
    if (strcmp(whole, "xzr") == 0)
        *out = 0;
    else if (!report_address(registers, whole, out))
        return false;
    *out &= is_half ? UINT32_MAX : UINT64_MAX;
    return true;
}

// instruction_register reads a register of a report's `registers` by any of its names,
// "eax" as well as "rax", "w0" as well as "x0". false: the report does not have it,
// like a vector register.
static bool instruction_register(const json_t *registers, const char *name,
                                 uint64_t *out)
{
    size_t number;
    size_t size;
    uint64_t value;
    if (!register_find_amd64(name, &number, &size) ||
        !report_address(registers, register_name_amd64(number, sizeof(value)), &value))
        return aarch64_register(registers, name, out);
    *out = value & UINT64_MAX >> (8 * (sizeof(value) - size));
    return true;
}

// instruction_address gives the address of a memory operand. next: the address of the
// next instruction. false: one of its registers is not known, or it uses a segment.
static bool instruction_address(const struct instruction_operand *operand,
                                const json_t *registers, uint64_t next, uint64_t *out)
{
    uint64_t base = 0;
    uint64_t index = 0;
    if (operand->segmented)
        return false;
    if (strcmp(operand->base, "rip") == 0)
        base = next;
    else if (operand->base[0] != 0 &&
             !instruction_register(registers, operand->base, &base))
        return false;
    if (operand->index[0] != 0 &&
        !instruction_register(registers, operand->index, &index))
        return false;
    if (operand->base_signed)
        base = unwind_arch_address(&unwind_arch_aarch64, base);
    if (operand->index_signed)
        index = (uint64_t)(int64_t)(int32_t)index;
    *out = base + index * operand->scale + (uint64_t)operand->displacement;
    return true;
}

// Vectors of this size and larger ones have to be aligned, except for instructions that
// allow any address.
enum { VECTOR_BYTES = 16, WIDE_VECTOR_BYTES = 32, LINE_BYTES = 64, FXSAVE_BYTES = 512 };

// How far from the beginning of an object a member of it is believed to be.
enum { FAR_MEMBER_BYTES = 16 << 20, NEAR_ELEMENT_BYTES = 65536 };

// access is what is known of the faulting access, and the report it is added to.
struct access {
    json_t *crash;
    const json_t *registers; // of the crashed thread
    uint64_t pc;
    enum instruction_set set;
    struct instruction instruction;
    bool before_trap;                          // ud2 follows the instruction
    const struct instruction_operand *operand; // NULL: none is to blame
    uint64_t address;                          // of the operand
};

static void access_set_text(json_t *object, const char *key, const struct text *value)
{
    if (text_ok(value) && value->size != 0)
        (void)json_object_set_new(object, key, json_stringn(value->bytes, value->size));
}

static void access_set_address(json_t *object, const char *key, uint64_t value)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    text_appendf(&text, "0x%" PRIx64, value);
    access_set_text(object, key, &text);
}

static void append_term(struct text *out, const char *term)
{
    text_append_string(out, out->size != 0 ? "+" : "");
    text_append_string(out, term);
}

// access_append_expression spells a memory operand: "rax+rcx*8+0x18".
static void access_append_expression(const struct instruction_operand *operand,
                                     struct text *out)
{
    struct text CH_CLEANUP(text_deinit) sum = { 0 };
    int64_t displacement = operand->displacement;
    uint64_t size = displacement < 0 ? -(uint64_t)displacement : (uint64_t)displacement;
    bool is_sum = operand->base[0] != 0 || operand->index[0] != 0;
    if (operand->base[0] != 0)
        append_term(&sum, operand->base);
    if (operand->index[0] != 0)
        append_term(&sum, operand->index);
    if (operand->index[0] != 0 && operand->scale > 1)
        text_appendf(&sum, "*%u", operand->scale);
    if (!is_sum)
        text_appendf(&sum, "0x%" PRIx64, (uint64_t)displacement);
    else if (size != 0)
        text_appendf(&sum, "%c0x%" PRIx64, displacement < 0 ? '-' : '+', size);
    if (text_ok(&sum))
        text_append(out, sum.bytes, sum.size);
}

// operation_words gives read or write: from the page fault's error code, which the
// agent read, else from the instruction. NULL: neither tells. The processor reports an
// instruction that reads and writes its operand as a write.
static const char *operation_words(const struct access *access)
{
    static const char *const names[] = { [OPERAND_UNKNOWN] = NULL,
                                         [OPERAND_UNUSED] = NULL,
                                         [OPERAND_READ] = "read",
                                         [OPERAND_WRITTEN] = "write",
                                         [OPERAND_UPDATED] = "write" };
    const char *said =
        report_string(json_object_get(access->crash, "access"), "operation");
    return said != NULL ? said : names[access->operand->access];
}

static void set_register(const struct access *access, json_t *values, const char *name)
{
    uint64_t value;
    if (name[0] != 0 && instruction_register(access->registers, name, &value))
        access_set_address(values, name, value);
}

// note_access adds what the instruction was about to do.
static void note_access(const struct access *access)
{
    struct text CH_CLEANUP(text_deinit) expression = { 0 };
    const struct instruction_operand *operand = access->operand;
    json_t *found = json_object();
    json_t *values = json_object();
    const char *verb = operation_words(access);
    if (verb != NULL)
        (void)json_object_set_new(found, "operation", json_string(verb));
    (void)json_object_set_new(found, "size", json_integer(operand->size));
    access_set_address(found, "address", access->address);
    access_append_expression(operand, &expression);
    access_set_text(found, "expression", &expression);
    set_register(access, values, operand->base);
    set_register(access, values, operand->index);
    (void)json_object_set_new(found, "registers", values);
    (void)json_object_set_new(access->crash, "access", found);
}

// note_register adds the register that held the bad value.
static void note_register(const struct access *access, const char *name, uint64_t value)
{
    json_t *blamed = json_pack("{s:s}", "name", name);
    access_set_address(blamed, "value", value);
    (void)json_object_set_new(access->crash, "register", blamed);
}

// note_jump_target adds where the processor was about to jump.
static void note_jump_target(const struct access *access, const char *by,
                             uint64_t address)
{
    json_t *target = json_pack("{s:s}", "by", by);
    access_set_address(target, "address", address);
    (void)json_object_set_new(access->crash, "target", target);
}

// is_null returns true if the operand's pointer was null: its base register, or the
// constant 0 where it has none. Where gcc finds that a pointer is null on some path, it
// leaves the access to a member at a constant address, and a ud2 after it.
static bool is_null(const struct access *access)
{
    const struct instruction_operand *operand = access->operand;
    uint64_t base;
    if (operand->base[0] == 0)
        return operand->displacement == 0 || access->before_trap;
    if (operand->length[0] != 0) // whose base may be the end
        return access->address == 0;
    return instruction_register(access->registers, operand->base, &base) && base == 0;
}

// name_null decides whether the access was made through a null pointer. So far the
// address alone told, but a small one may also be a number that was taken for a
// pointer, and members of large objects are far from null.
static void name_null(const struct access *access)
{
    enum crash_kind kind = crash_words_kind(access->crash);
    const char *state =
        report_string(json_object_get(access->crash, "region"), "state");
    bool is_mapped = state != NULL && strcmp(state, "mapped") == 0;
    bool near = access->address < FAR_MEMBER_BYTES ||
                access->address >= (uint64_t)-NEAR_ELEMENT_BYTES;
    bool null = is_null(access) && near && !is_mapped;
    if (kind == CRASH_KIND_UNKNOWN && null)
        crash_words_set_kind(access->crash, CRASH_KIND_NULL_DEREFERENCE);
    else if ((kind == CRASH_KIND_UNKNOWN && -access->address < NEAR_ELEMENT_BYTES) ||
             (kind == CRASH_KIND_NULL_DEREFERENCE && !is_null(access) &&
              access->address != 0))
        crash_words_set_kind(access->crash, CRASH_KIND_SMALL_POINTER);
}

// untagged gives what the processor takes for the address. AArch64 ignores the highest
// byte; bit 55 tells user addresses from those of the kernel.
static uint64_t untagged(enum instruction_set set, uint64_t address)
{
    enum { TAG_BITS = 8 };
    return set == INSTRUCTION_AARCH64
               ? (uint64_t)((int64_t)(address << TAG_BITS) >> TAG_BITS)
               : address;
}

// find_operand finds the memory operand whose range contains the fault's address, or
// begins there if its size is not known. False: there is none, or a copy has two.
static bool find_operand(struct access *access, uint64_t fault)
{
    uint64_t next = access->pc + access->instruction.length;
    for (size_t i = 0; i < access->instruction.operand_count; i++) {
        const struct instruction_operand *operand = &access->instruction.operands[i];
        uint64_t size = operand->size != 0 ? operand->size : 1;
        uint64_t address;
        if (!operand->memory || operand->access == OPERAND_UNUSED ||
            !instruction_address(operand, access->registers, next, &address))
            continue;
        address = untagged(access->set, address);
        if (untagged(access->set, fault) - address >= size)
            continue;
        if (access->operand != NULL)
            return false;
        access->operand = operand;
        access->address = address;
        if (operand->length[0] == 0)
            break;
    }
    return access->operand != NULL;
}

// settle_length sets the range of an operand whose size a register has, as the Arm
// Architecture Reference Manual has it: by option A, a number below zero is added to
// the end. A copy down by option B, as the flags say, has the end in the base, too.
static void settle_length(const json_t *registers, struct instruction_operand *operand)
{
    enum { FLAGS_BIT = 28, DOWN = 0xa }; // N and C
    uint64_t length;
    uint64_t pstate = 0;
    if (operand->length[0] == 0 ||
        !instruction_register(registers, operand->length, &length))
        return;
    (void)report_address(registers, "pstate", &pstate);
    operand->size = length <= INT64_MAX ? length : INT64_MAX;
    if (operand->length_signed && length > INT64_MAX) {
        memcpy(operand->index, operand->length, sizeof(operand->index));
        operand->size = -length;
    } else if (operand->length_signed && (pstate >> FLAGS_BIT & DOWN) == DOWN) {
        operand->displacement = -(int64_t)length;
    }
}

// infer_fault finds the fault's address where nothing reported it, as in cores without
// a siginfo: the operand's, if nothing can be mapped there. False: it is not known.
static bool infer_fault(const struct access *access, uint64_t *out)
{
    enum { LOWEST_MAPPED = 65536, USER_BITS = 52 };
    uint64_t next = access->pc + access->instruction.length;
    if (!report_flag(access->crash, "signal_only") ||
        crash_words_kind(access->crash) != CRASH_KIND_UNKNOWN)
        return false;
    for (size_t i = 0; i < access->instruction.operand_count; i++) {
        const struct instruction_operand *operand = &access->instruction.operands[i];
        if (!operand->memory || operand->access == OPERAND_UNUSED ||
            !instruction_address(operand, access->registers, next, out) ||
            (*out >= LOWEST_MAPPED && *out >> USER_BITS == 0))
            continue;
        access_set_address(access->crash, "address", *out);
        (void)json_object_set_new(access->crash, "region",
                                  json_pack("{s:s}", "state", "unmapped"));
        return true;
    }
    return false;
}

// is_beyond returns true for an address that no page table of AArch64 has: they have 52
// bits at most. For one of x86-64 the processor reports no address.
static bool is_beyond(const struct access *access)
{
    enum { TRANSLATED_BITS = 52 };
    return access->set == INSTRUCTION_AARCH64 &&
           (uint64_t)((int64_t)access->address >> TRANSLATED_BITS) + 1 > 1;
}

static void explain_fault(struct access *access)
{
    uint64_t fault;
    if ((!report_address(access->crash, "address", &fault) &&
         !infer_fault(access, &fault)) ||
        !find_operand(access, fault))
        return;
    name_null(access);
    if (is_beyond(access) && crash_words_kind(access->crash) == CRASH_KIND_UNKNOWN) {
        crash_words_set_kind(access->crash, CRASH_KIND_NON_CANONICAL);
        // As the program computed it: the processor ignores its highest byte.
        (void)instruction_address(access->operand, access->registers,
                                  access->pc + access->instruction.length,
                                  &access->address);
    }
    note_access(access);
}

static void explain_return(const struct access *access)
{
    uint64_t target;
    if (report_address(json_object_get(access->crash, "instruction"), "stack_top",
                       &target) &&
        !crash_address_is_canonical(target)) {
        crash_words_set_kind(access->crash, CRASH_KIND_OVERWRITTEN_RETURN);
        note_jump_target(access, "return", target);
    }
}

static bool explain_branch(const struct access *access)
{
    const struct instruction_operand *operand = &access->instruction.operands[0];
    uint64_t target;
    if (access->instruction.operand_count == 0 || operand->memory ||
        !instruction_register(access->registers, operand->name, &target) ||
        crash_address_is_canonical(target))
        return false;
    note_jump_target(access, "branch", target);
    note_register(access, operand->name, target);
    return true;
}

// explain_misaligned adds that the address is valid, but not aligned as required.
static void explain_misaligned(const struct access *access)
{
    crash_words_set_kind(access->crash, CRASH_KIND_MISALIGNED);
    note_access(access);
    (void)json_object_set_new(json_object_get(access->crash, "access"), "misaligned",
                              json_true());
}

// alignment_of is how an operand has to be aligned: a vector by its size, what fxsave
// writes by 16 bytes, and what xsave writes by 64.
static unsigned alignment_of(const struct instruction_operand *operand)
{
    if (operand->size == LINE_BYTES || operand->size > FXSAVE_BYTES)
        return LINE_BYTES;
    return operand->size == WIDE_VECTOR_BYTES ? WIDE_VECTOR_BYTES : VECTOR_BYTES;
}

// explain_protection finds the cause of a general protection fault, for which the
// processor reports no address.
static void explain_protection(struct access *access)
{
    uint64_t next = access->pc + access->instruction.length;
    bool touches_memory = false;
    if (access->instruction.form == INSTRUCTION_RETURN) {
        explain_return(access);
        return;
    }
    if (access->instruction.form == INSTRUCTION_BRANCH && explain_branch(access))
        return;
    for (size_t i = 0; i < access->instruction.operand_count; i++) {
        const struct instruction_operand *operand = &access->instruction.operands[i];
        touches_memory = touches_memory || operand->memory;
        if (!operand->memory ||
            !instruction_address(operand, access->registers, next, &access->address))
            continue;
        access->operand = operand;
        if (!crash_address_is_canonical(access->address)) {
            note_access(access);
            return;
        }
        if (operand->size >= VECTOR_BYTES &&
            access->address % alignment_of(operand) != 0) {
            explain_misaligned(access);
            return;
        }
    }
    if (!touches_memory && access->instruction.form == INSTRUCTION_ORDINARY)
        crash_words_set_kind(access->crash, CRASH_KIND_ILLEGAL_INSTRUCTION);
}

static void explain_division(struct access *access)
{
    const struct instruction_operand *divisor = &access->instruction.operands[0];
    uint64_t value;
    if (access->instruction.form == INSTRUCTION_DIVIDE &&
        access->instruction.operand_count != 0 && !divisor->memory &&
        instruction_register(access->registers, divisor->name, &value)) {
        note_register(access, divisor->name, value);
        if (value != 0)
            crash_words_set_kind(access->crash, CRASH_KIND_DIVISION_OVERFLOW);
    }
}

static void explain_illegal(struct access *access)
{
    json_t *instruction = json_object_get(access->crash, "instruction");
    if (access->instruction.form == INSTRUCTION_UNDEFINED)
        (void)json_object_set_new(instruction, "trap", json_true());
}

// explain_target adds the register that holds the address that was jumped to. There is
// no instruction to decode there, and null is in many registers, so it is not searched
// for.
static void explain_target(const struct access *access)
{
    enum { GENERAL_X86_64 = 16, STACK_POINTER_X86_64 = 7, GENERAL_AARCH64 = 31 };
    bool is_aarch64 = access->set == INSTRUCTION_AARCH64;
    size_t count = is_aarch64 ? GENERAL_AARCH64 : GENERAL_X86_64;
    uint64_t pc;
    if (!report_address(access->registers, is_aarch64 ? "pc" : "rip", &pc) || pc == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        const char *name = is_aarch64 ? register_name_aarch64(i)
                                      : register_name_amd64(i, sizeof(value));
        if ((!is_aarch64 && i == STACK_POINTER_X86_64) ||
            !report_address(access->registers, name, &value) || value != pc)
            continue;
        note_register(access, name, value);
        return;
    }
}

static void access_explain(struct access *access)
{
    static const struct {
        const char *signal;
        uint64_t kinds;
        void (*explain)(struct access *);
    } ways[] = {
        { "SIGSEGV", CRASH_KIND_BIT(NON_CANONICAL), explain_protection },
        { "SIGBUS", CRASH_KIND_BIT(NON_CANONICAL), explain_protection },
        { "SIGSEGV", ~0ull, explain_fault },
        { "SIGBUS", ~0ull, explain_fault },
        { "SIGFPE", ~0ull, explain_division },
        { "SIGILL", ~0ull, explain_illegal },
    };
    const char *signal = report_string(access->crash, "name");
    for (size_t i = 0; signal != NULL && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].signal, signal) != 0 ||
            !crash_words_is_kind(access->crash, ways[i].kinds))
            continue;
        ways[i].explain(access);
        return;
    }
}

// find_set finds the instruction set of a report's instruction. False: it is another.
static bool find_set(const json_t *from, enum instruction_set *out)
{
    const char *arch = report_string(from, "arch");
    if (arch == NULL || (strcmp(arch, "amd64") != 0 && strcmp(arch, "aarch64") != 0))
        return false;
    *out = arch[1] == 'm' ? INSTRUCTION_X86_64 : INSTRUCTION_AARCH64;
    return true;
}

// access_read_bytes reads the bytes from the instruction on. False: there are none, or
// they are of another machine.
static bool access_read_bytes(const json_t *from, enum instruction_set *out_set,
                              uint8_t out[INSTRUCTION_BYTES_MAX], size_t *out_size)
{
    const char *hex = report_string(from, "bytes");
    if (!find_set(from, out_set) || hex == NULL)
        return false;
    size_t digits = strlen(hex) & ~(size_t)1;
    if (digits > 2 * INSTRUCTION_BYTES_MAX)
        digits = 2 * INSTRUCTION_BYTES_MAX;
    return hex_decode(hex, digits, out, INSTRUCTION_BYTES_MAX, out_size) == CH_OK;
}

static enum ch_status access_decode(const json_t *from, struct access *access)
{
    uint8_t bytes[INSTRUCTION_BYTES_MAX];
    size_t size = 0;
    if (!access_read_bytes(from, &access->set, bytes, &size) ||
        !report_address(from, "address", &access->pc))
        return CH_ERR_UNSUPPORTED;
    enum ch_status status =
        instruction_decode_guarded(access->set, bytes, size, &access->instruction);
    size_t length = access->instruction.length;
    for (size_t i = 0; i < access->instruction.operand_count; i++)
        settle_length(access->registers, &access->instruction.operands[i]);
    access->before_trap = status == CH_OK && access->set == INSTRUCTION_X86_64 &&
                          length + 2 <= size && bytes[length] == 0x0f &&
                          bytes[length + 1] == 0x0b;
    return status;
}

// crash_instruction is the instruction that is not decoded yet; NULL: there is none.
static json_t *crash_instruction(const json_t *crash)
{
    json_t *instruction = json_object_get(crash, "instruction");
    return json_is_object(instruction) && json_object_get(instruction, "text") == NULL
               ? instruction
               : NULL;
}

void diagnosis_begin(const json_t *report)
{
    uint8_t bytes[INSTRUCTION_BYTES_MAX];
    size_t size = 0;
    enum instruction_set set;
    if (access_read_bytes(crash_instruction(json_object_get(report, "crash")), &set,
                          bytes, &size))
        instruction_decode_ahead(set, bytes, size);
}

bool diagnosis_access(json_t *report, json_t *crash)
{
    struct access access = { .crash = crash };
    json_t *instruction = crash_instruction(crash);
    if (instruction == NULL)
        return false;
    access.registers = json_object_get(report_crashed_thread(report), "registers");
    if (json_object_get(instruction, "bytes") == NULL) {
        (void)json_object_set_new(instruction, "text", json_string(""));
        if (find_set(instruction, &access.set))
            explain_target(&access);
        return true;
    }
    if (access_decode(instruction, &access) != CH_OK)
        return false;
    (void)json_object_set_new(instruction, "text",
                              json_string(access.instruction.text));
    access_explain(&access);
    return true;
}
