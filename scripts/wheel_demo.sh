#!/usr/bin/env bash
# The wheel in dist/ works by itself: an empty environment with the locked dependencies, the wheel, and `egotools demo` in an empty
# folder without a network (a network namespace of its own that has loopback only).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD wheels=("$PWD"/dist/egotools-*.whl)
uv=$root/.venv/bin/uv
[[ ${#wheels[@]} == 1 && -f ${wheels[0]} ]] || { echo "dist/ needs one wheel: run make dist" >&2; exit 1; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
"$uv" venv --quiet --python "$(readlink -f .venv/bin/python)" "$work/venv"
"$uv" pip install --quiet --python "$work/venv/bin/python" --require-hashes -r requirements/default.txt
"$uv" pip install --quiet --python "$work/venv/bin/python" --no-deps "${wheels[0]}"
# The client alone: three packages, of the same locked versions.
clients=("$root"/dist/egotools_client-*.whl)
"$uv" venv --quiet --python "$(readlink -f .venv/bin/python)" "$work/client"
"$uv" pip install --quiet --python "$work/client/bin/python" -c requirements/default.txt "${clients[0]}"
"$work/client/bin/python" -c "import egotools.client, egotools.integrations, egotools.calling.mcp_invoker"
mkdir "$work/empty"; cd "$work/empty"
"$work/venv/bin/python" -c "import services, sys; sys.exit(not services.__file__.startswith('$work'))"
alone=(unshare --net --map-root-user -- sh -c 'ip link set lo up && exec "$@"' sh)
"${alone[@]}" true 2>/dev/null || { echo "no network namespace can be made here: the demo runs with the network" >&2; alone=(); }
"${alone[@]}" "$work/venv/bin/egotools" demo >"$work/output" || { tail -30 "$work/output" >&2; exit 1; }
# Its lines are broken where the terminal ends. More requests may be complete, not fewer.
shown=$(tr -s '[:space:]' ' ' <"$work/output")
complete=$(sed -nE 's/.*among the first 10 for ([0-9]+) of 36 sample requests asked whole.*/\1/p' <<<"$shown")
[[ ${complete:-0} -ge 19 ]] || { echo "the demo completes ${complete:-no} of 36 requests, not 19 or more" >&2; exit 1; }
grep -oF "answer 2: 5105600123, 5105600144" <<<"$shown"
[[ -z $(ls -A) ]] || { echo "the demo left files: $(ls -A)" >&2; exit 1; }
