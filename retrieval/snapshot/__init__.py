"""The snapshot on disk: layout, manifest, writer, reader, publishing, and a new version with other ranking weights."""
