# SPDX-License-Identifier: Apache-2.0
#
# The reference pages of the site that are made of what the programs and the schema say:
# keys of a report, requests and metrics of the collector, exit statuses, and the index of
# all names. Each name has an anchor; index_entries makes the search and the index of them.

import html
import json
import os
import re
import subprocess
import tempfile
import urllib.request

# A name's anchor, as anchor_rows and the manual pages write it, and what follows it.
NAMED = re.compile(r'<(dt|td|code|span) id="([^"]+)">(.*?)</\1>'
                   r'(?=(.{0,1000}))', re.DOTALL)
NEXT = re.compile(r"</tr>|<dt|<h[123]|</dl>|</code></pre>|<[^>]*$")


def plain(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup))).strip()


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", html.unescape(re.sub("<[^>]+>", "", text)).lower()).strip("-")


def anchor_rows(body):
    """Gives each name in the first column of a table an anchor."""
    seen = set(re.findall(r'id="([^"]*)"', body))

    def anchored(text, tag, start):
        anchor = slug(text)[:60]
        if not anchor or anchor in seen:
            return f"{start}{text}"
        seen.add(anchor)
        return f'<{tag} id="{anchor}">{text}'

    def cell(match):
        if "<code>" in match[2]:
            return match[1] + re.sub(r"<code>([^<]*)",
                                     lambda code: anchored(code[1], "code", "<code>"), match[2])
        return match[1].replace("<td>", anchored(match[2], "td", "<td>"))
    return re.sub(r"(<tr[^>]*>\s*<td>)(.*?)(?=</td>)", cell, body, flags=re.DOTALL)


def table(*heads):
    return "<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"


def schema_keys(node, path):
    """Each key below node, its type and its description, in the order of the schema."""
    for key, value in node.get("properties", {}).items():
        name = f"{path}.{key}" if path else key
        if not isinstance(value, dict):
            yield name, "", "", None
            continue
        kind = value.get("type", value.get("$ref", "").rpartition("/")[2])
        yield name, kind, value.get("description", ""), value.get("enum")
        yield from schema_keys(value, name)
    if isinstance(node.get("items"), dict):
        yield from schema_keys(node["items"], path + "[]")


def body_of_schema(path):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    parts = [("A report", "report", schema)]
    parts += [(name, name, part) for name, part in schema.get("$defs", {}).items()]
    shown = ["<h1>Keys of a report</h1><p>Each key of the JSON that <code>crashhook show --json</code> "
             "prints. <code>[]</code> stands for each element of an array. A type that is a link is a "
             "section of this page.</p>"]
    sections = {anchor for _, anchor, part in parts if list(schema_keys(part, ""))}
    for title, anchor, part in parts:
        if anchor not in sections:
            continue
        shown.append(f'<h2 id="{slug(anchor)}">{html.escape(title)}</h2>' + table("key", "type", "meaning"))
        for name, kind, words, values in schema_keys(part, ""):
            kind = " or ".join(kind) if isinstance(kind, list) else kind
            link = f'<a href="#{slug(kind)}">{kind}</a>' if kind in sections else kind
            if values:
                words += " One of: " + ", ".join(str(value) for value in values) + "."
            whole = name if part is schema else f"{anchor}.{name}"
            shown.append(f'<tr><td id="{slug(anchor)}-{slug(name)}"><code>{html.escape(whole)}</code></td>'
                         f"<td>{link}</td><td>{html.escape(words.strip())}</td></tr>")
        shown.append("</table>")
    return "".join(shown)


def ask_collector(binary):
    """What a collector says of its requests, and of its metrics."""
    with tempfile.TemporaryDirectory(prefix="crashhook-site.") as folder:
        # A store of bodies has metrics of its own.
        with subprocess.Popen([binary, "--listen", "127.0.0.1:0", "--store", f"sqlite:{folder}/store.db",
                               "--body-store", os.path.join(folder, "bodies")],
                              stderr=subprocess.PIPE, text=True) as collector:
            try:
                lines = (re.search(r"http://\S+/", line) for line in collector.stderr)
                url = next(match[0] for match in lines if match)
                return [urllib.request.urlopen(url + path, timeout=10).read().decode()
                        for path in ("api/v1/openapi.json", "metrics")]
            finally:
                collector.terminate()


