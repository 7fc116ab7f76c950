// SPDX-License-Identifier: Apache-2.0
//
// Standard input, output and error of our own programs, which whoever starts one may
// have closed. The next file or socket that is opened would then be standard error, and
// get what is meant for people. Every main calls this before anything else.
#pragma once

// standard_files_hold takes the places of those that are closed with descriptors that
// can be neither read nor written as they would be, so that using one still fails. A
// program that is executed does not get them.
void standard_files_hold(void);
