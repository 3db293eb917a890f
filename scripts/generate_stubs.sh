#!/usr/bin/env bash
# Makes the Python stubs of the public contract: proto/**/*.proto -> egotools/v1/.
#
#   scripts/generate_stubs.sh           writes the stubs
#   scripts/generate_stubs.sh --check   changes nothing; fails, with the difference, when the stubs are stale
#
# Needs grpcio-tools and mypy-protobuf (the development dependencies). PYTHON names the interpreter that has them;
# without it the checkout's .venv is taken where there is one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C

mode="${1:-write}"
case "$mode" in
write | --check) ;;
*)
    echo "usage: $0 [--check]" >&2
    exit 2
    ;;
esac

python="${PYTHON:-}"
if [[ -z "$python" ]]; then
    if [[ -x .venv/bin/python ]]; then python=.venv/bin/python; else python=python3; fi
fi
# The plugins of mypy-protobuf are commands that stand beside the interpreter.
bin="$("$python" -c 'import os, sys; print(os.path.dirname(os.path.abspath(sys.executable)))')"
export PATH="$bin:$PATH"

made="$(mktemp -d)"
trap 'rm -rf "$made"' EXIT

mapfile -t protos < <(cd proto && find . -name '*.proto' | sed 's|^\./||' | sort)
"$python" -m grpc_tools.protoc --proto_path=proto \
    --python_out="$made" --grpc_python_out="$made" --mypy_out=quiet:"$made" --mypy_grpc_out=quiet:"$made" \
    "${protos[@]}"

stale=0
while IFS= read -r name; do
    if ! diff -u --label "$name (in the tree)" --label "$name (from proto/)" "$name" "$made/$name" 2>&1; then stale=1; fi
    if [[ "$mode" == write ]]; then
        mkdir -p "$(dirname "$name")"
        cp "$made/$name" "$name"
    fi
done < <(cd "$made" && find . -type f | sed 's|^\./||' | sort) >"$made.diff"
while IFS= read -r name; do
    [[ -e "$made/$name" ]] && continue
    echo "$name: no .proto makes it" >>"$made.diff"
    stale=1
    if [[ "$mode" == write ]]; then rm "$name"; fi
done < <(find egotools/v1 -name '*_pb2*.py*' -not -path '*/__pycache__/*' | sort)

if [[ "$mode" == --check && "$stale" == 1 ]]; then
    head -n 200 "$made.diff" >&2
    rm -f "$made.diff"
    echo "the stubs in egotools/v1 are stale: run scripts/generate_stubs.sh" >&2
    exit 1
fi
rm -f "$made.diff"
