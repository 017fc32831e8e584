"""Measures and prints the figures, and exits with status 1 if one misses its target; see core-figures."""
import collections
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

MOST_FILES = 90
MOST_FIELDS = 20
SIZE_LIMIT = 1100

SOURCES = pathlib.Path("Sources/AsyncDownloads")
START = re.compile(r"\$s14AsyncDownloads10DownloaderC(5start|13startDownload)")
WITNESSES = "$s14AsyncDownloads20TransferStateMachineVWV"
BRACES, OBSERVERS = "\0", "\1"

Function = collections.namedtuple("Function", "file line name")


def output(*command, input=None):
    return subprocess.run(command, input=input, stdout=subprocess.PIPE, check=True, text=True).stdout


def fail(reason):
    print(reason, file=sys.stderr)
    sys.exit(70)


def functions(program):
    """Returns the functions of the sources by address, and the address of the value witnesses."""
    addresses, witnesses = set(), None
    for line in output("llvm-nm", "--defined-only", program).splitlines():
        address, kind, name = line.split(None, 2)
        if kind in "TtWw": addresses.add("0x" + address)
        if name == WITNESSES: witnesses = int(address, 16)
    if witnesses is None: fail("the type TransferStateMachine is not in " + program)
    found, folder = {}, str(SOURCES.resolve()) + "/"
    lines = output("llvm-symbolizer", "--obj=" + program, "--output-style=JSON", "--no-demangle", input="\n".join(addresses))
    for line in lines.splitlines():
        entry = json.loads(line)
        # The other elements are functions that are inlined at the start of this one.
        symbol = entry["Symbol"][-1]
        address, file = int(entry["Address"], 16), symbol["StartFileName"]
        # What the compiler has generated has no line.
        if file.startswith(folder) and symbol["StartLine"] > 0 and symbol["StartAddress"] == entry["Address"]:
            # The suffixes are those of the parts of an asynchronous function, which count once.
            name = re.sub(r"T[QY]\d+_$", "", symbol["FunctionName"])
            found[address] = Function(file[len(folder):], symbol["StartLine"], name)
    if not any(START.match(function.name) for function in found.values()): fail("Downloader.start is not in " + program)
    return found, witnesses


class FileServer(http.server.ThreadingHTTPServer):
    """A server whose only file has 4 KiB."""

    body = os.urandom(4096)

    class RequestHandlerClass(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # The head and the body are sent together.
        wbufsize = -1

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(FileServer.body)))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
            self.end_headers()
            self.wfile.write(FileServer.body)

        def log_message(self, *arguments):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.RequestHandlerClass)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def download(program, found, witnesses, work):
    """Downloads a file, and returns the functions that were called, and the size of the state machine."""
    with open(work / "breakpoints", "w") as file:
        for address in sorted(found):
            file.write("%s %x\n" % ("s" if START.match(found[address].name) else "f", address))
        file.write("w %x\n" % witnesses)
    environment = dict(
        os.environ, LD_PRELOAD=str(work / "breakpoints.so"), BREAKPOINTS=str(work / "breakpoints"),
        CALLED=str(work / "called"), SWIFT_BACKTRACE="enable=no")
    url = "http://127.0.0.1:%d/file" % FileServer().server_port
    run = subprocess.run(
        [program, url, str(work / "file")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    if run.returncode != 0 or (work / "file").read_bytes() != FileServer.body:
        fail("the download failed with status %d\n%s" % (run.returncode, run.stdout.decode()))
    size, *called = (work / "called").read_text().split()
    if not called: fail("no function was called after Downloader.start")
    return {found[int(address, 16)] for address in called}, int(size)


def bodies(declaration, text):
    """Returns the text between the braces of each declaration that the expression matches."""
    for match in re.finditer(declaration + r"[^{}]*\{", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text[match.end():end - 1]


def fields(body):
    """Returns the number of stored properties in the body of a type that are not private, and of those that can be set."""
    # Each pair of braces becomes one character, which states whether it observes a stored property.
    braces = re.compile(r"\{(\s*(?:willSet|didSet)\b)?[^{}]*\}")
    while braces.search(body): body = braces.sub(lambda match: OBSERVERS if match[1] else BRACES, body)
    visible = settable = 0
    for line in body.splitlines():
        match = re.match(r"\s*((?:@\S+\s+)*(?:[a-z]+(?:\([a-z]+\))?\s+)*)(let|var)\s+(\w+(?:\s*,\s*\w+)*)\s*([:=].*)", line)
        # Braces belong to a computed property, unless they follow an equals sign.
        if not match or re.search(r"\b(static|class)\b", match[1]) or BRACES in match[4].split("=")[0]: continue
        if re.search(r"\b(file)?private\b(?!\()", match[1]): continue
        count = match[3].count(",") + 1
        visible += count
        if match[2] == "var" and "private(set)" not in match[1]: settable += count
    return visible, settable


def field_counts():
    """Returns the name and the fields of each type."""
    # Comments and string literals may contain braces.
    ignored = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    texts = [ignored.sub('""', path.read_text()) for path in sorted(SOURCES.rglob("*.swift"))]
    types = {"TransferStateMachine": [body for text in texts for body in bodies(r"\bstruct TransferStateMachine\b", text)]}
    for owner in ["ActiveTransfer", "Transfer"]:
        owners = (body for text in texts for body in bodies(r"\b(?:class|struct|enum|extension) %s\b(?!\.)" % owner, text))
        states = [state for body in owners for state in bodies(r"\bstruct State\b", body)]
        if states:
            types[owner + ".State"] = states
            break
    if sorted(map(len, types.values())) != [1, 1]: fail("the types whose fields are counted were not found")
    return {name: fields(found[0]) for name, found in types.items()}


def main():
    program, work, configuration, listing = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    found, witnesses = functions(program)
    called, size = download(program, found, witnesses, work)

    files = collections.defaultdict(list)
    for function in sorted(called): files[function.file].append(function)
    for file in sorted(files) if listing != "none" else []:
        print("%4d  %s" % (len(files[file]), file))
        if listing == "functions":
            names = "\n".join(function.name for function in files[file])
            names = output("swift", "demangle", "--compact", "--simplified", input=names)
            for function, name in zip(files[file], names.splitlines()): print("      %4d: %s" % (function.line, name))

    missed = []

    def report(figure, text, target, is_met):
        print("%s: %s (target: %s)" % (figure, text, target))
        if not is_met: missed.append(figure)

    text = "%d, with %d of %d functions" % (len(files), len(called), len(set(found.values())))
    is_release = configuration == "release"
    if is_release: report("files", text, "at most %d files" % MOST_FILES, len(files) <= MOST_FILES)
    else: print("files: %s (%s build)" % (text, configuration))
    counts = field_counts()
    for name, (visible, settable) in counts.items(): print("fields of %s: %d, of which %d can be set" % (name, visible, settable))
    visible, settable = map(sum, zip(*counts.values()))
    report("fields", "%d, of which %d can be set" % (visible, settable), "at most %d" % MOST_FIELDS, visible <= MOST_FIELDS)
    report("size", "%d bytes" % size, "less than %d" % SIZE_LIMIT, size < SIZE_LIMIT)
    if missed:
        print("missed: " + ", ".join(missed))
        sys.exit(1)


main()
