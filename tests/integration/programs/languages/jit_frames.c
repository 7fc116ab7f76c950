// SPDX-License-Identifier: Apache-2.0
//
// jit_frames HOW: compiles two functions while it runs that use the frame pointer as an
// ordinary register, and whose frames hold return addresses that nothing returns to;
// tells debuggers of them, and calls the outer, which calls the inner, which crashes.
//
// HOW is what their ELF file in memory has: eh-frame (with relocations, as LLVM leaves
// them), textrel (an .eh_frame relative to .text, as LuaJIT makes it), debug-frame,
// loop (as eh-frame, in a list without an end), or none (names alone).
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "jit_interface.h"

enum { PAGE = 4096, OUTER_AT = 0, INNER_AT = 128, FUNCTION_SIZE = 128, SLOTS = 9 };
enum { NONE, TEXT, FRAME, RELOCATIONS, SYMBOLS, NAMES, SECTIONS };

static struct {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym symbols[3];
    Elf64_Rela relocations[2];
    uint8_t frame[256];
    char names[128];
} file;

static size_t frame_size;
static uint64_t after_a_call;

__attribute__((noinline)) static void note_caller(void)
{
    after_a_call = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

// decoy is never on the stack when the program crashes, but its address is.
__attribute__((noinline)) static void decoy(void)
{
    note_caller();
    __asm__ volatile("" ::: "memory");
}

// put appends code or call frame information.
static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

// put_frame makes room for slots words, and fills it with an address after a call.
static uint8_t *put_frame(uint8_t *at, uint8_t slots)
{
    const uint8_t make_room[] = { 0x48, 0x83, 0xec,
                                  (uint8_t)(8 * slots) }; // sub rsp, n
    at = put(at, make_room, sizeof(make_room));
    at = put(at, "\x48\xb8", 2); // mov rax, address
    at = put(at, &after_a_call, sizeof(after_a_call));
    for (uint8_t i = 0; i < slots; i++) {
        const uint8_t fill[] = { 0x48, 0x89, 0x44, 0x24, (uint8_t)(8 * i) };
        at = put(at, fill, sizeof(fill)); // mov [rsp + 8 i], rax
    }
    return at;
}

static uint8_t *compile(void)
{
    uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        exit(3);
    uint64_t inner = (uint64_t)(uintptr_t)(code + INNER_AT);
    uint8_t *at = put(code + OUTER_AT, "\x55", 1); // push rbp
    at = put(at, "\xbd\x01\x00\x00\x00", 5);       // mov ebp, 1
    at = put_frame(at, SLOTS);
    at = put(at, "\x48\xb8", 2); // mov rax, inner
    at = put(at, &inner, sizeof(inner));
    (void)put(at, "\xff\xd0\x0f\x0b", 4); // call rax; ud2
    at = put_frame(code + INNER_AT, SLOTS - 2);
    (void)put(at, "\x31\xc0\x89\x00", 4); // xor eax, eax; mov [rax], eax
    return code;
}

static uint8_t *put_entry(uint8_t *at, const uint8_t *body, uint32_t size)
{
    at = put(at, &size, sizeof(size));
    return put(at, body, size);
}

// put_fde describes one function: how far the CFA is from its stack pointer, and that
// the caller's frame pointer is saved below the return address, if it is.
static uint8_t *put_fde(uint8_t *at, const char *how, uint64_t start, uint8_t cfa,
                        int saved)
{
    uint8_t body[64];
    uint8_t *end = body;
    int is_debug_frame = strcmp(how, "debug-frame") == 0;
    int is_textrel = strcmp(how, "textrel") == 0;
    uint32_t cie = is_debug_frame ? 0 : (uint32_t)(at + 4 - file.frame);
    uint64_t size = FUNCTION_SIZE;
    size_t width = is_textrel ? 4 : 8;
    end = put(end, &cie, sizeof(cie));
    if (!is_debug_frame && !is_textrel) {
        Elf64_Rela *one = &file.relocations[start / INNER_AT];
        *one =
            (Elf64_Rela){ .r_offset = (uint64_t)(at + 8 - file.frame),
                          .r_info = ELF64_R_INFO(1 + start / INNER_AT, R_X86_64_PC64) };
        start = 0;
    } else if (is_debug_frame) {
        start += file.sections[TEXT].sh_addr;
    }
    end = put(end, &start, width);
    end = put(end, &size, width);
    if (!is_debug_frame)
        end = put(end, "", 1); // no augmentation data
    const uint8_t rules[] = { 0x0e, cfa, saved ? 0x86 : 0, saved ? 2 : 0 };
    end = put(end, rules, sizeof(rules));
    return put_entry(at, body, (uint32_t)(end - body));
}

// describe_frames writes a CIE, whose pointers are as how says, and both FDEs.
static void describe_frames(const char *how)
{
    // version, augmentation, alignment 1 and -8, return address 16, encoding; the CFA
    // is rsp + 8, and the return address at CFA - 8.
    static const uint8_t relative[] = { 0,    0,  0, 0,    1,  'z', 'R', 0,    1,
                                        0x78, 16, 1, 0x1c, 12, 7,   8,   0x90, 1 };
    static const uint8_t textrel[] = { 0,    0,  0, 0,    1,  'z', 'R', 0,    1,
                                       0x78, 16, 1, 0x23, 12, 7,   8,   0x90, 1 };
    static const uint8_t debug[] = { 0xff, 0xff, 0xff, 0xff, 1, 0,    1,
                                     0x78, 16,   12,   7,    8, 0x90, 1 };
    uint8_t *at = file.frame;
    if (strcmp(how, "debug-frame") == 0)
        at = put_entry(at, debug, sizeof(debug));
    else if (strcmp(how, "textrel") == 0)
        at = put_entry(at, textrel, sizeof(textrel));
    else
        at = put_entry(at, relative, sizeof(relative));
    at = put_fde(at, how, OUTER_AT, 8 * SLOTS + 16, 1);
    at = put_fde(at, how, INNER_AT, 8 * (SLOTS - 2) + 8, 0);
    frame_size = (size_t)(at - file.frame);
}

static size_t put_name(const char *name)
{
    static size_t used = 1; // the first name is empty
    size_t at = used;
    memcpy(file.names + at, name, strlen(name) + 1);
    used += strlen(name) + 1;
    return at;
}

static void put_section(unsigned number, const char *name, uint32_t type, void *bytes,
                        size_t size)
{
    Elf64_Shdr *section = &file.sections[number];
    section->sh_name = (uint32_t)put_name(name);
    section->sh_type = type;
    section->sh_offset = (size_t)((char *)bytes - (char *)&file);
    section->sh_size = size;
}

static void put_symbol(unsigned number, const char *name, uint64_t at)
{
    file.symbols[number] = (Elf64_Sym){ .st_name = (uint32_t)put_name(name),
                                        .st_info = STT_FUNC,
                                        .st_shndx = TEXT,
                                        .st_value = at,
                                        .st_size = FUNCTION_SIZE };
}

static void tell_debugger(const uint8_t *code, const char *how)
{
    static struct jit_code_entry entry;
    memcpy(file.header.e_ident, ELFMAG "\2\1\1", 7);
    file.header.e_type = ET_REL;
    file.header.e_machine = EM_X86_64;
    file.header.e_version = 1;
    file.header.e_ehsize = sizeof(file.header);
    file.header.e_shoff = sizeof(file.header);
    file.header.e_shentsize = sizeof(file.sections[0]);
    file.header.e_shnum = SECTIONS;
    file.header.e_shstrndx = NAMES;
    put_section(TEXT, ".text", SHT_NOBITS, &file, PAGE);
    file.sections[TEXT].sh_addr = (uint64_t)(uintptr_t)code;
    describe_frames(how);
    if (strcmp(how, "none") != 0)
        put_section(FRAME,
                    strcmp(how, "debug-frame") == 0 ? ".debug_frame" : ".eh_frame",
                    SHT_PROGBITS, file.frame, frame_size);
    file.sections[FRAME].sh_addr = (uint64_t)(uintptr_t)file.frame;
    put_section(RELOCATIONS, ".rela.eh_frame", SHT_RELA, file.relocations,
                strcmp(how, "debug-frame") != 0 && strcmp(how, "textrel") != 0
                    ? sizeof(file.relocations)
                    : 0);
    file.sections[RELOCATIONS].sh_link = SYMBOLS;
    file.sections[RELOCATIONS].sh_info = FRAME;
    put_section(SYMBOLS, ".symtab", SHT_SYMTAB, file.symbols, sizeof(file.symbols));
    file.sections[SYMBOLS].sh_link = NAMES;
    file.sections[SYMBOLS].sh_entsize = sizeof(file.symbols[0]);
    put_symbol(1, "outer", OUTER_AT);
    put_symbol(2, "inner", INNER_AT);
    put_section(NAMES, ".strtab", SHT_STRTAB, file.names, sizeof(file.names));
    entry =
        (struct jit_code_entry){ .file = (const char *)&file, .size = sizeof(file) };
    if (strcmp(how, "loop") == 0)
        entry.next = &entry;
    __jit_debug_descriptor.first = &entry;
}

int main(int argc, char **argv)
{
    decoy();
    uint8_t *code = compile();
    tell_debugger(code, argc > 1 ? argv[1] : "none");
    void (*run)(void) = NULL;
    memcpy(&run, &code, sizeof(run));
    run();
    return 0;
}
