// SPDX-License-Identifier: Apache-2.0
//
// The second half of a crash: the process has exited, its raw report is in the spool,
// and we hold the report's lock. The agent becomes this command by exec; users do not
// call it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/bounded_write.h"
#include "base/system/confine.h"
#include "base/system/program_start.h"
#include "base/utf8.h"
#include "cli/render/render.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "cli/session/delivery.h"
#include "cli/session/exit_words.h"
#include "cli/session/session_spool.h"
#include "cli/session/surroundings.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"
#include "symbolizer/search/debug_search.h"

enum { HELD_IMAGES = 8 };

struct finish {
    struct session session;
    const char *id;
    int lock_fd;
    int log_fd; // negative: none
    json_t *report;
    struct symbolizer_held_image images[HELD_IMAGES];
    size_t image_count;
    const struct stderr_ring *ring; // what the program wrote; NULL: nobody kept it
    bool caches;                    // the files were read with our own rights
    bool over; // the spool exceeds its limits because of reports that others work on
};

// LEAST_UPLOAD_MS is reserved for the upload, however long everything before it took.
enum { LEAST_UPLOAD_MS = 1000 };

// SOON_MS: a terminal or reader that reads takes what we print within this time.
// PATIENCE_MS: one that reads nothing for this time never will.
enum { SOON_MS = 100, PATIENCE_MS = 2000 };

static void finish_deinit(struct finish *finish)
{
    // The process ends here. Taking the tree of a large report apart would copy each of
    // its pages, which the last child shares.
    if (CRASHHOOK_SANITIZED)
        json_decref(finish->report);
    if (finish->lock_fd >= 0)
        (void)close(finish->lock_fd);
    if (finish->log_fd > STDERR_FILENO)
        (void)close(finish->log_fd);
    session_deinit(&finish->session);
}

// finish_release lets others work on the report.
static void finish_release(struct finish *finish)
{
    if (finish->lock_fd >= 0)
        (void)close(finish->lock_fd);
    finish->lock_fd = -1;
}

static void log_finish_line(void *context, const char *line)
{
    const struct finish *finish = context;
    struct text CH_CLEANUP(text_deinit) whole = { 0 };
    if (finish->log_fd < 0)
        return;
    text_appendf(&whole, "crashhook: %s\n", line);
    if (text_ok(&whole))
        (void)bounded_write(finish->log_fd, whole.bytes, whole.size, SOON_MS);
}

static void log_failure(const struct finish *finish, const char *what, const char *why)
{
    char line[512];
    (void)snprintf(line, sizeof(line), "cannot %s report %s: %s", what, finish->id,
                   why);
    log_finish_line((void *)(uintptr_t)finish, line);
}

// parse_fd parses the number of a descriptor that was passed through exec.
static bool parse_fd(const char *text, int *out)
{
    char *end = NULL;
    long fd = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || fd <= STDERR_FILENO || fd > INT_MAX)
        return false;
    *out = (int)fd;
    return true;
}

static enum ch_status hold_report(struct finish *finish, const char *lock_fd)
{
    const struct spool *spool = &finish->session.spool;
    if (lock_fd == NULL)
        return spool_lock(spool, finish->id, &finish->lock_fd);
    if (!parse_fd(lock_fd, &finish->lock_fd)) {
        errno = EBADF;
        return CH_ERR_IO;
    }
    return spool_adopt(spool, finish->id, finish->lock_fd);
}

// map_held maps what the agent copied of the process, if it did. The mapping stays.
static void map_held(const char *held_fd, struct session_files *out)
{
    struct stat info;
    int fd;
    if (held_fd == NULL || !parse_fd(held_fd, &fd))
        return;
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
        size_t size = (size_t)info.st_size;
        void *held = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (held != MAP_FAILED) {
            out->held = held;
            out->held_size = size;
        }
    }
    (void)close(fd);
}

// expect_tree prepares the heap for the report in fd: for each of its bytes, names and
// values included, up to TREE_PER_BYTE are allocated here or in a child.
static void expect_tree(int fd)
{
    enum { TREE_PER_BYTE = 96 };
    struct stat file;
    if (fstat(fd, &file) == 0 && file.st_size > 0)
        large_heap_expect((size_t)file.st_size * TREE_PER_BYTE);
}

static enum ch_status read_raw_report(struct finish *finish)
{
    struct report_error error = { "" };
    int fd = -1;
    enum ch_status status = spool_read(&finish->session.spool, finish->id, &fd);
    if (status != CH_OK) {
        log_failure(finish, "read", spool_why(status));
        return status;
    }
    if (finish->report == NULL)
        expect_tree(fd);
    json_decref(finish->report);
    finish->report = NULL;
    status = report_read(fd, &finish->report, &error);
    (void)close(fd);
    if (status != CH_OK)
        log_failure(finish, "read", error.text);
    return status;
}

