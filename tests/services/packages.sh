#!/bin/sh
# packages.sh NAME...: installs Debian packages that are missing; says what it cannot do, and fails.
set -eu
missing=''
for name; do
  dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $name"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "error: these Debian packages are missing:$missing; as root: apt-get install$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# Nothing that is installed may start a daemon: the tests start their own, on loopback.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
# shellcheck disable=SC2086
apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 || {
  apt-get update -qq
  apt-get install -qq -y --no-install-recommends $missing >/dev/null
}
