// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/render/pen.h"
#include "cli/session/command.h"
#include "formats/debug/sframe_file.h"

enum { RULE_SIZE = 40, SYMBOL_FUNCTION = 2 };

// A named_function is a function of the file's symbol table.
struct named_function {
    uint64_t vaddr;
    uint64_t size;
    const char *name;
};

struct named_functions {
    struct named_function *all; // by vaddr, then by name
    size_t count;
    size_t capacity;
};

// listed is a function as it is listed: what the section says and its real start.
struct listed {
    const struct sframe_section *section;
    struct sframe_function function;
    struct sframe_start start;
    const char *name; // NULL: not known
};

static void named_functions_deinit(struct named_functions *functions)
{
    free(functions->all);
}

static int compare_named(const void *left, const void *right)
{
    const struct named_function *a = left;
    const struct named_function *b = right;
    if (a->vaddr != b->vaddr)
        return a->vaddr < b->vaddr ? -1 : 1;
    return strcmp(a->name, b->name);
}

// read_named_functions reads the functions of a linked file's symbol table. Damage ends
// it: the rest has no names.
static void read_named_functions(const struct elf_view *elf,
                                 struct named_functions *functions)
{
    struct elf_section table;
    struct elf_section strings;
    struct elf_symbol symbol;
    if (elf_view_find_section(elf, ".symtab", &table, NULL) != CH_OK &&
        elf_view_find_section(elf, ".dynsym", &table, NULL) != CH_OK)
        return;
    if (elf_view_section(elf, table.link, &strings) != CH_OK)
        return;
    struct cursor symbols = elf_section_cursor(elf, &table);
    while (elf_next_symbol(elf, &symbols, &symbol) == CH_OK) {
        struct cursor names = elf_section_cursor(elf, &strings);
        if ((symbol.info & 0xf) != SYMBOL_FUNCTION || symbol.section == 0)
            continue;
        cursor_seek(&names, symbol.name);
        const char *name = cursor_string(&names);
        if (name == NULL || !array_reserve(&functions->all, &functions->capacity,
                                           functions->count, sizeof(*functions->all)))
            break;
        functions->all[functions->count++] =
            (struct named_function){ symbol.value, symbol.size, name };
    }
    if (functions->count != 0)
        qsort(functions->all, functions->count, sizeof(*functions->all), compare_named);
}

// name_of gives the name of the function that begins at vaddr.
static const char *name_of(const struct named_functions *functions, uint64_t vaddr)
{
    size_t low = 0;
    size_t high = functions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions->all[middle].vaddr < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < functions->count && functions->all[low].vaddr == vaddr
               ? functions->all[low].name
               : NULL;
}

// write_rule writes a rule in the notation of both listings: cfa+N, [cfa-N], sp+N; ""
// means unchanged or not saved.
static void write_rule(const struct listed *listed, const struct unwind_rule *rule,
                       char out[RULE_SIZE])
{
    uint16_t sp;
    uint16_t fp;
    char base[8];
    sframe_base_registers(listed->section->arch, &sp, &fp);
    bool spoken = !listed->function.flex && (rule->reg == sp || rule->reg == fp);
    snprintf(base, sizeof(base), "r%u", rule->reg);
    const char *reg = !spoken ? base : rule->reg == sp ? "sp" : "fp";

    switch (rule->kind) {
    case UNWIND_UNDEFINED:
        snprintf(out, RULE_SIZE, "undefined");
        break;
    case UNWIND_CFA_PLUS:
        snprintf(out, RULE_SIZE, "cfa%+" PRId64, rule->offset);
        break;
    case UNWIND_AT_CFA:
        snprintf(out, RULE_SIZE, "[cfa%+" PRId64 "]", rule->offset);
        break;
    case UNWIND_REGISTER_PLUS:
        snprintf(out, RULE_SIZE, "%s%+" PRId64, reg, rule->offset);
        break;
    case UNWIND_AT_REGISTER:
        snprintf(out, RULE_SIZE, "[%s%+" PRId64 "]", reg, rule->offset);
        break;
    default:
        out[0] = 0;
    }
}

static void print_rule_json(const struct listed *listed, const char *key,
                            const struct unwind_rule *rule)
{
    char text[RULE_SIZE];
    write_rule(listed, rule, text);
    if (text[0] != 0)
        printf(",\"%s\":\"%s\"", key, text);
    else
        printf(",\"%s\":null", key);
}

static void print_row_json(const struct listed *listed, const struct unwind_row *row)
{
    printf("{\"start\":%" PRIu64 ",\"end\":%" PRIu64, row->start, row->end);
    print_rule_json(listed, "cfa", &row->cfa);
    print_rule_json(listed, "ra", &row->ra);
    print_rule_json(listed, "fp", &row->fp);
    printf(",\"mangled\":%s}", row->flags & UNWIND_RA_MANGLED ? "true" : "false");
}