// note_write_time adds how long writing took, which the raw report could not contain.
static void note_write_time(json_t *report, const char *write_us)
{
    json_t *timings = json_object_get(json_object_get(report, "agent"), "timings_us");
    char *end = NULL;
    if (write_us == NULL || !json_is_object(timings))
        return;
    long long us = strtoll(write_us, &end, 10);
    if (*end == 0 && us >= 0)
        (void)json_object_set_new(timings, "write", json_integer(us));
}

// rewrite_report replaces the raw report by the one with names; on failure the raw
// report stays. CH_ERR_LIMIT: with names it is too large.
static enum ch_status rewrite_report(struct finish *finish)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    enum ch_status status = report_print_kept(finish->report, &json);
    if (status == CH_OK)
        status = spool_replace(&finish->session.spool, finish->id, json.bytes,
                               json.size, &finish->lock_fd);
    if (status != CH_OK)
        log_failure(finish, "rewrite",
                    status == CH_ERR_LIMIT ? "with names it is too large"
                                           : spool_why(status));
    return status;
}

static bool output_is_terminal(int fd)
{
    return isatty(fd) != 0;
}

// open_output gives the descriptor to print the report on; negative: none. A file is
// appended to, and in a folder each report has a file.
static int open_output(const struct finish *finish)
{
    const struct settings *settings = &finish->session.settings;
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct stat info;
    int fd = settings_output_fd(settings, output_is_terminal);
    if (fd >= 0 || settings->print == SETTING_NO || settings->output == NULL)
        return fd;
    text_append_string(&path, settings->output);
    if (stat(settings->output, &info) == 0 && S_ISDIR(info.st_mode))
        text_appendf(&path, "/%s.%s", finish->id,
                     settings->format == FORMAT_JSON ? "json" : "txt");
    fd = text_ok(&path) ? log_file_open(path.bytes) : -1;
    if (fd < 0)
        log_failure(finish, "print", strerror(errno));
    return fd;
}

// print_finished_as appends the report to out as people read it on fd.
static void print_finished_as(const struct settings *settings, int fd,
                              const json_t *report, struct text *out)
{
    FILE *stream = fd == STDOUT_FILENO ? stdout : stderr;
    struct render_style style = render_style_set(stream, settings);
    if (fd > STDERR_FILENO)
        style = render_style_set(NULL, settings);
    style.no_images = settings->images == IMAGES_NONE;
    (void)render_report_text(report, &style, SIZE_MAX, out);
}

