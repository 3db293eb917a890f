#!/usr/bin/env bash
# Fetch the Neo4j of the tests (about 155 MB, kept by Maven) and compile its main class, into build/neo4j-engine.
# Needs Java 17 (a JDK) and Maven. Tests of graphs over Bolt are skipped where it was not run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../../../.." && pwd)/build/neo4j-engine
mkdir -p "$out"
[ "$out/classpath.txt" -nt "$here/pom.xml" ] && [ "$out/Neo4jEngine.class" -nt "$here/Neo4jEngine.java" ] &&
  { tr ':' '\n' <"$out/classpath.txt" | xargs ls >/dev/null 2>&1; } && exit 0
timeout 400 mvn -q -B -f "$here/pom.xml" dependency:build-classpath -Dmdep.outputFile="$out/classpath.part"
javac -proc:none -cp "$(cat "$out/classpath.part")" -d "$out" "$here/Neo4jEngine.java"
mv "$out/classpath.part" "$out/classpath.txt"
