// SPDX-License-Identifier: Apache-2.0
//
// The member `crash` of the raw report: the kind, the facts, the libraries' messages,
// and what the free phase needs to add more, such as the bytes of the instruction that
// failed.
#pragma once
#include "agent/live/capture.h"
#include "agent/raw/crash_examine.h"
#include "report/json/json_writer.h"

// raw_crash_write writes the member from the examination of capture's crash.
void raw_crash_write(struct json_writer *w, const struct capture *capture,
                     const struct crash_examination *crash);
