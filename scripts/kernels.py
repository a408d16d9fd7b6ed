#!/usr/bin/env python3
"""Compiles the GPU's kernels, `kernels.cu` and `hopper.cu`, to what the library embeds, and notes which source it is.

The compiler is NVIDIA's nvcc 13.0: the one on the PATH, or with `--wheels FOLDER` the one in the wheels nvidia-cuda-nvcc,
nvidia-cuda-runtime, nvidia-cuda-crt, nvidia-cuda-cccl and nvidia-nvvm, all 13.0, which `pip download --no-deps` fetches.
`kernels.fatbin` has machine code for compute capability 8, 9, 10 and 12, and PTX of 8.0 for what comes after;
`hopper.fatbin` has machine code for 9.0 alone.
"""

import argparse
import hashlib
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "crates/structcomp/src/engine/cuda"
TARGETS = {
    "kernels": {"80": ["sm_80", "compute_80"], "90": ["sm_90"], "100": ["sm_100"], "120": ["sm_120"]},
    "hopper": {"90a": ["sm_90a"]},
}


def unpacked(wheels: Path, folder: str) -> str:
    """The compiler in wheels, unpacked to a folder."""
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    root = Path(folder) / "nvidia/cu13"
    for program in [*root.glob("bin/*"), *root.glob("nvvm/bin/*")]:
        program.chmod(0o755)
    return str(root / "bin/nvcc")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="folder with the wheels of the compiler")
    options = parser.parse_args()
    files = []
    with tempfile.TemporaryDirectory() as folder:
        nvcc = unpacked(options.wheels, folder) if options.wheels else "nvcc"
        environment = {**os.environ, "PATH": f"{Path(nvcc).parent}:{os.environ['PATH']}"}
        for name, targets in TARGETS.items():
            source, binary = HERE / f"{name}.cu", HERE / f"{name}.fatbin"
            codes = [f"-gencode=arch=compute_{of},code=[{','.join(code)}]" for of, code in targets.items()]
            how = ["-O3", "-std=c++17", "-fatbin", "--compress-mode=size", *codes]
            subprocess.run([nvcc, *how, "-o", binary, source], check=True, env=environment)
            files += [source, binary]
    digests = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (HERE / "kernels.sha256").write_text("".join(digests))


if __name__ == "__main__":
    main()
