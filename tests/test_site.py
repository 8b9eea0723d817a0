"""`bench site`: complete pages, stable bytes, only what changed, no stranger obeyed."""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from bench.decide.budget_choice import planned
from bench.decide.query import Query
from bench.decide.selection import select
from bench.explain.bulk import known_runs
from bench.explain.columns import heads
from bench.explain.run import Lines, run_context
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from bench.site.load import read_content
from bench.site.search import search
from bench.site.serve import serving
from bench.site.text import Text
from tests.program import quick
from tests.site_pages import HOSTILE, PAYLOADS, SPIKE, SPIKED, contents, log

pytestmark = pytest.mark.slow


class Read(HTMLParser):
    """A page as a browser takes it: its tags, its names for links, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def ids(self) -> list[str]:
        return [found for _, attributes in self.tags if (found := attributes.get("id"))]

    @property
    def hrefs(self) -> list[str]:
        return [found for _, attributes in self.tags if (found := attributes.get("href"))]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Read]:
    """Every page by its path."""
    return {
        file.relative_to(site).as_posix(): Read(file.read_text("utf-8"))
        for file in site.rglob("*.html")
    }


def test_a_page_of_trends_without_any_says_why(pages: dict[str, Read]) -> None:
    """The logs here have no dates, so nothing can be followed."""
    page = pages["trends.html"]
    assert "No step time can be followed over time: " in page.text
    assert "Levels" not in page.text


def test_every_kind_of_page_is_there(pages: dict[str, Read]) -> None:
    kinds = {path.split("/")[0] for path in pages}
    assert kinds == {
        "index.html",
        "models",
        "runs",
        "sources",
        "compare.html",
        "findings.html",
        "failures.html",
        "trends.html",
        "sources.html",
        "about.html",
    }


def test_every_link_leads_somewhere(site: Path, pages: dict[str, Read]) -> None:
    ids = {path: {*page.ids} for path, page in pages.items()}
    lost = []
    for path, page in pages.items():
        for href in page.hrefs:
            if href == "data:,":
                continue
            target, _, anchor = href.partition("#")
            file = (
                (site / path).parent.joinpath(unquote(target)).resolve() if target else site / path
            )
            name = file.relative_to(site.resolve()).as_posix() if target else path
            if not file.is_file() or (anchor and anchor not in ids.get(name, ())):
                lost.append((path, href))
    assert not lost, lost[:10]


def test_names_of_a_page_are_its_own(pages: dict[str, Read]) -> None:
    for path, page in pages.items():
        assert len(page.ids) == len({*page.ids}), path


def test_nothing_inline_runs_and_nothing_leads_out(pages: dict[str, Read]) -> None:
    for path, page in pages.items():
        policy = [of.get("content") for tag, of in page.tags if of.get("http-equiv")]
        assert policy and str(policy[0]).startswith("default-src 'none'; script-src 'self'"), path
        for tag, attributes in page.tags:
            assert tag not in ("style", "img", "iframe", "object", "base", "b:"), (path, tag)
            assert tag != "script" or str(attributes["src"]).endswith("assets/site.js"), path
            assert not any(name.startswith("on") or name == "style" for name in attributes), (
                path,
                attributes,
            )
        assert not [
            href for href in page.hrefs if ":" in href.split("#")[0] and href != "data:,"
        ], path


def test_hostile_text_is_shown_as_text(site: Path, pages: dict[str, Read]) -> None:
    of_source = "".join(
        page.text for path, page in pages.items() if path.startswith("sources/hostile")
    )
    of_runs = "".join(page.text for path, page in pages.items() if path.startswith("runs/"))
    for at, name in enumerate(HOSTILE):
        assert name in of_source and name in of_runs
        shown = PAYLOADS[at % len(PAYLOADS)]
        if "\u202e" not in shown and "\u2028" not in shown:
            assert f"{name} {shown}" in of_source
    every = b"".join(contents(site).values()).decode()
    assert "\\u202egnirts" in of_source
    assert not re.search("[\u202e\u2066\u2028]", every)


def test_long_lines_are_bounded(pages: dict[str, Read]) -> None:
    [page] = [page for path, page in pages.items() if path == "sources/hostile.html"]
    assert "996,000 more characters" in page.text
    assert len(page.text) < 200_000


def test_data_are_calls_that_cannot_end_a_script(site: Path) -> None:
    files = [*(site / "data").rglob("*.js")]
    assert len(files) > 100
    for file in files:
        text = file.read_text("utf-8")
        found = re.fullmatch(r'bench_data\(("[^"]+"), (.*)\);\n', text, re.S)
        assert found, file
        assert json.loads(found[1]) == file.relative_to(site / "data").as_posix().removesuffix(
            ".js"
        )
        json.loads(found[2].replace("<\\/", "</").replace("<\\!--", "<!--"))
        assert "</" not in text and "<!--" not in text


def test_a_page_says_all_without_the_script(site: Path, pages: dict[str, Read]) -> None:
    overview = pages["index.html"].text
    assert "Best of each model and system" in overview and "13B" in overview
    model = (site / "models" / "1.3b.html").read_text()
    assert "tokens: as few as 25.4 on 8 devices, V100-32GB</strong>" in model
    assert re.search(r"Scaling efficiency: [\d.]+% to [\d.]+% on 64 devices<", model)
    assert "25.4 days per 100B tokens" in model and 'href="../runs/' in model and "<svg" in model
    run = next(
        page for path, page in pages.items() if path.startswith("runs/") and "004:44" in page.text
    )
    assert "Days to train" in run.text and "tokens_per_step / step_time_s" in run.text
    assert "sources/004.html#L44" in "".join(run.hrefs)


def test_a_spike_of_one_step_survives_the_buckets(site: Path) -> None:
    found = [file.read_text() for file in (site / "data" / "runs").rglob("series.js")]
    series = [json.loads(text[text.index(", ") + 2 : -3])["series"][0] for text in found]
    assert max(max(filter(None, one["hi"])) for one in series) == SPIKE
    assert len(series) == 2
    for one in series:
        assert abs(one["from"] + one["hi"].index(SPIKE) * one["width"] - SPIKED) < one["width"]
        assert len(one["n"]) <= 2000 and sum(one["n"]) == 5000


def test_names_are_taken_out(folder: Path) -> None:
    (folder / "run.log").write_text(
        "using world size: 8, data-parallel-size: 8\n"
        "[2024-01-01] frontier04512: Traceback in /home/aliceb/train/pretrain.py\n"
        + log()[:4000]
        + "RuntimeError: CUDA out of memory on frontier04512 /home/aliceb/train\n"
    )
    assert quick(folder, "-q", "ingest", ".").code == 0
    scrub = ("--scrub", "hosts,users,paths")
    assert quick(folder, "-q", "site", "-o", "out", *scrub).code == 0
    every = b"".join(contents(folder / "out").values()).decode()
    assert "aliceb" not in every
    assert "run.log" in every


def test_the_server_shows_the_site_to_this_machine_alone(site: Path) -> None:
    with serving(site, 0) as address:
        host, port = "127.0.0.1", int(address.rstrip("/").rpartition(":")[2])

        def asked(path: str, name: str = f"127.0.0.1:{port}", method: str = "GET") -> int:
            connection = http.client.HTTPConnection(host, port, timeout=10)
            connection.request(method, path, headers={"Host": name})
            status = connection.getresponse().status
            connection.close()
            return status

        assert asked("/") == asked("/assets/site.css") == asked("/data/search.js") == 200
        assert asked("/", f"localhost:{port}") == 200
        assert asked("/", "evil.example") == 403
        assert (
            asked("/.bench-site.json")
            == asked("/../results/train.log")
            == asked("/%2e%2e/results/train.log")
            == 404
        )
        assert asked("/data/") == 404
        assert asked("/", method="POST") == 501


def test_a_request_of_any_page_prints_nothing(
    site: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Scripts of every page in the browser can ask: for what no file is called, and hang up."""
    with serving(site, 0) as address:
        port = int(address.rstrip("/").rpartition(":")[2])

        def answered(path: str, *hosts: str) -> str:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as asking:
                names = "".join(f"Host: {host}\r\n" for host in hosts)
                asking.sendall(f"GET {path} HTTP/1.1\r\n{names}Connection: close\r\n\r\n".encode())
                return asking.recv(200).decode().split("\r\n")[0]

        assert "404" in answered("/index%00.html", "localhost")
        assert "403" in answered("/", f"127.0.0.1:{port}", "evil.example")
        assert "403" in answered("/", "127.0.0.1:80@evil.example")
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as asking:
                asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                asking.sendall(b"GET /data/search.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert "200" in answered("/", "localhost")
    printed = capfd.readouterr()
    assert printed.err == "" and printed.out == ""


def test_the_server_follows_no_link_out_of_the_site(tmp_path: Path) -> None:
    """A folder of pages that a stranger's repository brings along may have one."""
    folder, outside = tmp_path / "pages", tmp_path / "outside"
    for each in (folder, outside):
        each.mkdir()
        (each / "x.html").write_text(each.name)
    (folder / "away.html").symlink_to(outside / "x.html")
    (folder / "within.html").symlink_to("x.html")
    (folder / "away").symlink_to(outside)
    with serving(folder, 0) as address:
        for path, status in (("within", 200), ("away", 404), ("away/x", 404)):
            try:
                found = urllib.request.urlopen(f"{address}{path}.html", timeout=10).status
            except urllib.error.HTTPError as error:
                found = error.code
            assert found == status, path


def test_a_taken_port_is_an_error(site: Path) -> None:
    with serving(site, 0) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        with pytest.raises(BenchError, match="cannot serve on port"), serving(site, port):
            pass


def test_derivations_of_many_runs_are_those_of_each(site: Path) -> None:
    root = site.parent / "results"
    with open_read(root / "bench.duckdb") as warehouse:
        select(warehouse, Query())
        plan, lines = planned(warehouse, Query()), Lines(warehouse, root)
        runs = [run for (run,) in warehouse.rows("SELECT run_id FROM selected ORDER BY run_id")][
            ::25
        ]
        runs += [
            run
            for (run,) in warehouse.rows(
                "SELECT run_id FROM selected WHERE origin = 'log' ORDER BY ALL"
            )
        ]
        made = {one.run_id: [*heads(one, plan)] for one in known_runs(warehouse, lines, runs)}
        assert len(runs) > 10
        for run in runs:
            assert made[run] == [*heads(run_context(warehouse, lines, run), plan)]


def test_the_search_finds_runs_by_their_day_and_variables_by_their_value(swept: Path) -> None:
    with open_read(swept / "bench.duckdb") as warehouse:
        entries = search(read_content(warehouse, Query(), Text()))["entries"]
    days = [title for title, kind, *_ in entries if kind == "run" and "2026-11-20" in title]
    assert any(title.startswith("fugaku_dp2:") for title in days)
    flags = [entry for entry in entries if entry[1] == "environment"]
    assert "LD_PRELOAD=libtcmalloc.so · 17 runs" in [title for title, *_ in flags]
    assert all(href.endswith("#environment") for _, _, href in flags)


def test_runs_of_one_line_have_names_of_their_own(folder: Path) -> None:
    (folder / "wide.md").write_text(
        "# 7B on A100\n\n| GPUs | 8 | 16 | 1024 |\n|---|---|---|---|\n"
        "| Tokens/s/GPU | 4078 | 3939 | 3625 |\n| TFLOPs | 193 | 191 | 184 |\n"
    )
    assert quick(folder, "site", "wide.md", "-o", "public").code == 0
    titles = {
        found[1]
        for page in (folder / "public" / "runs").glob("*.html")
        if (found := re.search(r"<h1[^>]*>(.*?)(?: <span|</h1>)", page.read_text("utf-8")))
    }
    assert titles == {f"wide:3 ({n} devices)" for n in ("8", "16", "1,024")}
