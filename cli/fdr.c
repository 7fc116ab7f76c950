// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr_functions.h"
#include "symbolizer/names/symbol_image.h"

// PROBLEMS_MAX is how many problems are listed: a file of noise has one per record.
enum { PROBLEMS_MAX = 1000 };

// program is the functions of the program that wrote the trace, by their ids.
struct program {
    struct symbol_image *image; // NULL: no program was given
    uint64_t *vaddrs;           // of function 1, 2, ...
    const char **names;         // looked up when first needed; "" where there is none
    size_t count;
};

struct dump {
    bool json;
    struct fdr_reader reader;
    struct program program;
    uint64_t record_count;
    struct text problems; // as JSON
    size_t problem_count;
    struct fdr_problem worst; // the first that is not harmless; its status is CH_OK
                              // while there is none
};

static void program_deinit(struct program *program)
{
    symbol_image_close(program->image);
    free(program->vaddrs);
    free(program->names);
}

static void dump_deinit(struct dump *dump)
{
    program_deinit(&dump->program);
    text_deinit(&dump->problems);
}

static enum ch_status add_fdr_function(struct program *program, size_t *capacity,
                                       uint64_t vaddr)
{
    if (!array_reserve(&program->vaddrs, capacity, program->count,
                       sizeof(*program->vaddrs)))
        return CH_ERR_NO_MEMORY;
    program->vaddrs[program->count++] = vaddr;
    return CH_OK;
}

static enum ch_status read_functions(struct program *program, const struct text *data)
{
    struct elf_view elf;
    struct fdr_functions functions;
    size_t capacity = 0;
    uint64_t vaddr = 0;
    enum ch_status status = elf_view_init(&elf, data->bytes, data->size);
    if (status == CH_OK)
        status = fdr_functions_init(&functions, &elf);
    while (status == CH_OK) {
        status = fdr_functions_next(&functions, &vaddr);
        if (status == CH_OK)
            status = add_fdr_function(program, &capacity, vaddr);
    }
    if (status != CH_END)
        return status;
    program->names = calloc(program->count + 1, sizeof(*program->names));
    return program->names != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

// open_program reads the functions of the program at path, and reports a failure.
static enum ch_status open_program(struct program *program, const char *path)
{
    static const struct build_id any_build = { .size = 0 };
    static const struct debug_search search = { 0 };
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    enum ch_status status = command_read_file(path, &data);
    if (status != CH_OK)
        return status;
    status = read_functions(program, &data);
    if (status == CH_OK)
        status = symbol_image_open(&program->image, path, &any_build, &search, true);
    if (status == CH_ERR_NOT_FOUND)
        command_fail("'%s' has no XRay instrumentation map", path);
    else if (status != CH_OK)
        command_fail("cannot read the functions of '%s': %s", path,
                     ch_status_name(status));
    return status;
}

static const char *find_fdr_name(const struct program *program, uint64_t vaddr)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count = symbol_image_find(program->image, vaddr, frames);
    const char *name = count != 0 ? frames[count - 1].function : NULL;
    return name != NULL ? name : "";
}

// function_name is the name of function id, or NULL if it is not known.
static const char *function_name(struct program *program, uint32_t id)
{
    if (id == 0 || id > program->count)
        return NULL;
    const char **name = &program->names[id - 1];
    if (*name == NULL)
        *name = find_fdr_name(program, program->vaddrs[id - 1]);
    return **name != 0 ? *name : NULL;
}

static void print_fdr_hex(const struct fdr_record *record)
{
    for (uint64_t i = 0; i < record->size; i++)
        printf("%02x", record->data[i]);
}

static void print_fdr_function_json(struct dump *dump, const struct fdr_record *record)
{
    const char *name = function_name(&dump->program, record->function);
    printf(",\"action\":\"%s\",\"function\":%" PRIu32 ",\"delta\":%" PRId64
           ",\"tsc\":%" PRIu64,
           fdr_action_name(record->action), record->function, record->delta,
           record->tsc);
    if (name == NULL)
        return;
    fputs(",\"name\":", stdout);
    json_print_string(name, strlen(name));
}

