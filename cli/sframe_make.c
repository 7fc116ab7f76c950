// SPDX-License-Identifier: Apache-2.0
//
// .sframe made from .eh_frame, and compared with it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/session/command.h"
#include "formats/debug/sframe_file.h"
#include "formats/debug/sframe_writer.h"
#include "unwind/cfi_index.h"
#include "unwind/rule_cache.h"
#include "unwind/unwind_arch.h"

enum { RULE_SIZE = 40, SHOWN_MAX = 20, PAGE_BYTES = 4096, FUNCTION_ROWS_MAX = 1 << 16 };

// A cfi_file is a file's .eh_frame.
struct cfi_file {
    struct text data;
    struct elf_view elf;
    struct cfi_index index;
    struct cfi_processor processor;
    enum sframe_arch arch;
    uint64_t lookups_left; // a file has a byte for each of its code at least
};

static void cfi_file_close(struct cfi_file *file)
{
    cfi_index_deinit(&file->index);
    text_deinit(&file->data);
}

// cfi_file_open reports a failure. The file has to be closed whatever is returned.
static enum ch_status cfi_file_open(struct cfi_file *file, const char *path)
{
    struct elf_section frames;
    struct elf_section text = { .vaddr = 0 };
    enum ch_status status = command_read_file(path, &file->data);
    if (status != CH_OK)
        return status;
    file->lookups_left = 2 * (uint64_t)file->data.size; // functions may overlap
    status = elf_view_init(&file->elf, file->data.bytes, file->data.size);
    const struct unwind_arch *arch = NULL;
    if (status == CH_OK && file->elf.header.machine == ELF_X86_64)
        arch = &unwind_arch_amd64;
    else if (status == CH_OK && file->elf.header.machine == ELF_AARCH64)
        arch = &unwind_arch_aarch64;
    if (status == CH_OK && (arch == NULL || file->elf.header.big_endian ||
                            file->elf.header.type == ELF_REL))
        status = CH_ERR_UNSUPPORTED;
    if (status == CH_OK)
        status = elf_view_find_section(&file->elf, ".eh_frame", &frames, NULL);
    if (status == CH_OK) {
        (void)!elf_view_find_section(&file->elf, ".text", &text, NULL);
        file->arch =
            arch->id == UNWIND_ARCH_AMD64 ? SFRAME_AMD64 : SFRAME_AARCH64_LITTLE;
        file->processor = rule_cache_processor(arch);
        const struct cfi_section section = { .kind = CFI_EH_FRAME,
                                             .address = frames.vaddr,
                                             .text = text.vaddr };
        struct cursor bytes = elf_section_cursor(&file->elf, &frames);
        status =
            cfi_index_init(&file->index, &section, bytes.begin, cursor_left(&bytes));
    }
    if (status == CH_OK)
        return CH_OK;
    if (arch == NULL && (status == CH_ERR_MALFORMED || status == CH_ERR_TRUNCATED))
        command_fail("cannot read '%s': it is no ELF file", path);
    else if (status == CH_ERR_UNSUPPORTED)
        command_fail("cannot read .eh_frame of '%s': it is none of a linked file for "
                     "x86-64 or little-endian AArch64",
                     path);
    else
        command_fail(status == CH_ERR_NOT_FOUND ? "'%s' has no .eh_frame (%s)"
                                                : "cannot read .eh_frame of '%s': %s",
                     path, ch_status_name(status));
    return status;
}

// A term is a number, or a register's value plus a number.
struct term {
    bool has_register;
    uint16_t reg;
    int64_t offset;
};

