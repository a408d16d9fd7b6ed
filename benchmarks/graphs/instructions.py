"""The machine instructions of a program, in the order in which they may be executed, their operands, and what they do.

Nodes are the instructions of the dash shell for amd64 without the padding between functions. Edges join an instruction to the next
one, unless that cannot follow, and jumps and calls to their target. Features are the operands: registers, sizes, forms of memory
addresses, magnitudes of numbers, each with its position, and the length of the instruction. The label is the operation, such as
mov or a conditional jump. Consecutive instructions are seldom alike, so the graph is heterophilous.

usage: instructions.py FOLDER [PACKAGE]    PACKAGE is dash:amd64=0.5.12-2 unless given
"""

import struct
import sys

import capstone
from capstone import x86
from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

ALIKE = {
    "add or subtract": {"add", "sub", "sbb", "adc", "inc", "dec", "neg"},
    "and, or, not": {"and", "or", "not"},
    "multiply or divide": {"imul", "mul", "idiv", "div"},
    "shift": {"shl", "shr", "sar", "sal", "rol", "ror"},
    "move and extend": {"movzx", "movsx", "movsxd", "cdqe", "cdq", "cqo"},
    "vector": {"movaps", "movups", "movdqa", "movdqu", "movq", "movd", "movhps", "pxor", "xorps", "punpcklqdq", "movss", "movsd"},
}
GROUP = {name: group for group, names in ALIKE.items() for name in names}


def section(data, wanted):
    """Address and content of a section of a 64-bit ELF file."""
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, at + k * size) for k in range(count)]
    for name, _, _, address, place, length in headers:
        start = headers[names][4] + name
        if data[start : data.index(b"\0", start)] == wanted:
            return address, data[place : place + length]
    raise ValueError(f"no section {wanted}")


def operation(instruction):
    name = instruction.mnemonic.split()[-1]
    if name.startswith("j") and name != "jmp":
        return "conditional jump"
    if name.startswith(("set", "cmov")):
        return "set if" if name.startswith("set") else "move if"
    return GROUP.get(name, name)


def size(number):
    return f"{'-' if number < 0 else ''}{abs(number).bit_length()}"


def operands(instruction):
    """What the operands say, without what they are done with."""
    found = [f"length {instruction.size}", f"operands {len(instruction.operands)}"]
    for k, one in enumerate(instruction.operands):
        found.append(f"{k} size {one.size}")
        if one.type == x86.X86_OP_REG:
            found += [f"{k} register", f"{k} {instruction.reg_name(one.reg)}"]
        elif one.type == x86.X86_OP_IMM:
            found += [f"{k} number", f"{k} number {size(one.imm)}"]
        else:
            found += [f"{k} memory", f"{k} base {instruction.reg_name(one.mem.base)}", f"{k} offset {size(one.mem.disp)}"]
            found.append(f"{k} index {instruction.reg_name(one.mem.index)} {one.mem.scale}")
    return found


def main(out, package="dash:amd64=0.5.12-2"):
    with unpacked(package) as (files, version):
        address, code = section((files / "bin/dash").read_bytes(), b".text")
    machine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    machine.detail = True
    every = list(machine.disasm(code, address))
    assert every[-1].address + every[-1].size == address + len(code), "the code holds something else than instructions"
    kept = [one for one in every if one.mnemonic not in ("nop", "endbr64", "data16 nop", "int3", "hlt")]
    number, names = {}, []
    for one in every:
        # A jump to padding goes on to the next instruction that is kept.
        number[one.address] = len(names)
        if one.mnemonic not in ("nop", "endbr64", "data16 nop", "int3", "hlt"):
            names.append(f"{one.address:x}")
    edges = []
    for k, one in enumerate(kept):
        leaves = one.mnemonic in ("jmp", "notrack jmp", "ret")
        if not leaves and k + 1 < len(kept):
            edges.append((k, k + 1))
        if one.group(capstone.CS_GRP_JUMP) or one.group(capstone.CS_GRP_CALL):
            if one.operands[0].type == x86.X86_OP_IMM and one.operands[0].imm in number:
                edges.append((k, number[one.operands[0].imm]))
    x = TfidfVectorizer(analyzer=lambda one: one, min_df=5).fit_transform(operands(one) for one in kept)
    labels = [operation(one) for one in kept]
    write(out, f"dash {version}", ("instruction", "followed_by"), names, edges, x, labels, smallest=60)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)