static void print_event_json(const struct dump *dump, const struct fdr_record *record)
{
    uint16_t version = dump->reader.header.version;
    bool typed = record->kind == FDR_TYPED_EVENT;
    printf(",\"size\":%" PRIu64 ",\"tsc\":%" PRIu64, record->size, record->tsc);
    if (typed || version == FDR_VERSION_MAX)
        printf(",\"delta\":%" PRId64, record->delta);
    else if (version == 4)
        printf(",\"cpu\":%u", record->cpu);
    if (typed)
        printf(",\"type\":%u", record->type);
    fputs(",\"data\":\"", stdout);
    print_fdr_hex(record);
    putchar('"');
}

static void print_record_json(struct dump *dump, const struct fdr_record *record)
{
    printf("%s{\"offset\":%zu,\"kind\":\"%s\"",
           dump->record_count != 0 ? ",\n " : "\n ", record->offset,
           fdr_kind_name(record->kind));
    if (record->kind != FDR_BUFFER_EXTENTS)
        printf(",\"tid\":%" PRId32, record->tid);
    switch (record->kind) {
    case FDR_FUNCTION:
        print_fdr_function_json(dump, record);
        break;
    case FDR_CUSTOM_EVENT:
    case FDR_TYPED_EVENT:
        print_event_json(dump, record);
        break;
    case FDR_NEW_CPU:
        printf(",\"cpu\":%u,\"tsc\":%" PRIu64, record->cpu, record->tsc);
        break;
    case FDR_TSC_WRAP:
        printf(",\"tsc\":%" PRIu64, record->tsc);
        break;
    case FDR_WALL_CLOCK:
        printf(",\"seconds\":%" PRIu64 ",\"microseconds\":%" PRIu32, record->seconds,
               record->microseconds);
        break;
    case FDR_CALL_ARGUMENT:
        printf(",\"argument\":%" PRIu64, record->argument);
        break;
    case FDR_BUFFER_EXTENTS:
        printf(",\"size\":%" PRIu64, record->size);
        break;
    case FDR_PID:
        printf(",\"pid\":%" PRId32, record->pid);
        break;
    default:
        break;
    }
    putchar('}');
}

static void print_fdr_function_text(struct dump *dump, const struct fdr_record *record)
{
    const char *name = function_name(&dump->program, record->function);
    printf("%-9s #%" PRIu32, fdr_action_name(record->action), record->function);
    if (name != NULL) {
        putchar(' ');
        json_print_string(name,
                          strlen(name)); // quoted, because a name may contain anything
    }
    printf(" +%" PRId64, record->delta);
}

static void print_event_text(const struct fdr_record *record)
{
    if (record->kind == FDR_TYPED_EVENT)
        printf("type %u, ", record->type);
    printf("tsc %" PRIu64 ", %" PRIu64 " bytes ", record->tsc, record->size);
    print_fdr_hex(record);
}

static void print_record_text(struct dump *dump, const struct fdr_record *record)
{
    printf("%8zu  %-14s ", record->offset, fdr_kind_name(record->kind));
    switch (record->kind) {
    case FDR_NEW_BUFFER:
        printf("thread %" PRId32, record->tid);
        break;
    case FDR_FUNCTION:
        print_fdr_function_text(dump, record);
        break;
    case FDR_CUSTOM_EVENT:
    case FDR_TYPED_EVENT:
        print_event_text(record);
        break;
    case FDR_NEW_CPU:
        printf("cpu %u, tsc %" PRIu64, record->cpu, record->tsc);
        break;
    case FDR_TSC_WRAP:
        printf("tsc %" PRIu64, record->tsc);
        break;
    case FDR_WALL_CLOCK:
        printf("%" PRIu64 ".%06" PRIu32 " s", record->seconds, record->microseconds);
        break;
    case FDR_CALL_ARGUMENT:
        printf("0x%" PRIx64, record->argument);
        break;
    case FDR_BUFFER_EXTENTS:
        printf("%" PRIu64 " bytes", record->size);
        break;
    case FDR_PID:
        printf("process %" PRId32, record->pid);
        break;
    default:
        break;
    }
    putchar('\n');
}

