#!/usr/bin/env bash
# Renders the Helm chart: deploy/helm/egotools with its own values, and with each file of deploy/helm/values -> deploy/helm/rendered/.
# The first line of each has the hash of what it was made from, so that a test without Helm finds a stale one. Needs Helm 3
# (go install helm.sh/helm/v3/cmd/helm@v3.19.0).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../deploy/helm"
export LC_ALL=C

mkdir -p rendered
helm lint --quiet egotools
for name in own-tls $(cd values && basename -s .yaml -- *.yaml); do
    sources=$(find egotools -type f | sort)
    values=()
    if [[ -e values/$name.yaml ]]; then values=(--values "values/$name.yaml") sources+=$'\n'values/$name.yaml; fi
    {
        echo "# Made by scripts/render_chart.sh. Sources: $(xargs sha256sum <<<"$sources" | sha256sum | cut -d' ' -f1)"
        helm template egotools egotools --namespace agents --kube-version 1.33.0 "${values[@]}"
    } >"rendered/$name.yaml"
done
