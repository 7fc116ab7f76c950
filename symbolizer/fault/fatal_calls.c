// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"
#include "symbolizer/fault/argument_trace.h"
#include "symbolizer/fault/fault.h"
#include "symbolizer/search/debug_search.h"

enum { FATAL_TEXT_MAX = 1024 };

// A fatal_call is a function that ends the program, and the numbers of its arguments.
// One that has a place and no format is a check, whose text is what was false.
struct fatal_call {
    const char *name; // whole, or from a scope on to the parenthesis
    int text;
    int file;       // of the place, if it has one
    int line;       // 0: it has none
    bool format;    // the text is one
    bool bytes;     // it is no text, but how many could not be allocated
    bool go;        // it is a string of Go
    uint8_t member; // a line of a log is where this member of the argument leads,
    uint8_t within; // so far in there
};

static const struct fatal_call fatal_calls[] = {
    { .name = "QMessageLogger::fatal(", .text = 1, .format = true },
    { .name = "qt_assert(", .text = 0, .file = 1, .line = 2 },
    { .name = "qt_assert_x(", .text = 1, .file = 2, .line = 3 },
    { .name = "g_assertion_message_expr", .text = 4, .file = 1, .line = 2 },
    { .name = "g_assertion_message_cmpnum", .text = 4, .file = 1, .line = 2 },
    { .name = "g_assertion_message_cmpstr", .text = 4, .file = 1, .line = 2 },
    { .name = "g_assertion_message_error", .text = 4, .file = 1, .line = 2 },
    { .name = "g_assertion_message", .text = 4, .file = 1, .line = 2 },
    { .name = "g_log", .text = 2, .format = true },
    { .name = "g_log_structured_standard", .text = 5, .format = true },
    { .name = "g_return_if_fail_warning", .text = 2 },
    { .name = "OPENSSL_die", .text = 0, .file = 1, .line = 2 },
    { .name = "std::__glibcxx_assert_fail(", .text = 3, .file = 0, .line = 1 },
    { .name = "__libcpp_verbose_abort(", .text = 0, .format = true },
    { .name = "_Py_FatalErrorFunc", .text = 1 },
    { .name = "raw_logging_internal::RawLog(",
      .text = 3,
      .file = 1,
      .line = 2,
      .format = true },
    { .name = "boost::assertion_failed(", .text = 0, .file = 2, .line = 3 },
    { .name = "boost::assertion_failed_msg(", .text = 1, .file = 3, .line = 4 },
    { .name = "google::LogMessageFatal::~LogMessageFatal(",
      .text = 0,
      .member = 8,
      .within = 4 },
    { .name = "alloc::alloc::handle_alloc_error", .bytes = true },
    { .name = "runtime.throw", .go = true },
    { .name = "runtime.fatal", .go = true },
};

static const struct fatal_call *fatal_call_of(const char *function)
{
    for (size_t i = 0; i < sizeof(fatal_calls) / sizeof(fatal_calls[0]); i++) {
        const char *name = fatal_calls[i].name;
        bool scoped = name[strlen(name) - 1] == '(';
        const char *at = scoped ? strstr(function, name) : NULL;
        if (scoped ? at != NULL && (at == function || at[-1] == ':')
                   : strcmp(function, name) == 0)
            return &fatal_calls[i];
    }
    return NULL;
}

// fatal_argument gives what the caller passed as an argument of that number.
static bool fatal_argument(struct argument_trace *trace, size_t caller, int number,
                           uint64_t *out)
{
    const struct argument_machine *machine = argument_machine_of(trace->stack->arch);
    return machine != NULL && number < machine->argument_count &&
           argument_trace_value(trace, caller, machine->arguments[number], out);
}

// fatal_text reads a line of text.
static bool fatal_text(const struct argument_stack *stack, uint64_t address,
                       char out[static FATAL_TEXT_MAX])
{
    size_t length = 0;
    while (length + 1 < FATAL_TEXT_MAX &&
           memory_read(stack->memory, address + length, out + length, 1) == CH_OK &&
           out[length] != 0 && out[length] != '\n')
        length++;
    out[length] = 0;
    return length != 0;
}

// append_filled appends a format with the texts and numbers that follow it in
// registers, as far as these are known and are passed as such.
static void append_filled(struct argument_trace *trace, size_t caller, int value,
                          const char *format, struct text *out)
{
    for (const char *at = format; *at != 0; at++) {
        char text[FATAL_TEXT_MAX];
        uint64_t passed;
        bool is_text = strncmp(at, "%s", 2) == 0;
        bool is_number = strncmp(at, "%d", 2) == 0;
        if (at[0] != '%' || at[1] == '%') {
            text_append(out, at, 1);
            at += at[0] == '%';
            continue;
        }
        if (!is_text && !is_number) {
            text_append_string(out, at);
            return;
        }
        if (!fatal_argument(trace, caller, value++, &passed) ||
            (is_text && !fatal_text(trace->stack, passed, text)))
            text_append(out, at, 2);
        else if (is_text)
            text_append_string(out, text);
        else
            text_appendf(out, "%d", (int)passed);
        at++;
    }
}

