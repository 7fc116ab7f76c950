// SPDX-License-Identifier: Apache-2.0
//
// The program's context page (context_page.h), which the calls of crashhook.h fill.
//
// It is mapped once, between guard pages, and stays when the handler is installed again
// with other options; a forked child has its own copy.
#pragma once
#include "handler/context_page.h"

// context_map gives the page, mapping it first where there is none. NULL: no memory.
struct context_page *context_map(void);
