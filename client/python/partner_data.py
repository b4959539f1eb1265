"""A client for the partner data service, and a program that keeps a copy, in one file without dependencies.

Needs Python 3.9 or newer. The address of the service and the key are read from PARTNER_DATA_URL and PARTNER_DATA_KEY.

    from partner_data import PartnerData
    for contract in PartnerData().stream("contracts", q="fire"):
        print(contract["id"], contract["name"])

    python3 partner_data.py mirror copy.sqlite  # each run brings the copy up to date
"""

from __future__ import annotations

import csv, gzip, http.client, io, json, logging, os, random, re, sqlite3, sys, time, zlib
import urllib.error, urllib.parse, urllib.request
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, TypedDict

FEED = ("contracts", "solicitations", "suppliers")
REFERENCES = ("lead-entities", "coops", "city-services", "certifications")
KINDS = (*REFERENCES, "suppliers", "contracts", "solicitations")
JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"
TRANSIENT = (429, 500, 502, 503, 504)
MAX_RETRY_AFTER = 90  # seconds: a longer wait is an error at once
log = logging.getLogger("partner_data")

# The records, as the reference describes them.
Text = Optional[str]
Entries = List[Dict[str, Any]]
Named = TypedDict("Named", {"id": str, "name": str})
EmbeddedSupplier = TypedDict("EmbeddedSupplier", {
    "id": str, "name": str, "states_served": List[str], "location": Text, "logo": Text, "email": Text, "website": Text,
})
Supplier = TypedDict("Supplier", {
    "id": str, "name": str, "states_served": List[str], "location": Text, "logo": Text, "email": Text, "website": Text,
    "certifications": List[str], "updated_at": str,
})
Contract = TypedDict("Contract", {
    "id": str, "name": str, "summary": Text, "description": Text, "lead_entity": Named, "coop": Optional[Named],
    "suppliers": List[EmbeddedSupplier], "city_services": List[Named], "updated_at": str,
})
Solicitation = TypedDict("Solicitation", {
    "id": str, "ref": int, "reference_number": str, "title": str, "status": str, "issuing_organization": Text,
    "lead_entity": Named, "open_at": Text, "close_at": Text, "questions_due_at": Text, "intent_to_bid_due_at": Text,
    "is_open": bool, "updated_at": str,
})
SolicitationDetail = TypedDict("SolicitationDetail", {
    "id": str, "ref": int, "reference_number": str, "title": str, "status": str, "issuing_organization": Text,
    "lead_entity": Named, "open_at": Text, "close_at": Text, "questions_due_at": Text, "intent_to_bid_due_at": Text,
    "is_open": bool, "updated_at": str, "description": Text, "require_intent_registration": bool, "created_at": str,
    "nigp_codes": Entries, "documents": Entries, "requested_items": Entries, "notices": Entries, "questions": Entries,
})
Response = NamedTuple("Response", [("status", int), ("headers", Any), ("text", str)])
# A record that changed or became visible to you, with its details; None for one that you can no longer see.
Change = NamedTuple("Change", [("kind", str), ("id", str), ("record", Any)])
# A part of a listing of changes. The last one has no `cursor`, but a `watermark`, to save and to pass next time, and
# `totals`, the numbers of records to compare a copy with, if they are known. If `reset` is true, delete
# what the listing did not have once it has ended. `is_first` is true again if it begins again: its cursor was refused.
Piece = NamedTuple("Piece", [
    ("changes", List[Change]), ("is_first", bool), ("cursor", Text), ("reset", bool), ("watermark", Text),
    ("totals", Optional[Dict[str, int]]),
])


class PartnerDataError(Exception):
    """A request that failed, after retries if they could help, or a copy that cannot be used."""

    status = 0  # of the response, if there was one
    code = request_id = ""  # of a response of the service: "not_found", and what to quote when you contact support
    is_transient, retry_after = False, 0.0  # in seconds

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.__dict__.update(details)


