// SPDX-License-Identifier: Apache-2.0
#include "agent/live/target_server.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "shared/request_page.h"

// receive_read receives exactly length bytes.
static bool receive_read(int channel, void *to, size_t length)
{
    ssize_t count = length != 0 ? recv(channel, to, length, MSG_WAITALL) : 0;
    while (count < 0 && errno == EINTR)
        count = recv(channel, to, length, MSG_WAITALL);
    return count == (ssize_t)length;
}

// read_page requests bytes of one page, which is readable as a whole or not at all.
static ssize_t read_page(int channel, uint64_t address, void *to, size_t length)
{
    const struct request_read wanted = { .what = REQUEST_READ,
                                         .length = (uint32_t)length,
                                         .address = address };
    uint64_t count;
    if (send(channel, &wanted, sizeof(wanted), MSG_NOSIGNAL) != sizeof(wanted) ||
        !receive_read(channel, &count, sizeof(count)) || count > length ||
        !receive_read(channel, to, (size_t)count)) {
        errno = ENOSYS; // whatever failed, there is no server
        return -1;
    }
    return (ssize_t)count;
}

ssize_t target_server_read(int channel, uint64_t address, void *to, size_t length)
{
    size_t done = 0;
    while (done < length) {
        size_t room = REQUEST_READ_MAX - (address + done) % REQUEST_READ_MAX;
        size_t part = length - done < room ? length - done : room;
        ssize_t count = read_page(channel, address + done, (uint8_t *)to + done, part);
        if (count < 0)
            return -1;
        done += (size_t)count;
        if ((size_t)count != part)
            break;
    }
    return (ssize_t)done;
}
