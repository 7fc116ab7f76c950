// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/decode.h"
#include "collector/server/http.h"

#include <jansson.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "collector/database/timestamp.h"
#include "collector/server/connections.h"
#include "collector/server/http_call.h"

enum {
    THREADS = 4,
    CONNECTION_LIMIT = 4096,
    CONNECTIONS_EASY = 3072, // from which on the idle make room
    IDLE_TIMEOUT_S = 60,
    HEAD_MS = 30000, // for a request's head, from the connection or the last answer
    BODY_MS = 30000, // for a body, and again what came of it earns at
    BODY_BYTES_PER_MS = 16,
    ANSWER_MS = 120000,     // to make an answer and have it fetched
    DISCARD_MAX = 64 << 20, // bytes of a refused body that are read before closing
    ANSWER_LARGE = 1 << 20, // bytes from which answers are counted in the load
    READER_AFTER_S = 60,    // a collector that reads may be promoted with its standby
};

// pool_sizes is how many threads the pools have. What is large has one: a report takes
// ten times its size while it is open.
static const struct {
    unsigned threads;
    int niceness;
} pool_sizes[HTTP_POOLS] = {
    [HTTP_READING] = { .threads = 4 },
    [HTTP_WRITING] = { .threads = 4 },
    [HTTP_TAKING] = { .threads = 4 },
    [HTTP_LARGE] = { .threads = 1, .niceness = 5 },
};

// content_policy allows no script and nothing from elsewhere: markup that got past
// every escape is inert.
static const char content_policy[] =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'";

struct http_server {
    const struct http_options *options;
    struct MHD_Daemon *daemon;
    struct connections connections;
    struct work *pools[HTTP_POOLS];
    atomic_bool ending;
    pthread_mutex_t lock; // guards under_way
    pthread_cond_t idle;
    size_t under_way; // requests begun and not finished
};

static enum MHD_Result keep_parameter(void *context, enum MHD_ValueKind kind,
                                      const char *key, const char *value)
{
    (void)kind;
    struct http_request *request = context;
    if (request->parameter_count == HTTP_PARAMETERS)
        return MHD_NO;
    request->parameters[request->parameter_count++] =
        (struct http_parameter){ .key = key, .value = value != NULL ? value : "" };
    return MHD_YES;
}

// path_matches compares a path with a route's, and copies what the star stands for.
static bool path_matches(const char *pattern, const char *path, char *out_id)
{
    size_t fixed = strcspn(pattern, "*");
    if (pattern[fixed] == 0)
        return strcmp(pattern, path) == 0;
    if (strncmp(pattern, path, fixed) != 0)
        return false;
    if (pattern[fixed + 1] == '*') // the handler reads the path
        return true;
    const char *id = path + fixed;
    size_t length = strcspn(id, "/");
    if (length == 0 || length >= HTTP_ID_SIZE ||
        strcmp(id + length, pattern + fixed + 1) != 0)
        return false;
    memcpy(out_id, id, length);
    out_id[length] = 0;
    return true;
}

// find_route sets the request's route, or fails the request with 404, 405 or 503.
static void find_route(struct http_request *request, const char *method,
                       const struct http_options *options)
{
    bool known = false;
    bool head = strcmp(method, "HEAD") == 0;
    for (size_t i = 0; i < options->route_count; i++) {
        const struct http_route *route = &options->routes[i];
        if (!path_matches(route->path, request->path, request->id))
            continue;
        known = true;
        // HEAD is answered as GET; libmicrohttpd leaves out the body.
        if (strcmp(route->method, head ? "GET" : method) != 0)
            continue;
        request->route = route;
        if (options->reading && route->pool != HTTP_READING &&
            route->pool != HTTP_AT_ONCE)
            http_later(request, 503, READER_AFTER_S,
                       "this collector only reads, ask one that writes");
        return;
    }
    if (known)
        http_fail(request, 405, "this address does not take %.20s", method);
    else
        http_fail(request, 404, "there is nothing at this address");
}

static void check_length(struct call *call)
{
    const char *length = http_header(call, "Content-Length");
    size_t limit = call->request.route->body_limit;
    if (length != NULL && strtoull(length, NULL, 10) > limit)
        http_fail(&call->request, 413,
                  "the body has %.20s bytes, at most %zu are taken", length, limit);
}

static enum MHD_Result count_head(void *context, enum MHD_ValueKind kind,
                                  const char *key, size_t key_size, const char *value,
                                  size_t value_size)
{
    (void)kind;
    http_head_add(context, key, key_size, value != NULL ? value : "", value_size);
    return MHD_YES;
}

