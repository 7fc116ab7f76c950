// SPDX-License-Identifier: Apache-2.0
//
// The files that a program asked to have attached (crashhook_attach_file): the raw
// report names them, and the free phase adds the last part of each. Users: finish,
// crash_records.
#pragma once
#include <jansson.h>

#include "base/settings/settings.h"

// attachments_fill reads the files that the report's attachments name, each up to its
// own limit, and adds their text, masked as the settings say, or their bytes as base64.
// A file that cannot be read gets the reason. Links are not followed, and only regular
// files are read.
void attachments_fill(json_t *report, const struct settings *settings);
