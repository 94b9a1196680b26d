#!/bin/sh
# Builds what the tests and the linters need, once for each version of the files
# that pin it, and prints where it is:
#
#   cache.sh tools          the Go tools of this module: .cache/tools-HASH
#   cache.sh python         the Python environment of the tests: .cache/pyenv-HASH/bin/python
#   cache.sh python-bench   that of the benchmarks' peers, likewise
#
# What is built goes to a folder beside its place and is renamed when it is
# whole, so that an interrupted run leaves nothing that looks finished.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/../.." && pwd)/.cache

# hash prints the start of the SHA-256 of a file.
hash() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	else
		shasum -a 256 "$1"
	fi | cut -c1-12
}

# place moves a finished folder to its name; if another run was first, its copy
# is as good as ours.
place() {
	chmod 755 "$1"
	if [ -d "$2" ]; then
		rm -rf "$1"
	else
		mv "$1" "$2"
	fi
}

build_tools() {
	dir=$cache/tools-$(hash "$here/go.sum")
	if [ ! -d "$dir" ]; then
		echo "building the tools of internal/tools (a few minutes, once)" >&2
		tmp=$(mktemp -d "$cache/tmp.XXXXXX")
		(cd "$here" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -o "$tmp/" tool) >&2
		place "$tmp" "$dir"
	fi
	ln -sfn "$(basename "$dir")" "$cache/bin"
	echo "$dir"
}

build_python() {
	requirements=$here/$1
	dir=$cache/pyenv-$(hash "$requirements")
	if [ ! -d "$dir" ]; then
		echo "building the Python environment of internal/tools/$1 (a minute or two, once)" >&2
		tmp=$(mktemp -d "$cache/tmp.XXXXXX")
		python3 -m venv "$tmp" >&2
		"$tmp/bin/python" -m pip install --quiet --no-input --requirement "$requirements" >&2
		place "$tmp" "$dir"
	fi
	echo "$dir/bin/python"
}

mkdir -p "$cache"
case "${1-}" in
tools) build_tools ;;
python) build_python requirements.txt ;;
python-bench) build_python requirements-bench.txt ;;
*)
	echo "usage: cache.sh tools|python|python-bench" >&2
	exit 2
	;;
esac
