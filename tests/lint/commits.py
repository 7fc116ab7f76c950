# SPDX-License-Identifier: Apache-2.0
#
# commits ROOT [SINCE]: a commit says what it does in a subject of at most 72 characters, and why in
# a body if it changes the program. Commits before SINCE are not looked at, nor those of a
# tree without a history.

import subprocess
import sys

import source_tree

SINCE = "803d63df0a0b5ef437a0a6ff0f707aea7995b261"
SUBJECT = 72
# What no user notices.
APART = ("tests/", "fuzz/", "bench/", "docs/", "examples/", "README.md", "CONTRIBUTING.md")


def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else ""


def problems_of(root, commit):
    subject, _, body = git(root, "log", "-1", "--format=%B", commit).partition("\n")
    if len(subject) > SUBJECT:
        yield f"{commit[:12]}:1: the subject has {len(subject)} characters"
    files = git(root, "diff-tree", "--no-commit-id", "--name-only", "-r", commit).split()
    if not body.strip() and any(not path.startswith(APART) for path in files):
        yield f"{commit[:12]}:2: changes the program and does not say why"


def main(root, since=SINCE):
    commits = git(root, "rev-list", "--no-merges", f"{since}..HEAD").split()
    if not commits:
        print("commits: none to look at")
        return
    source_tree.report("commits", [problem for commit in commits
                                   for problem in problems_of(root, commit)], len(commits))


if __name__ == "__main__":
    main(*sys.argv[1:])
