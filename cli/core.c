// SPDX-License-Identifier: Apache-2.0
//
// Reports a core file, or one that the kernel pipes to us: on stdout, or with --store
// into the spool, as a crash under the handler would leave it (docs/cores.md).
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/core/core_input.h"
#include "agent/core/minidump_core.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "cli/session/command.h"
#include "cli/session/core_store.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "formats/interchange/breakpad_symbols.h"
#include "formats/interchange/minidump.h"

static const struct option core_options[] = {
    { .name = "exe", .value = "FILE", .help = "the program that left the core" },
    { .name = "sysroot", .value = "DIR", .help = "the folder that was its /" },
    { .name = "json", .help = "print the report itself" },
    { .name = "unwind", .value = "HOW", .help = "as CRASHHOOK_UNWIND" },
    { .name = "limit", .value = "FRAMES", .help = "as CRASHHOOK_LIMIT" },
    { .name = "top", .value = "FRAMES", .help = "as CRASHHOOK_TOP" },
    { .name = "symbolize", .value = "HOW", .help = "as CRASHHOOK_SYMBOLIZE" },
    { .name = "preset", .value = "PRESET", .help = "as CRASHHOOK_PRESET" },
    { .name = "store", .help = "for core_pattern: store the report, print nothing" },
    { .name = "spool", .value = "DIR", .help = "with --store: the spool" },
    { .name = "pid", .value = "PID", .help = "for core_pattern: the dying process" },
    { 0 },
};

enum { SYMBOLS_MAX_BYTES = 1 << 30, DUMP_MAX_BYTES = 1 << 30 };

struct core_command {
    struct session session;
    struct core_options options;
    const char *name; // of the core, as the user typed it
    char exe[PATH_MAX];
    char sysroot[PATH_MAX];
    char debug_dir[PATH_MAX];
    char symbols[PATH_MAX];           // --symbols; empty: none
    char made[TEMPORARY_FOLDER_SIZE]; // of Breakpad's symbols; empty: none
    const char *all_made[2];
    bool store;
    int fd;
};

static void command_deinit(struct core_command *command)
{
    if (command->fd > STDERR_FILENO)
        (void)close(command->fd);
    if (command->made[0] != 0)
        temporary_folder_remove(command->made);
    session_deinit(&command->session);
}

// why_no_core finds out why a core could not be read.
static const char *why_no_core(enum ch_status status)
{
    const char *words = core_store_unreadable(status);
    if (status == CH_ERR_MALFORMED)
        return "not a core file, and not a minidump";
    return words != NULL ? words : strerror(errno);
}

// input_folder is where a core from a pipe is buffered.
static const char *input_folder(void)
{
    const char *temporary = getenv("TMPDIR");
    return temporary != NULL && *temporary != 0 ? temporary : "/var/tmp";
}

// open_core opens the file, or buffers the core that comes through the pipe.
static int open_core(struct core_command *command)
{
    struct stat info;
    enum ch_status status = CH_OK;
    bool is_stdin = strcmp(command->name, "-") == 0;
    command->fd = is_stdin ? STDIN_FILENO : open(command->name, O_RDONLY | O_CLOEXEC);
    if (command->fd < 0 || fstat(command->fd, &info) != 0)
        return command_fail("cannot open '%s': %s", command->name, strerror(errno));
    if (!is_stdin && !S_ISREG(info.st_mode))
        return command_fail("cannot read '%s': not a regular file", command->name);
    if (command->store)
        return COMMAND_DONE; // it is buffered where it is read
    // Everything read from here on was made by the crashed program.
    confine_free_phase();
    if (!S_ISREG(info.st_mode))
        status = core_input_keep(STDIN_FILENO, input_folder(), &command->fd);
    if (status != CH_OK)
        return command_fail("cannot keep the core of stdin in '%s': %s", input_folder(),
                            strerror(errno));
    return COMMAND_DONE;
}

