"""The tools of a library: methods of :data:`STOCK`, whose documents are built into a snapshot; another :class:`Library` may answer for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypedDict


class Book(TypedDict):
    """A book of the library."""

    id: str
    title: str
    published: str


class BookOf(Book):
    """A book of the author that source_id names."""

    source_id: str


class BookRecord(Book):
    """A book with the author who wrote it."""

    author_id: str
    name: str


class Author(TypedDict):
    """A person who writes books."""

    id: str
    name: str


class AuthorOf(Author):
    """An author of the book that source_id names."""

    source_id: str


class BooksOf(TypedDict):
    books: list[BookOf]


class AuthorsOf(TypedDict):
    authors: list[AuthorOf]


class Authors(TypedDict):
    authors: list[Author]


class Found(TypedDict):
    books: list[Book]


class Books(TypedDict):
    """A page of books."""

    books: list[Book]
    total: int
    next_offset: int | None


@dataclass
class Library:
    """Tables: id of an author → name; id of a book → (title, day of publication, ids of its authors)."""

    authors: dict[str, str]
    stock: dict[str, tuple[str, str, tuple[str, ...]]]
    broken: set[str] = field(default_factory=set)
    calls: list[tuple[str, object]] = field(default_factory=list)

    def _begun(self, name: str, given: object) -> None:
        self.calls.append((name, given))
        if name in self.broken:
            raise OSError(f"{name} is out of order")

    def _book(self, id_: str) -> Book:
        title, published, _ = self.stock[id_]
        return {"id": id_, "title": title, "published": published}

    def list_books_of_authors(self, author_ids: list[str]) -> BooksOf:
        """List the books that the given authors wrote.

        :param author_ids: ids of the authors.
        """
        self._begun("list_books_of_authors", author_ids)
        return {
            "books": [
                {**self._book(id_), "source_id": author}
                for author in author_ids
                for id_, (_, _, by) in self.stock.items()
                if author in by
            ]
        }

    def list_books_of_author(self, author_id: str) -> Found:
        """List the books that one author wrote.

        :param author_id: id of the author.
        """
        self._begun("list_books_of_author", author_id)
        return {"books": [self._book(id_) for id_, (_, _, by) in self.stock.items() if author_id in by]}

    def list_authors_of_books(self, book_ids: list[str]) -> AuthorsOf:
        """List the authors who wrote the given books.

        :param book_ids: ids of the books.
        """
        self._begun("list_authors_of_books", book_ids)
        pairs = [(id_, author) for id_ in book_ids for author in self.stock[id_][2]]
        return {"authors": [{"id": author, "name": self.authors[author], "source_id": id_} for id_, author in pairs]}

    def get_book(self, book_id: str) -> BookRecord:
        """Get the record of a book with the id of its author.

        :param book_id: id of the book.
        """
        self._begun("get_book", book_id)
        return {**self._book(book_id), "author_id": self.stock[book_id][2][0], "name": "of the book, not of its author"}

    def find_books(self, title_contains: str | None = None, limit: int = 3, offset: int = 0) -> Books:
        """Find books by words in their title.

        :param title_contains: text that the title contains.
        :param limit: the most books of an answer.
        :param offset: how many books to leave out.
        """
        self._begun("find_books", (title_contains, limit, offset))
        found = [id_ for id_, (title, _, _) in self.stock.items() if (title_contains or "") in title]
        following = offset + limit if offset + limit < len(found) else None
        page = [self._book(id_) for id_ in found[offset : offset + limit]]
        return {"books": page, "total": len(found), "next_offset": following}

    def find_authors(self, query: str = "") -> Authors:
        """Search authors by any text.

        :param query: text that the author's record contains.
        """
        self._begun("find_authors", query)
        return {"authors": [{"id": id_, "name": name} for id_, name in self.authors.items() if query in name]}

    def delete_books(self, book_ids: list[str]) -> BooksOf:
        """Delete books.

        :param book_ids: ids of the books.
        """
        self._begun("delete_books", book_ids)
        return {"books": []}


STOCK = Library(
    {"gaiman": "Neil Gaiman", "austen": "Jane Austen", "pratchett": "Terry Pratchett", "jane": "Jane"},
    {
        "b1": ("Emma", "1815-12-23", ("austen",)),
        "b2": ("Persuasion", "1817-12-20", ("austen",)),
        "b3": ("Good Omens", "1990-05-10", ("pratchett", "gaiman")),
        "b4": ("Small Gods", "1992-05-01", ("pratchett",)),
        "b5": ("Coraline", "2002-08-04", ("gaiman",)),
    },
)
"""What the functions answer from."""


__all__ = sorted(name for name, value in vars(Library).items() if name[0] != "_" and callable(value))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(STOCK, name)
