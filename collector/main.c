// SPDX-License-Identifier: Apache-2.0
//
// How it works: options, then the token file, the socket, the store, the background
// threads (start_helpers), the HTTP server. main waits for signals: SIGHUP reads token
// and receiver files again, SIGTERM and SIGINT stop.
// Invariants: the socket is open before the store, so a second collector fails early;
// threads start after signals are blocked; stopping first refuses requests, then
// empties the queue of ingest, then ends the threads, and is cut off after STOP_MAX_S.
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/system/program_start.h"
#include "base/text.h"
#include "collector/database/sql.h"
#include "collector/database/timestamp.h"
#include "collector/jobs/alerts.h"
#include "collector/jobs/jobs.h"
#include "collector/options.h"
#include "collector/pages/pages.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/made_tokens.h"
#include "collector/requests/search.h"
#include "collector/routes.h"
#include "collector/server/access.h"
#include "collector/server/http.h"
#include "collector/server/listener.h"
#include "collector/server/setting_line.h"
#include "collector/server/time_zone.h"
#include "collector/store/store_backup.h"
#include "collector/store/store_outage.h"
#include "report/grouping/in_app.h"
#include "report/json/json_arena.h"

enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    STOP_MS = 5000,        // for the requests that are being served
    STOP_MAX_S = 20,       // for all of the rest
    HEAP_SLACK = 8 << 20,  // free bytes at a heap's end that are not released
    HEAP_STEP = 1 << 20,   // bytes that a heap grows by
    SIZE_LEAST = 64 << 20, // bytes of a store: an empty one takes some, too
    PATH_SIZE = STATE_PATH_SIZE
};

static const struct ingest_limits ingest_limits = { .batch = 256,
                                                    .queue = 2048,
                                                    .queue_bytes = LOAD_BYTES,
                                                    .patience_ms = 3000,
                                                    .add = store_add,
                                                    .check = store_check };

static int say_collector_line(int code, const char *sentence)
{
    fprintf(stderr, "crashhook-collector: %s\n", sentence);
    return code;
}

// given_up is true once the store was given up: what fails then fails because of that.
static atomic_bool given_up;

static void complain_of_option(const char *error)
{
    if (given_up)
        return;
    say_collector_line(0, error);
}

// printable is a string from outside, or a placeholder where it is not UTF-8.
static json_t *printable(const char *value)
{
    json_t *string = json_string(value);
    return string != NULL ? string : json_string("(no UTF-8)");
}

// log_request writes a line of JSON on stderr for a request that was answered. The line
// names the token by its index in the token file, never the token itself, and never
// contains search parameters. One write has all of it, so that lines do not mix.
static void log_request(const struct http_seen *seen)
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(timestamp_now(), time);
    json_t *line =
        json_pack("{s:s, s:o, s:o, s:i, s:I, s:I, s:I, s:s}", "time", time, "method",
                  printable(seen->method), "path", printable(seen->path), "status",
                  (int)seen->status, "received", (json_int_t)seen->received, "sent",
                  (json_int_t)seen->sent, "duration_ms", (json_int_t)seen->duration_ms,
                  "from", seen->from);
    if (seen->forwarded != NULL)
        json_object_set_new(line, "forwarded_for", printable(seen->forwarded));
    if (seen->who->index < ACCESS_TOKENS)
        json_object_set_new(line, "token",
                            json_integer((json_int_t)seen->who->index + 1));
    if (seen->who->named)
        json_object_set_new(line, "user", json_string(seen->who->name));
    char *dumped = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(line);
    struct text whole = { 0 };
    text_appendf(&whole, "%s\n", dumped != NULL ? dumped : "{}");
    // A log that cannot be written must not stop requests.
    ssize_t written = write(STDERR_FILENO, whole.bytes, whole.size);
    (void)written;
    text_deinit(&whole);
    free(dumped);
}

static void observe_request(void *context, const struct http_seen *seen)
{
    struct collector *collector = context;
    metrics_count_answer(&collector->metrics, seen->status);
    metrics_observe(&collector->metrics, seen->pool, seen->duration_ms);
    if (collector->log_requests)
        log_request(seen);
}

