"""Tools on the relations of emails: who wrote and received them, when, what is attached, which pages they mention."""

from __future__ import annotations

from typing import Any

from planners.personal.day_ranges import day_ranges
from planners.personal.entity_columns import EMAIL, FILE, ME, PERSON, WEBPAGE
from planners.personal.entity_values import DatesOf, EmailsOf, FilesOf, PeopleOf, UserOf, WebpagesOf, entities
from planners.personal.opened_index import rows
from planners.personal.person_links import SELF

_FROM, _TO, _ANY = ("from",), ("to",), ("from", "to")
_DELIVERED = ("delivered",)  # to the user, though no header of the sender may say so


def list_senders_of_emails(email_ids: list[str]) -> PeopleOf:
    """List the people who sent the given emails.

    :param email_ids: ids of the emails.
    :returns: the sender of each email, with the id of the email as source_id.
    """
    return {"people": _people(email_ids, _FROM)}


def list_emails_sent_by_people(person_ids: list[str]) -> EmailsOf:
    """List the emails that the given people sent.

    :param person_ids: ids of the people who wrote the emails.
    :returns: the emails, each with the id of its sender as source_id.
    """
    return {"emails": _emails(person_ids, _FROM)}


def list_recipients_of_emails(email_ids: list[str]) -> PeopleOf:
    """List the people to whom the given emails were sent, as To, Cc or Bcc.

    :param email_ids: ids of the emails.
    :returns: the recipients of each email, with the id of the email as source_id.
    """
    return {"people": _people(email_ids, _TO)}


def list_emails_received_by_people(person_ids: list[str]) -> EmailsOf:
    """List the emails that were sent to the given people, as To, Cc or Bcc.

    :param person_ids: ids of the people who received the emails.
    :returns: the emails, each with the id of its recipient as source_id.
    """
    return {"emails": _emails(person_ids, _TO)}


def list_participants_of_emails(email_ids: list[str]) -> PeopleOf:
    """List everyone who takes part in the given emails, senders and recipients alike.

    :param email_ids: ids of the emails.
    :returns: the participants of each email, with the id of the email as source_id.
    """
    return {"people": _people(email_ids, _ANY)}


def list_emails_with_participants(person_ids: list[str]) -> EmailsOf:
    """List the email conversations in which the given people are participants, whether as sender or as recipient.

    :param person_ids: ids of the participants.
    :returns: the emails, each with the id of a participant as source_id.
    """
    return {"emails": _emails(person_ids, _ANY)}


def find_which_emails_i_sent(email_ids: list[str]) -> UserOf:
    """Find out which of the given emails I, the user, sent myself.

    :param email_ids: ids of the emails.
    :returns: me as the sender, once for each email that I sent, with the id of the email as source_id.
    """
    return {"user": _me(email_ids, _FROM)}


def list_emails_sent_by_me(user_ids: list[str]) -> EmailsOf:
    """List the emails that I, the user, sent: my sent mail.

    :param user_ids: the id of the user, which is "self".
    :returns: the emails, each with the id of the user as source_id.
    """
    return {"emails": _my_emails(user_ids, _FROM)}


def find_which_emails_i_received(email_ids: list[str]) -> UserOf:
    """Find out which of the given emails I, the user, received: those addressed or delivered to me.

    :param email_ids: ids of the emails.
    :returns: me as the recipient, once for each email that I received, with the id of the email as source_id.
    """
    return {"user": _me(email_ids, _TO + _DELIVERED)}


def list_emails_received_by_me(user_ids: list[str]) -> EmailsOf:
    """List the emails that I, the user, received: my incoming mail, addressed or delivered to me.

    :param user_ids: the id of the user, which is "self".
    :returns: the emails, each with the id of the user as source_id.
    """
    return {"emails": _my_emails(user_ids, _TO + _DELIVERED)}


def find_which_emails_involve_me(email_ids: list[str]) -> UserOf:
    """Find out in which of the given emails I, the user, am a participant, as sender or as recipient.

    :param email_ids: ids of the emails.
    :returns: me as a participant, once for each email that involves me, with the id of the email as source_id.
    """
    return {"user": _me(email_ids, _ANY + _DELIVERED)}


def list_emails_involving_me(user_ids: list[str]) -> EmailsOf:
    """List the emails in which I, the user, am a participant: those I sent and those I received.

    :param user_ids: the id of the user, which is "self".
    :returns: the emails, each with the id of the user as source_id.
    """
    return {"emails": _my_emails(user_ids, _ANY + _DELIVERED)}


def list_attachments_of_emails(email_ids: list[str]) -> FilesOf:
    """List the files that are attached to the given emails.

    :param email_ids: ids of the emails.
    :returns: the attachments, each with the id of its email as source_id.
    """
    found = rows(
        f"SELECT e.id AS source_id, {FILE} FROM email e JOIN attachment a ON a.email = e.row JOIN file f ON f.id = a.file "
        "WHERE e.shown AND e.id IN (SELECT value FROM json_each(:ids))",
        ids=email_ids,
    )
    return {"files": entities(found)}


