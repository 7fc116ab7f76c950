// SPDX-License-Identifier: Apache-2.0
#include "cli/session/exit_words.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "report/secrets/sanitize.h"
#include "report/summary/crash_kind.h"
#include "report/summary/panic_text.h"

enum { WORDS_MAX = 2000 };

// A runtime_words describes the last message of a runtime: the status of the exit (-1:
// any), how a line of it begins, and what must be in the same line.
static const struct runtime_words {
    enum crash_kind kind;
    int status;
    const char *begin;
    const char *with;
} runtimes[] = {
    { CRASH_KIND_PANIC, 101, "thread '", " panicked at " },
    { CRASH_KIND_PANIC, 2, "panic: ", "" },
    { CRASH_KIND_FATAL_EXIT, 2, "fatal error: ", "" }, // Go's
    { CRASH_KIND_FATAL_EXIT, 2, "runtime: ", "" },
    { CRASH_KIND_SANITIZER, -1, "==", "ERROR: " }, // ==PID==ERROR: ...
    { CRASH_KIND_SANITIZER, 66, "WARNING: ThreadSanitizer: ", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "Traceback (most recent call last):", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "Uncaught ", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, -1, "terminate called ", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "raised ", " : " },              // Ada's
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "Exception in thread \"", "" },  // Java's
    { CRASH_KIND_UNCAUGHT_EXCEPTION, -1, "Unhandled exception. ", "" },  // .NET's
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 2, "Fatal error: exception ", "" }, // OCaml's
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "core.exception.", "@" },        // D's
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "object.", "@" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "Error: unhandled exception: ", "" }, // Nim's
    // Pascal's, and Haskell's from GHC 9.10 on and before.
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 217, "An unhandled exception occurred at $", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "", ": Uncaught exception " },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "CallStack (from HasCallStack):", "" },
    { CRASH_KIND_FATAL_EXIT, -1, "Runtime error ", " at $" },
    { CRASH_KIND_FATAL_EXIT, 2, "Fortran runtime error: ", "" },
    { CRASH_KIND_FATAL_EXIT, -1, "ERROR STOP", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 255, "PHP Fatal error: ", "" },
    { CRASH_KIND_UNCAUGHT_EXCEPTION, 1, "** (", "Error) " }, // Elixir's
};

static const struct runtime_words *words_of_line(const char *line, size_t size,
                                                 int exit_status)
{
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        const struct runtime_words *words = &runtimes[i];
        size_t length = strlen(words->begin);
        if (size >= length && memcmp(line, words->begin, length) == 0 &&
            (words->status < 0 || words->status == exit_status) &&
            memmem(line, size, words->with, strlen(words->with)) != NULL)
            return words;
    }
    return NULL;
}

// is_undefined is how UBSan begins what it says: FILE:LINE:COLUMN: runtime error: ...
static bool is_undefined(const char *line, size_t size)
{
    static const char mark[] = ": runtime error: ";
    return memmem(line, size, mark, sizeof(mark) - 1) != NULL;
}

// is_of_perl is how Perl ends what `die` says, and is_of_ruby how Ruby begins and ends
// an exception that nobody caught: TEXT at FILE line NUMBER. and FILE:LINE:in `NAME':
// TEXT (TYPE).
static bool is_of_perl(const char *line, size_t size, int exit_status)
{
    static const char mark[] = " line ";
    const char *at = memmem(line, size, " at ", 4);
    size_t left = at != NULL ? size - (size_t)(at - line) : 0;
    const char *number = left != 0 ? memmem(at, left, mark, sizeof(mark) - 1) : NULL;
    if (number == NULL || exit_status != 255)
        return false;
    number += sizeof(mark) - 1;
    return number + strspn(number, "0123456789") + 1 == line + size &&
           line[size - 1] == '.';
}

static bool is_of_ruby(const char *line, size_t size, int exit_status)
{
    return exit_status == 1 && size != 0 && line[size - 1] == ')' &&
           (memmem(line, size, ":in `", 5) != NULL ||
            memmem(line, size, ":in '", 5) != NULL) &&
           memmem(line, size, "': ", 3) != NULL;
}

