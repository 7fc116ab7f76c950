#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_pages COLLECTOR FOLDER: the review pages as Chromium shows them, in light and dark,
# wide and on a phone; screenshots are left in FOLDER.

import json
import os
import random
import sys
import time
import unittest

import accessibility
import jsonschema
import sample_reports
from browser import Browser
from running import Collector

BINARY, FOLDER = None, None
TABS = 10  # from where somebody is to what they want to do
WIDE, PHONE = (1200, 1400), (360, 740)

# What no page of ours holds, whatever a report says.
FOREIGN = """(() => {
  const found = [];
  for (const e of document.querySelectorAll('*')) {
    if (['SCRIPT','IFRAME','IMG','OBJECT','EMBED','STYLE','BASE'].includes(e.tagName))
      found.push(e.tagName);
    for (const a of e.attributes) {
      if (a.name.startsWith('on') || a.name === 'style') found.push(a.name);
      if (['href','src','action'].includes(a.name) && !/^[/#]/.test(a.value))
        found.push(a.value);
    }
  }
  return found;
})()"""


def spread(number, moment_s, release, make):
    """A report of that moment, release and kind."""
    report = make(number, release=release)
    report["fingerprint"] = make(0)["fingerprint"][:-2] + f"{sum(make.__name__.encode()) % 256:02x}"
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment_s))
    report["time"] = stamp + ".000Z"
    return report


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = cls.enterClassContext(Collector(BINARY))
        cls.browser = cls.enterClassContext(Browser())
        cls.sent = {}
        chance = random.Random(7)
        number = 0
        kinds = (sample_reports.null_write, sample_reports.heap_abort,
                 sample_reports.overflow, sample_reports.uncaught, sample_reports.raw)
        for make, count in zip(kinds, (31, 12, 4, 3, 1)):
            for _ in range(count):
                number += 1
                ago_s = int(chance.random() ** 2 * 27 * 86400) if count > 1 else 300
                report = spread(number, time.time() - ago_s,
                                chance.choice(("2.14.1", "2.14.0", "2.13.4")), make)
                answer = cls.collector.post(report)
                cls.sent[make.__name__] = answer[1]
        for make in (sample_reports.hostile, sample_reports.many_threads,
                     sample_reports.long_strings, sample_reports.recorded):
            cls.sent[make.__name__] = cls.collector.post(make())[1]

    @classmethod
    def tearDownClass(cls):
        """It ends as it should: a sanitizer that found anything says so now."""
        status, said = cls.collector.stop()
        if status != 0 or said:
            raise AssertionError(f"the collector ended with {status}: {said}")

    def address(self, name, kind="reports"):
        key = "id" if kind == "reports" else "group"
        return f"/{kind}/{self.sent[name][key]}"

    def visit(self, path, size=WIDE, dark=False, shot=None, whole=False):
        """Loads a page, checks what is true of every page, and gives its text."""
        self.browser.look(*size, dark)
        asked, complaints = self.browser.go(self.collector.url + path)
        for url in asked:
            if url.endswith("/favicon.ico"):
                continue  # a browser's own idea, and perhaps of the page before
            self.assertTrue(url.startswith(self.collector.url + "/"), url[:200])
        self.assertEqual(complaints, [])
        self.assertEqual(self.browser.evaluate(FOREIGN), [])
        self.assertNotIn("owned", self.browser.evaluate("document.title").split("'")[0])
        self.assertTrue(self.browser.evaluate("document.title").endswith("crashhook"))
        wide = self.browser.evaluate("document.documentElement.scrollWidth")
        self.assertLessEqual(wide, size[0], f"{path} is wider than the window")
        if shot:
            self.browser.screenshot(os.path.join(FOLDER, shot + ".png"), whole)
        return self.browser.evaluate("document.body.innerText")

    def test_the_groups_are_listed_with_count_trend_and_releases(self):
        text = self.visit("/groups", shot="groups")
        for expected in ("null pointer in ledger::entry::set_amount", "31",
                         "in string_pool_drop", "2.14.1", "open", "ago"):
            self.assertIn(expected, text)
        bars = self.browser.evaluate("[...document.querySelectorAll('.trend path')]"
                                     ".map(e => e.getAttribute('d').split('M').length - 1)"
                                     ".reduce((a, b) => a + b)")
        self.assertGreater(bars, 10)

    def test_filters_are_in_the_address_and_in_the_form(self):
        text = self.visit("/?signal=SIGABRT&release=2.14.1")
        self.assertIn("heap corruption", text)
        self.assertNotIn("null pointer in", text)
        self.assertEqual(
            self.browser.evaluate("document.querySelector('[name=q]').value"),
            "signal:SIGABRT release:2.14.1")
        self.assertIn("Nothing matches", self.visit("/?release=none", shot="nothing"))

    def test_a_group_lists_its_reports(self):
        text = self.visit(self.address("null_write", "groups"), shot="group")
        for expected in ("null pointer in ledger::entry::set_amount", "Releases", "2.13.4",
                         "The last 30 days", "ams-worker-07"):
            self.assertIn(expected, text)
        links = self.browser.evaluate(
            "document.querySelectorAll('.reports a[href^=\"/reports/\"]').length")
        self.assertEqual(links, 31)

    def test_what_the_sender_held_back_is_shown(self):
        with Collector(BINARY) as collector:
            report = sample_reports.null_write(900)
            group = report["fingerprint"]
            report["spool"] = {"held_back": 1234, "dropped": 2, "held_back_by_fingerprint":
                               {group: 1200, "0123456789abcdef": 34, "<b>": 1, group + "0": 0}}
            self.assertEqual(collector.post(report)[0], 201)
            _, seen = collector.json("GET", "/api/v1/groups/" + group)
            self.assertEqual((seen["count"], seen["held_back"]), (1, 1200))
            _, listed = collector.json("GET", "/api/v1/groups")
            self.assertEqual(listed["groups"][0]["held_back"], 1200)
            for path, words in ((f"/reports/{report['id']}",
                                 "held back 1\u2009234 more crashes of this program"),
                                (f"/reports/{report['id']}", "1\u2009200 of them in this group"),
                                (f"/reports/{report['id']}", "2 reports were deleted unsent"),
                                (f"/groups/{group}", "Held back\n1\u2009200"),
                                ("/", "1\u2009200 held back")):
                self.browser.look(*WIDE, False)
                self.browser.go(collector.url + path)
                self.assertIn(words, self.browser.evaluate("document.body.innerText"))
            _, _, text = collector.request("GET",
                                           f"/api/v1/reports/{report['id']}?form=text")
            self.assertIn(b"\nheld back    1234 more crashes of this program\n", text)

    def test_a_report_begins_with_what_happened(self):
        text = self.visit(self.address("null_write"), shot="report", whole=True)
        order = ["Wrote to address 0x18: a member of a null pointer", "Crashed thread",
                 "ledger::journal::post(ledger::entry*", "ledger::journal::replay",
                 "Other threads", "20 threads like this", "Tags", "Images"]
        places = [text.find(part) for part in order]
        self.assertNotIn(-1, places)
        self.assertEqual(places, sorted(places))
        for expected in ("src/journal.cpp:214:24", "inline", "SEGV_MAPERR", "entry = NULL",
                         "/opt/ledger/bin/ledgerd", "2 system frames", "sframe"):
            self.assertIn(expected, text)

    def test_system_frames_are_folded_and_can_be_opened(self):
        self.visit(self.address("heap_abort"))
        shown = "document.querySelector('.crashed .fold details ol').checkVisibility()"
        self.assertFalse(self.browser.evaluate(shown))
        self.browser.evaluate("document.querySelector('.crashed .fold summary').click()")
        self.assertTrue(self.browser.evaluate(shown))
        self.assertIn("malloc_printerr", self.browser.evaluate("document.body.innerText"))

    def test_why_an_unwind_ended_is_said(self):
        text = self.visit(self.address("raw"), shot="raw")
        self.assertIn("The stack goes on.", text)
        self.assertIn("no-rule", text)
        self.assertIn("scan", text)
        text = self.visit(self.address("overflow"), shot="overflow")
        self.assertIn("41\u2009872 frames left out", text)
        self.assertIn("\n41896\nparse_value\n", text)
        self.assertIn("What could not be read", text)

    def test_recursion_is_folded(self):
        report = sample_reports.overflow(900)
        for frame in report["threads"][0]["backtrace"]["frames"][:24]:
            frame["address"] = "0x55d2c4a07010"
        self.collector.post(report)
        text = self.visit("/reports/" + report["id"], shot="recursion")
        self.assertIn("the same call 23 times more", text)
        self.assertEqual(text.count("\nparse_value\n"), 2)

    def test_everything_is_there_without_scripts(self):
        self.visit(self.address("null_write"))
        self.browser.scripts(False)
        try:
            self.browser.go(self.collector.url + self.address("null_write"))
            text = self.browser.evaluate("document.body.innerText")
        finally:
            self.browser.scripts(True)
        self.assertIn("20 threads like this", text)

    def test_pages_fit_a_phone_and_follow_dark_colours(self):
        for name, path in (("groups", "/"), ("group", self.address("null_write", "groups")),
                           ("report", self.address("null_write")),
                           ("abort", self.address("heap_abort"))):
            self.visit(path, PHONE, False, "phone_" + name, True)
            light = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
            self.visit(path, WIDE, True, "dark_" + name, name != "groups")
            dark = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertNotEqual(light, dark)

    def test_a_hostile_report_is_text_and_nothing_else(self):
        for path, shot in ((self.address("hostile"), "hostile"), ("/", "hostile_groups"),
                           (self.address("hostile", "groups"), "hostile_group")):
            text = self.visit(path, shot=shot)
            self.assertIn("<script>document.title='owned'</script>", text)
            self.visit(path, PHONE)
            for deceiving in "\u202e\u2066\u200b\x07\x1b":
                self.assertNotIn(deceiving, text)
        self.visit(self.address("hostile"))
        self.assertIn("\\u{202E}", self.browser.evaluate("document.body.innerText"))
        self.visit("/groups?q=%3Cscript%3Edocument.title%3D1%3C/script%3E&tag=%22%3E%3Cb%3E:x")

    def test_five_thousand_threads_are_cut_and_the_cut_is_said(self):
        address = self.address("many_threads")
        _, _, body = self.collector.request("GET", address)
        self.assertLess(len(body), 60000)
        text = self.visit(address, shot="many_threads")
        self.assertIn("Crashed thread", text)
        self.assertNotIn("threads like this", text)
        self.browser.click("#others a")
        self.assertLess(len(self.collector.request("GET", address + "?all=yes")[2]), 5 << 20)
        text = self.visit(address + "?all=yes")
        self.assertIn("100 stacks are shown here", text)
        self.assertIn("20 threads like this", text)

    def test_strings_of_ten_megabytes_are_cut_and_the_cut_is_said(self):
        _, _, body = self.collector.request("GET", self.address("long_strings"))
        self.assertLess(len(body), 1 << 20)
        self.assertIn("(10000000 bytes in all)", self.visit(self.address("long_strings")))

    def test_a_flight_record_is_drawn_and_listed(self):
        text = self.visit(self.address("recorded"), shot="recorded", whole=True)
        for expected in ("Flight record", "Thread", "events",
                         "Had not returned, outermost first: main",
                         "3 events could not be recorded", "the crash",
                         "\u22124.200\u2009ms"):
            self.assertIn(expected, text)
        drawn = "document.querySelectorAll('.flight rect').length"
        self.assertGreater(self.browser.evaluate(drawn), 40)
        self.browser.evaluate("document.querySelector('#flight summary').click()")
        text = self.browser.evaluate("document.body.innerText")
        self.assertIn("ledger::parse_line_2", text)
        self.assertIn("\u2192 ledger::journal::post", text)
        self.visit(self.address("recorded"), PHONE, True, "phone_recorded", True)

    def test_a_flight_record_without_a_crash_ends_with_the_report(self):
        report = sample_reports.recorded(902)
        for key in ("crash", "fingerprint"):
            report.pop(key)
        self.collector.post(report)
        text = self.visit("/reports/" + report["id"])
        self.assertIn("what ran before the report", text)
        self.assertNotIn("the crash", text)

    def test_watched_values_and_memory_are_shown(self):
        text = self.visit(self.address("recorded"))
        for expected in ("ledger::current", '"amount": "12.50"', "It could not be read",
                         "2 places that registers point at"):
            self.assertIn(expected, text)
        self.browser.evaluate("document.querySelector('#memory summary').click()")
        text = self.browser.evaluate("document.body.innerText")
        self.assertIn("7ffe12bf5000", text)
        self.assertIn("ledger/2026-11.j", text)
        self.browser.evaluate("document.querySelector('#code summary').click()")
        text = self.browser.evaluate("document.body.innerText")
        self.assertIn("ledger.c:77\n=> 0x55d2c4a01230  mov rax, qword ptr [rdi + 0x18]", text)
        self.assertIn("16 bytes into a freed block of malloc of 40 bytes", text)
        self.browser.screenshot(os.path.join(FOLDER, "memory.png"), True)

    def test_the_samples_are_valid_reports(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                            "../../docs/report-1.schema.json")
        with open(path, encoding="utf-8") as file:
            jsonschema.validate(sample_reports.recorded(), json.load(file))

    def test_missing_names_come_with_what_to_upload(self):
        text = self.visit(self.address("raw"), shot="missing")
        for expected in ("Names are missing", "ledgerd 1 frame",
                         "6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7",
                         f"crashhook symbols upload --url {self.collector.url} FILE"):
            self.assertIn(expected, text)
        self.assertNotIn("Names are missing", self.visit(self.address("null_write")))

    def test_two_reports_are_compared(self):
        group = self.address("null_write", "groups")
        self.visit(group)
        boxes = "document.querySelectorAll('.reports input')"
        self.browser.evaluate(f"{boxes}[0].click(), {boxes}[5].click()")
        self.browser.click("form[action='/compare'] button")
        text = self.browser.evaluate("document.body.innerText")
        self.assertIn("What differs", text)
        self.assertIn("Time", text)
        self.assertIn("frames in both", text)
        a, b = self.sent["null_write"]["id"], self.sent["heap_abort"]["id"]
        text = self.visit(f"/compare?r={a}&r={b}", shot="compare", whole=True)
        for expected in ("SIGSEGV", "SIGABRT", "string_pool_drop", "set_amount"):
            self.assertIn(expected, text)
        self.assertGreater(self.browser.evaluate(
            "document.querySelectorAll('.stacks-beside .differs').length"), 2)
        self.visit(f"/compare?r={a}&r={b}", PHONE, True, "phone_compare", True)
        hostile = self.sent["hostile"]["id"]
        self.visit(f"/compare?r={hostile}&r={a}")
        large = self.sent["many_threads"]["id"]
        self.assertIn("What differs", self.visit(f"/compare?r={large}&r={large}"))
        for query, status in ((f"r={a}", 400), (f"r={a}&r={b}&r={a}", 400),
                              (f"r={a}&r=none", 404), ("", 400)):
            self.assertEqual(
                self.collector.request("GET", "/compare?" + query)[0], status)

    def test_a_report_can_be_taken_along_as_text(self):
        status, headers, text = self.collector.request(
            "GET", "/api/v1/reports/" + self.sent["null_write"]["id"] + "?form=text")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/plain"))
        for expected in ("null pointer in ledger::entry::set_amount", "thread ", "(inlined)",
                         " at src/journal.cpp:214"):
            self.assertIn(expected, text.decode())
        for name in ("hostile", "long_strings", "overflow"):
            _, _, text = self.collector.request(
                "GET", "/api/v1/reports/" + self.sent[name]["id"] + "?form=text")
            self.assertLess(len(text), 1 << 20)
            for control in "\x07\x1b\r":
                self.assertNotIn(control, text.decode())

    def test_the_text_shows_values_as_the_page_and_the_terminal_do(self):
        report = sample_reports.null_write(1)
        report["threads"][0]["backtrace"]["frames"][0]["arguments"] = [
            {"name": "said", "value": {"address": "0x55d2c5e120a0", "value": "hello there"}},
            {"name": "size", "value": {"width": 3, "height": 4}}, {"name": "none", "value": []}]
        with Collector(BINARY) as other:
            other.post(report)
            text = other.request("GET", f"/api/v1/reports/{report['id']}?form=text")[2].decode()
        for line in ('said = 0x55d2c5e120a0 "hello there"', "size = {width = 3, height = 4}",
                     "none = []"):
            self.assertIn(line + "\n", text)

    def test_a_group_is_decided_on_without_scripts(self):
        with Collector(BINARY) as other:
            group = other.post(sample_reports.null_write(1, release="1.0"))[1]["group"]
            page = f"{other.url}/groups/{group}"
            self.browser.look(*WIDE, False)
            self.browser.go(page)
            self.browser.type("[name=note]", "see <b>#12</b>\nsecond line")
            self.browser.type("[name=assignee]", "kim")
            self.browser.click("[value=resolved]")
            text = self.browser.evaluate("document.body.innerText")
            for expected in ("resolved", "after release 1.0", "see <b>#12</b>\nsecond line",
                             "Assigned to kim", "Reopen"):
                self.assertIn(expected, text)
            self.browser.screenshot(os.path.join(FOLDER, "resolved.png"))
            again = sample_reports.null_write(2, release="1.1")
            again["fingerprint"] = group
            other.post(again)
            self.browser.go(page)
            self.assertIn("It was resolved, and is back: just now in release 1.1",
                          self.browser.evaluate("document.body.innerText"))
            self.browser.screenshot(os.path.join(FOLDER, "regressed.png"))
            self.browser.look(*PHONE, True)
            self.browser.go(page)
            self.browser.screenshot(os.path.join(FOLDER, "phone_regressed.png"), True)
            self.browser.go(other.url + "/?status=regressed")
            self.assertIn("regressed",
                          self.browser.evaluate("document.querySelector('.status').innerText"))

    def press_tab(self):
        self.browser.press("Tab")
        return self.browser.evaluate(
            "(() => { const e = document.activeElement; if (e === document.body) return '';"
            " const s = getComputedStyle(e);"
            " return [...document.querySelectorAll('*')].indexOf(e) + ' ' +"
            " (s.outlineStyle !== 'none' || s.boxShadow !== 'none'); })()")

    def test_the_keyboard_alone_reaches_all_and_shows_where_it_is(self):
        with Collector(BINARY) as own:
            report = sample_reports.recorded(77)
            group = own.post(report)[1]["group"]
            self.browser.look(1280, 900, False)
            for path in ("/", "/groups", f"/groups/{group}", f"/reports/{report['id']}",
                         "/alerts", "/access"):
                self.browser.go(own.url + path)
                there = self.browser.evaluate(
                    "[...document.querySelectorAll('a[href], button, select, textarea,"
                    " input:not([type=hidden]), summary')].filter(e => { const d ="
                    " (e.matches('summary') ? e.parentElement.parentElement : e).closest("
                    "'details:not([open])'); return e.offsetParent !== null && !d;"
                    " }).length")
                reached = []
                while len(reached) < 400:
                    at = self.press_tab()
                    if at == "" or at in reached:
                        break
                    reached.append(at)
                self.assertEqual([at for at in reached if at.endswith("false")], [], path)
                self.assertGreaterEqual(len(reached), there, path)

    def test_a_team_decides_by_the_keyboard_alone_and_without_scripts(self):
        browser = self.browser
        with Collector(BINARY) as own:
            group, other = (own.post(make(number))[1]["group"] for number, make in
                            ((78, sample_reports.null_write), (79, sample_reports.uncaught)))
            def state(which):
                found = own.json("GET", "/api/v1/groups/" + which)[1]
                return found["status"], found["assignee"], found["note"]
            browser.look(*WIDE, False)
            browser.scripts(False)
            self.addCleanup(browser.scripts, True)
            browser.go(own.url + "/")
            browser.tab_to("[name=q]", TABS)
            browser.write("set_amount")
            browser.press("Enter", leads=True)
            browser.tab_to("[name=q]", TABS)
            browser.tab_to("[href='#groups']", TABS)
            browser.press("Enter")
            browser.tab_to(f"[href='/groups/{group}']", TABS)
            browser.press("Enter", leads=True)
            browser.tab_to("[href='#content']", TABS)
            browser.press("Enter")
            browser.tab_to("[href='#triage']", TABS)
            browser.press("Enter")
            browser.tab_to("[name=assignee]", TABS)
            browser.write("kim")
            browser.tab_to("[name=note]", TABS)
            browser.write("seen")
            browser.press_access_key("r")
            self.assertEqual(state(group), ("resolved", "kim", "seen"))
            browser.press_access_key("o")
            self.assertEqual(state(group), ("open", "kim", "seen"))
            browser.tab_to("nav [href='/groups']", TABS)
            browser.press("Enter", leads=True)
            browser.tab_to("[name=q]", TABS)
            browser.tab_to("[href='#groups']", TABS)
            browser.press("Enter")
            browser.tab_to(f".group [value='{other}']", TABS)
            browser.press("Space")
            browser.press_access_key("i")
            self.assertEqual(state(other), ("ignored", "", ""))
            self.assertEqual(state(group)[0], "open")

    def test_every_kind_of_page_can_be_read_by_all(self):
        paths = ["/", "/groups?q=nowhere", "/groups?q=hots:x", "/reports/none", "/access"]
        paths += [self.address(name) for name in self.sent]
        paths += [self.address(name, "groups") for name in ("recorded", "hostile")]
        for path in paths:
            with self.subTest(path):
                self.browser.look(*WIDE, False)
                self.browser.go(self.collector.url + path)
                self.assertEqual(accessibility.problems(self.browser), [])

    def test_logging_in_leads_to_the_page_that_was_asked_for(self):
        with Collector(BINARY, tokens=["s3cret"]) as other:
            group = other.post(sample_reports.null_write(1))[1]["group"]
            self.browser.look(*PHONE, False)
            self.browser.go(f"{other.url}/groups/{group}")
            self.browser.screenshot(os.path.join(FOLDER, "login.png"))
            self.assertEqual(accessibility.problems(self.browser), [])
            self.browser.type("[name=token]", "wrong")
            self.browser.click(".login button")
            self.assertIn("not known",
                          self.browser.evaluate("document.body.innerText"))
            self.browser.type("[name=token]", "s3cret")
            self.browser.click(".login button")
            self.assertIn("Decide", self.browser.evaluate("document.body.innerText"))
            self.assertEqual(self.browser.evaluate("location.pathname"),
                             f"/groups/{group}")
            self.assertEqual(self.browser.evaluate("document.cookie"), "")
            self.browser.click("[value=ignored]")
            self.assertIn("ignored", self.browser.evaluate("document.body.innerText"))
            self.browser.go(other.url + "/")
            self.browser.screenshot(os.path.join(FOLDER, "logged_in.png"))
            self.browser.click(".logout button")
            self.assertIn("Log in", self.browser.evaluate("document.title"))

    def test_failures_are_pages_too(self):
        self.browser.look(*WIDE, False)
        self.browser.go(self.collector.url + "/groups/0123456789")
        self.assertIn("no such group",
                      self.browser.evaluate("document.body.innerText"))

    def test_an_empty_collector_says_how_to_begin(self):
        with Collector(BINARY) as empty:
            self.browser.look(*WIDE, False)
            self.browser.go(empty.url + "/")
            self.assertIn("No crashes yet",
                          self.browser.evaluate("document.body.innerText"))
            self.assertIn(f"crashhook run --url {empty.url} -- program",
                          self.browser.evaluate("document.body.innerText"))

    def test_the_search_field_holds_the_whole_filter(self):
        self.visit("/?signal=SIGABRT&release=2.14.1&sort=count")
        self.assertEqual(
            self.browser.evaluate("document.querySelector('[name=q]').value"),
            "signal:SIGABRT release:2.14.1")
        self.assertEqual(
            self.browser.evaluate("document.querySelector('[name=sort]').value"), "count")
        self.browser.type("[name=q]", "set_amount -release:2.13.4")
        self.browser.click(".filters button")
        self.assertIn("q=set_amount+-release", self.browser.evaluate("location.search"))
        self.assertIn("set_amount", self.browser.evaluate("document.body.innerText"))

    def test_a_slip_in_the_search_is_an_error_with_a_suggestion(self):
        for query, words in (("?q=hots:x", "there is no key `hots`, did you mean `host`?"),
                             ("?relase=1", "there is no parameter `relase`, did you mean"),
                             ("?sort=x", "sort is not last_seen")):
            text = self.visit_failing("/groups" + query)
            self.assertIn(words.lower(), text.lower())
            _, answer = self.collector.json("GET", "/api/v1/groups" + query)
            self.assertIn(words, answer["error"])

    def visit_failing(self, path):
        self.browser.look(*WIDE, False)
        self.browser.go(self.collector.url + path)
        return self.browser.evaluate("document.body.innerText")

    def test_what_can_be_pressed_is_reached_by_tab_and_is_seen_to_be(self):
        for path in ("/", self.address("null_write", "groups"), self.address("null_write")):
            self.visit(path)
            reached = set()
            for _ in range(24):
                self.browser.press("Tab")
                seen = self.browser.evaluate(
                    "(() => { const e = document.activeElement, s = getComputedStyle(e),"
                    " r = e.getBoundingClientRect(); return [e.tagName + e.name + r.top +"
                    " r.left, s.outlineStyle, r.width * r.height > 0]; })()")
                if seen[0].startswith("BODY") or seen[0] in reached:
                    break  # past the last one
                reached.add(seen[0])
                self.assertNotEqual(seen[1], "none", seen)
                self.assertTrue(seen[2], seen)
            self.assertGreater(len(reached), 8, reached)


if __name__ == "__main__":
    BINARY, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    os.makedirs(FOLDER, exist_ok=True)
    unittest.main(verbosity=2)
