#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_triage COLLECTOR: what people and operators do to a collector over HTTP: decide on
# groups by the API, by forms and by events of issue trackers, log in, limit, log, keep.

import contextlib
import hashlib
import hmac
import html
import json
import re
import sqlite3
import sys
import time
import unittest
import urllib.parse

import sample_reports
from running import Collector

BINARY = None
SAME = {"Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded"}


def send(collector, number, fingerprint, **more):
    report = sample_reports.raw(number, **more)
    report["fingerprint"] = fingerprint
    status, answer = collector.post(report)
    assert status == 201, answer
    return answer


def form(collector, path, headers=None, **fields):
    return collector.request("POST", path, urllib.parse.urlencode(fields),
                             SAME if headers is None else headers)


class Deciding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = cls.enterClassContext(Collector(BINARY))

    def ask(self, group, **what):
        return self.collector.json("POST", "/api/v1/groups/" + group, json.dumps(what))

    def group(self, group):
        return self.collector.json("GET", "/api/v1/groups/" + group)[1]

    def test_a_resolved_group_that_comes_back_is_marked(self):
        send(self.collector, 1, "aaaaaaa1", release="1.9")
        status, group = self.ask("aaaaaaa1", status="resolved", note="fixed <b>now</b>",
                                 assignee="kim")
        self.assertEqual((status, group["status"], group["status_release"]),
                         (200, "resolved", "1.9"))
        send(self.collector, 2, "aaaaaaa1", release="1.8")
        self.assertEqual(self.group("aaaaaaa1")["status"], "resolved")
        send(self.collector, 3, "aaaaaaa1", release="1.10")
        self.assertEqual(self.group("aaaaaaa1")["status"], "regressed")
        _, listed = self.collector.json("GET", "/api/v1/groups?status=regressed")
        self.assertEqual([g["id"] for g in listed["groups"]], ["aaaaaaa1"])

    def test_a_form_of_an_old_page_is_refused_with_both_versions(self):
        send(self.collector, 41, "cccccc01")
        page = self.collector.request("GET", "/groups/cccccc01")[2].decode()
        version = re.search(r'name="version" value="(\d+)"', page).group(1)
        status, _, _ = form(self.collector, "/groups/cccccc01", version=version,
                            note="of a colleague", assignee="lee")
        self.assertEqual(status, 303)
        status, _, page = form(self.collector, "/groups/cccccc01", version=version,
                               note="my own", assignee="kim", status="ignored")
        self.assertEqual(status, 409)
        for words in ("of a colleague", "lee", "my own", "kim", "ignored"):
            self.assertIn(words, page.decode())
        self.assertEqual(self.group("cccccc01")["note"], "of a colleague")
        version = re.search(rb'name="version" value="(\d+)"', page).group(1)
        status, _, _ = form(self.collector, "/groups/cccccc01", version=version,
                            note="my own", assignee="kim", status="ignored")
        self.assertEqual(status, 303)
        self.assertEqual(self.group("cccccc01")["note"], "my own")
        status, answer = self.ask("cccccc01", version=0, note="x")
        self.assertEqual(status, 409, answer)
        status, answer = self.ask("cccccc01", version=self.group("cccccc01")["version"],
                                  note="x")
        self.assertEqual((status, answer["note"]), (200, "x"))

    def test_what_was_typed_stands_in_the_form_of_a_refusal(self):
        send(self.collector, 44, "cccccc04")
        self.ask("cccccc04", note="of a colleague")
        status, _, page = form(self.collector, "/groups/cccccc04", version=0, note="a <b>",
                               comment="long words", until="14d", release="2.0")
        page = page.decode()
        self.assertEqual(status, 409)
        for words in (">a &lt;b&gt;</textarea>", ">long words</textarea>", 'value="14d"',
                      'value="2.0"', "of a colleague"):
            self.assertIn(words, page)

    def test_searches_are_saved_shown_and_removed(self):
        status, headers, _ = form(self.collector, "/searches", name="new <here>",
                                  q="is:any (host:a OR host:b)", sort="count")
        self.assertEqual((status, headers["Location"]),
                         (303, "/groups?q=is:any+%28host:a+OR+host:b%29&sort=count"))
        page = self.collector.request("GET", "/groups")[2].decode()
        self.assertIn('href="/groups?q=is:any+%28host:a+OR+host:b%29&sort=count">new'
                      " &lt;here&gt;</a>", page)
        status, answer = self.collector.json("GET", "/api/v1/searches")
        self.assertEqual([(s["name"], s["query"], s["sort"]) for s in answer["searches"]],
                         [("new <here>", "is:any (host:a OR host:b)", "count")])
        def save(**what):
            return self.collector.json("POST", "/api/v1/searches", json.dumps(what))
        self.assertEqual(save(name="new <here>", query="host:c")[0], 201)
        self.assertEqual(save(name="x", query="hots:c")[0], 400)
        self.assertEqual(save(name="x" * 81, query="")[0], 400)
        self.assertEqual(save(name="x", query="", sort="size")[0], 400)
        answer = self.collector.json("GET", "/api/v1/searches")[1]["searches"]
        self.assertEqual([(s["query"], s["sort"]) for s in answer], [("host:c", "")])
        self.assertEqual(form(self.collector, "/searches", forget="new <here>")[0], 303)
        self.assertEqual(form(self.collector, "/searches", forget="new <here>")[0], 404)
        for number in range(101):
            status, _ = save(name=f"search {number}", query="host:c")
            self.assertEqual(status, 201 if number < 100 else 400)
        for number in range(100):
            self.collector.request("DELETE", f"/api/v1/searches?name=search+{number}")
        self.assertEqual(self.collector.json("GET", "/api/v1/searches")[1]["searches"], [])

    def test_what_was_done_is_in_the_history(self):
        send(self.collector, 42, "cccccc02", release="1.0")
        self.ask("cccccc02", status="resolved", release="1.1", assignee="kim")
        self.ask("cccccc02", status="ignored", until="20 reports")
        kinds = [(line["kind"], line["detail"]) for line in
                 self.group("cccccc02")["history"]]
        self.assertEqual(sorted(kinds), [("assignee", "kim"),
                                         ("status", "ignored until report 21"),
                                         ("status", "resolved in 1.1")])
        page = self.collector.request("GET", "/groups/cccccc02")[2].decode()
        self.assertIn("Now resolved in 1.1", page)

    def test_how_long_a_group_is_ignored_is_understood_or_refused(self):
        send(self.collector, 43, "cccccc03")
        for until in ("20 reports", "1 machine", "14d", "2099-01-01"):
            status, answer = self.ask("cccccc03", status="ignored", until=until)
            self.assertEqual(status, 200, answer)
        for until in ("soon", "-1 reports", "20", "20 hours", "0d", "2020-01-01",
                      "2020-01-01T00:00:00Z"):
            status, answer = self.ask("cccccc03", status="ignored", until=until)
            self.assertEqual(status, 400, answer)
            self.assertIn("until is not", answer["error"])

    def test_groups_are_merged_and_split(self):
        send(self.collector, 11, "bbbbbbb1")
        send(self.collector, 12, "bbbbbbb2")
        status, group = self.ask("bbbbbbb1", merge_into="bbbbbbb2")
        self.assertEqual((status, group["id"], group["count"], group["merged"]),
                         (200, "bbbbbbb2", 2, ["bbbbbbb1"]))
        self.assertEqual(send(self.collector, 13, "bbbbbbb1")["group"], "bbbbbbb2")
        self.assertEqual(self.group("bbbbbbb1")["id"], "bbbbbbb2")
        status, group = self.ask("bbbbbbb2", split="bbbbbbb1")
        self.assertEqual((status, group["count"], group["merged"]), (200, 1, []))
        self.assertEqual(self.group("bbbbbbb1")["count"], 2)

    def test_a_split_gives_back_what_was_decided_before(self):
        send(self.collector, 61, "bbbbbbb5")
        send(self.collector, 62, "bbbbbbb6")
        self.ask("bbbbbbb5", status="ignored", until="20 reports", note="an old driver",
                 assignee="kim")
        self.ask("bbbbbbb5", merge_into="bbbbbbb6")
        self.assertEqual(self.group("bbbbbbb6")["status"], "open")
        self.ask("bbbbbbb6", split="bbbbbbb5")
        group = self.group("bbbbbbb5")
        self.assertEqual([group[key] for key in ("id", "status", "note", "assignee")],
                         ["bbbbbbb5", "ignored", "an old driver", "kim"])
        self.assertEqual([past["kind"] for past in group["history"]][:1], ["split from"])
        kinds = [past["kind"] for past in self.group("bbbbbbb6")["history"]]
        self.assertEqual(kinds, ["split", "merged"])

    def test_a_merge_on_a_page_asks_first(self):
        send(self.collector, 63, "bbbbbbb7")
        send(self.collector, 64, "bbbbbbb8")
        for place, fields in (("/groups/bbbbbbb7", {"merge_into": "bbbbbbb8"}),
                              ("/groups", {"id": "bbbbbbb7", "merge": "1"})):
            body = urllib.parse.urlencode(fields)
            body += "&id=bbbbbbb8" if place == "/groups" else ""
            status, _, page = self.collector.request(
                "POST", place, body, {"Sec-Fetch-Site": "same-origin", "Content-Type":
                                      "application/x-www-form-urlencoded"})
            self.assertEqual(status, 200)
            self.assertIn(b"Merge these groups?", page)
            self.assertEqual(self.group("bbbbbbb7")["id"], "bbbbbbb7")
        form(self.collector, "/groups/bbbbbbb7", merge_into="bbbbbbb8", confirm="yes")
        self.assertEqual(self.group("bbbbbbb7")["id"], "bbbbbbb8")

    def test_the_page_of_a_group_splits_what_was_merged_into_it(self):
        send(self.collector, 14, "bbbbbbb3")
        send(self.collector, 15, "bbbbbbb4")
        self.ask("bbbbbbb3", merge_into="bbbbbbb4")
        page = self.collector.request("GET", "/groups/bbbbbbb4")[2].decode()
        name, value = re.search(r'<code>bbbbbbb3</code> <i>1 of the last 1000</i>'
                                r'<button class="quiet" '
                                r'name="(\w+)" value="(\w+)">Split<', page).groups()
        form(self.collector, "/groups/bbbbbbb4", **{name: value})
        self.assertEqual(self.group("bbbbbbb3")["id"], "bbbbbbb3")
        page = self.collector.request("GET", "/groups/bbbbbbb4")[2].decode()
        self.assertNotIn(">Split<", page)

    def test_what_cannot_be_asked_is_refused(self):
        send(self.collector, 21, "ccccccc1")
        for what, wanted in (({"status": "done"}, 400), ({"status": 5}, 400),
                             ({"stat": "open"}, 400), ({"version": "1"}, 400),
                             ({"status": "open", "asignee": "kim"}, 400),
                             ({"note": "x" * 3000}, 400), ({"merge_into": "x"}, 400),
                             ({"merge_into": "ccccccc1"}, 400),
                             ({"merge_into": "0123456789"}, 404),
                             ({"split": "ccccccc1"}, 404)):
            status, answer = self.ask("ccccccc1", **what)
            self.assertEqual(status, wanted, what)
            self.assertTrue(answer["error"])
        self.assertEqual(self.ask("0123456789", status="open")[0], 404)
        for body in (b"", b"[]", b"{", b'{"status":"open"'):
            self.assertEqual(
                self.collector.json("POST", "/api/v1/groups/ccccccc1", body)[0], 400)

    def test_forms_lead_back_to_the_group(self):
        send(self.collector, 31, "ddddddd1")
        status, headers, _ = form(self.collector, "/groups/ddddddd1", status="ignored",
                                  note="two\nlines", assignee="lee")
        self.assertEqual((status, headers["Location"]), (303, "/groups/ddddddd1"))
        group = self.group("ddddddd1")
        self.assertEqual((group["status"], group["note"], group["assignee"]),
                         ("ignored", "two\nlines", "lee"))

    def test_forms_of_other_sites_are_refused(self):
        send(self.collector, 41, "eeeeeee1")
        for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://x"},
                        {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
            status, _, _ = form(self.collector, "/groups/eeeeeee1", headers,
                                status="ignored")
            self.assertEqual(status, 403, headers)
        self.assertEqual(self.group("eeeeeee1")["status"], "open")
        origin = {"Origin": self.collector.url}
        self.assertEqual(form(self.collector, "/groups/eeeeeee1", origin,
                              status="ignored")[0], 303)

    def test_older_groups_are_a_link_away_with_the_same_filters(self):
        strange = 'a&b "<\u00e9>=%'
        for number in range(60):
            send(self.collector, 100 + number, f"{number:08x}", environment=strange)
        address = "/?status=open&environment=" + urllib.parse.quote(strange)
        seen = []
        while address:
            page = self.collector.request("GET", address)[2].decode()
            seen.append(re.findall(r'href="/groups/(\w+)"', page))
            link = re.search(r'rel="next" href="([^"]+)"', page)
            address = html.unescape(link.group(1)) if link else None
        self.assertEqual(len(seen), 2)
        self.assertEqual(len(set(seen[0] + seen[1])), 60)
        self.assertEqual(sorted(set(seen[0]) & set(seen[1])), [])

    def test_parameters_that_are_no_utf8_are_refused(self):
        for query in ("q=%ff%fe", "release=%c3", "tag=a:%80"):
            self.assertEqual(self.collector.json("GET", "/api/v1/groups?" + query)[0],
                             400)
        self.assertEqual(self.collector.json("GET", "/api/v1/groups?status=x")[0], 400)


class Searches(unittest.TestCase):
    """One group: what a search finds of its reports, in lists of groups, too."""
    def test_each_search_finds_the_reports_that_it_says(self):
        places = (("Müller*1", "src/x.c", 57, "2026-11-01", "north west"),
                  ("mÜLLER*2", "lib/x.c", 571, "2026-11-09", "north"),
                  ("web_1", "src/yx.c", 57, "2026-11-20", None))
        with Collector(BINARY) as own:
            for number, (host, file, line, day, zone) in enumerate(places, 1):
                frames = [sample_reports.frame("f", f"{file}:{line}:9", 0),
                          sample_reports.frame("main", "src/main.c:9:9", 0),
                          sample_reports.frame("outer", "src/outer.c:7:9", 0)]
                report = sample_reports.raw(number, fingerprint="5eed" * 8)
                report["threads"] = [{"tid": 1, "crashed": True, "backtrace":
                                      sample_reports.backtrace(frames)}]
                report["crash"]["thread"] = 1
                report["host"]["hostname"] = host
                report.update(revision=1, time=day + "T10:00:00Z",
                              tags={"zone": zone} if zone else {})
                self.assertEqual(own.post(report)[0], 201)
            for search, found in (
                    ("host:mü*", 2), ("host:MÜLLER*", 2), ('host:"mü*"', 0), ("host:*_1", 1),
                    ("host:*%1", 0), ("file:x.c:57", 2), ("file:/x.c:57", 1),
                    ("file:main.c:9", 3), ("file:outer.c:7", 0), ("file:outer.c", 3),
                    ("-file:src/x.c:57", 2), ("file:x.c:571 OR host:web*", 2),
                    ('tag:zone:"north west"', 1), ('tag:zone:"n*"', 0), ("tag:zone:n*", 2),
                    ("time:2026-11-02..2026-11-08", 0), ("time:2026-11-09..2026-11-20", 2),
                    ("-time:2026-11-09..2026-11-20", 1), ("time:>2026-11-09", 1)):
                for kind in ("reports", "groups"):
                    path = f"/api/v1/{kind}?q={urllib.parse.quote(search)}"
                    rows = own.json("GET", path)[1][kind]
                    count = (len(rows) if kind == "reports" else
                             sum(group["filtered_count"] for group in rows))
                    self.assertEqual((count, len(rows) > 0), (found, found > 0),
                                     (search, kind))


class Tickets(unittest.TestCase):
    """Events of GitHub (and of Forgejo, with other names of headers) about an issue."""
    def setUp(self):
        self.own = Collector(BINARY, tokens=["root", "r name=lee project=shop"])
        file = self.own.path("tickets")
        with open(file, "w", encoding="utf-8") as out:
            out.write("# trackers\nsecret=s3cret\n"
                      "secret=shops project=shop closed=ignored reopened=none\n")
        self.own.extra += ["--ticket-file", file]
        self.enterContext(self.own)
        self.report = sample_reports.null_write(1)
        self.group = self.own.post(self.report)[1]["group"]

    def event(self, action, second, text, secret="s3cret", issue=None, **more):
        """Status and answer of an event; more: headers in place of those of GitHub."""
        body = json.dumps({
            "action": action, "number": 7, "sender": {"login": "kim", "id": 1},
            "repository": {"full_name": "acme/shop"},
            "issue": {"number": 7, "html_url": "https://git.example.org/acme/shop/issues/7",
                      "title": "Crash <in> shop", "state": "open" if action in
                      ("opened", "reopened") else "closed", "body": text,
                      "user": {"login": "eve"},
                      "updated_at": f"2025-11-27T10:00:{second:02}Z"} | (issue or {})}).encode()
        sum = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "Authorization": "",
                   "X-GitHub-Event": "issues", "X-Hub-Signature-256": "sha256=" + sum}
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        return self.own.json("POST", "/api/v1/tickets", body,
                             {name: value for name, value in headers.items() if value})

    def status(self):
        return self.own.json("GET", "/api/v1/groups/" + self.group)[1]["status"]

    def test_closing_and_reopening_an_issue_decides_about_its_group(self):
        text = f"It crashes.\r\n\r\nhttps://crashes.example.org/groups/{self.group}"
        self.assertEqual(self.event("opened", 1, text), (200, {"group": self.group}))
        self.assertEqual(self.status(), "open")
        self.assertEqual(self.event("closed", 2, text)[0], 200)
        self.assertEqual(self.status(), "resolved")
        # As Forgejo sends it, about the issue that --issue-url begins on a report's page.
        text = f"null pointer\n\nhttp://127.0.0.1/reports/{self.report['id']}"
        self.assertEqual(self.event("reopened", 3, text, X_GitHub_Event=None,
                                    X_Gitea_Event="issues")[0], 200)
        group = self.own.json("GET", "/api/v1/groups/" + self.group)[1]
        self.assertEqual(group["status"], "open")
        self.assertEqual([(t["url"], t["title"], t["state"]) for t in group["tickets"]],
                         [("https://git.example.org/acme/shop/issues/7", "Crash <in> shop",
                           "open")])
        self.assertIn(("comment", "ticket:kim",
                       "closed: https://git.example.org/acme/shop/issues/7"),
                      [(l["kind"], l["who"], l["detail"]) for l in group["history"]])
        page = self.own.request("GET", "/groups/" + self.group)[2].decode()
        self.assertIn('href="https://git.example.org/acme/shop/issues/7">Crash &lt;in&gt;'
                      " shop</a> <i>open</i>", page)

    def test_events_that_are_not_signed_or_sent_again_change_nothing(self):
        text = "/groups/" + self.group
        self.assertEqual(self.event("closed", 2, text)[0], 200)
        self.assertEqual(self.event("reopened", 3, text)[0], 200)
        for status, second, more in (
                (409, 2, {}), (409, 1, {}), (401, 9, {"secret": "other"}),
                (401, 9, {"secret": ""}), (401, 9, {"X_Hub_Signature_256": None}),
                (401, 9, {"X_Hub_Signature_256": "sha256=" + "0" * 64}),
                (401, 9, {"X_Hub_Signature_256": "sha256=12"}),
                (401, 9, {"X_Hub_Signature_256": "sha1=" + "0" * 40})):
            self.assertEqual(self.event("closed", second, text, **more)[0], status, more)
        self.assertEqual(self.status(), "open")
        # Deliveries of the same second that differ are two changes.
        self.assertEqual(self.event("closed", 3, text)[0], 200)
        self.assertEqual(self.status(), "resolved")

    def test_what_is_no_event_about_a_group_here_is_ignored(self):
        for text in (None, "no address", "/groups/12345", "/reports/" + "0" * 36):
            status, answer = self.event("closed", 1, text)
            self.assertEqual((status, list(answer)), (200, ["ignored"]), text)
        text = "/groups/" + self.group
        self.assertEqual(self.event("ping", 1, text, X_GitHub_Event="ping")[0], 200)
        self.assertEqual(self.event("closed", 1, "/groups/" + "ab" * 16)[0], 404)
        self.assertEqual(self.event("closed", 75, text)[0], 400)
        for url in ("httpx://x", "javascript:x", "http:", "https://" + "x" * 4000):
            self.assertEqual(self.event("closed", 1, text, issue={"html_url": url})[0], 400)
        # A tracker of a project knows its groups alone.
        self.assertEqual(self.event("closed", 1, text, secret="shops")[0], 404)
        self.assertEqual(self.status(), "open")
        theirs = self.own.post(self.report | {"id": sample_reports.report_id(2)},
                               {"Authorization": "Bearer r"})[1]["group"]
        self.assertEqual(self.event("closed", 1, "/groups/" + theirs, secret="shops")[0], 200)
        self.assertEqual(self.event("reopened", 2, "/groups/" + theirs, secret="shops")[0],
                         200)
        self.assertEqual(self.own.json("GET", "/api/v1/groups/" + theirs)[1]["status"],
                         "ignored")

    def test_an_event_that_the_store_cannot_look_up_is_to_be_sent_again(self):
        with contextlib.closing(sqlite3.connect(self.own.path("store.db"))) as database:
            database.executescript("PRAGMA legacy_alter_table = 1;"
                                   "ALTER TABLE bodies RENAME TO away")
        status, answer = self.event("closed", 1, "/reports/" + self.report["id"])
        self.assertEqual(status, 503, answer)

    def test_the_author_of_an_issue_decides_only_as_a_member_of_the_repository(self):
        text, kim = "/groups/" + self.group, {"login": "kim"}
        for second, (issue, decides) in enumerate((
                ({"user": kim}, False), ({"user": kim, "author_association": "NONE"}, False),
                ({"user": None, "state": None, "closed_at": "2025-11-27T10:00:00Z"}, False),
                ({"user": kim, "author_association": "CONTRIBUTOR"}, False),
                ({"user": kim, "author_association": "MEMBER"}, True),
                ({"author_association": "NONE"}, True)), 1):
            self.own.json("POST", "/api/v1/groups/" + self.group, '{"status": "open"}')
            status, answer = self.event("closed", second, text, issue=issue)
            self.assertEqual((status, answer["group"], "ignored" in answer),
                             (200, self.group, not decides), issue)
            self.assertEqual(self.status(), "resolved" if decides else "open", issue)
            group = self.own.json("GET", "/api/v1/groups/" + self.group)[1]
            self.assertEqual([t["state"] for t in group["tickets"]], ["closed"])

    def test_a_tracker_of_a_project_moves_no_issue_of_another(self):
        theirs = self.own.post(self.report | {"id": sample_reports.report_id(2)},
                               {"Authorization": "Bearer r"})[1]["group"]
        def tickets(group):
            return [ticket["state"] for ticket in
                    self.own.json("GET", "/api/v1/groups/" + group)[1]["tickets"]]
        self.assertEqual(self.event("opened", 1, "/groups/" + self.group)[0], 200)
        self.assertEqual(self.event("closed", 50, "/groups/" + theirs, secret="shops")[0], 200)
        self.assertEqual((tickets(self.group), tickets(theirs)), (["open"], ["closed"]))
        self.assertEqual(self.event("closed", 2, "/groups/" + self.group)[0], 200)
        self.assertEqual(tickets(self.group), ["closed"])
        # The same issue from the tracker of all projects, too: it is listed once, as it was last.
        for second, secret, action in ((51, "s3cret", "reopened"), (52, "shops", "closed"),
                                       (52, "s3cret", "edited"), (53, "s3cret", "deleted")):
            event = self.event(action, second, "/groups/" + theirs, secret=secret)
            self.assertEqual(event[0], 200)
            self.assertEqual(tickets(theirs), [{"reopened": "open", "edited": "closed"}
                                               .get(action, action)])
        page = self.own.request("GET", "/groups/" + theirs)[2].decode()
        self.assertEqual(page.count('href="https://git.example.org/acme/shop/issues/7"'), 1)
        soon, late = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + ahead))
                      for ahead in (300, 900))
        text = "/groups/" + self.group
        self.assertEqual(self.event("reopened", 0, text, issue={"updated_at": late})[0], 400)
        self.assertEqual(self.event("reopened", 0, text, issue={"updated_at": soon})[0], 200)

    def test_a_file_that_is_wrong_is_refused_at_the_start(self):
        for line, words in (("s3cret", "line 1: the line is not secret=SECRET"),
                            ("secret=a closed=shut", "closed= and reopened= take"),
                            ("secret=a\nsecret=b what=x", "line 2: there is no such")):
            own = Collector(BINARY)
            file = own.path("wrong")
            with open(file, "w", encoding="utf-8") as out:
                out.write(line)
            own.extra += ["--ticket-file", file]
            with self.assertRaisesRegex(RuntimeError, words), own:
                pass


