#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_people COLLECTOR: who may do what: each request with each scope, two projects,
# sessions, a proxy that names users, and removing what is known of one host.

import base64
import contextlib
import csv
import datetime
import glob
import gzip
import hashlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
import urllib.parse

import debug_program
import running
import sample_reports

BINARY = None
ROUTES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../collector/routes.c")
SCOPES = ("send", "read", "triage", "symbols", "admin")
FORM = {"Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded"}
GROUP = "5eed" * 8
BUILD = "ab" * 20

# Each request: how, its body, and which scopes have access; `-`: nobody needs a token.
REQUESTS = (
    ("GET", "/", None, {"read"}),
    ("GET", "/groups", None, {"read"}),
    ("GET", "/facets", None, {"read"}),
    ("POST", "/searches", "name=x&q=", {"triage"}),
    ("POST", "/groups", "id=GROUP&status=open", {"triage"}),
    ("GET", "/groups/GROUP", None, {"read"}),
    ("POST", "/groups/GROUP", "comment=seen", {"triage"}),
    ("GET", "/releases", None, {"read"}),
    ("GET", "/machines", None, {"read"}),
    ("GET", "/symbols", None, {"read"}),
    ("GET", "/alerts", None, {"read"}),
    ("POST", "/alerts", "test=ab", {"admin"}),
    ("POST", "/login", "token=no", {"-"}),
    ("POST", "/logout", "", {"-"}),
    ("GET", "/reports/REPORT", None, {"read"}),
    ("GET", "/compare?r=REPORT&r=REPORT", None, {"read"}),
    ("GET", "/style.css", None, {"-"}),
    ("GET", "/healthz", None, {"-"}),
    ("GET", "/readyz", None, {"-"}),
    ("GET", "/metrics", None, {"read"}),
    ("GET", "/api/v1/openapi.json", None, {"read"}),
    ("GET", "/api/v1/groups", None, {"read"}),
    ("GET", "/api/v1/groups/GROUP", None, {"read"}),
    ("GET", "/api/v1/reports", None, {"read"}),
    ("GET", "/api/v1/reports/REPORT", None, {"read"}),
    ("POST", "/api/v1/reports", "{}", {"send"}),
    ("POST", "/api/v1/tickets", "{}", {"-"}),
    ("POST", "/api/42/minidump/", "", {"send"}),
    ("POST", "/api/42/envelope/", "", {"send"}),
    ("POST", "/submit", "", {"send"}),
    ("POST", "/api/v1/groups/GROUP", "{}", {"triage"}),
    ("GET", "/api/v1/searches", None, {"read"}),
    ("POST", "/api/v1/searches", "{}", {"triage"}),
    ("DELETE", "/api/v1/searches?name=no", None, {"triage"}),
    ("GET", "/api/v1/facets", None, {"read"}),
    ("GET", "/api/v1/starts", None, {"read"}),
    ("POST", "/api/v1/starts", "{}", {"send"}),
    ("GET", "/api/v1/releases", None, {"read"}),
    ("POST", "/api/v1/releases", "{}", {"triage"}),
    ("POST", "/api/v1/commits", "{}", {"triage", "symbols"}),
    ("GET", "/api/v1/alerts", None, {"read"}),
    ("POST", "/api/v1/alerts/test/ab", "", {"admin"}),
    ("GET", "/access", None, {"read", "admin"}),
    ("POST", "/access", "end=0123456789abcdef", {"read", "admin"}),
    ("POST", "/zone", "zone=UTC", {"read", "admin"}),
    ("GET", "/api/v1/tokens", None, {"admin"}),
    ("POST", "/api/v1/tokens", "{}", {"admin"}),
    ("DELETE", "/api/v1/tokens/ab", None, {"admin"}),
    ("GET", "/api/v1/audit", None, {"admin"}),
    ("POST", "/api/v1/receivers", "{}", {"admin"}),
    ("DELETE", "/api/v1/receivers/ab", None, {"admin"}),
    ("DELETE", "/api/v1/reports", None, {"admin"}),
    ("GET", "/api/v1/backup", None, {"admin"}),
    ("POST", "/api/v1/backup", "", {"admin"}),
    ("GET", "/buildid/BUILD/debuginfo", None, {"read", "symbols"}),
    ("GET", "/symbols/NAME/elf-buildid-BUILD/NAME", None, {"read", "symbols"}),
    ("GET", "/api/v1/machines", None, {"read"}),
    ("GET", "/api/v1/symbols", None, {"read"}),
    ("DELETE", "/api/v1/symbols", None, {"admin"}),
    ("GET", "/api/v1/symbols/BUILD", None, {"read", "symbols"}),
    ("PUT", "/api/v1/symbols/BUILD", "no file", {"symbols"}),
    ("GET", "/api/v1/sources/BUILD", None, {"read", "symbols"}),
    ("PUT", "/api/v1/sources/BUILD", "no bundle", {"symbols"}),
)


def Collector(binary, **how):
    return running.Collector(binary, store=running.fresh_store(), **how)


def bearer(token):
    return {"Authorization": "Bearer " + token}


def send(collector, number, token, **more):
    report = sample_reports.raw(number, **{"fingerprint": GROUP, **more})
    return report, *collector.post(report, bearer(token))


def days_of(time_text):
    return datetime.datetime.fromisoformat(time_text).timestamp() / 86400