enum expression_op {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

// apply_operation puts the result of a on b in b. False: it is none of those that
// linkers use in rules, or a register is where a number has to be.
static bool apply_operation(uint8_t op, struct term a, struct term *b)
{
    if (op != OP_PLUS && (a.has_register || b->has_register))
        return false;
    switch (op) {
    case OP_AND:
        b->offset &= a.offset;
        return true;
    case OP_SHL:
        b->offset = (int64_t)((uint64_t)b->offset << (a.offset & 63));
        return true;
    case OP_GE:
        b->offset = b->offset >= a.offset;
        return true;
    case OP_PLUS:
        if (a.has_register && b->has_register)
            return false;
        b->reg = a.has_register ? a.reg : b->reg;
        b->has_register |= a.has_register;
        b->offset = (int64_t)((uint64_t)b->offset + (uint64_t)a.offset);
        return true;
    default:
        return false;
    }
}

// evaluate gives an expression's value at pc, whose register is amd64's.
static bool evaluate(struct cursor c, uint64_t pc, struct term *out, bool *out_load,
                     bool *out_by_pc)
{
    enum { STACK_MAX = 8 };
    struct term stack[STACK_MAX];
    size_t depth = 0;
    *out_load = false;
    while (cursor_left(&c) != 0) {
        uint8_t op = cursor_u8(&c);
        if (*out_load)
            return false; // a load can only come last
        if (op >= OP_LIT0 && op <= OP_LIT31 && depth < STACK_MAX) {
            stack[depth++] = (struct term){ .offset = op - OP_LIT0 };
        } else if (op >= OP_BREG0 && op <= OP_BREG31 && depth < STACK_MAX) {
            bool is_pc = op == OP_BREG0 + UNWIND_AMD64_RA;
            int64_t offset = cursor_sleb128(&c);
            stack[depth++] =
                (struct term){ .has_register = !is_pc,
                               .reg = (uint16_t)(op - OP_BREG0),
                               .offset = offset + (is_pc ? (int64_t)pc : 0) };
            *out_by_pc |= is_pc;
        } else if (op == OP_DEREF && depth == 1) {
            *out_load = true;
        } else if (depth < 2 ||
                   !apply_operation(op, stack[depth - 1], &stack[depth - 2])) {
            return false;
        } else {
            depth--;
        }
    }
    *out = depth == 1 ? stack[0] : (struct term){ .has_register = false };
    return cursor_ok(&c) && out->has_register;
}

// simplify_rule replaces an expression that is a register and an offset at pc, or the
// word there, by that. out_by_pc becomes true where another pc has another value.
static void simplify_rule(struct unwind_rule *rule, uint64_t pc, bool *out_by_pc)
{
    struct term term;
    bool load;
    if (rule->kind != UNWIND_EXPRESSION && rule->kind != UNWIND_AT_EXPRESSION)
        return;
    struct cursor c = cursor_over(rule->expression, rule->expression_size);
    if (!evaluate(c, pc, &term, &load, out_by_pc) ||
        (load && rule->kind == UNWIND_AT_EXPRESSION))
        return;
    load = load || rule->kind == UNWIND_AT_EXPRESSION;
    *rule =
        (struct unwind_rule){ .kind = load ? UNWIND_AT_REGISTER : UNWIND_REGISTER_PLUS,
                              .reg = term.reg,
                              .offset = term.offset };
}

// cfi_file_row gives the row at pc with simple rules where possible.
static enum ch_status cfi_file_row(struct cfi_file *file, uint64_t pc,
                                   struct unwind_row *out)
{
    if (file->lookups_left == 0)
        return CH_ERR_LIMIT;
    file->lookups_left--;
    enum ch_status status = cfi_index_find(&file->index, &file->processor, pc, out);
    if (status != CH_OK)
        return status;
    bool by_pc = false;
    simplify_rule(&out->cfa, pc, &by_pc);
    simplify_rule(&out->ra, pc, &by_pc);
    simplify_rule(&out->fp, pc, &by_pc);
    if (by_pc)
        out->end = pc + 1;
    return out->end > pc ? CH_OK : CH_ERR_MALFORMED;
}

// A made is what `sframe make` has done.
struct made {
    struct sframe_writer writer;
    struct unwind_row *rows; // of one function
    size_t capacity;
    size_t skipped; // functions
};

static void made_deinit(struct made *made)
{
    sframe_writer_deinit(&made->writer);
    free(made->rows);
}

static enum ch_status make_function(struct made *made, struct cfi_file *file,
                                    const struct cfi_index_entry *entry)
{
    size_t count = 0;
    uint64_t pc = entry->start;
    while (pc < entry->end && count < FUNCTION_ROWS_MAX) {
        if (!array_reserve(&made->rows, &made->capacity, count, sizeof(*made->rows)))
            return CH_ERR_NO_MEMORY;
        struct unwind_row *row = &made->rows[count];
        if (cfi_file_row(file, pc, row) != CH_OK)
            break;
        row->start = pc;
        pc = row->end;
        count++;
    }
    enum ch_status status = CH_ERR_UNSUPPORTED;
    if (pc >= entry->end)
        status = sframe_writer_add(&made->writer, entry->start, entry->end, made->rows,
                                   count);
    made->skipped += status == CH_ERR_UNSUPPORTED;
    return status == CH_ERR_UNSUPPORTED ? CH_OK : status;
}

// find_free_vaddr gives the first page after everything that the file maps.
static uint64_t find_free_vaddr(const struct elf_view *elf)
{
    struct elf_segment segment;
    uint64_t end = 0;
    for (uint32_t i = 0; elf_view_segment(elf, i, &segment) == CH_OK; i++)
        if (segment.type == ELF_PT_LOAD && segment.vaddr + segment.memory_size > end)
            end = segment.vaddr + segment.memory_size;
    return (end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
}

static int write_section(const char *path, const struct text *section)
{
    FILE *to = command_create(path);
    if (to == NULL)
        return command_fail("cannot create '%s': %m", path);
    bool written = fwrite(section->bytes, 1, section->size, to) == section->size;
    if (!command_close(to) || !written)
        return command_fail("cannot write '%s': %m", path);
    return COMMAND_DONE;
}

static int run_make(const struct options *options)
{
    const char *path = options->arguments[0];
    const char *version = options_value(options, "version");
    const char *out_path = options_value(options, "output");
    CH_CLEANUP(cfi_file_close) struct cfi_file file = { 0 };
    CH_CLEANUP(made_deinit) struct made made = { 0 };
    CH_CLEANUP(text_deinit) struct text section = { 0 };
    if (version == NULL)
        version = "2";
    if (out_path == NULL || (strcmp(version, "2") != 0 && strcmp(version, "3") != 0))
        return command_misused(
            "sframe make: it takes --output FILE, and --version 2 or "
            "3");
    if (cfi_file_open(&file, path) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status =
        sframe_writer_init(&made.writer, (uint8_t)(version[0] - '0'), file.arch);
    for (size_t i = 0; status == CH_OK && i < file.index.count; i++)
        status = make_function(&made, &file, &file.index.entries[i]);
    const uint64_t vaddr = find_free_vaddr(&file.elf);
    if (status == CH_OK && file.lookups_left == 0)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = sframe_writer_finish(&made.writer, vaddr, &section);
    if (status != CH_OK)
        return command_fail("cannot make .sframe of '%s': %s", path,
                            ch_status_name(status));
    if (write_section(out_path, &section) != COMMAND_DONE)
        return COMMAND_FAILED;
    // Where the section is the output, this is a message.
    (void)fprintf(strcmp(out_path, "-") == 0 ? stderr : stdout,
                  "%zu functions, %" PRIu64 " rows, %zu bytes, for address 0x%" PRIx64
                  "; %zu functions have rules that SFrame cannot express\n",
                  made.writer.count, made.writer.row_count, section.size, vaddr,
                  made.skipped);
    return COMMAND_DONE;
}

// A comparison is what `sframe verify` has found.
struct comparison {
    bool json;
    uint64_t functions;
    uint64_t covered; // functions with a row
    uint64_t bytes;   // of code that both describe
    uint64_t differences;
};

static void write_cfi_rule(const struct unwind_rule *rule, char out[RULE_SIZE])
{
    switch (rule->kind) {
    case UNWIND_CFA_PLUS:
        snprintf(out, RULE_SIZE, "cfa%+" PRId64, rule->offset);
        break;
    case UNWIND_AT_CFA:
        snprintf(out, RULE_SIZE, "[cfa%+" PRId64 "]", rule->offset);
        break;
    case UNWIND_REGISTER_PLUS:
        snprintf(out, RULE_SIZE, "r%u%+" PRId64, rule->reg, rule->offset);
        break;
    case UNWIND_AT_REGISTER:
        snprintf(out, RULE_SIZE, "[r%u%+" PRId64 "]", rule->reg, rule->offset);
        break;
    case UNWIND_EXPRESSION:
    case UNWIND_AT_EXPRESSION:
        snprintf(out, RULE_SIZE, "expression");
        break;
    default:
        snprintf(out, RULE_SIZE, "%s",
                 rule->kind == UNWIND_SAME ? "same" : "undefined");
        break;
    }
}

// row_ends_stack returns true if a row has no caller, in either format's way.
static bool row_ends_stack(const struct unwind_row *row)
{
    return row->flags & UNWIND_OUTERMOST || row->ra.kind == UNWIND_UNDEFINED;
}

// same_as_cfi compares one rule. A frame pointer that is lost and one that is unchanged
// are the same to SFrame.
static bool same_as_cfi(const struct unwind_rule *sframe, const struct unwind_rule *cfi)
{
    uint8_t kind = cfi->kind == UNWIND_UNDEFINED ? UNWIND_SAME : cfi->kind;
    bool has_register = kind == UNWIND_REGISTER_PLUS || kind == UNWIND_AT_REGISTER;
    return sframe->kind == kind &&
           (kind == UNWIND_SAME || sframe->offset == cfi->offset) &&
           (!has_register || sframe->reg == cfi->reg);
}

static void show_difference(struct comparison *comparison, uint64_t pc,
                            const struct unwind_row *sframe,
                            const struct unwind_row *cfi)
{
    static const char *const names[] = { "cfa", "ra", "fp" };
    const struct unwind_rule *const ours[] = { &sframe->cfa, &sframe->ra, &sframe->fp };
    const struct unwind_rule *const theirs[] = { &cfi->cfa, &cfi->ra, &cfi->fp };
    char text[2][RULE_SIZE];
    if (comparison->differences++ >= SHOWN_MAX && !comparison->json)
        return;
    if (comparison->json)
        printf("%s\n  {\"pc\":\"0x%" PRIx64 "\"",
               comparison->differences > 1 ? "," : "", pc);
    else
        printf("0x%" PRIx64 ":", pc);
    for (size_t i = 0; i < 3; i++) {
        write_cfi_rule(ours[i], text[0]);
        write_cfi_rule(theirs[i], text[1]);
        if (comparison->json)
            printf(",\"%s\":[\"%s\",\"%s\"]", names[i], text[0], text[1]);
        else if (strcmp(text[0], text[1]) != 0)
            printf(" %s is %s, in .eh_frame %s;", names[i], text[0], text[1]);
    }
    puts(comparison->json ? "}" : "");
}

// sframe_row_at finds the row at pc, and up to where it holds.
static enum ch_status sframe_row_at(const struct sframe_section *section, uint64_t pc,
                                    struct unwind_row *out, uint64_t *out_end)
{
    struct sframe_function function;
    enum ch_status status = sframe_find_function(section, pc, &function);
    if (status == CH_OK && function.row_count == 0)
        *out = (struct unwind_row){ .flags = UNWIND_OUTERMOST, .end = function.size };
    else if (status == CH_OK)
        status = sframe_find_row(section, &function, pc, out);
    if (status != CH_OK)
        return status;
    uint64_t at = pc - function.start;
    *out_end = pc + out->end - (function.mask ? at % function.block_size : at);
    return *out_end > pc ? CH_OK : CH_ERR_MALFORMED;
}

static void compare_function(struct comparison *comparison, struct cfi_file *file,
                             const struct sframe_section *section,
                             const struct cfi_index_entry *entry)
{
    struct unwind_row sframe = { 0 };
    struct unwind_row cfi = { 0 };
    bool covered = false;
    uint64_t end;
    for (uint64_t pc = entry->start; pc < entry->end; pc = end) {
        if (cfi_file_row(file, pc, &cfi) != CH_OK)
            break;
        end = pc + 1;
        if (sframe_row_at(section, pc, &sframe, &end) != CH_OK)
            continue;
        end = end < cfi.end ? end : cfi.end;
        covered = true;
        comparison->bytes += (end < entry->end ? end : entry->end) - pc;
        bool same = row_ends_stack(&sframe) == row_ends_stack(&cfi);
        const uint32_t mangled = (sframe.flags ^ cfi.flags) & UNWIND_RA_MANGLED;
        if (same && !row_ends_stack(&sframe))
            same = mangled == 0 && same_as_cfi(&sframe.cfa, &cfi.cfa) &&
                   same_as_cfi(&sframe.ra, &cfi.ra) && same_as_cfi(&sframe.fp, &cfi.fp);
        if (!same)
            show_difference(comparison, pc, &sframe, &cfi);
    }
    comparison->functions++;
    comparison->covered += covered;
}

static int run_verify(const struct options *options)
{
    const char *path = options->arguments[0];
    CH_CLEANUP(cfi_file_close) struct cfi_file file = { 0 };
    struct sframe_file sections;
    struct sframe_section section;
    struct comparison comparison = { .json = options_given(options, "json") };
    size_t offset = 0;
    if (cfi_file_open(&file, path) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status =
        sframe_file_init(&sections, file.data.bytes, file.data.size);
    if (status == CH_OK)
        status = sframe_file_next(&sections, &offset, &section);
    if (status != CH_OK)
        return command_fail(status == CH_ERR_NOT_FOUND
                                ? "'%s' has no .sframe (%s)"
                                : "cannot read .sframe of '%s': %s",
                            path, ch_status_name(status));
    if (comparison.json)
        fputs("{\"differences\":[", stdout);
    for (; status == CH_OK; status = sframe_file_next(&sections, &offset, &section))
        for (size_t i = 0; i < file.index.count && file.lookups_left != 0; i++)
            compare_function(&comparison, &file, &section, &file.index.entries[i]);
    printf(comparison.json ? "],\"functions\":%" PRIu64 ",\"covered\":%" PRIu64
                             ",\"bytes\":%" PRIu64 ",\"disagreements\":%" PRIu64 "}\n"
                           : "%" PRIu64 " functions in .eh_frame, %" PRIu64
                             " in .sframe; %" PRIu64 " bytes of code compared, %" PRIu64
                             " disagreements\n",
           comparison.functions, comparison.covered, comparison.bytes,
           comparison.differences);
    if (status != CH_END)
        return command_fail("cannot read .sframe of '%s': %s", path,
                            ch_status_name(status));
    if (file.lookups_left == 0)
        return command_fail("cannot compare all of '%s': its .eh_frame is of more code "
                            "than the file can have",
                            path);
    return comparison.differences == 0 ? COMMAND_DONE : COMMAND_FAILED;
}

static const struct option make_options[] = {
    { "version", "2|3", "the version of SFrame (2)", 0 },
    { "output", "FILE", "where to write the section", 'o' },
    { 0 },
};

const struct command sframe_make_command = {
    .name = "sframe make",
    .arguments = "FILE",
    .summary = "Make an .sframe section from an ELF file's .eh_frame",
    .options = make_options,
    .run = run_make,
    .arguments_min = 1,
    .arguments_max = 1,
};

static const struct option verify_options[] = {
    { "json", NULL, "print JSON", 0 },
    { 0 },
};

const struct command sframe_verify_command = {
    .name = "sframe verify",
    .arguments = "FILE",
    .summary = "Compare an ELF file's .sframe with its .eh_frame at every address",
    .options = verify_options,
    .run = run_verify,
    .arguments_min = 1,
    .arguments_max = 1,
};
