# SPDX-License-Identifier: Apache-2.0
#
# bench/performance_page.py, which makes a page of documentation from measured figures.

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bench")
MACHINE = {"processor": "EPYC", "processors": 2, "kernel": "6.18", "load": 0.25}
PUBLISHED = {"rows": {"a": {"none": 0.5, "gone": {"breakpad": 7, "crashpad": 3}},
                      "b": {"none": 2, "gone": {"crashpad": 18}}}}


def figure(section, what, value, target=None, **others):
    return {"section": section, "what": what, "value": value, "unit": "ms", "target": target,
            "others": others}


def page(figures):
    """The exit status, the page, and what was said."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"machine": MACHINE, "figures": figures, "published": PUBLISHED}, file)
        file.flush()
        done = subprocess.run([sys.executable, os.path.join(BENCH, "performance_page.py"),
                               file.name], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class PerformancePage(unittest.TestCase):
    def test_a_figure_has_its_others_and_whether_it_meets_its_target(self):
        code, text, said = page([figure("upload", "1000 reports", 0.581, ("<=", 0.5), curl=2),
                                 figure("upload", "a|b", 12345.6, (">=", 5))])
        self.assertEqual((code, said), (0, ""))
        self.assertIn("| 1000 reports | 0.581 ms | curl 2 | ≤ 0.5, missed |\n", text)
        self.assertIn("| a\\|b | 12,346 ms |  | ≥ 5 |\n", text)
        self.assertIn("EPYC, 2 processors, Linux 6.18, load 0.2 at", text)
        self.assertEqual(text.count("\n## "), 1)  # of the topics that were measured

    def test_a_long_topic_shows_what_misses_its_target_first(self):
        many = [figure("lists", f"page{i}", i, ("<=", 100)) for i in range(40)]
        many[37] = figure("lists", "slow", 4000, ("<=", 100))
        _, text, _ = page(many)
        self.assertIn("| slow | 4,000 ms |", text)
        self.assertNotIn("page30", text)
        self.assertIn("36 more figures are in `figures.json`.", text)

    def test_reporters_that_were_measured_elsewhere_are_multiples_of_none(self):
        rows = [figure("crash to gone", f"{row}: 1 thread, gone", 4, **{"no reporter": 0.5})
                for row in "abc"]
        _, text, _ = page(rows)
        self.assertIn("| a: 1 thread | 0.5 ms, 0.5 ms | 8 | 7 | 3 |\n", text)
        self.assertIn("| b: 1 thread | 0.5 ms, 2 ms | 8 |  | 18 |\n", text)
        self.assertNotIn("| c: 1 thread | 0.5 ms,", text)

    def test_a_page_that_is_too_long_or_lacks_a_topic_is_refused(self):
        code, text, said = page([figure("weather", "rain", 1)])
        self.assertEqual((code, text), (1, ""))
        self.assertEqual(said, "performance_page: sections without a topic: weather\n")
        code, _, said = page([figure("fleet", "word " * 400 + str(i), 1) for i in range(12)])
        self.assertEqual(code, 1)
        self.assertRegex(said, r"the page has \d+ words, at most 1500 are wanted")

    def test_every_section_that_a_script_records_has_a_topic(self):
        recorded = set()
        for path in glob.glob(os.path.join(BENCH, "*.py")):
            with open(path, encoding="utf-8") as file:
                recorded |= set(re.findall(r'figures\.record\("([^"]+)"', file.read()))
        self.assertGreater(len(recorded), 15)
        code, _, said = page([figure(section, "x", 1) for section in recorded])
        self.assertEqual((code, said), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
