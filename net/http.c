// SPDX-License-Identifier: Apache-2.0
//
// How it works: http_send borrows a client (a libcurl easy handle) from the idle ones,
// or makes one, sets all options anew, performs the transfer, and returns the client
// with its connection, which the next request to the same server reuses.
//
// libcurl is loaded on first use (libcurl.h); `lock` guards that and the list of idle
// clients. A transfer itself uses nothing shared, so any number of threads may send.
//
// Callbacks of a transfer (struct transfer): take_header takes the few headers that
// callers need, take_answer_body collects the body or writes it to a file,
// tell_transfer_progress reports the bytes sent. One that refuses the answer notes why
// in transfer.refused, which then is the error.
//
// Limits: set_limits sets the time and the least rate, take_answer_body bounds what is
// taken of an answer.
#include "net/http.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/system/file.h"
#include "net/libcurl.h"
#include "report/spool/spool_wait.h"

enum {
    REPLY_MAX_BYTES = 64 << 10,
    HEADERS_MAX_BYTES = 64 << 10,
    CONNECT_TIMEOUT_MS = 10000,
    RETRY_AFTER_MAX_S = SPOOL_WAIT_MAX_S,
    DATE_SIZE = 64,
    IDLE_CLIENTS = 8,
    LARGE_FILE_BYTES = 1 << 20,
};

// curl is set before the first client is made. A client that is not in use waits in
// idle with its connection: a caller that sends one request after the other always has
// the same.
static const struct libcurl *curl;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static CURL *idle[IDLE_CLIENTS];
static size_t idle_count;

// transfer is what the callbacks of one transfer share.
struct transfer {
    CURL *client;
    const struct http_request *request;
    struct http_reply *reply;
    size_t header_bytes;
    size_t file_bytes; // of the answer, written to a file
    char retry_after[DATE_SIZE];
    char date[DATE_SIZE];
    off_t file_start;    // position of the request's file
    const char *refused; // why we aborted it
};

static size_t take_answer_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    FILE *to = transfer->request->to;
    size_t most = transfer->request->reply_max_bytes;
    long status = 0;
    if (to != NULL)
        (void)curl->easy_getinfo(transfer->client, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) {
        transfer->file_bytes += size * count;
        if (transfer->file_bytes <= HTTP_FILE_MAX_BYTES)
            return fwrite(bytes, 1, size * count, to);
        transfer->refused = "its answer is too long";
        return 0;
    }
    most = most != 0 ? most : REPLY_MAX_BYTES;
    if (size * count > most - transfer->reply->body.size) {
        transfer->refused = "its answer is too long";
        return 0;
    }
    text_append(&transfer->reply->body, bytes, size * count);
    return text_ok(&transfer->reply->body) ? size * count : 0;
}

// parse_retry_after parses seconds, or a date, which it compares with the server's own
// clock where the answer has one.
static int64_t parse_retry_after(const char *value, time_t server_time)
{
    int64_t seconds = -1;
    size_t length = strlen(value);
    if (value[0] >= '0' && value[0] <= '9' && strspn(value, "0123456789") == length) {
        seconds = 0;
        for (const char *at = value; *at != 0 && seconds < RETRY_AFTER_MAX_S; at++)
            seconds = seconds * 10 + (*at - '0');
    } else {
        time_t date = curl->getdate(value, NULL);
        if (date != -1)
            seconds = date - (server_time != -1 ? server_time : time(NULL));
    }
    if (seconds < 0)
        return -1;
    return seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S;
}

// header_value is the start of the value of header name in a line of length bytes, and
// the value's length; NULL: the line is another header.
static const char *header_value(const char *line, size_t length, const char *name,
                                size_t *out_length)
{
    size_t prefix = strlen(name);
    if (length <= prefix || strncasecmp(line, name, prefix) != 0 || line[prefix] != ':')
        return NULL;
    prefix++;
    while (length > prefix && (unsigned char)line[length - 1] <= ' ')
        length--;
    while (prefix < length && line[prefix] == ' ')
        prefix++;
    *out_length = length - prefix;
    return line + prefix;
}

// take_short copies the value of header name; a value that is too long counts as
// missing.
static void take_short(const char *line, size_t size, const char *name, char *to)
{
    size_t length = 0;
    const char *value = header_value(line, size, name, &length);
    if (value == NULL || length >= DATE_SIZE)
        return;
    memcpy(to, value, length);
    to[length] = 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    struct text *kept = &transfer->reply->kept;
    const char *keep = transfer->request->keep;
    size_t length = 0;

    transfer->header_bytes += size * count;
    if (transfer->header_bytes > HEADERS_MAX_BYTES) {
        transfer->refused = "its headers are too long";
        return 0;
    }
    // Those of a proxy and of responses before the final one come, too.
    if (size * count > 5 && strncmp(bytes, "HTTP/", 5) == 0) {
        transfer->retry_after[0] = 0;
        transfer->date[0] = 0;
        text_clear(kept);
    }
    take_short(bytes, size * count, "retry-after", transfer->retry_after);
    take_short(bytes, size * count, "date", transfer->date);
    const char *value =
        keep != NULL ? header_value(bytes, size * count, keep, &length) : NULL;
    if (value != NULL) {
        text_append_string(kept, kept->size != 0 ? "," : "");
        text_append(kept, value, length);
    }
    return size * count;
}

