// SPDX-License-Identifier: Apache-2.0
//
// The layout is that of the kernel's binfmt_elf: header, program headers, notes,
// then memory. The registers of a thread are in struct elf_prstatus.
#include "cli/debug/debug_core.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
    NOTE_AUXV = 6,
    NOTE_SIGINFO = 0x53494749,
    NOTE_FILE = 0x46494c45,
    RANGES_MAX = 8192, // of files: their program headers have 16-bit numbers
    PIECES_MAX = 4096, // of memory
    PIECE_MAX = 1 << 20,
    LIBRARIES_MAX = 4096,
};

// LIST_ADDRESS is where the list of libraries is put.
#define LIST_ADDRESS UINT64_C(0x5fff000000000000)

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

// core_register is a register's value. The selectors of 64-bit code are not in reports.
static uint64_t core_register(const json_t *registers, const char *name)
{
    enum { USER_CS = 0x33, USER_SS = 0x2b };
    return name == NULL              ? UINT64_MAX
           : strcmp(name, "cs") == 0 ? USER_CS
           : strcmp(name, "ss") == 0 ? USER_SS
                                     : core_address(registers, name);
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
        put_core(&status, core_register(registers, machine->order[i]), 8);
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
    const json_t *sender = json_object_get(crash, "sender");
    uint64_t sent_by = (uint64_t)report_integer(sender, "pid", 0) |
                       (uint64_t)report_integer(sender, "uid", 0) << 32;
    put_core(&info, sender != NULL ? sent_by : core_address(crash, "address"), 8);
    put_zeroes(&info, 128 - 24);
    put_note(notes, NOTE_SIGINFO, &info);
}

static void put_files(struct text *notes, const struct debug_files *from)
{
    struct text CH_CLEANUP(text_deinit) files = { 0 };
    size_t count = from->range_count < RANGES_MAX ? from->range_count : RANGES_MAX;
    put_core(&files, count, 8);
    put_core(&files, DEBUG_PAGE, 8);
    for (size_t i = 0; i < count; i++) {
        put_core(&files, from->ranges[i].start, 8);
        put_core(&files, from->ranges[i].end, 8);
        put_core(&files, from->ranges[i].offset / DEBUG_PAGE, 8);
    }
    for (size_t i = 0; i < count; i++)
        text_append(&files, from->ranges[i].path, strlen(from->ranges[i].path) + 1);
    put_note(notes, NOTE_FILE, &files);
}

// put_auxv appends where the program was loaded: its entry point tells debuggers the
// bias, its program headers lead to the list of libraries.
static void put_auxv(struct text *notes, const struct debug_files *files)
{
    enum { AT_PHDR_ENTRY = 3, AT_PHENT_ENTRY, AT_PHNUM_ENTRY, AT_PAGESZ_ENTRY };
    enum { AT_ENTRY_ENTRY = 9 };
    const uint64_t entries[][2] = {
        { AT_PHDR_ENTRY, files->segments },       { AT_PHENT_ENTRY, PHDR_SIZE },
        { AT_PHNUM_ENTRY, files->segment_count }, { AT_PAGESZ_ENTRY, DEBUG_PAGE },
        { AT_ENTRY_ENTRY, files->entry },         { 0, 0 }
    };
    struct text CH_CLEANUP(text_deinit) auxv = { 0 };
    if (files->entry == 0)
        return;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        put_core(&auxv, entries[i][0], 8);
        put_core(&auxv, entries[i][1], 8);
    }
    put_note(notes, NOTE_AUXV, &auxv);
}

