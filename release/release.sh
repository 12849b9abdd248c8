#!/usr/bin/env bash
# Builds the release into dist/, and runs it where there is nothing but it: an empty environment, no checkout.
# Run: make release
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -rf dist
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check build twine cyclonedx-bom
"$work/tools/bin/python" -m build --outdir dist
"$work/tools/bin/twine" check --strict dist/*

wheel=$(ls dist/turnlens-*.whl)
"$python" -m venv "$work/plain"
"$work/plain/bin/pip" install --quiet --disable-pip-version-check -c constraints.txt "$wheel[train]"
"$work/tools/bin/cyclonedx-py" environment "$work/plain/bin/python" --pyproject pyproject.toml --output-file dist/sbom.json

mkdir "$work/elsewhere"
cp README.md release/first_screen.py "$work/elsewhere"
(cd "$work/elsewhere" && "$work/plain/bin/python" first_screen.py README.md .)

du -sh "$wheel" "$work/plain"
