#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_fleet COLLECTOR: ten questions of a morning about the fleet of planted_fleet.py,
# each answered by the API as its plan has it. The pages answer the same in Chromium, where
# there is one. All 6,500 reports with CRASHHOOK_FULL=1, else 1,200.

import csv
import json
import os
import re
import shutil
import sys
import unittest

import planted_fleet
from browser import Browser
from running import Collector

BINARY = None
COUNT = planted_fleet.FULL_COUNT if os.environ.get("CRASHHOOK_FULL") == "1" else 1200
COUNT_LEAST = 1000


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = cls.enterClassContext(Collector(BINARY))
        fleet = planted_fleet.Fleet(COUNT)
        planted_fleet.send(fleet, cls.collector)
        cls.plan = json.loads(json.dumps(fleet.plan()))
        print(f"{cls.plan['reports']} reports of {len(cls.plan['groups'])} bugs")
        assert cls.plan["reports"] >= COUNT_LEAST


class Fleet(Planted):
    def ask(self, path):
        status, answer = self.collector.json("GET", path)
        self.assertEqual(status, 200, answer)
        return answer

    def groups(self, query):
        return self.ask("/api/v1/groups?limit=200&" + query)["groups"]

    def ids(self, query):
        return sorted(group["id"] for group in self.groups(query))

    def named(self, ids):
        return sorted(self.plan["groups"][id]["function"] for id in ids)

    def test_what_is_new_since_the_current_release_of_each_program(self):
        self.assertEqual(self.named(self.ids("is=new")), self.named(self.plan["new"]))

    def test_which_release_brought_each_bug(self):
        self.assertEqual({g["id"]: (g["first_release"], g["first_seen"][:19])
                          for g in self.groups("is=any")},
                         {id: (g["first_release"], g["first_seen"][:19])
                          for id, g in self.plan["groups"].items()})

    def test_which_release_each_program_is_at(self):
        releases = self.ask("/api/v1/releases")["releases"]
        self.assertEqual({r["program"]: r["release"] for r in releases if r["current"]},
                         self.plan["current"])
        for program, order in self.plan["order"].items():
            self.assertEqual([r["release"] for r in releases if r["program"] == program],
                             order[::-1])

    def test_what_came_back(self):
        self.assertEqual(self.named(self.ids("is=regressed")), self.named(self.plan["back"]))

    def test_what_rises_and_not_what_a_release_week_makes_of_all(self):
        self.assertEqual(self.named(self.ids("is=rising")), self.named(self.plan["rising"]))

    def test_which_hosts_a_bug_is_on_and_which_host_has_bad_memory(self):
        self.assertEqual(self.ids("q=machines:1&host=" + self.plan["bad_host"]),
                         self.plan["on_bad_host"])
        for group in self.plan["next"]:
            facets = self.ask(f"/api/v1/facets?by=host&group={group}&most=20000")["facets"]
            self.assertEqual({row["value"]: row["count"] for row in facets},
                             self.plan["groups"][group]["hosts"])

    def test_what_the_crashes_of_a_bug_have_in_common(self):
        group, kernel = self.plan["one_kernel"]
        facts = self.ask("/api/v1/groups/" + group)["common"]
        self.assertEqual([fact["value"] for fact in facts if fact["key"] == "kernel"],
                         [kernel])
        for other in self.plan["next"]:
            facts = self.ask("/api/v1/groups/" + other)["common"]
            self.assertEqual([fact for fact in facts if fact["key"] == "kernel"], [])

    def test_a_program_in_a_folder_for_each_release_is_one_program(self):
        counted = self.ask("/api/v1/facets?is=any&by=program&most=20000")["facets"]
        wanted = dict.fromkeys(planted_fleet.NAMES, 0)
        for group in self.plan["groups"].values():
            wanted[group["program"]] += group["count"]
        self.assertEqual({row["value"]: row["count"] for row in counted}, wanted)

    def test_who_works_on_it(self):
        self.assertEqual(self.ids("assignee=kim"), self.plan["taken"])

    def test_whether_it_is_fixed(self):
        self.assertEqual({g["id"]: g["status"] for g in self.groups("is=any")},
                         {id: g["status"] for id, g in self.plan["groups"].items()})

    def test_how_many_reports_machines_and_users_each_bug_has(self):
        self.assertEqual({g["id"]: (g["count"], g["machines"], g["users"],
                                    g["filtered_count"], g["filtered_machines"],
                                    g["filtered_users"]) for g in self.groups("is=any")},
                         {id: (g["count"], g["machines"], len(g["users"][""])) * 2
                          for id, g in self.plan["groups"].items()})
        for program, order in self.plan["order"].items():
            for release in order:
                found = self.groups(f"is=any&program={program}&release={release}")
                self.assertEqual({g["id"]: (g["filtered_count"], g["filtered_users"])
                                  for g in found},
                                 {id: (g["releases"][release], len(g["users"][release]))
                                  for id, g in self.plan["groups"].items()
                                  if g["program"] == program and release in g["releases"]})

    def test_which_bugs_a_user_met(self):
        user = self.plan["groups"][self.plan["next"][0]]["users"][""][0]
        self.assertEqual(self.ids("is=any&user=" + user),
                         sorted(id for id, group in self.plan["groups"].items()
                                if user in group["users"][""]))

    def test_what_to_fix_next(self):
        found = self.ask("/api/v1/groups?is=open&sort=count&limit=5")["groups"]
        counts = [self.plan["groups"][id]["count"] for id in self.plan["next"]]
        self.assertEqual([group["count"] for group in found], counts)


@unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
class Pages(Planted):
    """The pages, without scripts: from the overview in two clicks at most."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = cls.enterClassContext(Browser())
        cls.browser.look(1440, 1100, False)
        cls.browser.scripts(False)

    def setUp(self):
        self.browser.go(self.collector.url + "/")

    def text(self, selector="body"):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})"
                                     ".innerText")

    def follow(self, words, links="a"):
        """Clicks the first link that has words, and returns the page's text."""
        place = self.browser.evaluate(
            f"[...document.querySelectorAll({json.dumps(links)})].find(e => e.innerText"
            f".includes({json.dumps(words)}))?.getAttribute('href')")
        self.assertIsNotNone(place, f"no link {words} in {self.text()}")
        self.browser.click(f"a[href={json.dumps(place)}]")
        return self.text()

    def listed(self):
        return self.browser.evaluate(
            "[...document.querySelectorAll('.groups .title')]"
            ".map(e => e.getAttribute('href').split('/')[2])")

    def search(self, words):
        self.browser.type("[name=q]", words)
        self.browser.click("form[role=search] button")

    def open(self, id):
        """The text of a group's page: a search, and a click."""
        self.browser.go(self.collector.url + "/")
        function = self.plan["groups"][id]["function"]
        self.search(f"{function} is:any")
        return self.follow(function + " ", ".groups .title")

    def test_lists_of_the_overview_are_as_planned(self):
        for words, wanted in (("New", "new"), ("Came back", "back"), ("Rising", "rising")):
            with self.subTest(words):
                self.browser.go(self.collector.url + "/")
                self.follow(words, "h2 a")
                self.assertEqual(sorted(self.listed()), self.plan[wanted])
        self.browser.go(self.collector.url + "/")
        self.search("assignee:kim")
        self.assertEqual(self.listed(), self.plan["taken"])

    def test_a_group_says_its_release_machines_users_state_and_what_is_in_common(self):
        for id in (self.plan["resolved"] + self.plan["back"] + self.plan["next"][:2] +
                   self.plan["one_kernel"][:1]):
            group = self.plan["groups"][id]
            text = self.open(id)
            self.assertIn(f"Reports\n{group['count']}\n", text)
            self.assertIn(f"Machines\n{group['machines']}\n", text)
            self.assertIn(f"Users\n{len(group['users'][''])}\n", text)
            self.assertIn(f"in {group['first_release']}\n", text)
            self.assertIn(f"\n{group['status']}\n", text)
            self.assertEqual("kernel " + self.plan["one_kernel"][1] in text,
                             id == self.plan["one_kernel"][0])

    def test_the_counts_of_a_group_follow_its_search_and_lead_to_its_reports(self):
        id = self.plan["next"][0]
        group = self.plan["groups"][id]
        release, count = max(group["releases"].items(), key=lambda item: item[1])
        self.browser.go(f"{self.collector.url}/groups/{id}")
        self.assertIn(f"Of {group['count']} reports\n", self.text(".facets"))
        text = self.follow(release, ".facets a")
        self.assertIn(f"Of {count} reports\n", text)
        host = next(host for host in group["hosts"] if f"\n{host}\n" in self.text(".facets"))
        self.follow(host, ".facets a")
        rows = self.browser.evaluate("[...document.querySelectorAll('.reports li')]"
                                     ".map(e => e.innerText)")
        self.assertTrue(rows)
        for row in rows:
            self.assertIn(release, row)
            self.assertIn(host, row)

    def test_a_click_asks_for_the_counts_of_a_group_as_csv(self):
        id = self.plan["next"][0]
        self.browser.go(f"{self.collector.url}/groups/{id}")
        self.browser.click(".facets h2 a")
        address = self.browser.ask("a[href*='form=csv']")
        self.assertTrue(address.startswith(self.collector.url), address)
        status, headers, body = self.collector.request(
            "GET", address[len(self.collector.url):])
        self.assertEqual((status, headers["Content-Disposition"]),
                         (200, "attachment; filename=\"facets.csv\""))
        rows = list(csv.DictReader(body.decode().splitlines()))
        self.assertEqual({row["value"]: int(row["reports"]) for row in rows
                          if row["key"] == "release"}, self.plan["groups"][id]["releases"])

    def test_two_releases_of_a_program_are_compared(self):
        self.follow("Releases")
        self.follow("ledgerd")
        for name, release in (("before", "1.9"), ("after", "1.10")):
            self.browser.evaluate(
                f"document.querySelector('[name={name}]').value = '{release}'")
        self.browser.click("#compared button")
        shown = self.browser.evaluate(
            "[...document.querySelectorAll('#compared tbody tr')].map(r => [r.querySelector("
            "'a').getAttribute('href').split('/')[2], +r.cells[1].innerText,"
            " +r.cells[2].innerText])")
        wanted = [[id, group["releases"].get("1.9", 0), group["releases"].get("1.10", 0)]
                  for id, group in self.plan["groups"].items() if group["program"] == "ledgerd"
                  and {"1.9", "1.10"} & set(group["releases"])]
        self.assertEqual(shown, sorted(wanted, key=lambda row: (-abs(row[2] - row[1]), row[0])))
        self.browser.go(self.collector.url + "/releases?program=ledgerd&before=0.0&after=1.10")
        self.assertIn("no release of that name", self.text())
        self.assertEqual(self.browser.evaluate(
            "document.querySelectorAll('#compared tbody tr').length"), 0)

    def test_the_host_with_bad_memory_is_named_and_not_one_with_a_frequent_bug(self):
        card = self.text().split("Machines that crash alone")[1].split("Seen last")[0]
        self.assertEqual(re.findall(r"node-\d\d", card), [self.plan["bad_host"]])
        self.follow(self.plan["bad_host"])
        self.assertLessEqual(set(self.plan["on_bad_host"]), set(self.listed()))

    def test_the_chart_of_releases_has_the_current_one_of_each_program(self):
        chart = self.text().split("Crashes by release")[1].split("Machines that")[0]
        for program, release in self.plan["current"].items():
            self.assertIn(f"{program} {release}\n", chart)
        for program, order in self.plan["order"].items():
            self.browser.go(f"{self.collector.url}/?program={program}")
            series = self.browser.evaluate("[...document.querySelectorAll('.chart path')]"
                                           ".map(e => e.textContent.trim())")
            self.assertEqual(series, [f"{program} {release}" for release in order[::-1]] +
                             ["others"])
            self.assertIn(f"at most {self.plan['busiest_day'][program]} a day", self.text())


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
