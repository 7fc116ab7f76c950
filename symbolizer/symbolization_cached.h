// SPDX-License-Identifier: Apache-2.0
//
// Names that symbol caches have, looked up in this process: from the second crash of a
// program on these are all of them, and no guarded child is needed, which takes several
// times as long as the lookups.
//
// A cache is not as dangerous as a debug file. It is ours, nobody else may write it,
// and each byte is read with a cursor after its page's checksum was compared. What
// remains is a page that cannot be read, which is a SIGBUS: the rest is then left to
// the child.
#pragma once
#include "symbolizer/symbolization.h"

// symbolization_look_up_cached looks up the places of images that have a cache, and
// gives whether that were all places. It changes what SIGBUS does while it runs, so no
// other thread of the process may do the same (symbolizer_options.single).
bool symbolization_look_up_cached(struct symbolization *symbolization);
