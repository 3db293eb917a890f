#!/bin/sh
# Makes the root file system of an image, without a container engine and without privileges:
#
#   deploy/container/root.sh serve FOLDER    what answers requests: read-only, no shell, no package manager
#   deploy/container/root.sh build FOLDER    what builds stores too: every reader of documents, sources of AWS, Google and MCP, models behind an address
#
# Needs Debian 12 with its package lists (apt-get update) and a Python 3.11 with pip; PYTHON names another than python3.11.
# The Containerfile runs it, and tests/deploy/test_image.py, under bubblewrap.
set -eu
target=${1:?serve or build} root=${2:?the folder to make}
here=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3.11}
site=$root/usr/local/lib/python3.11/dist-packages # where Debian's Python looks
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# Distributions of the locks that nothing imports in an image: downloads of models, building of packages; and, while a store is served
# read-only, the merging of names.
case $target in
serve) extras="rest mcp" unused=" faiss-cpu hf-xet setuptools " ;;
build) extras="rest mcp llm aws" unused=" hf-xet setuptools " ;;
*) echo "$0: serve or build, not $target" >&2 && exit 2 ;;
esac

# The C library, Python without its tools, and certificate authorities: no shell, no other program.
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg/status.d" "$site"
for link in bin lib lib64; do ln -s "usr/$link" "$root/$link"; done
(cd "$work" && apt-get download -qq libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libssl3 libsqlite3-0 libbz2-1.0 \
  liblzma5 libuuid1 libcrypt1 libpython3.11-minimal libpython3.11-stdlib python3.11-minimal ca-certificates)
for package in "$work"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --no-same-owner --directory "$root" \
    --exclude "./usr/share/man/*" --exclude "./usr/share/doc/*/[!c]*" --exclude "./usr/sbin"
  dpkg-deb --field "$package" >"$root/var/lib/dpkg/status.d/$(dpkg-deb --field "$package" Package)" # for scanners, and for the SBOM
done
mkdir -p "$root/etc/ssl/certs" "$root/tmp" "$root/store" "$root/proc" "$root/dev" "$root/sys"
chmod 1777 "$root/tmp"
cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
echo "hosts: files dns" >"$root/etc/nsswitch.conf"
echo "egotools:x:10001:10001::/tmp:/nonexistent" >"$root/etc/passwd"
echo "egotools:x:10001:" >"$root/etc/group"

# The locks, less what the target does not use. No source is built, so that nothing but the wheels that were locked runs here.
locks=
for name in default $extras; do
  awk -F == -v unused="$unused" '/^[a-z]/ { skip = index(unused, " " $1 " ") } !skip' "$here/requirements/$name.txt" >"$work/$name.txt"
  locks="$locks --requirement $work/$name.txt"
done
# shellcheck disable=SC2086
"$python" -m pip install --quiet --root-user-action ignore --no-cache-dir --no-compile --no-deps --require-hashes --only-binary :all: --target "$site" $locks

# The project itself: the files that the build context of an image has, made into a wheel by the locked setuptools.
mkdir "$work/source"
sed -n 's/^!//p' "$here/.dockerignore" | (cd "$here" && xargs tar --create --exclude __pycache__) |
  tar --extract --directory "$work/source"
tools=" setuptools boolean-py chardet cyclonedx-bom cyclonedx-python-lib defusedxml license-expression packageurl-python packaging \
  pip-requirements-parser py-serializable pyparsing sortedcontainers typing-extensions "
awk -F == -v tools="$tools" '/^[a-z]/ { keep = index(tools, " " $1 " ") } keep' "$here/requirements/dev.txt" >"$work/tools.txt"
"$python" -m pip install --quiet --root-user-action ignore --no-cache-dir --no-deps --require-hashes --target "$work/tools" --requirement "$work/tools.txt"
export PYTHONPATH="$work/tools"
"$python" -m pip install --quiet --root-user-action ignore --no-cache-dir --no-compile --no-deps --no-build-isolation --target "$work/own" "$work/source"
cp -R "$work/own/." "$site"
rm -rf "$site/bin" "$site"/egotools-*.dist-info/direct_url.json # names the folder of this build
printf '#!/usr/bin/python3.11\nfrom services.cli.app import main\n\nmain()\n' >"$root/usr/bin/egotools"
chmod 755 "$root/usr/bin/egotools"
mkdir "$root/usr/share/sbom"
"$python" "$here/deploy/container/sbom.py" "$root" "$site" "$here/pyproject.toml" >"$root/usr/share/sbom/egotools.cdx.json"

# What is in the wheels and nothing loads: tests, sources of compiled code, symbols for debuggers, and in onnxruntime a second copy of its
# library, for programs in C. The libraries in *.libs were moved within their files; strip would break them.
find "$site" -type d -name tests -prune -exec rm -rf {} +
find "$site" -type f \( -name "*.py[ix]" -o -name "*.pxd" -o -name "*.cpp" -o -name "*.h" \) -delete
rm -rf "$site"/onnxruntime/quantization "$site"/onnxruntime/transformers "$site"/onnxruntime/tools "$site"/onnxruntime/capi/libonnxruntime.so.*
find "$site" -name "*.so" -not -path "*.libs/*" -exec strip --strip-unneeded {} +
# Compiled here, since nothing can be written there; without times, so that the same files give the same bytes.
"$python" -m compileall -q -j 0 --invalidation-mode unchecked-hash -s "$root" "$site" "$root/usr/lib/python3.11"
