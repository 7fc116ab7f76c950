// SPDX-License-Identifier: Apache-2.0
//
// The kind of a crash. A pure function of the facts, which claims no more than they
// show: what they leave open is "unknown".
#pragma once
#include "report/summary/crash_facts.h"

// crash_address_is_small is true below the lowest address that Linux maps anything at.
bool crash_address_is_small(uint64_t address);

// crash_kind is crash.kind of the report ("null-dereference").
const char *crash_kind(const struct crash_facts *facts);
