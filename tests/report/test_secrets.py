#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Masks many forms of secrets, and texts without any, and counts what is found.

CRASHHOOK_SEED chooses other secrets. Usage: test_secrets.py MASK_TEXTS
"""
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path

from secret_forms import LISTED, forms

SEED = int(os.environ.get("CRASHHOOK_SEED", "20"))
INNOCENT = Path(__file__).with_name("innocent_texts.txt").read_text().splitlines()
INNOCENT_COMMANDS = (
    "mkdir -p dir", "app -p 8080", "app -p8080", "docker run -p 80:80 -u 1000:1000 nginx:1.25",
    "patch -p1", "cc -pthread -pipe -pedantic x.c", "ssh -p 22 -l bob h", "find . -path x -prune -print0",
    "sudo -u bob ls -la /srv", "date -u +%H:%M", "gcc -UFOO -DBAR=1 -pg x.c", "app --key-file k --keys a,b",
    "app --no-password --ask-pass --token-file /run/t --verbose", "sort -u file", "ps -u root -o pid,comm",
    "psql -U bob -h db -p 5432", "app --tokenizer=fast --monkey see --compass=north --port 80",
    "ffmpeg -i in.mp4 -preset fast -pix_fmt yuv420p out.mp4", "qemu -platform offscreen -plugin x",
    "app --key /etc/ssl/server.pem --cert=/etc/ssl/server.crt", "rsync -avP src h:dst", "tar -xzpf a.tgz",
)
PROGRAM = None


def mask(texts, *arguments):
    """The masked form of each (kind, text)."""
    data = b"".join((kind + text).encode() + b"\0" for kind, text in texts)
    done = subprocess.run([PROGRAM, *arguments], input=data, stdout=subprocess.PIPE, timeout=60, check=True)
    masked = done.stdout.decode(errors="replace").split("\0")[:-1]
    assert len(masked) == len(texts)
    return masked


def left_of(secret, masked):
    """Whether half of the secret, or five bytes of it, can still be read."""
    size = min(5, len(secret))
    return any(secret[i:i + size] in masked for i in range(len(secret) - size + 1))


def words_lost(text, masked):
    left = masked.split()
    lost = []
    for word in text.split():
        if word in left:
            left.remove(word)
        else:
            lost.append(word)
    return lost


class Secrets(unittest.TestCase):
    def test_every_listed_form_is_masked(self):
        secrets = ("S3cr3tQuay7", "x9Kd2mQ7", "4815162342", "abcDEF123ghi")
        cases = [(kind, form % secret, secret) for kind, form in LISTED for secret in secrets]
        masked = mask([(kind, text) for kind, text, _ in cases])
        left = [text for (_, text, secret), m in zip(cases, masked) if left_of(secret, m)]
        print(f"listed forms: {len(cases)}, masked: {len(cases) - len(left)}")
        self.assertEqual(left, [])

    def test_of_all_forms_98_of_100_are_masked(self):
        cases = forms(SEED)
        masked = mask([(kind, text) for kind, text, _ in cases])
        left = [(text, m) for (_, text, secrets), m in zip(cases, masked)
                if any(left_of(secret, m) for secret in secrets)]
        share = 100 * (len(cases) - len(left)) / len(cases)
        print(f"forms: {len(cases)}, seed {SEED}, masked: {share:.2f} %")
        for text, m in left[:int(os.environ.get("CRASHHOOK_SHOWN", "20"))]:
            print(f"  left: {text!r}\n     as {m!r}")
        self.assertGreaterEqual(len(cases), 500)
        self.assertGreaterEqual(share, 98)

    def test_of_innocent_words_less_than_1_of_100_is_masked(self):
        texts = [("s", line) for line in INNOCENT]
        texts += [("a", line.replace(" ", "\x1f")) for line in INNOCENT_COMMANDS]
        masked = mask(texts)
        count = sum(len(text.replace("\x1f", " ").split()) for _, text in texts)
        lost = [word for (_, text), m in zip(texts, masked)
                for word in words_lost(text.replace("\x1f", " "), m.replace("\x1f", " "))]
        print(f"innocent words: {count}, masked: {100 * len(lost) / count:.2f} %: {lost}")
        self.assertLessEqual(100 * len(lost) / count, 1)

    def test_keys_in_hexadecimal_are_masked_and_digests_are_not(self):
        generator = random.Random(SEED)
        key = "".join(generator.choice("0123456789abcdef") for _ in range(64))
        keys = ("%s", "loaded %s", "bytes: %s", "seed=%s", '"%s"', "(%s)")
        digests = ("sha256:%s", "nginx@sha256:%s", "/docker/%s/cpu", "image=%s",
                   '{"container_id": "%s"}', "build_id: %s", "/overlay2/%s/merged")
        for form, m in zip(keys, mask([("s", form % key) for form in keys])):
            self.assertFalse(left_of(key, m), form)
        for form, m in zip(digests, mask([("s", form % key) for form in digests])):
            self.assertIn(key, m)
        for short in (key[:40], key[:62], "0" * 64):
            self.assertEqual(mask([("s", "id " + short)]), ["id " + short])

    def test_people_are_masked_where_that_is_asked_for(self):
        people = ("4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005",
                  "DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19",
                  "anna.smith+shop@mail.example.org")
        others = ("4111 1111 1111 1112", "1764240000000", "20261127120000123", "root@host",
                  "DE89370400440532013001", "1234567890123",
                  "user@10.0.0.1:80", "0000000000000000")
        for form in ("%s", "card %s, again", 'x="%s"', "<%s>"):
            for text in people:
                self.assertEqual(mask([("s", form % text)]), [form % text])
                self.assertEqual(mask([("s", form % text)], "people"), [form % "***"])
            for text in others:
                self.assertEqual(mask([("s", form % text)], "people"),
                                 mask([("s", form % text)]), text)

    def test_what_is_masked_stays_as_it_is_when_masked_again(self):
        cases = [(kind, text) for kind, text, _ in forms(SEED) if kind == "s"]
        once = mask(cases)
        self.assertEqual(mask([("s", text) for text in once]), once)


    def test_a_text_cut_anywhere_shows_no_more_of_the_secret_than_was_there(self):
        secret = "S3cr3tQuay7"
        for kind, form in LISTED:
            text = form % secret
            start = text.index(secret)
            cuts = [(kind, text[:end]) for end in range(start + 6, len(text) + 1)]
            for (_, cut), masked in zip(cuts, mask(cuts)):
                known = len(cut) - start
                # A mark alone is not a key yet, and six bytes look like nothing.
                if known >= 8:
                    self.assertFalse(left_of(secret[:known], masked), (cut, masked))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