// is_of_zig is how Zig ends an error that main returned: error: NAME, and a trace of
// which each place is FILE.zig:LINE:COLUMN: ADDRESS in FUNCTION.
static bool is_of_zig(const char *line, size_t size, int exit_status)
{
    static const char mark[] = "error: ";
    size_t begin = sizeof(mark) - 1;
    if (exit_status != 1 || size <= begin || memcmp(line, mark, begin) != 0 ||
        line[size] != '\n')
        return false;
    const char *next = line + size + 1;
    const char *place = memmem(next, strcspn(next, "\n"), ".zig:", strlen(".zig:"));
    return memchr(line + begin, ' ', size - begin) == NULL && place != NULL &&
           memmem(place, strcspn(place, "\n"), ": 0x", 4) != NULL;
}

// kind_of_line is the kind of the end that the line reports.
static enum crash_kind kind_of_line(const char *line, size_t size, int exit_status)
{
    const struct runtime_words *words = words_of_line(line, size, exit_status);
    if (words != NULL)
        return words->kind;
    if (is_undefined(line, size))
        return CRASH_KIND_SANITIZER;
    return is_of_perl(line, size, exit_status) || is_of_ruby(line, size, exit_status) ||
                   is_of_zig(line, size, exit_status)
               ? CRASH_KIND_UNCAUGHT_EXCEPTION
               : CRASH_KIND_NONE;
}

// words_size is where a message ends: before an empty line, or a stack. Haskell has an
// empty line after the type, and the stacks of Zig and Elixir begin in the next line.
static size_t words_size(const char *text)
{
    static const char *const lines[] = { "error: ", "** (" };
    static const char uncaught[] = ": Uncaught exception ";
    static const char *const ends[] = { "\n\n",
                                        "\nnote: run with `RUST_BACKTRACE",
                                        "\nstack backtrace:",
                                        "\n\tat ",
                                        "\n   at ",
                                        "\nstack traceback:",
                                        "\nHasCallStack backtrace:",
                                        "\nCallStack (from HasCallStack):",
                                        "\n\tfrom " };
    size_t first = strcspn(text, "\n");
    bool typed = first != 0 && text[first - 1] == ':' &&
                 memmem(text, first, uncaught, sizeof(uncaught) - 1) != NULL;
    size_t size = strlen(text);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (strncmp(text, lines[i], strlen(lines[i])) == 0)
            size = first;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const char *end = strstr(typed ? text + first + 2 : text, ends[i]);
        if (end != NULL && (size_t)(end - text) < size)
            size = (size_t)(end - text);
    }
    while (size != 0 && text[size - 1] == '\n')
        size--;
    return size < WORDS_MAX ? size : WORDS_MAX;
}

// last_line is the last line of text: of a Python traceback the exception.
static const char *last_line(const char *text)
{
    const char *last = text;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        if (at[1] != 0 && at[1] != '\n')
            last = at + 1;
    }
    return last;
}

void last_words_find(const char *text, int exit_status, struct last_words *out)
{
    static const char haskell[] = "CallStack (from HasCallStack):";
    const char *before = text; // the line before
    *out = (struct last_words){ 0 };
    for (const char *line = text; *line != 0;) {
        size_t size = strcspn(line, "\n");
        enum crash_kind kind = kind_of_line(line, size, exit_status);
        if (kind != CRASH_KIND_NONE) {
            out->kind = kind;
            out->text =
                strncmp(line, haskell, sizeof(haskell) - 1) == 0 ? before : line;
        }
        before = line;
        line += size + (line[size] == '\n');
    }
    if (out->text != NULL && strncmp(out->text, "Traceback", strlen("Traceback")) == 0)
        out->text = last_line(out->text);
    if (out->text != NULL)
        out->size = words_size(out->text);
}

enum { WORDS_BYTES_MAX = 64 << 10, WORDS_STATUS_MAX = 255 };

static const char words_first_line[] = "crashhook words 1\n";

// A words_key is one line of the head.
static const struct words_key {
    const char *name;
    size_t at; // of the member: a string
} words_keys[] = {
    { "message", offsetof(struct exit_words, message) },
    { "executable", offsetof(struct exit_words, executable) },
    { "home", offsetof(struct exit_words, home) },
    { "release", offsetof(struct exit_words, release) },
    { "environment", offsetof(struct exit_words, environment) },
    { "tags", offsetof(struct exit_words, tags) },
    { "kills", offsetof(struct exit_words, kills) },
    { "type", offsetof(struct exit_words, type) },
    { "language", offsetof(struct exit_words, language) },
};