// find_places makes the paths absolute, because they become part of the report.
static int find_places(struct core_command *command, const struct options *options)
{
    const char *exe = options_value(options, "exe");
    const char *sysroot = options_value(options, "sysroot");
    const char *symbols = options_value(options, "symbols");
    struct core_places *places = &command->options.places;
    if (exe != NULL && realpath(exe, command->exe) == NULL)
        return command_fail("cannot open '%s': %s", exe, strerror(errno));
    if (sysroot != NULL && realpath(sysroot, command->sysroot) == NULL)
        return command_fail("cannot open '%s': %s", sysroot, strerror(errno));
    if (symbols != NULL && realpath(symbols, command->symbols) == NULL)
        return command_fail("cannot open '%s': %s", symbols, strerror(errno));
    if (symbols != NULL)
        command->session.debug_dirs[0] = command->symbols;
    if (exe != NULL)
        places->exe = command->exe;
    if (sysroot != NULL && strcmp(command->sysroot, "/") != 0)
        places->sysroot = command->sysroot;
    command->session.exe = places->exe;
    command->session.sysroot = places->sysroot;
    if (places->sysroot != NULL) {
        int length = snprintf(command->debug_dir, sizeof(command->debug_dir),
                              "%s/usr/lib/debug", places->sysroot);
        if (length > 0 && (size_t)length < sizeof(command->debug_dir))
            command->session.debug_dirs[0] = command->debug_dir;
    }
    return COMMAND_DONE;
}

static int print_core(const struct core_command *command, struct capture *capture,
                      bool as_json)
{
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    char id[REPORT_ID_SIZE];
    report_id_make(clock_now_ms(CLOCK_REALTIME), id);
    capture->held = &held;
    enum ch_status status = raw_report_write(capture, id, -1, &raw);
    if (status != CH_OK)
        return command_fail("cannot report '%s': %s", command->name,
                            ch_status_name(status));
    return session_print_raw(&command->session, &raw, &held, as_json);
}

// say_missing is a core_say_fn.
static void say_missing(void *context, const char *format, ...) CH_PRINTF(2, 3);
static void say_missing(void *context, const char *format, ...)
{
    va_list arguments;
    (void)context;
    (void)fputs("crashhook: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
}

// write_made writes the debug file of a module into the folder of those that were made.
static bool write_made(const struct core_command *command,
                       const struct minidump_module *module, const struct text *file)
{
    char id[2 * MINIDUMP_BUILD_ID_MAX + 1];
    char path[sizeof(command->made) + sizeof(id) + 32];
    hex_encode(module->build_id, module->build_id_size, id);
    (void)snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.sym", command->made, id,
                   id + 2);
    return file_make_parents(path, 0700) &&
           file_put(path, O_EXCL, file->bytes, file->size);
}

// breakpad_identity writes what Breakpad calls a module's build: the first 16 bytes of
// the build ID as a GUID, and the age 0.
static void breakpad_identity(const struct minidump_module *module, char out[static 34])
{
    for (size_t i = 0; i < sizeof(minidump_guid); i++)
        (void)snprintf(out + 2 * i, 3, "%02X",
                       module->build_id[module->build_id_cut ? i : minidump_guid[i]]);
    (void)snprintf(out + 32, 2, "0");
}

// make_symbols makes a debug file of a module's symbols, if Breakpad's are in the
// folder of --symbols: DIR/NAME/IDENTITY/NAME.sym, or DIR/NAME.sym.
static void make_symbols(const struct core_command *command,
                         const struct minidump *dump,
                         const struct minidump_module *module)
{
    struct text CH_CLEANUP(text_deinit) symbols = { 0 };
    struct text CH_CLEANUP(text_deinit) file = { 0 };
    const char *slash = strrchr(module->name, '/');
    const char *name = slash != NULL ? slash + 1 : module->name;
    char identity[34];
    char path[2 * PATH_MAX];
    breakpad_identity(module, identity);
    (void)snprintf(path, sizeof(path), "%s/%s/%s/%s.sym", command->symbols, name,
                   identity, name);
    int CH_CLEANUP(file_close) fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        (void)snprintf(path, sizeof(path), "%s/%s.sym", command->symbols, name);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd < 0 || text_read(&symbols, fd, SYMBOLS_MAX_BYTES) != CH_OK)
        return;
    const struct cursor text = cursor_over(symbols.bytes, symbols.size);
    if (!breakpad_symbols_are_of(text, identity))
        (void)command_fail("'%s' is not of the minidump's '%s': it is not used", path,
                           module->name);
    else if (breakpad_symbols_to_elf(text, dump->machine, module->build_id,
                                     module->build_id_size, &file) != CH_OK ||
             !write_made(command, module, &file))
        (void)command_fail("cannot use '%s': no symbols can be made of it", path);
}

