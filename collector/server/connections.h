// SPDX-License-Identifier: Apache-2.0
//
// Connections and their deadlines: a client that sends one byte now and then must not
// keep a connection open for ever.
//
// The server extends a connection's deadline whenever it makes progress (a request's
// head, a body at a decent rate, an answer to fetch); connections_cut shuts down
// connections past their deadline. All functions may be called from any thread.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct connection {
    int fd;
    int64_t deadline_ms; // on the monotonic clock
    struct connection *next;
    struct connection **link; // the pointer that points at this one
};

struct connections {
    pthread_mutex_t lock;
    struct connection *first;
};

// connections_init makes an empty set.
void connections_init(struct connections *connections);

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

// connections_cut shuts down every connection past its deadline and returns how many.
size_t connections_cut(struct connections *connections);