class Scopes(unittest.TestCase):
    def test_the_description_of_the_api_has_every_request_with_its_scopes(self):
        with Collector(BINARY) as collector:
            status, described = collector.json("GET", "/api/v1/openapi.json")
        self.assertEqual((status, described["openapi"]), (200, "3.1.0"))
        wanted = {}
        for method, path, _, scopes in REQUESTS:
            path = path.split("?")[0]
            if path.startswith("/api/v1/"):
                for word in ("GROUP", "REPORT", "BUILD"):
                    path = path.replace(word, "{id}")
                path = re.sub("/(receivers|test|tokens)/ab", r"/\1/{id}", path)
                wanted[method.lower(), path] = scopes - {"-"}
        found = {}
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                found[method, path] = set(operation["x-scopes"])
                self.assertTrue(operation["summary"], path)
                names = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
                self.assertEqual(names, re.findall(r"\{(\w+)\}", path))
                error = operation["responses"]["default"]["content"]["application/json"]
                self.assertEqual(error["schema"], {"$ref": "#/components/schemas/Error"})
                self.assertIn("2XX", operation["responses"])
        self.assertEqual(found, wanted)
        self.assertIn("Error", described["components"]["schemas"])

    def test_the_table_here_has_every_request_that_there_is(self):
        with open(ROUTES, encoding="utf-8") as file:
            routes = re.findall(r'\{ "([A-Z]+)", "([^"]+)"', file.read())
        def pattern(path):
            path = path.split("?")[0]
            for word in ("GROUP", "REPORT", "BUILD"):
                path = path.replace(word, "*")
            path = path.replace("/receivers/ab", "/receivers/*").replace("/42/", "/*/")
            path = path.replace("/tokens/ab", "/tokens/*")
            path = path.replace("/NAME/elf-buildid-*/NAME", "/**")
            return path.replace("/test/ab", "/test/*").replace("/*/debuginfo", "/**")
        self.assertEqual(sorted(routes),
                         sorted((method, pattern(path)) for method, path, _, _ in REQUESTS))

    def test_each_request_with_each_scope_and_without_a_token(self):
        lines = ["root"] + [f"t-{scope} name={scope} scopes={scope}" for scope in SCOPES]
        with Collector(BINARY, tokens=lines) as own:
            own.token = None
            sent, status, answer = send(own, 1, "root", fingerprint=GROUP)
            self.assertEqual(status, 201, answer)
            names = {"GROUP": answer["group"], "REPORT": sent["id"], "BUILD": BUILD}
            tried = 0
            for method, path, body, allowed in REQUESTS:
                for word, value in names.items():
                    path = path.replace(word, value)
                    body = body.replace(word, value) if body else body
                page = not path.startswith("/api") and method == "POST"
                for scope in (None, "wrong", *SCOPES):
                    headers = dict(FORM) if page else {}
                    if scope:
                        headers.update(bearer("t-" + scope))
                    status, _, _ = own.request(method, path, body, headers)
                    tried += 1
                    what = (method, path, scope, status)
                    if path in ("/login",):
                        self.assertEqual(status, 401, what) # of a token that is wrong
                    elif "-" in allowed or scope in allowed:
                        self.assertNotIn(status, (401, 403), what)
                    else:
                        self.assertEqual(status, 403 if scope in SCOPES else 401, what)
            self.assertEqual(tried, len(REQUESTS) * (len(SCOPES) + 2))

    def test_a_bare_token_may_do_all_unless_the_file_says_otherwise(self):
        with Collector(BINARY, tokens=["default scopes=send", "bare",
                                       "reader scopes=read"]) as own:
            self.assertEqual(own.request("GET", "/", None, bearer("bare"))[0], 403)
            self.assertEqual(send(own, 2, "bare")[1], 201)
            self.assertEqual(own.request("GET", "/", None, bearer("reader"))[0], 200)

    def test_the_file_is_read_again_on_a_signal(self):
        sum_of = hashlib.sha256(b"late").hexdigest()
        with Collector(BINARY, tokens=["early"]) as own:
            self.assertEqual(own.request("GET", "/", None, bearer("late"))[0], 401)
            for content, words in (("x colour=red\n", "no such setting"),
                                   (f"sha256={sum_of} name=kim\n", "again")):
                with open(own.path("tokens"), "w", encoding="utf-8") as file:
                    file.write(content)
                own.process.send_signal(signal.SIGHUP)
                self.assertIn(words, own.process.stderr.readline())
            self.assertEqual(own.request("GET", "/", None, bearer("late"))[0], 200)
            self.assertEqual(own.request("GET", "/", None, bearer("early"))[0], 401)


