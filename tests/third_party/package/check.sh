#!/bin/sh
# Runs the tests, judges every scheme and the suite, and writes what is to be published into the folder site/.
# Exits with 1 where something violates or does not run; what is undecided (exit code 3) is shown on the pages.
set -u
mkdir -p site
status=0
python -m pytest -q tests || status=1
for scheme in shop-heun shop-momentum; do
    sgverify verify "$scheme" --checks local-order --quiet --html "site/$scheme.html" --badge "site/$scheme.svg"
    case $? in 0 | 3) ;; *) status=1 ;; esac
done
sgverify report --suite suite.py:SUITE --out site/report --strict
case $? in 0 | 3) ;; *) status=1 ;; esac
exit $status
