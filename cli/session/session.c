// SPDX-License-Identifier: Apache-2.0
#include "cli/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/render/render.h"
#include "cli/session/command.h"
#include "cli/session/surroundings.h"
#include "report/grouping/in_app.h"
#include "report/secrets/sanitize.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/symbolizer.h"

enum { LIMIT_MAX_BYTES = 1 << 20 };

// open_attached_file opens the file; a path that begins with a masked home is in ours.
static int open_attached_file(const char *path, struct stat *out)
{
    struct text CH_CLEANUP(text_deinit) full = { 0 };
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL)
        text_append_string(&full, home);
    text_append_string(&full, full.size != 0 ? path + 1 : path);
    if (!text_ok(&full)) {
        errno = ENOMEM;
        return -1;
    }
    // O_NONBLOCK: opening a FIFO that took the file's place must not block.
    int fd = open(full.bytes, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, out) == 0 && S_ISREG(out->st_mode))
        return fd;
    (void)close(fd);
    errno = EINVAL;
    return -1;
}

static const char *why_not_attached(void)
{
    if (errno == ELOOP)
        return "it is a symbolic link";
    return errno == EINVAL ? "it is not a plain file" : strerror(errno);
}

// put_content adds the bytes as text if they are text, otherwise as base64.
static void put_content(json_t *attachment, const struct text *bytes,
                        const struct settings *settings)
{
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    json_t *plain = NULL;
    if (memchr(bytes->bytes, 0, bytes->size) == NULL) {
        if (settings->sanitize != SETTING_NO)
            sanitize_string(bytes->bytes, getenv("HOME"), &masked);
        else
            text_append_string(&masked, bytes->bytes);
        plain =
            text_ok(&masked) && masked.bytes != NULL ? json_string(masked.bytes) : NULL;
    }
    if (plain != NULL) {
        (void)json_object_set_new(attachment, "text", plain);
        return;
    }
    char *base64 = malloc(BASE64_SIZE(bytes->size));
    if (base64 == NULL)
        return;
    base64_encode(bytes->bytes, bytes->size, base64);
    (void)json_object_set_new(attachment, "base64", json_string(base64));
    free(base64);
}

// skip_half_line drops the rest of the line in which the part begins.
static void skip_half_line(struct text *bytes)
{
    const char *end = memchr(bytes->bytes, '\n', bytes->size);
    if (end == NULL)
        return;
    size_t skip = (size_t)(end + 1 - bytes->bytes);
    memmove(bytes->bytes, end + 1, bytes->size - skip + 1);
    bytes->size -= skip;
}

static void fill_attachment(json_t *attachment, const struct settings *settings)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    struct stat info = { 0 };
    const char *path = report_string(attachment, "path");
    int64_t limit = report_integer(attachment, "limit_bytes", 0);
    if (path == NULL || json_object_get(attachment, "size") != NULL)
        return;
    limit = limit < 0 || limit > LIMIT_MAX_BYTES ? LIMIT_MAX_BYTES : limit;
    int CH_CLEANUP(file_close) fd = open_attached_file(path, &info);
    if (fd < 0) {
        (void)json_object_set_new(attachment, "problem",
                                  json_string(why_not_attached()));
        return;
    }
    bool cut = info.st_size > limit;
    if (cut && lseek(fd, info.st_size - limit, SEEK_SET) < 0)
        return;
    // The file may still grow: read no more than the program requested.
    enum ch_status status = text_read(&bytes, fd, (size_t)limit);
    if ((status != CH_OK && status != CH_ERR_LIMIT) || !text_ok(&bytes)) {
        (void)json_object_set_new(attachment, "problem",
                                  json_string(why_not_attached()));
        return;
    }
    if (cut && bytes.size != 0)
        skip_half_line(&bytes);
    (void)json_object_set_new(attachment, "size", json_integer(info.st_size));
    if (bytes.size != 0)
        put_content(attachment, &bytes, settings);
}

