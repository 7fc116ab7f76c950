// SPDX-License-Identifier: Apache-2.0
//
// What a crash is called in targets that expect exceptions: the type that was thrown,
// or what kind of crash it was. A signal's name says neither. Users: the records of
// OTLP and Sentry's events.
#pragma once
#include <jansson.h>

#include "report/summary/crash_kind.h"
#include "report/value/report.h"

// crash_type is the exception's type, otherwise the kind, otherwise the signal's name;
// NULL: the report has none of them.
static inline const char *crash_type(const json_t *crash)
{
    const char *type = report_string(json_object_get(crash, "exception"), "type");
    const char *kind = report_string(crash, "kind");
    if (type != NULL)
        return type;
    return kind != NULL && crash_kind_of(kind) != CRASH_KIND_UNKNOWN
               ? kind
               : report_string(crash, "name");
}
