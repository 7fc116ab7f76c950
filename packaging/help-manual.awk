# SPDX-License-Identifier: Apache-2.0
# Turns the options that `crashhook-collector --help` lists into those of its manual page.
function roff(text) {
    gsub(/\\/, "\\(rs", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/`/, "\\(ga", text)
    return text
}
/^  --/ { printf ".TP\n\\fB%s\\fR\n", roff(substr($0, 3)); next }
/^        / { print roff(substr($0, 9)) "." }