class MadeTokens(unittest.TestCase):
    TOKENS = ["root name=root", "a name=ann scopes=read,admin project=shop",
              "r name=ray scopes=read"]

    def setUp(self):
        self.own = self.enterContext(Collector(BINARY, tokens=self.TOKENS))
        self.own.token = None

    def make(self, token, **what):
        return self.own.json("POST", "/api/v1/tokens", json.dumps(what), bearer(token))

    def listed(self, token="root"):
        return self.own.json("GET", "/api/v1/tokens", None, bearer(token))[1]["tokens"]

    def may(self, token, path="/api/v1/groups"):
        return self.own.request("GET", path, None, bearer(token))[0]

    def test_a_token_is_made_used_and_revoked(self):
        status, made = self.make("root", name="ci", scopes="send,read", expires="90d")
        self.assertEqual(status, 201, made)
        self.assertRegex(made["token"], "^crashhook_[0-9a-f]{40}$")
        self.assertEqual(self.may(made["token"]), 200)
        self.assertEqual(self.may(made["token"], "/api/v1/audit"), 403)
        row, = self.listed()
        self.assertEqual((row["id"], row["name"], row["scopes"], row["project"], row["who"]),
                         (made["id"], "ci", "send,read", "", "root"))
        days = (days_of(row["expires"]) - days_of(row["created"]))
        self.assertAlmostEqual(days, 90, places=3)
        # It is there after a restart.
        self.assertEqual(self.own.stop()[0], 0)
        self.own.start()
        self.assertEqual(self.may(made["token"]), 200)
        status, _, _ = self.own.request("DELETE", "/api/v1/tokens/" + made["id"], None,
                                        bearer("root"))
        self.assertEqual((status, self.may(made["token"]), self.listed()), (200, 401, []))
        audit = self.own.json("GET", "/api/v1/audit", None, bearer("root"))[1]["audit"]
        self.assertEqual([(line["what"], line["detail"]) for line in audit][:2],
                         [("token revoked", "ci"), ("token made", "ci, send,read")])

    def test_an_expired_token_is_refused_and_its_name_is_free_again(self):
        _, made = self.make("root", name="short", scopes="read", expires="1m")
        self.assertEqual(self.may(made["token"]), 200)
        if running.fresh_store():
            self.skipTest("it changes a file of SQLite")
        self.assertEqual(self.own.stop()[0], 0)
        with contextlib.closing(sqlite3.connect(self.own.path("store.db"))) as base, base:
            base.execute("UPDATE tokens SET expires = 1")
        self.own.start()
        self.assertEqual(self.may(made["token"]), 401)
        self.assertIn(b"expired 1970-01-01", self.own.request("GET", "/access", None,
                                                              bearer("root"))[2])
        self.assertEqual(self.make("root", name="short", scopes="read")[0], 201)
        self.assertEqual(len(self.listed()), 1)

    def test_nobody_gives_more_than_they_may_do_or_another_project(self):
        self.assertEqual(self.make("r", name="x", scopes="read")[0], 403)
        self.assertEqual(self.make("a", name="x", scopes="read,triage")[0], 403)
        self.assertEqual(self.make("a", name="x", scopes="read", project="bank")[0], 403)
        status, made = self.make("a", name="x", scopes="read")
        self.assertEqual((status, self.listed()[0]["project"]), (201, "shop"))
        _, other = self.make("root", name="y", scopes="read", project="bank")
        self.assertEqual([row["name"] for row in self.listed("a")], ["x"])
        for id, status in ((other["id"], 404), ("ab", 404), (made["id"], 200)):
            self.assertEqual(self.own.request("DELETE", "/api/v1/tokens/" + id, None,
                                              bearer("a"))[0], status)
        self.assertEqual(self.may(other["token"]), 200)

    def test_what_cannot_be_made_is_refused(self):
        good = {"name": "x", "scopes": "read"}
        for status, more in ((400, {"name": "a b"}), (400, {"scopes": "all"}),
                             (400, {"scopes": ""}), (400, {"expires": "soon"}),
                             (400, {"expires": "2020-01-01"}), (400, {"expires": "0d"}),
                             (400, {"project": "."}), (400, {"more": "x"}),
                             (400, {"name": 1}), (409, {"name": "ray"})):
            with self.subTest(**more):
                self.assertEqual(self.make("root", **{**good, **more})[0], status)
        self.assertEqual(self.make("root", **good)[0], 201)
        self.assertEqual(self.make("root", **good)[0], 409)

    def test_the_page_makes_one_shows_it_once_and_revokes_it(self):
        def post(**fields):
            return self.own.request("POST", "/access", urllib.parse.urlencode(fields, True),
                                    {**FORM, **bearer("root")})
        status, _, page = post(name="web", scope=["read", "triage"], project="shop",
                               expires="2099-01-01")
        token = re.search("crashhook_[0-9a-f]{40}", page.decode()).group()
        self.assertEqual((status, self.may(token)), (200, 200))
        page = self.own.request("GET", "/access", None, bearer("root"))[2].decode()
        self.assertNotIn(token, page)
        for words in ("<b>web</b>", "read,triage", "project shop", "expires 2099-01-01",
                      "by root"):
            self.assertIn(words, page)
        # A session that it began ends with it.
        _, headers, _ = self.own.request("POST", "/login", "token=" + token, FORM)
        cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.assertEqual(self.own.request("GET", "/groups", None, cookie)[0], 200)
        revoke = re.search('name="revoke" value="([0-9a-f]+)"', page).group(1)
        self.assertEqual(post(revoke=revoke)[0], 303)
        self.assertEqual(self.own.request("GET", "/groups", None, cookie)[0], 401)
        self.assertEqual(self.own.request("POST", "/access", "name=x&scope=read",
                                          {**FORM, **bearer("r")})[0], 403)

    def test_another_collector_of_the_database_learns_of_it(self):
        if not running.fresh_store():
            self.skipTest("two collectors need PostgreSQL")
        second = running.Collector(BINARY, tokens=self.TOKENS, store=self.own.store)
        with second:
            second.token = None
            _, made = self.make("root", name="ci", scopes="read")
            running.wait_for(lambda: second.request("GET", "/groups", None,
                                                    bearer(made["token"]))[0] == 200,
                             "the second collector reads the token")
            self.own.request("DELETE", "/api/v1/tokens/" + made["id"], None, bearer("root"))
            running.wait_for(lambda: second.request("GET", "/groups", None,
                                                    bearer(made["token"]))[0] == 401,
                             "the second collector forgets the token")


class Zones(unittest.TestCase):
    def page(self, own, path, zone=None):
        headers = {"Cookie": "crashhook_zone=" + zone} if zone else {}
        return own.request("GET", path, None, headers)[2].decode()

    def test_times_are_in_the_zone_of_the_collector_or_of_a_person(self):
        if not os.path.exists("/usr/share/zoneinfo/Asia/Tokyo"):
            self.skipTest("the system has no time zones")
        with Collector(BINARY, extra=["--time-zone", "Asia/Tokyo"]) as own:
            report = sample_reports.raw(1, time="2026-11-20T20:30:05.000Z")
            status, answer = own.post(report)
            self.assertEqual(status, 201, answer)
            path = "/reports/" + report["id"]
            for zone, time_text in ((None, "2026-11-21T05:30:05+09:00"),
                                    ("Asia/Kolkata", "2026-11-21T02:00:05+05:30"),
                                    ("UTC", "2026-11-20T20:30:05Z"),
                                    ("../../etc/passwd", "2026-11-21T05:30:05+09:00")):
                self.assertIn(f"<dd>{time_text} <i>", self.page(own, path, zone), zone)
            self.assertIn('title="2026-11-21T02:00+05:30">last seen',
                          self.page(own, "/groups", "Asia/Kolkata"))
            self.assertIn("Times in Asia/Tokyo</a>", self.page(own, "/alerts"))
            for name, wanted in (("Asia/Kolkata", 303), ("UTC", 303), ("", 303),
                                 ("Mars/Olympus", 400)):
                status, headers, _ = own.request("POST", "/zone", "zone=" + name, FORM)
                self.assertEqual(status, wanted)
                if status == 303:
                    self.assertTrue(headers["Set-Cookie"].startswith(
                        f"crashhook_zone={name}; Path=/; Max-Age="
                        + ("31536000" if name else "0")), headers["Set-Cookie"])
            # The API stays in UTC.
            self.assertEqual(own.json("GET", "/api/v1/groups/" + answer["group"])[1]
                             ["last_seen"], "2026-11-20T20:30:05.000Z")

    def test_a_zone_that_the_system_does_not_know_is_refused_at_the_start(self):
        with self.assertRaisesRegex(RuntimeError, "--time-zone is not a zone"):
            with Collector(BINARY, extra=["--time-zone", "Mars/Olympus"]):
                pass


