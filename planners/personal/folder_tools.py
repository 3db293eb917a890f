"""Tools on the relation of files and folders; an attachment has the folder of the file on disk that it is a copy of."""

from __future__ import annotations

from planners.personal.entity_columns import FILE, FOLDER
from planners.personal.entity_values import FolderFilesOf, FoldersOf, entities
from planners.personal.opened_index import rows


def list_folders_of_files(file_ids: list[str]) -> FoldersOf:
    """List the folders that contain the given files: their parent directories.

    An email attachment is in the folder of the file on disk with the same content, else with the same name and size.

    :param file_ids: ids of files on disk or of attachments.
    :returns: the folders, each with the id of the file as source_id and the reason why it is its folder.
    """
    found = rows(
        f"SELECT c.file AS source_id, {FOLDER}, c.reason FROM parent c JOIN folder d ON d.id = c.folder "
        "WHERE c.file IN (SELECT value FROM json_each(:ids))",
        ids=file_ids,
    )
    return {"folders": entities(found)}


def list_folder_contents(folder_ids: list[str]) -> FolderFilesOf:
    """List the contents of the given folders: the files in them, with the email attachments that are copies of these.

    :param folder_ids: ids of the folders, which are their paths.
    :returns: the files, each with the id of its folder as source_id and the reason why it is in it.
    """
    found = rows(
        f"SELECT c.folder AS source_id, {FILE}, c.reason FROM parent c JOIN file f ON f.id = c.file "
        "WHERE c.folder IN (SELECT value FROM json_each(:ids))",
        ids=folder_ids,
    )
    return {"files": entities(found)}
