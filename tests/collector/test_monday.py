#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_monday COLLECTOR FOLDER: what a team asks on Monday morning, about the fleet
# of monday_reports.py. Each question is answered in Chromium without JavaScript within
# three clicks, and by one request to the API. Screenshots are left in FOLDER. All 6,000
# reports and 42 screenshots with CRASHHOOK_FULL=1, else 1,200 and 14. Where CRASHHOOK_TEST_POSTGRESQL names a database,
# that is the store.

import collections
import csv
import gzip
import json
import os
import re
import sys
import time
import unittest
import urllib.parse

import accessibility
import monday_reports
from browser import Browser
from monday_reports import fingerprint_of, function_of
from running import Collector

BINARY, FOLDER = None, None
FULL = os.environ.get("CRASHHOOK_FULL") == "1"
COUNT = 6000 if FULL else 1200
PAGE_MAX = 60000
LIST_MAX = 55000
CLICKS_MAX = 3
SIZES = ((1440, 1100), (768, 1100), (360, 740))


# What is done to a page, and what the check has to say of it.
WRONG = (
    ("html-has-lang", "document.documentElement.lang = ''"),
    ("document-title", "document.title = ' '"),
    ("meta-viewport", "document.querySelector('[name=viewport]').content ="
                      " 'width=device-width,user-scalable=no'"),
    ("skip-link", "main.id = 'other'"),
    ("not one h1", "document.querySelector('h1').remove()"),
    ("heading-order", "put('<h4>x</h4>')"),
    ("region", "document.body.insertAdjacentHTML('beforeend', '<p>x</p>')"),
    ("label", "put('<input name=x title=x>')"),
    ("select-name", "put('<select><option>x</select>')"),
    ("link-name", "put('<a href=/x><svg width=30 height=30 aria-hidden=true></svg></a>')"),
    ("button-name", "put('<button class=styled></button>', 'width:30px;height:30px')"),
    ("image-alt", "put('<svg width=9 height=9></svg>')"),
    ("duplicate-id", "put('<p id=content>x</p>')"),
    ("list", "put('<ul><p>x</p></ul>')"),
    ("listitem", "put('<li>x</li>')"),
    ("definition-list", "put('<dl><p>x</p></dl>')"),
    ("dlitem", "put('<dt>x</dt>')"),
    ("a table without headings", "put('<table><tr><td>x</td></tr></table>')"),
    ("th-has-data-cells", "put('<table><tr><th>x</th></tr></table>')"),
    ("aria-roles", "put('<p role=crash>x</p>')"),
    ("aria-valid-attr", "put('<p aria-crash=x>x</p>')"),
    ("aria-valid-attr-value", "put('<p aria-describedby=nothing>x</p>')"),
    ("aria-prohibited-attr", "put('<p aria-label=x>x</p>')"),
    ("aria-hidden-focus", "put('<p aria-hidden=true><a href=/x>x</a></p>')"),
    ("tabindex", "put('<p tabindex=1>x</p>')"),
    ("nested-interactive", "put('<button>x<i tabindex=0>x</i></button>')"),
    ("scrollable-region-focusable", "put('<pre class=styled>' + 'x'.repeat(99) +"
                                    " '</pre>', 'width:50px;overflow:auto')"),
    ("color-contrast", "put('<p class=styled>x</p>', 'color:#777;background:#666')"),
    ("color-contrast", "put('<label>x<input class=styled></label>',"
                       " 'color:#777;background:#666')"),
    ("link-in-text-block", "put('<p>words around it <a href=/x>x</a></p>')"),
    ("target-size", "put('<p><button class=styled>x</button><button class=styled>y</button>"
                    "</p>', 'all:unset;font-size:9px')"),
)


