// SPDX-License-Identifier: Apache-2.0
//
// Standard input, output and error of our own programs. The parent process may have
// closed one; the next file or socket to be opened would then become, say, standard
// error and receive messages meant for people. Every main calls this first.
#pragma once

// standard_files_hold fills the closed ones with descriptors opened for the opposite
// direction, so that using one still fails. They are close-on-exec.
void standard_files_hold(void);
