// SPDX-License-Identifier: Apache-2.0
//
// What the rest of the library asks of the installation.
#pragma once
#include <stdbool.h>

// install_done: the handler is in place.
bool install_done(void);
