#!/bin/sh
# Builds build/hiringhall-worker.jar with nothing but a JDK 17 or newer: sh build.sh [JAR]
# STRICT=1: what the compiler warns of is an error. Newer ones warn of more.
set -eu
cd "$(dirname "$0")"
jar=${1:-build/hiringhall-worker.jar}
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
mkdir -p "$(dirname "$jar")"
javac --release 17 -Xlint:all ${STRICT:+-Werror} -encoding UTF-8 -d "$classes" $(find src/main/java -name '*.java')
jar --create --file "$jar" -C "$classes" .
echo "$jar"
