// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/core_notes.h"

#include <string.h>

#include "base/checked.h"
#include "formats/debug/elf.h"

// Types of the notes named CORE (include/uapi/linux/elf.h).
enum {
    NT_PRSTATUS = 1,
    NT_PRFPREG = 2,
    NT_PRPSINFO = 3,
    NT_AUXV = 6,
    NT_FILE = 0x46494c45,
    NT_SIGINFO = 0x53494749,
    // Of notes named LINUX:
    NT_X86_SHSTK = 0x204,
    NT_ARM_TLS = 0x401,
    NT_ARM_GCS = 0x410,
};

enum {
    NOTE_ALIGN = 4, // the kernel pads all notes of a core to 4 bytes
    SIGINFO_FIELDS = 16,
    FILE_ENTRY_SIZE = 24,
};

// The kernel's order of x86-64 registers (struct user_regs_struct).
enum { X86_REGISTERS = 27, X86_EFLAGS = 18, X86_SYSTEM_CALL = 15 };
enum { X86_FS = 21, X86_GS = 22 };
static const uint8_t x86_place[] = {
    // rax rdx rcx rbx rsi rdi rbp rsp
    10, 12, 11, 5, 13, 14, 4, 19,
    // r8..r15 rip
    9, 8, 7, 6, 3, 2, 1, 0, 16
};

// The kernel's order for aarch64: x0..x30 sp pc pstate.
enum { ARM_REGISTERS = 34, ARM_PSTATE = 33 };

static void read_x86_registers(struct cursor *c, struct core_thread *out)
{
    uint64_t words[X86_REGISTERS];
    for (size_t i = 0; i < X86_REGISTERS; i++)
        words[i] = cursor_u64(c);
    for (size_t i = 0; i < sizeof(x86_place); i++)
        out->registers[i] = words[x86_place[i]];
    out->flags = words[X86_EFLAGS];
    out->thread_pointer = words[X86_FS];
    out->gs_base = words[X86_GS];
    out->call = (int64_t)words[X86_SYSTEM_CALL];
    out->state = (int64_t)words[X86_SYSTEM_CALL] >= 0 ? 'S' : 'R';
}

static void read_arm_registers(struct cursor *c, struct core_thread *out)
{
    for (size_t i = 0; i < ARM_PSTATE; i++)
        out->registers[i] = cursor_u64(c);
    out->flags = cursor_u64(c);
}

// notes_read_thread reads struct elf_prstatus, which is the same on both architectures
// up to the registers.
static enum ch_status notes_read_thread(struct cursor *c, uint16_t machine,
                                        struct core_note *out)
{
    struct core_thread thread = { .call = -1 };
    cursor_skip(c, 12); // pr_info: siginfo is in a note of its own
    thread.signal = (int16_t)cursor_u16(c);
    cursor_skip(c, 2 + 8 + 8); // pr_sigpend, pr_sighold
    thread.tid = cursor_u32(c);
    cursor_skip(c, 3 * 4 + 4 * 16); // pr_ppid, pr_pgrp, pr_sid; times
    if (machine == ELF_X86_64)
        read_x86_registers(c, &thread);
    else
        read_arm_registers(c, &thread);
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    out->kind = CORE_NOTE_THREAD;
    out->thread = thread;
    return CH_OK;
}

// notes_read_vectors reads struct user_fpregs_struct of x86-64, which is what fxsave
// stores, or that of AArch64, which begins with v0.
static enum ch_status notes_read_vectors(struct cursor *c, uint16_t machine,
                                         struct core_note *out)
{
    enum { BEFORE_XMM0 = 160, BYTES = 16 };
    cursor_skip(c, machine == ELF_X86_64 ? BEFORE_XMM0 : 0);
    out->vectors = cursor_take(c, (machine == ELF_X86_64 ? 16 : 32) * BYTES);
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    out->kind = CORE_NOTE_VECTORS;
    return CH_OK;
}

// notes_read_text copies a field that may lack its NUL; size is out's.
static void notes_read_text(struct cursor *c, char *out, size_t size)
{
    const uint8_t *bytes = cursor_take(c, size - 1);
    if (bytes != NULL)
        memcpy(out, bytes, size - 1);
    out[size - 1] = 0;
}

static enum ch_status read_process(struct cursor *c, struct core_note *out)
{
    struct core_process process = { 0 };
    cursor_skip(c, 1);
    process.state = (char)cursor_u8(c);
    cursor_skip(c, 2 + 4 + 8); // pr_zomb, pr_nice, padding, pr_flag
    process.uid = cursor_u32(c);
    cursor_skip(c, 4); // pr_gid
    process.pid = cursor_u32(c);
    process.ppid = cursor_u32(c);
    cursor_skip(c, 8); // pr_pgrp, pr_sid
    notes_read_text(c, process.name, sizeof(process.name));
    notes_read_text(c, process.arguments, sizeof(process.arguments));
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    out->kind = CORE_NOTE_PROCESS;
    out->process = process;
    return CH_OK;
}

