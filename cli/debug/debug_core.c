// SPDX-License-Identifier: Apache-2.0
//
// The layout is that of the kernel's binfmt_elf: header, program headers, notes,
// then memory. The registers of a thread are in struct elf_prstatus.
#include "cli/debug/debug_core.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "cli/session/command.h"
#include "formats/debug/elf.h"
#include "report/value/report.h"

enum {
    EHDR_SIZE = 64,
    PHDR_SIZE = 56,
    ET_CORE_TYPE = 4,
    LOAD = 1,
    NOTE = 4,
    NOTE_PRSTATUS = 1,
    NOTE_PRPSINFO = 3,
    NOTE_SIGINFO = 0x53494749,
    NOTE_FILE = 0x46494c45,
    RANGES_MAX = 8192, // of files: their program headers have 16-bit numbers
    PIECES_MAX = 4096, // of memory
    PIECE_MAX = 1 << 20,
};

// The order of struct user_regs_struct; NULL: not in reports.
static const char *const amd64_order[] = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11", "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", NULL,  "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",  "fs",  "gs",
};
static const char *const aarch64_order[] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",     "x7",  "x8",
    "x9",  "x10", "x11", "x12", "x13", "x14", "x15",    "x16", "x17",
    "x18", "x19", "x20", "x21", "x22", "x23", "x24",    "x25", "x26",
    "x27", "x28", "x29", "x30", "sp",  "pc",  "pstate",
};

struct core_machine {
    uint16_t machine;
    const char *const *order;
    size_t count;
    const char *program_counter;
};

static const struct core_machine machines[] = {
    { ELF_X86_64, amd64_order, sizeof(amd64_order) / sizeof(amd64_order[0]), "rip" },
    { ELF_AARCH64, aarch64_order, sizeof(aarch64_order) / sizeof(aarch64_order[0]),
      "pc" },
};

static void put_core(struct text *out, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    text_append(out, bytes, size);
}

static void put_zeroes(struct text *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text_append(out, "", 1);
}

static uint64_t core_address(const json_t *object, const char *key)
{
    const char *text = report_string(object, key);
    uint64_t value = 0;
    return text != NULL && command_parse_address(text, &value) ? value : 0;
}

// put_note appends a note, padded to 4 bytes.
static void put_note(struct text *notes, uint32_t type, const struct text *description)
{
    put_core(notes, 5, 4);
    put_core(notes, description->size, 4);
    put_core(notes, type, 4);
    text_append(notes, "CORE\0\0\0", 8);
    if (description->size != 0)
        text_append(notes, description->bytes, description->size);
    put_zeroes(notes, (4 - description->size % 4) % 4);
}

static void put_thread(struct text *notes, const struct core_machine *machine,
                       const json_t *thread, int64_t signal)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    const json_t *registers = json_object_get(thread, "registers");
    put_core(&status, (uint64_t)signal, 4); // pr_info
    put_zeroes(&status, 8);
    put_core(&status, (uint64_t)signal, 2); // the signal again
    put_zeroes(&status, 2 + 16);
    put_core(&status, (uint64_t)report_integer(thread, "tid", 1), 4);
    put_zeroes(&status, 12 + 64);
    for (size_t i = 0; i < machine->count; i++)
        put_core(&status,
                 machine->order[i] != NULL ? core_address(registers, machine->order[i])
                                           : UINT64_MAX,
                 8);
    put_zeroes(&status, 8); // no floating-point registers follow
    put_note(notes, NOTE_PRSTATUS, &status);
}

static void put_process(struct text *notes, const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) info = { 0 };
    const json_t *process = json_object_get(report, "process");
    const char *path = report_string(process, "executable");
    char name[16] = "";
    char arguments[80] = "";
    (void)snprintf(name, sizeof(name), "%s", path != NULL ? file_name(path) : "");
    (void)snprintf(arguments, sizeof(arguments), "%s", path != NULL ? path : "");
    put_zeroes(&info, 24);
    put_core(&info, (uint64_t)report_integer(process, "pid", 1), 4);
    put_zeroes(&info, 12);
    text_append(&info, name, sizeof(name));
    text_append(&info, arguments, sizeof(arguments));
    put_note(notes, NOTE_PRPSINFO, &info);
}

static void put_signal(struct text *notes, const json_t *crash)
{
    struct text CH_CLEANUP(text_deinit) info = { 0 };
    put_core(&info, (uint64_t)report_integer(crash, "signal", 0), 8);
    put_core(&info, (uint64_t)report_integer(crash, "code", 0), 8);
    put_core(&info, core_address(crash, "address"), 8);
    put_zeroes(&info, 128 - 24);
    put_note(notes, NOTE_SIGINFO, &info);
}