void attachments_fill(json_t *report, const struct settings *settings)
{
    json_t *attachments = json_object_get(report, "attachments");
    for (size_t i = 0; i < json_array_size(attachments); i++) {
        json_t *attachment = json_array_get(attachments, i);
        if (json_is_object(attachment))
            fill_attachment(attachment, settings);
    }
}

// Completing the report of a process that had fewer rights than we have. The report
// names files: images and through them debug files and sources, and attachments. All of
// them are read by a child that has the rights of the process (process.read_as in the
// report) and is confined as a reader (confine.h).

// A report_owner_fn completes the report in the child.
typedef void report_owner_fn(void *context, json_t *report);

// completing is set in the child.
static bool completing;

struct owner_work {
    json_t *report;
    report_owner_fn *work;
    void *context;
};

// report_owner_differs returns true if report is of such a process.
static bool report_owner_differs(const json_t *report)
{
    struct rights rights;
    report_rights(report, &rights);
    return rights.fewer && !completing;
}

// complete_as_owner is a guarded_child_fn.
static enum ch_status complete_as_owner(void *context, int to_parent)
{
    const struct owner_work *work = context;
    struct text CH_CLEANUP(text_deinit) done = { 0 };
    struct rights rights;
    report_rights(work->report, &rights);
    if (rights.fewer && !confine_become(&rights))
        return CH_ERR_IO;
    confine_reader();
    completing = true;
    work->work(work->context, work->report);
    enum ch_status status = report_print_kept(work->report, &done);
    if (status != CH_OK)
        return status;
    return file_write_all(to_parent, done.bytes, done.size) ? CH_OK : CH_ERR_IO;
}

// take_completed replaces the report by what the child made of it. CH_ERR_MALFORMED: it
// made something else.
static enum ch_status take_completed(json_t *report, const struct text *done)
{
    struct report_error error;
    json_auto_t *completed = NULL;
    enum ch_status status = report_parse(done->bytes, done->size, &completed, &error);
    if (status != CH_OK)
        return status;
    if (!json_equal(json_object_get(report, "id"), json_object_get(completed, "id")))
        return CH_ERR_MALFORMED;
    (void)json_object_clear(report);
    return json_object_update(report, completed) == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}

// report_owner_complete has work complete a report in the child, with our own rights if
// report_owner_differs is false. A failure becomes a problem of the report.
static void report_owner_complete(json_t *report, report_owner_fn *work, void *context,
                                  uint64_t timeout_ms)
{
    struct owner_work owner = { .report = report, .work = work, .context = context };
    struct text CH_CLEANUP(text_deinit) done = { .limit_bytes = REPORT_MAX_BYTES };
    int64_t deadline_ms = guarded_child_now_ms() + (int64_t)timeout_ms;
    enum ch_status status =
        guarded_child_run(complete_as_owner, &owner, deadline_ms, &done);
    if (status == CH_OK)
        status = take_completed(report, &done);
    if (status == CH_OK)
        return;
    (void)json_array_append_new(
        json_object_get(report, "problems"),
        json_pack("{s:s, s:o}", "stage", "symbolize", "status",
                  json_sprintf("the report could not be completed in a confined "
                               "process: %s",
                               ch_status_name(status))));
}

const char *session_getenv(void *context, const char *variable)
{
    (void)context;
    return getenv(variable);
}

// option_for is the name of the option that stands for a variable, or NULL.
static const char *option_for(const char *variable)
{
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(variables[i].name, variable) == 0)
            return variables[i].option;
    }
    return NULL;
}

// get_option is the value of the option that stands for a variable. Commands other
// than run have options called format and cache with meanings of their own.
static const char *get_option(const struct options *options, const char *variable,
                              bool of_run)
{
    const char *option = option_for(variable);
    if (option == NULL ||
        (!of_run && (strcmp(option, "format") == 0 || strcmp(option, "cache") == 0)))
        return NULL;
    return options_value(options, option);
}