class PartnerData:
    """The service, as a key sees it. Failures that can pass are tried again: no whole response, and the statuses 429,
    500, 502, 503 and 504; up to `retries` times, after random waits that double up to ten seconds, and not before
    Retry-After has passed. `timeout` is how long to wait until something arrives, in seconds."""

    def __init__(self, url: str = "", key: str = "", *, timeout: float = 60, retries: int = 4) -> None:
        self.url = (url or os.environ.get("PARTNER_DATA_URL", "")).rstrip("/")
        self._key = key or os.environ.get("PARTNER_DATA_KEY", "")
        if re.fullmatch(r"https?://[^\s@?#]+", self.url) is None:
            raise PartnerDataError("set PARTNER_DATA_URL to the address of the service, like https://api.example.com")
        # Otherwise, the header could not be sent, and the error would show it.
        if re.fullmatch("[!-~]+", self._key) is None:
            raise PartnerDataError("set PARTNER_DATA_KEY to your API key, exactly as issued")
        self._timeout, self._retries, self._key_ends_at = timeout, retries, ""
        self._opener = urllib.request.build_opener(_AsReceived)

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON of a path, such as `/v1/contracts/ctr_1` or `/v1/solicitations/count`."""
        return self._read(_target(path, parameters), JSON, lambda response: json.loads(response.text))

    def fetch(self, target: str, accept: str = JSON, etag: Text = None) -> Response:
        """The response of a path with its query. If nothing changed since the one with this ETag, its status is 304."""
        return self._read(target, accept, lambda response: response, etag)

    def stream(self, kind: str, **filters: Any) -> Iterator[Any]:
        """All records of a list, in pieces of 10,000 or `limit`. None is returned before its piece is whole."""
        return self._records(kind, "ndjson", NDJSON, filters, lambda text: map(json.loads, _lines(text)))

    def rows(self, kind: str, **filters: Any) -> Iterator[Dict[str, str]]:
        """The same as rows of a table: text by column, such as `lead_entity.name`. A list in a record is JSON."""
        return self._records(kind, "csv", CSV, filters, lambda text: csv.DictReader(io.StringIO(text, newline="")))

    def changes(self, updated_since: Text = None, kinds: Any = None, cursor: Text = None, *, limit: int = 10_000,
                parse: Callable[[str], Any] = json.loads) -> Iterator[Piece]:
        """What changed or was removed since a watermark, in pieces; without one, everything. `parse=str` leaves records
        as JSON. To continue a listing, pass the `cursor` of its last piece, and the same arguments as before."""
        query = {"updated_since": updated_since, "kinds": kinds, "cursor": cursor, "limit": limit, "format": "ndjson"}
        for (lines, meta), is_first in self._follow("/v1/changes", NDJSON, query, _parse_changes, begins_again=True):
            changes = [Change(kind, id, record and parse(record)) for kind, id, record in lines]
            yield Piece(changes, is_first, meta["next_cursor"], meta["reset"], meta["watermark"], meta.get("totals"))

    def _records(self, kind: str, name: str, accept: str, filters: Any, parse: Any) -> Iterator[Any]:
        def parse_piece(response: Response) -> Any:
            _lines(response.text)
            # Nothing else of the link is used, so no other host is requested.
            link = re.search(r'<[^>?]*\?([^>]*)>; *rel="next"', response.headers.get("Link", ""))
            return list(parse(response.text)), link and urllib.parse.parse_qs(link[1])["cursor"][0]

        query = {"limit": 10_000, **filters, "format": name}
        return (record for records, _ in self._follow(f"/v1/{kind}", accept, query, parse_piece) for record in records)

    def _follow(self, path: str, accept: str, query: Any, parse: Any, begins_again: bool = False) -> Iterator[Any]:
        """The parts of a listing, each with whether it is the first."""
        seen = {query.get("cursor")}
        while True:
            try:
                part, cursor = self._read(_target(path, query), accept, parse)
            except PartnerDataError as error:
                if error.status != 400 or query.get("cursor") is None or not begins_again:
                    raise
                begins_again, seen, query = False, set(), {**query, "cursor": None}
                continue
            if cursor is not None and cursor in seen:
                raise PartnerDataError(f"{path}: the response repeats a cursor, so the listing would never end")
            yield part, query.get("cursor") is None
            if cursor is None:
                return
            seen.add(cursor)
            query = {**query, "cursor": cursor}

    def _read(self, target: str, accept: str, parse: Callable[[Response], Any], etag: Text = None) -> Any:
        retry = 0
        while True:
            try:
                return self._receive(target, accept, parse, etag)
            except PartnerDataError as error:
                retry += 1
                if not error.is_transient or retry > self._retries or error.retry_after > MAX_RETRY_AFTER:
                    raise
                pause = error.retry_after + random.uniform(0, min(10, 0.125 * 2**retry))
                log.log(logging.WARNING if pause >= 5 else logging.INFO, "%s; retrying in %.0f s", error, pause)
            time.sleep(pause)

    def _receive(self, target: str, accept: str, parse: Callable[[Response], Any], etag: Text) -> Any:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": accept, "Accept-Encoding": "gzip"}
        headers.update({"If-None-Match": etag} if etag else {})
        request = urllib.request.Request(self.url + target, headers=headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as received:
                body = received.read()  # not with a size: of a response that was cut, that would return a part
            body = gzip.decompress(body) if received.headers.get("Content-Encoding") == "gzip" and body else body
            response = Response(received.status, received.headers, body.decode())
            ends_at = response.headers.get("X-Key-Expires-At", "")
            if ends_at != self._key_ends_at and re.fullmatch("[0-9TZ:.-]+", ends_at):
                self._key_ends_at = ends_at
                log.warning("the API key ends at %s: change to another key before", ends_at)
            if response.status == 200 and not response.headers.get("Content-Type", "").startswith(accept):
                raise ValueError(f"it is not {accept}")
            if response.status == 200 or (response.status == 304 and etag):
                return parse(response)
            raise _error_of(target, response)
        except (OSError, http.client.HTTPException, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            message = f"{target}: no whole response from {self.url}: {error or type(error).__name__}"
            raise PartnerDataError(message, is_transient=True) from error


class _AsReceived(urllib.request.HTTPErrorProcessor):
    def http_response(self, request: Any, response: Any) -> Any:
        return response  # a redirect too: it could carry the key to another host
    https_response = http_response


def _error_of(target: str, response: Response) -> PartnerDataError:
    status, after = response.status, response.headers.get("Retry-After", "")
    try:
        error = json.loads(response.text)["error"]
        code, request_id, message = error["code"], error["request_id"], f"{error['message']} ({error['request_id']})"
    except (ValueError, KeyError, TypeError):
        code, request_id, message = "", "", f"{target}: no response of the service: check the address, and any proxy"
    details = {"status": status, "code": code, "request_id": request_id, "is_transient": status in TRANSIENT}
    details["retry_after"] = float(after) if after.isdigit() else 0.0
    return PartnerDataError(f"{status} {code} {message}".replace("  ", " "), **details)


def _target(path: str, parameters: Dict[str, Any]) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    texts = {name: ",".join(value) if isinstance(value, (list, tuple)) else value for name, value in given.items()}
    return f"{path}?{urllib.parse.urlencode(texts)}" if texts else path


def _lines(text: str) -> List[str]:
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError("it ends within a line")
    return lines


def _parse_changes(response: Response) -> Any:
    """Kind, id and JSON of each change, and the last line, which says how to continue."""
    lines = _lines(response.text)
    meta = json.loads(lines.pop() if lines else "{}")["meta"]
    # Exactly one of both is given. Otherwise, a listing would end early, or never.
    if [isinstance(meta[name], str) for name in ("next_cursor", "watermark")].count(True) != 1:
        raise ValueError("its last line has neither a cursor nor a watermark, or both")
    changes = [(found[1], found[2], found[3]) for found in map(CHANGE.fullmatch, lines)]
    return (changes, meta), meta["next_cursor"]


# The tables of the client's mirror with the fields that are columns, and the columns of its view of solicitations.
TABLES = {
    "lead_entities": "name", "coops": "name", "city_services": "name", "certifications": "abbreviation name type",
    "suppliers": "name location email website updated_at", "stored_solicitations": "status close_at",
    "contracts": "name lead_entity.id coop.id summary updated_at",
}
SHOWN = """ref reference_number title status issuing_organization lead_entity.id open_at close_at questions_due_at
  intent_to_bid_due_at updated_at"""
TABLE = {kind: "stored_solicitations" if kind == "solicitations" else kind.replace("-", "_") for kind in KINDS}
CHANGE: Any = re.compile(r'{"kind":"([a-z-]+)","id":"([^"\\]+)",(?:"record":(.*)|"removed":true)}', re.DOTALL)


def _layout() -> str:
    def field(path: str, template: str) -> str:
        return template.format(path.replace(".", "_"), f"json_extract(record, '$.{path}')")

    layout = """create table mirror_state (name text primary key not null, value text not null);
      create table unreported_changes (kind text not null, id text not null, change text not null, before text,
      primary key (kind, id)) without rowid;"""
    for table, paths in TABLES.items():
        columns = "".join(field(path, ", {} text generated always as ({}) stored") for path in paths.split())
        layout += f"create table {table} (id text primary key not null, record text not null{columns});"
    for name in ("supplier", "city_service"):
        layout += f"""create table contract_{name}s (contract_id text not null, {name}_id text not null,
          primary key (contract_id, {name}_id)) without rowid;
          create index contracts_of_{name} on contract_{name}s ({name}_id);"""
    is_open = "(status = 'open' and (close_at is null or close_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))"
    record = f"json_set(record, '$.is_open', json(case when {is_open} then 'true' else 'false' end))"
    shown = ", ".join(path if path in ("status", "close_at") else field(path, "{1} as {0}") for path in SHOWN.split())
    for view, columns in (("solicitations", f"{shown}, {is_open} as is_open, {record} as record"),
                          ("solicitation_details", f"{is_open} as is_open, {record} as detail")):
        layout += f"create view {view} as select id, {columns} from stored_solicitations;"
    return layout


class _Copy:
    def __init__(self, client: PartnerData, path: str) -> None:
        self.client, self.changed = client, {kind: [0, 0] for kind in KINDS}
        self.lock = sqlite3.connect(os.path.realpath(path) + "-lock", timeout=0)
        try:
            self.lock.execute("begin exclusive")
        except sqlite3.OperationalError as error:
            raise PartnerDataError(f"{path}: another mirror is using it ({error})") from error
        self.database = sqlite3.connect(path, timeout=10)
        self.run = self.database.execute
        pragmas = ("application_id", "user_version", "schema_version")
        application, version, schema = (self.run(f"pragma {name}").fetchone()[0] for name in pragmas)
        if schema == 0 == application:
            identity = "pragma application_id = 0x50444D72; pragma user_version = 2"
            self.database.executescript(f"pragma journal_mode = wal; begin immediate; {identity}; {_layout()} commit")
        elif (application, version) != (0x50444D72, 2):
            raise PartnerDataError(f"{path} is no copy that this version can continue. Choose another file")
        self.run("pragma synchronous = normal")
        saved = self.run("select value from mirror_state where name = 'state'").fetchone()
        self.state: Any = {"service": client.url, "isFirstCopy": True}
        self.begin_again(partner=None, kinds=None)
        self.state.update(json.loads(saved[0]) if saved else {})
        self.state.pop("held", None)  # the client's mirror then counts again
        if self.state["service"] != client.url:
            raise PartnerDataError(f"{path} is a copy of {self.state['service']}. Choose another file")

    def begin_again(self, **state: Any) -> None:
        references = {"watermark": None, "etags": dict.fromkeys(REFERENCES)}
        self.state.update(state, watermark=None, listing=None, references=references)

    def save(self) -> None:  # in the transaction of what was written before
        self.run("insert or replace into mirror_state values ('state', ?)", (json.dumps(self.state),))
        self.database.commit()

    def put(self, kind: str, id: str, record: Text) -> None:
        """Stores a record, or removes it if it is None."""
        if record is None:
            changed = self.run(f"delete from {TABLE[kind]} where id = ?", (id,)).rowcount
        else:
            # Time alone changes it: the views compute it.
            record = record.replace('"is_open":true', '"is_open":false', 1) if kind == "solicitations" else record
            upsert = "on conflict (id) do update set record = excluded.record where record <> excluded.record"
            changed = self.run(f"insert into {TABLE[kind]} (id, record) values (?, ?) {upsert}", (id, record)).rowcount
        self.changed[kind][record is None] += changed
        for field in ("supplier", "city_service") if kind == "contracts" and changed else ():
            self.run(f"delete from contract_{field}s where contract_id = ?", (id,))
            links = f"select ?, json_extract(value, '$.id') from json_each(?, '$.{field}s')"
            self.run(f"insert or ignore into contract_{field}s {links}", (id, record or "{}"))

    def remove_others(self, kind: str, listed: Any, after: str = "", until: str = "\U0010ffff") -> None:
        query = f"select id from {TABLE[kind]} where id > ? and id <= ?"
        for (id,) in self.run(query, (after, until)).fetchall():
            if id not in listed:
                self.put(kind, id, None)

    def save_piece(self, piece: Piece, last: Any) -> None:
        """Saves a piece. If the listing is complete, removes what it lacks, from the piece before up to its own end."""
        end: Any = {**dict(zip(("kind", "id"), piece.changes[-1])), "record": None} if piece.changes else last
        first, stop = FEED.index(last["kind"]) if last else 0, FEED.index(end["kind"]) + 1 if end else 0
        is_last = piece.watermark is not None
        for kind in FEED[first : len(FEED) if is_last else stop] if piece.reset else ():
            after = last["id"] if last and last["kind"] == kind else ""
            until = end["id"] if not is_last and end["kind"] == kind else "\U0010ffff"
            self.remove_others(kind, {change.id for change in piece.changes if change.kind == kind}, after, until)
        for change in piece.changes:
            self.put(*change)
        listing = {"cursor": piece.cursor, "isComplete": piece.reset, "watermark": None, "last": end}
        self.state.update({"watermark": piece.watermark, "listing": None} if is_last else {"listing": listing})
        self.save()

    def list_changes(self, is_again: bool = False) -> None:
        listing, kinds, totals = self.state["listing"], [kind for kind in FEED if kind in self.state["kinds"]], {}
        cursor = listing and listing["cursor"]
        for piece in self.client.changes(self.state["watermark"], kinds, cursor, parse=str) if kinds else ():
            self.save_piece(piece, None if piece.is_first else self.state["listing"]["last"])
            totals = piece.totals or {}
        differs = any(kind in kinds and self.count(kind) != total for kind, total in totals.items())
        if differs and is_again:
            raise PartnerDataError("the copy has other numbers of records than the service, again: contact support")
        if differs:
            log.warning("the copy has other numbers of records than the service: everything is read again")
            self.begin_again()
        # A listing that was continued began before this run: another one lists what changed since.
        if differs or listing is not None:
            self.list_changes(differs)

    def count(self, kind: str) -> int:
        return self.run(f"select count(*) from {TABLE[kind]}").fetchone()[0]

    def read_references(self) -> None:
        """Reads the short lists again, if anything was published since they were read."""
        references, watermark, is_current = self.state["references"], self.state["watermark"], True
        if watermark is not None and references["watermark"] == watermark:
            return
        for kind in [kind for kind in REFERENCES if kind in self.state["kinds"]]:
            parse = lambda response: (response, _lines(response.text))
            response, lines = self.client._read(f"/v1/{kind}", NDJSON, parse, references["etags"][kind])
            # A process that has not noticed the last release yet can still send the list from before.
            is_current = is_current and response.headers.get("X-Sync-Watermark", "") >= (watermark or "")
            if response.status == 200:
                records = {json.loads(line).get("id") or json.loads(line)["abbreviation"]: line for line in lines}
                self.remove_others(kind, records)
                for id, record in records.items():
                    self.put(kind, id, record)
                references["etags"][kind] = response.headers.get("ETag")
        references["watermark"] = watermark if is_current else None
        self.save()


def mirror(client: PartnerData, path: str) -> Dict[str, Any]:
    """Brings a copy in SQLite up to date with all that the key sees. The client's mirror can continue it, and the other
    way around. Returns how many records of each kind the copy has, how many of these are new or changed, and how many
    were removed; None for a kind that the key cannot read."""
    copy = _Copy(client, path)
    try:
        key = client.get("/v1/key")
        kinds = [kind for kind in KINDS if kind in key["kinds"]]
        # A copy has the records of one partner and of its kinds.
        if (copy.state["partner"], copy.state["kinds"]) != (key["partner"], kinds):
            copy.begin_again(partner=key["partner"], kinds=kinds)
        for kind in set(KINDS).difference(kinds):
            copy.remove_others(kind, ())
        copy.list_changes()
        copy.read_references()
        copy.state["isFirstCopy"] = False
        copy.save()
        return {kind: [copy.count(kind), *copy.changed[kind]] if kind in kinds else None for kind in KINDS}
    finally:
        copy.database.close()
        copy.lock.close()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "mirror":
        sys.exit("usage: python3 partner_data.py mirror FILE; see PARTNER_DATA_URL and PARTNER_DATA_KEY")
    try:
        report = mirror(PartnerData(timeout=120, retries=8), sys.argv[2])
    except (PartnerDataError, sqlite3.Error) as error:
        sys.exit(f"partner_data: {ascii(str(error))[1:-1]}")  # no text of others reaches the terminal as it is
    print(f"{'':16}{'held':>12}{'changed':>12}{'removed':>12}")
    for kind, numbers in report.items():
        print(f"{kind:16}" + ("no access" if numbers is None else "".join(f"{number:>12,}" for number in numbers)))
