#!/usr/bin/env python3
"""Checks the shape of the Rust sources; `--graph` prints which module uses which.

Fails on a cycle between the top-level modules of a crate, on two types of one name in a crate, on files of more than
500 lines and on functions of more than 60. Tests do not count, except for the length of files.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

FILE_LINES, FUNCTION_LINES = 500, 60
TESTS = {"tests.rs", "goldens.rs", "contract.rs", "no_unit.rs"}  # the last: the same names for other processors
CRATES = Path(__file__).resolve().parent.parent / "crates"


def code(path: Path) -> str:
    """A file without its tests, comments and strings; line numbers are kept."""
    text = path.read_text()
    start = re.search(r"^#\[cfg\((?:test|all\(test[^\n]*)\)\]\n(?:#\[[^\n]*\n)*mod \w+ \{", text, re.M)
    text = text[: start.start()] if start else text
    parts = r"""//[^\n]*|r\#"(?s:.*?)"\#|"(?s:\\.|[^"\\])*"|b?'(?:\\.|[^'\\\n])'"""
    return re.sub(parts, lambda match: " " + "\n" * match.group().count("\n"), text)


def sources(crate: Path) -> list[Path]:
    return sorted(path for path in (crate / "src").rglob("*.rs"))


def is_test(path: Path, crate: Path) -> bool:
    top = path.relative_to(crate / "src").parts[0]
    return path.name in TESTS or "tests" in path.parts or top.startswith(("properties", "fuzz"))


def items(group: str) -> list[str]:
    """The first names of `{a::b, c, d::{e, f}}`."""
    names, depth, current = [], 0, ""
    for letter in group:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            names, current = [*names, current], ""
        else:
            current += letter
    found = (re.match(r"\s*(\w+)", name) for name in [*names, current])
    return [match.group(1) for match in found if match]


def module_graph(crate: Path) -> dict[str, set[str]]:
    lib = crate / "src/lib.rs"
    if not lib.exists():
        lib = crate / "src/main.rs"
    text = code(lib)
    modules = set(re.findall(r"^\s*(?:pub(?:\(\w+\))? )?mod (\w+);", text, re.M))
    exported = {
        name: match.group(1)
        for match in re.finditer(r"\buse (?:self::|crate::)?(\w+)::(?:\{([^;]*)\}|(\w+));", text)
        for name in items(match.group(2) or match.group(3))
    }
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for path in sources(crate):
        top = path.relative_to(crate / "src").parts[0].removesuffix(".rs")
        if top not in modules or is_test(path, crate):
            continue
        text = re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?use [^;]*;", "", code(path))
        for match in re.finditer(r"\bcrate::(?:\{([^;]*?)\};|(\w+))", text, re.S):
            for name in items(match.group(1)) if match.group(1) else [match.group(2)]:
                used = name if name in modules else exported.get(name)
                if used and used != top:
                    graph[top].add(used)
    return graph


def cycles(graph: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()
    found: list[str] = []

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            found.append(" -> ".join([*path[path.index(module) :], module]))
        elif module not in done:
            for used in sorted(graph.get(module, ())):
                visit(used, [*path, module])
            done.add(module)

    for module in sorted(graph):
        visit(module, [])
    return found


def long_functions(text: str) -> list[tuple[int, str, int]]:
    found = []
    for match in re.finditer(r"\bfn (\w+)", text):
        depth, at = 0, match.end()
        while at < len(text) and not (depth == 0 and text[at] in "{;"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
            at += 1
        if at >= len(text) or text[at] == ";":
            continue
        depth, end = 0, at
        for end in range(at, len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                break
        lines = text.count("\n", match.start(), end) + 1
        # A table of instructions is as long as it is.
        if lines > FUNCTION_LINES and "asm!(" not in text[at:end]:
            found.append((text.count("\n", 0, match.start()) + 1, match.group(1), lines))
    return found


def faults(crate: Path) -> list[str]:
    found = [f"{crate.name}: modules form a cycle: {cycle}" for cycle in cycles(module_graph(crate))]
    types: dict[str, set[str]] = defaultdict(set)
    for path in sources(crate):
        shown = path.relative_to(CRATES)
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES:
            found.append(f"{shown}: {lines} lines, more than {FILE_LINES}")
        if is_test(path, crate):
            continue
        text = code(path)
        for line, name, length in long_functions(text):
            found.append(f"{shown}:{line}: fn {name} has {length} lines, more than {FUNCTION_LINES}")
        for match in re.finditer(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) (\w+)", text, re.M):
            types[match.group(1)].add(str(shown))
    for name, places in sorted(types.items()):
        if len(places) > 1:
            found.append(f"{crate.name}: {len(places)} types are called {name}: {', '.join(sorted(places))}")
    return found


def main() -> int:
    crates = sorted(path.parent for path in CRATES.glob("*/Cargo.toml"))
    if "--graph" in sys.argv:
        for crate in crates:
            print(crate.name)
            for module, used in sorted(module_graph(crate).items()):
                print(f"  {module} -> {', '.join(sorted(used)) or 'nothing'}")
        return 0
    found = [fault for crate in crates for fault in faults(crate)]
    print("\n".join(found) or "the sources have the shape that is asked for")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
