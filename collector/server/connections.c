// SPDX-License-Identifier: Apache-2.0
#include "collector/server/connections.h"

#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

void connections_init(struct connections *connections, size_t most)
{
    connections->count = 0;
    connections->most = most;
    pthread_mutex_init(&connections->lock, NULL);
    connections->first = NULL;
}

void connections_deinit(struct connections *connections)
{
    pthread_mutex_destroy(&connections->lock);
}

// cut_connection shuts down a connection. Not close: the server owns the descriptor,
// and its number could be reused.
static void cut_connection(struct connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    connection->deadline_ms = INT64_MAX; // once is enough: the server closes it now
    connection->use = CONNECTION_BUSY;
}

// cut_least_used cuts the oldest of those connections on which least is going on.
static void cut_least_used(struct connections *connections)
{
    struct connection *found = NULL;
    for (struct connection *c = connections->first; c != NULL; c = c->next) {
        if (c->use != CONNECTION_BUSY && (found == NULL || c->use <= found->use))
            found = c;
    }
    if (found != NULL)
        cut_connection(found);
}

void connections_add(struct connections *connections, struct connection *connection,
                     int fd, int64_t allowed_ms)
{
    pthread_mutex_lock(&connections->lock);
    if (++connections->count > connections->most)
        cut_least_used(connections);
    connection->fd = fd;
    connection->use = CONNECTION_STRANGE;
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
    connections->count--;
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

void connections_use(struct connections *connections, struct connection *connection,
                     enum connection_use use)
{
    if (connection == NULL)
        return;
    pthread_mutex_lock(&connections->lock);
    if (use != CONNECTION_IDLE || connection->use == CONNECTION_BUSY)
        connection->use = use;
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
        cut_connection(c);
        count++;
    }
    pthread_mutex_unlock(&connections->lock);
    return count;
}
