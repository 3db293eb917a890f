#!/usr/bin/env bash
# Resolve the lock files: one for the default install, one for each extra on top of it but those of agent frameworks
# (they go into the environment of somebody's agent), one for development, and one for
# the environment of each peer that is measured beside egotools (with our versions of what both use).
# Hashes are kept, addresses of package indexes are not. Give package names to upgrade just those.
set -euo pipefail
cd "$(dirname "$0")/.."
upgrade=(); for name in "$@"; do upgrade+=(--upgrade-package "$name"); done
options=(--generate-hashes --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url
  --no-emit-find-links --quiet "${upgrade[@]}")
uv pip compile pyproject.toml --extra build "${options[@]}" -o requirements/default.txt
for extra in llm mcp aws ladybug personal neo4j rdf files sandbox web rest ray torch; do
  uv pip compile pyproject.toml --extra build --extra "$extra" -c requirements/default.txt "${options[@]}" -o "requirements/$extra.txt"
done
uv pip compile pyproject.toml --extra build --extra llm --extra mcp --extra aws --extra ladybug --extra personal --extra neo4j --extra rdf --extra files --extra sandbox --extra web --extra rest \
  --extra ray --extra langchain --extra llamaindex --extra openai-agents --extra pydantic-ai --extra haystack \
  --group dev -c requirements/default.txt "${options[@]}" \
  --no-emit-package rfc3987-syntax --no-emit-package lark -o requirements/dev.txt # jsonschema without the format iri: 3 s less at its import
uv pip compile pyproject.toml --extra build --group docs -c requirements/dev.txt "${options[@]}" -o requirements/docs.txt
for peer in benchmarks/peers/*.in; do
  uv pip compile "$peer" -c requirements/default.txt "${options[@]}" -o "${peer%.in}.txt"
done
if grep -nE 'https?://|index-url' requirements/*.txt benchmarks/peers/*.txt; then
  echo "a lock file names an address" >&2
  exit 1
fi