// print_finished prints the report where the settings say. If the reader is slow, the
// report's lock is released first, because others may want to send or delete it.
static void print_finished(struct finish *finish, const json_t *report)
{
    const struct settings *settings = &finish->session.settings;
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    int fd = open_output(finish);
    if (fd < 0)
        return;
    if (settings->format == FORMAT_TEXT)
        print_finished_as(settings, fd, report, &out);
    else if (report_print_expanded(report, &out) != CH_OK)
        log_failure(finish, "print", "it is too large");
    if (text_ok(&out) && out.size != 0) {
        size_t done = bounded_write(fd, out.bytes, out.size, SOON_MS);
        finish_release(finish);
        (void)bounded_write(fd, out.bytes + done, out.size - done, PATIENCE_MS);
    }
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

// read_choice reads a line from the terminal and returns its first character; 0: it is
// empty, or nobody wrote one until deadline_ms.
static char read_choice(int64_t deadline_ms)
{
    char line[64] = "";
    int64_t left = deadline_ms - (int64_t)clock_now_ms(CLOCK_REALTIME);
    struct pollfd terminal = { .fd = STDERR_FILENO, .events = POLLIN };
    if (left <= 0 || poll(&terminal, 1, left < INT_MAX ? (int)left : INT_MAX) != 1 ||
        read(STDERR_FILENO, line, sizeof(line)) <= 0)
        return 0;
    return line[0];
}

// ask_what_to_show shows the report in the forms that the user of the terminal asks
// for. The process is held meanwhile, until CRASHHOOK_TIMEOUT.
static void ask_what_to_show(const struct finish *finish, const json_t *report)
{
    // RESERVED_MS: so that the program does not end first, with a shell's prompt.
    enum { RESERVED_MS = 500 };
    static const char question[] =
        "\ncrashhook: the program is held. s: short, a: all threads, r: registers too, "
        "Enter: end it > ";
    struct settings settings = finish->session.settings;
    int64_t deadline_ms =
        (int64_t)(report_id_time_ms(finish->id) + settings.timeout_ms) - RESERVED_MS;
    for (;;) {
        struct text CH_CLEANUP(text_deinit) out = { 0 };
        (void)bounded_write(STDERR_FILENO, question, sizeof(question) - 1, PATIENCE_MS);
        char choice = read_choice(deadline_ms);
        settings.preset = choice == 's'   ? PRESET_FRIENDLY
                          : choice == 'r' ? PRESET_FULL
                                          : PRESET_MEDIUM;
        settings.registers = choice == 'r' ? REGISTERS_ALL : REGISTERS_AUTO;
        if (choice == 0 || choice == '\n' || choice == 'q')
            break;
        if (strchr("sar", choice) == NULL)
            continue;
        print_finished_as(&settings, STDERR_FILENO, report, &out);
        if (text_ok(&out))
            (void)bounded_write(STDERR_FILENO, out.bytes, out.size, PATIENCE_MS);
    }
    (void)bounded_write(STDERR_FILENO, "\n", 1, SOON_MS);
}

// deadline_ms is when CRASHHOOK_TIMEOUT, counted from the crash, ends.
static uint64_t deadline_ms(const struct finish *finish)
{
    uint64_t timeout = finish->session.settings.timeout_ms;
    uint64_t crash = report_id_time_ms(finish->id);
    uint64_t now = clock_now_ms(CLOCK_REALTIME);
    uint64_t spent = now > crash ? now - crash : 0;
    uint64_t left =
        spent + LEAST_UPLOAD_MS < timeout ? timeout - spent : LEAST_UPLOAD_MS;
    return clock_now_ms(CLOCK_MONOTONIC) + left;
}

static void deliver_report(struct finish *finish)
{
    struct delivery CH_CLEANUP(delivery_deinit) delivery = { 0 };
    struct queue_totals totals = { 0 };
    if (delivery_init(&delivery, &finish->session, log_finish_line, finish) != CH_OK)
        return;
    delivery.queue.deadline_ms = deadline_ms(finish);
    if (delivery.queue.targets.count != 0)
        (void)!queue_send(&delivery.queue, finish->id, &finish->lock_fd, finish->report,
                          &totals);
    finish->over = !delivery_prune(&delivery, finish->id);
}

// clean_up keeps the spool within its limits. If many processes crash at once, each
// holds its own report: the last one must find the reports of the others unlocked.
static void clean_up(struct finish *finish)
{
    struct delivery CH_CLEANUP(delivery_deinit) delivery = { 0 };
    finish_release(finish);
    if (finish->over &&
        delivery_init(&delivery, &finish->session, log_finish_line, finish) == CH_OK)
        (void)delivery_prune(&delivery, finish->id);
}

// hold_images records which images the descriptors in the list belong to: the files
// were deleted, and the kernel gives their former paths.
static void hold_images(struct finish *finish, const char *list)
{
    static const char deleted[] = " (deleted)";
    while (list != NULL && *list != 0 && finish->image_count < HELD_IMAGES) {
        struct symbolizer_held_image *image = &finish->images[finish->image_count];
        char *end;
        long fd = strtol(list, &end, 10);
        if (end == list || fd <= STDERR_FILENO || fd > INT_MAX)
            break;
        list = end + (*end == ',');
        (void)snprintf(image->place, sizeof(image->place), "/proc/self/fd/%d", (int)fd);
        ssize_t length = readlink(image->place, image->path, sizeof(image->path) - 1);
        ssize_t suffix = (ssize_t)sizeof(deleted) - 1;
        if (length <= suffix ||
            memcmp(image->path + length - suffix, deleted, (size_t)suffix) != 0)
            continue;
        image->path[length - suffix] = 0;
        finish->image_count++;
    }
    finish->session.held_images = finish->images;
    finish->session.held_image_count = finish->image_count;
}

// note_stderr adds the last lines that the program wrote on standard error, where `run`
// keeps them. The program has exited: what it wrote is on its way at most.
static void note_stderr(const struct finish *finish)
{
    enum { SAID_BYTES = 4 << 10, LOOKS_MAX = 20, LOOK_MS = 5 };
    struct text CH_CLEANUP(text_deinit) said = { 0 };
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    uint64_t before = 0;
    if (finish->ring == NULL)
        return;
    for (int i = 0; i < LOOKS_MAX; i++) {
        uint64_t now = __atomic_load_n(&finish->ring->written, __ATOMIC_ACQUIRE);
        if (i > 1 && now == before && finish->ring->busy == 0)
            break;
        before = now;
        (void)poll(NULL, 0, LOOK_MS);
    }
    stderr_ring_append(finish->ring, SAID_BYTES, &said);
    if (!text_ok(&said) || said.size == 0)
        return;
    utf8_repair(said.bytes, said.size);
    const char *line = said.size < SAID_BYTES ? NULL : strchr(said.bytes, '\n');
    sanitize_string(line != NULL ? line + 1 : said.bytes, getenv("HOME"), &masked);
    if (text_ok(&masked) && masked.size != 0)
        (void)json_object_set_new(json_object_get(finish->report, "crash"), "stderr",
                                  json_string(masked.bytes));
}

// remove_repeated removes the report of a process that only passed on how another
// ended. What is known of that may still be a record.
static bool remove_repeated(struct finish *finish)
{
    const struct spool *spool = &finish->session.spool;
    if (!same_termination_is_sent(finish->report))
        return false;
    crash_records_take(&finish->session);
    return same_termination_is_reported(spool, finish->id, finish->report) &&
           spool_remove(spool, finish->id) == CH_OK;
}

// finish_add_names completes a raw report with what requires debug files and other
// files. CH_END: it is of no use, and removed.
static enum ch_status finish_add_names(struct finish *finish,
                                       const struct options *options)
{
    note_write_time(finish->report, options_value(options, "write-us"));
    hold_images(finish, options_value(options, "image-fds"));
    note_stderr(finish);
    surroundings_read_ahead();
    surroundings_add_system(finish->report); // before we use memory ourselves
    struct session_files files = { .attach = &finish->session.settings };
    map_held(options_value(options, "held-fd"), &files);
    finish->caches = session_complete(&finish->session, finish->report, &files);
    if (files.held_size != 0)
        (void)munmap((void *)(uintptr_t)files.held, files.held_size);
    surroundings_add_log(finish->report, &finish->session.settings);
    if (remove_repeated(finish))
        return CH_END;
    return rewrite_report(finish);
}

static int run_finish(const struct options *options)
{
    struct finish CH_CLEANUP(finish_deinit)
        finish = { .lock_fd = -1, .log_fd = -1, .caches = true };
    json_auto_t *named = NULL;
    session_init_quietly(&finish.session, options);
    finish.log_fd = log_file_open(finish.session.settings.log);
    finish.id = options_value(options, "id");
    if (finish.id == NULL || !report_id_ok(finish.id))
        return command_misused("finish: it takes --id ID");
    umask(077);
    (void)signal(SIGPIPE, SIG_IGN); // the reader of our stderr may have exited
    if (session_spool_open(&finish.session, SPOOL_WRITE) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status = hold_report(&finish, options_value(options, "lock-fd"));
    if (status != CH_OK) {
        log_failure(&finish, "lock", spool_why(status));
        return COMMAND_FAILED;
    }
    finish.ring = stderr_ring_open();
    // Everything read from here on was made by strangers.
    confine_free_phase();
    if (read_raw_report(&finish) != CH_OK)
        return COMMAND_FAILED;

    // The report of a core has its names already, from the process that read the core.
    if (report_integer(finish.report, "revision", 0) == 0)
        status = finish_add_names(&finish, options);
    if (status == CH_END)
        return COMMAND_DONE;
    named = json_incref(finish.report);
    // What is too large to be stored is too large to be sent.
    if (status != CH_ERR_LIMIT || read_raw_report(&finish) == CH_OK)
        deliver_report(&finish);
    print_finished(&finish, named); // its reader may be slow
    if (options_given(options, "ask"))
        ask_what_to_show(&finish, named);
    clean_up(&finish);
    crash_records_take(&finish.session); // of earlier crashes
    if (finish.report != NULL && finish.caches)
        session_cache_symbols(&finish.session, finish.report);
    return COMMAND_DONE;
}

static const struct option finish_options[] = {
    { "spool", "DIR", "the spool that holds the report", 0 },
    { "id", "ID", "the report's id", 0 },
    { "lock-fd", "N", "descriptor that holds its lock", 0 },
    { "held-fd", "N", "descriptor of what was copied of the process", 0 },
    { "image-fds", "N,N...", "descriptors of image files that were deleted", 0 },
    { "ask", NULL, "let the user of the terminal choose what is shown", 0 },
    { "write-us", "N", "how long writing the raw report took", 0 },
    { 0 },
};

const struct command finish_command = {
    .name = "finish",
    .summary = "Symbolize, print and upload a report that was just written",
    .options = finish_options,
    .run = run_finish,
    .hidden = true,
};
