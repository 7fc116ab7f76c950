// SPDX-License-Identifier: Apache-2.0
//
// The artefact of a build (`crashhook ci --artifact`): reports, and the sources and
// programs of the build that their frames name, in one file, so that a report can be
// shown and symbolized where the build is not.
//
// It is a source bundle (formats/interchange/source_bundle.h) whose files are
// reports/ID.json, then sources and programs by their paths in the reports. Nothing is
// unpacked: sources are read from the mapped file, and programs are held images.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"
#include "cli/session/session.h"

#define ARTEFACT_REPORTS "reports/"

// is_artefact returns true if the regular file fd begins as an artefact does.
bool is_artefact(int fd);
bool is_artefact_at(const char *path);

// artefact_read reads the report that session->artefact_id begins, or the newest one,
// from the artefact fd, whose name is for messages. The session keeps the artefact, and
// finds the programs of the build in it.
CH_CHECKED enum ch_status artefact_read(struct session *session, int fd,
                                        const char *name, json_t **out);