def body_of_requests(text):
    shown = ["<h1>Requests of the collector</h1><p>Each request with the scopes of which a token needs one, "
             'and its parameters. <a href="collector-api.html">API of the collector</a> has the answers.</p>',
             table("request", "what it does", "scope", "parameters")]
    for path, methods in sorted(json.loads(text)["paths"].items()):
        for method, about in methods.items():
            name = f"{method.upper()} {path}"
            taken = ", ".join(f"<code>{part['name']}</code>" for part in about.get("parameters", [])
                              if part["in"] == "query")
            shown.append(f'<tr><td id="{slug(name)}"><code>{html.escape(name)}</code></td>'
                         f"<td>{html.escape(about['summary'])}</td>"
                         f"<td>{', '.join(about.get('x-scopes', []))}</td><td>{taken}</td></tr>")
    return "".join(shown) + "</table>"


def body_of_metrics(text):
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.MULTILINE))
    shown = ["<h1>Metrics of the collector</h1><p>What <code>GET /metrics</code> prints for Prometheus. "
             'Alerts and a dashboard are in <a href="../how-to/monitor.html">Monitor a collector</a>.</p>',
             table("metric", "type", "meaning")]
    for name, words in sorted(re.findall(r"^# HELP (\w+) (.*)", text, re.MULTILINE)):
        shown.append(f'<tr><td id="{slug(name)}"><code>{name}</code></td><td>{kinds[name]}</td>'
                     f"<td>{html.escape(words)}</td></tr>")
    return "".join(shown) + "</table>"


def body_of_statuses(manuals):
    """The sections on exit statuses of the manual pages, whose bodies these are by their names."""
    shown = ["<h1>Exit statuses</h1>"]
    for name, body in sorted(manuals.items()):
        found = re.search(r'<h2 id="exit-status">.*?</h2>(.*?)(?=<h2|$)', body, re.DOTALL)
        if found:
            page = name.rpartition("/")[2]
            text = re.sub(r' id="[^"]*"', "", found[1])
            shown.append(f'<h2 id="{slug(page)}"><a href="../{name}.html">{page.rpartition(".")[0]}</a></h2>{text}')
    return "".join(shown)


def made_pages(docs, binary, manuals):
    """The title and the body of each page, by its name, as far as there is what it is made of."""
    pages = {}
    schema = os.path.join(docs, "report.schema.json")
    if os.path.exists(schema):
        pages["reference/report-keys"] = "Keys of a report", body_of_schema(schema)
    if manuals:
        pages["reference/exit-statuses"] = "Exit statuses", body_of_statuses(manuals)
    if os.access(binary, os.X_OK):
        requests, metrics = ask_collector(binary)
        pages["reference/requests"] = "Requests of the collector", body_of_requests(requests)
        pages["reference/metrics"] = "Metrics of the collector", body_of_metrics(metrics)
    return pages


def index_entries(name, title, body):
    """An entry of the search for each name of a page that has an anchor."""
    for _, anchor, markup, rest in NAMED.findall(body):
        yield {"page": f"{name}.html#{anchor}", "title": f"{plain(markup)} · {title}", "text": plain(NEXT.split(rest)[0])[:300]}


def body_of_index(entries):
    """All names of the reference, by their first letter."""
    letters = {}
    for entry in entries:
        shown, _, page = entry["title"].rpartition(" · ")
        letter = re.sub(r"[^a-z]", "", shown.removeprefix("CRASHHOOK_").lower())[:1] or "0"
        link = f'<li><a href="../{entry["page"]}">{html.escape(shown[:70])}</a> <small>{html.escape(page)}</small></li>'
        letters.setdefault(letter, []).append((shown.lower(), link))
    shown = ["<h1>Index</h1><p>Every variable, option, key, request, metric, setting, crash kind and function "
             "of the reference.</p>"]
    for letter, items in sorted(letters.items()):
        shown.append(f'<h2 id="{letter}">{letter.upper()}</h2><ul class="index">')
        shown += [link for _, link in sorted(items)] + ["</ul>"]
    return "".join(shown)
