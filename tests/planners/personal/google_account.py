"""A loopback server with the paths of Gmail and Google Calendar, over generated data."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from icalendar import Calendar

_PAGE = 20  # of fewer than a caller asks for, so that there are several


class GoogleAccount:
    """What the server answers from, and what it was asked."""

    def __init__(self, home: Path) -> None:
        archive = (home / "mail" / "archive.mbox").read_bytes()
        mails = [
            each.partition(b"\n")[2].removesuffix(b"\n") for each in re.split(rb"(?m)^From (?=somebody)", archive)[1:]
        ]
        mails += [path.read_bytes() for path in sorted((home / "mail" / "INBOX").rglob("*")) if path.is_file()]
        self.messages = {f"m{number:x}": content for number, content in enumerate(dict.fromkeys(mails))}
        self.calendars = {path.stem: _items(path) for path in sorted((home / "calendars").glob("*.ics"))}
        self.broken: set[str] = set()
        self.asked: list[str] = []
        self.refusals: list[int] = []
        """Statuses of the next answers."""
        self.given: set[str] = set()
        """What callers sent to say who they are."""
        self.circle = False

    def answer(self, path: str, query: Mapping[str, str]) -> Any:
        """The body of an answer; LookupError where there is none."""
        at = int(query.get("pageToken", "0"))
        more = {"nextPageToken": "0" if self.circle else str(at + _PAGE)}
        if path == "/gmail/v1/users/me/profile":
            return {"emailAddress": "alex.rivers@example.com"}
        if path == "/gmail/v1/users/me/messages":
            ids = list(self.messages)
            page = [{"id": each, "threadId": each} for each in ids[at : at + _PAGE]]
            return {"messages": page, **(more if at + _PAGE < len(ids) else {})} if page else {"resultSizeEstimate": 0}
        if path.startswith("/gmail/v1/users/me/messages/") and query["format"] == "raw":
            id_ = path.rsplit("/", 1)[-1]
            if id_ in self.broken:
                return {"id": id_}
            return {"id": id_, "raw": base64.urlsafe_b64encode(self.messages[id_]).decode().rstrip("=")}
        if path == "/calendar/v3/users/me/calendarList":
            return {"items": [{"id": name, "summary": name} for name in self.calendars]}
        found = re.fullmatch(r"/calendar/v3/calendars/([^/]+)/events", path)
        items = self.calendars[unquote(found[1]) if found else ""]
        return {"items": items[at : at + _PAGE], **(more if at + _PAGE < len(items) else {})}

    @contextmanager
    def served(self) -> Iterator[str]:
        """Run the server; yields its URL."""
        account = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                account.asked.append(self.path)
                account.given.add(self.headers.get("Authorization", ""))
                try:
                    if account.refusals:
                        raise LookupError
                    body, status = account.answer(url.path, {k: v[0] for k, v in parse_qs(url.query).items()}), 200
                except LookupError:
                    status = account.refusals.pop(0) if account.refusals else 404
                    body = {"error": {"code": status}}
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json; charset=UTF-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _items(path: Path) -> list[dict[str, Any]]:
    return [_item(event) for event in Calendar.from_ical(path.read_bytes()).walk("VEVENT")]


def _item(event: Any) -> dict[str, Any]:
    """An event as Google Calendar gives it."""
    start = event.decoded("DTSTART")
    end = event.decoded("DTEND") if "DTEND" in event else start + event.decoded("DURATION")
    uid = str(event["UID"])
    item: dict[str, Any] = {"id": uid, "iCalUID": uid, "status": "confirmed", "summary": str(event["SUMMARY"])}
    item |= {"start": _time(start), "end": _time(end)}
    if "LOCATION" in event:
        item["location"] = str(event["LOCATION"])
    if "RRULE" in event:
        gone = event["EXDATE"].dts[0].dt
        zone = gone.tzinfo.key
        item["recurrence"] = [f"RRULE:{event['RRULE'].to_ical().decode()}", f"EXDATE;TZID={zone}:{gone:%Y%m%dT%H%M%S}"]
    if "RECURRENCE-ID" in event:
        item |= {
            "id": f"{uid}_moved",
            "recurringEventId": uid,
            "originalStartTime": _time(event.decoded("RECURRENCE-ID")),
        }
    attendees = event.get("ATTENDEE", [])
    item["attendees"] = [
        {
            "email": str(each).removeprefix("mailto:"),
            "displayName": str(each.params["CN"]),
            "responseStatus": str(each.params["PARTSTAT"]).lower(),
        }
        for each in (attendees if isinstance(attendees, list) else [attendees])
    ]
    organizer = item["attendees"][0]["email"] if item["attendees"] else "alex.rivers@example.com"
    item["organizer"] = {"email": organizer}
    return item


def _time(moment: date | datetime) -> dict[str, str]:
    if not isinstance(moment, datetime):
        return {"date": moment.isoformat()}
    assert moment.tzinfo is not None
    return {"dateTime": moment.isoformat(), "timeZone": str(moment.tzinfo)}
