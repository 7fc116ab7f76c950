// SPDX-License-Identifier: Apache-2.0
//
// Writes the artefact of a build (cli/session/artefact.h): its reports, and of the
// frames that are the program's own the sources and the programs. Users: ci.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"

struct ci_artefact {
    FILE *contents; // NULL: no artefact is wanted
    struct text index;
    size_t lines;    // of the index
    json_t *paths;   // of the files in it
    size_t left_out; // files that do not fit
    bool failed;     // errno says why
};

// ci_artefact_init prepares an empty artefact.
void ci_artefact_init(struct ci_artefact *artefact);
void ci_artefact_deinit(struct ci_artefact *artefact);

// ci_artefact_add adds a report and what belongs to it.
void ci_artefact_add(struct ci_artefact *artefact, const json_t *report);

// ci_artefact_write writes the artefact. False: errno says why.
bool ci_artefact_write(struct ci_artefact *artefact, FILE *to);
