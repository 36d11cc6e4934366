#!/usr/bin/env bash
# Installs the Debian 12 packages that lirio needs, saying which; does nothing, in milliseconds, when all are there.
# This is the only list of packages. Usage: tools/setup.sh demo|test|ci|oracles [--check]
#   --check  installs and says nothing; fails when something is missing
set -euo pipefail

demo_packages=(g++ cmake ninja-build pkgconf libfmt-dev libsimdjson-dev libcli11-dev libssl-dev
  libutf8proc-dev)
test_packages=("${demo_packages[@]}" libgtest-dev libpcre2-dev)
ci_packages=("${test_packages[@]}" make clang libclang-rt-14-dev)
oracles_packages=(nodejs npm)

# Prints the packages of "$@" that are not installed.
missing_of() {
  local installed package
  # dpkg-query fails when it doesn't know one of the names; what it does know is all that counts.
  installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "$package installed" <<<"$installed" || echo "$package"
  done
}

# Other systems name these packages differently; where the tools are there, CMake says which library is not.
check_without_apt() {
  local tool absent=()
  for tool in c++ cmake ninja pkg-config; do
    command -v "$tool" >/dev/null || absent+=("$tool")
  done
  ((${#absent[@]} == 0)) && return
  {
    echo "This system has no apt, and lacks: ${absent[*]}"
    echo "Install with its own package manager what these Debian 12 packages hold: $*"
  } >&2
  exit 1
}

# Prints the command that gains root, nothing for root itself; fails where there is no way without a person.
root_command() {
  if [[ $(id -u) == 0 ]]; then
    return 0
  elif ! command -v sudo >/dev/null; then
    return 1
  elif sudo -n true 2>/dev/null; then
    echo "sudo -n"
  elif [[ -t 0 && -t 2 && -z ${CI:-} ]]; then
    echo "sudo"
  else
    return 1
  fi
}

name_the_line() {
  local prefix=""
  if [[ $(id -u) != 0 ]] && command -v sudo >/dev/null; then prefix="sudo "; fi
  {
    echo "Missing packages: $*"
    echo "Install them as root: ${prefix}apt-get install --no-install-recommends $*"
  } >&2
}

installation_failed() {
  local log=$1
  shift
  {
    tail -n 20 "$log"
    echo "The installation failed; the whole log is $log"
  } >&2
  name_the_line "$@"
  exit 1
}

install() {
  local as_root=$1 log
  shift
  # shellcheck disable=SC2206 # "sudo -n" is two words
  local apt=($as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  log=$(mktemp "${TMPDIR:-/tmp}/lirio-setup-XXXXXX.log")
  echo "Installing: $*"
  if ! "${apt[@]}" install --no-install-recommends "$@" >"$log" 2>&1; then
    # A new system has no lists yet, and old ones name versions that the mirror no longer has.
    echo "Updating apt's lists first."
    if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "$@"; } >>"$log" 2>&1; then
      installation_failed "$log" "$@"
    fi
  fi
  rm -f "$log"
}

main() {
  local packages missing as_root
  case ${1:-} in
    demo) packages=("${demo_packages[@]}") ;;
    test) packages=("${test_packages[@]}") ;;
    ci) packages=("${ci_packages[@]}") ;;
    oracles) packages=("${oracles_packages[@]}") ;;
    *)
      echo "usage: tools/setup.sh demo|test|ci|oracles" >&2
      exit 2
      ;;
  esac
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    check_without_apt "${packages[@]}"
    return
  fi
  mapfile -t missing < <(missing_of "${packages[@]}")
  ((${#missing[@]} == 0)) && return
  if [[ ${2:-} == --check ]]; then exit 1; fi
  if ! as_root=$(root_command); then
    name_the_line "${missing[@]}"
    exit 1
  fi
  install "$as_root" "${missing[@]}"
}

main "$@"