static int tell_transfer_progress(void *context, curl_off_t down_size, curl_off_t down,
                                  curl_off_t up_size, curl_off_t up)
{
    const struct http_request *request = context;
    (void)down_size;
    (void)down;
    if (request->progress != NULL && up_size > 0 && up >= 0)
        request->progress(request->context, (uint64_t)up, (uint64_t)up_size);
    return request->abandon != NULL && *request->abandon ? 1 : 0;
}

// create_client loads libcurl on first use; NULL: why says what failed.
static CURL *create_client(char *why, size_t size)
{
    static bool ready;
    if (curl == NULL && libcurl_load(&curl, why, size) != CH_OK)
        return NULL;
    ready = ready || curl->global_init(CURL_GLOBAL_DEFAULT) == 0;
    CURL *client = ready ? curl->easy_init() : NULL;
    if (client == NULL)
        (void)snprintf(why, size, "out of memory");
    return client;
}

static void return_client(CURL *client)
{
    // libcurl keeps pointers, and what they lead to ends with the request.
    curl->easy_reset(client);
    pthread_mutex_lock(&lock);
    if (idle_count < IDLE_CLIENTS) {
        idle[idle_count++] = client;
        client = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (client != NULL)
        curl->easy_cleanup(client);
}

static void free_headers(struct curl_slist *const *headers)
{
    curl->slist_free_all(*headers);
}

// add_header appends one header; if it does not fit or memory is short, headers is
// returned unchanged.
static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
                                     const char *value)
{
    char line[10240];
    if ((size_t)snprintf(line, sizeof(line), "%s%s", name, value) >= sizeof(line))
        return headers;
    struct curl_slist *longer = curl->slist_append(headers, line);
    return longer != NULL ? longer : headers;
}

// add_lines appends the headers in lines, one per line.
static struct curl_slist *add_lines(struct curl_slist *headers, const char *lines)
{
    while (*lines != 0) {
        char line[10240];
        size_t length = strcspn(lines, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)length, lines);
        headers = add_header(headers, line, "");
        lines += length + (lines[length] == '\n');
    }
    return headers;
}

static struct curl_slist *request_headers(const struct http_request *request)
{
    // Without this libcurl sends `Expect: 100-continue` and waits for the server's
    // consent. It would sign it, though it does not send it (7.88).
    struct curl_slist *headers =
        request->signature == NULL ? add_header(NULL, "Expect:", "") : NULL;
    headers = add_header(headers, "User-Agent: crashhook/", CRASHHOOK_VERSION);
    if (request->content_type != NULL)
        headers = add_header(headers, "Content-Type: ", request->content_type);
    if (request->encoding != NULL)
        headers = add_header(headers, "Content-Encoding: ", request->encoding);
    if (request->token != NULL && request->token[0] != 0)
        headers = add_header(headers, "Authorization: Bearer ", request->token);
    if (request->headers != NULL)
        headers = add_lines(headers, request->headers);
    return headers;
}

// set_authorities trusts the authorities that the curl command would: a bundle or a
// folder named in the environment, otherwise the system's.
static void set_authorities(CURL *client)
{
    static const struct {
        const char *variable;
        CURLoption option;
    } sources[] = { { "CURL_CA_BUNDLE", CURLOPT_CAINFO },
                    { "SSL_CERT_DIR", CURLOPT_CAPATH },
                    { "SSL_CERT_FILE", CURLOPT_CAINFO } };
    const char *bundle = libcurl_authorities();
    if (bundle != NULL)
        curl->easy_setopt(client, CURLOPT_CAINFO, bundle);
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const char *path = getenv(sources[i].variable);
        if (path == NULL || *path == 0)
            continue;
        curl->easy_setopt(client, sources[i].option, path);
        if (i == 0)
            return;
    }
}

static void set_limits(CURL *client, const struct http_request *request)
{
    long timeout =
        request->timeout_ms < 86400000 ? (long)request->timeout_ms : 86400000;
    curl->easy_setopt(client, CURLOPT_CONNECTTIMEOUT_MS,
                      timeout < CONNECT_TIMEOUT_MS ? timeout
                                                   : (long)CONNECT_TIMEOUT_MS);
    if (request->least_rate != 0) {
        curl->easy_setopt(client, CURLOPT_LOW_SPEED_LIMIT, (long)request->least_rate);
        curl->easy_setopt(client, CURLOPT_LOW_SPEED_TIME, (timeout + 999) / 1000);
        curl->easy_setopt(client, CURLOPT_TIMEOUT, (long)HTTP_LONG_MAX_S);
    } else {
        curl->easy_setopt(client, CURLOPT_TIMEOUT_MS, timeout);
    }
}

