// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/core_writer.h"

#include <elf.h>
#include <string.h>

#include "base/text.h"

void core_put_elf(struct text *out, uint16_t type, uint16_t machine, size_t segments)
{
    text_append(out, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
    PACK(out, "2248884222z", type, machine, EV_CURRENT, 0, CORE_ELF_BYTES, 0, 0,
         CORE_ELF_BYTES, CORE_SEGMENT_BYTES, segments, 6);
}

void core_put_range(struct text *out, const struct core_range *range)
{
    PACK(out, "44888888", range->type, range->flags, range->offset, range->start, 0,
         range->in_file, range->size, 1);
}

void core_put_note(struct text *notes, uint32_t type, const void *bytes, size_t size)
{
    PACK(notes, "444", sizeof("CORE"), size, type);
    text_append(notes, "CORE\0\0\0", 8);
    text_append(notes, bytes, size);
    (void)pack_align(notes, 4);
}

// put_text_note appends a note that was made as a text, and frees it.
static void put_text_note(struct text *notes, uint32_t type, struct text *made)
{
    core_put_note(notes, type, made->bytes, made->size);
    notes->failed |= made->failed;
    text_deinit(made);
}

void core_put_thread(struct text *notes, uint16_t machine,
                     const struct core_thread *thread)
{
    enum { USER_CS = 0x33, USER_SS = 0x2b, RSP = 7, RIP = 16 };
    // The order of struct user_regs_struct, by DWARF's numbers.
    static const uint8_t amd64[] = {
        15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5
    };
    const bool arm = machine == EM_AARCH64;
    const uint64_t *registers = thread->registers;
    const uint32_t signal = (uint32_t)thread->signal;
    struct text status = { 0 };
    PACK(&status, "4z2z4z", signal, 8, signal, 2 + 16, thread->tid, 12 + 64);
    for (size_t i = 0; i < (arm ? CORE_REGISTERS : sizeof(amd64)); i++)
        PACK(&status, "8", registers[arm ? i : amd64[i]]);
    if (arm)
        PACK(&status, "8", thread->flags);
    else // zeros: the other selectors
        PACK(&status, "88888888z", (uint64_t)thread->call, registers[RIP], USER_CS,
             thread->flags, registers[RSP], USER_SS, thread->thread_pointer,
             thread->gs_base, 4 * 8);
    PACK(&status, "8", 0); // no floating-point registers follow
    put_text_note(notes, NT_PRSTATUS, &status);
}

void core_put_process(struct text *notes, uint32_t pid, const char *program,
                      struct cursor arguments)
{
    enum { NAME_BYTES = 16, ARGUMENTS_BYTES = 80 };
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    const size_t length = strnlen(name, NAME_BYTES - 1);
    struct text info = { 0 };
    PACK(&info, "z4z", 24, pid, 12);
    text_append(&info, name, length);
    PACK(&info, "z", NAME_BYTES - length);
    for (size_t i = 0; i < ARGUMENTS_BYTES; i++) {
        const bool more = cursor_left(&arguments) != 0 && i + 1 < ARGUMENTS_BYTES;
        const uint8_t byte = more ? cursor_u8(&arguments) : 0;
        PACK(&info, "1", more && byte == 0 ? ' ' : byte);
    }
    put_text_note(notes, NT_PRPSINFO, &info);
}

void core_put_signal(struct text *notes, int64_t signal, int64_t code, uint64_t about)
{
    struct text info = { 0 };
    PACK(&info, "888z", (uint64_t)signal, (uint32_t)code, about, 128 - 24);
    put_text_note(notes, NT_SIGINFO, &info);
}

void core_table_add(struct core_table *table, uint64_t start, uint64_t end,
                    uint64_t offset, const char *path)
{
    PACK(&table->entries, "888", start, end, offset / CORE_PAGE);
    text_append(&table->names, path, strlen(path) + 1);
    table->count++;
}

void core_table_deinit(struct core_table *table)
{
    text_deinit(&table->entries);
    text_deinit(&table->names);
}

void core_put_table(struct text *notes, const struct core_table *table)
{
    struct text files = { 0 };
    PACK(&files, "88", table->count, CORE_PAGE);
    text_append(&files, table->entries.bytes, table->entries.size);
    text_append(&files, table->names.bytes, table->names.size);
    files.failed |= table->entries.failed || table->names.failed;
    put_text_note(notes, NT_FILE, &files);
}
