// SPDX-License-Identifier: Apache-2.0
//
// listens: a server that prints its port, waits for one connection, and crashes.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return 1;
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    if (getchar() == EOF)
        abort();
    return 0;
}