// words_number reads a number of the head; other text is as if it were not there.
static int64_t words_number(const char *text, int64_t most, int64_t otherwise)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return *text != 0 && *end == 0 && value >= 0 && value <= most ? value : otherwise;
}

static void take_words_value(struct exit_words *words, const char *name, char *value)
{
    for (size_t i = 0; i < sizeof(words_keys) / sizeof(words_keys[0]); i++) {
        if (strcmp(name, words_keys[i].name) == 0 && value[0] != 0)
            memcpy((char *)words + words_keys[i].at, &value, sizeof(value));
    }
    if (strcmp(name, "frame") == 0 && value[0] != 0 &&
        words->frame_count < EXIT_WORDS_FRAMES)
        words->frames[words->frame_count++] = value;
    if (strcmp(name, "kind") == 0)
        words->kind = crash_kind_of(value);
    if (strcmp(name, "pid") == 0)
        words->pid = words_number(value, INT32_MAX, 0);
    if (strcmp(name, "status") == 0)
        words->status = words_number(value, WORDS_STATUS_MAX, -1);
}

// read_words_head reads `NAME: VALUE` lines up to an empty one, and returns what
// follows.
static char *read_words_head(struct exit_words *words, char *line)
{
    while (*line != 0 && *line != '\n') {
        char *end = line + strcspn(line, "\n");
        char *next = end + (*end != 0);
        *end = 0;
        char *value = strstr(line, ": ");
        if (value != NULL) {
            *value = 0;
            take_words_value(words, line, value + strlen(": "));
        }
        line = next;
    }
    return line + (*line == '\n');
}

// keep_words_apart replaces what would end the text early.
static void keep_words_apart(struct text *bytes)
{
    for (size_t i = 0; i < bytes->size; i++) {
        if (bytes->bytes[i] == 0)
            bytes->bytes[i] = ' ';
    }
}

// judge_words finds kind and message where the head did not give them.
static void judge_words(struct exit_words *words)
{
    enum crash_kind kind = words->kind;
    struct last_words found;
    last_words_find(words->said, (int)words->status, &found);
    if (kind != CRASH_KIND_PANIC && kind != CRASH_KIND_FATAL_EXIT &&
        kind != CRASH_KIND_UNCAUGHT_EXCEPTION)
        words->kind =
            found.kind != CRASH_KIND_NONE ? found.kind : CRASH_KIND_FATAL_EXIT;
    // Go writes its first line of a fatal error to standard error alone.
    const char *line = words->said + strspn(words->said, "\n");
    if (words->message == NULL && found.text != NULL)
        text_append(&words->found, found.text, found.size);
    else if (words->message == NULL)
        text_append(&words->found, line, strcspn(line, "\n"));
    if (words->found.size != 0 && text_ok(&words->found))
        words->message = words->found.bytes;
}

enum ch_status exit_words_read(int fd, struct exit_words *out)
{
    struct exit_words words = { .status = -1 };
    enum ch_status status = text_read(&words.bytes, fd, WORDS_BYTES_MAX);
    if (status == CH_ERR_LIMIT)
        status = CH_OK;
    if (status == CH_OK && !text_ok(&words.bytes))
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK &&
        (words.bytes.size < strlen(words_first_line) ||
         memcmp(words.bytes.bytes, words_first_line, strlen(words_first_line)) != 0))
        status = CH_ERR_MALFORMED;
    if (status != CH_OK) {
        exit_words_deinit(&words);
        return status;
    }
    keep_words_apart(&words.bytes);
    words.said = read_words_head(&words, words.bytes.bytes + strlen(words_first_line));
    judge_words(&words);
    *out = words;
    return CH_OK;
}

