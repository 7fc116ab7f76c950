// SPDX-License-Identifier: Apache-2.0
#include "collector/server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

// is_port checks the number itself, because getaddrinfo wraps one above 65535.
static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 5 && text[digits] == 0 &&
           strtol(text, NULL, 10) <= UINT16_MAX;
}

// split_listen_address copies the host and finds the port of `host:port` or
// `[host]:port`.
static bool split_listen_address(const char *address, char *host, size_t host_size,
                                 const char **port)
{
    const char *colon = strrchr(address, ':');
    bool bracketed = address[0] == '[';
    if (colon == NULL || !is_port(colon + 1) || (bracketed && colon[-1] != ']'))
        return false;
    size_t length = (size_t)(colon - address) - (bracketed ? 2 : 0);
    if (length == 0 || length >= host_size)
        return false;
    memcpy(host, address + bracketed, length);
    host[length] = 0;
    *port = colon + 1;
    return true;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

// describe_listener fills out from the address that its socket is bound to.
static enum ch_status describe_listener(struct listener *out)
{
    union address bound = { 0 };
    socklen_t size = sizeof(bound);
    char host[INET6_ADDRSTRLEN];
    char port[8];
    if (getsockname(out->fd, &bound.any, &size) != 0 ||
        getnameinfo(&bound.any, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return CH_ERR_IO;
    bool six = bound.any.sa_family == AF_INET6;
    out->loopback = is_loopback(&bound);
    snprintf(out->address, sizeof(out->address), "%s%s%s:%s", six ? "[" : "", host,
             six ? "]" : "", port);
    return CH_OK;
}

static enum ch_status bind_to(const struct addrinfo *address, struct listener *out)
{
    int on = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return CH_ERR_IO;
    // A restart must not wait for old connections in TIME_WAIT.
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    struct listener listener = { .fd = fd };
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
        listen(fd, BACKLOG) != 0 || describe_listener(&listener) != CH_OK) {
        int reason = errno;
        close(fd);
        errno = reason;
        return CH_ERR_IO;
    }
    *out = listener;
    return CH_OK;
}

enum ch_status listener_open(const char *address, char error[LISTENER_ERROR_SIZE],
                             struct listener *out)
{
    char host[LISTENER_TEXT_SIZE];
    const char *port = NULL;
    if (!split_listen_address(address, host, sizeof(host), &port)) {
        snprintf(error, LISTENER_ERROR_SIZE,
                 "cannot listen on '%.80s': it is not ADDRESS:PORT", address);
        return CH_ERR_MALFORMED;
    }
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host, port, &hints, &found);
    if (result != 0) {
        snprintf(error, LISTENER_ERROR_SIZE, "cannot listen on '%.80s': %s", address,
                 gai_strerror(result));
        return CH_ERR_MALFORMED;
    }
    enum ch_status status = bind_to(found, out);
    if (status != CH_OK)
        snprintf(error, LISTENER_ERROR_SIZE, "cannot listen on '%.80s': %s", address,
                 strerror(errno));
    freeaddrinfo(found);
    return status;
}
