#!/bin/sh
# The steps that the GitHub action, the GitLab template and the Jenkins snippet share.
#
#   steps.sh add      adds $BOOTS to the history $STORE, as $COMMIT or the commit of the CI
#   steps.sh budget   holds $BOOTS against $BUDGET
#   steps.sh check    checks the history $STORE; writes boot-time.{md,xml,html}
#
# A history with too few boots says "cannot tell", exit code 2: a new one passes.
set -eu

firstlight=${FIRSTLIGHT:-firstlight}
store=${STORE:-boots.history}
commit=${COMMIT:-${GITHUB_SHA:-${CI_COMMIT_SHA:-${GIT_COMMIT:-}}}}
github=
[ "${GITHUB_ACTIONS:-}" = true ] && github=--github

case ${1:-} in
add)
    at=$(git log -1 --format=%ct "$commit" 2>/dev/null || date +%s)
    # BOOTS is a list of patterns.
    # shellcheck disable=SC2086
    "$firstlight" history add "$store" $BOOTS --at "$at" ${commit:+--commit "$commit"}
    ;;
budget)
    # shellcheck disable=SC2086
    "$firstlight" gate --against $BOOTS --budget "$BUDGET" $github
    ;;
check)
    code=0
    # shellcheck disable=SC2086
    "$firstlight" history check "$store" --markdown boot-time.md --junit boot-time.xml \
        ${ALLOW:+--allow "$ALLOW"} $github || code=$?
    "$firstlight" history show "$store" -o boot-time.html >/dev/null
    case $code in
    0) verdict=fine ;;
    1) verdict=regressed ;;
    2) verdict=cannot_tell ;;
    *) exit "$code" ;;
    esac
    [ -z "${GITHUB_OUTPUT:-}" ] || echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
    # Only a regression fails the job.
    [ "$code" != 1 ]
    ;;
*)
    echo "usage: steps.sh add|budget|check" >&2
    exit 2
    ;;
esac