class Projects(unittest.TestCase):
    TOKENS = ["root name=root", "a name=ann scopes=send,read,triage,symbols,admin project=shop",
              "b name=bob scopes=send,read,triage,symbols,admin project=bank",
              "d name=dan scopes=symbols project=shop"]

    def setUp(self):
        self.own = self.enterContext(Collector(BINARY, tokens=self.TOKENS))
        self.own.token = None
        self.number = 100

    def send(self, token, **more):
        self.number += 1
        sent, status, answer = send(self.own, self.number, token, **more)
        self.assertEqual(status, 201, answer)
        return sent["id"], answer["group"]

    def get(self, token, path):
        return self.own.json("GET", path, None, bearer(token))

    def test_the_same_crash_in_two_projects_is_two_groups_that_do_not_meet(self):
        report, group = self.send("a", hostname="h-a", release="1.0")
        other_report, other = self.send("b", release="7.7")
        self.assertNotEqual(group, other)
        for path in (f"/api/v1/groups/{other}", f"/api/v1/reports/{other_report}",
                     f"/api/v1/reports/{other_report}?form=sent"):
            status, answer = self.get("a", path)
            self.assertEqual(status, 404, path)
            missing = path.replace(other, "0" * 32).replace(
                other_report, sample_reports.report_id(999))
            self.assertEqual((404, answer), self.get("a", missing))
            self.assertEqual(self.get("root", path)[0], 200)
        for path in (f"/groups/{other}", f"/reports/{other_report}",
                     f"/compare?r={report}&r={other_report}"):
            status, _, page = self.own.request("GET", path, None, bearer("a"))
            self.assertEqual(status, 404, path)
        listed = self.get("a", "/api/v1/groups?is=any")[1]["groups"]
        self.assertEqual([g["id"] for g in listed], [group])
        self.assertEqual(listed[0]["project"], "shop")
        self.assertEqual(len(self.get("root", "/api/v1/groups?is=any")[1]["groups"]), 2)
        listed = self.get("root", "/api/v1/groups?project=bank")[1]["groups"]
        self.assertEqual([g["id"] for g in listed], [other])
        self.assertEqual([r["id"] for r in self.get("a", "/api/v1/reports")[1]["reports"]],
                         [report])
        for path in ("/", "/groups", f"/groups/{group}", "/alerts"):
            page = self.own.request("GET", path, None, bearer("a"))[2].decode()
            self.assertNotIn("7.7", page, path)
            self.assertNotIn(other, page, path)
        self.assertEqual(self.get("a", "/api/v1/alerts")[1]["alerts"][0]["group"], group)
        self.assertEqual(len(self.get("a", "/api/v1/alerts")[1]["alerts"]), 1)
        self.assertEqual(self.own.request("GET", "/metrics", None, bearer("a"))[0], 403)

    def test_decisions_and_merges_are_in_the_audit(self):
        _, group = self.send("a")
        status, _ = self.own.json("POST", "/api/v1/groups/" + group, json.dumps(
            {"status": "resolved", "release": "9", "note": "n"}), bearer("a"))
        self.assertEqual(status, 200)
        deeds = self.get("a", "/api/v1/audit")[1]["audit"]
        self.assertIn(("ann", "decision", f"{group}, resolved in 9, with a note"),
                      [(deed["who"], deed["what"], deed["detail"]) for deed in deeds])

    def test_a_valid_token_in_the_wrong_way_is_403(self):
        basic = base64.b64encode(b"x:a").decode()
        for header, wanted in (("Basic " + basic, 403), ("Basic eDp4", 401),
                               ("Bearer x", 401)):
            status, _ = self.own.json("POST", "/api/v1/starts", "{}",
                                      {"Authorization": header})
            self.assertEqual(status, wanted, header)

    def test_nobody_decides_on_merges_or_removes_what_is_of_another_project(self):
        _, group = self.send("a")
        _, other = self.send("b")
        for target, what in ((other, {"status": "resolved"}),
                             (group, {"merge_into": other}), (other, {"comment": "x"}),
                             (group, {"split": other})):
            status, answer = self.own.json("POST", "/api/v1/groups/" + target,
                                           json.dumps(what), bearer("a"))
            self.assertEqual((status, answer["error"]), (404, "there is no such group"))
        status, answer = self.own.json("POST", "/api/v1/groups/" + group,
                                       json.dumps({"merge_into": other}), bearer("root"))
        self.assertEqual(status, 404, answer)
        status, answer = self.own.json("DELETE", "/api/v1/reports?host=ams-worker-07",
                                       None, bearer("a"))
        self.assertEqual((status, answer), (200, {"removed": 1, "more": False}))
        self.assertEqual(self.get("b", "/api/v1/groups/" + other)[1]["count"], 1)
        deeds = self.get("b", "/api/v1/audit")[1]["audit"]
        self.assertEqual([deed for deed in deeds if deed["who"] == "ann"], [])

    def test_the_first_writer_of_an_id_wins_and_nobody_learns_of_it(self):
        report, group = self.send("a")
        stolen = sample_reports.raw(self.number, fingerprint=GROUP)
        stolen.update(id=report, revision=9)
        for token in ("b", "root"):
            status, answer = self.own.post(stolen, bearer(token))
            self.assertEqual((status, answer["id"]), (200, report))
            self.assertNotEqual(answer["group"], group)
        self.assertEqual(self.get("a", "/api/v1/reports/" + report)[1]["revision"], 0)
        self.assertEqual(self.get("b", "/api/v1/reports/" + report)[0], 404)

    def test_the_first_writer_of_a_build_wins_and_nobody_learns_of_it(self):
        with open(BINARY, "rb") as file:
            binary = file.read()
        build = debug_program.build_id_of(BINARY)
        path = "/api/v1/symbols/" + build
        self.assertEqual(self.own.json("PUT", path, binary, bearer("a"))[0], 201)
        self.assertEqual(self.own.request("HEAD", path, None, bearer("b"))[0], 404)
        self.assertEqual(self.own.json("PUT", path, binary + b"another", bearer("d")),
                         (201, {"build_id": build}))
        self.assertEqual(self.own.request("GET", path, None, bearer("a"))[2], binary)
        self.assertEqual(self.own.json("PUT", path, binary, bearer("a"))[0], 200)


