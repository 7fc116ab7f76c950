// SPDX-License-Identifier: Apache-2.0
//
// The process's memory by request, in crash context (see crash.c): where the kernel
// lets the agent read it in no way, we send what it requests, since we wait anyway. The
// kernel reads the bytes for us, so a bad address costs an error and not a fault.
#include "handler/crash/crash.h"

#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

bool crash_serve_memory(int channel)
{
    struct request_read wanted = { 0 };
    uint8_t *rest = (uint8_t *)&wanted + sizeof(wanted.what);
    long size = (long)(sizeof(wanted) - sizeof(wanted.what));
    if (sys_receive(channel, rest, (size_t)size) != size ||
        wanted.length > REQUEST_READ_MAX)
        return false;
    uint64_t count = wanted.length;
    struct iovec pieces[] = { { &count, sizeof(count) },
                              { (void *)(uintptr_t)wanted.address, wanted.length } };
    if (sys_send_pieces(channel, pieces, 2) > 0)
        return true;
    count = 0;
    return sys_send_pieces(channel, pieces, 1) > 0;
}