// put_notes appends the notes in the order of the kernel: debuggers take those of the
// process as being of the thread before them, and begin with the first, the crashed
// one.
static void put_notes(struct text *notes, const struct core_machine *machine,
                      const json_t *report, const struct debug_files *files)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *crash = json_object_get(report, "crash");
    const json_t *first = report_crashed_thread(report);
    size_t index;
    const json_t *thread;
    first = first != NULL ? first : json_array_get(threads, 0);
    put_thread(notes, machine, first, report_integer(crash, "signal", 0));
    put_process(notes, report);
    put_signal(notes, crash);
    put_auxv(notes, files);
    put_files(notes, files);
    json_array_foreach(threads, index, thread)
    {
        if (thread != first)
            put_thread(notes, machine, thread, 0);
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

// put_segment appends a program header of what is at offset. What in_file bytes do not
// cover is memory that debuggers read from the file that was mapped there.
static void put_segment(struct text *out, uint32_t type, uint64_t offset,
                        const struct debug_range *range, uint64_t in_file)
{
    enum { READ_AND_EXECUTE = 5, READ_AND_WRITE = 6 };
    put_core(out, type, 4);
    put_core(out, range->path != NULL ? READ_AND_EXECUTE : READ_AND_WRITE, 4);
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

// core_pieces is memory whose bytes are in the core.
struct core_pieces {
    struct debug_range list[PIECES_MAX + 2]; // without paths; offset is in bytes
    size_t count;
    struct text bytes;
};

static void core_pieces_destroy(struct core_pieces **pieces)
{
    if (*pieces != NULL)
        text_deinit(&(*pieces)->bytes);
    free(*pieces);
}

// add_debug_piece adds the bytes from offset on as memory at start.
static void add_debug_piece(struct core_pieces *pieces, uint64_t start, size_t offset)
{
    pieces->list[pieces->count++] = (struct debug_range){
        .start = start, .end = start + pieces->bytes.size - offset, .offset = offset
    };
}

static int compare_core_pieces(const void *a, const void *b)
{
    const struct debug_range *first = a;
    const struct debug_range *second = b;
    return (first->start > second->start) - (first->start < second->start);
}

// separate_pieces cuts what is in two pieces from the second, because debuggers read
// from one of them alone.
static void separate_pieces(struct core_pieces *pieces)
{
    size_t count = 0;
    uint64_t end = 0;
    qsort(pieces->list, pieces->count, sizeof(pieces->list[0]), compare_core_pieces);
    for (size_t i = 0; i < pieces->count; i++) {
        struct debug_range piece = pieces->list[i];
        if (piece.end <= end)
            continue;
        uint64_t known = piece.start < end ? end - piece.start : 0;
        piece.start += known;
        piece.offset += known;
        end = piece.end;
        pieces->list[count++] = piece;
    }
    pieces->count = count;
}

// take_memory adds the report's memory.
static void take_memory(const json_t *memory, struct core_pieces *pieces)
{
    for (size_t i = 0; i < json_array_size(memory) && i < PIECES_MAX; i++) {
        const json_t *piece = json_array_get(memory, i);
        const char *digits = report_string(piece, "bytes");
        size_t size = digits != NULL ? strlen(digits) / 2 : 0;
        size_t start = pieces->bytes.size;
        size_t got = 0;
        if (size == 0 || size > PIECE_MAX)
            continue;
        put_zeroes(&pieces->bytes, size);
        if (!text_ok(&pieces->bytes))
            return;
        if (hex_decode(digits, 2 * size, pieces->bytes.bytes + start, size, &got) !=
            CH_OK)
            pieces->bytes.size = start;
        else
            add_debug_piece(pieces, core_address(piece, "address"), start);
    }
    separate_pieces(pieces);
}

// take_libraries adds the program's dynamic section, changed so that DT_DEBUG points to
// a struct r_debug, and that with the list of struct link_map (as glibc declares them).
static void take_libraries(const struct debug_files *files, struct core_pieces *pieces)
{
    enum { DEBUG_TAG = 21, ENTRY = 16, DEBUG_SIZE = 40, MAP_SIZE = 40 };
    struct text *out = &pieces->bytes;
    size_t count =
        files->library_count < LIBRARIES_MAX ? files->library_count : LIBRARIES_MAX;
    if (count == 0 || files->dynamic.size == 0)
        return;
    size_t begin = out->size;
    for (size_t at = 0; at + ENTRY <= files->dynamic.size; at += ENTRY) {
        uint64_t tag;
        memcpy(&tag, files->dynamic.bytes + at, sizeof(tag));
        text_append(out, files->dynamic.bytes + at, tag == DEBUG_TAG ? 8 : ENTRY);
        if (tag == DEBUG_TAG)
            put_core(out, LIST_ADDRESS, 8);
    }
    add_debug_piece(pieces, files->libraries[0].dynamic, begin);
    begin = out->size;
    const uint64_t maps = LIST_ADDRESS + DEBUG_SIZE;
    uint64_t name = maps + count * MAP_SIZE;
    put_core(out, 1, 8); // version
    put_core(out, maps, 8);
    put_zeroes(out, DEBUG_SIZE - 16);
    for (size_t i = 0; i < count; i++) {
        put_core(out, files->libraries[i].bias, 8);
        put_core(out, name, 8);
        put_core(out, files->libraries[i].dynamic, 8);
        put_core(out, i + 1 < count ? maps + (i + 1) * MAP_SIZE : 0, 8);
        put_core(out, i != 0 ? maps + (i - 1) * MAP_SIZE : 0, 8);
        name += i != 0 ? strlen(files->libraries[i].path) + 1 : 1;
    }
    text_append(out, "", 1); // the program has no name there
    for (size_t i = 1; i < count; i++)
        text_append(out, files->libraries[i].path,
                    strlen(files->libraries[i].path) + 1);
    add_debug_piece(pieces, LIST_ADDRESS, begin);
}

enum ch_status debug_core_write(const json_t *report, const struct debug_files *files,
                                struct text *out)
{
    struct text CH_CLEANUP(text_deinit) notes = { 0 };
    const struct core_machine *machine = find_machine(report);
    const struct debug_range nowhere = { 0 };
    size_t ranges = files->range_count < RANGES_MAX ? files->range_count : RANGES_MAX;
    if (machine == NULL)
        return CH_ERR_UNSUPPORTED;
    struct core_pieces *CH_CLEANUP(core_pieces_destroy) pieces =
        calloc(1, sizeof(*pieces));
    if (pieces == NULL)
        return CH_ERR_NO_MEMORY;
    put_notes(&notes, machine, report, files);
    take_memory(json_object_get(report, "memory"), pieces);
    take_libraries(files, pieces);

    size_t segments = 1 + pieces->count + ranges;
    uint64_t offset = EHDR_SIZE + segments * PHDR_SIZE;
    put_core_header(out, machine->machine, segments);
    put_segment(out, NOTE, offset, &nowhere, notes.size);
    offset += notes.size;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct debug_range *piece = &pieces->list[i];
        put_segment(out, LOAD, offset + piece->offset, piece,
                    piece->end - piece->start);
    }
    offset += pieces->bytes.size;
    for (size_t i = 0; i < ranges; i++) {
        const struct debug_range *range = &files->ranges[i];
        bool has_header = range->header != SIZE_MAX;
        put_segment(out, LOAD, offset + (has_header ? range->header : 0), range,
                    has_header ? DEBUG_PAGE : 0);
    }
    const struct text *parts[] = { &notes, &pieces->bytes, &files->headers };
    bool whole = true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        whole = whole && text_ok(parts[i]);
        if (parts[i]->size != 0)
            text_append(out, parts[i]->bytes, parts[i]->size);
    }
    return whole && text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
