// SPDX-License-Identifier: Apache-2.0
//
// The kind of a crash. A pure function of the facts, which claims no more than they
// show: what they leave open is "unknown".
#pragma once
#include "report/summary/crash_facts.h"

// crash_address_is_small is true below the lowest address that Linux maps anything at.
bool crash_address_is_small(uint64_t address);

// crash_address_is_canonical returns true if memory can have the address: processors
// translate 48 of 64 bits, and the others must equal the highest of these.
bool crash_address_is_canonical(uint64_t address);

// crash_place_is_huge returns true if the place is memory of huge pages.
bool crash_place_is_huge(const struct crash_place *place);

// crash_message_is_assertion recognizes how the C libraries word a failed assertion:
// glibc, also in its own code, musl, and libc++.
bool crash_message_is_assertion(const char *message);

// crash_kind judges a crash by its facts.
enum crash_kind crash_kind(const struct crash_facts *facts);

// crash_kind_word is crash.kind of the report ("null-dereference"). NULL: it is
// CRASH_KIND_NONE or CRASH_KIND_OTHER.
const char *crash_kind_word(enum crash_kind kind);

// crash_kind_said is what titles and group keys take of a message.
enum crash_said crash_kind_said(enum crash_kind kind);

// crash_kind_of is the kind of a report's word. NULL: CRASH_KIND_NONE.
enum crash_kind crash_kind_of(const char *word);
