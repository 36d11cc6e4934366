#!/usr/bin/env bash
# Proves the README's first two commands on a fresh, minimal Debian 12, made by debootstrap in a temporary folder and
# removed at the end: `make demo` and `make test` with nothing but the clone of HEAD, as root; again as another user;
# then what that user is told when a package is missing. Takes some ten minutes.
# Needs root, debootstrap and Debian's packages. Usage: tools/prove_fresh_debian.sh [MIRROR]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

clone=/srv/lirio
work="" root=""
problems=0
summary=()
step_log="" step_status=0 step_seconds=0

cleanup() {
  [[ -n $work ]] || return 0
  local folder
  for folder in dev/pts proc; do
    if mountpoint -q "$root/$folder"; then umount "$root/$folder"; fi
  done
  rm -rf --one-file-system "$work"
}

# The mirror that this machine's apt uses, where it is a Debian 12; else debootstrap's own default.
default_mirror() {
  # shellcheck disable=SC2016 # apt-get expands it
  apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' 'Codename: bookworm' \
    'Component: main' 2>/dev/null | head -n 1
}

# The ways to reach packages that belong to this machine and not to Debian: name resolution, proxies, checks of dates.
copy_network_settings() {
  local file
  for file in /etc/resolv.conf /etc/hosts; do
    if [[ -f $file ]]; then cp -L "$file" "$root$file"; fi
  done
  for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
    if [[ -f $file ]] && grep -qiE '^[[:space:]]*Acquire::' "$file"; then cp "$file" "$root$file"; fi
  done
}

# Runs a command inside as USER, with nothing of this machine's environment but its proxies, and no terminal.
inside() {
  local user=$1 home=/root name environment=(LANG=C.UTF-8)
  shift
  if [[ $user != root ]]; then home=/home/$user; fi
  for name in http_proxy https_proxy no_proxy; do
    if [[ -n ${!name:-} ]]; then environment+=("$name=${!name}"); fi
  done
  chroot --userspec="$user:$user" "$root" /usr/bin/env -i HOME="$home" "${environment[@]}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "$*" </dev/null
}

make_debian() {
  local mirror=$1
  echo "Making a minimal Debian 12 (a minute or two)."
  # Without a mirror the argument is left out, and debootstrap takes its own.
  debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" && exit 1; }
  copy_network_settings
  mount -t proc proc "$root/proc"
  # Pseudo-terminals, which every running Debian has and a chroot has not.
  mkdir -p "$root/dev/pts"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
  ln -sf pts/ptmx "$root/dev/ptmx"
}

clone_into_it() {
  local branch
  branch=$(git symbolic-ref --short -q HEAD || true)
  git bundle create -q "$root/lirio.bundle" HEAD ${branch:+"$branch"}
  inside root "export DEBIAN_FRONTEND=noninteractive && apt-get update -q &&
    apt-get install -y -q --no-install-recommends git make" >"$work/git.log" 2>&1 ||
    { tail -n 20 "$work/git.log" && exit 1; }
  inside root "git clone -q /lirio.bundle $clone"
  # As in container images: lirio's own setup has to fetch the lists.
  rm -rf "$root"/var/lib/apt/lists/*
}

problem() {
  echo "  PROBLEM: $*"
  problems=$((problems + 1))
}

# step NAME USER MAKE_TARGET: runs `make MAKE_TARGET` in the clone; what it printed is in $step_log.
step() {
  local name=$1 user=$2 target=$3 started=$SECONDS
  step_log=$work/$target-${#summary[@]}.log
  step_status=0
  echo "== $name: make $target"
  inside "$user" "cd $clone && make $target" >"$step_log" 2>&1 || step_status=$?
  step_seconds=$((SECONDS - started))
  sed 's/^/  | /' "$step_log" | tail -n 15
  summary+=("$(printf '%-32s make %-5s %5d s   exit %d   %s' "$name" "$target" "$step_seconds" "$step_status" \
    "$(grep -E '^[0-9]+ passed|tok/s' "$step_log" | tail -n 1)")")
}

expect_success() {
  local seconds=$1
  if ((step_status != 0)); then problem "it failed"; fi
  if ((step_seconds > seconds)); then problem "it took $step_seconds s, more than $seconds"; fi
}

# What the model said comes after the line that shows the command; the build's progress, before it, has numbers too.
expect_answer() {
  local answer
  answer=$(sed '1,/^\$ .*lirio run/d' "$step_log")
  grep -qw 132 <<<"$answer" || problem "the model did not answer 132"
  grep -q 'tok/s' <<<"$answer" || problem "there is no line of figures"
}

expect_counts() {
  tail -n 1 "$step_log" | grep -qE '^[1-9][0-9]* passed, 0 failed, [0-9]+ skipped$' ||
    problem "the last line does not say that tests passed and none failed"
}

expect_missing() {
  local package=$1
  if ((step_status == 0)); then problem "it succeeded without $package"; fi
  grep -q "Missing packages: .*$package" "$step_log" || problem "it did not name $package"
  grep -q "apt-get install .*$package" "$step_log" || problem "it did not give the line to install $package"
}

as_root() {
  step "fresh, root" root demo
  expect_success 360
  expect_answer
  grep -q '^Installing: .*cmake' "$step_log" || problem "it did not say what it installs"
  step "root" root test
  expect_success 900
  expect_counts
}

as_user() {
  inside root "useradd --create-home tester && chown -R tester:tester $clone"
  step "second time, another user" tester demo
  expect_success 30
  expect_answer
  step "second time, another user" tester test
  expect_success 240
  expect_counts
}

with_a_package_missing() {
  inside root "dpkg --remove --force-depends libgtest-dev libfmt-dev" >/dev/null 2>&1
  step "package missing, user" tester demo
  expect_missing libfmt-dev
  if grep -q 'Missing packages: .*libgtest-dev' "$step_log"; then problem "the demo asks for a test's package"; fi
  step "package missing, user" tester test
  expect_missing libgtest-dev
  step "package missing, root" root demo
  expect_success 120
  expect_answer
  grep -q '^Installing: libfmt-dev$' "$step_log" || problem "it did not say that it installs libfmt-dev alone"
}

main() {
  if [[ $(id -u) != 0 ]] || ! command -v debootstrap >/dev/null; then
    echo "This needs root and debootstrap (apt-get install debootstrap)." >&2
    exit 1
  fi
  trap cleanup EXIT
  trap 'exit 130' INT TERM
  work=$(mktemp -d "${TMPDIR:-/tmp}/lirio-fresh-debian-XXXXXX")
  root=$work/root
  chmod 755 "$work" # the other user passes through it
  make_debian "${1:-$(default_mirror)}"
  clone_into_it
  as_root
  as_user
  with_a_package_missing
  echo "== summary of $(git rev-parse --short HEAD)"
  printf '%s\n' "${summary[@]}"
  if ((problems > 0)); then
    echo "$problems problems"
    exit 1
  fi
  echo "The first two commands work on a fresh Debian 12."
}

main "$@"