// read_retention parses --keep, --keep-per-group and --keep-size.
static bool read_retention(const struct options *options, struct store_retention *out)
{
    *out = (struct store_retention){ 0 };
    if (options->keep != NULL &&
        (timestamp_read_span(options->keep, &out->age_ms) != CH_OK || out->age_ms == 0))
        return false;
    if (options->keep_per_group != NULL) {
        char *end = NULL;
        out->per_group = strtoll(options->keep_per_group, &end, 10);
        if (*end != 0 || out->per_group < 1 ||
            !isdigit((unsigned char)options->keep_per_group[0]))
            return false;
    }
    return options->keep_size == NULL ||
           (size_read(options->keep_size, &out->size_bytes) == CH_OK &&
            out->size_bytes >= SIZE_LEAST);
}

static bool is_web_template(const char *text)
{
    return text == NULL || strncmp(text, "https://", 8) == 0 ||
           strncmp(text, "http://", 7) == 0;
}

// read_symbol_options parses --symbol-cache and --symbol-keep.
static bool read_symbol_options(const struct options *options,
                                struct symbol_store_options *out)
{
    const char *cache = options->symbol_cache;
    return size_read(cache != NULL ? cache : "10G", &out->cache_bytes) == CH_OK &&
           (options->symbol_keep == NULL ||
            (timestamp_read_span(options->symbol_keep, &out->keep_ms) == CH_OK &&
             out->keep_ms != 0));
}

static void print_query(const char *text)
{
    (void)fprintf(stderr, "query: %s\n", text);
}

// read_log switches on what `--log` names. It returns false for anything else.
static bool read_log(const char *log, struct collector *collector)
{
    bool both = log != NULL && strcmp(log, "requests,queries") == 0;
    bool queries = both || (log != NULL && strcmp(log, "queries") == 0);
    collector->log_requests = both || (log != NULL && strcmp(log, "requests") == 0);
    sql_watch(queries ? print_query : NULL);
    return log == NULL || queries || collector->log_requests;
}

// read_collector_limits fills the collector from options and returns NULL, or a
// sentence that says which option is wrong.
static const char *read_collector_limits(const struct options *options,
                                         struct store_retention *retention,
                                         struct collector *collector)
{
    if (!read_retention(options, retention))
        return "--keep is not a time such as 90d, --keep-per-group not a number, or"
               " --keep-size not a size of at least 64M such as 50G";
    if (!read_log(options->log, collector))
        return "--log is not `requests`, `queries` or `requests,queries`";
    struct body_packer_options packing;
    struct symbol_store_options symbols;
    if (body_packer_read(options->body_segments, &packing) != CH_OK)
        return "--body-segments is not a size and a time such as 8M/10m";
    if (!read_symbol_options(options, &symbols))
        return "--symbol-cache is not a size such as 10G, or --symbol-keep not a time"
               " such as 180d";
    if (rate_init(options->rate, &collector->rate) != CH_OK)
        return "--rate is not a count and a time such as 600/1m";
    if (rate_init("30/1m", &collector->sign_ins) != CH_OK ||
        rate_init(NULL, &collector->project_rates) != CH_OK)
        return "out of memory";
    if (!is_web_template(options->source_url) || !is_web_template(options->issue_url))
        return "--source-url or --issue-url does not begin with http:// or https://";
    collector->templates = (struct page_templates){ .source = options->source_url,
                                                    .root = options->source_root,
                                                    .issue = options->issue_url };
    const char *workers = options->workers != NULL ? options->workers : "2";
    char *end = NULL;
    collector->workers = (unsigned)strtoul(workers, &end, 10);
    if (*end != 0 || end == workers || collector->workers > SYMBOLIZATION_WORKERS_MAX)
        return "--workers is not a number from 0 to 16";
    if (options->read_only != NULL && strcmp(options->read_only, "yes") != 0)
        return "--read-only is not `yes`";
    collector->reading = options->read_only != NULL;
    if (collector->reading && options->backup != NULL)
        return "--backup is for the collector that writes, and --read-only for one that"
               " does not";
    if (options->search_without != NULL && !search_leave_out(options->search_without))
        return "--search-without is not some of kind, frame, file, line, build,"
               " message, kernel, processor, uptime, thread, address, register,"
               " argument, depth and freed-in, with commas";
    if (options->users != NULL && strcmp(options->users, "hashed") != 0 &&
        strcmp(options->users, "plain") != 0)
        return "--users is not `hashed` or `plain`";
    if (options->own != NULL && in_app_extend(options->own) != NULL)
        return "--own has a word that is no pattern, or too many, or a file that "
               "cannot be"
               " read";
    return NULL;
}

