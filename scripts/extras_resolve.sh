#!/usr/bin/env bash
# Every extra resolves on every version of Python that is named: versions are chosen, nothing is installed. Not part of CI.
set -uo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv failed=0 count=0
extras=$(.venv/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies'])")
for version in ${*:-3.11 3.12 3.13}; do
  for extra in "" $extras; do
    count=$((count + 1))
    if ! problem=$("$uv" pip compile pyproject.toml ${extra:+--extra "$extra"} --python-version "$version" --quiet --no-header -o /dev/null 2>&1); then
      failed=$((failed + 1)); echo "Python $version, extra '$extra': $(tail -3 <<<"$problem")" >&2
    fi
  done
done
echo "$((count - failed)) of $count resolve"
exit $((failed > 0))
