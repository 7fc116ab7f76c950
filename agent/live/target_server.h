// SPDX-License-Identifier: Apache-2.0
//
// Memory by request: where the kernel lets no one read the crashed process, its
// handler, which waits for us anyway, sends what we request over the channel
// (request_page.h).
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// target_server_read requests length bytes at address from the handler on channel and
// returns how many it has before a hole. -1: there is no answer; errno says why.
ssize_t target_server_read(int channel, uint64_t address, void *to, size_t length);