// make_all_symbols does so for the modules of the minidump on fd.
static void make_all_symbols(struct core_command *command)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    struct minidump dump;
    struct minidump_module module;
    const char *why;
    if (command->symbols[0] == 0 ||
        text_read(&bytes, command->fd, DUMP_MAX_BYTES) != CH_OK ||
        minidump_open(&dump, bytes.bytes, bytes.size, &why) != CH_OK)
        return;
    if (!temporary_folder_make("symbols", command->made)) {
        command->made[0] = 0;
        return;
    }
    struct minidump_list list = minidump_list(&dump, MINIDUMP_MODULES);
    while (minidump_next_module(&list, &module))
        if (module.build_id_size >= 16)
            make_symbols(command, &dump, &module);
    command->all_made[0] = command->made;
    command->options.places.made = command->all_made;
    command->session.debug_dirs[1] = command->made;
}

// convert_minidump replaces a minidump by a core that is made of it.
static int convert_minidump(struct core_command *command)
{
    uint8_t head[4];
    const char *why = NULL;
    int core = -1;
    struct minidump_places places = { .exe = command->options.places.exe,
                                      .sysroot = command->options.places.sysroot,
                                      .symbols = command->symbols[0] != 0
                                                     ? command->symbols
                                                     : NULL,
                                      .say = say_missing };
    if (pread(command->fd, head, sizeof(head), 0) != sizeof(head) ||
        !minidump_is(head, sizeof(head)))
        return COMMAND_DONE;
    make_all_symbols(command);
    places.made = command->options.places.made;
    enum ch_status status = minidump_to_core(command->fd, &places, &core, &why);
    if (status == CH_OK) {
        (void)close(command->fd);
        command->fd = core;
        return COMMAND_DONE;
    }
    return command_fail("cannot read minidump '%s': %s", command->name,
                        status == CH_ERR_IO          ? strerror(errno)
                        : status == CH_ERR_NO_MEMORY ? strerror(ENOMEM)
                                                     : why);
}

static int report_core(struct core_command *command, bool as_json)
{
    struct core_capture core;
    if (convert_minidump(command) != COMMAND_DONE)
        return COMMAND_FAILED;
    enum ch_status status = core_capture_open(&core, command->fd, &command->options);
    if (status != CH_OK)
        return command_fail("cannot read '%s': %s", command->name, why_no_core(status));
    int result = print_core(command, &core.capture, as_json);
    core_capture_close(&core);
    return result;
}

static int store_core(struct core_command *command)
{
    struct core_store store = { .session = &command->session,
                                .options = command->options,
                                .name = command->name,
                                .fd = command->fd };
    return core_store_report(&store);
}

static int run_core(const struct options *options)
{
    struct core_command CH_CLEANUP(command_deinit) command = { .fd = -1 };
    const char *pid = options_value(options, "pid");
    command.name = options->arguments[0];
    command.store = options_given(options, "store");
    if (command.store)
        core_store_fill_descriptors();
    session_init(&command.session, options);
    command.options.settings = &command.session.settings;
    if (pid != NULL && !command_parse_pid(pid, &command.options.pid))
        return command_misused("core: '%s' is no process id", pid);
    if (command.store && session_spool_open(&command.session, SPOOL_CREATE) != CH_OK)
        return COMMAND_FAILED;
    core_store_mask_home(&command.options, &command.session.settings);
    int result = find_places(&command, options);
    if (result == COMMAND_DONE)
        result = open_core(&command);
    if (result == COMMAND_DONE && command.store)
        return store_core(&command);
    if (result == COMMAND_DONE)
        result = report_core(&command, options_given(options, "json"));
    return result;
}

static const struct option minidump_options[] = {
    { .name = "symbols", .value = "DIR", .help = "files by name or build ID" },
    { .name = "exe", .value = "FILE", .help = "the program that left the minidump" },
    { .name = "sysroot", .value = "DIR", .help = "the folder that was its /" },
    { .name = "json", .help = "print the report itself" },
    { .name = "unwind", .value = "HOW", .help = "as CRASHHOOK_UNWIND" },
    { .name = "symbolize", .value = "HOW", .help = "as CRASHHOOK_SYMBOLIZE" },
    { .name = "preset", .value = "PRESET", .help = "as CRASHHOOK_PRESET" },
    { 0 },
};

const struct command minidump_command = {
    .name = "minidump",
    .arguments = "FILE|-",
    .summary = "Report a minidump of a Linux program",
    .options = minidump_options,
    .run = run_core,
    .arguments_min = 1,
    .arguments_max = 1,
};

const struct command core_command = {
    .name = "core",
    .arguments = "CORE|-",
    .summary = "Report a core file",
    .options = core_options,
    .run = run_core,
    .arguments_min = 1,
    .arguments_max = 1,
};
