// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/hex.h"
#include "base/text.h"
#include "report/report.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/diagnosis/instruction_values.h"

// Vectors of this size have to be aligned unless the instruction says otherwise.
enum { VECTOR_BYTES = 16 };

// What is known of the failed access, and the report it goes into.
struct access {
    json_t *crash;
    const json_t *registers; // of the crashed thread
    uint64_t pc;
    struct instruction instruction;
    const struct instruction_operand *operand; // NULL: none is to blame
    uint64_t address;                          // of the operand
};

// is_canonical: of 64 bits the processor translates 48, the others repeat the highest.
static bool is_canonical(uint64_t address)
{
    return (uint64_t)((int64_t)(address << 16) >> 16) == address;
}

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

static void access_append_value(const struct access *access, const char *name,
                                struct text *out)
{
    uint64_t value;
    if (name[0] != 0 && instruction_register(access->registers, name, &value))
        text_appendf(out, ", %s = 0x%" PRIx64, name, value);
}

// operation is read, write or execute: as the processor said, else as the instruction.
static const char *operation(const struct access *access)
{
    const char *said =
        report_string(json_object_get(access->crash, "access"), "operation");
    if (said != NULL)
        return said;
    if (access->instruction.form == INSTRUCTION_RETURN)
        return "execute";
    return access->operand != NULL && access->operand->written ? "write" : "read";
}

// append_access says what was done where: "read 8 bytes at rax+0x18, rax = 0x0".
static void append_access(const struct access *access, struct text *out)
{
    const struct instruction_operand *operand = access->operand;
    text_appendf(out, "%s %u byte%s at ", operation(access), operand->size,
                 operand->size == 1 ? "" : "s");
    access_append_expression(operand, out);
    access_append_value(access, operand->base, out);
    if (strcmp(operand->base, operand->index) != 0)
        access_append_value(access, operand->index, out);
}

static void set_register(const struct access *access, json_t *values, const char *name)
{
    uint64_t value;
    if (name[0] != 0 && instruction_register(access->registers, name, &value))
        access_set_address(values, name, value);
}

// note_access keeps for programs what the sentence says.
static void note_access(const struct access *access)
{
    struct text CH_CLEANUP(text_deinit) expression = { 0 };
    const struct instruction_operand *operand = access->operand;
    json_t *found = json_object();
    json_t *values = json_object();
    (void)json_object_set_new(found, "operation", json_string(operation(access)));
    (void)json_object_set_new(found, "size", json_integer(operand->size));
    access_set_address(found, "address", access->address);
    access_append_expression(operand, &expression);
    access_set_text(found, "expression", &expression);
    set_register(access, values, operand->base);
    set_register(access, values, operand->index);
    (void)json_object_set_new(found, "registers", values);
    (void)json_object_set_new(access->crash, "access", found);
}

static void set_kind(const struct access *access, const char *kind)
{
    (void)json_object_set_new(access->crash, "kind", json_string(kind));
}

// append_to_summary adds words behind the sentence that is there.
static void append_to_summary(json_t *crash, const struct text *words)
{
    struct text CH_CLEANUP(text_deinit) all = { 0 };
    const char *summary = report_string(crash, "summary");
    if (summary == NULL || !text_ok(words) || words->size == 0)
        return;
    text_appendf(&all, "%s (%s)", summary, words->bytes);
    access_set_text(crash, "summary", &all);
}

// is_null: the operand's one pointer was null, however far from it the access went.
static bool is_null(const struct access *access)
{
    const struct instruction_operand *operand = access->operand;
    uint64_t base;
    return operand->base[0] != 0 && (operand->index[0] == 0 || operand->scale > 1) &&
           instruction_register(access->registers, operand->base, &base) && base == 0;
}

