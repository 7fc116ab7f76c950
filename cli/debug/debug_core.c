// SPDX-License-Identifier: Apache-2.0
//
// The layout is that of the kernel's binfmt_elf: header, program headers, notes,
// then memory. The registers of a thread are in struct elf_prstatus.
#include "cli/debug/debug_core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/render/render.h"
#include "cli/session/command.h"
#include "formats/debug/core_writer.h"
#include "report/value/report.h"
#include "upload/bodies/minidump_file.h"

enum {
    RANGES_MAX = 8192, // of files: their program headers have 16-bit numbers
    PIECES_MAX = 4096, // of memory
    LIBRARIES_MAX = 4096,
};

// LIST_ADDRESS is where the list of libraries is put.
#define LIST_ADDRESS UINT64_C(0x5fff000000000000)

static size_t range_count(const struct debug_files *files)
{
    return files->range_count < RANGES_MAX ? files->range_count : RANGES_MAX;
}

// put_thread appends a thread and returns its machine; 0: no registers are known.
static uint16_t put_thread(struct text *notes, uint16_t machine, const json_t *thread,
                           int64_t signal)
{
    struct core_thread state;
    const uint16_t own = minidump_read_thread(thread, &state);
    state.signal = (int32_t)signal;
    core_put_thread(notes, own != 0 ? own : machine, &state);
    return own;
}

static void put_signal(struct text *notes, const json_t *crash)
{
    const json_t *sender = json_object_get(crash, "sender");
    uint64_t about = (uint64_t)report_integer(sender, "pid", 0) |
                     (uint64_t)report_integer(sender, "uid", 0) << 32;
    if (sender == NULL)
        (void)report_address(crash, "address", &about);
    core_put_signal(notes, report_integer(crash, "signal", 0),
                    report_integer(crash, "code", 0), about);
}

// put_auxv appends where the program was loaded: its entry point tells debuggers the
// bias, its program headers lead to the list of libraries.
static void put_auxv(struct text *notes, const struct debug_files *files)
{
    struct text CH_CLEANUP(text_deinit) auxv = { 0 };
    if (files->entry == 0)
        return;
    PACK(&auxv, "888888888888", AT_PHDR, files->segments, AT_PHENT, CORE_SEGMENT_BYTES,
         AT_PHNUM, files->segment_count, AT_PAGESZ, CORE_PAGE, AT_ENTRY, files->entry,
         AT_NULL, 0);
    core_put_note(notes, NT_AUXV, auxv.bytes, auxv.size);
}

// put_notes appends the notes in the order of the kernel: debuggers take those of the
// process as being of the thread before them, and begin with the first, the crashed
// one.
static void put_notes(struct text *notes, uint16_t machine, const json_t *report,
                      const struct debug_files *files)
{
    struct core_table CH_CLEANUP(core_table_deinit) table = { .count = 0 };
    const json_t *threads = json_object_get(report, "threads");
    const json_t *crash = json_object_get(report, "crash");
    const json_t *first = report_crashed_thread(report);
    const json_t *process = json_object_get(report, "process");
    const char *path = report_string(process, "executable");
    path = path != NULL ? path : "";
    size_t index;
    const json_t *thread;
    first = first != NULL ? first : json_array_get(threads, 0);
    put_thread(notes, machine, first, report_integer(crash, "signal", 0));
    core_put_process(notes, (uint32_t)report_integer(process, "pid", 1), path,
                     cursor_over(path, strlen(path)));
    put_signal(notes, crash);
    put_auxv(notes, files);
    for (size_t i = 0; i < range_count(files); i++)
        core_table_add(&table, files->ranges[i].start, files->ranges[i].end,
                       files->ranges[i].offset, files->ranges[i].path);
    core_put_table(notes, &table);
    json_array_foreach(threads, index, thread)
    {
        if (thread != first)
            put_thread(notes, machine, thread, 0);
    }
}

static uint16_t find_machine(const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    struct core_thread state;
    uint16_t machine = 0;
    for (size_t i = 0; i < json_array_size(threads) && machine == 0; i++)
        machine = minidump_read_thread(json_array_get(threads, i), &state);
    return machine;
}