// note_problem stores a problem that the reader found, for the end of the listing.
static void note_problem(struct dump *dump, const struct fdr_problem *problem)
{
    if (dump->worst.status == CH_OK && !problem->harmless)
        dump->worst = *problem;
    if (dump->problem_count++ >= PROBLEMS_MAX)
        return;
    if (!dump->json) {
        printf("%8zu  (%s)\n", problem->offset, problem->what);
        return;
    }
    text_appendf(&dump->problems,
                 "%s{\"offset\":%zu,\"status\":\"%s\",\"message\":\"%s\"}",
                 dump->problems.size != 0 ? ",\n " : "\n ", problem->offset,
                 ch_status_name(problem->status), problem->what);
}

static void print_fdr_header(const struct dump *dump)
{
    const struct fdr_header *header = &dump->reader.header;
    if (dump->json) {
        printf("{\"version\":%u,\"big_endian\":%s,\"cycles_per_second\":%" PRIu64
               ",\"constant_tsc\":%s,\"nonstop_tsc\":%s,\"buffer_size\":%" PRIu64
               ",\"records\":[",
               header->version, header->big_endian ? "true" : "false",
               header->cycles_per_second, header->constant_tsc ? "true" : "false",
               header->nonstop_tsc ? "true" : "false", header->buffer_size);
        return;
    }
    printf("XRay flight data recorder trace, version %u, %s; %" PRIu64
           " cycles a second%s%s\n",
           header->version, header->big_endian ? "big-endian" : "little-endian",
           header->cycles_per_second, header->constant_tsc ? ", constant" : "",
           header->nonstop_tsc ? ", nonstop" : "");
}

static void print_fdr_end(const struct dump *dump)
{
    if (!dump->json)
        return;
    const char *problems = dump->problems.size != 0 ? dump->problems.bytes : "";
    printf("%s],\"problems\":[%s],\"complete\":%s}\n",
           dump->record_count != 0 ? "\n" : "", problems,
           dump->worst.status == CH_OK ? "true" : "false");
}

// refuse_trace notes that the file is not a trace, or has an unknown version.
static void refuse_trace(struct dump *dump, enum ch_status status)
{
    struct fdr_problem problem = { .status = status };
    problem.what = status == CH_ERR_TRUNCATED
                       ? "the input ends inside the header"
                       : "a version or type of trace that is not known";
    print_fdr_header(dump);
    note_problem(dump, &problem);
}

static void print_records(struct dump *dump)
{
    struct fdr_record record;
    enum ch_status status;
    print_fdr_header(dump);
    while ((status = fdr_next_record(&dump->reader, &record)) != CH_END) {
        if (status != CH_OK) {
            note_problem(dump, &dump->reader.problem);
            continue;
        }
        if (dump->json)
            print_record_json(dump, &record);
        else
            print_record_text(dump, &record);
        dump->record_count++;
    }
}

static int run_fdr_dump(const struct options *options)
{
    const char *path = options->arguments[0];
    const char *program = options_value(options, "functions");
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    CH_CLEANUP(dump_deinit)
    struct dump dump = { .json = options_given(options, "json") };
    if (command_read_file(path, &data) != CH_OK)
        return COMMAND_FAILED;
    if (program != NULL && open_program(&dump.program, program) != CH_OK)
        return COMMAND_FAILED;

    enum ch_status status = fdr_reader_init(&dump.reader, data.bytes, data.size);
    if (status != CH_OK)
        refuse_trace(&dump, status);
    else
        print_records(&dump);
    print_fdr_end(&dump);
    if (dump.worst.status == CH_OK)
        return COMMAND_DONE;
    return command_fail("'%s' is %s at offset %zu: %s", path,
                        ch_status_name(dump.worst.status), dump.worst.offset,
                        dump.worst.what);
}

static const struct option dump_options[] = {
    { "json", NULL, "print JSON", 0 },
    { "functions", "ELF", "the program that wrote the trace, for names", 0 },
    { 0 },
};

const struct command fdr_dump_command = {
    .name = "fdr dump",
    .arguments = "FILE",
    .summary = "Print the records of an XRay flight data recorder trace",
    .options = dump_options,
    .run = run_fdr_dump,
    .arguments_min = 1,
    .arguments_max = 1,
};