// name_far_null gives a name to an access far from the null that it went through.
static void name_far_null(const struct access *access)
{
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    const char *said = report_string(access->crash, "summary");
    const char *kind = report_string(access->crash, "kind");
    if (said == NULL || kind == NULL || strcmp(kind, "unknown") != 0 ||
        !is_null(access))
        return;
    text_append(&summary, said, strcspn(said, ","));
    text_append_string(&summary, ", through a null pointer");
    access_set_text(access->crash, "summary", &summary);
    set_kind(access, "null-dereference");
}

// find_operand finds the memory operand that holds the fault's address.
static bool find_operand(struct access *access, uint64_t fault)
{
    uint64_t next = access->pc + access->instruction.length;
    for (size_t i = 0; i < access->instruction.operand_count; i++) {
        const struct instruction_operand *operand = &access->instruction.operands[i];
        if (!operand->memory ||
            !instruction_address(operand, access->registers, next, &access->address))
            continue;
        if (fault - access->address < operand->size) {
            access->operand = operand;
            return true;
        }
    }
    return false;
}

static void explain_fault(struct access *access)
{
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    uint64_t fault;
    if (!report_address(access->crash, "address", &fault) ||
        !find_operand(access, fault))
        return;
    name_far_null(access);
    append_access(access, &words);
    append_to_summary(access->crash, &words);
    note_access(access);
}

static const char *verb(const struct access *access)
{
    const char *what = operation(access);
    if (strcmp(what, "execute") == 0)
        return "Jump to";
    return strcmp(what, "write") == 0 ? "Write to" : "Read from";
}

// explain_operand speaks of the address that a fault without one was for.
static void explain_operand(const struct access *access, const char *kind,
                            const char *what)
{
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    text_appendf(&summary, "%s 0x%" PRIx64 ", %s (", verb(access), access->address,
                 what);
    append_access(access, &summary);
    text_append_string(&summary, ")");
    access_set_text(access->crash, "summary", &summary);
    set_kind(access, kind);
    note_access(access);
}

static void explain_return(const struct access *access)
{
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    uint64_t target;
    if (!report_address(json_object_get(access->crash, "instruction"), "stack_top",
                        &target) ||
        is_canonical(target))
        return;
    text_appendf(&summary,
                 "Return to 0x%" PRIx64 ", an address that no memory can have: the "
                 "return address was overwritten",
                 target);
    access_set_text(access->crash, "summary", &summary);
}

static bool explain_branch(const struct access *access)
{
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    const struct instruction_operand *operand = &access->instruction.operands[0];
    uint64_t target;
    if (access->instruction.operand_count == 0 || operand->memory ||
        !instruction_register(access->registers, operand->name, &target) ||
        is_canonical(target))
        return false;
    text_appendf(&summary,
                 "Jump to 0x%" PRIx64 ", an address that no memory can have (%s, %s = "
                 "0x%" PRIx64 ")",
                 target, access->instruction.text, operand->name, target);
    access_set_text(access->crash, "summary", &summary);
    return true;
}

static void explain_refusal(const struct access *access)
{
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    text_appendf(&summary,
                 "Instruction '%s', which programs may not execute, at 0x%" PRIx64,
                 access->instruction.text, access->pc);
    access_set_text(access->crash, "summary", &summary);
    set_kind(access, "illegal-instruction");
}

// explain_protection finds out what a general protection fault was about: the processor
// gives no address with it.
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
        if (!is_canonical(access->address)) {
            explain_operand(access, "non-canonical-address",
                            "an address that no memory can have");
            return;
        }
        if (operand->size >= VECTOR_BYTES && access->address % VECTOR_BYTES != 0) {
            explain_operand(access, "unknown",
                            "which is not aligned as the instruction needs it");
            return;
        }
    }
    if (!touches_memory && access->instruction.form == INSTRUCTION_ORDINARY)
        explain_refusal(access);
}