// rewind_file is called where the server did not take what was sent, as when it refuses
// a stream of HTTP/2. Without it libcurl goes to the beginning of the file.
static int rewind_file(void *context, curl_off_t offset, int origin)
{
    const struct transfer *transfer = context;
    return fseeko(transfer->request->file, transfer->file_start + offset, origin) == 0
               ? CURL_SEEKFUNC_OK
               : CURL_SEEKFUNC_FAIL;
}

static void set_body(CURL *client, struct transfer *transfer)
{
    const struct http_request *request = transfer->request;
    if (request->body != NULL) {
        curl->easy_setopt(client, CURLOPT_POST, 1L);
        curl->easy_setopt(client, CURLOPT_POSTFIELDS, request->body);
        curl->easy_setopt(client, CURLOPT_POSTFIELDSIZE_LARGE,
                          (curl_off_t)request->size);
    }
    if (request->file != NULL) {
        curl->easy_setopt(client, CURLOPT_UPLOAD, 1L);
        curl->easy_setopt(client, CURLOPT_READDATA, request->file);
        curl->easy_setopt(client, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->size);
        transfer->file_start = ftello(request->file);
        curl->easy_setopt(client, CURLOPT_SEEKFUNCTION, rewind_file);
        curl->easy_setopt(client, CURLOPT_SEEKDATA, transfer);
        // When a connection that was used before breaks, libcurl sends all of it again.
        if (request->size >= LARGE_FILE_BYTES)
            curl->easy_setopt(client, CURLOPT_FRESH_CONNECT, 1L);
    }
    if (request->method != NULL)
        curl->easy_setopt(client, CURLOPT_CUSTOMREQUEST, request->method);
    if (request->method != NULL && strcmp(request->method, "HEAD") == 0)
        curl->easy_setopt(client, CURLOPT_NOBODY, 1L);
    if (request->progress != NULL || request->abandon != NULL) {
        curl->easy_setopt(client, CURLOPT_XFERINFOFUNCTION, tell_transfer_progress);
        curl->easy_setopt(client, CURLOPT_XFERINFODATA, request);
        curl->easy_setopt(client, CURLOPT_NOPROGRESS, 0L);
    }
}

// set_signature has libcurl sign the request as the S3 protocol wants it (SigV4).
static void set_signature(CURL *client, const struct http_signature *signature)
{
    char scheme[128];
    (void)snprintf(scheme, sizeof(scheme), "aws:amz:%.64s:s3", signature->region);
    curl->easy_setopt(client, CURLOPT_AWS_SIGV4, scheme);
    curl->easy_setopt(client, CURLOPT_USERNAME, signature->key);
    curl->easy_setopt(client, CURLOPT_PASSWORD, signature->secret);
}