static void print_row_text(const struct listed *listed, const struct unwind_row *row)
{
    const struct unwind_rule *const rules[] = { &row->cfa, &row->ra, &row->fp };
    char range[48];
    snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, row->start, row->end);
    printf("  %-12s", range);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        char text[RULE_SIZE];
        write_rule(listed, rules[i], text);
        printf(" %-12s", text[0] != 0 ? text : "same");
    }
    puts(row->flags & UNWIND_RA_MANGLED ? " signed" : "");
}

static void print_start_json(const struct listed *listed)
{
    if (listed->start.known)
        printf("\"start\":\"0x%" PRIx64 "\"", listed->start.vaddr);
    else
        fputs("\"start\":null", stdout);
    if (listed->start.section != NULL) {
        fputs(",\"section\":", stdout);
        json_print_string(listed->start.section, strlen(listed->start.section));
    }
    printf(",\"size\":%" PRIu32, listed->function.size);
    if (listed->name == NULL)
        return;
    fputs(",\"name\":", stdout);
    json_print_string(listed->name, strlen(listed->name));
}

// print_rows prints the rows of the function, which may have none: in version 3 this
// marks an outermost function.
static enum ch_status print_rows(const struct listed *listed, bool json)
{
    struct sframe_rows rows;
    sframe_rows_init(&rows, listed->section, &listed->function);
    for (uint32_t i = 0; i < listed->function.row_count; i++) {
        struct unwind_row row = { 0 };
        enum ch_status status = sframe_next_row(&rows, &row);
        if (status != CH_OK)
            return status;
        if (!json) {
            print_row_text(listed, &row);
            continue;
        }
        fputs(i != 0 ? ",\n  " : "\n  ", stdout);
        print_row_json(listed, &row);
    }
    return CH_OK;
}

static enum ch_status print_sframe_function_json(const struct listed *listed)
{
    const struct sframe_function *function = &listed->function;
    putchar('{');
    print_start_json(listed);
    printf(",\"pc_type\":\"%s\",\"rep_size\":%u", function->mask ? "mask" : "inc",
           function->rep_size);
    printf(",\"signal\":%s,\"flex\":%s,\"pauth_key\":\"%s\",\"rows\":[",
           function->signal ? "true" : "false", function->flex ? "true" : "false",
           function->key_b ? "b" : "a");
    enum ch_status status = print_rows(listed, true);
    putchar(']');
    if (status != CH_OK)
        printf(",\"error\":\"%s\"", ch_status_name(status));
    putchar('}');
    return status;
}

static enum ch_status print_sframe_function_text(const struct listed *listed)
{
    const struct sframe_function *function = &listed->function;
    if (listed->start.known)
        printf("\n0x%" PRIx64, listed->start.vaddr);
    else
        fputs("\n(start not known)", stdout);
    if (listed->start.section != NULL) {
        const struct pen pen = { .to = stdout };
        fputs(" in ", stdout);
        pen_text(&pen, listed->start.section);
    }
    if (listed->name != NULL) {
        const struct pen pen = { .to = stdout };
        putchar(' ');
        pen_text(&pen, listed->name);
    }
    printf(", %" PRIu32 " bytes%s%s", function->size,
           function->signal ? ", signal" : "", function->key_b ? ", key B" : "");
    if (function->mask)
        printf(", in blocks of %u", function->block_size);
    puts("\n  offsets      cfa          ra           fp");
    enum ch_status status = print_rows(listed, false);
    if (status != CH_OK)
        printf("  (its rows are %s)\n", ch_status_name(status));
    return status;
}

static enum ch_status read_listed(const struct sframe_file *file,
                                  const struct sframe_section *section, uint32_t index,
                                  struct listed *out)
{
    out->section = section;
    enum ch_status status = sframe_read_function(section, index, &out->function);
    if (status == CH_OK)
        sframe_file_start(file, section, index, &out->function, &out->start);
    return status;
}

static const char *arch_name(enum sframe_arch arch)
{
    static const char *const names[] = {
        [SFRAME_AARCH64_BIG] = "aarch64-be",
        [SFRAME_AARCH64_LITTLE] = "aarch64-le",
        [SFRAME_AMD64] = "amd64",
        [SFRAME_S390X] = "s390x",
    };
    return names[arch];
}