// append_logged appends a line of a log: its place, after level, time and thread, and
// what was logged.
static void append_logged(const char *line, struct text *out)
{
    const char *end = strstr(line, "] ");
    const char *place = end;
    while (place != NULL && place > line && place[-1] != ' ')
        place--;
    if (end == NULL)
        text_append_string(out, line);
    else
        text_appendf(out, "%.*s: %s", (int)(end - place), place, end + 2);
}

// append_check appends a check that failed, as the C libraries word an assertion. file
// is NULL if the place is not known.
static void append_check(const char *expression, const char *file, uint64_t line,
                         struct text *out)
{
    static const char begin[] = "assertion failed: "; // OpenSSL's
    size_t begun = strncmp(expression, begin, sizeof(begin) - 1) == 0;
    text_appendf(out, "Assertion failed: %s", expression + begun * (sizeof(begin) - 1));
    if (file != NULL)
        text_appendf(out, " (%s: %u)", file, (unsigned)line);
}

// append_go appends a string of Go, which is passed in rax and rbx.
static void append_go(struct argument_trace *trace, size_t caller, struct text *out)
{
    enum { RAX = 0, RBX = 3 };
    char text[FATAL_TEXT_MAX];
    uint64_t at;
    uint64_t size;
    if (trace->stack->arch->id == UNWIND_ARCH_AMD64 &&
        argument_trace_value(trace, caller, RAX, &at) &&
        argument_trace_value(trace, caller, RBX, &size) && size < FATAL_TEXT_MAX &&
        fatal_text(trace->stack, at, text))
        text_appendf(out, "fatal error: %.*s", (int)size, text);
}

// fatal_append appends the message of a call: FILE:LINE: TEXT, or that of a check.
static void fatal_append(struct argument_trace *trace, size_t caller,
                         const struct fatal_call *call, struct text *out)
{
    const struct argument_stack *stack = trace->stack;
    char text[FATAL_TEXT_MAX];
    char file[FATAL_TEXT_MAX];
    uint64_t at;
    uint64_t place;
    uint64_t line = 0;
    if (!fatal_argument(trace, caller, call->text, &at) ||
        (call->member != 0 &&
         memory_read_word(stack->memory, at + call->member, &at) != CH_OK) ||
        !fatal_text(stack, at + call->within, text))
        return;
    bool placed = call->line != 0 &&
                  fatal_argument(trace, caller, call->file, &place) &&
                  fatal_argument(trace, caller, call->line, &line) &&
                  fatal_text(stack, place, file);
    bool check = call->line != 0 && !call->format;
    if (placed && !check)
        text_appendf(out, "%s:%u: ", file, (unsigned)line);
    if (check)
        append_check(text, placed ? file : NULL, line, out);
    else if (call->member != 0)
        append_logged(text, out);
    else if (call->format)
        append_filled(trace, caller, call->text + 1, text, out);
    else
        text_append_string(out, text);
}

static bool is_alignment(uint64_t value)
{
    const uint64_t most = 1u << 29; // of a type of Rust
    return value != 0 && (value & (value - 1)) == 0 && value <= most;
}

// fatal_bytes reads the size in a Layout of Rust, which is passed beside its alignment,
// before or after it by version. False: both may be the one or the other.
static bool fatal_bytes(struct argument_trace *trace, size_t caller, uint64_t *out)
{
    uint64_t first;
    uint64_t second;
    if (!fatal_argument(trace, caller, 0, &first) ||
        !fatal_argument(trace, caller, 1, &second) ||
        (is_alignment(first) == is_alignment(second) &&
         (first != second || !is_alignment(first))))
        return false;
    *out = is_alignment(first) ? second : first;
    return true;
}

// fatal_message makes the message of a call, masked.
static json_t *fatal_message(struct argument_trace *trace, size_t caller,
                             const struct fatal_call *call)
{
    const struct symbolizer_options *options = trace->stack->options;
    struct text CH_CLEANUP(text_deinit) message = { 0 };
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    uint64_t bytes;
    if (call->go)
        append_go(trace, caller, &message);
    else if (!call->bytes)
        fatal_append(trace, caller, call, &message);
    else if (fatal_bytes(trace, caller, &bytes))
        text_appendf(&message, "memory allocation of %" PRIu64 " bytes failed", bytes);
    else
        text_append_string(&message, "memory allocation failed");
    if (options->sanitize && text_ok(&message))
        sanitize_string(message.bytes, options->home, &masked);
    const struct text *shown = options->sanitize ? &masked : &message;
    return text_ok(shown) && shown->size != 0 ? json_string(shown->bytes) : NULL;
}

json_t *fatal_calls_find(const struct argument_stack *stack, const json_t *frames)
{
    json_t *message = NULL;
    struct argument_trace *trace = calloc(1, sizeof(*trace));
    if (trace == NULL)
        return NULL;
    trace->stack = stack;
    trace->frames = frames;
    // The outermost has what the program passed. Nothing is taken from outside of the
    // program's code that ran last: it may have ended the program for another reason.
    for (size_t i = 0; i + 1 < stack->count; i++) {
        const char *function = report_string(stack->calls[i].from, "function");
        const struct fatal_call *call =
            function != NULL ? fatal_call_of(function) : NULL;
        json_t *said = call != NULL ? fatal_message(trace, i + 1, call) : NULL;
        if (said != NULL) {
            json_decref(message);
            message = said;
        }
        if (call == NULL && !report_flag(stack->calls[i].from, "system"))
            break;
    }
    free(trace);
    return message;
}