// get_setting prefers the option that stands for the variable to the variable itself.
static const char *get_setting(void *context, const char *variable)
{
    const char *value = get_option(context, variable, false);
    return value != NULL ? value : getenv(variable);
}

// refused is an option whose value is not valid.
struct refused {
    const struct options *options;
    bool of_run;
    const char *option;
    const char *value;
    const char *accepted;
};

static const char *get_checked(void *context, const char *variable)
{
    const struct refused *refused = context;
    return get_option(refused->options, variable, refused->of_run);
}

static void note_refused_option(void *context, const char *variable, const char *value,
                                const char *accepted)
{
    struct refused *refused = context;
    refused->option = option_for(variable);
    refused->value = value;
    refused->accepted = accepted;
}

bool session_options_understood(const struct options *options, const char *command)
{
    struct refused refused = { .options = options,
                               .of_run = strcmp(command, "run") == 0 };
    struct settings settings;
    settings_read(&settings, get_checked, note_refused_option, &refused);
    if (refused.option == NULL)
        return true;
    (void)command_misused("%s: --%s '%s' is not understood: it takes %s", command,
                          refused.option, refused.value, refused.accepted);
    return false;
}

static void complain_of_setting(void *context, const char *variable, const char *value,
                                const char *accepted)
{
    (void)context;
    (void)command_fail("%s='%s' is not understood: it takes %s; the default is used",
                       variable, value, accepted);
}

static void session_begin(struct session *session, const struct options *options,
                          settings_complain_fn *tell)
{
    *session = (struct session){ .spool = { .folder_fd = -1 } };
    settings_read(&session->settings, get_setting, tell, (void *)(uintptr_t)options);
    sanitize_hide_people(session->settings.pii == SETTING_NO);
}

void session_extend_in_app(const struct options *options)
{
    const char *rules = get_setting((void *)(uintptr_t)options, "CRASHHOOK_OWN");
    const char *wrong = rules != NULL ? in_app_extend(rules) : NULL;
    if (wrong != NULL)
        (void)command_fail("CRASHHOOK_OWN: '%s' is not a rule, or its file cannot be "
                           "read, or there are too many; it and those after it are "
                           "not used",
                           wrong);
}

void session_init(struct session *session, const struct options *options)
{
    session_begin(session, options, complain_of_setting);
}

void session_init_quietly(struct session *session, const struct options *options)
{
    session_begin(session, options, NULL);
}

void session_deinit(struct session *session)
{
    guarded_child_reap();
    spool_close(&session->spool);
    free(session->artefact_images);
}

// note_timing sets a member of agent.timings_us if the report has timings.
static void note_timing(json_t *report, const char *key, int64_t us)
{
    json_t *timings = json_object_get(json_object_get(report, "agent"), "timings_us");
    if (json_is_object(timings))
        (void)json_object_set_new(timings, key, json_integer(us));
}

// symbolizer_options_of is how this session symbolizes reports. folder is room for a
// path. With a sysroot only its files are used, so caches, which may be of other files,
// are not.
static struct symbolizer_options symbolizer_options_of(const struct session *session,
                                                       char folder[PATH_MAX])
{
    const struct settings *settings = &session->settings;
    return (struct symbolizer_options){
        .level = settings->symbolize,
        .home = getenv("HOME"),
        .sanitize = settings->sanitize != SETTING_NO,
        .arguments = settings->arguments != SETTING_NO,
        .single = true,
        .timeout_ms = (uint32_t)settings->timeout_ms,
        .sysroot = session->sysroot,
        .exe = session->exe,
        .held_images = session->held_images,
        .held_image_count = session->held_image_count,
        .memo = session->memo,
        .debug_dirs = session->debug_dirs,
        .debug_dir_count =
            (session->debug_dirs[0] != NULL) + (session->debug_dirs[1] != NULL),
        .cache_folder = session->sysroot == NULL && settings->cache != SETTING_NO
                            ? symbol_cache_folder_default(folder)
                            : NULL,
    };
}