static void print_sframe_header(const struct sframe_section *section, bool json)
{
    static const char *const flags[] = { "fde-sorted", "frame-pointer",
                                         "func-start-pcrel" };
    const char *separator = "";
    printf(json ? "{\"version\":%u,\"arch\":\"%s\",\"flags\":["
                : "SFrame version %u, %s, flags:",
           section->version, arch_name(section->arch));
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!(section->flags & 1u << i))
            continue;
        printf(json ? "%s\"%s\"" : "%s %s", separator, flags[i]);
        separator = ",";
    }
    printf(json ? "],\"fixed_fp_offset\":%d,\"fixed_ra_offset\":%d,\"auxhdr_len\":%u,"
                  "\"functions\":["
                : "\nfixed offsets: fp %d, ra %d; header extension: %u bytes\n",
           section->fixed_fp, section->fixed_ra, section->aux_size);
}

// dump is the progress of a listing, for the message at its end.
struct dump {
    bool json;
    struct named_functions names;
    uint64_t functions; // listed
    uint64_t bad;       // of them
    uint64_t first_bad;
    enum ch_status status; // of the first bad one
};

// dump_function lists a function. One that cannot be read does not affect the others,
// whose places the section's index has.
static void dump_function(const struct sframe_file *file,
                          const struct sframe_section *section, uint32_t index,
                          struct dump *dump)
{
    struct listed listed = { 0 };
    enum ch_status status = read_listed(file, section, index, &listed);
    if (listed.start.known && !file->relocatable)
        listed.name = name_of(&dump->names, listed.start.vaddr);
    if (dump->json)
        fputs(dump->functions != 0 ? ",\n " : "\n ", stdout);
    if (status != CH_OK)
        printf(dump->json ? "{\"error\":\"%s\"}" : "\n(the function is %s)\n",
               ch_status_name(status));
    else
        status = dump->json ? print_sframe_function_json(&listed)
                            : print_sframe_function_text(&listed);
    if (status != CH_OK && dump->bad++ == 0) {
        dump->first_bad = dump->functions;
        dump->status = status;
    }
    dump->functions++;
}

// open_listed opens the file at path and its first section, and reports a failure.
static enum ch_status open_listed(const char *path, struct text *data,
                                  struct sframe_file *file, size_t *offset,
                                  struct sframe_section *section)
{
    enum ch_status status = command_read_file(path, data);
    if (status != CH_OK)
        return status;
    status = sframe_file_init(file, data->bytes, data->size);
    if (status == CH_ERR_NOT_FOUND)
        command_fail("'%s' has no .sframe section", path);
    else if (status == CH_ERR_MALFORMED)
        command_fail("cannot read '%s': it is no ELF file", path);
    else if (status != CH_OK)
        command_fail("cannot read '%s': its ELF headers are %s", path,
                     ch_status_name(status));
    if (status != CH_OK)
        return status;
    status = sframe_file_next(file, offset, section);
    if (status == CH_OK)
        return CH_OK;
    command_fail("cannot read .sframe of '%s': %s", path,
                 status == CH_ERR_UNSUPPORTED
                     ? "its version, architecture or linker is not known"
                     : ch_status_name(status));
    return status;
}

static void sframe_dump_deinit(struct dump *dump)
{
    named_functions_deinit(&dump->names);
}

static int run_sframe_dump(const struct options *options)
{
    const char *path = options->arguments[0];
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    struct sframe_file file;
    struct sframe_section section;
    size_t offset = 0;
    if (open_listed(path, &data, &file, &offset, &section) != CH_OK)
        return COMMAND_FAILED;

    CH_CLEANUP(sframe_dump_deinit)
    struct dump dump = { .json = options_given(options, "json") };
    print_sframe_header(&section, dump.json);
    if (!file.relocatable)
        read_named_functions(&file.elf, &dump.names);
    enum ch_status status = CH_OK;
    while (status == CH_OK) {
        for (uint32_t i = 0; i < section.function_count; i++)
            dump_function(&file, &section, i, &dump);
        status = sframe_file_next(&file, &offset, &section);
    }
    bool complete = status == CH_END && dump.bad == 0;
    if (dump.json)
        printf("\n],\"complete\":%s}\n", complete ? "true" : "false");
    if (complete)
        return COMMAND_DONE;
    if (dump.bad == 0)
        return command_fail(
            "cannot read .sframe of '%s': section after function %" PRIu64 " is %s",
            path, dump.functions, ch_status_name(status));
    return command_fail("cannot read all of .sframe of '%s': function %" PRIu64
                        " is %s; %" PRIu64 " of %" PRIu64 " functions are bad",
                        path, dump.first_bad, ch_status_name(dump.status), dump.bad,
                        dump.functions);
}

