#!/usr/bin/env python3
"""What the libraries that are loaded into programs need of the C library: nothing that glibc 2.28 (RHEL 8) does not have.

    glibc_needs.py LIBRARY…

Linking here gives an old function this machine's version of its name where glibc gave it a new one. So a symbol of a
newer version passes if glibc still has an older version of that symbol, or if it is in the lists below. A library built
against glibc 2.28 needs none of them (CONTRIBUTING.md says how)."""

import re
import subprocess
import sys

LIMIT = (2, 28)
# glibc's own headers called these by other names before 2.33 (__xstat and so on).
STAT = {"stat", "fstat", "lstat", "fstatat", "stat64", "fstat64", "lstat64", "fstatat64"}
# Of libstdc++ and libgcc as they are configured here: for std::random_device, shared_ptr, condition_variable, exceptions.
COMPILER = {"arc4random", "__libc_single_threaded", "pthread_cond_clockwait", "_dl_find_object"}


def versions(arguments, symbols):
    """Pairs (name, version) of `objdump -T` lines that `symbols` accepts."""
    text = subprocess.run(["objdump", "-T", arguments], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in text.splitlines():
        match = re.search(r"\(?GLIBC_(\d+(?:\.\d+)+)\)?\s+(\w+)$", line)
        if match and symbols(line):
            found.add((match[2], tuple(int(part) for part in match[1].split("."))))
    return found


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    wrong = 0
    for library in sys.argv[1:]:
        needs = versions(library, lambda line: "*UND*" in line)
        if not needs:
            raise SystemExit(f"{library}: needs nothing of glibc; is this the library?")
        loaded = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
        old = set()
        for path in re.findall(r"(/\S*/lib(?:c|m)\.so\.6)", loaded):
            old |= {name for name, version in versions(path, lambda line: "*UND*" not in line) if version <= LIMIT}
        if not old:
            raise SystemExit(f"{library}: found no glibc that it is loaded with")
        new = {(name, version) for name, version in needs if version > LIMIT}
        for name, version in sorted(new):
            if name not in old | STAT | COMPILER:
                print(f"{library}: {name} is of glibc {'.'.join(map(str, version))}, expected at most 2.28")
                wrong += 1
        print(f"{library}: {len(needs)} symbols of glibc, {len(new)} by a newer version of their names")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
