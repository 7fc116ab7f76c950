#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_alerts COLLECTOR: who is told of crashes, of which, and what becomes of an alert
# whose receiver fails, hangs or lies, or whose collector is killed.

import contextlib
import email
import email.policy
import hashlib
import hmac
import http.server
import json
import os
import queue
import re
import signal
import sqlite3
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import sample_reports
from ports import held_port
from running import Collector, wait_for

BINARY = None
PATIENCE_S = 60
SECRET = "a secret of both"
FORM = {"Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded"}


class Hook(http.server.ThreadingHTTPServer):
    """A receiver that keeps what it is sent and answers as told: `ok`, a status, `hang`
    (until the test ends), `lie` (less than it announces) or `noise`."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.came = queue.Queue()
        self.acts = []
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hooks/not-to-be-shown"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()

    def next(self):
        return self.came.get(timeout=PATIENCE_S)

    def texts(self, count):
        return [self.next()[1]["text"] for _ in range(count)]


class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        act = self.server.acts.pop(0) if self.server.acts else "ok"
        self.server.came.put((dict(self.headers), json.loads(body), body, act))
        if act == "hang":
            self.server.over.wait(PATIENCE_S)
            self.answer(200)
        elif act == "lie":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nok")
        elif act == "noise":
            self.wfile.write(b"\x00\xff ok 200\r\n\r\n")
        elif act == "moved":
            self.send_response(307)
            self.send_header("Location", self.server.url)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.answer(200 if act == "ok" else int(act))
        self.close_connection = True

    def answer(self, status):
        with contextlib.suppress(OSError):  # a client that no longer waits
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_):
        pass


def report(number, fingerprint, ago_s=60, **more):
    out = sample_reports.raw(number, **more)
    out["fingerprint"] = fingerprint
    then = time.gmtime(time.time() - ago_s)
    out["time"] = time.strftime("%Y-%m-%dT%H:%M:%S", then) + ".000Z"
    return out


class Alerting(unittest.TestCase):
    """Each test has its own receivers, and groups of its own: with PostgreSQL all share
    one database."""

    made = 0

    def collector(self, hooks="", mail="", extra=()):
        Alerting.made += 1
        out = Collector(BINARY, store=os.environ.get("CRASHHOOK_TEST_POSTGRESQL"))
        out.extra += list(extra)
        for option, text in (("--webhook-file", hooks), ("--mail-file", mail)):
            # A message for each alert, unless a test is about the others.
            text = re.sub(r"^(http\S+|\S+@\S+)(?!.*window=)(.*)$", r"\1\2 window=0s", text,
                          flags=re.MULTILINE)
            if text:
                path = out.path(option.strip("-"))
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                out.extra += [option, path]
        return out

    def hook(self):
        return self.enterContext(Hook())

    def fingerprint(self):
        Alerting.made += 1
        return f"{0xA1E27000 + Alerting.made:016x}{int(time.time() * 1000):016x}"

    def post(self, collector, fingerprint, **more):
        Alerting.made += 1
        status, answer = collector.post(report(Alerting.made, fingerprint, **more))
        self.assertEqual(status, 201, answer)
        return answer

    def decide(self, collector, group, **what):
        status, answer = collector.json("POST", "/api/v1/groups/" + group,
                                        json.dumps(what))
        self.assertEqual(status, 200, answer)

    def waiting(self, collector, index=0):
        return collector.json("GET", "/api/v1/alerts")[1]["receivers"][index]

    def wait_for(self, what):
        limit = time.monotonic() + PATIENCE_S
        while not what():
            self.assertLess(time.monotonic(), limit, "it did not happen")
            time.sleep(0.05)


class What(Alerting):
    def test_a_new_group_and_one_that_came_back_are_told_once_and_signed(self):
        hook = self.hook()
        group = self.fingerprint()
        with self.collector(f"{hook.url} secret={SECRET.replace(' ', '_')}\n",
                            extra=["--public-url", "https://crashes.example.org"]) as own:
            answer = self.post(own, group, release="1.0")
            self.post(own, group, release="1.0")
            headers, body, sent, _ = hook.next()
            self.assertEqual((body["kind"], body["group"]["id"]), ("new", group))
            self.assertEqual(body["report"], answer["id"])
            self.assertEqual(body["url"], "https://crashes.example.org/groups/" + group)
            self.assertTrue(body["text"].startswith("New: "), body["text"])
            self.assertIn(body["url"], body["text"])
            self.assertEqual(headers["X-Crashhook-Alert"], body["id"])
            code = hmac.new(SECRET.replace(" ", "_").encode(), sent, hashlib.sha256)
            self.assertEqual(headers["X-Crashhook-Signature"],
                             "sha256=" + code.hexdigest())
            self.decide(own, group, status="resolved", release="2.0")
            self.post(own, group, release="2.0", ago_s=-5)
            _, body, _, _ = hook.next()
            self.assertEqual((body["kind"], body["release"]), ("regressed", "2.0"))
            self.assertTrue(body["text"].startswith("Came back in 2.0: "), body["text"])
            self.assertTrue(hook.came.empty())

    def test_a_named_revision_of_a_report_tells_of_its_group_once(self):
        hook = self.hook()
        first, second = self.fingerprint(), self.fingerprint()
        with self.collector(hook.url + "\n") as own:
            raw = report(7001, first)
            self.assertEqual(own.post(raw)[0], 201)
            _, body, _, _ = hook.next()
            named = dict(raw, revision=1, fingerprint=second)
            self.assertEqual(own.post(named)[0], 200)
            last = self.fingerprint()
            self.post(own, last)
            _, after, _, _ = hook.next()
            self.assertEqual((body["group"]["id"], after["group"]["id"]), (first, last))

    def test_a_report_that_turned_out_to_be_of_a_known_group_is_no_news(self):
        hook = self.hook()
        known, raw = self.fingerprint(), self.fingerprint()
        own = self.collector(hook.url + "\n")
        if own.store:
            self.skipTest("it changes the file of the store")
        with own:
            self.post(own, known, ago_s=3600)
            sent = report(7002, raw)
            self.assertEqual(own.post(sent)[0], 201)
            named = dict(sent, revision=1, fingerprint=known)
            self.assertEqual(own.post(named)[0], 200)
            last = self.post(own, self.fingerprint())["group"]
            self.assertEqual(own.stop()[0], 0)
            while not hook.came.empty():
                hook.next()
            # As if the alerts had waited.
            with contextlib.closing(sqlite3.connect(own.path("store.db"))) as database:
                database.executescript("DELETE FROM alert_sends;"
                                       "UPDATE alerts SET spread = 0")
            own.start()
            told = [hook.next()[1]["group"]["id"]]
            while told[-1] != last:
                told.append(hook.next()[1]["group"]["id"])
            self.assertEqual(told.count(known), 1)
            self.assertNotIn(raw, told)

    def test_what_rises_and_what_comes_in_great_number_is_told_once(self):
        rising, burst = self.hook(), self.hook()
        group, many = self.fingerprint(), self.fingerprint()
        own = self.collector(f"{rising.url} on=rising\n{burst.url} count=25/1h\n")
        with own:
            for day in (9, 2):
                for _ in range(1 if day == 9 else 12):
                    self.post(own, group, ago_s=day * 86400)
            for _ in range(30):
                self.post(own, many, ago_s=20 * 86400)
            self.assertEqual(own.stop()[0], 0)
            own.start()  # the first look is at once
            self.assertEqual(rising.next()[1]["group"]["id"], group)
            _, body, _, _ = burst.next()
            self.assertEqual((body["group"]["id"], body["kind"], body["rule"]),
                             (many, "count", "25/1h"))
            self.assertEqual(own.stop()[0], 0)
            own.start()
            probe = self.waiting(own)["id"]
            own.json("POST", "/api/v1/alerts/test/" + probe)
            self.assertEqual(rising.next()[1]["kind"], "test")
            self.assertTrue(burst.came.empty())

    def test_the_test_button_and_a_digest(self):
        hook = self.hook()
        own = self.collector(hook.url + " digest=00:00\n")
        with own:
            group = self.post(own, self.fingerprint())["group"]
            first = hook.next()[1]
            self.assertEqual(first["kind"], "digest")
            page = own.request("GET", "/alerts")[2].decode()
            self.assertNotIn("not-to-be-shown", page)
            receiver = self.waiting(own)["id"]
            self.assertIn(f'name="test" value="{receiver}">Send a test<', page)
            status, _, _ = own.request("POST", "/alerts",
                                       urllib.parse.urlencode({"test": receiver}), FORM)
            self.assertEqual(status, 303)
            self.assertEqual(hook.next()[1]["kind"], "test")
            status, _, _ = own.request("POST", "/alerts",
                                       urllib.parse.urlencode({"test": "ab"}), FORM)
            self.assertEqual(status, 404)
            self.assertEqual(own.json("GET", "/api/v1/groups/" + group)[0], 200)

    def test_a_receiver_of_a_project_is_told_of_that_alone(self):
        shop, every = self.hook(), self.hook()
        own = self.collector(f"{shop.url} project=shop\n{every.url}\n")
        with open(own.path("tokens"), "w", encoding="utf-8") as file:
            file.write("root\na name=ann scopes=send,admin,read project=shop\n"
                       "b name=bob scopes=send,admin,read project=bank\n")
        own.extra += ["--token-file", own.path("tokens")]
        with own:
            groups = []
            for token in ("b", "a"):
                Alerting.made += 1
                status, answer = own.post(report(Alerting.made, self.fingerprint()),
                                          {"Authorization": "Bearer " + token})
                self.assertEqual(status, 201, answer)
                groups.append(answer["group"])
            self.assertEqual([every.next()[1]["group"]["id"] for _ in groups], groups)
            self.assertEqual(shop.next()[1]["group"]["id"], groups[1])
            self.assertTrue(shop.came.empty())
            bank = {"Authorization": "Bearer b"}
            listed = own.json("GET", "/api/v1/alerts", None, bank)[1]
            self.assertEqual(listed["receivers"], [])
            receiver = own.json("GET", "/api/v1/alerts", None,
                                {"Authorization": "Bearer a"})[1]["receivers"][0]["id"]
            status, _ = own.json("POST", "/api/v1/alerts/test/" + receiver, "", bank)
            self.assertEqual(status, 404)

    def test_files_that_are_wrong_refuse_the_start_and_say_the_line(self):
        for hooks, mail, words in (
                ("# none\nftp://x on=new\n", "", "line 2: the line does not begin"),
                ("http://x on=news\n", "", "line 1: on= takes new"),
                ("http://x count=many\n", "", "count= takes"),
                ("http://x digest=25:00\n", "", "digest= takes"),
                ("http://x colour=red\n", "", "no such setting"),
                ("http://x\nhttp://x\n", "", "another line"),
                ("", "a@example.org\n", "server=smtp://HOST"),
                ("", "server=smtp://h from=a@b\na,b@example.org\n", "line 2: "),
                ("", "server=smtp://h from=a@b user=u\n", "come together")):
            own = self.collector(hooks, mail)
            with self.assertRaisesRegex(RuntimeError, words):
                with own:
                    pass


class Pace(Alerting):
    def test_a_new_receiver_starts_from_now(self):
        hook = self.hook()
        own = self.collector()
        with own:
            for _ in range(5):
                self.post(own, self.fingerprint())
            own.kill()
            with open(own.path("webhooks"), "w", encoding="utf-8") as file:
                file.write(hook.url + " window=0s\n")
            own.extra += ["--webhook-file", own.path("webhooks")]
            own.start()
            group = self.post(own, self.fingerprint())["group"]
            self.assertEqual(hook.next()[1]["group"]["id"], group)
            self.assertTrue(hook.came.empty())

    def test_many_alerts_are_one_message_with_counts(self):
        hook = self.hook()
        own = self.collector(hook.url + " window=3s\n")
        with own:
            self.post(own, self.fingerprint())
            self.assertEqual(hook.next()[1]["kind"], "new")
            groups = {self.post(own, self.fingerprint())["group"] for _ in range(40)}
            told, messages = set(), 0
            while told != groups:
                body = hook.next()[1]
                messages += 1
                several = body.get("alerts", [])
                told |= ({alert["group"] for alert in several} if several
                         else {body["group"]["id"]})
                if several:
                    self.assertEqual(body["counts"], {"new": len(several)})
                    self.assertTrue(body["text"].startswith(f"{len(several)} alerts: "))
            self.assertLessEqual(messages, 4)

    def test_what_a_limit_holds_back_comes_in_one_message(self):
        hook = self.hook()
        own = self.collector(hook.url + " window=0s limit=3/8s\n")
        with own:
            groups = [self.post(own, self.fingerprint())["group"] for _ in range(12)]
            for group in groups[:3]:
                self.assertEqual(hook.next()[1]["group"]["id"], group)
            own.json("POST", "/api/v1/alerts/test/" + self.waiting(own)["id"])
            self.assertEqual(hook.next()[1]["kind"], "test") # limits are not for tests
            self.wait_for(lambda: self.waiting(own)["waiting"] == 9)
            body = hook.next()[1]
            self.assertEqual([alert["group"] for alert in body["alerts"]], groups[3:])

    def test_conditions_choose_what_a_receiver_is_told(self):
        ours, wide, every = self.hook(), self.hook(), self.hook()
        own = self.collector(f"{ours.url} program=ledgerd environment=canary\n"
                             f"{wide.url} machines=2\n{every.url}\n")
        with own:
            self.post(own, self.fingerprint())
            group = self.post(own, self.fingerprint(), environment="canary")["group"]
            self.assertEqual(ours.next()[1]["group"]["id"], group)
            Alerting.made += 1
            more = report(Alerting.made, self.fingerprint())
            spreads = own.post(more)[1]["group"]
            for _ in range(3):
                every.next()
            Alerting.made += 1
            other = report(Alerting.made, more["fingerprint"])
            other["host"] = {**other["host"], "hostname": "another"}
            own.post(other)
            self.assertEqual(own.stop()[0], 0)
            own.start() # the first look is at once
            body = wide.next()[1]
            self.assertEqual((body["kind"], body["rule"], body["group"]["id"]),
                             ("machines", "2", spreads))
            self.assertTrue(ours.came.empty())

    def test_each_service_gets_what_it_takes(self):
        hooks = {name: self.hook() for name in ("slack", "discord", "pagerduty",
                                                "alertmanager")}
        own = self.collector("".join(
            f"{hook.url} format={name}{' key=R' if name == 'pagerduty' else ''}\n"
            for name, hook in hooks.items()), extra=["--public-url", "http://c.example"])
        with own:
            title = "<!channel> & @everyone"
            Alerting.made += 1
            crash = report(Alerting.made, self.fingerprint())
            crash["crash"].update(kind="abort", signal=6, name="SIGABRT", message=title)
            answer = own.post(crash)[1]
            body = {name: hook.next()[1] for name, hook in hooks.items()}
            link = "http://c.example/groups/" + answer["group"]
            self.assertEqual(list(body["slack"]), ["text"])
            self.assertIn("&lt;!channel&gt; &amp; @everyone", body["slack"]["text"])
            self.assertIn(link, body["slack"]["text"])
            self.assertEqual(body["discord"]["allowed_mentions"], {"parse": []})
            self.assertIn(title, body["discord"]["content"])
            event = body["pagerduty"]
            self.assertEqual((event["routing_key"], event["event_action"],
                              event["dedup_key"], event["links"][0]["href"]),
                             ("R", "trigger", answer["group"], link))
            self.assertEqual(event["payload"]["severity"], "error")
            self.assertIn(title, event["payload"]["summary"])
            firing = body["alertmanager"]
            self.assertEqual((firing["version"], firing["status"]), ("4", "firing"))
            self.assertEqual(firing["alerts"][0]["labels"]["group"], answer["group"])
            self.assertEqual(firing["alerts"][0]["generatorURL"], link)

    def test_receivers_are_kept_by_the_api_and_on_the_page(self):
        first, second = self.hook(), self.hook()
        own = self.collector()
        with own:
            before = self.post(own, self.fingerprint())["group"]
            status, answer = own.json("POST", "/api/v1/receivers", json.dumps(
                {"line": first.url + " window=0s"}))
            self.assertEqual(status, 201, answer)
            form = {"target": second.url, "on": "new", "window": "0s", "program": "",
                    "format": "slack", "in_app": ""}
            status, _, _ = own.request("POST", "/alerts", urllib.parse.urlencode(form),
                                       FORM)
            self.assertEqual(status, 303)
            group = self.post(own, self.fingerprint())["group"]
            self.assertNotEqual(group, before)
            self.assertEqual(first.next()[1]["group"]["id"], group)
            self.assertIn("New: ", second.next()[1]["text"])
            page = own.request("GET", "/alerts")[2].decode()
            self.assertNotIn("not-to-be-shown", page)
            self.assertIn(f'name="remove" value="{answer["id"]}"', page)
            own.stop()
            own.start()
            self.assertEqual([each["kept"] for each in own.json(
                "GET", "/api/v1/alerts")[1]["receivers"]], [True, True])
            status, _ = own.json("DELETE", "/api/v1/receivers/" + answer["id"])
            self.assertEqual(status, 200)
            self.post(own, self.fingerprint())
            second.next()
            self.assertTrue(first.came.empty())
            for line, words in (("ftp://x", "mail needs a server"),
                                ("http://x colour=red", "no such setting"),
                                ("http://x format=pagerduty", "key="),
                                ("http://x\nhttp://y", "one line")):
                status, answer = own.json("POST", "/api/v1/receivers",
                                          json.dumps({"line": line}))
                self.assertEqual((status, words in answer["error"]), (400, True), answer)
            for receiver in own.json("GET", "/api/v1/alerts")[1]["receivers"]:
                own.json("DELETE", "/api/v1/receivers/" + receiver["id"])

    def test_the_files_are_read_again_on_sighup(self):
        first, second = self.hook(), self.hook()
        own = self.collector(first.url + "\n")
        with own:
            with open(own.path("webhook-file"), "a", encoding="utf-8") as file:
                file.write(second.url + " window=0s\n")
            own.process.send_signal(signal.SIGHUP)
            self.wait_for(lambda: len(own.json("GET", "/api/v1/alerts")[1]["receivers"])
                          == 2)
            group = self.post(own, self.fingerprint())["group"]
            self.assertEqual(second.next()[1]["group"]["id"], group)
            with open(own.path("webhook-file"), "a", encoding="utf-8") as file:
                file.write("nonsense\n")
            own.process.send_signal(signal.SIGHUP)
            self.post(own, self.fingerprint())
            second.next()


class Trouble(Alerting):
    def test_no_alert_is_lost_to_a_receiver_that_fails_lies_or_sends_elsewhere(self):
        hook = self.hook()
        acts = ["500", "lie", "noise", "moved", "ok"]
        hook.acts = list(acts)
        group = self.fingerprint()
        with self.collector(hook.url + "\n") as own:
            self.post(own, group)
            came = [hook.next() for _ in acts]
            self.assertEqual([act for _, _, _, act in came], acts)
            self.assertEqual({body["id"] for _, body, _, _ in came}, {came[0][1]["id"]})
            self.wait_for(lambda: self.waiting(own)["waiting"] == 0)
            metrics = own.request("GET", "/metrics")[2].decode()
            self.assertIn("crashhook_alerts_sent_total 1\n", metrics)
            self.assertIn("crashhook_alert_failures_total 4\n", metrics)

    @unittest.skipIf(os.environ.get("CRASHHOOK_TEST_POSTGRESQL"), "changes the SQLite file")
    def test_an_alert_postponed_before_the_clock_was_set_back_is_sent(self):
        hook = self.hook()
        hook.acts = ["503"]
        own = self.collector(hook.url + "\n")
        with own:
            self.post(own, self.fingerprint())
            hook.next()
            wait_for(lambda: self.waiting(own)["error"], "the failure is noted")
            own.stop()
            with contextlib.closing(sqlite3.connect(own.path("store.db"))) as database:
                database.execute("UPDATE alert_sends SET due = due + 864000000")
                database.commit()
            own.start()
            self.assertEqual(hook.next()[3], "ok")

    def test_a_receiver_that_hangs_delays_others_by_one_attempt(self):
        stuck, well = self.hook(), self.hook()
        stuck.acts = ["hang"] * 20
        groups = [self.fingerprint() for _ in range(6)]
        with self.collector(f"{stuck.url}\n{well.url}\n") as own:
            began = time.monotonic()
            for group in groups:
                self.post(own, group)
            ids = [well.next()[1]["group"]["id"] for _ in groups]
            self.assertEqual(ids, groups)
            self.assertLess(time.monotonic() - began, 35)
            self.wait_for(lambda: self.waiting(own)["error"] != "")
            self.assertEqual(self.waiting(own)["waiting"], len(groups))
            stuck.acts = []
            stuck.over.set()
            self.wait_for(lambda: self.waiting(own, 1)["waiting"] == 0)

    def test_a_kill_loses_nothing_and_sends_twice_at_most_what_was_on_its_way(self):
        hook = self.hook()
        groups = [self.fingerprint() for _ in range(12)]
        own = self.collector(hook.url + "\n")
        with own:
            for group in groups[:6]:
                self.post(own, group)
            hook.next()
            own.kill()
            own.start()
            for group in groups[6:]:
                self.post(own, group)
            seen, ids = set(), []
            while not set(groups[1:]) <= seen:
                _, body, _, _ = hook.next()
                ids.append(body["id"])
                seen.add(body["group"]["id"])
            self.assertLessEqual(len(ids) - len(set(ids)), 1)

    def test_what_is_on_its_way_when_the_collector_ends_is_not_sent_again(self):
        hook = self.hook()
        hook.acts = ["hang"]
        own = self.collector(hook.url + "\n")
        with own:
            self.post(own, self.fingerprint())
            first = hook.next()[1]["id"]
            threading.Timer(1.0, hook.over.set).start()
            self.assertEqual(own.stop()[0], 0)
            own.start()
            self.post(own, self.fingerprint())
            self.assertNotEqual(hook.next()[1]["id"], first)
            self.assertTrue(hook.came.empty())


class Inbox:
    """What a mail server took; it refuses as many messages as told."""

    def __init__(self):
        self.came = queue.Queue()
        self.refuse = 0

    async def handle_DATA(self, _server, _session, envelope):
        self.came.put((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        if self.refuse > 0:
            self.refuse -= 1
            return "451 try again later"
        return "250 OK"


@contextlib.contextmanager
def mail_server():
    import aiosmtpd.controller  # Debian: python3-aiosmtpd
    inbox = Inbox()
    controller = aiosmtpd.controller.Controller(inbox, hostname="127.0.0.1", port=0)
    controller.port = held_port()
    controller.start()
    try:
        yield inbox, f"smtp://127.0.0.1:{controller.port}"
    finally:
        controller.stop()


class Mail(Alerting):
    def test_mail_arrives_whole_whatever_its_title_holds(self):
        inbox, url = self.enterContext(mail_server())
        inbox.refuse = 2
        title = "evil\r\nBcc: all@example.org\r\n\r\n.\r\n" + "\u00fcber " * 40
        lines = (f"server={url} from=crashes@example.org\n"
                 "team@example.org on=new\n")
        with self.collector(mail=lines) as own:
            bad = report(8001, self.fingerprint())
            bad["crash"]["summary"] = title
            self.assertEqual(own.post(bad)[0], 201)
            for _ in range(3):
                sender, to, content = inbox.came.get(timeout=PATIENCE_S)
                self.assertEqual((sender, to),
                                 ("crashes@example.org", ["team@example.org"]))
            mail = email.message_from_bytes(content, policy=email.policy.default)
            self.assertIsNone(mail["Bcc"])
            self.assertTrue(mail["Subject"].startswith("[crashhook] New: "))
            self.assertEqual(mail["X-Crashhook-Alert"] + "@crashhook",
                             mail["Message-ID"].strip("<>"))
            self.assertIn("\u00fcber", mail.get_content())
            self.assertTrue(all(byte < 128 for byte in content))
            self.wait_for(lambda: self.waiting(own)["waiting"] == 0)

    def test_a_password_is_not_sent_to_a_server_without_encryption(self):
        inbox, url = self.enterContext(mail_server())
        lines = (f"server={url} from=a@example.org user=u password=p\n"
                 "nobody@example.org\n")
        with self.collector(mail=lines) as own:
            self.post(own, self.fingerprint())
            self.wait_for(lambda: self.waiting(own)["error"] != "")
            self.assertTrue(inbox.came.empty())


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
