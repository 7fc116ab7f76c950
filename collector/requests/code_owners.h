// SPDX-License-Identifier: Apache-2.0
//
// Who owns a file by a text of the form CODEOWNERS, as GitHub, GitLab and Gitea read
// it: a pattern a line, then its owners; the last pattern that matches decides. The
// path is that of a frame, whose beginning may be a folder that only the build knew: a
// pattern may match from any folder of the path on. Lines of sections (`[name]`) and
// exceptions (`!`) are passed over. Users: page_suspects.c.
#pragma once
#include "base/text.h"

// code_owners_find appends the owners of a path, with spaces between them; nothing: it
// has none, or is too deep for a file of a repository.
void code_owners_find(const char *owners, const char *path, struct text *out);
