// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/breakpad_symbols.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/register_name.h"
#include "base/text.h"

// Of DWARF (section 6.4.2, 2.5).
enum {
    CFA_ADVANCE4 = 0x04,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_VAL_EXPRESSION = 0x16,
    OP_DEREF = 0x06,
    OP_CONSTS = 0x11,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_PLUS = 0x22,
    OP_BREG0 = 0x70,
};

enum {
    LINE_MAX_BYTES = 4096,
    WORDS_MAX = 64, // of a rule

};

// A made_elf is an ELF file in the making: its sections.
struct made_elf {
    bool arm;
    struct text frames;
    struct text symbols;
    struct text names;
    size_t entry; // where the FDE begins whose rules are being added
    bool in_entry;
    uint64_t address; // of its rules
    uint64_t end;     // of all functions
};

// A rule is the words of an expression in postfix notation.
struct rule {
    const char *words[WORDS_MAX];
    size_t count;
};

static bool read_decimal(const char *word, int64_t *out)
{
    char *end;
    *out = strtoll(word, &end, 10);
    return *word != 0 && *end == 0;
}

// find_dwarf_number finds a register's DWARF number; .ra is the column of return
// addresses.
static bool find_dwarf_number(const struct made_elf *c, const char *word, unsigned *out)
{
    enum { RA_AMD64 = 16, RA_AARCH64 = 30, COUNT_AARCH64 = 33 };
    size_t number = 0;
    size_t size = 8;
    if (strcmp(word, ".ra") == 0) {
        *out = c->arm ? RA_AARCH64 : RA_AMD64;
        return true;
    }
    word += *word == '$';
    if (!c->arm && (!register_find_amd64(word, &number, &size) || size != 8))
        return false;
    while (c->arm && number < COUNT_AARCH64 &&
           (register_name_aarch64(number) == NULL ||
            strcmp(register_name_aarch64(number), word) != 0))
        number++;
    *out = (unsigned)number;
    return !c->arm || number < COUNT_AARCH64;
}

static bool append_operator(struct text *out, const char *word)
{
    static const char names[] = "+-*/%^";
    static const uint8_t codes[] = {
        OP_PLUS, OP_MINUS, OP_MUL, OP_DIV, OP_MOD, OP_DEREF
    };
    const char *at = word[0] != 0 && word[1] == 0 ? strchr(names, word[0]) : NULL;
    if (strcmp(word, "@") == 0) { // cuts to a multiple of a power of two
        PACK(out, "11", OP_NEG, OP_AND);
        return true;
    }
    if (at != NULL)
        PACK(out, "1", codes[at - names]);
    return at != NULL;
}

// append_postfix writes words as a DWARF expression with its size in front, after
// head. has_cfa: the CFA is on the stack at the start, where a rule may use it first.
static bool append_postfix(struct made_elf *c, const struct rule *rule, size_t count,
                           bool has_cfa, const struct text *head)
{
    struct text CH_CLEANUP(text_deinit) code = { 0 };
    bool fits = count != 0 && (!has_cfa || strcmp(rule->words[0], ".cfa") == 0);
    for (size_t i = has_cfa; i < count && fits; i++) {
        int64_t number;
        unsigned reg;
        if (read_decimal(rule->words[i], &number)) {
            PACK(&code, "1s", OP_CONSTS, (uint64_t)number);
        } else if (find_dwarf_number(c, rule->words[i], &reg) && reg < 32) {
            PACK(&code, "1s", OP_BREG0 + reg, 0);
        } else {
            fits = append_operator(&code, rule->words[i]);
        }
    }
    if (!fits)
        return false;
    text_append(&c->frames, head->bytes, head->size);
    PACK(&c->frames, "u", code.size);
    text_append(&c->frames, code.bytes, code.size);
    return true;
}

// add_cfa_rule writes how the CFA is found: `REGISTER N +`, or any expression.
static void add_cfa_rule(struct made_elf *c, const struct rule *rule)
{
    struct text CH_CLEANUP(text_deinit) head = { 0 };
    unsigned reg;
    int64_t offset = 0;
    bool sum = rule->count == 3 && read_decimal(rule->words[1], &offset) &&
               strcmp(rule->words[2], "+") == 0;
    if ((sum || rule->count == 1) && find_dwarf_number(c, rule->words[0], &reg)) {
        PACK(&c->frames, "1us", CFA_DEF_CFA_SF, reg, (uint64_t)offset);
        return;
    }
    PACK(&head, "1", CFA_DEF_CFA_EXPRESSION);
    if (append_postfix(c, rule, rule->count, false, &head))
        return;
    // An expression without a result: the CFA of the row before does not hold here.
    PACK(&c->frames, "1u", CFA_DEF_CFA_EXPRESSION, 0);
}

