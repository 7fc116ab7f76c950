// SPDX-License-Identifier: Apache-2.0
//
// Connections and their deadlines: a client that sends one byte now and then must not
// keep a connection open for ever.
//
// The server extends a connection's deadline whenever it makes progress (a request's
// head, a body at a decent rate, an answer to fetch); connections_cut shuts down
// connections past their deadline. Where there are very many, each new one takes the
// place of one on which nothing is going on, first of those that never said who they
// are. All functions may be called from any thread.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum connection_use {
    CONNECTION_STRANGE, // no request on it had access yet
    CONNECTION_IDLE,    // the last one had
    CONNECTION_BUSY,    // the current one has
};

struct connection {
    int fd;
    enum connection_use use;
    int64_t deadline_ms; // on the monotonic clock
    struct connection *next;
    struct connection **link; // the pointer that points at this one
};

struct connections {
    pthread_mutex_t lock;
    struct connection *first; // the newest
    size_t count;
    size_t most; // from which on a new one takes another's place
};

// connections_init makes an empty set.
void connections_init(struct connections *connections, size_t most);

// connections_deinit forgets the set, which must be empty.
void connections_deinit(struct connections *connections);

// connections_add starts to watch a connection, whose deadline is allowed_ms from now.
void connections_add(struct connections *connections, struct connection *connection,
                     int fd, int64_t allowed_ms);

// connections_remove stops watching it; its fd must still be open.
void connections_remove(struct connections *connections, struct connection *connection);

// connections_allow sets the deadline to allowed_ms from now, whatever it was. Here and
// in connections_extend a NULL connection is one that nobody watches.
void connections_allow(struct connections *connections, struct connection *connection,
                       int64_t allowed_ms);

// connections_extend moves the deadline by more_ms, at most to most_ms from now.
void connections_extend(struct connections *connections, struct connection *connection,
                        int64_t more_ms, int64_t most_ms);

// connections_use reports what is going on on a connection. One that was strange stays
// so until it is busy.
void connections_use(struct connections *connections, struct connection *connection,
                     enum connection_use use);

// connections_cut shuts down every connection past its deadline and returns how many.
size_t connections_cut(struct connections *connections);