// symbolize_here reads the files with our own rights.
static void symbolize_here(const struct session *session, json_t *report)
{
    char folder[PATH_MAX];
    const struct symbolizer_options options = symbolizer_options_of(session, folder);
    int64_t start = (int64_t)clock_now_us(CLOCK_MONOTONIC);
    // Failures are among the report's problems, and the rest of the report is useful
    // without names.
    (void)!symbolizer_report_guarded(report, &options);
    note_timing(report, "symbolize", (int64_t)clock_now_us(CLOCK_MONOTONIC) - start);
    (void)!report_update_fingerprint(report);
}

// A completion is the argument of complete_here.
struct completion {
    const struct session *session;
    const struct session_files *files;
};

static void complete_here(void *context, json_t *report)
{
    const struct completion *completion = context;
    const struct session *session = completion->session;
    const struct session_files *files = completion->files;
    if (files->attach != NULL)
        attachments_fill(report, files->attach);
    surroundings_add_environment(report, &session->settings, files->held,
                                 files->held_size);
    if (session->settings.symbolize != SYMBOLIZE_OFF)
        symbolize_here(session, report);
    if (files->held_size != 0)
        session_add_values(session, report, files->held, files->held_size);
}

bool session_complete(const struct session *session, json_t *report,
                      const struct session_files *files)
{
    struct completion completion = { .session = session, .files = files };
    if (!session->confined && !report_owner_differs(report)) {
        complete_here(&completion, report);
        return true;
    }
    report_owner_complete(report, complete_here, &completion,
                          2 * session->settings.timeout_ms);
    return false;
}

void session_symbolize(const struct session *session, json_t *report)
{
    (void)session_complete(session, report, &(const struct session_files){ 0 });
}

void session_add_values(const struct session *session, json_t *report, const void *held,
                        size_t size)
{
    char folder[PATH_MAX];
    const struct symbolizer_options options = symbolizer_options_of(session, folder);
    int64_t start = (int64_t)clock_now_us(CLOCK_MONOTONIC);
    if (session->settings.symbolize == SYMBOLIZE_OFF || size == 0)
        return;
    enum crash_kind kind = crash_words_kind(json_object_get(report, "crash"));
    report_values_add(report, &options, held, size);
    if (crash_words_kind(json_object_get(report, "crash")) != kind)
        (void)!report_update_fingerprint(report); // the kind is part of it
    note_timing(report, "values", (int64_t)clock_now_us(CLOCK_MONOTONIC) - start);
}

void session_cache_symbols(const struct session *session, json_t *report)
{
    char folder[PATH_MAX];
    const struct symbolizer_options options = symbolizer_options_of(session, folder);
    symbolizer_cache_report(report, &options);
}

static int print_session_report(const struct session *session, const json_t *report,
                                bool as_json)
{
    if (!as_json) {
        struct render_style style = render_style_set(stdout, &session->settings);
        style.no_images = session->settings.images == IMAGES_NONE;
        render_report(report, &style, stdout);
        return COMMAND_DONE;
    }
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    return command_print_text(report_print_expanded(report, &out), &out);
}

int session_print_raw(const struct session *session, const struct text *raw,
                      const struct text *held, bool as_json)
{
    struct report_error error;
    json_t *report;
    if (report_parse(raw->bytes, raw->size, &report, &error) != CH_OK)
        return command_fail("cannot read our own report: %s", error.text);
    const struct session_files files = { .held = held->bytes, .held_size = held->size };
    bool ours = session_complete(session, report, &files);
    int result = print_session_report(session, report, as_json);
    fflush(stdout); // print the answer first: caching may take long
    if (ours)
        session_cache_symbols(session, report);
    json_decref(report);
    return result;
}
