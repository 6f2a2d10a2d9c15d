#!/usr/bin/env bash
# package.sh SOURCE: makes the Debian packages (tools/package, which lintian checks) and installs them into an
# empty root (debootstrap). There it asks for the version, checks a workflow, couples a program with itself, and
# removes all. Needs root and a mirror; without them it says so and is skipped (77).
set -euo pipefail
source=$1
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "needs root for a root file system"
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null 2>&1 || skip "debootstrap cannot be installed"
root=$PWD/root
clean() { umount "$root/proc" "$root/dev/shm" 2>/dev/null || true; rm -rf "$root"; }
trap clean EXIT
clean
rm -f ./*.deb
command -v lintian >/dev/null || apt-get install -y -qq lintian >/dev/null 2>&1 || skip "lintian cannot be installed"
"$source/tools/package"
cp "$source"/build-package/*.deb .
dpkg-deb --contents ./sluice_*.deb >contents.txt
for file in man1/sluice.1 man5/sluice-workflow.5 sluice.schema.json dist-packages/sluice/__init__.py bash-completion/completions/sluice zsh/vendor-completions/_sluice; do
  grep -q "$file" contents.txt || { echo "$file is not in the package"; exit 1; }
done
dpkg-deb --info ./sluice_*.deb
! dpkg-deb --field ./sluice_*.deb Depends | grep hdf5 || { echo "the package depends on HDF5"; exit 1; }
debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >debootstrap.log 2>&1 || skip "no mirror: $(tail -1 debootstrap.log)"
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm"
mount -t tmpfs shm "$root/dev/shm"
cp ./*.deb "$root/tmp/"
chroot "$root" sh -ec 'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; apt-get install -y -qq --no-install-recommends /tmp/*.deb gcc libc6-dev libopenmpi-dev pkg-config >/tmp/apt.log 2>&1 || { tail /tmp/apt.log; exit 1; }'
cp "$(dirname "$0")/consumer/consumer.c" "$root/tmp/"
chroot "$root" sh -ec '
  cd /tmp
  sluice --version
  cc consumer.c -o consumer $(pkg-config --cflags --libs sluice-pnetcdf)
  printf "version: 1\nname: smoke\ncomponents:\n  one: {command: ./consumer}\nfiles:\n  - {path: consumer.nc, writer: one, readers: [one]}\n" >flow.yaml
  sluice check flow.yaml
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  sluice run flow.yaml
  [ ! -e consumer.nc ]
  # No debug information, and only the interface is exported.
  ls -l /usr/bin/sluice /usr/libexec/sluice/sluice-matcher /usr/lib/*/libsluice_pnetcdf.so.*
  [ "$(stat -c %s /usr/bin/sluice)" -lt 10000000 ]
  dpkg --purge sluice-hdf5 sluice
  ldconfig
  left=$(find /usr /etc /var/lib -iname "*sluice*" -not -path "/var/lib/dpkg/*"); [ -z "$left" ] || { echo "left after the removal: $left"; exit 1; }
'
echo "the package works in a clean root"