class Operating(unittest.TestCase):
    def test_logging_in_takes_a_token_and_sets_a_cookie(self):
        with Collector(BINARY, tokens=["s3cret", "second"]) as collector:
            none = {"Authorization": ""}
            status, headers, page = collector.request("GET", "/", None, none)
            self.assertEqual(status, 401)
            self.assertIn(b'action="/login"', page)
            self.assertNotIn("Basic", headers["WWW-Authenticate"])
            status, headers, page = form(collector, "/login", {**none, **SAME},
                                         token="wrong", to="/groups/x")
            self.assertEqual((status, headers["Set-Cookie"]), (401, None))
            self.assertIn(b"not known", page)
            status, headers, _ = form(collector, "/login", {**none, **SAME},
                                      token="second", to="/?q=x")
            self.assertEqual((status, headers["Location"]), (303, "/?q=x"))
            cookie = headers["Set-Cookie"]
            for part in ("HttpOnly", "SameSite=Lax", "Path=/"):
                self.assertIn(part, cookie)
            self.assertNotIn("second", cookie)
            logged = {**none, "Cookie": cookie.split(";")[0]}
            self.assertEqual(collector.request("GET", "/", None, logged)[0], 200)
            # A cookie is for reading and for forms, not for sending.
            self.assertEqual(collector.post(sample_reports.raw(1), logged)[0], 401)
            self.assertEqual(form(collector, "/groups/0123456789",
                                  {**logged, **SAME}, status="open")[0], 404)
            self.assertEqual(form(collector, "/groups/0123456789", {**none, **SAME},
                                  status="open")[0], 401)
            for away in ("//evil.example", "https://evil.example", "/\\evil", "x",
                         "/a\r\nSet-Cookie: y=1"):
                _, headers, _ = form(collector, "/login", {**none, **SAME},
                                     token="s3cret", to=away)
                self.assertEqual(headers["Location"], "/", away)
            _, headers, _ = form(collector, "/login",
                                 {**none, **SAME, "X-Forwarded-Proto": "https"},
                                 token="s3cret", to="/")
            self.assertIn("; Secure", headers["Set-Cookie"])
            _, headers, _ = form(collector, "/logout", {**none, **SAME})
            self.assertIn("Max-Age=0", headers["Set-Cookie"])

    def test_a_token_that_sends_too_much_waits_and_others_do_not(self):
        with Collector(BINARY, tokens=["one", "two"], extra=["--rate", "2/1h"]) as collector:
            other = {"Authorization": "Bearer two"}
            self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)
            self.assertEqual(collector.post(sample_reports.raw(2))[0], 201)
            body = json.dumps(sample_reports.raw(3)).encode()
            status, headers, _ = collector.request("POST", "/api/v1/reports", body)
            self.assertEqual(status, 429)
            self.assertGreater(int(headers["Retry-After"]), 1000)
            self.assertEqual(collector.post(sample_reports.raw(3), other)[0], 201)
            self.assertEqual(collector.request("GET", "/")[0], 200)

    def test_every_request_is_a_line_of_json_that_names_no_secret(self):
        with Collector(BINARY, tokens=["first", "s3cret"],
                       extra=["--log", "requests"]) as collector:
            second = {"Authorization": "Bearer s3cret", "X-Forwarded-For": "192.0.2.7"}
            collector.post(sample_reports.raw(1), second)
            collector.request("GET", "/?q=private", None, second)
            collector.request("GET", "/%22%0a%1b%ff", None, {"Authorization": "Bearer no"})
            status, said = collector.stop()
            self.assertEqual(status, 0)
            for secret in ("s3cret", "first", "private", "\x1b"):
                self.assertNotIn(secret, said)
            lines = [json.loads(line) for line in said.splitlines()]
            self.assertEqual([line["status"] for line in lines], [201, 200, 404])
            post = lines[0]
            self.assertEqual((post["method"], post["path"], post["token"], post["from"],
                              post["forwarded_for"]),
                             ("POST", "/api/v1/reports", 2, "127.0.0.1", "192.0.2.7"))
            self.assertGreater(post["received"], 500)
            self.assertGreaterEqual(post["duration_ms"], 0)

    def test_every_statement_is_a_line_without_values_where_that_is_asked_for(self):
        with Collector(BINARY, extra=["--log", "requests,queries"]) as collector:
            collector.post(sample_reports.raw(1))
            self.assertEqual(collector.json("GET", "/api/v1/groups?q=private")[0], 200)
            status, said = collector.stop()
        self.assertEqual(status, 0)
        lines = said.splitlines()
        queries = [line[7:] for line in lines if line.startswith("query: ")]
        self.assertTrue(any(query.startswith("INSERT INTO reports(") for query in queries))
        listed = [query for query in queries if query.startswith("WITH hit AS")]
        self.assertEqual(len(listed), 1, queries)
        self.assertRegex(listed[0], r"word_search MATCH \?\d")
        self.assertNotIn("private", " ".join(queries))
        self.assertEqual([json.loads(line)["status"] for line in lines
                          if not line.startswith("query: ")], [201, 200])

    def test_what_is_too_much_is_removed_in_the_background(self):
        with Collector(BINARY, extra=["--keep-per-group", "3", "--keep",
                                      "90d"]) as collector:
            for number in range(8):
                send(collector, number, "aaaaaaa1")
            collector.stop()
            collector.start()  # the first round is at the start
            limit = time.monotonic() + 60
            while len(self.kept(collector)) != 3 and time.monotonic() < limit:
                time.sleep(0.05)
            self.assertEqual(len(self.kept(collector)), 3)
            _, group = collector.json("GET", "/api/v1/groups/aaaaaaa1")
            self.assertEqual((group["count"], group["kept"]), (8, 3))

    def kept(self, collector):
        return collector.json("GET", "/api/v1/reports?limit=200")[1]["reports"]


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