static void put_files(struct text *notes, const struct debug_ranges *ranges)
{
    struct text CH_CLEANUP(text_deinit) files = { 0 };
    put_core(&files, ranges->count, 8);
    put_core(&files, DEBUG_PAGE, 8);
    for (size_t i = 0; i < ranges->count; i++) {
        put_core(&files, ranges->list[i].start, 8);
        put_core(&files, ranges->list[i].end, 8);
        put_core(&files, ranges->list[i].offset / DEBUG_PAGE, 8);
    }
    for (size_t i = 0; i < ranges->count; i++)
        text_append(&files, ranges->list[i].path, strlen(ranges->list[i].path) + 1);
    put_note(notes, NOTE_FILE, &files);
}

// put_threads appends the crashed thread, which debuggers begin with, and then the
// others.
static void put_threads(struct text *notes, const struct core_machine *machine,
                        const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *crash = json_object_get(report, "crash");
    for (int crashed = 1; crashed >= 0; crashed--) {
        for (size_t i = 0; i < json_array_size(threads); i++) {
            const json_t *thread = json_array_get(threads, i);
            if (json_is_true(json_object_get(thread, "crashed")) == (crashed == 1))
                put_thread(notes, machine, thread,
                           crashed ? report_integer(crash, "signal", 0) : 0);
        }
    }
}

static const struct core_machine *find_machine(const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *registers =
            json_object_get(json_array_get(threads, i), "registers");
        for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
            if (report_string(registers, machines[m].program_counter) != NULL)
                return &machines[m];
        }
    }
    return NULL;
}

// put_segment appends a program header: of what is at offset, or, without in_file
// bytes, of memory that debuggers read from the file that was mapped there.
static void put_segment(struct text *out, uint32_t type, uint64_t offset,
                        const struct debug_range *range, uint64_t in_file)
{
    enum { READ_AND_EXECUTE = 5, READ_AND_WRITE = 6 };
    put_core(out, type, 4);
    put_core(out, in_file == 0 ? READ_AND_EXECUTE : READ_AND_WRITE, 4);
    put_core(out, offset, 8);
    put_core(out, range->start, 8);
    put_core(out, 0, 8);
    put_core(out, in_file, 8);
    put_core(out, range->end - range->start, 8);
    put_core(out, 1, 8);
}

static void put_core_header(struct text *out, uint16_t machine, size_t segments)
{
    text_append(out, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
    put_core(out, ET_CORE_TYPE, 2);
    put_core(out, machine, 2);
    put_core(out, 1, 4);
    put_zeroes(out, 8);
    put_core(out, EHDR_SIZE, 8);
    put_zeroes(out, 8 + 4);
    put_core(out, EHDR_SIZE, 2);
    put_core(out, PHDR_SIZE, 2);
    put_core(out, segments, 2);
    put_zeroes(out, 6);
}

// memory_piece decodes a piece of the report's memory into bytes; 0: it has none.
static size_t memory_piece(const json_t *piece, struct text *bytes)
{
    const char *digits = report_string(piece, "bytes");
    size_t size = digits != NULL ? strlen(digits) / 2 : 0;
    size_t got = 0;
    size_t start = bytes->size;
    if (size == 0 || size > PIECE_MAX)
        return 0;
    put_zeroes(bytes, size);
    if (!text_ok(bytes) ||
        hex_decode(digits, 2 * size, bytes->bytes + start, size, &got) != CH_OK)
        return 0;
    return got;
}

enum ch_status debug_core_write(const json_t *report, const struct debug_ranges *ranges,
                                struct text *out)
{
    struct text CH_CLEANUP(text_deinit) notes = { 0 };
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    const struct core_machine *machine = find_machine(report);
    const struct debug_range nowhere = { 0 };
    const json_t *memory = json_object_get(report, "memory");
    size_t pieces = json_array_size(memory);
    size_t files = ranges->count < RANGES_MAX ? ranges->count : RANGES_MAX;
    if (machine == NULL)
        return CH_ERR_UNSUPPORTED;
    pieces = pieces < PIECES_MAX ? pieces : PIECES_MAX;
    put_threads(&notes, machine, report);
    put_process(&notes, report);
    put_signal(&notes, json_object_get(report, "crash"));
    put_files(&notes, ranges);

    size_t segments = 1 + files + pieces;
    uint64_t offset = EHDR_SIZE + segments * PHDR_SIZE;
    put_core_header(out, machine->machine, segments);
    put_segment(out, NOTE, offset, &nowhere, notes.size);
    offset += notes.size;
    for (size_t i = 0; i < pieces; i++) {
        const json_t *piece = json_array_get(memory, i);
        size_t size = memory_piece(piece, &bytes);
        struct debug_range range = { .start = core_address(piece, "address") };
        range.end = range.start + size;
        put_segment(out, LOAD, offset, &range, size);
        offset = EHDR_SIZE + segments * PHDR_SIZE + notes.size + bytes.size;
    }
    for (size_t i = 0; i < files; i++)
        put_segment(out, LOAD, offset, &ranges->list[i], 0);
    text_append(out, notes.bytes, notes.size);
    if (bytes.size != 0)
        text_append(out, bytes.bytes, bytes.size);
    return text_ok(out) && text_ok(&notes) && text_ok(&bytes) ? CH_OK
                                                              : CH_ERR_NO_MEMORY;
}