class ProjectLimits(unittest.TestCase):
    TOKENS = ["project name=shop rate=3/1h keep-per-group=2",
              "a name=ann scopes=send,read project=shop", "c name=cat scopes=send project=shop",
              "b name=bob scopes=send,read project=bank", "root name=root"]

    def test_a_project_sends_so_many_whichever_token_sends(self):
        with Collector(BINARY, tokens=self.TOKENS) as own:
            own.token = None
            for number, token in enumerate("aca", 200):
                self.assertEqual(send(own, number, token)[1], 201)
            status, headers, answer = own.request(
                "POST", "/api/v1/reports", json.dumps(sample_reports.raw(210)), bearer("c"))
            self.assertEqual(status, 429, answer)
            self.assertIn("this project sends more", answer.decode())
            # A third of an hour, or up to twice that by chance.
            self.assertIn(int(headers["Retry-After"]), range(1080, 2404))
            for number, token in enumerate(("b", "b", "b", "b", "root"), 220):
                self.assertEqual(send(own, number, token)[1], 201)
            with open(own.path("tokens"), "w", encoding="utf-8") as file:
                file.write("\n".join(self.TOKENS[1:]) + "\n")
            own.process.send_signal(signal.SIGHUP)
            self.assertIn("again", own.process.stderr.readline())
            self.assertEqual(send(own, 230, "a")[1], 201)

    def test_a_project_keeps_so_many_and_others_keep_what_they_have(self):
        with Collector(BINARY, tokens=["project name=shop keep-per-group=2",
                                       *self.TOKENS[1:]]) as own:
            own.token = None
            for number in range(240, 244):
                self.assertEqual(send(own, number, "a")[1], 201)
                self.assertEqual(send(own, number + 10, "b")[1], 201)
            own.stop()
            own.start()  # the first round is at the start
            limit = time.monotonic() + 60
            while len(self.kept(own, "a")) != 2 and time.monotonic() < limit:
                time.sleep(0.05)
            self.assertEqual(len(self.kept(own, "a")), 2)
            self.assertEqual(len(self.kept(own, "b")), 4)

    def test_a_setting_that_there_is_not_refuses_the_start(self):
        for line, words in (("project keep=90d", "needs a name="),
                            ("project name=shop colour=red", "no such setting of a project"),
                            ("project name=shop keep=soon", "keep= takes"),
                            ("project name=shop keep-per-group=0", "keep-per-group= takes"),
                            ("project name=shop rate=5", "rate= takes"),
                            ("project name=a\nproject name=a", "line 2: this project was")):
            with self.assertRaisesRegex(RuntimeError, words):
                with Collector(BINARY, tokens=[line, "root"]):
                    pass

    def kept(self, own, token):
        return own.json("GET", "/api/v1/reports?limit=200", None,
                        bearer(token))[1]["reports"]


def stored_words(own):
    """What searches of functions, files, builds and messages look into."""
    if own.store:
        said = subprocess.run(["psql", "-qtA", own.store, "-c", "SELECT value FROM words"],
                              capture_output=True, text=True, check=True).stdout
        return said.splitlines()
    with contextlib.closing(sqlite3.connect(own.path("store.db"))) as database:
        return [value for value, in database.execute("SELECT value FROM words")]


