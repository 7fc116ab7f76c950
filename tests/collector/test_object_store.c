// SPDX-License-Identifier: Apache-2.0
//
// An object store that refuses, played by a thread that answers one request.
#include "collector/objects/object_store.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

struct refusing {
    int listening;
    const char *headers;
};

static void *refuse_once(void *context)
{
    const struct refusing *refusing = context;
    char answer[256];
    char request[4096];
    size_t got = 0;
    int client = accept(refusing->listening, NULL, NULL);
    // A request without a body ends with an empty line.
    while (client >= 0 && (got < 4 || memcmp(request + got - 4, "\r\n\r\n", 4) != 0)) {
        ssize_t part = read(client, request + got, sizeof(request) - got);
        if (part <= 0)
            break;
        got += (size_t)part;
    }
    int size = snprintf(answer, sizeof(answer),
                        "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n"
                        "Connection: close\r\n%s\r\n",
                        refusing->headers);
    if (client < 0 || write(client, answer, (size_t)size) != size)
        print_error("the answer was not sent\n");
    (void)close(client);
    return NULL;
}

// rest_after gives for how long the store wants to be left alone after such an answer.
static int rest_after(const char *headers, enum ch_status *out_status)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    struct refusing refusing = { .listening = socket(AF_INET, SOCK_STREAM, 0),
                                 .headers = headers };
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    struct object_store *objects = NULL;
    pthread_t thread;
    char place[128];
    char why[OBJECT_WHY_SIZE] = "no thread";
    assert_int_equal(bind(refusing.listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(refusing.listening, 1), 0);
    assert_int_equal(
        getsockname(refusing.listening, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(pthread_create(&thread, NULL, refuse_once, &refusing), 0);
    (void)snprintf(place, sizeof(place), "s3://b?endpoint=http://127.0.0.1:%u&region=r",
                   ntohs(address.sin_port));
    assert_int_equal(object_store_open(place, NULL, why, &objects), CH_OK);
    *out_status = object_store_read(objects, "a", 0, 1, &out, why);
    int rest_ms = object_store_rest_ms(objects);
    (void)pthread_join(thread, NULL);
    object_store_close(objects);
    (void)close(refusing.listening);
    return rest_ms;
}

static void a_store_that_says_how_long_is_left_alone_so_long(void **state)
{
    enum ch_status status = CH_OK;
    (void)state;
    int rest_ms = rest_after("Retry-After: 30\r\n", &status);
    assert_int_equal(status, CH_ERR_IO);
    assert_in_range(rest_ms, 1, 45000);
}

static void but_not_longer_than_a_minute(void **state)
{
    enum ch_status status = CH_OK;
    (void)state;
    int rest_ms = rest_after("Retry-After: 86400\r\n", &status);
    assert_int_equal(status, CH_ERR_IO);
    assert_in_range(rest_ms, 30001, 60000);
}

static void a_store_that_does_not_say_is_asked_when_the_asker_wants(void **state)
{
    enum ch_status status = CH_OK;
    (void)state;
    int rest_ms = rest_after("", &status);
    assert_int_equal(status, CH_ERR_IO);
    assert_int_equal(rest_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_says_how_long_is_left_alone_so_long),
        cmocka_unit_test(but_not_longer_than_a_minute),
        cmocka_unit_test(a_store_that_does_not_say_is_asked_when_the_asker_wants),
    };
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    (void)unsetenv("http_proxy");
    return cmocka_run_group_tests_name("collector/object_store", tests, NULL, NULL);
}
