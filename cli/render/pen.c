// SPDX-License-Identifier: Apache-2.0
#include "cli/render/pen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

static int pager_terminal = -1; // where the pager writes; -1: there is none
static pid_t pager_process;

// has_less looks for less in PATH: without it output goes straight to the terminal.
static bool has_less(void)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != 0) {
        char file[PATH_MAX];
        size_t length = strcspn(path, ":");
        int size = snprintf(file, sizeof(file), "%.*s/less", (int)length, path);
        if (size > 0 && (size_t)size < sizeof(file) && access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

// wanted_pager is the command to run, or NULL.
static const char *wanted_pager(void)
{
    const char *pager = getenv("PAGER");
    const char *term = getenv("TERM");
    if (isatty(STDOUT_FILENO) == 0 || term == NULL || strcmp(term, "dumb") == 0)
        return NULL;
    if (pager != NULL)
        return pager[0] != 0 && strcmp(pager, "cat") != 0 ? pager : NULL;
    return has_less() ? "less" : NULL;
}

static void end_pager(void)
{
    int status = 0;
    (void)fflush(stdout);
    (void)dup2(pager_terminal,
               STDOUT_FILENO); // closes the pipe: the pager sees its end
    while (waitpid(pager_process, &status, 0) < 0 && errno == EINTR)
        ;
}

static void run_pager(const char *pager, const int pipe_fds[2])
{
    (void)dup2(pipe_fds[0], STDIN_FILENO);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    (void)setenv("LESS", "FRX", 0);
    (void)execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(127);
}

void pager_begin(void)
{
    int pipe_fds[2];
    const char *pager = wanted_pager();
    int terminal = pager != NULL ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    if (terminal < 0 || pipe(pipe_fds) != 0)
        return;
    (void)fflush(stdout);
    pager_process = fork();
    if (pager_process == 0)
        run_pager(pager, pipe_fds);
    (void)close(pipe_fds[0]);
    if (pager_process > 0) {
        pager_terminal = terminal;
        (void)dup2(pipe_fds[1], STDOUT_FILENO);
        // Who leaves the pager early has seen enough.
        (void)signal(SIGPIPE, SIG_DFL);
        (void)atexit(end_pager);
    }
    (void)close(pipe_fds[1]);
}

int pager_descriptor(FILE *to)
{
    return to == stdout && pager_terminal >= 0 ? pager_terminal : fileno(to);
}

void pen_set(const struct pen *pen, enum pen_colour colour)
{
    static const char *const codes[] = {
        [PEN_PLAIN] = "\033[0m",     [PEN_BOLD] = "\033[0;1m",
        [PEN_DIM] = "\033[0;2m",     [PEN_ALARM] = "\033[0;1;31m",
        [PEN_NAME] = "\033[0;1;36m", [PEN_PLACE] = "\033[0;33m",
    };
    if (pen->colour)
        fputs(codes[colour], pen->to);
}

void pen_plain(const struct pen *pen, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(pen->to, format, arguments);
    va_end(arguments);
}

// decode_character decodes one character of UTF-8 and returns its number of bytes; an
// invalid byte counts as one character above Unicode's range.
static size_t decode_character(const char *text, size_t left, uint32_t *out)
{
    size_t size = utf8_decode(text, left < 4 ? left : 4, out);
    if (size == 0)
        *out = UINT32_MAX;
    return size != 0 ? size : 1;
}

// steers is true for a character that affects a terminal, or the order of a line, in
// any other way than by its own glyph.
static bool steers(uint32_t character)
{
    static const struct {
        uint32_t first;
        uint32_t last;
        // Controls; the Arabic letter mark; zero-width characters and direction marks;
        // separators, bidirectional embeddings and overrides; invisible operators and
        // isolates; the byte order mark; interlinear annotations; tags; invalid bytes.
    } ranges[] = {
        { 0x00, 0x1f },           { 0x7f, 0x9f },     { 0x61c, 0x61c },
        { 0x200b, 0x200f },       { 0x2028, 0x202e }, { 0x2060, 0x206f },
        { 0xfeff, 0xfeff },       { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
        { 0x110000, UINT32_MAX },
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    }
    return false;
}

// is_plain_text returns true if all bytes of a text are printable ASCII characters, as
// of most names: a few instructions for each PART of it. The last part may overlap the
// one before it.
static bool is_plain_text(const char *text, size_t size)
{
    enum { PART = 16 };
    int8_t __attribute__((vector_size(PART))) unlike = { 0 };
    int8_t __attribute__((vector_size(PART))) part;
    if (size < PART)
        return false; // not known
    for (size_t at = 0; at < size - PART; at += PART) {
        memcpy(&part, text + at, PART);
        unlike |= (part < 0x20) | (part == 0x7f); // from 0x80 on they are negative
    }
    memcpy(&part, text + size - PART, PART);
    unlike |= (part < 0x20) | (part == 0x7f);
    uint64_t words[PART / sizeof(uint64_t)];
    memcpy(words, &unlike, sizeof(words));
    return (words[0] | words[1]) == 0;
}

// unlike_plain has a bit set where eight bytes are not all printable ASCII characters.
static inline uint64_t unlike_plain(const char *text)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    uint64_t low = (word - each * 0x20) & ~word; // below 0x20
    uint64_t high = word | (word + each);        // 0x7f and above
    return (low | high) & each * 0x80;
}

// plain_length is the number of printable ASCII characters that text begins with: they
// are most of all that is printed, and are copied together.
static size_t plain_length(const char *text, size_t size)
{
    size_t length = is_plain_text(text, size) ? size : 0;
    while (size - length >= sizeof(uint64_t) && unlike_plain(text + length) == 0)
        length += sizeof(uint64_t);
    while (length < size && text[length] >= 0x20 && text[length] < 0x7f)
        length++;
    return length;
}

static void pen_escape_bytes(const char *text, size_t left, struct text *out)
{
    while (left != 0) {
        uint32_t character;
        size_t plain = plain_length(text, left);
        text_append(out, text, plain);
        text += plain;
        left -= plain;
        if (left == 0)
            return;
        size_t size = decode_character(text, left, &character);
        if (!steers(character))
            text_append(out, text, size);
        else if (character == '\n')
            text_append_string(out, "\\n");
        else if (character == '\t')
            text_append_string(out, " ");
        else if (character == UINT32_MAX || character < 0x80)
            text_appendf(out, "\\x%02x", (unsigned char)*text);
        else
            text_appendf(out, "\\u{%x}", character);
        text += size;
        left -= size;
    }
}

void pen_escape(const char *text, struct text *out)
{
    pen_escape_bytes(text, strlen(text), out);
}

void pen_lines(const struct pen *pen, const char *text, int lines_max)
{
    char *copy = text != NULL ? strdup(text) : NULL;
    char *rest = copy;
    for (int i = 0; rest != NULL && i < lines_max; i++) {
        const char *line = strsep(&rest, "\n");
        if (*line == 0 && rest == NULL)
            break;
        pen_plain(pen, "  ");
        pen_text(pen, line);
        pen_plain(pen, "\n");
    }
    free(copy);
}

void pen_bytes(const struct pen *pen, const char *bytes, size_t size)
{
    struct text CH_CLEANUP(text_deinit) escaped = { 0 };
    if (plain_length(bytes, size) == size) {
        fwrite(bytes, 1, size, pen->to);
        return;
    }
    pen_escape_bytes(bytes, size, &escaped);
    fwrite(escaped.bytes != NULL ? escaped.bytes : "", 1, escaped.size, pen->to);
}

void pen_text(const struct pen *pen, const char *text)
{
    if (text != NULL)
        pen_bytes(pen, text, strlen(text));
}

size_t pen_columns(const char *text)
{
    size_t columns = 0;
    for (; *text != 0; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

enum { SILENT_MS = 1000, BETWEEN_MS = 100, LARGE_BYTES = 1 << 20 };

int64_t progress_now_ms(void)
{
    return (int64_t)clock_now_ms(CLOCK_MONOTONIC);
}

void progress_init(struct progress *progress)
{
    *progress = (struct progress){ .started_ms = progress_now_ms(),
                                   .terminal = isatty(STDERR_FILENO) != 0 };
}

void progress_show(struct progress *progress, const char *what, uint64_t done_bytes,
                   uint64_t size_bytes)
{
    int64_t now = progress_now_ms();
    bool news = done_bytes == 0 || now - progress->written_ms >= BETWEEN_MS;
    if (!progress->terminal || now - progress->started_ms < SILENT_MS || !news)
        return;
    fprintf(stderr, "\r\033[K%s", what);
    if (size_bytes >= LARGE_BYTES)
        fprintf(stderr, ", %.1f of %.1f MiB", (double)done_bytes / LARGE_BYTES,
                (double)size_bytes / LARGE_BYTES);
    progress->written_ms = now;
    progress->shown = true;
}

void progress_announce(struct progress *progress, const char *what)
{
    if (!progress->terminal)
        return;
    fprintf(stderr, "\r\033[K%s", what);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
