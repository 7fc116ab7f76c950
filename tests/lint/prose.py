# SPDX-License-Identifier: Apache-2.0
#
# prose ROOT: documents can be read aloud. A sentence has at most WORDS_MAX words, half of a
# page's sentences at most MEDIAN_MAX. Tables, code and headings do not count as sentences;
# parts of a list divided by ';' or ':' count one by one. No page tells how things were, or has
# a turn of phrase that makes readers stop.

import re
import statistics
import sys

import source_tree

WORDS_MAX = 40
MEDIAN_MAX = 18
PLACES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "packaging/", "bindings/", "docs/")
PHRASES = re.compile(r"\b(?:used to be|formerly|of before|since (?:then|that was)|by chance|besides|what there is of"
                     r"|who (?:asks|wants)|(?:is|are) (?:whether|told))\b")


def prose(text):
    """The paragraphs, each as one line; code and a link's target are one word."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?:    |\||#).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", text))
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text)]


def sentences(text):
    return [part for paragraph in prose(text)
            for part in re.split(r"(?<=[.!?:;])\s+", paragraph) if part]


def main(root):
    problems = []
    paths = [path for path in source_tree.files(root, (".md",)) if path.startswith(PLACES)]
    for path in paths:
        text = source_tree.read(root, path)
        parts = sentences(text)
        sizes = [len(part.split()) for part in parts]
        long = [part for part, size in zip(parts, sizes) if size > WORDS_MAX]
        problems += [f"{path}: '{phrase}'" for phrase in PHRASES.findall(text)]
        problems += [f"{path}: a sentence of more than {WORDS_MAX} words: {part[:60]}..." for part in long]
        if len(sizes) > 20 and statistics.median(sizes) > MEDIAN_MAX:
            problems.append(f"{path}: half of the sentences have more than {MEDIAN_MAX} words")
    source_tree.report("prose", problems, len(paths))


main(sys.argv[1])