// raise_descriptor_limit: every connection takes a descriptor, and there may be
// thousands.
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// reread_access reads the token file again; a file that is wrong changes nothing.
static void reread_access(struct access *access)
{
    char why[ACCESS_WHY_SIZE];
    if (access_reload(access, why) != CH_OK)
        say_collector_line(0, why);
    else
        fprintf(stderr, "crashhook-collector: read the token file again\n");
}

// reread_files reads the files of tokens and of receivers again.
static void reread_files(struct collector *collector)
{
    char why[PATH_SIZE];
    reread_access(collector->access);
    if (collector->receivers.hooks == NULL && collector->receivers.mail == NULL)
        return;
    if (receiver_list_load(&collector->receivers, collector->reading, why, PATH_SIZE) !=
        CH_OK)
        fprintf(stderr, "crashhook-collector: kept the receivers as they were: %s\n",
                why);
    else
        fprintf(stderr, "crashhook-collector: read the files of receivers again\n");
}

// wait_for_stop runs the server's clock until a signal asks it to stop.
static void wait_for_stop(struct http_server *server, struct collector *collector,
                          const sigset_t *stops)
{
    struct timespec second = { .tv_sec = 1 };
    for (;;) {
        int signal = sigtimedwait(stops, NULL, &second);
        if (signal == SIGHUP)
            reread_files(collector);
        else if (signal >= 0)
            return;
        http_tick(server);
        ingest_tick(collector->ingest, (int64_t)clock_now_ms(CLOCK_MONOTONIC));
    }
}

// end_late is a thread that ends the collector if it did not end by itself: what was
// acknowledged is in the store, and everything else is sent again.
static void *end_late(void *context)
{
    const struct timespec patience = { .tv_sec = STOP_MAX_S };
    (void)context;
    nanosleep(&patience, NULL);
    fprintf(stderr, "crashhook-collector: could not stop within %d s, ends now\n",
            STOP_MAX_S);
    _exit(EXIT_FAILED);
}

// stop_serving lets current requests finish: first no new ones are accepted, then the
// store's queue is emptied, as far as the store still answers, then the threads end.
static void stop_serving(struct collector *collector, struct http_server *server)
{
    pthread_t late;
    if (pthread_create(&late, NULL, end_late, NULL) == 0)
        pthread_detach(late);
    http_quiesce(server, STOP_MS);
    given_up = true;
    store_give_up(collector->store);
    symbol_store_give_up(collector->symbols);
    ingest_stop(collector->ingest);
    http_stop(server);
}

// serve_until_told runs until a signal.
static int serve_until_told(struct collector *collector,
                            const struct listener *listener, struct access *access,
                            const sigset_t *stops)
{
    struct http_options options = { .listen_fd = listener->fd,
                                    .routes = routes_table,
                                    .route_count = routes_count,
                                    .access = access,
                                    .load = &collector->load,
                                    .reading = collector->reading,
                                    .session = sessions_find,
                                    .context = collector,
                                    .observe = observe_request,
                                    .begin_page = page_choose_zone,
                                    .fail_page = page_failure };
    struct http_server *server = NULL;
    if (http_start(&options, &server) != CH_OK)
        return say_collector_line(EXIT_FAILED, "cannot start the HTTP server");
    fprintf(stderr, "crashhook-collector: listening on http://%s/\n",
            listener->address);
    wait_for_stop(server, collector, stops);
    stop_serving(collector, server);
    return 0;
}

static enum ch_status start_jobs(struct collector *collector,
                                 struct symbolization_jobs **out)
{
    const struct symbolization_jobs_options options = { .store = collector->store,
                                                        .symbols = collector->symbols,
                                                        .metrics = &collector->metrics,
                                                        .complain = complain_of_option,
                                                        .large = &collector->large,
                                                        .workers = collector->workers };
    return symbolization_jobs_create(&options, out);
}

