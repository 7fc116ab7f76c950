// SPDX-License-Identifier: Apache-2.0
#include "collector/server/http_call.h"

#include <jansson.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "collector/database/timestamp.h"

const char *http_parameter_value(const struct http_request *request, const char *key)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        if (strcmp(request->parameters[i].key, key) == 0)
            return request->parameters[i].value;
    }
    return NULL;
}

// is_page returns true if people view this URL: then its failures are pages too.
static bool is_page(const struct http_request *request)
{
    if (request->route != NULL)
        return request->route->page;
    return strncmp(request->path, "/api/", 5) != 0;
}

static void answer_sentence(struct http_request *request, unsigned status,
                            const char *sentence)
{
    struct http_answer *answer = &request->answer;
    text_clear(&answer->body);
    answer->status = status;
    if (is_page(request)) {
        answer->content_type = "text/html; charset=utf-8";
        text_append_string(&answer->body, sentence);
        const struct call *call = (const struct call *)request;
        call->options->fail_page(request);
        return;
    }
    answer->content_type = "application/json";
    // A sentence that was cut inside a character is not UTF-8; json_pack then returns
    // NULL.
    json_t *error = json_pack("{s:s}", "error", sentence);
    char *dumped = json_dumps(error, JSON_COMPACT);
    json_decref(error);
    text_append_string(&answer->body, dumped != NULL ? dumped : "{\"error\":\"\"}");
    free(dumped);
}

__attribute__((format(printf, 3, 0))) static void
answer_words(struct http_request *request, unsigned status, const char *format,
             va_list arguments)
{
    char sentence[600];
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    answer_sentence(request, status, sentence);
}

void http_fail(struct http_request *request, unsigned status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    answer_words(request, status, format, arguments);
    va_end(arguments);
}

void http_see_other(struct http_request *request, const char *format, ...)
{
    struct http_answer *answer = &request->answer;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(answer->location, sizeof(answer->location), format, arguments);
    va_end(arguments);
    answer->status = 303;
    answer->content_type = "text/html; charset=utf-8";
}

void http_later(struct http_request *request, unsigned status, unsigned wait_s,
                const char *format, ...)
{
    struct load *load = ((struct call *)request)->options->load;
    va_list arguments;
    va_start(arguments, format);
    answer_words(request, status, format, arguments);
    va_end(arguments);
    request->answer.retry_after_s =
        wait_s != 0 ? load_spread(wait_s) : load_refuse(load, timestamp_now());
}

void http_suspend(struct http_request *request)
{
    struct call *call = (struct call *)request;
    call->suspended = true;
    atomic_fetch_add(&call->holds, 1);
}

void http_resume(struct http_request *request)
{
    http_release((struct call *)request);
}

void http_release(struct call *call)
{
    if (atomic_fetch_sub(&call->holds, 1) == 1)
        MHD_resume_connection(call->connection);
}

void http_move_large(struct http_request *request)
{
    request->wants_large = true;
}

const char *http_header(struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

void http_peer_address(struct call *call, char *out, size_t size)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    socklen_t length = info == NULL ? 0
                       : info->client_addr->sa_family == AF_INET
                           ? sizeof(struct sockaddr_in)
                           : sizeof(struct sockaddr_in6);
    if (length == 0 || getnameinfo(info->client_addr, length, out, (socklen_t)size,
                                   NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(out, size, "?");
}

const char *http_header_value(struct http_request *request, const char *name)
{
    return http_header((struct call *)request, name);
}

const char *http_cookie_value(struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(((struct call *)request)->connection,
                                       MHD_COOKIE_KIND, name);
}

const char *http_cookie(struct http_request *request)
{
    return http_cookie_value(request, ACCESS_COOKIE);
}

struct work {
    struct work_options options;
    pthread_t threads[WORK_THREADS_MAX];
    unsigned started;
    pthread_mutex_t lock; // guards everything below
    pthread_cond_t changed;
    struct work_item *first;
    struct work_item **end;
    bool ending;
};

// take_work waits for an item; NULL: the pool ends, and its queue is empty.
static struct work_item *take_work(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    while (work->first == NULL && !work->ending)
        pthread_cond_wait(&work->changed, &work->lock);
    struct work_item *item = work->first;
    if (item != NULL)
        work->first = item->next;
    if (work->first == NULL)
        work->end = &work->first;
    pthread_mutex_unlock(&work->lock);
    return item;
}

static void *work_main(void *context)
{
    struct work *work = context;
    struct work_item *item;
    if (work->options.niceness != 0) // of a thread, in Linux
        (void)setpriority(PRIO_PROCESS, 0, work->options.niceness);
    while ((item = take_work(work)) != NULL)
        work->options.run(item);
    return NULL;
}

enum ch_status work_create(const struct work_options *options, struct work **out)
{
    struct work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        return CH_ERR_NO_MEMORY;
    work->options = *options;
    work->end = &work->first;
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->changed, NULL);
    while (work->started < options->threads && work->started < WORK_THREADS_MAX) {
        if (pthread_create(&work->threads[work->started], NULL, work_main, work) != 0) {
            work_destroy(work);
            return CH_ERR_IO;
        }
        work->started++;
    }
    *out = work;
    return CH_OK;
}

void work_destroy(struct work *work)
{
    if (work == NULL)
        return;
    work_end(work);
    pthread_cond_destroy(&work->changed);
    pthread_mutex_destroy(&work->lock);
    free(work);
}

void work_end(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    work->ending = true;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
    for (unsigned i = 0; i < work->started; i++)
        pthread_join(work->threads[i], NULL);
    work->started = 0;
}

enum ch_status work_add(struct work *work, struct work_item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&work->lock);
    bool ending = work->ending;
    if (!ending) {
        *work->end = item;
        work->end = &item->next;
        pthread_cond_signal(&work->changed);
    }
    pthread_mutex_unlock(&work->lock);
    return ending ? CH_END : CH_OK;
}