static enum ch_status notes_read_signal(struct cursor *c, struct core_note *out)
{
    struct core_signal signal = { .signal = (int32_t)cursor_u32(c) };
    cursor_skip(c, 4); // si_errno
    signal.code = (int32_t)cursor_u32(c);
    cursor_seek(c, SIGINFO_FIELDS);
    struct cursor sender = *c; // the members are a union
    signal.address = cursor_u64(c);
    signal.system_call = cursor_u32(c);
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    cursor_skip(c, 4); // up to where other codes have the bounds of an object
    signal.protection_key = cursor_u32(c);
    signal.sender_pid = cursor_u32(&sender);
    signal.sender_uid = cursor_u32(&sender);
    out->kind = CORE_NOTE_SIGNAL;
    out->signal = signal;
    return CH_OK;
}

static enum ch_status notes_read_files(struct cursor *c, struct core_note *out)
{
    struct core_files files;
    files.count = cursor_u64(c);
    files.page_size = cursor_u64(c);
    if (!cursor_ok(c) || files.count > cursor_left(c) / FILE_ENTRY_SIZE)
        return CH_ERR_MALFORMED;
    files.entries = cursor_child(c, (size_t)files.count * FILE_ENTRY_SIZE);
    files.names = cursor_child(c, cursor_left(c));
    out->kind = CORE_NOTE_FILES;
    out->files = files;
    return CH_OK;
}

// notes_read_storage reads tpidr_el0; newer kernels append a second register.
static enum ch_status notes_read_storage(struct cursor *c, uint16_t machine,
                                         struct core_note *out)
{
    out->kind = CORE_NOTE_OTHER;
    if (machine != ELF_AARCH64)
        return CH_OK;
    out->thread_pointer = cursor_u64(c);
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    out->kind = CORE_NOTE_STORAGE;
    return CH_OK;
}

// notes_read_shadow reads the pointer of the shadow stack; on aarch64 it is the third
// word, after which features are enabled and locked.
static enum ch_status notes_read_shadow(struct cursor *c, uint32_t type,
                                        uint16_t machine, struct core_note *out)
{
    enum { ENABLED = 1 };
    out->kind = CORE_NOTE_OTHER;
    if (machine != (type == NT_ARM_GCS ? ELF_AARCH64 : ELF_X86_64))
        return CH_OK;
    bool enabled = type == NT_X86_SHSTK || (cursor_u64(c) & ENABLED) != 0;
    if (type == NT_ARM_GCS)
        cursor_skip(c, sizeof(uint64_t));
    uint64_t pointer = cursor_u64(c);
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    out->kind = CORE_NOTE_SHADOW;
    out->shadow_stack = enabled ? pointer : 0;
    return CH_OK;
}

// core_note_type is the note's type; 0: not one of the kernel's. The sets of registers
// that a processor has of its own are LINUX's.
static uint32_t core_note_type(const struct elf_note *note)
{
    bool processors = note->type == NT_X86_SHSTK || note->type == NT_ARM_TLS ||
                      note->type == NT_ARM_GCS;
    const char *name = processors ? "LINUX" : "CORE";
    bool named = note->name_size == strlen(name) + 1 &&
                 memcmp(note->name, name, note->name_size) == 0;
    return named ? note->type : 0;
}

enum ch_status core_notes_next(struct cursor *notes, uint16_t machine,
                               struct core_note *out)
{
    struct elf_note note;
    if (machine != ELF_X86_64 && machine != ELF_AARCH64)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = elf_next_note(notes, NOTE_ALIGN, &note);
    if (status != CH_OK)
        return status;

    struct cursor c = cursor_over(note.description, note.description_size);
    c.big_endian = notes->big_endian;
    switch (core_note_type(&note)) {
    case NT_PRSTATUS:
        return notes_read_thread(&c, machine, out);
    case NT_PRFPREG:
        return notes_read_vectors(&c, machine, out);
    case NT_ARM_TLS:
        return notes_read_storage(&c, machine, out);
    case NT_X86_SHSTK:
    case NT_ARM_GCS:
        return notes_read_shadow(&c, note.type, machine, out);
    case NT_PRPSINFO:
        return read_process(&c, out);
    case NT_SIGINFO:
        return notes_read_signal(&c, out);
    case NT_FILE:
        return notes_read_files(&c, out);
    case NT_AUXV:
        out->kind = CORE_NOTE_AUXV;
        out->auxv = c;
        return CH_OK;
    default:
        out->kind = CORE_NOTE_OTHER;
        return CH_OK;
    }
}

enum ch_status core_auxv_next(struct cursor *auxv, uint64_t *out_type,
                              uint64_t *out_value)
{
    uint64_t type = cursor_u64(auxv);
    uint64_t value = cursor_u64(auxv);
    if (!cursor_ok(auxv) || type == 0)
        return CH_END;
    *out_type = type;
    *out_value = value;
    return CH_OK;
}

enum ch_status core_files_next(struct core_files *files, struct core_mapping *out)
{
    struct core_mapping mapping;
    if (files->count == 0)
        return CH_END;
    files->count--;
    mapping.start = cursor_u64(&files->entries);
    mapping.end = cursor_u64(&files->entries);
    uint64_t page = cursor_u64(&files->entries);
    mapping.path = cursor_string(&files->names);
    if (mapping.path == NULL || !cursor_ok(&files->entries)) {
        files->count = 0;
        return CH_ERR_TRUNCATED;
    }
    if (mapping.start >= mapping.end ||
        !checked_mul_u64(page, files->page_size, &mapping.offset))
        return CH_ERR_MALFORMED;
    *out = mapping;
    return CH_OK;
}