static void explain_division(struct access *access)
{
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    const struct instruction_operand *divisor = &access->instruction.operands[0];
    uint64_t value;
    if (access->instruction.form != INSTRUCTION_DIVIDE ||
        access->instruction.operand_count == 0 || divisor->memory ||
        !instruction_register(access->registers, divisor->name, &value))
        return;
    text_appendf(&summary, "Integer division %s (%s, %s = 0x%" PRIx64 ")",
                 value == 0 ? "by zero" : "whose result is too large",
                 access->instruction.text, divisor->name, value);
    access_set_text(access->crash, "summary", &summary);
}

static void explain_illegal(struct access *access)
{
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    bool trap = access->instruction.form == INSTRUCTION_UNDEFINED;
    text_appendf(&words, "%s, %s", access->instruction.text,
                 trap ? "which compilers put where a program must not come: "
                        "__builtin_trap, code that is not reached"
                      : "which this processor does not have, or not for programs");
    append_to_summary(access->crash, &words);
}

// explain_target says which register holds the address that was jumped to. Nothing is
// there to be decoded; a null is in many of them.
static void explain_target(const struct access *access)
{
    static const char *const names[] = { "rax", "rdx", "rcx", "rbx", "rsi",
                                         "rdi", "rbp", "r8",  "r9",  "r10",
                                         "r11", "r12", "r13", "r14", "r15" };
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    uint64_t pc;
    if (!report_address(access->registers, "rip", &pc) || pc == 0)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t value;
        if (!report_address(access->registers, names[i], &value) || value != pc)
            continue;
        text_appendf(&words, "%s = 0x%" PRIx64, names[i], value);
        append_to_summary(access->crash, &words);
        return;
    }
}

static void access_explain(struct access *access)
{
    static const struct {
        const char *signal;
        const char *kind; // NULL: any
        void (*explain)(struct access *);
    } ways[] = {
        { "SIGSEGV", "non-canonical-address", explain_protection },
        { "SIGBUS", "non-canonical-address", explain_protection },
        { "SIGSEGV", NULL, explain_fault },
        { "SIGBUS", NULL, explain_fault },
        { "SIGFPE", NULL, explain_division },
        { "SIGILL", NULL, explain_illegal },
    };
    const char *signal = report_string(access->crash, "name");
    const char *kind = report_string(access->crash, "kind");
    for (size_t i = 0; signal != NULL && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].signal, signal) != 0 ||
            (ways[i].kind != NULL && (kind == NULL || strcmp(ways[i].kind, kind) != 0)))
            continue;
        ways[i].explain(access);
        return;
    }
}

static enum ch_status access_decode(const json_t *from, struct access *access)
{
    uint8_t bytes[INSTRUCTION_BYTES_MAX];
    const char *arch = report_string(from, "arch");
    const char *hex = report_string(from, "bytes");
    if (arch == NULL || strcmp(arch, "amd64") != 0 || hex == NULL ||
        !report_address(from, "address", &access->pc))
        return CH_ERR_UNSUPPORTED;
    size_t digits = strlen(hex) & ~(size_t)1;
    size_t size = 0;
    if (digits > 2 * sizeof(bytes))
        digits = 2 * sizeof(bytes);
    enum ch_status status = hex_decode(hex, digits, bytes, sizeof(bytes), &size);
    if (status != CH_OK)
        return status;
    return instruction_decode_guarded(bytes, size, &access->instruction);
}

void diagnosis_access(json_t *report, json_t *crash)
{
    struct access access = { .crash = crash };
    json_t *instruction = json_object_get(crash, "instruction");
    if (!json_is_object(instruction) || json_object_get(instruction, "text") != NULL)
        return;
    access.registers = json_object_get(report_crashed_thread(report), "registers");
    if (json_object_get(instruction, "bytes") == NULL) {
        (void)json_object_set_new(instruction, "text", json_string(""));
        explain_target(&access);
        return;
    }
    if (access_decode(instruction, &access) != CH_OK)
        return;
    (void)json_object_set_new(instruction, "text",
                              json_string(access.instruction.text));
    access_explain(&access);
}
