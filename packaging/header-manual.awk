# SPDX-License-Identifier: Apache-2.0
# Turns a public header into the body of a manual page: each declaration as it is
# written, and below it the comment that stands above it.

function roff(text) {
    gsub(/\\/, "\\(rs", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/`/, "\\(ga", text)
    return text
}

# Prints what has been gathered: one comment and the code below it.
function flush_part() {
    if (code != "")
        printf ".PP\n.EX\n%s.EE\n.RS 4\n%s.RE\n", code, comment
    else if (comment != "")
        printf "%s%s", begun ? ".PP\n" : "", comment
    begun = begun || code comment != ""
    code = comment = ""
}

FNR == 1 { flush_part() }
/^\/\/ SPDX/ || /^\/\/ clang-format/ || /^#pragma/ || /^#include/ { next }
/^#ifn?def __cplusplus/ || /^#ifndef CRASHHOOK_API/ { skipping = 1; next }
skipping { if (/^#endif/) skipping = 0; next }
/^#define CRASHHOOK_API/ { next }
/^\/\// {
    if (code != "")
        flush_part()
    sub(/^\/\/ ?/, "")
    if ($0 != "")
        comment = comment roff($0) "\n"
    else if (comment != "")
        comment = comment ".PP\n"
    next
}
/^$/ { flush_part(); next }
{
    sub(/^CRASHHOOK_API /, "")
    if ($0 != "CRASHHOOK_API")
        code = code roff($0) "\n"
}
END { flush_part() }
