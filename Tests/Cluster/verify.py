#!/usr/bin/env python3
"""Verifies what tasks have written, for the check of units on a cluster.

    verify.py task UNITS URL-PART TASKS      prints the number of the task that has the first URL with this part
    verify.py output UNITS OUT SET FORM      verifies reports and files; FORM is `tar` or `files`; prints the inodes of a unit
    verify.py bytes SET                      prints the number of bytes of all files that can be downloaded
"""
import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import server


def fail(message):
    sys.exit(f"verify: {message}")


def index(units):
    return json.loads((units / "index.json").read_text())["units"]


def urls(manifest):
    return [line.strip() for line in manifest.read_text().splitlines() if line.startswith("http")]


def parts(url):
    """The host, the set, and the number of a file."""
    _, _, host, of, number = url.split("/")
    return host.rpartition(":")[0], of, int(number)


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(units, out, of, form):
    expected = server.files(of)
    reports = {path.stem: json.loads(path.read_text()) for path in (out / "done").glob("*.json")}
    entries = index(units)
    if set(reports) != {entry["unit"] for entry in entries}:
        fail(f"{len(reports)} of {len(entries)} units have reports")
    lines = collections.Counter()
    for entry in entries:
        unit = entry["unit"]
        report, manifest = reports[unit], urls(units / f"{unit}.txt")
        results = {result["id"]: result for result in report["downloads"]}
        if len(manifest) != entry["count"] or sorted(results) != list(range(len(manifest))):
            fail(f"the report of unit {unit} has other lines than its manifest")
        if len(report["downloads"]) != len(results) or report["manifest"] != entry["sha256"]:
            fail(f"the report of unit {unit} has a line twice, or another digest")
        with tempfile.TemporaryDirectory() as folder:
            if form == "tar":
                archive = out / f"{unit}.tar"
                names = subprocess.run(["tar", "-tf", archive], check=True, capture_output=True, text=True).stdout.split()
                subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
                if sorted(names) != sorted(r["path"] for r in results.values() if r["result"] != "failed"):
                    fail(f"the archive of unit {unit} has other files than its report")
            place = pathlib.Path(folder) if form == "tar" else out
            for number, url in enumerate(manifest):
                lines[url] += 1
                check(results[number], url, place, expected)
    if set(lines.values()) != {1} or len(lines) != len(expected) + 2 * len(server.DEAD):
        fail("some lines are in several reports, or in none")
    inodes = sum(len(folders) + len(names) for _, folders, names in os.walk(out)) + len(entries)
    # The directory of the reports doesn't depend on the number of units.
    of_unit = (inodes - 1) / len(entries)
    if form == "tar":
        if of_unit > 3:
            fail(f"{of_unit} inodes for each unit")
        print(f"{of_unit:.2f}")


def check(result, url, place, expected):
    host, _, number = parts(url)
    if result["url"] != url:
        fail(f"the report has {result['url']} in the place of {url}")
    if host in server.DEAD or number == server.MISSING:
        reason = (result.get("code"), result.get("status"))
        if result["result"] != "failed" or (number == server.MISSING and reason != ("httpStatus", 404)):
            fail(f"{url}: {result}")
    else:
        file = expected[number]
        if result["result"] == "failed" or result["bytes"] != file.length:
            fail(f"{url}: {result}")
        # The result of a file that an earlier attempt has downloaded contains no digest.
        digests = sum_of(place / result["path"]), result.get("sha256")
        if set(digests) != {file.sha256}:
            fail(f"{url}: the file and its result have the digests {digests}, not {file.sha256}: {result}")


def main(command, *arguments):
    if command == "task":
        units, part, tasks = pathlib.Path(arguments[0]), arguments[1], int(arguments[2])
        print(next(e["lane"] % tasks for e in index(units) if any(part in u for u in urls(units / f"{e['unit']}.txt"))))
    elif command == "output":
        verify(pathlib.Path(arguments[0]), pathlib.Path(arguments[1]), *arguments[2:])
    elif command == "bytes":
        print(sum(file.length for file in server.files(arguments[0]) if file.number != server.MISSING))


if __name__ == "__main__":
    main(*sys.argv[1:])