// add_register_rule writes where the caller's register is: `.cfa N + ^`, a register, or
// any expression that begins with the CFA.
static void add_register_rule(struct made_elf *c, unsigned reg, const struct rule *rule)
{
    struct text CH_CLEANUP(text_deinit) head = { 0 };
    unsigned other;
    int64_t offset;
    bool loads = rule->count > 1 && strcmp(rule->words[rule->count - 1], "^") == 0;
    if (rule->count == 4 && loads && strcmp(rule->words[0], ".cfa") == 0 &&
        read_decimal(rule->words[1], &offset) && strcmp(rule->words[2], "+") == 0) {
        PACK(&c->frames, "1us", CFA_OFFSET_EXTENDED_SF, reg, (uint64_t)offset);
        return;
    }
    if (rule->count == 1 && find_dwarf_number(c, rule->words[0], &other)) {
        PACK(&c->frames, other == reg ? "1u" : "1uu",
             other == reg ? CFA_SAME_VALUE : CFA_REGISTER, reg, other);
        return;
    }
    PACK(&head, "1u", loads ? CFA_EXPRESSION : CFA_VAL_EXPRESSION, reg);
    if (append_postfix(c, rule, rule->count - loads, true, &head))
        return;
    PACK(&c->frames, "1u", CFA_UNDEFINED, reg);
}

static void add_rule(struct made_elf *c, const char *name, const struct rule *rule)
{
    unsigned reg;
    if (rule->count == 0)
        return;
    if (strcmp(name, ".cfa") == 0)
        add_cfa_rule(c, rule);
    else if (find_dwarf_number(c, name, &reg))
        add_register_rule(c, reg, rule);
}

// add_rules writes the rules `NAME: EXPRESSION NAME: EXPRESSION` of a line.
static void add_rules(struct made_elf *c, char *words)
{
    struct rule rule = { .count = 0 };
    const char *name = NULL;
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        size_t size = strlen(word);
        if (size > 1 && word[size - 1] == ':') {
            if (name != NULL)
                add_rule(c, name, &rule);
            word[size - 1] = 0;
            name = word;
            rule.count = 0;
        } else if (rule.count < WORDS_MAX) {
            rule.words[rule.count++] = word;
        }
    }
    if (name != NULL)
        add_rule(c, name, &rule);
}

// end_entry pads an entry of .debug_frame and sets its length.
static void end_entry(struct made_elf *c)
{
    if (c->in_entry) // with DW_CFA_nop: entries begin at multiples of 8
        (void)pack_align(&c->frames, 8);
    uint32_t length = (uint32_t)(c->frames.size - c->entry - 4);
    if (c->in_entry && text_ok(&c->frames))
        memcpy(c->frames.bytes + c->entry, &length, sizeof(length));
    c->in_entry = false;
}

// begin_entry begins the entry of the functions' common part, or one for a range.
static void begin_entry(struct made_elf *c, uint32_t id)
{
    c->in_entry = true;
    c->entry = c->frames.size;
    PACK(&c->frames, "44", 0, id);
}

static void add_common_entry(struct made_elf *c)
{
    enum { VERSION = 3 };
    unsigned ra = 0;
    begin_entry(c, UINT32_MAX);
    (void)find_dwarf_number(c, ".ra", &ra);
    // No augmentation, and both alignments 1.
    PACK(&c->frames, "2usu", VERSION, 1, 1, ra);
}

// add_frames adds a line after `STACK CFI `: `INIT ADDRESS SIZE RULES` or `ADDRESS
// RULES`.
static void add_frames(struct made_elf *c, char *line)
{
    static const char init[] = "INIT ";
    bool begins = strncmp(line, init, sizeof(init) - 1) == 0;
    uint64_t address = strtoull(line + (begins ? sizeof(init) - 1 : 0), &line, 16);
    if (begins) {
        uint64_t size = strtoull(line, &line, 16);
        end_entry(c);
        if (address + size < address)
            return;
        if (address + size > c->end)
            c->end = address + size;
        begin_entry(c, 0);
        PACK(&c->frames, "88", address, size);
    } else if (!c->in_entry || address < c->address ||
               address - c->address > UINT32_MAX) {
        return;
    } else if (address != c->address) {
        PACK(&c->frames, "14", CFA_ADVANCE4, address - c->address);
    }
    c->address = address;
    add_rules(c, line);
}