class Sessions(unittest.TestCase):
    def sign_in(self, own, token, headers=None):
        status, headers, _ = own.request(
            "POST", "/login", urllib.parse.urlencode({"token": token, "to": "/"}),
            {**FORM, **(headers or {})})
        return status, headers

    def test_a_session_is_not_the_token_and_ends_with_it(self):
        tokens = ["kim-token name=kim scopes=read,triage", "adm name=adm scopes=read,admin"]
        with Collector(BINARY, tokens=tokens) as own:
            own.token = None
            cookies = {}
            for token in ("kim-token", "adm"):
                status, headers = self.sign_in(own, token)
                self.assertEqual(status, 303)
                cookies[token] = headers["Set-Cookie"].split(";")[0]
                for form in (token, token.encode().hex(),
                             hashlib.sha256(token.encode()).hexdigest()):
                    self.assertNotIn(form, headers["Set-Cookie"])
            kim, adm = ({"Cookie": cookies[name]} for name in ("kim-token", "adm"))
            self.assertEqual(own.request("GET", "/", None, kim)[0], 200)
            page = own.request("GET", "/access", None, kim)[2].decode()
            self.assertEqual(page.count("End this session"), 1)
            self.assertNotIn("Who did what", page)
            page = own.request("GET", "/access", None, adm)[2].decode()
            self.assertEqual(page.count("End this session"), 2)
            ends = re.findall(r'name="end" value="(\w+)"', page)
            mine = re.search(r'name="end" value="(\w+)"',
                             own.request("GET", "/access", None, kim)[2].decode()).group(1)
            other = next(end for end in ends if end != mine)
            status, _, _ = own.request("POST", "/access", "end=" + other, {**FORM, **kim})
            self.assertEqual(status, 404)
            status, _, _ = own.request("POST", "/access", "end=" + mine, {**FORM, **adm})
            self.assertEqual(status, 303)
            self.assertEqual(own.request("GET", "/", None, kim)[0], 401)
            own.request("POST", "/logout", "", {**FORM, **adm})
            self.assertEqual(own.request("GET", "/", None, adm)[0], 401)
            _, headers = self.sign_in(own, "kim-token")
            again = {"Cookie": headers["Set-Cookie"].split(";")[0]}
            self.assertEqual(own.request("GET", "/", None, again)[0], 200)
            with open(own.path("tokens"), "w", encoding="utf-8") as file:
                file.write("other name=lee\n")
            own.process.send_signal(signal.SIGHUP)
            own.process.stderr.readline()
            self.assertEqual(own.request("GET", "/", None, again)[0], 401)

    def test_guesses_are_throttled(self):
        with Collector(BINARY, tokens=["kim-token name=kim"]) as own:
            own.token = None
            answers = [self.sign_in(own, f"guess {i}") for i in range(40)]
            self.assertEqual([status for status, _ in answers].count(401), 30)
            self.assertEqual(answers[-1][0], 429)
            self.assertGreater(int(answers[-1][1]["Retry-After"]), 0)
        with Collector(BINARY, tokens=["kim-token name=kim"],
                       extra=["--trusted-proxy", "127.0.0.1"]) as own:
            own.token = None
            answers = [self.sign_in(own, "guess", {"X-Forwarded-For": f"{i}, 192.0.2.{i % 2}"})
                       for i in range(70)]
            self.assertEqual([status for status, _ in answers].count(401), 60)

    def test_a_proxy_names_users_and_nobody_else_does(self):
        tokens = ["user name=kim@example.org scopes=read", "t name=ci scopes=send"]
        for proxy, status in (("127.0.0.1", 200), ("192.0.2.1", 403)):
            extra = ["--trusted-user-header", "X-User", "--trusted-proxy", proxy]
            with Collector(BINARY, tokens=tokens, extra=extra) as own:
                own.token = None
                kim = {"X-User": "kim@example.org"}
                self.assertEqual(own.request("GET", "/", None, kim)[0], status)
                self.assertEqual(own.request("GET", "/", None, {"X-User": "eve"})[0], 403)
                self.assertEqual(own.request("GET", "/")[0], 401)
                # The header is for browsers: requests that send need a token.
                self.assertEqual(own.post(sample_reports.raw(1), kim)[0],
                                 403 if status == 200 else 401)
                self.assertEqual(own.request("GET", "/metrics", None, kim)[0], status)
        extra += ["--trusted-groups-header", "X-Groups"]
        extra[extra.index("192.0.2.1")] = "127.0.0.1"
        tokens += ["group name=/ops scopes=read,triage project=shop", "shops scopes=send"
                   " project=shop"]
        with Collector(BINARY, tokens=tokens, extra=extra) as own:
            own.token = None
            lee = {"X-User": "lee", "X-Groups": "staff,/ops"}
            self.assertEqual(own.request("GET", "/", None, lee)[0], 200)
            self.assertEqual(own.request("GET", "/", None, {"X-User": "lee"})[0], 403)
            self.assertEqual(own.request("GET", "/", None, {"X-Groups": "/ops"})[0], 401)
            self.assertEqual(own.request("GET", "/metrics", None, lee)[0], 403)
            _, answer = own.post(sample_reports.raw(1), bearer("shops"))
            path = "/groups/" + answer["group"]
            status = own.request("POST", path, "comment=mine", {**FORM, **lee})[0]
            self.assertEqual(status, 303)
            self.assertIn(b"lee", own.request("GET", path, None, lee)[2])
        own = Collector(BINARY, tokens=tokens, extra=["--trusted-user-header", "X-User"])
        with self.assertRaisesRegex(RuntimeError, "--trusted-proxy"):
            with own:
                pass


