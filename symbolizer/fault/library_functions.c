// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/library_functions.h"

#include <gelf.h>
#include <string.h>

#define TEXT "text"
#define SOURCE "source"
#define DESTINATION "destination"
#define FIRST "first text"
#define SECOND "second text"
#define FORMAT "format"
#define VALUE "value"
#define STREAM "stream"

enum { HEAP_HEAD = 8 }; // glibc has the size of a block before it

static const struct library_function functions[] = {
    { .name = "strlen", .roles = { TEXT }, .exact = true },
    { .name = "strnlen", .roles = { TEXT }, .exact = true },
    { .name = "wcslen", .roles = { TEXT }, .exact = true },
    { .name = "strchr", .roles = { TEXT }, .exact = true },
    { .name = "strchrnul", .roles = { TEXT }, .exact = true },
    { .name = "strrchr", .roles = { TEXT }, .exact = true },
    { .name = "index", .roles = { TEXT }, .exact = true },
    { .name = "rindex", .roles = { TEXT }, .exact = true },
    { .name = "strdup", .roles = { TEXT }, .exact = true },
    { .name = "strndup", .roles = { TEXT }, .exact = true },
    { .name = "__strdup", .roles = { TEXT }, .exact = true },
    { .name = "strcpy", .roles = { DESTINATION, SOURCE } },
    { .name = "strncpy", .roles = { DESTINATION, SOURCE } },
    { .name = "stpcpy", .roles = { DESTINATION, SOURCE } },
    { .name = "stpncpy", .roles = { DESTINATION, SOURCE } },
    { .name = "strcat", .roles = { DESTINATION, SOURCE } },
    { .name = "strncat", .roles = { DESTINATION, SOURCE } },
    { .name = "__strcpy_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "__strncpy_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "__strcat_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "strcmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "strncmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "strcasecmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "strncasecmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "strcoll", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "strstr", .roles = { TEXT, "searched text" }, .exact = true },
    { .name = "strcasestr", .roles = { TEXT, "searched text" }, .exact = true },
    { .name = "strspn", .roles = { TEXT, "set" }, .exact = true },
    { .name = "strcspn", .roles = { TEXT, "set" }, .exact = true },
    { .name = "strpbrk", .roles = { TEXT, "set" }, .exact = true },
    { .name = "strtok", .roles = { TEXT, "set" }, .exact = true },
    { .name = "strtok_r", .roles = { TEXT, "set", "state" } },
    { .name = "strsep", .roles = { "pointer to the text", "set" } },
    { .name = "memcpy", .roles = { DESTINATION, SOURCE } },
    { .name = "memmove", .roles = { DESTINATION, SOURCE } },
    { .name = "mempcpy", .roles = { DESTINATION, SOURCE } },
    { .name = "__memcpy_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "__memmove_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "bcopy", .roles = { SOURCE, DESTINATION } },
    { .name = "memset", .roles = { DESTINATION } },
    { .name = "__memset_chk", .roles = { DESTINATION } },
    { .name = "bzero", .roles = { DESTINATION } },
    { .name = "explicit_bzero", .roles = { DESTINATION } },
    { .name = "memcmp", .roles = { "first block", "second block" } },
    { .name = "bcmp", .roles = { "first block", "second block" } },
    { .name = "memchr", .roles = { "block" }, .exact = true },
    { .name = "memrchr", .roles = { "block" } },
    { .name = "memmem", .roles = { "block", NULL, "searched block" } },
    { .name = "atoi", .roles = { TEXT }, .exact = true },
    { .name = "atol", .roles = { TEXT }, .exact = true },
    { .name = "atof", .roles = { TEXT }, .exact = true },
    { .name = "strtol", .roles = { TEXT, "end" }, .exact = true },
    { .name = "strtoul", .roles = { TEXT, "end" }, .exact = true },
    { .name = "strtoll", .roles = { TEXT, "end" }, .exact = true },
    { .name = "strtoull", .roles = { TEXT, "end" }, .exact = true },
    { .name = "strtod", .roles = { TEXT, "end" }, .exact = true },
    { .name = "strtof", .roles = { TEXT, "end" }, .exact = true },
    { .name = "__isoc99_sscanf",
      .roles = { TEXT, FORMAT, VALUE, VALUE, VALUE, VALUE },
      .exact = true },
    { .name = "__isoc23_strtol", .roles = { TEXT, "end" }, .exact = true },
    { .name = "__isoc23_sscanf",
      .roles = { TEXT, FORMAT, VALUE, VALUE, VALUE, VALUE },
      .exact = true },
    { .name = "sscanf",
      .roles = { TEXT, FORMAT, VALUE, VALUE, VALUE, VALUE },
      .exact = true },
    { .name = "puts", .roles = { TEXT }, .exact = true },
    { .name = "fputs", .roles = { TEXT, STREAM }, .exact = true },
    { .name = "fgets", .roles = { DESTINATION, NULL, STREAM } },
    { .name = "fwrite", .roles = { SOURCE, NULL, NULL, STREAM }, .begins = true },
    { .name = "fread", .roles = { DESTINATION, NULL, NULL, STREAM } },
    { .name = "fclose", .roles = { STREAM } },
    { .name = "fflush", .roles = { STREAM } },
    { .name = "printf", .roles = { FORMAT, VALUE, VALUE, VALUE, VALUE, VALUE } },
    { .name = "__printf_chk", .roles = { NULL, FORMAT, VALUE, VALUE, VALUE, VALUE } },
    { .name = "fprintf", .roles = { STREAM, FORMAT, VALUE, VALUE, VALUE, VALUE } },
    { .name = "__fprintf_chk", .roles = { STREAM, NULL, FORMAT, VALUE, VALUE, VALUE } },
    { .name = "sprintf", .roles = { DESTINATION, FORMAT, VALUE, VALUE, VALUE, VALUE } },
    { .name = "__sprintf_chk",
      .roles = { DESTINATION, NULL, NULL, FORMAT, VALUE, VALUE } },
    { .name = "snprintf", .roles = { DESTINATION, NULL, FORMAT, VALUE, VALUE, VALUE } },
    { .name = "__snprintf_chk",
      .roles = { DESTINATION, NULL, NULL, NULL, FORMAT, VALUE } },
    { .name = "asprintf", .roles = { NULL, FORMAT, VALUE, VALUE, VALUE, VALUE } },
    { .name = "syslog", .roles = { NULL, FORMAT, VALUE, VALUE, VALUE, VALUE } },
    { .name = "perror", .roles = { TEXT }, .exact = true },
    { .name = "getenv", .roles = { "name" }, .exact = true },
    { .name = "setenv", .roles = { "name", VALUE } },
    { .name = "putenv", .roles = { TEXT } },
    { .name = "strftime", .roles = { DESTINATION, NULL, FORMAT, "time" } },
    { .name = "mktime", .roles = { "time" } },
    { .name = "asctime", .roles = { "time" } },
    { .name = "localtime", .roles = { "time" }, .exact = true },
    { .name = "gmtime", .roles = { "time" }, .exact = true },
    { .name = "pthread_mutex_lock", .roles = { "mutex" } },
    { .name = "pthread_mutex_unlock", .roles = { "mutex" } },
    { .name = "atoll", .roles = { TEXT }, .exact = true },
    { .name = "strtold", .roles = { TEXT, "end" }, .exact = true },
    { .name = "__isoc23_strtoul", .roles = { TEXT, "end" }, .exact = true },
    { .name = "__isoc23_strtoll", .roles = { TEXT, "end" }, .exact = true },
    { .name = "__isoc23_strtoull", .roles = { TEXT, "end" }, .exact = true },
    { .name = "strverscmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "__stpcpy_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "__strncat_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "__mempcpy_chk", .roles = { DESTINATION, SOURCE } },
    { .name = "memccpy", .roles = { DESTINATION, SOURCE } },
    { .name = "rawmemchr", .roles = { "block" }, .exact = true },
    { .name = "wcscpy", .roles = { DESTINATION, SOURCE } },
    { .name = "wcsncpy", .roles = { DESTINATION, SOURCE } },
    { .name = "wcscat", .roles = { DESTINATION, SOURCE } },
    { .name = "wcscmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "wcsncmp", .roles = { FIRST, SECOND }, .exact = true },
    { .name = "wcschr", .roles = { TEXT }, .exact = true },
    { .name = "wcsrchr", .roles = { TEXT }, .exact = true },
    { .name = "wmemcpy", .roles = { DESTINATION, SOURCE } },
    { .name = "fopen", .roles = { NULL, "mode" } },
    { .name = "fdopen", .roles = { NULL, "mode" } },
    { .name = "fgetc", .roles = { STREAM } },
    { .name = "getc", .roles = { STREAM } },
    { .name = "fputc", .roles = { NULL, STREAM } },
    { .name = "putc", .roles = { NULL, STREAM } },
    { .name = "ungetc", .roles = { NULL, STREAM } },
    { .name = "getline", .roles = { "line", "size", STREAM } },
    { .name = "getdelim", .roles = { "line", "size", NULL, STREAM } },
    { .name = "__fgets_chk", .roles = { DESTINATION, NULL, NULL, STREAM } },
    { .name = "__fread_chk", .roles = { DESTINATION, NULL, NULL, NULL, STREAM } },
    { .name = "__isoc99_fscanf", .roles = { STREAM, FORMAT, VALUE, VALUE, VALUE } },
    { .name = "__isoc23_fscanf", .roles = { STREAM, FORMAT, VALUE, VALUE, VALUE } },
    { .name = "fseek", .roles = { STREAM } },
    { .name = "fseeko", .roles = { STREAM } },
    { .name = "ftell", .roles = { STREAM } },
    { .name = "ftello", .roles = { STREAM } },
    { .name = "rewind", .roles = { STREAM } },
    { .name = "feof", .roles = { STREAM } },
    { .name = "ferror", .roles = { STREAM } },
    { .name = "fileno", .roles = { STREAM } },
    { .name = "setvbuf", .roles = { STREAM } },
    { .name = "pclose", .roles = { STREAM } },
    { .name = "vfprintf", .roles = { STREAM, FORMAT } },
    { .name = "__vfprintf_chk", .roles = { STREAM, NULL, FORMAT } },
    { .name = "vsnprintf", .roles = { DESTINATION, NULL, FORMAT } },
    { .name = "__vsnprintf_chk", .roles = { DESTINATION, NULL, NULL, NULL, FORMAT } },
    { .name = "readdir", .roles = { "directory" } },
    { .name = "closedir", .roles = { "directory" } },
    { .name = "basename", .roles = { TEXT }, .exact = true },
    { .name = "__xpg_basename", .roles = { TEXT }, .exact = true },
    { .name = "dirname", .roles = { TEXT }, .exact = true },
    { .name = "fnmatch", .roles = { "pattern", TEXT } },
    { .name = "regexec", .roles = { "pattern", TEXT } },
    { .name = "regfree", .roles = { "pattern" } },
    { .name = "inet_pton", .roles = { NULL, TEXT, DESTINATION } },
    { .name = "inet_addr", .roles = { TEXT }, .exact = true },
    { .name = "inet_aton", .roles = { TEXT, DESTINATION } },
    { .name = "strptime", .roles = { TEXT, FORMAT, "time" } },
    { .name = "ctime", .roles = { "time" }, .exact = true },
    { .name = "timegm", .roles = { "time" } },
    { .name = "qsort", .roles = { "array" } },
    { .name = "pthread_mutex_trylock", .roles = { "mutex" } },
    { .name = "pthread_cond_wait", .roles = { "condition", "mutex" } },
    { .name = "pthread_cond_signal", .roles = { "condition" } },
    { .name = "pthread_cond_broadcast", .roles = { "condition" } },
    { .name = "pthread_rwlock_rdlock", .roles = { "lock" } },
    { .name = "pthread_rwlock_wrlock", .roles = { "lock" } },
    { .name = "pthread_rwlock_unlock", .roles = { "lock" } },
    { .name = "sem_wait", .roles = { "semaphore" } },
    { .name = "sem_post", .roles = { "semaphore" } },
    { .name = "longjmp", .roles = { "buffer" } },
    { .name = "siglongjmp", .roles = { "buffer" } },
    { .name = "__longjmp_chk", .roles = { "buffer" } },
    { .name = "free", .roles = { "block" }, .before = HEAP_HEAD, .exact = true },
    { .name = "realloc", .roles = { "block" }, .before = HEAP_HEAD, .exact = true },
    { .name = "_ZdlPv", .roles = { "block" }, .before = HEAP_HEAD, .exact = true },
    { .name = "_ZdlPvm", .roles = { "block" }, .before = HEAP_HEAD, .exact = true },
    { .name = "_ZdaPv", .roles = { "block" }, .before = HEAP_HEAD, .exact = true },
    { .name = "_ZdaPvm", .roles = { "block" }, .before = HEAP_HEAD, .exact = true },
};

// Functions of C++ are instantiated in the program, which imports nothing for them.
static const struct library_function scoped[] = {
    { .name = "std::__cxx11::basic_string<char", .roles = { "string", TEXT } },
    { .name = "std::basic_string<char", .roles = { "string", TEXT } },
    { .name = "std::basic_string_view<char", .roles = { "string_view", TEXT } },
    { .name = "std::operator<< <std::char_traits<char", .roles = { STREAM, TEXT } },
    { .name = "std::__1::basic_string<char", .roles = { "string", TEXT } },
    { .name = "std::__1::basic_string_view<char", .roles = { "string_view", TEXT } },
    { .name = "std::__1::operator<<", .roles = { STREAM, TEXT } },
    { .name = "std::__1::char_traits<char>::length", .roles = { TEXT } },
    { .name = "std::char_traits<char>::length", .roles = { TEXT } },
};

const struct library_function *library_functions_find(const char *name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

// Operators that are templates have their return type in front of the name.
static const struct library_function operators[] = {
    { .name = " std::operator+<char", .roles = { "result", FIRST, SECOND } },
    { .name = " std::operator==<char", .roles = { FIRST, SECOND } },
    { .name = " std::operator!=<char", .roles = { FIRST, SECOND } },
    { .name = " std::operator< <char", .roles = { FIRST, SECOND } },
};

const struct library_function *library_functions_find_scoped(const char *name)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (strstr(name, operators[i].name) != NULL)
            return &operators[i];
    for (size_t i = 0; i < sizeof(scoped) / sizeof(scoped[0]); i++)
        if (strncmp(scoped[i].name, name, strlen(scoped[i].name)) == 0)
            return &scoped[i];
    return NULL;
}

int library_functions_length(const struct library_function *function)
{
    static const struct {
        const char *name;
        int argument;
    } lengths[] = {
        { "memcpy", 2 },         { "memmove", 2 },       { "mempcpy", 2 },
        { "__memcpy_chk", 2 },   { "__memmove_chk", 2 }, { "memset", 2 },
        { "__memset_chk", 2 },   { "memcmp", 2 },        { "bcmp", 2 },
        { "bcopy", 2 },          { "memchr", 2 },        { "bzero", 1 },
        { "explicit_bzero", 1 },
    };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        if (strcmp(lengths[i].name, function->name) == 0)
            return lengths[i].argument;
    return -1;
}

bool library_functions_frees(const struct library_function *function)
{
    return function->before == HEAP_HEAD;
}

// The functions of other images that an image's code calls, by their names.
//
// Such a call goes through a slot that the dynamic linker filled, either directly or by
// a short stub (the procedure linkage table). The slot's relocation has the name.

// import_name gives the name of a relocation's symbol.
static const char *import_name(Elf *elf, const GElf_Shdr *relocations, uint64_t info)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Scn *symbols = elf_getscn(elf, relocations->sh_link);
    Elf_Data *data = symbols != NULL ? elf_getdata(symbols, NULL) : NULL;
    size_t index = (size_t)GELF_R_SYM(info);
    if (data == NULL || gelf_getshdr(symbols, &header) == NULL || index > INT32_MAX ||
        gelf_getsym(data, (int)index, &symbol) == NULL)
        return NULL;
    return elf_strptr(elf, header.sh_link, symbol.st_name);
}

// import_in_section searches a section of relocations.
static const char *import_in_section(Elf *elf, Elf_Scn *section, uint64_t vaddr)
{
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_RELA ||
        header.sh_entsize == 0)
        return NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    uint64_t count = header.sh_size / header.sh_entsize;
    for (uint64_t i = 0; data != NULL && i < count && i < INT32_MAX; i++) {
        GElf_Rela relocation;
        if (gelf_getrela(data, (int)i, &relocation) == NULL)
            return NULL;
        if (relocation.r_offset == vaddr)
            return import_name(elf, &header, relocation.r_info);
    }
    return NULL;
}

const char *library_functions_import_of_slot(const struct argument_image *image,
                                             uint64_t vaddr)
{
    Elf *elf = image->types.files.image.elf;
    const char *name = NULL;
    Elf_Scn *section = NULL;
    while (elf != NULL && name == NULL && (section = elf_nextscn(elf, section)) != NULL)
        name = import_in_section(elf, section, vaddr);
    return name != NULL && name[0] != 0 ? name : NULL;
}

// slot_of_stub_aarch64 follows ADRP and LDR, which may come after a BTI.
static uint64_t slot_of_stub_aarch64(uint64_t vaddr, const uint8_t *code, size_t left)
{
    enum { LENGTH = 4 };
    static const uint8_t marker[] = { 0x5f, 0x24, 0x03, 0xd5 }; // bti c
    struct instruction_effects page;
    struct instruction_effects load;
    size_t at = left >= LENGTH && memcmp(code, marker, LENGTH) == 0 ? LENGTH : 0;
    if (left < at + 2 * (size_t)LENGTH ||
        instruction_read_effects_aarch64(code + at, LENGTH, vaddr + at, &page) !=
            CH_OK ||
        instruction_read_effects_aarch64(code + at + LENGTH, LENGTH,
                                         vaddr + at + LENGTH, &load) != CH_OK ||
        page.action != INSTRUCTION_ADDRESSES || page.memory.base != INSTRUCTION_PC ||
        load.action != INSTRUCTION_LOADS || load.memory.base != page.to)
        return 0;
    return vaddr + at + LENGTH + (uint64_t)page.memory.displacement +
           (uint64_t)load.memory.displacement;
}

uint64_t library_functions_slot_of_stub(const struct argument_image *image,
                                        uint64_t vaddr)
{
    static const uint8_t marker[] = { 0xf3, 0x0f, 0x1e, 0xfa }; // endbr64
    static const uint8_t jump[] = { 0xff, 0x25 };               // jmp *offset(%rip)
    int32_t offset;
    size_t left;
    size_t at = 0;
    const uint8_t *code = argument_image_bytes(image, vaddr, true, &left);
    if (code == NULL)
        return 0;
    if (argument_image_machine(image) == &argument_machine_aarch64)
        return slot_of_stub_aarch64(vaddr, code, left);
    if (left >= sizeof(marker) && memcmp(code, marker, sizeof(marker)) == 0)
        at += sizeof(marker);
    if (left > at && code[at] == 0xf2) // bnd
        at++;
    if (left < at + sizeof(jump) + sizeof(offset) ||
        memcmp(code + at, jump, sizeof(jump)) != 0)
        return 0;
    memcpy(&offset, code + at + sizeof(jump), sizeof(offset));
    return vaddr + at + sizeof(jump) + sizeof(offset) + (uint64_t)(int64_t)offset;
}
