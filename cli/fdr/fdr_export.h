// SPDX-License-Identifier: Apache-2.0
//
// `crashhook export --format fdr`: a report's flight record as a trace in XRay's flight
// data recorder format, for llvm-xray and other programs that read it.
#pragma once
#include <jansson.h>
#include <stdint.h>

// FDR_EXPORT_NAME begins the text of an event that names a function.
#define FDR_EXPORT_NAME "crashhook-function"

// fdr_export_functions passes every function of the report's flight record to use, with
// its id in the trace and an object that has what is known of it: address, function,
// image, image_offset and build_id.
void fdr_export_functions(const json_t *report,
                          void (*use)(void *context, uint32_t id,
                                      const json_t *function),
                          void *context);

// fdr_export writes the trace to stdout, in version "1", "3" or "5" (NULL: 1), and
// returns the command's result.
int fdr_export(const json_t *report, const char *version);
