// SPDX-License-Identifier: Apache-2.0
//
// Memory by request: where the kernel lets nobody read the crashed process, its
// handler, which waits for us anyway, sends what we ask for over the channel
// (request_page.h).
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// target_server_read asks the handler behind channel for length bytes at address and
// returns how many it has before a hole. -1: nobody answers, errno says why.
ssize_t target_server_read(int channel, uint64_t address, void *to, size_t length);
