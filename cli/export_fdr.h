// SPDX-License-Identifier: Apache-2.0
//
// `crashhook export --format fdr`: a report's flight record as a trace in XRay's flight
// data recorder format, for llvm-xray and other programs that read it.
#pragma once
#include <jansson.h>

// export_fdr writes the trace to stdout, in version "1", "3" or "5" (NULL: 1), and
// returns the command's result.
int export_fdr(const json_t *report, const char *version);