static void set_options(const struct http_request *request,
                        const struct curl_slist *headers, struct transfer *transfer)
{
    CURL *client = transfer->client;
    curl->easy_setopt(client, CURLOPT_URL, request->url);
    curl->easy_setopt(client, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(client, CURLOPT_FOLLOWLOCATION, 0L);
    // Time limits must not use SIGALRM: the signal is not ours to take.
    curl->easy_setopt(client, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(client, CURLOPT_HTTPHEADER, headers);
    set_authorities(client);
    set_limits(client, request);
    set_body(client, transfer);
    if (request->signature != NULL)
        set_signature(client, request->signature);
    curl->easy_setopt(client, CURLOPT_WRITEFUNCTION, take_answer_body);
    curl->easy_setopt(client, CURLOPT_WRITEDATA, transfer);
    curl->easy_setopt(client, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(client, CURLOPT_HEADERDATA, transfer);
    curl->easy_setopt(client, CURLOPT_ERRORBUFFER, transfer->reply->error);
}

// drop_duration removes " after 12 ms" from libcurl's message: the same failure must
// read the same each time, so that it is reported only once.
static void drop_duration(char *error)
{
    static const char before[] = " after ";
    char *at = strstr(error, before);
    if (at == NULL)
        return;
    const char *end = at + strlen(before);
    end += strspn(end, "0123456789");
    if (strncmp(end, " ms", 3) == 0)
        memmove(at, end + 3, strlen(end + 3) + 1);
}

enum ch_status http_send(const struct http_request *request, struct http_reply *out)
{
    *out = (struct http_reply){ .retry_after_s = -1 };
    struct transfer transfer = { .request = request, .reply = out };
    long status = 0;
    if (request->timeout_ms == 0) { // libcurl takes 0 as no limit
        (void)snprintf(out->error, sizeof(out->error), "no time is left for it");
        return CH_ERR_IO;
    }
    pthread_mutex_lock(&lock);
    CURL *client = idle_count != 0 ? idle[--idle_count]
                                   : create_client(out->error, sizeof(out->error));
    pthread_mutex_unlock(&lock);
    if (client == NULL)
        return CH_ERR_IO;
    transfer.client = client;
    struct curl_slist *CH_CLEANUP(free_headers) headers = request_headers(request);
    set_options(request, headers, &transfer);
    CURLcode code = curl->easy_perform(client);
    (void)curl->easy_getinfo(client, CURLINFO_RESPONSE_CODE, &status);
    time_t date = curl->getdate(transfer.date, NULL);
    return_client(client);
    if (code != CURLE_OK) {
        if (transfer.refused != NULL)
            (void)snprintf(out->error, sizeof(out->error), "%s", transfer.refused);
        else if (out->error[0] == 0)
            (void)snprintf(out->error, sizeof(out->error), "%s",
                           curl->easy_strerror(code));
        drop_duration(out->error);
        return CH_ERR_IO;
    }
    out->status = (int)status;
    out->retry_after_s = parse_retry_after(transfer.retry_after, date);
    return CH_OK;
}

void http_reply_deinit(struct http_reply *reply)
{
    text_deinit(&reply->body);
    text_deinit(&reply->kept);
}

void http_close(void)
{
    pthread_mutex_lock(&lock);
    while (idle_count != 0)
        curl->easy_cleanup(idle[--idle_count]);
    pthread_mutex_unlock(&lock);
}

// A wait ends a second after the last that it has to last, and a fraction of one later:
// WAIT_MAX_S leaves room for both.
enum {
    BACKOFF_FIRST_S = 1,
    BACKOFF_MAX_S = 3600,
    WAIT_MAX_S = SPOOL_WAIT_MAX_S - 2,
};

// backoff_chance is a number from 0 to most.
static int64_t backoff_chance(int64_t most)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint32_t)time(NULL);
    return (int64_t)(random % (uint64_t)(most + 1));
}

int backoff_fraction_ms(void)
{
    return (int)backoff_chance(999);
}

static int64_t backoff_after(uint32_t failures)
{
    int64_t wait = BACKOFF_FIRST_S;
    for (uint32_t i = 1; i < failures && wait < BACKOFF_MAX_S; i++)
        wait *= 2;
    if (wait > BACKOFF_MAX_S)
        wait = BACKOFF_MAX_S;
    return wait - wait / 4 + backoff_chance(wait / 2);
}

int64_t backoff_wait_s(int64_t asked_s, uint32_t failures)
{
    int64_t wait = asked_s < 0 ? backoff_after(failures) : asked_s;
    if (asked_s >= 0 && asked_s < WAIT_MAX_S)
        wait += backoff_chance((asked_s + 1) / 2);
    if (wait < 1)
        return 1;
    return wait < WAIT_MAX_S ? wait : WAIT_MAX_S;
}

enum { TOKEN_MAX_BYTES = 8192 };

// add_token_header appends a token, which may hold only characters that a header
// allows.
static enum ch_status add_token_header(const char *token, size_t size, struct text *out,
                                       const char **out_why)
{
    static const char space[] = " \t\r\n";
    while (size > 0 && strchr(space, token[size - 1]) != NULL)
        size--;
    while (size > 0 && strchr(space, *token) != NULL) {
        token++;
        size--;
    }
    for (size_t i = 0; i < size; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            *out_why = "it holds characters that no token has";
            return CH_ERR_MALFORMED;
        }
    }
    text_append(out, token, size);
    *out_why = "out of memory";
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

enum ch_status token_read(const char *file, const char *value, struct text *out,
                          const char **out_why)
{
    char buffer[TOKEN_MAX_BYTES];
    struct stat status;
    if (file == NULL)
        return value != NULL ? add_token_header(value, strlen(value), out, out_why)
                             : CH_OK;

    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    int CH_CLEANUP(file_close) fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        *out_why = strerror(errno);
        return CH_ERR_IO;
    }
    if ((status.st_uid != geteuid() && status.st_uid != 0) ||
        (status.st_mode & S_IWOTH) != 0) {
        *out_why = "others may write to it";
        return CH_ERR_MALFORMED;
    }
    ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size < 0) {
        *out_why = strerror(errno);
        return CH_ERR_IO;
    }
    if ((size_t)size == sizeof(buffer)) {
        *out_why = "it is too long for a token";
        return CH_ERR_MALFORMED;
    }
    return add_token_header(buffer, (size_t)size, out, out_why);
}