static enum ch_status start_alerts(struct collector *collector,
                                   const struct options *options, struct alerts **out)
{
    const struct alerts_options alerts = { .store = collector->store,
                                           .receivers = &collector->receivers,
                                           .metrics = &collector->metrics,
                                           .site = options->public_url,
                                           .complain = complain_of_option };
    return alerts_create(&alerts, out);
}

// start_backups starts the thread that copies the store to a file when asked, and
// returns NULL, or what failed.
static const char *start_backups(struct collector *collector, const char *file)
{
    const struct backups_options options = { .store = collector->store,
                                             .file = file,
                                             .metrics = &collector->metrics,
                                             .complain = complain_of_option };
    if (!store_backup_can(collector->store))
        return "--backup is for a store that is a SQLite file";
    return backups_create(&options, &collector->backups) == CH_OK
               ? NULL
               : "cannot start the thread that makes backups";
}

// helpers is what works in the background.
struct helpers {
    struct retention *retention;
    struct symbolization_jobs *jobs;
    struct alerts *alerts;
    struct symbol_cache_jobs *supervisor;
};

// start_helpers starts them, those that write unless the store is only read, and
// returns NULL, or what failed.
static const char *start_helpers(struct collector *collector,
                                 const struct options *options,
                                 const struct store_retention *limits,
                                 struct helpers *out)
{
    const char *failed = NULL;
    if (aggregates_start(&collector->aggregates) != CH_OK)
        return "cannot start the thread that sums";
    if (made_tokens_start(collector) != CH_OK)
        return "cannot start the thread that reads tokens";
    if (collector->reading)
        return NULL;
    if (retention_create(collector->store, limits, collector->access,
                         complain_of_option, &out->retention) != CH_OK)
        return "cannot start the thread that removes reports";
    if (options->backup != NULL)
        failed = start_backups(collector, options->backup);
    if (failed != NULL)
        return failed;
    if (start_jobs(collector, &out->jobs) != CH_OK)
        return "cannot start the threads that name reports";
    if (start_alerts(collector, options, &out->alerts) != CH_OK)
        return "cannot start the thread that sends alerts";
    const struct symbol_cache_jobs_options supervisor = {
        .store = collector->store,
        .symbols = collector->symbols,
        .metrics = &collector->metrics,
        .upstream = options->debuginfod_urls,
        .complain = complain_of_option
    };
    if (symbol_cache_jobs_create(&supervisor, &out->supervisor) != CH_OK)
        return "cannot start the thread that keeps debug files";
    return NULL;
}

static void stop_helpers(struct helpers *helpers)
{
    symbol_cache_jobs_destroy(helpers->supervisor);
    alerts_destroy(helpers->alerts);
    symbolization_jobs_destroy(helpers->jobs);
    retention_destroy(helpers->retention);
}

// open_symbols opens where debug files are; folder is the one of --symbols.
static enum ch_status open_symbols(struct collector *collector,
                                   const struct options *options, const char *folder,
                                   char error[STORE_ERROR_SIZE])
{
    struct symbol_store_options symbols = { .store = collector->store,
                                            .folder = folder,
                                            .place = options->symbol_store,
                                            .reading = collector->reading };
    return read_symbol_options(options, &symbols)
               ? symbol_store_create(&symbols, &collector->symbols, error)
               : CH_ERR_MALFORMED;
}

static enum ch_status start_packer(struct collector *collector,
                                   const struct options *options,
                                   struct body_packer **out,
                                   char error[STORE_ERROR_SIZE])
{
    struct body_packer_options packing = { .store = collector->store,
                                           .metrics = &collector->metrics,
                                           .place = options->body_store,
                                           .reading = collector->reading,
                                           .complain = complain_of_option };
    enum ch_status status = body_packer_read(options->body_segments, &packing);
    if (status == CH_OK)
        status = body_packer_create(&packing, out, error);
    collector->packs = *out != NULL;
    return status;
}

// init_shared makes what threads share; free_collector frees it.
static void init_shared(struct collector *collector)
{
    pthread_mutex_init(&collector->large, NULL);
    background_init(&collector->made_tokens);
    load_init(&collector->load);
}

static void free_collector(struct collector *collector)
{
    pthread_mutex_destroy(&collector->large);
    load_deinit(&collector->load);
    rate_deinit(&collector->rate);
    rate_deinit(&collector->sign_ins);
    rate_deinit(&collector->project_rates);
    free(collector);
}