// find_listed finds the function that covers pc. In a linked file the section's index
// finds it; in an object file only relocations tell where functions start.
static enum ch_status find_listed(const struct sframe_file *file,
                                  const struct sframe_section *section, uint64_t pc,
                                  struct listed *out)
{
    out->section = section;
    if (!file->relocatable) {
        enum ch_status status = sframe_find_function(section, pc, &out->function);
        if (status == CH_OK)
            sframe_file_start(file, section, 0, &out->function, &out->start);
        return status;
    }
    for (uint32_t i = 0; i < section->function_count; i++) {
        enum ch_status status = read_listed(file, section, i, out);
        if (status != CH_OK)
            return status;
        if (out->start.known && pc - out->start.vaddr < out->function.size) {
            out->function.start = out->start.vaddr;
            return CH_OK;
        }
    }
    return CH_ERR_NOT_FOUND;
}

static void print_found_row(uint64_t pc, const struct listed *listed,
                            const struct unwind_row *row, bool json)
{
    const struct pen pen = { .to = stdout };
    if (json) {
        printf("{\"pc\":\"0x%" PRIx64 "\",\"function\":", pc);
        if (listed != NULL) {
            putchar('{');
            print_start_json(listed);
            putchar('}');
        } else {
            fputs("null", stdout);
        }
        fputs(",\"row\":", stdout);
        if (row != NULL)
            print_row_json(listed, row);
        else
            fputs("null", stdout);
        puts("}");
        return;
    }
    printf("0x%" PRIx64, pc);
    if (listed != NULL)
        printf(" in the function of %" PRIu32 " bytes at 0x%" PRIx64,
               listed->function.size, listed->start.vaddr);
    if (listed != NULL && listed->name != NULL) {
        fputs(", ", stdout);
        pen_text(&pen, listed->name);
    }
    puts(row != NULL ? ":" : ": no row");
    if (row != NULL)
        print_row_text(listed, row);
}

// look_up_row prints the rule that applies at pc, from the section that covers it.
static enum ch_status look_up_row(const struct sframe_file *file,
                                  const struct named_functions *names, uint64_t pc,
                                  bool json)
{
    struct listed listed = { 0 };
    struct sframe_section section;
    size_t offset = 0;
    enum ch_status status = sframe_file_next(file, &offset, &section);
    while (status == CH_OK) {
        status = find_listed(file, &section, pc, &listed);
        if (status != CH_ERR_NOT_FOUND)
            break;
        status = sframe_file_next(file, &offset, &section);
    }
    if (status == CH_END) {
        print_found_row(pc, NULL, NULL, json);
        return CH_OK;
    }
    struct unwind_row row = { 0 };
    if (status == CH_OK && listed.start.known)
        listed.name = name_of(names, listed.start.vaddr);
    if (status == CH_OK)
        status = sframe_find_row(&section, &listed.function, pc, &row);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        return status;
    print_found_row(pc, &listed, status == CH_OK ? &row : NULL, json);
    return CH_OK;
}

// find_address reads an address in hex, or the name of a function; false: it is
// neither.
static bool find_address(const struct named_functions *names, const char *word,
                         uint64_t *out)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->all[i].name, word) == 0) {
            *out = names->all[i].vaddr;
            return true;
        }
    }
    return command_parse_address(word, out);
}

static int run_lookup(const struct options *options)
{
    const char *path = options->arguments[0];
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    CH_CLEANUP(named_functions_deinit) struct named_functions names = { 0 };
    struct sframe_file file;
    struct sframe_section section;
    size_t offset = 0;
    if (open_listed(path, &data, &file, &offset, &section) != CH_OK)
        return COMMAND_FAILED;
    if (!file.relocatable)
        read_named_functions(&file.elf, &names);
    uint64_t pc = 0;
    for (size_t i = 1; i < options->argument_count; i++) {
        if (!find_address(&names, options->arguments[i], &pc))
            return command_misused("sframe lookup: '%s' is no address in hex and no "
                                   "function of '%s'",
                                   options->arguments[i], path);
    }
    bool json = options_given(options, "json");
    for (size_t i = 1; i < options->argument_count; i++) {
        (void)find_address(&names, options->arguments[i], &pc);
        enum ch_status status = look_up_row(&file, &names, pc, json);
        if (status != CH_OK)
            return command_fail("cannot look up %s in .sframe of '%s': %s",
                                options->arguments[i], path, ch_status_name(status));
    }
    return COMMAND_DONE;
}

static const struct option json_options[] = {
    { "json", NULL, "print JSON", 0 },
    { 0 },
};

const struct command sframe_dump_command = {
    .name = "sframe dump",
    .arguments = "FILE",
    .summary = "Print every function and row of an ELF file's .sframe section",
    .options = json_options,
    .run = run_sframe_dump,
    .arguments_min = 1,
    .arguments_max = 1,
};

const struct command sframe_lookup_command = {
    .name = "sframe lookup",
    .arguments = "FILE PC|FUNCTION...",
    .summary = "Print the row that applies at each address or function's entry",
    .options = json_options,
    .run = run_lookup,
    .arguments_min = 2,
    .arguments_max = SIZE_MAX,
};
