"""Packs a compiled extension and the Python files of bindings/python into a wheel, for tests.

    python tools/pack_wheel.py BUILD_DIR OUT_DIR

BUILD_DIR is where cargo put the extension, such as target/debug. Needs Python 3.11.

`maturin build` makes the wheel for users (`make wheel`). It compiles one crate by itself, with fewer features of shared
dependencies, and so the whole tensor library again. `make test` compiles the extension together with everything else and
packs the result.
"""

import base64
import hashlib
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "python"


def metadata(version: str, project: dict) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}"]
    lines += [f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {name}" for name in project["dependencies"]]
    return "\n".join(lines) + "\n"


def tag() -> str:
    # The wheel is tested on this machine.
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"cp310-abi3-{platform}"


def extension(build: Path) -> Path:
    names = ["lib_labelflow.so", "lib_labelflow.dylib", "_labelflow.dll"]
    found = [build / name for name in names if (build / name).exists()]
    if not found:
        sys.exit(f"{build}: expected one of {', '.join(names)}, found none: run `cargo build --workspace --lib`")
    return found[0]


def main(build: Path, out: Path) -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    info = f"{project['name']}-{version}.dist-info"
    suffix = ".pyd" if sys.platform == "win32" else ".abi3.so"
    files = {f"labelflow/_labelflow{suffix}": extension(build).read_bytes()}
    sources = PACKAGE / "python"
    for path in sorted(sources.rglob("*")):
        if path.is_file() and path.suffix in (".py", ".pyi", ".typed"):
            files[path.relative_to(sources).as_posix()] = path.read_bytes()
    wheel = f"Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/METADATA"] = metadata(version, project).encode()
    record = [f"{name},sha256={digest(contents)},{len(contents)}" for name, contents in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{project['name']}-{version}-{tag()}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, contents in files.items():
            archive.writestr(name, contents)
    print(path)


def digest(contents: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