// check_head refuses a request whose head is in doubt, and what comes after it.
static void check_head(struct call *call, const char *version)
{
    struct http_head head = { 0 };
    MHD_get_connection_values_n(call->connection, MHD_HEADER_KIND, count_head, &head);
    const char *doubt = http_head_doubt(&head, version);
    // libmicrohttpd drops a header that goes on in the next line, and what was a body
    // would be the next request.
    if (head.lengths + head.encodings == 0 && strcmp(call->method, "GET") != 0)
        call->closing = true;
    if (doubt == NULL)
        return;
    http_fail(&call->request, 400, "%s", doubt);
    call->closing = true;
}

// check_request fails a request that is not to be read on.
static void check_request(struct call *call, const char *version)
{
    struct http_request *request = &call->request;
    check_head(call, version);
    if (request->answer.status == 0)
        find_route(request, call->method, call->server->options);
    if (request->answer.status == 0)
        http_access_check(call);
    if (request->answer.status == 0)
        check_length(call);
    call->sender = request->who.index;
    // What anybody may ask for does not make a stranger known.
    if (request->answer.status == 0 && request->route->access != HTTP_OPEN &&
        request->route->access != HTTP_LOGIN && !call->by_session)
        connections_use(&call->server->connections, call->watched, CONNECTION_BUSY);
    if (request->answer.status == 0 && request->route->begin != NULL)
        request->route->begin(request);
}

static struct call *begin_call(struct http_server *server,
                               struct MHD_Connection *connection, const char *url,
                               const char *method)
{
    struct call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    struct http_request *request = &call->request;
    request->context = server->options->context;
    request->path = url;
    request->who.index = ACCESS_TOKENS;
    call->method = method;
    call->begun_ms = timestamp_now();
    call->server = server;
    call->options = server->options;
    call->connection = connection;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    call->watched = info->socket_context;
    connections_allow(&server->connections, call->watched, BODY_MS);

    pthread_mutex_lock(&server->lock);
    server->under_way++;
    pthread_mutex_unlock(&server->lock);

    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, keep_parameter,
                              request);
    request->content_encoding = http_header(call, "Content-Encoding");
    request->host = http_header(call, "Host");
    const char *scheme = http_header(call, "X-Forwarded-Proto");
    request->secure = scheme != NULL && strcmp(scheme, "https") == 0;
    return call;
}

// release_body frees what is kept of a body.
static void release_body(struct call *call)
{
    load_give_back(call->options->load, call->sender, call->kept);
    call->kept = 0;
    text_deinit(&call->request.body);
}

// keep_body keeps a piece of a body if all bodies together are not too much. A body
// that is refused takes no room while the rest of it comes.
static void keep_body(struct call *call, const char *bytes, size_t size)
{
    struct http_request *request = &call->request;
    if (!load_take(call->options->load, call->sender, call->kept, size)) {
        release_body(call);
        http_later(request, 429, 0, "too much is being sent at once, send it later");
        return;
    }
    call->kept += size;
    text_append(&request->body, bytes, size);
    if (!text_ok(&request->body))
        http_fail(request, 503, "out of memory");
}

// take_request_body takes a piece of the body. A refused body is still read up to a
// limit: closing the connection with unread bytes would reset it, and the client could
// lose the answer.
static enum MHD_Result take_request_body(struct call *call, const char *bytes,
                                         size_t size)
{
    struct http_request *request = &call->request;
    call->received += size;
    connections_extend(&call->server->connections, call->watched,
                       (int64_t)(size / BODY_BYTES_PER_MS), BODY_MS);
    if (request->answer.status != 0)
        return call->received < DISCARD_MAX ? MHD_YES : MHD_NO;
    if (call->received > request->route->body_limit) {
        http_fail(request, 413, "the body has more than %zu bytes",
                  request->route->body_limit);
        return MHD_YES;
    }
    if (request->route->body != NULL) {
        request->route->body(request, bytes, size);
        return MHD_YES;
    }
    keep_body(call, bytes, size);
    return MHD_YES;
}