// configure_collector reads what the options say of a collector, and returns NULL, or
// what is wrong; line is for what is wrong with a file.
static const char *configure_collector(const struct options *options,
                                       struct store_retention *limits,
                                       char line[static PATH_SIZE],
                                       struct collector *out)
{
    const char *wrong = read_collector_limits(options, limits, out);
    if (wrong != NULL)
        return wrong;
    snprintf(line, PATH_SIZE, "out of memory");
    if (options->time_zone != NULL && strcmp(options->time_zone, "UTC") != 0) {
        out->zone = time_zone_find(options->time_zone);
        if (out->zone == NULL)
            return "--time-zone is not a zone of /usr/share/zoneinfo such as"
                   " Europe/Berlin";
    }
    if (receiver_list_init(&out->receivers, options->webhook_file, options->mail_file,
                           line, PATH_SIZE) != CH_OK)
        return line;
    out->ticket_file = options->ticket_file;
    if (out->ticket_file != NULL &&
        api_ticket_check(out->ticket_file, line, PATH_SIZE) != NULL)
        return line;
    out->keep_ms = limits->age_ms;
    return NULL;
}

// open_user_salt reads what the names of users are hashed with, or makes it. Where
// names are stored it is of use still: reports that came before have pseudonyms.
static enum ch_status open_user_salt(struct collector *collector,
                                     const struct options *options,
                                     char error[STORE_ERROR_SIZE])
{
    unsigned char bytes[USER_SALT_SIZE / 2];
    char fresh[USER_SALT_SIZE];
    collector->plain_users =
        options->users != NULL && strcmp(options->users, "plain") == 0;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        snprintf(error, STORE_ERROR_SIZE, "there are no random numbers");
        return CH_ERR_IO;
    }
    hex_encode(bytes, sizeof(bytes), fresh);
    return store_user_salt(collector->store,
                           collector->reading || collector->plain_users ? NULL : fresh,
                           collector->user_salt, error);
}

// open_collector_store opens the store. Until it is open a signal simply ends the
// program: to reach a database, or to upgrade it, may take any time. No thread runs
// yet, and one that the store starts takes no signals.
static enum ch_status open_collector_store(struct collector *collector,
                                           const char *place, const sigset_t *stops,
                                           char error[STORE_ERROR_SIZE])
{
    pthread_sigmask(SIG_UNBLOCK, stops, NULL);
    enum ch_status status = (collector->reading ? store_open_reading : store_open)(
        place, error, &collector->store);
    pthread_sigmask(SIG_BLOCK, stops, NULL);
    return status;
}

static int open_and_serve(const struct options *options,
                          const struct listener *listener, struct access *access,
                          const sigset_t *stops)
{
    char error[STORE_ERROR_SIZE];
    char symbols[PATH_SIZE];
    char line[PATH_SIZE];
    if (options->symbols == NULL && !state_default_symbols(options->store, symbols))
        return say_collector_line(EXIT_USAGE,
                                  "no --symbols, and no home to keep debug files in");
    struct collector *collector = calloc(1, sizeof(*collector));
    if (collector == NULL)
        return say_collector_line(EXIT_FAILED, "out of memory");
    struct store_retention limits;
    struct helpers helpers = { 0 };
    const char *failed = NULL;
    struct body_packer *packer = NULL;
    const char *wrong = configure_collector(options, &limits, line, collector);
    if (wrong != NULL) {
        free(collector);
        return say_collector_line(EXIT_USAGE, wrong);
    }
    collector->access = access;
    const char *folder = options->symbols != NULL ? options->symbols : symbols;
    init_shared(collector);

    int code = EXIT_FAILED;
    enum ch_status status =
        open_collector_store(collector, options->store, stops, error);
    aggregates_init(&collector->aggregates, collector->store);
    collector->receivers.store = collector->store;
    if (status != CH_OK)
        code = say_collector_line(
            status == CH_ERR_UNSUPPORTED ? EXIT_USAGE : EXIT_FAILED, error);
    else if ((status = open_user_salt(collector, options, error)) != CH_OK ||
             (status = open_symbols(collector, options, folder, error)) != CH_OK ||
             (status = start_packer(collector, options, &packer, error)) != CH_OK)
        code =
            say_collector_line(status == CH_ERR_IO ? EXIT_FAILED : EXIT_USAGE, error);
    else if (ingest_create(collector->store, &ingest_limits, complain_of_option,
                           &collector->ingest) != CH_OK)
        say_collector_line(EXIT_FAILED, "cannot start the thread that stores reports");
    else if ((failed = start_helpers(collector, options, &limits, &helpers)) != NULL)
        say_collector_line(EXIT_FAILED, failed);
    else
        code = serve_until_told(collector, listener, access, stops);
    made_tokens_stop(collector);
    stop_helpers(&helpers);
    backups_destroy(collector->backups);
    aggregates_deinit(&collector->aggregates);
    ingest_destroy(collector->ingest);
    body_packer_destroy(packer);
    symbol_store_destroy(collector->symbols);
    store_close(collector->store);
    receiver_list_deinit(&collector->receivers);
    free_collector(collector);
    return code;
}