// add_symbol_line adds a line after `FUNC ` or `PUBLIC `: a function's name comes after
// its address, its size, which PUBLIC lacks, and that of its parameters.
static void add_symbol_line(struct made_elf *c, char *line, bool sized)
{
    line += strncmp(line, "m ", 2) == 0 ? 2 : 0;
    Elf64_Sym symbol = { .st_name = (Elf64_Word)c->names.size,
                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                         .st_shndx = 1,
                         .st_value = strtoull(line, &line, 16) };
    if (sized)
        symbol.st_size = strtoull(line, &line, 16);
    (void)strtoull(line, &line, 16);
    line += *line == ' ';
    if (*line == 0 || symbol.st_value + symbol.st_size < symbol.st_value)
        return;
    text_append(&c->symbols, &symbol, sizeof(symbol));
    text_append(&c->names, line, strlen(line) + 1);
    if (symbol.st_value + symbol.st_size >= c->end)
        c->end = symbol.st_value + symbol.st_size + 1;
}

static bool after(char *line, const char *word, char **out)
{
    size_t size = strlen(word);
    *out = line + size;
    return strncmp(line, word, size) == 0;
}

// convert_lines goes through the lines; one that is too long is left out.
static void convert_lines(struct made_elf *c, struct cursor text)
{
    char line[LINE_MAX_BYTES];
    char *rest;
    while (cursor_left(&text) != 0) {
        const uint8_t *end = memchr(text.at, '\n', cursor_left(&text));
        size_t size = end != NULL ? (size_t)(end - text.at) : cursor_left(&text);
        const uint8_t *bytes = cursor_take(&text, size);
        cursor_skip(&text, end != NULL);
        if (size >= sizeof(line) || memchr(bytes, 0, size) != NULL)
            continue;
        memcpy(line, bytes, size);
        size -= size != 0 && line[size - 1] == '\r';
        line[size] = 0;
        if (after(line, "STACK CFI ", &rest))
            add_frames(c, rest);
        else if (after(line, "FUNC ", &rest))
            add_symbol_line(c, rest, true);
        else if (after(line, "PUBLIC ", &rest))
            add_symbol_line(c, rest, false);
    }
    end_entry(c);
}

bool breakpad_symbols_are_of(struct cursor text, const char *identity)
{
    char line[256];
    char found[64];
    size_t size =
        cursor_left(&text) < sizeof(line) ? cursor_left(&text) : sizeof(line) - 1;
    (void)snprintf(line, sizeof(line), "%.*s", (int)size,
                   size != 0 ? (const char *)text.at : "");
    return sscanf(line, "MODULE Linux %*15s %63s", found) == 1 &&
           strcmp(found, identity) == 0;
}

bool breakpad_symbols_build(struct cursor text, uint16_t *out_machine,
                            uint8_t out_build_id[BREAKPAD_BUILD_ID_MAX],
                            size_t *out_size)
{
    char head[1024];
    char machine[16];
    char digits[2 * BREAKPAD_BUILD_ID_MAX + 1];
    size_t size = cursor_left(&text);
    (void)snprintf(head, sizeof(head), "%.*s",
                   (int)(size < sizeof(head) ? size : sizeof(head) - 1),
                   size != 0 ? (const char *)text.at : "");
    const char *id = strstr(head, "\nINFO CODE_ID ");
    if (sscanf(head, "MODULE Linux %15s", machine) != 1 || id == NULL ||
        sscanf(id, "\nINFO CODE_ID %128[0-9A-Fa-f]", digits) != 1)
        return false;
    *out_machine = strcmp(machine, "arm64") == 0 ? EM_AARCH64 : EM_X86_64;
    return (strcmp(machine, "arm64") == 0 || strcmp(machine, "x86_64") == 0) &&
           hex_decode(digits, strlen(digits), out_build_id, BREAKPAD_BUILD_ID_MAX,
                      out_size) == CH_OK &&
           *out_size != 0;
}

// A section of the file, with its content.
struct section {
    const char *name;
    Elf64_Shdr header;
    const struct text *content;
};

enum { SECTIONS = 7, ALIGNMENT = 8, SEGMENTS = 2 };

