// SPDX-License-Identifier: Apache-2.0
//
// The agent as a daemon (CRASHHOOK_MODE=daemon): it was started with the program, waits
// for crashes of it and of the processes it forks, and makes a process for each.
#pragma once

// daemon_serve waits on the socket for crashes, and returns in a process of its own for
// each, which has the crash's channel as descriptor channel. It ends this process when
// nobody holds the socket's other end any more.
void daemon_serve(int socket, int channel);
