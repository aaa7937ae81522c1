#!/bin/sh
# Runs the tests with JUnit 5's console launcher: sh test.sh. JUNIT is where its jars are, by default as Debian has them.
set -eu
cd "$(dirname "$0")"
junit=${JUNIT:-/usr/share/java}
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
path=$classes
for name in junit-jupiter-api junit-jupiter-engine junit-jupiter-params junit-platform-commons junit-platform-engine \
    junit-platform-launcher junit-platform-console junit-platform-reporting opentest4j apiguardian-api picocli \
    opentest4j-reporting-events opentest4j-reporting-schema univocity-parsers; do
    if [ -e "$junit/$name.jar" ]; then path=$path:$junit/$name.jar; fi
done
javac --release 17 -Xlint:all,-processing,-classfile,-path ${STRICT:+-Werror} -proc:none -encoding UTF-8 -cp "$path" -d "$classes" \
    $(find src/main/java src/test/java -name '*.java' ! -name module-info.java)
status=0
java -XX:TieredStopAtLevel=1 -cp "$path" org.junit.platform.console.ConsoleLauncher --scan-classpath "$classes" \
    --disable-banner --details=summary --fail-if-no-tests "$@" || status=$?
exit "$status"