// write_elf writes header, segments, the contents of sections, and their headers.
static void write_elf(struct section *sections, const Elf64_Ehdr *header,
                      Elf64_Phdr *segments, struct text *out)
{
    uint64_t at = sizeof(*header) + SEGMENTS * sizeof(*segments);
    for (size_t i = 1; i < SECTIONS; i++) {
        sections[i].header.sh_offset = at;
        if (sections[i].content == NULL)
            continue;
        sections[i].header.sh_size = sections[i].content->size;
        at += (sections[i].content->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    Elf64_Ehdr whole = *header;
    whole.e_shoff = at;
    segments[1].p_offset = sections[2].header.sh_offset;
    segments[1].p_filesz = segments[1].p_memsz = sections[2].header.sh_size;
    text_append(out, &whole, sizeof(whole));
    text_append(out, segments, SEGMENTS * sizeof(*segments));
    for (size_t i = 1; i < SECTIONS; i++) {
        const struct text *content = sections[i].content;
        if (content == NULL)
            continue;
        text_append(out, content->bytes, content->size);
        (void)pack_align(out, ALIGNMENT);
    }
    for (size_t i = 0; i < SECTIONS; i++)
        text_append(out, &sections[i].header, sizeof(sections[i].header));
}

// write_file puts the sections together.
static void write_file(const struct made_elf *c, const struct text *note,
                       struct text *out)
{
    struct text CH_CLEANUP(text_deinit) names = { 0 };
    struct section sections[SECTIONS] = {
        { .name = "" },
        { ".text",
          { .sh_type = SHT_NOBITS,
            .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
            .sh_size = c->end },
          NULL },
        { ".note.gnu.build-id", { .sh_type = SHT_NOTE }, note },
        { ".debug_frame", { .sh_type = SHT_PROGBITS }, &c->frames },
        { ".symtab",
          { .sh_type = SHT_SYMTAB,
            .sh_link = 5,
            .sh_info = 1,
            .sh_entsize = sizeof(Elf64_Sym) },
          &c->symbols },
        { ".strtab", { .sh_type = SHT_STRTAB }, &c->names },
        { ".shstrtab", { .sh_type = SHT_STRTAB }, &names },
    };
    const Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
                                             ELFDATA2LSB, 1 },
                                .e_type = ET_DYN,
                                .e_machine = c->arm ? EM_AARCH64 : EM_X86_64,
                                .e_version = 1,
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_phoff = sizeof(Elf64_Ehdr),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = SEGMENTS,
                                .e_shentsize = sizeof(Elf64_Shdr),
                                .e_shnum = SECTIONS,
                                .e_shstrndx = SECTIONS - 1 };
    Elf64_Phdr segments[SEGMENTS] = {
        { .p_type = PT_LOAD,
          .p_flags = PF_R | PF_X,
          .p_memsz = c->end,
          .p_align = 4096 },
        { .p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4 },
    };
    for (size_t i = 0; i < SECTIONS; i++) {
        sections[i].header.sh_name = (Elf64_Word)names.size;
        sections[i].header.sh_addralign = i != 0;
        text_append(&names, sections[i].name, strlen(sections[i].name) + 1);
    }
    write_elf(sections, &header, segments, out);
    if (!text_ok(&names) || !text_ok(note))
        out->failed = true;
}

static void made_elf_deinit(struct made_elf *c)
{
    text_deinit(&c->frames);
    text_deinit(&c->symbols);
    text_deinit(&c->names);
}

enum ch_status breakpad_symbols_to_elf(struct cursor text, uint16_t machine,
                                       const uint8_t *build_id, size_t build_id_size,
                                       struct text *out)
{
    static const Elf64_Sym none;
    struct made_elf CH_CLEANUP(made_elf_deinit) c = { .arm = machine == EM_AARCH64 };
    struct text CH_CLEANUP(text_deinit) note = { 0 };
    const Elf64_Nhdr head = { 4, (Elf64_Word)build_id_size, NT_GNU_BUILD_ID };
    text_append(&note, &head, sizeof(head));
    text_append(&note, "GNU", 4);
    text_append(&note, build_id, build_id_size);
    text_append(&c.symbols, &none, sizeof(none));
    text_append(&c.names, "", 1);
    add_common_entry(&c);
    end_entry(&c);
    const size_t common = c.frames.size;
    convert_lines(&c, text);
    if (c.symbols.size == sizeof(none) && c.frames.size == common)
        return CH_ERR_MALFORMED;
    write_file(&c, &note, out);
    return text_ok(out) && text_ok(&c.frames) && text_ok(&c.symbols) &&
                   text_ok(&c.names)
               ? CH_OK
               : CH_ERR_NO_MEMORY;
}