// core_pieces is memory whose bytes are in the core.
struct core_pieces {
    struct minidump_memory list[PIECES_MAX + 2]; // offset is in bytes
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
    pieces->list[pieces->count++] =
        (struct minidump_memory){ start, pieces->bytes.size - offset, offset };
}

// take_libraries adds the program's dynamic section, changed so that DT_DEBUG points to
// a struct r_debug, and that with the list of struct link_map (as glibc declares them).
static void take_libraries(const struct debug_files *files, struct core_pieces *pieces)
{
    enum { ENTRY = 16, DEBUG_SIZE = 40, MAP_SIZE = 40 };
    struct text *out = &pieces->bytes;
    size_t count =
        files->library_count < LIBRARIES_MAX ? files->library_count : LIBRARIES_MAX;
    if (count == 0 || files->dynamic.size == 0)
        return;
    size_t begin = out->size;
    for (size_t at = 0; at + ENTRY <= files->dynamic.size; at += ENTRY) {
        uint64_t tag;
        memcpy(&tag, files->dynamic.bytes + at, sizeof(tag));
        text_append(out, files->dynamic.bytes + at, tag == DT_DEBUG ? 8 : ENTRY);
        if (tag == DT_DEBUG)
            PACK(out, "8", LIST_ADDRESS);
    }
    add_debug_piece(pieces, files->libraries[0].dynamic, begin);
    begin = out->size;
    const uint64_t maps = LIST_ADDRESS + DEBUG_SIZE;
    uint64_t name = maps + count * MAP_SIZE;
    PACK(out, "88z", 1, maps, DEBUG_SIZE - 16); // 1: the version
    for (size_t i = 0; i < count; i++) {
        PACK(out, "88888", files->libraries[i].bias, name, files->libraries[i].dynamic,
             i + 1 < count ? maps + (i + 1) * MAP_SIZE : 0,
             i != 0 ? maps + (i - 1) * MAP_SIZE : 0);
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
    const uint16_t machine = find_machine(report);
    const size_t ranges = range_count(files);
    if (machine == 0)
        return CH_ERR_UNSUPPORTED;
    struct core_pieces *CH_CLEANUP(core_pieces_destroy) pieces =
        calloc(1, sizeof(*pieces));
    if (pieces == NULL)
        return CH_ERR_NO_MEMORY;
    put_notes(&notes, machine, report, files);
    pieces->count =
        minidump_read_memory(report, &pieces->bytes, pieces->list, PIECES_MAX);
    take_libraries(files, pieces);

    const size_t segments = 1 + pieces->count + ranges;
    uint64_t offset = CORE_ELF_BYTES + segments * CORE_SEGMENT_BYTES;
    core_put_elf(out, ET_CORE, machine, segments);
    core_put_range(out, &(struct core_range){
                            .type = PT_NOTE, .offset = offset, .in_file = notes.size });
    offset += notes.size;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct minidump_memory *piece = &pieces->list[i];
        core_put_range(out, &(struct core_range){ .type = PT_LOAD,
                                                  .flags = PF_R | PF_W,
                                                  .start = piece->start,
                                                  .size = piece->size,
                                                  .in_file = piece->size,
                                                  .offset = offset + piece->offset });
    }
    offset += pieces->bytes.size;
    // What is not in the core of these debuggers read from the file.
    for (size_t i = 0; i < ranges; i++) {
        const struct debug_range *range = &files->ranges[i];
        const bool has_header = range->header != SIZE_MAX;
        core_put_range(out, &(struct core_range){
                                .type = PT_LOAD,
                                .flags = PF_R | PF_X,
                                .start = range->start,
                                .size = range->end - range->start,
                                .in_file = has_header ? CORE_PAGE : 0,
                                .offset = offset + (has_header ? range->header : 0),
                            });
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

enum { SHOWN_MAX_BYTES = 64 << 10 };

static bool write_launch_file(const char *path, int flags, const char *bytes,
                              size_t size)
{
    if (file_put(path, flags, bytes, size))
        return true;
    (void)command_fail("cannot write '%s': %s", path, strerror(errno));
    return false;
}

bool debug_launch_scripts(const struct debug_launch *launch)
{
    static const struct {
        const char *ending;
        const char *before;
        const char *after;
    } scripts[] = {
        { "gdb", "python print(bytes.fromhex(\"",
          "\").decode(\"utf-8\", \"replace\"))\n" },
        { "lldb",
          "settings set interpreter.echo-commands false\nscript print(bytes.fromhex(\"",
          "\").decode(\"utf-8\", \"replace\"))\n"
          "settings set interpreter.echo-commands true\n" },
    };
    static const struct render_style style = { .preset = PRESET_MEDIUM };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    (void)render_report_text(launch->report, &style, SHOWN_MAX_BYTES, &shown);
    char *digits = malloc(2 * shown.size + 1);
    bool done = digits != NULL && text_ok(&shown);
    if (!done)
        (void)command_fail("cannot show the report: %s", strerror(ENOMEM));
    else
        hex_encode(shown.bytes, shown.size, digits);
    for (size_t i = 0; done && i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct text CH_CLEANUP(text_deinit) script = { 0 };
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s.%s", launch->core, scripts[i].ending);
        text_appendf(&script, "%s%s%s", scripts[i].before, digits, scripts[i].after);
        done = text_ok(&script) &&
               write_launch_file(path, O_TRUNC, script.bytes, script.size);
    }
    free(digits);
    return done;
}

// configurations_json is what editors call a launch configuration: one for the C/C++
// extension, and one for lldb-dap.
static json_t *configurations_json(const struct debug_launch *launch)
{
    char gdb[PATH_MAX + 32];
    char lldb[PATH_MAX + 32];
    char name[128];
    const char *id = report_string(launch->report, "id");
    (void)snprintf(gdb, sizeof(gdb), "source %s.gdb", launch->core);
    (void)snprintf(lldb, sizeof(lldb), "command source %s.lldb", launch->core);
    (void)snprintf(name, sizeof(name), "crashhook %.36s", id != NULL ? id : "report");
    return json_pack("[{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:b}]},"
                     " {s:s, s:s, s:s, s:s, s:s, s:[s]}]",
                     "name", name, "type", "cppdbg", "request", "launch", "program",
                     launch->program, "coreDumpPath", launch->core, "cwd",
                     "${workspaceFolder}", "MIMode", "gdb", "setupCommands", "text",
                     gdb, "ignoreFailures", 1, "name", name, "type", "lldb-dap",
                     "request", "attach", "program", launch->program, "coreFile",
                     launch->core, "postRunCommands", lldb);
}

// is_launch_path returns true if an editor takes the path as it is: it replaces ${...},
// and runs commands for some of them.
static bool is_launch_path(const char *path)
{
    return strchr(path, '$') == NULL && strchr(path, '\n') == NULL;
}

bool debug_launch_vscode(const struct debug_launch *launch)
{
    static const char path[] = ".vscode/launch.json";
    if (launch->program == NULL) {
        (void)command_fail("cannot write a launch configuration: the program's file is"
                           " not here");
        return false;
    }
    if (!is_launch_path(launch->program) || !is_launch_path(launch->core)) {
        (void)command_fail("cannot write a launch configuration: editors replace the $"
                           " in '%s' or '%s'",
                           launch->program, launch->core);
        return false;
    }
    json_auto_t *attach =
        json_pack("{s:s, s:s}", "program", launch->program, "coreFile", launch->core);
    json_auto_t *list = configurations_json(launch);
    json_auto_t *all =
        json_pack("{s:s, s:O}", "version", "0.2.0", "configurations", list);
    char *attach_text = json_dumps(attach, JSON_ENSURE_ASCII);
    char *text = json_dumps(all, JSON_INDENT(4) | JSON_ENSURE_ASCII);
    bool exists = access(path, F_OK) == 0;
    bool done = attach_text != NULL && text != NULL;
    if (!done) {
        (void)command_fail("cannot write a launch configuration: %s", strerror(ENOMEM));
    } else if (exists) {
        (void)fprintf(stderr,
                      "crashhook: '%s' exists; add these configurations to it\n", path);
        (void)printf("%s\n", text);
    } else {
        (void)mkdir(".vscode", 0755);
        done = write_launch_file(path, O_EXCL, text, strlen(text));
        if (done)
            (void)printf("%s\n", path);
    }
    if (done)
        (void)printf("gdb -i=dap, attach: %s\n", attach_text);
    free(attach_text);
    free(text);
    return done;
}
