// SPDX-License-Identifier: Apache-2.0
//
// The commits between a release and the one before it, with the files that they
// changed, and the file CODEOWNERS of a program: `crashhook releases commits` sends
// them. Limits: a release has COMMITS_MOST commits, and COMMIT_FILES_MOST files in all;
// commits are kept for COMMITS_KEPT_DAYS. Users: the API, page_suspects.c.
#pragma once
#include <jansson.h>

#include "base/text.h"
#include "collector/store/store.h"

enum {
    COMMITS_MOST = 5000,
    COMMIT_FILES_MOST = 50000,
    COMMITS_KEPT_DAYS = 730,
    OWNERS_BYTES = 1 << 18,
};

// release_commits is what is sent about a release.
struct release_commits {
    const char *project;
    const char *program;
    const char *release;
    const json_t *commits; // `{"hash", "author", "subject", "time", "files"}`, checked
    const char *owners;    // text of CODEOWNERS; NULL: it stays as it is
};

// commits_keep replaces the commits of a release.
CH_CHECKED enum ch_status commits_keep(struct store *store,
                                       const struct release_commits *commits,
                                       char error[STORE_ERROR_SIZE]);

// commit changed a file; strings live until the visitor returns.
struct commit {
    const char *hash;
    const char *author;
    const char *subject;
    const char *path;
    int64_t time_ms;
};

typedef void commit_fn(void *context, const struct commit *commit);

// commits_of_file visits the commits of a release that changed a file of that name, in
// any folder, the last one first, at most so many; of->commits and of->owners are not
// used.
CH_CHECKED enum ch_status commits_of_file(struct store *store,
                                          const struct release_commits *of,
                                          const char *name, size_t most,
                                          commit_fn *visit, void *context);

// commits_owners appends the text of a program's CODEOWNERS; nothing: it has none.
CH_CHECKED enum ch_status commits_owners(struct store *store, const char *project,
                                         const char *program, struct text *out);

// Who owns a file by a text of the form CODEOWNERS, as GitHub, GitLab and Gitea read
// it: a pattern a line, then its owners; the last pattern that matches decides. The
// path is that of a frame, whose beginning may be a folder that only the build knew: a
// pattern may match from any folder of the path on. Lines of sections (`[name]`) and
// exceptions (`!`) are passed over. Users: page_suspects.c.

// code_owners_find appends the owners of a path, with spaces between them; nothing: it
// has none, or is too deep for a file of a repository.
void code_owners_find(const char *owners, const char *path, struct text *out);