class Starts(unittest.TestCase):
    def test_the_overview_says_which_part_of_sessions_did_not_crash(self):
        day = int(time.time() // 86400)
        tokens = ["a name=ann scopes=send,read project=shop", "root"]
        with Collector(BINARY, tokens=tokens) as own:
            own.token = None
            self.assertNotIn("Without a crash",
                             own.request("GET", "/", None, bearer("root"))[2].decode())
            send(own, 1, "a", release="1.0")
            for host, starts, ends in (("h1", 700, 600), ("h2", 300, 300)):
                status, answer = own.json("POST", "/api/v1/starts", json.dumps(
                    {"id": sample_reports.report_id(starts), "release": "1.0",
                     "host": host, "day": day, "starts": starts, "ends": ends}),
                    bearer("a"))
                self.assertEqual(status, 201, answer)
            page = own.request("GET", "/", None, bearer("a"))[2].decode()
            part = re.search(r'id="starts">.*?</section>', page, re.S).group(0)
            self.assertRegex(part, "100.0\u2009%</b><span>of 1\u2009000 sessions, 100 unknown")
            # Of 1,000 sessions, none crashed: 3.84 of them is what Wilson's interval allows.
            self.assertIn(f"{datetime.date.fromtimestamp(day * 86400)}: 100.00 % without a crash"
                          " (99.62 to 100.00 %), 1000 sessions", part)


class Deeds(unittest.TestCase):
    def test_who_commented_exported_and_removed_what_is_known(self):
        tokens = ["kim-token name=kim scopes=send,read,triage", "adm name=adm scopes=admin"]
        with Collector(BINARY, tokens=tokens) as own:
            own.token = None
            sent, _, answer = send(own, 1, "kim-token")
            sent2, _, _ = send(own, 2, "kim-token", tags={"user": "eve"},
                               host={"hostname": "h2", "kernel": "6.1", "os": "Debian",
                                     "arch": "x86_64", "cpus": 1})
            group = answer["group"]
            for text in ("I have seen this", "I have seen this", "y" * 1400):
                status, now = own.json("POST", "/api/v1/groups/" + group,
                                       json.dumps({"comment": text}), bearer("kim-token"))
                self.assertEqual((status, now["version"]), (200, 0), now)
            lines = [line for line in now["history"] if line["kind"] == "comment"]
            self.assertEqual({(line["who"], line["detail"]) for line in lines},
                             {("kim", "I have seen this"), ("kim", "y" * 1400)})
            status, _ = own.json("POST", "/api/v1/groups/" + group,
                                 json.dumps({"comment": "y" * 1600}), bearer("kim-token"))
            self.assertEqual(status, 400)
            own.request("GET", "/api/v1/reports/" + sent["id"], None, bearer("kim-token"))
            for query in ("", "?is=any", "?release=2.14.1", "?q=-host:x"):
                status, answer = own.json("DELETE", "/api/v1/reports" + query, None,
                                          bearer("adm"))
                self.assertEqual(status, 400, answer)
            for path in ("/api/v1/groups?form=csv", "/reports/" + sent["id"]):
                self.assertEqual(own.request("GET", path, None, bearer("kim-token"))[0], 200)
            EVE = own.json("GET", "/api/v1/reports/" + sent2["id"], None,
                           bearer("kim-token"))[1]["tags"]["user"]
            self.assertRegex(EVE, "^#[0-9a-f]{16}$")
            status, answer = own.json("DELETE", "/api/v1/reports?tag=user:eve", None,
                                      bearer("adm"))
            self.assertEqual((status, answer), (200, {"removed": 1, "more": False}))
            reports = own.json("GET", "/api/v1/reports", None, bearer("kim-token"))[1]
            self.assertEqual([r["id"] for r in reports["reports"]], [sent["id"]])
            after = own.json("GET", "/api/v1/groups/" + group, None,
                             bearer("kim-token"))[1]
            self.assertEqual((after["count"], after["machines"]), (1, 1))
            audit = own.json("GET", "/api/v1/audit", None, bearer("adm"))[1]["audit"]
            self.assertEqual([(deed["who"], deed["what"], deed["detail"]) for deed in audit
                              if deed["what"] != "decision"],
                             [("adm", "erase", "user:" + EVE),
                              ("kim", "export", sent2["id"]),
                              ("kim", "view", sent["id"]),
                              ("kim", "export", "groups.csv"),
                              ("kim", "export", sent["id"])])
            for text, count in (("ERASE", 1), (sent2["id"], 1), ("groups.csv", 1), ("%", 0),
                                ("no such", 0)):
                path = "/api/v1/audit?q=" + urllib.parse.quote(text)
                found = own.json("GET", path, None, bearer("adm"))[1]["audit"]
                self.assertEqual(len(found), count, text)
                page = own.request("GET", path.replace("/api/v1/audit", "/access"), None,
                                   bearer("adm"))[2].decode()
                self.assertEqual(page.count("<span>kim: ") + page.count("<span>adm: "), count)
                self.assertIn(f'value="{text}"', page)
            self.assertEqual(own.json("GET", "/api/v1/audit?w=x", None, bearer("adm"))[0], 400)

    def users(self, own, search="is:any", key="users"):
        path = "/api/v1/groups?q=" + urllib.parse.quote(search)
        return [group[key] for group in own.json("GET", path)[1]["groups"]]

    def test_users_are_counted_by_pseudonyms_and_forgotten(self):
        names = ("kim@example.org", "eve@example.org", "kim@example.org", None)
        tags = [{"user": name} if name is not None else {} for name in names]
        # In both encodings, and where the store compresses.
        with Collector(BINARY) as own:
            sent = [{**sample_reports.raw(number, fingerprint=GROUP), "tags": tag}
                    for number, tag in enumerate(tags, 70)]
            for number, report in enumerate(sent):
                body, encoding = json.dumps(report).encode(), {}
                if number % 2 == 1:
                    body, encoding = gzip.compress(body), {"Content-Encoding": "gzip"}
                self.assertEqual(own.request("POST", "/api/v1/reports", body, encoding)[0],
                                 201)
            self.assertEqual(self.users(own), [2])
            stored = [own.json("GET", "/api/v1/reports/" + report["id"])[1] for report in sent]
            pseudonyms = [report["tags"].get("user") for report in stored]
            self.assertEqual(len(set(pseudonyms)), 3)
            self.assertEqual(pseudonyms[0], pseudonyms[2])
            for report, was in zip(stored, sent):
                self.assertEqual({**report["tags"], **was["tags"]}, was["tags"])
            for found, search in ((1, "users:>1"), (0, "users:>2"), (1, "users:2..3"),
                                  (1, "user:kim@example.org"), (0, "user:kim@example.com"),
                                  (1, "user:" + pseudonyms[1]), (1, "user:#*"),
                                  (1, "tag:user:eve@example.org")):
                self.assertEqual(len(self.users(own, search)), found, search)
            page = b"".join(own.request("GET", path)[2] for path in
                            ("/groups/" + GROUP, "/groups?q=is:any",
                             "/groups?q=user:kim@example.org"))
            self.assertIn(b"<dt>Users</dt><dd>2</dd>", page)
            self.assertIn(b"2 users", page)
            files = glob.glob(own.path("store.db*"))
            for text in [page] + [pathlib.Path(file).read_bytes() for file in files]:
                self.assertNotIn(b"kim@example", text)
                self.assertNotIn(b"eve@example", text)
            for count, search in ((2, "is:any"), (1, "user:kim@example.org"), (0, "-user:#*"),
                                  (2, "-user:nobody"), (2, "program:* time:>2020-01-01")):
                self.assertEqual(self.users(own, search, "filtered_users"), [count], search)
            rows = list(csv.DictReader(own.request(
                "GET", "/api/v1/groups?form=csv&user=eve@example.org")[2].decode().splitlines()))
            self.assertEqual([(row["users"], row["filtered_users"]) for row in rows],
                             [("2", "1")])
            answer = own.json("DELETE", "/api/v1/reports?user=kim@example.org")[1]
            self.assertEqual((answer, self.users(own)), ({"removed": 2, "more": False}, [1]))
            own.stop()
            own.start()
            self.assertEqual(self.users(own, "user:eve@example.org"), [1])

    def test_a_user_whose_reports_are_gone_is_forgotten_too(self):
        with Collector(BINARY, extra=["--keep-per-group", "1"]) as own:
            for number, name in enumerate(("kim", "eve"), 80):
                report = {**sample_reports.raw(number, fingerprint=GROUP),
                          "tags": {"user": name}}
                report["time"] = f"2026-01-0{number - 79}T00:00:00Z"
                self.assertEqual(own.post(report)[0], 201)
            own.stop()
            own.start() # the first round of retention is at the start
            running.wait_for(
                lambda: len(own.json("GET", "/api/v1/reports")[1]["reports"]) == 1,
                "retention leaves one report")
            self.assertEqual(self.users(own), [2])
            answer = own.json("DELETE", "/api/v1/reports?user=kim")[1]
            self.assertEqual((answer["removed"], self.users(own)), (0, [1]))

    def test_names_of_users_are_stored_where_that_was_asked_for(self):
        with Collector(BINARY, extra=["--users", "plain"]) as own:
            report = {**sample_reports.raw(90, fingerprint=GROUP), "tags": {"user": "kim"}}
            self.assertEqual(own.post(report)[0], 201)
            self.assertEqual(own.json("GET", "/api/v1/reports/" + report["id"])[1]["tags"],
                             {"user": "kim"})
            self.assertEqual(self.users(own, "user:kim"), [1])

    def test_reports_with_the_name_of_a_user_are_removed_with_those_under_the_pseudonym(self):
        def send_both(number):
            for offset, name in enumerate(("kim", "eve")):
                report = {**sample_reports.raw(number + offset, fingerprint=GROUP),
                          "tags": {"user": name}}
                self.assertEqual(own.post(report)[0], 201)
        with Collector(BINARY) as own:
            own.extra += ["--users", "plain"]
            own.stop()
            own.start()
            send_both(91)
            own.stop()
            own.extra = own.extra[:-2]
            own.start()
            send_both(93)
            removed = [own.json("DELETE", "/api/v1/reports?" + query)[1]["removed"]
                       for query in ("user=kim", "user=kim")]
            self.assertEqual(removed, [2, 0])
            self.assertEqual(self.users(own), [2], "eve has two names")
            host = sample_reports.raw(91)["host"]["hostname"]
            removed = [own.json("DELETE", f"/api/v1/reports?q=host:{host}{more}")[1]["removed"]
                       for more in ("+-user:eve", "")]
            self.assertEqual(removed, [0, 2])

    def test_reports_under_the_pseudonym_of_a_user_are_removed_where_names_are_stored(self):
        with Collector(BINARY) as own:
            for number, extra in ((97, []), (98, ["--users", "plain"])):
                own.stop()
                own.extra += extra
                own.start()
                for offset, name in enumerate(("kim", "eve")):
                    report = {**sample_reports.raw(2 * number + offset, fingerprint=GROUP),
                              "tags": {"user": name}}
                    self.assertEqual(own.post(report)[0], 201)
            self.assertEqual(self.users(own), [4], "everybody has two names")
            host = sample_reports.raw(97)["host"]["hostname"]
            removed = [own.json("DELETE", "/api/v1/reports?" + query)[1]["removed"]
                       for query in ("user=kim", "user=kim", f"q=host:{host}+-user:eve")]
            self.assertEqual((removed, self.users(own)), ([2, 0, 0], [2]))

    def test_a_user_of_no_project_in_particular_is_refused_where_there_are_projects(self):
        with Collector(BINARY, tokens=["root", "s name=s project=shop"]) as own:
            report = {**sample_reports.raw(95), "tags": {"user": "kim"}}
            erase, project = "/api/v1/reports?user=kim", "&project=shop"
            self.assertEqual(own.json("DELETE", erase)[0], 200)
            self.assertEqual(own.post(report, bearer("s"))[0], 201)
            for method, path in (("DELETE", erase), ("GET", "/api/v1/groups?q=-user:kim")):
                status, answer = own.json(method, path)
                self.assertEqual((status, "name the project" in answer["error"]),
                                 (400, True))
                self.assertEqual(own.json(method, path.replace("kim", "%230123456789abcdef"))[0],
                                 200)
            self.assertEqual(own.json("DELETE", erase + project)[1]["removed"], 1)

    def test_words_of_removed_reports_leave_the_store(self):
        def about(number, name):
            frames = [sample_reports.frame(word, f"/home/{name}/x.c:1:1", 0)
                      for word in (f"{name}_function", "shared_function")]
            thread = {"tid": 1, "name": "main", "state": "R", "crashed": True,
                      "backtrace": sample_reports.backtrace(frames)}
            crash = {"signal": 6, "name": "SIGABRT", "code": 0, "thread": 1, "kind": "abort",
                     "summary": f"about {name}", "message": f"{name}@example.org"}
            return {**sample_reports.raw(number, fingerprint=GROUP), "revision": 1,
                    "crash": crash, "threads": [thread], "tags": {"user": name}}
        with Collector(BINARY) as own:
            groups = {own.post(about(number, name))[1]["group"]
                      for number, name in enumerate(("kim", "eve"), 30)}
            self.assertEqual(len(groups), 1)
            self.assertEqual(sum("eve" in word for word in stored_words(own)), 4)
            answer = own.json("DELETE", "/api/v1/reports?tag=user:eve")[1]
            self.assertEqual(answer, {"removed": 1, "more": False})
            words = stored_words(own)
            self.assertEqual([word for word in words if "eve" in word], [])
            self.assertEqual({word for word in words if "kim" in word or "shared" in word},
                             {"kim_function", "shared_function", "/home/kim/x.c",
                              "/home/kim/x.c:1", "kim@example.org"})
            group = own.json("GET", "/api/v1/groups/" + groups.pop())[1]
            self.assertEqual((group["summary"], group["count"]), ("about kim", 1))
            for key, value, count in (("frame", "eve_function", 0), ("frame", "shared", 1),
                                      ("message", "kim@", 1), ("message", "eve@", 0)):
                found = own.json("GET", f"/api/v1/groups?{key}={value}")[1]["groups"]
                self.assertEqual(len(found), count, value)

    def test_a_collector_without_users_notes_nothing_and_needs_no_token(self):
        with Collector(BINARY) as own:
            sent, _, _ = send(own, 3, "")
            own.request("GET", "/api/v1/reports/" + sent["id"])
            self.assertEqual(own.json("GET", "/api/v1/audit")[1], {"audit": []})
            self.assertEqual(own.request("GET", "/access")[0], 200)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
