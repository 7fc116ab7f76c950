// SPDX-License-Identifier: Apache-2.0
//
// The files that a program has asked to have attached (crashhook_attach_file): the raw
// report names them, the free phase puts their ends in. Users: finish, crash_records.
#pragma once
#include <jansson.h>

#include "base/settings.h"

// attachments_fill reads the files that the report's attachments name, as far as each
// says, and adds their text, masked as the settings say, or their bytes as base64. What
// cannot be read says why. Links are not followed, and only plain files are read.
void attachments_fill(json_t *report, const struct settings *settings);
