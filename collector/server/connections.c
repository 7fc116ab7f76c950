// SPDX-License-Identifier: Apache-2.0
#include "collector/server/connections.h"

#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

void connections_init(struct connections *connections)
{
    pthread_mutex_init(&connections->lock, NULL);
    connections->first = NULL;
}

void connections_deinit(struct connections *connections)
{
    pthread_mutex_destroy(&connections->lock);
}

void connections_add(struct connections *connections, struct connection *connection,
                     int fd, int64_t allowed_ms)
{
    pthread_mutex_lock(&connections->lock);
    connection->fd = fd;
    connection->deadline_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC) + allowed_ms;
    connection->next = connections->first;
    connection->link = &connections->first;
    if (connection->next != NULL)
        connection->next->link = &connection->next;
    connections->first = connection;
    pthread_mutex_unlock(&connections->lock);
}

void connections_remove(struct connections *connections, struct connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    *connection->link = connection->next;
    if (connection->next != NULL)
        connection->next->link = connection->link;
    pthread_mutex_unlock(&connections->lock);
}

void connections_allow(struct connections *connections, struct connection *connection,
                       int64_t allowed_ms)
{
    if (connection == NULL)
        return;
    pthread_mutex_lock(&connections->lock);
    connection->deadline_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC) + allowed_ms;
    pthread_mutex_unlock(&connections->lock);
}

void connections_extend(struct connections *connections, struct connection *connection,
                        int64_t more_ms, int64_t most_ms)
{
    if (connection == NULL)
        return;
    pthread_mutex_lock(&connections->lock);
    int64_t latest_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC) + most_ms;
    connection->deadline_ms += more_ms;
    if (connection->deadline_ms > latest_ms)
        connection->deadline_ms = latest_ms;
    pthread_mutex_unlock(&connections->lock);
}

size_t connections_cut(struct connections *connections)
{
    size_t count = 0;
    int64_t now_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    pthread_mutex_lock(&connections->lock);
    for (struct connection *c = connections->first; c != NULL; c = c->next) {
        if (c->deadline_ms > now_ms)
            continue;
        // Not close: the server owns the descriptor, and its number could be reused.
        shutdown(c->fd, SHUT_RDWR);
        c->deadline_ms = INT64_MAX; // once is enough: the server closes it now
        count++;
    }
    pthread_mutex_unlock(&connections->lock);
    return count;
}
