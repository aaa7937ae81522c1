#!/bin/sh
# Builds build/hiringhall-worker.jar with nothing but a JDK 17 or newer: sh build.sh [JAR]
set -eu
cd "$(dirname "$0")"
jar=${1:-build/hiringhall-worker.jar}
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
mkdir -p "$(dirname "$jar")"
javac --release 17 -Xlint:all -Werror -encoding UTF-8 -d "$classes" $(find src/main/java -name '*.java')
jar --create --file "$jar" -C "$classes" .
echo "$jar"