// frame_of_words is the frame of `FUNCTION at FILE:LINE`, or of a function alone. One
// that an interpreter ran is marked so: its name is taken as it is written.
static json_t *frame_of_words(const struct exit_words *words, const char *home,
                              const char *line)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    static const char *const interpreted[] = { "python", "javascript" };
    const char *file = strstr(line, " at ");
    const char *colon = file != NULL ? strrchr(file, ':') : NULL;
    size_t name = file != NULL ? (size_t)(file - line) : strlen(line);
    json_t *frame = json_pack("{s:s, s:s%}", "kind", "ra", "function", line, name);
    if (frame == NULL)
        return NULL;
    if (colon != NULL) {
        struct text CH_CLEANUP(text_deinit) given = { 0 };
        file += strlen(" at ");
        text_append(&given, file, (size_t)(colon - file));
        if (text_ok(&given) && given.size != 0)
            sanitize_path(given.bytes, home, &path);
        (void)json_object_set_new(frame, "file", json_string(path.bytes));
        (void)json_object_set_new(frame, "line",
                                  json_integer(words_number(colon + 1, INT32_MAX, 0)));
    }
    for (size_t i = 0; i < sizeof(interpreted) / sizeof(interpreted[0]); i++) {
        if (words->language == NULL || strcmp(words->language, interpreted[i]) != 0)
            continue;
        (void)json_object_set_new(frame, "language", json_string(words->language));
        (void)json_object_set_new(frame, "source", json_string("interpreter"));
        (void)json_object_set_new(frame, "inline", json_true());
    }
    return frame;
}

void exit_words_add(const struct exit_words *words, const char *home, json_t *report)
{
    json_t *crash = json_object_get(report, "crash");
    if (words->type == NULL || !json_is_object(crash))
        return;
    const char *what = json_string_value(json_object_get(crash, "message"));
    size_t size = strlen(words->type);
    what = what != NULL ? what : "";
    if (strncmp(what, words->type, size) == 0)
        what += size + 2 * (strncmp(what + size, ": ", 2) == 0);
    size = strlen(what);
    if (words->kind == CRASH_KIND_PANIC)
        what = panic_text(what, &size);
    json_t *exception = json_pack("{s:s, s:s%, s:[]}", "type", words->type, "what",
                                  what, size, "stack");
    json_t *stack = json_object_get(exception, "stack");
    for (size_t i = 0; i < words->frame_count; i++)
        (void)json_array_append_new(stack,
                                    frame_of_words(words, home, words->frames[i]));
    if (json_array_size(stack) == 0)
        (void)json_object_del(exception, "stack");
    (void)json_object_set_new(crash, "exception", exception);
}

void exit_words_deinit(struct exit_words *words)
{
    text_deinit(&words->bytes);
    text_deinit(&words->found);
    *words = (struct exit_words){ 0 };
}

// map_ring maps the ring of a descriptor; NULL: it is none.
static void *map_ring(int fd, int protection)
{
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size != (off_t)sizeof(struct stderr_ring))
        return NULL;
    void *ring = mmap(NULL, sizeof(struct stderr_ring), protection, MAP_SHARED, fd, 0);
    return ring != MAP_FAILED ? ring : NULL;
}

struct stderr_ring *stderr_ring_create(void)
{
    char name[64];
    // The descriptor stays open: that is how others reach the ring.
    int fd = memfd_create("crashhook-stderr", MFD_CLOEXEC);
    void *ring = fd >= 0 && ftruncate(fd, sizeof(struct stderr_ring)) == 0
                     ? map_ring(fd, PROT_READ | PROT_WRITE)
                     : NULL;
    (void)snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), fd);
    if (ring != NULL && setenv(STDERR_RING_VARIABLE, name, 1) == 0)
        return ring;
    file_close(&fd);
    return NULL;
}

const struct stderr_ring *stderr_ring_open(void)
{
    const char *name = getenv(STDERR_RING_VARIABLE);
    CH_CLEANUP(file_close)
    int fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    return map_ring(fd, PROT_READ);
}

void stderr_ring_keep(struct stderr_ring *ring, const char *bytes, size_t size)
{
    size_t at = (size_t)(ring->written % STDERR_RING_BYTES);
    size_t first = size < STDERR_RING_BYTES - at ? size : STDERR_RING_BYTES - at;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, size - first);
    __atomic_store_n(&ring->written, ring->written + size, __ATOMIC_RELEASE);
}

void stderr_ring_append(const struct stderr_ring *ring, size_t most, struct text *out)
{
    uint64_t end = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
    most = most < STDERR_RING_BYTES ? most : STDERR_RING_BYTES;
    for (uint64_t at = end > most ? end - most : 0; at < end; at++)
        text_append(out, &ring->bytes[at % STDERR_RING_BYTES], 1);
}
