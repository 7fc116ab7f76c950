# SPDX-License-Identifier: Apache-2.0
#
# words ROOT: names and comments use the field's words. docs/glossary.md has a table of
# words that are not used for a thing here, with the word that is; no name in the code
# and no comment may contain one. Of turns of phrase that make a comment hard to read
# there may be at most so many, and the number must be lowered when it falls.

import os
import re

import source_tree

# Where a word has another meaning, which is the field's.
ALLOWED = re.compile(
    r"gatekeeper|crash\.death|_death_callback|identifier-naming|naming_(?:walk|level)|wait_naming")

# A turn of phrase, and in how many comments it may still be.
PHRASES = {
    r"\b(?:is|are) whether\b": 0,
    r"\bwhat there is of\b": 0,
    r"\bby chance\b": 0,
    r"\bwho (?:asks|wants)\b": 0,
    r"\bbesides\b": 0,
    r"\bway out\b": 0,
}
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|")
COMMENT = re.compile(r"//.*")
NAME = re.compile(r"[A-Za-z_]\w*")


def table(root):
    """The words of the glossary's table as patterns, with what to write."""
    path = os.path.join(root, "docs", "glossary.md")
    lines = source_tree.read(root, path).split("\n") if os.path.exists(path) else []
    rows = filter(None, map(ROW.match, lines))
    return [(re.compile(row.group(1)), row.group(2).strip()) for row in rows]


def main(root):
    words, problems = table(root), []
    counts = dict.fromkeys(PHRASES, 0)
    paths = [p for p in source_tree.files(root, (".c", ".h")) if not p.startswith("fuzz")]
    for path in paths:
        text = source_tree.read(root, path)
        lines = zip(text.split("\n"), source_tree.code(text).split("\n"))
        for number, (line, code) in enumerate(lines, 1):
            comment = "".join(COMMENT.findall(line)) if "//" in line else ""
            shown = ALLOWED.sub("", code + comment)
            for pattern, instead in words:
                if pattern.search(shown):
                    problems.append(f"{path}:{number}: '{pattern.search(shown).group()}': "
                                    f"write '{instead}'")
            for phrase in PHRASES:
                counts[phrase] += re.search(phrase, comment) is not None
    for phrase, most in PHRASES.items():
        if counts[phrase] != most:
            problems.append(f"'{phrase}' is in {counts[phrase]} comments; tests/lint/words.py "
                            f"has {most}")
    if not words:
        problems.append("docs/glossary.md has no table of words")
    source_tree.report("words", problems, len(paths))


if __name__ == "__main__":
    import sys

    main(os.path.abspath(sys.argv[1]))
