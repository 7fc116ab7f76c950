# SPDX-License-Identifier: Apache-2.0
#
# words ROOT: names and comments, of SQL too, use the field's words. docs/glossary.md has a table of
# words that are not used for a thing here, with the word that is; no name in the code
# and no comment may contain one, nor a turn of phrase that makes it hard to read.

import os
import re

import source_tree

# Where a word has another meaning, which is the field's.
ALLOWED = re.compile(
    r"gatekeeper|crash\.death|_death_callback|identifier-naming|naming_(?:walk|level)|wait_naming")

# Turns of phrase that no comment has.
PHRASES = re.compile("|".join((
    r"\b(?:is|are) whether\b",
    r"\bwhat there is of\b",
    r"\bby chance\b",
    r"\bwho (?:asks|wants|needs|must)\b",
    r"\bbesides\b",
    r"\bway out\b",
    r"\b(?:is|are|was|were) told\b",
    r"\b(?:lets? go|(?:gives?|given) back)\b",
    r"\band says (?:whether|how many|which)\b",
)))
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|")
COMMENT = re.compile(r"//.*|^\s*--.*")
NAME = re.compile(r"[A-Za-z_]\w*")


def table(root):
    """The words of the glossary's table as patterns, with what to write."""
    path = os.path.join(root, "docs", "glossary.md")
    lines = source_tree.read(root, path).split("\n") if os.path.exists(path) else []
    rows = filter(None, map(ROW.match, lines))
    return [(re.compile(row.group(1)), row.group(2).strip()) for row in rows]


def main(root):
    words, problems = table(root), []
    paths = [p for p in source_tree.files(root, (".c", ".h", ".sql"))
             if not p.startswith(("fuzz", "tests/cases"))]
    for path in paths:
        text = source_tree.read(root, path)
        lines = zip(text.split("\n"), source_tree.code(text).split("\n"))
        for number, (line, code) in enumerate(lines, 1):
            comment = "".join(COMMENT.findall(line))
            shown = ALLOWED.sub("", code + comment)
            problems += [f"{path}:{number}: '{pattern.search(shown).group()}': write '{instead}'"
                         for pattern, instead in words if pattern.search(shown)]
            problems += [f"{path}:{number}: '{phrase}' makes readers stop"
                         for phrase in PHRASES.findall(comment)]
    if not words:
        problems.append("docs/glossary.md has no table of words")
    source_tree.report("words", problems, len(paths))


if __name__ == "__main__":
    import sys

    main(os.path.abspath(sys.argv[1]))
