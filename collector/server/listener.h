// SPDX-License-Identifier: Apache-2.0
//
// A listener is a bound TCP socket and the address it is bound to, from text such as
// `127.0.0.1:8765`, `[::1]:0` or `localhost:80`.
#pragma once
#include <stdbool.h>

#include "base/status.h"

enum { LISTENER_TEXT_SIZE = 128, LISTENER_ERROR_SIZE = 256 };

struct listener {
    int fd;
    bool loopback;
    char address[LISTENER_TEXT_SIZE]; // as bound: the port is never 0
};

// listener_open binds address and listens. CH_ERR_MALFORMED: it is not an address with
// a port; CH_ERR_IO: the system refused. error then says why.
CH_CHECKED enum ch_status listener_open(const char *address,
                                        char error[LISTENER_ERROR_SIZE],
                                        struct listener *out);