static void add_headers(struct MHD_Response *response,
                        const struct http_request *request)
{
    const struct http_answer *answer = &request->answer;
    MHD_add_response_header(response, "Content-Type", answer->content_type);
    MHD_add_response_header(response, "Content-Security-Policy", content_policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Cache-Control",
                            answer->cacheable ? "max-age=86400" : "no-store");
    if (answer->status == 401)
        // Basic would make browsers open a dialog; the page has a form instead.
        MHD_add_response_header(response, "WWW-Authenticate",
                                "Bearer realm=\"crashhook\"");
    if (answer->file_name != NULL) {
        char disposition[96];
        snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
                 answer->file_name);
        MHD_add_response_header(response, "Content-Disposition", disposition);
    }
    if (answer->location[0] != 0)
        MHD_add_response_header(response, "Location", answer->location);
    if (answer->cookie.size != 0)
        MHD_add_response_header(response, "Set-Cookie", answer->cookie.bytes);
    if (answer->next.size != 0)
        MHD_add_response_header(response, "Link", answer->next.bytes);
    if (answer->retry_after_s != 0) {
        char seconds[16];
        snprintf(seconds, sizeof(seconds), "%u", answer->retry_after_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
}

static void tell_request(struct call *call, size_t sent)
{
    struct http_seen seen = { .method = call->method,
                              .path = call->request.path,
                              .forwarded = http_header(call, "X-Forwarded-For"),
                              .status = call->request.answer.status,
                              .received = call->received,
                              .sent = sent,
                              .duration_ms = timestamp_now() - call->begun_ms,
                              .pool = call->request.large ? HTTP_LARGE
                                      : call->handled     ? call->request.route->pool
                                                          : HTTP_AT_ONCE,
                              .who = &call->request.who };
    http_peer_address(call, seen.from, sizeof(seen.from));
    call->server->options->observe(call->request.context, &seen);
}

// finish_answer does what takes time with an answer, on the thread that made it. Large
// ones that are not fetched take memory, as bodies do that are not sent.
static void finish_answer(struct call *call)
{
    struct http_request *request = &call->request;
    struct http_answer *answer = &request->answer;
    call->finished = true;
    if (!text_ok(&answer->body))
        http_fail(request, 503, "the answer does not fit into memory");
    if (answer->is_file)
        return;
    call->compressed = compress_wanted(http_header(call, "Accept-Encoding")) &&
                       compress_answer(&answer->body);
    size_t size = answer->body.size;
    if (size < ANSWER_LARGE)
        return;
    if (load_take(call->options->load, call->sender, 0, size)) {
        call->kept += size;
        return;
    }
    text_deinit(&answer->body);
    call->compressed = false;
    http_later(request, 429, 0, "too much is being fetched at once, ask later");
}

static enum MHD_Result send_answer(struct call *call)
{
    struct http_request *request = &call->request;
    struct http_answer *answer = &request->answer;
    if (!call->finished)
        finish_answer(call);
    size_t sent = answer->is_file ? answer->file_size : answer->body.size;
    struct MHD_Response *response =
        answer->is_file ? MHD_create_response_from_fd_at_offset64(sent, answer->file,
                                                                  answer->file_offset)
                        : MHD_create_response_from_buffer(sent, answer->body.bytes,
                                                          MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        return MHD_NO;
    answer->body = (struct text){ 0 }; // the response owns it now
    add_headers(response, request);
    if (call->closing)
        MHD_add_response_header(response, "Connection", "close");
    if (call->compressed)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (!answer->is_file)
        MHD_add_response_header(response, "Vary", "Accept-Encoding");
    connections_allow(&call->server->connections, call->watched, ANSWER_MS);
    tell_request(call, sent);
    enum MHD_Result result =
        MHD_queue_response(call->connection, answer->status, response);
    MHD_destroy_response(response);
    return result;
}

static void refuse_at_end(struct call *call)
{
    http_later(&call->request, 503, 0, "the collector is stopping");
    http_release(call);
}

// move_call has a call handled again, in the pool of what is large.
static void move_call(struct call *call)
{
    struct http_request *request = &call->request;
    request->wants_large = false;
    request->large = true;
    text_deinit(&request->answer.body);
    text_deinit(&request->answer.cookie);
    text_deinit(&request->answer.next);
    request->answer = (struct http_answer){ 0 };
    if (work_add(call->server->pools[HTTP_LARGE], &call->work) != CH_OK)
        refuse_at_end(call);
}

// run_call handles a request, on a thread of its pool.
static void run_call(struct work_item *item)
{
    struct call *call = (struct call *)((char *)item - offsetof(struct call, work));
    struct http_request *request = &call->request;
    if (call->server->ending) {
        refuse_at_end(call);
        return;
    }
    if (call->by_session) {
        http_access_check_session(call);
        if (request->answer.status == 0)
            connections_use(&call->server->connections, call->watched, CONNECTION_BUSY);
    }
    if (request->answer.status == 0 && request->route->page)
        call->options->begin_page(request);
    if (request->answer.status == 0)
        request->route->handle(request);
    if (request->wants_large) {
        move_call(call);
        return;
    }
    if (!call->suspended)
        finish_answer(call);
    http_release(call);
}

// hand_over gives a call to its pool; on_request is called again once it is answered.
static void hand_over(struct call *call)
{
    atomic_store(&call->holds, 1);
    MHD_suspend_connection(call->connection);
    if (work_add(call->server->pools[call->request.route->pool], &call->work) != CH_OK)
        refuse_at_end(call);
}

// on_request is called once for the head, then for each piece of the body, then without
// bytes, and again without bytes after a resume, when the answer is made.
// NOLINTNEXTLINE(readability-function-size): its parameters are the library's
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *size,
                                  void **state)
{
    struct call *call = *state;
    if (call == NULL) {
        call = begin_call(context, connection, url, method);
        *state = call;
        if (call == NULL)
            return MHD_NO;
        check_request(call, version);
        // A client that asks first (Expect: 100-continue) is refused before it sends
        // the body.
        return call->request.answer.status != 0 &&
                       (call->closing || http_header(call, "Expect") != NULL)
                   ? send_answer(call)
                   : MHD_YES;
    }
    if (*size != 0) {
        enum MHD_Result result = take_request_body(call, bytes, *size);
        *size = 0;
        return result;
    }
    if (!call->handled && call->request.answer.status == 0) {
        call->handled = true;
        connections_allow(&call->server->connections, call->watched, ANSWER_MS);
        if (call->request.route->pool != HTTP_AT_ONCE) {
            hand_over(call);
            return MHD_YES;
        }
        call->request.route->handle(&call->request);
    }
    return send_answer(call);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode reason)
{
    (void)connection;
    (void)reason;
    struct http_server *server = context;
    struct call *call = *state;
    if (call == NULL)
        return;
    // The connection stays open for another request.
    connections_allow(&server->connections, call->watched, HEAD_MS);
    connections_use(&server->connections, call->watched, CONNECTION_IDLE);
    if (call->request.state_destroy != NULL)
        call->request.state_destroy(call->request.state);
    release_body(call);
    text_deinit(&call->request.answer.body);
    text_deinit(&call->request.answer.cookie);
    text_deinit(&call->request.answer.next);
    free(call);
    *state = NULL;

    pthread_mutex_lock(&server->lock);
    if (--server->under_way == 0)
        pthread_cond_broadcast(&server->idle);
    pthread_mutex_unlock(&server->lock);
}

static void on_connection(void *context, struct MHD_Connection *mhd_connection,
                          void **state, enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(mhd_connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct connection *connection = calloc(1, sizeof(*connection));
        if (connection != NULL) // else it is not watched: it cannot be refused here
            connections_add(&server->connections, connection, info->connect_fd,
                            HEAD_MS);
        *state = connection;
    } else if (*state != NULL) {
        connections_remove(&server->connections, *state);
        free(*state);
        *state = NULL;
    }
}

static enum ch_status start_pools(struct http_server *server)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < HTTP_POOLS && status == CH_OK; i++) {
        const struct work_options options = { .threads = pool_sizes[i].threads,
                                              .niceness = pool_sizes[i].niceness,
                                              .run = run_call };
        status = work_create(&options, &server->pools[i]);
    }
    return status;
}

