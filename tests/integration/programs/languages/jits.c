// SPDX-License-Identifier: Apache-2.0
//
// jits HOW: compiles two functions while it runs, tells of them as HOW says, and calls
// the outer, which calls the inner, which crashes. HOW is perf-map, jitdump, gdb-jit or
// none; with a second argument, the perf map goes to that path.
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_interface.h"

enum { INNER_AT = 64, OUTER_AT = 0, PAGE = 4096 };

static uint8_t *compile(void)
{
    static const uint8_t inner[] = { 0x55, 0x48,
                                     0x89, 0xe5, // push rbp; mov rbp, rsp
                                     0x31, 0xc0,
                                     0x89, 0x00, // xor eax, eax; mov [rax], eax
                                     0x5d, 0xc3 };
    uint8_t outer[] = {
        0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,    0,
        0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3
    }; // mov rax, inner; call rax
    uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        exit(3);
    uint64_t address = (uint64_t)(uintptr_t)(code + INNER_AT);
    memcpy(outer + 6, &address, sizeof(address));
    memcpy(code + OUTER_AT, outer, sizeof(outer));
    memcpy(code + INNER_AT, inner, sizeof(inner));
    return code;
}

static void tell_by_map(const uint8_t *code, const char *path)
{
    char name[64];
    snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path != NULL ? path : name, "w");
    if (map == NULL)
        exit(3);
    fprintf(map, "%lx 200 an older name of both\n", (unsigned long)(uintptr_t)code);
    fprintf(map, "%lx 20 JS:*outer /srv/app.js:10:5\n", (unsigned long)(uintptr_t)code);
    fprintf(map, "%lx 20 inner code\n", (unsigned long)(uintptr_t)(code + INNER_AT));
    fclose(map);
}

static void put_load(FILE *dump, uint64_t address, uint64_t index, const char *name)
{
    const uint8_t nothing[32] = { 0 };
    uint32_t head[2] = { 0, (uint32_t)(16 + 40 + strlen(name) + 1 + sizeof(nothing)) };
    uint64_t time = 0;
    uint32_t ids[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
    uint64_t words[4] = { address, address, sizeof(nothing), index };
    fwrite(head, sizeof(head), 1, dump);
    fwrite(&time, sizeof(time), 1, dump);
    fwrite(ids, sizeof(ids), 1, dump);
    fwrite(words, sizeof(words), 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(nothing, sizeof(nothing), 1, dump);
}

static void tell_by_dump(const uint8_t *code)
{
    char name[64];
    uint32_t header[10] = { 0x4a695444, 1, 40, EM_X86_64, 0, (uint32_t)getpid() };
    uint64_t at = (uint64_t)(uintptr_t)code;
    uint32_t head[2] = { 1, 16 + 48 };
    uint64_t move[8] = { 0, 0, at, 0x1000, at + INNER_AT, 32, 7 };
    snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
    FILE *dump = fopen(name, "w+");
    if (dump == NULL || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
                             fileno(dump), 0) == MAP_FAILED)
        exit(3);
    fwrite(header, sizeof(header), 1, dump);
    put_load(dump, at, 1, "outer");
    put_load(dump, 0x1000, 7, "inner");
    fwrite(head, sizeof(head), 1, dump); // the inner one has moved to where it is
    fwrite(move, 56, 1, dump);
    fclose(dump);
}

static void tell_debugger(const uint8_t *code)
{
    static const char names[] = "\0.text\0.symtab\0.strtab\0outer\0inner";
    static struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[4];
        Elf64_Sym symbols[3];
        char names[sizeof(names)];
    } file;
    static struct jit_code_entry entry;
    uint64_t at = (uint64_t)(uintptr_t)code;
    memcpy(file.header.e_ident, ELFMAG "\2\1\1", 7);
    file.header.e_type = ET_REL;
    file.header.e_machine = EM_X86_64;
    file.header.e_version = 1;
    file.header.e_ehsize = sizeof(file.header);
    file.header.e_shoff = sizeof(file.header);
    file.header.e_shentsize = sizeof(file.sections[0]);
    file.header.e_shnum = 4;
    file.header.e_shstrndx = 3;
    file.sections[1] = (Elf64_Shdr){
        .sh_name = 1, .sh_type = SHT_NOBITS, .sh_addr = at, .sh_size = PAGE
    };
    file.sections[2] =
        (Elf64_Shdr){ .sh_name = 7,
                      .sh_type = SHT_SYMTAB,
                      .sh_link = 3,
                      .sh_offset = (size_t)((char *)file.symbols - (char *)&file),
                      .sh_size = sizeof(file.symbols),
                      .sh_entsize = 24 };
    file.sections[3] = (Elf64_Shdr){ .sh_name = 15,
                                     .sh_type = SHT_STRTAB,
                                     .sh_offset = (size_t)(file.names - (char *)&file),
                                     .sh_size = sizeof(names) };
    file.symbols[1] = (Elf64_Sym){ .st_name = 23,
                                   .st_info = STT_FUNC,
                                   .st_shndx = 1,
                                   .st_value = OUTER_AT,
                                   .st_size = 32 };
    file.symbols[2] = (Elf64_Sym){ .st_name = 29,
                                   .st_info = STT_FUNC,
                                   .st_shndx = 1,
                                   .st_value = INNER_AT,
                                   .st_size = 32 };
    memcpy(file.names, names, sizeof(names));
    entry =
        (struct jit_code_entry){ .file = (const char *)&file, .size = sizeof(file) };
    __jit_debug_descriptor.first = &entry;
}

int main(int argc, char **argv)
{
    uint8_t *code = compile();
    const char *how = argc > 1 ? argv[1] : "none";
    if (strcmp(how, "perf-map") == 0)
        tell_by_map(code, argc > 2 ? argv[2] : NULL);
    if (strcmp(how, "jitdump") == 0)
        tell_by_dump(code);
    if (strcmp(how, "gdb-jit") == 0)
        tell_debugger(code);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (argc > 2)
        getchar(); // until the test has put the file where it wants it
    void (*run)(void) = NULL;
    memcpy(&run, &code, sizeof(run));
    run();
    return 0;
}