// read_access_options reads who may do what, and returns an exit status, 0 if all is
// well.
static int read_access_options(const struct options *options, struct access *out)
{
    char why[ACCESS_WHY_SIZE];
    bool trusts = options->user_header != NULL || options->groups_header != NULL;
    *out = (struct access){ 0 };
    if (trusts && (options->trusted_proxy == NULL || options->token_file == NULL ||
                   options->user_header == NULL))
        return say_collector_line(
            EXIT_USAGE, "--trusted-user-header and --trusted-groups-header need"
                        " --trusted-proxy, users or groups in --token-file, and the"
                        " second one the first");
    if (access_init(options->token_file, out, why) != CH_OK)
        return say_collector_line(EXIT_FAILED, why);
    out->user_header = options->user_header;
    out->groups_header = options->groups_header;
    out->proxy = options->trusted_proxy;
    return 0;
}

// prepare_process prepares signals, the heap and limits before any thread starts, and
// gives the signals that end or inform the program: only main receives them.
static void prepare_process(sigset_t *out_stops)
{
    sigemptyset(out_stops);
    sigaddset(out_stops, SIGTERM);
    sigaddset(out_stops, SIGINT);
    sigaddset(out_stops, SIGHUP); // reads the token file again
    pthread_sigmask(SIG_BLOCK, out_stops, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); // our parent may have ignored it
    signal(SIGXFSZ, SIG_IGN); // a file size limit then is an error, like a full disk
#if defined(__GLIBC__)
    // Every report frees about as much as the next one allocates: without slack the
    // heaps of the server's threads would shrink and grow with each report.
    mallopt(M_TRIM_THRESHOLD, HEAP_SLACK);
    mallopt(M_TOP_PAD, HEAP_STEP);
#endif
    umask(077); // nobody else may read the reports
    raise_descriptor_limit();
}

// listen_and_serve opens the socket first: a collector whose port is taken must not
// open the store.
static int listen_and_serve(const struct options *options, struct access *access,
                            const sigset_t *stops)
{
    struct listener listener;
    char error[LISTENER_ERROR_SIZE];
    enum ch_status status = listener_open(options->listen, error, &listener);
    if (status != CH_OK)
        return say_collector_line(status == CH_ERR_MALFORMED ? EXIT_USAGE : EXIT_FAILED,
                                  error);
    if (!listener.loopback && options->token_file == NULL) {
        close(listener.fd);
        return say_collector_line(EXIT_USAGE,
                                  "cannot listen beyond loopback without --token-file");
    }
    return open_and_serve(options, &listener, access, stops);
}

int main(int argc, char **argv)
{
    struct options options;
    char store[PATH_SIZE];
    sigset_t stops;
    struct access access;
    standard_files_hold();
    json_arena_install();
    switch (options_parse(argc, argv, &options)) {
    case OPTIONS_DONE:
        return fflush(stdout) == 0
                   ? 0
                   : say_collector_line(EXIT_FAILED, "cannot write to stdout");
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    if (options.store == NULL) {
        if (!state_default_store(store))
            return say_collector_line(EXIT_USAGE,
                                      "no --store, and no home to keep one in");
        options.store = store;
    }
    prepare_process(&stops);
    int code = read_access_options(&options, &access);
    if (code == 0)
        code = listen_and_serve(&options, &access, &stops);
    access_deinit(&access);
    return code;
}