enum ch_status http_start(const struct http_options *options, struct http_server **out)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        return CH_ERR_NO_MEMORY;
    server->options = options;
    connections_init(&server->connections, CONNECTIONS_EASY);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->idle, NULL);
    enum ch_status status = start_pools(server);
    if (status != CH_OK) {
        http_stop(server);
        return status;
    }
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
        NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, options->listen_fd,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTION_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_END);
    if (server->daemon == NULL) {
        http_stop(server);
        return CH_ERR_IO;
    }
    *out = server;
    return CH_OK;
}

void http_tick(struct http_server *server)
{
    connections_cut(&server->connections);
}

void http_quiesce(struct http_server *server, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    pthread_mutex_lock(&server->lock);
    // A client that connects now is refused and not left waiting. MHD_quiesce_daemon
    // (0.9.75) would abort when a thread of the pool closes the socket at the same
    // moment. The pool's threads spin on the socket until the end, so only if there is
    // anything to wait for.
    if (server->under_way != 0)
        (void)shutdown(server->options->listen_fd, SHUT_RDWR);
    int result = 0;
    while (server->under_way != 0 && result == 0)
        result = pthread_cond_timedwait(&server->idle, &server->lock, &until);
    pthread_mutex_unlock(&server->lock);
}

void http_stop(struct http_server *server)
{
    if (server == NULL)
        return;
    server->ending = true;
    for (size_t i = 0; i < HTTP_POOLS; i++) {
        if (server->pools[i] != NULL)
            work_end(server->pools[i]);
    }
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    for (size_t i = 0; i < HTTP_POOLS; i++)
        work_destroy(server->pools[i]);
    connections_deinit(&server->connections);
    pthread_cond_destroy(&server->idle);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