def list_emails_with_attachments(file_ids: list[str]) -> EmailsOf:
    """List the emails that have the given files as attachments.

    :param file_ids: ids of the attached files.
    :returns: the emails, each with the id of the attachment as source_id.
    """
    found = rows(
        f"SELECT a.file AS source_id, {EMAIL} FROM attachment a JOIN email e ON e.row = a.email "
        "WHERE e.shown AND a.file IN (SELECT value FROM json_each(:ids))",
        ids=file_ids,
    )
    return {"emails": entities(found)}


def list_links_in_emails(email_ids: list[str]) -> WebpagesOf:
    """List the links in the given emails: the web pages whose URLs they mention.

    :param email_ids: ids of the emails.
    :returns: the web pages, each with the id of the email as source_id.
    """
    found = rows(
        f"SELECT e.id AS source_id, {WEBPAGE} FROM email e JOIN email_url u ON u.email = e.row JOIN webpage w ON w.url = u.url "
        "WHERE e.shown AND e.id IN (SELECT value FROM json_each(:ids))",
        ids=email_ids,
    )
    return {"webpages": entities(found)}


def list_emails_mentioning_webpages(webpage_ids: list[str]) -> EmailsOf:
    """List the emails that mention the given web pages, in their text or as a link.

    :param webpage_ids: ids of the web pages, which are their URLs.
    :returns: the emails, each with the id of the web page as source_id.
    """
    found = rows(
        f"SELECT u.url AS source_id, {EMAIL} FROM email_url u JOIN email e ON e.row = u.email "
        "WHERE e.shown AND u.url IN (SELECT value FROM json_each(:ids))",
        ids=webpage_ids,
    )
    return {"emails": entities(found)}


def get_dates_of_emails(email_ids: list[str]) -> DatesOf:
    """Get the date on which each of the given emails was sent.

    :param email_ids: ids of the emails.
    :returns: the day of each email in the user's time zone, with the id of the email as source_id.
    """
    found = rows(
        "SELECT id AS source_id, day || '/' || date(day, '+1 day') AS id FROM email "
        "WHERE shown AND day IS NOT NULL AND email.id IN (SELECT value FROM json_each(:ids))",
        ids=email_ids,
    )
    return {"dates": entities(found)}


def list_emails_sent_on_dates(date_ranges: list[str]) -> EmailsOf:
    """List the emails that were sent on the given dates or within date ranges.

    :param date_ranges: half-open ranges of days, as "2025-02-01/2025-03-01"; ".." for an open end.
    :returns: the emails, each with the date range as source_id.
    """
    found = rows(
        f"SELECT json_extract(r.value, '$[0]') AS source_id, {EMAIL} FROM json_each(:ranges) r "
        "JOIN email e ON e.day >= json_extract(r.value, '$[1]') AND e.day < json_extract(r.value, '$[2]') WHERE e.shown",
        ranges=day_ranges(date_ranges),
    )
    return {"emails": entities(found)}


def _people(email_ids: list[str], roles: tuple[str, ...]) -> list[Any]:
    found = rows(
        f"SELECT DISTINCT e.id AS source_id, {PERSON} FROM email e JOIN email_address a ON a.email = e.row "
        "JOIN person_address x ON x.address = a.address JOIN person p ON p.id = x.person "
        "WHERE e.shown AND e.id IN (SELECT value FROM json_each(:ids)) AND a.role IN (SELECT value FROM json_each(:roles))",
        ids=email_ids,
        roles=roles,
    )
    return entities(found)


def _emails(person_ids: list[str], roles: tuple[str, ...]) -> list[Any]:
    """Emails of persons in roles; the user is none of the persons."""
    return _emails_of([each for each in person_ids if each != SELF], roles)


def _my_emails(user_ids: list[str], roles: tuple[str, ...]) -> list[Any]:
    return _emails_of([each for each in user_ids if each == SELF], roles)


def _emails_of(person_ids: list[str], roles: tuple[str, ...]) -> list[Any]:
    found = rows(
        f"SELECT DISTINCT x.person AS source_id, {EMAIL} FROM person_address x JOIN email_address a ON a.address = x.address "
        "JOIN email e ON e.row = a.email WHERE e.shown AND x.person IN (SELECT value FROM json_each(:ids)) "
        "AND a.role IN (SELECT value FROM json_each(:roles))",
        ids=person_ids,
        roles=roles,
    )
    return entities(found)


def _me(email_ids: list[str], roles: tuple[str, ...]) -> list[Any]:
    found = rows(
        f"SELECT DISTINCT e.id AS source_id, {ME} FROM email e JOIN email_address a ON a.email = e.row "
        "JOIN person_address x ON x.address = a.address JOIN me ON me.id = x.person "
        "WHERE e.shown AND e.id IN (SELECT value FROM json_each(:ids)) AND a.role IN (SELECT value FROM json_each(:roles))",
        ids=email_ids,
        roles=roles,
    )
    return entities(found)