class Monday(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        store = os.environ.get("CRASHHOOK_TEST_POSTGRESQL")
        cls.collector = cls.enterClassContext(Collector(BINARY, store=store))
        cls.browser = cls.enterClassContext(Browser())
        cls.monday = monday_reports.Monday(COUNT)
        print(f"{len(cls.monday.reports)} reports, seed {monday_reports.SEED}")
        cls.monday.send(cls.collector)
        cls.browser.look(1440, 1100, False)
        cls.browser.scripts(False)

    def setUp(self):
        self.clicks = 0

    def start(self, path="/"):
        self.browser.go(self.collector.url + path)

    def follow(self, words):
        """Clicks the first link that begins with words."""
        self.clicks += 1
        self.assertLessEqual(self.clicks, CLICKS_MAX)
        place = self.browser.evaluate(
            "[...document.querySelectorAll('a')].find(e => e.innerText.trim()"
            f".startsWith({json.dumps(words)}))?.getAttribute('href')")
        self.assertIsNotNone(place, f"no link {words} in {self.text()}")
        self.browser.click(f"a[href={json.dumps(place)}]")

    def open_group(self, function):
        """Clicks the title that names function."""
        self.clicks += 1
        self.assertLessEqual(self.clicks, CLICKS_MAX)
        place = self.browser.evaluate(
            "[...document.querySelectorAll('.groups .title')].find(e => "
            f"e.innerText.includes({json.dumps(function)}))?.getAttribute('href')")
        self.assertIsNotNone(place, f"no title with {function} in {self.text()}")
        self.browser.click(f"a[href={json.dumps(place)}]")

    def search(self, words):
        """Types into the search field and presses its button: one click."""
        self.clicks += 1
        self.browser.type("[name=q]", words)
        self.browser.click("form[role=search] button")

    def text(self):
        return self.browser.evaluate("document.body.innerText")

    def listed(self):
        """The ids of the groups in the list that is shown."""
        return self.browser.evaluate(
            "[...document.querySelectorAll('.groups .title')]"
            ".map(e => e.getAttribute('href').split('/')[2])")

    def ask(self, query):
        status, answer = self.collector.json("GET", "/api/v1/groups?" + query)
        self.assertEqual(status, 200, answer)
        return answer["groups"]

    def ids(self, query):
        return {group["id"] for group in self.ask(query)}

    def all_of(self, groups):
        return {fingerprint_of(group) for group in groups}

    def test_what_is_new_in_this_release(self):
        new = self.all_of(monday_reports.NEW)
        self.start()
        self.follow("New")
        self.assertEqual(set(self.listed()), new)
        self.assertIn(f"in {monday_reports.NEWEST}", self.text())
        self.assertEqual(self.ids("is=new"), new)
        self.assertEqual(self.ids(f"is=new&for_release={monday_reports.NEWEST}"), new)
        self.assertEqual(self.ids(f"first_release={monday_reports.NEWEST}"), new)

    def test_what_was_new_in_an_older_release(self):
        older = monday_reports.RELEASES[3]
        self.start("/?for_release=" + older)
        self.follow("New in this release")
        self.assertEqual(set(self.listed()) & self.all_of(monday_reports.NEW), set())
        self.assertEqual({group["first_release"] for group in
                          self.ask("is=new&for_release=" + older)}, {older}
                         if self.listed() else set())

    def test_what_a_chosen_release_had(self):
        older = monday_reports.RELEASES[1]
        of_older = {report["fingerprint"] for report in self.monday.reports
                    if report["release"] == older}
        self.start("/?for_release=" + older)
        self.follow("Most machines")
        found = self.browser.evaluate("document.querySelector('.lead').innerText")
        self.assertEqual(int(found.split()[0]), len(of_older), found)
        self.assertLessEqual(set(self.listed()), of_older)
        self.start("/?for_release=" + older)
        self.assertEqual(self.browser.evaluate(
            "document.querySelector('[name=for_release]').value"), older)
        self.start()
        self.assertEqual(self.browser.evaluate(
            "document.querySelector('[name=for_release]').value"), "")

    def test_what_came_back(self):
        back = self.all_of(monday_reports.BACK)
        self.start()
        self.follow("Came back")
        self.assertEqual(set(self.listed()), back)
        self.open_group(function_of(monday_reports.BACK[0]))
        self.assertIn("It was resolved, and is back", self.text())
        self.assertEqual(self.ids("is=regressed"), back)
        self.assertEqual(self.ids("is=regressed&for_release=1.0.0"), set())
        self.assertEqual(
            self.ids("is=regressed&for_release=" + monday_reports.NEWEST), back)

    def test_what_rises(self):
        rising = self.all_of(monday_reports.RISING)
        self.start()
        self.follow("Rising")
        self.assertEqual(set(self.listed()), rising)
        self.assertEqual(self.ids("is=rising"), rising)

    def test_what_hits_most_machines(self):
        everywhere = fingerprint_of(monday_reports.EVERYWHERE)
        self.start()
        self.follow("Most machines")
        self.assertEqual(self.listed()[0], everywhere)
        self.assertIn(f"{len(monday_reports.GOOD_HOSTS)}\nmachines", self.text())
        first = self.ask("sort=machines&limit=1")[0]
        self.assertEqual((first["id"], first["machines"]),
                         (everywhere, len(monday_reports.GOOD_HOSTS)))

    def test_whether_it_is_our_code_or_one_bad_host(self):
        alone = self.all_of(monday_reports.BAD_MEMORY)
        self.start()
        self.assertIn("Machines that crash alone", self.text())
        self.follow(monday_reports.BAD_HOST)
        self.assertEqual(set(self.listed()), alone)
        groups = self.ask("host=" + monday_reports.BAD_HOST)
        self.assertEqual({group["id"] for group in groups}, alone)
        self.assertEqual({group["machines"] for group in groups}, {1})

    def test_where_else_a_function_a_file_or_a_build_crashes(self):
        word = monday_reports.WORDS[0]
        same = self.all_of(group for group in range(monday_reports.GROUPS)
                           if group % len(monday_reports.WORDS) == 0)
        for term in (f"frame:{word}_handle", f"file:src/{word}.c"):
            self.clicks = 0
            self.start()
            self.search(term)
            self.assertEqual(set(self.listed()), same, term)
            key, value = term.split(":")
            self.assertEqual(self.ids(f"{key}={value}"), same)
        build = self.monday.reports[0]["images"][0]["build_id"]
        self.assertEqual(len(self.ids(f"build={build[:12]}&limit=200")),
                         monday_reports.GROUPS)
        self.assertEqual(self.ids("q=" + urllib.parse.quote(f"frame:{word} -file:x")),
                         self.ids(f"frame={word}"))

    def test_what_these_crashes_have_in_common(self):
        for group, key, value in (
                (monday_reports.DEEP, "depth", "over 9,000 frames"),
                (monday_reports.NULL_KEY, "argument",
                 f"k = 0 in {function_of(monday_reports.NULL_KEY)}")):
            self.clicks = 0
            self.start()
            self.search(function_of(group))
            self.open_group(function_of(group))
            self.assertIn(value, self.text())
            self.assertIn("of the others", self.text())
            _, answer = self.collector.json("GET",
                                            "/api/v1/groups/" + fingerprint_of(group))
            facts = [fact for fact in answer["common"] if fact["value"] == value]
            self.assertEqual([(fact["key"], fact["count"]) for fact in facts],
                             [(key, answer["count"])])
            self.assertEqual(self.ids(urllib.parse.urlencode({key: value})),
                             {fingerprint_of(group)})

    def search_reports(self, holds):
        """How many reports of the plan a condition holds for, by their group."""
        found = collections.Counter()
        for report in self.monday.reports:
            if holds(report):
                found[report["fingerprint"]] += 1
        return found

    def test_searches_with_or_wildcards_and_ranges_find_what_was_planted(self):
        def of(report):
            return (report["release"], report["host"]["hostname"],
                    report["process"]["executable"].rsplit("/", 1)[1])
        searches = {
            "release:1.4.0 OR release:1.5.0": lambda r: of(r)[0] in ("1.4.0", "1.5.0"),
            "program:shopd (host:web-1* OR host:web-30)":
                lambda r: of(r)[2] == "shopd" and (of(r)[1].startswith("web-1")
                                                   or of(r)[1] == "web-30"),
            "-release:1.* OR host:web-13": lambda r: of(r)[1] == "web-13",
            "frame:cart_*_0 OR frame:ledger_load_17":
                lambda r: r["fingerprint"] in self.all_of((0, 17)),
        }
        for search, holds in searches.items():
            with self.subTest(search):
                wanted = self.search_reports(holds)
                found = self.ask("limit=200&q=" + urllib.parse.quote(search))
                self.assertEqual({g["id"]: g["filtered_count"] for g in found}, wanted)
        machines = collections.defaultdict(set)
        for report in self.monday.reports:
            machines[report["fingerprint"]].add(of(report)[1])
        self.assertEqual(self.ids("limit=200&q=machines:>16"),
                         {g for g, hosts in machines.items() if len(hosts) > 16})
        counts = self.search_reports(lambda r: True)
        self.assertEqual(self.ids("limit=200&q=reports:10..20"),
                         {g for g, count in counts.items() if 10 <= count <= 20})
        status, answer = self.collector.json("GET", "/api/v1/groups?q=is:new+OR+host:x")
        self.assertEqual(status, 400, answer)
        self.assertIn("OR cannot join", answer["error"])

    def test_values_of_a_search_are_counted_and_lead_to_their_reports(self):
        wanted = collections.Counter(report["release"] for report in self.monday.reports)
        self.start("/groups")
        self.follow("Counts")
        self.browser.evaluate("document.querySelector('[name=by]').value = 'release'")
        self.browser.click("form[role=search] button")
        shown = self.browser.evaluate("[...document.querySelectorAll('.bars li')].map(e =>"
                                      " [e.querySelector('a').innerText,"
                                      " +e.querySelector('b').innerText.replace(/\\D/g, '')])")
        self.assertEqual(dict(shown), wanted)
        self.follow("1.4.0")
        self.assertEqual(set(self.listed()[:5]) - self.ids("limit=200&release=1.4.0"), set())
        status, answer = self.collector.json(
            "GET", "/api/v1/facets?most=20000&by=release&then=host&q=program:shopd")
        self.assertEqual(status, 200, answer)
        pairs = collections.Counter(
            (r["release"], r["host"]["hostname"]) for r in self.monday.reports
            if r["process"]["executable"].endswith("/shopd"))
        for row in answer["facets"]:
            self.assertEqual(row["count"], pairs[row["value"], row["then"]])
        for query in ("by=nothing", "then=host", "by=host&most=0", "by=host&form=pdf"):
            self.assertEqual(self.collector.json("GET", "/api/v1/facets?" + query)[0], 400)

    def table(self, index=0):
        """The rows of a table of the page that is shown, as texts."""
        return self.browser.evaluate(
            f"[...document.querySelectorAll('table')[{index}].querySelectorAll('tbody tr')]"
            ".map(row => [...row.querySelectorAll('td')].map(e => e.innerText.trim()))")

    def test_releases_say_what_they_crash_began_and_brought_back(self):
        programs = sorted({p.rsplit("/", 1)[1] for p in monday_reports.PROGRAMS})
        reports = collections.Counter(
            (r["process"]["executable"].rsplit("/", 1)[1], r["release"])
            for r in self.monday.reports)
        new = collections.Counter(
            monday_reports.program_of(g).rsplit("/", 1)[1] for g in monday_reports.NEW)
        back = collections.Counter(
            monday_reports.program_of(g).rsplit("/", 1)[1] for g in monday_reports.BACK)
        crash_free = 100 - 100 * monday_reports.CRASHED_SESSIONS / 1000
        self.start()
        self.follow("Releases")
        for index, program in enumerate(programs):
            rows = self.table(index)
            self.assertEqual([row[0].split()[0] for row in rows],
                             monday_reports.RELEASES[::-1])
            self.assertEqual({row[0].split()[0]: int(row[1]) for row in rows},
                             {r: reports[program, r] for r in monday_reports.RELEASES})
            self.assertEqual(rows[0][3:7], [str(new[program]), str(back[program]), "16.7\u2009%",
                                            f"{crash_free}\u2009%"])
            self.assertIn("current", rows[0][0])
            self.assertEqual(rows[1][6], "100.0\u2009%")
        self.browser.click("table a[href*='first_release']")
        self.assertEqual(len(self.listed()), new[programs[0]])
        self.start("/releases?program=" + programs[1])
        self.browser.click("table a[href*='for_release']")
        self.assertEqual(set(self.listed()),
                         self.all_of(g for g in monday_reports.BACK
                                     if monday_reports.program_of(g).endswith(programs[1])))

    def test_machines_are_ordered_by_their_reports_of_some_days(self):
        self.start()
        self.follow("Machines")
        for days in (7, 30):
            since = self.monday.now - days * monday_reports.DAY
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since + 600))
            wanted = collections.Counter(r["host"]["hostname"] for r in self.monday.reports
                                         if r["time"] > stamp)
            self.start(f"/machines?days={days}")
            shown = {row[0]: int(row[3]) for row in self.table()}
            # A report may have left the days since it was planted.
            self.assertLessEqual(sum(shown.values()) - wanted.total(), 2)
            self.assertGreaterEqual(sum(shown.values()), wanted.total() - 2)
            self.assertEqual(list(shown.values()), sorted(shown.values(), reverse=True))
            self.assertEqual(set(shown), set(wanted))
        self.follow(list(shown)[0])
        self.assertIn("host:" + list(shown)[0], self.text())
        self.assertEqual(self.collector.json("GET", "/api/v1/machines?days=0")[0], 400)
        _, answer = self.collector.json("GET", "/api/v1/machines?days=30")
        self.assertEqual([row["host"] for row in answer["machines"]], list(shown))

    def test_lists_are_there_as_csv_without_formulas(self):
        status, headers, body = self.collector.request("GET", "/api/v1/groups?form=csv")
        self.assertEqual(status, 200)
        self.assertIn("text/csv", headers["Content-Type"])
        rows = list(csv.DictReader(body.decode().splitlines()))
        self.assertEqual({row["id"]: int(row["reports"]) for row in rows},
                         self.search_reports(lambda r: True))
        status, _, body = self.collector.request(
            "GET", "/api/v1/reports?form=csv&host=" + monday_reports.BAD_HOST)
        rows = list(csv.DictReader(body.decode().splitlines()))
        self.assertEqual({row["host"] for row in rows}, {monday_reports.BAD_HOST})
        self.assertFalse(any(value[:1] in "=+-@" for row in rows for value in row.values()
                             if value))

    def test_a_list_as_csv_links_its_rest(self):
        path, found = "/api/v1/groups?form=csv&limit=30&sort=count", []
        while path:
            _, headers, body = self.collector.request("GET", path)
            found += [row["id"] for row in csv.DictReader(body.decode().splitlines())]
            link = re.fullmatch('<(.+)>; rel="next"', headers.get("Link", ""))
            path = link and link.group(1)
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(found), set(self.search_reports(lambda r: True)))

    def test_lists_are_there_as_lines_of_json_up_to_a_cursor(self):
        def lines(path):
            status, headers, body = self.collector.request("GET", path)
            self.assertEqual((status, headers["Content-Type"]),
                             (200, "application/x-ndjson"))
            return [json.loads(line) for line in body.decode().splitlines()]
        groups = lines("/api/v1/groups?form=ndjson")
        self.assertEqual({row["id"]: row["count"] for row in groups},
                         self.search_reports(lambda r: True))
        reports = lines("/api/v1/reports?form=ndjson&host=" + monday_reports.BAD_HOST)
        self.assertEqual(reports, self.collector.json(
            "GET", "/api/v1/reports?limit=200&host=" + monday_reports.BAD_HOST)[1]["reports"])
        *some, last = lines("/api/v1/groups?form=ndjson&limit=70")
        *rest, end = lines("/api/v1/groups?form=ndjson&cursor=" + last["next"])
        self.assertEqual((some + rest + [end], list(last)), (groups, ["next"]))
        counted = lines("/api/v1/facets?form=ndjson&by=program&then=release")
        self.assertEqual({(row["key"], row["value"], row["then"]): row["count"]
                          for row in counted},
                         collections.Counter(
                             ("program", os.path.basename(r["process"]["executable"]),
                              r["release"]) for r in self.monday.reports))
        self.assertEqual(self.collector.json("GET", "/api/v1/groups?form=xml")[0], 400)

    def test_how_many_crashes_a_release_has(self):
        self.start()
        self.assertIn("Crashes by release", self.text())
        self.follow(monday_reports.NEWEST)
        of_release = [report for report in self.monday.reports
                      if report["release"] == monday_reports.NEWEST]
        groups = self.ask(f"release={monday_reports.NEWEST}&limit=200&sort=count")
        self.assertEqual(sum(group["filtered_count"] for group in groups),
                         len(of_release))
        counts = [group["filtered_count"] for group in groups]
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_how_good_a_release_is(self):
        self.start()
        part = self.text().split("Without a crash")[1]
        share = 1 - monday_reports.CRASHED_SESSIONS / 1000
        self.assertIn(f"{100 * share:.1f}\u2009%", part)
        self.assertIn("1\u2009000 sessions", part)
        meters = self.browser.evaluate(
            "[...document.querySelectorAll('#starts ul:first-of-type meter')]"
            ".map(e => [e.value, e.max])")
        crashed = 1000 * monday_reports.CRASHED_SESSIONS
        self.assertEqual(meters[0], [crashed, crashed])
        self.assertEqual(meters[1][0], 0)
        places = [part.index(release) for release in monday_reports.RELEASES]
        self.assertEqual(places, sorted(places, reverse=True))
        hosts = part.split(f"Hosts of {monday_reports.NEWEST}\n")[1]
        share = 1 - monday_reports.CRASHED_SESSIONS / 500
        self.assertTrue(hosts.startswith(
            f"{monday_reports.HOSTS[0]}\n{100 * share:.1f}\u2009%"), hosts[:80])
        self.assertIn(f"{monday_reports.HOSTS[1]}\n100.0\u2009%", hosts)
        _, answer = self.collector.json("GET",
                                        "/api/v1/starts?release=" + monday_reports.NEWEST)
        rows = answer["starts"]
        self.assertEqual({row["host"] for row in rows}, set(monday_reports.HOSTS[:2]))
        self.assertEqual(sum(row["crashes"] for row in rows),
                         monday_reports.CRASHED_SESSIONS)
        self.assertEqual(sum(row["starts"] for row in rows), 1000)

    def test_who_takes_it_and_what_was_decided(self):
        taken = fingerprint_of(monday_reports.TAKEN)
        self.start()
        self.search("assignee:kim")
        self.assertEqual(self.listed(), [taken])
        self.open_group(function_of(monday_reports.TAKEN))
        self.assertIn("waits for the new driver", self.text())
        self.assertEqual(self.ids("assignee=kim"), {taken})
        self.assertNotIn(taken, self.ids("is=unassigned&limit=200"))

    def test_every_order_pages_through_every_group_once(self):
        for sort in ("last_seen", "first_seen", "count", "machines"):
            seen, cursor, places = [], "", []
            while cursor is not None:
                _, answer = self.collector.json(
                    "GET", f"/api/v1/groups?limit=33&sort={sort}&since=50d"
                    + (f"&cursor={cursor}" if cursor else ""))
                seen += [group["id"] for group in answer["groups"]]
                places += [group[f"filtered_{sort}" if sort in ("count", "machines")
                                 else sort]
                           for group in answer["groups"]]
                cursor = answer["next"]
            self.assertEqual(len(seen), len(set(seen)), sort)
            self.assertEqual(len(seen), monday_reports.GROUPS, sort)
            self.assertEqual(places, sorted(places, reverse=True), sort)

    def test_more_groups_are_a_link_away_with_the_same_search_and_order(self):
        self.start("/groups?q=is:any&sort=count")
        first = self.listed()
        self.follow("More groups")
        self.assertIn("q=is:any", self.browser.evaluate("location.search"))
        self.assertIn("sort=count", self.browser.evaluate("location.search"))
        self.assertEqual(len(first + self.listed()), monday_reports.GROUPS)
        self.assertEqual(set(first) & set(self.listed()), set())

    def test_everything_clickable_on_a_group_narrows_the_list(self):
        self.start("/groups/" + fingerprint_of(monday_reports.EVERYWHERE))
        links = self.browser.evaluate(
            "[...document.querySelectorAll('main a[href^=\"/groups?\"]')]"
            ".map(e => e.getAttribute('href'))")
        self.assertGreater(len(links), 20)
        for link in sorted(set(links)):
            status, _, page = self.collector.request("GET", link)
            self.assertEqual(status, 200, link)
            self.assertIn(function_of(monday_reports.EVERYWHERE).encode(), page, link)

    def test_lists_and_groups_of_fifty_rows_weigh_less_than_60_kb(self):
        for path in ("/", "/groups", "/groups?q=is:any&sort=count",
                     "/groups/" + fingerprint_of(monday_reports.EVERYWHERE)):
            _, _, page = self.collector.request("GET", path)
            print(f"{path}: {len(page)} bytes")
            self.assertLess(len(page), LIST_MAX, path)

    def test_lists_are_sent_compressed_to_who_takes_that(self):
        for path in ("/groups", "/api/v1/groups", "/style.css"):
            _, headers, plain = self.collector.request("GET", path)
            self.assertIsNone(headers["Content-Encoding"])
            _, headers, packed = self.collector.request(
                "GET", path, None, {"Accept-Encoding": "gzip"})
            self.assertEqual(headers["Content-Encoding"], "gzip")
            self.assertEqual(headers["Vary"], "Accept-Encoding")
            self.assertLess(3 * len(packed), len(plain))
            print(f"{path}: {len(plain)} bytes, {len(packed)} compressed")
            if "api" in path:  # pages say how long ago: seconds may pass in between
                self.assertEqual(gzip.decompress(packed), plain)

    def test_the_newest_stack_stands_on_the_page_of_its_group(self):
        self.start("/groups/" + fingerprint_of(monday_reports.DEEP))
        self.assertIn("Crashed thread", self.text())
        self.assertIn("9\u2009500 frames left out", self.text())
        self.follow("The newest report")
        self.follow(monday_reports.WORDS[monday_reports.DEEP % 18] + "_handle")
        self.assertIn(fingerprint_of(monday_reports.DEEP), self.listed())

    def test_everything_clickable_on_a_report_narrows_the_list(self):
        number = [report for report in self.monday.reports if report["fingerprint"] ==
                  fingerprint_of(monday_reports.EVERYWHERE)][-1]["id"]
        self.start("/reports/" + number)
        links = self.browser.evaluate(
            "[...document.querySelectorAll('main a[href^=\"/groups?\"]')]"
            ".map(e => e.getAttribute('href'))")
        keys = {link.split("q=")[1].split(":")[0] for link in links}
        self.assertLessEqual({"program", "release", "environment", "host", "kernel", "tag",
                              "frame", "file", "build", "kind"}, keys)
        for link in sorted(set(links)):
            status, _, page = self.collector.request("GET", link)
            self.assertEqual(status, 200, link)
            named = ("frame", "file", "release", "host")
            if link.split("q=")[1].startswith(named):
                self.assertIn(function_of(monday_reports.EVERYWHERE).encode(), page, link)

    def every_page(self):
        of_group = [report["id"] for report in self.monday.reports if report["fingerprint"]
                    == fingerprint_of(monday_reports.EVERYWHERE)]
        return {"overview": "/", "list": "/groups?q=program:shopd&sort=count",
                "group": "/groups/" + fingerprint_of(monday_reports.DEEP),
                "report": "/reports/" + of_group[-1], "alerts": "/alerts",
                "compare": f"/compare?r={of_group[0]}&r={of_group[-1]}",
                "access": "/access", "releases": "/releases", "machines": "/machines",
                "symbols": "/symbols", "counts": "/facets",
                "pairs": "/facets?by=program&then=release"}

    def test_pages_fit_every_width_in_light_and_dark_and_can_be_read_by_all(self):
        for name, path in self.every_page().items():
            for width, height in SIZES:
                for dark in (False, True):
                    self.browser.look(width, height, dark)
                    self.start(path)
                    wide = self.browser.evaluate("document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, (name, width))
                    shade = "dark" if dark else "light"
                    with self.subTest(name, width=width, shade=shade):
                        self.assertEqual(accessibility.problems(self.browser), [])
                    if FULL or width == SIZES[0][0]:
                        self.browser.screenshot(
                            os.path.join(FOLDER, f"monday_{name}_{width}_{shade}.png"), True)
        self.browser.look(1440, 1100, False)

    def test_a_row_of_a_list_is_low_and_the_stack_of_a_group_is_near_the_top(self):
        self.browser.look(1440, 900, False)
        self.start("/groups?q=is:any")
        tall = self.browser.evaluate("Math.max(...[...document.querySelectorAll('.group')]"
                                     ".map(e => e.offsetHeight))")
        self.assertLessEqual(tall, 60)
        self.start("/groups/" + fingerprint_of(monday_reports.RISING[0]))
        top = self.browser.evaluate(
            "document.querySelector('.frame').getBoundingClientRect().top")
        self.assertLess(top, 450)

    def test_the_check_of_pages_finds_what_is_wrong(self):
        self.start("/alerts")
        self.assertEqual(accessibility.problems(self.browser), [])
        for words, change in WRONG:
            with self.subTest(words):
                self.start("/alerts")
                self.browser.evaluate(
                    "(() => { const main = document.querySelector('main'), put ="
                    " (html, style) => { main.insertAdjacentHTML('beforeend', html);"
                    " for (const e of main.querySelectorAll('.styled'))"
                    f" e.style.cssText = style; }}; {change} }})()")
                found = accessibility.problems(self.browser)
                self.assertTrue(any(problem.startswith(words) for problem in found), found)


class Bulk(unittest.TestCase):
    """What is done with several groups at once, by the form of the list."""

    def test_chosen_groups_are_assigned_ignored_and_merged_together(self):
        with Collector(BINARY) as collector, Browser() as browser:
            monday_reports.Monday(100).send(collector)
            browser.look(1440, 1100, False)
            browser.scripts(False)
            chosen = [fingerprint_of(group) for group in (20, 21, 22)]
            self.choose(browser, collector, chosen)
            browser.type(".bulk [name=assignee]", "lee")
            browser.click(".bulk [name=assign]")
            self.assertIn("q=-program:none", browser.evaluate("location.search"))
            self.assertEqual(self.ids(collector, "assignee=lee"), set(chosen))
            self.choose(browser, collector, chosen[:2])
            browser.click(".bulk [value=ignored]")
            self.assertEqual(self.ids(collector, "is=ignored"), set(chosen[:2]))
            others = [fingerprint_of(group) for group in (30, 33)]
            self.choose(browser, collector, others)
            browser.click(".bulk [name=merge]")
            self.assertIn("Merge these groups?", browser.evaluate("document.body.innerText"))
            browser.click("[name=confirm]")
            merged = [collector.json("GET", "/api/v1/groups/" + group)[1]["id"]
                      for group in others]
            self.assertEqual(merged[0], merged[1])

    def test_a_bulk_form_without_groups_or_with_a_foreign_way_back_is_harmless(self):
        with Collector(BINARY) as collector:
            monday_reports.Monday(100).send(collector)
            headers = {"Sec-Fetch-Site": "same-origin",
                       "Content-Type": "application/x-www-form-urlencoded"}
            status, _, page = collector.request("POST", "/groups", "status=ignored",
                                                headers)
            self.assertEqual((status, b"hoose a group" in page), (400, True))
            fields = urllib.parse.urlencode({"id": fingerprint_of(20), "status": "ignored",
                                             "back": "x\r\nSet-Cookie: a=b"})
            status, answer, _ = collector.request("POST", "/groups", fields, headers)
            self.assertEqual((status, answer["Location"]), (303, "/groups"))
            self.assertIsNone(answer["Set-Cookie"])

    def choose(self, browser, collector, groups):
        browser.go(collector.url + "/groups?q=-program:none+is:any&limit=200")
        for group in groups:
            browser.evaluate(f"document.querySelector('[value=\"{group}\"]').checked = true")

    def ids(self, collector, query):
        _, answer = collector.json("GET", "/api/v1/groups?" + query)
        return {group["id"] for group in answer["groups"]}


if __name__ == "__main__":
    BINARY, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    os.makedirs(FOLDER, exist_ok=True)
    unittest.main(verbosity=2)
